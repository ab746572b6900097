"""Decoding: a run on a split at all its knob values, from model and corpus to instances."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from simt.atomic import atomic_file, write_json
from simt.corpus.bpe import Encoder, open_vocabularies
from simt.corpus.ids import EncodedSplit, Vocabulary
from simt.corpus.showcase import aligned_sentences, choose_sentences
from simt.corpus.text import Tokeniser, target_tokeniser
from simt.instances import (
    EOS_TOKEN,
    INSTANCES_FILE,
    Instance,
    WordsOf,
    make_instance,
    write_instances,
)
from simt.methods import Method
from simt.model.transformer import Transformer
from simt.pairs import PrepareSettings
from simt.params import Knob
from simt.runs import GRID_FILE, STATES_FILE
from simt.scoring.confidence import (
    SUMS_FILE,
    States,
    correlate,
    correlation_scores,
    sentence_sums,
)
from simt.settings import PointSettings, RunSettings, SentenceChoice
from simt.simulation import StateConfidences, Translation, simulate, state_confidences
from simt.simulation.encodings import Ids
from simt.training.run import open_model

CONFIDENCE_FILE = "confidence.json"
_SHOWN_TOKENS = 9  # on a side of a grid, in a figure


def decode_point(settings: PointSettings, run: Path, corpus: Path, to: Path) -> None:
    """Write instances.jsonl: a run on a split, at each of its knob values.

    ``run`` is the folder of a training, ``corpus`` that of its pair.
    """
    method, model = _open_run(run, corpus)
    sentences = EncodedSplit.open(corpus / "bpe", settings.split)
    pairs = [sentences[number] for number in range(len(sentences))]
    references = [target for _, target in pairs] if settings.split == "aligned" else None
    translations = simulate(
        model, [method.policy(model, knob) for knob in settings.knobs],
        [source for source, _ in pairs], settings.decoding, references, title=str(run),
    )  # fmt: skip
    text = SplitText.open(corpus, settings.split)
    by_knob = zip(settings.knobs, translations, strict=True)
    write_instances(
        to / INSTANCES_FILE,
        (
            text.instance(one, knob, settings.decoding.ms_per_word)
            for knob, found in by_knob
            for one in found
        ),
    )


@dataclass(frozen=True)
class SplitText:
    """The text of a split beside its ids: what instances are made of."""

    is_gold: bool  # words are those of a gold alignment, not what stands between blanks
    sources: list[str]
    references: list[list[str]]
    tokenised_sources: list[str]
    tokenised_references: list[list[str]]
    reference_lengths: list[int]  # in tokens, with EOS
    encoder: Encoder
    vocabulary: Vocabulary
    tokeniser: Tokeniser
    words: WordsOf

    @classmethod
    def open(cls, corpus: Path, split: str) -> "SplitText":
        """From the files that prepare and bpe wrote for a split."""
        text, bpe, is_gold = corpus / "text", corpus / "bpe", split == "aligned"
        sides = [_lines(text / f"{split}.{side}") for side in ("source", "target")]
        sources, references = sides[0], [[line] for line in sides[1]]
        if not is_gold:
            raw = [json.loads(line) for line in _lines(text / f"{split}.raw.jsonl")]
            sources = [record["source"] for record in raw]
            references = [record["references"] for record in raw]
        prepared = _prepare_settings(corpus)
        tokeniser = target_tokeniser(prepared.text, prepared.target)
        has_no_blanks = prepared.text.source_tokeniser == "jieba"
        return cls(
            is_gold=is_gold,
            sources=sources,
            references=references,
            tokenised_sources=sides[0],
            tokenised_references=[
                [first, *(" ".join(tokeniser.tokenise(other)) for other in others[1:])]
                for first, others in zip(sides[1], references, strict=True)
            ],
            reference_lengths=EncodedSplit.open(bpe, split).target.lengths(slice(None)).tolist(),
            encoder=Encoder.open(bpe, "source"),
            vocabulary=open_vocabularies(bpe)[1],
            tokeniser=tokeniser,
            words=WordsOf(
                source="tokens" if is_gold or has_no_blanks else "blanks",
                target="tokens" if is_gold else "blanks",
            ),
        )

    def instance(self, translation: Translation, knob: Knob, ms_per_word: float) -> Instance:
        """A translation as the record that scoring reads."""
        index, ids = translation.index, translation.tokens
        written = self.vocabulary.decode(ids)
        return make_instance(
            index=index,
            knob=knob,
            source=self.sources[index],
            source_tokens=[*self.encoder.pieces(self.tokenised_sources[index]), EOS_TOKEN],
            references=self.references[index],
            prediction=" ".join(written) if self.is_gold else self.tokeniser.detokenise(written),
            tokens=[*(self.vocabulary.pieces[number] for number in ids[:-1]), EOS_TOKEN],
            token_delays=translation.delays,
            tokenised_references=self.tokenised_references[index],
            reference_token_length=self.reference_lengths[index],
            write_confidence=translation.write_values,
            read_confidence=translation.read_values,
            token_elapsed_ms=[1000 * seconds for seconds in translation.elapsed_s],
            ms_per_word=ms_per_word,
            words=self.words,
            is_forced=self.is_gold,
        )


def look_at_states(settings: PointSettings, run: Path, corpus: Path, to: Path) -> None:
    """Write what the confidence of every state (i, j) of a split says about its correctness.

    confidence.json has the correlations, sums.json what they are sums of, sentence by sentence, and
    grid.json all states of one sentence, for figures.
    """
    method, model = _open_run(run, corpus)
    sentences = EncodedSplit.open(corpus / "bpe", settings.split)
    sources, targets = zip(*(sentences[n] for n in range(len(sentences))), strict=True)
    shown = _readable(sources, targets)
    states, counts = States(), []
    for found in state_confidences(model, sources, targets, title=str(run)):
        states.add(found.confidence_NM.ravel(), found.probability_NM.ravel())
        counts.append(found.confidence_NM.size)
        if found.index == shown:
            delays = _paths(method, model, settings, sources[shown], targets[shown])
            write_json(to / GRID_FILE, _grid(found, sources[shown], targets[shown], delays, corpus))
    pooled = states.arrays()
    scores = correlation_scores(correlate(*pooled))
    write_json(to / CONFIDENCE_FILE, {score.name: score.as_json() for score in scores})
    sums = sentence_sums(*pooled, counts)
    write_json(to / SUMS_FILE, {name: rows.tolist() for name, rows in sums.items()})


def _readable(sources: Sequence[Ids], targets: Sequence[Ids]) -> int:
    """The first sentence whose grid of states is of the size that a figure has room for."""
    sizes = zip(sources, targets, strict=True)
    off = [abs(len(one) - _SHOWN_TOKENS) + abs(len(two) - _SHOWN_TOKENS) for one, two in sizes]
    return off.index(min(off))


def _paths(
    method: Method, model: Transformer, settings: PointSettings, source: Ids, target: Ids
) -> dict[float, tuple[int, ...]]:
    """The delays at which each threshold would have written the target."""
    knobs = [knob for knob in settings.knobs if knob != "full"]
    policies = [method.policy(model, knob) for knob in knobs]
    found = simulate(model, policies, [source], settings.decoding, [target], title="paths")
    return {knob: translations[0].delays for knob, translations in zip(knobs, found, strict=True)}


def _grid(
    states: StateConfidences,
    source: Ids,
    target: Ids,
    delays: Mapping[float, Sequence[int]],
    corpus: Path,
) -> dict[str, Any]:
    """All states of a sentence, a row for each target token, and the path of each threshold."""
    vocabularies = open_vocabularies(corpus / "bpe")
    return {
        "index": states.index,
        "source": [vocabularies[0].pieces[number] for number in source],
        "target": [vocabularies[1].pieces[number] for number in target],
        "confidence": states.confidence_NM.tolist(),
        "probability": states.probability_NM.tolist(),
        "delays": [{"knob": knob, "delays": list(own)} for knob, own in delays.items()],
    }


def show_states(choice: SentenceChoice, run: Path, corpus: Path, to: Path) -> None:
    """Write states.jsonl: the confidence of every state of some aligned sentences.

    A line is a sentence, a row of its grid a target token. The numbers are thousandths, cut off and
    not rounded: one reaches a threshold in thousandths if and only if the confidence does.
    """
    _, model = _open_run(run, corpus)
    chosen = choose_sentences(aligned_sentences(corpus / "text"), choice)
    sentences = EncodedSplit.open(corpus / "bpe", "aligned")
    sources, targets = zip(*(sentences[number] for number in chosen), strict=True)
    found = state_confidences(model, sources, targets, title=str(run))
    grids = {one.index: (1000 * one.confidence_NM).astype(int).tolist() for one in found}
    with atomic_file(to / STATES_FILE) as stream:
        for place, number in enumerate(chosen):
            line = {"index": number, "confidence": grids[place]}
            stream.write(json.dumps(line, separators=(",", ":")) + "\n")


def _open_run(run: Path, corpus: Path) -> tuple[Method, Transformer]:
    text = (run / "settings.json").read_text(encoding="utf-8")
    return open_model(RunSettings.model_validate_json(text), corpus / "bpe", run)


def _prepare_settings(corpus: Path) -> PrepareSettings:
    text = (corpus / "text" / "settings.json").read_text(encoding="utf-8")
    return PrepareSettings.model_validate_json(text)


def _lines(path: Path) -> list[str]:
    return path.read_text(encoding="utf-8").split("\n")[:-1]
