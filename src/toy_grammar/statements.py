"""Single main clauses, and the choices that every main clause shares."""

from collections.abc import Sequence

from toy_grammar.adverbials import NEVER, OFTEN
from toy_grammar.clauses import (
    Clause,
    Setting,
    choose_subject,
    choose_tense,
    make_clause,
    set_time,
)
from toy_grammar.draw import DeadEndError, Draw
from toy_grammar.frames import Aspect, Frame
from toy_grammar.morphology import NO, NOMINATIVE
from toy_grammar.nouns import MAN, PEOPLE, SPEAKER, Entity
from toy_grammar.order import main_clause
from toy_grammar.phrases import NounPhrase, decline
from toy_grammar.pools import DEEDS, STATEMENTS
from toy_grammar.relatives import add_relative, can_have_relative
from toy_grammar.verbs import LIE, LIVE, PAST_TENSES, SIT, STAND, Tense
from toy_grammar.words import Phrase

_STANDING = (LIVE, LIE, STAND, SIT)
_LEADING_PLACES = ("im", "in", "am", "auf")
_POSSESSIVES = ("my", "his", "her", "our", "their")
_CLASSES = tuple(noun for noun in PEOPLE if not noun.is_kin)


def choose_clause(
    draw: Draw,
    frames: Sequence[Frame],
    setting: Setting,
    subject: NounPhrase | None = None,
    *,
    is_negated: bool = False,
    is_brief: bool = False,
) -> Clause:
    """A clause of one of the frames, about the subject or about one of its own."""
    frame = draw.frame(frames)
    subject = subject or choose_subject(draw, frame)
    if is_negated and not subject.is_definite:
        raise DeadEndError
    return _clause(draw, frame, setting, subject.entity, is_negated, is_brief, subject)


def clause_about(
    draw: Draw,
    frames: Sequence[Frame],
    setting: Setting,
    entity: Entity,
    *,
    is_negated: bool = False,
    is_brief: bool = False,
) -> Clause:
    """A clause about the entity, its subject left open."""
    return _clause(draw, draw.frame(frames), setting, entity, is_negated, is_brief, None)


def _clause(
    draw: Draw,
    frame: Frame,
    setting: Setting,
    entity: Entity,
    is_negated: bool,
    is_brief: bool,
    subject: NounPhrase | None,
) -> Clause:
    tense = choose_tense(draw, setting, frame, entity)
    is_negated = is_negated and tense is not Tense.HABIT
    return make_clause(
        draw, frame, tense, subject, entity, is_negated=is_negated, is_brief=is_brief
    )


def clause_in(
    draw: Draw,
    frame: Frame,
    tense: Tense,
    entity: Entity,
    *,
    is_negated: bool = False,
) -> Clause:
    """A brief clause about the entity in the given tense, its subject left open."""
    return make_clause(draw, frame, tense, None, entity, is_negated=is_negated, is_brief=True)


def choose_front(draw: Draw, clause: Clause) -> Phrase | None:
    """What stands before the finite verb: mostly the subject, often the time."""
    choice = clause.time_choice
    if choice is not None and choice.can_be_first and draw.chance(0.4):
        return clause.time
    if clause.dative is not None and _can_dative_lead(clause):
        if draw.chance(0.4 if clause.frame.is_swapped else 0.08):
            return clause.dative
    elif clause.accusative is not None and _is_plainly_object(clause) and draw.chance(0.12):
        return clause.accusative
    place = clause.goal if clause.frame.verb in _STANDING else clause.place
    if place is not None and _can_place_lead(place) and draw.chance(0.2):
        return place
    return clause.subject


def _can_dative_lead(clause: Clause) -> bool:
    """Dem Mann hilft, dem Mann gefällt, mir gefällt; but not: mir hilft."""
    phrase = clause.dative
    if phrase is None or not _can_lead(phrase):
        return False
    return not phrase.is_pronoun or (clause.frame.is_swapped and phrase.entity in (MAN, SPEAKER))


def _can_place_lead(place: Phrase) -> bool:
    return _can_lead(place) and place.german[0].text in _LEADING_PLACES


def _can_lead(phrase: Phrase) -> bool:
    """Whether a phrase is definite and does not point ahead to its owner."""
    if isinstance(phrase, NounPhrase) and not phrase.is_definite:
        return False
    return all(word.text not in _POSSESSIVES for word in phrase.english)


def _is_plainly_object(clause: Clause) -> bool:
    """Whether nobody can take the fronted accusative for the subject."""
    phrase = clause.accusative
    if phrase is None or phrase.is_pronoun or not _can_lead(phrase):
        return False
    is_person_known = clause.subject is not None and clause.subject.is_definite
    return not phrase.entity.is_human and clause.entity.is_human and is_person_known


def add_relatives(draw: Draw, clause: Clause, front: Phrase | None) -> None:
    """Perhaps a relative clause at a subject in front, perhaps one at an object at the end."""
    subject, is_past = clause.subject, clause.tense in PAST_TENSES
    if subject is front and can_have_relative(subject) and draw.chance(0.45):
        add_relative(draw, subject, is_past)
    target = clause.accusative or clause.dative
    if clause.frame.is_swapped or clause.frame.makes_object or target is front:
        return
    if clause.tense is Tense.HABIT:  # what is done often is not done to one certain thing
        return
    if _ends_with_object(clause, front) and can_have_relative(target) and draw.chance(0.65):
        add_relative(draw, target, is_past)


def _ends_with_object(clause: Clause, front: Phrase | None) -> bool:
    if clause.place or clause.manner or clause.goal or clause.oblique:
        return False
    return clause.time is None or front is clause.time


def statement(draw: Draw) -> Phrase:
    """One main clause."""
    if draw.chance(0.04):
        clause = choose_clause(draw, DEEDS, Setting.PAST, _nobody(draw))
    else:
        clause = choose_clause(draw, STATEMENTS, Setting.ANY, is_negated=draw.chance(0.16))
        _perhaps_often(draw, clause)
    front = choose_front(draw, clause)
    add_relatives(draw, clause, front)
    return main_clause(clause, front)


def _nobody(draw: Draw) -> NounPhrase:
    return decline(draw.noun(_CLASSES), False, NO, None, NOMINATIVE)


def _perhaps_often(draw: Draw, clause: Clause) -> None:
    """Sometimes say that something in the past happened often or never."""
    is_repeatable = clause.tense is Tense.PAST and clause.frame.aspect is Aspect.EVENT
    if is_repeatable and clause.negator is None and not draw.has_time and draw.chance(0.25):
        set_time(draw, clause, draw.pick((OFTEN, OFTEN, NEVER)))
