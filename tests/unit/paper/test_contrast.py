"""Two systems at equal latency, on sentences where the difference is obvious."""

from collections.abc import Callable

import pytest

from simt.errors import SimtError
from simt.paper.contrast import describe_difference
from simt.params import Knob, Params
from tests.samples.sentences import BAD, BAD_BLEU, GOOD, decoded, write_point

Compare = Callable[..., list[str]]


# What each run writes, at which knob values, and by how many tokens it then lags.
RUNS: dict[str, tuple[str, dict[Knob, int]]] = {
    "sm2/bi": (GOOD, {0.1: 1, 0.2: 2, 0.3: 3, 0.4: 4, 0.5: 5}),
    "itst/uni": (BAD, {0.2: 2, 0.3: 3, 0.4: 4, 0.8: 8}),
    "multipath/uni": (BAD, {7: 7, 9: 9}),
    "waitk/k1": (BAD, {1: 1}),
    "waitk/k3": (BAD, {3: 3}),
    "offline/bi": (BAD, {"full": 11}),
    "offline/uni": (GOOD, {"full": 11}),
}
DIFFERENCE = f"{100 - BAD_BLEU:+.2f}"


@pytest.fixture
def compare(params: Params) -> Compare:
    """The lines that tell two systems of the tiny study apart."""
    for run, (output, lags) in RUNS.items():
        instances = [
            decoded(index, knob, output, lag) for knob, lag in lags.items() for index in range(30)
        ]
        write_point(params, run, instances)

    def describe(one: str, other: str, *at: float) -> list[str]:
        return describe_difference(params, (one, other), at).splitlines()

    return describe


def test_curves_are_compared_at_every_whole_latency_that_both_reach(compare: Compare) -> None:
    head, _, columns, *rows, _, where, _, intervals, _, _ = compare("sm2/bi", "itst/uni")
    assert head == "BLEU at equal latency on tiny-deen, 30 test sentences"
    assert columns.split() == ["AL", "SM²-Bi", "ITST", "difference", "interval"]
    assert [row.split()[0] for row in rows] == ["2", "3", "4", "5", "mean"]
    for row in rows:
        assert row.split()[1:4] == ["100.00", f"{BAD_BLEU:.2f}", DIFFERENCE]
        assert row.endswith(f"[{DIFFERENCE}, {DIFFERENCE}]  SM²-Bi is better")
    assert where == "SM²-Bi (sm2/bi) has AL 1.00 to 5.00; ITST (itst/uni) has AL 2.00 to 8.00."
    assert intervals.startswith("[ , ]: 95 % confidence intervals by the paired bootstrap over sen")


def test_seeds_that_are_not_covered_are_told(compare: Compare) -> None:
    assert "Seeds are not covered" in " ".join(compare("sm2/bi", "itst/uni"))


def test_the_other_order_changes_the_sign(compare: Compare) -> None:
    row = compare("itst/uni", "sm2/bi")[3]
    assert DIFFERENCE.replace("+", "-") in row
    assert row.endswith("SM²-Bi is better")


def test_equal_systems_cannot_be_told_apart(compare: Compare) -> None:
    assert compare("waitk", "itst/uni")[3].endswith("[+0.00, +0.00]  cannot tell")


def test_latencies_can_be_chosen_and_those_out_of_reach_are_told(compare: Compare) -> None:
    lines = compare("sm2/bi", "itst/uni", 2.5, 7)
    assert [line.split()[0] for line in lines[3:4]] == ["2.5"]
    assert lines[5].endswith("Not compared at AL 7, which not both reach.")


def test_knob_value_that_was_not_decoded_is_answered_with_those_that_were(compare: Compare) -> None:
    told = r"SM²-Bi at 0.55 was not decoded on tiny-deen; .* decoded at: 0.1, 0.2, 0.3, 0.4, 0.5$"
    with pytest.raises(SimtError, match=told):
        compare("sm2/bi@0.55", "offline/bi")


def test_a_latency_that_is_asked_for_twice_is_one_line(compare: Compare) -> None:
    assert compare("sm2/bi", "itst/uni", 3, 3.0) == compare("sm2/bi", "itst/uni", 3)


