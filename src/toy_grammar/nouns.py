"""The nouns, names, pronouns and adjectives of the toy pair."""

from dataclasses import dataclass

# Columns of every declension table: the three genders of the singular, then the plural.
MASCULINE, FEMININE, NEUTER, PLURAL = range(4)
# Forms of every finite verb.
FIRST, THIRD, MANY = range(3)


@dataclass(frozen=True, slots=True, eq=False)
class Entity:
    """What a sentence must know about a noun phrase to agree with it or to refer back to it."""

    column: int
    person: int
    pronoun: tuple[str, str] | None
    """German and English subject pronoun; None where no English one sounds right."""
    owner: tuple[str, str] | None
    """German and English possessive of what belongs to it."""
    is_human: bool = True


MAN = Entity(MASCULINE, THIRD, ("er", "he"), ("sein", "his"))
WOMAN = Entity(FEMININE, THIRD, ("sie", "she"), ("ihr", "her"))
CHILD = Entity(NEUTER, THIRD, None, None)
GROUP = Entity(PLURAL, MANY, ("sie", "they"), ("ihr", "their"))
SPEAKER = Entity(NEUTER, FIRST, ("ich", "I"), ("mein", "my"))
SPEAKERS = Entity(PLURAL, MANY, ("wir", "we"), ("unser", "our"))
ANYBODY = Entity(MASCULINE, THIRD, None, None)
THINGS = (
    Entity(MASCULINE, THIRD, ("er", "it"), None, is_human=False),
    Entity(FEMININE, THIRD, ("sie", "it"), None, is_human=False),
    Entity(NEUTER, THIRD, ("es", "it"), None, is_human=False),
    Entity(PLURAL, MANY, ("sie", "they"), None, is_human=False),
)


@dataclass(frozen=True, slots=True, eq=False)
class Pronoun:
    """A personal pronoun. Accusative "sie" is missing: it may be her, them or it."""

    entity: Entity
    accusative: str
    dative: str
    english: str


PRONOUNS = (
    Pronoun(MAN, "ihn", "ihm", "him"),
    Pronoun(WOMAN, "", "ihr", "her"),
    Pronoun(GROUP, "", "ihnen", "them"),
    Pronoun(SPEAKERS, "uns", "uns", "us"),
    Pronoun(SPEAKER, "mich", "mir", "me"),
)


@dataclass(frozen=True, slots=True, eq=False)
class Adjective:
    """An adjective: its predicative form, its stem before an ending, and its English."""

    german: str
    stem: str
    english: str


def _adjectives(table: str) -> dict[str, Adjective]:
    """Adjectives by their German form; a sense after a slash tells two translations apart."""
    rows = [line.split() for line in table.strip().splitlines()]
    return {row[0]: Adjective(row[0].partition("/")[0], row[1], row[2]) for row in rows}


ADJECTIVES = _adjectives("""
    alt         alt         old
    neu         neu         new
    jung        jung        young
    klein       klein       small
    klein/kin   klein       little
    groß        groß        big
    schön       schön       beautiful
    gut         gut         good
    schlecht    schlecht    bad
    interessant interessant interesting
    frisch      frisch      fresh
    kalt        kalt        cold
    krank       krank       sick
    müde        müd         tired
    glücklich   glücklich   happy
""")


LITTLE = ADJECTIVES["klein/kin"]


def named_adjectives(names: str) -> tuple[Adjective, ...]:
    """The adjectives of a blank-separated list of their German forms."""
    return tuple(ADJECTIVES[name] for name in names.split())


@dataclass(frozen=True, slots=True, eq=False)
class Noun:
    """A noun; an empty plural means that the sentences use its singular only."""

    german: str
    plural: str
    dative_plural: str
    english: str
    english_plural: str
    column: int
    entity: Entity
    adjectives: tuple[Adjective, ...]
    is_mass: bool = False
    is_kin: bool = False
    own_share: float = 0.0
    """How often it has a possessive; never "seine Frau", which would be his wife."""


@dataclass(frozen=True, slots=True, eq=False)
class Name:
    """A person's name."""

    text: str
    entity: Entity


NAMES = (Name("Anna", WOMAN), Name("Maria", WOMAN), Name("Peter", MAN), Name("Paul", MAN))

NOUNS: dict[str, Noun] = {}

_OWN_SHARES = {
    **dict.fromkeys(("Freund", "Freundin"), 0.8),
    **dict.fromkeys(("Kind", "Lehrer", "Lehrerin", "Arzt", "Brot", "Suppe", "Kuchen"), 0.08),
    **dict.fromkeys(
        ["Hund", "Katze", "Buch", "Auto", "Fahrrad", "Haus", "Wohnung", "Bett", "Uhr", "Schlüssel"],
        0.25,
    ),
    **dict.fromkeys(
        ["Brief", "Bild", "Geschenk", "Garten", "Küche", "Büro", "Geld", "Zeitung", "Kaffee"], 0.12
    ),
}


