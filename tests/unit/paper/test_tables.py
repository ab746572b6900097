"""Tables: their numbers are the rows', in every format."""

import csv
import io
import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from simt.instances import EOS_TOKEN
from simt.paper import TABLES
from simt.paper.algorithm import decisions
from simt.paper.figure_data import FigureData, KnobName
from simt.paper.latex import as_latex
from simt.paper.reference import PAPER_PAIRS
from simt.paper.rows import COMET_OF_THE_PAPER
from simt.paper.tabular import (
    Block,
    Column,
    Measured,
    Table,
    as_csv,
    as_markdown,
)
from simt.params import Params
from simt.runs import Point, Run
from simt.settings.methods.sm2 import Sm2Settings
from tests.samples.instances import instance_from
from tests.samples.results import COMET, write_results

Make = Callable[..., FigureData]


def table_of(name: str, data: FigureData) -> Table:
    return TABLES[name](data)


def csv_of(table: Table) -> list[dict[str, str]]:
    return list(csv.DictReader(io.StringIO(as_csv(table))))


def value_of(data: FigureData, method: str, variant: str, knob: Any, metric: str) -> float:
    frame = data.rows.frame
    (value,) = frame[
        (frame.method == method) & (frame.variant == variant) & (frame.metric == metric)
        & (frame.group == "all") & (frame.knob == knob)
    ].value  # fmt: skip
    return float(value)


# --- numbers ------------------------------------------------------------------------------------


def test_numbers_of_the_csv_are_the_rows(data: Make) -> None:
    made = data("tab05-numbers")
    lines = csv_of(table_of("tab05-numbers", made))
    (line,) = (one for one in lines if (one["system"], one["knob"]) == ("SM²-Bi", "0.5"))
    for metric in ("al_token", "bleu", COMET):
        assert float(line[metric]) == value_of(made, "sm2", "bi", 0.5, metric)


def test_csv_survives_a_round_trip(data: Make) -> None:
    table = table_of("tab05-numbers", data("tab05-numbers"))
    lines = csv_of(table)
    cells = [row for block in table.blocks for row in block.rows]
    assert len(lines) == len(cells)
    for line, row in zip(lines, cells, strict=True):
        bleu = row[3]
        assert isinstance(bleu, Measured)
        assert float(line["bleu"]) == bleu.mean
        assert line["pair"] == "tiny-deen"


def test_every_knob_of_every_system_has_a_line(data: Make, params: Params) -> None:
    lines = csv_of(table_of("tab05-numbers", data("tab05-numbers")))
    knobs = [line["knob"] for line in lines if line["system"] == "SM²-Uni"]
    expected = params.knobs("tiny-deen", "sm2", "uni")
    assert knobs == [f"{knob:g}" for knob in expected if knob != "full"]
    assert [line["knob"] for line in lines if line["system"] == "HMT"] == ["(2, 4)"]


def test_latency_and_quality_have_two_decimals(data: Make) -> None:
    made = data("tab05-numbers")
    text = as_markdown(table_of("tab05-numbers", made))
    (line,) = (line for line in text.splitlines() if line.startswith("| wait-k   | k = 1 "))
    values = [value_of(made, "waitk", "k1", 1.0, metric) for metric in ("al_token", "bleu", COMET)]
    assert [cell.strip() for cell in line.split("|")[3:-1]] == [f"{value:.2f}" for value in values]
    assert line.split("|")[3].strip().startswith("-0.")


def test_a_missing_point_is_a_dash_and_named(data: Make, params: Params, tmp_path: Path) -> None:
    write_results(params, "tiny", leave_out=lambda point: point.run.variant == "k3")
    table = table_of("tab05-numbers", data("tab05-numbers", tmp_path))
    (line,) = (one for one in csv_of(table) if (one["system"], one["knob"]) == ("wait-k", "3"))
    assert (line["al_token"], line["bleu"]) == ("", "")
    assert "missing: wait-k k = 3 (not decoded)" in as_markdown(table)
    assert "Missing: wait-$k$ k = 3 (not decoded)." in as_latex(table, "tab05-numbers")


def test_a_missing_model_is_named_once(data: Make, params: Params, tmp_path: Path) -> None:
    write_results(params, "tiny", comet=None)
    table = table_of("tab05-numbers", data("tab05-numbers", tmp_path))
    assert table.blocks[0].notes == (
        "missing toy estimator: every system "
        "(COMET model simt/toy-estimator is not on this machine)",
    )


