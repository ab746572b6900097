"""SimulEval itself drives our agent, and finds what `simt score` finds in our own log."""

import csv
import json
import os
import shutil
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

import pytest

from simt.atomic import write_json
from simt.cli import main
from simt.corpus.text import Tokeniser
from simt.exported import choose_folder
from simt.markers import FileMark
from simt.methods import METHODS
from simt.runs import Run
from simt.session import Session
from simt.system_folder import MANIFEST_FILE, SYSTEM_FILE
from tests.samples.trained import RUNS, write_project, write_run

SIMULEVAL = Path(__file__).parents[2] / ".simuleval"
SENTENCES = 8
OTHERS = tuple(
    Run("tiny-deen", method, variant, 1)
    for method, variant in (("multipath", "uni"), ("hmt", "l2-k4"), ("sm2", "uni"))
)
KNOBS = {"waitk/k3": "1", "multipath/uni": "2", "itst/uni": "0.5", "hmt/l2-k4": "0.5",
         "sm2/bi": "0.5", "sm2/uni": "0.5", "offline/bi": "full"}  # fmt: skip
CHINESE_KNOB = "0.5"

# SimulEval's own command, once for each system: to start Python takes longer than all of them.
DRIVER = """
import sys
import torch
from simuleval.cli import main
from simuleval.utils.agent import EVALUATION_SYSTEM_LIST
for system in sys.argv[1:]:
    EVALUATION_SYSTEM_LIST.clear()
    name, knob = system.split("=")
    sys.argv = ["simuleval", "--agent-class", "simt.agent.SimtAgent", "--model", f"out/{name}",
                "--knob", knob, "--source", "in.de", "--target", "in.en", "--no-progress-bar",
                "--output", f"log/{name}", "--latency-metrics", "AL", "LAAL"]
    if name == "chinese":
        sys.argv += ["--eval-latency-unit", "char", "--sacrebleu-tokenizer", "zh"]
    main()
with open("threads", "w") as file:
    print(torch.get_num_threads(), file=file)
"""

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(
        not SIMULEVAL.is_dir(),
        reason="SimulEval is not installed; `make .simuleval/.installed` does it",
    ),
]


def as_chinese(exported: Path, to: Path) -> None:
    """The same system, as if its words were to be written without blanks."""
    shutil.copytree(exported, to)
    system = json.loads((to / SYSTEM_FILE).read_text(encoding="utf-8"))
    system["text"]["target_tokeniser"] = "jieba"
    write_json(to / SYSTEM_FILE, system)
    manifest = json.loads((to / MANIFEST_FILE).read_text(encoding="utf-8"))
    manifest["files"][SYSTEM_FILE] = FileMark.of_file(to / SYSTEM_FILE).model_dump(mode="json")
    write_json(to / MANIFEST_FILE, manifest)


