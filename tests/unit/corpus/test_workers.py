import os
from collections.abc import Iterator

import pytest

from simt.corpus.workers import in_chunks, map_chunks
from simt.errors import SimtError


class Doubler:
    def __call__(self, numbers: list[int]) -> list[int]:
        return [2 * number for number in numbers]


class Dier:
    def __call__(self, numbers: list[int]) -> list[int]:
        os._exit(1)


class Complainer:
    def __call__(self, numbers: list[int]) -> list[int]:
        raise SimtError("line 3 is wrong")


def test_chunks_hold_all_items_in_order() -> None:
    assert list(in_chunks(range(7), 3)) == [[0, 1, 2], [3, 4, 5], [6]]
    assert list(in_chunks([], 3)) == []


@pytest.mark.parametrize("processes", [1, 2])
def test_results_come_in_the_order_of_the_chunks(processes: int) -> None:
    chunks = [[n, n + 1] for n in range(30)]
    assert list(map_chunks(Doubler, chunks, processes)) == [[2 * n, 2 * n + 2] for n in range(30)]


def test_chunks_are_not_read_far_ahead_of_the_results() -> None:
    read = 0

    def chunks() -> Iterator[list[int]]:
        nonlocal read
        for number in range(1000):
            read += 1
            yield [number]

    results = map_chunks(Doubler, chunks(), 2)
    next(results)
    assert read <= 10
    results.close()  # type: ignore[attr-defined]


def test_worker_that_dies_is_an_error_and_no_hang() -> None:
    with pytest.raises(SimtError, match="fewer than 2 processes"):
        list(map_chunks(Dier, [[1], [2]], 2))


def test_error_of_a_worker_arrives_as_it_is() -> None:
    with pytest.raises(SimtError, match="line 3 is wrong"):
        list(map_chunks(Complainer, [[1], [2]], 2))