def test_pairs_without_a_model_have_no_column_of_it(data: Make, params: Params) -> None:
    made = data("tab05-numbers")
    assert COMET in [column.key for column in table_of("tab05-numbers", made).columns]
    pairs = {
        name: pair.model_copy(update={"comet": ()}) if name == "tiny-deen" else pair
        for name, pair in params.pairs.items()
    }
    without = replace(made, params=replace(params, pairs=pairs))
    table = table_of("tab05-numbers", without)
    assert [column.key for column in table.columns] == ["system", "knob", "al_token", "bleu"]
    assert table.blocks[0].notes == ()


def test_several_seeds_give_mean_and_deviation(data: Make, params: Params, tmp_path: Path) -> None:
    made = data("tab03-offline-ability", tmp_path, seeds=(1, 2))
    write_results(made.params, "tiny")
    made = data("tab03-offline-ability", tmp_path, seeds=(1, 2))
    table = table_of("tab03-offline-ability", made)
    frame = made.rows.frame
    values = frame[
        (frame.variant == "bi-no-pi") & (frame.knob == "full") & (frame.metric == "bleu")
        & (frame.group == "all")
    ].value  # fmt: skip
    (line,) = (one for one in csv_of(table) if one["system"] == "w/o p_i")
    assert float(line["bleu"]) == pytest.approx(values.mean())
    assert float(line["bleu_deviation"]) == pytest.approx(values.std())
    assert f"{values.mean():.2f} ± {values.std():.2f}" in as_markdown(table)


# --- the other tables ---------------------------------------------------------------------------


def test_correlations_have_a_line_for_each_encoder(data: Make) -> None:
    lines = csv_of(table_of("tab01-confidence", data("tab01-confidence")))
    assert [line["system"] for line in lines] == ["SM²-Uni", "SM²-Bi"]
    assert (lines[0]["confidence_pearson"], lines[0]["confidence_states"]) == ("0.6", "20")


def test_sizes_go_from_small_to_big(data: Make) -> None:
    made = data("tab02-sizes")
    lines = csv_of(table_of("tab02-sizes", made))
    assert [line["size"] for line in lines] == ["small", "base", "big"]
    small = lines[0]
    assert float(small["bleu_before"]) == value_of(made, "offline", "bi-small", "full", "bleu")
    assert float(small["bleu_after"]) == value_of(made, "sm2", "bi-small-ft", "full", "bleu")


def test_parameters_are_printed_in_millions() -> None:
    column = Column("parameters", "Parameters (M)", 2, 1e-6)
    table = Table("t", (column,), (Block("p", "h", (((60_514_304.0,),),)),))
    assert "60.51" in as_markdown(table)
    assert csv_of(table) == [{"pair": "p", "parameters": "60514304.0"}]


def test_offline_ability_is_measured_with_the_whole_source(data: Make) -> None:
    made = data("tab03-offline-ability")
    lines = csv_of(table_of("tab03-offline-ability", made))
    assert [line["system"] for line in lines] == ["SM²-Bi", "w/o L_omt", "w/o p_i", "OMT-Bi"]
    assert float(lines[1]["bleu"]) == value_of(made, "sm2", "bi-no-omt", "full", "bleu")


def test_length_groups_say_their_unit(data: Make) -> None:
    table = table_of("tab09-length-groups", data("tab09-length-groups"))
    assert csv_of(table) == [
        {"pair": "tiny-deen", "group": "LONG", "sentences": "10", "mean_length": "31.25"},
        {"pair": "tiny-deen", "group": "SHORT", "sentences": "10", "mean_length": "12.5"},
    ]
    assert table.blocks[0].notes == ("length in source tokens with ⟨eos⟩",)


def test_settings_are_those_of_params(data: Make) -> None:
    lines = csv_of(table_of("tab04-settings", data("tab04-settings")))
    values = {(line["part"], line["setting"]): line["tiny-deen"] for line in lines}
    assert values["base model", "width"] == "16"
    assert values["training", "updates"] == "8"
    assert values["training", "tokens a device takes at a time"] == "8192; HMT 2048"
    assert values["training", "gradients clipped to norm"] == "off"
    assert values["wait-k", "k"] == "1, 3"
    assert values["SM²", "confidence penalty, λ"] == "0.1"
    assert values["SM²", "encoder"] == "unidirectional, bidirectional"
    assert values["m-wait-k", "k in decoding"] == "1, 3, 5"
    assert not any("_" in setting.replace("L_omt", "").replace("p_i", "") for _, setting in values)


