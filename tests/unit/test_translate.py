"""`simt translate`: what comes in, what goes out, and what a person gets wrong."""

import json
import os
import pty
import subprocess
from collections.abc import Iterator, Sequence
from io import StringIO
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from simt.cli import main
from simt.corpus.growing import Delay, Written
from simt.translate import Keyboard, PlainFace, TableFace, heard_words, paced
from tests.samples.project import BIN
from tests.samples.trained import write_project

SENTENCES = "Maria isst immer frisches Brot, bevor sie geht.\n\nDer Mann liest ein Buch.\n"


def heard(*chunks: bytes) -> tuple[list[str | None], list[str]]:
    """The words of a stream that comes in such chunks, and what is said about it."""
    rest: list[bytes] = [*chunks, b""]
    said: list[str] = []
    return list(heard_words(lambda: rest.pop(0), said.append)), said


# --- what comes in --------------------------------------------------------------------------------


def test_word_is_complete_when_a_blank_follows() -> None:
    rest = [b"Er ha", b"t da", b"s ", b""]
    words = heard_words(lambda: rest.pop(0), print)
    assert [next(words), len(rest)] == ["Er", 3]
    assert [next(words), len(rest)] == ["hat", 2]
    assert [next(words), len(rest)] == ["das", 1]


def test_lines_end_sentences_with_and_without_words() -> None:
    assert heard(b"a b\n\nc\r\nd")[0] == ["a", "b", None, None, "c", None, "d", None]
    assert heard(b"a \n")[0] == ["a", None]
    assert heard(b"a ")[0] == ["a", None]
    assert heard(b"a", b"\n", b"b\n")[0] == ["a", None, "b", None]
    assert heard()[0] == []


def test_characters_may_be_cut_anywhere() -> None:
    assert heard(*(bytes([one]) for one in "für 你\n".encode()))[0] == ["für", "你", None]


def test_bytes_that_are_no_text_are_told_once_and_lose_nothing_else() -> None:
    words, said = heard(b"ein \xff Haus\n", b"\xfe\n")
    assert words == ["ein", "\N{REPLACEMENT CHARACTER}", "Haus", None,
                     "\N{REPLACEMENT CHARACTER}", None]  # fmt: skip
    assert len(said) == 1


def test_character_that_is_cut_off_at_the_end_is_told_and_ends_its_line() -> None:
    words, said = heard(b"ja\n\xc3")
    assert words == ["ja", None, "\ufffd", None]
    assert "not UTF-8" in "".join(said)


def typed(keys: str) -> tuple[list[str | None], str]:
    """The words that come from a terminal, and what it shows of them."""
    master, slave = pty.openpty()
    shown: list[str] = []
    with Keyboard(slave, shown.append) as keyboard:
        os.write(master, keys.encode())  # not before: Ctrl-D would be the terminal's own
        words = list(heard_words(keyboard.read, print))
    os.close(master)
    os.close(slave)
    return words, "".join(shown)


def test_word_is_complete_while_its_line_is_typed() -> None:
    words, shown = typed("für mich\n\x04")
    assert words == ["für", "mich", None]
    assert shown == "fürmich"  # blanks are where the rows end


def test_typed_word_can_be_corrected() -> None:
    words, shown = typed("Maris\x7fa \x7fisst\x04")
    assert words == ["Maria", "isst", None]
    assert shown == "Maris\b \baisst"


def test_pace_changes_no_word() -> None:
    words: Sequence[str | None] = ["a", None, "b", None]
    assert list(paced(words, 60_000)) == words


# --- the command ----------------------------------------------------------------------------------


class Clock:
    """A time that passes when somebody sleeps."""

    def __init__(self) -> None:
        self.now = 0.0

    def monotonic(self) -> float:
        return self.now

    def sleep(self, seconds: float) -> None:
        self.now += seconds


def moments(
    monkeypatch: pytest.MonkeyPatch, pauses: dict[str, float], losses: dict[str, float]
) -> list[float]:
    """When words come, one a second, if there is a pause before some and some cost time."""
    clock = Clock()
    monkeypatch.setattr("simt.translate.time", clock)

    def speak() -> Iterator[str]:
        for word in "abcde":
            clock.sleep(pauses.get(word, 0))
            yield word

    came = []
    for word in paced(speak(), per_minute=60):
        came.append(clock.now)
        clock.sleep(losses.get(str(word), 0))
    return came


