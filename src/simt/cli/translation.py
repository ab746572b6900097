"""Translating text of one's own."""

import argparse
from collections.abc import Callable, Sequence
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

from simt.cli.arguments import STUDY, count, folder, port, threads
from simt.cli.command import Group, option
from simt.errors import SimtError

if TYPE_CHECKING:
    from simt.params import Params
    from simt.translators import Chosen, System

COMMANDS = Group("translation")


@COMMANDS.command(
    "translate text word by word as it arrives, with one or several systems",
    option(
        "systems",
        nargs="*",
        metavar="SYSTEM",
        help="a finished run or an exported folder, e.g. sm2/bi, toy-deen/waitk/k3 or sm2/bi@0.5 "
        "(@ adds a knob value); default: list all",
    ),
    option(
        "--knob",
        metavar="VALUE",
        help="knob of systems without @, e.g. 0.5 or full; default: the middle one in params.yaml",
    ),
    option(
        "--from",
        type=Path,
        metavar="FILE",
        dest="origin",
        help="text file with one sentence per line, e.g. news.de; default: standard input",
    ),
    option(
        "--as-fast-as",
        type=count,
        metavar="WORDS",
        help="feed this many words per minute, e.g. 150; default: as fast as they arrive",
    ),
    option(
        "--json", action="store_true", help="print every READ and WRITE as one JSON object per line"
    ),
    threads(),
    STUDY,
)
def translate(options: argparse.Namespace) -> None:
    from simt.gpus import take_devices
    from simt.translate import translate_stream
    from simt.translators import describe_systems

    take_devices(options.threads)
    params = _read_once(options)
    if not options.systems:
        print(describe_systems(*_study_systems(params())))
        return
    chosen = _chosen(options.systems, options.knob, params)
    _warn_of_other_models(chosen, params)
    translate_stream(chosen, options.origin, options.as_fast_as, options.json)


@COMMANDS.command(
    "serve a page on which systems translate side by side while you type",
    option(
        "systems",
        nargs="*",
        metavar="SYSTEM",
        help="a finished run or an exported folder, e.g. sm2/bi@0.5 or exported/sm2-bi; default: "
        "sm2/bi, waitk/k3 and offline/bi, as far as they are finished",
    ),
    option(
        "--host",
        default="127.0.0.1",
        metavar="ADDRESS",
        help="address to listen at, e.g. 0.0.0.0 for the whole network; default: this machine only",
    ),
    option(
        "--port",
        type=port,
        default=8000,
        metavar="NUMBER",
        help="port to listen at, e.g. 8080, or 0 for any that is free; default: 8000",
    ),
    threads(),
    STUDY,
)
def serve(options: argparse.Namespace) -> None:
    from simt.gpus import take_devices
    from simt.live.server import serve_page
    from simt.live.systems import main_systems, open_systems
    from simt.translators import describe_systems

    take_devices(options.threads)
    params = _read_once(options)
    chosen = _chosen(options.systems, None, params) or main_systems(_study_systems(params())[0])
    if not chosen:
        raise SimtError(describe_systems(*_study_systems(params())))
    _warn_of_other_models(chosen, params)
    serve_page(open_systems(chosen), options.host, options.port)


def _read_once(options: argparse.Namespace) -> "Callable[[], Params]":
    """What reads params.yaml when it is first called; exported folders do without."""
    from simt.params import load_params

    return cache(lambda: load_params(options.params, options.study, options.fidelity))


def _chosen(
    names: Sequence[str], knob: str | None, params: "Callable[[], Params]"
) -> "list[Chosen]":
    """The systems that a person names."""
    from simt.exported import choose_system

    return [choose_system(name, knob, params) for name in names]


def _warn_of_other_models(chosen: "Sequence[Chosen]", params: "Callable[[], Params]") -> None:
    """Say so of runs that are not those of params.yaml; exported folders need none."""
    from simt.cli.stale import warn_of_other_models
    from simt.runs import Run

    if runs := {one.system.name for one in chosen if one.system.raw_test is not None}:
        warn_of_other_models(params(), map(Run.parse, sorted(runs)))


def _study_systems(params: "Params") -> "tuple[list[System], str]":
    """What a study can translate with, and the name of the study."""
    from simt.translators import study_systems

    return study_systems(params), params.study


@COMMANDS.command(
    "export a trained system as a folder that works on any machine",
    option(
        "run",
        metavar="RUN",
        help="a finished run, e.g. sm2/bi or toy-deen/sm2/bi/seed1; @ adds the knob value that the "
        "folder translates at if none is given, as in sm2/bi@0.5",
    ),
    folder("--to", "a new folder", "exported/sm2-bi"),
    STUDY,
    product="files",
)
def export(options: argparse.Namespace) -> None:
    from simt.cli.stale import warn_of_other_scores
    from simt.exported import export_named
    from simt.params import load_params

    params = load_params(options.params, options.study, options.fidelity)
    run = export_named(params, options.run, options.to)
    warn_of_other_scores(params, [run])
    print(f"simt: exported; try: simt translate {options.to}")
