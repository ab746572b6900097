"""A small encoded corpus, made once by the real steps, and a file system without locks."""

import errno
import fcntl
from pathlib import Path

import pytest

from simt.corpus.bpe import build_bpe
from simt.corpus.prepare import prepare
from simt.corpus.toy import write_toy_corpus
from simt.params import load_params
from simt.runs import bpe_settings, prepare_settings

PARAMS = load_params(Path(__file__).parents[2] / "params.yaml", "tiny")


@pytest.fixture(scope="session")
def encoded(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The bpe/ folder of the tiny pair."""
    folder = tmp_path_factory.mktemp("tiny-deen")
    sizes = {"train": 200, "valid": 20, "test": 2, "aligned": 2}
    write_toy_corpus(folder / "raw", seed=1, sizes=sizes)
    raw, text, bpe = (folder / name for name in ("raw", "text", "bpe"))
    prepare(prepare_settings(PARAMS, "tiny-deen"), raw, text, processes=1)
    build_bpe(bpe_settings(PARAMS, "tiny-deen"), text, bpe, processes=1)
    return bpe


@pytest.fixture
def no_locks(monkeypatch: pytest.MonkeyPatch) -> None:
    """A file system that has none, as on some clusters."""

    def refuse(file: int, how: int) -> None:
        raise OSError(errno.ENOLCK, "no locks available")

    monkeypatch.setattr(fcntl, "flock", refuse)
