"""A command that fails is an error of its rule, told with its log, and with its own exit code."""

import os
import re
import shutil
import subprocess
import sys
import sysconfig
from pathlib import Path

import pytest

from tests.samples.project import ROOT, RULES, TINY, copy_project, name_of

# In the place of `simt`: says why in the log that the rule gives it, and fails.
FAILING = """#!/bin/sh
echo "simt: $3 is broken on purpose" >> "$2"
exit 75
"""


@pytest.fixture(scope="module")
def failing_bin(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Programs of an environment like this one, in which every step fails."""
    folder = tmp_path_factory.mktemp("environment")
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", folder], check=True)
    packages = Path(sysconfig.get_path("purelib", "venv", {"base": str(folder)}))
    (packages / "these.pth").write_text("\n".join([str(ROOT / "src"), *sys.path[1:]]) + "\n")
    simt = folder / "bin" / "simt"
    simt.write_text(FAILING)
    simt.chmod(0o755)
    return folder / "bin"


def test_these_are_all_rules_that_do_something() -> None:
    text = "".join(path.read_text() for path in (ROOT / "workflow" / "rules").glob("*.smk"))
    named = set(re.findall(r'^rule (\w+):|^ +f"(\w+)_\{pair\}"$', text, flags=re.MULTILINE))
    assert {one or other for one, other in named} == set(RULES)


@pytest.mark.slow
@pytest.mark.xdist_group("study")
@pytest.mark.parametrize("rule", RULES)
def test_failing_command_is_an_error_of_its_rule(
    rule: str, study: Path, failing_bin: Path, tmp_path: Path
) -> None:
    folder = copy_project(tmp_path)
    shutil.copytree(study / "results", folder / "results", copy_function=os.link)
    command = [failing_bin / "python", "-m", "snakemake", "--profile", "workflow/profiles/local"]
    done = subprocess.run(
        [*command, *TINY, "--forcerun", name_of(rule), "--until", name_of(rule)],
        cwd=folder, capture_output=True, text=True,
    )  # fmt: skip
    said = done.stdout + done.stderr
    assert done.returncode == 1, said
    assert f"FAILED {rule} " in said
    assert "    | simt: " in said, "the log is shown"
    assert "is broken on purpose" in said
    assert "exit code 75" in said, "the code that asks for a retry arrives"
    assert max(map(len, said.splitlines())) < 1000, "no page of settings"
    assert "missing" not in said, "no talk of files that are slow to appear"
