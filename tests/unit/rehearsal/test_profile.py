"""Who runs the jobs of a rehearsal, by the profile that Snakemake will read."""

from pathlib import Path

import pytest

from simt.cli import main
from simt.errors import SimtError
from simt.rehearsal import executor_of

PROFILES = Path(__file__).parents[3] / "workflow" / "profiles"


def test_profiles_that_come_with_simt_say_where_jobs_run() -> None:
    assert executor_of(str(PROFILES / "slurm")) == "simt-slurm"
    assert not executor_of(str(PROFILES / "local"))


@pytest.mark.parametrize("text", ["executor: slurm\njobs: 100\n", "jobs: 100\nexecutor: slurm\n"])
def test_profile_of_ones_own_is_found_by_its_name(
    text: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))
    monkeypatch.setattr("snakemake.common.APPDIRS", None, raising=False)
    folder = tmp_path / "config" / "snakemake" / "ours"
    folder.mkdir(parents=True)
    (folder / "config.yaml").write_text(text)
    assert executor_of("ours") == "slurm"


def test_profile_that_is_nowhere_is_refused_before_anything_is_made(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "workflow").symlink_to(PROFILES.parent)
    params = str(PROFILES.parents[1] / "params.yaml")
    asked = ["rehearse", "--study", "tiny", "--profile", "slurn", "--params", params]
    assert main(asked) == 1
    said = capsys.readouterr()
    assert said.err.startswith("simt: --profile 'slurn': no folder with a config.yaml of that name")
    assert "there are workflow/profiles/local, workflow/profiles/slurm" in said.err
    assert not said.out
    assert [path.name for path in tmp_path.iterdir()] == ["workflow"]


def test_profile_that_is_not_yaml_is_told(tmp_path: Path) -> None:
    (tmp_path / "config.yaml").write_text("executor: [slurm\n")
    with pytest.raises(SimtError, match=r"is not YAML: correct config\.yaml"):
        executor_of(str(tmp_path))
