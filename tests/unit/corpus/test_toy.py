"""The files of a toy corpus."""

from pathlib import Path

import pytest

from simt.corpus.toy import write_toy_corpus
from simt.errors import SimtError
from toy_grammar import generate_pairs


def test_corpus_files_hold_plain_text_but_for_the_aligned_split(tmp_path: Path) -> None:
    made = write_toy_corpus(tmp_path, 5, {"train": 30, "aligned": 7})
    assert sorted(path.name for path in tmp_path.iterdir()) == [
        *("aligned.de", "aligned.en", "aligned.talp", "train.de", "train.en"),
    ]
    train = list(generate_pairs(5, "train", 30))
    aligned = list(generate_pairs(5, "aligned", 7))
    text = {path.name: path.read_text(encoding="utf-8") for path in tmp_path.iterdir()}
    assert text["train.de"] == "".join(pair.source + "\n" for pair in train)
    assert text["train.en"] == "".join(pair.target + "\n" for pair in train)
    assert text["aligned.de"] == "".join(" ".join(p.source_words) + "\n" for p in aligned)
    assert text["aligned.talp"] == "".join(pair.alignment + "\n" for pair in aligned)
    assert made["splits"]["aligned"] == {
        "pairs": 7,
        "source_words": sum(len(pair.source_words) for pair in aligned),
        "target_words": sum(len(pair.target_words) for pair in aligned),
    }


def test_corpus_is_the_same_when_written_again(tmp_path: Path) -> None:
    for folder in ("one", "two"):
        write_toy_corpus(tmp_path / folder, 3, {"test": 20})
    for name in ("test.de", "test.en"):
        assert (tmp_path / "one" / name).read_bytes() == (tmp_path / "two" / name).read_bytes()


def test_unknown_split_is_refused_with_the_known_ones(tmp_path: Path) -> None:
    with pytest.raises(SimtError, match="no split 'dev'; there are train, valid, test"):
        write_toy_corpus(tmp_path, 1, {"train": 2, "dev": 2})
    assert list(tmp_path.iterdir()) == []
