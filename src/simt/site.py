"""What a site says of its cluster, which belongs in no repository: account, partitions, limits."""

from collections.abc import Mapping
from pathlib import Path
from typing import Annotated

from pydantic import Field

from simt.problems import Problems
from simt.settings import Settings
from simt.strict_yaml import read_yaml

_ON_NODES = r"^(train|decode|confidences|states|score|(prepare|bpe|estimator)_.+)$"
Rule = Annotated[str, Field(pattern=_ON_NODES)]


class Site(Settings):
    """All may be missing: SLURM then takes its defaults.

    ``resources`` are those that jobs ask for instead, by rule and in Snakemake's words. Snakemake's
    own ``--set-resources`` would take the place of all that the profile says.
    """

    account: str | None = None
    partition: str | None = None
    gpu_partition: str | None = None
    resources: Mapping[Rule, Mapping[str, int | str]] = {}


def read_site(file: Path, environment: Mapping[str, str]) -> Site:
    """The site's file, if there is one; SIMT_ACCOUNT and so on in the environment come first."""
    problems = Problems()
    try:
        values = read_yaml(file, problems)
    except FileNotFoundError:
        values = {}
    site = problems.parse(Site, values, "slurm")
    problems.raise_if_any(str(file))
    assert site is not None
    names = ("account", "partition", "gpu_partition")
    said = {name: environment.get(f"SIMT_{name.upper()}") for name in names}
    return site.model_copy(update={name: value for name, value in said.items() if value})
