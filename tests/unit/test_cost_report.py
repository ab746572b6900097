"""What a person reads of cost, schedule, disk and memory."""

import re
import shutil
from dataclasses import replace
from pathlib import Path

import pytest

from simt.atomic import write_json
from simt.cost import study_cost
from simt.cost_report import Hardware, describe_cost, record_lines
from simt.datasheets import GPUS, KINDS
from simt.params import Params, load_params
from simt.runs import Run, run_settings, study_runs
from simt.schedule import Machine
from simt.steps import Steps
from simt.timings import Timing
from simt.workload import PlannedJob, Workload
from tests.samples.markers import mark
from tests.samples.project import change
from tests.samples.records import mark_recorded

FILE = Path(__file__).parents[2] / "params.yaml"
TWO_CORES = Hardware(Machine(cores=2))
EIGHT_A100 = Hardware(Machine(gpus=8), KINDS["a100"])


@pytest.fixture
def params(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Params:
    monkeypatch.chdir(tmp_path)
    return load_params(FILE, "tiny")


def lines_of(
    params: Params, hardware: Hardware, timings: dict[str, Timing] | None = None
) -> list[str]:
    return describe_cost(params, study_cost(params), timings or {}, hardware).splitlines()


def the_line(lines: list[str], begin: str) -> str:
    (line,) = (line for line in lines if line.strip().startswith(begin))
    return line


def test_what_is_assumed_is_told_as_such_within_120_columns(params: Params) -> None:
    lines = lines_of(replace(params, study="paper"), EIGHT_A100)
    assert any("Assumed, not measured: 30% of NVIDIA's peak" in line for line in lines)
    assert all(any(gpu.name in line for line in lines) for gpu in GPUS)
    assert max(map(len, lines)) <= 120


def test_no_gpu_is_assumed_for_models_that_cannot_fill_one(params: Params) -> None:
    text = "\n".join(lines_of(params, TWO_CORES))
    assert not any(gpu.name in text for gpu in GPUS)


def test_no_schedule_is_made_up_where_the_speed_of_trainings_is_unknown(params: Params) -> None:
    lines = lines_of(replace(params, study="paper"), TWO_CORES)
    assert "No schedule on 2 cores: the speed of these models is not known." in lines
    assert the_line(lines, "By the data sheet").endswith(
        "simt plan --study paper --cost --gpus 8 --kind a100"
    )
    assert not any("wall time" in line for line in lines)


def test_gpus_of_a_kind_give_a_schedule_that_names_what_it_does_not_know(params: Params) -> None:
    lines = lines_of(replace(params, study="paper"), EIGHT_A100)
    assert "Schedule of 338 jobs on 8 x A100 80GB*, 1.0 s between two" in lines
    assert the_line(lines, "wall time").startswith("  wall time      at least ")
    assert the_line(lines, "fetch 4, prepare 4, bpe 4, decode 104, score 104")
    # HMT with eight states on the largest corpus; nothing starts from it.
    assert the_line(lines, "snakemake --config study=paper") == (
        "  snakemake --config study=paper "
        "--prioritize results/runs/wmt15-deen/hmt/l9-k8/seed1/model.pt"
    )


def test_run_that_does_not_fit_is_told_with_the_remedy(params: Params, tmp_path: Path) -> None:
    shutil.copy(FILE, tmp_path)
    for setting in ("micro_tokens", "batch_tokens"):
        change(tmp_path, f"training/{setting}", 65536)
    large = load_params(tmp_path / "params.yaml", "paper")
    lines = lines_of(large, Hardware(Machine(gpus=8), KINDS["rtx4090"]))
    assert any("does not fit RTX 4090: " in line for line in lines)
    remedies = re.findall(r"lower training.micro_tokens to (\d+): (.+) GB", "\n".join(lines))
    assert remedies
    for tokens, gigabytes in remedies:
        assert 65536 % int(tokens) == 0
        assert float(gigabytes) <= 23  # of 24, one is for the driver
    lines = lines_of(replace(params, study="paper"), EIGHT_A100)
    assert not any("does not fit" in line for line in lines)


def all_timings(params: Params, seconds: float) -> dict[str, Timing]:
    """Every training of the tiny study took so long, one after the other."""
    runs = study_runs(params.chosen_study)
    for run in runs:
        mark_recorded(params, f"train/{run}")
    return {
        f"train/{run}": Timing(n * seconds, (n + 1) * seconds, seconds, has_gpu=False)
        for n, run in enumerate(runs)
    }


def test_record_gives_a_schedule_before_anything_is_done(params: Params) -> None:
    lines = lines_of(params, TWO_CORES, all_timings(params, 10.0))
    assert "Schedule of 107 jobs on 2 cores, 0.0 s between two" in lines
    # Twenty trainings of 10 s on two cores, the longest chain has two of them.
    assert the_line(lines, "wall time").startswith("  wall time      at least 1.7 min with")
    assert the_line(lines, "core hours").startswith("  core hours     at least 3.3 min held")
    assert the_line(lines, "critical path").startswith("  critical path  at least 20.0 s")
    assert not any("on record" in line for line in lines)


def test_time_of_what_is_left_is_a_bound_where_some_of_it_is_unknown(params: Params) -> None:
    fetch = Steps(params).all()[0]
    fetch.folder.mkdir(parents=True)
    with fetch.made_in(fetch.folder):
        for name in fetch.product.vouched:
            (fetch.folder / name).write_text("…", encoding="utf-8")
    lines = lines_of(params, TWO_CORES, all_timings(params, 10.0))
    assert the_line(lines, "left to do").startswith("  left to do     106 jobs, at least 1.7 min")


def test_first_to_run_is_what_others_wait_for(params: Params) -> None:
    lines = lines_of(params, TWO_CORES, all_timings(params, 10.0))
    first = lines[lines.index("To run first: behind it, the longest chain of jobs that wait") + 1]
    assert first.split()[0].startswith("train/tiny-deen/offline/bi")
    assert first.endswith("behind it 10.0 s")


def test_what_is_done_is_compared_with_what_was_planned_from_others() -> None:
    def job(name: str, seconds: float | None, *after: str) -> PlannedJob:
        return PlannedJob(name, "runs", 0, 1, after, is_done=True, seconds=seconds)

    jobs = (job("train/a", 30), job("train/b", 30, "train/a"), job("train/c", None))
    # 30 and 30 were planned one after the other; they took 20 and 40, with a pause of 60.
    timings = {
        "train/a": Timing(0, 20, 20, has_gpu=False),
        "train/b": Timing(80, 120, 40, has_gpu=False),
        "train/c": Timing(0, 5, 5, has_gpu=False),
        "train/other": Timing(0, 999, 999, has_gpu=False),
    }
    lines = list(record_lines(Workload(Machine(cores=2), jobs, between=0), timings))
    assert lines[0] == (
        "  on record      3 jobs done in 2.0 min from the first start to the last end, "
        "planned at least 1.0 min"
    )
    assert lines[1].strip() == "for 1.0 min of it no job was at work"
    assert lines[3].split() == ["runs", "1.0", "min", "1.0", "min", "2", "jobs"]


def finish_two(params: Params, device: str) -> None:
    """Trainings of six minutes: each tells of the other, and both of all others."""
    for variant in ("bi", "bi-p"):
        run = Run("tiny-deen", "sm2", variant, 1)
        made_with = run_settings(params, run)
        outcome = {"training_seconds": 360.0, "devices": 1, "target_tokens": 4096,
                   "device": device, "updates": made_with.training.updates}  # fmt: skip
        write_json(run.folder / "run.json", outcome)
        mark(run.folder, made_with)


@pytest.mark.parametrize("device", ["cpu", "cuda"])
def test_schedule_takes_speeds_of_the_devices_that_it_is_for(params: Params, device: str) -> None:
    finish_two(params, device)
    on_cpu = lines_of(params, TWO_CORES)
    on_gpus = lines_of(params, Hardware(Machine(gpus=8)))
    with_schedule, without = (on_cpu, on_gpus) if device == "cpu" else (on_gpus, on_cpu)
    assert " min with the longest" in the_line(with_schedule, "wall time")
    assert the_line(without, "No schedule on").endswith("the speed of these models is not known.")
    assert the_line(without, "What a CPU took" if device == "cpu" else "By speeds measured on GPUs")
    kind = "CPU" if device == "cpu" else "GPU"
    assert without[1].endswith(f" h of one {kind}, by speeds measured here")


def test_speeds_of_a_bench_come_before_the_record(params: Params) -> None:
    finish_two(params, "cpu")
    timings = all_timings(params, 1.0)
    by_record = lines_of(params, TWO_CORES, timings)
    by_speed = lines_of(params, Hardware(Machine(cores=2), has_bench=True), timings)
    assert "10.0 s with" in the_line(by_record, "wall time")
    assert " min with" in the_line(by_speed, "wall time")
