"""Words to pieces to ids: subword-nmt's merges, the vocabulary, the encoded splits.

The merges are learnt and applied by subword-nmt itself, so they are the field's. What is ours:
words are counted and encoded by all cores, and each word is segmented once and then looked up.
Memory grows with the number of different words, not with the text.
"""

import io
import json
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager, redirect_stderr
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from simt.atomic import atomic_file
from simt.corpus.ids import (
    REMEDY,
    SIDES,
    SPECIAL_IDS,
    UNK,
    Side,
    SpecialIds,
    SplitWriter,
    Vocabulary,
)
from simt.corpus.workers import in_chunks, map_chunks
from simt.errors import SimtError
from simt.pairs import SPLITS, BpeSettings
from simt.pieces import CONTINUES
from simt.problems import read_text
from simt.products import STATS_FILE
from simt.progress import progress_bar

Merge = tuple[str, str]

_VERSION = "#version: 0.2"  # of the codes format: "</w>" is part of a word's last character
_LINES_A_CHUNK = 2000
_WORDS_IN_TABLE = 200_000  # about 40 MB a process


def build_bpe(settings: BpeSettings, text: Path, out: Path, processes: int) -> dict[str, Any]:
    """The statistics of the encoded splits, which are written into ``out`` with what made them.

    Files: ``codes`` and ``vocabulary`` (joint) or ``codes.source``, ``codes.target`` and so on;
    the files of ids.py for every split that ``text`` has; ``stats.json`` last.
    """
    out.mkdir(parents=True, exist_ok=True)
    (out / STATS_FILE).unlink(missing_ok=True)
    for path in [path for split in SPLITS for path in out.glob(f"{split}.*")]:
        path.unlink()  # a split that the text may not have any more
    learn_codes(settings, text, out, processes)
    stats = encode_splits(text, out, processes)
    with atomic_file(out / STATS_FILE) as stream:
        json.dump(stats, stream, indent=2, sort_keys=True)
        stream.write("\n")
    return stats


# --- learn -----------------------------------------------------------------------------------


def learn_codes(settings: BpeSettings, text: Path, out: Path, processes: int) -> None:
    """Write the merges and the vocabularies of the training text."""
    for stale in (f"{name}{end}" for name in ("codes", "vocabulary") for end in _ENDINGS):
        (out / stale).unlink(missing_ok=True)
    jobs = _jobs(settings, text, processes)
    learner = partial(_Learner, settings.min_pair_count)
    learnt = map_chunks(learner, jobs.values(), min(processes, len(jobs)))
    for (ending, (words, wanted)), merges in zip(jobs.items(), learnt, strict=True):
        _write_codes(out / f"codes{ending}", merges)
        pieces = count_pieces(words, merges, processes)
        # By frequency, then by alphabet: an order that depends on nothing else.
        ranked = sorted(pieces.items(), key=lambda item: (-item[1], item[0]))
        if settings.is_filled_up:
            ranked += [(piece, 0) for piece in filler_pieces(wanted - len(ranked))]
        vocabulary = Vocabulary([piece for piece, _ in ranked])
        vocabulary.save(out / f"vocabulary{ending}", [count for _, count in ranked])


def filler_pieces(number: int) -> list[str]:
    """So many pieces that occur in no text, to fill up a vocabulary with."""
    return [f"never-seen-{place}" for place in range(number)]


_ENDINGS = ("", ".source", ".target")


def _jobs(settings: BpeSettings, text: Path, processes: int) -> dict[str, tuple[Counter[str], int]]:
    """Word counts and number of merges for each set of codes, by the ending of its file."""
    source, target = count_words(text, processes)
    if settings.joint:
        return {"": (source + target, settings.source_merges)}
    return {
        ".source": (source, settings.source_merges),
        ".target": (target, settings.target_merges),
    }


def count_words(text: Path, processes: int) -> tuple[Counter[str], Counter[str]]:
    """How often each word occurs in the source and in the target of the training text."""
    totals: tuple[Counter[str], Counter[str]] = (Counter(), Counter())
    pairs = _line_pairs(text / "train.source", text / "train.target")
    bar = progress_bar(iterable=pairs, desc="count words", unit=" pairs")
    for counts in map_chunks(_WordCounter, in_chunks(bar, _LINES_A_CHUNK), processes):
        for total, count in zip(totals, counts, strict=True):
            total.update(count)
    return totals


