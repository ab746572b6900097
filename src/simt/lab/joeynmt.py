"""JoeyNMT in a process of its own, which trains when it is told to.

It cannot be installed beside us: it needs another protobuf than our tools. What runs over there
is ``bench/joeynmt_steps.py``; this is our end of its pipe.
"""

import json
import subprocess
from collections.abc import Iterable
from pathlib import Path
from types import TracebackType
from typing import IO, Any

import numpy as np
import numpy.typing as npt

from simt.corpus.batches import BatchPlan
from simt.corpus.bpe import open_vocabularies
from simt.corpus.ids import BOS, EOS, PAD, UNK, EncodedSplit
from simt.errors import SimtError
from simt.lab.trials import Trial
from simt.settings import RunSettings

SCRIPT = Path("bench/joeynmt_steps.py")  # of the project's folder, as params.yaml is
_LAST_WORDS = 5  # lines of what it said before it died


class JoeyNmt:
    """A candidate of the same size on the same text; a context manager.

    Its own batches are not sorted by length, and so have more padding. With ``batches`` it gets
    ours: then nothing but the updates is compared.
    """

    def __init__(
        self,
        python: Path,
        settings: RunSettings,
        corpus: Path,
        batches: Iterable[int] | None,
        threads: int,
        folder: Path,
    ) -> None:
        """``batches`` are those of the first epoch that it will be asked for; None: its own."""
        if not SCRIPT.exists():
            raise SimtError(f"{SCRIPT} does not exist: run from the project's folder")
        _write_job(settings, corpus, batches is None, threads, folder)
        self._tokens: dict[int, int] = {}
        if batches is None:
            _write_text(corpus, folder)
        else:
            self._tokens = _write_batches(settings, corpus, batches, folder)
        self._said = folder / "joeynmt.log"
        with self._said.open("w") as log:
            self._process = _start([python, SCRIPT, folder], log)
        described = self._read()
        self.name = f"JoeyNMT {described['version']}, {'its' if batches is None else 'our'} batches"
        self.parameters = int(described["parameters"])
        self._peak_mb = 0.0

    def run_trial(self, first: int, updates: int) -> Trial:
        """So many updates from batch ``first`` of the first epoch on, timed over there."""
        assert self._process.stdin is not None
        try:
            print(json.dumps({"first": first, "updates": updates}), file=self._process.stdin)
            self._process.stdin.flush()
        except BrokenPipeError:
            pass  # reading will find out why
        reply = self._read()
        if self._tokens:
            assert reply["tokens"] == sum(self._tokens[first + i] for i in range(updates))
        self._peak_mb = reply["peak_mb"]
        return Trial(reply["tokens"], reply["seconds"])

    def peak_mb(self) -> float:
        """The most memory that its process has held so far."""
        return self._peak_mb

    def _read(self) -> dict[str, Any]:
        assert self._process.stdout is not None
        line = self._process.stdout.readline()
        if not line:
            self._process.communicate()  # closes the pipes and waits
            last = self._said.read_text(errors="replace").splitlines()[-_LAST_WORDS:]
            raise SimtError(
                "JoeyNMT did not train; its last words:\n  "
                + "\n  ".join(last)
                + "\n`make bench` installs it into .venv-joeynmt, for `--against`."
            )
        reply: dict[str, Any] = json.loads(line)
        return reply

    def __enter__(self) -> "JoeyNmt":
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        if error is not None:
            self._process.kill()
        self._process.communicate()  # closes the pipes, which ends it, and waits


def _start(command: list[Path], log: IO[str]) -> "subprocess.Popen[str]":
    try:
        return subprocess.Popen(
            command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=log, text=True
        )
    except OSError as error:
        raise SimtError(f"{command[0]} cannot be run: {error.strerror}") from None


def _write_job(
    settings: RunSettings, corpus: Path, makes_batches: bool, threads: int, folder: Path
) -> None:
    source, target = open_vocabularies(corpus)
    job = {
        "model": settings.model.model_dump(),
        "training": settings.training.model_dump(),
        "seed": settings.seed,
        "source_words": len(source),
        "target_words": len(target),
        "is_joint": source is target,
        "ids": {"bos": BOS, "pad": PAD, "eos": EOS, "unk": UNK},
        "batches": "own" if makes_batches else "given",
        "threads": threads,
    }
    (folder / "job.json").write_text(json.dumps(job))


def _write_batches(
    settings: RunSettings, corpus: Path, batches: Iterable[int], folder: Path
) -> dict[int, int]:
    """Writes some batches of the first epoch; gives the target tokens of each."""
    training = settings.training
    train = EncodedSplit.open(corpus, "train")
    plan = BatchPlan(train, training.batch_tokens, training.max_tokens, settings.seed)
    arrays: dict[str, npt.NDArray[np.int64]] = {}
    tokens = {}
    for index in set(batches):
        batch = plan.batch(0, index)
        arrays |= {f"source{index}": batch.source_BM, f"target{index}": batch.target_BN}
        tokens[index] = int(batch.target_lengths_B.sum())
    np.savez(folder / "batches.npz", **arrays)
    return tokens


def _write_text(corpus: Path, folder: Path) -> None:
    """The training text with a made-up word for each id, as the script names them."""
    train = EncodedSplit.open(corpus, "train")
    for side, encoded in (("source", train.source), ("target", train.target)):
        with (folder / f"train.{side}").open("w", encoding="utf-8") as stream:
            for index in range(len(train)):
                ids = encoded[index][:-1]  # JoeyNMT adds the end of a sentence itself
                stream.write(" ".join(f"word{number}" for number in ids) + "\n")
