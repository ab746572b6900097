"""The sentence above the main figure, for every case that a study can be in."""

from collections.abc import Mapping, Sequence
from dataclasses import replace

from simt.paper.figure_data import KnobName, Missing
from simt.paper.main_result import main_result
from simt.paper.panels import Axis, Curve, Mark, Panel
from simt.paper.rows import Number, Place
from simt.paper.style import label_of, style_of
from simt.runs import Run

Points = Sequence[tuple[float, float]]  # AL, BLEU


def curve(system: str, points: Points, seed: int = 1) -> Curve:
    method, _, variant = system.partition("/")
    place = Place(Run("toy-deen", method, variant or "x", seed), "test", 0.5)
    marks = [Mark(place, Number(x, "AL"), Number(y, "BLEU")) for x, y in points]
    return Curve(label_of(system), style_of(system), tuple(marks))


def said(systems: Mapping[str, Points], offline: Mapping[str, float] | None = None) -> str:
    levels = [curve(name, [(20.0, bleu)]) for name, bleu in (offline or {}).items()]
    curves = [curve(name, points) for name, points in systems.items()]
    return main_result(panel(curves, levels))


def panel(curves: Sequence[Curve], levels: Sequence[Curve] = ()) -> Panel:
    axes = (Axis("al_token", "AL (tokens)"), Axis("bleu", "SacreBLEU"))
    return Panel("toy-deen (de→en)", *axes, curves=tuple(curves), levels=tuple(levels))


def test_best_system_comes_first_and_others_with_their_distance() -> None:
    text = said(
        {
            "waitk": [(2.0, 70.0), (4.0, 74.0)],
            "multipath/uni": [(2.0, 76.0), (4.0, 80.0)],
            "hmt": [(2.5, 83.0), (3.5, 85.2)],
            "sm2/uni": [(2.2, 80.0), (3.8, 80.0)],
            "sm2/bi": [(2.2, 83.2), (3.8, 83.2)],
        },
        {"offline/uni": 85.0, "offline/bi": 88.4},
    )
    assert text == (
        "At an AL of 3 tokens on toy-deen (de→en), HMT has 84.1 BLEU, SM²-Bi 83.2 (−0.9) and "
        "m-wait-k, the best fixed policy, 78.0 (−6.1); one seed. "
        "With the whole source read first, OMT-Bi has 88.4."
    )


def test_fixed_policy_may_be_the_best_one() -> None:
    text = said({"waitk": [(1.0, 30.0), (2.0, 30.0)], "sm2/bi": [(1.0, 29.96), (2.0, 29.96)]})
    assert text == (
        "At an AL of 1 token on toy-deen (de→en), wait-k has 30.0 BLEU and SM²-Bi 30.0 (±0.0); "
        "one seed."
    )


def test_missing_points_are_told() -> None:
    knob = KnobName("k", "3")
    found = replace(
        panel(
            [curve("waitk", [(1.0, 20.0), (9.0, 30.0)]), curve("hmt", [(1.0, 20.0), (9.0, 20.0)])]
        ),
        missing=(Missing("toy-deen", "wait-k", knob, None, "not decoded"),),
    )
    assert main_result(found).endswith(
        " Points of wait-k are missing; between the others, lines are straight."
    )


def test_distance_is_that_of_the_printed_numbers() -> None:
    text = said({"hmt": [(1.0, 82.14), (2.0, 82.14)], "sm2/bi": [(1.0, 76.56), (2.0, 76.56)]})
    assert "HMT has 82.1 BLEU and SM²-Bi 76.6 (−5.5)" in text


def test_latency_is_the_middle_one_of_those_that_most_systems_reach() -> None:
    systems = {
        "waitk": [(0.0, 10.0), (9.0, 19.0)],
        "sm2/bi": [(1.5, 20.0), (6.5, 20.0)],
        "hmt": [(1.5, 20.0), (6.5, 20.0)],
    }
    assert said(systems).startswith("At an AL of 4 tokens")  # of 2, 3, 4, 5 and 6


def test_no_latency_below_one_is_chosen_though_more_systems_reach_it() -> None:
    systems = {
        "waitk": [(-3.0, 10.0), (2.0, 19.0)],
        "sm2/bi": [(-3.0, 20.0), (2.0, 20.0)],
        "hmt": [(-3.0, 20.0), (0.5, 20.0)],
    }
    assert said(systems).startswith("At an AL of 1 token ")


def test_system_that_does_not_reach_the_latency_is_named() -> None:
    text = said(
        {
            "waitk": [(1.0, 10.0), (3.0, 14.0)],
            "sm2/bi": [(1.0, 20.0), (3.0, 22.0)],
            "itst/uni": [(5.5, 30.0)],
            "hmt": [],
        }
    )
    assert text == (
        "At an AL of 2 tokens on toy-deen (de→en), SM²-Bi has 21.0 BLEU and wait-k 12.0 (−9.0); "
        "one seed. ITST does not reach this latency. Not scored yet: HMT."
    )


def test_systems_without_a_common_latency_are_not_compared() -> None:
    text = said({"waitk": [(1.0, 10.0), (2.4, 24.0)], "sm2/bi": [(2.6, 20.0), (3.4, 22.0)]})
    assert text == (
        "At an AL of 2 tokens on toy-deen (de→en), wait-k has 20.0 BLEU; one seed. "
        "SM²-Bi does not reach this latency."
    )


def test_without_a_whole_latency_nothing_is_compared() -> None:
    text = said({"waitk": [(1.2, 10.0), (1.8, 14.0)]})
    assert text == "On toy-deen (de→en), no curve crosses a whole AL (tokens) of 1 or more."


def test_without_scores_the_sentence_says_so() -> None:
    assert said({"waitk": []}) == "On toy-deen (de→en), no system has been scored yet."


def test_offline_systems_alone_are_compared_with_the_whole_source() -> None:
    text = said({}, {"offline/uni": 98.18, "offline/bi": 97.86})
    assert text == (
        "With the whole source read first on toy-deen (de→en), OMT-Uni has 98.2 BLEU and "
        "OMT-Bi 97.9 (−0.3); one seed."
    )


def test_seeds_are_averaged_where_all_of_them_reach() -> None:
    one, other = (
        curve("sm2/bi", [(1.0, bleu), (2.0, bleu)], seed) for seed, bleu in ((1, 20.0), (2, 23.0))
    )
    both = one._replace(marks=one.marks + other.marks)
    short = curve("hmt", [(1.0, 30.0), (2.0, 30.0)]).marks + curve("hmt", [(1.5, 9.0)], 2).marks
    text = main_result(panel([both, one._replace(name="HMT", marks=short)]))
    assert text == (
        "At an AL of 1 token on toy-deen (de→en), SM²-Bi has 21.5 BLEU; means of 2 seeds. "
        "HMT does not reach this latency."
    )


def test_systems_with_fewer_seeds_are_named() -> None:
    one, other = (
        curve("sm2/uni", [(1.0, bleu), (2.0, bleu)], s) for s, bleu in ((1, 20.0), (2, 23.0))
    )
    both = one._replace(marks=one.marks + other.marks)
    text = main_result(panel([both, curve("waitk", [(1.0, 11.0), (2.0, 11.0)])]))
    assert text == (
        "At an AL of 1 token on toy-deen (de→en), SM²-Uni has 21.5 BLEU and wait-k 11.0 (−10.5); "
        "means of 2 seeds, fewer of wait-k."
    )