class _WordCounter:
    def __call__(self, pairs: list[tuple[str, str]]) -> list[Counter[str]]:
        sides = zip(*pairs, strict=True)
        return [Counter(word for line in side for word in line.split()) for side in sides]


class _Learner:
    def __init__(self, min_pair_count: int) -> None:
        self._min_pair_count = min_pair_count

    def __call__(self, job: tuple[Counter[str], int]) -> list[Merge]:
        words, merges = job
        return learn_merges(words, merges, self._min_pair_count)


def learn_merges(words: Counter[str], merges: int, min_pair_count: int) -> list[Merge]:
    """At most so many merges, the most useful first, each made by subword-nmt.

    Merges to a piece that itself ends in the mark at the end of a word are left out (in practice
    there are none): such a piece would look as if its word went on, and the text could not be
    put back together.
    """
    from subword_nmt import learn_bpe

    if all(len(word) == 1 for word in words):
        return []  # nothing to merge, which subword-nmt does not expect
    lines = (f"{word} {count}\n" for word, count in sorted(words.items()))
    codes = io.StringIO()
    with progress_bar(desc="merges", total=merges) as bar, _adapted(learn_bpe, bar):
        learn_bpe.learn_bpe(lines, codes, merges, min_pair_count, is_dict=True)
    learnt = [_merge(line) for line in codes.getvalue().split("\n")[1:-1]]
    return [
        (left, right) for left, right in learnt if not f"{left}{right}".endswith(f"{CONTINUES}</w>")
    ]


@contextmanager
def _adapted(learn_bpe: Any, bar: Any) -> Iterator[None]:
    """subword-nmt with our progress bar, without its messages, and twice as fast."""

    def shown(steps: Iterable[int]) -> Iterator[int]:
        for step in steps:
            yield step
            bar.update()

    its_own, learn_bpe.tqdm = learn_bpe.tqdm, shown
    learn_bpe.max = _fast_max
    try:
        with redirect_stderr(io.StringIO()):
            yield
    finally:
        learn_bpe.tqdm = its_own
        del learn_bpe.max


def _fast_max(items: Any, key: Any = None) -> Any:
    """``max`` as subword-nmt calls it: of numbers, or of pairs by their count and alphabet.

    The latter is asked once a merge over all pairs; comparing the bare counts first saves it
    half of the time.
    """
    if key is None:
        return max(items)
    most = max(items.values())
    return max(pair for pair, count in items.items() if count == most)


def _merge(line: str) -> Merge:
    left, right = line.split(" ")
    return left, right


def _write_codes(path: Path, merges: Sequence[Merge]) -> None:
    with atomic_file(path) as stream:
        stream.writelines(f"{line}\n" for line in [_VERSION, *map(" ".join, merges)])


def count_pieces(words: Counter[str], merges: Sequence[Merge], processes: int) -> Counter[str]:
    """How often each piece occurs in a text with these words."""
    total: Counter[str] = Counter()
    chunks = in_chunks(words.items(), _LINES_A_CHUNK)
    for counts in map_chunks(partial(_PieceCounter, merges), chunks, processes):
        total.update(counts)
    return total


class _PieceCounter:
    def __init__(self, merges: Sequence[Merge]) -> None:
        self._segmenter = Segmenter(merges)

    def __call__(self, words: list[tuple[str, int]]) -> Counter[str]:
        counts: Counter[str] = Counter()
        for word, count in words:
            for piece in self._segmenter.segment(word):
                counts[piece] += count
        return counts


# --- apply -----------------------------------------------------------------------------------


