"""The verdict on each claim of the paper: the file claims.json, and the same for readers.

``results/paper/{study}/claims.json`` is one object::

    {"study": "toy", "fidelity": "default", "seeds": 1,
     "intervals": "[ , ] is a 95 % confidence interval …",
     "claims": [{"claim": "bi-above-baselines", "sentence": "SM²-Bi is above …",
                 "where": "Figure 3, Tables 5-7", "how": "BLEU at equal lagging …",
                 "verdict": "holds", "wording": "holds in this training",
                 "reason": "24 of 24 intervals within the expected range",
                 "results": [{"what": "toy-deen: BLEU of SM²-Bi - wait-k at AL 3", "value": 1.2,
                              "low": 0.7, "high": 1.7, "expected": "above 0", "supports": "yes",
                              "why": "all of the interval is in this range", "to_decide": "",
                              "paper": null}]}],
     "scales": []}

The first of the ``results`` is the one that decides: the one that supports the claim least.
``supports`` is "yes", "no" or "undecided", and ``to_decide`` then says how much more data would
decide (see ``simt.paper.power``).
``low`` and ``high`` are the ends of the confidence interval: ``intervals`` says which it is.
``paper`` is the number that the paper itself prints for the same thing. Without any result, the
verdict is "not tested". ``scales`` is empty but in a study of scale: there it has the ``claims``
that were tested on each of its pairs by itself, with its ``updates`` and training ``sentences``.
"""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from textwrap import fill
from typing import Any, Literal, NamedTuple, get_args

from simt.atomic import atomic_file, write_json
from simt.products import CLAIMS_FILE
from simt.scoring.significance import SEEDS_OF_A_METHOD
from simt.wording import count

Outcome = Literal["holds", "does not hold", "not enough data", "not tested"]
OUTCOMES: Sequence[Outcome] = get_args(Outcome)  # in the order of reports
Support = Literal["yes", "no", "undecided"]
_WIDTH = 100  # of text for a terminal
SCALE_TITLE = "At which scale does a claim begin to hold?"
SCALE_EXPLAINED = (
    "Verdicts on each amount of training and of text by itself, with the number that supports the "
    "claim least."
)


@dataclass(frozen=True)
class Result:
    """One number about a claim, its confidence interval, and whether it supports the claim."""

    what: str
    value: float
    low: float
    high: float
    expected: str
    supports: Support
    why: str
    to_decide: str = ""  # how much more data would
    paper: float | None = None


@dataclass(frozen=True)
class Verdict:
    """A claim of the paper, how it was measured, the results, and whether it holds."""

    claim: str  # its short name
    sentence: str
    where: str  # in the paper
    how: str  # it was measured
    verdict: Outcome
    wording: str  # of the verdict, with how far it goes
    reason: str
    results: tuple[Result, ...] = ()

    def __post_init__(self) -> None:
        assert bool(self.results) == (self.verdict != "not tested"), self.claim


@dataclass(frozen=True)
class AtScale:
    """The verdicts that one pair of a study of scale gives, and how much it trains on."""

    pair: str
    updates: int
    sentences: int  # of the training text
    claims: tuple[Verdict, ...]  # those that were tested


@dataclass(frozen=True)
class ClaimsReport:
    """Every claim's verdict in one study."""

    study: str
    fidelity: str
    seeds: int
    intervals: str  # what they are, and how they decide
    claims: tuple[Verdict, ...]
    scales: tuple[AtScale, ...] = ()

    def as_json(self) -> dict[str, Any]:
        """Plain values for claims.json."""
        return asdict(self)


def write_claims(report: ClaimsReport, folder: Path) -> None:
    """Write claims.json and claims.md."""
    write_json(folder / CLAIMS_FILE, report.as_json())
    with atomic_file(folder / "claims.md") as stream:
        stream.write(as_markdown(report))


# --- for readers --------------------------------------------------------------------------------


def as_text(report: ClaimsReport) -> str:
    """All verdicts for a terminal."""
    parts = [headline(report), _wrapped(report.intervals, indent=0)]
    parts += ["\n".join(_lines(one)) for one in report.claims]
    parts += _scale_text(report.as_json()["scales"])
    return "\n\n".join(parts) + "\n"


def _lines(one: Verdict) -> Iterator[str]:
    """A claim for a terminal: the verdict and why, the number that decides, and how measured."""
    verdict = one.wording.replace(one.verdict, one.verdict.upper())
    yield _wrapped(f"{verdict}: {one.sentence} ({one.where})", indent=0, then=2)
    yield _wrapped(one.reason, indent=2)
    for result in one.results[:1]:
        yield _wrapped(result.what, indent=4)
        yield _wrapped(result_text(result), indent=4)
        if result.to_decide:
            yield _wrapped(f"would decide: {result.to_decide}", indent=4)
    if one.results:
        yield _wrapped(f"measured: {one.how}", indent=4)


