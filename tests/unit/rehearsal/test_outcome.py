"""What became of jobs, by the files that they left."""

import json
import re
from pathlib import Path

import pytest

from simt.params import Params, load_params
from simt.products import MODEL_FILE
from simt.rehearsal.disk import disk_need
from simt.rehearsal.outcome import Job, failures, gather, log_of, measurements
from simt.rehearsal.page import near_limits
from simt.resources import Resources
from simt.site import read_site
from simt.steps import Step, Steps
from simt.usage import Usage
from tests.samples.project import RULES

FILE = Path(__file__).parents[3] / "params.yaml"
SNAKEMAKE = Path("snakemake.log")
RUN = "tiny-deen/sm2/bi/seed1"


@pytest.fixture
def params(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Params:
    monkeypatch.chdir(tmp_path)
    return load_params(FILE, "tiny")


def make(step: Step) -> None:
    """Do a step; files for numbers have some."""
    with step.made_in(step.folder):
        for name in step.product.vouched:
            path = step.folder / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text("0123456789", encoding="utf-8")


def train(step: Step, speeds: list[float], devices: int) -> None:
    """A training that has left its record."""
    with step.made_in(step.folder):
        for name in step.product.vouched:
            (step.folder / name).parent.mkdir(parents=True, exist_ok=True)
            (step.folder / name).write_text("0123456789", encoding="utf-8")
        rows = [
            json.dumps({"update": n, "tokens_per_s": one, "peak_memory_mb": 10_000.4 + n})
            for n, one in enumerate(speeds, 1)
        ]
        (step.folder / "history.jsonl").write_text("\n".join([*rows, '{"valid_loss": 1}']) + "\n")
        facts = {"device": "cuda", "devices": devices, "parameters": 7}
        (step.folder / "run.json").write_text(json.dumps(facts))


def log(step: Step, text: str, usage: Usage | None = None) -> None:
    path = log_of(step)
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8")
    if usage:
        path.with_suffix(".usage.jsonl").write_text(json.dumps(vars(usage)) + "\n")


USAGE = Usage(started=0, seconds=12, cpu_seconds=3, peak_memory_mb=500, gpu_memory_mb=900,
              is_whole=True)  # fmt: skip


def by_name(jobs: list[Job]) -> dict[tuple[str, str], Job]:
    return {(job.rule, job.name): job for job in jobs}


def test_rules_of_all_steps_are_those_of_the_workflow(params: Params) -> None:
    assert {job.rule for job in gather(params)} == set(RULES)


def test_step_is_failed_if_all_that_it_reads_is_there_and_otherwise_was_not_started(
    params: Params,
) -> None:
    steps = Steps(params)
    make(steps.corpus("tiny-deen", "fetch"))
    jobs = by_name(gather(params))
    assert jobs["fetch", "tiny-deen"].state == "done"
    assert jobs["prepare", "tiny-deen"].state == "failed"
    assert jobs["bpe", "tiny-deen"].state == "not started"


def test_training_is_measured_by_the_updates_after_the_first_and_a_device(params: Params) -> None:
    steps = Steps(params)
    for name in ("fetch", "prepare", "bpe"):
        make(steps.corpus("tiny-deen", name))  # type: ignore[arg-type]
    (step,) = [step for step in steps.runs() if step.name == RUN]
    train(step, speeds=[100.0, 4000.0, 4400.0, 4200.0], devices=4)
    log(step, "done: 4 updates\n", USAGE)
    (step.folder / MODEL_FILE).unlink()  # as in a rehearsal
    small = load_params(FILE, "tiny")
    object.__setattr__(small, "is_rehearsal", True)
    (found,) = [one for one in measurements(gather(small)) if one["rule"] == "train"]
    assert found["name"] == RUN
    assert found["tokens_per_s"] == 1050.0  # the median of the last three by four devices
    assert found["device"] == "cuda"
    assert found["gpu_memory_mb"] == 10_004  # of the last update; the launcher itself has 900
    assert found["seconds"] == 12
    assert found["settings"]["variant"] == "bi"


def test_failures_of_one_kind_are_told_once_with_their_message(params: Params) -> None:
    steps = Steps(params)
    for name in ("fetch", "prepare", "bpe"):
        make(steps.corpus("tiny-deen", name))  # type: ignore[arg-type]
    for step in steps.runs():
        log(step, f"Traceback\nsimt: {step.name}: cannot write: No space left on device\n")
    found = failures(gather(params), SNAKEMAKE)
    (training,) = [one for one in found if one.rule == "train"]
    starting = [step for step in steps.runs() if len(step.reads) == 1]  # from no other run
    assert len(training.names) == len(starting)
    assert training.message.endswith("cannot write: No space left on device")
    assert training.remedy.startswith("Free some space")
    assert training.lines[0] == "Traceback"


# As Snakemake 9.27 writes it.
REFUSED = """\
Error in rule fetch:
    message: SLURM sbatch failed. The error message was 'sbatch: error: invalid partition: nowhere
sbatch: error: Batch job submission failed: Invalid partition name specified'.
    sbatch call:
        sbatch --parsable
    jobid: 4
    log: logs/fetch/tiny-deen.log (check log file(s) for error details)
"""


def test_job_that_slurm_has_not_taken_is_told_in_its_words(params: Params) -> None:
    SNAKEMAKE.write_text(
        f"Building DAG\n{REFUSED}Error in rule train:\n    message: other\n    log: x"
    )
    (failure,) = failures(gather(params), SNAKEMAKE)
    assert failure.rule == "fetch"
    assert failure.message.endswith(
        "Batch job submission failed: Invalid partition name specified'."
    )
    assert "SIMT_PARTITION" in failure.remedy


@pytest.mark.parametrize(
    ("said", "remedy"),
    [
        ("no space left on the device: make room, then start again", "Free some space"),
        ("CUDA out of memory. Tried to allocate 2 GiB", "lower micro_tokens"),
        ("killed by SIGKILL", "run fewer jobs at a time"),
        ("SLURM-job '7' failed, SLURM status is: 'OUT_OF_MEMORY'. ", "{rule}: {mem_mb: …}"),
        ("SLURM-job '7' failed, SLURM status is: 'TIMEOUT'. ", "{rule}: {runtime: …}"),
        ("SLURM-job '7' failed: it would wait for ever (AccountNotAllowed)", "SIMT_ACCOUNT"),
        ('  name, _, rest = text.partition("/")', "Follow the message"),
    ],
)
def test_remedy_is_about_what_was_said(said: str, remedy: str, params: Params) -> None:
    make(Steps(params).corpus("tiny-deen", "fetch"))
    SNAKEMAKE.write_text(
        f"Error in rule prepare_tiny-deen:\n    message: {said}\n"
        "    log: logs/prepare/tiny-deen.log\n"
    )
    (failure,) = failures(gather(params), SNAKEMAKE)
    assert remedy.replace("{rule}", "prepare_tiny-deen") in failure.remedy


def test_what_a_remedy_asks_for_is_what_the_file_of_a_site_takes(params: Params) -> None:
    make(Steps(params).corpus("tiny-deen", "fetch"))
    SNAKEMAKE.write_text(
        "Error in rule prepare_tiny-deen:\n    message: SLURM status is: 'OUT_OF_MEMORY'\n"
        "    log: logs/prepare/tiny-deen.log\n"
    )
    (failure,) = failures(gather(params), SNAKEMAKE)
    (asked,) = re.findall(r"\S+: \{mem_mb: …\}", failure.remedy)
    Path("site.yaml").write_text(f"resources: {{{asked.replace('…', '64000')}}}")
    site = read_site(Path("site.yaml"), {})
    assert site.resources == {"prepare_tiny-deen": {"mem_mb": 64000}}


def test_job_that_runs_where_snakemake_does_asks_for_nothing(params: Params) -> None:
    SNAKEMAKE.write_text(
        "Error in rule fetch:\n    message: slurmstepd: killed\n    log: logs/fetch/tiny-deen.log\n"
    )
    (failure,) = failures(gather(params), SNAKEMAKE)
    assert "run fewer jobs at a time" in failure.remedy
    assert "slurm.yaml" not in failure.remedy


def test_job_of_which_nobody_says_anything_is_told_so(params: Params) -> None:
    SNAKEMAKE.write_text(
        "Error in rule fetch:\n    message: None\n    log: logs/fetch/tiny-deen.log\n"
    )
    (failure,) = failures(gather(params), SNAKEMAKE)
    assert failure.message == "it has not begun, or ended without a word"


@pytest.mark.parametrize(
    ("memory_gb", "hours", "what"),
    [(1, 1, []), (0.6, 1, ["memory"]), (1, 0.004, ["time"])],  # of 500 MB and 12 s
)
def test_job_is_near_its_limit_from_four_fifths_on(
    memory_gb: float, hours: float, what: list[str]
) -> None:
    asked = Resources(gpu=0, threads=1, hours=hours, memory_gb=memory_gb)  # type: ignore[arg-type]
    job = Job("train", RUN, Path("log"), "done", USAGE, 0, asked, None)
    assert [one.what for one in near_limits([job])] == what


def test_disk_is_that_of_the_weights_and_of_all_that_is_kept_of_one_training(
    params: Params,
) -> None:
    need = disk_need(load_params(FILE, "paper"))
    # docs/methods.md, "Model sizes": 209 million weights of four bytes in the big model; a training
    # keeps two checkpoints with Adam's two moments, and five snapshots; one more of each while it
    # is being written.
    assert need.training == pytest.approx(209e6 * 4 * (3 * 3 + 6), rel=0.02)
    assert need.weights > 87 * 40e6 * 4
    assert need.unknown == ("nist-zhen",)
