import gzip
import subprocess
import sys
import tempfile
import unicodedata
from functools import cache
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from simt.corpus.text import (
    JiebaWords,
    MosesWords,
    Tokeniser,
    clean,
    join_chinese,
    join_words,
    normalise_punctuation,
    source_tokeniser,
    target_tokeniser,
)
from simt.pairs import TextSettings

# Dense in everything that a rule looks at.
AWKWARD = st.lists(
    st.sampled_from([*"abZsS. .,,''\"\"()-:;%/&@…„“”’‘–—«»`´[]#$€19 7 ßțệ中", "No.", "St.", "..."]),
    max_size=30,
).map("".join)


def moses(language: str, normalise: bool = False) -> Tokeniser:
    return Tokeniser("moses", language, normalise, "keep")


# --- clean -----------------------------------------------------------------------------------


def test_clean_composes_accents() -> None:
    assert clean(unicodedata.normalize("NFD", "Việt Nam")) == "Việt Nam"


def test_clean_makes_every_blank_a_single_blank() -> None:
    assert clean(" 10\u00a0000 \t m\u3000\u2028x \r") == "10 000 m x"


def test_clean_removes_what_cannot_be_seen() -> None:
    assert clean("\ufeffDonau\u00addampf\u200b\x07schiff\u200e") == "Donaudampfschiff"


def test_clean_keeps_compatibility_characters() -> None:
    assert clean("½ m² ，“") == "½ m² ，“"


@given(st.text())
def test_clean_text_stays_as_it_is_when_cleaned_again(text: str) -> None:
    assert clean(clean(text)) == clean(text)


@given(st.text())
def test_clean_text_has_no_blank_but_single_ones_inside(text: str) -> None:
    assert clean(text) == " ".join(clean(text).split())
    clean(text).encode()


# --- normalise -------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("language", "raw", "normal"),
    [
        ("de", "Er sagte: „Ja“ – und ging…", 'Er sagte: "Ja" - und ging...'),
        ("en", "It’s “new”—really", 'It\'s "new" - really'),
        ("en", "5 % ( or so ) .", "5% (or so)."),
        ("en", 'He said "yes".', 'He said "yes."'),
        ("de", 'Er sagte "Ja," und', 'Er sagte "Ja", und'),
        ("ro", "„Da”, «nu» : ’90", '"Da", "nu": \'90'),
        ("en", "``quoted''", '" quoted "'),
    ],
)
def test_punctuation_becomes_plain(language: str, raw: str, normal: str) -> None:
    assert normalise_punctuation(clean(raw), language) == normal


def test_punctuation_around_grouped_digits_makes_no_decimals_of_them() -> None:
    assert moses("de", normalise=True).normalise("10\u00a0000 Euro") == "10 000 Euro"


@settings(max_examples=300, deadline=None)
@given(AWKWARD, st.sampled_from(["en", "de", "ro"]))
def test_punctuation_is_normalised_as_by_sacremoses(text: str, language: str) -> None:
    from sacremoses import MosesPunctNormalizer

    text = clean(text)
    expected = MosesPunctNormalizer(lang=language).normalize(text)
    assert normalise_punctuation(text, language) == clean(expected)


# --- Romanian --------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("choice", "respelled"),
    [("keep", "Şi ţara, și țara"), ("comma", "Și țara, și țara"), ("none", "Si tara, si tara")],
)
def test_romanian_diacritics_follow_the_settings(choice: str, respelled: str) -> None:
    tokeniser = Tokeniser("moses", "ro", False, choice)  # type: ignore[arg-type]
    assert tokeniser.respell("Şi ţara, și țara") == respelled


def test_romanian_diacritics_without_any_are_plain_letters() -> None:
    assert Tokeniser("moses", "ro", False, "none").respell("ăâîșțĂÂÎȘȚ") == "aaistAAIST"


def test_romanian_diacritics_of_other_languages_are_left_alone() -> None:
    assert Tokeniser("moses", "en", False, "none").respell("Iaşi") == "Iaşi"


