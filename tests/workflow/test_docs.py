"""Pages, pictures and the files that other programs read agree with the project."""

import ast
import re
import subprocess
from html import unescape
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.samples.markdown import anchors, rows
from tests.samples.project import ROOT, run

PAGES = sorted([*ROOT.glob("*.md"), *ROOT.glob("docs/**/*.md")])
SOURCES = ROOT / "src" / "simt"
METHODS = ROOT / "docs" / "methods.md"
ARCHITECTURE = ROOT / "docs" / "architecture.md"


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_links_lead_somewhere(page: Path) -> None:
    targets = re.findall(r"\]\(([^)\s]+)", page.read_text(encoding="utf-8"))
    dead = []
    for target in targets:
        name, _, anchor = target.partition("#")
        path = page.parent / name if name else page
        is_there = re.match("https?:", name) or (path.exists() and has_anchor(path, anchor))
        dead += [] if is_there else [target]
    assert dead == []


def has_anchor(page: Path, anchor: str) -> bool:
    return not anchor or anchor in anchors(page)


def test_readme_is_short_and_its_pictures_are_small() -> None:
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    assert len(text.splitlines()) < 160
    pictures = re.findall(r"!\[[^]]+\]\(([^)]+)\)", text)
    assert len(pictures) >= 3
    assert all((ROOT / picture).stat().st_size < 200_000 for picture in pictures)


# --- pointers from the code to the specification ------------------------------------------------

# As in docs/methods.md, "SM²: policy" and "HMT: policy"; a comment or docstring may break the line.
POINTER = re.compile(r'methods\.md((?:(?:,|[\s#]+and)[\s#]+"[^"]+")*)')


def texts() -> list[Path]:
    """Every file of the project in which code or settings could point to a page."""
    names = subprocess.check_output(["git", "ls-files"], cwd=ROOT, text=True).splitlines()
    wanted = (".py", ".smk", ".yaml", ".yml", ".toml", ".js", ".html", "Snakefile", "Makefile")
    return [ROOT / name for name in names if name.endswith(wanted) and (ROOT / name).exists()]


def pointers(path: Path) -> list[str]:
    """The sections that a file names; "" where it names the page alone."""
    found = POINTER.findall(path.read_text(encoding="utf-8"))
    named = (re.findall(r'"([^"]+)"', pointer) or [""] for pointer in found)
    return [re.sub(r"[\s#]+", " ", section) for sections in named for section in sections]


def test_pointers_to_the_specification_name_its_sections() -> None:
    sections = set(re.findall(r"^##+ (.+)$", METHODS.read_text(encoding="utf-8"), re.MULTILINE))
    found = {path: pointers(path) for path in texts() if path != Path(__file__)}
    assert sum(map(len, found.values())) > 20
    dead = [
        f"{path.relative_to(ROOT)}: {section or 'no section'}"
        for path, named in found.items()
        for section in named
        if section not in sections
    ]
    assert dead == []


def test_no_section_is_named_by_number() -> None:
    sign, in_latex = "\N{SECTION SIGN}", SOURCES / "paper" / "latex.py"
    numbered = [path for path in texts() if sign in path.read_text(encoding="utf-8")]
    assert [path for path in numbered if path != in_latex] == []


# --- settings that pages name --------------------------------------------------------------------


def keys(values: Any) -> set[str]:
    """Every key and every value of nested settings, as a page would write it."""
    if isinstance(values, dict):
        return {str(key) for key in values}.union(*map(keys, values.values()))
    if isinstance(values, list):
        return set[str]().union(*map(keys, values))
    return {str(values)}


def test_names_in_the_specification_are_settings() -> None:
    """All that looks like a name of ours: ``snake_case``, ``dotted.path``, ``fig03-bleu-al``."""
    text = re.sub(
        r"^    .*$|\]\(.*?\)", "", METHODS.read_text(encoding="utf-8"), flags=re.MULTILINE
    )
    names = re.findall(r"`([a-z0-9.]+(?:[_.-][a-z0-9-]+)+)(?:: [\w.]+)?`", text)
    files = ("params.yaml", "methods.md", "scores.json", "stats.json", "claims.yaml")
    named = {name for name in names if not name.endswith(files)}
    code = "\n".join(path.read_text(encoding="utf-8") for path in SOURCES.rglob("*.py"))
    literals = set(re.findall(r'"([a-z0-9_.]+)"', code))
    params = read_yaml("params.yaml")
    known = keys(params) | literals
    assert len(named) > 50
    assert [name for name in named if name not in known and not at(params, name)] == []


