"""The page of a rehearsal: numbers of the study itself, and nothing that could do harm."""

from dataclasses import replace
from pathlib import Path

import pytest

from simt.params import load_params
from simt.rehearsal.disk import DiskNeed
from simt.rehearsal.missing import Missing
from simt.rehearsal.outcome import Failure, Job, Training
from simt.rehearsal.page import Rehearsal, render, size_rows
from simt.resources import TRAINING
from simt.runs import Run, run_settings
from simt.usage import Usage

PARAMS = load_params(Path(__file__).parents[3] / "params.yaml", "paper")
RUN = Run("wmt15-deen", "offline", "bi-big", 1)
USAGE = Usage(started=0, seconds=60, cpu_seconds=50, peak_memory_mb=9000, gpu_memory_mb=0,
              is_whole=True)  # fmt: skip
TRAINED = Training(
    settings=run_settings(PARAMS, RUN), device="cuda", devices=4, parameters=209_000_000,
    tokens_per_s=9102.2, gpu_memory_mb=30_000, model_bytes=836_000_000,
)  # fmt: skip
JOB = Job("train", str(RUN), Path("log"), "done", USAGE, 836_000_000, TRAINING[1024], TRAINED)
REHEARSAL = Rehearsal(
    params=PARAMS, profile="slurm", jobs=[JOB], failures=[], missing=[],
    need=DiskNeed(1, 1, 1, ()), free=10**12, peak_bytes=10**9, seconds=60, device_hours=12.5,
)  # fmt: skip


def test_whole_training_is_planned_by_the_speed_of_all_devices() -> None:
    (row,) = size_rows(PARAMS, [JOB])
    # 100,000 updates of 32,768 tokens with 4 × 9,102.2 tokens a second: 90,001 seconds
    assert row.hours == pytest.approx(25.0, abs=0.01)
    assert (row.size, row.hours_asked, row.gpu_memory_mb) == ("big", 24, 30_000)
    assert row.memory_mb == 4 * 9000  # a process for each device


def test_page_says_that_all_is_well_and_what_comes_next() -> None:
    page = render(REHEARSAL)
    assert "All 1 jobs have succeeded" in page
    assert "This is a rehearsal, not a result." in page
    assert "12.5 h" in page
    assert "That is too little" not in page


def test_disk_that_is_too_small_is_told() -> None:
    assert "That is too little" in render(replace(REHEARSAL, free=10**9))


def test_whatever_a_log_or_a_remedy_says_is_text() -> None:
    evil = "<script>alert(1)</script>"
    failure = Failure("train", (evil,), evil, evil, Path(evil), (evil,))
    page = render(replace(REHEARSAL, failures=[failure], missing=[Missing(evil, evil)]))
    assert evil not in page
    assert "&lt;script&gt;alert(1)" in page


def test_page_needs_nothing_from_elsewhere() -> None:
    page = render(REHEARSAL)
    assert "default-src 'none'" in page
    assert "src=" not in page.replace("default-src", "").replace("-src ", "")
