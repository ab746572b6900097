"""What trainings cost, before and after."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import torch
from torch.utils.flop_counter import FlopCounterMode

from simt.atomic import write_json
from simt.corpus.ids import SPECIAL_IDS
from simt.cost import (
    StudyCost,
    Text,
    bench_measurements,
    earlier_runs,
    flops_per_token,
    parameter_count,
    study_cost,
)
from simt.cost_report import Hardware, describe_cost
from simt.datasheets import KINDS
from simt.errors import SimtError
from simt.methods import METHODS, build_model
from simt.model.network import VocabularySizes
from simt.params import Params, load_params
from simt.runs import Run, run_settings
from simt.schedule import Machine
from simt.settings import METHOD_SETTINGS, ModelSettings, RunSettings
from tests.samples.batches import random_batch
from tests.samples.golden import golden_cases
from tests.samples.markers import change_settings, mark
from tests.samples.settings import DEFAULTS

FILE = Path(__file__).parents[2] / "params.yaml"
PARAMS = load_params(FILE, "tiny")
RUN = Run("tiny-deen", "sm2", "bi", 1)
JOINT = Text(31970, 31970, is_joint=True)


def settings(method: str, size: ModelSettings | None = None, **changes: Any) -> RunSettings:
    """Some run of a method."""
    some = run_settings(PARAMS, RUN)
    return some.model_copy(
        update={
            "method": method,
            "model": size or some.model,
            "method_settings": {**DEFAULTS[method], **changes},
        }
    )


def build(run: RunSettings, vocabulary: VocabularySizes) -> torch.nn.Module:
    own = METHOD_SETTINGS[run.method].of(run.method_settings)
    generator = torch.Generator().manual_seed(1)
    method = METHODS[run.method](own, 0.1)
    return build_model(method, run.model, vocabulary, 0.0, generator)


# --- weights ----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "case", golden_cases("param_counts", "sizes"), ids=lambda case: case["name"]
)
def test_parameters_are_as_many_as_the_official_models_have(case: dict[str, Any]) -> None:
    layers = case["layers_each"]
    size = ModelSettings(
        width=case["d"], ffn=case["ffn"], heads=case["heads"], encoder_layers=layers,
        decoder_layers=layers,
    )  # fmt: skip
    plain = case["total_omt_shared_V31970"]
    assert parameter_count(settings("offline", size), JOINT) == plain
    assert parameter_count(settings("sm2", size), JOINT) == case["total_sm2_shared_V31970"]
    assert parameter_count(settings("itst", size), JOINT) == plain + case["itst_extra_total"]
    assert parameter_count(settings("hmt", size), JOINT) == plain + case["hmt_selection_extra"]


@pytest.mark.parametrize(
    ("method", "changes"),
    [
        *((name, {}) for name in METHODS),
        ("sm2", {"adapter_fraction": 0.25, "adapter_place": "ffn"}),
        ("sm2", {"adapter_fraction": 0.25, "adapter_place": "layer"}),
    ],
    ids=lambda value: value if isinstance(value, str) else "-".join(map(str, value.values())),
)
def test_parameters_are_as_many_as_the_model_has(method: str, changes: dict[str, Any]) -> None:
    run = settings(method, **changes)
    model = build(run, VocabularySizes(50, 40, is_joint=False, ids=SPECIAL_IDS))
    counted = sum(weight.numel() for weight in model.parameters())
    assert parameter_count(run, Text(50, 40, is_joint=False)) == counted


# --- FLOPs ------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("method", "changes"),
    [
        *((name, {}) for name in METHODS),
        ("sm2", {"encoder": "uni"}),
        ("hmt", {"states": 8}),
        ("sm2", {"adapter_fraction": 0.25}),
    ],
    ids=lambda value: value if isinstance(value, str) else "-".join(map(str, value.values())),
)
def test_flops_are_about_what_torch_counts(method: str, changes: dict[str, Any]) -> None:
    size = ModelSettings(width=128, ffn=512, heads=2, encoder_layers=6, decoder_layers=6)
    run = settings(method, size, **changes)
    model = build(run, VocabularySizes(500, 500, is_joint=True, ids=SPECIAL_IDS))
    batch = random_batch([8] * 4, [6] * 4, vocabulary_size=500)
    own = METHOD_SETTINGS[method].of(run.method_settings)
    with FlopCounterMode(display=False) as counter:
        loss = METHODS[method](own, 0.1).loss(model, batch, 10_000, torch.Generator())
        loss.total.backward()  # type: ignore[no-untyped-call]
    ours = flops_per_token(run, Text(500, 500, is_joint=True, source_per_target=8 / 6)) * 24
    assert ours == pytest.approx(counter.get_total_flops(), rel=0.08)


# --- plan and outcome -------------------------------------------------------------------------


@pytest.fixture
def params(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Params:
    monkeypatch.chdir(tmp_path)
    return PARAMS


def finish(run: Run, tokens: int, seconds: float, devices: int = 1) -> None:
    """What a finished training leaves behind, as far as cost reads it."""
    made_with = run_settings(PARAMS, run)
    outcome = {
        "training_seconds": seconds, "devices": devices, "target_tokens": tokens,
        "updates": made_with.training.updates, "device": "cpu",
    }  # fmt: skip
    write_json(run.folder / "run.json", outcome)
    mark(run.folder, made_with)


def text_of(cost: StudyCost) -> str:
    params = replace(PARAMS, study=cost.study)
    return describe_cost(params, cost, {}, Hardware(Machine(cores=2)))


def test_without_a_measurement_tokens_are_known_and_hours_are_not(params: Params) -> None:
    cost = study_cost(params)
    run = next(run for run in cost.runs if run.run == RUN)
    assert run.planned.target_tokens == 8 * 512  # updates by tokens a batch
    assert run.planned.device_hours is None
    assert "simt bench train --size MODEL --json" in text_of(cost)


def test_run_like_a_finished_one_takes_as_long_and_as_many_tokens(params: Params) -> None:
    finish(Run("tiny-deen", "sm2", "bi-p", 1), tokens=3072, seconds=1800, devices=2)
    run = next(run for run in study_cost(params).runs if run.run == RUN)
    assert run.planned.target_tokens == 3072
    assert run.planned.device_hours == pytest.approx(1.0)
    assert run.speed is not None
    assert (run.speed.name, run.speed.device) == ("tiny-deen/sm2/bi-p/seed1", "cpu")


def test_own_outcome_is_compared_with_a_plan_that_does_not_know_it(params: Params) -> None:
    finish(Run("tiny-deen", "sm2", "bi-p", 1), tokens=4096, seconds=3600)
    finish(RUN, tokens=4096, seconds=7200)
    cost = study_cost(params)
    run = next(run for run in cost.runs if run.run == RUN)
    assert run.actual is not None
    assert (run.planned.device_hours, run.actual.device_hours) == (pytest.approx(1.0), 2.0)
    assert "Finished: 2 runs, planned 3.0 h, took 3.0 h" in text_of(cost)


def test_outcome_of_other_settings_is_no_outcome_of_this_run(params: Params) -> None:
    finish(RUN, tokens=4096, seconds=7200)
    change_settings(RUN.folder / "settings.json", revision=7)
    assert study_cost(params).actual is None


def test_speed_of_a_toy_plans_no_model_of_the_paper(params: Params) -> None:
    finish(RUN, tokens=4096, seconds=7200)
    cost = study_cost(replace(params, study="paper"))
    assert cost.planned.device_hours is None
    assert "Models of these sizes were not measured here" in text_of(cost)


def test_gpu_hours_are_flops_by_the_assumed_share_of_the_data_sheet(params: Params) -> None:
    cost = study_cost(replace(params, study="paper"))
    a100 = KINDS["a100"]
    # 30 % of 312 TFLOP/s are 93.6 TFLOP/s, in an hour 0.33696 EFLOP.
    assert cost.hours_on(a100) == pytest.approx(cost.planned.flops / 0.33696e18)


@pytest.mark.parametrize(
    ("content", "why"),
    [
        ("{}", "lacks device, devices, training_seconds, target_tokens, updates"),
        ("[]", "is not a JSON object"),
        ("\xff", "is not a JSON object"),
        ('{"device": "cpu", "devices": 0, "training_seconds": "long", "target_tokens": 1, '
         '"updates": 1}', "devices is 0; training_seconds is 'long'"),
    ],
    ids=["empty", "list", "not-utf8", "wrong-values"],
)  # fmt: skip
def test_record_that_is_none_is_named_and_not_used(params: Params, content: str, why: str) -> None:
    finish(RUN, tokens=4096, seconds=7200)
    (RUN.folder / "run.json").write_text(content, encoding="latin-1")
    cost = study_cost(params)
    assert (cost.actual, cost.planned.device_hours) == (None, None)
    assert f"Not used: results/runs/tiny-deen/sm2/bi/seed1/run.json: {why}" in text_of(cost)


def test_statistics_that_are_none_are_named_with_the_remedy(params: Params) -> None:
    write_json(Path("results/corpora/tiny-deen/bpe/stats.json"), {})
    with pytest.raises(SimtError, match=r"tiny-deen/bpe/stats\.json .* snakemake -- corpora"):
        study_cost(params)


@pytest.mark.parametrize(("device", "told"), [("cpu", "a CPU"), ("cuda", "cuda")])
def test_bench_gives_speeds_of_its_device(params: Params, device: str, told: str) -> None:
    model = run_settings(params, RUN).model.model_dump()
    row = {"name": "sm2/bi", "tokens_per_s": {"median": 100.0}}
    rival = {"name": "JoeyNMT, our batches", "tokens_per_s": {"median": 1.0}}
    report = {"pair": "tiny-deen", "model": model, "words": 800, "processor": "a CPU",
              "device": device, "rows": [row, rival]}  # fmt: skip
    write_json(Path("bench.json"), [report])
    cost = study_cost(params, bench_measurements(params, Path("bench.json")))
    run = next(run for run in cost.runs if run.run == RUN)
    assert run.planned.device_hours == pytest.approx(8 * 512 / 100 / 3600)
    assert run.speed is not None
    assert (run.speed.device, run.speed.has_gpu) == (told, device == "cuda")


@pytest.mark.parametrize("devices", [("cpu", "cuda"), ("cuda", "cpu")])
def test_speeds_of_the_kind_of_device_that_is_planned_for_are_taken(
    params: Params, devices: tuple[str, str]
) -> None:
    model = run_settings(params, RUN).model.model_dump()
    reports = [
        {"pair": "tiny-deen", "model": model, "words": 800, "processor": "a CPU", "device": device,
         "rows": [{"name": "sm2/bi", "tokens_per_s": {"median": 100.0}}]}
        for device in devices
    ]  # fmt: skip
    write_json(Path("bench.json"), reports)
    measured = bench_measurements(params, Path("bench.json"))
    for has_gpu in (False, True):
        runs = study_cost(params, measured, has_gpu).runs
        assert {run.speed.has_gpu for run in runs if run.speed} == {has_gpu}
    is_first_on_gpu = devices[0] == "cuda"  # nobody says what will train: the first of equals
    unsaid = study_cost(params, measured).runs
    assert {run.speed.has_gpu for run in unsaid if run.speed} == {is_first_on_gpu}


@pytest.mark.parametrize("text", ["", "{}", '[{"rows": [{"name": "sm2/nope"}]}]'])
def test_file_that_is_no_bench_is_told_with_the_remedy(params: Params, text: str) -> None:
    Path("bench.json").write_text(text)
    with pytest.raises(SimtError, match=r"simt bench train --json bench\.json"):
        bench_measurements(params, Path("bench.json"))


def test_record_of_an_older_version_is_passed_over(params: Params) -> None:
    finish(RUN, tokens=4096, seconds=7200)
    change_settings(RUN.folder / "settings.json", gone=1)
    assert earlier_runs(params) == []


def rehearse(run: Run, tokens_per_s: float) -> None:
    """What a rehearsal of the tiny study leaves, as far as cost reads it."""
    made_with = run_settings(PARAMS, run).model_dump(mode="json")
    training = {"rule": "train", "name": str(run), "device": "a GPU", "settings": made_with,
                "tokens_per_s": tokens_per_s}  # fmt: skip
    write_json(Path("rehearsals/tiny/measurements.json"), [{"rule": "fetch"}, training])


def test_rehearsal_gives_speeds_until_the_study_has_a_finished_run(params: Params) -> None:
    rehearse(RUN, tokens_per_s=100)
    run = next(run for run in study_cost(params).runs if run.run == RUN)
    assert run.planned.device_hours == pytest.approx(8 * 512 / 100 / 3600)
    assert run.speed is not None
    assert run.speed.device == "a GPU"
    finish(Run("tiny-deen", "sm2", "bi-p", 1), tokens=4096, seconds=3600)
    run = next(run for run in study_cost(params).runs if run.run == RUN)
    assert run.planned.device_hours == pytest.approx(1.0)


@pytest.mark.parametrize("text", ["", "[{}]", '[{"rule": "train", "settings": {}}]'])
def test_rehearsal_that_cannot_be_read_gives_none(params: Params, text: str) -> None:
    file = Path("rehearsals/tiny/measurements.json")
    file.parent.mkdir(parents=True)
    file.write_text(text)
    assert study_cost(params).planned.device_hours is None