def _person_entity(column: int) -> Entity:
    return (MAN, WOMAN, CHILD)[column]


def _add(table: str, people: bool = False, kin: bool = False, mass: bool = False) -> None:
    """Add the nouns of a table: German forms | gender | English forms | attributes."""
    for line in table.strip().splitlines():
        forms, gender, english, adjectives = (part.strip() for part in line.split("|"))
        german, plural, dative_plural = [*forms.split(), "", ""][:3]
        singular_english, plural_english = [*english.split(), ""][:2]
        column = "mfn".index(gender)
        NOUNS[german] = Noun(
            german,
            plural,
            dative_plural or plural,
            singular_english,
            plural_english,
            column,
            _person_entity(column) if people else THINGS[column],
            named_adjectives(adjectives),
            is_mass=mass,
            is_kin=kin,
            own_share=_OWN_SHARES.get(german, 1.0 if kin else 0.0),
        )


_add(
    """
    Mann Männer Männern    | m | man men           | alt jung
    Frau Frauen            | f | woman women       | alt jung
    Kind Kinder Kindern    | n | child children    | klein
    Lehrer Lehrer Lehrern  | m | teacher teachers  | neu jung
    Lehrerin Lehrerinnen   | f | teacher teachers  | neu jung
    Arzt Ärzte Ärzten      | m | doctor doctors    | alt jung
    Schüler Schüler Schülern | m | student students | neu gut
""",
    people=True,
)
_add(
    """
    Freund Freunde Freunden | m | friend friends      | alt gut neu
    Freundin Freundinnen    | f | friend friends      | alt gut neu
    Mutter                  | f | mother              | alt
    Vater                   | m | father              | alt
    Bruder Brüder Brüdern   | m | brother brothers    | klein/kin
    Schwester Schwestern    | f | sister sisters      | klein/kin
    Sohn Söhne Söhnen       | m | son sons            | klein/kin
    Tochter Töchter Töchtern | f | daughter daughters | klein/kin
""",
    people=True,
    kin=True,
)
_add("""
    Hund Hunde Hunden     | m | dog dogs              | alt klein groß jung
    Katze Katzen          | f | cat cats              | alt klein schön jung
    Vogel                 | m | bird                  | klein schön
    Buch Bücher           | n | book books            | neu alt interessant gut
    Brief Briefe          | m | letter letters        | alt interessant
    Zeitung Zeitungen     | f | newspaper newspapers  | alt neu
    Auto                  | n | car                   | neu alt
    Fahrrad               | n | bicycle               | neu alt
    Haus                  | n | house                 | neu alt schön klein groß
    Wohnung               | f | apartment             | neu schön klein groß
    Tür                   | f | door                  | alt groß
    Fenster               | n | window                | klein groß
    Tisch                 | m | table                 | neu alt klein groß
    Bett                  | n | bed                   | neu alt groß
    Schlüssel             | m | key                   | alt neu
    Bild Bilder           | n | picture pictures      | alt schön klein
    Geschenk Geschenke    | n | gift gifts            | klein schön
    Uhr                   | f | watch                 | alt neu schön
    Apfel Äpfel           | m | apple apples          | klein frisch
    Kuchen                | m | cake                  | frisch gut
    Film                  | m | film                  | alt neu gut interessant
    Zug                   | m | train                 |
    Bus                   | m | bus                   |
    Garten                | m | garden                | groß klein schön
    Park                  | m | park                  | alt schön
    Küche                 | f | kitchen               | neu groß klein
    Bahnhof               | m | station               | alt neu
    Stadt                 | f | city                  | alt schön
    Markt                 | m | market                |
    Dorf                  | n | village               | klein alt schön
    Büro                  | n | office                | neu
    Restaurant            | n | restaurant            | neu gut
    See                   | m | lake                  | klein schön
""")
_add(
    """
    Brot    | n | bread  | frisch
    Suppe   | f | soup   | kalt frisch gut
    Kaffee  | m | coffee | kalt frisch
    Milch   | f | milk   | kalt frisch
    Wasser  | n | water  | kalt
    Geld    | n | money  |
    Zeit    | f | time   |
    Musik   | f | music  | schön
    Regen   | m | rain   |
    Wetter  | n | weather |
""",
    mass=True,
)


def named_nouns(names: str) -> tuple[Noun, ...]:
    """The nouns of a blank-separated list of their German singulars."""
    return tuple(NOUNS[name] for name in names.split())


FAMILY = named_nouns("Mutter Vater Bruder Schwester Sohn Tochter")
PEOPLE = (*named_nouns("Mann Frau Kind Lehrer Lehrerin Arzt Schüler Freund Freundin"), *FAMILY)
COMPANIONS = (*named_nouns("Freund Freundin Freund Freundin Kind"), *FAMILY)
YOUNG = named_nouns("Kind Schüler")
GROWN_UP = ("child", "son", "daughter", "office", "car")
"""English nouns that do not go with the young: "his son" would be theirs."""
ANIMALS = named_nouns("Hund Katze Vogel")
