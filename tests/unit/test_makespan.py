"""How long jobs take together."""

import pytest

from simt.makespan import Job, longest_chain, wall_hours


def alone(name: str, hours: float) -> Job:
    return Job(name, hours, devices=1)


def test_one_device_takes_all_hours() -> None:
    assert wall_hours([alone("a", 3), alone("b", 2), alone("c", 1)], 1) == 6


def test_the_longest_job_starts_first() -> None:
    # 1 and 1 beside each other and then 2 would take 3.
    assert wall_hours([alone("a", 1), alone("b", 1), alone("c", 2)], 2) == 2


def test_a_job_waits_for_the_one_that_it_starts_from() -> None:
    jobs = [Job("tuned", 1, 1, after="start"), alone("start", 2), alone("other", 1)]
    assert wall_hours(jobs, 2) == 3


def test_what_others_wait_for_comes_before_what_is_longer_by_itself() -> None:
    # start, tuned: 2 + 2; the other one of 3 would have them end after 3 + 4 on one device.
    jobs = [alone("other", 3), alone("start", 2), Job("tuned", 2, 1, after="start")]
    assert wall_hours(jobs, 2) == 4


def test_several_devices_share_one_job_up_to_what_it_asks_for() -> None:
    wide = [Job("wide", 8, devices=4)]
    assert [wall_hours(wide, devices) for devices in (1, 2, 4, 16)] == [8, 4, 2, 2]


def test_a_job_that_does_not_fit_yet_lets_a_smaller_one_go_ahead() -> None:
    jobs = [Job("wide", 8, devices=2), alone("a", 5), alone("b", 1)]
    # a is longest: wide has both devices only from 5 to 9, and b does not wait for it.
    assert wall_hours(jobs, 2) == 9


@pytest.mark.parametrize("devices", [1, 2, 3, 50])
def test_no_number_of_devices_beats_the_longest_chain(devices: int) -> None:
    jobs = [alone("a", 4), Job("b", 3, 1, after="a"), Job("c", 12, 4), alone("d", 6)]
    assert [job.name for job in longest_chain(jobs)] == ["a", "b"]
    assert wall_hours(jobs, devices) >= 7
