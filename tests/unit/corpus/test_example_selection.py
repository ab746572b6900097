"""The sentences of the policy viewer: hard to translate while listening, and different."""

from pathlib import Path

from simt.corpus.alignments import AlignedSentence, Links
from simt.corpus.example_selection import aligned_sentences, choose_sentences
from simt.settings import SentenceChoice


def sentence(source: str, target: str, *links: tuple[int, int]) -> AlignedSentence:
    return AlignedSentence(
        tuple(source.split()), tuple(target.split()), Links(frozenset(links), frozenset())
    )


# Word by word; then with the verb at the end, where English has it second.
PLAIN = sentence("Anna liest Bücher", "Anna reads books", (0, 0), (1, 1), (2, 2))
VERB_LAST = sentence("Er hat Brot gekauft", "He bought bread", (0, 0), (3, 1), (2, 2))
ANOTHER = sentence("Wir wollten Tee trinken", "We drink tea", (0, 0), (3, 1), (2, 2))
SAME_AGAIN = sentence("Er hat Brot gekauft", "He bought bread", (0, 0), (3, 1), (2, 2))


def choose(sentences: list[AlignedSentence], count: int, max_words: int = 9) -> list[int]:
    return choose_sentences(
        sentences, SentenceChoice(sentences=count, max_source_words=max_words)
    )  # fmt: skip


def test_sentence_that_makes_one_wait_comes_first() -> None:
    assert choose([PLAIN, VERB_LAST], 2) == [1, 0]


def test_sentence_with_new_words_comes_before_one_without() -> None:
    assert choose([VERB_LAST, SAME_AGAIN, ANOTHER, PLAIN], 4) == [0, 2, 3, 1]


def test_long_sentences_are_left_out() -> None:
    assert choose([PLAIN, VERB_LAST], 2, max_words=3) == [0]


def test_there_may_be_fewer_sentences_than_asked_for() -> None:
    assert choose([PLAIN], 5) == [0]


def test_prepared_files_are_read_with_their_links(tmp_path: Path) -> None:
    for name, line in (("source", "Er hat Brot gekauft"), ("target", "He bought bread")):
        (tmp_path / f"aligned.{name}").write_text(f"{line}\n", encoding="utf-8")
    (tmp_path / "aligned.talp").write_text("0-0 3-1 2-2\n", encoding="utf-8")
    assert aligned_sentences(tmp_path) == [VERB_LAST]
