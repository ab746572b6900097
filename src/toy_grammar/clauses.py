"""Clauses before their word order is fixed: who does what to whom, when, how and where."""

from enum import Enum, auto
from functools import cache

from toy_grammar.adverbials import (
    ALWAYS,
    EVERY_EVENING,
    EVERY_MORNING,
    LAST_WEEK,
    NEVER,
    NEXT_WEEK,
    ON_SUNDAY,
    SOON,
    TODAY,
    TOMORROW,
    YESTERDAY,
    Time,
)
from toy_grammar.draw import DeadEndError, Draw
from toy_grammar.frames import ASPECT_TENSES, MOOD_TIMES, TIMES, Aspect, Frame
from toy_grammar.morphology import ACCUSATIVE, BARE, DATIVE, NOT_A
from toy_grammar.nouns import FIRST, Entity
from toy_grammar.phrases import (
    NounPhrase,
    company_phrase,
    fixed_phrase,
    it_subject,
    negated_object,
    new_object,
    noun_subject,
    object_phrase,
    personal_subject,
    place_phrase,
    prepositional_phrase,
)
from toy_grammar.verbs import (
    HAVE,
    PAST_MODALS,
    PRESENT_MODALS,
    PRESENT_TENSES,
    Modal,
    Tense,
)
from toy_grammar.words import Phrase, Word


class Setting(Enum):
    """When a clause plays; it weighs the tenses."""

    ANY = auto()
    PAST = auto()
    PRESENT = auto()
    FUTURE = auto()
    QUESTION = auto()
    HOPE = auto()
    RELATIVE = auto()


_TENSE_WEIGHTS: dict[Setting, dict[Tense, int]] = {
    Setting.ANY: {
        Tense.PAST: 9,
        Tense.NOW: 4,
        Tense.SIMPLE: 5,
        Tense.HABIT: 3,
        Tense.PLAN: 2,
        Tense.FUTURE: 3,
        Tense.MODAL: 4,
        Tense.MODAL_PAST: 2,
    },
    Setting.PAST: {Tense.PAST: 5, Tense.MODAL_PAST: 1},
    Setting.PRESENT: {Tense.NOW: 3, Tense.SIMPLE: 3, Tense.MODAL: 2},
    Setting.FUTURE: {Tense.PLAN: 1, Tense.FUTURE: 2, Tense.MODAL: 1},
    Setting.QUESTION: {Tense.PAST: 5, Tense.FUTURE: 2, Tense.MODAL: 2},
    Setting.HOPE: {Tense.PLAN: 1, Tense.FUTURE: 1},
    Setting.RELATIVE: {
        Tense.PAST: 6,
        Tense.NOW: 1,
        Tense.SIMPLE: 3,
        Tense.HABIT: 1,
        Tense.MODAL: 1,
        Tense.MODAL_PAST: 1,
    },
}

_TIME_SHARES = {
    Tense.PAST: 0.5,
    Tense.MEANWHILE: 0.0,
    Tense.SIMPLE: 0.3,
    Tense.NOW: 0.35,
    Tense.HABIT: 1.0,
    Tense.PLAN: 1.0,
    Tense.FUTURE: 0.4,
    Tense.MODAL: 0.3,
    Tense.MODAL_PAST: 0.35,
}


class Role(Enum):
    """A place in a clause that a relative pronoun or a question word can take."""

    SUBJECT = auto()
    DATIVE = auto()
    ACCUSATIVE = auto()
    OBLIQUE = auto()
    COMPANY = auto()
    PLACE = auto()


class Clause:
    """The parts of a clause; None: there is no such part."""

    __slots__ = (
        "accusative",
        "dative",
        "entity",
        "frame",
        "goal",
        "is_early",
        "is_extraposed",
        "manner",
        "modal",
        "negator",
        "oblique",
        "place",
        "predicate",
        "subject",
        "tense",
        "time",
        "time_choice",
    )

    def __init__(
        self, frame: Frame, tense: Tense, subject: NounPhrase | None, entity: Entity
    ) -> None:
        self.frame = frame
        self.tense = tense
        self.subject = subject
        self.entity = entity
        self.modal: Modal | None = None
        self.dative: NounPhrase | None = None
        self.accusative: NounPhrase | None = None
        self.oblique: Phrase | None = None
        self.goal: Phrase | None = None
        self.place: Phrase | None = None
        self.manner: Phrase | None = None
        self.predicate: Phrase | None = None
        self.time: Phrase | None = None
        self.time_choice: Time | None = None
        self.negator: Word | None = None
        self.is_early = False
        self.is_extraposed = False


