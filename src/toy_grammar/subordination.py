"""A main clause with a verb-final one: why, although, if, when, before, while, that."""

from dataclasses import dataclass

from toy_grammar.adverbials import ALWAYS, FREQUENCIES, OFTEN, SOMETIMES, Time
from toy_grammar.clauses import Clause, Setting, choose_subject, make_clause, set_time
from toy_grammar.draw import DeadEndError, Draw
from toy_grammar.frames import (
    BAD_WEATHER,
    FINE_WEATHER,
    MOOD,
    PRESENCE,
    RAINFALL,
    SPARE_TIME,
    WEAKNESS,
    YOUTH,
    Aspect,
    Frame,
)
from toy_grammar.nouns import GROWN_UP, SPEAKER, SPEAKERS, Entity
from toy_grammar.order import main_clause, subordinate_clause
from toy_grammar.phrases import NounPhrase, personal_subject, pronoun_subject
from toy_grammar.pools import (
    CHANGES,
    CHORES,
    DEEDS,
    EVENINGS,
    HABITS,
    LONG_DEEDS,
    MOVES,
    STATEMENTS,
    TURNS,
)
from toy_grammar.reasons import Explained, explain
from toy_grammar.statements import (
    add_relatives,
    choose_clause,
    choose_front,
    clause_about,
    clause_in,
)
from toy_grammar.verbs import BELIEVE, HOPE, KNOW_THAT, SAY, Tense
from toy_grammar.words import Phrase, Word, comma


@dataclass(frozen=True, slots=True)
class Conjunction:
    """A subordinating conjunction in both languages."""

    german: str
    english: str

    def open(self, clause: Clause) -> Phrase:
        """The clause behind the conjunction."""
        word = Word(self.german)
        return subordinate_clause(clause, [word], [Word(self.english, sure=(word,))])


BECAUSE = Conjunction("weil", "because")
ALTHOUGH = Conjunction("obwohl", "although")
IF = Conjunction("wenn", "if")
WHENEVER = Conjunction("wenn", "when")
WHEN = Conjunction("als", "when")
BEFORE = Conjunction("bevor", "before")
WHILE = Conjunction("während", "while")
THAT = Conjunction("dass", "that")
WHETHER = Conjunction("ob", "whether")


def _join(
    draw: Draw,
    main: Clause,
    conjunction: Conjunction,
    minor: Clause,
    subject: NounPhrase,
    first_share: float,
) -> Phrase:
    """Main and subordinate clause in either order.

    A clause without a subject is about the given one: the clause that comes first names it,
    the other says "he". A share of 0: the subordinate clause is about an object, to which
    no relative clause may come between.
    """
    is_minor_first = draw.chance(first_share)
    for clause in (minor, main) if is_minor_first else (main, minor):
        if clause.subject is None:
            clause.subject = subject
            subject = pronoun_subject(subject.entity)
    if is_minor_first:
        return _minor_first(conjunction.open(minor), main_clause(main, None))
    front = choose_front(draw, main)
    if first_share > 0:
        add_relatives(draw, main, front)
    return main_clause(main, front).then(conjunction.open(minor))


def _minor_first(minor: Phrase, main: Phrase) -> Phrase:
    boundary = comma()
    boundary.possible = (minor.german[-1],)
    return Phrase(minor.german[1:] + main.german, [*minor.english, boundary, *main.english])


def returning_subject(draw: Draw) -> NounPhrase:
    """Somebody a pronoun can refer back to."""
    subject = personal_subject(draw)
    if subject.entity.pronoun is None:
        raise DeadEndError
    return subject


def _clause_of_other(
    draw: Draw, frame: Frame, tense: Tense, entity: Entity | None = None
) -> Clause:
    """A brief clause about somebody or something else than the entity."""
    subject = other_subject(draw, frame)
    if subject.is_pronoun and subject.entity is entity:
        raise DeadEndError
    clause = clause_in(draw, frame, tense, subject.entity)
    clause.subject = subject
    return clause


def other_subject(draw: Draw, frame: Frame) -> NounPhrase:
    """A subject that cannot be mistaken for one named before."""
    subject = choose_subject(draw, frame)
    if frame.is_personal and subject.is_pronoun and subject.entity not in (SPEAKER, SPEAKERS):
        raise DeadEndError
    return subject


def reason(draw: Draw) -> Phrase:
    """Why somebody does something, or does it all the same."""
    subject = returning_subject(draw)
    explained = explain(draw, subject)
    if not explained.is_concession and draw.chance(0.15):
        return _denn(draw, explained, subject)
    first_share = 0.0 if explained.refers_back else 0.4
    conjunction = ALTHOUGH if explained.is_concession else BECAUSE
    return _join(draw, explained.main, conjunction, explained.minor, subject, first_share)


def _denn(draw: Draw, explained: Explained, subject: NounPhrase) -> Phrase:
    """The reason as a second main clause."""
    main, minor = explained.main, explained.minor
    main.subject = subject
    minor.subject = minor.subject or pronoun_subject(subject.entity)
    first = main_clause(main, choose_front(draw, main))
    second = main_clause(minor, minor.subject)
    word = Word("denn")
    return Phrase(
        [*first.german, comma(), word, *second.german],
        [*first.english, Word("because", sure=(word,)), *second.english],
    )


def condition(draw: Draw) -> Phrase:
    """What somebody does or will do when something is so."""
    subject = returning_subject(draw)
    entity = subject.entity
    is_future = draw.chance(0.5)
    if is_future:
        main = clause_about(draw, (*CHORES, *MOVES), Setting.FUTURE, entity)
    else:
        main = _habit(draw, entity, FREQUENCIES)
    minor = _circumstance(draw, entity, is_future)
    return _join(draw, main, IF if is_future else WHENEVER, minor, subject, 0.6)


