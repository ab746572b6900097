"""The words about jobs that run long or wait in a queue; the clock is turned by hand."""

import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from simt.terminal import StudyTerminal


class Clock:
    now = 1_000_000.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def terminal(clock: Clock, capsys: pytest.CaptureFixture[str]) -> Iterator[StudyTerminal]:
    shown = StudyTerminal(clock=clock)
    shown.plan({"train": 3})
    yield shown
    shown.close()


def start(terminal: StudyTerminal, number: int, log: Path, is_local: bool = True) -> None:
    terminal.start(number, "train", {"pair": "toy", "seed": str(number)}, [str(log)], is_local)


def heartbeat(terminal: StudyTerminal, capsys: pytest.CaptureFixture[str]) -> list[str]:
    capsys.readouterr()
    terminal.look()
    terminal.heartbeat()
    return capsys.readouterr().err.splitlines()


def test_job_that_runs_long_shows_the_newest_line_of_its_log(
    terminal: StudyTerminal, clock: Clock, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    log = tmp_path / "train.log"
    start(terminal, 1, log)
    log.write_text("toy/seed1:  50%| | 300/600 [01:10<01:10]\n")
    clock.now += 70
    state, row = heartbeat(terminal, capsys)
    # By its bar, a training takes 140 seconds: half of one and two more are left.
    assert state.endswith("[0/3] 1 run, at least 6 min left")
    assert " ".join(row.split()) == "train toy/seed1 1 min 10 s 50%| | 300/600 [01:10<01:10]"


def test_job_that_has_just_begun_is_only_counted(
    terminal: StudyTerminal, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    start(terminal, 1, tmp_path / "none.log")
    (state,) = heartbeat(terminal, capsys)
    assert state.endswith("1 run")


def test_job_waits_in_the_queue_until_it_writes_a_new_log(
    terminal: StudyTerminal, clock: Clock, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    log = tmp_path / "train.log"
    log.write_text("done: in an earlier study\n")
    os.utime(log, (clock.now - 100, clock.now - 100))
    start(terminal, 1, log, is_local=False)
    terminal.queued([1], "SLURM 12")
    clock.now += 300
    assert heartbeat(terminal, capsys)[0].endswith("0 run, 1 wait in the queue")
    log.unlink()
    log.write_text("50%\n")
    assert heartbeat(terminal, capsys)[0].endswith("1 run")
    clock.now += 60
    assert "SLURM 12" in heartbeat(terminal, capsys)[1]


def test_time_of_a_job_on_a_cluster_ends_with_the_last_word_of_its_log(
    terminal: StudyTerminal, clock: Clock, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    log = tmp_path / "train.log"
    start(terminal, 1, log, is_local=False)
    log.write_text("done: 600 updates\n")
    terminal.look()
    os.utime(log, (clock.now + 90, clock.now + 90))
    clock.now += 200  # so late did SLURM tell
    capsys.readouterr()
    terminal.finish(1)
    assert capsys.readouterr().err.rstrip().endswith("1 min 30 s  600 updates")


def test_result_in_the_log_of_an_earlier_study_is_not_shown(
    terminal: StudyTerminal, clock: Clock, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    log = tmp_path / "train.log"
    log.write_text("done: in an earlier study\n")
    os.utime(log, (clock.now - 100, clock.now - 100))
    start(terminal, 1, log)
    terminal.finish(1)
    assert "earlier" not in capsys.readouterr().err


def test_of_a_failed_group_the_job_that_broke_off_is_named(
    terminal: StudyTerminal, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    logs = [tmp_path / f"{number}.log" for number in (1, 2, 3)]
    for number, log in enumerate(logs, start=1):
        start(terminal, number, log, is_local=False)
    logs[0].write_text("done: 600 updates\n")
    logs[1].write_text("simt: no such file\n")  # the third was not begun
    cluster = tmp_path / "slurm.log"
    cluster.write_text("Command 'x' returned non-zero exit status 4.\nslurmstepd: error: oom\n")
    terminal.fail_group([1, 2, 3], [str(cluster)])
    terminal.close()
    said = capsys.readouterr().err
    assert "FAILED train toy/seed2 after 0 s: exit code 4, in a group of 3 jobs" in said
    assert "| simt: no such file" in said
    assert "| slurmstepd: error: oom" in said
    assert "FAILED train toy/seed1" not in said
    assert "0 of 3 jobs are done in 0 s, 1 failed, 2 not started" in said


def test_in_the_end_a_failed_job_is_told_with_the_head_of_its_message(
    terminal: StudyTerminal, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    log = tmp_path / "prepare.log"
    log.write_text("simt: must have equally many sentences:\n  train.de: 975\n  train.en: 976\n")
    terminal.fail(1, "prepare", [str(log)], "exit code 1", None)
    capsys.readouterr()
    terminal.close()
    told = "FAILED prepare (exit code 1): simt: must have equally many sentences:\n"
    assert told in capsys.readouterr().err


def test_many_lines_of_a_log_are_cut_to_the_last(
    terminal: StudyTerminal, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    log = tmp_path / "train.log"
    log.write_text("".join(f"line {number}\n" for number in range(1000)))
    terminal.fail(1, "train", [str(log)], "exit code 1", None)
    said = capsys.readouterr().err
    assert "| line 960\n" in said
    assert "| line 959\n" not in said
    assert f"{log}, its end:" in said.replace("\n", "")
