"""Readers: text that is written in a format comes back, and broken text is told or counted."""

import gzip
from collections import Counter
from collections.abc import Sequence
from hashlib import sha256
from html import escape
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any
from unicodedata import category
from xml.sax.saxutils import escape as xml_escape

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from simt.corpus.formats import SentencePair, read_part
from simt.errors import SimtError
from simt.pairs import Part

quick = settings(max_examples=40, deadline=None)

# Everything that some other program takes for a line end, a blank, mark-up or nothing at all.
AWKWARD = "\u2028\u2029\x85\x0b\x0c\x1c\u00a0\u200b\ufeff&<>\"'\\;#-=/ \tßșțЖ中文🙂e\u0301\u202e"


def can_be_seen(text: str) -> bool:
    return any(category(c) not in ("Cc", "Cf", "Zs", "Zl", "Zp") for c in text)


characters = st.one_of(
    st.sampled_from(AWKWARD),
    st.characters(exclude_categories=["Cs"], exclude_characters="\n\r"),
)
lines = st.text(characters, min_size=1, max_size=30).filter(
    lambda text: can_be_seen(text) and not text.startswith("\ufeff")
)
# What XML 1.0 can hold.
NOT_IN_XML = dict.fromkeys([*range(9), *range(11, 32), 0xFFFE, 0xFFFF])
xml_lines = lines.map(lambda text: text.translate(NOT_IN_XML).strip()).filter(can_be_seen)


def pairs_of(side: st.SearchStrategy[str]) -> st.SearchStrategy[list[tuple[str, str]]]:
    return st.lists(st.tuples(side, side), min_size=1, max_size=6)


def part(reader: str, source: str, *targets: str, **options: Any) -> Part:
    given_options = {"encoding": "utf-8", "is_dirty": False, **options}
    return Part.model_validate(
        {"reader": reader, "source": source, "targets": targets, **given_options}
    )


def read(
    folder: Path,
    described: Part,
    drops: Counter[str] | None = None,
    languages: tuple[str, str] = ("de", "en"),
) -> list[SentencePair]:
    return list(read_part(described, folder, *languages, Counter() if drops is None else drops))


def read_written(described: Part, **files: str) -> list[tuple[str, tuple[str, ...]]]:
    """What is read of files with this text; hypothesis needs a new folder each time."""
    with TemporaryDirectory() as folder:
        for name, text in files.items():
            (Path(folder) / name).write_bytes(text.encode())
        return [tuple(pair) for pair in read(Path(folder), described)]  # type: ignore[misc]


def as_references(pairs: Sequence[tuple[str, str]]) -> list[tuple[str, tuple[str, ...]]]:
    return [(source, (target,)) for source, target in pairs]


# plain


@quick
@given(pairs_of(lines))
def test_plain_text_comes_back_as_written(pairs: list[tuple[str, str]]) -> None:
    source = "".join(f"{source}\n" for source, _ in pairs)
    target = "".join(f"{target}\r\n" for _, target in pairs)
    assert read_written(part("plain", "s", "t"), s=source, t=target) == as_references(pairs)


@quick
@given(pairs_of(lines))
def test_plain_text_needs_no_last_line_end(pairs: list[tuple[str, str]]) -> None:
    source = "\n".join(source for source, _ in pairs)
    target = "\n".join(target for _, target in pairs)
    assert read_written(part("plain", "s", "t"), s=source, t=target) == as_references(pairs)


def test_plain_text_loses_its_byte_order_mark_and_no_other(tmp_path: Path) -> None:
    (tmp_path / "s").write_bytes("\ufeffeins\n\ufeffzwei\n".encode())
    (tmp_path / "t").write_bytes(b"one\ntwo\n")
    assert [pair.source for pair in read(tmp_path, part("plain", "s", "t"))] == [
        "eins",
        "\ufeffzwei",
    ]


def test_plain_text_has_one_reference_a_target_file(tmp_path: Path) -> None:
    for name, text in (("s", "a\n"), ("t1", "x\n"), ("t2", "y\n")):
        (tmp_path / name).write_text(text, encoding="utf-8")
    assert read(tmp_path, part("plain", "s", "t1", "t2")) == [("a", ("x", "y"))]


