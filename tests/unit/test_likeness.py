"""How long a job will be, by the jobs that are like it.

In the tiny study, every training but the -ft and -adapter ones has 8 updates, which have 2; test
and aligned have 20 sentences each, and SM² is decoded at 5 knob values, wait-k at 1.
"""

import json
from pathlib import Path

import pytest

from simt.atomic import write_json
from simt.likeness import Likeness, Usable, fixed_seconds
from simt.params import Params, load_params
from simt.runs import Point, Run
from simt.timings import Timing
from tests.samples.markers import change_settings
from tests.samples.records import mark_recorded

FILE = Path(__file__).parents[2] / "params.yaml"
DECODED = "decode/tiny-deen/sm2/bi/seed1/test"


@pytest.fixture
def params(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Params:
    monkeypatch.chdir(tmp_path)
    return load_params(FILE, "tiny")


def likeness(
    params: Params, seconds: dict[str, float], has_gpus: bool = False, on_gpu: bool = False
) -> Likeness:
    """With these records, of jobs as params.yaml has them."""
    for name in seconds:
        mark_recorded(params, name)
    timings = {name: Timing(0, value, value, on_gpu) for name, value in seconds.items()}
    return Likeness(params, timings, has_gpus)


def test_own_record_comes_first_unless_it_is_left_out(params: Params) -> None:
    known = likeness(
        params, {"decode/tiny-deen/sm2/bi/seed1/test": 7, "decode/tiny-deen/sm2/bi-p/seed1/test": 9}
    )
    assert known.seconds(DECODED, without_own=False) == 7
    assert known.seconds(DECODED, without_own=True) == 9


def test_same_method_is_more_alike_than_another_and_several_give_their_median(
    params: Params,
) -> None:
    known = likeness(
        params,
        {
            "decode/tiny-deen/hmt/l2-k4/seed1/test": 1,
            "decode/tiny-deen/sm2/bi-p/seed1/test": 4,
            "decode/tiny-deen/sm2/bi-no-omt/seed1/test": 8,
        },
    )
    assert known.seconds(DECODED, without_own=True) == 6


def test_scores_are_carried_over_by_knob_values(params: Params) -> None:
    known = likeness(params, {"score/tiny-deen/waitk/k3/seed1/test": 3})
    assert known.seconds("score/tiny-deen/sm2/bi/seed1/test", without_own=True) == pytest.approx(15)


def test_what_does_not_grow_with_the_work_is_not_carried_over() -> None:
    # 4 s and 1 s for each unit of work: 3 units took 7 s, 11 took 15 s; the job has 1.
    records = [Usable((True,), 7, ratio=1 / 3), Usable((False,), 15, ratio=1 / 11)]
    assert fixed_seconds(records) == pytest.approx(4)
    assert fixed_seconds(records[:1]) == 0  # one record cannot tell
    # Twice the work took three times as long: nothing is left for imports.
    assert fixed_seconds([Usable((True,), 5, ratio=1), Usable((True,), 15, ratio=0.5)]) == 0
    # More work took less time, by chance: no more than the shortest.
    assert fixed_seconds([Usable((True,), 5, ratio=1), Usable((True,), 3, ratio=0.5)]) == 3


def test_trainings_are_carried_over_by_flops(params: Params) -> None:
    known = likeness(params, {"train/tiny-deen/sm2/bi/seed1": 8})
    # The same model for a quarter of the updates.
    assert known.seconds("train/tiny-deen/sm2/bi-ft/seed1", False) == pytest.approx(2)


def test_work_of_a_record_is_that_of_the_settings_it_was_made_with(params: Params) -> None:
    train, score = "train/tiny-deen/sm2/bi/seed1", "score/tiny-deen/sm2/bi/seed1/test"
    record = {train: 8.0, score: 6.0}
    likeness(params, record)
    run = Run.parse(train.removeprefix("train/"))
    trained = json.loads((run.folder / "settings.json").read_text())["settings"]["training"]
    change_settings(run.folder / "settings.json", training=trained | {"updates": 4})
    change_settings(Point(run, "test").folder / "settings.json", knobs=["full", 0.5])
    timings = {name: Timing(0, value, value, False) for name, value in record.items()}
    known = Likeness(params, timings, has_gpus=False)
    assert known.seconds(train, without_own=False) == pytest.approx(16)  # 8 updates instead of 4
    assert known.seconds(score, without_own=False) == pytest.approx(15)  # 5 knob values, not 2


def test_record_of_what_is_not_there_any_more_tells_nothing(params: Params) -> None:
    timings = {DECODED: Timing(0, 7, 7, False)}
    assert Likeness(params, timings, has_gpus=False).seconds(DECODED, without_own=False) is None


def test_corpora_are_carried_over_by_sentences_up_to_ten_times_as_many(params: Params) -> None:
    known = likeness(params, {"bpe/tiny-deen": 1})
    assert known.seconds("bpe/toy-deen", without_own=True) is None  # 20,000 and 300 sentences
    near = likeness(params, {"bpe/toy-deen-u4800": 30})
    assert near.seconds("bpe/toy-deen", without_own=True) == 30  # the same text


@pytest.mark.parametrize("name", ["bpe/gone-deen", "train/gone-deen/sm2/bi/seed1", "report/gone"])
def test_record_of_what_params_no_longer_have_is_passed_over(name: str, params: Params) -> None:
    known = likeness(params, {name: 1, "bpe/toy-deen-u4800": 30})
    assert known.seconds("bpe/toy-deen", without_own=True) == 30


def test_download_of_another_corpus_tells_nothing(params: Params) -> None:
    known = likeness(params, {"fetch/multi30k-deen": 60})
    assert known.seconds("fetch/tatoeba-deen", without_own=False) is None
    assert known.seconds("fetch/multi30k-deen", without_own=False) == 60


def test_cpu_tells_nothing_of_a_gpu_nor_the_other_way_round(params: Params) -> None:
    record = {"decode/tiny-deen/sm2/bi/seed1/test": 7.0}
    assert likeness(params, record, has_gpus=True).seconds(DECODED, False) is None
    assert likeness(params, record, on_gpu=True).seconds(DECODED, False) is None
    assert likeness(params, record, has_gpus=True, on_gpu=True).seconds(DECODED, False) == 7


@pytest.mark.parametrize("devices", [1, 4])
def test_training_counts_for_each_gpu_that_it_had(params: Params, devices: int) -> None:
    name = "train/wmt15-deen/offline/bi-big/seed1"  # its rule asks for four
    known = likeness(params, {name: 100.0}, has_gpus=True, on_gpu=True)
    write_json(Run.parse(name.removeprefix("train/")).folder / "run.json", {"devices": devices})
    assert known.seconds(name, without_own=False) == 100 * devices
