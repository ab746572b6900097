"""The command line: one command a step; parses, calls, nothing else.

The heavy imports stand inside the commands, so that `simt plan` does not wait for torch.
"""

import argparse
import errno
import json
import os
import shutil
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from simt.atomic import write_json
from simt.errors import SimtError
from simt.problems import parse_argument
from simt.settings import Settings

if TYPE_CHECKING:
    from simt.params import Params

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
    except OSError as error:
        if error.errno not in (errno.ENOSPC, errno.EDQUOT):
            raise
        # A write that fails does not say where.
        where = error.filename or getattr(options, "to", None) or Path.cwd()
        print(
            f"simt: cannot write {where}: {error.strerror}. What was complete before is intact: "
            "free some space and start the same command again.",
            file=sys.stderr,
        )
        return 1
    return 0


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="simt", description="Simultaneous translation, from corpus to figure."
    )
    commands = parser.add_subparsers(title="commands", required=True, metavar="COMMAND")
    _add_study_commands(commands)
    _add_corpus_steps(commands)
    _add_train(commands)
    _add_point_steps(commands)
    _add_file_commands(commands)
    _add_bench(commands)
    _add_drill(commands)
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
        ("track", _track, "mirror the record of a study into MLflow"),
        ("draw", _draw, "draw one figure or table of the paper from the points of a study"),
        ("curves", _curves, "quality against latency as numbers, for DVC to show and compare"),
        ("claims", _claims, "which claims of the paper hold in a study, and by which numbers"),
        ("report", _report, "one page with everything that a study has found, and its theatre"),
    ):
        parser = _add(commands, name, command, says)
        parser.add_argument("--study", help="a study of params.yaml; default: the one it names")
        parser.add_argument("--fidelity", help="default, paper or official")
        parser.add_argument("--params", type=Path, default=Path("params.yaml"), metavar="FILE")
        if name == "plan":
            parser.add_argument("--cost", action="store_true", help="of each run, with the total")
            parser.add_argument(
                "--bench", type=Path, metavar="FILE", help="speeds from simt bench train --json"
            )
        if name == "track":
            parser.add_argument(
                "--follow", action="store_true",
                help="go on until standard input ends, if MLFLOW_TRACKING_URI is set",
            )  # fmt: skip
        if name == "check":
            stages = ("corpora", "runs", "points", "paper")
            parser.add_argument("stage", choices=stages, help="how far the study must be done")
        if name == "draw":
            parser.add_argument("name", help="as under paper in params.yaml, e.g. fig03-bleu-al")
            parser.add_argument("--to", required=True, type=Path, metavar="FOLDER")
            parser.add_argument(
                "--with-paper", action="store_true", help="lay the paper's own numbers under ours"
            )
        if name == "report":
            parser.add_argument("--to", required=True, type=Path, metavar="FILE")
        if name == "curves":
            parser.add_argument("--to", required=True, type=Path, metavar="FOLDER")
        if name == "claims":
            parser.add_argument(
                "--to", type=Path, metavar="FOLDER", help="write claims.json and claims.md there"
            )


def _params(options: argparse.Namespace) -> "Params":
    """params.yaml, all of whose figures and tables can be drawn."""
    from simt.paper import FIGURES, TABLES
    from simt.params import check_drawings, load_params

    params = load_params(options.params, options.study, options.fidelity)
    check_drawings(params.paper, FIGURES, TABLES)
    return params


def _plan(options: argparse.Namespace) -> None:
    from simt.cost import bench_measurements, study_cost
    from simt.plan import describe_cost, describe_study

    params = _params(options)
    if options.cost:
        measured = bench_measurements(params, options.bench) if options.bench else None
        print(describe_cost(study_cost(params, params.study, measured)))
    else:
        print(describe_study(params, params.study))


def _check(options: argparse.Namespace) -> None:
    from simt.check import check_stage

    params = _params(options)
    print(check_stage(params, params.study, options.stage))


def _track(options: argparse.Namespace) -> None:
    for name, value in _QUIET_MLFLOW.items():
        os.environ.setdefault(name, value)
    store = os.environ.get("MLFLOW_TRACKING_URI")
    if options.follow and not store:
        return
    from simt.tracking import follow_study, mirror_study

    params = _params(options)
    here = Path.cwd()
    mirror = (params, params.study, store or f"sqlite:///{here / 'mlflow.db'}", here / "mlruns")
    if options.follow:
        follow_study(*mirror, wait=_has_input_ended, say=lambda text: print(text, flush=True))
    else:
        print(mirror_study(*mirror, is_over=False))


