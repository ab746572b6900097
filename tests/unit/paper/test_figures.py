"""What each figure shows: the right rows under the right names, nothing left out in silence."""

import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from simt.paper import FIGURES, TABLES
from simt.paper.captions import figure_caption
from simt.paper.figure_data import FigureData, gather
from simt.paper.notes import panel_notes
from simt.paper.panels import Curve, Panel
from simt.paper.rows import COMET_OF_THE_PAPER
from simt.params import Params
from simt.runs import Point
from tests.samples.results import COMET, SIGNATURES, lagging, write_results

Make = Callable[..., FigureData]
Edit = Callable[[Path, Callable[[Any], None]], None]


def panels_of(name: str, data: FigureData) -> tuple[Panel, ...]:
    return FIGURES[name](data).panels


def curve_of(panel: Panel, name: str) -> Curve:
    (curve,) = (curve for curve in (*panel.curves, *panel.levels) if curve.name == name)
    return curve


def rows_of(data: FigureData, metric: str, method: str, variants: set[str]) -> dict[Any, float]:
    """The values of a metric straight from the frame, by variant and knob."""
    frame = data.rows.frame
    chosen = frame[
        (frame.metric == metric) & (frame.method == method) & (frame.group == "all")
        & frame.variant.isin(variants)
    ]  # fmt: skip
    keys = zip(chosen.variant, chosen.knob, strict=True)
    return dict(zip(keys, chosen.value, strict=True))


def points_of(curve: Curve) -> dict[Any, tuple[float, float]]:
    return {(m.place.run.variant, m.place.knob): (m.x.value, m.y.value) for m in curve.marks}


# --- names --------------------------------------------------------------------------------------


def test_all_figures_tables_and_the_algorithm_of_the_paper_are_there() -> None:
    assert {f"fig{n:02}" for n in range(1, 14)} <= {name[:5] for name in FIGURES}
    tables = {name[:5] for name in TABLES}
    assert {f"tab{n:02}" for n in range(1, 10)} | {"alg01"} <= tables


def test_every_figure_and_table_of_params_is_registered(params: Params) -> None:
    assert set(FIGURES) == set(params.paper.figures)
    assert set(TABLES) == set(params.paper.tables)


# --- quality against latency --------------------------------------------------------------------


@pytest.mark.parametrize(("name", "metric"), [("fig03-bleu-al", "bleu"), ("fig04-comet-al", COMET)])
def test_marks_are_the_rows_of_each_simultaneous_knob(data: Make, name: str, metric: str) -> None:
    made = data(name)
    (panel,) = panels_of(name, made)
    for curve_name, variant in (("SM²-Bi", "bi"), ("SM²-Uni", "uni")):
        ys = rows_of(made, metric, "sm2", {variant})
        xs = rows_of(made, "al_token", "sm2", {variant})
        expected = {key: (xs[key], ys[key]) for key in ys if key[1] != "full"}
        assert points_of(curve_of(panel, curve_name)) == expected


def test_one_model_per_point_makes_one_curve(data: Make) -> None:
    (panel,) = panels_of("fig03-bleu-al", data("fig03-bleu-al"))
    assert set(points_of(curve_of(panel, "wait-k"))) == {("k1", 1.0), ("k3", 3.0)}
    names = [curve.name for curve in panel.curves]
    assert names == ["wait-k", "m-wait-k", "HMT", "ITST", "SM²-Uni", "SM²-Bi"]


def test_offline_systems_are_horizontal_lines(data: Make) -> None:
    made = data("fig03-bleu-al")
    (panel,) = panels_of("fig03-bleu-al", made)
    assert [level.name for level in panel.levels] == ["OMT-Uni", "OMT-Bi"]
    (mark,) = curve_of(panel, "OMT-Bi").marks
    assert mark.y.value == rows_of(made, "bleu", "offline", {"bi"})["bi", "full"]


def test_every_pair_of_a_study_has_a_panel(data: Make, params: Params, tmp_path: Path) -> None:
    write_results(params, "paper")
    made = data("fig03-bleu-al", tmp_path, "paper")
    titles = [panel.title for panel in panels_of("fig03-bleu-al", made)]
    assert titles == ["nist-zhen (zh→en)", "wmt15-deen (de→en)", "wmt16-enro (en→ro)"]


def test_axes_say_what_is_counted(data: Make) -> None:
    (panel,) = panels_of("fig04-comet-al", data("fig04-comet-al"))
    assert (panel.x.label, panel.y.label) == ("AL (tokens)", "toy estimator (trained here)")