def test_settings_without_effect_are_left_out(data: Make, params: Params) -> None:
    """Neither system of Table 4 has a band of states, an annealed λ or an adapter."""
    lines = csv_of(table_of("tab04-settings", data("tab04-settings")))
    shown = {line["setting"] for line in lines if line["part"] == "SM²"}
    assert "states left out" in shown
    idle = {"states from wait-k, k =", "states to wait-k, k =", "λ at the start", "adapter after"}
    assert not shown & idle


@pytest.mark.parametrize(
    ("variant", "fidelity", "idle", "active"),
    [
        ("bi-p", "default", "adapter_place", "prohibition_upper"),
        ("bi-p", "official", "prohibition_upper", "prohibition_lower"),
        ("bi-adapter", "default", "prohibition_lower", "adapter_place"),
        ("bi-no-pi", "default", "detach_full_source", "confidence_weight"),
        ("bi-no-pi", "official", "prohibition_lower", "annealed_start"),
    ],
)
def test_a_setting_has_an_effect_where_its_switch_is_on(
    params: Params, variant: str, fidelity: str, idle: str, active: str
) -> None:
    values = params.presets[fidelity].method_settings("tiny-deen", "sm2", variant)
    without = Sm2Settings.of(values).without_effect()
    assert idle in without
    assert active not in without


# --- the paper's own numbers --------------------------------------------------------------------


def test_paper_numbers_stand_beside_ours(data: Make, params: Params, tmp_path: Path) -> None:
    write_results(params, "paper", comet=COMET_OF_THE_PAPER)
    lines = {
        (line["pair"], line["system"], line["knob"]): line
        for name in ("tab05-numbers", "tab06-numbers")
        for line in csv_of(table_of(name, data(name, tmp_path, "paper", with_paper_numbers=True)))
    }
    columns = ("paper_al_token", "paper_bleu", f"paper_{COMET_OF_THE_PAPER}")
    hmt = lines["wmt15-deen", "HMT", "(11, 8)"]
    assert [hmt[column] for column in columns] == ["10.18", "30.29", "79.74"]
    sm2 = lines["nist-zhen", "SM²-Uni", "0.3"]
    assert [sm2[column] for column in columns] == ["-0.63", "29.52", "73.62"]
    assert lines["wmt15-deen", "SM²-Bi", "0.99"]["paper_bleu"] == ""


def test_paper_numbers_of_the_analyses_stand_beside_ours(
    data: Make, params: Params, tmp_path: Path
) -> None:
    write_results(params, "paper")
    expected = {
        "tab01-confidence": ("paper_confidence_kendall", "0.65"),
        "tab02-sizes": ("paper_bleu_after", "32.75"),
        "tab03-offline-ability": ("paper_bleu", "31.93"),
        "tab09-length-groups": ("paper_mean_length", "14.07"),
    }
    for name, (column, last) in expected.items():
        made = data(name, tmp_path, "paper", with_paper_numbers=True)
        assert csv_of(table_of(name, made))[-1][column] == last


@pytest.mark.parametrize("name", TABLES)
def test_another_pair_has_no_columns_for_the_paper(data: Make, name: str) -> None:
    plain, asked = (
        as_csv(table_of(name, data(name, with_paper_numbers=switch))) for switch in (False, True)
    )
    assert plain == asked


def test_ours_theirs_and_the_difference_stand_in_one_table(
    data: Make, params: Params, tmp_path: Path
) -> None:
    write_results(params, "paper", comet=COMET_OF_THE_PAPER)
    made = data("tab10-beside-paper", tmp_path, "paper")
    lines = {
        (line["pair"], line["row"], line["setting"], line["score"]): line
        for line in csv_of(table_of("tab10-beside-paper", made))
    }
    line = lines["wmt15-deen", "ITST", "δ = 0.5", "SacreBLEU"]
    ours = lagged_bleu("wmt15-deen", "itst", "uni", 0.5)
    assert float(line["paper"]) == 29.51
    assert float(line["ours"]) == pytest.approx(ours)
    assert float(line["difference"]) == pytest.approx(ours - 29.51)
    assert {key[0] for key in lines} == {"nist-zhen", "wmt15-deen", "wmt16-enro", "iwslt15-envi"}
    assert lines["wmt15-deen", "SM²-Bi", "", "Pearson"]["paper"] == "0.82"
    assert float(lines["wmt15-deen", "SM²-Bi with λ = 1.0", "γ = 0.99", "AL"]["paper"]) == 5.79


