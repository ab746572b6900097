"""Nothing counts as done before it is whole, and the graph says what it reads and writes."""

import os
import re
import shlex
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from simt.markers import chosen
from simt.params import load_params
from simt.runs import Run, run_settings
from simt.steps import Step, Steps
from tests.samples.project import (
    BIN,
    LOCAL,
    ROOT,
    RULES,
    TINY,
    Job,
    jobs,
    name_of,
    planned,
    run,
)

RUN = Run("tiny-deen", "sm2", "bi", 1)
POINT = f"results/points/{RUN}/test"


@pytest.fixture
def copy(study: Path, tmp_path: Path) -> Path:
    """The finished study in a folder of its own; files are links, so replace them, never edit."""
    folder = tmp_path / "copy"
    shutil.copytree(study, folder, symlinks=True, copy_function=os.link)
    return folder


def rewrite(path: Path, content: bytes) -> None:
    """Give a file another content, at the time it had: Snakemake is not to notice by that."""
    before = path.stat()
    path.unlink()
    path.write_bytes(content)
    os.utime(path, ns=(before.st_atime_ns, before.st_mtime_ns))


def refused(folder: Path, *command: str) -> str:
    """What a command says that must fail, and without a traceback."""
    done = subprocess.run(
        [BIN / command[0], *command[1:]], cwd=folder, capture_output=True, text=True
    )
    said = done.stdout + done.stderr
    assert done.returncode == 1, said
    assert "Traceback" not in said
    return said


def checked(folder: Path, *options: str) -> str:
    return refused(folder, "simt", "check", "paper", "--study", "tiny", *options)


def one_job_a_rule(folder: Path) -> dict[str, Job]:
    """The job of each rule that needs least, the last by name: a wait-k training, which neither
    starts from another nor is started from."""
    found = jobs(folder, *TINY, "--forceall")
    found.sort(key=lambda job: (-len(job.inputs), sorted(job.outputs)))
    return {job.rule: job for job in found}


# --- what is declared -----------------------------------------------------------------------------


def test_targets_ask_for_every_step(project: Path) -> None:
    for stage, steps in stages().items():
        asked = {path for job in jobs(project, *TINY, "--", stage) if job.rule == stage
                 for path in job.inputs}  # fmt: skip
        assert asked == {str(step.marker) for step in steps}


def stages() -> dict[str, list[Step]]:
    steps = Steps(load_params(ROOT / "params.yaml", "tiny"))
    corpora, runs, points = steps.corpora(), steps.runs(), steps.points()
    needed = [step for step in corpora if step.name != "tiny-deen fetch"]
    return {
        "corpora": corpora, "runs": [*needed, *runs], "points": [*needed, *runs, *points],
        "paper": [*needed, *runs, *points, *steps.paper()],
    }  # fmt: skip


def test_rules_write_what_steps_vouch_for(project: Path) -> None:
    declared = {path for job in jobs(project, *TINY) for path in job.outputs}
    steps = [step for several in stages().values() for step in several]
    written = {path for step in steps for path in step.outputs}
    assert declared == written


@pytest.mark.slow
@pytest.mark.xdist_group("study")
def test_every_file_of_a_finished_study_is_vouched_for(study: Path) -> None:
    results = study / "results"
    found = {path for path in results.rglob("*") if path.is_file() and path.name[0] != "."}
    steps = [step for several in stages().values() for step in several]
    vouched = {
        study / step.folder / name
        for step in steps
        for name in (*step.product.vouched, step.product.marker)
    }
    assert found == vouched


WATCH = """
import sys
opened = []
sys.addaudithook(lambda event, values: event == "open" and opened.append(values[:2]))
from simt.cli import main
code = main(sys.argv[2:])
with open(sys.argv[1], "w") as stream:
    for path, mode in opened:
        if isinstance(path, str) and "results/" in path and "w" not in (mode or "r"):
            print(path[path.index("results/"):], file=stream)
sys.exit(code)
"""


@pytest.mark.slow
@pytest.mark.xdist_group("study")
@pytest.mark.parametrize("rule", RULES)
def test_command_reads_what_its_step_says_and_markers(
    rule: str, copy: Path, tmp_path: Path
) -> None:
    steps = {str(step.marker): step for several in stages().values() for step in several}
    for job in jobs(copy, *TINY, "--forceall"):
        if job.rule == rule:
            program = [sys.executable, "-c", WATCH, str(tmp_path / "opened")]
            words = shlex.split(job.command)
            command = [*program, *words[words.index("simt") + 1 :]]
            subprocess.run(command, cwd=copy, check=True, capture_output=True)
            opened = set((tmp_path / "opened").read_text().splitlines())
            (step,) = (steps[path] for path in job.outputs if path in steps)
            unsaid = {
                path
                for path in opened - job.outputs
                if (copy / path).is_file() and not is_bookkeeping(path) and not says(step, path)
            }
            assert unsaid == set()
            if rule not in ("figure", "table"):  # each of them has its own function
                break


def says(step: Step, path: str) -> bool:
    """Whether it reads the file by its own account, which is what its marker vouches for."""
    return any(
        path == f"{read.step.folder}/{name}"
        for read in step.reads
        for name in chosen(read.step.product.vouched, read.patterns)
    )


def is_bookkeeping(path: str) -> bool:
    """Markers tell digests, raw files are those of a marker; the rest is in nobody's way."""
    return is_marker(path) or any(part in path for part in ("/raw/", "/work/", "/."))


def is_marker(path: str) -> bool:
    return path.endswith(("/settings.json", "/scoring.json", "/policy_viewer.json")) or (
        "/markers/" in path
    )


# --- what Snakemake notices -----------------------------------------------------------------------


