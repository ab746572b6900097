"""What the steps of the paper are told is all that they need, and no more."""

from pathlib import Path

import pytest

from simt.params import Params, StudyExcerpt, load_params
from simt.products import Patterns
from simt.steps import Step, Steps

ROOT = Path(__file__).parents[2]
LONGEST_ARGUMENT = 128 * 1024  # of a command on Linux: MAX_ARG_STRLEN
STUDIES = ("tiny", "toy", "multi30k", "paper")


def told(step: Step) -> Params:
    """The parameters that the command of a step sees."""
    return StudyExcerpt.model_validate_json(step.settings.as_json()).params()


def same_step(step: Step, params: Params) -> Step:
    """The step as its command finds it in the parameters that it is told."""
    steps = Steps(params)
    for kind in ("figures", "tables"):
        if step.name in getattr(params.paper, kind) and step.name in step.product.marker:
            return steps.drawing(kind, step.name)
    found: Step = getattr(steps, step.name)()
    return found


def read_files(step: Step) -> list[tuple[str, Path, Patterns]]:
    return [(read.part, read.step.marker, read.patterns) for read in step.reads]


@pytest.mark.parametrize("study", STUDIES)
def test_command_finds_the_step_that_was_planned(study: str) -> None:
    for step in Steps(load_params(ROOT / "params.yaml", study)).paper():
        found = same_step(step, told(step))
        assert (read_files(found), found.outputs) == (read_files(step), step.outputs)
        assert found.settings.as_json() == step.settings.as_json()


@pytest.mark.parametrize("study", STUDIES)
def test_settings_are_short_enough_for_a_command(study: str) -> None:
    for step in Steps(load_params(ROOT / "params.yaml", study)).paper():
        assert len(step.settings.as_json().encode()) < LONGEST_ARGUMENT / 2


def test_systems_keep_the_order_of_the_study() -> None:
    params = load_params(ROOT / "params.yaml", "toy")
    step = Steps(params).curves()
    whole = params.studies["toy"].runs["toy-deen"]
    assert list(told(step).studies["toy"].runs["toy-deen"].items()) == list(whole.items())


def test_figure_is_told_of_the_variants_that_it_shows_only() -> None:
    params = load_params(ROOT / "params.yaml", "tiny")
    excerpt = told(Steps(params).drawing("figures", "fig08-ablations"))
    told_of = {method: tuple(entry.variants) for method, entry in excerpt.methods.items()}
    assert told_of == {"offline": ("bi",), "sm2": ("bi", "bi-no-omt", "bi-no-pi")}
    assert list(excerpt.paper.figures) == ["fig08-ablations"]
    assert not excerpt.paper.tables


def test_table_of_settings_is_told_of_every_size_and_of_no_other_setting() -> None:
    params = load_params(ROOT / "params.yaml", "tiny")
    variants = told(Steps(params).drawing("tables", "tab04-settings")).methods
    assert variants["sm2"].variants["bi-big-ft"].size == "big"
    assert variants["sm2"].variants["bi-w1.0"].settings == {}
