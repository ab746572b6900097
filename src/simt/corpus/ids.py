"""Sentences as numbers: the vocabulary, and encoded splits in memory-mapped files.

Ids 0 to 3 are ``<bos>``, ``<pad>``, ``<eos>`` and ``<unk>``; pieces of text have ids from 4 on,
the most frequent first. The vocabulary file lists only the latter, so that a text which says
"<eos>" is an ordinary piece and can never end a sentence.

An encoded split is, for each side, all ids in one flat array (every sentence with its final
``<eos>``) and the offsets of the sentences in it. Opening it reads neither.
"""

import json
from collections.abc import Iterable, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import IO, Any, Literal

import numpy as np
import numpy.typing as npt

from simt.atomic import atomic_file
from simt.errors import SimtError, short
from simt.pieces import ends_word, join_pieces
from simt.problems import read_file, read_text
from simt.settings import CountOrZero, Settings

BOS, PAD, EOS, UNK = 0, 1, 2, 3
SPECIALS = ("<bos>", "<pad>", "<eos>", "<unk>")


@dataclass(frozen=True)
class SpecialIds:
    """Ids with a meaning of their own, whose they may be."""

    start: int  # what the decoder's input begins with
    eos: int  # ends a sentence, on both sides
    pad: int
    never_written: tuple[int, ...]


SPECIAL_IDS = SpecialIds(start=EOS, eos=EOS, pad=PAD, never_written=(BOS, PAD))
_UNSEEN = (BOS, PAD, EOS)

Side = Literal["source", "target"]
SIDES: tuple[Side, Side] = ("source", "target")
Ids = npt.NDArray[np.integer[Any]]

REMEDY = "delete its folder and run `snakemake -- corpora`"


class Vocabulary:
    """The pieces that the model knows, each with its id."""

    def __init__(self, pieces: Sequence[str]) -> None:
        """``pieces`` are those of the text, without the special ones."""
        self.pieces: tuple[str, ...] = (*SPECIALS, *pieces)
        self._ids = {piece: number for number, piece in enumerate(pieces, len(SPECIALS))}
        if len(self._ids) != len(pieces):
            raise SimtError("The vocabulary names a piece twice.")
        # An unknown piece does not say whether its word goes on; mostly it is a lone symbol.
        self.is_word_end: npt.NDArray[np.bool_] = np.array(
            [True] * len(SPECIALS) + [ends_word(piece) for piece in pieces]
        )

    def __len__(self) -> int:
        return len(self.pieces)

    def encode(self, pieces: Iterable[str]) -> list[int]:
        """The id of every piece; ``<unk>`` for those that are not in the vocabulary."""
        return [self._ids.get(piece, UNK) for piece in pieces]

    def decode(self, ids: Iterable[int]) -> list[str]:
        """The words of the ids: pieces joined, ``<bos>``, ``<pad>`` and ``<eos>`` left out."""
        return join_pieces([self.pieces[number] for number in ids if number not in _UNSEEN])

    @property
    def dtype(self) -> np.dtype[Any]:
        """The smallest type of the id files that holds every id."""
        return np.dtype(np.uint16 if len(self) <= 2**16 else np.int32)

    def save(self, path: Path, counts: Sequence[int]) -> None:
        """Write one piece a line with how often it occurs, as subword-nmt's get-vocab does."""
        with atomic_file(path) as stream:
            for piece, count in zip(self.pieces[len(SPECIALS) :], counts, strict=True):
                stream.write(f"{piece} {count}\n")

    @classmethod
    def open(cls, path: Path) -> "Vocabulary":
        """The vocabulary of a file."""
        lines = read_text(path, REMEDY).split("\n")[:-1]
        rows = [line.split(" ") for line in lines]
        for number, row in enumerate(rows, 1):
            if len(row) != 2 or not row[0] or not row[1].isdigit():
                raise SimtError(f"{path}, line {number}: not a piece and a count; {REMEDY}")
        if len({row[0] for row in rows}) < len(rows):
            raise SimtError(f"{path} names a piece twice; {REMEDY}")
        return cls([row[0] for row in rows])


# --- writing ---------------------------------------------------------------------------------

_NPY: Any = np.lib.format  # has no types


class _ArrayWriter:
    """A one-dimensional .npy file that grows; the header is set right at the end."""

    def __init__(self, stream: IO[bytes], dtype: np.dtype[Any]) -> None:
        self._stream = stream
        self._dtype = dtype
        self.length = 0
        self._write_header()
        self._data_from = stream.tell()

    def _write_header(self) -> None:
        header = {
            "descr": _NPY.dtype_to_descr(self._dtype),
            "fortran_order": False,
            "shape": (self.length,),
        }
        _NPY.write_array_header_1_0(self._stream, header)

    def append(self, values: npt.NDArray[Any]) -> None:
        """Write these values behind the others."""
        self._stream.write(values.astype(self._dtype, copy=False).tobytes())
        self.length += len(values)

    def finish(self) -> None:
        """Write the final length into the header, for which numpy leaves room."""
        self._stream.seek(0)
        self._write_header()
        assert self._stream.tell() == self._data_from


