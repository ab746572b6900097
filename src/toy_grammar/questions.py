"""Questions, with and without a question word."""

from collections.abc import Callable

from toy_grammar.clauses import (
    Clause,
    Role,
    Setting,
    choose_subject,
    choose_tense,
    make_clause,
)
from toy_grammar.draw import DeadEndError, Draw
from toy_grammar.frames import Frame
from toy_grammar.nouns import ANYBODY, SPEAKER
from toy_grammar.order import main_clause, question
from toy_grammar.phrases import NounPhrase
from toy_grammar.pools import ASKED, DEEDS, FINDS, MEETINGS, SITES, STATEMENTS, TURNS, WAYS
from toy_grammar.verbs import BE, CAN, Tense
from toy_grammar.words import Phrase, Word


def yes_no_question(draw: Draw) -> Phrase:
    """A question without a question word: auxiliaries, "kann" and "ist" open it."""
    frame = draw.frame(ASKED)
    is_now = frame.verb is BE and draw.chance(0.5)
    clause = _asked(draw, frame, Setting.PRESENT if is_now else Setting.QUESTION)
    if clause.tense is Tense.MODAL:
        clause.modal = CAN
    return question(clause, [], [])


def open_question(draw: Draw) -> Phrase:
    """A question for a time, a reason, a place, a person or a thing."""
    return draw.pick(_OPEN_QUESTIONS)(draw)


def _asked(
    draw: Draw,
    frame: Frame,
    setting: Setting,
    gap: Role | None = None,
    is_negated: bool = False,
) -> Clause:
    """A clause to ask about: one knows whom one means, and seldom asks about oneself."""
    subject = choose_subject(draw, frame)
    if not subject.is_definite or subject.entity is SPEAKER:
        raise DeadEndError
    tense = choose_tense(draw, setting, frame, subject.entity)
    if is_negated and tense is Tense.HABIT:
        raise DeadEndError
    is_brief = gap is not None
    return make_clause(
        *(draw, frame, tense, subject, subject.entity),
        gap=gap,
        is_negated=is_negated,
        is_brief=is_brief,
    )


def _question_with(clause: Clause, german: str, english: str) -> Phrase:
    word = Word(german)
    return question(clause, [word], [Word(english, sure=(word,))])


def _when(draw: Draw) -> Phrase:
    draw.has_time = True
    setting = draw.pick((Setting.PAST, Setting.FUTURE))
    frame = draw.frame(DEEDS if draw.chance(0.7) else TURNS)
    return _question_with(_asked(draw, frame, setting), "wann", "when")


def _why(draw: Draw) -> Phrase:
    is_negated = draw.chance(0.4)
    clause = _asked(draw, draw.frame(STATEMENTS), Setting.ANY, is_negated=is_negated)
    return _question_with(clause, "warum", "why")


def _where(draw: Draw) -> Phrase:
    clause = _asked(draw, draw.frame(SITES), Setting.RELATIVE, Role.PLACE)
    return _question_with(clause, "wo", "where")


def _where_to(draw: Draw) -> Phrase:
    clause = _asked(draw, draw.frame(WAYS), Setting.ANY, Role.PLACE)
    return _question_with(clause, "wohin", "where")


def _what(draw: Draw) -> Phrase:
    clause = _asked(draw, draw.frame(FINDS), Setting.ANY, Role.ACCUSATIVE)
    return _question_with(clause, "was", "what")


def _whom(draw: Draw) -> Phrase:
    frame = draw.frame(MEETINGS)
    role = Role.ACCUSATIVE if frame.accusative else Role.DATIVE
    clause = _asked(draw, frame, Setting.ANY, role)
    return _question_with(clause, "wen" if frame.accusative else "wem", "who")


def _who(draw: Draw) -> Phrase:
    word = Word("wer")
    subject = NounPhrase([word], [Word("who", sure=(word,))], ANYBODY)
    frame = draw.frame(DEEDS)
    tense = choose_tense(draw, Setting.ANY, frame, ANYBODY)
    return main_clause(make_clause(draw, frame, tense, subject, ANYBODY), subject)


_OPEN_QUESTIONS: tuple[Callable[[Draw], Phrase], ...] = (
    *(_when, _why, _why, _where, _where_to, _what, _whom, _who, _who),
)
