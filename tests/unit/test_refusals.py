"""What the system refuses, for real: one message that names the place, and nothing half made."""

import json
import os
import subprocess
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path

import pytest

from simt.cli import main
from simt.errors import SimtError
from simt.markers import UnreadableMarkerError, read_marker
from simt.params import load_params
from simt.problems import read_text
from simt.record import RunRecord
from simt.runs import Run, fetch_settings, run_settings
from tests.samples.project import BIN

PARAMS = load_params(Path(__file__).parents[2] / "params.yaml")
SENTENCE = {
    "index": 0, "source": "eins zwei", "source_length": 2, "prediction": "one two",
    "reference": "one two", "delays": [1, 2],
}  # fmt: skip
TOY = {"train": 20, "valid": 2, "test": 2, "aligned": 2}


@pytest.fixture
def read_only(tmp_path: Path) -> Iterator[Path]:
    """A folder of a file system that takes no writes."""
    folder = tmp_path / "mounted"
    folder.mkdir()
    if os.geteuid() != 0:
        pytest.skip("only root can mount a read-only file system")
    mounted = subprocess.run(
        ["mount", "-t", "tmpfs", "-o", "ro", "tmpfs", folder], capture_output=True, text=True
    )
    if mounted.returncode:
        pytest.skip(f"no read-only file system can be mounted here: {mounted.stderr.strip()}")
    yield folder
    subprocess.run(["umount", folder], check=True)


@pytest.fixture
def log(tmp_path: Path) -> Path:
    path = tmp_path / "log.jsonl"
    path.write_text(f"{json.dumps(SENTENCE)}\n")
    return path


def small_fetch() -> str:
    settings = fetch_settings(PARAMS, "tiny-deen").as_values()
    settings["toy"]["sizes"] = TOY
    return json.dumps(settings)


def writing_commands(log: Path, to: Path) -> dict[str, list[str]]:
    """Commands that get as far as writing to ``to``."""
    training = run_settings(PARAMS, Run("tiny-deen", "waitk", "k3", 1)).as_json()
    return {
        "fetch": ["fetch", "--settings", small_fetch(), "--to", str(to)],
        "simuleval": ["simuleval", str(log), "--to", str(to)],
        "score": ["score", str(log), "--json", str(to / "scores.json")],
        "train": ["train", "--settings", training, "--corpus", "nowhere", "--to", str(to)],
    }


NAMES = ("fetch", "simuleval", "score", "train")


def refusal(capsys: pytest.CaptureFixture[str], command: list[str]) -> str:
    assert main(command) == 1
    said = capsys.readouterr().err
    assert said.startswith("simt: ")
    assert len(said.splitlines()) == 1
    return said


@pytest.mark.parametrize("name", NAMES)
def test_read_only_file_system_is_one_message(
    name: str, log: Path, read_only: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    to = read_only / "out"
    said = refusal(capsys, writing_commands(log, to)[name])
    assert str(to) in said
    assert "Read-only file system" in said


@pytest.mark.parametrize("name", NAMES)
def test_file_where_a_folder_must_be_is_one_message(
    name: str, log: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    to = tmp_path / "file"
    to.write_text("mine")
    said = refusal(capsys, writing_commands(log, to)[name])
    assert str(to) in said
    assert to.read_text() == "mine"


@pytest.mark.parametrize(
    ("name", "file"),
    [("fetch", "manifest.json"), ("simuleval", "all/instances.log"), ("score", "scores.json")],
)
def test_folder_where_a_file_must_be_is_one_message(
    name: str, file: str, log: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    to = tmp_path / "out"
    (to / file / "inner").mkdir(parents=True)
    said = refusal(capsys, writing_commands(log, to)[name])
    assert Path(file).name in said
    assert (to / file / "inner").is_dir()
    assert not list(to.rglob("*.tmp"))


@pytest.mark.parametrize("command", ["score", "latency"])
def test_folder_for_a_log_of_instances_is_one_message(
    command: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    said = refusal(capsys, [command, str(tmp_path)])
    assert said == f"simt: {tmp_path} cannot be read: Is a directory\n"


def test_folder_for_the_log_of_a_command_costs_only_the_log(
    log: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["--log", str(tmp_path), "score", str(log)]) == 0
    said = capsys.readouterr()
    assert said.err == f"simt: no log in {tmp_path}: Is a directory\n"
    assert "bleu" in said.out


def test_name_that_is_no_utf8_can_be_scored(
    log: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    odd = tmp_path / os.fsdecode(b"\xff.jsonl")
    log.rename(odd)
    assert main(["score", str(odd)]) == 0
    assert "1 sentence\n" in capsys.readouterr().out


@pytest.fixture
def forbidden(tmp_path: Path) -> Iterator[Path]:
    """A file that may not be read; root, who may read all, is somebody else for a while."""
    path = tmp_path / "folder" / "settings.json"
    path.parent.mkdir()
    path.write_text("{}")
    path.parent.chmod(0)
    user = os.geteuid()
    if user == 0:
        os.seteuid(65534)
    yield path
    os.seteuid(user)
    path.parent.chmod(0o700)


def rows_of(path: Path) -> object:
    run = Run("tiny-deen", "waitk", "k3", 1)
    return RunRecord(run, {}, "finished", 0.0, "", {}, path, {}).rows()


@pytest.mark.parametrize("read", [partial(read_text, remedy="make it again"), read_marker, rows_of])
def test_file_that_may_not_be_read_is_not_to_be_made_again(
    read: Callable[[Path], object], forbidden: Path
) -> None:
    with pytest.raises(SimtError) as caught:
        read(forbidden)
    assert not isinstance(caught.value, UnreadableMarkerError)  # which means that it is damaged
    told = f"{forbidden} cannot be read: Permission denied; correct its permissions"
    assert str(caught.value) == told


# --- closed streams -------------------------------------------------------------------------------


def in_shell(command: str, cwd: Path) -> tuple[int, str, str]:
    done = subprocess.run(
        ["bash", "-c", f"{BIN / 'simt'} {command}"], cwd=cwd, capture_output=True, text=True
    )
    return done.returncode, done.stdout, done.stderr


def test_closed_output_is_one_message_where_it_is_all_that_there_is(log: Path) -> None:
    lost = (1, "", "simt: standard output is closed: send it to a file or a pipe\n")
    assert in_shell(f"latency {log} >&-", log.parent) == lost


def test_closed_output_does_not_matter_where_files_are_written(log: Path) -> None:
    assert in_shell(f"simuleval {log} --to out >&-", log.parent) == (0, "", "")
    instance = json.loads((log.parent / "out/all/instances.log").read_text())
    assert instance["prediction"] == SENTENCE["prediction"]


def test_closed_output_does_not_matter_to_a_log(log: Path) -> None:
    assert in_shell(f"--log said.log latency {log} >&-", log.parent) == (0, "", "")
    assert "1 sentence" in (log.parent / "said.log").read_text()


def test_message_for_closed_errors_is_not_output(log: Path) -> None:
    assert in_shell("latency nowhere 2>&-", log.parent) == (1, "", "")
