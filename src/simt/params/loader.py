"""From the file to Params, under every fidelity preset."""

from collections.abc import Iterable, Set
from dataclasses import replace
from pathlib import Path
from typing import Any

from simt.errors import SimtError
from simt.params.checks import LAYERED, SECTIONS, Checker, check_spelling, section_of
from simt.params.layers import Params
from simt.params.schema import Paper, Raw
from simt.problems import Problems
from simt.strict_yaml import read_yaml


def load_params(path: Path, study: str | None = None, fidelity: str | None = None) -> Params:
    """params.yaml checked and resolved; ``study`` and ``fidelity`` replace the file's choice."""
    problems = Problems()
    try:
        raw = read_yaml(path, problems)
    except FileNotFoundError:
        raise SimtError(f"{path} does not exist: run from the project's folder") from None
    if not raw:
        raise SimtError(f"{path} is empty")
    raw |= {"study": study} if study is not None else {}
    raw |= {"fidelity": fidelity} if fidelity is not None else {}
    presets = _resolve(raw, problems)
    problems.raise_if_any(path.name)
    return replace(presets[raw["fidelity"]], presets=presets)


def _resolve(raw: Raw, problems: Problems) -> dict[str, Params]:
    """Params under each preset, from plain values, as far as no problem was noted."""
    for key in raw:
        if key not in SECTIONS:
            problems.unknown(key, "section", "params.yaml", SECTIONS)
    base = Checker(raw, problems).params()
    presets = section_of(raw, "fidelities", problems)
    if presets and not problems.are_at("fidelity"):
        problems.check_name("fidelity", raw["fidelity"], "fidelity preset", presets)
    laid_over = {name: _with_preset(raw, base, name, problems) for name in presets}
    return {name: replace(one, fidelity=name) for name, one in laid_over.items() if one}


def _with_preset(raw: Raw, base: Params | None, name: str, problems: Problems) -> Params | None:
    """Params with a preset laid over them; what is wrong without it is not told again."""
    preset, place = raw["fidelities"][name], f"fidelities.{name}"
    check_spelling(name, place, problems)
    if preset == {}:
        return base
    if not isinstance(preset, dict):
        problems.add(place, "must be a mapping of sections to values; {} changes nothing")
        return None
    for key in preset:
        if key not in LAYERED:
            problems.unknown(f"{place}.{key}", "section", "a preset", LAYERED)
    layers = {key: preset[key] for key in LAYERED if key in preset}
    overlaid = Problems()
    wrong = {path for path, _ in problems.found}
    params = Checker(_laid_over(raw, layers, "", wrong), overlaid).params()
    for path, text in overlaid.found:
        if (path, text) not in problems.found:
            problems.add(f"{place}.{path}", text)
    return params


def _laid_over(base: Any, overlay: Any, path: str, wrong: Set[str]) -> Any:
    """``base`` with the values of ``overlay`` in place of its own, mapping by mapping.

    Nothing can be laid over an entry that is wrong as a whole: all else would be missing there.
    """
    if isinstance(overlay, dict) and path in wrong:
        return base
    if not (isinstance(base, dict) and isinstance(overlay, dict)):
        return overlay
    return base | {
        key: _laid_over(base.get(key), value, f"{path}.{key}" if path else key, wrong)
        for key, value in overlay.items()
    }


def check_drawings(paper: Paper, figures: Iterable[str], tables: Iterable[str]) -> None:
    """Stop unless params.yaml has just the figures and tables that can be drawn."""
    problems = Problems()
    for kind, entries, functions in (
        ("figure", paper.figures, list(figures)),
        ("table", paper.tables, list(tables)),
    ):
        for name in entries:
            problems.check_name(f"paper.{kind}s.{name}", name, kind, functions)
        for name in functions:
            if name not in entries:
                problems.add(f"paper.{kind}s.{name}", f"missing; the report shows this {kind}")
    problems.raise_if_any("params.yaml")
