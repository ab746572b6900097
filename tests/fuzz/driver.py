"""The commands, each with the files it reads, and what may never happen when one is corrupted."""

import io
import os
import shutil
import signal
import time
import traceback
from collections.abc import Iterator
from contextlib import chdir, contextmanager, redirect_stderr, redirect_stdout
from dataclasses import dataclass
from pathlib import Path
from random import Random
from types import FrameType

from simt.cli import main
from simt.params import Params
from simt.runs import Point
from simt.steps import Steps
from tests.fuzz.mutations import CANARY, corrupt_argument, corrupt_file
from tests.samples.small_study import (
    CORPUS,
    RUNS,
    Command,
    corpus_command,
    decode_command,
    score_command,
    train_command,
)

LONGEST_S = 10
MOST_OUTPUT = 10_000  # characters of a refusal; what is asked for may be longer
OUT = Path("out")


@dataclass(frozen=True)
class Case:
    """A command, the files that it reads, and one that it leaves when it says that all is well."""

    share: int  # of a thousand inputs
    command: Command
    reads: tuple[str, ...]  # patterns, from the study's folder
    makes: Path | None = None

    @property
    def settings(self) -> int | None:
        """Where in the command its settings are."""
        return self.command.index("--settings") + 1 if "--settings" in self.command else None


@dataclass
class Finding:
    """An input under which a command did what it may not."""

    seed: int
    case: str
    what: str
    output: str
    kept: Path

    def __str__(self) -> str:
        again = f"make fuzz SEED={self.seed} N=1; the input is in {self.kept}"
        return f"{self.case}: {self.what}; {again}\n{self.output[-1500:]}"


def cases(params: Params) -> dict[str, Case]:
    """Every command that reads a file or settings, by name."""
    corpus, run = str(CORPUS), RUNS[-1]
    test, aligned, valid = (Point(run, split) for split in ("test", "aligned", "valid"))
    ids = f"{corpus}/bpe/*"
    of_run = (f"{run.folder}/*.json", f"{run.folder}/model.pt")
    results = (
        "results/*/*/*/*/*/*.json*",
        "results/points/*/*/*/*/*/*.json*",
        f"{corpus}/*/*.json",
    )
    log = f"{test.folder}/instances.jsonl"
    states = ["--settings", '{"sentences": 2, "max_source_words": 40}', "--run", str(run.folder)]
    steps = Steps(params)
    of_table = ["--settings", steps.drawing("tables", "tab05-numbers").settings.as_json()]
    of_curves = ["--settings", steps.curves().settings.as_json()]
    return {
        "plan": Case(110, ["plan"], ("params.yaml",)),
        "plan of results": Case(40, ["plan"], results),
        "plan --cost": Case(40, ["plan", "--cost"], ("params.yaml", *results)),
        "check": Case(60, ["check", "points"], ("params.yaml", *results)),
        "runs": Case(30, ["runs"], ("params.yaml", *results)),
        "compare": Case(20, ["compare", "waitk/k3", "multipath", "--at", "3"], (*results, log)),
        "claims": Case(30, ["claims"], results),
        "draw": Case(
            20, ["draw", "tab05-numbers", "--to", "out", *of_table], results,
            OUT / "tab05-numbers.tex",
        ),
        "curves": Case(10, ["curves", "--to", "out", *of_curves], results, OUT),
        "fetch": Case(20, corpus_command(params, "fetch", OUT), (), OUT / "settings.json"),
        "prepare": Case(
            60, corpus_command(params, "prepare", OUT), (f"{corpus}/raw/*",), OUT / "settings.json"
        ),
        "bpe": Case(
            40, corpus_command(params, "bpe", OUT), (f"{corpus}/text/*",), OUT / "settings.json"
        ),
        "train": Case(40, train_command(params, RUNS[1], OUT), (ids,), OUT / "settings.json"),
        "train from a run": Case(
            30, [*train_command(params, run, OUT), "--start", str(RUNS[0].folder)],
            (f"{RUNS[0].folder}/*",), OUT / "settings.json",
        ),
        "decode": Case(
            160, decode_command(params, test, to=OUT),
            (*of_run, *of_run, ids, f"{corpus}/text/test.*", f"{corpus}/text/settings.json"),
            OUT / "settings.json",
        ),
        "decode of wait-k": Case(
            60, decode_command(params, Point(RUNS[1], "test"), to=OUT),
            (f"{RUNS[1].folder}/*.json",), OUT / "settings.json",
        ),
        "confidences": Case(
            30, decode_command(params, valid, "confidences", OUT), (*of_run, ids),
            OUT / "settings.json",
        ),
        "states": Case(
            30, ["states", *states, "--corpus", corpus, "--to", "out"],
            (*of_run, f"{corpus}/text/aligned.*"), OUT / "policy_viewer.json",
        ),
        "score-point": Case(
            40, score_command(params, test), (log,), test.folder / "scoring.json"
        ),
        "score-point of aligned": Case(
            40, score_command(params, aligned),
            (f"{aligned.folder}/instances.jsonl", f"{corpus}/text/aligned.talp"),
            aligned.folder / "scoring.json",
        ),
        "score": Case(100, ["score", log], (log,)),
        "latency": Case(60, ["latency", log], (log,)),
        "simuleval": Case(40, ["simuleval", log, "--to", "out"], (log,), OUT),
    }  # fmt: skip


