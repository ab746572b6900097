"""What jobs ask for fits what clusters give."""

from pathlib import Path

import yaml

from simt.resources import DECODING, SCORING, TRAINING

PROFILE = Path(__file__).parents[2] / "workflow/profiles/slurm/config.yaml"
DAY_HOURS = 24  # the limit of many queues


def test_a_first_attempt_takes_no_more_than_a_day() -> None:
    together = yaml.safe_load(PROFILE.read_text(encoding="utf-8"))["group-components"]["points"]
    for row in DECODING.values():
        assert together * (row.hours + SCORING.hours) <= DAY_HOURS
    for row in TRAINING.values():
        assert row.hours <= DAY_HOURS