@pytest.mark.parametrize(("is_escaped", "expected"), [(True, "it 's"), (False, "it &apos;s")])
def test_entities_are_resolved_where_the_part_says_so(
    is_escaped: bool, expected: str, tmp_path: Path
) -> None:
    (tmp_path / "s").write_text("it &apos;s\n", encoding="utf-8")
    (tmp_path / "t").write_text("R &amp; B\n", encoding="utf-8")
    (pair,) = read(tmp_path, part("plain", "s", "t", is_escaped=is_escaped))
    assert pair.source == expected


def test_plain_text_may_be_compressed(tmp_path: Path) -> None:
    (tmp_path / "s.gz").write_bytes(gzip.compress(b"eins\n"))
    (tmp_path / "t").write_bytes(b"one\n")
    assert read(tmp_path, part("plain", "s.gz", "t")) == [("eins", ("one",))]


def test_plain_text_cut_off_in_its_compression_is_an_error(tmp_path: Path) -> None:
    (tmp_path / "s.gz").write_bytes(gzip.compress(b"eins\n" * 1000)[:-9])
    (tmp_path / "t").write_bytes(b"one\n" * 1000)
    with pytest.raises(SimtError, match=r"s\.gz cannot be read"):
        read(tmp_path, part("plain", "s.gz", "t"))


def test_plain_text_in_latin_1_is_read(tmp_path: Path) -> None:
    (tmp_path / "s").write_bytes("schön\n".encode("latin-1"))
    (tmp_path / "t").write_bytes(b"nice\n")
    assert read(tmp_path, part("plain", "s", "t", encoding="latin-1"))[0].source == "schön"


def test_plain_files_of_unequal_length_are_an_error_even_if_dirty(tmp_path: Path) -> None:
    (tmp_path / "s").write_bytes(b"a\nb\nc\n")
    (tmp_path / "t").write_bytes(b"a\n")
    with pytest.raises(SimtError, match=r"equally many sentences:\n.*s: 3\n.*t: 1"):
        read(tmp_path, part("plain", "s", "t", is_dirty=True))


@pytest.mark.parametrize("content", [b"", b"\xef\xbb\xbf"])
def test_empty_plain_files_are_an_error(tmp_path: Path, content: bytes) -> None:
    (tmp_path / "s").write_bytes(content)
    (tmp_path / "t").write_bytes(content)
    with pytest.raises(SimtError, match="no sentence in"):
        read(tmp_path, part("plain", "s", "t"))


def test_a_file_that_is_not_there_is_an_error_with_its_remedy(tmp_path: Path) -> None:
    with pytest.raises(SimtError, match="is not there; fetch the corpus first"):
        read(tmp_path, part("plain", "s", "t"))


@pytest.mark.parametrize(
    ("target", "reason"), [(b"x\n\xff\n", "invalid bytes"), (b"x\n \n", "empty side")]
)
def test_a_broken_line_is_an_error_with_file_line_and_remedy(
    tmp_path: Path, target: bytes, reason: str
) -> None:
    (tmp_path / "s").write_bytes(b"a\nb\n")
    (tmp_path / "t").write_bytes(target)
    with pytest.raises(SimtError, match=rf"t, line 2: {reason}; .* is_dirty: true"):
        read(tmp_path, part("plain", "s", "t"))


def test_broken_lines_of_a_dirty_part_are_dropped_with_their_partners_and_counted(
    tmp_path: Path,
) -> None:
    (tmp_path / "s").write_bytes(b"a\n\xffb\n\nd\ne\n")
    (tmp_path / "t").write_bytes(b"A\nB\nC\nD\n\t\n")
    drops: Counter[str] = Counter()
    pairs = read(tmp_path, part("plain", "s", "t", is_dirty=True), drops)
    assert pairs == as_references([("a", "A"), ("d", "D")])
    assert drops == {"invalid bytes": 1, "empty side": 2}


