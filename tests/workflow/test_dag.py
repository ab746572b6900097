"""The graph: what a study plans, and what a change plans again."""

import os
import re
import subprocess
from collections import Counter
from pathlib import Path

import pytest

from simt.errors import SimtError
from simt.gpus import gpus_here
from simt.params import load_params
from simt.schedule import Machine
from simt.steps import Steps
from simt.workload import study_workload
from tests.samples.project import LOCAL, ROOT, TINY, change, planned, refusal, run


def test_paper_study_plans_87_trainings_of_four_pairs(project: Path) -> None:
    plan = planned(project, "--config", "study=paper", "--", "runs")
    assert (plan["fetch"], plan["prepare"], plan["bpe"], plan["train"]) == (4, 4, 4, 87)


@pytest.mark.parametrize(
    ("name", "rule"), [("fig08-ablations", "figure"), ("tab02-sizes", "table")]
)
def test_one_figure_or_table_is_a_target_by_its_name(name: str, rule: str, project: Path) -> None:
    plan = planned(project, *TINY, "--", name)
    assert plan["figure"] + plan["table"] == plan[rule] == 1


def test_figure_that_the_study_leaves_out_is_refused_before_anything_is_planned(
    project: Path,
) -> None:
    reason = "fig10-appendix-bleu-al is left out of study tiny: the study has no appendix pair"
    assert reason in refusal(project, *TINY, "--", "fig10-appendix-bleu-al")


def test_file_of_a_figure_that_the_study_leaves_out_is_not_planned_either() -> None:
    steps = Steps(load_params(ROOT / "params.yaml", "tiny"))
    with pytest.raises(SimtError, match="fig10-appendix-bleu-al is left out of study tiny"):
        steps.drawing("figures", "fig10-appendix-bleu-al")


def test_face_of_figures_is_chosen_on_the_command_line(project: Path) -> None:
    said = run(project, "snakemake", "-n", "-p", *TINY, "face=serif", "--", "fig08-ablations")
    (command,) = (line for line in said.splitlines() if " draw fig08-ablations " in line)
    assert " --face serif " in command


@pytest.mark.parametrize(("said", "is_meant"), [("true", True), ("False", False)])
def test_numbers_of_the_paper_are_chosen_on_the_command_line(
    said: str, is_meant: bool, project: Path
) -> None:
    option = f"with_paper={said}"
    shown = run(project, "snakemake", "-n", "-p", *TINY, option, "--", "fig08-ablations")
    (command,) = (line for line in shown.splitlines() if " draw fig08-ablations " in line)
    assert (" --with-paper " in command) == is_meant


@pytest.mark.parametrize(
    ("option", "complaint"),
    [
        ("studi=tiny", "--config.studi: unknown setting (did you mean study?)"),
        ("face=seriff", "--config.face: 'seriff' is not possible; there are sans, serif"),
    ],
)
def test_mistake_on_the_command_line_is_told(project: Path, option: str, complaint: str) -> None:
    assert complaint in refusal(project, "--config", option)


def test_mistake_in_params_is_told_without_a_traceback(project: Path) -> None:
    change(project, "training/dropout", 3)
    assert "training.dropout: 3: input should be less than 1" in refusal(project)


def test_every_job_is_scheduled_by_its_log_with_what_its_rule_asks_for(
    project: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    said = run(project, "snakemake", "-n", "--cores", "64", *TINY)
    asked = {}
    for block in re.split(r"^\[.+\]$", said, flags=re.MULTILINE):
        if log := re.search(r"^    log: logs/(\S+)\.log", block, flags=re.MULTILINE):
            threads = re.search(r"^    threads: (\d+)$", block, flags=re.MULTILINE)
            gpus = re.search(r"\bgpu=(\d+)", block)
            asked[log[1]] = tuple(int(found[1]) if found else 0 for found in (gpus, threads))
    monkeypatch.chdir(project)
    params = load_params(Path("params.yaml"), "tiny")
    jobs = study_workload(params, Machine(cores=64), {}).jobs
    # Snakemake does not mention a single thread.
    assert asked == {job.name: (job.gpus, job.threads if job.threads > 1 else 0) for job in jobs}


@pytest.mark.skipif(bool(gpus_here()), reason="of machines without a GPU")
def test_training_is_one_process_on_a_cpu_however_many_gpus_it_would_get(project: Path) -> None:
    model = "results/runs/wmt15-deen/offline/bi-big/seed1/model.pt"
    said = run(project, *LOCAL, "-n", "-p", "--config", "study=paper", "--", model)
    assert re.findall(r" train --devices (\d+)", said) == ["1"]


@pytest.mark.slow
def test_corpora_are_made_once_and_again_only_for_what_changed(project: Path) -> None:
    corpora = ("--config", "study=tiny", "--", "corpora")
    run(project, *LOCAL, *corpora)
    assert not planned(project, *corpora)
    change(project, "bpe/joint-toy", {"joint": True, "source_merges": 50, "target_merges": 50,
                                      "min_pair_count": 2})  # fmt: skip
    assert planned(project, *corpora) == {"bpe": 1, "corpora": 1}
    change(project, "text/max_words", 20)
    assert planned(project, *corpora) == {"prepare": 1, "bpe": 1, "estimator": 1, "corpora": 1}
    change(project, "pairs/tiny-deen/toy/seed", 2)
    again = ("fetch", "prepare", "bpe", "estimator", "corpora")
    assert planned(project, *corpora) == dict.fromkeys(again, 1)


# --- SLURM, as far as it can be seen without a cluster ----------------------------------------


@pytest.mark.parametrize("spelling", ["--profile", "--workflow-profile"])
def test_slurm_profile_is_found_by_its_short_name(spelling: str, project: Path) -> None:
    said = run(project, "snakemake", spelling, "slurm", "-n", *TINY, "--", "runs")
    assert said.count("slurm_extra=--signal=TERM@300") == 20


def test_link_to_the_slurm_profile_is_under_version_control() -> None:
    listed = subprocess.run(
        ["git", "ls-files", "--stage", "slurm"], cwd=ROOT, capture_output=True, text=True
    )
    if listed.returncode:
        pytest.skip("not a clone")
    assert listed.stdout.startswith("120000 ")  # a symbolic link


def test_partitions_of_a_site_come_from_its_file(project: Path) -> None:
    site = project / ".config" / "simt" / "slurm.yaml"
    site.parent.mkdir(parents=True)
    site.write_text("partition: short\ngpu_partition: volta\n")
    home = os.environ | {"HOME": str(project)}
    said = run(project, "snakemake", "--profile", "slurm", "-n", *TINY, environment=home)
    partitions = set(re.findall(r"slurm_partition=(\w+),.* gpu=1", said))
    assert partitions == {"volta"}
    assert "slurm_partition=short" in said


def test_larger_models_ask_for_more(project: Path) -> None:
    paper = ("--config", "study=paper", "--", "runs")
    said = run(project, "snakemake", "--profile", "slurm", "-n", *paper)
    asked = Counter(re.findall(r"mem_mb=(\d+),.* gpu=(\d)", said))
    # Two of the 87 models are big: the offline one and what is fine-tuned from it.
    assert asked == {("32000", "1"): 85, ("64000", "4"): 2}
