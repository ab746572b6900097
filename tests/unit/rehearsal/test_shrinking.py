"""A rehearsal has less of everything that takes time, and all else as it is."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
import yaml

from simt.params import Params, load_params
from simt.rehearsal.shrinking import ON_CPU, ON_GPU, Amounts, shrunk
from simt.runs import (
    Run,
    fetch_settings,
    run_settings,
    study_drawings,
    study_points,
    study_runs,
)

FILE = Path(__file__).parents[3] / "params.yaml"
RAW = yaml.safe_load(FILE.read_text(encoding="utf-8"))
PARAMS = load_params(FILE)
# The settings that are a number of updates, or bounded by what a CPU can do.
OF_AMOUNT = {
    "updates", "batch_tokens", "micro_tokens", "max_tokens", "warmup_updates",
    "validate_every_updates", "snapshot_every_updates",
    "mask_from_update", "threshold_decay_updates", "annealed_decay_updates",
}  # fmt: skip


def all_entries(study: str) -> dict[str, set[str]]:
    """Every entry of every pair that is no toy."""
    fetched = {
        pair: fetch_settings(PARAMS, pair)
        for pair in PARAMS.studies[study].runs
        if PARAMS.pairs[pair].toy is None
    }
    return {
        pair: {*settings.downloads, *settings.licensed, *settings.local}
        for pair, settings in fetched.items()
    }


def of_rehearsal(
    folder: Path,
    study: str,
    amounts: Amounts,
    stand_ins: Mapping[str, set[str]] | None = None,
    fidelity: str = "default",
) -> Params:
    """The shrunk params.yaml as it is read."""
    file = folder / "params.yaml"
    values = shrunk(RAW, study, fidelity, amounts, stand_ins or {})
    file.write_text(yaml.safe_dump(values, sort_keys=False), encoding="utf-8")
    return load_params(file)


def without_amounts(values: dict[str, Any]) -> dict[str, Any]:
    return {key: value for key, value in values.items() if key not in OF_AMOUNT}


def difference(params: Params, other: Params, run: Run) -> set[str]:
    """The settings of a run that differ, but for those of amounts."""
    one, two = (run_settings(each, run).model_dump() for each in (params, other))
    for part in ("training", "method_settings"):
        one[part], two[part] = without_amounts(one[part]), without_amounts(two[part])
    return {key for key in one if one[key] != two[key]}


@pytest.mark.parametrize("study", list(PARAMS.studies))
@pytest.mark.parametrize("amounts", [ON_CPU, ON_GPU], ids=["cpu", "gpu"])
def test_every_study_keeps_its_runs_knobs_and_drawings(
    study: str, amounts: Amounts, tmp_path: Path
) -> None:
    small = of_rehearsal(tmp_path, study, amounts, all_entries(study))
    ours, theirs = PARAMS.studies[study], small.studies[study]
    assert small.is_rehearsal
    assert not PARAMS.is_rehearsal
    assert small.study == study
    assert theirs == ours
    assert study_points(small, theirs) == study_points(PARAMS, ours)
    for kind in ("figures", "tables"):
        assert study_drawings(small, theirs, kind) == study_drawings(PARAMS, ours, kind)
    for run in study_runs(ours):
        assert difference(PARAMS, small, run) == set()
        names = (run.pair, run.method, run.variant)
        assert small.knobs(*names) == PARAMS.knobs(*names)
        assert run_settings(small, run).training.updates <= amounts.updates


def test_paper_has_87_trainings_at_real_size(tmp_path: Path) -> None:
    small = of_rehearsal(tmp_path, "paper", ON_CPU)
    models = [run_settings(small, run).model for run in study_runs(small.studies["paper"])]
    assert len(models) == 87
    # The paper: 512 wide, its big model 1024; two runs start from or are the big one.
    assert sorted({model.width for model in models}) == [512, 1024]
    assert sum(model.width == 1024 for model in models) == 2


def test_batches_are_the_real_ones_on_a_gpu_and_capped_on_a_cpu(tmp_path: Path) -> None:
    run = Run("wmt15-deen", "hmt", "l2-k4", 1)
    on_gpu = run_settings(of_rehearsal(tmp_path, "paper", ON_GPU), run).training
    assert (on_gpu.batch_tokens, on_gpu.micro_tokens, on_gpu.max_tokens) == (32768, 2048, 256)
    on_cpu = run_settings(of_rehearsal(tmp_path, "paper", ON_CPU), run).training
    assert (on_cpu.batch_tokens, on_cpu.micro_tokens, on_cpu.max_tokens) == (256, 128, 128)


def test_itst_masks_and_training_saves_before_it_ends(tmp_path: Path) -> None:
    small = of_rehearsal(tmp_path, "paper", ON_CPU)
    settings = run_settings(small, Run("wmt15-deen", "itst", "uni", 1))
    assert settings.method_settings["mask_from_update"] == 1
    assert settings.training.updates == 2
    assert settings.training.snapshot_every_updates == 2


def test_every_text_is_a_sample_and_vocabularies_are_filled_up(tmp_path: Path) -> None:
    small = of_rehearsal(tmp_path, "paper", ON_CPU)
    splits = small.splits("nist-zhen")
    assert [part.sample.end for part in splits.train if part.sample] == [1000]
    assert [part.sample.end for part in splits.test if part.sample] == [2, 2, 2, 2]
    aligned = small.splits("wmt15-deen").aligned
    assert aligned is not None
    assert aligned.sample is not None
    assert all(entry.is_filled_up for entry in small.bpe.values())


def test_part_that_was_a_sample_becomes_the_begin_of_it(tmp_path: Path) -> None:
    (part,) = of_rehearsal(tmp_path, "tatoeba", ON_CPU).splits("tatoeba-deen").test
    assert part.sample is not None
    assert (part.sample.begin, part.sample.end, part.sample.min_words) == (2000, 2006, 8)


def test_entries_with_a_stand_in_are_found_in_its_folder(tmp_path: Path) -> None:
    small = of_rehearsal(tmp_path, "paper", ON_CPU, {"wmt15-deen": {"rwth", "newstest2013"}})
    pair = small.pairs["wmt15-deen"]
    assert {name: one.folder for name, one in pair.local.items()} == {
        "rwth": "stand-in/wmt15-deen/rwth",
        "newstest2013": "stand-in/wmt15-deen/newstest2013",
    }
    assert pair.licensed == {}
    assert "newstest2013" not in pair.downloads
    assert "newstest2015" in pair.downloads


def test_fidelity_is_rehearsed_as_it_was_chosen(tmp_path: Path) -> None:
    small = of_rehearsal(tmp_path, "paper", ON_CPU, fidelity="paper")
    run = Run("wmt15-deen", "sm2", "bi", 1)
    # docs/fidelity.md: with fidelity paper, the base model's feed-forward layers have 1024 units.
    assert run_settings(small, run).model.ffn == 1024


def test_params_of_the_project_are_not_changed(tmp_path: Path) -> None:
    before = yaml.safe_load(FILE.read_text(encoding="utf-8"))
    of_rehearsal(tmp_path, "paper", ON_CPU, all_entries("paper"))
    assert before == RAW
