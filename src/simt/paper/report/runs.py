"""The trainings behind a report: settings, record and losses of each."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from simt.paper.report.files import Files
from simt.params import Study
from simt.runs import SETTINGS_FILE, Run, study_runs


@dataclass(frozen=True)
class RunRecord:
    """A finished training."""

    run: Run
    record: dict[str, Any]  # run.json
    settings: dict[str, Any]
    history: list[dict[str, Any]]

    @property
    def name(self) -> str:
        """Method and variant, and the seed where it is not the first."""
        seed = "" if self.run.seed == 1 else f" seed {self.run.seed}"
        return f"{self.run.method} {self.run.variant}{seed}"


def read_runs(files: Files, study: Study) -> list[RunRecord]:
    """Every training of a study, in the order of params.yaml."""
    return [
        RunRecord(
            run=run,
            record=files.json(run.folder / "run.json"),
            settings=files.json(run.folder / SETTINGS_FILE),
            history=files.json_lines(run.folder / "history.jsonl"),
        )
        for run in study_runs(study)
    ]


def what_made_them(runs: Sequence[RunRecord]) -> dict[str, list[str]]:
    """Commits, versions and devices, each with every value that some run has."""
    found: dict[str, dict[str, None]] = {}
    for one in runs:
        record = one.record
        facts = {
            "commit": record["commit"] or "not in git",
            "Python": record["python"],
            **record["versions"],
            "device": f"{record['devices']} × {record['device']}",
        }
        for name, value in facts.items():
            found.setdefault(name, {})[str(value)] = None
    return {name: list(values) for name, values in found.items()}
