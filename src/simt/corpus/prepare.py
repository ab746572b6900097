"""Raw files to clean, tokenised text: what the model may see, and what it may not.

Everything is streamed. Only the sentences of the evaluation sets and one bit a training pair
are held in memory.
"""

import json
import re
import shutil
import tempfile
import unicodedata
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field
from functools import partial
from hashlib import blake2b
from itertools import chain
from pathlib import Path
from typing import IO, Any

import numpy as np
import numpy.typing as npt

from simt.atomic import atomic_file, write_json
from simt.corpus.alignments import AlignedSentence, format_links, read_aligned
from simt.corpus.duplicates import BitArray, DuplicateFinder
from simt.corpus.formats import SentencePair, read_part
from simt.corpus.oracle import GoldAlignment, oracle_curve
from simt.corpus.text import Tokeniser, source_tokeniser, target_tokeniser
from simt.corpus.workers import in_chunks, map_chunks
from simt.errors import SimtError
from simt.pairs import SPLITS, Part, PrepareSettings
from simt.products import ORACLE_FILE, STATS_FILE
from simt.progress import progress_bar

# A sentence with so few letters and digits ("Thank you very much") is nobody's property:
# it is contamination only together with its translation.
SHORT_SENTENCE = 15

ORACLE_OFFSETS = range(-4, 13)  # words fewer or more than needed

_PAIRS_A_CHUNK = 1000
_SCRATCH = ".prepare."


def prepare(settings: PrepareSettings, raw: Path, out: Path, processes: int) -> dict[str, Any]:
    """The statistics of the tokenised splits, which are written into ``out``.

    Files: ``{split}.source`` and ``{split}.target``, one tokenised sentence a line; for valid
    and test also ``{split}.raw.jsonl`` with the source and all references as people write them;
    ``aligned.talp`` with links from 0, and ``oracle.json``, the curve of the policy that reads
    just what those links ask for. ``stats.json`` is written last. For every split,
    ``read = kept + the sum of dropped``.
    """
    _clear(out)
    keys = EvaluationKeys()
    stats = {
        split: _write_evaluation(settings, raw, out, split, keys) for split in ("valid", "test")
    }
    if settings.splits.aligned is not None:
        stats["aligned"] = _write_aligned(settings, raw, out, keys)
    stats["train"] = _write_train(settings, raw, out, keys, processes)
    write_json(out / STATS_FILE, stats)
    return stats


def _clear(out: Path) -> None:
    """Make the folder and delete what an earlier call, perhaps one that was killed, left there.

    Otherwise the next step would find a split that these settings do not have any more.
    """
    out.mkdir(parents=True, exist_ok=True)
    for name in (STATS_FILE, ORACLE_FILE):
        (out / name).unlink(missing_ok=True)
    for path in [path for split in SPLITS for path in out.glob(f"{split}.*")]:
        path.unlink()
    for scratch in out.glob(f"{_SCRATCH}*"):
        shutil.rmtree(scratch)


class _Counts:
    """The statistics of one split while it is written."""

    def __init__(self) -> None:
        self.kept = 0
        self.words = [0, 0]
        self.dropped: Counter[str] = Counter()

    def add(self, source_words: int, target_words: int) -> None:
        """One more sentence pair that was written."""
        self.kept += 1
        self.words[0] += source_words
        self.words[1] += target_words

    def stats(self) -> dict[str, Any]:
        """What stats.json says of the split."""
        source_words, target_words = self.words
        return {
            "read": self.kept + self.dropped.total(),
            "kept": self.kept,
            "dropped": dict(sorted((+self.dropped).items())),
            "source_words": source_words,
            "target_words": target_words,
            "mean_source_words": round(source_words / max(self.kept, 1), 3),
            "mean_target_words": round(target_words / max(self.kept, 1), 3),
        }


def _tokenisers(settings: PrepareSettings) -> tuple[Tokeniser, Tokeniser]:
    return (
        source_tokeniser(settings.text, settings.source),
        target_tokeniser(settings.text, settings.target),
    )


def _read(
    settings: PrepareSettings, parts: Sequence[Part], raw: Path, drops: Counter[str]
) -> Iterator[SentencePair]:
    languages = settings.source, settings.target
    return chain.from_iterable(read_part(part, raw, *languages, drops) for part in parts)


# --- evaluation sets: nothing is left out ----------------------------------------------------


