"""Gold links: what is read, what is written, and what is refused."""

from collections import Counter
from hashlib import sha256
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from simt.corpus.alignments import (
    AlignedSentence,
    Links,
    format_links,
    parse_links,
    read_aligned,
)
from simt.errors import SimtError
from simt.pairs import AlignedPart, Sample

links_of = st.frozensets(st.tuples(st.integers(0, 200), st.integers(0, 200)), max_size=20)


def aligned_part(base: int = 0, encoding: str = "utf-8", suffix: str = "") -> AlignedPart:
    return AlignedPart.model_validate(
        {
            "source": f"a.de{suffix}",
            "target": f"a.en{suffix}",
            "links": f"a.talp{suffix}",
            "base": base,
            "encoding": encoding,
        }
    )


def write_three(folder: Path, source: bytes, target: bytes, links: bytes) -> None:
    (folder / "a.de").write_bytes(source)
    (folder / "a.en").write_bytes(target)
    (folder / "a.talp").write_bytes(links)


def read_all(folder: Path, **options: object) -> list[AlignedSentence]:
    return list(read_aligned(aligned_part(**options), folder, Counter()))  # type: ignore[arg-type]


@given(sure=links_of, possible=links_of)
def test_links_written_and_read_back_are_the_same(
    sure: frozenset[tuple[int, int]], possible: frozenset[tuple[int, int]]
) -> None:
    links = Links(sure, possible - sure)
    assert parse_links(format_links(links), 0, "here") == links


def test_links_are_written_in_the_order_of_numbers() -> None:
    links = Links(frozenset({(10, 2), (2, 10)}), frozenset({(2, 3)}))
    assert format_links(links) == "2p3 2-10 10-2"


def test_links_counted_from_one_lose_one() -> None:
    assert parse_links("1-2 3p1", 1, "here") == Links(frozenset({(0, 1)}), frozenset({(2, 0)}))


def test_a_link_that_is_sure_and_possible_is_sure() -> None:
    assert parse_links("4p4 4-4", 0, "here") == Links(frozenset({(4, 4)}), frozenset())


@pytest.mark.parametrize("text", ["1", "1-", "a-b", "1:2", "-1-2", "1-2-3", "1P2", "²-1"])
def test_something_else_than_a_link_is_an_error_with_its_place(text: str) -> None:
    with pytest.raises(SimtError, match=r"gold, line 7: '.*' is not a link"):
        parse_links(f"0-0 {text}", 0, "gold, line 7")


def test_a_zero_counted_from_one_is_an_error() -> None:
    with pytest.raises(SimtError, match="link 0-1 is below the first word, which is 1"):
        parse_links("0-1", 1, "here")


def test_aligned_sentences_have_words_and_links(tmp_path: Path) -> None:
    write_three(tmp_path, b"das  Haus\n", b"the house\n", b"1-1 2p2\n")
    links = Links(frozenset({(0, 0)}), frozenset({(1, 1)}))
    assert read_all(tmp_path, base=1) == [(("das", "Haus"), ("the", "house"), links)]


def test_aligned_text_in_latin_1_is_read(tmp_path: Path) -> None:
    write_three(tmp_path, "schön\n".encode("latin-1"), b"nice\n", b"0-0\n")
    assert read_all(tmp_path, encoding="latin-1")[0].source_words == ("schön",)


def test_aligned_text_in_the_wrong_encoding_is_an_error_with_its_line(tmp_path: Path) -> None:
    write_three(tmp_path, "ja\nschön\n".encode("latin-1"), b"yes\nnice\n", b"0-0\n0-0\n")
    with pytest.raises(SimtError, match=r"a\.de, line 2: invalid bytes"):
        read_all(tmp_path)


def test_a_no_break_space_stays_inside_its_word(tmp_path: Path) -> None:
    write_three(tmp_path, "10\u00a0000 Euro\n".encode(), b"10,000 euros\n", b"1-1\n")
    assert read_all(tmp_path)[0].source_words == ("10\u00a0000", "Euro")


