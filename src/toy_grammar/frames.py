"""Sentence frames: each verb with what may stand around it, and when it may happen."""

from collections.abc import Iterable
from dataclasses import dataclass
from enum import Enum, auto

from toy_grammar import adverbials as adv
from toy_grammar import verbs
from toy_grammar.morphology import ACCUSATIVE
from toy_grammar.nouns import (
    ANIMALS,
    FAMILY,
    PEOPLE,
    Adjective,
    Noun,
    named_adjectives,
    named_nouns,
)
from toy_grammar.verbs import CAN, Modal, Tense, Verb


class Aspect(Enum):
    """What kind of happening a frame names; it decides the tenses."""

    EVENT = auto()
    ONCE = auto()  # not a habit: nobody often buys a house
    POINT = auto()  # over at once: no "is finding"
    STATE = auto()  # no progressive
    LASTING = auto()  # goes on for longer than a day: she lives there
    TRAIT = auto()  # present only: he knows her
    SCENE = auto()  # just happens: no modals
    POSE = auto()  # no future either
    DAILY = auto()  # no plans
    TASTE = auto()  # no modals, no progressive
    SLIP = auto()  # past only: he forgot it
    BEING = auto()  # sein and haben


_USUAL = (Tense.PAST, Tense.PLAN, Tense.FUTURE, Tense.MODAL, Tense.MODAL_PAST)
_STEADY = (Tense.PAST, Tense.SIMPLE, Tense.FUTURE, Tense.MODAL, Tense.MODAL_PAST)

ASPECT_TENSES = {
    Aspect.EVENT: (*_USUAL, Tense.NOW, Tense.HABIT),
    Aspect.ONCE: (*_USUAL, Tense.NOW),
    Aspect.POINT: _USUAL,
    Aspect.STATE: _STEADY,
    Aspect.LASTING: _STEADY,
    Aspect.TRAIT: (Tense.SIMPLE,),
    Aspect.SCENE: (Tense.PAST, Tense.NOW, Tense.PLAN, Tense.FUTURE),
    Aspect.POSE: (Tense.PAST, Tense.NOW),
    Aspect.DAILY: (Tense.PAST, Tense.NOW, Tense.HABIT, Tense.MODAL, Tense.MODAL_PAST),
    Aspect.TASTE: (Tense.PAST, Tense.SIMPLE, Tense.FUTURE),
    Aspect.SLIP: (Tense.PAST,),
    Aspect.BEING: (Tense.PAST, Tense.SIMPLE),
}

TIMES: dict[Tense, tuple[adv.Time, ...]] = {
    Tense.PAST: (adv.YESTERDAY, adv.YESTERDAY, adv.LAST_WEEK, adv.TODAY, adv.ON_SUNDAY),
    Tense.MEANWHILE: (),
    Tense.SIMPLE: (),
    Tense.NOW: (adv.NOW, adv.RIGHT_NOW, adv.RIGHT_NOW, adv.TODAY),
    Tense.HABIT: (*adv.FREQUENCIES, adv.EVERY_DAY, adv.EVERY_EVENING, adv.EVERY_MORNING),
    Tense.PLAN: (adv.TOMORROW, adv.TOMORROW, adv.SOON, adv.NEXT_WEEK, adv.ON_SUNDAY),
    Tense.FUTURE: (adv.TOMORROW, adv.SOON, adv.NEXT_WEEK, adv.ON_SUNDAY),
    Tense.MODAL: (adv.TODAY, adv.TOMORROW, adv.NOW, adv.NEXT_WEEK),
    Tense.MODAL_PAST: (adv.YESTERDAY, adv.LAST_WEEK, adv.ON_SUNDAY),
}
MOOD_TIMES: dict[Tense, tuple[adv.Time, ...]] = {
    Tense.SIMPLE: (adv.TODAY, adv.TODAY, adv.NOW, adv.OFTEN),
    Tense.PAST: (adv.YESTERDAY, adv.LAST_WEEK, adv.ON_SUNDAY),
}


@dataclass(frozen=True, slots=True, eq=False)
class Oblique:
    """An object with a preposition: wartet *auf den Zug*."""

    german: str
    case: int
    nouns: tuple[Noun, ...]
    english: str


