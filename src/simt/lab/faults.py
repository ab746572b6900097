"""Fault injection: a study whose jobs meet faults ends with the numbers of an undisturbed one.

The faults are real: signals, jobs cancelled in SLURM, Snakemake killed while its jobs go on, disks
that are full or read-only for some seconds, limits on memory and on the size of files, a clock that
was set back. A study that failed is started again, as a person would.
"""

import json
import os
import random
import resource
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import zipfile
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from simt.errors import SimtError
from simt.products import WORK_FOLDER

Fault = Literal[
    "SIGKILL",
    "SIGTERM",
    "process group",
    "stopped process",
    "write error",
    "log disk full",
    "disk full",
    "read-only",
    "out of memory",
    "clock set back",
    "Snakemake killed",
    "scancel",
]
ON_SLURM: tuple[Fault, ...] = (
    "SIGKILL", "SIGTERM", "write error", "Snakemake killed", "scancel",
)  # fmt: skip
LOCALLY: tuple[Fault, ...] = (
    "SIGKILL", "SIGTERM", "process group", "stopped process", "write error", "out of memory",
    "clock set back", "Snakemake killed",
)  # fmt: skip
OF_DISKS: tuple[Fault, ...] = ("log disk full", "disk full", "read-only")  # only root may mount

PROJECT = ("Snakefile", "params.yaml", "environment.yml", "workflow", "slurm")
PAUSE_S = (2.0, 8.0)  # between two faults
LASTS_S = 6.0  # a fault that passes
RESTARTS = 3  # without any fault, before a study counts as broken
MOST_BYTES = 50_000  # of a file, where a write error hits
DISK_BYTES = 1 << 30  # of the disk that a study has for itself, where it may be mounted
LOG_BYTES = 4096
SPARE_BYTES = 1 << 20  # of memory, for a process that will soon have no more
SET_BACK_S = 7200


@dataclass(frozen=True)
class Hit:
    """What a fault did: what it hit, and how it passes; ``undo`` may be called at any time."""

    fault: Fault
    undo: Callable[[], None] = lambda: None


class StudyRun:
    """One study in a folder of its own, with Snakemake as its user starts it."""

    def __init__(self, folder: Path, study: str, profile: str) -> None:
        self.folder = folder.resolve()
        self.profile = profile
        self.study = study
        self.log = self.folder.with_name(f"{self.folder.name}.log")

    def copy_project(self, project: Path, has_own_disk: bool = False) -> None:
        """Bring in what Snakemake reads, and no results."""
        if self.folder.exists():
            raise SimtError(f"{self.folder} already exists: remove it, or give another --to")
        self.folder.mkdir(parents=True)
        if has_own_disk:
            _mount(self.folder, "-t", "tmpfs", "-o", f"size={DISK_BYTES}", "simt-faults")
        for name in PROJECT:
            if (project / name).is_dir() and not (project / name).is_symlink():
                shutil.copytree(project / name, self.folder / name)
            else:
                shutil.copy(project / name, self.folder / name, follow_symlinks=False)

    def keep(self) -> None:
        """Move what the study made from its own disk, if it has one, to the disk below."""
        if not os.path.ismount(self.folder):
            return
        kept = self.folder.with_name(f"{self.folder.name}-kept")
        shutil.copytree(self.folder, kept, symlinks=True)
        _unmount(self.folder)
        self.folder.rmdir()
        kept.rename(self.folder)

    def start(self) -> subprocess.Popen[bytes]:
        """Snakemake at work, after a lock that a killed one has left was taken away."""
        self._snakemake("--unlock").wait()
        return self._snakemake()

    def _snakemake(self, *options: str) -> subprocess.Popen[bytes]:
        program = [str(Path(sys.executable).with_name("snakemake")), "--profile", self.profile]
        with self.log.open("ab") as log:
            return subprocess.Popen(
                [*program, "--config", f"study={self.study}", *options],
                cwd=self.folder, stdout=log, stderr=log, start_new_session=True,
            )  # fmt: skip

    def run_undisturbed(self) -> None:
        """The study, without any fault."""
        if self.start().wait():
            raise SimtError(f"the study fails without any fault; see {self.log}")

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


