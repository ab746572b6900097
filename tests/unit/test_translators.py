"""Names and knob values by which a person asks for a system."""

from pathlib import Path

import pytest

from simt.errors import SimtError
from simt.live.systems import main_systems
from simt.params import Knob, load_params
from simt.runs import Run
from simt.translators import System, choose, describe_systems, study_systems

FILE = Path(__file__).parents[2] / "params.yaml"


def system(name: str, knobs: tuple[Knob, ...] = ("full",)) -> System:
    _, method, variant, _ = name.split("/")
    return System(name, method, variant, ("de", "en"), knobs, NotImplemented)


SEVERAL_PAIRS = [
    system("half/offline/bi/seed1"),
    system("half/offline/bi/seed2"),
    system("all/waitk/k3/seed1", (1, 3, 5)),
    system("all/offline/bi/seed1"),
]


@pytest.mark.parametrize("name", ["offline/bi", "offline/bi/seed1"])
def test_name_that_several_pairs_have_is_refused(name: str) -> None:
    with pytest.raises(SimtError, match=f"name the pair, too, as in half/{name}, all/{name}$"):
        choose(name, None, SEVERAL_PAIRS)


@pytest.mark.parametrize(
    ("name", "meant"),
    [
        ("all/offline/bi", "all/offline/bi/seed1"),
        ("half/offline/bi", "half/offline/bi/seed1"),
        ("offline/bi/seed2", "half/offline/bi/seed2"),
        ("waitk/k3", "all/waitk/k3/seed1"),
    ],
)
def test_name_that_one_pair_has_is_its_first_seed(name: str, meant: str) -> None:
    assert choose(name, None, SEVERAL_PAIRS).system.name == meant


def test_method_with_one_variant_can_be_named_alone() -> None:
    assert choose("waitk", None, SEVERAL_PAIRS).system.name == "all/waitk/k3/seed1"
    assert choose("half/offline@full", None, SEVERAL_PAIRS).system.name == "half/offline/bi/seed1"
    with pytest.raises(SimtError, match=r"name the pair, too, as in half/offline, all/offline$"):
        choose("offline", None, SEVERAL_PAIRS)
    with pytest.raises(SimtError, match="no finished run or exported folder 'waitk'"):
        choose("waitk", None, [*SEVERAL_PAIRS, system("all/waitk/k5/seed1")])


def test_system_of_another_study_is_named_with_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    params = load_params(FILE, "toy")
    message = r"of study toy or .* 'tiny-deen/sm2/bi'; there are none yet.* --study NAME looks"
    with pytest.raises(SimtError, match=message):
        choose("tiny-deen/sm2/bi", None, study_systems(params), params)
    folder = Run("tiny-deen", "sm2", "bi", 1).folder
    folder.mkdir(parents=True)
    (folder / "settings.json").touch()
    with pytest.raises(SimtError, match=r"'tiny-deen/sm2/bi'; study tiny has it: --study tiny$"):
        choose("tiny-deen/sm2/bi@0.5", None, study_systems(params), params)


def test_example_is_a_name_that_one_pair_has() -> None:
    described = describe_systems(SEVERAL_PAIRS, "some")
    assert described.endswith("simt translate all/offline/bi --study some")
    assert describe_systems(SEVERAL_PAIRS[:3], "some").endswith(
        "simt translate waitk/k3 --study some"
    )


def test_systems_that_are_shown_together_are_of_one_pair() -> None:
    def shown(systems: list[System]) -> list[str]:
        return [chosen.system.name for chosen in main_systems(systems)]

    assert shown(SEVERAL_PAIRS) == ["half/offline/bi/seed1"]
    assert shown(SEVERAL_PAIRS[2:]) == ["all/waitk/k3/seed1", "all/offline/bi/seed1"]
    assert shown([]) == []


def test_full_is_a_knob_value_of_methods_that_can_wait_for_all_of_the_source() -> None:
    hmt = system("all/hmt/l2-k4/seed1", (0.3, 0.5))
    with pytest.raises(
        SimtError, match=r"seed1: this method never waits for the full source; .* such as 0.3 0.5$"
    ):
        hmt.knob("full")
    with pytest.raises(SimtError, match=r"'much' is not a knob value .* such as 0.3 0.5$"):
        hmt.knob("much")
    waitk = system("all/waitk/k3/seed1", (1, 3, "full"))
    assert waitk.knob("full") == "full"
    with pytest.raises(SimtError, match=r"'much' is not a knob value .* such as 1 3, or full$"):
        waitk.knob("much")
