"""The dress rehearsal of a study: the same graph with a little of everything, in its own folder.

``rehearsals/<study>/`` has a shrunk params.yaml, and the real Snakefile runs there. All paths of
the project are relative to the folder that one is in, so that nothing outside of it is touched.
"""

import os
import shutil
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import chdir, contextmanager
from dataclasses import dataclass
from pathlib import Path

import yaml

from simt.atomic import atomic_file, write_json
from simt.corpus.fetch import is_fetched, note_of
from simt.cost import study_cost
from simt.errors import SimtError
from simt.gpus import gpus_here
from simt.likeness import OF_MODELS
from simt.locks import has_taken
from simt.params import Params, load_params
from simt.problems import Problems, did_you_mean
from simt.rehearsal.disk import DiskNeed, disk_need, folder_bytes, unknown_sizes
from simt.rehearsal.missing import Missing, missing_items, to_stand_in
from simt.rehearsal.outcome import Failure, failures, gather, measurements
from simt.rehearsal.page import Rehearsal, write_page
from simt.rehearsal.shrinking import ON_CPU, ON_GPU, STAND_INS, Names, shrunk
from simt.rehearsal.stand_in import write_stand_ins
from simt.runs import MEASUREMENTS_FILE, REHEARSALS, corpus_folder, fetch_settings, prepare_settings
from simt.strict_yaml import read_yaml
from simt.wording import gigabytes

NOTE = "REHEARSAL.txt"
_NOTE = """\
This folder holds a dress rehearsal of the study {study}: a few updates on a little text.
None of its numbers is a result. It can be deleted at any time; `simt rehearse` makes it.
"""
PAGE = "rehearsal.html"
_LOOK_EVERY_S = 5.0  # at the disk
# What the study would try again must show, at the first try.
ONCE = ("--retries", "0", "--preemptible-retries", "0")

Say = Callable[[str], None]


@dataclass(frozen=True)
class Choices:
    """What a person asks for."""

    params: Path
    study: str
    fidelity: str
    profile: str
    is_standing_in: bool
    corpora: Path | None  # the user's SIMT_CORPORA
    models: Path | None  # and SIMT_MODELS


def rehearse(choices: Choices, say: Say) -> str:
    """What came of it, if every job has succeeded; otherwise an error that says what did not."""
    params = load_params(choices.params, choices.study, choices.fidelity)
    _find_profile(choices.profile)
    missing = missing_items(params, choices.corpora, choices.models)
    need = disk_need(params)
    for line in [*_disk_lines(need), *_missing_lines(missing)]:
        say(line)
    if missing and not choices.is_standing_in:
        raise SimtError(
            f"{len(missing)} things are missing; nothing has been run. Get them, or rehearse with "
            "what stands in for them: --stand-in"
        )
    folder = REHEARSALS / choices.study
    folder.mkdir(parents=True, exist_ok=True)
    with _only_one(folder / "lock") as lock:
        here = _set_up(folder, params, choices, to_stand_in(params, missing))
        started = time.time()
        is_whole, peak = _run(folder, choices, lock)
        seconds = time.time() - started
        with chdir(folder):
            jobs = gather(here)
            found = failures(jobs, _log_of_snakemake())
        write_json(folder / MEASUREMENTS_FILE, measurements(jobs))
        rehearsal = Rehearsal(
            params=params, profile=Path(choices.profile).name, jobs=jobs,
            failures=found, missing=missing, need=need, free=shutil.disk_usage(folder).free,
            peak_bytes=peak, seconds=seconds,
            device_hours=study_cost(params).planned.device_hours,
        )  # fmt: skip
        write_page(rehearsal, folder / PAGE)
    return _verdict(rehearsal, folder, is_whole)


# --- before it starts -------------------------------------------------------------------------


