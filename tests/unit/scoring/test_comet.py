"""COMET in its own process: where models are found, what they say, and what they may not do."""

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from simt.errors import SimtError
from simt.instances import Instance
from simt.scoring import comet
from simt.scoring.comet import (
    CHECKPOINT,
    ENCODER,
    HPARAMS,
    NAME_FILE,
    CometScores,
    CometUnavailable,
    Segment,
    comet_scores,
    find_model,
    model_name,
    score_segments,
)

Make = Callable[..., Instance]

KIWI = "Unbabel/wmt22-cometkiwi-da"
SEGMENTS = [
    Segment("Das Haus ist alt .", "The house is old .", "The house is old ."),
    Segment("Das Haus ist alt .", "dog dog dog", "The house is old ."),
    Segment("Anna liest .", "", "Anna reads ."),
]


def make_folder(folder: Path, hparams: str = "class_identifier: unified_metric\n") -> Path:
    (folder / CHECKPOINT).parent.mkdir(parents=True)
    (folder / CHECKPOINT).write_bytes(b"")
    (folder / HPARAMS).write_text(hparams)
    return folder


# --- where models are ----------------------------------------------------------------------------


@pytest.mark.parametrize("below", [KIWI, "wmt22-cometkiwi-da"])
def test_a_model_is_found_below_the_models_folder(tmp_path: Path, below: str) -> None:
    folder = make_folder(tmp_path / below)
    assert find_model(KIWI, tmp_path) == folder
    assert model_name(KIWI, folder) == KIWI


def test_a_model_is_found_by_its_path(tmp_path: Path) -> None:
    folder = make_folder(tmp_path / "mine")
    assert find_model(str(folder)) == folder
    assert model_name(str(folder), folder) == "local/mine"


def test_a_folder_can_say_its_own_name(tmp_path: Path) -> None:
    folder = make_folder(tmp_path / "mine")
    (folder / NAME_FILE).write_text('{"name": "simt/toy-estimator"}')
    assert model_name(str(folder), folder) == "simt/toy-estimator"


def test_a_folder_without_weights_is_no_model(tmp_path: Path) -> None:
    folder = make_folder(tmp_path / KIWI)
    (folder / CHECKPOINT).unlink()
    assert isinstance(find_model(KIWI, tmp_path), CometUnavailable)


def test_a_model_is_found_in_the_hub_cache(tmp_path: Path) -> None:
    repository = tmp_path / "models--someone--some-comet"
    make_folder(repository / "snapshots" / "abc")
    (repository / "refs").mkdir()
    (repository / "refs" / "main").write_text("abc")
    program = "from simt.scoring.comet import find_model; print(find_model('someone/some-comet'))"
    done = subprocess.run(
        [sys.executable, "-c", program],
        env={**os.environ, "HF_HUB_CACHE": str(tmp_path)},
        capture_output=True,
        text=True,
        check=True,
    )
    assert Path(done.stdout.strip()) == repository / "snapshots" / "abc"


def test_one_message_says_what_is_missing_how_to_get_it_and_where_to_put_it(
    tmp_path: Path,
) -> None:
    result = score_segments(SEGMENTS, KIWI, tmp_path)
    assert isinstance(result, CometUnavailable)
    for part in (
        KIWI,
        "gated",
        "licence",
        f"https://huggingface.co/{KIWI}",
        f"huggingface-cli download {KIWI}",
        "microsoft/infoxlm-large",
        str(tmp_path / KIWI),
        "everything else is scored",
    ):
        assert part in result.reason


def test_a_free_model_is_not_called_gated(tmp_path: Path) -> None:
    result = find_model("Unbabel/wmt22-comet-da-that-nobody-has", tmp_path)
    assert isinstance(result, CometUnavailable)
    assert "gated" not in result.reason


@pytest.mark.parametrize("model", ["", "a/b/c", "../..", "no such model", "/nowhere"])
def test_any_name_that_is_no_model_is_unavailable(tmp_path: Path, model: str) -> None:
    assert isinstance(find_model(model, tmp_path), CometUnavailable)


