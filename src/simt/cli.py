"""The command line: one command a step; parses, calls, nothing else.

The heavy imports stand inside the commands, so that `simt plan` does not wait for torch.
"""

import argparse
import json
import os
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from simt.atomic import atomic_file
from simt.errors import SimtError
from simt.settings import Settings

if TYPE_CHECKING:
    Commands = argparse._SubParsersAction[argparse.ArgumentParser]


def main(arguments: Sequence[str] | None = None) -> int:
    """The exit code of one command; a user's mistake is one message, never a traceback."""
    options = _parser().parse_args(arguments)
    try:
        options.command(options)
    except SimtError as error:
        print(f"simt: {error}", file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        print("simt: stopped", file=sys.stderr)
        return 130
    except BrokenPipeError:  # `simt plan | head`
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    return 0


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="simt", description="Simultaneous translation, from corpus to figure."
    )
    commands = parser.add_subparsers(title="commands", required=True, metavar="COMMAND")
    _add_study_commands(commands)
    _add_corpus_steps(commands)
    _add_train(commands)
    _add_bench(commands)
    return parser


def _add(
    commands: "Commands", name: str, command: Callable[[argparse.Namespace], None], says: str
) -> argparse.ArgumentParser:
    parser = commands.add_parser(name, help=says, description=says)
    parser.set_defaults(command=command)
    return parser


# --- studies ----------------------------------------------------------------------------------


def _add_study_commands(commands: "Commands") -> None:
    for name, command, says in (
        ("plan", _plan, "list what a study will do, what is done, what is stale and why"),
        ("check", _check, "fail unless the results of a study are those of params.yaml"),
    ):
        parser = _add(commands, name, command, says)
        parser.add_argument("--study", help="a study of params.yaml; default: the one it names")
        parser.add_argument("--fidelity", help="default, paper or official")
        parser.add_argument("--params", type=Path, default=Path("params.yaml"), metavar="FILE")
        if name == "check":
            stages = ("corpora", "runs", "points")
            parser.add_argument("stage", choices=stages, help="how far the study must be done")


def _plan(options: argparse.Namespace) -> None:
    from simt.params import load_params
    from simt.plan import describe_study

    params = load_params(options.params, options.study, options.fidelity)
    print(describe_study(params, params.study))


def _check(options: argparse.Namespace) -> None:
    from simt.check import check_stage
    from simt.params import load_params

    params = load_params(options.params, options.study, options.fidelity)
    print(check_stage(params, params.study, options.stage))


# --- from address to ids ------------------------------------------------------------------------


def _add_corpus_steps(commands: "Commands") -> None:
    for name, command, says in (
        ("fetch", _fetch, "download the raw files of a pair, or write those of the toy grammar"),
        ("prepare", _prepare, "raw files to clean, tokenised text"),
        ("bpe", _bpe, "tokenised text to subwords, a vocabulary and files of ids"),
    ):
        parser = _add(commands, name, command, says)
        parser.add_argument("--settings", required=True, metavar="JSON")
        parser.add_argument("--to", required=True, type=Path, metavar="FOLDER")
        if name != "fetch":
            parser.add_argument("--from", required=True, type=Path, metavar="FOLDER", dest="origin")
            parser.add_argument("--processes", type=int, default=1)


def _fetch(options: argparse.Namespace) -> None:
    from simt.corpus.fetch import fetch
    from simt.corpus.toy import write_toy_corpus
    from simt.pairs import FetchSettings

    settings = FetchSettings.model_validate_json(options.settings)
    if settings.toy is not None:
        manifest = write_toy_corpus(options.to, settings.toy.seed, settings.toy.sizes)
    else:
        corpora = os.environ.get("SIMT_CORPORA")
        manifest = fetch(settings, options.to, Path(corpora) if corpora else None)
    _write_json(options.to / "manifest.json", manifest)
    _finish(options.to, settings)


def _prepare(options: argparse.Namespace) -> None:
    from simt.corpus.prepare import prepare
    from simt.pairs import PrepareSettings

    settings = PrepareSettings.model_validate_json(options.settings)
    prepare(settings, options.origin, options.to, options.processes)
    _finish(options.to, settings)


def _bpe(options: argparse.Namespace) -> None:
    from simt.corpus.bpe import build_bpe
    from simt.pairs import BpeSettings

    settings = BpeSettings.model_validate_json(options.settings)
    build_bpe(settings, options.origin, options.to, options.processes)
    _finish(options.to, settings)


def _finish(folder: Path, settings: Settings) -> None:
    """Say that a folder is complete, and with which settings: always the last file."""
    from simt.runs import SETTINGS_FILE

    _write_json(folder / SETTINGS_FILE, json.loads(settings.as_json()))


def _write_json(path: Path, values: Any) -> None:
    with atomic_file(path) as stream:
        json.dump(values, stream, indent=2, ensure_ascii=False)
        stream.write("\n")


# --- training -----------------------------------------------------------------------------------


def _add_train(commands: "Commands") -> None:
    parser = _add(commands, "train", _train, "train one run, or go on with it after a stop")
    parser.add_argument("--settings", required=True, metavar="JSON")
    parser.add_argument("--corpus", required=True, type=Path, metavar="FOLDER", help="bpe/ of it")
    parser.add_argument("--start", type=Path, metavar="FOLDER", help="a run to start from")
    parser.add_argument("--to", required=True, type=Path, metavar="FOLDER")
    parser.add_argument("--threads", type=int, default=1, help="of the CPU")
    parser.add_argument("--checkpoint-minutes", type=float, default=10, metavar="M")


def _train(options: argparse.Namespace) -> None:
    import torch

    from simt.settings import RunSettings
    from simt.training.devices import Devices
    from simt.training.loop import TrainingStopped
    from simt.training.run import train_run
    from simt.training.signals import ASKS_FOR_RETRY

    torch.set_num_threads(options.threads)
    settings = RunSettings.model_validate_json(options.settings)
    of_torchrun = (int(os.environ.get(key, value)) for key, value in _ALONE.items())
    devices = Devices.connect(*of_torchrun)
    try:
        train_run(
            settings, options.corpus, options.start, options.to, devices, options.checkpoint_minutes
        )
    except TrainingStopped as stopped:
        print(f"simt: {stopped}; the same command goes on from there", file=sys.stderr)
        sys.exit(ASKS_FOR_RETRY)
    if devices.is_first:
        _finish(options.to, settings)


_ALONE = {"RANK": "0", "WORLD_SIZE": "1", "LOCAL_RANK": "0"}


# --- bench --------------------------------------------------------------------------------------


def _add_bench(commands: "Commands") -> None:
    parser = commands.add_parser("bench", help="measure speed and memory on this machine")
    benches = parser.add_subparsers(title="what", required=True, metavar="WHAT")
    corpus = _add(benches, "corpus", _bench_corpus, "generate, prepare, bpe, encode and batch text")
    corpus.add_argument("--pairs", type=int, nargs="+", default=[100_000], metavar="N")
    corpus.add_argument("--processes", type=int, default=os.cpu_count() or 1)
    corpus.add_argument("--keep", type=Path, metavar="FOLDER", help="work here, and keep the files")


def _bench_corpus(options: argparse.Namespace) -> None:
    import tempfile

    from simt.corpus.bench import bench_corpus

    for pairs in options.pairs:
        with tempfile.TemporaryDirectory(prefix="simt-bench-") as folder:
            rows = bench_corpus(pairs, options.keep or Path(folder), options.processes)
        for row in rows:
            print(row)
