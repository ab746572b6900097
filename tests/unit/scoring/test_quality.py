"""BLEU and chrF are sacreBLEU's, and so are the sums that BLEU is made of."""

import json
from collections.abc import Callable, Sequence
from hashlib import sha256
from random import Random
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
import sacrebleu
from hypothesis import example, given
from hypothesis import strategies as st
from sacrebleu.metrics.bleu import BLEU

from simt.errors import SimtError
from simt.instances import Instance
from simt.scoring.quality import (
    bleu_of,
    fingerprint,
    quality_scores,
    texts_of,
    usual_tokeniser,
)
from simt.scoring.scores import Score

Make = Callable[..., Instance]

sentences = st.lists(st.sampled_from(["a", "b", "c", "d.", "E"]), max_size=12).map(" ".join)
corpora = st.lists(st.tuples(sentences, sentences), min_size=1, max_size=6)


def score(instances: list[Instance], **options: Any) -> dict[str, float | None]:
    options = {"bleu_text": "detokenised"} | options
    return {one.name: one.value for one in quality_scores(instances, **options)}


def test_scores_are_those_of_sacrebleu(make_tokens: Make) -> None:
    hypotheses = ["The cat sat on the mat .", "A dog , a bone and a man .", ""]
    references = ["The cat sat on a mat .", "A dog and a bone .", "Nothing ."]
    instances = [
        make_tokens("x", target, [1] * (len(target.split()) + 1), index=i, references=[reference])
        for i, (target, reference) in enumerate(zip(hypotheses, references, strict=True))
    ]
    ours = score(instances)
    assert ours["bleu"] == sacrebleu.corpus_bleu(hypotheses, [references], force=True).score
    assert ours["chrf"] == sacrebleu.corpus_chrf(hypotheses, [references]).score


def test_case_counts(make_tokens: Make) -> None:
    one = make_tokens("x", "a b c d", [1] * 5, references=["A b c d e"])
    same = make_tokens("x", "A b c d", [1] * 5, references=["A b c d e"])
    assert (score([one])["bleu"] or 0) < (score([same])["bleu"] or 0)


def test_signatures_say_what_was_compared(make_tokens: Make) -> None:
    bleu, chrf = quality_scores([make_tokens("x", "a", [1, 1])], "detokenised")
    assert bleu.signature.startswith("bleu|text:detokenised|nrefs:1|case:mixed|eff:no|tok:13a|")
    assert "nc:6" in chrf.signature


def test_every_reference_counts(make_tokens: Make) -> None:
    references = ["e f g h", "a b c d"]
    one = make_tokens("x", "a b c d", [1] * 5, references=references)
    assert score([one])["bleu"] == pytest.approx(100)
    assert "nrefs:2" in quality_scores([one], "detokenised")[0].signature


def test_sentences_may_differ_in_the_number_of_references(make_tokens: Make) -> None:
    two = make_tokens("x", "a b c d", [1] * 5, references=["e f", "a b c d"])
    one = make_tokens("x", "a b c d", [1] * 5, index=1, references=["a b c d"])
    assert score([two, one])["bleu"] == pytest.approx(100)
    assert "nrefs:var" in quality_scores([two, one], "detokenised")[0].signature


def test_tokenised_text_is_compared_in_words(make_tokens: Make) -> None:
    one = make_tokens(
        "x",
        "don@@ 't go , he says",
        [1] * 7,
        prediction="don't go, he says",
        references=["don't go, he says"],
        tokenised_references=["don 't go , he says"],
    )
    texts = texts_of([one], "tokenised")
    assert texts.hypotheses == ["don't go , he says"]
    assert texts.references == [["don 't go , he says"]]
    assert (score([one])["bleu"] or 0) > (score([one], bleu_text="tokenised")["bleu"] or 0)


def test_tokenised_text_cannot_be_made_up(make_words: Make) -> None:
    with pytest.raises(SimtError, match="bleu_text: detokenised"):
        quality_scores([make_words([1], 1, 1)], "tokenised")


def test_a_forced_reference_has_no_quality(make_tokens: Make) -> None:
    with pytest.raises(SimtError, match="forced"):
        quality_scores([make_tokens("x", "a", [1, 1], is_forced=True)], "detokenised")


# --- text without blanks --------------------------------------------------------------------------

CHINESE = (
    ("一个男人在公园里弹吉他。", "一个男人正在公园里弹吉他。"),
    ("两只狗在雪地里跑", "两只棕色的狗在雪地里奔跑。"),
    ("她用 iPhone 拍照", "她在用 iPhone 12 拍照。"),
)


def chinese(make_words: Make) -> list[Instance]:
    return [
        make_words([1], 1, 0, index=index, prediction=hypothesis, reference=reference)
        for index, (hypothesis, reference) in enumerate(CHINESE)
    ]


def test_chinese_has_the_bleu_of_sacrebleu(make_words: Make) -> None:
    hypotheses, references = map(list, zip(*CHINESE, strict=True))
    bleu, chrf = quality_scores(chinese(make_words), "detokenised", "zh")
    assert bleu.value == sacrebleu.corpus_bleu(hypotheses, [references], tokenize="zh").score
    assert bleu.value is not None
    assert bleu.value > 40
    assert "|tok:zh|" in bleu.signature
    assert chrf.value == sacrebleu.corpus_chrf(hypotheses, [references]).score


