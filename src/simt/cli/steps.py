"""The steps of a study, which Snakemake calls."""

import argparse
from pathlib import Path
from typing import get_args

from simt.cli.arguments import (
    MODELS,
    count,
    folder,
    minutes,
    models_folder,
    settings,
    threads,
)
from simt.cli.command import Argument, Group, option, several
from simt.params import Face
from simt.settings import EvaluationSplit

COMMANDS = Group("steps, which snakemake calls")

_RUN = "toy-deen/sm2/bi/seed1"
_PROCESSES = option(
    "--processes",
    type=count,
    default=1,
    metavar="N",
    help="number of processes, e.g. 8; default: 1",
)


# --- from address to ids ------------------------------------------------------------------------


def _to(example: str) -> Argument:
    return folder("--to", "output folder", f"results/{example}")


def _origin(example: str) -> Argument:
    return option(
        "--from",
        required=True,
        type=Path,
        metavar="FOLDER",
        dest="origin",
        help=f"output folder of the previous step, e.g. results/{example}",
    )


@COMMANDS.command(
    "download the raw files of a pair, or generate the toy corpus",
    settings('{"source": "de", …}'),
    _to("corpora/toy-deen/raw"),
    product="files",
)
def fetch(options: argparse.Namespace) -> str:
    from simt.jobs import fetch_corpus

    return fetch_corpus(options.settings, options.to)


@COMMANDS.command(
    "clean and tokenise the raw text of a pair",
    settings('{"source": "de", …}'),
    _to("corpora/toy-deen/text"),
    _origin("corpora/toy-deen/raw"),
    _PROCESSES,
    product="files",
)
def prepare(options: argparse.Namespace) -> str:
    from simt.jobs import prepare_corpus

    return prepare_corpus(options.settings, options.origin, options.to, options.processes)


@COMMANDS.command(
    "learn BPE, segment the text and encode it as ids",
    settings('{"joint": true, …}'),
    _to("corpora/toy-deen/bpe"),
    _origin("corpora/toy-deen/text"),
    _PROCESSES,
    product="files",
)
def bpe(options: argparse.Namespace) -> str:
    from simt.jobs import encode_corpus

    return encode_corpus(options.settings, options.origin, options.to, options.processes)


# --- runs and points ----------------------------------------------------------------------------


@COMMANDS.command(
    "train a run, or resume an interrupted one",
    settings('{"pair": "toy-deen", "method": "sm2", …}'),
    folder("--corpus", "files of ids", "results/corpora/toy-deen/bpe"),
    option(
        "--start",
        type=Path,
        metavar="FOLDER",
        help="run or exported folder to fine-tune, e.g. results/runs/toy-deen/offline/bi/seed1",
    ),
    folder("--to", "of the run", f"results/runs/{_RUN}"),
    threads(", for all devices together"),
    option(
        "--devices",
        type=count,
        default=1,
        metavar="N",
        help="number of GPUs, one process each, e.g. 4; default: 1, or the CPU",
    ),
    option(
        "--checkpoint-minutes",
        type=minutes,
        default=10,
        metavar="MINUTES",
        help="time between checkpoints, e.g. 2.5; default: 10",
    ),
    product="files",
)
def train(options: argparse.Namespace) -> str | None:
    from simt.signals import retry_when_stopped

    with retry_when_stopped():  # before torch is imported, which takes seconds
        from simt.training.job import Job, train_job

        return train_job(
            Job(
                settings=options.settings,
                corpus=options.corpus,
                start=options.start,
                to=options.to,
                threads=options.threads,
                devices=options.devices,
                checkpoint_minutes=options.checkpoint_minutes,
            )
        )


def _point(example: str) -> Argument:
    """What all that is done with a model asks for."""
    return several(
        settings(example),
        folder("--corpus", "of the pair", "results/corpora/toy-deen"),
        _to(f"points/{_RUN}/test"),
        threads(),
        folder("--run", "whose model it is", f"results/runs/{_RUN}"),
    )