def test_a_dirty_part_of_which_nothing_is_left_is_an_error(tmp_path: Path) -> None:
    (tmp_path / "s").write_bytes(b"\xff\n\xff\n")
    (tmp_path / "t").write_bytes(b"A\nB\n")
    with pytest.raises(SimtError, match=r"every sentence is broken: invalid bytes \(2\)"):
        read(tmp_path, part("plain", "s", "t", is_dirty=True), Counter({"invalid bytes": 5}))


# tsv


@quick
@given(pairs_of(lines.map(lambda text: text.replace("\t", " ")).filter(str.strip)))
def test_tsv_comes_back_as_written(pairs: list[tuple[str, str]]) -> None:
    text = "".join(f"x\t{target}\t{source}\n" for source, target in pairs)
    assert read_written(part("tsv", "s", columns=(2, 1)), s=text) == as_references(pairs)


def test_tsv_with_a_tab_too_many_or_too_few_is_an_error_with_its_line(tmp_path: Path) -> None:
    for broken in (b"c\td\te\n", b"c\n"):
        (tmp_path / "s").write_bytes(b"a\tb\n" + broken)
        with pytest.raises(SimtError, match=r"s, line 2: wrong number of columns"):
            read(tmp_path, part("tsv", "s", columns=(0, 1)))


def test_tsv_drops_of_a_dirty_part_are_counted(tmp_path: Path) -> None:
    (tmp_path / "s").write_bytes(b"one\na\tb\nc\td\te\n\tf\ng\th\n\xe9\ti\n")
    drops: Counter[str] = Counter()
    pairs = read(tmp_path, part("tsv", "s", columns=(0, 1), is_dirty=True), drops)
    assert pairs == as_references([("a", "b"), ("g", "h")])
    assert drops == {"wrong number of columns": 2, "empty side": 1, "invalid bytes": 1}


# sgm and xml


def sgm(kind: str, segments: Sequence[str], attributes: str = "") -> str:
    body = "\n".join(f'<seg id="{n}">{text}</seg>' for n, text in enumerate(segments, 1))
    head = f'<{kind} setid="x" srclang="any">\n<doc docid="d"{attributes}>'
    return f"{head}\n{body}\n</doc>\n</{kind}>\n"


@quick
@given(pairs_of(lines.map(str.strip)), st.sampled_from(["sgm", "xml"]))
def test_sgm_and_xml_come_back_as_written(pairs: list[tuple[str, str]], reader: str) -> None:
    source = sgm("srcset", [escape(source) for source, _ in pairs])
    target = sgm("refset", [escape(target) for _, target in pairs], ' sysid="ref"')
    assert read_written(part(reader, "s", "t"), s=source, t=target) == as_references(pairs)


def write_sgm(folder: Path, source: str, target: str) -> Part:
    (folder / "s.sgm").write_text(source, encoding="utf-8")
    (folder / "t.sgm").write_text(target, encoding="utf-8")
    return part("sgm", "s.sgm", "t.sgm")


def test_sgm_need_not_be_well_formed(tmp_path: Path) -> None:
    source = """<!DOCTYPE srcset SYSTEM "mteval.dtd">
<SRCSET setid=mt02 srclang='Chinese'>
<DOC docid=d1>
<!-- <seg id=9> not meant </seg> -->
<HL><P>
<SEG ID = 1>
 AT&T &amp; R&D: 1 < 2,
 &#8220;ja&#x201d; &nosuch; &amp;lt; </SEG>
</P></HL></DOC></SRCSET>
"""
    described = write_sgm(tmp_path, source, sgm("refset", ["x"]).replace('"d"', "d1"))
    assert read(tmp_path, described)[0].source == "AT&T & R&D: 1 < 2, “ja” &nosuch; &lt;"


