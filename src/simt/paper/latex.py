"""Tables in LaTeX: words and mathematics, in floats as wide as a column or a page."""

import re
from collections.abc import Iterable, Sequence
from typing import NamedTuple

from simt.paper.figure_data import KnobName
from simt.paper.tabular import (
    Block,
    Cell,
    Column,
    Formula,
    Groups,
    Measured,
    Table,
    TableRow,
    cell_text,
)

_WIDTHS_PT = {"table": 219.0, "table*": 455.0}  # a column of the ACL's style, and both
_SIZES_PT = {"small": 9.0, "footnotesize": 8.0}
_COLUMN_SEP_PT = 9.0
_ROWS_PER_PAGE = 48
_LATEX = {
    "\\": r"\textbackslash{}", "&": r"\&", "%": r"\%", "$": r"\$", "#": r"\#", "_": r"\_",
    "{": r"\{", "}": r"\}", "~": r"\textasciitilde{}", "^": r"\textasciicircum{}",
    "²": r"\textsuperscript{2}", "→": r"$\rightarrow$", "±": r"$\pm$", "–": "--", "…": r"\dots{}",
    "λ": r"$\lambda$", "γ": r"$\gamma$", "δ": r"$\delta$", "τ": r"$\tau$", "ρ": r"$\rho$",
    "β": r"$\beta$", "ε": r"$\epsilon$", "×": r"$\times$", "§": r"\S{}", "∞": r"$\infty$",
    "≥": r"$\geq$", "≤": r"$\leq$", "⟨": r"$\langle$", "⟩": r"$\rangle$", "Δ": r"$\Delta$",
    "<": r"\textless{}", ">": r"\textgreater{}",
}  # fmt: skip
# What is mathematics in running text: p_i and L_omt, the k of wait-k, and 1e-07.
_FORMULA = re.compile(
    r"\b(?P<name>[a-zA-Z])_(?P<index>[a-z]+)\b|\b1e(?P<power>-?\d+)\b|(?<=\bwait-)k\b"
)


def latex_text(text: str) -> str:
    """Plain text for LaTeX: formulas as mathematics, and nothing that it takes for a command."""
    parts, end = [], 0
    for found in _FORMULA.finditer(text):
        parts += [_escaped(text[end : found.start()]), _latex_formula(found)]
        end = found.end()
    return "".join([*parts, _escaped(text[end:])])


def _escaped(text: str) -> str:
    return "".join(_LATEX.get(character, character) for character in text)


def _latex_formula(found: re.Match[str]) -> str:
    name, index, power = found["name"], found["index"], found["power"]
    if power is not None:
        return f"$10^{{{int(power)}}}$"
    if name is None:
        return "$k$"
    return f"${name}_{{{index}}}$" if len(index) < 3 else rf"${name}_{{\mathrm{{{index}}}}}$"


def as_latex(table: Table, name: str) -> str:
    """A float for each block; the document needs the packages array and booktabs.

    It is as wide as a column of a two-column paper where that is enough, else as both.
    """
    floats = [
        (block, groups, number)
        for block in table.blocks
        for number, groups in enumerate(_pages(block.groups), start=1)
    ]
    texts = []
    for place, (block, groups, number) in enumerate(floats, start=1):
        label = name if len(floats) == 1 else f"{name}-{place}"
        texts.append(_latex_float(table, block, groups, label, is_continued=number > 1))
    signatures = dict.fromkeys(one.signature for cell in table.measured for _, one in cell.values)
    remarks = ["Needs \\usepackage{array,booktabs}.", *signatures]
    return "".join(f"% {remark}\n" for remark in remarks) + "\n".join(texts)


def _pages(groups: Groups) -> list[Groups]:
    """The groups in parts of so many rows that each fits on a page."""
    pages: list[list[tuple[TableRow, ...]]] = [[]]
    room = _ROWS_PER_PAGE
    for group in groups:
        rest = group
        while rest:
            if room == 0 or (len(rest) > room < _ROWS_PER_PAGE / 4):
                pages.append([])
                room = _ROWS_PER_PAGE
            pages[-1].append(rest[:room])
            rest, room = rest[room:], max(0, room - len(rest))
    return [tuple(page) for page in pages]


