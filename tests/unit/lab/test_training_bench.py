"""The bench measures every method and JoeyNMT on the same batches; nothing here is timed."""

import json
import re
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import torch
from torch.utils.flop_counter import FlopCounterMode

from simt.cli import main
from simt.corpus.bpe import open_vocabularies
from simt.errors import SimtError
from simt.lab import training_bench as bench
from simt.lab.training_bench import (
    BASELINE,
    RUNS,
    BenchChoices,
    BenchReport,
    Ours,
    bench_training,
    make_corpus,
)
from simt.lab.trials import SpeedRow, Spread, Trial, run_trials, table
from simt.methods import METHODS
from simt.params import load_params
from simt.runs import named_settings
from simt.signals import StopRequest
from simt.training.history import LogInterval

pytestmark = pytest.mark.xdist_group("bench")  # they share a set-up

ROOT = Path(__file__).parents[3]
PARAMS = load_params(ROOT / "params.yaml", "tiny")
JOEYNMT = ROOT / ".venv-joeynmt" / "bin" / "python"
CHOICES = BenchChoices(
    pair="tiny-deen", size="tiny", runs=RUNS, updates=2, repeats=2, threads=1, has_memory=False
)
JUST_OFFLINE = replace(CHOICES, runs=(BASELINE,))


@pytest.fixture(scope="module")
def report(encoded: Path) -> BenchReport:
    return bench_training(PARAMS, CHOICES, encoded, against=None)


def test_every_method_is_measured() -> None:
    assert {name.split("/")[0] for name in RUNS} == set(METHODS)


def test_hmt_is_measured_with_every_number_of_states_that_a_study_uses() -> None:
    variants = PARAMS.methods["hmt"].variants
    used = {variant.settings["states"] for variant in variants.values()}
    measured = {variants[name.split("/")[1]].settings["states"] for name in RUNS if "hmt" in name}
    assert measured == used


def test_report_has_a_row_a_run(report: BenchReport) -> None:
    assert [row.name for row in report.rows] == list(RUNS)


@pytest.mark.parametrize("number", range(len(RUNS)), ids=RUNS)
def test_row_has_a_speed_and_a_ratio(number: int, report: BenchReport) -> None:
    row = report.rows[number]
    for spread in (row.tokens_per_s, row.ratio):
        assert 0 < spread.low <= spread.median <= spread.high
    assert row.parameters > 10_000
    assert row.peak_mb is None


def test_fraction_of_the_peak_is_speed_by_flops_of_torchs_own_counter(
    report: BenchReport, encoded: Path, tmp_path: Path
) -> None:
    settings = named_settings(PARAMS, CHOICES.pair, BASELINE, CHOICES.size)
    training = Ours(settings, encoded, tmp_path, CHOICES).training
    with FlopCounterMode(display=False) as counter:
        training.update(LogInterval(), StopRequest())
    per_token = counter.get_total_flops() / training.position.tokens
    row, peak = report.rows[0], report.about["peak_flops_per_s"]["fp32"]
    assert row.peak_fraction is not None
    assert row.peak_fraction == pytest.approx(
        row.tokens_per_s.median * per_token / peak,
        rel=0.3,  # attention, padding, the length of a batch
    )