def test_sgm_references_are_matched_by_document_and_segment(tmp_path: Path) -> None:
    source = sgm("srcset", ["a", "b"])
    target = (
        '<refset><doc sysid="r" docid="e"><seg id="1">other</seg></doc>'
        '<doc sysid="r" docid="d"><seg id="2">B</seg><seg id="1">A</seg></doc></refset>'
    )
    described = write_sgm(tmp_path, source + source.replace('"d"', '"e"').replace("b", ""), target)
    dirty = described.model_copy(update={"is_dirty": True})
    drops: Counter[str] = Counter()
    pairs = read(tmp_path, dirty, drops)
    assert pairs == as_references([("a", "A"), ("b", "B"), ("a", "other")])
    assert drops == {"missing reference": 1}


def test_sgm_references_of_several_translators_keep_the_order_of_the_file(tmp_path: Path) -> None:
    documents = "".join(
        f'<DOC docid="{document}" sysid="{translator}">'
        f'<seg id="1">{document} by {translator}</seg></DOC>'
        for translator, document in [("E4", "d1"), ("E1", "d1"), ("E1", "d2"), ("E4", "d2")]
    )
    source = (
        '<srcset><doc docid="d1"><seg id="1">a</seg></doc>'
        '<doc docid="d2"><seg id="1">b</seg></doc></srcset>'
    )
    pairs = read(tmp_path, write_sgm(tmp_path, source, f"<refset>{documents}</refset>"))
    assert pairs == [("a", ("d1 by E4", "d1 by E1")), ("b", ("d2 by E4", "d2 by E1"))]


def test_sgm_reference_sets_without_names_are_different_references(tmp_path: Path) -> None:
    described = write_sgm(
        tmp_path, sgm("srcset", ["a"]), sgm("refset", ["x"]) + sgm("refset", ["y"])
    )
    assert read(tmp_path, described) == [("a", ("x", "y"))]


def test_sgm_references_of_several_files_keep_the_order_of_the_files(tmp_path: Path) -> None:
    for name, text in (("s", "a"), ("t1", "x"), ("t2", "y")):
        kind = "srcset" if name == "s" else "refset"
        (tmp_path / name).write_text(sgm(kind, [text]), encoding="utf-8")
    assert read(tmp_path, part("sgm", "s", "t2", "t1")) == [("a", ("y", "x"))]


def test_a_source_set_of_the_other_language_serves_as_reference(tmp_path: Path) -> None:
    # As in WMT13, which has newstest2013-src.de.sgm and newstest2013-src.en.sgm only.
    described = write_sgm(tmp_path, sgm("srcset", ["a"]), sgm("srcset", ["A"]))
    assert read(tmp_path, described) == [("a", ("A",))]


@pytest.mark.parametrize(
    ("source", "target", "message"),
    [
        (sgm("srcset", ["a", "b"]), sgm("refset", ["A"]), r"segment 2\) has 0 of 1: missing ref"),
        (sgm("srcset", ["a"]), sgm("refset", ["A", "B"]), r"segment 2\): reference without source"),
        (sgm("srcset", ["a"]) * 2, sgm("refset", ["A"]), "segment twice"),
        (
            sgm("srcset", ["a"]),
            sgm("refset", ["A", "B"], ' sysid="r"').replace('id="2"', 'id="1"'),
            r"t\.sgm, line 4 \(document d, segment 1\): reference twice",
        ),
        (sgm("srcset", [" "]), sgm("refset", ["A"]), "empty side"),
        (sgm("srcset", ["a"]), sgm("refset", ["A"])[:-12], "ends before </refset>; it may be cut"),
        (sgm("srcset", ["a"])[:63], sgm("refset", ["A"]), "ends before </seg>"),
        (sgm("srcset", ["a", "b"]).replace("</seg>", "", 1), "", "segment 1 has no </seg> before"),
        (sgm("srcset", ["a"]).replace(' id="1"', ""), "", r"s\.sgm, line 3: <seg> has no id"),
        (sgm("srcset", ["a"]).replace(' docid="d"', ""), "", "<doc> has no docid"),
        ('<srcset><seg id="1">a</seg></srcset>', "", "is in no document"),
        ("<srcset></seg></srcset>", "", "</seg> without <seg>"),
        ("<srcset></srcset>", "", r"no sentence in .*s\.sgm"),
        ("", "", r"no sentence in"),
    ],
)
def test_an_ambiguous_or_incomplete_sgm_is_an_error(
    tmp_path: Path, source: str, target: str, message: str
) -> None:
    described = write_sgm(tmp_path, source, target or sgm("refset", ["A"]))
    with pytest.raises(SimtError, match=message):
        read(tmp_path, described)


