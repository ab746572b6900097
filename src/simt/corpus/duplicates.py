"""Which lines repeat an earlier one, without a table of all lines in memory."""

from pathlib import Path

import numpy as np
import numpy.typing as npt

_BUCKETS = 64


class BitArray:
    """One bit a line."""

    def __init__(self, size: int) -> None:
        self._bytes = np.zeros((size + 7) // 8, np.uint8)

    def __getitem__(self, index: int) -> bool:
        return bool(self._bytes[index >> 3] >> (index & 7) & 1)

    def set(self, indices: npt.NDArray[np.int64]) -> None:
        """Set the bits at these places."""
        np.bitwise_or.at(self._bytes, indices >> 3, (1 << (indices & 7)).astype(np.uint8))


class DuplicateFinder:
    """Finds lines with equal digests, with a part of the digests in memory at a time.

    Equal digests lie in the same bucket, a file that holds digest and line number; one bucket
    after the other is sorted in memory. Two different pairs of five million share a digest of
    64 bits with a probability below one in a million.
    """

    def __init__(self, folder: Path) -> None:
        self._paths = [folder / f"digests.{bucket:02}" for bucket in range(_BUCKETS)]
        self._files = [path.open("wb") for path in self._paths]
        self._lines = 0

    def __enter__(self) -> "DuplicateFinder":
        return self

    def __exit__(self, *error: object) -> None:
        for file in self._files:
            file.close()

    def add(self, digests: npt.NDArray[np.uint64]) -> None:
        """The digests of the next lines."""
        numbers = np.arange(self._lines, self._lines + len(digests), dtype=np.uint64)
        rows = np.stack([digests, numbers], axis=1)
        buckets = digests % np.uint64(_BUCKETS)
        for bucket in np.unique(buckets):
            self._files[int(bucket)].write(rows[buckets == bucket].tobytes())
        self._lines += len(digests)

    def find(self) -> BitArray:
        """The lines that are equal to an earlier line; to be asked when all are added."""
        repeats = BitArray(self._lines)
        for path in self._paths:
            rows = np.fromfile(path, np.uint64).reshape(-1, 2)
            _, first = np.unique(rows[:, 0], return_index=True)
            is_repeat = np.ones(len(rows), bool)
            is_repeat[first] = False
            repeats.set(rows[is_repeat, 1].astype(np.int64))
        return repeats
