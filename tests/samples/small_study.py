"""A whole study in some seconds: three runs of a few sentences, made by the real commands."""

from collections.abc import Iterator
from contextlib import chdir
from pathlib import Path
from typing import Any

import yaml

from simt.cli import main
from simt.params import Params, load_params
from simt.runs import (
    Point,
    Run,
    bpe_settings,
    corpus_folder,
    fetch_settings,
    point_settings,
    prepare_settings,
    run_settings,
    scoring_settings,
)

ROOT = Path(__file__).parents[2]
PAIR = "tiny-deen"
RUNS = (
    Run(PAIR, "offline", "bi", 1),
    Run(PAIR, "waitk", "k3", 1),
    Run(PAIR, "multipath", "uni", 1),
    Run(PAIR, "sm2", "bi", 1),
)
CORPUS = corpus_folder(PAIR, "bpe").parent
Command = list[str]


def small_params() -> dict[str, Any]:
    """params.yaml with one pair and one study of these runs."""
    values: dict[str, Any] = yaml.safe_load((ROOT / "params.yaml").read_text(encoding="utf-8"))
    pair = values["pairs"][PAIR]
    pair["toy"]["sizes"] = {"train": 60, "valid": 3, "test": 3, "aligned": 3}
    pair["training"] |= {"updates": 2, "snapshot_every_updates": 1}
    pair["knobs"] = {"multipath": [1, 3], "sm2": ["full", 0.5]}
    values["decoding"]["max_target_tokens"] = 12
    runs: dict[str, list[str]] = {}
    for run in RUNS:
        runs.setdefault(run.method, []).append(run.variant)
    values |= {"study": "small", "pairs": {PAIR: pair}}
    values["fidelities"] = {"default": {}}
    for drawing in (*values["paper"]["figures"].values(), *values["paper"]["tables"].values()):
        drawing.pop("only", None)  # names other pairs
    values["studies"] = {
        "small": {
            "pairs": {"main": [PAIR], "analysis": PAIR, "appendix": []},
            "seeds": [1],
            "runs": {PAIR: runs},
        }
    }
    return values


def write_params(folder: Path) -> Path:
    """The file of the study."""
    path = folder / "params.yaml"
    text = yaml.safe_dump(small_params(), sort_keys=False, allow_unicode=True)
    path.write_text(text, encoding="utf-8")
    return path


def make_study(folder: Path) -> Params:
    """The study's params; ``folder`` then has its corpus, runs, instances and scores."""
    params = load_params(write_params(folder))
    with chdir(folder):
        for command in commands(params):
            assert main(command) == 0, command
    return params


def commands(params: Params) -> Iterator[Command]:
    """Every step of the study, in order."""
    yield corpus_command(params, "fetch")
    yield corpus_command(params, "prepare")
    yield corpus_command(params, "bpe")
    for run in RUNS:
        yield train_command(params, run)
        for split in ("test", "aligned"):
            point = Point(run, split)
            yield decode_command(params, point)
            yield score_command(params, point)
    yield decode_command(params, Point(RUNS[-1], "valid"), "confidences")


def corpus_command(params: Params, step: Any, to: Path | None = None) -> Command:
    """fetch, prepare or bpe."""
    before = {"prepare": "fetch", "bpe": "prepare"}
    origin = ["--from", str(corpus_folder(PAIR, before[step]))] if step in before else []  # type: ignore[arg-type]
    settings_of = {"fetch": fetch_settings, "prepare": prepare_settings, "bpe": bpe_settings}[step]
    settings = settings_of(params, PAIR).as_json()
    return [step, "--settings", settings, *origin, "--to", str(to or corpus_folder(PAIR, step))]


def train_command(params: Params, run: Run, to: Path | None = None) -> Command:
    """The training of a run."""
    folders = ["--corpus", str(corpus_folder(PAIR, "bpe")), "--to", str(to or run.folder)]
    return ["train", "--settings", run_settings(params, run).as_json(), *folders]


def decode_command(
    params: Params, point: Point, command: str = "decode", to: Path | None = None
) -> Command:
    """The decoding of a point, or the confidences of its states."""
    folders = ["--run", str(point.run.folder), "--corpus", str(CORPUS)]
    settings = point_settings(params, point).as_json()
    return [command, "--settings", settings, *folders, "--to", str(to or point.folder)]


def score_command(params: Params, point: Point) -> Command:
    """The scoring of a point, without COMET, which takes longest."""
    settings = scoring_settings(params, point).model_copy(update={"comet": ()}).as_json()
    folders = ["--corpus", str(CORPUS), "--to", str(point.folder)]
    return ["score-point", "--settings", settings, "--split", point.split, *folders]
