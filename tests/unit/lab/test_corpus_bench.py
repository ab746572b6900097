from pathlib import Path
from typing import Any

import numpy as np
import pytest

from simt.lab.corpus_bench import as_text, bench_corpus, measure

PAIRS = 300


def take_memory(megabytes: int) -> None:
    assert np.ones(megabytes * 1_000_000, np.uint8).sum() == megabytes * 1_000_000


def fail() -> None:
    raise ValueError


@pytest.fixture(scope="module")
def rows(tmp_path_factory: pytest.TempPathFactory) -> list[dict[str, Any]]:
    return bench_corpus(PAIRS, tmp_path_factory.mktemp("bench"), 1)


@pytest.mark.slow
def test_bench_measures_every_stage(rows: list[dict[str, Any]]) -> None:
    assert [row["stage"] for row in rows] == [
        "generate", "prepare", "learn bpe", "encode", "open", "plan an epoch",
        "all batches of an epoch",
    ]  # fmt: skip
    assert all(row["pairs"] == PAIRS for row in rows)


def test_text_has_a_line_a_stage() -> None:
    row = {"stage": "prepare", "pairs": 2000, "pairs_per_second": 28466, "seconds": 3.513}
    memory = {"peak_mb": 139.9, "largest_process_mb": 73.5}
    head, line = as_text([row | memory]).splitlines()
    assert head.startswith("2,000 pairs")
    assert line.split() == ["prepare", "28,466", "3.51", "140", "74"]


@pytest.mark.slow
def test_bench_measures_time_and_memory(rows: list[dict[str, Any]]) -> None:
    for row in rows:
        assert row["seconds"] >= 0
        assert row["pairs_per_second"] > 0
        assert 5 < row["largest_process_mb"] < 2000


def test_measured_memory_is_that_of_the_call_and_not_of_this_process() -> None:
    keep = np.ones(200_000_000, np.uint8)
    small, large = (measure(take_memory, megabytes) for megabytes in (1, 100))
    assert keep.all()
    grown = large["largest_process_mb"] - small["largest_process_mb"]
    assert 80 < grown < 120
    assert large["largest_process_mb"] < 200
    if Path("/proc/self/status").exists():
        assert 80 < large["peak_mb"] < 200


def test_measured_call_that_fails_is_an_error(capfd: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(RuntimeError, match="fail failed in its process"):
        measure(fail)
    assert "ValueError" in capfd.readouterr().err
