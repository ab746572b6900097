"""A main clause with an infinitive: to buy bread, forgot to close the door."""

from collections.abc import Sequence

from toy_grammar.clauses import Clause, Setting, choose_tense, make_clause
from toy_grammar.draw import DeadEndError, Draw
from toy_grammar.frames import Aspect, Frame
from toy_grammar.nouns import Entity
from toy_grammar.order import infinitive_clause, main_clause
from toy_grammar.phrases import personal_subject
from toy_grammar.pools import DUTIES, MOVES, TRIALS
from toy_grammar.reasons import errands
from toy_grammar.statements import choose_clause, choose_front, clause_in
from toy_grammar.verbs import FORGET, TRY, Tense
from toy_grammar.words import Phrase, Word

_TRYING = Frame(TRY, Aspect.ONCE)
_FORGETTING = Frame(FORGET, Aspect.SLIP)


def purpose(draw: Draw) -> Phrase:
    """Where somebody goes, and what for."""
    main = choose_clause(draw, MOVES, Setting.ANY)
    front = choose_front(draw, main)
    errand = _task(draw, errands(main), main.entity)
    return main_clause(main, front).then(infinitive_clause(errand, Word("um")))


def attempt(draw: Draw) -> Phrase:
    """What somebody tries or forgets to do; a time stands in front, away from the infinitive."""
    is_trial = draw.chance(0.6)
    frame = _TRYING if is_trial else _FORGETTING
    subject = personal_subject(draw)
    tense = choose_tense(draw, Setting.ANY, frame, subject.entity)
    draw.said.append(frame.verb.base)
    main = make_clause(draw, frame, tense, subject, subject.entity)
    choice = main.time_choice
    if choice is not None and not choice.can_be_first:
        raise DeadEndError
    task = _task(draw, TRIALS if is_trial else DUTIES, subject.entity)
    return main_clause(main, main.time or subject).then(infinitive_clause(task))


def _task(draw: Draw, frames: Sequence[Frame], entity: Entity) -> Clause:
    """Something to do: its tense does not show in an infinitive."""
    draw.has_time = True
    return clause_in(draw, draw.frame(frames), Tense.FUTURE, entity)
