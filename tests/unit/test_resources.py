"""What jobs ask for fits what clusters give."""

from pathlib import Path
from types import SimpleNamespace

import yaml

from simt.cost import pair_text
from simt.memory import CPU, training_memory
from simt.params import load_params
from simt.resources import DECODING, SCORING, TRAINING, TrainingJobs, rule_resources
from simt.runs import run_settings, study_runs

PROFILE = Path(__file__).parents[2] / "workflow/profiles/slurm/config.yaml"
DAY_HOURS = 24  # the limit of many queues


def test_a_first_attempt_takes_no_more_than_a_day() -> None:
    together = yaml.safe_load(PROFILE.read_text(encoding="utf-8"))["group-components"]["points"]
    for row in DECODING.values():
        assert together * (row.hours + SCORING.hours) <= DAY_HOURS
    for row in TRAINING.values():
        assert row.hours <= DAY_HOURS


def test_a_training_that_resumes_asks_for_the_same_time_and_at_most_twice_the_memory() -> None:
    params = load_params(PROFILE.parents[3] / "params.yaml", "tiny")
    run = SimpleNamespace(pair="tiny-deen", method="offline", variant="bi", seed="1")
    jobs = TrainingJobs(params, TRAINING)
    assert [jobs.runtime(run, attempt) for attempt in (1, 2, 7)] == [240, 240, 240]
    assert [jobs.mem_mb(run, attempt) for attempt in (1, 2, 7)] == [8000, 16000, 16000]


def test_each_attempt_at_another_job_asks_for_more() -> None:
    assert [SCORING.runtime(None, attempt) for attempt in (1, 2, 4)] == [60, 120, 240]
    assert [SCORING.mem_mb(None, attempt) for attempt in (1, 2, 4)] == [16000, 32000, 64000]


def test_a_training_fits_the_memory_it_asks_for_even_without_a_gpu() -> None:
    params = load_params(PROFILE.parents[3] / "params.yaml", "paper")
    of_process = 2_000_000_000  # Python, torch and ids, about four times what was measured
    for run in study_runs(params.studies["paper"]):
        settings, asked = run_settings(params, run), rule_resources(params, "train", run)
        text, longest = pair_text(params, run.pair), settings.training.max_tokens
        needed = training_memory(settings, text, CPU, longest).total + of_process
        assert asked is not None
        assert needed <= asked.memory_gb * 1e9
