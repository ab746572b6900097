"""How fast the steps from raw text to batches are, and how much memory they take.

Every stage runs in a process of its own, whose memory is watched from outside together with
that of its workers. Two figures, because one alone can mislead:

* ``peak_mb``: the most anonymous memory that all processes of the stage held at one time,
  looked at every few milliseconds. Files in the page cache are not in it.
* ``largest_process_mb``: the most memory that the largest single process ever held, a mark that
  the system keeps (VmHWM): no peak can hide between two looks, but mapped files are in it. Not
  ru_maxrss where it can be helped: a new process inherits that from the one that starts it.
"""

import multiprocessing
import os
import resource
import sys
import tempfile
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any

from simt.corpus.batches import BatchPlan
from simt.corpus.bpe import encode_splits, learn_codes
from simt.corpus.ids import EncodedSplit
from simt.corpus.prepare import prepare
from simt.corpus.toy import write_toy_corpus
from simt.errors import SimtError
from simt.pairs import BpeSettings, PrepareSettings, TextSettings, toy_splits

_SEED = 0
_EVALUATION_PAIRS = 500
_LOOK_EVERY_S = 0.01
_MEGABYTE = 1e6


def bench_corpus(pairs: int, folder: Path, processes: int) -> list[dict[str, Any]]:
    """One row a stage: seconds, pairs a second, peak memory; the files stay in ``folder``.

    The text is that of the toy grammar, with so many training pairs.
    """
    if pairs < 1:
        raise SimtError(f"--pairs {pairs}: give 1 or more")
    raw, text, bpe = (folder / name for name in ("raw", "text", "bpe"))
    for made in (raw, text, bpe):
        made.mkdir(parents=True, exist_ok=True)
    stages: list[tuple[str, Callable[..., Any], tuple[Any, ...]]] = [
        ("generate", write_toy_corpus, (raw, _SEED, _sizes(pairs))),
        ("prepare", prepare, (_prepare_settings(), raw, text, processes)),
        ("learn bpe", learn_codes, (_bpe_settings(), text, bpe, processes)),
        ("encode", encode_splits, (text, bpe, processes)),
        ("open", open_split, (bpe,)),
        ("plan an epoch", plan_epoch, (bpe,)),
        ("all batches of an epoch", iterate_epoch, (bpe,)),
    ]
    rows = []
    for name, function, arguments in stages:
        measured = measure(function, *arguments)
        speed = round(pairs / max(measured["seconds"], 1e-9))
        rows.append({"stage": name, "pairs": pairs, "pairs_per_second": speed, **measured})
    return rows


def bench_sizes(sizes: Iterable[int], keep: Path | None, processes: int) -> Iterator[str]:
    """The table of each number of pairs; files are gone afterwards unless there is a ``keep``."""
    for pairs in sizes:
        with tempfile.TemporaryDirectory(prefix="simt-bench-") as folder:
            yield as_text(bench_corpus(pairs, keep or Path(folder), processes))


def as_text(rows: list[dict[str, Any]]) -> str:
    """The rows of one number of pairs, for a person."""
    head = f"{rows[0]['pairs']:,} pairs"
    lines = [f"{head:<24} {'pairs/s':>13} {'seconds':>8} {'peak MB':>8} {'largest process MB':>19}"]
    for row in rows:
        lines.append(
            f"{row['stage']:<24} {row['pairs_per_second']:>13,} {row['seconds']:>8.2f}"
            f" {row['peak_mb']:>8.0f} {row['largest_process_mb']:>19.0f}"
        )
    return "\n".join(lines)


def _sizes(pairs: int) -> dict[str, int]:
    return {"train": pairs, **dict.fromkeys(("valid", "test", "aligned"), _EVALUATION_PAIRS)}


def _prepare_settings() -> PrepareSettings:
    return PrepareSettings(
        source="de",
        target="en",
        splits=toy_splits("de", "en"),
        text=TextSettings(
            source_tokeniser="moses",
            target_tokeniser="moses",
            normalise_punctuation=True,
            romanian_diacritics="keep",
            max_words=250,
            max_ratio=9.0,
            drop_duplicates=True,
            drop_evaluation_sentences=True,
        ),
    )


def _bpe_settings() -> BpeSettings:
    return BpeSettings(joint=True, source_merges=8000, target_merges=8000, min_pair_count=2)


# --- stages ----------------------------------------------------------------------------------


def open_split(bpe: Path) -> None:
    """Open the encoded training text and read its last pair."""
    split = EncodedSplit.open(bpe, "train")
    _ = split[len(split) - 1]


def plan_epoch(bpe: Path) -> None:
    """Plan one epoch and make its first batch: what resuming a training costs."""
    _plan(bpe).batch(0, 0)


def iterate_epoch(bpe: Path) -> None:
    """Make every batch of an epoch."""
    plan = _plan(bpe)
    for index in range(len(plan.epoch(0))):
        plan.batch(0, index)


def _plan(bpe: Path) -> BatchPlan:
    split = EncodedSplit.open(bpe, "train")
    return BatchPlan(split, batch_tokens=16_000, max_tokens=1024, seed=_SEED)


# --- measuring -------------------------------------------------------------------------------


def measure(function: Callable[..., Any], *arguments: Any) -> dict[str, float]:
    """Seconds and peak memory of a call in a fresh process; see the head of this file.

    The seconds are those of the call, without the start of the interpreter.
    """
    context = multiprocessing.get_context("spawn")
    receiving, sending = context.Pipe(duplex=False)
    process = context.Process(target=_call, args=(sending, function, arguments))
    process.start()
    sending.close()
    peak = largest = 0
    while not receiving.poll(_LOOK_EVERY_S):
        looks = [_memory(pid) for pid in _family(process.pid or 0)]
        peak = max(peak, sum(now for now, _ in looks))
        largest = max(largest, *(most for _, most in looks))
    try:
        seconds, own_most = receiving.recv()
    except EOFError:
        raise RuntimeError(f"{function.__name__} failed in its process") from None
    finally:
        process.join()
        receiving.close()
    return {
        "seconds": round(seconds, 3),
        "peak_mb": round(peak / _MEGABYTE, 1),
        "largest_process_mb": round(max(largest, own_most) / _MEGABYTE, 1),
    }


def _call(sending: Connection, function: Callable[..., Any], arguments: tuple[Any, ...]) -> None:
    start = time.perf_counter()
    function(*arguments)
    seconds = time.perf_counter() - start
    sending.send((seconds, _memory(os.getpid())[1] or _most_by_getrusage()))
    sending.close()


def _family(pid: int) -> Iterator[int]:
    """The process and all its descendants, as far as they still live."""
    yield pid
    with suppress(OSError):
        for task in os.scandir(f"/proc/{pid}/task"):
            for child in Path(task.path, "children").read_text().split():
                yield from _family(int(child))


def _memory(pid: int) -> tuple[int, int]:
    """Bytes that no file stands behind now, and the most ever; zeros where there is no /proc."""
    status = {}
    with suppress(OSError):
        lines = Path(f"/proc/{pid}/status").read_text().splitlines()
        status = dict(line.split(":", 1) for line in lines)
    # A process that has just ended has a status without memory.
    now, most = (int(status.get(key, "0").split()[0]) for key in ("RssAnon", "VmHWM"))
    return now * 1024, most * 1024


def _most_by_getrusage() -> int:
    unit = 1 if sys.platform == "darwin" else 1024
    return unit * max(
        resource.getrusage(who).ru_maxrss
        for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)
    )
