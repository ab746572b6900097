"""Arguments that several commands share, and what they mean."""

import argparse
import os
from pathlib import Path
from typing import TYPE_CHECKING

from simt.cli.command import Argument, option, several

if TYPE_CHECKING:
    from simt.params import Params


def count(text: str) -> int:
    """A whole number, at least 1."""
    if int(text) < 1:
        raise argparse.ArgumentTypeError(f"{text} is below 1")
    return int(text)


def minutes(text: str) -> float:
    """A duration in minutes, finite and not negative."""
    if not 0 <= float(text) < float("inf"):
        raise argparse.ArgumentTypeError(f"{text} is not a number of minutes, 0 or more")
    return float(text)


def port(text: str) -> int:
    """A number that a server can listen at; 0 is any."""
    if not 0 <= int(text) < 1 << 16:
        raise argparse.ArgumentTypeError(f"{text} is not a port (0 to 65535)")
    return int(text)


def folder(name: str, what: str, example: str) -> Argument:
    """An option for a folder that must be given."""
    return option(name, required=True, type=Path, metavar="FOLDER", help=f"{what}, e.g. {example}")


def settings(example: str) -> Argument:
    """What a step is told by its rule."""
    return option(
        "--settings",
        required=True,
        metavar="JSON",
        help=f"settings of this step, e.g. '{example}'; snakemake -n -p prints them in full",
    )


def threads(of: str = "") -> Argument:
    """How much of the CPU a command may use."""
    return option(
        "--threads", type=count, default=1, metavar="N", help=f"CPU threads{of}, e.g. 4; default: 1"
    )


PARAMS = option(
    "--params",
    type=Path,
    default=Path("params.yaml"),
    metavar="FILE",
    help="file with the settings of all studies, e.g. params.yaml, which is the default",
)
STUDY = several(
    option("--study", help="a study in params.yaml, e.g. multi30k; default: its `study`"),
    option(
        "--fidelity",
        help="preset where paper and official code disagree: default, paper or official, "
        "e.g. paper; default: `fidelity` of params.yaml",
    ),
    PARAMS,
)
MODELS = option(
    "--models",
    type=Path,
    metavar="FOLDER",
    help="COMET models outside the Hugging Face cache, e.g. ~/comet; default: $SIMT_MODELS",
)


def study_params(options: argparse.Namespace) -> "Params":
    """params.yaml, all of whose figures and tables can be drawn."""
    from simt.paper import FIGURES, TABLES
    from simt.params import check_drawings, load_params

    params = load_params(options.params, options.study, options.fidelity)
    check_drawings(params.paper, FIGURES, TABLES)
    return params


def models_folder(options: argparse.Namespace) -> Path | None:
    """The folder with COMET models that are not in the Hugging Face cache."""
    models = options.models or os.environ.get("SIMT_MODELS")
    return Path(models) if models else None
