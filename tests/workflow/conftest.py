"""What costs minutes is made once: the tiny study, undisturbed, and a SLURM cluster."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.samples.cluster import Cluster, missing_programs
from tests.samples.project import LOCAL, TINY, copy_project, run


@pytest.fixture
def project(tmp_path: Path) -> Path:
    """A copy of what Snakemake reads, with no results."""
    return copy_project(tmp_path)


@pytest.fixture(scope="session")
def study(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder in which the tiny study has run to its last figure.

    Tests that take it belong to the xdist group "study": then one worker makes it, once.
    """
    folder = copy_project(tmp_path_factory.mktemp("study"))
    run(folder, *LOCAL, *TINY)
    return folder


@pytest.fixture(scope="session")
def cluster() -> Iterator[Cluster]:
    """A real SLURM, with pretended GPUs."""
    if missing := missing_programs():
        pytest.skip(f"not installed: {', '.join(missing)} (Debian: slurmctld slurmd munge)")
    started = Cluster()
    try:
        started.start()
        yield started
    finally:
        started.stop()
