import io
import subprocess
import sys
from collections import Counter
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from simt.corpus import bpe
from simt.corpus.bpe import (
    Segmenter,
    SubwordNmt,
    build_bpe,
    count_pieces,
    learn_merges,
    open_subwords,
    open_vocabularies,
    read_codes,
)
from simt.corpus.ids import EOS, UNK, EncodedSplit, Vocabulary
from simt.errors import SimtError
from simt.pairs import BpeSettings

TEXT = """\
the low lower lowest newer newest
the wide wider widest , new
low @@ low@@ a@@b <eos> </w> x</w>y <pad>
"""

JOINT = BpeSettings(joint=True, source_merges=20, target_merges=20, min_pair_count=2)
SEPARATE = BpeSettings(joint=False, source_merges=10, target_merges=5, min_pair_count=2)

# Few different characters, so that there is something to merge.
WORD = st.one_of(
    st.text(st.sampled_from("ab@</w>"), min_size=1, max_size=8),
    st.text(st.characters(exclude_categories=["Cs"]), min_size=1, max_size=6).filter(
        lambda word: len(word.split()) == 1 and word.split() == [word]
    ),
    st.sampled_from(
        ["@@", "a@@", "<eos>", "<unk>", "</w>", "a</w>", "\u200b", "\u2060", "\\", "\\1"]
    ),
)
WORDS = st.lists(WORD, min_size=1, max_size=20)


@pytest.fixture
def text(tmp_path: Path) -> Path:
    folder = tmp_path / "text"
    folder.mkdir()
    for split in ("train", "valid"):
        (folder / f"{split}.source").write_text(TEXT, encoding="utf-8")
        (folder / f"{split}.target").write_text(TEXT.upper(), encoding="utf-8")
    return folder


def learnt(text: str, merges: int = 20) -> list[tuple[str, str]]:
    return learn_merges(Counter(text.split()), merges, 2)


# --- learn -----------------------------------------------------------------------------------


def test_merges_take_the_most_frequent_pair_first() -> None:
    # "ab" occurs 3 times; then "abc" and "cd" tie, and the later in the alphabet goes first.
    assert learnt("abx abcd abcd") == [("a", "b"), ("c", "d</w>"), ("ab", "cd</w>")]


def test_merges_are_those_of_the_subword_nmt_command(tmp_path: Path) -> None:
    words = "low lower lowest newer newest wider widest slow slower new old older oldest"
    (tmp_path / "text").write_text(f"{words}\n{words} low new\n")
    run = subprocess.run(
        [sys.executable, "-m", "subword_nmt.learn_bpe", "-s", "15", "-i", tmp_path / "text"],
        capture_output=True, text=True, check=True,
    )  # fmt: skip
    expected = [tuple(line.split()) for line in run.stdout.splitlines()[1:]]
    assert learnt(f"{words} {words} low new", 15) == expected


def test_merges_of_single_characters_are_none() -> None:
    assert learnt("a b c a") == []


def test_merges_stop_at_the_least_count() -> None:
    assert learnt("ab ab cd") == [("a", "b</w>")]


def test_merges_never_end_a_word_in_the_mark_of_continuation() -> None:
    merges = learnt("a@@ a@@ @@ @@ a@@b a@@b")
    assert merges
    assert not any((left + right).endswith("@@</w>") for left, right in merges)


def test_learning_writes_nothing_of_its_own_to_standard_error(
    capfd: pytest.CaptureFixture[str],
) -> None:
    learnt("ab ab cd")
    assert "no pair" not in capfd.readouterr().err


def test_piece_counts_are_those_of_the_segmented_text() -> None:
    words = Counter({"low": 3, "lower": 1})
    assert count_pieces(words, [("l", "o")], 1) == {"lo@@": 4, "w": 3, "w@@": 1, "e@@": 1, "r": 1}


# --- apply -----------------------------------------------------------------------------------