def _write_evaluation(
    settings: PrepareSettings, raw: Path, out: Path, split: str, keys: "EvaluationKeys"
) -> dict[str, Any]:
    """The statistics of valid or test, which are written and added to the keys.

    No filter applies here, and even one without a word stays (it is counted): other people's
    scores are over all sentences. Only the reader may drop broken ones, in a part that is
    declared dirty. With several references, ``{split}.target`` is the first.
    """
    source, target = _tokenisers(settings)
    counts = _Counts()
    empty = 0
    with ExitStack() as files:
        names = (f"{split}.source", f"{split}.target", f"{split}.raw.jsonl")
        streams = [files.enter_context(atomic_file(out / name)) for name in names]
        for pair in _read(settings, getattr(settings.splits, split), raw, counts.dropped):
            sides = source.tokenise(pair.source), target.tokenise(pair.references[0])
            lines = (*(" ".join(words) for words in sides), _raw_line(pair, source, target))
            for stream, line in zip(streams, lines, strict=True):
                stream.write(f"{line}\n")
            counts.add(*map(len, sides))
            empty += not all(sides)
            keys.add(pair)
        _check_any(counts, split)
    return {**counts.stats(), "empty": empty}


def _raw_line(pair: SentencePair, source: Tokeniser, target: Tokeniser) -> str:
    record = {
        "source": source.respell(pair.source),
        "references": [target.respell(reference) for reference in pair.references],
    }
    return json.dumps(record, ensure_ascii=False)


def _write_aligned(
    settings: PrepareSettings, raw: Path, out: Path, keys: "EvaluationKeys"
) -> dict[str, Any]:
    """The statistics of the gold alignments, whose words stay the words that the links count."""
    assert settings.splits.aligned is not None
    source, target = _tokenisers(settings)
    counts = _Counts()
    gold: list[GoldAlignment] = []
    with ExitStack() as files:
        names = ("aligned.source", "aligned.target", "aligned.talp")
        streams = [files.enter_context(atomic_file(out / name)) for name in names]
        for sentence in read_aligned(settings.splits.aligned, raw, counts.dropped):
            lines = (
                " ".join(map(source.respell_word, sentence.source_words)),
                " ".join(map(target.respell_word, sentence.target_words)),
                format_links(sentence.links),
            )
            for stream, line in zip(streams, lines, strict=True):
                stream.write(f"{line}\n")
            counts.add(len(sentence.source_words), len(sentence.target_words))
            keys.add(_as_pair(sentence))
            gold.append(GoldAlignment.of(sentence))
        _check_any(counts, "aligned")
    curve = [point._asdict() for point in oracle_curve(gold, ORACLE_OFFSETS)]
    write_json(out / ORACLE_FILE, {"aligned": curve})
    return counts.stats()


def _as_pair(sentence: AlignedSentence) -> SentencePair:
    return SentencePair(" ".join(sentence.source_words), (" ".join(sentence.target_words),))


def _check_any(counts: _Counts, split: str) -> None:
    if not counts.kept:
        raise SimtError(
            f"No sentence pair is left in {split}; dropped: {dict(counts.dropped) or 'none read'}. "
            f"Look at the files and readers under splits.{split} and at the limits under text."
        )


# --- training pairs --------------------------------------------------------------------------

_NOT_LETTER = re.compile(r"[\W_]+")


def comparison_key(text: str) -> str:
    """The letters and digits, lower-cased and without accents: what makes two sentences one.

    Without accents because old gold sets are written without them.
    """
    if not text.isascii():
        text = unicodedata.normalize("NFKD", text)
    return _NOT_LETTER.sub("", text.lower())


@dataclass
class EvaluationKeys:
    """The sentences of valid, test and aligned, to be kept out of the training text."""

    sources: set[str] = field(default_factory=set)
    targets: set[str] = field(default_factory=set)
    pairs: set[tuple[str, str]] = field(default_factory=set)

    def add(self, pair: SentencePair) -> None:
        """Keep this pair, with all its references, out."""
        source = comparison_key(pair.source)
        targets = [comparison_key(reference) for reference in pair.references]
        self.pairs.update((source, target) for target in targets if source or target)
        self.sources.update(key for key in [source] if len(key) > SHORT_SENTENCE)
        self.targets.update(key for key in targets if len(key) > SHORT_SENTENCE)

    def reason_against(self, source: str, target: str) -> str | None:
        """Why the pair must not be trained on, if so."""
        keys = comparison_key(source), comparison_key(target)
        if keys in self.pairs:
            return "evaluation_pair"
        if keys[0] in self.sources or keys[1] in self.targets:
            return "evaluation_sentence"
        return None