@COMMANDS.command(
    "decode a split with a run at all knob values", _point('{"split": …}'), product="files"
)
def decode(options: argparse.Namespace) -> str:
    from simt.jobs import decode_run

    given = (options.run, options.corpus, options.to, options.threads)
    return decode_run(options.settings, *given)


@COMMANDS.command(
    "correlate confidence and correctness over all states", _point('{"split": …}'), product="files"
)
def confidences(options: argparse.Namespace) -> str:
    from simt.jobs import write_confidences

    given = (options.run, options.corpus, options.to, options.threads)
    return write_confidences(options.settings, *given)


@COMMANDS.command(
    "compute the confidence of every state of the sentences in the report",
    _point('{"sentences": …}'),
    product="files",
)
def states(options: argparse.Namespace) -> str:
    from simt.jobs import write_states

    given = (options.run, options.corpus, options.to, options.threads)
    return write_states(options.settings, *given)


@COMMANDS.command(
    "compute all scores of a decoded split",
    settings('{"latency": …}'),
    folder("--corpus", "of the pair", "results/corpora/toy-deen"),
    _to(f"points/{_RUN}/test"),
    threads(),
    option(
        "--split",
        required=True,
        choices=get_args(EvaluationSplit),
        help="split that was decoded, e.g. test",
    ),
    MODELS,
    product="files",
)
def score_point(options: argparse.Namespace) -> str:
    from simt.jobs import score_instances

    given = (options.split, options.corpus, options.to, options.models, options.threads)
    return score_instances(options.settings, *given, cached_models=models_folder(options))


@COMMANDS.command(
    "train the quality estimator of a toy pair",
    settings('{"seed": …}'),
    folder("--corpus", "of the pair", "results/corpora/toy-deen"),
    _to("corpora/toy-deen/estimator"),
    threads(),
    product="files",
)
def estimator(options: argparse.Namespace) -> str:
    from simt.jobs import train_estimator

    return train_estimator(options.settings, options.corpus, options.to, options.threads)


# --- paper ----------------------------------------------------------------------------------------


_STUDY = settings('{"study": …}')


@COMMANDS.command(
    "draw one figure or table of the paper",
    option("name", help="name under `paper` in params.yaml, e.g. fig03-bleu-al"),
    _to("paper/toy/figures"),
    option("--with-paper", action="store_true", help="add the numbers that the paper reports"),
    option(
        "--face",
        choices=get_args(Face),
        default="sans",
        help="typeface of a figure; serif looks like Times; default: sans",
    ),
    _STUDY,
    product="files",
)
def draw(options: argparse.Namespace) -> str:
    from simt.jobs import draw_one

    given = (options.name, options.to, options.with_paper, options.face)
    return draw_one(options.settings, *given)


@COMMANDS.command(
    "write the curves of quality against latency that DVC compares",
    folder("--to", "where curves.csv and bleu.json go", "results/paper/toy"),
    _STUDY,
    product="files",
)
def curves(options: argparse.Namespace) -> str:
    from simt.jobs import write_curves

    return write_curves(options.settings, options.to)


@COMMANDS.command(
    "write which claims of the paper hold",
    folder("--to", "where claims.json and claims.md go", "results/paper/toy"),
    _STUDY,
    product="files",
)
def write_claims(options: argparse.Namespace) -> str:
    from simt import jobs

    return jobs.write_claims(options.settings, options.to)


@COMMANDS.command(
    "write the report: results, claims, figures and tables on one page",
    option(
        "--to",
        required=True,
        type=Path,
        metavar="FILE",
        help="file to write, e.g. results/paper/toy/report.html",
    ),
    _STUDY,
    product="files",
)
def report(options: argparse.Namespace) -> str:
    from simt.jobs import write_page

    return write_page(options.settings, options.to)