@cache
def _tenses(
    setting: Setting, aspect: Aspect, is_for_ich: bool, has_time: bool
) -> tuple[Tense, ...]:
    """The tenses a clause may take, each as often as it weighs.

    ``is_for_ich``: the verb has no present form for its subject. ``has_time``: the sentence
    has a time adverbial already, so that tenses that need one are out.
    """
    weights = _TENSE_WEIGHTS[setting]
    excluded: tuple[Tense, ...] = PRESENT_TENSES if is_for_ich else ()
    if has_time:
        excluded += (Tense.HABIT, Tense.PLAN)
    allowed = [tense for tense in ASPECT_TENSES[aspect] if tense not in excluded]
    return tuple(tense for tense in allowed for _ in range(weights.get(tense, 0)))


def choose_tense(draw: Draw, setting: Setting, frame: Frame, entity: Entity) -> Tense:
    """A tense that suits the setting, the frame and the subject."""
    options = _tenses(setting, frame.aspect, lacks_present(frame, entity), draw.has_time)
    if not options:
        raise DeadEndError
    return draw.pick(options)


def lacks_present(frame: Frame, entity: Entity) -> bool:
    """Whether the verb has no present form for the subject."""
    return entity.person == FIRST and not frame.verb.present[FIRST]


def choose_subject(draw: Draw, frame: Frame) -> NounPhrase:
    """A subject for the frame."""
    if frame.is_personal:
        return personal_subject(draw)
    if not frame.subjects:
        return it_subject()
    return noun_subject(draw, frame.subjects, is_plain=frame.has_quality)


def make_clause(  # noqa: PLR0913 - choices of a clause, by keyword
    draw: Draw,
    frame: Frame,
    tense: Tense,
    subject: NounPhrase | None,
    entity: Entity,
    *,
    is_negated: bool = False,
    gap: Role | None = None,
    is_brief: bool = False,
    modal: Modal | None = None,
) -> Clause:
    """A clause with everything its frame asks for and, unless brief, some adverbials.

    The gap is the role that is said elsewhere, by a relative pronoun or a question word.
    """
    clause = Clause(frame, tense, subject, entity)
    if tense in PRESENT_TENSES and lacks_present(frame, entity):
        raise DeadEndError
    clause.modal = modal or _choose_modal(draw, frame, tense)
    _add_objects(draw, clause, is_negated, gap)
    _add_complements(draw, clause, gap)
    if is_negated and clause.negator is None:
        clause.negator = Word("nicht")
    if not is_negated and not is_brief:
        _add_circumstances(draw, clause, gap)
    _add_time(draw, clause, is_negated, 0.5 if is_brief else 1.0)
    clause.is_early = draw.chance(0.5)
    clause.is_extraposed = is_negated or bool(frame.verb.particle) or draw.chance(0.85)
    return clause


def _choose_modal(draw: Draw, frame: Frame, tense: Tense) -> Modal | None:
    if tense is Tense.MODAL:
        return draw.pick(frame.modals or PRESENT_MODALS)
    return draw.pick(frame.modals or PAST_MODALS) if tense is Tense.MODAL_PAST else None


def _add_objects(draw: Draw, clause: Clause, is_negated: bool, gap: Role | None) -> None:
    frame, entity = clause.frame, clause.entity
    if frame.dative and gap is not Role.DATIVE:
        is_definite = is_negated or bool(frame.accusative)
        clause.dative = object_phrase(
            draw, frame.dative, DATIVE, entity, is_definite, is_english_subject=frame.is_swapped
        )
    if frame.accusative and gap is not Role.ACCUSATIVE:
        clause.accusative = _choose_accusative(draw, clause, is_negated)
        if clause.accusative.determiner is NOT_A:
            clause.negator = clause.accusative.german[0]


def _choose_accusative(draw: Draw, clause: Clause, is_negated: bool) -> NounPhrase:
    nouns = clause.frame.accusative
    if clause.frame.verb is HAVE or clause.frame.makes_object:
        return negated_object(draw, nouns) if is_negated else new_object(draw, nouns)
    if is_negated and not clause.frame.is_known and draw.chance(0.5):
        things = [noun for noun in nouns if not noun.entity.is_human]
        if things:
            return negated_object(draw, things)
    is_definite = is_negated or clause.frame.is_known
    phrase = object_phrase(
        draw, nouns, ACCUSATIVE, clause.entity, is_definite, clause.frame.is_others
    )
    if clause.dative is not None and _clashes(clause.dative, phrase):
        raise DeadEndError
    return phrase


