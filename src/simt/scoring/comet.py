"""COMET by unbabel-comet, in a process of its own.

Importing it takes 5-7 seconds and changes global state (warning filters, loggers, Lightning), so
`python -m simt.scoring.comet` does it in a child and answers with a file. Nothing is fetched: a
model lies in a folder or in the Hugging Face cache, or it is unavailable, which is a result with
one message, not an error: everything else is scored. A model that fails at its work, for want of
memory for example, is an error: the job can be tried again.

A checkpoint is a pickle, and a pickle can run code. Ours are read with ``weights_only``, which
refuses anything but tensors and plain containers, and without ``comet.load_from_checkpoint``, which
leaves that choice to Lightning and the environment.

A model folder has ``hparams.yaml`` and ``checkpoints/model.ckpt``, as on the hub. It may also have
``encoder/`` with the configuration and tokeniser of its encoder, which are otherwise looked for in
the cache, and ``simt.json`` with its ``name``.
"""

import json
import os
import subprocess
import sys
import tempfile
from argparse import Namespace
from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple, TypeVar

from simt.errors import SimtError
from simt.instances import Instance
from simt.scoring.scores import Score, make_signature

CHECKPOINT = Path("checkpoints", "model.ckpt")
HPARAMS = "hparams.yaml"
ENCODER = "encoder"
NAME_FILE = "simt.json"
BATCH_SIZE = 16

Key = TypeVar("Key", bound=Hashable)


class Segment(NamedTuple):
    """What COMET is shown of a sentence."""

    source: str
    hypothesis: str
    reference: str


@dataclass(frozen=True)
class CometUnavailable:
    """Why there is no COMET score, and what to do about it."""

    model: str
    reason: str


@dataclass(frozen=True)
class CometScores:
    """The score of every segment, as the model gives it (mostly from 0 to 1)."""

    model: str
    values: tuple[float, ...]
    uses_references: bool


# --- scoring --------------------------------------------------------------------------------------


def segments_of(instances: Sequence[Instance]) -> list[Segment]:
    """Source, detokenised hypothesis and first reference of every sentence."""
    return [Segment(one.source, one.prediction, one.reference) for one in instances]


def comet_scores(
    groups: Mapping[Key, Sequence[Instance]],
    model: str,
    models: Path | None = None,
    threads: int | None = None,
    batch_size: int = BATCH_SIZE,
) -> dict[Key, Score] | CometUnavailable:
    """The mean score of every group, times 100 as the paper prints it.

    One child for all groups; a segment that several knob values share is scored once.
    """
    segments = {key: segments_of(instances) for key, instances in groups.items()}
    distinct = list(dict.fromkeys(one for group in segments.values() for one in group))
    result = score_segments(distinct, model, models, threads, batch_size)
    if isinstance(result, CometUnavailable):
        return result
    values = dict(zip(distinct, result.values, strict=True))
    return {
        key: _mean(result, [values[segment] for segment in group])
        for key, group in segments.items()
    }


def _mean(result: CometScores, values: Sequence[float]) -> Score:
    from importlib.metadata import version

    signature = make_signature(
        "comet",
        model=result.model,
        ref="first" if result.uses_references else "no",
        text="detokenised",
        scale="100",
        lib=f"unbabel-comet-{version('unbabel-comet')}",
    )
    return Score.of(column(result.model), signature, values, hundredfold_mean)


def hundredfold_mean(values: Sequence[float]) -> float:
    """The mean of scores from 0 to 1 as the paper prints it."""
    return 100 * sum(values) / len(values)


def column(model: str) -> str:
    """The name of a COMET score in a table: always with the full name of the model."""
    return f"comet:{model}"