def test_nothing_is_scored_without_a_process(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(comet, "_ask_child", lambda request: pytest.fail("asked"))
    folder = make_folder(tmp_path / "mine")
    assert score_segments([], str(folder)) == CometScores("local/mine", (), False)


def test_a_segment_that_knob_values_share_is_scored_once(
    make_words: Make, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def answer(request: dict[str, Any]) -> dict[str, Any]:
        assert len(request["segments"]) == 2
        return {"scores": [0.25, 0.75], "uses_references": True}

    monkeypatch.setattr(comet, "_ask_child", answer)
    folder = make_folder(tmp_path / "mine")
    one, other = (make_words([1], 2, 1, source=text) for text in ("a", "b"))
    scores = comet_scores({0.1: [one, one], 0.2: [one, other]}, str(folder))
    assert isinstance(scores, dict)
    assert {knob: score.value for knob, score in scores.items()} == {0.1: 25.0, 0.2: 50.0}
    assert scores[0.1].name == "comet:local/mine"
    signature = "comet|model:local/mine|ref:first|text:detokenised|scale:100|lib:unbabel-comet-"
    assert scores[0.1].signature.startswith(signature)


def test_a_child_that_dies_is_a_failure_and_no_result(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys, "executable", shutil.which("false"))
    with pytest.raises(SimtError, match=r"mine failed: its process ended with code 1 .* memory"):
        score_segments(SEGMENTS, str(make_folder(tmp_path / "mine")))


# --- with the real library -----------------------------------------------------------------------

real = [pytest.mark.slow, pytest.mark.filterwarnings("ignore")]


def ask(folder: Path, scratch: Path) -> dict[str, Any]:
    """The answer of the child's program without its process: comet is imported only once."""
    request = {"folder": str(folder), "segments": SEGMENTS, "threads": 1, "batch_size": 2}
    (scratch / "request").write_text(json.dumps(request))
    comet.main(scratch / "request", scratch / "answer")
    answer: dict[str, Any] = json.loads((scratch / "answer").read_text())
    return answer


class TestReal:
    pytestmark = real

    def test_a_model_scores_in_a_child(self, toy_estimator: Path, tmp_path: Path) -> None:
        result = score_segments(SEGMENTS, str(toy_estimator), threads=1)
        assert isinstance(result, CometScores)
        assert result.model == "simt/toy-estimator"
        assert result.uses_references is False
        assert result.values[0] > result.values[1] + 0.2
        assert ask(toy_estimator, tmp_path)["scores"] == pytest.approx(result.values, abs=1e-6)

    def test_our_loader_gives_the_scores_of_comets_own(
        self, toy_estimator: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        ours = ask(toy_estimator, tmp_path)["scores"]
        monkeypatch.chdir(toy_estimator)  # comet takes the path of the encoder as it is
        from comet import load_from_checkpoint

        model = load_from_checkpoint(str(CHECKPOINT), local_files_only=True, strict=True)
        samples = [{"src": one.source, "mt": one.hypothesis} for one in SEGMENTS]
        theirs = model.predict(samples, gpus=0, num_workers=0, progress_bar=False).scores
        assert ours == pytest.approx(theirs, abs=1e-5)

    def test_a_model_may_be_moved(self, toy_estimator: Path, tmp_path: Path) -> None:
        shutil.copytree(toy_estimator, tmp_path / "moved")
        moved, here = (ask(one, tmp_path) for one in (tmp_path / "moved", toy_estimator))
        assert moved["scores"] == pytest.approx(here["scores"], abs=1e-6)

    def test_a_model_that_needs_references_gets_them(
        self, toy_estimator: Path, tmp_path: Path
    ) -> None:
        import torch
        import yaml
        from comet.models import RegressionMetric

        folder = tmp_path / "with-references"
        shutil.copytree(toy_estimator / ENCODER, folder / ENCODER)
        torch.manual_seed(1)
        model = RegressionMetric(
            pretrained_model=str(folder / ENCODER), hidden_sizes=[8], layer="mix", pool="avg",
            layer_norm=False, load_pretrained_weights=False, local_files_only=True,
        )  # fmt: skip
        hparams = {**model.hparams, "class_identifier": "regression_metric"}
        (folder / HPARAMS).write_text(yaml.safe_dump(hparams))
        (folder / CHECKPOINT).parent.mkdir()
        torch.save({"state_dict": model.state_dict()}, folder / CHECKPOINT)
        answer = ask(folder, tmp_path)
        assert answer["uses_references"] is True
        assert len(answer["scores"]) == len(SEGMENTS)

    def test_code_in_a_checkpoint_is_never_run(self, toy_estimator: Path, tmp_path: Path) -> None:
        shutil.copytree(toy_estimator, tmp_path / "evil")
        trace = tmp_path / "trace"

        class Evil:
            def __reduce__(self) -> tuple[Any, ...]:
                return (os.mkdir, (str(trace),))

        import torch

        torch.save({"state_dict": {}, "hyper_parameters": Evil()}, tmp_path / "evil" / CHECKPOINT)
        assert "Weights only load failed" in ask(tmp_path / "evil", tmp_path)["unavailable"]
        assert not trace.exists()

    def test_a_model_that_fails_at_its_work_is_not_called_unavailable(
        self, toy_estimator: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        from comet.models import CometModel

        def full(*_: Any, **__: Any) -> None:
            raise RuntimeError("out of memory")

        monkeypatch.setattr(CometModel, "predict", full)
        with pytest.raises(RuntimeError, match="out of memory"):
            ask(toy_estimator, tmp_path)

    def test_a_model_without_its_encoder_is_unavailable(
        self, toy_estimator: Path, tmp_path: Path
    ) -> None:
        shutil.copytree(toy_estimator, tmp_path / "bare")
        shutil.rmtree(tmp_path / "bare" / ENCODER)
        reason = ask(tmp_path / "bare", tmp_path)["unavailable"]
        assert f"encoder {ENCODER} are neither in" in reason

    def test_a_checkpoint_without_all_weights_is_unavailable(
        self, toy_estimator: Path, tmp_path: Path
    ) -> None:
        import torch

        shutil.copytree(toy_estimator, tmp_path / "half")
        path = tmp_path / "half" / CHECKPOINT
        checkpoint = torch.load(path, weights_only=True)
        checkpoint["state_dict"].popitem()
        torch.save(checkpoint, path)
        assert "has no weights for" in ask(tmp_path / "half", tmp_path)["unavailable"]

    def test_the_estimator_says_what_it_is(self, toy_estimator: Path) -> None:
        about = json.loads((toy_estimator / NAME_FILE).read_text())
        assert about["name"] == "simt/toy-estimator"
        assert "not COMET-Kiwi" in about["about"]
