"""Relative clauses: the man who lives in Berlin, the friend with whom we went home."""

from typing import TypeGuard

from toy_grammar.adverbials import Spot
from toy_grammar.clauses import Clause, Role, Setting, choose_tense, make_clause
from toy_grammar.draw import Draw
from toy_grammar.frames import FRAMES, Aspect, Frame
from toy_grammar.morphology import (
    ACCUSATIVE,
    DATIVE,
    NOMINATIVE,
    RELATIVE_PRONOUNS,
    THE,
    TWO,
    A,
)
from toy_grammar.nouns import ANIMALS, GROUP, MASCULINE, NOUNS, PEOPLE, PLURAL, WOMAN, Noun
from toy_grammar.order import subordinate_clause
from toy_grammar.phrases import NounPhrase, personal_subject
from toy_grammar.verbs import LIVE, SHOULD, UNDERSTAND, WORK, Tense
from toy_grammar.words import Phrase, Word

_CASES = {
    Role.SUBJECT: NOMINATIVE,
    Role.DATIVE: DATIVE,
    Role.ACCUSATIVE: ACCUSATIVE,
    Role.OBLIQUE: ACCUSATIVE,
    Role.COMPANY: DATIVE,
    Role.PLACE: DATIVE,
}


def _openings(noun: Noun) -> tuple[tuple[Frame, Role], ...]:
    """Every frame with a role in it that the noun can take."""
    return tuple(
        (frame, role)
        for frame in FRAMES
        if not frame.is_swapped and not frame.has_quality
        for role in Role
        if _can_take(noun, frame, role)
        for _ in range(frame.weight)
    )


def _can_take(noun: Noun, frame: Frame, role: Role) -> bool:
    if role is Role.SUBJECT:
        return noun in frame.subjects and not frame.predicates
    if not frame.is_personal:
        return False
    if role is Role.DATIVE:
        return noun in frame.dative and not frame.accusative
    if role is Role.ACCUSATIVE:
        return noun in frame.accusative and frame.verb is not UNDERSTAND
    if role is Role.OBLIQUE:
        return frame.oblique is not None and noun in frame.oblique.nouns
    if role is Role.COMPANY:
        return frame.has_company and noun in PEOPLE
    return frame.verb in (LIVE, WORK) and _spot(noun, frame) is not None


def _spot(noun: Noun, frame: Frame) -> Spot | None:
    for place in frame.goals:
        if isinstance(place, Spot) and place.noun is noun:
            return place
    return None


_OPENINGS = {name: _openings(noun) for name, noun in NOUNS.items()}


def can_have_relative(phrase: NounPhrase | None) -> TypeGuard[NounPhrase]:
    """Whether a relative clause would pick out what the phrase means, as English "that" does."""
    if phrase is None or phrase.noun is None or phrase.noun.is_mass:
        return False
    return phrase.determiner in (THE, A, TWO) and bool(_OPENINGS[phrase.noun.german])


def add_relative(draw: Draw, phrase: NounPhrase, is_past: bool) -> None:
    """Give the noun phrase a relative clause; ``is_past``: it stands in a clause about the past."""
    assert phrase.noun is not None
    frame, role = draw.pick(_OPENINGS[phrase.noun.german])
    verb = frame.verb
    if verb.base in draw.said or verb.stem in draw.said:
        return
    draw.said += (verb.base, verb.stem)
    subject = None if role is Role.SUBJECT else personal_subject(draw)
    if role is Role.ACCUSATIVE and subject is not None and _is_ambiguous(phrase, subject):
        return
    entity = phrase.entity if subject is None else subject.entity
    tense = choose_tense(draw, _setting(frame, is_past), frame, entity)
    is_known = subject is None or subject.is_definite
    is_negated = is_known and tense is not Tense.HABIT and draw.chance(0.08)
    clause = make_clause(
        draw, frame, tense, subject, entity, gap=role, is_brief=True, is_negated=is_negated
    )
    if clause.modal is not SHOULD:  # "der kommen sollte" sounds like the past
        phrase.relative = _relative_clause(phrase, clause, role)


def _setting(frame: Frame, is_past: bool) -> Setting:
    """In the past everything is past but what lasts: she helped a man who lives in Berlin."""
    lasts = frame.aspect in (Aspect.LASTING, Aspect.TRAIT)
    return Setting.PAST if is_past and not lasts else Setting.RELATIVE


def _is_ambiguous(phrase: NounPhrase, subject: NounPhrase) -> bool:
    """Whether "die Frau, die Anna kennt" could mean either of them."""
    if not phrase.entity.is_human and phrase.noun not in ANIMALS:
        return False
    is_plural = phrase.entity.column == PLURAL
    if phrase.entity.column == MASCULINE or is_plural != (subject.entity.column == PLURAL):
        return False
    if subject.is_pronoun:
        return subject.entity in (WOMAN, GROUP)
    return subject.noun is None or subject.entity.column != MASCULINE


def _relative_clause(phrase: NounPhrase, clause: Clause, role: Role) -> Phrase:
    pronoun = Word(RELATIVE_PRONOUNS[_CASES[role] + phrase.entity.column])
    preposition = _preposition(phrase, clause.frame, role)
    is_human = phrase.entity.is_human
    if preposition is None:
        text = ("who" if role is Role.SUBJECT else "whom") if is_human else "that"
        return subordinate_clause(clause, [pronoun], [Word(text, sure=(pronoun,))])
    head = Word(preposition[0])
    english = Word("whom" if is_human else "which", sure=(pronoun,))
    return subordinate_clause(
        clause, [head, pronoun], [Word(preposition[1], sure=(head,)), english]
    )


def _preposition(phrase: NounPhrase, frame: Frame, role: Role) -> tuple[str, str] | None:
    if role is Role.COMPANY:
        return "mit", "with"
    if role is Role.OBLIQUE and frame.oblique is not None:
        return frame.oblique.german, frame.oblique.english
    if role is Role.PLACE and phrase.noun is not None:
        spot = _spot(phrase.noun, frame)
        assert spot is not None
        return spot.german, spot.english[0]
    return None