# --- words -----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("language", "raw", "words"),
    [
        ("en", "Don't stop, it's 5,300.50 U.S. dollars.",
         "Don 't stop , it 's 5,300.50 U.S. dollars ."),
        ("en", "Dr. Smith (No. 5) said... \"well-known\" & <b>", # escaping would show here
         "Dr. Smith ( No. 5 ) said ... \" well-known \" & < b >"),
        ("en", "the boys' room and/or 3:2", "the boys ' room and / or 3 : 2"),
        ("de", "Wie geht's, Frau Müller?", "Wie geht ' s , Frau Müller ?"),
        ("de", "Am 3. Mai z.B. um 9:30 Uhr.", "Am 3. Mai z.B. um 9 : 30 Uhr ."),
        ("ro", "Nu știu, dle. Într-o zi!", "Nu știu , dle . Într-o zi !"),
        ("vi", "Tôi đến từ Việt Nam.", "Tôi đến từ Việt Nam ."),
    ],
)  # fmt: skip
def test_moses_words_are_those_of_the_moses_tokeniser(language: str, raw: str, words: str) -> None:
    assert moses(language).tokenise(raw) == words.split(" ")


@settings(max_examples=400, deadline=None)
@given(AWKWARD, st.sampled_from(["en", "de", "fr", "ro", "vi"]))
def test_moses_words_are_those_of_sacremoses(text: str, language: str) -> None:
    text = clean(text)
    ours, theirs = both_tokenisers(language)
    assert ours(text) == theirs.tokenize(text, escape=False)


@cache
def both_tokenisers(language: str) -> tuple[MosesWords, Any]:
    from sacremoses import MosesTokenizer

    return MosesWords(language), MosesTokenizer(lang=language)


def test_moses_words_keep_vietnamese_accents_on_their_vowels() -> None:
    assert moses("vi").tokenise(unicodedata.normalize("NFD", "tiếng Việt")) == ["tiếng", "Việt"]


@settings(deadline=None)  # the first one waits for jieba's dictionary
@given(st.text(), st.sampled_from(["moses", "blanks", "jieba"]))
def test_words_are_never_empty_and_hold_no_blank(text: str, name: str) -> None:
    tokeniser = TOKENISERS[name]
    assert all(word and not any(map(str.isspace, word)) for word in tokeniser.tokenise(text))


TOKENISERS = {
    "moses": moses("en", normalise=True),
    "blanks": Tokeniser("blanks", "en", True, "keep"),
    "jieba": Tokeniser("jieba", "zh", True, "keep"),
}


def test_blanks_tokeniser_takes_the_words_as_they_are() -> None:
    assert Tokeniser("blanks", "en", False, "keep").tokenise("don't  stop.") == ["don't", "stop."]


def test_jieba_finds_chinese_words() -> None:
    assert Tokeniser("jieba", "zh", False, "keep").tokenise("我来到北京清华大学 ok。") == [
        "我", "来到", "北京", "清华大学", "ok", "。",
    ]  # fmt: skip


