"""Noun phrases and prepositional phrases in both languages."""

from collections.abc import Sequence

from toy_grammar.adverbials import Fixed, Place
from toy_grammar.draw import DeadEndError, Draw
from toy_grammar.morphology import (
    ACCUSATIVE,
    BARE,
    CONTRACTIONS,
    DATIVE,
    MANY_OF,
    NOMINATIVE,
    NOT_A,
    POSSESSIVES,
    THE,
    TWO,
    A,
    Determiner,
    indefinite_article,
)
from toy_grammar.nouns import (
    COMPANIONS,
    GROUP,
    GROWN_UP,
    LITTLE,
    NAMES,
    PEOPLE,
    PLURAL,
    PRONOUNS,
    SPEAKER,
    SPEAKERS,
    THINGS,
    Adjective,
    Entity,
    Noun,
    Pronoun,
)
from toy_grammar.words import Phrase, Word

_OURS = (("mein", "my"), ("mein", "my"), ("unser", "our"))
_PRONOUNS_BY_CASE = {
    ACCUSATIVE: tuple(pronoun for pronoun in PRONOUNS if pronoun.accusative),
    DATIVE: PRONOUNS,
}
_SINGULAR_CHOICES = (THE,) * 8 + (A,) * 5
_PLURAL_COUNTS = (THE,) * 8 + (TWO,) * 3 + (MANY_OF,) * 2
_PLURAL_CHOICES = (*_PLURAL_COUNTS, *(BARE,) * 4)
_MASS_CHOICES = (BARE,) * 3 + (THE,) * 2


class NounPhrase(Phrase):
    """A noun phrase with what the rest of the sentence must know about it.

    A pronoun or a name has no determiner; a pronoun has no noun either.
    """

    __slots__ = ("determiner", "entity", "is_pronoun", "noun", "relative")

    def __init__(
        self,
        german: list[Word],
        english: list[Word],
        entity: Entity,
        noun: Noun | None = None,
        determiner: Determiner | None = None,
        is_pronoun: bool = False,
    ) -> None:
        super().__init__(german, english)
        self.entity = entity
        self.noun = noun
        self.determiner = determiner
        self.is_pronoun = is_pronoun
        self.relative: Phrase | None = None

    @property
    def has_adjective(self) -> bool:
        """Whether there is an adjective between determiner and noun."""
        return len(self.german) > (2 if self.determiner and self.determiner.forms else 1)

    @property
    def is_definite(self) -> bool:
        """Whether the hearer knows what is meant."""
        return self.determiner is None or self.determiner.is_definite


def decline(
    noun: Noun, is_plural: bool, determiner: Determiner, adjective: Adjective | None, case: int
) -> NounPhrase:
    """Determiner, adjective and noun in one case."""
    cell = case + (PLURAL if is_plural else noun.column)
    entity = noun.entity
    if is_plural:
        entity = GROUP if entity.is_human else THINGS[PLURAL]
    german: list[Word] = []
    english: list[Word] = []
    if determiner.forms:
        german.append(Word(determiner.forms[cell]))
        english.append(Word("", sure=(german[0],)))
    if adjective is not None:
        german.append(Word(adjective.stem + determiner.endings[cell]))
        english.append(Word(adjective.english, sure=(german[-1],)))
    german.append(Word(_noun_form(noun, is_plural, case)))
    english.append(Word(noun.english_plural if is_plural else noun.english, sure=(german[-1],)))
    if determiner.forms:
        english[0].text = _english_determiner(determiner, noun, is_plural, english[1].text)
    return NounPhrase(german, english, entity, noun, determiner)


def _noun_form(noun: Noun, is_plural: bool, case: int) -> str:
    if not is_plural:
        return noun.german
    return noun.dative_plural if case == DATIVE else noun.plural


def _english_determiner(determiner: Determiner, noun: Noun, is_plural: bool, following: str) -> str:
    if is_plural or (noun.is_mass and determiner is NOT_A):
        return determiner.english_plural
    return indefinite_article(following) if determiner.english == "a" else determiner.english