def _latex_float(table: Table, block: Block, groups: Groups, label: str, is_continued: bool) -> str:
    caption = f"{table.title}: {block.heading}" if block.heading else table.title
    caption += " (continued)." if is_continued else "."
    caption += "".join(f" {note[0].upper()}{note[1:]}." for note in block.notes)
    columns = table.columns
    layout = _layout(columns, [row for group in groups for row in group])
    heads = [
        _latex_heading(column, lines)
        for column, lines in zip(columns, layout.headings, strict=True)
    ]
    bodies = [_latex_group(columns, group) for group in groups]
    bodies = bodies or [" & ".join(["--"] * len(columns)) + r" \\"]
    lines = [
        rf"\begin{{{layout.environment}}}[t]",
        rf"\centering\{layout.size}\setlength{{\tabcolsep}}{{{_COLUMN_SEP_PT / 2:g}pt}}",
        rf"\begin{{tabular}}{{@{{}}{layout.kinds}@{{}}}}", r"\toprule",
        " & ".join(heads) + r" \\", r"\midrule", "\n\\midrule\n".join(bodies), r"\bottomrule",
        r"\end{tabular}", rf"\caption{{{latex_text(caption)}}}", rf"\label{{tab:{label}}}",
        rf"\end{{{layout.environment}}}",
    ]  # fmt: skip
    return "\n".join(lines) + "\n"


def _latex_heading(column: Column, lines: Sequence[str]) -> str:
    """The heading in lines that are not wider than the column needs to be."""
    if len(lines) == 1:
        return latex_text(lines[0])
    side = "l" if column.decimals is None else "r"
    stacked = r" \\ ".join(map(latex_text, lines))
    return rf"\shortstack[{side}]{{{stacked}}}"


def _latex_group(columns: Sequence[Column], rows: Iterable[Sequence[Cell]]) -> str:
    """The rows between two rules; what the first column repeats is written once."""
    lines = []
    before: Cell = None
    for row in rows:
        cells = [_latex_cell(cell, column) for cell, column in zip(row, columns, strict=True)]
        if row[0] == before and not isinstance(before, Formula):
            cells[0] = ""
        before = row[0]
        lines.append(" & ".join(cells) + r" \\")
    return "\n".join(lines)


def _latex_cell(cell: Cell, column: Column) -> str:
    if isinstance(cell, Formula):
        return cell.latex
    text = cell_text(cell, column)
    if isinstance(cell, KnobName) and len(cell.symbol) == 1:
        symbol = _LATEX.get(cell.symbol, f"${cell.symbol}$").strip("$")
        return f"${symbol} = {cell.value}$"
    if isinstance(cell, float | Measured) and text.startswith("-"):
        return f"$-${latex_text(text[1:])}"
    return latex_text(text)


# --- how wide a table is in print ---------------------------------------------------------------


class Layout(NamedTuple):
    """The float that a table needs, its font size, its columns, and the lines of each heading."""

    environment: str
    size: str
    kinds: str
    headings: list[list[str]]


def _layout(columns: Sequence[Column], rows: Sequence[Sequence[Cell]]) -> Layout:
    """The narrowest float, with the largest letters, that holds the table."""
    kinds, headings = "", []
    ems, fixed_pt = 0.0, _COLUMN_SEP_PT * (len(columns) - 1)
    for column, *cells in zip(columns, *rows, strict=True):
        body = max((_ems(cell_text(cell, column)) for cell in cells), default=0.0)
        headings.append(_broken(column.heading, body))
        limit_pt = (column.width or 1.0) * _WIDTHS_PT["table*"]
        if body * _SIZES_PT["small"] > limit_pt:
            kinds += rf">{{\raggedright\arraybackslash}}p{{{limit_pt:g}pt}}"
            fixed_pt += limit_pt
        else:
            kinds += "l" if column.decimals is None else "r"
            ems += max(body, *map(_ems, headings[-1]))
    for environment, width_pt in _WIDTHS_PT.items():
        for size, points in _SIZES_PT.items():
            if ems * points + fixed_pt <= width_pt:
                return Layout(environment, size, kinds, headings)
    return Layout("table*", "footnotesize", kinds, headings)


def _broken(heading: str, width: float) -> list[str]:
    """A heading in as many lines as it takes to be no wider than ``width``, or than a word."""
    lines: list[str] = []
    for word in heading.split(" "):
        if lines and _ems(f"{lines[-1]} {word}") <= width:
            lines[-1] += f" {word}"
        else:
            lines.append(word)
    return lines


def _ems(text: str) -> float:
    """About how wide a text is, in units of the font size; rather too wide than too narrow."""
    narrow, wide = " .,;:!'|()[]iljtf-", "mw±→=<>≥≤+"
    return sum(
        0.32 if one in narrow else 0.78 if one.isupper() or one in wide else 0.54 for one in text
    )