def lagged_bleu(pair: str, method: str, variant: str, knob: float) -> float:
    """BLEU straight from the file of scores."""
    path = Point(Run(pair, method, variant, 1), "test").folder / "scores.json"
    points = json.loads(path.read_text(encoding="utf-8"))["points"]
    (value,) = (one["scores"]["bleu"]["value"] for one in points if one["knob"] == knob)
    return float(value)


def test_each_table_of_numbers_has_its_own_pairs(
    data: Make, params: Params, tmp_path: Path
) -> None:
    write_results(params, "paper")
    pairs = {
        name: {line["pair"] for line in csv_of(table_of(name, data(name, tmp_path, "paper")))}
        for name in TABLES
        if name.endswith("-numbers")
    }
    assert pairs == {
        "tab05-numbers": {"nist-zhen"}, "tab06-numbers": {"wmt15-deen"},
        "tab07-numbers": {"wmt16-enro"}, "tab08-appendix-numbers": {"iwslt15-envi"},
    }  # fmt: skip


def test_pairs_to_compare_with_the_paper_are_those_it_prints_numbers_of(params: Params) -> None:
    assert params.paper.tables["tab10-beside-paper"].only == tuple(PAPER_PAIRS)


def test_the_decision_rule_begins_as_the_settings_say(data: Make) -> None:
    lines = csv_of(table_of("alg01-decision-rule", data("alg01-decision-rule")))
    assert lines[0]["action"] == "READ 1 → (1, 1)"
    assert "c_ij ≥ γ" in lines[2]["condition"]


def test_the_decisions_of_a_sentence_are_those_that_were_decoded() -> None:
    instance = instance_from(
        index=3, knob=0.5, source="a b c", source_tokens=["a", "b", "c", EOS_TOKEN],
        references=["x y"], prediction="x y", tokens=["x", "y", EOS_TOKEN], token_delays=[2, 2, 4],
        write_confidence=[0.7, 0.6, 0.2], read_confidence=[None, 0.3, 0.1, 0.4],
    )  # fmt: skip
    table = Table("t", tuple(Column(key, key) for key in "sct"), (Block(
        "p", "h", (tuple(decisions(instance)),)),))  # fmt: skip
    assert [tuple(line.values())[1:] for line in csv_of(table)] == [
        ("(1, 1)", "c = 0.30 < 0.5", "READ b"),
        ("(1, 2)", "c = 0.70 ≥ 0.5", "WRITE x"),
        ("(2, 2)", "c = 0.60 ≥ 0.5", "WRITE y"),
        ("(3, 2)", "c = 0.10 < 0.5", "READ c"),
        ("(3, 3)", "c = 0.40 < 0.5", "READ ⟨eos⟩"),
        ("(3, 4)", "j = M", "WRITE ⟨eos⟩"),
    ]


# --- formats ------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", TABLES)
def test_latex_has_only_characters_that_every_latex_knows(any_data: Make, name: str) -> None:
    text = as_latex(table_of(name, any_data(name)), name)
    assert text.isascii()
    assert text.count(r"\toprule") == text.count(r"\bottomrule") == text.count(r"\begin{tabular}")
    for line in text.splitlines():
        assert line.count("{") - line.count(r"\{") == line.count("}") - line.count(r"\}")


@pytest.mark.parametrize("name", TABLES)
def test_every_latex_row_has_as_many_cells_as_columns(any_data: Make, name: str) -> None:
    table = table_of(name, any_data(name))
    rows = [line for line in as_latex(table, name).splitlines() if line.endswith(r"\\")]
    assert {row.count(" & ") for row in rows} == {len(table.columns) - 1}


def test_negative_numbers_have_a_minus_sign_in_latex() -> None:
    table = Table("t", (Column("al", "AL", 2),), (Block("p", "h", (((-0.6,), (-0.001,)),)),))
    lines = as_latex(table, "t").splitlines()
    assert r"$-$0.60 \\" in lines
    assert r"0.00 \\" in lines


def test_a_knob_is_a_number_in_the_csv_and_has_its_symbol_elsewhere() -> None:
    table = Table("t", (Column("knob", "Knob"),), (Block("p", "h", (((KnobName("γ", "0.5"),),),)),))
    assert csv_of(table) == [{"pair": "p", "knob": "0.5"}]
    assert "γ = 0.5" in as_markdown(table)


def test_columns_of_markdown_are_aligned_in_the_source(data: Make) -> None:
    text = as_markdown(table_of("tab05-numbers", data("tab05-numbers")))
    assert len({len(line) for line in text.splitlines() if line.startswith("|")}) == 1