def _find_profile(profile: str) -> Path:
    """The file of a profile where Snakemake finds it; an error if it is nowhere."""
    from snakemake.cli import get_profile_dir  # type: ignore[import-untyped] # takes a second
    from snakemake.common import get_appdirs  # type: ignore[import-untyped]

    if found := get_profile_dir(profile) if profile else None:
        return Path(found[1])
    own = [str(path.parent) for path in sorted(Path("workflow/profiles").glob("*/config.yaml"))]
    there_are = f"; there are {', '.join(own)}" if own else ""
    raise SimtError(
        f"--profile {profile!r}: no folder with a config.yaml of that name, neither here nor in "
        f"{get_appdirs().user_config_dir} or {get_appdirs().site_config_dir}"
        f"{did_you_mean(profile, own)}{there_are}"
    )


def _disk_lines(need: DiskNeed) -> Iterator[str]:
    free = shutil.disk_usage(".").free
    parts = (
        f"{gigabytes(need.weights)} of weights",
        f"{gigabytes(need.training)} for each training of its largest model while it lasts",
        f"{gigabytes(need.text)} of text{unknown_sizes(need.unknown)}",
    )
    whole = f"The study itself needs about {gigabytes(need.least)} of disk"
    yield f"{whole}: {', '.join(parts)}. Free: {gigabytes(free)}"
    if free < need.least:
        yield f"WARNING: that is {gigabytes(need.least - free)} too little for the study"


def _missing_lines(missing: list[Missing]) -> Iterator[str]:
    if missing:
        yield "Not there yet:"
    for one in missing:
        first, *rest = one.remedy.split("\n")
        yield f"  {one.what}: {first}"
        yield from (f"    {line}" for line in rest)


@contextmanager
def _only_one(path: Path) -> Iterator[int]:
    """The file that one rehearsal of a study holds at a time, for its Snakemake to hold on to."""
    with path.open("a") as stream:
        danger = "nothing keeps another rehearsal from the same folder"
        if not has_taken(stream.fileno(), path, danger):
            raise SimtError(f"another rehearsal is running in {path.parent}: wait for it")
        yield stream.fileno()


def _set_up(folder: Path, params: Params, choices: Choices, stand_ins: Names) -> Params:
    """The shrunk parameters, which are then in the folder with all that is read there."""
    amounts = ON_CPU if _is_on_cpu(choices.profile) else ON_GPU
    raw = read_yaml(choices.params, Problems())  # it has none: it was loaded before
    values = shrunk(raw, choices.study, choices.fidelity, amounts, stand_ins)
    with atomic_file(folder / NOTE) as stream:
        stream.write(_NOTE.format(study=choices.study))
    text = yaml.safe_dump(values, sort_keys=False, allow_unicode=True)
    path = folder / "params.yaml"
    if not path.exists() or path.read_text(encoding="utf-8") != text:
        with atomic_file(path) as stream:
            stream.write(text)
    here = load_params(path)
    _link_corpora(choices.corpora, folder / "corpora")
    for pair, entries in stand_ins.items():
        settings = prepare_settings(here, pair)
        write_stand_ins(settings, entries, folder / "corpora" / STAND_INS / pair)
    for pair in params.chosen_study.runs:
        _link_raw(params, pair, set(stand_ins.get(pair, ())), folder)
    return here


def _is_on_cpu(profile: str) -> bool:
    """Whether jobs run on this machine, and it has no GPU; elsewhere there are some."""
    return not executor_of(profile) and not gpus_here()


def executor_of(profile: str) -> str:
    """Who runs the jobs elsewhere, by the profile where Snakemake finds it; "" for nobody."""
    path = _find_profile(profile)
    try:
        settings = yaml.safe_load(path.read_text(encoding="utf-8"))
    except (yaml.YAMLError, UnicodeDecodeError):
        raise SimtError(f"the profile {profile} is not YAML: correct {path.name}") from None
    executor = settings.get("executor", "") if isinstance(settings, dict) else ""
    return "" if executor == "local" else str(executor)


def _link_corpora(corpora: Path | None, to: Path) -> None:
    """A folder of corpora in which the user's own are found beside what stands in."""
    to.mkdir(exist_ok=True)
    for old in to.iterdir():
        if old.is_symlink():
            old.unlink()
    if corpora is not None and corpora.is_dir():
        for entry in corpora.resolve().iterdir():
            if entry.name != STAND_INS:
                (to / entry.name).symlink_to(entry)