@dataclass(frozen=True, slots=True, eq=False)
class Frame:
    """A verb with what may stand around it. Subjects that are PEOPLE include pronouns and names."""

    verb: Verb
    aspect: Aspect
    subjects: tuple[Noun, ...] = PEOPLE
    dative: tuple[Noun, ...] = ()
    accusative: tuple[Noun, ...] = ()
    oblique: Oblique | None = None
    goals: tuple[adv.Place, ...] = ()
    """Places that the verb asks for."""
    places: tuple[adv.Place, ...] = ()
    """Places where it may happen."""
    manners: tuple[adv.Fixed, ...] = ()
    has_company: bool = False
    predicates: tuple[Adjective, ...] = ()
    has_quality: bool = False
    """The predicate is one of the subject's own adjectives."""
    makes_object: bool = False
    """The accusative is new to the world: writes *a letter*."""
    is_others: bool = False
    """The accusative belongs to somebody else so far: buys *a car*."""
    is_known: bool = False
    """The accusative is there to be seen: closes *the door*."""
    modals: tuple[Modal, ...] = ()
    """The only modals that make sense, if not all do."""
    is_mood: bool = False
    """A state that passes: it may be so "heute"."""
    is_swapped: bool = False
    """The German dative is the English subject: gefällt dem Mann / the man likes."""
    weight: int = 3

    @property
    def is_personal(self) -> bool:
        """Whether people do it, and nobody else."""
        return self.subjects is PEOPLE


_EVENT, _ONCE, _POINT, _STATE = Aspect.EVENT, Aspect.ONCE, Aspect.POINT, Aspect.STATE
_SCENE, _POSE, _BEING = Aspect.SCENE, Aspect.POSE, Aspect.BEING

_GROCERIES = named_nouns("Zeitung Brot Kuchen Apfel Milch Kaffee")
_VALUABLES = named_nouns("Buch Auto Fahrrad Tisch Bild Uhr Haus Bett Wohnung Geschenk")
_TEXTS = named_nouns("Buch Brief Zeitung")
_SMALL = named_nouns("Buch Brief Schlüssel Zeitung Uhr Bild Geschenk")
_FOOD = named_nouns("Apfel Brot Kuchen Suppe")
_DRINKS = named_nouns("Kaffee Milch Wasser")
_ADULTS = named_nouns("Mann Frau Lehrer Lehrerin Arzt Freund Freundin")
_CLOSED = named_nouns("Tür Fenster")
_AROUND = adv.OUTDOORS + adv.INDOORS
_PACES = (adv.SLOWLY, adv.QUICKLY)
_TOUCHES = (*_PACES, adv.QUIETLY)

