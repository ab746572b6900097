"""How long jobs have taken, by what they left beside their logs."""

import json
from pathlib import Path

import pytest

from simt.timings import USUAL_TURNAROUND, Span, Timing, read_timings, span, turnaround


def leave(log: str, *attempts: tuple[float, float, bool]) -> None:
    """What a job leaves: start, seconds, and whether it came to its end."""
    path = Path(f"logs/{log}.usage.jsonl")
    path.parent.mkdir(parents=True, exist_ok=True)
    rows = [
        {"started": started, "seconds": seconds, "cpu_seconds": 1.0, "peak_memory_mb": 1,
         "gpu_memory_mb": 0, "is_whole": is_whole}
        for started, seconds, is_whole in attempts
    ]  # fmt: skip
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))


@pytest.fixture(autouse=True)
def _in_a_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


def test_job_that_was_stopped_and_resumed_counts_in_full() -> None:
    leave("train/toy-deen/sm2/bi/seed1", (100, 50, False), (400, 25, True))
    assert read_timings() == {"train/toy-deen/sm2/bi/seed1": Timing(100, 425, 75, False)}


def test_job_that_was_made_again_counts_from_its_last_time() -> None:
    leave("bpe/toy-deen", (100, 50, True), (400, 5, False), (500, 25, True), (900, 1, False))
    assert read_timings() == {"bpe/toy-deen": Timing(400, 525, 30, False)}


def test_job_that_never_came_to_its_end_has_no_time() -> None:
    leave("bpe/toy-deen", (100, 50, False))
    assert read_timings() == {}


@pytest.mark.parametrize("seconds", [-1.0, float("inf"), float("nan")])
def test_time_that_is_none_is_passed_over(seconds: float) -> None:
    leave("bpe/toy-deen", (100, seconds, True))
    assert read_timings() == {}


def test_span_is_from_the_first_start_to_the_last_end_with_the_time_between_jobs() -> None:
    jobs = [Timing(10, 20, 10, False), Timing(12, 15, 3, False), Timing(26, 30, 4, False)]
    assert span(jobs) == Span(seconds=20, idle=6)
    assert span([]) == Span(0, 0)


def test_turnaround_is_the_time_from_the_last_end_to_a_start() -> None:
    # 10 to 11, 12 to 15, 20 to 22; whatever starts first makes nobody wait.
    times = [(0, 10), (0, 12), (11, 20), (15, 30), (22, 25)]
    timings = {
        str(n): Timing(start, end, end - start, False) for n, (start, end) in enumerate(times)
    }
    assert turnaround(timings) == 2
    assert turnaround({}) == USUAL_TURNAROUND