def choose(seed: int, every: dict[str, Case]) -> str:
    """The case of an input."""
    shares = [case.share for case in every.values()]
    return Random(f"case {seed}").choices(list(every), shares)[0]


def try_input(seed: int, name: str, case: Case, study: Path, keep: Path) -> Finding | None:
    """Corrupt one input of a command, run it, put everything back, and say what went wrong."""
    with chdir(study), _restored(case):
        rng = Random(f"input {seed}")
        command, corrupted = _corrupt(case, rng)
        (keep / "running").write_text(f"{name}: make fuzz SEED={seed} N=1\n")  # if the process dies
        if case.makes and case.makes.parent != OUT and case.makes != OUT:
            case.makes.unlink(missing_ok=True)
        what, output = _run(case, command)
        if what is None:
            return None
        kept = keep / f"seed{seed}"
        _keep(kept, corrupted, command, output)
        return Finding(seed, name, what, output, kept)


def _corrupt(case: Case, rng: Random) -> tuple[Command, Path | None]:
    files = sorted(
        path for pattern in case.reads for path in Path().glob(pattern) if path.is_file()
    )
    place = case.settings
    if place is not None and (not files or rng.random() < 0.4):
        corrupted = corrupt_argument(case.command[place], rng)
        return [*case.command[:place], corrupted, *case.command[place + 1 :]], None
    file = rng.choice(files)
    corrupt_file(file, files, rng)
    return case.command, file


def _run(case: Case, command: Command) -> tuple[str | None, str]:
    """What is wrong, if anything, and all that was said."""
    out, err = io.StringIO(), io.StringIO()
    started = time.monotonic()
    what, code = None, None
    try:
        with redirect_stdout(out), redirect_stderr(err), _time_limit():
            code = main(command)
    except SystemExit as end:
        code = end.code if isinstance(end.code, int) else 1
    except Hang:
        what = f"runs for more than {LONGEST_S} s"
    except BaseException as error:  # whatever it is, it would be a traceback
        what = f"traceback: {type(error).__name__}"
        err.write(traceback.format_exc())
    said, told = out.getvalue(), err.getvalue()
    if what is None:
        what = _complaint(case, code, said, told, time.monotonic() - started)
    return what, told + said


def _complaint(case: Case, code: int | None, said: str, told: str, seconds: float) -> str | None:
    if seconds > LONGEST_S:
        return f"ran for {seconds:.0f} s"
    if CANARY.exists():
        return "ran code of the input"
    if "Traceback" in told:
        return "shows a traceback"
    if "weights_only" in told:
        return "advises to run code"
    if code and len(told) + len(said) > MOST_OUTPUT:
        return f"refuses with {len(told) + len(said)} characters"
    if code and not (told + said).strip():
        return f"exits with {code} and says nothing"
    if not code and case.makes and not case.makes.exists():
        return f"says that all is well, but {case.makes} is not there"
    if not code and not case.makes and not said.strip():
        return "says that all is well, and nothing else"
    return None


class Hang(BaseException):
    """Takes too long; no handler of errors catches it."""


@contextmanager
def _time_limit() -> Iterator[None]:
    def stop(number: int, frame: FrameType | None) -> None:
        raise Hang

    before = signal.signal(signal.SIGALRM, stop)
    signal.alarm(LONGEST_S)
    try:
        yield
    finally:
        signal.alarm(0)
        signal.signal(signal.SIGALRM, before)


@contextmanager
def _restored(case: Case) -> Iterator[None]:
    """What the case reads is afterwards as it was, and what it made is gone."""
    patterns = (*case.reads, *([str(case.makes)] if case.makes else []))
    every = {path for pattern in patterns for path in Path().glob(pattern) if path.is_file()}
    saved = {path: path.read_bytes() for path in every}
    handlers = {number: signal.getsignal(number) for number in (signal.SIGTERM, signal.SIGUSR1)}
    environment = dict(os.environ)
    try:
        yield
    finally:
        os.environ.clear()
        os.environ.update(environment)
        for number, handler in handlers.items():
            signal.signal(number, handler)
        shutil.rmtree(OUT, ignore_errors=True)
        CANARY.rmdir() if CANARY.is_dir() else CANARY.unlink(missing_ok=True)
        for path, content in saved.items():
            if path.is_dir():
                shutil.rmtree(path)
            path.write_bytes(content)


def _keep(folder: Path, corrupted: Path | None, command: Command, output: str) -> None:
    """The input that failed, for whoever mends it."""
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    (folder / "command").write_text("\n".join(command), "utf-8", "surrogateescape")
    (folder / "output").write_text(output, "utf-8", "backslashreplace")
    if corrupted is not None and corrupted.is_file():
        (folder / "place").write_text(f"{corrupted}\n")
        shutil.copy(corrupted, folder / f"input{corrupted.suffix}")
