"""The drill: a study whose jobs are killed at random ends with the numbers of a calm one.

The blows are real: signals to the processes of jobs, jobs cancelled in SLURM, Snakemake itself
killed while its jobs go on, and a limit on the size of files, at which a write breaks off in the
middle as on a full disk. A study that failed is started again, as a person would.
"""

import json
import os
import random
import resource
import shutil
import signal
import subprocess
import sys
import time
import zipfile
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Literal

from simt.errors import SimtError

Blow = Literal["SIGKILL", "SIGTERM", "write error", "Snakemake killed", "scancel"]

PROJECT = ("Snakefile", "params.yaml", "environment.yml", "workflow", "slurm")
PAUSE_S = (2.0, 8.0)  # between two blows
RESTARTS = 3  # without any blow, before a study counts as broken
MOST_BYTES = 50_000  # of a file, where a write error strikes


class Rehearsal:
    """One study in a folder of its own, with Snakemake as its user starts it."""

    def __init__(self, folder: Path, study: str, profile: str) -> None:
        self.folder = folder.resolve()
        self.profile = profile
        self.study = study
        self.log = self.folder / "snakemake.log"

    def copy_project(self, project: Path) -> None:
        """Bring in what Snakemake reads, and no results."""
        if self.folder.exists():
            raise SimtError(f"{self.folder} is there already: take it away, or give another --to")
        self.folder.mkdir(parents=True)
        for name in PROJECT:
            if (project / name).is_dir() and not (project / name).is_symlink():
                shutil.copytree(project / name, self.folder / name)
            else:
                shutil.copy(project / name, self.folder / name, follow_symlinks=False)

    def start(self) -> subprocess.Popen[bytes]:
        """Snakemake at work, after a lock that a killed one has left was taken away."""
        self._snakemake("--unlock").wait()
        return self._snakemake()

    def _snakemake(self, *options: str) -> subprocess.Popen[bytes]:
        program = [str(Path(sys.executable).with_name("snakemake")), "--profile", self.profile]
        with self.log.open("ab") as log:
            return subprocess.Popen(
                [*program, "--config", f"study={self.study}", *options],
                cwd=self.folder, stdout=log, stderr=log,
            )  # fmt: skip

    def run_calmly(self) -> None:
        """The study, undisturbed."""
        if self.start().wait():
            raise SimtError(f"the study fails without any blow; see {self.log}")

    def jobs(self) -> list[int]:
        """The processes of jobs that are at work here, whoever has started them."""
        return [int(entry.name) for entry in Path("/proc").iterdir() if self._is_job(entry)]

    def _is_job(self, entry: Path) -> bool:
        try:
            command = (entry / "cmdline").read_bytes().split(b"\0")
            return (entry / "cwd").readlink() == self.folder and any(
                part.endswith(b"/simt") for part in command[:2]
            )
        except OSError:  # not a process, or no longer
            return False

    def slurm_jobs(self) -> list[int]:
        """The jobs that are queued or running from here."""
        asked = ["squeue", "--me", "--noheader", "--Format", "JobID:20,WorkDir:500"]
        said = subprocess.run(asked, capture_output=True, text=True).stdout
        rows = [line.split(maxsplit=1) for line in said.splitlines()]
        return [int(row[0]) for row in rows if row[1].strip() == str(self.folder)]


def drill(
    project: Path,
    folder: Path,
    study: str,
    profile: str,
    seed: int,
    blows: int,
    calm: Path | None,
) -> str:
    """What happened, if the numbers are those of the calm study; otherwise an error."""
    if not Path("/proc/self/cwd").exists():
        raise SimtError("the drill finds the processes of jobs in /proc, which only Linux has")
    if calm is None:
        calm = folder / "calm"
        undisturbed = Rehearsal(calm, study, profile)
        undisturbed.copy_project(project)
        undisturbed.run_calmly()
    rough = Rehearsal(folder / "rough", study, profile)
    rough.copy_project(project)
    struck, starts = run_roughly(rough, choose_blows(profile, seed, blows), random.Random(seed))
    wrong = [*half_written(rough.folder), *differences(calm / "results", rough.folder / "results")]
    if wrong:
        head = f"after {_told(struck)}, {len(wrong)} things in {rough.folder} are not as they were:"
        raise SimtError("\n  ".join([head, *wrong[:20]]))
    files = sum(1 for _ in _files(rough.folder / "results"))
    missed = blows - len(struck)
    return (
        f"{_told(struck)}; Snakemake was started {starts} times. "
        f"All {files} files of study {study} hold the numbers of the calm one."
        + (f" {missed} blows found nothing to strike before the study was over." if missed else "")
    )


def choose_blows(profile: str, seed: int, number: int) -> list[Blow]:
    """Each kind as often as any other, in random order."""
    kinds: list[Blow] = ["SIGKILL", "SIGTERM", "write error", "Snakemake killed"]
    if Path(profile).name == "slurm":
        kinds.append("scancel")
    chosen = [kinds[n % len(kinds)] for n in range(number)]
    random.Random(seed).shuffle(chosen)
    return chosen