@dataclass(frozen=True)
class _PreparedChunk:
    """The pairs of a chunk that may stay, and why the others may not."""

    sources: list[str]
    targets: list[str]
    digests: npt.NDArray[np.uint64]
    dropped: Counter[str]


class _PairFilter:
    """Tokenises training pairs and leaves out those that the settings do not want."""

    def __init__(self, settings: PrepareSettings, keys: EvaluationKeys) -> None:
        self._text = settings.text
        self._source, self._target = _tokenisers(settings)
        self._keys = keys

    def __call__(self, pairs: list[tuple[str, str]]) -> _PreparedChunk:
        """The prepared pairs, in order."""
        chunk = _PreparedChunk([], [], np.zeros(0, np.uint64), Counter())
        digests = bytearray()
        for raw_source, raw_target in pairs:
            source = self._source.tokenise(raw_source)
            target = self._target.tokenise(raw_target)
            reason = self._reason_against(raw_source, raw_target, len(source), len(target))
            if reason:
                chunk.dropped[reason] += 1
                continue
            chunk.sources.append(" ".join(source))
            chunk.targets.append(" ".join(target))
            line = f"{chunk.sources[-1]}\t{chunk.targets[-1]}"
            digests += blake2b(line.encode(), digest_size=8).digest()
        return _PreparedChunk(
            chunk.sources, chunk.targets, np.frombuffer(bytes(digests), "<u8"), chunk.dropped
        )

    def _reason_against(
        self, raw_source: str, raw_target: str, source_words: int, target_words: int
    ) -> str | None:
        """The first reason to leave the pair out, if there is one."""
        shorter, longer = sorted((source_words, target_words))
        if not shorter:
            return "empty"
        if longer > self._text.max_words:
            return "too_long"
        if longer > self._text.max_ratio * shorter:
            return "unequal_lengths"
        if self._text.drop_evaluation_sentences:
            return self._keys.reason_against(raw_source, raw_target)
        return None


def _write_train(
    settings: PrepareSettings, raw: Path, out: Path, keys: EvaluationKeys, processes: int
) -> dict[str, Any]:
    """The statistics of the training text, which is written.

    Two passes, so that no table grows with the text: the first writes what passes the filters
    to scratch files and finds the duplicates, the second leaves these out.
    """
    counts = _Counts()
    with tempfile.TemporaryDirectory(prefix=_SCRATCH, dir=out) as name:
        scratch = Path(name)
        with (
            DuplicateFinder(scratch) as duplicates,
            _create(scratch / "source") as sources,
            _create(scratch / "target") as targets,
        ):
            pairs = _training_pairs(settings, raw, counts.dropped)
            bar = progress_bar(iterable=pairs, desc="prepare train", unit=" pairs")
            chunks = in_chunks(bar, _PAIRS_A_CHUNK)
            for chunk in map_chunks(partial(_PairFilter, settings, keys), chunks, processes):
                sources.writelines(f"{line}\n" for line in chunk.sources)
                targets.writelines(f"{line}\n" for line in chunk.targets)
                duplicates.add(chunk.digests)
                counts.dropped += chunk.dropped
        drops = duplicates.find() if settings.text.drop_duplicates else None
        _copy_unless(drops, scratch, out, counts)
    return counts.stats()


def _create(path: Path) -> IO[str]:
    return path.open("w", encoding="utf-8", newline="\n")


def _training_pairs(
    settings: PrepareSettings, raw: Path, drops: Counter[str]
) -> Iterator[tuple[str, str]]:
    """Source and target; several references are several pairs."""
    for pair in _read(settings, settings.splits.train, raw, drops):
        for reference in pair.references:
            yield pair.source, reference


def _copy_unless(drops: BitArray | None, scratch: Path, out: Path, counts: _Counts) -> None:
    """Copy the scratch text to its final place, except for the lines that are to drop."""
    with (
        (scratch / "source").open(encoding="utf-8", newline="\n") as old_sources,
        (scratch / "target").open(encoding="utf-8", newline="\n") as old_targets,
        atomic_file(out / "train.source") as sources,
        atomic_file(out / "train.target") as targets,
    ):
        for number, (source, target) in enumerate(zip(old_sources, old_targets, strict=True)):
            if drops is not None and drops[number]:
                counts.dropped["duplicate"] += 1
                continue
            sources.write(source)
            targets.write(target)
            counts.add(source.count(" ") + 1, target.count(" ") + 1)
        _check_any(counts, "train")
