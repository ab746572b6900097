"""When, how and where: the adverbials of the toy pair."""

from dataclasses import dataclass

from toy_grammar.morphology import ACCUSATIVE, DATIVE
from toy_grammar.nouns import NOUNS, Noun
from toy_grammar.words import Link, Phrase, Word


@dataclass(frozen=True, slots=True, eq=False)
class Fixed:
    """A phrase that is the same in every sentence, with its alignment."""

    german: tuple[str, ...]
    english: tuple[str, ...]
    sure: tuple[Link, ...]
    possible: tuple[Link, ...]

    def phrase(self) -> Phrase:
        """New words for one sentence."""
        german = [Word(text) for text in self.german]
        english = [Word(text) for text in self.english]
        for i, j in self.sure:
            english[j].sure += (german[i],)
        for i, j in self.possible:
            english[j].possible += (german[i],)
        return Phrase(german, english)


def fixed(german: str, english: str, links: str) -> Fixed:
    """The phrase whose links are written as in a talp file."""
    pairs = links.split()
    return Fixed(
        tuple(german.split()),
        tuple(english.split()),
        tuple(_link(pair, "-") for pair in pairs if "-" in pair),
        tuple(_link(pair, "p") for pair in pairs if "p" in pair),
    )


def _link(text: str, mark: str) -> Link:
    source, target = text.split(mark)
    return int(source), int(target)


@dataclass(frozen=True, slots=True, eq=False)
class Time:
    """A time adverbial and where it may stand."""

    words: Fixed
    can_be_first: bool = True
    is_before_verb: bool = False
    """English puts it before the main verb: he *often* reads."""


YESTERDAY = Time(fixed("gestern", "yesterday", "0-0"))
LAST_WEEK = Time(fixed("letzte Woche", "last week", "0-0 1-1"))
TODAY = Time(fixed("heute", "today", "0-0"))
NOW = Time(fixed("jetzt", "now", "0-0"))
RIGHT_NOW = Time(fixed("gerade", "right now", "0-0 0-1"), can_be_first=False)
TOMORROW = Time(fixed("morgen", "tomorrow", "0-0"))
SOON = Time(fixed("bald", "soon", "0-0"))
NEXT_WEEK = Time(fixed("nächste Woche", "next week", "0-0 1-1"))
ON_SUNDAY = Time(fixed("am Sonntag", "on Sunday", "0-0 1-1"))
EVERY_DAY = Time(fixed("jeden Tag", "every day", "0-0 1-1"))
EVERY_EVENING = Time(fixed("jeden Abend", "every evening", "0-0 1-1"))
EVERY_MORNING = Time(fixed("jeden Morgen", "every morning", "0-0 1-1"))
OFTEN = Time(fixed("oft", "often", "0-0"), can_be_first=False, is_before_verb=True)
ALWAYS = Time(fixed("immer", "always", "0-0"), can_be_first=False, is_before_verb=True)
NEVER = Time(fixed("nie", "never", "0-0"), can_be_first=False, is_before_verb=True)
SOMETIMES = Time(fixed("manchmal", "sometimes", "0-0"), is_before_verb=True)

FREQUENCIES = (OFTEN, ALWAYS, NEVER, SOMETIMES)

ALONE = fixed("allein", "alone", "0-0")
QUICKLY = fixed("schnell", "quickly", "0-0")
SLOWLY = fixed("langsam", "slowly", "0-0")
QUIETLY = fixed("leise", "quietly", "0-0")
VEHICLES = (
    fixed("mit dem Zug", "by train", "0-0 1p1 2-1"),
    fixed("mit dem Bus", "by bus", "0-0 1p1 2-1"),
    fixed("mit dem Auto", "by car", "0-0 1p1 2-1"),
    fixed("mit dem Fahrrad", "by bicycle", "0-0 1p1 2-1"),
)


@dataclass(frozen=True, slots=True, eq=False)
class Spot:
    """A preposition with the case it governs and the noun of a place."""

    german: str
    case: int
    noun: Noun
    english: tuple[str, ...]
    is_definite: bool


Place = Fixed | Spot

_CASES = {"+acc": ACCUSATIVE, "+dat": DATIVE}


def _spots(table: str) -> tuple[Spot, ...]:
    """The spots of a table: preposition, case, article, noun, English preposition."""
    return tuple(_spot(line.split()) for line in table.strip().splitlines())


def _spot(row: list[str]) -> Spot:
    preposition, case, article, noun, *english = row
    return Spot(preposition, _CASES[case], NOUNS[noun], tuple(english), article == "the")


