"""Sessions say what the batched loop says: every method, the toy test set and 500 real sentences.

The network is in double precision, so that no decision hangs on the order in which a sum was added
up. A sentence is of the same tokens with the same delays, or it is in the list that the tests
compare: cut otherwise, joined otherwise, or different.
"""

import gzip
from collections import Counter
from functools import cache
from pathlib import Path
from typing import Any

import pytest
import torch

from simt.corpus.bpe import SubwordNmt, count_pieces, learn_merges, open_subwords
from simt.corpus.ids import Vocabulary
from simt.corpus.text import Tokeniser
from simt.lab.training_bench import make_corpus
from simt.params import load_params
from simt.session import Translator
from simt.settings import ModelSettings
from tests.samples.sessions import DECODING, Comparison, compare, make_translator

PARAMS = load_params(Path(__file__).parents[2] / "params.yaml")
SIZE = ModelSettings(width=8, ffn=16, heads=2, encoder_layers=1, decoder_layers=2)
SHORT = DECODING.model_copy(update={"max_target_tokens": 12})
EVERY_METHOD = pytest.mark.parametrize(
    ("name", "changes", "knob"),
    [
        ("offline", {"encoder": "bi"}, "full"),
        ("waitk", {"target_states": "frozen"}, 3),
        ("waitk", {"target_states": "recompute"}, 3),
        ("multipath", {}, 5),
        ("itst", {}, 0.5),
        ("hmt", {"low": 2, "states": 4}, 0.5),
        ("sm2", {"encoder": "uni"}, 0.5),
        ("sm2", {"encoder": "bi"}, 0.5),
    ],
)


class Remembered(Tokeniser):
    """A tokeniser that works once for all methods."""

    @cache  # noqa: B019 - they live as long as the tests
    def tokenise(self, raw: str) -> list[str]:
        return super().tokenise(raw)


TOY_GERMAN = Remembered("moses", "de", True, "keep")


def in_double_precision(translator: Translator) -> Translator:
    translator.model.network.double()
    return translator


@pytest.fixture(scope="module", autouse=True)
def one_thread() -> None:
    torch.set_num_threads(1)


# --- the toy test set -----------------------------------------------------------------------------


@pytest.fixture(scope="module")
def toy(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("toy")
    make_corpus(PARAMS, "toy-deen", None, folder)
    return folder


@pytest.mark.slow
@EVERY_METHOD
def test_sessions_agree_with_the_batched_loop_on_the_toy_test_set(
    toy: Path, name: str, changes: dict[str, Any], knob: Any
) -> None:
    sentences = (toy / "raw" / "test.de").read_text(encoding="utf-8").splitlines()
    assert len(sentences) == 300
    subwords = open_subwords(toy / "bpe")
    translator = make_translator(subwords, name, changes, TOY_GERMAN, SHORT, SIZE)
    comparison = compare(in_double_precision(translator), knob, sentences)
    assert comparison == Comparison(same=sentences)


# --- real text ------------------------------------------------------------------------------------

REAL = {  # captions, news, talks, and news with many diacritics: 125 sentences each
    "multi30k_deen/test.de.gz": Remembered("moses", "de", True, "keep"),
    "wmt_deen_news/test.de.gz": Remembered("moses", "de", True, "keep"),
    "iwslt15_envi/test_raw.en.gz": Remembered("moses", "en", True, "keep"),
    "wmt16_enro/test.ro.gz": Remembered("moses", "ro", True, "comma"),
}


def first_lines(path: Path, tokeniser: Tokeniser) -> list[str]:
    with gzip.open(path, "rt", encoding="utf-8") as stream:
        return [tokeniser.respell(line) for line, _ in zip(stream, range(125), strict=False)]


@pytest.fixture(scope="module")
def real(shared_corpora: Path) -> dict[str, list[str]]:
    return {file: first_lines(shared_corpora / file, REAL[file]) for file in REAL}


@pytest.fixture(scope="module")
def real_subwords(real: dict[str, list[str]]) -> SubwordNmt:
    words = Counter(
        word for file in real for line in real[file] for word in REAL[file].tokenise(line)
    )
    merges = learn_merges(words, 2000, 2)
    return SubwordNmt(merges, Vocabulary(sorted(count_pieces(words, merges, 1))))


@pytest.mark.slow
@EVERY_METHOD
def test_sessions_agree_with_the_batched_loop_on_real_text(
    real: dict[str, list[str]],
    real_subwords: SubwordNmt,
    name: str,
    changes: dict[str, Any],
    knob: Any,
) -> None:
    comparison = Comparison()
    for file, sentences in real.items():
        subwords = (real_subwords, real_subwords)
        translator = make_translator(subwords, name, changes, REAL[file], SHORT, SIZE)
        compare(in_double_precision(translator), knob, sentences, comparison)
    # None is cut or joined otherwise than as a whole; test_growing has the one that is, in 2,500.
    assert comparison == Comparison(same=[one for sentences in real.values() for one in sentences])
    assert len(comparison.same) == 500