class Segmenter:
    """Cuts words into pieces, with subword-nmt's own class."""

    def __init__(self, merges: Sequence[Merge]) -> None:
        from subword_nmt.apply_bpe import BPE

        codes = "".join(f"{line}\n" for line in [_VERSION, *map(" ".join, merges)])
        # The number of merges is given because without it no merges at all are an error.
        self._bpe = BPE(io.StringIO(codes), merges=len(merges), separator=CONTINUES)

    @classmethod
    def open(cls, path: Path) -> "Segmenter":
        """The segmenter of a codes file."""
        return cls(read_codes(path))

    def segment(self, word: str) -> list[str]:
        """The pieces of one word; all but the last say that it goes on."""
        pieces: list[str] = self._bpe.segment_tokens([word])
        self._bpe.cache.clear()  # it would grow with the text
        return pieces


def read_codes(path: Path) -> list[Merge]:
    """The merges of a codes file."""
    version, *lines = read_text(path, REMEDY).split("\n")
    if version != _VERSION:
        raise SimtError(f"{path} does not begin with '{_VERSION}': not codes that we can use.")
    for number, line in enumerate(lines[:-1], 2):
        if line.count(" ") != 1 or line != line.strip():
            raise SimtError(f"{path}, line {number}: not two symbols with a blank between.")
    return [_merge(line) for line in lines[:-1]]


class SubwordNmt:
    """The ``Subwords`` of one side, with a bounded table of known words."""

    def __init__(self, merges: Sequence[Merge], vocabulary: Vocabulary) -> None:
        self._segmenter = Segmenter(merges)
        self._vocabulary = vocabulary
        self._table: dict[str, list[int]] = {}

    @classmethod
    def open(cls, folder: Path, side: Side) -> "SubwordNmt":
        """The subwords of one side, from a folder that ``simt bpe`` wrote."""
        merges = read_codes(_of_side(folder, "codes", side))
        return cls(merges, Vocabulary.open(_of_side(folder, "vocabulary", side)))

    @property
    def ids(self) -> SpecialIds:
        return SPECIAL_IDS

    def __len__(self) -> int:
        return len(self._vocabulary)

    def cut(self, word: str) -> list[str]:
        return self._segmenter.segment(word)

    def encode_word(self, word: str) -> list[int]:
        return self._table.get(word) or self._look_up(word)

    def knows(self, word: str) -> bool:
        return UNK not in self.encode_word(word)

    def piece(self, number: int) -> str:
        return self._vocabulary.pieces[number]

    def ends_word(self, number: int) -> bool:
        return bool(self._vocabulary.is_word_end[number])

    def decode(self, ids: Iterable[int]) -> list[str]:
        return self._vocabulary.decode(ids)

    def encode(self, line: str) -> list[int]:
        """The ids of a tokenised sentence, with ``<eos>`` at its end."""
        ids: list[int] = []
        for word in line.split():
            ids += self._table.get(word) or self._look_up(word)
        ids.append(self.ids.eos)
        return ids

    def _look_up(self, word: str) -> list[int]:
        if len(self._table) >= _WORDS_IN_TABLE:
            self._table.clear()
        ids = self._vocabulary.encode(self._segmenter.segment(word))
        self._table[word] = ids
        return ids


def open_subwords(folder: Path) -> tuple[SubwordNmt, SubwordNmt]:
    """The subwords of source and target; joint ones are both."""
    source = SubwordNmt.open(folder, "source")
    return source, (source if _is_joint(folder) else SubwordNmt.open(folder, "target"))


def open_vocabularies(folder: Path) -> tuple[Vocabulary, Vocabulary]:
    """The vocabularies of source and target; joint BPE has one, which is then both."""
    paths = [_of_side(folder, "vocabulary", side) for side in SIDES]
    source = Vocabulary.open(paths[0])
    return source, (source if paths[0] == paths[1] else Vocabulary.open(paths[1]))


def _of_side(folder: Path, name: str, side: Side) -> Path:
    """The file of one side, or the one of both sides."""
    return folder / (name if _is_joint(folder) else f"{name}.{side}")


def _is_joint(folder: Path) -> bool:
    """Whether both sides have the same files, one of which may be lost."""
    return any((folder / name).exists() for name in ("codes", "vocabulary"))


# --- encode ----------------------------------------------------------------------------------

