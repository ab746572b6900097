"""Reasons that make sense: what keeps people from things, and what makes them do them."""

from dataclasses import dataclass

from toy_grammar.clauses import Clause, Setting, choose_subject, make_clause
from toy_grammar.draw import DeadEndError, Draw
from toy_grammar.frames import (
    BAD_WEATHER,
    ILL_RELATIVE,
    MEANS,
    RAINFALL,
    SPARE_TIME,
    WEAKNESS,
    Aspect,
    Frame,
)
from toy_grammar.morphology import NOMINATIVE, POSSESSIVES
from toy_grammar.nouns import Entity, named_adjectives
from toy_grammar.phrases import NounPhrase, decline, pronoun_subject
from toy_grammar.pools import CARES, DEEDS, ERRANDS, MOVES, OUTINGS, TREATS
from toy_grammar.statements import clause_about, clause_in
from toy_grammar.verbs import BE, BUY, FALL_ASLEEP, MOTIVES, SLEEP, TRAVEL, Tense

_PRAISE = named_adjectives("schön gut interessant frisch")


@dataclass(frozen=True, slots=True)
class Explained:
    """A clause and its reason; where a subject is missing it is the one they share."""

    main: Clause
    minor: Clause
    is_concession: bool = False
    refers_back: bool = False
    """The reason is about an object of the main clause and cannot come first."""


def explain(draw: Draw, subject: NounPhrase) -> Explained:
    """Something that the subject does or does not do, and why."""
    is_past = draw.chance(0.6)
    return draw.pick(_EXPLANATIONS)(draw, subject, is_past)


def _setting(is_past: bool) -> Setting:
    return Setting.PAST if is_past else Setting.PRESENT


def _prevented(draw: Draw, subject: NounPhrase, is_past: bool) -> Explained:
    """Not done, because something was in the way."""
    if not subject.is_definite:
        raise DeadEndError
    main = clause_about(draw, DEEDS, _setting(is_past), subject.entity, is_negated=True)
    if main.frame.verb in (SLEEP, FALL_ASLEEP):
        raise DeadEndError
    return Explained(main, hindrance(draw, main, is_past))


def _defied(draw: Draw, subject: NounPhrase, is_past: bool) -> Explained:
    """Done, although something was in the way."""
    main = clause_about(draw, DEEDS, _setting(is_past), subject.entity)
    return Explained(main, hindrance(draw, main, is_past), is_concession=True)


def _motivated(draw: Draw, subject: NounPhrase, is_past: bool) -> Explained:
    """Gone somewhere, because there is something to do."""
    main = clause_about(draw, MOVES, _setting(is_past), subject.entity)
    if main.modal is not None:
        raise DeadEndError
    tense = Tense.MODAL_PAST if is_past else Tense.MODAL
    frame, modal = draw.frame(errands(main)), draw.pick(MOTIVES)
    minor = make_clause(draw, frame, tense, None, subject.entity, is_brief=True, modal=modal)
    return Explained(main, minor)


def errands(main: Clause) -> tuple[Frame, ...]:
    """What one may want to do where the main clause leads."""
    assert main.goal is not None
    return ERRANDS[main.goal.english[-1].text]


def _caring(draw: Draw, subject: NounPhrase, is_past: bool) -> Explained:
    """Done for somebody who is tired or ill."""
    main = clause_about(draw, CARES, _setting(is_past), subject.entity)
    person = main.dative or main.accusative
    if main.modal is not None or person is None or person.entity == subject.entity:
        raise DeadEndError
    return Explained(main, _being(draw, WEAKNESS, person.entity, is_past), refers_back=True)


def _pleased(draw: Draw, subject: NounPhrase, is_past: bool) -> Explained:
    """Done with a thing because it is good."""
    main = clause_about(draw, TREATS, _setting(is_past), subject.entity)
    thing = main.accusative
    if thing is None or thing.noun is None or thing.has_adjective:
        raise DeadEndError
    fitting = tuple(adjective for adjective in thing.noun.adjectives if adjective in _PRAISE)
    if not fitting:
        raise DeadEndError
    frame = Frame(BE, Aspect.BEING, predicates=fitting)
    return Explained(main, _being(draw, frame, thing.entity, is_past), refers_back=True)


def _being(draw: Draw, frame: Frame, entity: Entity, is_past: bool) -> Clause:
    """How the entity, already named, is."""
    clause = clause_in(draw, frame, Tense.PAST if is_past else Tense.SIMPLE, entity)
    clause.subject = pronoun_subject(entity)
    return clause


_EXPLANATIONS = (
    *(_prevented, _prevented, _defied, _defied),
    *(_motivated, _motivated, _caring, _pleased),
)


def hindrance(draw: Draw, main: Clause, is_past: bool) -> Clause:
    """Tired, ill, no time, bad weather: about the main clause's subject or something else."""
    tense = Tense.PAST if is_past else Tense.SIMPLE
    frame = draw.pick(_obstacles(main))
    if frame in (WEAKNESS, SPARE_TIME, MEANS):
        return clause_in(draw, frame, tense, main.entity, is_negated=frame is not WEAKNESS)
    if frame is RAINFALL and not is_past:
        tense = Tense.NOW
    is_kin = frame is ILL_RELATIVE
    subject = _relative_of(draw, main.entity) if is_kin else choose_subject(draw, frame)
    clause = clause_in(draw, frame, tense, subject.entity)
    clause.subject = subject
    return clause


def _obstacles(main: Clause) -> list[Frame]:
    frames = [WEAKNESS, WEAKNESS, SPARE_TIME, ILL_RELATIVE]
    if main.frame in OUTINGS:
        frames += [RAINFALL, BAD_WEATHER]
    if main.frame.verb in (BUY, TRAVEL):
        frames += [MEANS, MEANS]
    return frames


def _relative_of(draw: Draw, entity: Entity) -> NounPhrase:
    if entity.owner is None:
        raise DeadEndError
    noun = draw.noun(ILL_RELATIVE.subjects)
    return decline(noun, False, POSSESSIVES[entity.owner], None, NOMINATIVE)