def test_lines_empty_in_all_files_are_dropped_and_counted(tmp_path: Path) -> None:
    write_three(tmp_path, b"a\n\nb\n\n", b"a\n \nb\n", b"0-0\n\n0-0\n\n")
    drops: Counter[str] = Counter()
    assert len(list(read_aligned(aligned_part(), tmp_path, drops))) == 2
    assert drops == {"empty line": 2}


def test_a_sentence_without_links_is_kept(tmp_path: Path) -> None:
    write_three(tmp_path, b"a\nb\n", b"a\nb\n", b"\n0-0\n")
    assert [len(sentence.links.sure) for sentence in read_all(tmp_path)] == [0, 1]


def test_a_line_empty_on_one_side_only_is_an_error(tmp_path: Path) -> None:
    write_three(tmp_path, b"a\nb\n", b"a\n\n", b"0-0\n0-0\n")
    with pytest.raises(SimtError, match=r"a\.en, line 2: no words"):
        read_all(tmp_path)


@pytest.mark.parametrize(("link", "base"), [("2-0", 0), ("0p3", 0), ("3-1", 1)])
def test_a_link_beyond_the_sentence_is_named_as_it_stands(
    tmp_path: Path, link: str, base: int
) -> None:
    write_three(tmp_path, b"a b\n", b"a b c\n", f"{link}\n".encode())
    with pytest.raises(SimtError, match=rf"a\.talp, line 1: link {link} leads beyond"):
        read_all(tmp_path, base=base)


def test_aligned_files_of_unequal_length_are_an_error(tmp_path: Path) -> None:
    write_three(tmp_path, b"a\nb\n", b"a\nb\n", b"0-0\n")
    with pytest.raises(SimtError, match=r"a\.talp: no line 2, which others of"):
        read_all(tmp_path)


def test_aligned_files_without_a_sentence_are_an_error(tmp_path: Path) -> None:
    write_three(tmp_path, b"\n", b"", b"")
    with pytest.raises(SimtError, match="no sentence"):
        read_all(tmp_path)


@pytest.mark.parametrize(
    ("folder", "source", "target", "suffix", "sentences", "sure"),
    [
        ("wa_deen_bicici", "test.de", "test.en", "", 100, 1232),
        ("wa_roen", "test.ro", "test.en", ".gz", 248, 6198),
    ],
)
def test_real_gold_alignments_have_the_published_numbers_of_links(
    shared_corpora: Path,
    folder: str,
    source: str,
    target: str,
    suffix: str,
    sentences: int,
    sure: int,
) -> None:
    part = AlignedPart.model_validate(
        {
            "source": source + suffix,
            "target": target + suffix,
            "links": f"test.talp{suffix}",
            "base": 0,
            "encoding": "utf-8",
        }
    )
    read = list(read_aligned(part, shared_corpora / folder, Counter()))
    assert (len(read), sum(len(sentence.links.sure) for sentence in read)) == (sentences, sure)


def test_links_that_name_the_target_first_are_turned(tmp_path: Path) -> None:
    write_three(tmp_path, b"ein Haus\n", b"a small house\n", b"0-0 2-1 1p1\n")
    part = aligned_part().model_copy(update={"is_target_first": True})
    (sentence,) = read_aligned(part, tmp_path, Counter())
    assert sentence.links == Links(frozenset({(0, 0), (1, 2)}), frozenset({(1, 1)}))


def test_sample_of_gold_alignments_follows_the_rule_of_samples(tmp_path: Path) -> None:
    lines = [f"word {number}" for number in range(20)]
    for name, text in (("de", lines), ("en", lines), ("talp", ["0-0"] * 20)):
        (tmp_path / name).write_text("\n".join(text) + "\n", encoding="utf-8")
    part = AlignedPart(source="de", target="en", links="talp", base=0, encoding="utf-8",
                       sample=Sample(begin=0, end=3, min_words=1))  # fmt: skip
    drops = Counter[str]()
    found = [" ".join(one.source_words) for one in read_aligned(part, tmp_path, drops)]
    first = sorted(lines, key=lambda line: sha256(line.encode()).hexdigest())[:3]
    assert found == sorted(first, key=lines.index)
    assert drops.total() == 17
