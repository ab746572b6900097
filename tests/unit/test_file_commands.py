"""`simt score` and `simt latency`: the output of any system, scored by name of its file."""

import json
from pathlib import Path
from typing import Any

import pytest

from simt.cli import main

# Four words read and written one by one: lags are 1, 1, 1, 1 and AL is 1.
SENTENCE = {
    "index": 0,
    "source": "eins zwei drei vier",
    "source_length": 4,
    "prediction": "one two three four",
    "prediction_length": 4,
    "reference": "one two three four",
    "delays": [1, 2, 3, 4],
    "elapsed": [0, 0, 0, 0],
}


def write(path: Path, *sentences: dict[str, Any]) -> str:
    path.write_text("".join(f"{json.dumps(sentence)}\n" for sentence in sentences))
    return str(path)


def row(said: str, start: str) -> list[str]:
    (line,) = [line for line in said.splitlines() if line.startswith(start)]
    return line.split()[1:]


def test_score_prints_quality_and_latency_of_another_systems_file(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["score", write(tmp_path / "log", SENTENCE)]) == 0
    said = capsys.readouterr().out
    assert said.startswith(f"{tmp_path / 'log'}: 1 sentence\n")
    assert row(said, "bleu|text:detokenised|nrefs:1|case:mixed") == ["100.000"]
    assert row(said, "AL|unit:word|eos:no|length:ref") == ["1.000"]


def test_score_writes_what_it_prints(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "scores.json"
    assert main(["score", write(tmp_path / "log", SENTENCE), "--json", str(file)]) == 0
    (point,) = json.loads(file.read_text())["points"]
    assert point["scores"]["al_word"]["value"] == 1.0


def test_score_says_what_a_missing_comet_model_needs(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    model = "nobody/has-this"
    assert main(["score", write(tmp_path / "log", SENTENCE), "--comet", model]) == 0
    assert f"left out: COMET model {model} is not on this machine" in capsys.readouterr().out


def test_score_takes_several_comet_models_and_the_file_after_them(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    log = write(tmp_path / "log", SENTENCE)
    assert main(["score", "--comet", "nobody/one", "--comet", "nobody/two", log]) == 0
    said = capsys.readouterr().out
    for model in ("nobody/one", "nobody/two"):
        assert f"left out: COMET model {model} is not on this machine" in said


CHINESE = SENTENCE | {"prediction": "一二三四", "reference": "一二三四"}


def test_score_of_text_without_blanks_asks_for_its_tokeniser(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    arguments = ["score", write(tmp_path / "log", CHINESE), "--unit", "char"]
    assert main(arguments) == 1
    captured = capsys.readouterr()
    assert (captured.out, captured.err.count("\n")) == ("", 1)
    assert "give --tokeniser zh, ja-mecab or ko-mecab" in captured.err
    assert main([*arguments, "--tokeniser", "zh"]) == 0
    assert row(capsys.readouterr().out, "bleu|text:detokenised|nrefs:1|case:mixed") == ["100.000"]
    assert main([*arguments, "--tokeniser", "13a"]) == 0  # who asks for it, gets it
    assert row(capsys.readouterr().out, "bleu|text:detokenised|nrefs:1|case:mixed") == ["0.000"]


UNCUT = SENTENCE | {"prediction": "我 今天 去 学校", "reference": "我今天去学校上课"}
THAI = SENTENCE | {"prediction": "ฉัน ไป โรงเรียน วันนี้", "reference": "ฉันไปโรงเรียนวันนี้"}


@pytest.mark.parametrize("sentence", [UNCUT, THAI])
@pytest.mark.parametrize("command", [["score", "--tokeniser", "zh"], ["latency"]])
def test_a_reference_without_blanks_has_no_length_in_words(
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    command: list[str],
    sentence: dict[str, Any],
) -> None:
    assert main([*command, write(tmp_path / "log", sentence)]) == 0
    said = capsys.readouterr().out
    assert "|ref:first|" not in said
    assert row(said, "DAL|unit:word") == ["1.000"]  # takes the length of the prediction
    (reason,) = [line for line in said.splitlines() if "without blanks" in line]
    assert reason.startswith("left out: no latency against references")
    assert "Put blanks between their words" in reason
    assert "--unit char" in reason


def test_a_reference_cut_into_words_has_a_length(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    cut = UNCUT | {"reference": "我 今天 去 学校"}
    assert main(["score", "--tokeniser", "zh", write(tmp_path / "log", cut)]) == 0
    said = capsys.readouterr().out
    assert row(said, "AL|unit:word|eos:no|length:ref") == ["1.000"]
    assert "left out" not in said


@pytest.mark.parametrize("command", ["score", "latency"])
def test_an_empty_reference_is_noted(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], command: str
) -> None:
    empty = SENTENCE | {"index": 1, "reference": ""}
    log = write(tmp_path / "log", SENTENCE, empty)
    assert main([command, log]) == 0
    note = "note: 1 of 2 references is empty, which counts as one word, as in SimulEval"
    assert note in capsys.readouterr().out.splitlines()
    assert main([command, log, "--unit", "other"]) == 0
    assert "note:" not in capsys.readouterr().out


def test_latency_puts_definitions_and_knobs_side_by_side(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    # The whole source first: AL is its length, under every definition.
    late = SENTENCE | {"delays": [4, 4, 4, 4], "knob": "full"}
    early = SENTENCE | {"knob": 1.0}
    assert main(["latency", write(tmp_path / "log", early, late)]) == 0
    said = capsys.readouterr().out
    assert row(said, "AL|unit:word|eos:no|length:ref") == ["1.000", "4.000"]
    assert row(said, "AL|unit:word|eos:no|length:hyp") == ["1.000", "4.000"]
    assert "left out: no latency in tokens: not every sentence has token_delays" in said


def test_latency_says_how_many_sentences_have_none(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    silent = SENTENCE | {"index": 1, "prediction": "", "delays": [], "elapsed": []}
    silent["prediction_length"] = 0
    deaf = SENTENCE | {"index": 2, "source": "", "source_length": 0, "delays": [0, 0, 0, 0]}
    assert main(["latency", write(tmp_path / "log", SENTENCE, silent, deaf)]) == 0
    found = row(capsys.readouterr().out, "AL|unit:word|eos:no|length:ref")
    assert " ".join(found) == "1.000 (2 left out: nothing written or read)"


@pytest.mark.parametrize("command", ["score", "latency"])
def test_a_broken_line_is_named(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], command: str
) -> None:
    file = tmp_path / "log"
    file.write_text(f"{json.dumps(SENTENCE)}\n{{\n")
    assert main([command, str(file)]) == 1
    assert f"{file}, line 2: not JSON" in capsys.readouterr().err