def test_invalid_bytes_in_a_dirty_sgm_are_counted(tmp_path: Path) -> None:
    described = write_sgm(tmp_path, sgm("srcset", ["a", "b"]), sgm("refset", ["A", "B"]))
    described = described.model_copy(update={"is_dirty": True})
    broken = (tmp_path / "t.sgm").read_bytes().replace(b">A<", b">\xc3<")
    (tmp_path / "t.sgm").write_bytes(broken)
    drops: Counter[str] = Counter()
    assert read(tmp_path, described, drops) == [("b", ("B",))]
    assert drops == {"invalid bytes": 1}


def test_iwslt_test_sets_are_read(tmp_path: Path) -> None:
    head = '<?xml version="1.0" encoding="UTF-8"?>\n<mteval>\n'
    about = '<doc docid="1" genre="lectures">\n<url>http://x</url>\n<title>A talk</title>\n'
    for name, kind, text in (("s.xml", "srcset", "Hello &amp; bye"), ("t.xml", "refset", "Chào")):
        body = f'<{kind} setid="tst">\n{about}<seg id="1"> {text} </seg>\n</doc>\n</{kind}>\n'
        (tmp_path / name).write_text(f"{head}{body}</mteval>\n", encoding="utf-8")
    assert read(tmp_path, part("xml", "s.xml", "t.xml")) == [("Hello & bye", ("Chào",))]


def test_iwslt_training_text_is_read_without_the_lines_about_the_talk(tmp_path: Path) -> None:
    (tmp_path / "train.tags.en").write_text(
        "<url>http://x/en</url>\n<keywords>talks, science</keywords>\n<speaker>R. P.</speaker>\n"
        "<talkid>535</talkid>\n<title>R. P.: A headline</title>\n"
        "<description>TED Talk: it's short.</description>\nFirst &amp; last.\nThank you.\n",
        encoding="utf-8",
    )
    (tmp_path / "train.tags.vi").write_text(
        "<url>http://x/vi</url>\n<talkid>535</talkid>\n<title>R. P.: Tít</title>\n"
        '<translator href="http://y">N. N.</translator>\n<description>Ngắn.</description>\n'
        "Đầu và cuối.\nCám ơn.\n",
        encoding="utf-8",
    )
    assert read(tmp_path, part("xml", "train.tags.en", "train.tags.vi")) == as_references(
        [
            ("R. P.: A headline", "R. P.: Tít"),
            ("TED Talk: it's short.", "Ngắn."),
            ("First & last.", "Đầu và cuối."),
            ("Thank you.", "Cám ơn."),
        ]
    )


# tmx


def tmx(units: Sequence[Sequence[tuple[str, str]]], head: str = "") -> str:
    body = "".join(
        "<tu>"
        + "".join(f'<tuv xml:lang="{lang}"><seg>{text}</seg></tuv>\n' for lang, text in unit)
        + "</tu>\n"
        for unit in units
    )
    declaration = head or '<!DOCTYPE tmx SYSTEM "tmx14.dtd">'
    return (
        f'<?xml version="1.0" encoding="UTF-8"?>\n{declaration}\n'
        f'<tmx version="1.4"><header srclang="en"/><body>\n{body}</body></tmx>\n'
    )


def write_tmx(folder: Path, text: str, **options: Any) -> Part:
    (folder / "m.tmx").write_bytes(text.encode())
    return part("tmx", "m.tmx", **options)


@quick
@given(pairs_of(xml_lines))
def test_tmx_comes_back_as_written(pairs: list[tuple[str, str]]) -> None:
    units = [[("de", xml_escape(source)), ("en", xml_escape(target))] for source, target in pairs]
    assert read_written(part("tmx", "s"), s=tmx(units)) == as_references(pairs)