class SplitWriter:
    """Writes an encoded split, chunk by chunk; a context manager.

    The files get their names when all is written, the description last of all.
    """

    def __init__(self, folder: Path, split: str, vocabularies: Sequence[Vocabulary]) -> None:
        self._description = folder / f"{split}.json"
        self._vocabularies = dict(zip(SIDES, vocabularies, strict=True))
        self._files = ExitStack()
        self._ids: dict[Side, _ArrayWriter] = {}
        self._offsets: dict[Side, _ArrayWriter] = {}
        for side in SIDES:
            dtype = self._vocabularies[side].dtype
            self._ids[side] = self._create(folder / f"{split}.{side}.ids.npy", dtype)
            self._offsets[side] = self._create(
                folder / f"{split}.{side}.offsets.npy", np.dtype(np.int64)
            )
            self._offsets[side].append(np.zeros(1, np.int64))

    def _create(self, path: Path, dtype: np.dtype[Any]) -> _ArrayWriter:
        return _ArrayWriter(self._files.enter_context(atomic_file(path, "wb")), dtype)

    def __enter__(self) -> "SplitWriter":
        return self

    def append(self, side: Side, ids: npt.NDArray[Any], lengths: npt.NDArray[Any]) -> None:
        """Sentences of one side: their ids, each with its final ``<eos>``, and their lengths."""
        assert int(lengths.sum()) == len(ids)
        offsets = np.cumsum(lengths, dtype=np.int64) + self._ids[side].length
        self._ids[side].append(ids)
        self._offsets[side].append(offsets)

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if error is None:
            self._description.unlink(missing_ok=True)
            for writer in (*self._ids.values(), *self._offsets.values()):
                writer.finish()
        self._files.__exit__(kind, error, trace)
        if error is None:
            self._describe()

    def _describe(self) -> None:
        sentences = {writer.length - 1 for writer in self._offsets.values()}
        assert len(sentences) == 1
        description = {"sentences": sentences.pop()} | {
            side: {"tokens": self._ids[side].length, "vocabulary": len(self._vocabularies[side])}
            for side in SIDES
        }
        with atomic_file(self._description) as stream:
            json.dump(description, stream, indent=2)
            stream.write("\n")


# --- reading ---------------------------------------------------------------------------------


class _SideDescription(Settings):
    tokens: CountOrZero
    vocabulary: CountOrZero


class _SplitDescription(Settings):
    sentences: CountOrZero
    source: _SideDescription
    target: _SideDescription


@dataclass(frozen=True)
class EncodedSide:
    """The sentences of one side, in memory-mapped arrays."""

    ids: Ids
    offsets: npt.NDArray[np.int64]
    vocabulary_size: int

    def __getitem__(self, index: int) -> npt.NDArray[np.int64]:
        return self.ids[self.offsets[index] : self.offsets[index + 1]].astype(np.int64)

    def check(self, vocabulary: Vocabulary) -> None:
        """Stop unless these are sentences of the vocabulary's ids; reads all of them."""
        ids, offsets = self.ids, self.offsets
        is_known = not len(ids) or (ids.min() >= 0 and ids.max() < len(vocabulary))
        if np.any(np.diff(offsets) < 1) or not is_known or np.any(ids[offsets[1:] - 1] != EOS):
            raise SimtError(f"the ids do not match the vocabulary beside them; {REMEDY}")

    def lengths(self, indices: npt.NDArray[np.integer[Any]] | slice) -> npt.NDArray[np.int64]:
        """Tokens, with ``<eos>``, of each of these sentences."""
        if isinstance(indices, slice):
            start, stop, _ = indices.indices(len(self.offsets) - 1)
            return np.diff(self.offsets[start : stop + 1])
        lengths: npt.NDArray[np.int64] = self.offsets[indices + 1] - self.offsets[indices]
        return lengths


@dataclass(frozen=True)
class EncodedSplit:
    """Sentence pairs as ids; ``split[i]`` is the i-th pair, both sides with ``<eos>``."""

    source: EncodedSide
    target: EncodedSide

    @classmethod
    def open(cls, folder: Path, split: str) -> "EncodedSplit":
        """The split in a folder that ``simt bpe`` wrote; no sentence is read yet."""
        found = read_file(_SplitDescription, folder / f"{split}.json", REMEDY)
        sizes = [(side.tokens, side.vocabulary) for side in (found.source, found.target)]
        stems = [folder / f"{split}.{side}" for side in SIDES]
        return cls(
            *(
                _open_side(stem, found.sentences, *size)
                for stem, size in zip(stems, sizes, strict=True)
            )
        )

    def __len__(self) -> int:
        return len(self.source.offsets) - 1

    def __getitem__(self, index: int) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.int64]]:
        if not 0 <= index < len(self):
            raise IndexError(index)
        return self.source[index], self.target[index]


def _open_side(stem: Path, sentences: int, tokens: int, vocabulary_size: int) -> EncodedSide:
    ids = _open_array(stem.with_name(f"{stem.name}.ids.npy"), tokens)
    path = stem.with_name(f"{stem.name}.offsets.npy")
    offsets = _open_array(path, sentences + 1)
    if offsets[0] != 0 or offsets[-1] != tokens:
        raise SimtError(f"{path} does not fit to the ids beside it; {REMEDY}")
    return EncodedSide(ids, offsets, vocabulary_size)


def _open_array(path: Path, length: int) -> npt.NDArray[Any]:
    try:
        # An empty array cannot be mapped.
        array = np.load(path, mmap_mode="r" if length else None, allow_pickle=False)
    except FileNotFoundError:
        raise SimtError(f"{path} is missing; {REMEDY}") from None
    except Exception as error:  # numpy evaluates the header, in which anything may stand
        raise SimtError(f"{path} is damaged: {short(str(error))}; {REMEDY}") from None
    if not isinstance(array, np.ndarray):
        raise SimtError(f"{path} is not one array; {REMEDY}")
    if array.shape != (length,) or array.dtype.kind not in "ui":
        raise SimtError(
            f"{path} holds {array.shape} values of {array.dtype}, not {length} integers; {REMEDY}"
        )
    return np.asarray(array)  # plain view of the same mapped memory: slicing it is much faster