def _clashes(dative: NounPhrase, accusative: NounPhrase) -> bool:
    """Two pronouns ask for an order of their own, and "brings her her key" sounds wrong."""
    return accusative.is_pronoun or dative.english[-1].text == accusative.english[0].text


def _add_complements(draw: Draw, clause: Clause, gap: Role | None) -> None:
    frame, entity = clause.frame, clause.entity
    if frame.oblique is not None and gap is not Role.OBLIQUE:
        inner = object_phrase(draw, frame.oblique.nouns, frame.oblique.case, entity, True)
        clause.oblique = prepositional_phrase(frame.oblique.german, (frame.oblique.english,), inner)
    if frame.goals and gap is not Role.PLACE:
        clause.goal = place_phrase(draw, draw.pick(frame.goals), entity)
    if frame.predicates or frame.has_quality:
        clause.predicate = _choose_predicate(draw, clause)


def _choose_predicate(draw: Draw, clause: Clause) -> Phrase:
    options = clause.frame.predicates
    if clause.frame.has_quality and clause.subject is not None and clause.subject.noun is not None:
        options = clause.subject.noun.adjectives
    if not options:
        raise DeadEndError
    adjective = draw.pick(options)
    german, english = [Word(adjective.german)], [Word(adjective.english)]
    if draw.chance(0.3):
        german.insert(0, Word("sehr"))
        english.insert(0, Word("very"))
    for source, target in zip(german, english, strict=True):
        target.sure = (source,)
    return Phrase(german, english)


def _add_circumstances(draw: Draw, clause: Clause, gap: Role | None) -> None:
    """Perhaps a place, perhaps a manner."""
    frame = clause.frame
    if frame.places and gap is not Role.PLACE and draw.chance(0.3):
        clause.place = place_phrase(draw, draw.pick(frame.places), clause.entity)
    if frame.has_company and gap is not Role.COMPANY and draw.chance(0.25):
        clause.manner = company_phrase(draw, clause.entity)
    elif frame.manners and draw.chance(0.35):
        clause.manner = fixed_phrase(draw, draw.pick(frame.manners))
    if clause.accusative is not None and clause.accusative.determiner is BARE:
        clause.manner = None


def _add_time(draw: Draw, clause: Clause, is_negated: bool, share: float) -> None:
    """Perhaps a time; a sentence has one at most, and a habit or a plan always has one."""
    needed = clause.tense in (Tense.HABIT, Tense.PLAN)
    if not needed and (draw.has_time or not draw.chance(_TIME_SHARES[clause.tense] * share)):
        return
    times = _times(
        clause.tense, clause.frame.aspect, clause.frame.is_mood, bool(clause.frame.modals)
    )
    if times:
        set_time(draw, clause, draw.pick(times), is_negated)


@cache
def _times(tense: Tense, aspect: Aspect, is_mood: bool, is_chance: bool) -> tuple[Time, ...]:
    """The times that suit a tense.

    Whole weeks do not suit what is done every day, nor a day or a week what lasts.
    ``is_chance``: it happens by itself, so that one cannot be able to do it next week.
    """
    if is_mood:
        return MOOD_TIMES[tense]
    if aspect in (Aspect.BEING, Aspect.TASTE):
        return ()
    excluded: tuple[Time, ...] = ()
    if aspect is Aspect.DAILY:
        excluded = (LAST_WEEK, NEXT_WEEK, ON_SUNDAY, TODAY, ALWAYS, NEVER)
        excluded += (EVERY_EVENING, EVERY_MORNING)
    if aspect is Aspect.LASTING:
        excluded = (YESTERDAY, LAST_WEEK, TODAY, ON_SUNDAY, TOMORROW, NEXT_WEEK)
    if is_chance and tense is Tense.MODAL:
        excluded = (NEXT_WEEK, TOMORROW)
    return tuple(time for time in TIMES[tense] if time not in excluded)


def set_time(draw: Draw, clause: Clause, choice: Time, is_negated: bool = False) -> None:
    """Give the clause its time adverbial; nothing is "oft nicht" or "bald nicht"."""
    if is_negated and (choice.is_before_verb or choice is SOON):
        raise DeadEndError
    clause.time_choice = choice
    clause.time = choice.words.phrase()
    draw.has_time = True