def score_segments(
    segments: Sequence[Segment],
    model: str,
    models: Path | None = None,
    threads: int | None = None,
    batch_size: int = BATCH_SIZE,
) -> CometScores | CometUnavailable:
    """The scores of the segments by a model: its name on the hub, or the path of its folder.

    ``models`` is a folder of model folders that is looked into before the cache.
    """
    folder = find_model(model, models)
    if isinstance(folder, CometUnavailable):
        return folder
    name = model_name(model, folder)
    if not segments:
        return CometScores(name, (), uses_references=False)
    request = {
        "folder": str(folder.resolve()),
        "segments": segments,
        "threads": threads,
        "batch_size": batch_size,
    }
    answer = _ask_child(request)
    if "unavailable" in answer:
        return CometUnavailable(name, f"{name} gives no scores: {answer['unavailable']}")
    return CometScores(name, tuple(answer["scores"]), bool(answer["uses_references"]))


def _ask_child(request: Mapping[str, Any]) -> dict[str, Any]:
    """The answer of a fresh process."""
    offline = {
        "HF_HUB_OFFLINE": "1",
        "TRANSFORMERS_OFFLINE": "1",
        "TOKENIZERS_PARALLELISM": "false",
    }
    with tempfile.TemporaryDirectory(prefix="simt-comet-") as scratch:
        asked, answered = Path(scratch, "request.json"), Path(scratch, "answer.json")
        asked.write_text(json.dumps(request), encoding="utf-8")
        done = subprocess.run(
            [sys.executable, "-m", "simt.scoring.comet", str(asked), str(answered)],
            env={**os.environ, **offline},
            cwd=scratch,  # Lightning likes to leave folders behind
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            errors="replace",
        )
        if answered.exists():
            answer: dict[str, Any] = json.loads(answered.read_text(encoding="utf-8"))
            return answer
    last = done.stderr.strip().splitlines()[-1:] or ["no message"]
    raise SimtError(
        f"COMET with {request['folder']} failed: its process ended with code {done.returncode} "
        f"({last[0]}). If memory was short, give the job more, and score again"
    )


# --- where models are -----------------------------------------------------------------------------


def find_model(model: str, models: Path | None = None) -> Path | CometUnavailable:
    """The folder of a model: the path itself, below ``models``, or in the Hugging Face cache."""
    places = [Path(model)]
    if models is not None:
        places += [models / model, models / model.rsplit("/", 1)[-1]]
    for place in places:
        if (place / CHECKPOINT).is_file() and (place / HPARAMS).is_file():
            return place
    cached = _cached_model(model)
    return cached or CometUnavailable(model, _how_to_get(model, models))


def _cached_model(model: str) -> Path | None:
    from huggingface_hub import try_to_load_from_cache
    from huggingface_hub.errors import HFValidationError

    try:
        files = [try_to_load_from_cache(model, name) for name in (CHECKPOINT.as_posix(), HPARAMS)]
    except HFValidationError:  # a path can never be on the hub
        return None
    if not all(isinstance(file, str) for file in files):
        return None
    return Path(str(files[1])).parent


def model_name(model: str, folder: Path) -> str:
    """The name that the column gets: what the folder calls itself, or what was asked for.

    A path is no name: of a folder without ``simt.json``, the last part goes behind ``local/``.
    """
    file = folder / NAME_FILE
    if file.is_file():
        return str(json.loads(file.read_text(encoding="utf-8"))["name"])
    return f"local/{folder.resolve().name}" if Path(model) == folder else model


_GATED = ("cometkiwi", "xcomet")
_ENCODERS = {"Unbabel/wmt22-cometkiwi-da": "microsoft/infoxlm-large"}


def _how_to_get(model: str, models: Path | None) -> str:
    """One message: what is missing, how to get it, where to put it."""
    encoder = _ENCODERS.get(model, "the encoder named in its hparams.yaml")
    folder = (models or Path("FOLDER")) / model
    is_gated = any(name in model.lower() for name in _GATED)
    licence = (
        f"It is gated: log in and accept its licence (non-commercial) at "
        f"https://huggingface.co/{model}, then `huggingface-cli login`. "
        if is_gated
        else ""
    )
    return (
        f"COMET model {model} is not on this machine, so its column is left out and everything "
        f"else is scored. {licence}On a machine with a network, `huggingface-cli download {model}` "
        f"and the configuration and tokeniser of {encoder} fill the Hugging Face cache, "
        f"which is used from then on; or put {HPARAMS} and {CHECKPOINT.as_posix()} into {folder}, "
        f"the encoder's files into {folder / ENCODER}, and name the models' folder. "
        f"What was scored without it is scored again by `snakemake -R score`."
    )