# MLflow reports its use unless told not to, and asks a server that is down again for minutes.
_QUIET_MLFLOW = {"MLFLOW_DISABLE_TELEMETRY": "true", "MLFLOW_HTTP_REQUEST_MAX_RETRIES": "1"}


def _has_input_ended(timeout_s: float) -> bool:
    """Whether nothing can come any more from standard input, after waiting for that."""
    import select

    readable, _, _ = select.select([sys.stdin], [], [], timeout_s)
    return bool(readable) and not sys.stdin.read(1)


def _draw(options: argparse.Namespace) -> None:
    from simt.paper import FIGURES, TABLES, draw_figure, draw_table
    from simt.runs import RESULTS

    params = _params(options)
    if options.name not in (*FIGURES, *TABLES):
        known = ", ".join((*FIGURES, *TABLES))
        raise SimtError(f"there is no figure or table {options.name!r}; there are {known}")
    draw = draw_figure if options.name in FIGURES else draw_table
    draw(options.name, params, params.study, RESULTS, options.to, options.with_paper)


def _curves(options: argparse.Namespace) -> None:
    from simt.paper.curves import write_curves
    from simt.runs import RESULTS

    params = _params(options)
    write_curves(params, params.study, RESULTS, options.to)


def _claims(options: argparse.Namespace) -> None:
    from simt.paper.claims import judge_claims
    from simt.paper.verdicts import as_text, write_ledger
    from simt.runs import RESULTS

    params = _params(options)
    ledger = judge_claims(params, params.study, RESULTS)
    if options.to:
        write_ledger(ledger, options.to)
    else:
        print(as_text(ledger), end="")


def _report(options: argparse.Namespace) -> None:
    from simt.paper.report import write_report

    params = _params(options)
    write_report(params, params.study, options.to)


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

    settings = parse_argument(FetchSettings, options.settings)
    if settings.toy is not None:
        manifest = write_toy_corpus(options.to, settings.toy.seed, settings.toy.sizes)
    else:
        corpora = os.environ.get("SIMT_CORPORA")
        manifest = fetch(settings, options.to, Path(corpora) if corpora else None)
    write_json(options.to / "manifest.json", manifest)
    _finish(options.to, settings)


def _prepare(options: argparse.Namespace) -> None:
    from simt.corpus.prepare import prepare
    from simt.pairs import PrepareSettings

    settings = parse_argument(PrepareSettings, options.settings)
    prepare(settings, options.origin, options.to, options.processes)
    _finish(options.to, settings)


def _bpe(options: argparse.Namespace) -> None:
    from simt.corpus.bpe import build_bpe
    from simt.pairs import BpeSettings

    settings = parse_argument(BpeSettings, options.settings)
    build_bpe(settings, options.origin, options.to, options.processes)
    _finish(options.to, settings)


def _finish(folder: Path, settings: Settings, name: str = "settings.json") -> None:
    """Say that a step is complete, and with which settings: always the last file."""
    write_json(folder / name, json.loads(settings.as_json()))


# --- training -----------------------------------------------------------------------------------


def _add_train(commands: "Commands") -> None:
    parser = _add(commands, "train", _train, "train one run, or go on with it after a stop")
    parser.add_argument("--settings", required=True, metavar="JSON")
    parser.add_argument("--corpus", required=True, type=Path, metavar="FOLDER", help="bpe/ of it")
    parser.add_argument("--start", type=Path, metavar="FOLDER", help="a run to start from")
    parser.add_argument("--to", required=True, type=Path, metavar="FOLDER")
    parser.add_argument("--threads", type=int, default=1, help="of the CPU, for all devices")
    parser.add_argument("--devices", type=int, default=1, metavar="N", help="GPUs, a process each")
    parser.add_argument("--checkpoint-minutes", type=float, default=10, metavar="M")


def _train(options: argparse.Namespace) -> None:
    from simt.runs import SETTINGS_FILE, read_settings
    from simt.training.lock import only_one

    if _LAUNCHER in os.environ:  # this is one of several processes
        from simt.training.launch import die_with

        die_with(int(os.environ[_LAUNCHER]))
        _train_here(options)
        return
    with only_one(options.to / "work" / "lock") as has_waited:
        done = read_settings(options.to / SETTINGS_FILE)
        if has_waited and done == json.loads(options.settings):
            print("simt: the other process has trained this run", file=sys.stderr)
            shutil.rmtree(options.to / "work")
            return
        _take_gpus(options.devices)  # not before: who waits for the lock needs none
        if options.devices > 1:
            _train_on_devices(options)
        else:
            _train_here(options)


