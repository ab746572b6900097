"""Two clauses or two predicates with "und" or "aber"."""

from toy_grammar.clauses import Setting, make_clause
from toy_grammar.draw import DeadEndError, Draw
from toy_grammar.order import joined_predicate, main_clause
from toy_grammar.phrases import personal_subject, pronoun_subject
from toy_grammar.pools import DEEDS, LONG_DEEDS
from toy_grammar.reasons import hindrance
from toy_grammar.statements import choose_clause, choose_front, clause_in
from toy_grammar.subordination import other_subject, returning_subject
from toy_grammar.verbs import WANT, Tense
from toy_grammar.words import Phrase, Word, comma


def contrast(draw: Draw) -> Phrase:
    """Somebody does one thing, somebody else another."""
    setting = Setting.PAST if draw.chance(0.5) else Setting.PRESENT
    first = choose_clause(draw, LONG_DEEDS, setting)
    front = choose_front(draw, first)
    draw.has_time = True
    other = other_subject(draw, first.frame)
    second = choose_clause(draw, LONG_DEEDS, setting, other, is_brief=True)
    if second.entity == first.entity or first.modal is not second.modal:
        raise DeadEndError
    left, right = main_clause(first, front), main_clause(second, second.subject)
    return _but(left, right) if draw.chance(0.4) else _and(left, right)


def obstacle(draw: Draw) -> Phrase:
    """What somebody wanted to do, but could not."""
    is_past = draw.chance(0.6)
    subject = returning_subject(draw)
    tense = Tense.MODAL_PAST if is_past else Tense.MODAL
    main = make_clause(draw, draw.frame(DEEDS), tense, subject, subject.entity, modal=WANT)
    if main.frame.modals:
        raise DeadEndError
    minor = hindrance(draw, main, is_past)
    minor.subject = minor.subject or pronoun_subject(subject.entity)
    left = main_clause(main, choose_front(draw, main))
    return _but(left, main_clause(minor, minor.subject))


def double_predicate(draw: Draw) -> Phrase:
    """Two things that one subject does, with one auxiliary or modal."""
    subject = personal_subject(draw)
    tense = draw.pick((Tense.PAST, Tense.PAST, Tense.MODAL, Tense.FUTURE, Tense.MODAL_PAST))
    first = make_clause(draw, draw.frame(DEEDS), tense, subject, subject.entity, is_brief=True)
    draw.has_time = True
    frame = draw.frame(DEEDS)
    shares_auxiliary = frame.verb.takes_sein == first.frame.verb.takes_sein
    if (tense is Tense.PAST and not shares_auxiliary) or frame.modals:
        raise DeadEndError
    second = clause_in(draw, frame, tense, subject.entity)
    is_time_first = first.time_choice is not None and first.time_choice.can_be_first
    front = first.time if first.time and is_time_first and draw.chance(0.4) else subject
    left = main_clause(first, front)
    finite = left.german[len(front.german)]
    return _and(left, joined_predicate(second, finite))


def _but(left: Phrase, right: Phrase) -> Phrase:
    boundary, word = comma(), Word("aber")
    english = [Word(",", possible=(boundary,)), Word("but", sure=(word,))]
    return Phrase(
        [*left.german, boundary, word, *right.german],
        [*left.english, *english, *right.english],
    )


def _and(left: Phrase, right: Phrase) -> Phrase:
    word = Word("und")
    english = [*left.english, Word("and", sure=(word,)), *right.english]
    return Phrase([*left.german, word, *right.german], english)
