"""A fresh clone of the repository, with its environment and the results of the tiny study."""

import os
import shutil
import subprocess
from pathlib import Path

from tests.samples.project import BIN, ROOT

SETUP = ("source .venv/bin/activate", "export SNAKEMAKE_PROFILE=workflow/profiles/local")
_SOMEONE = {
    f"GIT_{role}_{what}": value
    for role in ("AUTHOR", "COMMITTER")
    for what, value in (("NAME", "someone"), ("EMAIL", "someone@example.org"))
}


def fresh_clone(to: Path) -> Path:
    """What a clone of the next commit would have, and ``.venv`` as `make` would have left it."""
    listed = subprocess.run(
        ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"],
        cwd=ROOT, capture_output=True, text=True, check=True,
    )  # fmt: skip
    for name in listed.stdout.split("\0"):
        if name and os.path.lexists(ROOT / name):
            (to / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(ROOT / name, to / name, follow_symlinks=False)
    for command in (["init"], ["add", "--all"], ["commit", "--message", "all"]):
        subprocess.run(
            ["git", *command],
            cwd=to, env=clone_environment(to), check=True, capture_output=True,
        )  # fmt: skip
    (to / ".venv").mkdir()
    (to / ".venv/bin").symlink_to(BIN)
    (to / ".venv/.installed").touch()  # newer than what it depends on: nothing is installed
    return to


def clone_environment(clone: Path) -> dict[str, str]:
    """Packages are those of this environment, but simt is that of the clone."""
    return {
        **os.environ,
        **_SOMEONE,
        "GIT_CONFIG_GLOBAL": os.devnull,
        "PYTHONPATH": str(clone / "src"),
    }


def share_results(study: Path, clone: Path) -> None:
    """The finished study in ``clone``, too. Steps replace files and never change them: links do."""
    shutil.copytree(study / "results", clone / "results", copy_function=os.link)
    shutil.copytree(study / ".snakemake", clone / ".snakemake", symlinks=True)