@settings(max_examples=150, deadline=None)
@given(WORDS)
def test_pieces_are_those_of_subword_nmt(words: list[str]) -> None:
    from subword_nmt.apply_bpe import BPE

    merges = learn_merges(Counter(words * 2), 20, 2)
    codes = io.StringIO("#version: 0.2\n" + "".join(f"{a} {b}\n" for a, b in merges))
    theirs = BPE(codes, merges=len(merges)).segment(" ".join(words))
    ours = [piece for word in words for piece in Segmenter(merges).segment(word)]
    assert " ".join(ours) == theirs


@settings(max_examples=300, deadline=None)
@given(WORDS, st.integers(1, 30))
def test_words_come_back_from_their_ids(words: list[str], merges: int) -> None:
    codes = learn_merges(Counter(words * 2), merges, 2)
    vocabulary = Vocabulary(sorted(count_pieces(Counter(words), codes, 1)))
    encoder = SubwordNmt(codes, vocabulary)
    ids = encoder.encode(" ".join(words))
    assert ids[-1] == EOS
    assert all(number > UNK for number in ids[:-1])
    assert vocabulary.decode(ids) == words


def test_encoder_marks_unknown_characters() -> None:
    encoder = SubwordNmt([], Vocabulary(["a", "a@@", "b"]))
    assert encoder.encode("ab ü") == [5, 6, UNK, EOS]


def test_encoder_of_an_empty_line_gives_the_end_alone() -> None:
    assert SubwordNmt([], Vocabulary(["a"])).encode("\n") == [EOS]


