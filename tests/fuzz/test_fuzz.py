"""2,000 corrupted inputs: no traceback, no hang, no flood, no code run, no silent failure."""

from collections.abc import Iterator
from pathlib import Path

import pytest
import torch

from tests.fuzz.driver import Case, cases, choose, try_input
from tests.samples.small_study import make_study

INPUTS = 2000

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def study(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Path, dict[str, Case]]]:
    """A folder with a small finished study, and the commands that read it."""
    folder = tmp_path_factory.mktemp("study")
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    yield folder, cases(make_study(folder))
    torch.set_num_threads(threads)


@pytest.mark.parametrize("part", range(4))
def test_no_corrupted_input_makes_a_command_misbehave(
    part: int,
    study: tuple[Path, dict[str, Case]],
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    folder, every = study
    found = []
    for seed in range(part, INPUTS, 4):
        name = choose(seed, every)
        if finding := try_input(seed, name, every[name], folder, tmp_path):
            found.append(str(finding))
    assert not found, f"{len(found)} of {INPUTS // 4} inputs\n" + "\n".join(found[:10])