# --- in the child ---------------------------------------------------------------------------------


def main(asked: Path, answered: Path) -> None:
    """Answer one request file; faults of the model's own files are an answer, too."""
    import torch

    request = json.loads(asked.read_text(encoding="utf-8"))
    if request["threads"] is not None:
        torch.set_num_threads(request["threads"])
    try:
        model = load_model(Path(request["folder"]))
    except (MemoryError, torch.OutOfMemoryError):
        raise
    except Exception as error:  # comet, Lightning and torch raise anything, bare Exception too
        answer: dict[str, Any] = {"unavailable": f"{type(error).__name__}: {error}"}
    else:
        answer = _answer(model, request)
    answered.write_text(json.dumps(answer), encoding="utf-8")


def _answer(model: Any, request: Mapping[str, Any]) -> dict[str, Any]:
    import torch

    uses_references = _uses_references(model)
    keys = ("src", "mt", "ref") if uses_references else ("src", "mt")
    samples = [dict(zip(keys, segment, strict=False)) for segment in request["segments"]]
    result = model.predict(
        samples,
        batch_size=request["batch_size"],
        gpus=int(torch.cuda.is_available()),
        num_workers=0,
        progress_bar=False,
    )
    return {"scores": result.scores, "uses_references": uses_references}


def _uses_references(model: Any) -> bool:
    """Whether the model can look at a reference; COMET-Kiwi cannot."""
    segments = model.hparams.get("input_segments")
    return "ref" in segments if segments is not None else bool(model.requires_references())


def load_model(folder: Path) -> Any:
    """The COMET model of a folder, with no code from its files."""
    import inspect

    import torch
    import yaml
    from comet.models import str2model
    from pytorch_lightning.utilities.parsing import AttributeDict

    described = yaml.safe_load((folder / HPARAMS).read_text(encoding="utf-8"))
    # Lightning keeps hyper-parameters in these two; both are mere containers.
    with torch.serialization.safe_globals([AttributeDict, Namespace]):
        checkpoint = torch.load(folder / CHECKPOINT, map_location="cpu", weights_only=True)
    hparams = _hparams(described, checkpoint.get("hyper_parameters"))
    if (folder / ENCODER).is_dir():
        hparams["pretrained_model"] = str(folder / ENCODER)
    hparams |= {"load_pretrained_weights": False, "local_files_only": True}
    model_class = str2model[described["class_identifier"]]
    known = inspect.signature(model_class.__init__).parameters
    try:
        model = model_class(**{key: value for key, value in hparams.items() if key in known})
    except Exception as error:  # what transformers raises for a missing file varies
        raise ValueError(
            f"it cannot be built, most likely because the configuration and tokeniser of its "
            f"encoder {hparams['pretrained_model']} are neither in {folder / ENCODER} nor in the "
            f"Hugging Face cache ({type(error).__name__}: {error})"
        ) from error
    missing = model.load_state_dict(checkpoint["state_dict"], strict=False).missing_keys
    if missing:
        raise ValueError(f"{folder / CHECKPOINT} has no weights for {missing[0]}")
    return model.eval()


def _hparams(described: Mapping[str, Any], saved: Any) -> dict[str, Any]:
    """What the model was trained with; ``hparams.yaml`` corrects one thing, as comet does.

    COMET 2.2.4 changed what "sparsemax" does; published models that mean the old behaviour say
    "sparsemax_patch" in their hparams.yaml only.
    """
    if isinstance(saved, Namespace):
        saved = vars(saved)
    hparams = dict(saved or described)
    if described.get("layer_transformation") == "sparsemax_patch":
        hparams["layer_transformation"] = "softmax"
    return hparams


if __name__ == "__main__":
    main(Path(sys.argv[1]), Path(sys.argv[2]))