def _habit(draw: Draw, entity: Entity, times: tuple[Time, ...]) -> Clause:
    clause = make_clause(draw, draw.frame(HABITS), Tense.HABIT, None, entity, is_brief=True)
    set_time(draw, clause, draw.pick(times))
    return clause


def _circumstance(draw: Draw, entity: Entity, is_future: bool) -> Clause:
    """Something in the simple present, about the entity or about something else."""
    draw.has_time = True
    if draw.chance(0.35):
        frame = SPARE_TIME if is_future or draw.chance(0.4) else WEAKNESS
        return clause_in(draw, frame, Tense.SIMPLE, entity)
    if draw.chance(0.4):
        weather = draw.pick((RAINFALL, BAD_WEATHER, FINE_WEATHER))
        return _clause_of_other(draw, weather, Tense.SIMPLE)
    return _clause_of_other(draw, draw.frame(CHANGES), Tense.SIMPLE, entity)


def sequence(draw: Draw) -> Phrase:
    """What somebody does before something else; no other time is said."""
    draw.has_time = True
    subject = returning_subject(draw)
    entity = subject.entity
    tense = Tense.SIMPLE
    if draw.chance(0.6):
        tense = Tense.PAST
        main = clause_in(draw, draw.frame(CHORES), tense, entity)
    elif draw.chance(0.5):
        main = make_clause(draw, draw.frame(CHORES), Tense.FUTURE, None, entity)
    else:
        main = _habit(draw, entity, (OFTEN, ALWAYS, SOMETIMES))
    minor = clause_in(draw, draw.frame(EVENINGS), tense, entity)
    return _join(draw, main, BEFORE, minor, subject, 0.4)


def meanwhile(draw: Draw) -> Phrase:
    """What happens while somebody else is busy; no other time is said."""
    draw.has_time = True
    is_past = draw.chance(0.5)
    tense = Tense.MEANWHILE if is_past else Tense.NOW
    minor = _clause_of_other(draw, draw.frame(LONG_DEEDS), tense)
    other = other_subject(draw, MOOD)
    if other.entity == minor.entity:
        raise DeadEndError
    main = clause_in(draw, draw.frame(HABITS), Tense.PAST if is_past else Tense.NOW, other.entity)
    return _join(draw, main, WHILE, minor, other, 0.4)


def occasion(draw: Draw) -> Phrase:
    """What happened when something else did."""
    subject = returning_subject(draw)
    draw.has_time = True
    main = make_clause(draw, draw.frame(HABITS), Tense.PAST, None, subject.entity)
    if draw.chance(0.3):
        set_time(draw, main, OFTEN)
        is_grown_up = subject.has_adjective or any(noun in draw.said for noun in GROWN_UP)
        frame = PRESENCE if is_grown_up or draw.chance(0.5) else YOUTH
        minor = clause_in(draw, frame, Tense.PAST, subject.entity)
    else:
        minor = _clause_of_other(draw, draw.frame(TURNS), Tense.PAST, subject.entity)
    return _join(draw, main, WHEN, minor, subject, 0.5)


_SAYING = Frame(SAY, Aspect.STATE)
_BELIEVING = Frame(BELIEVE, Aspect.TRAIT)
_KNOWING = Frame(KNOW_THAT, Aspect.TRAIT)
_HOPING = Frame(HOPE, Aspect.TRAIT)


def report(draw: Draw) -> Phrase:
    """What somebody says, thinks, knows or hopes."""
    frame = draw.pick((_SAYING, _SAYING, _BELIEVING, _BELIEVING, _KNOWING, _KNOWING, _HOPING))
    subject = personal_subject(draw)
    is_past = frame is _SAYING and draw.chance(0.6)
    is_doubt = frame is _KNOWING and draw.chance(0.5)
    if is_doubt and not subject.is_definite:
        raise DeadEndError
    tense = Tense.PAST if is_past else Tense.SIMPLE
    main = make_clause(draw, frame, tense, subject, subject.entity, is_negated=is_doubt)
    setting = Setting.HOPE if frame is _HOPING else Setting.PAST if is_past else Setting.ANY
    front = choose_front(draw, main)
    speaker = subject.entity if frame in (_SAYING, _HOPING) else None
    content = _content(draw, WHETHER if is_doubt else THAT, setting, speaker)
    return main_clause(main, front).then(content)


def _content(
    draw: Draw, conjunction: Conjunction, setting: Setting, speaker: Entity | None
) -> Phrase:
    """The clause that is said or thought, sometimes with its reason, sometimes of the speaker."""
    is_certain = conjunction is THAT  # not: "does not know whether he did not"
    if is_certain and setting is Setting.ANY and draw.chance(0.25):
        return _explained_content(draw)
    is_negated = is_certain and draw.chance(0.15)
    again = None
    if speaker is not None and speaker.pronoun is not None and draw.chance(0.4):
        again = pronoun_subject(speaker)
    frames = STATEMENTS if again is None else DEEDS
    clause = choose_clause(draw, frames, setting, again, is_negated=is_negated)
    if clause.entity is SPEAKER and not (speaker is SPEAKER or again is None):
        raise DeadEndError
    add_relatives(draw, clause, None)
    return conjunction.open(clause)


def _explained_content(draw: Draw) -> Phrase:
    subject = returning_subject(draw)
    explained = explain(draw, subject)
    explained.main.subject = subject
    explained.minor.subject = explained.minor.subject or pronoun_subject(subject.entity)
    inner = ALTHOUGH if explained.is_concession else BECAUSE
    return THAT.open(explained.main).then(inner.open(explained.minor))