def _train_here(options: argparse.Namespace) -> None:
    from simt.settings import RunSettings
    from simt.training.devices import Devices
    from simt.training.loop import TrainingStopped
    from simt.training.run import train_run
    from simt.training.signals import ASKS_FOR_RETRY

    _use_threads(max(1, options.threads // max(1, options.devices)))
    settings = parse_argument(RunSettings, options.settings)
    of_torchrun = (int(os.environ.get(key, value)) for key, value in _ALONE.items())
    devices = Devices.connect(*of_torchrun)
    try:
        train_run(
            settings, options.corpus, options.start, options.to, devices, options.checkpoint_minutes
        )
    except TrainingStopped as stopped:
        if devices.is_first:
            print(f"simt: {stopped}; the same command goes on from there", file=sys.stderr)
        sys.exit(ASKS_FOR_RETRY)
    if devices.is_first:
        _finish(options.to, settings)
        shutil.rmtree(options.to / "work")  # not before: until then a kill must lose nothing


_ALONE = {"RANK": "0", "WORLD_SIZE": "1", "LOCAL_RANK": "0"}
_LAUNCHER = "SIMT_LAUNCHER"


def _train_on_devices(options: argparse.Namespace) -> None:
    """Start this same command once for each device of this machine."""
    from simt.training.launch import run_on_devices

    os.environ[_LAUNCHER] = str(os.getpid())
    code = run_on_devices(options.devices, sys.argv)
    if code and (options.to / "work").exists():  # a request to stop may come after the last update
        sys.exit(code)


# --- points -------------------------------------------------------------------------------------


def _add_point_steps(commands: "Commands") -> None:
    for name, command, says in (
        ("decode", _decode, "translate a split with a run, at all knob values"),
        ("confidences", _confidences, "compare confidence and correctness in every state"),
        ("states", _states, "the confidence of every state of the theatre's sentences"),
        ("score-point", _score_point, "every score of the instances of a point"),
        ("estimator", _estimator, "train the quality estimator of a toy pair"),
    ):
        parser = _add(commands, name, command, says)
        parser.add_argument("--settings", required=True, metavar="JSON")
        parser.add_argument(
            "--corpus", required=True, type=Path, metavar="FOLDER", help="of a pair"
        )
        parser.add_argument("--to", required=True, type=Path, metavar="FOLDER")
        parser.add_argument("--threads", type=int, default=1, help="of the CPU")
        if name in ("decode", "confidences", "states"):
            parser.add_argument("--run", required=True, type=Path, metavar="FOLDER")
        if name == "score-point":
            parser.add_argument("--split", required=True)
            parser.add_argument("--models", type=Path, metavar="FOLDER", help="of COMET")


def _decode(options: argparse.Namespace) -> None:
    from simt.decoding import decode_point
    from simt.settings import PointSettings

    _take_gpus(1)
    _use_threads(options.threads)
    settings = parse_argument(PointSettings, options.settings)
    decode_point(settings, options.run, options.corpus, options.to)
    _finish(options.to, settings)


def _confidences(options: argparse.Namespace) -> None:
    from simt.decoding import look_at_states
    from simt.settings import PointSettings

    _take_gpus(1)
    _use_threads(options.threads)
    settings = parse_argument(PointSettings, options.settings)
    look_at_states(settings, options.run, options.corpus, options.to)
    _finish(options.to, settings)


def _states(options: argparse.Namespace) -> None:
    from simt.decoding import show_states
    from simt.runs import THEATRE_FILE
    from simt.settings import SentenceChoice

    _take_gpus(1)
    _use_threads(options.threads)
    choice = parse_argument(SentenceChoice, options.settings)
    show_states(choice, options.run, options.corpus, options.to)
    _finish(options.to, choice, THEATRE_FILE)


def _score_point(options: argparse.Namespace) -> None:
    from simt.runs import SCORING_FILE
    from simt.scoring.points import score_point
    from simt.settings import ScoringSettings

    _take_gpus(1)
    settings = parse_argument(ScoringSettings, options.settings)
    score_point(
        settings, options.split, options.corpus, options.to, _models(options), options.threads
    )
    _finish(options.to, settings, SCORING_FILE)


def _models(options: argparse.Namespace) -> Path | None:
    """The folder with COMET models that are not in the Hugging Face cache."""
    models = options.models or os.environ.get("SIMT_MODELS")
    return Path(models) if models else None


def _estimator(options: argparse.Namespace) -> None:
    from simt.scoring.estimator import make_estimator
    from simt.settings import EstimatorSettings

    _use_threads(options.threads)
    settings = parse_argument(EstimatorSettings, options.settings)
    make_estimator(settings, options.corpus, options.to)
    _finish(options.to, settings)


def _take_gpus(wanted: int) -> None:
    """Keep to GPUs that no other job uses, unless someone has already said which to take."""
    from simt.gpus import claim_gpus

    if "CUDA_VISIBLE_DEVICES" not in os.environ and (claimed := claim_gpus(wanted)):
        os.environ["CUDA_VISIBLE_DEVICES"] = ",".join(claimed)


def _use_threads(threads: int) -> None:
    import torch

    torch.set_num_threads(threads)


# --- the output of any system -------------------------------------------------------------------


def _add_file_commands(commands: "Commands") -> None:
    for name, command, says in (
        ("score", _score, "quality and latency of a file of instances, of any system"),
        ("latency", _latency, "latency of a file of instances under every definition in use"),
        ("simuleval", _simuleval, "write folders that `simuleval --score-only --output` reads"),
    ):
        parser = _add(commands, name, command, says)
        parser.add_argument("file", type=Path, help="one JSON object a line, as SimulEval's log")
        parser.add_argument(
            "--unit",
            choices=("word", "char", "ms", "other"),
            default="word",
            help="what its delays are counted in",
        )
        if name == "simuleval":
            parser.add_argument("--to", required=True, type=Path, metavar="FOLDER")
        if name == "score":
            parser.add_argument(
                "--latency",
                choices=("bpe_eos_hyp", "bpe_noeos_hyp", "word_ref"),
                help="default: the paper's, bpe_eos_hyp, where the file has tokens; or word_ref",
            )
            parser.add_argument(
                "--bleu-text", choices=("detokenised", "tokenised"), default="detokenised"
            )
            parser.add_argument(
                "--comet", nargs="+", default=(), metavar="MODEL", help="names or folders"
            )
            parser.add_argument("--models", type=Path, metavar="FOLDER", help="of COMET")
            parser.add_argument("--threads", type=int, default=1, help="of the CPU")
            parser.add_argument("--json", type=Path, metavar="FILE", help="write the scores there")


def _score(options: argparse.Namespace) -> None:
    from simt.instances import read_groups
    from simt.scoring.latency import usual_mode
    from simt.scoring.points import score_groups
    from simt.scoring.table import score_table

    groups = read_groups(options.file, options.unit)
    point = score_groups(
        groups,
        options.latency or usual_mode(groups),
        options.bleu_text,
        options.comet,
        _models(options),
        options.threads,
        options.unit,
    )
    print(f"{options.file}: {point.sentences} sentences\n\n{score_table(point.scores)}")
    for reason in point.missing.values():
        print(f"\nleft out: {reason}")
    if options.json:
        write_json(options.json, point.as_json())


def _latency(options: argparse.Namespace) -> None:
    from simt.instances import read_groups
    from simt.scoring.latency import latency_table
    from simt.scoring.table import score_table

    groups = read_groups(options.file, options.unit)
    tables = {knob: latency_table(group, options.unit) for knob, group in groups.items()}
    sentences = len(next(iter(groups.values())))
    rows = {knob: table.rows for knob, table in tables.items()}
    print(f"{options.file}: {sentences} sentences\n\n{score_table(rows)}")
    for reason in dict.fromkeys(one for table in tables.values() for one in table.missing):
        print(f"\nleft out: {reason}")


def _simuleval(options: argparse.Namespace) -> None:
    from simt.instances import read_groups, write_simuleval_logs

    for log in write_simuleval_logs(read_groups(options.file, options.unit), options.to).values():
        print(log.parent)


# --- bench --------------------------------------------------------------------------------------


def _add_bench(commands: "Commands") -> None:
    parser = commands.add_parser("bench", help="measure speed and memory on this machine")
    benches = parser.add_subparsers(title="what", required=True, metavar="WHAT")
    corpus = _add(benches, "corpus", _bench_corpus, "generate, prepare, bpe, encode and batch text")
    corpus.add_argument("--pairs", type=int, nargs="+", default=[100_000], metavar="N")
    corpus.add_argument("--processes", type=int, default=os.cpu_count() or 1)
    corpus.add_argument("--keep", type=Path, metavar="FOLDER", help="work here, and keep the files")
    train = _add(benches, "train", _bench_train, "target tokens a second of every method")
    train.add_argument("--params", type=Path, default=Path("params.yaml"), metavar="FILE")
    train.add_argument("--pair", default="toy-deen", help="whose settings to take")
    text = train.add_mutually_exclusive_group()
    text.add_argument("--corpus", type=Path, metavar="FOLDER", help="bpe/ of it, unless a toy")
    text.add_argument("--words", type=int, metavar="N", help="fill up a toy pair's vocabulary")
    train.add_argument("--size", nargs="+", metavar="MODEL", help="of params.yaml, not the pair's")
    train.add_argument("--runs", nargs="+", metavar="METHOD/VARIANT", help="default: every method")
    train.add_argument("--against", type=Path, metavar="PYTHON", help="one that has JoeyNMT")
    train.add_argument("--updates", type=int, default=4, metavar="N", help="in a turn")
    train.add_argument("--repeats", type=int, default=10, metavar="N", help="turns of each")
    train.add_argument("--threads", type=int, default=1, help="of the CPU")
    train.add_argument("--no-memory", action="store_true", help="leave out the peak memory")
    train.add_argument("--json", type=Path, metavar="FILE", help="write the numbers there too")

    decode = _add(benches, "decode", _bench_decode, "sentences a second, in batches and alone")
    decode.add_argument("--params", type=Path, default=Path("params.yaml"), metavar="FILE")
    decode.add_argument("--pair", default="toy-deen", help="whose settings to take")
    decode.add_argument("--size", metavar="MODEL", help="of params.yaml, not the pair's")
    decode.add_argument("--runs", nargs="+", metavar="METHOD/VARIANT", help="default: each method")
    decode.add_argument("--words", type=int, default=1000, metavar="N", help="in the vocabulary")
    decode.add_argument("--repeats", type=int, default=5, metavar="N", help="turns of each")
    decode.add_argument("--threads", type=int, default=1, help="of the CPU")


def _bench_corpus(options: argparse.Namespace) -> None:
    import tempfile

    from simt.corpus.bench import as_text, bench_corpus

    for pairs in options.pairs:
        with tempfile.TemporaryDirectory(prefix="simt-bench-") as folder:
            rows = bench_corpus(pairs, options.keep or Path(folder), options.processes)
        print(as_text(rows), flush=True)


def _bench_train(options: argparse.Namespace) -> None:
    import tempfile

    from simt.params import load_params
    from simt.training.bench import RUNS, BenchChoices, bench_training, make_corpus

    params = load_params(options.params)
    reports = []
    with tempfile.TemporaryDirectory(prefix="simt-bench-") as folder:
        corpus = options.corpus or make_corpus(params, options.pair, options.words, Path(folder))
        for size in options.size or [None]:
            choices = BenchChoices(
                pair=options.pair,
                size=size,
                runs=tuple(options.runs or RUNS),
                updates=options.updates,
                repeats=options.repeats,
                threads=options.threads,
                has_memory=not options.no_memory,
            )
            reports.append(bench_training(params, choices, corpus, options.against))
            print(reports[-1].text(), flush=True)
    if options.json:
        write_json(options.json, [report.as_dict() for report in reports])


def _bench_decode(options: argparse.Namespace) -> None:
    from simt.params import load_params
    from simt.simulation.bench import HEAD, RUNS, bench_decoding

    _use_threads(options.threads)
    print(HEAD)
    for speed in bench_decoding(
        load_params(options.params),
        options.pair,
        options.size,
        options.runs or RUNS,
        options.words,
        options.repeats,
    ):
        print(speed.text(), flush=True)


# --- drill --------------------------------------------------------------------------------------


def _add_drill(commands: "Commands") -> None:
    parser = _add(
        commands, "drill", _drill, "run a study, strike its jobs at random, and compare the numbers"
    )
    parser.add_argument("--study", default="tiny")
    parser.add_argument("--profile", default="workflow/profiles/local", help="or slurm")
    parser.add_argument("--blows", type=int, default=16, metavar="N")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--calm", type=Path, metavar="FOLDER", help="where it ran undisturbed")
    parser.add_argument("--to", type=Path, metavar="FOLDER", help="work here, and keep the files")


def _drill(options: argparse.Namespace) -> None:
    import tempfile

    from simt.drill import drill

    folder = options.to or Path(tempfile.mkdtemp(prefix="simt-drill-"))
    print(
        drill(
            Path.cwd(),
            folder,
            options.study,
            options.profile,
            options.seed,
            options.blows,
            options.calm,
        )
    )
    if not options.to:
        shutil.rmtree(folder)  # not if it failed: then its log is needed
