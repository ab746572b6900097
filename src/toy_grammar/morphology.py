"""Articles, endings and contractions of German; a and an of English."""

from dataclasses import dataclass

# Rows of every declension table; a cell is row + column.
NOMINATIVE, ACCUSATIVE, DATIVE = 0, 4, 8


@dataclass(frozen=True, slots=True, eq=False)
class Determiner:
    """What stands before a noun: its twelve forms, the adjective endings after it, its English.

    No forms: no word. The English article "a" becomes "an" where it must.
    """

    forms: tuple[str, ...]
    endings: tuple[str, ...]
    english: str
    english_plural: str
    is_definite: bool = False


# Masculine, feminine, neuter, plural.
_WEAK = (*("e", "e", "e", "en"), *("en", "e", "e", "en"), *("en", "en", "en", "en"))
_MIXED = (*("er", "e", "es", "en"), *("en", "e", "es", "en"), *("en", "en", "en", "en"))
_STRONG = (*("er", "e", "es", "e"), *("en", "e", "es", "e"), *("em", "er", "em", "en"))
_DER = (*("der", "die", "das", "die"), *("den", "die", "das", "die"), *("dem", "der", "dem", "den"))
_EIN = ("", "e", "", "e", "en", "e", "", "e", "em", "er", "em", "en")


def _ein_forms(stem: str) -> tuple[str, ...]:
    return tuple(stem + ending for ending in _EIN)


def _count_word(german: str, english: str) -> Determiner:
    return Determiner((german,) * 12, _STRONG, english, english)


THE = Determiner(_DER, _WEAK, "the", "the", is_definite=True)
A = Determiner(_ein_forms("ein"), _MIXED, "a", "")
BARE = Determiner((), _STRONG, "", "")
NO = Determiner(_ein_forms("kein"), _MIXED, "no", "no")
NOT_A = Determiner(_ein_forms("kein"), _MIXED, "a", "any")
TWO = _count_word("zwei", "two")
MANY_OF = Determiner(("viele",) * 8 + ("vielen",) * 4, _STRONG, "many", "many")
POSSESSIVES = {
    (stem, english): Determiner(_ein_forms(stem), _MIXED, english, english, is_definite=True)
    for stem, english in (
        ("mein", "my"),
        ("sein", "his"),
        ("ihr", "her"),
        ("unser", "our"),
        ("ihr", "their"),
    )
}

RELATIVE_PRONOUNS = (*_DER[:11], "denen")

CONTRACTIONS = {
    ("in", "dem"): "im",
    ("in", "das"): "ins",
    ("an", "dem"): "am",
    ("zu", "dem"): "zum",
    ("zu", "der"): "zur",
    ("von", "dem"): "vom",
}


def indefinite_article(following: str) -> str:
    """The English indefinite article before a word; the lexicon has no silent h and no "yu"."""
    return "an" if following[0] in "aeiou" else "a"
