"""Tables in LaTeX, as a paper with two columns sets them."""

import re
import shutil
import subprocess
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from simt.instances import EOS_TOKEN, write_instances
from simt.paper import TABLES
from simt.paper.figure_data import FigureData
from simt.paper.latex import as_latex, latex_text
from simt.paper.rows import COMET_OF_THE_PAPER
from simt.paper.tabular import Block, Column, Formula, Table
from simt.params import Params
from simt.runs import Point
from tests.samples.instances import instance_from
from tests.samples.results import write_results

Make = Callable[..., FigureData]

# Columns as wide as those of the ACL's style, and boxes that stand out by a hair are told.
PAPER = r"""
\documentclass[twocolumn]{article}
\usepackage{array,booktabs}
\setlength{\textwidth}{455.24pt}
\setlength{\columnsep}{17.08pt}
\setlength{\textheight}{702pt}
\hfuzz=0.1pt
\begin{document}
%s
\end{document}
"""
COMPLAINT = re.compile(r"^(?:!|Overfull|LaTeX Warning: (?:Float too large|Text page)).*", re.M)


def test_latex_escapes_what_would_be_a_command() -> None:
    assert latex_text("ab_c & 5 % of SM²") == r"ab\_c \& 5 \% of SM\textsuperscript{2}"


def test_formulas_in_running_text_are_mathematics() -> None:
    assert latex_text("w/o p_i, c_ij") == "w/o $p_{i}$, $c_{ij}$"
    assert latex_text("w/o L_omt") == r"w/o $L_{\mathrm{omt}}$"
    assert latex_text("m-wait-k at 1e-07") == "m-wait-$k$ at $10^{-7}$"


def test_a_cell_has_its_own_latex() -> None:
    cell = Formula("c ≥ γ", r"$c \geq \gamma$")
    table = Table("t", (Column("if", "If"),), (Block("p", "h", (((cell,),),)),))
    assert r"$c \geq \gamma$ \\" in as_latex(table, "t").splitlines()


def test_a_long_heading_is_broken_where_its_column_is_narrow() -> None:
    table = Table("t", (Column("p", "Parameters (M)", 2),), (Block("p", "h", (((60.5,),),)),))
    assert r"\shortstack[r]{Parameters \\ (M)} \\" in as_latex(table, "t").splitlines()


@pytest.mark.parametrize(("columns", "kind"), [(3, "table"), (9, "table*")])
def test_a_table_takes_both_columns_only_if_one_is_too_narrow(columns: int, kind: str) -> None:
    row = tuple("ten letters"[:10] for _ in range(columns))
    heads = tuple(Column(str(place), "Head") for place in range(columns))
    text = as_latex(Table("t", heads, (Block("p", "h", ((row,),)),)), "t")
    assert rf"\begin{{{kind}}}[t]" in text


def test_a_table_longer_than_a_page_goes_on_in_another_float() -> None:
    rows = tuple((float(number),) for number in range(100))
    text = as_latex(Table("t", (Column("n", "N", 0),), (Block("p", "h", (rows,)),)), "t")
    assert text.count(r"\begin{table}") == 3
    assert text.count("h (continued).") == 2
    assert [rf"{number} \\" for number in range(100)] == re.findall(r"^\d+ \\\\$", text, re.M)


def test_what_measured_the_numbers_stands_in_remarks(data: Make) -> None:
    text = as_latex(TABLES["tab03-offline-ability"](data("tab03-offline-ability")), "t")
    assert "% bleu|text:detokenised|" in text


# --- compiled -----------------------------------------------------------------------------------


def complaints(texts: list[str], folder: Path) -> list[str]:
    """What LaTeX has against some tables."""
    if shutil.which("pdflatex") is None:
        pytest.skip("pdflatex is not installed (Debian: texlive-latex-recommended)")
    folder.mkdir(exist_ok=True)
    (folder / "paper.tex").write_text(PAPER % "\n\\clearpage\n".join(texts), encoding="utf-8")
    command = ["pdflatex", "-interaction=nonstopmode", "-draftmode", "paper.tex"]
    subprocess.run(command, cwd=folder, capture_output=True, check=False)
    log = (folder / "paper.log").read_text(encoding="utf-8", errors="replace")
    assert "No pages of output" not in log, log[-2000:]
    return COMPLAINT.findall(log)


def decode_a_sentence(run: str) -> None:
    """A sentence for Algorithm 1."""
    source, target = ["über@@", "haupt", "&", "nichts", EOS_TOKEN], ["no@@", "thing", EOS_TOKEN]
    decoded = instance_from(
        index=0, knob=0.5, source="x", source_tokens=source, references=["x"], prediction="x",
        tokens=target, token_delays=[2, 4, 5], reference_token_length=3,
        write_confidence=[0.7, 0.6, 0.2], read_confidence=[None, 0.3, 0.1, 0.4, 0.2],
    )  # fmt: skip
    write_instances(Point.parse(run).folder / "instances.jsonl", [decoded])


@pytest.mark.parametrize(
    ("study", "seeds", "comet"),
    [
        ("tiny", (1,), "comet:simt/toy-estimator"),
        ("tiny", (1, 2, 3), None),
        ("paper", (1,), COMET_OF_THE_PAPER),
        ("paper", (1, 2), "comet:Unbabel/wmt22-comet-da"),
    ],
)
@pytest.mark.parametrize("with_paper_numbers", [False, True])
def test_every_table_fits_into_a_paper_with_two_columns(
    params: Params, data: Make, tmp_path: Path,
    study: str, seeds: tuple[int, ...], comet: str | None, with_paper_numbers: bool,
) -> None:  # fmt: skip
    chosen = params.studies[study].model_copy(update={"seeds": seeds})
    given = replace(params, studies={**params.studies, study: chosen})
    write_results(given, study, comet=comet)
    decode_a_sentence(f"{chosen.pairs.analysis}/sm2/bi/seed1/test")
    texts = [
        as_latex(TABLES[name](data(name, tmp_path, study, seeds, with_paper_numbers)), name)
        for name in TABLES
    ]
    assert complaints([text for text in texts if "tabular" in text], tmp_path) == []


def test_a_table_that_is_too_wide_is_told(tmp_path: Path) -> None:
    wide = r"\begin{table}\begin{tabular}{l}%s\end{tabular}\end{table}" % ("word " * 60)
    assert any(line.startswith("Overfull") for line in complaints([wide], tmp_path))
