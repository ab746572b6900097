import json
from pathlib import Path
from typing import Any

import pytest

from simt.corpus import prepare as prepare_module
from simt.corpus.prepare import comparison_key, prepare
from simt.errors import SimtError
from simt.pairs import PrepareSettings

VALID = ("Ein Satz, der geprüft wird.", "A sentence that is tested.")
TEST = ("Danke.", "Thank you.")


def settings_for(**changes: Any) -> PrepareSettings:
    """Plain files raw/{split}.de and .en, with some text settings changed."""
    text = {
        "source_tokeniser": "moses", "target_tokeniser": "moses", "normalise_punctuation": True,
        "romanian_diacritics": "keep", "max_words": 20, "max_ratio": 3.0,
        "drop_duplicates": True, "drop_evaluation_sentences": True,
    }  # fmt: skip
    aligned = changes.pop("aligned", None)
    references = changes.pop("references", ["test.en"])
    languages = {name: changes.pop(name, default) for name, default in
                 [("source", "de"), ("target", "en")]}  # fmt: skip

    def part(source: str, targets: list[str]) -> dict[str, Any]:
        return {"reader": "plain", "source": source, "targets": targets,
                "encoding": "utf-8", "is_dirty": False}  # fmt: skip

    splits = {
        "train": [part("train.de", ["train.en"])],
        "valid": [part("valid.de", ["valid.en"])],
        "test": [part("test.de", references)],
        "aligned": aligned,
    }
    record = {**languages, "splits": splits, "text": text | changes}
    return PrepareSettings.model_validate_json(json.dumps(record))


class Corpus:
    """A raw folder and what becomes of it."""

    def __init__(self, folder: Path) -> None:
        self.raw, self.out = folder / "raw", folder / "text"
        self.raw.mkdir()
        self.write("valid", [VALID])
        self.write("test", [TEST])

    def write(self, split: str, pairs: list[tuple[str, str]]) -> None:
        for side, ending in enumerate(("de", "en")):
            lines = "".join(f"{pair[side]}\n" for pair in pairs)
            (self.raw / f"{split}.{ending}").write_text(lines, encoding="utf-8")

    def prepare(
        self, train: list[tuple[str, str]], processes: int = 1, **changes: Any
    ) -> dict[str, Any]:
        self.write("train", train)
        return prepare(settings_for(**changes), self.raw, self.out, processes)

    def lines(self, name: str) -> list[str]:
        return (self.out / name).read_text(encoding="utf-8").splitlines()


@pytest.fixture
def corpus(tmp_path: Path) -> Corpus:
    return Corpus(tmp_path)


GOOD = ("Guten Tag!", "Good day!")


# --- files -----------------------------------------------------------------------------------


def test_prepare_writes_tokenised_text(corpus: Corpus) -> None:
    corpus.prepare([GOOD, ("Ja, „gern“.", "Yes, please.")])
    assert corpus.lines("train.source") == ["Guten Tag !", 'Ja , " gern " .']
    assert corpus.lines("train.target") == ["Good day !", "Yes , please ."]


def test_prepare_writes_raw_text_for_scoring(corpus: Corpus) -> None:
    corpus.write("test", [("„Ja“\u00a0sagte er…", "“Yes”, he said…")])
    corpus.prepare([GOOD])
    assert [json.loads(line) for line in corpus.lines("test.raw.jsonl")] == [
        {"source": "„Ja“ sagte er…", "references": ["“Yes”, he said…"]}
    ]
    assert corpus.lines("test.target") == ['" Yes , " he said ...']


def test_prepare_writes_references_in_the_chosen_diacritics(corpus: Corpus) -> None:
    corpus.write("test", [("and", "şi „ţara”")])
    corpus.prepare([GOOD], source="en", target="ro", romanian_diacritics="comma")
    assert json.loads(corpus.lines("test.raw.jsonl")[0])["references"] == ["și „țara”"]


def test_prepare_keeps_all_references_and_tokenises_the_first(corpus: Corpus) -> None:
    (corpus.raw / "test.b").write_text("Thanks.\n")
    corpus.prepare([GOOD], references=["test.en", "test.b"])
    assert json.loads(corpus.lines("test.raw.jsonl")[0])["references"] == ["Thank you.", "Thanks."]
    assert corpus.lines("test.target") == ["Thank you ."]


def test_prepare_never_filters_evaluation_sets(corpus: Corpus) -> None:
    odd = [("a", "b " * 50), ("c " * 50, "d"), ("a", "b " * 50)]
    corpus.write("valid", odd)
    stats = corpus.prepare([GOOD])
    assert stats["valid"]["kept"] == len(corpus.lines("valid.source")) == 3
    assert stats["valid"]["dropped"] == {}


@pytest.mark.parametrize(
    "nothing", ["", " ", "\u200b", "\u200b \ufeff\u200d", "\u00ad\u2060\u00a0"]
)
def test_test_line_in_which_nothing_can_be_seen_is_named(corpus: Corpus, nothing: str) -> None:
    corpus.write("test", [TEST, (nothing, "invented")])
    with pytest.raises(SimtError, match=r"test\.de, line 2: empty side; .* is_dirty: true"):
        corpus.prepare([GOOD])


def test_prepare_writes_its_statistics_last(corpus: Corpus) -> None:
    stats = corpus.prepare([GOOD])
    assert json.loads((corpus.out / "stats.json").read_text()) == stats
    assert {path.name for path in corpus.out.iterdir()} == {
        "train.source", "train.target", "valid.source", "valid.target", "valid.raw.jsonl",
        "test.source", "test.target", "test.raw.jsonl", "stats.json",
    }  # fmt: skip


