"""The trainings behind a report: settings, record and losses of each."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from simt.markers import settings_made_with
from simt.paper.report.files import Files
from simt.params import Study
from simt.products import HISTORY_FILE, RUN_FILE, SETTINGS_FILE
from simt.runs import Run, study_runs


@dataclass(frozen=True)
class FinishedRun:
    """A finished training."""

    run: Run
    record: dict[str, Any]  # run.json
    settings: dict[str, Any]
    history: list[dict[str, Any]]

    @property
    def was_resumed(self) -> bool:
        """Whether it was stopped and went on; not known of trainings of earlier versions."""
        return bool(self.record.get("resumed_after_updates"))

    @property
    def name(self) -> str:
        """Method and variant, and the seed where it is not the first."""
        seed = "" if self.run.seed == 1 else f" seed {self.run.seed}"
        return f"{self.run.method} {self.run.variant}{seed}"


def read_runs(files: Files, study: Study) -> list[FinishedRun]:
    """Every training of a study, in the order of params.yaml."""
    return [
        FinishedRun(
            run=run,
            record=files.json(run.folder / RUN_FILE),
            settings=settings_made_with(run.folder / SETTINGS_FILE),
            history=files.json_lines(run.folder / HISTORY_FILE),
        )
        for run in study_runs(study)
    ]


def provenance(runs: Sequence[FinishedRun]) -> dict[str, list[str]]:
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
