"""What people ask of a study."""

import argparse
import os
from pathlib import Path
from typing import TYPE_CHECKING

from simt.cli.arguments import MODELS, STUDY, count, folder, models_folder, study_params
from simt.cli.command import Group, option
from simt.datasheets import KINDS
from simt.errors import SimtError

if TYPE_CHECKING:
    from simt.params import Params

COMMANDS = Group("a study")


@COMMANDS.command(
    "show what a study will run, what is done, what is out of date and why",
    STUDY,
    option(
        "--cost",
        action="store_true",
        help="show tokens, FLOPs and device time of each run, and the schedule, disk and memory of "
        "the study instead",
    ),
    option(
        "--bench",
        type=Path,
        metavar="FILE",
        help="for --cost: speeds measured on another machine by simt bench train --json, "
        "e.g. gpu.json",
    ),
    option(
        "--gpus",
        type=count,
        metavar="N",
        help="for --cost: plan for so many GPUs, e.g. 8; default: those of this machine",
    ),
    option(
        "--kind",
        choices=tuple(KINDS),
        help="for --cost: of this kind, by its data sheet, e.g. a100; default: as measured",
    ),
    option(
        "--cores",
        type=count,
        metavar="N",
        help="for --cost: plan for so many CPU cores, e.g. 2; default: those of this machine, and "
        "with --gpus as many as jobs ask for",
    ),
)
def plan(options: argparse.Namespace) -> None:
    from simt.plan import describe_study
    from simt.user_files import corpora_folder

    if not options.cost:
        _refuse_options_of_cost(options)
    params = study_params(options)
    if options.cost:
        print(_cost(params, options))
    else:
        print(describe_study(params, corpora_folder()))


def _refuse_options_of_cost(options: argparse.Namespace) -> None:
    """A plan without costs would pass over them in silence."""
    names = ("bench", "gpus", "kind", "cores")
    given = [f"--{name}" for name in names if getattr(options, name) is not None]
    if given:
        needs = "needs" if len(given) == 1 else "need"
        raise SimtError(f"{', '.join(given)} {needs} --cost: add --cost")


def _cost(params: "Params", options: argparse.Namespace) -> str:
    from simt.cost import bench_measurements, study_cost
    from simt.cost_report import Hardware, describe_cost
    from simt.gpus import gpus_here
    from simt.schedule import Machine
    from simt.timings import read_timings

    measured = bench_measurements(params, options.bench) if options.bench else None
    gpus = options.gpus or len(gpus_here())
    if options.kind and not gpus:
        raise SimtError(f"say how many GPUs: --gpus 8 --kind {options.kind}")
    cores = options.cores or (None if options.gpus else len(os.sched_getaffinity(0)))
    hardware = Hardware(Machine(gpus, cores), KINDS.get(options.kind), options.bench is not None)
    return describe_cost(params, study_cost(params, measured, gpus > 0), read_timings(), hardware)


@COMMANDS.command(
    "run a scaled-down copy of a study: what is missing or fails, memory, speed, disk",
    STUDY,
    option(
        "--profile",
        default="workflow/profiles/local",
        help="Snakemake profile, e.g. slurm; default: workflow/profiles/local",
    ),
    option(
        "--stand-in",
        action="store_true",
        help="go on without files that are missing, with generated text in their place",
    ),
    MODELS,
    product="files",
)
def rehearse(options: argparse.Namespace) -> str:
    from simt.rehearsal import Choices, rehearse
    from simt.user_files import corpora_folder

    params = study_params(options)
    choices = Choices(
        options.params, params.study, params.fidelity, options.profile, options.stand_in,
        corpora_folder(), models_folder(options),
    )  # fmt: skip
    return rehearse(choices, lambda line: print(line, flush=True))


@COMMANDS.command(
    "list the runs: progress, loss, BLEU and AL",
    option(
        "pattern",
        nargs="?",
        metavar="NAME",
        help="only runs whose name contains this, e.g. sm2 or 'sm2/bi-w*'",
    ),
    STUDY,
)
def runs(options: argparse.Namespace) -> None:
    import time

    from simt.paper.inventory import describe_runs

    params = study_params(options)
    table, unreadable = describe_runs(params, options.pattern, time.time())
    print(table)
    if unreadable:
        raise SimtError("\n".join(unreadable))


@COMMANDS.command(
    "compare the BLEU of two systems at equal latency, with confidence intervals",
    option(
        "one",
        metavar="ONE",
        help="a system or run of the study, e.g. sm2/bi; @ adds a knob value",
    ),
    option(
        "other",
        metavar="OTHER",
        help="another one, e.g. waitk, waitk/k3 or sm2/bi@full",
    ),
    option(
        "--at",
        type=float,
        nargs="+",
        default=(),
        metavar="AL",
        help="average lagging in source tokens, e.g. 3 4.5; default: all whole numbers in range",
    ),
    STUDY,
)
def compare(options: argparse.Namespace) -> None:
    from simt.cli.stale import warn_of_other_scores
    from simt.paper.contrast import compared_runs, describe_difference

    params = study_params(options)
    names = (options.one, options.other)
    warn_of_other_scores(params, compared_runs(params, names))
    print(describe_difference(params, names, options.at))


@COMMANDS.command(
    "show which claims of the paper hold, and the numbers behind each verdict",
    STUDY,
)
def claims(options: argparse.Namespace) -> None:
    from simt.cli.stale import warn_of_other_settings
    from simt.paper.claims import judge_claims
    from simt.paper.claims_report import as_text

    params = study_params(options)
    warn_of_other_settings(params)
    print(as_text(judge_claims(params)), end="")


@COMMANDS.command(
    "fail unless the results of a study are complete and match params.yaml",
    option(
        "stage",
        nargs="?",
        choices=("corpora", "runs", "points", "paper"),
        default="paper",
        help="check everything up to this stage, e.g. runs; default: paper, the last one",
    ),
    option("--deep", action="store_true", help="also verify the checksum of every file"),
    option(
        "--redo",
        action="store_true",
        help="do not fail, but have Snakemake make again what it does not see to be wrong: removes "
        "the markers of these results and nothing else",
    ),
    STUDY,
)
def check(options: argparse.Namespace) -> None:
    from simt.check import check_stage, redo_stage

    params = study_params(options)
    look = redo_stage if options.redo else check_stage
    print(look(params, options.stage, options.deep))


@COMMANDS.command(
    "write a small folder with figures, tables, claims and provenance of a study, for git",
    folder("--to", "output folder", "docs/results/toy"),
    STUDY,
    product="files",
)
def publish(options: argparse.Namespace) -> str:
    from simt.paper.publication import publish

    params = study_params(options)
    publish(params, options.to)
    return f"open {options.to}/README.md"


@COMMANDS.command(
    "copy runs, scores and the report of a study to MLflow",
    option(
        "--follow",
        action="store_true",
        help="keep copying until standard input ends; needs MLFLOW_TRACKING_URI",
    ),
    option(
        "--pages",
        metavar="ADDRESS",
        help="address of the MLflow UI, to print links to it, e.g. http://127.0.0.1:5000",
    ),
    STUDY,
    product="files",
)
def track(options: argparse.Namespace) -> None:
    from simt.cli.stale import warn_of_other_settings
    from simt.mirror import follow_into_server, mirror_once

    if options.follow:
        follow_into_server(lambda: study_params(options), options.pages)
    else:
        params = study_params(options)
        warn_of_other_settings(params)
        print(mirror_once(params, options.pages))