def test_specification_leaves_out_no_setting() -> None:
    params = read_yaml("params.yaml")
    sections = [params[name] for name in ("text", "training", "decoding", "scoring")]
    sections += [method["settings"] for method in params["methods"].values()]
    sections += [params["paper"]["figures"], params["paper"]["tables"]]
    names = {name for section in sections for name in section} - {"encoder", "estimator"}
    spans = " ".join(re.findall(r"`([^`\n]+)`", METHODS.read_text(encoding="utf-8")))
    known = set(re.findall(r"[\w-]+", spans))
    assert len(names) > 80
    assert sorted(names - known) == []


def at(values: Any, path: str) -> bool:
    """Whether settings have something at a dotted path."""
    for key in re.findall(r"bi-w\d\.\d|[^.]+", path):
        if not isinstance(values, dict) or key not in values:
            return False
        values = values[key]
    return True


def overlaid(values: Any, preset: Any) -> Any:
    """Settings with those of a preset laid over them."""
    if not (isinstance(values, dict) and isinstance(preset, dict)):
        return preset
    return values | {key: overlaid(values.get(key), value) for key, value in preset.items()}


def value_at(params: Any, path: str) -> str:
    """A setting as a page writes it; a variant or method without one has that of all."""
    *folders, last = path.split(".")
    values = params
    for folder in folders:
        values = values.get(folder, {})
    if last not in values:
        fallback = (
            f"training.{last}" if folders[-1] == "training" else f"methods.sm2.settings.{last}"
        )
        return value_at(params, fallback)
    value = values[last]
    if isinstance(value, bool):
        return str(value).lower()
    return ", ".join(map(str, value)) if isinstance(value, list) else str(value)


def alike(one: str, other: str) -> bool:
    """Whether two settings are the same text or the same number."""
    try:
        return float(one) == float(other)
    except ValueError:
        return one == other


def test_table_of_fidelity_is_that_of_the_settings() -> None:
    params = read_yaml("params.yaml")
    presets = {name: overlaid(params, preset) for name, preset in params["fidelities"].items()}
    told = rows(ROOT / "docs" / "fidelity.md", "setting", "`default`", "`paper`", "`official`")
    assert len(told) > 15
    for setting, *values in told:
        meant = [value_at(presets[name], setting.strip("`")) for name in presets]
        assert all(map(alike, values, meant)), f"{setting}: {values}, but {meant}"


def test_table_of_fidelity_lacks_no_switch() -> None:
    def paths(values: Any, above: str = "") -> set[str]:
        if not isinstance(values, dict):
            return {above.removeprefix(".")}
        return set[str]().union(*(paths(below, f"{above}.{key}") for key, below in values.items()))

    presets = read_yaml("params.yaml")["fidelities"].values()
    changed = {path for preset in presets if preset for path in paths(preset)}
    told = {cell.strip("`") for cell, *_ in rows(ROOT / "docs" / "fidelity.md", "setting")}
    # Adam's betas of ITST and HMT are said below the table.
    assert {path for path in changed - told if not path.endswith("adam_betas")} == set()


# --- the page about the architecture -------------------------------------------------------------


def names_defined(path: Path) -> set[str]:
    """Functions, classes, methods and constants of a file: ``f``, ``C``, ``C.m``."""

    def defined(body: list[ast.stmt], above: str = "") -> set[str]:
        names = set[str]()
        for one in body:
            if isinstance(one, ast.FunctionDef | ast.ClassDef):
                names.add(above + one.name)
            if isinstance(one, ast.ClassDef):
                names |= defined(one.body, f"{one.name}.")
            targets = one.targets if isinstance(one, ast.Assign) else [getattr(one, "target", None)]
            names |= {above + target.id for target in targets if isinstance(target, ast.Name)}
        return names

    return defined(ast.parse(path.read_text(encoding="utf-8")).body)


QUESTIONS = rows(ARCHITECTURE, "question", "file", "name")


@pytest.mark.parametrize("question", QUESTIONS, ids=lambda row: str(row[0]))
def test_a_newcomers_question_is_answered_by_what_exists(question: list[str]) -> None:
    _, file, names = question
    named = set(re.findall(r"`([^`]+)`", names))
    assert named
    assert named <= names_defined(SOURCES / file.strip("`"))


