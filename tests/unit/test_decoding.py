"""From ids to instances: what is recorded beside each translation."""

import json
import shutil
from collections.abc import Sequence
from pathlib import Path

import pytest

from simt.corpus.ids import UNK, EncodedSplit
from simt.decoding import SplitText
from simt.instances import WordsOf
from simt.lab.training_bench import make_corpus
from simt.params import load_params
from simt.pieces import word_ends
from simt.runs import prepare_settings
from simt.simulation import Translation
from tests.samples.markers import mark

PARAMS = load_params(Path(__file__).parents[2] / "params.yaml")


@pytest.fixture(scope="module")
def corpus(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("corpus")
    make_corpus(PARAMS, "tiny-deen", None, folder)
    mark(folder / "text", prepare_settings(PARAMS, "tiny-deen"))
    return folder


def test_words_of_chinese_are_those_of_jieba(corpus: Path, tmp_path: Path) -> None:
    settings = prepare_settings(PARAMS, "tiny-deen")
    assert SplitText.open(corpus, "test").words == WordsOf()
    chinese = settings.text.model_copy(update={"target_tokeniser": "jieba"})
    shutil.copytree(corpus, tmp_path / "corpus")
    mark(tmp_path / "corpus" / "text", settings.model_copy(update={"text": chinese}))
    assert SplitText.open(tmp_path / "corpus", "test").words == WordsOf(target="tokens")


def translation_to(tokens: Sequence[int], source_length: int) -> Translation:
    """The first sentence, written when all of it was read."""
    return Translation(
        index=0,
        tokens=tuple(tokens),
        delays=(source_length,) * len(tokens),
        write_values=(1.0,) * len(tokens),
        read_values=(None,) * source_length,
        elapsed_s=(0.0,) * len(tokens),
    )


def test_forced_reference_keeps_its_words_where_a_piece_has_no_id(corpus: Path) -> None:
    text = SplitText.open(corpus, "aligned")
    source, target = EncodedSplit.open(corpus / "bpe", "aligned")[0]
    pieces = [text.target_subwords.piece(number) for number in target[:-1].tolist()]
    inner = next(place for place, piece in enumerate(pieces) if piece.endswith("@@"))
    ids = target.tolist()
    ids[inner] = UNK  # as of a piece that is always merged
    instance = text.instance(translation_to(ids, len(source)), "full", 400)
    assert instance.pieces[:-1] == pieces
    assert instance.prediction == instance.reference
    assert len(word_ends(instance.pieces[:-1])) == len(instance.reference.split())


def test_every_reference_is_also_recorded_in_words(corpus: Path) -> None:
    raw = corpus / "text" / "test.raw.jsonl"
    records = [json.loads(line) for line in raw.read_text(encoding="utf-8").splitlines()]
    records[0]["references"].append("He's here, isn't he?")
    raw.write_text("".join(f"{json.dumps(record)}\n" for record in records), encoding="utf-8")
    text = SplitText.open(corpus, "test")
    source, target = EncodedSplit.open(corpus / "bpe", "test")[0]
    instance = text.instance(translation_to(target.tolist(), len(source)), "full", 400)
    first = (corpus / "text" / "test.target").read_text(encoding="utf-8").splitlines()[0]
    assert instance.tokenised_references == (first, "He 's here , isn 't he ?")
    assert instance.tokenised_prediction == first
    assert instance.prediction == instance.reference