def test_jieba_trusts_no_cache_file_and_is_silent(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    poison = tmp_path / "jieba.cache"
    poison.write_bytes(b"not what jieba wrote")
    assert JiebaWords()("北京") == ["北京"]
    assert poison.read_bytes() == b"not what jieba wrote"
    assert list(tmp_path.iterdir()) == [poison]
    assert capfd.readouterr() == ("", "")


@given(st.text(), st.booleans())
def test_a_respelled_word_is_always_one_word(word: str, normalise: bool) -> None:
    assert len(moses("de", normalise).respell_word(word).split()) == 1


def test_a_respelled_word_looks_as_in_training_text() -> None:
    assert moses("de", normalise=True).respell_word("„") == '"'


def test_tokenisers_of_both_sides_follow_the_settings() -> None:
    text = TextSettings(
        source_tokeniser="blanks", target_tokeniser="moses", normalise_punctuation=False,
        romanian_diacritics="comma", max_words=9, max_ratio=2.0,
        drop_duplicates=True, drop_evaluation_sentences=True,
    )  # fmt: skip
    assert source_tokeniser(text, "en").tokenise("a, b") == ["a,", "b"]
    assert target_tokeniser(text, "ro").tokenise("ţară,") == ["țară", ","]


def test_text_loads_no_tokeniser_and_no_torch_before_it_needs_one() -> None:
    code = (
        "import sys, simt.corpus.text; print({'sacremoses', 'jieba', 'torch'} & set(sys.modules))"
    )
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert run.stdout.strip() == "set()"


# --- and back --------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("language", "words", "text"),
    [
        ("en", "Don 't stop , it 's the boys ' room .", "Don't stop, it's the boys' room."),
        ("en", "He said : \" yes \" ( twice ) !", "He said: \"yes\" (twice)!"),
        ("en", "such as ' credits ' , used in the ' 90s", "such as 'credits', used in the '90s"),
        ("en", "$ 5 and / or 20 % at 9 : 30", "$5 and/or 20% at 9:30"),
        ("en", "that is it . \"", "that is it.\""),
        ("de", "Wie geht ' s ? 50 $ pro Tag", "Wie geht's? 50 $ pro Tag"),
        ("de", "die „ Bild “ -Zeitung", "die „Bild“-Zeitung"),
        ("de", "ist falsch \" , so Pötzl", "ist falsch\", so Pötzl"),
        ("ro", "a spus : „ Da ” .", "a spus: „Da”."),
    ],
)  # fmt: skip
def test_words_are_joined_as_people_write(language: str, words: str, text: str) -> None:
    assert join_words(words.split(" "), language) == text


def test_chinese_words_are_joined_with_blanks_only_between_foreign_words() -> None:
    assert join_chinese(["我", "爱", "New", "York", "。"]) == "我爱New York。"


@given(st.lists(st.text(st.characters(exclude_categories=["Z", "C"]), min_size=1)))
def test_joining_adds_only_blanks(words: list[str]) -> None:
    assert join_words(words, "en").replace(" ", "") == "".join(words)
    assert join_chinese(words).replace(" ", "") == "".join(words)


@pytest.mark.parametrize(
    ("file", "floor"),  # measured with and without normalisation: see the second number
    [
        ("wmt_deen_news/valid.de", 0.98),  # 0.995
        ("wmt_deen_news/test.de", 0.97),  # 0.990
        ("wmt_deen_news/valid.en", 0.98),  # 0.992
        ("wmt16_enro/valid.en", 0.95),  # 0.967
        ("wmt16_enro/valid.ro", 0.97),  # 0.986
        ("wmt16_enro/test.ro", 0.98),  # 0.994
        ("iwslt15_envi/test_raw.vi", 0.95),  # 0.967; the rest has blanks before full stops
        ("3am_zhen/valid.zh", 0.94),  # 0.96; the rest has blanks between words
    ],
)
@pytest.mark.parametrize("normalise", [False, True])
def test_real_text_survives_tokenising_and_detokenising(
    shared_corpora: Path, file: str, floor: float, normalise: bool
) -> None:
    language = file[-2:]
    tokeniser = Tokeniser("jieba" if language == "zh" else "moses", language, normalise, "keep")
    with gzip.open(shared_corpora / f"{file}.gz", "rt", encoding="utf-8") as lines:
        raw = [line for line, _ in zip(lines, range(2000), strict=False)]
    same = sum(
        tokeniser.detokenise(tokeniser.tokenise(line)) == tokeniser.normalise(line) for line in raw
    )
    assert same / len(raw) >= floor


@pytest.mark.parametrize(
    "file",
    [
        "wmt_deen_news/test.de",
        "wmt_deen_news/test.en",
        "wmt16_enro/test.ro",
        "iwslt15_envi/test_raw.vi",
    ],
)
def test_real_text_gets_the_words_of_sacremoses(shared_corpora: Path, file: str) -> None:
    from sacremoses import MosesPunctNormalizer, MosesTokenizer

    language = file[-2:]
    tokeniser = moses(language, normalise=True)
    tokenizer, normalizer = MosesTokenizer(lang=language), MosesPunctNormalizer(lang=language)
    with gzip.open(shared_corpora / f"{file}.gz", "rt", encoding="utf-8") as lines:
        for line in lines:
            expected = tokenizer.tokenize(normalizer.normalize(clean(line)), escape=False)
            assert tokeniser.tokenise(line) == expected
