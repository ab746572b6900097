"""The site's file, read with the SLURM profile by a real Snakemake."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from simt.errors import SimtError
from simt.site import Site, read_site

ROOT = Path(__file__).parents[2]
BIN = Path(sys.executable).parent


def test_site_without_a_file_says_nothing(tmp_path: Path) -> None:
    assert read_site(tmp_path / "slurm.yaml", {}) == Site()


def test_environment_comes_before_the_file(tmp_path: Path) -> None:
    file = tmp_path / "slurm.yaml"
    file.write_text("account: babel\npartition: cpu\ngpu_partition:\n")
    site = read_site(file, {"SIMT_PARTITION": "long", "SIMT_GPU_PARTITION": ""})
    assert site == Site(account="babel", partition="long")


def test_file_of_comments_says_nothing(tmp_path: Path) -> None:
    file = tmp_path / "slurm.yaml"
    file.write_text("# account: babel\n")
    assert read_site(file, {}) == Site()


@pytest.mark.parametrize(
    ("content", "says"),
    [
        (b"- babel\n", "is not a mapping of keys to values"),
        (b"acount: babel\n", "slurm.acount: unknown setting (did you mean account?)"),
        (b"account: 123\n", "slurm.account: 123: input should be a valid string"),
        (b"account: [a]\n", 'slurm.account: ["a"]: input should be a valid string'),
        (b"account: 2024-01-01\n", "account: 2024-01-01 is of type timestamp"),
        (b"resources: {trian: {runtime: 3}}\n", "slurm.resources.trian"),
        (b"resources: {train: {runtime: [3]}}\n", "slurm.resources.train.runtime"),
        (b"account: [", "is not YAML"),
        (b"account: \xff\n", "is not YAML"),
        (None, "cannot be read: Is a directory"),
    ],
)
def test_wrong_file_is_named(content: bytes | None, says: str, tmp_path: Path) -> None:
    file = tmp_path / "slurm.yaml"
    file.mkdir() if content is None else file.write_bytes(content)
    with pytest.raises(SimtError) as caught:
        read_site(file, {})
    assert str(file) in str(caught.value)
    assert says in str(caught.value)


def planned_with(content: str, home: Path) -> subprocess.CompletedProcess[str]:
    """The tiny study as Snakemake plans it where the site's file says this."""
    file = home / ".config" / "simt" / "slurm.yaml"
    file.parent.mkdir(parents=True)
    file.write_text(content)
    return subprocess.run(
        [BIN / "snakemake", "--profile", "slurm", "-n", "--forceall", "--config", "study=tiny"],
        cwd=ROOT, env=os.environ | {"HOME": str(home)}, capture_output=True, text=True,
    )  # fmt: skip


@pytest.mark.slow
def test_snakemake_names_the_wrong_file(tmp_path: Path) -> None:
    done = planned_with("- babel\n", tmp_path)
    assert done.returncode != 0
    assert "slurm.yaml is not a mapping of keys to values" in done.stderr
    assert "Traceback" not in done.stderr


@pytest.mark.slow
def test_resources_of_a_site_come_on_top_of_those_of_the_profile(tmp_path: Path) -> None:
    wanted = "{train: {runtime: 720}, decode: {slurm_partition: big}, bpe_tiny-deen: {mem_mb: 7}}"
    done = planned_with(f"gpu_partition: gpu\nresources: {wanted}\n", tmp_path)
    jobs = re.findall(r"rule (\S+):\n(?: +.+\n)*? +resources: (.+)\n", done.stdout)
    asked = {rule: set(resources.split(", ")) for rule, resources in jobs}
    assert asked["train"] >= {"runtime=720", "slurm_partition=gpu", "nodes=1", "mem_mb=8000"}
    assert any(one.startswith("launcher=srun ") for one in asked["train"])
    assert asked["decode"] >= {"slurm_partition=big", "slot=1", "runtime=60"}
    assert asked["score"] >= {"slurm_partition=gpu", "slot=1"}
    assert asked["bpe_tiny-deen"] >= {"mem_mb=7", "runtime=240"}