_CITIES = (("Berlin", "Berlin"), ("Hamburg", "Hamburg"), ("München", "Munich"), ("Wien", "Vienna"))
IN_CITIES = tuple(fixed(f"in {de}", f"in {en}", "0-0 1-1") for de, en in _CITIES)
TO_CITIES = tuple(fixed(f"nach {de}", f"to {en}", "0-0 1-1") for de, en in _CITIES)
FROM_CITIES = tuple(fixed(f"aus {de}", f"from {en}", "0-0 1-1") for de, en in _CITIES)
AT_HOME = fixed("zu Hause", "at home", "0-0 1-1")
TO_HOME = fixed("nach Hause", "home", "0-0 1-0")
AT_SCHOOL = fixed("in der Schule", "at school", "0-0 1p1 2-1")
TO_SCHOOL = fixed("in die Schule", "to school", "0-0 1p1 2-1")

OUTDOORS: tuple[Place, ...] = _spots("""
    in +dat the Garten in
    in +dat the Park in
    an +dat the See at
    vor +dat the Haus in front of
""")
INDOORS: tuple[Place, ...] = (
    *_spots("""
    in +dat the Küche in
    in +dat the Büro at
    in +dat the Wohnung in
"""),
    AT_HOME,
    AT_SCHOOL,
)
TABLES: tuple[Place, ...] = (
    *_spots("""
    in +dat the Restaurant in
    in +dat the Küche in
    in +dat the Garten in
    an +dat the See at
"""),
    AT_HOME,
)
TOWN: tuple[Place, ...] = (
    *_spots("""
    in +dat the Stadt in
    auf +dat the Markt at
    in +dat the Dorf in
    an +dat the Bahnhof at
"""),
    *IN_CITIES,
)
STATIONS: tuple[Place, ...] = _spots("""
    an +dat the Bahnhof at
    vor +dat the Bahnhof in front of
    vor +dat the Haus in front of
""")
ARRIVALS: tuple[Place, ...] = (
    *_spots("""
    an +dat the Bahnhof at
    in +dat the Dorf in
    in +dat the Stadt in
"""),
    *IN_CITIES,
)
HOMES: tuple[Place, ...] = (
    *_spots("""
    in +dat the Stadt in
    in +dat the Dorf in
    in +dat a Haus in
    in +dat a Wohnung in
"""),
    *IN_CITIES,
)
WALKS: tuple[Place, ...] = (
    *_spots("""
    in +acc the Garten into
    in +acc the Küche into
    in +acc the Park to
    in +acc the Stadt to
    in +acc the Büro to
    in +acc the Restaurant to
    zu +dat the Bahnhof to
    zu +dat the Markt to
    zu +dat the See to
"""),
    TO_HOME,
    TO_SCHOOL,
)
JOURNEYS: tuple[Place, ...] = (
    *_spots("""
    in +acc the Stadt to
    in +acc the Dorf to
    zu +dat the Bahnhof to
    zu +dat the See to
"""),
    *TO_CITIES,
    TO_HOME,
    TO_SCHOOL,
)
ORIGINS: tuple[Place, ...] = (
    *_spots("""
    aus +dat the Stadt from
    aus +dat the Park from
    aus +dat the Büro from
    von +dat the Bahnhof from
    von +dat the Markt from
"""),
    *FROM_CITIES,
)
STANDS: tuple[Place, ...] = _spots("""
    an +dat the Fenster at
    an +dat the Tür at
    vor +dat the Haus in front of
    vor +dat the Tür in front of
    in +dat the Garten in
""")
SEATS: tuple[Place, ...] = _spots("""
    an +dat the Tisch at
    an +dat the Fenster at
    in +dat the Garten in
    in +dat the Küche in
    in +dat the Zug on
    in +dat the Bus on
    auf +dat the Bett on
""")
BEDS: tuple[Place, ...] = (
    *_spots("""
    in +dat the Garten in
    in +dat the Zug on
    in +dat the Bus on
"""),
    fixed("im Bett", "in bed", "0-0 1-1"),
)
SURFACES: tuple[Place, ...] = _spots("""
    auf +dat the Tisch on
    unter +dat the Tisch under
    auf +dat the Bett on
    unter +dat the Bett under
    vor +dat the Tür in front of
""")
SURFACE_GOALS: tuple[Place, ...] = _spots("""
    auf +acc the Tisch on
    auf +acc the Bett on
    unter +acc the Bett under
    unter +acc the Tisch under
""")
