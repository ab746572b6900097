"""The time that a study will still take, worked out by hand."""

from simt.outlook import Outlook


def after_two_trainings(planned: dict[str, int]) -> Outlook:
    """Two trainings of ten minutes each, side by side."""
    outlook = Outlook(planned, began=0)
    for job in (1, 2):
        outlook.start(job, "train", now=0)
        outlook.finish(job, now=600)
    return outlook


def test_time_left_counts_jobs_that_go_on_side_by_side() -> None:
    # Six trainings are left, two at a time: three times ten minutes.
    outlook = after_two_trainings({"train": 8})
    assert outlook.describe(now=600) == "2 of 8 jobs are done, about 30 min left"


def test_time_left_is_a_lower_bound_while_a_rule_has_not_been_seen() -> None:
    outlook = after_two_trainings({"train": 8, "decode": 8})
    assert outlook.describe(now=600) == "2 of 16 jobs are done, at least 30 min left"


def test_target_without_work_does_not_make_a_lower_bound() -> None:
    outlook = after_two_trainings({"train": 16, "paper": 1})
    assert outlook.describe(now=600) == "2 of 17 jobs are done, about 1 h 10 min left"


def test_in_the_end_each_part_has_its_time() -> None:
    outlook = after_two_trainings({"train": 2, "draw": 1})
    outlook.start(3, "draw", now=600)
    outlook.finish(3, now=720)
    assert outlook.describe(now=720) == (
        "3 of 3 jobs are done in 12 min; minutes (jobs) of each rule, 1.8 at a time: "
        "train 20.0 (2), draw 2.0 (1)"
    )


def test_failed_job_is_no_longer_at_work() -> None:
    outlook = after_two_trainings({"train": 8})
    outlook.start(3, "train", now=600)
    outlook.drop(3)
    # Two trainings of ten minutes in twenty: one at a time. The six others take an hour.
    assert outlook.describe(now=1200) == "2 of 8 jobs are done, about 1 h 00 min left"
