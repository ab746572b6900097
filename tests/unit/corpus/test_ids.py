import json
import tracemalloc
from pathlib import Path

import numpy as np
import pytest

from simt.corpus.ids import BOS, EOS, PAD, UNK, EncodedSplit, SplitWriter, Vocabulary
from simt.errors import SimtError

VOCABULARY = Vocabulary(["the", "ca@@", "t", "<eos>", "<unk>", "@"])
THE, CA, T, TEXT_EOS = 4, 5, 6, 7


def write_split(folder: Path, sentences: list[tuple[list[int], list[int]]]) -> Path:
    with SplitWriter(folder, "train", (VOCABULARY, VOCABULARY)) as writer:
        for source, target in sentences:
            writer.append("source", np.array(source), np.array([len(source)]))
            writer.append("target", np.array(target), np.array([len(target)]))
    return folder


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return write_split(tmp_path, [([4, 5, 6, 2], [6, 2]), ([2], [4, 4, 2])])


# --- vocabulary ------------------------------------------------------------------------------


def test_vocabulary_has_the_special_ids_before_the_pieces() -> None:
    assert (BOS, PAD, EOS, UNK) == (0, 1, 2, 3)
    assert VOCABULARY.pieces[:5] == ("<bos>", "<pad>", "<eos>", "<unk>", "the")


def test_vocabulary_encodes_unknown_pieces_as_unk() -> None:
    assert VOCABULARY.encode(["the", "dog", "t"]) == [THE, UNK, T]


def test_vocabulary_takes_a_special_name_in_a_text_for_text() -> None:
    assert VOCABULARY.encode(["<eos>"]) == [TEXT_EOS]
    assert VOCABULARY.encode(["<pad>"]) == [UNK]
    assert VOCABULARY.decode([TEXT_EOS, EOS]) == ["<eos>"]


def test_vocabulary_decodes_pieces_to_words() -> None:
    assert VOCABULARY.decode([THE, CA, T, EOS, PAD]) == ["the", "cat"]


def test_vocabulary_decodes_a_word_that_was_never_finished() -> None:
    assert VOCABULARY.decode([THE, CA]) == ["the", "ca"]


def test_vocabulary_knows_which_pieces_end_a_word() -> None:
    assert VOCABULARY.is_word_end.tolist() == [True] * 4 + [True, False, True, True, True, True]


def test_vocabulary_comes_back_from_its_file(tmp_path: Path) -> None:
    VOCABULARY.save(tmp_path / "vocabulary", [9, 8, 7, 3, 2, 1])
    assert (tmp_path / "vocabulary").read_text().startswith("the 9\nca@@ 8\n")
    assert Vocabulary.open(tmp_path / "vocabulary").pieces == VOCABULARY.pieces


@pytest.mark.parametrize("text", ["the\n", "the 1\n a 2\n", "the 1\n 2\n", "the x\n"])
def test_vocabulary_file_that_is_damaged_is_an_error(tmp_path: Path, text: str) -> None:
    (tmp_path / "vocabulary").write_text(text)
    with pytest.raises(SimtError, match=r"vocabulary, line \d.*snakemake -- corpora"):
        Vocabulary.open(tmp_path / "vocabulary")


def test_vocabulary_file_that_is_missing_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(SimtError, match="vocabulary is missing"):
        Vocabulary.open(tmp_path / "vocabulary")


def test_vocabulary_with_a_piece_twice_is_an_error() -> None:
    with pytest.raises(SimtError, match="twice"):
        Vocabulary(["a", "a"])


def test_vocabulary_ids_fit_their_type() -> None:
    assert Vocabulary([str(n) for n in range(2**16 - 4)]).dtype == np.uint16
    assert Vocabulary([str(n) for n in range(2**16 - 3)]).dtype == np.int32


# --- encoded splits --------------------------------------------------------------------------


def test_encoded_split_gives_the_sentences_back(folder: Path) -> None:
    split = EncodedSplit.open(folder, "train")
    assert len(split) == 2
    assert [[side.tolist() for side in split[i]] for i in range(2)] == [
        [[4, 5, 6, 2], [6, 2]],
        [[2], [4, 4, 2]],
    ]