def _wrapped(text: str, indent: int, then: int | None = None) -> str:
    later = " " * (indent if then is None else then)
    return fill(text, _WIDTH, initial_indent=" " * indent, subsequent_indent=later)


def as_markdown(report: ClaimsReport) -> str:
    """All verdicts as a table, and below it how each claim was measured."""
    rows = [
        "| Verdict | Claim | Where | Because | Number that decides | Expected, found, why |",
        "| --- | --- | --- | --- | --- | --- |",
    ]
    for one in report.claims:
        what, found = "–", "–"
        for result in one.results[:1]:
            what, found = result.what, result_text(result)
            found += f"; would decide: {result.to_decide}" if result.to_decide else ""
        cells = (one.wording, one.sentence, one.where, one.reason, what, found)
        rows.append(f"| {' | '.join(cells)} |")
    measured = [f"- `{one.claim}`: {one.how}" for one in report.claims]
    parts = [headline(report), "", report.intervals, "", *rows, "", *measured]
    return "\n".join([*parts, *_scale_table(report.as_json()["scales"])]) + "\n"


def result_text(result: Result) -> str:
    """What was expected, what was found within which interval, and what follows."""
    found = _with_interval(result.value, result.low, result.high)
    text = f"expected {result.expected}, found {found}: {result.why}"
    return text if result.paper is None else f"{text} (paper: {result.paper:+.2f})"


def _with_interval(value: float, low: float, high: float) -> str:
    return f"{value:+.2f} [{low:+.2f}, {high:+.2f}]"


def wording(outcome: Outcome, seeds: int) -> str:
    """A verdict in words: one or two trainings say nothing about a method."""
    if outcome in ("not enough data", "not tested") or seeds >= SEEDS_OF_A_METHOD:
        return outcome
    return f"{outcome} in {'this training' if seeds == 1 else 'these two trainings'}"


def headline(report: ClaimsReport) -> str:
    """How many claims hold, and how many do not; a verdict about trainings is counted as such."""
    counts = Counter((one.verdict, one.wording) for one in report.claims)
    said = []
    for outcome in OUTCOMES:
        of_outcome = {words: number for (one, words), number in counts.items() if one == outcome}
        of_outcome = of_outcome or {wording(outcome, report.seeds): 0}
        said += [f"{words} {number}" for words, number in of_outcome.items()]
    seeds = count(report.seeds, "seed")
    return f"Claims of the paper in study {report.study} ({seeds}): {', '.join(said)}"


# --- a study of scale ---------------------------------------------------------------------------


class ScaleCell(NamedTuple):
    """What one scale says about a claim."""

    verdict: str
    number: str

    def __str__(self) -> str:
        return f"{self.verdict}: {self.number}"


def scale_name(scale: Mapping[str, Any]) -> str:
    """How much one of the ``scales`` trains, on how much text."""
    text = count(scale["sentences"], "training sentence")
    return f"{count(scale['updates'], 'update')}, {text}"


def claims_by_scale(
    scales: Sequence[Mapping[str, Any]],
) -> list[tuple[str, list[ScaleCell | None]]]:
    """Each claim that was tested at more than one of the ``scales``, and what each of them says."""
    sentences: dict[str, str] = {}
    cells: dict[str, dict[int, ScaleCell]] = {}
    for place, scale in enumerate(scales):
        for claim in scale["claims"]:
            least = claim["results"][0]
            what = least["what"].removeprefix(f"{scale['pair']}: ")
            number = f"{what} {_with_interval(least['value'], least['low'], least['high'])}"
            sentences[claim["claim"]] = claim["sentence"]
            cells.setdefault(claim["claim"], {})[place] = ScaleCell(claim["wording"], number)
    return [
        (sentences[claim], [own.get(place) for place in range(len(scales))])
        for claim, own in cells.items()
        if len(own) > 1
    ]


def _scale_table(scales: Sequence[Mapping[str, Any]]) -> Iterator[str]:
    """Lines in Markdown; none if no claim was tested at several scales."""
    if not (claims := claims_by_scale(scales)):
        return
    yield from ("", SCALE_TITLE, "", SCALE_EXPLAINED, "")
    header = ["Claim", *map(scale_name, scales)]
    for row in (header, ["---"] * len(header)):
        yield f"| {' | '.join(row)} |"
    for sentence, cells in claims:
        yield f"| {' | '.join([sentence, *(str(cell or '–') for cell in cells)])} |"


def _scale_text(scales: Sequence[Mapping[str, Any]]) -> Iterator[str]:
    """The same for a terminal, a claim at a time."""
    if not (claims := claims_by_scale(scales)):
        return
    yield f"{SCALE_TITLE}\n{_wrapped(SCALE_EXPLAINED, indent=0)}"
    names = [scale_name(one) for one in scales]
    width = max(map(len, names))
    for sentence, cells in claims:
        lines = [_wrapped(sentence, indent=0, then=2)]
        for name, cell in zip(names, cells, strict=True):
            lines.append(f"  {name:{width}}  {cell or 'not tested'}")
        yield "\n".join(lines)
