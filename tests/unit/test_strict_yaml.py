"""YAML that says more than plain values, or far more of them than it looks."""

import re
from pathlib import Path

import pytest

from simt.cli import main
from simt.errors import SimtError
from simt.params import load_params
from simt.problems import Problems
from simt.strict_yaml import read_yaml

ROOT = Path(__file__).parents[2]


def write(folder: Path, text: str) -> Path:
    path = folder / "params.yaml"
    path.write_text(text, encoding="utf-8")
    return path


def problems_of(folder: Path, text: str) -> list[str]:
    problems = Problems()
    read_yaml(write(folder, text), problems)
    return [f"{path}: {what}" for path, what in problems.found]


def test_plain_values_are_read_as_such(tmp_path: Path) -> None:
    problems = Problems()
    text = "a: &x [1, -2.5, 1.0e-3, 100_000, 0, 0.5, true, null, text, '2020-01-01']\nb: *x\n"
    values = read_yaml(write(tmp_path, text), problems)
    assert not problems.found
    expected = [1, -2.5, 0.001, 100_000, 0, 0.5, True, None, "text", "2020-01-01"]
    assert values == {"a": expected, "b": expected}


@pytest.mark.parametrize(
    ("value", "says"),
    [
        ("2020-01-01", "2020-01-01 is of type timestamp to YAML; put it in quotes if it is text"),
        ("2026-13-01", "2026-13-01 is of type timestamp"),
        ("!!binary aGk=", "aGk= is of type binary"),
        ("!!bool maybe", "maybe is not of type bool"),
        ("!!int ''", " is not of type int"),
        ("010", "010 is not a decimal number to YAML"),
        ("0x10", "0x10 is not a decimal number"),
        ("12:30:45", "12:30:45 is not a decimal number"),
        ("!!set {x, y}", "is of type set; write a plain list or mapping"),
        ("!!omap [x: 1]", "is of type omap; write a plain list or mapping"),
        ("!!python/object/apply:os.system ['true']", "is of type python/object/apply:os.system"),
    ],
)
def test_what_is_not_plain_is_told_with_its_key_path(value: str, says: str, tmp_path: Path) -> None:
    (told,) = problems_of(tmp_path, f"a:\n  - b: 1\n  - c: {value}\n")
    assert told.startswith(f"a.1.c: {says}")


def test_date_in_params_is_told_and_not_made_text(tmp_path: Path) -> None:
    text = (ROOT / "params.yaml").read_text(encoding="utf-8")
    changed = text.replace("title: BLEU against average lagging", "title: 2024-05-01")
    with pytest.raises(SimtError, match=r"title: 2024-05-01 is of type timestamp to YAML"):
        load_params(write(tmp_path, changed))


def alias_bomb(levels: int) -> str:
    lines = ["a0: &a0 [x, x, x, x, x, x, x, x, x]"]
    for level in range(1, levels):
        aliases = ", ".join([f"*a{level - 1}"] * 9)
        lines.append(f"a{level}: &a{level} [{aliases}]")
    return "\n".join(lines)


def test_alias_bomb_is_refused_before_it_is_written_out(tmp_path: Path) -> None:
    with pytest.raises(SimtError, match=r"line 5: more than 50000 values, counting aliases"):
        read_yaml(write(tmp_path, alias_bomb(levels=9)), Problems())


@pytest.mark.parametrize("depth", [60, 3_000, 100_000])
@pytest.mark.parametrize("bracket", ["[", "{a: ", "- "])
def test_deep_nesting_is_refused_by_its_line(bracket: str, depth: int, tmp_path: Path) -> None:
    with pytest.raises(SimtError, match=r"line 2: more than 50 levels inside each other"):
        read_yaml(write(tmp_path, f"b:\n  {bracket * depth}"), Problems())


def test_large_file_is_refused_unread(tmp_path: Path) -> None:
    with pytest.raises(SimtError, match="is larger than 1 MB"):
        read_yaml(write(tmp_path, "# nothing\n" * 200_000), Problems())


def test_many_problems_are_counted_and_some_are_told(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    text = "".join(f"section{number}: {'x' * 20}\n" for number in range(20_000))
    assert main(["plan", "--params", str(write(tmp_path, text))]) == 1
    said = capsys.readouterr().err
    assert re.match(r"simt: params\.yaml has 2\d{4} problems:", said)
    assert re.search(r"… and \d{5} more lines …", said)
    assert len(said) < 10_000


@pytest.mark.parametrize("place", ["study", "fidelity", "extra"])
def test_huge_value_is_quoted_in_short(
    place: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    text = (ROOT / "params.yaml").read_text(encoding="utf-8")
    text = re.sub(rf"^{place}: \w+", "", text, flags=re.MULTILINE)
    huge = "x" * 900_000
    line = f"? {huge}\n: 1" if place == "extra" else f"{place}: {huge}"
    assert main(["plan", "--params", str(write(tmp_path, f"{line}\n{text}"))]) == 1
    said = capsys.readouterr().err
    assert "xxx … xxx" in said
    assert len(said) < 10_000


@pytest.mark.parametrize(
    ("text", "place"),
    [("a: 1\nb: [1\nc: 2\n", "in params.yaml, line 3"), ("a: \x07", "in params.yaml, position 3")],
)
def test_what_is_no_yaml_is_told_by_its_file_and_place(
    text: str, place: str, tmp_path: Path
) -> None:
    with pytest.raises(SimtError, match=place) as caught:
        read_yaml(write(tmp_path, text), Problems())
    assert "<unicode string>" not in str(caught.value)