def _link_raw(params: Params, pair: str, stand_ins: set[str], folder: Path) -> None:
    """What the study has fetched is not fetched again: links to its files, which are only read."""
    if params.pairs[pair].toy is not None:
        return
    raw = corpus_folder(pair, "fetch")
    for entry, wanted in fetch_settings(params, pair).wanted().items():
        if entry in stand_ins or not is_fetched(raw, entry, wanted):
            continue
        for path in (note_of(raw, entry), *(raw / entry / inside for inside in wanted)):
            link = folder / path
            if not link.exists():
                link.parent.mkdir(parents=True, exist_ok=True)
                link.unlink(missing_ok=True)
                link.symlink_to(path.resolve())


# --- the run ----------------------------------------------------------------------------------


def _run(folder: Path, choices: Choices, lock: int) -> tuple[bool, int]:
    """Whether Snakemake was content, and the most disk that the folder took meanwhile.

    Whoever stops it, with Ctrl-C, still gets the page of what was done.
    """
    project = Path.cwd()
    program = [str(Path(sys.executable).with_name("snakemake")),
               "--snakefile", str(project / "Snakefile")]  # fmt: skip
    profile = project / choices.profile
    program += ["--profile", str(profile if profile.exists() else choices.profile)]
    choice = [f"study={choices.study}", f"fidelity={choices.fidelity}"]
    options = ["--config", *choice, *ONCE, "--keep-going"]
    if _is_on_cpu(choices.profile):
        # Most of a short job is its start, which takes one core.
        options += ["--set-threads", *(f"{rule}=1" for rule in OF_MODELS)]
    environment = _environment(folder, choices)
    if any((folder / ".snakemake" / "locks").glob("*")):  # of one that was killed
        subprocess.run([*program, "--unlock"], cwd=folder, env=environment, capture_output=True)
    process = subprocess.Popen([*program, *options], cwd=folder, env=environment, pass_fds=(lock,))
    code, peak = None, 0
    while code is None:
        try:
            peak = max(peak, folder_bytes(folder))
            code = process.wait(_LOOK_EVERY_S)
        except subprocess.TimeoutExpired:
            continue
        except KeyboardInterrupt:
            code = process.wait() or 130  # it has heard that, too, and ends its jobs
    return code == 0, peak


def _environment(folder: Path, choices: Choices) -> Mapping[str, str]:
    """That of this process, with the corpora of the rehearsal; nothing goes to MLflow."""
    kept = {key: value for key, value in os.environ.items() if key != "MLFLOW_TRACKING_URI"}
    models = {} if choices.models is None else {"SIMT_MODELS": str(choices.models.resolve())}
    return kept | models | {"SIMT_CORPORA": str((folder / "corpora").resolve())}


def _log_of_snakemake() -> Path:
    """The newest of Snakemake's own."""
    logs = sorted(Path(".snakemake", "log").glob("*.log"), key=lambda path: path.stat().st_mtime)
    return logs[-1] if logs else Path(".snakemake", "log", "none")


# --- after it ---------------------------------------------------------------------------------


def _verdict(rehearsal: Rehearsal, folder: Path, is_whole: bool) -> str:
    done = sum(job.state == "done" for job in rehearsal.jobs)
    head = (
        f"{done} of {len(rehearsal.jobs)} jobs of study {rehearsal.params.study} done, in "
        f"{rehearsal.seconds / 60:.0f} min, with at most {gigabytes(rehearsal.peak_bytes)} of "
        f"disk. See {folder / PAGE}"
    )
    if is_whole and done == len(rehearsal.jobs):
        speeds = f"simt plan --study {rehearsal.params.study} --cost"
        return f"{head}\n`{speeds}` takes its speeds from {folder / MEASUREMENTS_FILE}"
    raise SimtError("\n".join([head, *map(_failure_line, rehearsal.failures)]))


def _failure_line(failure: Failure) -> str:
    first, number = failure.names[0], len(failure.names)
    more = f" and {number - 1} more" if number > 1 else ""
    return f"  {failure.rule} {first}{more}: {failure.message}\n    {failure.remedy}"