def test_precision_may_be_chosen(encoded: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(torch.cpu, "get_capabilities", lambda: {"avx512_bf16": True})
    choices = replace(JUST_OFFLINE, precision="bf16-products")
    report = bench_training(PARAMS, choices, encoded, against=None)
    assert report.about["precision"] == "bf16-products"
    assert "trained in bf16-products" in report.text()


def test_report_is_plain_values_for_json(report: BenchReport) -> None:
    values = json.loads(json.dumps(report.as_dict()))
    assert values["model"]["width"] == 16
    assert values["device"] in ("cpu", "cuda")  # which plans ask for
    assert values["rows"][0]["ratio"] == {"median": 1.0, "low": 1.0, "high": 1.0}


def test_text_names_every_run_once_a_line(report: BenchReport) -> None:
    lines = report.text().splitlines()
    for name in RUNS:
        assert sum(line.startswith(f"{name} ") for line in lines) == 1


@pytest.mark.slow
def test_memory_is_that_of_a_process_of_its_own(encoded: Path, tmp_path: Path) -> None:
    settings = named_settings(PARAMS, CHOICES.pair, BASELINE, CHOICES.size)
    assert Ours(settings, encoded, tmp_path, CHOICES).peak_mb() > 50  # torch alone has more


def test_memory_of_a_gpu_is_that_of_the_history(
    encoded: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delattr(bench, "measure")  # it knows only the memory of the machine
    ours = Ours(named_settings(PARAMS, "tiny-deen", BASELINE, "tiny"), encoded, tmp_path, CHOICES)
    ours.training.devices = replace(ours.training.devices, device=torch.device("cuda"))
    assert ours.peak_mb() > 50


def test_command_prints_a_table_and_writes_the_numbers(
    encoded: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    numbers = tmp_path / "numbers.json"
    arguments = (
        f"--params {ROOT / 'params.yaml'} --pair tiny-deen --corpus {encoded} --size tiny tiny-big "
        f"--runs waitk/k1 --updates 1 --repeats 1 --no-memory --json {numbers}"
    )
    assert main(["bench", "train", *arguments.split()]) == 0
    assert capsys.readouterr().out.count("× offline/bi") == 2
    assert [one["model"]["width"] for one in json.loads(numbers.read_text())] == [16, 24]


@pytest.mark.parametrize(
    ("changes", "complaint"),
    [
        ({"runs": ("waitk/k1000",)}, "no run 'waitk/k1000'"),
        ({"runs": ("itst",)}, "no run 'itst'"),
        ({"size": "enormous"}, "no model 'enormous'; there are tiny-small, "),
        ({"pair": "klingon"}, "no pair 'klingon'"),
        ({"updates": 1000}, "too few for trials of 1000 updates: lower --updates"),
    ],
)
def test_mistake_is_told(changes: dict[str, Any], complaint: str, encoded: Path) -> None:
    with pytest.raises(SimtError, match=re.escape(complaint)):
        bench_training(PARAMS, replace(CHOICES, **changes), encoded, against=None)


# --- trials -------------------------------------------------------------------------------------


class Runner:
    """Says how long it took instead of taking it."""

    parameters = 5

    def __init__(self, name: str, seconds: float, diary: list[tuple[str, int]]) -> None:
        self.name = name
        self.seconds = seconds
        self.diary = diary

    def run_trial(self, first: int, updates: int) -> Trial:
        self.diary.append((self.name, first))
        return Trial(100 * updates, self.seconds)

    def peak_mb(self) -> float:
        return 7.0


def test_everyone_runs_right_after_the_baseline_on_the_same_batches() -> None:
    diary: list[tuple[str, int]] = []
    a, b, c = (Runner(name, 1.0, diary) for name in "abc")
    run_trials(a, [b, c], [0, 3], updates=3, title="", has_memory=False)
    warm_up, race = diary[:3], diary[3:]
    assert [name for name, _ in warm_up] == ["a", "b", "c"]
    assert [name for name, _ in race] == ["a", "b", "a", "c"] * 2
    assert [first for _, first in race] == [0] * 4 + [3] * 4


def test_ratio_is_that_of_the_speeds() -> None:
    rows = run_trials(Runner("a", 2.0, []), [Runner("b", 8.0, [])], [0], 4, "", has_memory=True)
    one = Spread(1.0, 1.0, 1.0)
    assert rows[0] == SpeedRow("a", 5, Spread(200, 200, 200), one, 7.0)
    assert rows[1] == SpeedRow("b", 5, Spread(50, 50, 50), Spread(0.25, 0.25, 0.25), 7.0)


def test_baseline_alone_is_measured_too() -> None:
    (row,) = run_trials(Runner("a", 2.0, []), [], [0, 4], 4, "", has_memory=False)
    assert row.tokens_per_s == Spread(200, 200, 200)


def test_spread_is_median_and_outer_tenths() -> None:
    assert Spread.of(range(11)) == Spread(median=5, low=1, high=9)


def test_inverse_of_a_ratio_keeps_low_below_high() -> None:
    assert Spread(0.5, 0.25, 1.0).inverse() == Spread(2.0, 1.0, 4.0)


def test_table_has_columns_of_equal_width() -> None:
    rows = run_trials(Runner("a", 2.0, []), [Runner("long name", 8.0, [])], [0], 4, "", True)
    assert len({len(line) for line in table(rows).splitlines()}) == 1


# --- the corpus ---------------------------------------------------------------------------------


def test_vocabulary_is_filled_up_with_words_that_never_occur(tmp_path: Path) -> None:
    bpe = make_corpus(PARAMS, "tiny-deen", words=1500, folder=tmp_path)
    source, target = open_vocabularies(bpe)
    assert source is target
    assert len(source) == 1500


def test_too_few_words_are_told(tmp_path: Path) -> None:
    with pytest.raises(SimtError, match="words more than --words"):
        make_corpus(PARAMS, "tiny-deen", words=10, folder=tmp_path)


def test_pair_that_is_no_toy_needs_its_corpus(tmp_path: Path) -> None:
    with pytest.raises(SimtError, match="wmt15-deen is not a toy pair"):
        make_corpus(PARAMS, "wmt15-deen", words=None, folder=tmp_path)


# --- JoeyNMT ------------------------------------------------------------------------------------


def pin(file: str, package: str) -> str:
    (line,) = re.findall(rf"^{package}==(\S+)$", (ROOT / file).read_text(), flags=re.MULTILINE)
    return str(line)


def test_joeynmt_gets_the_torch_that_we_have() -> None:
    assert pin("bench/joeynmt.txt", "torch") == pin("constraints.txt", "torch")


@pytest.mark.skipif(not JOEYNMT.exists(), reason="JoeyNMT is not installed: `make bench` does it")
@pytest.mark.slow
def test_joeynmt_has_as_many_weights_and_trains_on_as_many_tokens(
    encoded: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(ROOT)
    report = bench_training(PARAMS, JUST_OFFLINE, encoded, JOEYNMT)  # both are checked in there
    ours, *theirs = report.rows
    name = f"JoeyNMT {pin('bench/joeynmt.txt', 'joeynmt')}"
    assert [row.name for row in theirs] == [f"{name}, our batches", f"{name}, its batches"]
    assert {row.parameters for row in theirs} == {ours.parameters}
    assert all(row.tokens_per_s.low > 0 for row in theirs)
    assert report.text().count("times as fast as JoeyNMT") == 2


def test_interpreter_without_joeynmt_is_told(
    encoded: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(ROOT)
    with pytest.raises(SimtError, match=r"No module named 'joeynmt'\n`make bench` installs it"):
        bench_training(PARAMS, JUST_OFFLINE, encoded, Path(sys.executable))


def test_interpreter_that_is_not_there_is_told(
    encoded: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(ROOT)
    with pytest.raises(SimtError, match="nowhere/python cannot be run: No such file"):
        bench_training(PARAMS, JUST_OFFLINE, encoded, Path("nowhere/python"))
