"""How many jobs and files a study has, counted, and what docs/scale.md says of it."""

import subprocess
import sys
from collections import Counter
from collections.abc import Sequence
from pathlib import Path

import pytest

from simt.params import load_params
from simt.products import SCORING_FILE
from simt.steps import Step, Steps
from tests.samples.markdown import rows
from tests.samples.project import ROOT

SCALE = ROOT / "docs" / "scale.md"
LOGS = 2  # of a job: what it said, and its time and memory


def steps_of(study: str, seeds: int | None = None) -> list[Step]:
    params = load_params(ROOT / "params.yaml", study)
    if seeds is not None:
        more = params.chosen_study.model_copy(update={"seeds": tuple(range(1, seeds + 1))})
        params.studies[study] = more  # type: ignore[index]  # a mapping by its type only
    return Steps(params).all()


def files_of(steps: Sequence[Step]) -> int:
    return sum(len(step.outputs) + len(step.product.kept) for step in steps)


def records_of(steps: Sequence[Step]) -> int:
    """What Snakemake keeps of each file that a rule declares."""
    return sum(len(step.outputs) for step in steps)


def folders_of(steps: Sequence[Step]) -> int:
    """All below results/, and itself."""
    files = [step.folder / name for step in steps for name in (*step.product.vouched, "marker")]
    files += [step.marker for step in steps]
    return len({parent for file in files for parent in file.parents}) - 1  # without "."


def kind(step: Step) -> str:
    if step.stage != "points":
        return {"corpora": "corpora", "runs": "training", "paper": "figures, tables"}[step.stage]
    return "scoring" if step.product.marker == SCORING_FILE else "decoding"


def count(path: Path, of: str = "*") -> int:
    return sum(1 for one in path.rglob(of) if one.is_file())


@pytest.mark.slow
@pytest.mark.xdist_group("study")
def test_finished_study_has_as_many_files_as_its_steps_say(study: Path) -> None:
    steps = steps_of("tiny")
    assert count(study / "results") == files_of(steps)
    assert count(study / ".snakemake" / "metadata") == records_of(steps)
    assert count(study / "logs", "*.log") == len(steps) + 1  # and logs/track.log
    assert count(study / "logs", "*.usage.jsonl") == len(steps)
    folders = [one for one in (study / "results").rglob("*") if one.is_dir()]
    assert len(folders) + 1 == folders_of(steps)


@pytest.mark.parametrize("seeds", [1, 10])
def test_page_says_how_many_files_the_paper_study_has(seeds: int) -> None:
    steps = steps_of("paper", seeds)
    jobs = Counter(kind(step) for step in steps)
    lines = []
    for name in ("corpora", "training", "decoding", "scoring", "figures, tables"):
        part = [step for step in steps if kind(step) == name]
        lines.append([name, jobs[name], files_of(part), LOGS * jobs[name], records_of(part)])
    files, logs, records = files_of(steps), LOGS * len(steps), records_of(steps)
    folders = 2 * folders_of(steps)  # those of logs/ are about as many
    lines.append(["all", len(steps), files, logs, records])
    column = {1: 0, 10: 1}[seeds]
    told = {name: [cell.split(" / ")[column] for cell in cells] for name, *cells in rows(
        SCALE, "step", "jobs", "results", "logs", "records")}  # fmt: skip
    assert told == {name: [f"{number:,}" for number in numbers] for name, *numbers in lines}
    inodes = f"{files + logs + records + folders:,} inodes"
    assert inodes in SCALE.read_text(encoding="utf-8")


HEAVY = {"torch", "pandas", "matplotlib", "mlflow", "comet", "transformers", "sacrebleu"}


@pytest.mark.parametrize(
    ("modules", "needed"),
    [
        ("simt.cli", set()),
        ("simt.jobs", set()),
        ("simt.scoring.points", set()),
        ("simt.decoding", {"torch"}),
    ],
)
def test_job_imports_no_more_than_it_needs(modules: str, needed: set[str]) -> None:
    asked = f"import sys, {modules}; print(*{{name.partition('.')[0] for name in sys.modules}})"
    done = subprocess.run([sys.executable, "-c", asked], capture_output=True, text=True)
    assert set(done.stdout.split()) & HEAVY == needed