FRAMES = (
    Frame(verbs.BUY, _EVENT, accusative=_GROCERIES, places=adv.TOWN, is_others=True),
    Frame(verbs.BUY, _ONCE, accusative=_VALUABLES, places=adv.IN_CITIES, is_others=True),
    Frame(verbs.READ, _EVENT, accusative=_TEXTS, places=_AROUND, weight=5),
    Frame(
        verbs.WRITE,
        _EVENT,
        dative=PEOPLE,
        accusative=named_nouns("Brief"),
        manners=(adv.QUICKLY,),
        makes_object=True,
    ),
    Frame(
        verbs.SEE,
        _STATE,
        accusative=(*PEOPLE, *ANIMALS, *named_nouns("Haus Auto Zug Bahnhof Bild Film")),
        modals=(CAN,),
    ),
    Frame(
        verbs.SEEK,
        _EVENT,
        accusative=(*_SMALL, *ANIMALS, *named_nouns("Kind Freund Freundin Bruder Schwester")),
        places=_AROUND,
    ),
    Frame(
        verbs.FIND,
        _POINT,
        accusative=(*_SMALL, *named_nouns("Hund Katze Geld")),
        places=_AROUND,
        modals=(CAN,),
    ),
    Frame(verbs.EAT, _EVENT, accusative=_FOOD, places=adv.TABLES, manners=_PACES),
    Frame(verbs.DRINK, _EVENT, accusative=_DRINKS, places=adv.TABLES, has_company=True),
    Frame(verbs.VISIT, _EVENT, accusative=(*FAMILY, *_ADULTS), places=adv.IN_CITIES),
    Frame(
        verbs.KNOW,
        Aspect.TRAIT,
        accusative=(*_ADULTS, *FAMILY, *named_nouns("Buch Film Haus Restaurant Dorf Stadt")),
        is_known=True,
    ),
    Frame(
        verbs.UNDERSTAND,
        _STATE,
        accusative=(*PEOPLE, *named_nouns("Brief Buch Film")),
        is_known=True,
        modals=(CAN,),
    ),
    Frame(
        verbs.FORGET,
        Aspect.SLIP,
        accusative=named_nouns("Schlüssel Buch Geschenk Brief Geld"),
        is_known=True,
        weight=2,
    ),
    Frame(
        verbs.HEAR,
        _STATE,
        accusative=(*ANIMALS, *named_nouns("Musik Kind Zug Auto")),
        modals=(CAN,),
        weight=4,
    ),
    Frame(verbs.HELP, _EVENT, dative=PEOPLE, places=_AROUND, weight=4),
    Frame(verbs.THANK, _POINT, dative=PEOPLE),
    Frame(
        verbs.FOLLOW,
        _EVENT,
        dative=(*PEOPLE, *ANIMALS, *named_nouns("Auto Bus")),
        manners=(adv.SLOWLY, adv.QUIETLY),
    ),
    Frame(
        verbs.LIKE,
        Aspect.TASTE,
        subjects=named_nouns("Buch Bild Film Haus Geschenk Garten Stadt Uhr Wohnung"),
        dative=PEOPLE,
        is_swapped=True,
    ),
    Frame(
        verbs.GIVE,
        _EVENT,
        dative=PEOPLE,
        accusative=named_nouns("Buch Brief Apfel Schlüssel Geschenk Geld Bild Wasser Brot"),
        weight=5,
    ),
    Frame(
        verbs.GIVE,
        _EVENT,
        dative=named_nouns("Hund Katze Vogel"),
        accusative=named_nouns("Wasser Brot Milch"),
        weight=1,
    ),
    Frame(
        verbs.SHOW,
        _EVENT,
        dative=PEOPLE,
        accusative=named_nouns("Buch Brief Bild Haus Garten Auto Uhr Wohnung Büro"),
    ),
    Frame(
        verbs.BRING,
        _EVENT,
        dative=PEOPLE,
        accusative=(*_TEXTS, *_DRINKS, *_FOOD, *named_nouns("Schlüssel Geld")),
        weight=4,
    ),
    Frame(verbs.SLEEP, _EVENT, goals=(*adv.BEDS, adv.AT_HOME)),
    Frame(
        verbs.SLEEP,
        _POSE,
        subjects=named_nouns("Hund Katze"),
        goals=(*adv.OUTDOORS, *adv.SURFACES),
        weight=1,
    ),
    Frame(
        verbs.WORK,
        _EVENT,
        goals=(*adv.INDOORS, *adv.TOWN),
        has_company=True,
        manners=(adv.ALONE,),
    ),
    Frame(
        verbs.WAIT,
        _EVENT,
        oblique=Oblique(
            "auf", ACCUSATIVE, (*PEOPLE, *PEOPLE, *named_nouns("Zug Bus Zug Bus")), "for"
        ),
        places=adv.STATIONS,
        weight=5,
    ),
    Frame(
        verbs.WALK,
        _EVENT,
        goals=adv.WALKS,
        manners=(adv.ALONE, adv.SLOWLY),
        has_company=True,
        weight=5,
    ),
    Frame(
        verbs.TRAVEL,
        _EVENT,
        goals=adv.JOURNEYS,
        manners=(*adv.VEHICLES, adv.ALONE),
        has_company=True,
        weight=7,
    ),
    Frame(verbs.COME, _EVENT, goals=(*adv.WALKS, *adv.TO_CITIES), has_company=True, weight=4),
    Frame(verbs.ARRIVE, _SCENE, places=adv.ARRIVALS),
    Frame(
        verbs.ARRIVE,
        _SCENE,
        subjects=named_nouns("Zug Bus Zug Bus Brief"),
        places=adv.ARRIVALS,
        weight=1,
    ),
    Frame(
        verbs.COME_BACK,
        _EVENT,
        goals=adv.ORIGINS,
        has_company=True,
        manners=adv.VEHICLES,
        weight=4,
    ),
    Frame(verbs.OPEN, _EVENT, accusative=_CLOSED, manners=_TOUCHES, is_known=True),
    Frame(verbs.OPEN, _ONCE, accusative=named_nouns("Geschenk Brief"), weight=2),
    Frame(verbs.CLOSE, _EVENT, accusative=_CLOSED, manners=_TOUCHES, is_known=True, weight=4),
    Frame(verbs.CLOSE, _ONCE, accusative=named_nouns("Buch"), weight=1),
    Frame(
        verbs.TAKE_ALONG,
        _EVENT,
        accusative=named_nouns("Kind Hund Buch Schlüssel Geld Brot Sohn Tochter Bruder Zeitung"),
        weight=4,
    ),
    Frame(
        verbs.ACCEPT,
        _ONCE,
        accusative=named_nouns("Geschenk Geld Geschenk Brief Bild Uhr"),
        is_others=True,
    ),
    Frame(
        verbs.BRING_ALONG,
        _EVENT,
        accusative=named_nouns("Kuchen Geschenk Brot Freund Freundin Hund Buch Milch Bruder"),
    ),
    Frame(verbs.CALL, _EVENT, accusative=(*_ADULTS, *FAMILY), weight=5),
    Frame(verbs.LISTEN, _EVENT, dative=PEOPLE, weight=4),
    Frame(
        verbs.STOP,
        _SCENE,
        subjects=named_nouns("Regen Musik"),
        places=adv.IN_CITIES,
        weight=1,
    ),
    Frame(verbs.FALL_ASLEEP, Aspect.DAILY, places=adv.BEDS, modals=(CAN,)),
    Frame(verbs.GET_UP, Aspect.DAILY, manners=_TOUCHES),
    Frame(
        verbs.LOOK,
        _BEING,
        subjects=named_nouns("Haus Wohnung Auto Uhr Garten Fahrrad Bett"),
        has_quality=True,
        weight=1,
    ),
    Frame(verbs.LOOK, _BEING, predicates=named_adjectives("müde krank glücklich"), is_mood=True),
    Frame(
        verbs.LIVE,
        Aspect.LASTING,
        goals=adv.HOMES,
        has_company=True,
        manners=(adv.ALONE,),
        weight=4,
    ),
    Frame(verbs.STAND, _POSE, goals=adv.STANDS),
    Frame(verbs.SIT, _POSE, goals=adv.SEATS, has_company=True),
    Frame(
        verbs.LIE,
        _POSE,
        subjects=(*_SMALL, *named_nouns("Hund Katze Apfel")),
        goals=adv.SURFACES,
        weight=4,
    ),
    Frame(verbs.PUT, _ONCE, accusative=_SMALL, goals=adv.SURFACE_GOALS, weight=4),
)