@pytest.fixture(scope="module")
def project(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Exported systems, sentences, and the folders that SimulEval wrote."""
    folder = tmp_path_factory.mktemp("project")
    params = write_project(folder)
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(folder)
        for run in OTHERS:
            write_run(params, run, folder)
        for run in (*RUNS, *OTHERS):
            name = f"{run.method}/{run.variant}"
            assert main(["export", name, "--to", f"out/{name}", "--study", "tiny"]) == 0
    text = folder / "results" / "corpora" / "tiny-deen" / "text"
    for side, language in (("source", "de"), ("target", "en")):
        tokeniser = Tokeniser("moses", language, True, "keep")
        lines = (text / f"test.{side}").read_text(encoding="utf-8").splitlines()[:SENTENCES]
        whole = "".join(f"{tokeniser.detokenise(line.split())}\n" for line in lines)
        (folder / f"in.{language}").write_text(whole, encoding="utf-8")
    as_chinese(folder / "out" / "sm2" / "uni", folder / "out" / "chinese")
    systems = [f"{name}={knob}" for name, knob in {**KNOBS, "chinese": CHINESE_KNOB}.items()]
    environment = {**os.environ, "PYTHONPATH": str(SIMULEVAL), "OMP_NUM_THREADS": "2"}
    done = subprocess.run(
        [sys.executable, "-c", DRIVER, *systems],
        cwd=folder, env=environment, capture_output=True, text=True,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr[-4000:]
    return folder


def log_of_session(project: Path, name: str) -> Sequence[str]:
    """What SimulEval would have to write, from a session that it knows nothing of."""
    chosen = choose_folder(str(project / "out" / name), KNOBS[name])
    assert chosen is not None
    translator = chosen.system.open()
    sides = [
        (project / name).read_text(encoding="utf-8").splitlines() for name in ("in.de", "in.en")
    ]
    lines = []
    for index, (source, reference) in enumerate(zip(*sides, strict=True)):
        session = Session(translator, chosen.knob)
        for word in source.split():
            session.push(word)
        session.finish()
        words = session.target.words
        instance = {
            "index": index, "source": source, "reference": reference, "prediction": session.text,
            "delays": [word.released_after for word in words], "elapsed": [0] * len(words),
            "prediction_length": len(words), "source_length": len(source.split()),
        }  # fmt: skip
        lines.append(json.dumps(instance))
    return lines


def test_every_method_has_an_agent() -> None:
    assert {name.split("/")[0] for name in KNOBS} == set(METHODS)


def test_an_agent_computes_with_one_thread_as_simt_translate_does(project: Path) -> None:
    assert (project / "threads").read_text(encoding="utf-8") == "1\n"


@pytest.mark.parametrize("name", KNOBS)
def test_simuleval_finds_what_we_find(name: str, project: Path, tmp_path: Path) -> None:
    ours = tmp_path / "ours.jsonl"
    ours.write_text("\n".join(log_of_session(project, name)) + "\n", encoding="utf-8")
    scores = tmp_path / "scores.json"
    assert main(["score", str(ours), "--json", str(scores)]) == 0
    (point,) = json.loads(scores.read_text(encoding="utf-8"))["points"]
    with (project / "log" / name / "scores.tsv").open(encoding="utf-8") as stream:
        (theirs,) = csv.DictReader(stream, delimiter="\t")
    columns = {"bleu": "BLEU", "al_word": "AL", "laal_word": "LAAL"}
    found = {name: float(theirs[column]) for name, column in columns.items()}
    expected = {name: point["scores"][name]["value"] for name in columns}
    assert found == pytest.approx(expected, abs=6e-4)  # printed with three digits


@pytest.mark.parametrize("name", KNOBS)
def test_simuleval_logs_the_words_and_delays_of_a_session(name: str, project: Path) -> None:
    log = (project / "log" / name / "instances.log").read_text(encoding="utf-8").splitlines()
    for line, expected in zip(log, log_of_session(project, name), strict=True):
        theirs, ours = json.loads(line), json.loads(expected)
        assert (theirs["prediction"], theirs["delays"]) == (ours["prediction"], ours["delays"])


# --- text without blanks --------------------------------------------------------------------------


def test_simuleval_counts_characters_of_words_that_were_given_out_at_once(project: Path) -> None:
    chosen = choose_folder(str(project / "out" / "chinese"), CHINESE_KNOB)
    assert chosen is not None
    translator = chosen.system.open()
    log = (project / "log" / "chinese" / "instances.log").read_text(encoding="utf-8").splitlines()
    for theirs in map(json.loads, log):
        session = Session(translator, chosen.knob)
        said = [word for each in theirs["source"].split() for word in session.push(each)]
        said += session.finish()
        assert theirs["prediction"] == session.text.replace(" ", "")
        assert theirs["delays"] == [word.released_after for word in said for _ in word.text]
        assert all(word.released_after >= word.delay.words for word in said)
    assert len(log) == SENTENCES


def test_simuleval_scores_characters_as_we_do(project: Path, tmp_path: Path) -> None:
    log, scores = project / "log" / "chinese", tmp_path / "scores.json"
    options = ["--unit", "char", "--tokeniser", "zh", "--json", str(scores)]
    assert main(["score", str(log / "instances.log"), *options]) == 0
    (point,) = json.loads(scores.read_text(encoding="utf-8"))["points"]
    with (log / "scores.tsv").open(encoding="utf-8") as stream:
        (theirs,) = csv.DictReader(stream, delimiter="\t")
    columns = {"bleu": "BLEU", "al_char": "AL", "laal_char": "LAAL"}
    found = {name: float(theirs[column]) for name, column in columns.items()}
    expected = {name: point["scores"][name]["value"] for name in columns}
    assert found == pytest.approx(expected, abs=6e-4)  # printed with three digits
