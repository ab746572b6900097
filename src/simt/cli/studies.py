"""What people ask of a study."""

import argparse
from pathlib import Path

from simt.cli.arguments import STUDY, count, study_params
from simt.cli.command import Group, option

COMMANDS = Group("a study")


@COMMANDS.command(
    "show what a study will run, what is done, what is out of date and why",
    STUDY,
    option(
        "--cost", action="store_true", help="show tokens, FLOPs and device time of each run instead"
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
        nargs="+",
        default=(1, 4, 8, 16),
        metavar="N",
        help="for --cost: wall time with these numbers of GPUs, e.g. 2 32; default: 1 4 8 16",
    ),
)
def plan(options: argparse.Namespace) -> None:
    from simt.cost import bench_measurements, study_cost
    from simt.plan import describe_cost, describe_study
    from simt.user_files import corpora_folder

    params = study_params(options)
    if options.cost:
        measured = bench_measurements(params, options.bench) if options.bench else None
        print(describe_cost(study_cost(params, params.study, measured), options.gpus))
    else:
        print(describe_study(params, params.study, corpora_folder()))


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
    from simt.runs import RESULTS

    params = study_params(options)
    print(describe_runs(params, params.study, options.pattern, RESULTS, time.time()))


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
    from simt.paper.contrast import describe_difference
    from simt.runs import RESULTS

    params = study_params(options)
    names = (options.one, options.other)
    print(describe_difference(params, params.study, names, options.at, RESULTS))


@COMMANDS.command(
    "show which claims of the paper hold, and the numbers behind each verdict",
    STUDY,
)
def claims(options: argparse.Namespace) -> None:
    from simt.paper.claims import judge_claims
    from simt.paper.claims_report import as_text
    from simt.runs import RESULTS

    params = study_params(options)
    print(as_text(judge_claims(params, params.study, RESULTS)), end="")


@COMMANDS.command(
    "fail unless the results of a study are complete and match params.yaml",
    option(
        "stage",
        choices=("corpora", "runs", "points", "paper"),
        help="check everything up to this stage, e.g. runs",
    ),
    option("--deep", action="store_true", help="also verify the checksum of every file"),
    STUDY,
)
def check(options: argparse.Namespace) -> None:
    from simt.check import check_stage

    params = study_params(options)
    print(check_stage(params, params.study, options.stage, options.deep))


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
    from simt.mirror import follow_into_server, mirror_once

    if options.follow:
        follow_into_server(lambda: study_params(options), options.pages)
    else:
        print(mirror_once(study_params(options), options.pages))