def _told(struck: list[Blow]) -> str:
    counts = Counter(struck)
    return f"{len(struck)} blows ({', '.join(f'{n} × {kind}' for kind, n in counts.items())})"


# --- blows ------------------------------------------------------------------------------------


def run_roughly(
    rehearsal: Rehearsal, blows: list[Blow], generator: random.Random
) -> tuple[list[Blow], int]:
    """Run a study to its end under blows; which of them struck, and how often it was started."""
    struck: list[Blow] = []
    starts = calm_starts = 0
    while calm_starts < RESTARTS:
        calm_starts += not blows
        starts += 1
        snakemake = rehearsal.start()
        while snakemake.poll() is None:
            time.sleep(generator.uniform(*PAUSE_S))
            # The first that finds something to strike: there is not always a job to cancel.
            for blow in blows:
                if _strike(blow, rehearsal, snakemake, generator):
                    blows.remove(blow)
                    struck.append(blow)
                    break
        if snakemake.returncode == 0:
            return struck, starts
        if cut := half_written(rehearsal.folder):
            raise SimtError("\n  ".join([f"after {_told(struck)}, half-written files:", *cut]))
    raise SimtError(f"the study does not recover from {_told(struck)}; see {rehearsal.log}")


def _strike(
    blow: Blow,
    rehearsal: Rehearsal,
    snakemake: subprocess.Popen[bytes],
    generator: random.Random,
) -> bool:
    """Whether there was something to strike."""
    if blow == "Snakemake killed":
        snakemake.kill()
        snakemake.wait()
        return True
    victims = rehearsal.slurm_jobs() if blow == "scancel" else rehearsal.jobs()
    if not victims:
        return False
    victim = generator.choice(victims)
    try:
        match blow:
            case "SIGKILL":
                os.kill(victim, signal.SIGKILL)
            case "SIGTERM":
                os.kill(victim, signal.SIGTERM)
            case "write error":
                limit_files(victim, generator.randrange(MOST_BYTES))
            case "scancel":
                subprocess.run(["scancel", str(victim)], check=True)
    except ProcessLookupError:  # it has just ended by itself
        return False
    return True


def limit_files(process: int, size: int) -> None:
    """Let every write of a process fail that would make a file larger."""
    _, hard = resource.prlimit(process, resource.RLIMIT_FSIZE)
    resource.prlimit(process, resource.RLIMIT_FSIZE, (size, hard))


# --- what is whole, and what is the same ----------------------------------------------------------


def _files(results: Path) -> Iterator[Path]:
    """Every file with a final name; in work/ is what a training can go on from."""
    for path in sorted(results.rglob("*")):
        is_final = not path.name.startswith(".") and "work" not in path.relative_to(results).parts
        if path.is_file() and is_final:
            yield path


def half_written(folder: Path) -> list[str]:
    """Files with a final name that break off."""
    return [f"{path}: breaks off" for path in _files(folder / "results") if not _is_whole(path)]


_ENDS = {".pdf": b"%%EOF", ".svg": b"</svg>", ".png": b"IEND\xaeB`\x82", ".html": b"</html>"}


def _is_whole(path: Path) -> bool:
    """As far as a file of its kind can tell."""
    try:
        if path.suffix in (".json", ".jsonl"):
            _rows(path)
        elif path.suffix == ".pt":
            with zipfile.ZipFile(path) as archive:
                return archive.testzip() is None
    except (ValueError, zipfile.BadZipFile):
        return False
    return path.read_bytes().rstrip().endswith(_ENDS.get(path.suffix, b""))


def _rows(path: Path) -> list[Any]:
    """What a JSON file holds, or each of its lines."""
    text = path.read_text(encoding="utf-8")
    if path.suffix == ".json":
        return [json.loads(text)]
    return [json.loads(line) for line in text.splitlines()]


def differences(calm: Path, rough: Path) -> list[str]:
    """Files that only one of two studies has, or that hold other numbers; times do not count."""
    names = [{path.relative_to(results) for path in _files(results)} for results in (calm, rough)]
    only = [f"{name}: only in one of the two" for name in sorted(names[0] ^ names[1])]
    both = sorted(names[0] & names[1])
    return only + [f"{name}: differs" for name in both if not _is_same(calm / name, rough / name)]


def _is_same(one: Path, other: Path) -> bool:
    if one.suffix == ".html":  # a page tells how long its study took
        return True
    if one.suffix in (".json", ".jsonl"):
        return bool(_without_times(_rows(one)) == _without_times(_rows(other)))
    return one.read_bytes() == other.read_bytes()


def _without_times(value: Any) -> Any:
    """Values without what a clock or a memory gauge has measured."""
    if isinstance(value, dict):
        return {k: _without_times(v) for k, v in value.items() if not _is_measured(k)}
    return [_without_times(v) for v in value] if isinstance(value, list) else value


def _is_measured(key: str) -> bool:
    """Computation-aware latency ("ca") has the time of computing in it."""
    return "_ca_" in key or key.endswith(
        ("seconds", "tokens_per_s", "memory_mb", "elapsed", "elapsed_ms")
    )
