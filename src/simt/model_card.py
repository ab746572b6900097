"""The card of an exported system, for people: what it is, its data, how good, and by which code."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

from simt.atomic import atomic_file
from simt.markers import readable_marker
from simt.params import Knob, Params
from simt.problems import parse_json, read_text
from simt.products import RUN_FILE, SCORES_FILE, SETTINGS_FILE
from simt.record import points_of
from simt.runs import Run
from simt.system_folder import CARD_FILE, CURVE_FILE

_AGAIN = "make it again"
_WIDTH, _HEIGHT, _MARGIN = 480, 300, 50  # of the picture, in pixels


class _Place(NamedTuple):
    """A point on the curve."""

    lagging: float
    bleu: float


def write_card(params: Params, run: Run, knob: Knob, to: Path) -> None:
    """Write the card of a run, and its curve where it has been scored.

    ``knob`` is what it translates at if nobody says otherwise.
    """
    scores = _scores(run)
    curve = _curve(scores)
    with atomic_file(to / CARD_FILE) as stream:
        stream.write(model_card(params, run, knob, scores, has_curve=len(curve) > 1))
    if len(curve) > 1:
        with atomic_file(to / CURVE_FILE) as stream:
            stream.write(curve_picture(curve))


def model_card(
    params: Params, run: Run, knob: Knob, scores: dict[str, Any], has_curve: bool
) -> str:
    """The card as Markdown."""
    pair = params.pairs[run.pair]
    facts = _values(run.folder / RUN_FILE)
    commit = facts.get("commit") or "unknown"
    picture = f"![BLEU against average lagging on the test set]({CURVE_FILE})"
    parts = [
        f"# {run.method}/{run.variant}: {pair.source} to {pair.target}",
        f"A simultaneous translation system of the method `{run.method}`, variant "
        f"`{run.variant}`, seed {run.seed}, trained on `{run.pair}` for "
        f"{facts.get('updates', '?')} updates by simt at commit `{commit}`.",
        '```\necho "…" | simt translate THIS_FOLDER\n```',
        f"This translates at the knob value {knob}; `THIS_FOLDER@VALUE` asks for another.",
        "## Data",
        _data_lines(params, run.pair),
        f"Licence of the data: {pair.licence or 'as its providers say; simt has no note of it'}. "
        "Its terms hold for the weights, too.",
        "## Scores on the test set",
        *([picture] if has_curve else []),
        _score_table(scores),
        "## Files",
        "`manifest.json` has the size and the SHA-256 of each file that translating needs; "
        "`simt translate` checks them. Nothing in this folder can run.",
    ]
    return "\n\n".join(parts) + "\n"


def _data_lines(params: Params, pair: str) -> str:
    """Where the text comes from."""
    entry = params.pairs[pair]
    lines = []
    if entry.toy:
        lines.append(f"- sentences of simt's own toy grammar, revision {entry.toy.revision}")
    for name, download in entry.downloads.items():
        lines.append(f"- {name}: {download.addresses[0]}")
    for licensed in entry.licensed.values():
        lines.append(f"- {licensed.title}: {licensed.obtain}")
    for name in entry.local:
        lines.append(f"- {name}: files of the trainer's own")
    return "\n".join(lines)


def _scores(run: Run) -> dict[str, Any]:
    """The scores of the model that a run has now; nothing where only an earlier one has any."""
    trained = readable_marker(run.folder / SETTINGS_FILE)
    point = points_of(run, trained).get("test") if trained else None
    return _values(point / SCORES_FILE) if point else {}


def _score_table(scores: dict[str, Any]) -> str:
    """BLEU and lagging at each knob value, and how both were computed."""
    if not scores:
        return "It has not been scored."
    latency = scores["main_latency"]
    rows = ["| knob | BLEU | AL |", "|---:|---:|---:|"]
    signatures: dict[str, None] = {}
    for point in scores["points"]:
        cells = [point["scores"].get(name, {}) for name in ("bleu", latency)]
        values = ["" if cell.get("value") is None else f"{cell['value']:.2f}" for cell in cells]
        rows.append(f"| {point['knob']} | {' | '.join(values)} |")
        signatures |= {cell["signature"]: None for cell in cells if "signature" in cell}
    return "\n".join([*rows, "", *(f"- `{signature}`" for signature in signatures)])


def _values(path: Path) -> dict[str, Any]:
    """What a step has left; nothing where it has not been done."""
    if not path.exists():
        return {}
    values: dict[str, Any] = parse_json(read_text(path, _AGAIN), path, _AGAIN)
    return values


# --- the curve ------------------------------------------------------------------------------------


def _curve(scores: dict[str, Any]) -> list[_Place]:
    """BLEU by lagging, without the point that waits for the whole source."""
    places = []
    for point in scores.get("points", ()):
        cells = [point["scores"].get(name, {}) for name in (scores["main_latency"], "bleu")]
        lagging, bleu = (cell.get("value") for cell in cells)
        if lagging is not None and bleu is not None and point["knob"] != "full":
            places.append(_Place(lagging, bleu))
    return sorted(places)


def curve_picture(curve: Sequence[_Place]) -> str:
    """The curve as SVG, which any browser shows."""
    right, top = _WIDTH - _MARGIN, _HEIGHT - _MARGIN
    sides = [(min(values), max(values)) for values in zip(*curve, strict=True)]
    (low_x, high_x), (low_y, high_y) = sides
    xs, ys = high_x - low_x or 1.0, high_y - low_y or 1.0
    dots = [
        (
            _MARGIN + (place.lagging - low_x) / xs * (right - _MARGIN),
            top - (place.bleu - low_y) / ys * (top - _MARGIN),
        )
        for place in curve
    ]
    line = " ".join(f"{x:.1f},{y:.1f}" for x, y in dots)
    texts = [
        (_MARGIN, top + 18, "start", f"{low_x:.1f}"),
        (right, top + 18, "end", f"{high_x:.1f}"),
        ((_MARGIN + right) / 2, top + 36, "middle", "AL"),
        (_MARGIN - 6, top, "end", f"{low_y:.1f}"),
        (_MARGIN - 6, _MARGIN, "end", f"{high_y:.1f}"),
        (_MARGIN - 6, (_MARGIN + top) / 2, "end", "BLEU"),
    ]
    marks = "".join(f'<circle cx="{x:.1f}" cy="{y:.1f}" r="3"/>' for x, y in dots)
    labels = "".join(
        f'<text x="{x:g}" y="{y:g}" text-anchor="{anchor}">{text}</text>'
        for x, y, anchor, text in texts
    )
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {_WIDTH} {_HEIGHT}" '
        f'width="{_WIDTH}" height="{_HEIGHT}" font-family="sans-serif" font-size="12">'
        f'<rect width="{_WIDTH}" height="{_HEIGHT}" fill="white"/>'
        f'<path d="M{_MARGIN} {_MARGIN}V{top}H{right}" fill="none" stroke="black"/>'
        f'<polyline points="{line}" fill="none" stroke="#d55e00"/>'
        f'<g fill="#d55e00">{marks}</g>{labels}</svg>\n'
    )