def test_words_after_a_pause_come_at_the_same_pace(monkeypatch: pytest.MonkeyPatch) -> None:
    assert moments(monkeypatch, {"a": 5, "c": 10}, {}) == [5, 6, 16, 17, 18]


def test_time_that_is_lost_by_computing_is_caught_up(monkeypatch: pytest.MonkeyPatch) -> None:
    assert moments(monkeypatch, {}, {"a": 2.5}) == [0, 2.5, 2.5, 3, 4]


@pytest.fixture(scope="module")
def project(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("project")
    write_project(folder)
    (folder / "in.txt").write_text(SENTENCES, encoding="utf-8")
    return folder


@pytest.fixture(autouse=True)
def inside(project: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(project)


def said(capsys: pytest.CaptureFixture[str], *arguments: str) -> list[str]:
    """What goes to standard output."""
    assert main(["translate", *arguments, "--study", "tiny"]) == 0
    return capsys.readouterr().out.splitlines()


def test_without_a_system_all_are_listed(capsys: pytest.CaptureFixture[str]) -> None:
    lines = said(capsys)
    assert lines[0] == "Study tiny: 4 finished runs can translate"
    assert any(line.split()[:4] == ["tiny-deen/waitk/k3/seed1", "de", "to", "en"] for line in lines)


def events(capsys: pytest.CaptureFixture[str], *arguments: str) -> list[dict[str, object]]:
    return [json.loads(line) for line in said(capsys, *arguments, "--json", "--from", "in.txt")]


def test_every_line_is_a_sentence(capsys: pytest.CaptureFixture[str]) -> None:
    lines = said(capsys, "waitk/k3", "--from", "in.txt")
    ends = [one for one in events(capsys, "waitk/k3") if one["event"] == "end"]
    assert lines == [one["text"] for one in ends]
    assert [bool(line) for line in lines] == [True, False, True]


def test_events_tell_the_whole_story(capsys: pytest.CaptureFixture[str]) -> None:
    found = events(capsys, "sm2/bi@0.5")
    first = [one for one in found if one["line"] == 1]
    words = [str(one["word"]) for one in first if one["event"] == "source"]
    assert words == SENTENCES.splitlines()[0].split()
    pieces = [str(one["piece"]) for one in first if one["event"] == "read"]
    read = "".join(pieces).replace("@@", "").removesuffix("<eos>")
    assert len(pieces) > 2
    assert "".join(words).startswith(read)
    written = [str(one["word"]) for one in first if one["event"] == "word"]
    assert " ".join(written) == first[-1]["text"]


def test_several_systems_stand_side_by_side(capsys: pytest.CaptureFixture[str]) -> None:
    head, *rows = said(capsys, "waitk/k3", "sm2/bi@0.5", "--from", "in.txt")
    assert head.split() == ["waitk/k3@3", "sm2/bi@0.5"]
    assert [row.split()[0] for row in rows[:3]] == ["Maria", "isst", "immer"]


def test_full_cell_goes_on_below_and_columns_stay() -> None:
    shown = StringIO()
    face = TableFace(shown, ["one", "other"], width=60, is_echoed=False)  # cells of 21
    face.hear("Brot")
    for text in ("a", "translation", "with", "many", "words"):
        face.show(0, written(text))
    face.show(1, written("short"))
    unfinished: Any = SimpleNamespace(has_ended=False)
    face.rest([unfinished, unfinished], is_line_over=False)
    assert shown.getvalue().splitlines()[1:] == [
        f"{'Brot':<16} {'a translation with':<21} short",
        f"{'':<16} many words",
    ]


def written(text: str, blank_before: bool = True) -> Written:
    return Written(text, blank_before, Delay(1, 1), 1, None, 0.0)


def test_wide_characters_take_two_columns() -> None:
    shown = StringIO()
    face = TableFace(shown, ["one", "other"], width=60, is_echoed=False)  # cells of 21
    face.hear("bread")
    for text in ("新鲜", "的", "面包", "很", "好吃"):
        face.show(0, written(text, blank_before=False))
    face.show(1, written("short"))
    unfinished: Any = SimpleNamespace(has_ended=False)
    face.rest([unfinished, unfinished], is_line_over=False)
    assert shown.getvalue().splitlines()[1:] == [
        f"{'bread':<16} 新鲜 的 面包 很 好吃{' ' * 1} short",
    ]


def test_blanks_stand_where_words_say() -> None:
    shown = StringIO()
    face = PlainFace(shown)
    for text, blank_before in (("用", False), ("iPhone", False), ("12", True), ("拍照", False)):
        face.show(0, written(text, blank_before))
    face.rest([], is_line_over=True)
    face.show(0, written("Yes,"))
    face.show(0, written("he"))
    assert shown.getvalue() == "用iPhone 12拍照\nYes, he"


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("sm2/bo", "did you mean sm2/bi?"),
        ("enfr/sm2/bi", "no finished run of study tiny or exported folder 'enfr/sm2/bi'"),
        ("sm2/bi@1.5", "γ = 1.5 must be above 0 and at most 1"),
        ("sm2/bi@much", "'much' is not a knob value"),
        ("waitk/k3@2.5", "k = 2.5 is not a whole number"),
        ("offline/bi@3", "its only knob is full"),
    ],
)
def test_mistake_is_one_message(
    name: str, message: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["translate", name, "--study", "tiny"]) == 1
    (line,) = capsys.readouterr().err.splitlines()
    assert message in line


