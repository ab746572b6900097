"""The time that a study will still take, worked out by hand."""

import pytest

from simt.eta import Eta, in_seconds


def after_two_trainings(planned: dict[str, int]) -> Eta:
    """Two trainings of ten minutes each, side by side."""
    eta = Eta(planned, began=0)
    for job in (1, 2):
        eta.start(job, "train", now=0)
        eta.finish(job, now=600)
    return eta


def test_nothing_is_said_before_a_job_is_done_or_says_how_far_it_is() -> None:
    eta = Eta({"train": 2}, began=0)
    eta.start(1, "train", now=0)
    assert eta.time_left(now=60) == ""


def test_time_left_counts_jobs_that_go_on_side_by_side() -> None:
    # Six trainings are left, two at a time: three times ten minutes.
    assert after_two_trainings({"train": 8}).time_left(now=600) == "about 30 min left"


def test_time_left_counts_what_is_under_way() -> None:
    eta = after_two_trainings({"train": 4})
    for job in (3, 4):
        eta.start(job, "train", now=600)
    # Of the last two trainings of ten minutes, eight have passed.
    assert eta.time_left(now=1080) == "about 2 min left"


def test_time_left_is_a_lower_bound_while_a_rule_has_not_been_seen() -> None:
    eta = after_two_trainings({"train": 8, "decode": 8})
    assert eta.time_left(now=600) == "at least 30 min left"


def test_time_left_is_a_lower_bound_while_the_only_job_of_a_rule_is_at_work() -> None:
    eta = after_two_trainings({"train": 2, "report": 1})
    eta.start(9, "report", now=600)
    assert eta.time_left(now=660) == "at least 1 min left"


def test_jobs_of_a_rule_take_at_least_as_long_as_the_first_of_them_expect() -> None:
    eta = Eta({"train": 8, "decode": 1}, began=0)
    for job, end in ((1, 3600), (2, 4200)):
        eta.start(job, "train", now=0)
        eta.expect(job, end)
    # 55 and 65 minutes at work, and six trainings of 65 minutes: 510 minutes, two at a time.
    assert eta.time_left(now=300) == "at least 4 h 15 min left"


def test_job_at_work_is_left_as_long_as_it_says_itself() -> None:
    eta = after_two_trainings({"train": 4})
    for job in (3, 4):
        eta.start(job, "train", now=600)
        eta.expect(job, end=2400)
    assert eta.time_left(now=1200) == "about 20 min left"  # not the 0 of ten minutes that passed


@pytest.mark.parametrize("ends", ["finish", "drop"])
def test_job_that_has_ended_expects_nothing_more(ends: str) -> None:
    eta = after_two_trainings({"train": 3})
    eta.start(3, "train", now=600)
    eta.expect(3, end=100_000)
    eta.finish(3, now=700) if ends == "finish" else eta.drop(3)
    eta.expect(3, end=100_000)
    assert eta.time_left(now=700) in ("about 1 min left", "about 6 min left")


def test_target_without_work_does_not_make_a_lower_bound() -> None:
    eta = after_two_trainings({"train": 16, "paper": 1})
    assert eta.time_left(now=600) == "about 1 h 10 min left"


def test_in_the_end_each_part_has_its_time() -> None:
    eta = after_two_trainings({"train": 2, "draw": 1})
    eta.start(3, "draw", now=600)
    eta.finish(3, now=720)
    assert eta.parts(now=720) == (
        "minutes (jobs) of each rule, 1.8 at a time: train 20.0 (2), draw 2.0 (1)"
    )


def test_failed_job_is_no_longer_at_work() -> None:
    eta = after_two_trainings({"train": 8})
    eta.start(3, "train", now=600)
    eta.drop(3)
    # Two trainings of ten minutes in twenty: one at a time. The six others take an hour.
    assert eta.time_left(now=1200) == "about 1 h 00 min left"


@pytest.mark.parametrize(
    ("seconds", "words"), [(0.2, "0 s"), (59, "59 s"), (72, "1 min 12 s"), (4000, "1 h 07 min")]
)
def test_measured_times_are_short(seconds: float, words: str) -> None:
    assert in_seconds(seconds) == words