def test_tmx_is_read_in_the_direction_asked_for(tmp_path: Path) -> None:
    described = write_tmx(tmp_path, tmx([[("de", "eins"), ("en", "one")]]))
    assert read(tmp_path, described, languages=("en", "de")) == [("one", ("eins",))]


def test_tmx_languages_may_have_regions_and_other_languages_beside_them(tmp_path: Path) -> None:
    unit = [("EN-us", "one"), ("fr", "un"), ("DE_at", "eins"), ("den", "?")]
    assert read(tmp_path, write_tmx(tmp_path, tmx([unit]))) == [("eins", ("one",))]


def test_tmx_may_say_lang_as_in_its_first_version(tmp_path: Path) -> None:
    text = tmx([[("de", "eins"), ("en", "one")]]).replace("xml:lang", "lang")
    assert read(tmp_path, write_tmx(tmp_path, text)) == [("eins", ("one",))]


def test_tmx_translations_of_one_source_are_references(tmp_path: Path) -> None:
    unit = [("de", "ja"), ("en-GB", "yes"), ("en-US", "yeah"), ("en", "yes")]
    assert read(tmp_path, write_tmx(tmp_path, tmx([unit]))) == [("ja", ("yes", "yeah"))]


def test_tmx_formatting_is_no_text_and_line_ends_are_layout(tmp_path: Path) -> None:
    source = '<bpt i="1">&lt;b&gt;</bpt>fett<ept i="1">&lt;/b&gt;</ept> <hi>und</hi>\n   rot'
    described = write_tmx(tmp_path, tmx([[("de", source), ("en", "bold")]]))
    assert read(tmp_path, described)[0].source == "fett und rot"


def test_tmx_in_utf_16_is_read_as_it_declares(tmp_path: Path) -> None:
    text = tmx([[("de", "schön"), ("en", "nice")]]).replace("UTF-8", "UTF-16")
    (tmp_path / "m.tmx.gz").write_bytes(gzip.compress(text.encode("utf-16")))
    assert read(tmp_path, part("tmx", "m.tmx.gz")) == [("schön", ("nice",))]


@pytest.mark.parametrize(
    ("encoding", "reason"),
    [("koi9", "unknown encoding: koi9"), ("gb2312", "multi-byte encodings are not supported")],
)
def test_tmx_in_an_encoding_that_cannot_be_read_is_an_error_with_file_line_and_remedy(
    tmp_path: Path, encoding: str, reason: str
) -> None:
    text = tmx([[("de", "a"), ("en", "b")]]).replace("UTF-8", encoding)
    told = rf"m\.tmx, line 1: {reason}; convert the file to UTF-8"
    with pytest.raises(SimtError, match=told):
        read(tmp_path, write_tmx(tmp_path, text, is_dirty=True))


def test_tmx_longer_than_a_piece_of_reading_is_read_whole(tmp_path: Path) -> None:
    units = [[("de", f"Satz {n}"), ("en", f"sentence {n}")] for n in range(3000)]
    pairs = read(tmp_path, write_tmx(tmp_path, tmx(units)))
    assert pairs == as_references([(f"Satz {n}", f"sentence {n}") for n in range(3000)])


@pytest.mark.parametrize(
    "head",
    [
        '<!DOCTYPE tmx [<!ENTITY a "aaaa"><!ENTITY b "&a;&a;&a;">]>',
        '<!DOCTYPE tmx [<!ENTITY a SYSTEM "file:///etc/passwd">]>',
        '<!DOCTYPE tmx [<!ENTITY % a SYSTEM "http://127.0.0.1/x.dtd"> %a;]>',
    ],
)
def test_tmx_that_defines_entities_is_refused(tmp_path: Path, head: str) -> None:
    described = write_tmx(tmp_path, tmx([[("de", "x"), ("en", "y")]], head), is_dirty=True)
    with pytest.raises(SimtError, match=r"m\.tmx, line 2: defines the entity"):
        read(tmp_path, described)


