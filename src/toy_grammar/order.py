"""Word order: how a clause becomes words in German and in English."""

from toy_grammar.adverbials import NOW, RIGHT_NOW, SOMETIMES
from toy_grammar.clauses import Clause
from toy_grammar.nouns import THIRD, Entity
from toy_grammar.phrases import NounPhrase, whole_english, whole_german
from toy_grammar.verbs import (
    BE,
    BE_PRESENT,
    CAN,
    ENGLISH_BE_PAST,
    ENGLISH_BE_PRESENT,
    HAVE_PRESENT,
    PRESENT_TENSES,
    WILL_PRESENT,
    Modal,
    Tense,
)
from toy_grammar.words import Phrase, Word, comma

_TIMES_BEFORE_ACCUSATIVES = (NOW, RIGHT_NOW, SOMETIMES)
"""Er sucht gerade den Brief, not: den Brief gerade; but: den Brief gerade nicht."""


class GermanVerb:
    """The German verb: its finite word, the words that close the clause, those with meaning."""

    __slots__ = ("closing", "finite", "meaning")

    def __init__(self, finite: Word, closing: list[Word], meaning: tuple[Word, ...]) -> None:
        self.finite = finite
        self.closing = closing
        self.meaning = meaning


def german_verb(clause: Clause, is_final: bool) -> GermanVerb:
    """The verb of a clause; in a verb-final one the finite word closes it."""
    verb, person = clause.frame.verb, clause.entity.person
    if clause.tense in PRESENT_TENSES:
        return _present(clause, is_final)
    if clause.tense is Tense.PAST and verb.preterite is not None:
        finite = Word(verb.preterite[person])
        return GermanVerb(finite, [finite] if is_final else [], (finite,))
    if clause.tense in (Tense.PAST, Tense.MEANWHILE):
        finite = Word((BE_PRESENT if verb.takes_sein else HAVE_PRESENT)[person])
        other = Word(verb.participle)
        meaning: tuple[Word, ...] = (finite, other)
    else:
        finite = Word(_modal_forms(clause)[person])
        other = Word(verb.infinitive)
        meaning = (other,)
    return GermanVerb(finite, [other, finite] if is_final else [other], meaning)


def _present(clause: Clause, is_final: bool) -> GermanVerb:
    verb = clause.frame.verb
    form = verb.present[clause.entity.person]
    assert form, verb.infinitive
    if is_final:
        finite = Word(verb.particle + form)
        return GermanVerb(finite, [finite], (finite,))
    finite = Word(form)
    closing = [Word(verb.particle)] if verb.particle else []
    return GermanVerb(finite, closing, (finite, *closing))


def _modal_forms(clause: Clause) -> tuple[str, str, str]:
    if clause.modal is None:
        return WILL_PRESENT
    forms = clause.modal.past if clause.tense is Tense.MODAL_PAST else clause.modal.present
    assert forms is not None
    return forms


def german_middle(clause: Clause, front: Phrase | None) -> list[Word]:
    """What stands between the finite verb (or the conjunction) and the closing words.

    Subject, pronouns, time, dative, accusative, nicht, manner, place; what is definite may
    come before the time, and what is indefinite comes after manner and place.
    """
    before, after = _split_objects(clause)
    circumstances = [clause.manner, clause.place]
    if clause.accusative in after and not _is_known(clause):
        after[-1:] = [*circumstances, clause.accusative]
        circumstances = []
    rest = (_nicht(clause), *circumstances, clause.oblique, clause.goal, clause.predicate)
    parts: list[Phrase | None] = [clause.subject, *before, clause.time, *after, *rest]
    shortened = _extraposed(clause)
    words: list[Word] = []
    for part in parts:
        if part is not None and part is not front:
            words += part.german
            if part is not shortened and isinstance(part, NounPhrase) and part.relative:
                words += part.relative.german
    return words


def _nicht(clause: Clause) -> Phrase | None:
    """The word "nicht" in its place; a "kein" stands with its noun."""
    negator = clause.negator
    return Phrase([negator], []) if negator is not None and negator.text == "nicht" else None


def _split_objects(clause: Clause) -> tuple[list[Phrase | None], list[Phrase | None]]:
    """The objects before and after the time."""
    before: list[Phrase | None] = []
    after: list[Phrase | None] = []
    is_often = clause.time_choice is not None and clause.time_choice.is_before_verb
    is_now = clause.time_choice in _TIMES_BEFORE_ACCUSATIVES
    is_negated = clause.negator is not None
    for phrase in (clause.dative, clause.accusative):
        if phrase is None:
            continue
        is_early = is_often or (clause.is_early and not before)
        is_light = phrase.is_definite and phrase.relative is None
        if is_now and (is_negated or phrase is clause.accusative):
            is_early = is_negated
        is_before = phrase.is_pronoun or (is_early and is_light and not after)
        (before if is_before else after).append(phrase)
    return before, after