def test_line_without_end_is_translated_part_by_part(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    long = tmp_path / "long.txt"
    long.write_text("Brot " * 450 + "\nDas Brot.\n", encoding="utf-8")
    assert main(["translate", "sm2/bi", "--study", "tiny", "--json", "--from", str(long)]) == 0
    captured = capsys.readouterr()
    found = [json.loads(line) for line in captured.out.splitlines()]
    assert [one["line"] for one in found if one["event"] == "end"] == [1, 1, 1, 2]
    heard = [one["word"] for one in found if one["event"] == "source"]
    assert len(heard) == 450 + 2
    assert captured.err.count("line 1 goes on after 200 words") == 1
    assert main(["translate", "sm2/bi", "--study", "tiny", "--from", str(long)]) == 0
    assert len(capsys.readouterr().out.splitlines()) == 2


def test_line_of_which_most_words_are_unknown_is_told_beside_the_translation(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    mixed = tmp_path / "mixed.txt"
    mixed.write_text("我 今天 去 学校\nDer Mann liest Ωμέγα.\nΩμέγα\n", encoding="utf-8")
    assert main(["translate", "waitk/k3", "--study", "tiny", "--from", str(mixed)]) == 0
    captured = capsys.readouterr()
    assert len(captured.out.splitlines()) == 3
    of = "does not know the characters of"
    means = "so its translation means little"
    assert [line for line in captured.err.splitlines() if of in line] == [
        f"simt: line 1: waitk/k3@3 {of} 6 of 6 words, {means}",  # Moses cuts here
        f"simt: line 3: waitk/k3@3 {of} 1 of 1 word, {means}",
    ]


def test_closed_input_is_one_message(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("sys.stdin", None)
    assert main(["translate", "sm2/bi", "--study", "tiny"]) == 1
    line = capsys.readouterr().err.splitlines()[-1]
    assert "standard input is closed: pipe text into it, or name a file with --from" in line


def test_longest_sentence_is_whole(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    longest = tmp_path / "longest.txt"
    longest.write_text("Brot " * 200 + "\n", encoding="utf-8")
    arguments = ["sm2/bi", "--study", "tiny", "--json", "--from", str(longest)]
    assert main(["translate", *arguments]) == 0
    captured = capsys.readouterr()
    found = [json.loads(line) for line in captured.out.splitlines()]
    assert [one["event"] for one in found].count("end") == 1
    assert "goes on" not in captured.err


def test_tokens_come_out_while_words_are_still_to_come(project: Path) -> None:
    """From a pipe that says a word and then waits for an answer."""
    command = ("timeout", "300", str(BIN / "simt"), "translate", "waitk/k3@1", "--json")
    with subprocess.Popen(
        [*command, "--study", "tiny"], cwd=project, stdin=subprocess.PIPE, stdout=subprocess.PIPE
    ) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        process.stdin.write(b"Maria ")
        process.stdin.flush()
        found = [json.loads(process.stdout.readline())["event"] for _ in range(3)]
        process.stdin.close()
        process.stdout.read()
    assert found == ["source", "read", "write"]
    assert process.returncode == 0
