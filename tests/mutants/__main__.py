"""`make mutants MUTANTS=60 SEED=0`: how many small changes to the code does no test notice?

A sample of places in the rooms below is drawn, and at each of them one of the ways to change it.
The tests of the room run on a copy of the tree with that one change in it. Processes are forked
after the large packages have been imported, so that most changes cost a few seconds.
"""

import argparse
import os
import resource
import shutil
import sys
import tempfile
from collections.abc import Iterator
from math import sqrt
from pathlib import Path
from random import Random

import pytest
import sacrebleu  # noqa: F401 - imported once, for all forks
import scipy.stats  # noqa: F401
import torch  # noqa: F401

from tests.mutants.places import Mutant, is_real, places

ROOMS = ("methods", "scoring", "simulation")
# They measure speed, or train a model in slow tests only.
LEFT_OUT = ("bench.py", "estimator.py")
CPU_SECONDS = 120  # the tests of a room take 20: what takes more is a loop without an end
ROOT = Path(__file__).parents[2]


def draw(number: int, seed: int, tree: Path) -> list[Mutant]:
    """Changes at ``number`` places of all rooms."""
    rng = Random(seed)
    ways = [
        found
        for room in ROOMS
        for path in sorted((tree / "src" / "simt" / room).glob("*.py"))
        if path.name not in LEFT_OUT
        for _, found in sorted(places(path).items())
    ]
    rng.shuffle(ways)
    chosen: list[Mutant] = []
    for found in ways:
        mutant = rng.choice(found)
        if is_real(mutant):
            chosen.append(mutant)
        if len(chosen) == number:
            break
    return chosen


def is_noticed(mutant: Mutant, tree: Path) -> bool:
    """Whether a test fails when this change is made."""
    original = mutant.path.read_text(encoding="utf-8")
    mutant.path.write_text(mutant.code(), encoding="utf-8")
    try:
        return not passes(tree, mutant.path.parent.name, mutant.path.stem)
    finally:
        mutant.path.write_text(original, encoding="utf-8")


def passes(tree: Path, room: str, module: str) -> bool:
    """Whether all tests of a room pass, beginning with those that are named after a module."""
    child = os.fork()
    if child == 0:
        _test(tree, room, module)
    _, status = os.waitpid(child, 0)
    return status == 0


def _test(tree: Path, room: str, module: str) -> None:
    """Never returns: this process has no other use."""
    code = 1
    try:
        resource.setrlimit(resource.RLIMIT_CPU, (CPU_SECONDS, CPU_SECONDS))
        os.chdir(tree)
        sys.path[:0] = [str(tree / "src"), str(tree)]
        for name in [name for name in sys.modules if name.split(".")[0] in ("tests", "simt")]:
            del sys.modules[name]
        for stream in (1, 2):
            os.dup2(os.open(os.devnull, os.O_WRONLY), stream)
        files = sorted(
            Path("tests/unit", room).glob("test_*.py"),
            key=lambda file: (module not in file.name, file.name),
        )
        options = ["-x", "-q", "-p", "no:cacheprovider", "-p", "no:xdist", "-m", "not slow"]
        code = int(
            pytest.main([*options, "-o", "addopts=--import-mode=importlib", *map(str, files)])
        )
    finally:
        os._exit(code)


def survivors(mutants: list[Mutant], tree: Path) -> Iterator[Mutant]:
    """The changes that no test noticed, as they are found."""
    for number, mutant in enumerate(mutants, 1):
        where = f"{mutant.path.relative_to(tree)}:{mutant.line}"
        is_dead = is_noticed(mutant, tree)
        print(
            f"{number:4} {'noticed ' if is_dead else 'SURVIVES'} {where} {mutant.operator}",
            flush=True,
        )
        if not is_dead:
            print(mutant.diff(), flush=True)
            yield mutant


def interval(part: int, whole: int) -> tuple[float, float]:
    """Wilson's interval of a proportion, 95 %."""
    z = 1.96
    centre = (part + z * z / 2) / (whole + z * z)
    half = z / (whole + z * z) * sqrt(part * (whole - part) / whole + z * z / 4)
    return max(centre - half, 0.0), min(centre + half, 1.0)


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m tests.mutants", description=__doc__)
    parser.add_argument("--number", type=int, default=60, help="how many places are changed")
    parser.add_argument("--seed", type=int, default=0, help="another seed draws others")
    asked = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="simt-mutants-") as folder:
        tree = Path(folder) / "tree"
        ignored = shutil.ignore_patterns(".*", "results", "__pycache__", "logs")
        shutil.copytree(ROOT, tree, ignore=ignored)
        for room in ROOMS:
            assert passes(tree, room, ""), f"tests/unit/{room} fails without any change"
        mutants = draw(asked.number, asked.seed, tree)
        left = sum(1 for _ in survivors(mutants, tree))
    low, high = interval(left, len(mutants))
    print(f"{left} of {len(mutants)} survive: {left / len(mutants):.0%} [{low:.0%}, {high:.0%}]")


if __name__ == "__main__":
    main()