def test_far_points_of_sm2_are_named_instead_of_drawn(data: Make, params: Params) -> None:
    made = data("fig03-bleu-al")
    (panel,) = panels_of("fig03-bleu-al", made)
    assert panel.x_limits is not None
    others = [m.x.value for c in panel.curves for m in c.marks if m.place.run.method != "sm2"]
    assert max(others) <= panel.x_limits[1]
    far = [m for m in curve_of(panel, "SM²-Bi").marks if m.x.value > panel.x_limits[1]]
    assert far
    (note,) = panel_notes(panel)
    for mark in far:
        assert str(mark.place.knob) in note
    assert note.startswith("beyond the axis, up to 27.7: SM²-Uni, SM²-Bi at γ = ")


def test_seeds_that_share_no_latency_are_told_to_have_no_line(
    data: Make, params: Params, tmp_path: Path, edit: Edit
) -> None:
    def lag_by_100(scores: Any) -> None:
        for entry in scores["points"]:
            entry["scores"]["al_token"]["value"] += 100

    made = data("fig03-bleu-al", tmp_path, seeds=(1, 2))
    write_results(made.params, "tiny")
    edit(tmp_path / "results/points/tiny-deen/itst/uni/seed2/test/scores.json", lag_by_100)
    (panel,) = panels_of("fig03-bleu-al", data("fig03-bleu-al", tmp_path, seeds=(1, 2)))
    notes = [note for note in panel_notes(panel) if note.startswith("no line")]
    assert notes == ["no line for ITST: its seeds have no latency in common"]


# --- what is missing ----------------------------------------------------------------------------


def is_waitk3(point: Point) -> bool:
    return point.run.variant == "k3"


def test_a_missing_point_is_named(data: Make, params: Params, tmp_path: Path) -> None:
    write_results(params, "tiny", leave_out=is_waitk3)
    (panel,) = panels_of("fig03-bleu-al", data("fig03-bleu-al", tmp_path))
    assert "missing: wait-k k = 3 (not decoded)" in panel_notes(panel)


def test_a_missing_system_is_named_without_its_knobs(
    data: Make, params: Params, tmp_path: Path
) -> None:
    write_results(params, "tiny", leave_out=lambda point: point.run.method == "itst")
    (panel,) = panels_of("fig03-bleu-al", data("fig03-bleu-al", tmp_path))
    assert "missing: ITST (not decoded)" in panel_notes(panel)


def test_nothing_at_all_is_said_in_two_words(data: Make, tmp_path: Path) -> None:
    (panel,) = panels_of("fig03-bleu-al", data("fig03-bleu-al", tmp_path))
    assert panel_notes(panel) == ["missing: every system (not decoded)"]


def test_a_missing_model_is_given_as_the_reason(data: Make, params: Params, tmp_path: Path) -> None:
    write_results(params, "tiny", comet=None)
    (panel,) = panels_of("fig04-comet-al", data("fig04-comet-al", tmp_path))
    assert panel_notes(panel) == [
        "missing: every system (COMET model simt/toy-estimator is not on this machine)"
    ]


def test_a_missing_seed_is_named_and_all_seeds_are_not(
    data: Make, params: Params, tmp_path: Path
) -> None:
    made = data("fig03-bleu-al", tmp_path, seeds=(1, 2))
    write_results(
        made.params, "tiny",
        leave_out=lambda point: point.run.variant in ("k1", "k3")
        and (point.run.seed == 2 or point.run.variant == "k3"),
    )  # fmt: skip
    (panel,) = panels_of("fig03-bleu-al", data("fig03-bleu-al", tmp_path, seeds=(1, 2)))
    assert "missing: wait-k k = 1 (seed 2), 3 (not decoded)" in panel_notes(panel)


def test_what_the_study_does_not_run_is_not_missing(data: Make) -> None:
    (curves, _) = panels_of("fig09-lambda", data("fig09-lambda"))
    assert [curve.name for curve in curves.curves] == ["λ = 0.1", "λ = 1"]
    assert curves.missing == ()


def test_numbers_computed_in_two_ways_are_warned_of(
    data: Make, params: Params, tmp_path: Path, edit: Edit
) -> None:
    def sign_otherwise(scores: Any) -> None:
        for entry in scores["points"]:
            entry["scores"]["bleu"]["signature"] = "bleu|text:tokenised"

    write_results(params, "tiny")
    path = tmp_path / "results/points/tiny-deen/itst/uni/seed1/test/scores.json"
    edit(path, sign_otherwise)
    (panel,) = panels_of("fig03-bleu-al", data("fig03-bleu-al", tmp_path))
    assert "beware: bleu was computed in 2 ways (signatures in the .json)" in panel_notes(panel)


# --- the other figures --------------------------------------------------------------------------


