"""How fast this machine is, and whether a study survives faults."""

import argparse
import os
from pathlib import Path
from typing import get_args

from simt.cli.arguments import PARAMS, count, threads
from simt.cli.command import Argument, Group, one_of, option, several
from simt.settings import Precision

COMMANDS = Group("this machine")
BENCHES = COMMANDS.family(
    "bench", "measure speed and memory of corpus steps, training, decoding and live sessions"
)


def _of_models(repeats: int) -> Argument:
    """What all benches of models ask for."""
    return several(
        option(
            "--pair",
            default="toy-deen",
            help="pair whose settings are used, e.g. wmt15-deen; default: toy-deen",
        ),
        option(
            "--runs",
            nargs="+",
            metavar="METHOD/VARIANT",
            help="runs to measure, e.g. sm2/bi waitk/k3; default: one of every method",
        ),
        option(
            "--repeats",
            type=int,
            default=repeats,
            metavar="N",
            help=f"repetitions of each measurement, e.g. 3; default: {repeats}",
        ),
        threads(),
        PARAMS,
    )


_WORDS = option(
    "--words",
    type=int,
    default=1000,
    metavar="N",
    help="size of the vocabulary, e.g. 32000; default: 1000",
)


@BENCHES.command(
    "generating, cleaning, BPE, encoding and batching of text",
    option(
        "--pairs",
        type=int,
        nargs="+",
        default=[100_000],
        metavar="N",
        help="numbers of sentence pairs, e.g. 10000 1000000; default: 100000",
    ),
    option(
        "--processes",
        type=count,
        default=os.cpu_count() or 1,
        metavar="N",
        help="number of processes, e.g. 8; default: one per core",
    ),
    option(
        "--keep", type=Path, metavar="FOLDER", help="use this folder and keep its files, e.g. bench"
    ),
)
def corpus(options: argparse.Namespace) -> None:
    from simt.lab.corpus_bench import bench_sizes

    for text in bench_sizes(options.pairs, options.keep, options.processes):
        print(text, flush=True)


@BENCHES.command(
    "training speed of every method, in target tokens per second",
    one_of(
        option(
            "--corpus",
            type=Path,
            metavar="FOLDER",
            help="encoded corpus of a pair that is no toy, e.g. results/corpora/wmt15-deen/bpe",
        ),
        option(
            "--words",
            type=int,
            metavar="N",
            help="pad the vocabulary of a toy pair to this size, e.g. 32000",
        ),
    ),
    option(
        "--size",
        nargs="+",
        metavar="MODEL",
        help="model sizes in params.yaml, e.g. base big; default: that of the pair",
    ),
    option(
        "--against",
        type=Path,
        metavar="PYTHON",
        help="also measure JoeyNMT, installed for this Python, e.g. ~/joeynmt/bin/python",
    ),
    option(
        "--updates",
        type=int,
        default=4,
        metavar="N",
        help="updates per repetition, e.g. 10; default: 4",
    ),
    option(
        "--precision",
        choices=get_args(Precision),
        help="precision instead of the pair's own, e.g. bf16-products",
    ),
    option("--no-memory", action="store_true", help="do not measure peak memory"),
    option(
        "--json",
        type=Path,
        metavar="FILE",
        help="also write the numbers to this file, for simt plan --cost --bench, e.g. gpu.json",
    ),
    _of_models(repeats=10),
)
def train(options: argparse.Namespace) -> None:
    from simt.atomic import write_json
    from simt.lab.training_bench import RUNS, BenchChoices, bench_sizes
    from simt.params import load_params

    choices = BenchChoices(
        pair=options.pair,
        size=None,
        runs=tuple(options.runs or RUNS),
        updates=options.updates,
        repeats=options.repeats,
        threads=options.threads,
        has_memory=not options.no_memory,
        precision=options.precision,
    )
    params, reports = load_params(options.params), []
    for report in bench_sizes(
        params, choices, options.size or [None], options.corpus, options.words, options.against
    ):
        print(report.text(), flush=True)
        reports.append(report.as_dict())
    if options.json:
        write_json(options.json, reports)


@BENCHES.command(
    "decoding speed in sentences per second, in batches and one by one",
    option(
        "--size",
        metavar="MODEL",
        help="model size in params.yaml, e.g. base; default: that of the pair",
    ),
    _WORDS,
    _of_models(repeats=5),
)
def decode(options: argparse.Namespace) -> None:
    from simt.gpus import use_threads
    from simt.lab.decoding_bench import HEAD, RUNS, bench_decoding
    from simt.params import load_params

    use_threads(options.threads)
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


@BENCHES.command(
    "speed of a live session in milliseconds per word, beside one that caches nothing",
    option(
        "--size",
        nargs="+",
        metavar="MODEL",
        help="model sizes in params.yaml, e.g. toy base; default: that of the pair",
    ),
    _WORDS,
    _of_models(repeats=5),
)
def live(options: argparse.Namespace) -> None:
    from simt.gpus import use_threads
    from simt.lab.decoding_bench import RUNS
    from simt.lab.live_bench import LIVE_HEAD, bench_live
    from simt.params import load_params

    use_threads(options.threads)
    print(LIVE_HEAD)
    for speed in bench_live(
        load_params(options.params),
        options.pair,
        options.size or [None],
        options.runs or RUNS,
        options.words,
        options.repeats,
    ):
        print(speed.text(), flush=True)


@COMMANDS.command(
    "run a study while injecting random faults, and compare the results",
    option("--study", default="tiny", help="a study in params.yaml, e.g. toy; default: tiny"),
    option(
        "--profile",
        default="workflow/profiles/local",
        help="Snakemake profile, e.g. slurm; default: workflow/profiles/local",
    ),
    option(
        "--number",
        type=count,
        default=22,
        metavar="N",
        help="number of faults, e.g. 100; default: 22",
    ),
    option(
        "--seed",
        type=int,
        default=1,
        metavar="N",
        help="random seed for the choice of faults, e.g. 7; default: 1",
    ),
    option(
        "--baseline",
        type=Path,
        metavar="FOLDER",
        help="results of the same study without faults, e.g. ../baseline; default: run it first",
    ),
    option(
        "--to",
        type=Path,
        metavar="FOLDER",
        help="use this folder and keep its files, e.g. ../faults",
    ),
)
def faults(options: argparse.Namespace) -> None:
    from simt.lab.faults import inject_faults

    choice = (options.study, options.profile, options.seed, options.number)
    print(inject_faults(Path.cwd(), options.to, *choice, options.baseline))