def inject_faults(
    project: Path,
    folder: Path | None,
    study: str,
    profile: str,
    seed: int,
    number: int,
    baseline: Path | None,
) -> str:
    """What happened, if the numbers are those of the undisturbed study; otherwise an error.

    Without a ``folder`` it works in a temporary one, which stays where it has failed, with its log.
    """
    if not Path("/proc/self/cwd").exists():
        raise SimtError("the processes of jobs are looked for in /proc, which only Linux has")
    if folder is None:
        folder = Path(tempfile.mkdtemp(prefix="simt-faults-"))
        said = inject_faults(project, folder, study, profile, seed, number, baseline)
        shutil.rmtree(folder)
        return said
    if baseline is None:
        baseline = folder / "baseline"
        undisturbed = StudyRun(baseline, study, profile)
        undisturbed.copy_project(project)
        undisturbed.run_undisturbed()
    started = time.monotonic()
    disturbed = StudyRun(folder / "disturbed", study, profile)
    disturbed.copy_project(project, has_own_disk="disk full" in possible_faults(profile))
    try:
        hits, starts = run_with_faults(
            disturbed, choose_faults(profile, seed, number), random.Random(seed)
        )
    finally:
        disturbed.keep()
    results = disturbed.folder / "results"
    wrong = [*half_written(disturbed.folder), *differences(baseline / "results", results)]
    if wrong:
        head = f"after {_told(hits)}, {len(wrong)} things in {results} are not as they were:"
        raise SimtError("\n  ".join([head, *wrong[:20]]))
    files = sum(1 for _ in _files(results))
    missed = number - len(hits)
    minutes = (time.monotonic() - started) / 60
    return (
        f"{_told(hits)} in {minutes:.0f} min; Snakemake was started {starts} times. "
        f"All {files} files of study {study} hold the numbers of the undisturbed one."
        + (f" {missed} faults met nothing before the study was over." if missed else "")
    )


def possible_faults(profile: str) -> tuple[Fault, ...]:
    """What can be done here to a study that runs with a profile."""
    if Path(profile).name == "slurm":
        return ON_SLURM
    return (*LOCALLY, *OF_DISKS) if may_mount() else LOCALLY


def choose_faults(profile: str, seed: int, number: int) -> list[Fault]:
    """Each kind that is possible here as often as any other, in random order."""
    kinds = possible_faults(profile)
    chosen = [kinds[n % len(kinds)] for n in range(number)]
    random.Random(seed).shuffle(chosen)
    return chosen


def _told(hits: list[Fault]) -> str:
    counts = Counter(hits)
    return f"{len(hits)} faults ({', '.join(f'{n} × {kind}' for kind, n in counts.items())})"


# --- faults -----------------------------------------------------------------------------------


def run_with_faults(
    run: StudyRun, faults: list[Fault], generator: random.Random
) -> tuple[list[Fault], int]:
    """Run a study to its end under faults; which of them hit, and how often it was started."""
    hits: list[Fault] = []
    starts = quiet_starts = 0
    while quiet_starts < RESTARTS:
        quiet_starts += not faults
        starts += 1
        snakemake = run.start()
        while snakemake.poll() is None:
            time.sleep(generator.uniform(*PAUSE_S))
            # The first that meets something: there is not always a job to cancel.
            for fault in faults:
                if hit := inject(fault, run, snakemake, generator):
                    faults.remove(fault)
                    hits.append(fault)
                    _let_pass(hit, snakemake)
                    break
        if snakemake.returncode == 0:
            return hits, starts
        if cut := half_written(run.folder):
            raise SimtError("\n  ".join([f"after {_told(hits)}, half-written files:", *cut]))
    raise SimtError(f"the study does not recover from {_told(hits)}; see {run.log}")


def _let_pass(hit: Hit, snakemake: subprocess.Popen[bytes]) -> None:
    """Leave a fault that passes in place for some seconds."""
    if hit.fault in ("log disk full", "disk full", "read-only", "stopped process"):
        time.sleep(LASTS_S)
    hit.undo()


def inject(
    fault: Fault, run: StudyRun, snakemake: subprocess.Popen[bytes], generator: random.Random
) -> Hit | None:
    """The fault, if there was something to meet."""
    if fault in _OF_THE_STUDY:
        return _OF_THE_STUDY[fault](run, snakemake)
    victims = run.slurm_jobs() if fault == "scancel" else run.jobs()
    if not victims:
        return None
    victim = generator.choice(victims)
    try:
        match fault:
            case "SIGKILL":
                os.kill(victim, signal.SIGKILL)
            case "SIGTERM":
                os.kill(victim, signal.SIGTERM)
            case "stopped process":
                os.kill(victim, signal.SIGSTOP)
                return Hit(fault, lambda: _continue(victim))
            case "write error":
                limit_files(victim, generator.randrange(MOST_BYTES))
            case "out of memory":
                limit_memory(victim)
            case "scancel":
                subprocess.run(["scancel", str(victim)], check=True)
    except (ProcessLookupError, FileNotFoundError):  # it has just ended by itself
        return None
    return Hit(fault)


def _continue(process: int) -> None:
    try:
        os.kill(process, signal.SIGCONT)
    except ProcessLookupError:  # someone has killed it meanwhile
        return


def limit_files(process: int, size: int) -> None:
    """Let every write of a process fail that would make a file larger."""
    _, hard = resource.prlimit(process, resource.RLIMIT_FSIZE)
    resource.prlimit(process, resource.RLIMIT_FSIZE, (size, hard))


def limit_memory(process: int) -> None:
    """Let a process have hardly more memory than it has now."""
    pages = int(Path(f"/proc/{process}/statm").read_text().split()[0])
    _, hard = resource.prlimit(process, resource.RLIMIT_AS)
    most = pages * resource.getpagesize() + SPARE_BYTES
    resource.prlimit(process, resource.RLIMIT_AS, (most, hard))


