"""Sessions of random models, and how they compare with the batched loop."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any

import torch

from simt.corpus.bpe import SubwordNmt
from simt.corpus.ids import SPECIAL_IDS
from simt.corpus.text import Tokeniser
from simt.decoding import SplitText
from simt.instances import Instance, WordsOf
from simt.model.network import VocabularySizes
from simt.params import Knob
from simt.session import Session, Translator
from simt.settings import DecodingSettings, ModelSettings
from simt.simulation import Translation, simulate
from tests.samples.settings import TINY, lively, make_method, make_model

DECODING = DecodingSettings(
    max_target_tokens=40, forbid_eos_before_source_end=False, ms_per_word=400
)
GERMAN = Tokeniser("moses", "de", True, "keep")
ENGLISH = Tokeniser("moses", "en", True, "keep")
SubwordPair = tuple[SubwordNmt, SubwordNmt]


def make_translator(
    subwords: SubwordPair,
    name: str,
    changes: dict[str, Any] | None = None,
    source_tokeniser: Tokeniser = GERMAN,
    decoding: DecodingSettings = DECODING,
    size: ModelSettings = TINY,
    target_tokeniser: Tokeniser = ENGLISH,
) -> Translator:
    """A random model that ends its sentences by itself."""
    source, target = subwords
    method = make_method(name, **(changes or {}))
    sizes = VocabularySizes(len(source), len(target), source is target, SPECIAL_IDS)
    model = lively(make_model(method, size, sizes))
    with torch.no_grad():
        model.network.target_embedding_VD[SPECIAL_IDS.eos] *= 2
    return Translator(method, model, source, target, source_tokeniser, target_tokeniser, decoding)


def finished(translator: Translator, knob: Knob, sentence: str) -> Session:
    """A session to which the sentence came word by word."""
    session = Session(translator, knob)
    for word in sentence.split():
        session.push(word)
    session.finish()
    return session


def instances(
    translator: Translator, knob: Knob, sentences: Sequence[str]
) -> Iterable[tuple[Translation, Instance]]:
    """What the batched loop makes of whole sentences."""
    source = translator.source_subwords
    assert isinstance(source, SubwordNmt)
    tokenised = [" ".join(translator.source_tokeniser.tokenise(one)) for one in sentences]
    text = SplitText(
        is_gold=False,
        sources=list(sentences),
        references=[[""]] * len(sentences),
        tokenised_sources=tokenised,
        tokenised_references=[[""]] * len(sentences),
        reference_lengths=[1] * len(sentences),
        source_subwords=source,
        target_subwords=translator.target_subwords,
        tokeniser=translator.target_tokeniser,
        words=WordsOf(target="blanks" if translator.target_tokeniser.has_blanks else "tokens"),
    )
    policy = translator.method.policy(translator.model, knob)
    ids = [source.encode(line) for line in tokenised]
    (translations,) = simulate(translator.model.network, [policy], ids, translator.decoding)
    return [(each, text.instance(each, knob, 400)) for each in translations]


@dataclass
class Comparison:
    """How sessions compare with the batched loop: sentences by what happened to them.

    ``different`` has those for which there is no excuse. Those in ``cut`` got other source tokens
    than the whole sentence has, so nothing can be said of them; those in ``joined`` have the same
    tokens with the same delays, but words that were final before a later one would have changed
    where their blanks are.
    """

    same: list[str] = field(default_factory=list)
    different: list[str] = field(default_factory=list)
    cut: list[str] = field(default_factory=list)
    joined: list[str] = field(default_factory=list)

    def add(
        self, sentence: str, session: Session, translation: Translation, made: Instance
    ) -> None:
        """Compare one sentence, token by token, delay by delay, word by word."""
        is_said_alike = (
            tuple(session.tokens) == translation.tokens
            and tuple(session.token_delays) == translation.delays
        )
        if session.source.has_changed:
            self.cut.append(sentence)
        elif not is_said_alike:
            self.different.append(sentence)
        elif session.target.has_changed:
            self.joined.append(session.text)
        else:
            delays = tuple(word.delay.words for word in session.target.words)
            is_same = session.text == made.prediction and delays == made.delays
            (self.same if is_same else self.different).append(sentence)


def compare(
    translator: Translator, knob: Knob, sentences: Sequence[str], into: Comparison | None = None
) -> Comparison:
    """Sessions against the batched loop, on all sentences."""
    comparison = into or Comparison()
    expected = instances(translator, knob, sentences)
    for sentence, (translation, instance) in zip(sentences, expected, strict=True):
        comparison.add(sentence, finished(translator, knob, sentence), translation, instance)
    return comparison
