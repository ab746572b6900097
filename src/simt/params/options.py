"""What is said after ``snakemake --config``, read as strictly as params.yaml."""

from collections.abc import Mapping
from typing import Any, Literal

from simt.problems import Problems
from simt.settings import Settings

Face = Literal["sans", "serif"]
_BOOLEANS = {"true": True, "false": False}  # which Snakemake leaves as text


class Options(Settings):
    """A study and a fidelity preset instead of those in params.yaml, and how to draw figures."""

    study: str | None = None
    fidelity: str | None = None
    with_paper: bool = False
    face: Face = "sans"


def read_options(config: Mapping[str, Any]) -> Options:
    """Snakemake takes any key; one that is misspelt would run another study than was meant."""
    problems = Problems()
    values = {key: _BOOLEANS.get(str(value).lower(), value) for key, value in config.items()}
    options = problems.parse(Options, values, "--config")
    problems.raise_if_any("the command line")
    assert options is not None
    return options
