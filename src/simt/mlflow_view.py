"""The page of MLflow that compares the systems of a study, as MLflow keeps a saved view.

MLflow's own pages begin with ten runs, a chart for each metric by the name of the metric, and the
step as the x axis. A saved view says what to show instead: it is a tag of the experiment, and an
address with its name opens it.
"""

import json
from collections.abc import Iterator, Sequence
from typing import Any
from urllib.parse import urlencode

from simt.curve import LATENCIES

MAIN = "main"  # the tag `view` of a run that the views show
_TAG = "mlflow.sharedViewState."
_MODE = {"workflowType": "machine_learning", "compareRunsMode": "CHART"}
# MLflow makes a chart for each metric. Those are below ours, closed.
_FOLDED = ("test", "aligned", "valid", "train", "speed", "model", "Model metrics", "System metrics")


def view_tags(title: str, pairs: Sequence[str], created_ms: int) -> dict[str, str]:
    """The views of an experiment as tags: one for each pair of the study."""
    return {
        _TAG + name: json.dumps(
            {
                "name": title if pair is None else f"{title}, {pair}",
                "createdAt": created_ms,
                "state": json.dumps(_state(pair), ensure_ascii=False),
            },
            ensure_ascii=False,
        )
        for name, pair in _names(pairs)
    }  # fmt: skip


def view_addresses(server: str, experiment: str, pairs: Sequence[str]) -> list[str]:
    """Where these views open."""
    return [
        f"{server.rstrip('/')}/#/experiments/{experiment}/runs?"
        + urlencode({**_MODE, "viewStateShareKey": name})
        for name, _ in _names(pairs)
    ]


def _names(pairs: Sequence[str]) -> list[tuple[str, str | None]]:
    """The name of each view and the pair that it is of; a single pair need not be said."""
    return [(MAIN, None)] if len(pairs) == 1 else [(pair, pair) for pair in pairs]


def _state(pair: str | None) -> dict[str, Any]:
    of_pair = f' and tags.pair = "{pair}"' if pair else ""
    return {
        "searchFilter": f'tags.view = "{MAIN}"{of_pair}',
        "orderByKey": "metrics.`bleu_at_al_3`",
        "orderByAsc": False,
        "selectedColumns": [f"metrics.`{name}`" for name in _compared()],
        "runsHiddenMode": "SHOW_ALL",
        "compareRunCharts": list(_charts()),
        "compareRunSections": list(_sections()),
        "isAccordionReordered": True,
    }


def _compared() -> list[str]:
    return [*(f"bleu_at_al_{at}" for at in LATENCIES), "bleu_full_source"]


def _charts() -> Iterator[dict[str, Any]]:
    yield _line("test/bleu", "curve", xAxisKey="metric", selectedXAxisMetricKey="test/AL")
    for name in _compared():
        yield _chart("BAR", name, "bars", metricKey=name)
    yield _chart("PARALLEL", "lines", "lines", selectedParams=[], selectedMetrics=_compared()[:-1])
    yield _line("train/loss", "training", xAxisKey="step")
    yield _line("valid/loss", "training", xAxisKey="step")


def _line(metric: str, section: str, **axis: str) -> dict[str, Any]:
    return _chart(
        "LINE", metric, section, metricKey=metric, selectedMetricKeys=[metric], lineSmoothness=0,
        scaleType="linear", xAxisScaleType="linear", useGlobalXaxisKey=False, **axis,
    )  # fmt: skip


def _chart(kind: str, name: str, section: str, **more: Any) -> dict[str, Any]:
    return {
        "type": kind, "uuid": name, "metricSectionId": section, "runsCountToCompare": 100,
        "deleted": False, "isGenerated": False, **more,
    }  # fmt: skip


def _sections() -> Iterator[dict[str, Any]]:
    ours: dict[str, dict[str, Any]] = {
        "curve": {"name": "BLEU against AL", "columns": 1, "cardHeight": 460},
        "bars": {"name": "BLEU at the same AL", "columns": 2, "cardHeight": 300},
        "lines": {"name": "From one AL to the next", "columns": 1},
        "training": {"name": "Losses of the trainings", "columns": 2},
    }
    for uuid, look in {**ours, **{name: {"name": name} for name in _FOLDED}}.items():
        yield {
            "uuid": uuid, "display": uuid in ours, "isReordered": True, "deleted": False,
            "isGenerated": False, **look,
        }  # fmt: skip
