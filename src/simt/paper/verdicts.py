"""What became of each claim of the paper: the file claims.json, and the same for readers.

``results/paper/{study}/claims.json`` is one object::

    {"study": "toy", "fidelity": "default", "seeds": 1,
     "claims": [{"claim": "bi-above-baselines", "sentence": "SM²-Bi is above …",
                 "where": "Figure 3, Tables 5-7", "how": "BLEU at equal lagging …",
                 "verdict": "holds", "reason": "all 24 numbers are above 0",
                 "numbers": [{"what": "toy-deen: SM²-Bi - wait-k at AL 3", "value": 1.2,
                              "low": 0.7, "high": 1.7, "p_value": 0.0005, "paper": null,
                              "expected": "above 0", "stands": "for"}]}]}

The first of the ``numbers`` is the one that decides: the one that speaks most against the claim.
``low`` and ``high`` are the ends of the 95 % interval; ``paper`` is the number that the paper
itself prints for the same thing. Without any number, the verdict is always "not enough data".
"""

from collections import Counter
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Literal

from simt.atomic import atomic_file, write_json

Outcome = Literal["holds", "does not hold", "not enough data"]
Stand = Literal["for", "against", "open"]


@dataclass(frozen=True)
class Finding:
    """One number about a claim, with its interval, and what it says: for, against or open."""

    what: str
    value: float
    low: float
    high: float
    p_value: float  # two-sided, of a difference of 0
    expected: str
    stands: Stand
    paper: float | None = None


@dataclass(frozen=True)
class Verdict:
    """A claim of the paper, how it was measured, the numbers, and whether it holds."""

    claim: str  # its short name
    sentence: str
    where: str  # in the paper
    how: str  # it was measured
    verdict: Outcome
    reason: str
    numbers: tuple[Finding, ...] = ()

    def __post_init__(self) -> None:
        assert self.numbers or self.verdict == "not enough data", self.claim


@dataclass(frozen=True)
class Ledger:
    """Every claim's verdict in one study."""

    study: str
    fidelity: str
    seeds: int
    claims: tuple[Verdict, ...]

    def as_json(self) -> dict[str, Any]:
        """Plain values for claims.json."""
        return asdict(self)


def write_ledger(ledger: Ledger, folder: Path) -> None:
    """Write claims.json and claims.md."""
    write_json(folder / "claims.json", ledger.as_json())
    with atomic_file(folder / "claims.md") as stream:
        stream.write(as_markdown(ledger))


# --- for readers --------------------------------------------------------------------------------


def as_text(ledger: Ledger) -> str:
    """The ledger for a terminal."""
    parts = [_headline(ledger)]
    for one in ledger.claims:
        lines = [f"{one.verdict.upper():<16} {one.sentence}", f"  {one.where}; {one.how}"]
        lines += [f"  {number_text(number)}" for number in one.numbers[:1]]
        parts.append("\n".join([*lines, f"  {one.reason}"]))
    return "\n\n".join(parts) + "\n"


def as_markdown(ledger: Ledger) -> str:
    """The ledger as a table, and below it how each claim was measured."""
    rows = [
        "| Verdict | Claim | Where | Decisive number | Why |",
        "| --- | --- | --- | --- | --- |",
    ]
    for one in ledger.claims:
        decisive = number_text(one.numbers[0]) if one.numbers else "–"
        rows.append(f"| {one.verdict} | {one.sentence} | {one.where} | {decisive} | {one.reason} |")
    measured = [f"- `{one.claim}`: {one.how}" for one in ledger.claims]
    return "\n".join([_headline(ledger), "", *rows, "", *measured]) + "\n"


def number_text(number: Finding) -> str:
    """A number with its interval, its p-value and the paper's own."""
    text = (
        f"{number.what}: {number.value:+.2f} [{number.low:+.2f}, {number.high:+.2f}], "
        f"p = {number.p_value:.2g}"
    )
    return text if number.paper is None else f"{text} (paper: {number.paper:+.2f})"


def _headline(ledger: Ledger) -> str:
    counts = Counter(one.verdict for one in ledger.claims)
    order: Sequence[Outcome] = ("holds", "does not hold", "not enough data")
    shares = ", ".join(f"{outcome} {counts[outcome]}" for outcome in order)
    seeds = f"{ledger.seeds} seed{'s' if ledger.seeds != 1 else ''}"
    return f"Claims of the paper in study {ledger.study} ({seeds}): {shares}"
