"""From ids to instances: what is recorded beside each translation."""

import json
import shutil
from pathlib import Path

import pytest

from simt.corpus.ids import EncodedSplit
from simt.decoding import SplitText
from simt.instances import WordsOf
from simt.lab.training_bench import make_corpus
from simt.params import load_params
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


def test_every_reference_is_also_recorded_in_words(corpus: Path) -> None:
    raw = corpus / "text" / "test.raw.jsonl"
    records = [json.loads(line) for line in raw.read_text(encoding="utf-8").splitlines()]
    records[0]["references"].append("He's here, isn't he?")
    raw.write_text("".join(f"{json.dumps(record)}\n" for record in records), encoding="utf-8")
    text = SplitText.open(corpus, "test")
    source, target = EncodedSplit.open(corpus / "bpe", "test")[0]
    translation = Translation(
        index=0,
        tokens=tuple(map(int, target)),
        delays=(len(source),) * len(target),
        write_values=(1.0,) * len(target),
        read_values=(None,) * len(source),
        elapsed_s=(0.0,) * len(target),
    )
    instance = text.instance(translation, "full", ms_per_word=400)
    first = (corpus / "text" / "test.target").read_text(encoding="utf-8").splitlines()[0]
    assert instance.tokenised_references == (first, "He 's here , isn 't he ?")
    assert instance.tokenised_prediction == first
    assert instance.prediction == instance.reference
