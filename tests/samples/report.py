"""What a report needs besides scores and drawings, with numbers that can be known by hand.

Two aligned sentences. The first, in tokens:

    Er hat das Brot ge@@ kauft <eos>    He bought the bread <eos>

"bought" translates "hat" and "gekauft": who writes it before six tokens are read has guessed.
"""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from simt.instances import WordsOf, write_instances
from simt.params import Knob, Params
from simt.runs import (
    Point,
    Run,
    corpus_folder,
    decoded_points,
    paper_folder,
    run_settings,
    study_runs,
    viewed_points,
)
from tests.samples.instances import instance_from
from tests.samples.markers import mark

SOURCE = ["Er", "hat", "das", "Brot", "ge@@", "kauft", "<eos>"]
TARGET = ["He", "bought", "the", "bread", "<eos>"]
# Text that would do harm if a page took it for more than text.
HARMFUL = "</script><script>throw(1)</script>"
SOURCES = ("Er hat das Brot gekauft", f"{HARMFUL} <b>&amp;")
TARGETS = ("He bought the bread", f"{HARMFUL} <b>&amp;")
LINKS = ("0-0 1-1 4-1 2-2 3-3", "0-0 1-1")
# In thousandths; a row is a target token, a column a number of source tokens read.
GRID = [
    [600, 600, 600, 600, 600, 600, 600],
    [100, 150, 200, 300, 400, 900, 900],
    [700, 700, 700, 700, 700, 700, 700],
    [700, 700, 700, 700, 700, 700, 700],
    [100, 100, 100, 100, 100, 100, 900],
]
# What follows from the grid, by hand: X = 7, Y = 5, so that a token is worth 7/5 tokens of source.
DELAYS = {0.2: [1, 3, 3, 3, 7], 0.5: [1, 6, 6, 6, 7], 0.99: [7, 7, 7, 7, 7]}
LAGGING = {0.2: 0.6, 0.5: 2.4, 0.99: 7.0}
IN_TIME = {0.2: "2 of 4 words", 0.5: "4 of 4 words", 0.99: "4 of 4 words"}
# wait-3 writes with 3 4 5 6 7 tokens read: (3 + 2.6 + 2.2 + 1.8 + 1.4) / 5.
WAIT_3_LAGGING = 2.2

CLAIM = {
    "claim": "bi-above-baselines", "sentence": "SM²-Bi is above all others.", "where": "Figure 3",
    "how": "BLEU at equal lagging", "verdict": "holds",
    "wording": "holds in this training", "reason": "1 of 1 intervals within the expected range",
    "results": [
        {"what": "SM²-Bi - wait-k at AL 3", "value": 1.234, "low": 0.7, "high": 1.7,
         "expected": "above 0", "supports": "yes", "why": "all of the interval is in this range",
         "to_decide": "", "paper": None},
    ],
}  # fmt: skip


CLAIMS = (
    CLAIM,
    {**CLAIM, "claim": "one-against", "sentence": "HMT is below.", "verdict": "does not hold",
     "wording": "does not hold in this training"},
    {**CLAIM, "claim": "another-against", "sentence": "ITST is below.", "verdict": "does not hold",
     "wording": "does not hold in this training"},
    {**CLAIM, "claim": "open", "sentence": "COMET agrees.", "verdict": "not enough data",
     "wording": "not enough data", "results": [{
        "what": "COMET of SM²-Bi - HMT", "value": 0.4, "low": -0.2, "high": 1.0,
        "expected": "above 0", "supports": "undecided", "why": "the interval contains 0",
        "to_decide": "about 790 sentences", "paper": None}]},
    {**CLAIM, "claim": "not-run", "sentence": "It holds for Vietnamese.", "verdict": "not tested",
     "wording": "not tested", "results": []},
)  # fmt: skip


def write_report_sources(params: Params) -> None:
    """Records of runs, the aligned split, its instances and states, and claims."""
    study, chosen = params.study, params.chosen_study
    for run in study_runs(chosen):
        _write_run(params, run)
    for pair in chosen.runs:
        text = corpus_folder(pair, "prepare")
        for name, lines in (("source", SOURCES), ("target", TARGETS), ("talp", LINKS)):
            _write(text / f"aligned.{name}", "\n".join(lines) + "\n")
    for point in decoded_points(params, chosen, params.paper.policy_viewer):
        _write_instances(params, point)
    for point in viewed_points(params, chosen):
        grids = (GRID, [[500] * 3] * 3)
        lines = [json.dumps({"index": n, "confidence": one}) for n, one in enumerate(grids)]
        _write(point.folder / "states.jsonl", "\n".join(lines) + "\n")
    claims = {
        "study": study, "fidelity": "default", "seeds": 1, "intervals": "[ , ] is the interval …",
        "claims": CLAIMS, "scales": [],
    }  # fmt: skip
    _write(paper_folder(study) / "claims.json", json.dumps(claims))
    _write(paper_folder(study) / "claims.md", "The same for readers.")


def _write_run(params: Params, run: Run) -> None:
    folder = run.folder
    record: Mapping[str, Any] = {
        "commit": "0123456789abcdef0123456789abcdef01234567", "revision": 1,
        "versions": {"simt": "0.1.0", "torch": "2.13.0"}, "python": "3.11.9", "device": "cpu",
        "devices": 1, "parameters": 4321, "trained_parameters": 4321, "updates": 8,
        "target_tokens": 1000, "training_seconds": 1.5, "validation": {"loss": 3.25},
        "resumed_after_updates": [4] if run.method == "itst" else [],
    }  # fmt: skip
    _write(folder / "run.json", json.dumps(record))
    mark(folder, run_settings(params, run))
    rows = [{"update": update, "loss": 8.0 / update} for update in range(1, 9)]
    _write(
        folder / "history.jsonl",
        "".join(json.dumps(row) + "\n" for row in [*rows, {"update": 8, "valid_loss": 1.25}]),
    )


def _write_instances(params: Params, point: Point) -> None:
    run, folder = point.run, point.folder
    folder.mkdir(parents=True, exist_ok=True)
    knobs = params.knobs(run.pair, run.method, run.variant)
    write_instances(
        folder / "instances.jsonl",
        (instance for knob in knobs for instance in _instances(run.method, knob)),
    )


def _instances(method: str, knob: Knob) -> list[Any]:
    """Both sentences by waiting for so many tokens as the knob says, or for one."""
    first = int(knob) if method in ("waitk", "multipath") else 1
    texts = ((SOURCE, TARGET), ([*SOURCES[1].split(), "<eos>"], [*TARGETS[1].split(), "<eos>"]))
    instances = []
    for index, (source, target) in enumerate(texts):
        delays = [min(first + place, len(source)) for place in range(len(target))]
        only_counts = method in ("waitk", "multipath")
        values = [1.0 if only_counts else 0.25 + place / 10 for place in range(len(target))]
        instances.append(
            instance_from(
                index=index,
                knob=knob,
                source=SOURCES[index],
                source_tokens=source,
                references=[TARGETS[index]],
                prediction=TARGETS[index],
                tokens=target,
                token_delays=delays,
                write_confidence=values,
                read_confidence=[None] * delays[-1],
                words=WordsOf(source="tokens", target="tokens"),
                is_forced=True,
            )
        )
    return instances


def _write(path: Path, text: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8")