def test_prohibition_compares_four_kinds_of_sm2(data: Make) -> None:
    (panel,) = panels_of("fig06-prohibition", data("fig06-prohibition"))
    names = [curve.name for curve in panel.curves]
    assert names == ["SM²-Uni", "SM²-Bi", "SM²-Uni-P", "SM²-Bi-P"]


def test_offline_models_are_compared_among_systems_and_by_size(data: Make) -> None:
    among, by_size = panels_of("fig07-offline-models", data("fig07-offline-models"))
    assert {"wait-k", "SM²-Bi", "SM²-FT", "SM²-adapter"} <= {c.name for c in among.curves}
    assert not any("(small)" in curve.name for curve in among.curves)
    sizes = {"SM²-FT (small)", "SM²-FT", "SM²-FT (big)"}
    assert {curve.name for curve in by_size.curves} == sizes


def test_one_size_of_model_is_not_compared_by_size(
    params: Params, results: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(results)
    tiny = params.chosen_study
    runs = {"offline": ("bi",), "sm2": ("bi", "bi-ft")}
    small = tiny.model_copy(update={"runs": {"tiny-deen": runs}})
    drawing = params.paper.figures["fig07-offline-models"]
    given = gather(replace(params, studies={"tiny": small}), drawing, False)
    (among,) = panels_of("fig07-offline-models", given)
    assert [curve.name for curve in among.curves] == ["SM²-Bi", "SM²-FT"]


def test_ablations_have_their_names(data: Make) -> None:
    (panel,) = panels_of("fig08-ablations", data("fig08-ablations"))
    assert [curve.name for curve in panel.curves] == ["SM²-Bi", "w/o L_omt", "w/o p_i"]


def test_maximal_lagging_is_read_off_at_the_largest_knob(data: Make, params: Params) -> None:
    (_, maximal) = panels_of("fig09-lambda", data("fig09-lambda"))
    found = {(mark.x.value, mark.y.value) for mark in maximal.marks}
    run = maximal.marks[0].place.run
    assert found == {
        (0.1, lagging(params, replace(run, variant="bi"), 0.99)),
        (1.0, lagging(params, replace(run, variant="bi-w1.0"), 0.99)),
    }
    assert maximal.is_joined


def test_long_and_short_sentences_have_a_panel_for_each_encoder(data: Make) -> None:
    bi, uni = panels_of("fig12-long-short", data("fig12-long-short"))
    assert [curve.name for curve in bi.curves] == ["SM²-Bi long", "SM²-Bi short"]
    assert [level.name for level in uni.levels] == ["OMT-Uni long", "OMT-Uni short"]
    assert {mark.place.group for mark in curve_of(bi, "SM²-Bi long").marks} == {"long"}
    assert (bi.x_limits, bi.y_limits) == (uni.x_limits, uni.y_limits)


def test_missing_groups_are_named(data: Make, params: Params, tmp_path: Path, edit: Edit) -> None:
    write_results(params, "tiny")
    for path in tmp_path.glob("results/points/*/sm2/bi/seed1/test/scores.json"):
        edit(path, lambda scores: scores["groups"].pop("short"))
    bi, _ = panels_of("fig12-long-short", data("fig12-long-short", tmp_path))
    assert "missing: SM²-Bi short (no group short)" in panel_notes(bi)


@pytest.mark.parametrize("name", ["fig05-alignments", "fig13-prohibition-alignments"])
def test_oracle_stands_where_words_are_counted(data: Make, name: str) -> None:
    tokens, words = panels_of(name, data(name))
    assert (tokens.x.metric, tokens.reference_lines) == ("al_token", ())
    assert words.x.metric == "al_word"
    (oracle,) = words.reference_lines
    assert (oracle.xs, oracle.ys) == ((4.0,), (1.0,))  # the least lag that satisfies all
    assert any(note.startswith("star: what the gold alignments") for note in panel_notes(words))
    assert tokens.y.is_fraction
    assert curve_of(tokens, "SM²-Bi").marks[0].place.split == "aligned"


def test_a_curve_under_another_one_is_named(
    data: Make, params: Params, tmp_path: Path, edit: Edit
) -> None:
    """Two fixed policies that read alike have the same points on forced references."""
    write_results(params, "tiny")
    for k in (1, 3):
        path = tmp_path / f"results/points/tiny-deen/waitk/k{k}/seed1/aligned/scores.json"
        other = tmp_path / "results/points/tiny-deen/multipath/uni/seed1/aligned/scores.json"
        entries = json.loads(other.read_text(encoding="utf-8"))["points"]
        alike = [entry for entry in entries if entry["knob"] == k]
        edit(path, lambda scores, alike=alike: scores.update(points=alike))
    panel, *_ = panels_of("fig05-alignments", data("fig05-alignments", tmp_path))
    assert "wait-k lies under m-wait-k: the same points" in panel_notes(panel)


# --- the paper's own numbers --------------------------------------------------------------------


def test_paper_numbers_lie_under_ours_where_the_pair_matches(
    data: Make, params: Params, tmp_path: Path
) -> None:
    write_results(params, "paper")
    made = data("fig03-bleu-al", tmp_path, "paper", with_paper_numbers=True)
    german = panels_of("fig03-bleu-al", made)[1]
    reference_lines = {reference.origin: reference for reference in german.reference_lines}
    assert len(reference_lines) == 6
    reference = reference_lines["the paper's SM²-Bi"]
    assert (reference.xs[0], reference.ys[0]) == (1.52, 24.74)  # Table 6, γ = 0.3
    assert (reference.xs[-1], reference.ys[-1]) == (12.33, 31.92)  # γ = 0.7
    assert german.x_limits is not None
    assert max(x for one in german.reference_lines for x in one.xs) <= german.x_limits[1]


def test_paper_numbers_are_left_out_unless_asked_for(
    data: Make, params: Params, tmp_path: Path
) -> None:
    write_results(params, "paper")
    made = data("fig03-bleu-al", tmp_path, "paper")
    assert not any(panel.reference_lines for panel in panels_of("fig03-bleu-al", made))


def test_another_corpus_of_the_same_languages_has_no_paper_numbers(data: Make) -> None:
    made = data("fig03-bleu-al", with_paper_numbers=True)
    (panel,) = panels_of("fig03-bleu-al", made)
    assert panel.reference_lines == ()


@pytest.mark.parametrize(("comet", "reference_lines"), [(COMET, 0), (COMET_OF_THE_PAPER, 6)])
def test_paper_comet_is_shown_beside_the_same_model_only(
    data: Make, params: Params, tmp_path: Path, comet: str, reference_lines: int
) -> None:
    write_results(params, "paper", comet=comet)
    made = data("fig04-comet-al", tmp_path, "paper", with_paper_numbers=True)
    assert len(panels_of("fig04-comet-al", made)[1].reference_lines) == reference_lines


def test_maximal_lagging_of_the_paper_is_one_point(
    data: Make, params: Params, tmp_path: Path
) -> None:
    write_results(params, "paper")
    made = data("fig09-lambda", tmp_path, "paper", with_paper_numbers=True)
    (reference,) = panels_of("fig09-lambda", made)[1].reference_lines
    assert (reference.xs, reference.ys) == ((1.0,), (5.79,))


# --- captions -----------------------------------------------------------------------------------


def test_caption_lists_every_point_with_its_numbers(data: Make) -> None:
    made = data("fig03-bleu-al")
    caption = figure_caption("fig03-bleu-al", made, FIGURES["fig03-bleu-al"](made))
    (panel,) = caption["panels"]
    assert panel["signatures"] == {
        "al_token": [SIGNATURES["al_token"]],
        "bleu": [SIGNATURES["bleu"]],
    }
    (waitk,) = (curve for curve in panel["curves"] if curve["name"] == "wait-k")
    first = waitk["points"][0]
    assert {key: first[key] for key in ("pair", "method", "variant", "seed", "split", "knob")} == {
        "pair": "tiny-deen", "method": "waitk", "variant": "k1", "seed": 1, "split": "test",
        "knob": 1.0,
    }  # fmt: skip
    assert first["bleu"] == rows_of(made, "bleu", "waitk", {"k1"})["k1", 1.0]


def test_caption_stands_alone(data: Make) -> None:
    made = data("fig05-alignments")
    text = figure_caption("fig05-alignments", made, FIGURES["fig05-alignments"](made))["text"]
    for part in (
        "Satisfied alignments against average lagging (study tiny, aligned set, 1 seed). ",
        "(b) tiny-deen (de→en): satisfied alignments against AL (words); ",
        "beyond the axis, up to 22.1: SM²-Uni, SM²-Bi at γ = ",
        f"; satisfied alignments, {SIGNATURES['sa_word']}; AL in words, {SIGNATURES['al_word']}.",
    ):
        assert part in text


def test_caption_keeps_a_long_reason_whole(data: Make, params: Params, tmp_path: Path) -> None:
    write_results(params, "tiny", comet=None)
    made = data("fig04-comet-al", tmp_path)
    caption = figure_caption("fig04-comet-al", made, FIGURES["fig04-comet-al"](made))
    reasons = {missing["reason"] for missing in caption["panels"][0]["missing"]}
    (reason,) = reasons
    assert reason.endswith("so its column is left out: …")