def pronoun_subject(entity: Entity) -> NounPhrase:
    """The subject pronoun that refers to the entity."""
    if entity.pronoun is None:
        raise DeadEndError
    german = Word(entity.pronoun[0])
    english = Word(entity.pronoun[1], sure=(german,))
    return NounPhrase([german], [english], entity, is_pronoun=True)


def it_subject() -> NounPhrase:
    """The "es" of the weather."""
    german = Word("es")
    return NounPhrase([german], [Word("it", sure=(german,))], THINGS[2], is_pronoun=True)


def personal_subject(draw: Draw) -> NounPhrase:
    """Somebody who does something."""
    if draw.chance(0.28):
        return pronoun_subject(draw.pick(PRONOUNS).entity)
    if draw.chance(0.2):
        return _name_phrase(draw)
    if draw.chance(0.1):
        return _couple(draw)
    return noun_subject(draw, PEOPLE)


def _name_phrase(draw: Draw) -> NounPhrase:
    name = draw.name(NAMES)
    german = Word(name.text)
    return NounPhrase([german], [Word(name.text, sure=(german,))], name.entity)


def _couple(draw: Draw) -> NounPhrase:
    """Two people joined by "und"."""
    first, second = _one_of_two(draw), _one_of_two(draw)
    conjunction = Word("und")
    german = [*first.german, conjunction, *second.german]
    english = [*first.english, Word("and", sure=(conjunction,)), *second.english]
    return NounPhrase(german, english, GROUP)


def _one_of_two(draw: Draw) -> NounPhrase:
    if draw.chance(0.4):
        return _name_phrase(draw)
    noun = draw.noun(PEOPLE)
    determiner = POSSESSIVES[draw.pick(_OURS)] if noun.is_kin else THE
    return decline(noun, False, determiner, None, NOMINATIVE)


def noun_subject(draw: Draw, nouns: Sequence[Noun], is_plain: bool = False) -> NounPhrase:
    """A noun as subject; a plain one has no adjective."""
    noun = draw.noun(nouns)
    is_plural = bool(noun.plural) and draw.chance(0.25)
    determiner = THE if noun.is_mass else choose_determiner(draw, noun, is_plural, None)
    adjective = None if is_plain else choose_adjective(draw, noun)
    return decline(noun, is_plural, determiner, adjective, NOMINATIVE)


def choose_determiner(
    draw: Draw,
    noun: Noun,
    is_plural: bool,
    owner: Entity | None,
    is_definite: bool = False,
    is_others: bool = False,
) -> Determiner:
    """A determiner that suits the noun; possessives refer to the owner, else to the speaker.

    No owner: the noun is a subject itself.
    """
    is_own = draw.chance(noun.own_share) and not is_others
    if is_own or (noun.is_kin and is_definite):
        return _possessive(draw, owner)
    if is_definite:
        return THE
    if noun.is_mass:
        return draw.pick(_MASS_CHOICES)
    if is_plural:
        is_bare = owner is not None and not noun.entity.is_human
        return draw.pick(_PLURAL_CHOICES if is_bare else _PLURAL_COUNTS)
    return draw.pick(_SINGULAR_CHOICES)


def _possessive(draw: Draw, owner: Entity | None) -> Determiner:
    if owner is not None and owner.owner is not None and draw.chance(0.85):
        return POSSESSIVES[owner.owner]
    return POSSESSIVES[draw.pick(_OURS)]


def choose_adjective(draw: Draw, noun: Noun) -> Adjective | None:
    """Now and then one of the noun's adjectives."""
    if not noun.adjectives or not draw.chance(0.26):
        return None
    adjective = draw.pick(noun.adjectives)
    if adjective is LITTLE:
        draw.said += GROWN_UP
    return adjective


def object_phrase(
    draw: Draw,
    nouns: Sequence[Noun],
    case: int,
    owner: Entity,
    is_definite: bool = False,
    is_others: bool = False,
    is_english_subject: bool = False,
) -> NounPhrase:
    """A noun, a name or a pronoun in an oblique case."""
    said = len(draw.said)
    noun = draw.noun(nouns)
    if noun.entity.is_human and draw.chance(0.25):
        del draw.said[said:]
        if draw.chance(0.4):
            return _name_phrase(draw)
        return _object_pronoun(draw, case, owner, is_english_subject)
    is_plural = bool(noun.plural) and draw.chance(0.22)
    determiner = choose_determiner(draw, noun, is_plural, owner, is_definite, is_others)
    return decline(noun, is_plural, determiner, choose_adjective(draw, noun), case)


