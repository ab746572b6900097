"""Work spread over processes: chunks in, results out, in the same order, never piling up."""

import itertools
import multiprocessing
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future, ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from typing import Any, TypeVar

from simt.errors import SimtError

Item = TypeVar("Item")
Chunk = TypeVar("Chunk")
Result = TypeVar("Result")

# Chunks a worker may be ahead of the reader of the results; this bounds the memory.
_CHUNKS_AHEAD = 3


def in_chunks(items: Iterable[Item], size: int) -> Iterator[list[Item]]:
    """The items in lists of ``size``; the last one may be shorter."""
    iterator = iter(items)
    while chunk := list(itertools.islice(iterator, size)):
        yield chunk


def map_chunks(
    make: Callable[[], Callable[[Chunk], Result]], chunks: Iterable[Chunk], processes: int
) -> Iterator[Result]:
    """What ``make()`` makes of every chunk, in order, whatever the number of processes.

    ``make`` is called once in every process, so that tables and rules are built there and not
    sent along with each chunk. One process means this one, and so does a single chunk.
    """
    iterator = iter(chunks)
    first_two = list(itertools.islice(iterator, 2))
    chunks = itertools.chain(first_two, iterator)
    if processes <= 1 or len(first_two) < 2:
        yield from map(make(), chunks)
        return
    # Not fork: it copies locks that other threads of this process may hold.
    context = multiprocessing.get_context("spawn")
    with ProcessPoolExecutor(processes, context, _start, (make,)) as executor:
        try:
            yield from _in_order(executor, chunks, processes * _CHUNKS_AHEAD)
        except BrokenProcessPool as error:
            raise SimtError(
                "A worker process died, most likely because memory ran out: "
                f"use fewer than {processes} processes, or a machine with more memory."
            ) from error
        finally:
            executor.shutdown(wait=True, cancel_futures=True)


def _in_order(executor: ProcessPoolExecutor, chunks: Iterable[Any], at_most: int) -> Iterator[Any]:
    waiting: deque[Future[Any]] = deque()
    for chunk in chunks:
        waiting.append(executor.submit(_run, chunk))
        if len(waiting) >= at_most:
            yield waiting.popleft().result()
    while waiting:
        yield waiting.popleft().result()


_work: Callable[[Any], Any]


def _start(make: Callable[[], Callable[[Any], Any]]) -> None:
    global _work
    _work = make()


def _run(chunk: Any) -> Any:
    return _work(chunk)
