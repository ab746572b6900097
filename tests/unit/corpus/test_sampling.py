"""Samples: what anyone can draw again from the file alone."""

import gzip
import json
from collections import Counter
from hashlib import sha256
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from simt.corpus.fetch import fetch
from simt.corpus.formats import read_part
from simt.corpus.prepare import comparison_key, prepare
from simt.corpus.reading import SentencePair
from simt.corpus.sampling import draw_sample
from simt.errors import SimtError
from simt.pairs import Part, Sample
from simt.params import load_params
from simt.runs import fetch_settings, prepare_settings

ROOT = Path(__file__).parents[3]
FILE = Path("corpus.txt")

sentences = st.lists(st.sampled_from("abcdef"), min_size=1, max_size=4).map(" ".join)
corpora = st.lists(sentences.map(lambda text: SentencePair(text, (text.upper(),))), min_size=1)


def draw(
    pairs: list[SentencePair], begin: int, end: int, min_words: int = 1
) -> tuple[list[SentencePair], Counter[str]]:
    drops = Counter[str]()
    sample = Sample(begin=begin, end=end, min_words=min_words)
    return list(draw_sample(sample, pairs, lambda pair: pair.source, FILE, drops)), drops


def by_hand(pairs: list[SentencePair], begin: int, end: int, min_words: int) -> list[SentencePair]:
    """The rule as the documentation has it, with a sort of everything."""
    long = [n for n, pair in enumerate(pairs) if len(pair.source.split()) >= min_words]
    ordered = sorted(long, key=lambda n: sha256(pairs[n].source.encode()).hexdigest())
    return [pairs[n] for n in sorted(ordered[begin:end])]


@given(corpora, st.data())
def test_sample_is_what_the_rule_says(pairs: list[SentencePair], data: st.DataObject) -> None:
    min_words = data.draw(st.integers(1, max(len(pair.source.split()) for pair in pairs)))
    enough = sum(len(pair.source.split()) >= min_words for pair in pairs)
    end = data.draw(st.integers(1, enough))
    begin = data.draw(st.integers(0, end - 1))
    found, drops = draw(pairs, begin, end, min_words)
    assert found == by_hand(pairs, begin, end, min_words)
    assert drops.total() == len(pairs) - len(found)


def test_longer_sample_holds_the_shorter_and_the_next_one_begins_where_it_ends() -> None:
    pairs = [SentencePair(f"sentence {n}", ("x",)) for n in range(100)]
    half, _ = draw(pairs, 0, 50)
    quarter, _ = draw(pairs, 0, 25)
    next_quarter, _ = draw(pairs, 25, 50)
    assert set(quarter) | set(next_quarter) == set(half)
    assert set(quarter).isdisjoint(next_quarter)


def test_sample_of_more_than_there_is_says_how_many_there_are() -> None:
    pairs = [SentencePair(text, ("x",)) for text in ("one", "one two", "one two three")]
    with pytest.raises(SimtError, match=r"corpus\.txt has 2 sentences of at least 2 words"):
        draw(pairs, 0, 3, min_words=2)


def test_sample_of_nothing_is_refused() -> None:
    with pytest.raises(ValueError, match="begin 5 is not before end 5"):
        Sample(begin=5, end=5, min_words=1)


def test_part_without_a_sample_has_the_settings_it_always_had() -> None:
    part = Part(reader="plain", source="a/x.de", targets=("a/x.en",), encoding="utf-8",
                is_dirty=False)  # fmt: skip
    assert "sample" not in json.loads(part.as_json())


# --- the real thing -----------------------------------------------------------------------------

PARAMS = load_params(ROOT / "params.yaml")
PAIR = "tatoeba-deen"


@pytest.fixture(scope="module")
def tatoeba(shared_corpora: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The raw files of the pair, taken from a folder as a user without a network has it."""
    theirs = shared_corpora / "tatoeba_deen"
    if not theirs.is_dir():
        pytest.skip("the shared corpora have no Tatoeba")
    own = tmp_path_factory.mktemp("corpora")
    for name, file in (("tatoeba", "deu-eng.zip"), ("challenge", "test.txt.gz")):
        (own / name).mkdir()
        (own / name / file).write_bytes((theirs / file).read_bytes())
    raw = tmp_path_factory.mktemp("raw")
    manifest = fetch(fetch_settings(PARAMS, PAIR), raw, own)
    assert {origin["checksum"] for origin in manifest["downloads"].values()} == {
        "sha256", "sha256 of the unpacked files"
    }  # fmt: skip
    return raw


@pytest.mark.slow
def test_tatoeba_evaluation_sets_are_apart_and_of_long_sentences(
    tatoeba: Path, shared_corpora: Path
) -> None:
    with gzip.open(shared_corpora / "tatoeba_deen" / "test.txt.gz", "rt", encoding="utf-8") as file:
        rows = [line.rstrip("\n").split("\t") for line in file]
    everything = [SentencePair(row[2], (row[3],)) for row in rows]
    splits = prepare_settings(PARAMS, PAIR).splits
    sets = {
        split: list(read_part(getattr(splits, split)[0], tatoeba, "de", "en", Counter()))
        for split in ("valid", "test")
    }
    assert sets["valid"] == by_hand(everything, 0, 2000, 8)
    assert sets["test"] == by_hand(everything, 2000, 4000, 8)


@pytest.mark.slow
def test_tatoeba_trains_on_nothing_that_it_is_tested_on(tatoeba: Path, tmp_path: Path) -> None:
    stats = prepare(prepare_settings(PARAMS, PAIR), tatoeba, tmp_path, 1)
    assert (stats["valid"]["kept"], stats["test"]["kept"]) == (2000, 2000)
    assert stats["train"]["read"] == 169_197 + 32_565
    assert stats["train"]["dropped"]["evaluation_pair"] >= 4000
    for side in ("source", "target"):
        unseen = {
            comparison_key(line)
            for split in ("valid", "test")
            for line in (tmp_path / f"{split}.{side}").read_text(encoding="utf-8").splitlines()
        }
        trained = (tmp_path / f"train.{side}").read_text(encoding="utf-8").splitlines()
        assert not [
            line for line in trained if len(key := comparison_key(line)) > 15 and key in unseen
        ]


def test_sample_that_may_be_short_takes_all_there_is() -> None:
    pairs = [SentencePair(f"sentence {n}", ("x",)) for n in range(5)]
    sample = Sample(begin=0, end=8, min_words=1, may_be_short=True)
    assert list(draw_sample(sample, pairs, lambda pair: pair.source, FILE, Counter())) == pairs


def test_settings_without_the_new_entries_are_written_as_before() -> None:
    sample = Sample(begin=0, end=8, min_words=1)
    assert sample.as_json() == '{"begin": 0, "end": 8, "min_words": 1}'
