"""Decoding: a run on a split at all its knob values, from model and corpus to instances."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import chain
from pathlib import Path
from typing import Any, TypeVar

from pydantic import Field, ValidationError

from simt.atomic import atomic_file, write_json
from simt.corpus.bpe import SubwordNmt, open_subwords, open_vocabularies
from simt.corpus.example_selection import aligned_sentences, choose_sentences
from simt.corpus.ids import REMEDY, SIDES, EncodedSplit
from simt.corpus.subwords import Subwords
from simt.corpus.text import Tokeniser, source_tokeniser, target_tokeniser
from simt.errors import SimtError
from simt.instances import (
    EOS_TOKEN,
    Hypothesis,
    Instance,
    SplitSentence,
    WordsOf,
    make_instance,
    write_instances,
)
from simt.markers import settings_made_with
from simt.methods import Method, Model
from simt.pairs import PrepareSettings
from simt.params import Knob
from simt.problems import parse_values, read_text
from simt.products import (
    CONFIDENCE_FILE,
    GRID_FILE,
    INSTANCES_FILE,
    SETTINGS_FILE,
    STATES_FILE,
    SUMS_FILE,
)
from simt.scoring.confidence import (
    States,
    correlate,
    correlation_scores,
    sentence_sums,
    thousandths,
)
from simt.settings import (
    METHOD_SETTINGS,
    PointSettings,
    RunSettings,
    SentenceChoice,
    Settings,
)
from simt.simulation import StateConfidences, Translation, simulate, state_confidences
from simt.simulation.encodings import Ids
from simt.training.run import open_model

M = TypeVar("M", bound=Settings)

_SHOWN_TOKENS = 9  # on a side of a grid, in a figure


def decode_point(settings: PointSettings, run: Path, corpus: Path, to: Path) -> None:
    """Write instances.jsonl: a run on a split, at each of its knob values.

    ``run`` is the folder of a training, ``corpus`` that of its pair.
    """
    of_run = settings_of_run(run)
    _check_knobs(of_run, settings)
    method, model = open_model(of_run, corpus / "bpe", run)
    sentences = _open_split(corpus, settings.split)
    pairs = [sentences[number] for number in range(len(sentences))]
    references = [target for _, target in pairs] if settings.split == "aligned" else None
    text = SplitText.open(corpus, settings.split)
    translations = simulate(
        model.network, [method.policy(model, knob) for knob in settings.knobs],
        [source for source, _ in pairs], settings.decoding, references, title=str(run),
    )  # fmt: skip
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

    is_gold: bool  # words are those of a gold alignment
    sources: list[str]
    references: list[list[str]]
    tokenised_sources: list[str]
    tokenised_references: list[list[str]]
    reference_lengths: list[int]  # in tokens, with EOS
    source_subwords: Subwords
    target_subwords: Subwords
    tokeniser: Tokeniser
    words: WordsOf

    @classmethod
    def open(cls, corpus: Path, split: str) -> "SplitText":
        """From the files that prepare and bpe wrote for a split."""
        text, bpe, is_gold = corpus / "text", corpus / "bpe", split == "aligned"
        sides = [_lines(text / f"{split}.{side}") for side in ("source", "target")]
        sources, references = sides[0], [[line] for line in sides[1]]
        if not is_gold:
            raw = _raw_text(text / f"{split}.raw.jsonl", len(sources))
            sources = [sentence.source for sentence in raw]
            references = [list(sentence.references) for sentence in raw]
        prepared = prepared_with(corpus)
        tokeniser = target_tokeniser(prepared.text, prepared.target)
        source_subwords, target_subwords = open_subwords(bpe)
        source_has_blanks = source_tokeniser(prepared.text, prepared.source).has_blanks
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
            source_subwords=source_subwords,
            target_subwords=target_subwords,
            tokeniser=tokeniser,
            words=WordsOf(
                source="blanks" if source_has_blanks and not is_gold else "tokens",
                target="blanks" if tokeniser.has_blanks and not is_gold else "tokens",
            ),
        )

    def instance(self, translation: Translation, knob: Knob, ms_per_word: float) -> Instance:
        """A translation as the record that scoring reads."""
        sentence, hypothesis = self._sentence(translation.index), self._hypothesis(translation)
        return make_instance(sentence, hypothesis, knob, ms_per_word)

    def _sentence(self, index: int) -> SplitSentence:
        source_words = self.tokenised_sources[index].split()
        return SplitSentence(
            index=index,
            source=self.sources[index],
            source_tokens=[*chain(*map(self.source_subwords.cut, source_words)), EOS_TOKEN],
            references=self.references[index],
            tokenised_references=self.tokenised_references[index],
            reference_token_length=self.reference_lengths[index],
            words=self.words,
            is_forced=self.is_gold,
        )

    def _hypothesis(self, translation: Translation) -> Hypothesis:
        prediction, pieces = self._written(translation)
        return Hypothesis(
            prediction=prediction,
            tokens=[*pieces, EOS_TOKEN],
            token_delays=translation.delays,
            write_confidence=translation.write_values,
            read_confidence=translation.read_values,
            token_elapsed_ms=[1000 * seconds for seconds in translation.elapsed_s],
        )

    def _written(self, translation: Translation) -> tuple[str, Sequence[str]]:
        """What was written: its text and its pieces.

        Where the reference was forced, they are those of the reference itself: a piece without an
        id would end a word that has gold links.
        """
        if self.is_gold:
            reference = self.tokenised_references[translation.index][0]
            return reference, [*chain(*map(self.target_subwords.cut, reference.split()))]
        words = self.target_subwords.decode(translation.tokens)
        pieces = [*map(self.target_subwords.piece, translation.tokens[:-1])]
        return self.tokeniser.detokenise(words), pieces


def write_confidences(settings: PointSettings, run: Path, corpus: Path, to: Path) -> None:
    """Write what the confidence of every state (i, j) of a split says about its correctness.

    confidence.json has the correlations, sums.json what they are sums of, sentence by sentence, and
    grid.json all states of one sentence, for figures.
    """
    of_run = settings_of_run(run)
    _check_knobs(of_run, settings)
    _check_confidence(of_run)
    method, model = open_model(of_run, corpus / "bpe", run)
    sentences = _open_split(corpus, settings.split)
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
    method: Method, model: Model, settings: PointSettings, source: Ids, target: Ids
) -> dict[float, tuple[int, ...]]:
    """The delays at which each threshold would have written the target."""
    knobs = [knob for knob in settings.knobs if knob != "full"]
    policies = [method.policy(model, knob) for knob in knobs]
    found = simulate(model.network, policies, [source], settings.decoding, [target], title="paths")
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


def write_states(choice: SentenceChoice, run: Path, corpus: Path, to: Path) -> None:
    """Write states.jsonl: the confidence of every state of some aligned sentences.

    A line is a sentence, a row of its grid a target token, a number the confidence in thousandths.
    """
    of_run = settings_of_run(run)
    _check_confidence(of_run)
    _, model = open_model(of_run, corpus / "bpe", run)
    chosen = choose_sentences(aligned_sentences(corpus / "text"), choice)
    if not chosen:
        raise SimtError(f"no aligned sentence has at most {choice.max_source_words} source words")
    sentences = _open_split(corpus, "aligned")
    sources, targets = zip(*(sentences[number] for number in chosen), strict=True)
    found = state_confidences(model, sources, targets, title=str(run))
    grids = {one.index: thousandths(one.confidence_NM).tolist() for one in found}
    with atomic_file(to / STATES_FILE) as stream:
        for place, number in enumerate(chosen):
            line = {"index": number, "confidence": grids[place]}
            stream.write(json.dumps(line, separators=(",", ":")) + "\n")


class _RawSentence(Settings):
    """A line of the files that prepare writes beside the tokenised text."""

    source: str
    references: tuple[str, ...] = Field(min_length=1)


def _raw_text(path: Path, sentences: int) -> list[_RawSentence]:
    """A split as people write it."""
    lines = _lines(path)
    if len(lines) != sentences:
        raise SimtError(f"{path} has {len(lines)} lines for {sentences} sentences; {REMEDY}")
    try:
        return [_RawSentence.model_validate_json(line) for line in lines]
    except ValidationError as error:
        why = error.errors()[0]["msg"]
        raise SimtError(f"{path} is damaged: {why}; {REMEDY}") from None


def open_run(run: Path, corpus: Path) -> tuple[Method, Model]:
    """The method and the model of a finished run; ``corpus`` is the folder of its pair."""
    return open_model(settings_of_run(run), corpus / "bpe", run)


def settings_of_run(run: Path) -> RunSettings:
    """How a finished run was trained."""
    return _settings(RunSettings, run / SETTINGS_FILE, "train the run again")


def _check_knobs(of_run: RunSettings, settings: PointSettings) -> None:
    """Stop at a knob value that the method of the run does not take."""
    for knob in settings.knobs:
        if complaint := METHOD_SETTINGS[of_run.method].complaint(knob):
            raise SimtError(f"knobs of {of_run.method}: {complaint}")


def _check_confidence(of_run: RunSettings) -> None:
    """Stop if the model trusts every state alike."""
    if not METHOD_SETTINGS[of_run.method].has_confidence:
        raise SimtError(f"a model of {of_run.method} has no confidence; give a run of sm2")


def _open_split(corpus: Path, split: str) -> EncodedSplit:
    """A split's ids, which must be those of its text."""
    encoded = EncodedSplit.open(corpus / "bpe", split)
    if not len(encoded):
        raise SimtError(f"{corpus}: {split} has no sentences")
    for side, vocabulary in zip(SIDES, open_vocabularies(corpus / "bpe"), strict=True):
        getattr(encoded, side).check(vocabulary)
        path = corpus / "text" / f"{split}.{side}"
        lines = _lines(path)
        if len(lines) != len(encoded):
            raise SimtError(f"{path} has {len(lines)} lines for {len(encoded)} sentences; {REMEDY}")
        encoder, ids = SubwordNmt.open(corpus / "bpe", side), getattr(encoded, side)
        for number, line in enumerate(lines):
            if encoder.encode(line) != ids[number].tolist():
                raise SimtError(f"{path}, line {number + 1} is not what its ids say; {REMEDY}")
    return encoded


def prepared_with(corpus: Path) -> PrepareSettings:
    """How the text of a pair was prepared."""
    return _settings(PrepareSettings, corpus / "text" / SETTINGS_FILE, REMEDY)


def _settings(schema: type[M], marker: Path, remedy: str) -> M:
    """What a finished step was done with."""
    return parse_values(schema, settings_made_with(marker), str(marker), remedy)


def _lines(path: Path) -> list[str]:
    return read_text(path, REMEDY).split("\n")[:-1]
