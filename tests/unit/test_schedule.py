"""When jobs run that share a machine."""

from collections.abc import Sequence
from itertools import permutations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from simt.schedule import Job, Machine, Schedule, chain_seconds, critical_path, scheduled

ONE, TWO = Machine(gpus=1), Machine(gpus=2)


def job(name: str, seconds: float, *after: str, gpus: int = 1, cores: int = 1) -> Job:
    return Job(name, seconds, cores, gpus, after)


def starts(schedule: Schedule) -> dict[str, float]:
    return {one.job.name: one.start for one in schedule.placed}


def test_one_gpu_takes_all_jobs_one_after_the_other() -> None:
    schedule = scheduled([job("a", 3), job("b", 2), job("c", 1)], ONE)
    assert (schedule.seconds, schedule.gpu_seconds, schedule.utilisation) == (6, 6, 1)


def test_longest_job_starts_first_or_last() -> None:
    jobs = [job("a", 1), job("b", 1), job("c", 2)]
    assert scheduled(jobs, TWO).seconds == 2
    # a and b beside each other, and then c alone.
    last = scheduled(jobs, TWO, is_longest_first=False)
    assert (last.seconds, last.utilisation) == (3, 4 / 6)


def test_job_waits_for_all_that_it_reads() -> None:
    jobs = [job("score", 1, "decode", "estimator"), job("decode", 2), job("estimator", 5)]
    assert starts(scheduled(jobs, TWO)) == {"estimator": 0, "decode": 0, "score": 5}


def test_what_others_wait_for_comes_before_what_is_longer_by_itself() -> None:
    # start, tuned: 2 + 2; the other one of 3 would have them end after 3 + 4 on one GPU.
    jobs = [job("other", 3), job("start", 2), job("tuned", 2, "start")]
    assert scheduled(jobs, TWO).seconds == 4


def test_job_that_does_not_fit_yet_lets_a_smaller_one_go_ahead() -> None:
    jobs = [job("wide", 4, gpus=2), job("a", 5), job("b", 1)]
    assert starts(scheduled(jobs, TWO)) == {"a": 0, "b": 0, "wide": 5}


def test_job_gets_no_more_than_there_is() -> None:
    corpus = [job("a", 1, gpus=0, cores=16), job("b", 1, gpus=0, cores=1)]
    two_cores = scheduled(corpus, Machine(cores=2))
    assert (two_cores.seconds, two_cores.core_seconds, two_cores.utilisation) == (2, 3, 0.75)


def test_cores_that_are_not_counted_hold_nobody_back() -> None:
    assert scheduled([job(str(n), 1, gpus=0, cores=16) for n in range(9)], ONE).seconds == 1


def test_chains_and_critical_path_are_those_worked_out_by_hand() -> None:
    jobs = [job("a", 4), job("b", 3, "a"), job("c", 1, "a"), job("d", 6)]
    assert chain_seconds(jobs) == {"a": 7, "b": 3, "c": 1, "d": 6}
    assert [one.name for one in critical_path(jobs)] == ["a", "b"]


def test_nothing_to_do_takes_no_time() -> None:
    assert (scheduled([], ONE).seconds, critical_path([])) == (0, [])


@st.composite
def graphs(draw: st.DrawFn) -> list[Job]:
    """Up to five jobs, each of which may wait for any before it."""
    jobs: list[Job] = []
    for number in range(draw(st.integers(1, 5))):
        after = draw(st.lists(st.sampled_from(jobs), unique=True)) if jobs else []
        jobs.append(
            job(str(number), draw(st.integers(0, 9)), *(one.name for one in after),
                gpus=draw(st.integers(0, 3)), cores=draw(st.integers(1, 3)))
        )  # fmt: skip
    return jobs


def time_in_order(order: Sequence[Job], machine: Machine) -> float:
    """Until all are done, if each starts as soon as those before it let it: second by second."""
    spans: list[tuple[float, float, Job]] = []
    for one in order:
        ends = {other.name: end for _, end, other in spans}
        if any(name not in ends for name in one.after):
            return float("inf")
        start = max([0.0, *(ends[name] for name in one.after)])
        while not _fits(one, start, spans, machine):
            start += 1
        spans.append((start, start + one.seconds, one))
    return max(end for _, end, _ in spans)


def _fits(
    one: Job, start: float, spans: Sequence[tuple[float, float, Job]], machine: Machine
) -> bool:
    seconds = [start + n for n in range(int(one.seconds))]
    return all(
        sum(machine.gpus_for(other) for begin, end, other in spans if begin <= now < end)
        + machine.gpus_for(one) <= machine.gpus
        and sum(machine.cores_for(other) for begin, end, other in spans if begin <= now < end)
        + machine.cores_for(one) <= (machine.cores or 0)
        for now in seconds
    )  # fmt: skip


@pytest.mark.parametrize("is_longest_first", [True, False])
@settings(deadline=None)
@given(jobs=graphs(), gpus=st.integers(0, 3), cores=st.integers(1, 3))
def test_no_schedule_beats_its_bounds_or_the_best_of_all(
    jobs: list[Job], gpus: int, cores: int, is_longest_first: bool
) -> None:
    machine = Machine(gpus, cores)
    schedule = scheduled(jobs, machine, is_longest_first)
    chain = sum(one.seconds for one in critical_path(jobs))
    assert schedule.seconds >= max(chain, schedule.core_seconds / cores)
    assert schedule.seconds >= (schedule.gpu_seconds / gpus if gpus else 0)
    assert schedule.seconds <= sum(one.seconds for one in jobs)  # somebody is always at work
    best = min(time_in_order(order, machine) for order in permutations(jobs))
    assert schedule.seconds >= best


@settings(deadline=None)
@given(jobs=graphs(), gpus=st.integers(0, 3), cores=st.integers(1, 3))
def test_no_moment_has_more_at_work_than_there_is(jobs: list[Job], gpus: int, cores: int) -> None:
    machine = Machine(gpus, cores)
    schedule = scheduled(jobs, machine)
    ends = {one.job.name: one.end for one in schedule.placed}
    assert len(ends) == len(jobs)
    for one in schedule.placed:
        beside = [each for each in schedule.placed if each.start <= one.start < each.end]
        assert sum(machine.gpus_for(each.job) for each in beside) <= gpus
        assert sum(machine.cores_for(each.job) for each in beside) <= cores
        assert all(ends[name] <= one.start for name in one.job.after)