def _kill_snakemake(run: StudyRun, snakemake: subprocess.Popen[bytes]) -> Hit:
    snakemake.kill()
    snakemake.wait()
    return Hit("Snakemake killed")


def _end_group(run: StudyRun, snakemake: subprocess.Popen[bytes]) -> Hit | None:
    """As when a session ends: Snakemake and all that it has started are asked to stop."""
    if not run.jobs():
        return None
    os.killpg(snakemake.pid, signal.SIGTERM)
    snakemake.wait()
    return Hit("process group")


def _fill_logs(run: StudyRun, snakemake: subprocess.Popen[bytes]) -> Hit:
    """The logs of jobs that start now are on a disk on which nothing fits."""
    logs = run.folder / "logs"
    logs.mkdir(exist_ok=True)
    _mount(logs, "-t", "tmpfs", "-o", f"size={LOG_BYTES}", "simt-faults")
    (logs / "full").write_bytes(bytes(LOG_BYTES))
    return Hit("log disk full", lambda: _unmount(logs))


def _fill_disk(run: StudyRun, snakemake: subprocess.Popen[bytes]) -> Hit:
    """Nothing can be written anywhere below the study's folder."""
    ballast = run.folder / "ballast"
    with ballast.open("wb", buffering=0) as stream, suppress(OSError):
        while True:  # others may write, too: what is free is known when there is no more
            stream.write(bytes(1 << 20))
    return Hit("disk full", ballast.unlink)


def _write_protect(run: StudyRun, snakemake: subprocess.Popen[bytes]) -> Hit | None:
    """The results are on a file system that has become read-only."""
    results = run.folder / "results"
    if not results.exists():
        return None
    _mount(results, "--bind", str(results))
    done = subprocess.run(["mount", "-o", "remount,bind,ro", str(results)], capture_output=True)
    if done.returncode:  # somebody writes right now
        _unmount(results)
        return None
    return Hit("read-only", lambda: _unmount(results))


def _set_back_clock(run: StudyRun, snakemake: subprocess.Popen[bytes]) -> Hit | None:
    """What has been made is of a time that is still to come."""
    files = list(_files(run.folder / "results"))
    for path in files:
        later = path.stat().st_mtime + SET_BACK_S
        os.utime(path, (later, later))
    return Hit("clock set back") if files else None


_OF_THE_STUDY: dict[Fault, Callable[[StudyRun, subprocess.Popen[bytes]], Hit | None]] = {
    "Snakemake killed": _kill_snakemake,
    "process group": _end_group,
    "log disk full": _fill_logs,
    "disk full": _fill_disk,
    "read-only": _write_protect,
    "clock set back": _set_back_clock,
}


def may_mount() -> bool:
    """Whether disks can be mounted here: root, and a system that lets it."""
    return os.geteuid() == 0 and shutil.which("mount") is not None


def _mount(at: Path, *options: str) -> None:
    subprocess.run(["mount", *options, str(at)], check=True, capture_output=True)


def _unmount(at: Path) -> None:
    """Also while files on it are open: they are then written to a disk that nobody sees."""
    subprocess.run(["umount", "--lazy", str(at)], check=True, capture_output=True)


# --- what is whole, and what is the same ----------------------------------------------------------


def _files(results: Path) -> Iterator[Path]:
    """Every file with a final name; in work/ is what a training can resume from."""
    for path in sorted(results.rglob("*")):
        parts = path.relative_to(results).parts
        is_final = WORK_FOLDER not in parts and not any(part.startswith(".") for part in parts)
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


def differences(baseline: Path, disturbed: Path) -> list[str]:
    """Files that only one of two studies has, or that hold other numbers; times do not count."""
    studies = (baseline, disturbed)
    names = [{path.relative_to(results) for path in _files(results)} for results in studies]
    only = [f"{name}: only in one of the two" for name in sorted(names[0] ^ names[1])]
    both = sorted(names[0] & names[1])
    return only + [
        f"{name}: differs" for name in both if not _is_same(baseline / name, disturbed / name)
    ]


def _is_same(one: Path, other: Path) -> bool:
    if one.suffix == ".html":  # a page tells how long its study took
        return True
    if one.suffix in (".json", ".jsonl"):
        return bool(_without_times(_rows(one)) == _without_times(_rows(other)))
    return one.read_bytes() == other.read_bytes()


def _without_times(value: Any) -> Any:
    """Values without what a clock or a memory gauge has measured, and when a training resumed."""
    if isinstance(value, dict):
        return {k: _without_times(v) for k, v in value.items() if not _is_measured(k)}
    return [_without_times(v) for v in value] if isinstance(value, list) else value


def _is_measured(key: str) -> bool:
    """Computation-aware latency ("ca") has the time of computing in it.

    So have the files that markers vouch for; they are compared themselves.
    """
    return (
        "_ca_" in key
        or key == "resumed_after_updates"
        or key.endswith(
            ("seconds", "tokens_per_s", "memory_mb", "elapsed", "elapsed_ms", "files", "made_from")
        )
    )