def test_tmx_with_an_entity_that_nobody_defines_is_an_error_and_not_a_gap(tmp_path: Path) -> None:
    described = write_tmx(tmp_path, tmx([[("de", "a&nbsp;b"), ("en", "y")]]))
    with pytest.raises(SimtError, match="unknown entity"):
        read(tmp_path, described)


def test_tmx_drops_of_a_dirty_part_are_counted(tmp_path: Path) -> None:
    units = [
        [("de", "a"), ("en", "b")],
        [("de", "a")],
        [("de", "a"), ("de", "c"), ("en", "b")],
        [("de", " "), ("en", "b")],
        [("de", "&nosuch;"), ("en", "b")],
    ]
    drops: Counter[str] = Counter()
    assert read(tmp_path, write_tmx(tmp_path, tmx(units), is_dirty=True), drops) == [("a", ("b",))]
    assert drops == {"missing side": 1, "several sources": 1, "empty side": 1, "unknown entity": 1}


def test_tmx_cut_off_is_an_error_even_if_dirty(tmp_path: Path) -> None:
    text = tmx([[("de", "a"), ("en", "b")]])[:-20]
    with pytest.raises(SimtError, match=r"m\.tmx, line \d+: not well-formed"):
        read(tmp_path, write_tmx(tmp_path, text, is_dirty=True))


def test_tmx_without_units_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(SimtError, match="no sentence in"):
        read(tmp_path, write_tmx(tmp_path, tmx([])))


# Real text


@pytest.mark.parametrize(
    ("folder", "name", "source", "target", "count"),
    [
        ("wmt_deen_news", "valid", "de", "en", 3000),
        ("wmt_deen_news", "test", "de", "en", 2169),
        ("wmt16_enro", "valid", "en", "ro", 1999),
        ("iwslt15_envi", "test_raw", "en", "vi", 1268),
        ("3am_zhen", "valid", "zh", "en", 1000),
    ],
)
def test_real_text_is_read_line_by_line(
    shared_corpora: Path, folder: str, name: str, source: str, target: str, count: int
) -> None:
    described = part("plain", f"{name}.{source}.gz", f"{name}.{target}.gz")
    assert len(read(shared_corpora / folder, described)) == count


def test_real_test_set_through_sgm_has_the_checksum_of_its_plain_text(
    shared_corpora: Path, tmp_path: Path
) -> None:
    folder = shared_corpora / "wmt_deen_news"
    pairs = read(folder, part("plain", "test.de.gz", "test.en.gz"))
    for name, kind, texts in (
        ("s.sgm", "srcset", [pair.source for pair in pairs]),
        ("t.sgm", "refset", [pair.references[0] for pair in pairs]),
    ):
        (tmp_path / name).write_text(sgm(kind, [escape(t) for t in texts]), encoding="utf-8")
    again = read(tmp_path, part("sgm", "s.sgm", "t.sgm"))
    german = "".join(f"{pair.source}\n" for pair in again).encode()
    # newstest2015 as two public repositories have it (corpora.md, section 5).
    assert sha256(german).hexdigest().startswith("796cce52ab248469")


def test_real_text_through_every_format_is_the_same(shared_corpora: Path, tmp_path: Path) -> None:
    folder = shared_corpora / "wmt16_enro"
    pairs = read(folder, part("plain", "test.en.gz", "test.ro.gz"))
    stripped = [(pair.source.strip(), pair.references[0].strip()) for pair in pairs]
    units = [[("en", xml_escape(s)), ("ro", xml_escape(t))] for s, t in stripped]
    (tmp_path / "m.tsv").write_text(
        "".join(f"{source}\t{target}\n" for source, target in stripped), encoding="utf-8"
    )
    from_tmx = read(tmp_path, write_tmx(tmp_path, tmx(units)), languages=("en", "ro"))
    from_tsv = read(tmp_path, part("tsv", "m.tsv", columns=(0, 1)))
    assert from_tmx == from_tsv == as_references(stripped)
