"""The ends of logs, whatever is in them."""

from pathlib import Path

import pytest
from tqdm import tqdm

from simt.joblogs import (
    last_lines,
    last_message,
    newest_line,
    result_in,
    seconds_left,
    shorten_settings,
)


def log_with(folder: Path, content: bytes) -> Path:
    path = folder / "job.log"
    path.write_bytes(content)
    return path


def test_log_that_is_not_there_says_nothing(tmp_path: Path) -> None:
    assert last_lines(tmp_path / "none.log", 40) == ([], False)
    assert newest_line(tmp_path) == ""  # a folder


def test_log_that_is_not_utf8_is_shown_as_far_as_it_can_be(tmp_path: Path) -> None:
    assert newest_line(log_with(tmp_path, b"loss \xff\xfe 1.5\n")) == "loss \ufffd\ufffd 1.5"


def test_only_the_end_of_a_huge_log_is_read(tmp_path: Path) -> None:
    path = tmp_path / "job.log"
    with path.open("wb") as stream:
        stream.truncate(5 * 1024**3)  # a hole: takes no space, but nobody could read it at once
        stream.seek(0, 2)
        stream.write(b"\none\ntwo\n")
    assert last_lines(path, 2) == (["one", "two"], True)


def test_bar_that_was_drawn_over_is_its_newest_state(tmp_path: Path) -> None:
    log = log_with(tmp_path, b"10%|#  |\r20%|## |\r\x1b[2K30%|###|\n\n")
    assert newest_line(log) == "30%|###|"


@pytest.mark.parametrize(
    ("line", "left"),
    [
        ("16%| | 236/1500 [03:32<1:24:45,  4.02s/update, loss 8.923]", 5085.0),
        ("44%| | 662/1500 [26:11:38<25:25,  1.82s/update]", 1525.0),
        ("1%| | 2/800 [00:05<115:00:01, 519s/update]", 414_001.0),
        ("0%| | 0/1500 [00:00<?, ?update/s]", None),
        ("loss 1.5 at [12:00]", None),
    ],
)
def test_time_left_is_what_a_bar_says(line: str, left: float | None) -> None:
    assert seconds_left(line) == left


def test_bars_say_the_time_left_as_it_is_read() -> None:
    bar = tqdm.format_meter(n=1, total=4, elapsed=3600.0)
    assert seconds_left(bar) == 3 * 3600


def test_long_line_is_cut(tmp_path: Path) -> None:
    assert len(newest_line(log_with(tmp_path, b"x" * 10_000))) < 600


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (b"simt: a hint\n10%\nsimt: not equally many:\n  train.de: 9\n", "simt: not equally many:"),
        (b"simt: a hint\n 3%| | 1/30 [00:01<00:29, 1.00it/s]\nKilled\n", "Killed"),
        (b"10%\nKilled\n", "Killed"),
        (b"simt: a hint\nTraceback (most recent call last):\nKeyError: 3\n", "KeyError: 3"),
        (b"", ""),
    ],
)
def test_message_of_many_lines_is_known_by_its_first(
    content: bytes, said: str, tmp_path: Path
) -> None:
    assert last_message(log_with(tmp_path, content)) == said


@pytest.mark.parametrize(
    ("content", "result"),
    [(b"10%\ndone: 3 files\n", "3 files"), (b"done: 1\nsimt: disk full\n", None), (b"", None)],
)  # fmt: skip
def test_result_is_the_last_line_of_a_step_that_came_to_its_end(
    content: bytes, result: str | None, tmp_path: Path
) -> None:
    assert result_in(log_with(tmp_path, content)) == result


def test_settings_in_a_command_are_shortened_and_nothing_else_is() -> None:
    settings = (
        '{"pair": "toy-deen", "title": "it\'"\'"\'s", "sizes": [1, 2, 3], "more": "' + "x" * 99
    )
    command = f"simt train --settings '{settings}\"}}' --to results/runs/a --threads 2"
    short = shorten_settings(command)
    assert short.startswith('simt train --settings \'{"pair": "toy-deen"')
    assert short.endswith(" …}' --to results/runs/a --threads 2")
    assert len(short) < 120
    assert shorten_settings("simt check '{\"a\": 1}'") == "simt check '{\"a\": 1}'"
