"""Instances in the folders that SimulEval scores."""

import json
from pathlib import Path

from simt.atomic import atomic_file
from simt.instances.record import SIMULEVAL_FIELDS, Instance
from simt.params import Knob


def write_simuleval_logs(
    groups: dict[Knob | None, list[Instance]], folder: Path
) -> dict[Knob | None, Path]:
    """A folder for each knob value that `simuleval --score-only --output` reads."""
    logs: dict[Knob | None, Path] = {}
    for knob, instances in groups.items():
        name = "all" if knob is None else str(knob).removesuffix(".0")  # every digit: a folder each
        logs[knob] = folder / name / "instances.log"
        with atomic_file(logs[knob]) as stream:
            stream.writelines(f"{_as_simuleval(instance)}\n" for instance in instances)
        with atomic_file(logs[knob].with_name("config.yaml")) as stream:
            stream.write("source_type: text\ntarget_type: text\n")
    return logs


def _as_simuleval(instance: Instance) -> str:
    """The line that SimulEval itself would have written."""
    values = {name: getattr(instance, name) for name in SIMULEVAL_FIELDS}
    # It takes what stands between blanks for a word.
    values["prediction"] = instance.prediction_in_words
    values["reference"] = instance.reference_in_words
    values["prediction_length"] = len(instance.delays)
    return json.dumps(values, ensure_ascii=False, allow_nan=False)
