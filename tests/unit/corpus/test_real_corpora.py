"""All four language pairs on real text: prepare, bpe, batches."""

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from simt.corpus.batches import BatchPlan
from simt.corpus.bpe import build_bpe, open_vocabularies
from simt.corpus.ids import SIDES, UNK, EncodedSplit
from simt.corpus.prepare import prepare
from simt.pairs import BpeSettings, PrepareSettings

pytestmark = pytest.mark.slow


def part(folder: str, name: str, source: str, target: str) -> dict[str, Any]:
    return {"reader": "plain", "source": f"{folder}/{name}.{source}.gz",
            "targets": [f"{folder}/{name}.{target}.gz"], "encoding": "utf-8",
            "is_dirty": True}  # fmt: skip


@dataclass(frozen=True)
class RealPair:
    source: str
    target: str
    splits: dict[str, Any]
    joint: bool = True


PAIRS = {
    "de-en": RealPair("de", "en", {
        "train": [part("multi30k_deen", "train", "de", "en")],
        "valid": [part("wmt_deen_news", "valid", "de", "en")],
        "test": [part("multi30k_deen", "test", "de", "en")],
        "aligned": {"source": "wa_deen_bicici/test.de", "target": "wa_deen_bicici/test.en",
                    "links": "wa_deen_bicici/test.talp", "base": 0, "encoding": "utf-8"},
    }),
    "en-ro": RealPair("en", "ro", {
        "train": [part("tatoeba_enro", "train", "en", "ro")],
        "valid": [part("wmt16_enro", "valid", "en", "ro")],
        "test": [part("wmt16_enro", "test", "en", "ro")],
        "aligned": {"source": "wa_roen/test.en.gz", "target": "wa_roen/test.ro.gz",
                    "links": "wa_roen/test.talp.gz", "base": 0, "is_target_first": True,
                    "encoding": "utf-8"},
    }),
    "en-vi": RealPair("en", "vi", {
        "train": [part("iwslt15_envi", "train_raw", "en", "vi")],
        "valid": [part("iwslt15_envi", "valid_raw", "en", "vi")],
        "test": [part("iwslt15_envi", "test_raw", "en", "vi")],
    }),
    "zh-en": RealPair("zh", "en", {
        "train": [part("3am_zhen", "train", "zh", "en")],
        "valid": [part("3am_zhen", "valid", "zh", "en")],
        "test": [part("3am_zhen", "test", "zh", "en")],
    }, joint=False),
}  # fmt: skip


def prepare_settings(pair: RealPair) -> PrepareSettings:
    text = {
        "source_tokeniser": "jieba" if pair.source == "zh" else "moses",
        "target_tokeniser": "moses", "normalise_punctuation": True,
        "romanian_diacritics": "comma", "max_words": 100, "max_ratio": 2.5,
        "drop_duplicates": True, "drop_evaluation_sentences": True,
    }  # fmt: skip
    record = {"source": pair.source, "target": pair.target, "splits": pair.splits, "text": text}
    return PrepareSettings.model_validate_json(json.dumps(record))


@dataclass(frozen=True)
class Made:
    """What the steps made of a pair."""

    pair: RealPair
    text: Path
    bpe: Path
    text_stats: dict[str, Any]
    bpe_stats: dict[str, Any]

    def lines(self, name: str) -> list[str]:
        return (self.text / name).read_text(encoding="utf-8").split("\n")[:-1]

    def splits(self) -> list[str]:
        return list(self.bpe_stats["splits"])


@pytest.fixture(scope="module", params=PAIRS)
def made(
    request: pytest.FixtureRequest, shared_corpora: Path, tmp_path_factory: pytest.TempPathFactory
) -> Made:
    pair = PAIRS[request.param]
    processes = 2 if pair.source == "de" else 1  # one pair is enough to try both
    folder = tmp_path_factory.mktemp(request.param)
    text, bpe = folder / "text", folder / "bpe"
    text_stats = prepare(prepare_settings(pair), shared_corpora, text, processes)
    codes = BpeSettings(joint=pair.joint, source_merges=300, target_merges=300, min_pair_count=2)
    return Made(pair, text, bpe, text_stats, build_bpe(codes, text, bpe, processes))


def test_real_pairs_are_read_kept_and_dropped_without_remainder(made: Made) -> None:
    for stats in made.text_stats.values():
        assert stats["read"] == stats["kept"] + sum(stats["dropped"].values())
        assert stats["kept"] > 0.9 * stats["read"]


def test_real_evaluation_sets_are_complete(made: Made) -> None:
    for split in ("valid", "test"):
        assert made.text_stats[split]["dropped"] == {}
        raw = [json.loads(line) for line in made.lines(f"{split}.raw.jsonl")]
        assert len(raw) == len(made.lines(f"{split}.source")) == len(made.lines(f"{split}.target"))
        assert all(record["references"] for record in raw)


def test_real_links_stay_within_their_sentences(made: Made) -> None:
    if "aligned" not in made.pair.splits:
        pytest.skip("no gold alignments for this pair")
    files = (made.lines(f"aligned.{ending}") for ending in ("source", "target", "talp"))
    for source, target, links in zip(*files, strict=True):
        for link in links.replace("p", "-").split():
            i, j = map(int, link.split("-"))
            assert i < len(source.split(" "))
            assert j < len(target.split(" "))


def test_real_sentences_come_back_from_their_ids(made: Made) -> None:
    vocabularies = open_vocabularies(made.bpe)
    for split in made.splits():
        encoded = EncodedSplit.open(made.bpe, split)
        for side, vocabulary, which in zip(SIDES, vocabularies, (0, 1), strict=True):
            for number, line in enumerate(made.lines(f"{split}.{side}")[:500]):
                ids = encoded[number][which]
                if UNK not in ids:
                    assert " ".join(vocabulary.decode(ids)) == line


def test_real_training_text_has_no_unknown_piece(made: Made) -> None:
    for side in SIDES:
        assert made.bpe_stats["splits"]["train"][side]["unknown"] == 0
        assert made.bpe_stats["splits"]["test"][side]["unknown_fraction"] < 0.01


def test_real_batches_hold_every_token_of_an_epoch(made: Made) -> None:
    plan = BatchPlan(EncodedSplit.open(made.bpe, "train"), 8000, 512, seed=1)
    batches = [plan.batch(0, index) for index in range(len(plan.epoch(0)))]
    stats = made.bpe_stats["splits"]["train"]
    assert plan.left_out == 0
    assert sum(batch.source_lengths_B.sum() for batch in batches) == stats["source"]["tokens"]
    assert sum(batch.target_lengths_B.sum() for batch in batches) == stats["target"]["tokens"]


def test_real_batches_are_hardly_padded(made: Made) -> None:
    plan = BatchPlan(EncodedSplit.open(made.bpe, "train"), 8000, 512, seed=1)
    batches = [plan.batch(0, index) for index in range(len(plan.epoch(0)))]
    tokens = sum(np.maximum(b.source_lengths_B, b.target_lengths_B).sum() for b in batches)
    padded = sum(len(b) * max(b.source_BM.shape[1], b.target_BN.shape[1]) for b in batches)
    assert tokens > 0.9 * padded
