"""pyproject.toml, constraints.txt and environment.yml say the same."""

import re
import tomllib
from pathlib import Path

import pytest
import yaml
from packaging.requirements import Requirement
from packaging.specifiers import SpecifierSet
from packaging.utils import canonicalize_name

ROOT = Path(__file__).parents[2]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
ENVIRONMENT = yaml.safe_load((ROOT / "environment.yml").read_text())
REQUIREMENTS = [
    Requirement(text)
    for text in [*PROJECT["dependencies"], *PROJECT["optional-dependencies"]["dev"]]
]


def pins() -> dict[str, str]:
    lines = (ROOT / "constraints.txt").read_text().split()
    return {canonicalize_name(name): version for name, version in (x.split("==") for x in lines)}


@pytest.mark.parametrize("requirement", REQUIREMENTS, ids=lambda requirement: requirement.name)
def test_range_of_a_dependency_contains_its_pin(requirement: Requirement) -> None:
    version = pins()[canonicalize_name(requirement.name)]
    assert requirement.specifier.contains(version)


def test_pins_are_exact_versions_without_a_local_build() -> None:
    # "+cpu" would not install on a CUDA machine, an address not at all elsewhere.
    for line in (ROOT / "constraints.txt").read_text().split():
        assert re.fullmatch(r"[A-Za-z0-9._-]+==[0-9][0-9A-Za-z.]*", line), line


def test_conda_installs_the_package_with_the_same_pins() -> None:
    (pip,) = [entry["pip"] for entry in ENVIRONMENT["dependencies"] if isinstance(entry, dict)]
    assert pip == ["-c constraints.txt", "-e .[dev]"]


def test_conda_takes_the_same_pythons() -> None:
    (python,) = [
        entry
        for entry in ENVIRONMENT["dependencies"]
        if isinstance(entry, str) and entry.startswith("python ")
    ]
    assert SpecifierSet(python.removeprefix("python ")) == SpecifierSet(PROJECT["requires-python"])