def test_prepare_made_again_leaves_nothing_stale(corpus: Corpus) -> None:
    corpus.prepare([GOOD], aligned=write_aligned(corpus, "ja", "yes", "1-1"))
    (corpus.out / ".prepare.killed").mkdir()
    corpus.prepare([GOOD])
    assert not any(corpus.out.glob("aligned.*"))
    assert not any(corpus.out.glob(".prepare.*"))


def test_prepare_that_fails_has_no_statistics(corpus: Corpus) -> None:
    corpus.prepare([GOOD])
    with pytest.raises(SimtError, match=r"No sentence pair is left in train.*'too_long': 1"):
        corpus.prepare([("wort " * 30, "word " * 30)])
    assert not (corpus.out / "stats.json").exists()


# --- gold alignments -------------------------------------------------------------------------


def write_aligned(corpus: Corpus, source: str, target: str, links: str) -> dict[str, Any]:
    for name, line in [("a.de", source), ("a.en", target), ("a.talp", links)]:
        (corpus.raw / name).write_text(f"{line}\n", encoding="utf-8")
    return {"source": "a.de", "target": "a.en", "links": "a.talp", "base": 1, "encoding": "utf-8"}


def test_aligned_words_stay_the_words_that_the_links_count(corpus: Corpus) -> None:
    # Tokenised anew, "geht's" and "z.B.," would be five words, and "—" would be "-".
    part = write_aligned(corpus, "geht's — 10\u00a0000 z.B.,", "it goes", "1-1 4p2")
    corpus.prepare([GOOD], aligned=part)
    assert corpus.lines("aligned.source") == ["geht's - 10000 z.B.,"]
    assert corpus.lines("aligned.target") == ["it goes"]
    assert corpus.lines("aligned.talp") == ["0-0 3p1"]


def test_aligned_sentences_are_kept_out_of_the_training_text(corpus: Corpus) -> None:
    part = write_aligned(corpus, "wir danken Ihnen dafür sehr", "we thank you", "1-1")
    stats = corpus.prepare([GOOD, ("Wir danken Ihnen dafür sehr!", "Thanks!")], aligned=part)
    assert stats["train"]["dropped"] == {"evaluation_sentence": 1}
    assert stats["aligned"]["kept"] == 1


# --- filters ---------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("pair", "reason"),
    [
        (("wort " * 21, "word " * 19), "too_long"),
        (("wort " * 4, "word"), "unequal_lengths"),
        (("wort", "word " * 4), "unequal_lengths"),
        (("Ein Satz, der geprüft wird!", "Something else."), "evaluation_sentence"),
        (("Etwas anderes.", "a sentence that is TESTED"), "evaluation_sentence"),
        (("danke", "thank you"), "evaluation_pair"),
        (GOOD, "duplicate"),
    ],
)
def test_training_pair_is_left_out_and_counted(
    corpus: Corpus, pair: tuple[str, str], reason: str
) -> None:
    stats = corpus.prepare([GOOD, pair])
    assert stats["train"]["dropped"] == {reason: 1}
    assert (stats["train"]["read"], stats["train"]["kept"]) == (2, 1)
    assert corpus.lines("train.source") == ["Guten Tag !"]


@pytest.mark.parametrize(
    "pair",
    [
        ("wort " * 20, "word " * 20),
        ("wort " * 3, "word"),
        ("Danke.", "Many thanks to you."),  # short: contamination only as a pair
        ("Guten Tag!", "Hello!"),
    ],
)
def test_training_pair_at_the_limit_stays(corpus: Corpus, pair: tuple[str, str]) -> None:
    assert corpus.prepare([GOOD, pair])["train"]["dropped"] == {}


def test_filters_can_be_switched_off(corpus: Corpus) -> None:
    stats = corpus.prepare(
        [GOOD, GOOD, VALID, TEST], drop_duplicates=False, drop_evaluation_sentences=False
    )
    assert stats["train"]["kept"] == 4


def test_duplicates_are_found_across_chunks_and_the_first_stays(
    corpus: Corpus, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(prepare_module, "_PAIRS_A_CHUNK", 2)
    pairs = [(f"satz {n % 7} .", f"sentence {n % 7} .") for n in range(20)]
    stats = corpus.prepare(pairs)
    assert stats["train"]["dropped"] == {"duplicate": 13}
    assert corpus.lines("train.target") == [f"sentence {n} ." for n in range(7)]


def test_statistics_count_words_of_what_was_kept(corpus: Corpus) -> None:
    train = corpus.prepare([GOOD, GOOD, ("Ja.", "Yes it is.")])["train"]
    assert train == {
        "read": 3, "kept": 2, "dropped": {"duplicate": 1}, "source_words": 5, "target_words": 7,
        "mean_source_words": 2.5, "mean_target_words": 3.5,
    }  # fmt: skip


def test_prepare_gives_the_same_bytes_with_two_processes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(prepare_module, "_PAIRS_A_CHUNK", 3)
    results = []
    for processes in (1, 2):
        (tmp_path / str(processes)).mkdir()
        corpus = Corpus(tmp_path / str(processes))
        pairs = [(f"Satz {n % 19}, ja…", f"Sentence {n % 19} isn't.") for n in range(40)]
        corpus.prepare([*pairs, VALID], processes)
        results.append({path.name: path.read_bytes() for path in corpus.out.iterdir()})
    assert results[0] == results[1]


# --- parts -----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "key"),
    [
        ("Größe: 10 m²!", "große10m2"),
        ("Și ţara", "sitara"),
        ("A_b-c", "abc"),
        ("中文。", "中文"),
        ("...", ""),
    ],
)
def test_comparison_key_is_letters_and_digits(text: str, key: str) -> None:
    assert comparison_key(text) == key