def _is_known(clause: Clause) -> bool:
    return clause.accusative is not None and clause.accusative.is_definite


def _extraposed(clause: Clause) -> NounPhrase | None:
    """The object whose relative clause follows the closing words."""
    for phrase in (clause.accusative, clause.dative):
        if phrase is not None and phrase.relative is not None and clause.is_extraposed:
            return phrase
    return None


def _german_end(clause: Clause, closing: list[Word]) -> list[Word]:
    tail = _extraposed(clause)
    if tail is None or tail.relative is None:
        return closing
    return [*closing, *tail.relative.german]


class EnglishVerb:
    """The English verb words: an auxiliary that questions move, "not", and the rest."""

    __slots__ = ("auxiliary", "negation", "rest")

    def __init__(self, auxiliary: Word | None, negation: Word | None, rest: list[Word]) -> None:
        self.auxiliary = auxiliary
        self.negation = negation
        self.rest = rest


def english_entity(clause: Clause) -> Entity:
    """What the English verb agrees with."""
    if clause.frame.is_swapped and clause.dative is not None:
        return clause.dative.entity
    return clause.entity


def english_verb(clause: Clause, german: GermanVerb, is_question: bool = False) -> EnglishVerb:
    """The English verb in the clause's tense, with do-support where English asks for it."""
    negator = clause.negator
    negation = None if negator is None else Word("not", sure=(negator,))
    needs_do = is_question or negation is not None
    if clause.modal is not None:
        result = _english_modal(clause, clause.modal, german, needs_do)
    elif clause.tense in (Tense.PLAN, Tense.FUTURE):
        result = _english_future(clause, german)
    elif clause.tense in (Tense.NOW, Tense.MEANWHILE):
        result = _english_progressive(clause, german)
    else:
        result = _english_simple(clause, german, needs_do)
    result.negation = negation
    if negator is not None and clause.modal is CAN and clause.tense is Tense.MODAL:
        _join_cannot(result, german.finite, negator, is_question)
    return result


def _join_cannot(verb: EnglishVerb, modal: Word, negator: Word, is_question: bool) -> None:
    if not is_question:
        verb.auxiliary = Word("cannot", sure=(modal, negator))
        verb.negation = None


def _english_modal(clause: Clause, modal: Modal, german: GermanVerb, needs_do: bool) -> EnglishVerb:
    is_past = clause.tense is Tense.MODAL_PAST
    is_third = english_entity(clause).person == THIRD
    main = Word(clause.frame.verb.base, sure=german.meaning)
    modal_word = (german.finite,)
    if not modal.has_to:
        text = modal.english_past if is_past else modal.base
        if clause.negator is not None and modal.negated:
            text = modal.negated
        return EnglishVerb(Word(text, sure=modal_word), None, [main])
    to = Word("to", sure=modal_word)
    if needs_do:
        do = Word(_do(is_past, is_third), possible=modal_word)
        return EnglishVerb(do, None, [Word(modal.base, sure=modal_word), to, main])
    text = modal.third if is_third else modal.base
    finite = Word(modal.english_past if is_past else text, sure=modal_word)
    return EnglishVerb(None, None, [finite, to, main])


def _english_future(clause: Clause, german: GermanVerb) -> EnglishVerb:
    if clause.tense is Tense.FUTURE:
        will = Word("will", sure=(german.finite,))
    else:
        time = tuple(clause.time.german) if clause.time is not None else ()
        will = Word("will", possible=(*german.meaning, *time))
    return EnglishVerb(will, None, [Word(clause.frame.verb.base, sure=german.meaning)])


def _english_progressive(clause: Clause, german: GermanVerb) -> EnglishVerb:
    forms = ENGLISH_BE_PRESENT if clause.tense is Tense.NOW else ENGLISH_BE_PAST
    be = Word(forms[english_entity(clause).person], possible=german.meaning)
    return EnglishVerb(be, None, [Word(clause.frame.verb.progressive, sure=german.meaning)])


def _english_simple(clause: Clause, german: GermanVerb, needs_do: bool) -> EnglishVerb:
    """Simple present or simple past."""
    verb, person = clause.frame.verb, english_entity(clause).person
    is_past = clause.tense is Tense.PAST
    if verb is BE:
        text = (ENGLISH_BE_PAST if is_past else ENGLISH_BE_PRESENT)[person]
        return EnglishVerb(Word(text, sure=german.meaning), None, [])
    if needs_do:
        do = Word(_do(is_past, person == THIRD), possible=(german.finite,))
        return EnglishVerb(do, None, [Word(verb.base, sure=german.meaning)])
    text = verb.past if is_past else verb.third if person == THIRD else verb.base
    return EnglishVerb(None, None, [Word(text, sure=german.meaning)])


def _do(is_past: bool, is_third: bool) -> str:
    return "did" if is_past else "does" if is_third else "do"