def _object_pronoun(draw: Draw, case: int, owner: Entity, is_english_subject: bool) -> NounPhrase:
    """A pronoun for somebody else than the subject."""
    pronoun: Pronoun = draw.pick(_PRONOUNS_BY_CASE[case])
    speakers = (SPEAKER, SPEAKERS)
    if pronoun.entity in speakers and owner in speakers:
        raise DeadEndError
    german = Word(pronoun.dative if case == DATIVE else pronoun.accusative)
    assert pronoun.entity.pronoun is not None
    text = pronoun.entity.pronoun[1] if is_english_subject else pronoun.english
    return NounPhrase([german], [Word(text, sure=(german,))], pronoun.entity, is_pronoun=True)


def negated_object(draw: Draw, nouns: Sequence[Noun]) -> NounPhrase:
    """An accusative with "kein": not a book, not any books."""
    noun = draw.noun(nouns)
    is_plural = bool(noun.plural) and draw.chance(0.3)
    return decline(noun, is_plural, NOT_A, None, ACCUSATIVE)


def new_object(draw: Draw, nouns: Sequence[Noun]) -> NounPhrase:
    """An accusative that the sentence introduces: a dog, two brothers, money."""
    noun = draw.noun(nouns)
    is_plural = bool(noun.plural) and draw.chance(0.35)
    determiner = BARE if noun.is_mass else A
    if is_plural:
        determiner = TWO
    return decline(noun, is_plural, determiner, None, ACCUSATIVE)


def prepositional_phrase(german: str, english: Sequence[str], inner: NounPhrase) -> Phrase:
    """A preposition before a noun phrase, drawn together with its article where German does so."""
    words = inner.german
    contraction = CONTRACTIONS.get((german, words[0].text)) if inner.determiner is THE else None
    if contraction is None:
        words = [Word(german), *words]
    else:
        words[0].text = contraction
    head = [Word(text, sure=(words[0],)) for text in english]
    return Phrase(words, [*head, *inner.english])


def place_phrase(draw: Draw, place: Place, owner: Entity) -> Phrase:
    """A place; the owner may be who it belongs to."""
    if isinstance(place, Fixed):
        return fixed_phrase(draw, place)
    noun = draw.noun((place.noun,))
    determiner = THE if place.is_definite else A
    if place.is_definite and noun.own_share and owner.owner is not None and draw.chance(0.2):
        determiner = POSSESSIVES[owner.owner]
    adjective = choose_adjective(draw, noun)
    if adjective is None and not place.is_definite:
        adjective = draw.pick(noun.adjectives)
    inner = decline(noun, False, determiner, adjective, place.case)
    return prepositional_phrase(place.german, place.english, inner)


def fixed_phrase(draw: Draw, words: Fixed) -> Phrase:
    """A fixed phrase that the sentence has not used yet."""
    if words.english[-1] in draw.said:
        raise DeadEndError
    draw.said.append(words.english[-1])
    return words.phrase()


def company_phrase(draw: Draw, owner: Entity) -> Phrase:
    """With whom something is done."""
    inner = object_phrase(draw, COMPANIONS, DATIVE, owner, is_definite=True)
    return prepositional_phrase("mit", ("with",), inner)


def whole_german(phrase: Phrase) -> list[Word]:
    """A phrase's German words, its relative clause included."""
    if isinstance(phrase, NounPhrase) and phrase.relative is not None:
        return [*phrase.german, *phrase.relative.german]
    return phrase.german


def whole_english(phrase: Phrase) -> list[Word]:
    """A phrase's English words, its relative clause included."""
    if isinstance(phrase, NounPhrase) and phrase.relative is not None:
        return [*phrase.english, *phrase.relative.english]
    return phrase.english