_EncodedLines = tuple[npt.NDArray[Any], npt.NDArray[np.int64], int]  # ids, lengths, words


def encode_splits(text: Path, out: Path, processes: int) -> dict[str, Any]:
    """The statistics of all splits of a text, which are encoded with the codes in ``out``."""
    vocabularies = open_vocabularies(out)
    splits = [split for split in SPLITS if (text / f"{split}.source").exists()]
    return {
        "vocabulary": {
            side: len(vocabulary) for side, vocabulary in zip(SIDES, vocabularies, strict=True)
        },
        "splits": {split: _encode_split(text, out, split, processes) for split in splits},
    }


def _encode_split(text: Path, out: Path, split: str, processes: int) -> dict[str, Any]:
    vocabularies = open_vocabularies(out)
    counts = {side: _SideCounts() for side in SIDES}
    pairs = _line_pairs(text / f"{split}.source", text / f"{split}.target")
    # Evaluation sets are small: starting processes would take longer than encoding them.
    workers = processes if split == "train" else 1
    bar = progress_bar(iterable=pairs, desc=f"encode {split}", unit=" pairs")
    with SplitWriter(out, split, vocabularies) as writer:
        chunks = in_chunks(bar, _LINES_A_CHUNK)
        for encoded in map_chunks(partial(_PairEncoder, out), chunks, workers):
            for side, (ids, lengths, words) in zip(SIDES, encoded, strict=True):
                writer.append(side, ids, lengths)
                counts[side].add(ids, lengths, words)
    return {side: counts[side].stats() for side in SIDES}


class _PairEncoder:
    def __init__(self, folder: Path) -> None:
        self._encoders = [SubwordNmt.open(folder, side) for side in SIDES]
        self._dtypes = [vocabulary.dtype for vocabulary in open_vocabularies(folder)]

    def __call__(self, pairs: list[tuple[str, str]]) -> list[_EncodedLines]:
        return [
            _encode_lines(encoder.encode, lines, dtype)
            for encoder, lines, dtype in zip(
                self._encoders, zip(*pairs, strict=True), self._dtypes, strict=True
            )
        ]


def _encode_lines(
    encode: Callable[[str], list[int]], lines: Sequence[str], dtype: np.dtype[Any]
) -> _EncodedLines:
    ids: list[int] = []
    lengths: list[int] = []
    for line in lines:
        sentence = encode(line)
        ids += sentence
        lengths.append(len(sentence))
    words = sum(len(line.split()) for line in lines)
    return np.array(ids, dtype), np.array(lengths, np.int64), words


class _SideCounts:
    """The statistics of one side of a split while it is encoded."""

    def __init__(self) -> None:
        self._sentences = self._words = self._tokens = self._unknown = self._longest = 0

    def add(self, ids: npt.NDArray[Any], lengths: npt.NDArray[np.int64], words: int) -> None:
        self._sentences += len(lengths)
        self._words += words
        self._tokens += len(ids)
        self._unknown += int(np.count_nonzero(ids == UNK))
        self._longest = max(self._longest, int(lengths.max(initial=0)))

    def stats(self) -> dict[str, Any]:
        pieces = self._tokens - self._sentences
        return {
            "sentences": self._sentences,
            "words": self._words,
            "tokens": self._tokens,  # with one <eos> a sentence
            "unknown": self._unknown,
            "unknown_fraction": round(self._unknown / max(pieces, 1), 6),
            "mean_tokens": round(self._tokens / max(self._sentences, 1), 3),
            "longest_tokens": self._longest,
            "pieces_per_word": round(pieces / max(self._words, 1), 4),
        }


def _open_lines(path: Path) -> Any:
    try:
        return path.open(encoding="utf-8", newline="\n")
    except FileNotFoundError:
        raise SimtError(f"{path} is missing; {REMEDY}") from None


def _line_pairs(source: Path, target: Path) -> Iterator[tuple[str, str]]:
    with _open_lines(source) as sources, _open_lines(target) as targets:
        try:
            yield from zip(sources, targets, strict=True)
        except ValueError:
            raise SimtError(
                f"{source} and {target} differ in their number of lines; {REMEDY}"
            ) from None
