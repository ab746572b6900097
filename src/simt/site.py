"""What a site says of its cluster: account and partitions, which belong in no repository."""

from collections.abc import Mapping
from pathlib import Path

from simt.problems import Problems
from simt.settings import Settings
from simt.strict_yaml import read_yaml


class Site(Settings):
    """All may be missing: SLURM then takes its defaults."""

    account: str | None = None
    partition: str | None = None
    gpu_partition: str | None = None


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
    said = {name: environment.get(f"SIMT_{name.upper()}") for name in Site.model_fields}
    return site.model_copy(update={name: value for name, value in said.items() if value})
