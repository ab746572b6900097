"""Every command of the README and of docs/ runs as typed, in a fresh clone.

The clone has the tiny study, finished, in place of the toy study. A command that cannot be run here
is listed with its reason; one that is neither run nor listed fails.
"""

import shutil
from pathlib import Path

import pytest

from tests.samples.clone import SETUP, clone_environment, fresh_clone, share_results
from tests.samples.markdown import code_blocks, commands, shell
from tests.samples.project import ROOT

pytestmark = [pytest.mark.slow, pytest.mark.xdist_group("study")]

PAGES = ("README.md", "docs/fidelity.md", "docs/cluster.md", "CONTRIBUTING.md")
COMMANDS = list(
    dict.fromkeys(
        command
        for page in PAGES
        for block in code_blocks(ROOT / page)
        if block.language == "sh"
        for command in commands(block)
    )
)
ON_SLURM = "the tests on SLURM run the tiny study so"
REHEARSED = "test_rehearsal.py rehearses a small study so"
NOT_HERE = {
    "make demo": "test_end_of_make_demo_says_how_to_set_up_a_shell",
    "make test": "this is one of its tests",
    "make test-fast": "the same, without the slow ones",
    "make live": "it serves until it is stopped; tests/unit/live opens its page",
    "make simuleval": "`make test` installs it so",
    "make ui": "it serves until it is stopped; test_mlflow.py opens its pages",
    "simt compare sm2/bi waitk": "it refuses systems that do not translate; test_contrast.py",
    "dvc exp run -S methods.sm2.settings.confidence_weight=0.2": "test_dvc.py runs an experiment",
    "simuleval --agent-class simt.agent.SimtAgent --model exported/sm2-bi --knob 0.5 "
    "--source test.de --target test.en": "test_agent.py runs SimulEval for every method",
    "export SIMT_ACCOUNT=… SIMT_PARTITION=… SIMT_GPU_PARTITION=…": ON_SLURM,
    "simt rehearse --study paper --profile slurm": REHEARSED,
    "simt rehearse --study paper --profile slurm --stand-in": REHEARSED,
    "simt rehearse --study paper --stand-in": REHEARSED,
    "snakemake --profile slurm --config study=paper": ON_SLURM,
}
INSTEAD = {  # what would download or train is planned only
    "snakemake --config study=multi30k": "snakemake --config study=multi30k -n --quiet rules",
    "snakemake --config study=paper with_paper=true -- fig03-bleu-al": "snakemake -n --quiet rules "
    "--config study=paper with_paper=true -- fig03-bleu-al",
}


@pytest.fixture(scope="module")
def clone(study: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A fresh clone in which `make demo` makes the tiny study, and has done so."""
    folder = fresh_clone(tmp_path_factory.mktemp("clone"))
    share_results(study, folder)
    for name, old, new in (
        ("params.yaml", "\nstudy: toy ", "\nstudy: tiny "),
        ("Makefile", "study=toy\n", "study=tiny\n"),
        ("Makefile", "--study toy\n", "--study tiny\n"),
    ):
        text = (folder / name).read_text(encoding="utf-8")
        assert text.count(old) == 1
        (folder / name).write_text(text.replace(old, new), encoding="utf-8")
    point = "results/points/tiny-deen/sm2/bi/seed1/test/instances.jsonl"
    shutil.copy(folder / point, folder / "log.jsonl")
    return folder


@pytest.mark.parametrize("command", [one for one in COMMANDS if one not in NOT_HERE])
def test_command_runs_as_typed(clone: Path, command: str) -> None:
    said = shell(clone, clone_environment(clone), *SETUP, INSTEAD.get(command, command))
    assert "Traceback" not in said


def test_readme_says_how_to_set_up_a_shell() -> None:
    assert set(SETUP) <= set(COMMANDS)


def test_no_command_is_excused_that_no_page_has() -> None:
    assert (NOT_HERE | INSTEAD).keys() <= set(COMMANDS)


def test_end_of_make_demo_says_how_to_set_up_a_shell(clone: Path) -> None:
    said = shell(clone, clone_environment(clone), "make demo")
    assert " && ".join(SETUP) in said