def test_a_latency_that_resamples_do_not_reach_is_told(compare: Compare) -> None:
    with pytest.raises(SimtError, match=r"AL 7 is not reached by both in 95% of the resamples"):
        compare("sm2/bi", "itst/uni", 7)


def test_a_system_of_several_runs_is_one_curve(compare: Compare) -> None:
    rows = compare("sm2/bi", "waitk")[3:7]
    assert [row.split()[0] for row in rows] == ["1", "2", "3", "mean"]


def test_one_point_is_compared_where_it_is(compare: Compare) -> None:
    columns, row = compare("waitk/k3", "tiny-deen/sm2/bi/seed1")[2:4]
    assert columns.split()[:6] == ["AL", "wait-k", "3", "SM²-Bi", "seed", "1"]
    assert row.split()[0] == "3"
    assert row.endswith("SM²-Bi seed 1 is better")


def test_a_knob_value_is_part_of_the_name(compare: Compare) -> None:
    columns, row = compare("itst/uni@0.4", "sm2/bi")[2:4]
    assert columns.split()[:5] == ["AL", "ITST", "at", "0.4", "SM²-Bi"]
    assert row.endswith("SM²-Bi is better")
    assert compare("sm2/bi@0.2", "itst/uni")[3].endswith("SM²-Bi at 0.2 is better")


def test_a_knob_value_that_several_models_have_is_refused(compare: Compare, params: Params) -> None:
    write_point(params, "waitk/k3", [decoded(index, 1, BAD, 3) for index in range(30)])
    with pytest.raises(SimtError, match="wait-k at 1 is one of several models, waitk/k1, waitk/k3"):
        compare("waitk@1", "sm2/bi")


def test_a_latency_at_the_end_of_a_curve_is_not_said_to_be_out_of_reach(
    compare: Compare, params: Params
) -> None:
    """Half of the sentences lag by 1 and half by 3: half of the resamples do not reach AL 2."""
    instances = [
        decoded(index, knob, GOOD, 1 if index % 2 else lag)
        for knob, lag in ((7, 3), (9, 4))
        for index in range(30)
    ]
    write_point(params, "multipath/uni", instances)
    with pytest.raises(SimtError, match=r"share no whole AL on tiny-deen in 95% of the resamples"):
        compare("sm2/bi", "multipath/uni")


def test_a_method_with_one_variant_goes_by_its_name(compare: Compare) -> None:
    assert compare("sm2/bi", "itst") == compare("sm2/bi", "itst/uni")


def test_offline_systems_are_compared_with_the_whole_source(compare: Compare) -> None:
    row = compare("offline/uni", "OMT-Bi")[3]
    assert row.split()[:4] == ["full", "100.00", f"{BAD_BLEU:.2f}", DIFFERENCE]


@pytest.mark.parametrize(
    ("one", "other", "says"),
    [
        ("waitk/k1", "waitk/k3", "wait-k 1 (waitk/k1) has AL 1.00; wait-k 3 (waitk/k3) has AL "
         "3.00: two points have no latency in common. Compare with a whole curve"),
        ("sm2/bi", "multipath/uni", "SM²-Bi and m-wait-k share no whole AL on tiny-deen. "
         "SM²-Bi (sm2/bi) has AL 1.00 to 5.00; m-wait-k (multipath/uni) has AL 7.00 to 9.00"),
        ("sm2/by", "waitk", "study tiny has no system or run 'sm2/by' (did you mean sm2/bi?)"),
        ("sm2/bi", "SM²-Bi", "sm2/bi and SM²-Bi are the same system: name two"),
        ("sm2", "waitk", "study tiny has no system or run 'sm2'"),
        ("waitk", "wait-q", "no system or run 'wait-q' (did you mean wait-k?)"),
        ("sm2/bi@0.5/seed1", "waitk", "sm2/bi@0.5/seed1: after @ comes a knob value, which is a "
         "number or full; a seed comes before it, as in sm2/bi/seed1@0.5"),
        ("sm2/uni", "waitk", "tiny-deen/sm2/uni/seed1 was not scored on test; `simt runs` lists"),
    ],
)  # fmt: skip
def test_what_cannot_be_compared_says_why(
    compare: Compare, one: str, other: str, says: str
) -> None:
    with pytest.raises(SimtError) as caught:
        compare(one, other)
    assert says in str(caught.value)