@pytest.mark.slow
@pytest.mark.xdist_group("study")
@pytest.mark.parametrize("rule", RULES)
def test_deleted_output_is_made_again(rule: str, copy: Path) -> None:
    job = one_job_a_rule(copy)[rule]
    target = "corpora" if rule == "fetch" else "paper"  # raw files are nobody else's business
    for path in sorted(job.outputs)[:: max(1, len(job.outputs) - 1)]:  # the first and the last
        (copy / path).rename(copy / "away")
        again = [one for one in jobs(copy, *TINY, "--", target) if one.rule == rule]
        assert [one.outputs for one in again] == [job.outputs], path
        assert path in again[0].reason
        (copy / "away").rename(copy / path)
    assert not planned(copy, *TINY)


@pytest.mark.slow
@pytest.mark.xdist_group("study")
@pytest.mark.parametrize("rule", [rule for rule in RULES if rule != "fetch"])
def test_edited_input_makes_its_rule_do_its_work_again(rule: str, copy: Path) -> None:
    job = one_job_a_rule(copy)[rule]
    later = time.time() + 10
    for path in job.inputs:
        content = (copy / path).read_bytes()
        (copy / path).unlink()
        (copy / path).write_bytes(content + b"\n" if is_marker(path) else content[::-1])
        os.utime(copy / path, (later, later))
    again = jobs(copy, *TINY, "--allowed-rules", name_of(rule))
    (edited,) = [one for one in again if one.outputs == job.outputs]
    assert [path for path in job.inputs if path not in edited.reason] == []


# --- what nobody but the marker can notice --------------------------------------------------------


@pytest.mark.slow
@pytest.mark.xdist_group("study")
@pytest.mark.parametrize(
    ("path", "content", "told"),
    [
        (f"{POINT}/scores.json", b"{}", "scores.json has 2 bytes instead of "),
        (f"{POINT}/instances.jsonl", b'{"index": 0}\n', "instances.jsonl has 13 bytes instead of "),
        ("results/corpora/tiny-deen/bpe/vocabulary", b"", "vocabulary has 0 bytes instead of "),
        ("results/paper/tiny/figures/fig03-bleu-al.pdf", b"", "fig03-bleu-al.pdf has 0 bytes"),
        ("results/paper/tiny/report.html", b"<html></html>", "report.html has 13 bytes"),
        (f"results/runs/{RUN}/settings.json", b"\xff", "settings.json is not UTF-8"),
    ],
)
def test_damage_is_told_by_check_plan_and_snakemake_with_the_remedy(
    path: str, content: bytes, told: str, copy: Path
) -> None:
    rewrite(copy / path, content)
    assert told in checked(copy)
    assert told in run(copy, "simt", "plan", "--study", "tiny")
    said = refused(copy, *LOCAL, "-n", *TINY)
    assert told in said
    remedy = re.search(r"To make this again: (simt .+)$", said, flags=re.MULTILINE)
    assert remedy is not None
    run(copy, *shlex.split(remedy[1]))
    assert planned(copy, *TINY)
    run(copy, "snakemake", "--unlock", *TINY)


@pytest.mark.slow
@pytest.mark.xdist_group("study")
def test_swapped_models_and_edits_of_the_same_size_are_told_by_a_deep_check(copy: Path) -> None:
    one, other = (copy / f"results/runs/tiny-deen/sm2/{v}/seed1/model.pt" for v in ("bi", "bi-p"))
    assert one.stat().st_size == other.stat().st_size
    held, its = one.read_bytes(), other.read_bytes()
    rewrite(one, its)
    rewrite(other, held)
    scores = copy / POINT / "scores.json"
    rewrite(scores, scores.read_bytes().replace(b"1", b"2", 1))
    assert "steps up to paper are those of params.yaml" in run(
        copy, "simt", "check", "paper", "--study", "tiny"
    )
    said = checked(copy, "--deep")
    assert said.count("damaged model.pt no longer has the content that was written") == 2
    assert said.count("damaged scores.json no longer has the content that was written") == 1


# --- training by hand -----------------------------------------------------------------------------


def training(folder: Path) -> list[str]:
    """The command that trains another seed into the folder of a finished run."""
    params = load_params(folder / "params.yaml", "tiny")
    settings = run_settings(params, RUN).model_copy(update={"seed": 2})
    return [
        str(BIN / "simt"), "train", "--settings", settings.as_json(),
        "--corpus", "results/corpora/tiny-deen/bpe", "--to", str(RUN.folder),
        "--checkpoint-minutes", "0",
    ]  # fmt: skip


@pytest.mark.slow
@pytest.mark.xdist_group("study")
def test_training_that_breaks_off_between_two_files_leaves_nothing_that_counts(copy: Path) -> None:
    before = (copy / RUN.folder / "model.pt").read_bytes()
    (copy / RUN.folder / "run.json").unlink()
    (copy / RUN.folder / "run.json" / "in the way").mkdir(parents=True)
    done = subprocess.run(training(copy), cwd=copy, capture_output=True, text=True)
    assert done.returncode == 1, done.stderr
    assert (copy / RUN.folder / "model.pt").read_bytes() != before, "it came as far as the model"
    assert f"{RUN.folder}: to do\n" in checked(copy)


@pytest.mark.slow
@pytest.mark.xdist_group("study")
def test_training_that_is_killed_leaves_nothing_that_counts(copy: Path) -> None:
    process = subprocess.Popen(training(copy), cwd=copy, stderr=subprocess.DEVNULL)
    while (copy / RUN.folder / "settings.json").exists() and process.poll() is None:
        time.sleep(0.05)
    process.send_signal(signal.SIGKILL)
    process.wait()
    assert f"{RUN.folder}: to do\n" in checked(copy)
    assert [job.rule for job in jobs(copy, *TINY) if job.rule == "train"] == ["train"]