def english_subject(clause: Clause) -> list[Word]:
    """The words of the English subject."""
    phrase = clause.dative if clause.frame.is_swapped else clause.subject
    return [] if phrase is None else whole_english(phrase)


def english_end(clause: Clause, german: GermanVerb, has_time: bool = True) -> list[Word]:
    """Everything after the English verb: objects, place, manner, time."""
    verb = clause.frame.verb
    words = [Word(text, sure=german.meaning) for text in verb.close_words]
    objects = [clause.dative, clause.accusative]
    if clause.frame.is_swapped:
        objects = [clause.subject]
    said = [word for phrase in objects if phrase is not None for word in whole_english(phrase)]
    loose = [Word(text, sure=german.meaning) for text in verb.loose_words]
    words += [*said, *loose] if len(said) <= 3 else [*loose, *said]
    parts = [clause.predicate, clause.oblique, clause.goal, clause.place, clause.manner]
    if has_time and clause.time_choice is not None and not clause.time_choice.is_before_verb:
        parts.append(clause.time)
    return words + [word for part in parts if part is not None for word in part.english]


def _adverb(clause: Clause) -> list[Word]:
    """The time that English puts before the main verb."""
    if clause.time is None or clause.time_choice is None:
        return []
    return clause.time.english if clause.time_choice.is_before_verb else []


def english_statement(
    clause: Clause, german: GermanVerb, front: Phrase | None = None
) -> list[Word]:
    """The English clause in the order of a statement; a time in front stays in front."""
    verb = english_verb(clause, german)
    is_time_first = front is not None and front is clause.time
    adverb = [] if is_time_first else _adverb(clause)
    middle = [word for word in (verb.auxiliary, verb.negation) if word is not None]
    return [
        *(clause.time.english if is_time_first and clause.time is not None else []),
        *english_subject(clause),
        *middle,
        *adverb,
        *verb.rest,
        *english_end(clause, german, has_time=not is_time_first),
    ]


def main_clause(clause: Clause, front: Phrase | None) -> Phrase:
    """A main clause; nothing in front: something else stands there (a clause, a conjunction)."""
    verb = german_verb(clause, is_final=False)
    lead = [] if front is None else whole_german(front)
    middle = german_middle(clause, front)
    german = [*lead, verb.finite, *middle, *_german_end(clause, verb.closing)]
    return Phrase(german, english_statement(clause, verb, front))


def subordinate_clause(clause: Clause, german: list[Word], english: list[Word]) -> Phrase:
    """A verb-final clause behind its conjunction or relative pronoun, between commas."""
    verb = german_verb(clause, is_final=True)
    body = [*german_middle(clause, None), *_german_end(clause, verb.closing)]
    words = [comma(), *german, *body, comma()]
    return Phrase(words, [*english, *english_statement(clause, verb)])


def question(clause: Clause, german: list[Word], english: list[Word]) -> Phrase:
    """A question behind its question word, if it has one; the subject must not be that word."""
    verb = german_verb(clause, is_final=False)
    body = [*german_middle(clause, None), *_german_end(clause, verb.closing)]
    render = english_verb(clause, verb, is_question=True)
    assert render.auxiliary is not None
    negation = [] if render.negation is None else [render.negation]
    middle = [*english_subject(clause), *negation, *_adverb(clause), *render.rest]
    return Phrase(
        [*german, verb.finite, *body],
        [*english, render.auxiliary, *middle, *english_end(clause, verb)],
    )


def infinitive_clause(clause: Clause, um: Word | None = None) -> Phrase:
    """An infinitive with "zu" after its comma, perhaps behind "um"; it has no subject."""
    verb = clause.frame.verb
    closing = [Word(verb.particle + "zu" + verb.stem)]
    if not verb.particle:
        closing = [Word("zu"), Word(verb.infinitive)]
    meaning = (closing[-1],)
    lead = [] if um is None else [um]
    german = [comma(), *lead, *german_middle(clause, None), *_german_end(clause, closing), comma()]
    to = Word("to", sure=(closing[0],), possible=tuple(lead))
    end = english_end(clause, GermanVerb(closing[0], closing, meaning))
    return Phrase(german, [to, Word(verb.base, sure=meaning), *end])


def joined_predicate(clause: Clause, finite: Word) -> Phrase:
    """A second predicate that shares subject and finite verb with a main clause before it."""
    verb = german_verb(clause, is_final=False)
    meaning = tuple(verb.closing)
    is_past = clause.tense is Tense.PAST
    text = clause.frame.verb.past if is_past else clause.frame.verb.base
    main = Word(text, sure=meaning, possible=(finite,) if is_past else ())
    german = [*german_middle(clause, None), *_german_end(clause, verb.closing)]
    end = english_end(clause, GermanVerb(finite, verb.closing, meaning))
    return Phrase(german, [main, *end])