def test_encoded_split_knows_the_lengths(folder: Path) -> None:
    split = EncodedSplit.open(folder, "train")
    assert split.source.lengths(slice(0, 2)).tolist() == [4, 1]
    assert split.source.lengths(slice(1, 99)).tolist() == [1]
    assert split.target.lengths(np.array([1, 0])).tolist() == [3, 2]


def test_encoded_split_knows_its_vocabulary_size(folder: Path) -> None:
    assert EncodedSplit.open(folder, "train").source.vocabulary_size == len(VOCABULARY)


def test_encoded_split_is_a_plain_numpy_file_of_small_numbers(folder: Path) -> None:
    ids = np.load(folder / "train.source.ids.npy", allow_pickle=False)
    assert ids.dtype == np.uint16
    assert ids.tolist() == [4, 5, 6, 2, 2]


def test_encoded_split_has_no_sentence_before_the_first_or_after_the_last(folder: Path) -> None:
    split = EncodedSplit.open(folder, "train")
    for index in (-1, 2):
        with pytest.raises(IndexError):
            split[index]


def test_encoded_split_may_be_empty(tmp_path: Path) -> None:
    assert len(EncodedSplit.open(write_split(tmp_path, []), "train")) == 0


def test_encoded_split_of_a_million_pairs_is_opened_and_not_read(tmp_path: Path) -> None:
    lengths = np.full(1_000_000, 10)
    with SplitWriter(tmp_path, "train", (VOCABULARY, VOCABULARY)) as writer:
        for side in ("source", "target"):
            writer.append(side, np.full(10_000_000, EOS, np.uint16), lengths)
    tracemalloc.start()
    split = EncodedSplit.open(tmp_path, "train")
    assert split[999_999][0].tolist() == [EOS] * 10
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert peak < 1 << 20  # of 20 MB of ids and 8 MB of offsets, on each side


FILES = [
    "train.json",
    "train.source.ids.npy",
    "train.source.offsets.npy",
    "train.target.ids.npy",
    "train.target.offsets.npy",
]


@pytest.mark.parametrize("name", FILES)
def test_encoded_split_with_a_missing_file_names_it(folder: Path, name: str) -> None:
    (folder / name).unlink()
    with pytest.raises(SimtError, match=rf"{name} is missing.*snakemake -- corpora"):
        EncodedSplit.open(folder, "train")


@pytest.mark.parametrize("name", FILES)
@pytest.mark.parametrize("bytes_left", [0, 20, -1])
def test_encoded_split_with_a_cut_file_names_it(folder: Path, name: str, bytes_left: int) -> None:
    data = (folder / name).read_bytes()[:-1]  # the last byte of json is only a line end
    (folder / name).write_bytes(data[:bytes_left])
    with pytest.raises(SimtError, match=rf"{name} .*snakemake -- corpora"):
        EncodedSplit.open(folder, "train")


def test_encoded_split_with_a_file_of_another_corpus_names_it(folder: Path) -> None:
    np.save(folder / "train.source.ids.npy", np.zeros(4, np.uint16))
    with pytest.raises(SimtError, match=r"train.source.ids.npy holds"):
        EncodedSplit.open(folder, "train")


def test_encoded_split_with_offsets_of_another_corpus_names_them(folder: Path) -> None:
    np.save(folder / "train.target.offsets.npy", np.array([0, 2, 4]))
    with pytest.raises(SimtError, match=r"train.target.offsets.npy does not fit"):
        EncodedSplit.open(folder, "train")


def test_encoded_split_never_unpickles(folder: Path) -> None:
    np.save(folder / "train.source.ids.npy", np.array([{}] * 5), allow_pickle=True)
    with pytest.raises(SimtError, match=r"train.source.ids.npy is damaged"):
        EncodedSplit.open(folder, "train")


def test_encoded_split_that_failed_half_way_leaves_nothing_behind(tmp_path: Path) -> None:
    with pytest.raises(KeyError), SplitWriter(tmp_path, "train", (VOCABULARY, VOCABULARY)):
        raise KeyError
    assert list(tmp_path.iterdir()) == []


def test_encoded_split_describes_itself(folder: Path) -> None:
    assert json.loads((folder / "train.json").read_text()) == {
        "sentences": 2,
        "source": {"tokens": 5, "vocabulary": 10},
        "target": {"tokens": 5, "vocabulary": 10},
    }