def test_encoder_table_stays_within_its_bound(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(bpe, "_WORDS_IN_TABLE", 3)
    encoder = SubwordNmt([], Vocabulary(["a", "b"]))
    for word in ("a", "b", "aa", "ab", "ba", "bb", "a"):
        encoder.encode(word)
        assert len(encoder._table) <= 3
        assert not encoder._segmenter._bpe.cache


def test_codes_file_that_is_damaged_is_an_error(tmp_path: Path) -> None:
    for content, complaint in [("", "begin with"), ("a b\n", "begin with"),
                               ("#version: 0.2\na b c\n", "codes, line 2")]:  # fmt: skip
        (tmp_path / "codes").write_text(content)
        with pytest.raises(SimtError, match=complaint):
            read_codes(tmp_path / "codes")


# --- the step --------------------------------------------------------------------------------


def files(folder: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in folder.iterdir()}


@pytest.mark.parametrize("lost", ["codes", "vocabulary"])
def test_joint_file_that_is_lost_is_named_with_the_remedy(
    lost: str, text: Path, tmp_path: Path
) -> None:
    build_bpe(JOINT, text, tmp_path, processes=1)
    (tmp_path / lost).unlink()
    says = rf"/{lost} is missing; delete its folder and run `snakemake -- corpora`"
    with pytest.raises(SimtError, match=says):
        open_subwords(tmp_path)


def test_bpe_step_writes_joint_codes_and_vocabulary(text: Path, tmp_path: Path) -> None:
    build_bpe(JOINT, text, tmp_path / "bpe", 1)
    names = sorted(files(tmp_path / "bpe"))
    arrays = [f"{split}.{side}.{kind}.npy" for split in ("train", "valid")
              for side in ("source", "target") for kind in ("ids", "offsets")]  # fmt: skip
    assert names == sorted(
        ["codes", "vocabulary", "stats.json", "train.json", "valid.json", *arrays]
    )
    source, target = open_vocabularies(tmp_path / "bpe")
    assert source is target


def test_bpe_step_writes_separate_codes_and_vocabularies(text: Path, tmp_path: Path) -> None:
    stats = build_bpe(SEPARATE, text, tmp_path / "bpe", 1)
    source, target = open_vocabularies(tmp_path / "bpe")
    assert "lo@@" in source.pieces
    assert "lo@@" not in target.pieces
    assert stats["vocabulary"] == {"source": len(source), "target": len(target)}
    assert len(read_codes(tmp_path / "bpe" / "codes.source")) == 10
    assert len(read_codes(tmp_path / "bpe" / "codes.target")) == 5


@pytest.mark.parametrize("chosen", [JOINT, SEPARATE])
def test_bpe_step_encodes_every_sentence_so_that_it_comes_back(
    chosen: BpeSettings, text: Path, tmp_path: Path
) -> None:
    build_bpe(chosen, text, tmp_path / "bpe", 1)
    split = EncodedSplit.open(tmp_path / "bpe", "valid")
    source, target = open_vocabularies(tmp_path / "bpe")
    assert [source.decode(split[i][0]) for i in range(3)] == [
        line.split() for line in TEXT.splitlines()
    ]
    assert [target.decode(split[i][1]) for i in range(3)] == [
        line.upper().split() for line in TEXT.splitlines()
    ]


def test_bpe_step_never_takes_text_for_special_symbols(text: Path, tmp_path: Path) -> None:
    build_bpe(JOINT, text, tmp_path / "bpe", 1)
    ids = EncodedSplit.open(tmp_path / "bpe", "train")[2][0]
    assert np.count_nonzero(ids < 4) == 1
    assert ids[-1] == EOS


def test_bpe_vocabulary_is_by_frequency_then_alphabet(text: Path, tmp_path: Path) -> None:
    build_bpe(JOINT, text, tmp_path / "bpe", 1)
    rows = [line.split(" ") for line in (tmp_path / "bpe/vocabulary").read_text().splitlines()]
    keys = [(-int(count), piece) for piece, count in rows]
    assert keys == sorted(keys)
    assert open_vocabularies(tmp_path / "bpe")[0].pieces[4] == rows[0][0]


@pytest.mark.parametrize("chosen", [pytest.param(JOINT, marks=pytest.mark.slow), SEPARATE])
def test_bpe_step_gives_the_same_bytes_with_two_processes(
    chosen: BpeSettings, text: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(bpe, "_LINES_A_CHUNK", 2)
    for processes in (1, 2):
        build_bpe(chosen, text, tmp_path / str(processes), processes)
    assert files(tmp_path / "1") == files(tmp_path / "2")


def test_bpe_step_counts_tokens_and_unknown_pieces(tmp_path: Path) -> None:
    for name, content in [("train.source", "ab ab\n"), ("train.target", "ab\n"),
                          ("test.source", "ab ax\n\n"), ("test.target", "b\nb a\n")]:  # fmt: skip
        (tmp_path / name).write_text(content)
    stats = build_bpe(JOINT, tmp_path, tmp_path / "bpe", 1)
    assert stats["vocabulary"] == {"source": 5, "target": 5}  # four special ones and "ab"
    assert stats["splits"]["test"]["source"] == {
        "sentences": 2, "words": 2, "tokens": 5, "unknown": 2, "unknown_fraction": 0.666667,
        "mean_tokens": 2.5, "longest_tokens": 4, "pieces_per_word": 1.5,
    }  # fmt: skip


def test_bpe_step_made_again_in_another_way_leaves_nothing_stale(
    text: Path, tmp_path: Path
) -> None:
    build_bpe(JOINT, text, tmp_path / "bpe", 1)
    for side in ("source", "target"):
        (text / f"valid.{side}").unlink()
    build_bpe(SEPARATE, text, tmp_path / "bpe", 1)
    names = files(tmp_path / "bpe")
    assert "codes" not in names
    assert "vocabulary" not in names
    assert not any(name.startswith("valid") for name in names)


def test_bpe_step_that_fails_has_no_statistics(text: Path, tmp_path: Path) -> None:
    build_bpe(JOINT, text, tmp_path / "bpe", 1)
    (text / "valid.target").write_text("too short\n")
    with pytest.raises(SimtError, match=r"valid.source and .*valid.target differ"):
        build_bpe(JOINT, text, tmp_path / "bpe", 1)
    assert not (tmp_path / "bpe" / "stats.json").exists()


def test_bpe_step_without_training_text_says_what_to_run(tmp_path: Path) -> None:
    with pytest.raises(
        SimtError,
        match=r"train.source is missing; delete its folder and run `snakemake -- corpora`",
    ):
        build_bpe(JOINT, tmp_path, tmp_path / "bpe", 1)