@pytest.mark.parametrize(("tokeniser", "extra"), [("ja-mecab", "ja"), ("ko-mecab", "ko")])
def test_packages_of_a_tokeniser_that_are_missing_are_named(
    make_words: Make, monkeypatch: pytest.MonkeyPatch, tokeniser: Any, extra: str
) -> None:
    monkeypatch.setattr(f"sacrebleu.tokenizers.tokenizer_{extra}_mecab.MeCab", None)
    one = make_words([1], 1, 0, prediction="猫", reference=f"{extra} 猫")  # read by no other test
    with pytest.raises(
        SimtError, match=rf"{tokeniser} needs .* pip install 'sacrebleu\[{extra}\]'"
    ):
        quality_scores([one], "detokenised", tokeniser)


def test_systems_scored_with_different_tokenisers_are_not_alike(make_words: Make) -> None:
    instances = chinese(make_words)
    references = json.dumps([[reference for _, reference in CHINESE]])
    assert fingerprint(instances, "detokenised") == sha256(references.encode()).hexdigest()
    prints = {fingerprint(instances, "detokenised", one) for one in ("13a", "zh", "char")}
    assert len(prints) == 3


@pytest.mark.parametrize(
    "reference",
    [
        "一个男人在公园里弹吉他。",
        "彼はiPhoneで写真を撮っている。",
        "그는공원에서기타를치고있다.",
    ],
)
def test_text_without_blanks_has_no_usual_tokeniser(make_words: Make, reference: str) -> None:
    one = make_words([1], 1, 0, reference=reference)
    with pytest.raises(SimtError, match="give --tokeniser zh, ja-mecab or ko-mecab"):
        usual_tokeniser({None: [one]}, "detokenised")


@pytest.mark.parametrize(
    "reference",
    [
        "A man plays the guitar in 公园.",
        "그는 공원에서 기타를 치고 있다.",
        "一个 男人 在 公园 里 弹 吉他 。",
        "",
    ],
)
def test_text_with_words_between_blanks_is_for_13a(make_words: Make, reference: str) -> None:
    assert (
        usual_tokeniser({None: [make_words([1], 1, 0, reference=reference)]}, "detokenised")
        == "13a"
    )


# --- what BLEU is a sum of ------------------------------------------------------------------------


def bleu_counts(
    hypotheses: list[str], references: Sequence[Sequence[str | None]]
) -> npt.NDArray[np.int64]:
    """The counts behind BLEU, by sacreBLEU."""
    streams: Any = references
    return np.array(BLEU(force=True)._extract_corpus_statistics(hypotheses, streams))


def quality_of(corpus: list[tuple[str, str]], make_tokens: Make) -> list[Score]:
    instances = [
        make_tokens("x", "y", [1, 1], index=index, prediction=hypothesis, references=[reference])
        for index, (hypothesis, reference) in enumerate(corpus)
    ]
    return quality_scores(instances, "detokenised")


def test_scores_of_some_sentences_are_exactly_those_of_sacrebleu(make_tokens: Make) -> None:
    """No tolerance: a score from the statistics of sentences is the score of their texts."""
    rng = Random(2)
    corpus = [
        tuple(" ".join(rng.choices("abcdefgh", k=rng.randint(0, 12))) for _ in range(2))
        for _ in range(25)
    ]
    bleu, chrf = quality_of(corpus, make_tokens)
    for places in (range(25), range(3, 17), [0], [24, 1, 7]):
        hypotheses, references = map(list, zip(*(corpus[place] for place in places), strict=True))
        expected = sacrebleu.corpus_bleu(hypotheses, [references], force=True).score
        assert bleu.over(places).value == expected
        assert chrf.over(places).value == sacrebleu.corpus_chrf(hypotheses, [references]).score
        assert bleu.over(places).sentences == len(places)


@given(corpora)
@example([("", "")])
@example([("", "a")])
@example([("a", "")])
@example([("a b c", "a b c")])
@example([("a b c d. E a", "b a d. c")])
def test_bleu_of_summed_counts_is_corpus_bleu(corpus: list[tuple[str, str]]) -> None:
    hypotheses, references = map(list, zip(*corpus, strict=True))
    counts = bleu_counts(hypotheses, [references])
    expected = sacrebleu.corpus_bleu(hypotheses, [references], force=True).score
    assert bleu_of(counts.sum(axis=0))[0] == pytest.approx(expected, abs=1e-9)


def test_bleu_of_many_rows_is_that_of_each() -> None:
    rng = Random(5)
    references = [" ".join(rng.choices("abcdefgh", k=9)) for _ in range(8)]
    hypotheses = [" ".join(rng.choices("abcdefgh", k=9)) for _ in range(8)]
    counts = bleu_counts(hypotheses, [references])
    rows = np.stack([counts[:3].sum(axis=0), counts[3:].sum(axis=0)])
    each = [
        sacrebleu.corpus_bleu(hypotheses[part], [references[part]], force=True).score
        for part in (slice(None, 3), slice(3, None))
    ]
    assert bleu_of(rows) == pytest.approx(each)


def test_counts_of_several_references_are_those_of_sacrebleu() -> None:
    references: list[list[str | None]] = [["a b c d", "c d e"], ["b b b", None]]
    hypotheses = ["a b b d", "c d e f"]
    counts = bleu_counts(hypotheses, references)
    expected = sacrebleu.corpus_bleu(hypotheses, references, force=True).score  # type: ignore[arg-type]
    assert bleu_of(counts.sum(axis=0))[0] == pytest.approx(expected)
