import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from simt.corpus.duplicates import BitArray, DuplicateFinder


@settings(max_examples=25, deadline=None)
@given(st.lists(st.integers(0, 30)), st.integers(1, 9))
def test_duplicate_finder_finds_what_a_set_would(
    tmp_path_factory: pytest.TempPathFactory, values: list[int], chunk: int
) -> None:
    with DuplicateFinder(tmp_path_factory.mktemp("digests")) as finder:
        for start in range(0, len(values), chunk):
            # Spread over the buckets, with large numbers too.
            part = np.array(values[start : start + chunk], np.uint64)
            finder.add(part * np.uint64(0x9E3779B97F4A7C15))
    found = finder.find()
    seen: set[int] = set()
    for number, value in enumerate(values):
        assert found[number] == (value in seen)
        seen.add(value)


def test_bit_array_sets_single_bits() -> None:
    bits = BitArray(20)
    bits.set(np.array([0, 9, 9, 19]))
    assert [number for number in range(20) if bits[number]] == [0, 9, 19]