def test_files_that_the_architecture_names_exist() -> None:
    text = ARCHITECTURE.read_text(encoding="utf-8")
    text += (ROOT / "docs" / "architecture.dot").read_text(encoding="utf-8")
    files = set(re.findall(r"(?<![\w./-])([\w/-]+\.py|workflow/\w+|\w+\.yaml)", text))
    assert len(files) > 20
    assert [
        name for name in files if not any((top / name).exists() for top in (SOURCES, ROOT))
    ] == []


def test_layers_of_the_architecture_are_in_the_order_of_the_contract() -> None:
    contract = re.search(
        r"^layers = \[(.*?)^\]", (ROOT / "pyproject.toml").read_text(), re.MULTILINE | re.DOTALL
    )
    assert contract
    layers = [re.findall(r"\w+", line) for line in re.findall(r'"(.+)"', contract[1])]
    place = {module: number for number, layer in enumerate(layers) for module in layer}
    told = [re.findall(r"`(\w+)`", cell) for cell, *_ in rows(ARCHITECTURE, "layer")]
    assert len(told) > 10
    places = [[place[module] for module in row] for row in told]
    assert [set(row) for row in places] == [{row[0]} for row in places]
    assert places == sorted(places)


def test_picture_of_the_architecture_is_drawn_from_its_source() -> None:
    source = (ROOT / "docs" / "architecture.dot").read_text(encoding="utf-8")
    drawn = re.findall(
        r"<text.*?>(.*?)</text>", (ROOT / "docs" / "architecture.svg").read_text(encoding="utf-8")
    )
    labels = re.findall(r'label="([^"]*)"', source)
    lines = [line.strip() for label in labels for line in label.split("\\l") if line.strip()]
    assert sorted(unescape(line).strip() for line in drawn) == sorted(lines), (
        "draw it again: `dot -Tsvg docs/architecture.dot -o docs/architecture.svg`"
    )


# --- the picture of the workflow ------------------------------------------------------------------

Edge = tuple[str, str]


def rule_edges() -> set[Edge]:
    """Which rule reads what another one made; rules of a pair count as one."""
    said = run(ROOT, "snakemake", "--rulegraph")
    rules = dict(re.findall(r'(\d+)\[label = "([a-z]+)', said))
    return {(rules[one], rules[other]) for one, other in re.findall(r"(\d+) -> (\d+)", said)}


def without_shortcuts(edges: set[Edge]) -> set[Edge]:
    """Those edges that no longer way replaces."""

    def reached(start: str) -> set[str]:
        following = {other for one, other in edges if one == start != other}
        return following.union(*(reached(rule) for rule in following))

    return {
        (one, other)
        for one, other in edges
        if not any(other in reached(rule) for start, rule in edges if one == start != rule)
    }


def test_picture_of_the_workflow_has_its_edges() -> None:
    svg = (ROOT / "docs/graph.svg").read_text(encoding="utf-8")
    drawn = set(re.findall(r"<title>(\w+)&#45;&gt;(\w+)</title>", svg))
    assert ("train", "decode") in drawn
    assert drawn == without_shortcuts(rule_edges()), (
        "The rules of the workflow have changed: change docs/graph.dot and draw it again: "
        "`dot -Tsvg docs/graph.dot -o docs/graph.svg`."
    )


def read_yaml(name: str) -> Any:
    return yaml.safe_load((ROOT / name).read_text(encoding="utf-8"))


def test_citation_has_what_its_format_asks_for() -> None:
    citation = read_yaml("CITATION.cff")
    assert citation["cff-version"] == "1.2.0"
    version = re.search(r'^version = "(.+)"$', (ROOT / "pyproject.toml").read_text(), re.MULTILINE)
    assert version
    assert citation["version"] == version[1]
    for entry in (citation, *citation["references"]):
        assert {"title", "authors", "type"} <= entry.keys()


def test_hosted_ci_runs_what_a_change_must_pass() -> None:
    jobs = read_yaml(".github/workflows/ci.yml")["jobs"]
    steps = [step.get("run") for job in jobs.values() for step in job["steps"]]
    assert ".ci/run" in steps
    assert all(job["timeout-minutes"] for job in jobs.values())