MOOD = Frame(verbs.BE, _BEING, predicates=named_adjectives("müde krank glücklich"), is_mood=True)
WEAKNESS = Frame(verbs.BE, _BEING, predicates=named_adjectives("müde krank"))
YOUTH = Frame(verbs.BE, _BEING, predicates=named_adjectives("jung"))
ILL_RELATIVE = Frame(verbs.BE, _BEING, subjects=FAMILY, predicates=named_adjectives("krank"))
QUALITY = Frame(
    verbs.BE,
    _BEING,
    subjects=named_nouns("Buch Auto Haus Wohnung Garten Film Suppe Kaffee Kuchen Uhr"),
    has_quality=True,
    weight=2,
)
PRESENCE = Frame(
    verbs.BE, _BEING, goals=(*adv.INDOORS, *adv.OUTDOORS, *adv.TOWN), is_mood=True, weight=4
)
POSSESSION = Frame(
    verbs.HAVE,
    _BEING,
    accusative=named_nouns("Hund Katze Auto Fahrrad Haus Wohnung Garten Geld Zeit"),
)
FAMILY_TIE = Frame(
    verbs.HAVE, Aspect.TRAIT, accusative=named_nouns("Bruder Schwester Sohn Tochter"), weight=2
)
SPARE_TIME = Frame(verbs.HAVE, _BEING, accusative=named_nouns("Zeit"))
MEANS = Frame(verbs.HAVE, _BEING, accusative=named_nouns("Geld"))
BAD_WEATHER = Frame(
    verbs.BE, _BEING, subjects=named_nouns("Wetter"), predicates=named_adjectives("schlecht kalt")
)
FINE_WEATHER = Frame(
    verbs.BE, _BEING, subjects=named_nouns("Wetter"), predicates=named_adjectives("schön gut")
)
TOIL = Frame(verbs.WORK, _EVENT)
REST = Frame(verbs.SLEEP, _EVENT)
END_OF_RAIN = Frame(verbs.STOP, _SCENE, subjects=named_nouns("Regen"))
PHONE_CALL = Frame(verbs.CALL, _EVENT)
RAINFALL = Frame(verbs.RAIN, _SCENE, subjects=())


def weighted(frames: Iterable[Frame]) -> tuple[Frame, ...]:
    """Each frame as often as its weight says."""
    return tuple(frame for frame in frames for _ in range(frame.weight))
