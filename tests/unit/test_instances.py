"""Instances: from tokens to words, in and out of files, and what is refused."""

import gzip
import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from simt.corpus import ids
from simt.corpus.text import join_words
from simt.errors import SimtError
from simt.instances import (
    EOS_TOKEN,
    SIMULEVAL_FIELDS,
    Instance,
    WordsOf,
    group_by_knob,
    read_groups,
    read_instances,
    text_word_ends,
    word_delays,
    write_instances,
    write_simuleval_logs,
)
from simt.pieces import CONTINUES, join_pieces, word_ends
from tests.samples.instances import instance_from

# What SimulEval 1.1.4 writes for a text agent.
SIMULEVAL_LINE: dict[str, Any] = {
    "index": 0,
    "prediction": "x y z",
    "delays": [3, 4, 4],
    "elapsed": [0, 0, 0],
    "prediction_length": 3,
    "reference": "x y z",
    "source": "a b c d",
    "source_length": 4,
}


def instance_of(
    source: str = "Hal@@ lo , Welt !",
    target: str = "Hel@@ lo , wor@@ ld !",
    delays: Sequence[int] = (2, 3, 3, 4, 5, 5, 6),
    **options: Any,
) -> Instance:
    given_values: dict[str, Any] = {
        "index": 0,
        "knob": 0.5,
        "source": "Hallo, Welt!",
        "source_tokens": [*source.split(), EOS_TOKEN],
        "references": ["Hello, world!"],
        "prediction": "Hello, world!",
        "tokens": [*target.split(), EOS_TOKEN],
        "token_delays": delays,
    }
    return instance_from(**given_values | options)


def write_lines(folder: Path, *lines: str) -> Path:
    path = folder / "instances.log"
    path.write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")
    return path


def line_with(**changes: Any) -> str:
    return json.dumps(SIMULEVAL_LINE | changes)


def line_without(field: str) -> str:
    return json.dumps({key: value for key, value in SIMULEVAL_LINE.items() if key != field})


def complaint(folder: Path, *lines: str, unit: Any = "word") -> str:
    with pytest.raises(SimtError) as error:
        list(read_instances(write_lines(folder, *lines), unit))
    return str(error.value)


# --- words ---------------------------------------------------------------------------------------


def test_marks_of_pieces_are_those_of_the_corpus() -> None:
    assert ids.SPECIALS[ids.EOS] == EOS_TOKEN


def test_words_end_at_pieces_that_do_not_go_on() -> None:
    assert word_ends(["Hal@@", "lo", "Welt"]) == (2, 3)


def test_a_word_that_never_ends_ends_with_the_sentence() -> None:
    assert word_ends(["Welt", "Hal@@"]) == (1, 2)
    assert join_pieces(["Welt", "Hal@@", "l@@"]) == ["Welt", "Hall"]


def test_a_target_word_waits_for_its_last_piece_and_complete_source_words() -> None:
    # Source: Hal@@ lo Welt = words complete after 2 and 3 tokens. The target word of two pieces is
    # written at delays 1 and 2; the next at 2, when "Welt" has not been read.
    assert word_delays((2, 3), (2, 3), [1, 2, 2]) == [1, 1]


def test_a_source_word_half_read_does_not_count() -> None:
    assert word_delays((2,), (1,), [1]) == [0]


def test_detokenised_words_hold_their_punctuation() -> None:
    pieces = ("Hel@@", "lo", ",", "wor@@", "ld", "!")
    assert text_word_ends(pieces, "Hello, world!") == (3, 6)


def test_words_are_found_in_text_that_was_normalised() -> None:
    pieces = ('"', "Hal@@", "lo", "Welt", '"', ",", "sagt", "er", "...")
    assert text_word_ends(pieces, "„Hallo Welt“, sagt er…") == (3, 6, 7, 9)


def test_an_empty_hypothesis_has_no_words() -> None:
    empty = instance_of(target="", prediction="", delays=[1])
    assert (empty.delays, empty.prediction_length) == ((), 0)


words_of = st.lists(
    st.text(st.characters(categories=["L", "N", "P"]), min_size=1, max_size=6), max_size=12
)


@given(words_of, st.data())
def test_joined_words_end_where_their_pieces_do(words: list[str], data: st.DataObject) -> None:
    """Whatever the detokeniser puts together, every word ends with a piece of its own."""
    pieces: list[str] = []
    for word in words:
        if word.endswith(CONTINUES):
            return
        cut = data.draw(st.integers(0, len(word) - 1))
        pieces += [f"{word[:cut]}{CONTINUES}", word[cut:]] if cut else [word]
    text = join_words(words, "en")
    ends = text_word_ends(tuple(pieces), text)
    assert len(ends) == len(text.split())
    assert list(ends) == sorted(set(ends))
    assert not ends or ends[-1] == len(pieces)
    rebuilt = [
        "".join(join_pieces(pieces[start:end]))
        for start, end in zip((0, *ends), ends, strict=False)
    ]
    assert rebuilt == text.split()


@given(st.text(max_size=20), st.lists(st.text("abcä„ ", min_size=1, max_size=4), max_size=8))
def test_words_of_any_text_get_ends_that_never_go_back(text: str, raw_pieces: list[str]) -> None:
    pieces = tuple(piece.strip() or "x" for piece in raw_pieces)
    ends = text_word_ends(pieces, text)
    assert len(ends) == len(text.split())
    assert list(ends) == sorted(ends)
    assert all(0 <= end <= len(pieces) for end in ends)


def test_an_instance_counts_delays_in_words() -> None:
    # "Hello," ends with its third token, written when 3 tokens = "Hallo," had been read.
    one = instance_of()
    assert one.delays == (1, 2)
    assert one.source_length == 2
    assert one.token_delays == (2, 3, 3, 4, 5, 5, 6)


def test_words_of_the_tokeniser_can_be_chosen() -> None:
    one = instance_of(words=WordsOf(source="tokens", target="tokens"))
    assert one.source_length == 4
    assert one.delays == (2, 2, 4, 4)


def test_elapsed_adds_the_time_of_computing_in_words_of_speech() -> None:
    one = instance_of(token_elapsed_ms=[10, 20, 100, 110, 120, 200, 210], ms_per_word=200.0)
    assert one.elapsed == (1.5, 3.0)


def test_a_tokenised_prediction_is_made_of_the_words() -> None:
    assert instance_of().tokenised_prediction == "Hello , world !"


# --- files ---------------------------------------------------------------------------------------


def full_instance(index: int = 3, knob: Any = 0.25) -> Instance:
    return instance_of(
        index=index,
        knob=knob,
        references=["Hello, world!", "Hi!"],
        tokenised_references=["Hello , world !", "Hi !"],
        reference_token_length=5,
        write_confidence=[0.5, None, 1 / 3, 0.9, 0.8, 0.7, None],
        read_confidence=[None, 0.1, 0.2, 0.3, 0.4, 0.5],
        token_elapsed_ms=[1.0, 2.0, 3.5, 4.0, 5.0, 6.0, 7.0],
        ms_per_word=400,
        words=WordsOf(target="tokens"),
        is_forced=True,
    )


def test_instances_written_and_read_back_are_the_same(tmp_path: Path) -> None:
    path = tmp_path / "instances.jsonl"
    instances = [full_instance(), instance_of(), instance_of(knob="full"), instance_of(knob=None)]
    assert write_instances(path, iter(instances)) == 4
    assert list(read_instances(path)) == instances


def test_the_file_begins_with_the_fields_of_simuleval() -> None:
    assert tuple(json.loads(full_instance().as_json()))[:8] == SIMULEVAL_FIELDS


def test_nothing_is_written_if_decoding_fails(tmp_path: Path) -> None:
    def decode() -> Any:
        yield instance_of()
        raise RuntimeError("out of memory")

    with pytest.raises(RuntimeError):
        write_instances(tmp_path / "instances.jsonl", decode())
    assert list(tmp_path.iterdir()) == []


def test_a_file_of_another_system_needs_no_field_of_ours(tmp_path: Path) -> None:
    (one,) = read_instances(write_lines(tmp_path, line_with(metric={"AL": 3.0})))
    assert one.delays == (3, 4, 4)
    assert one.knob is None
    assert one.all_references == ("x y z",)


def test_the_source_of_speech_may_be_a_list(tmp_path: Path) -> None:
    file = write_lines(tmp_path, line_with(source=["a.wav", "samplerate: 16000"]))
    (one,) = read_instances(file, "ms")
    assert one.source == "a.wav samplerate: 16000"


def test_groups_hold_the_sentences_in_order(tmp_path: Path) -> None:
    instances = [instance_of(index=i, knob=k) for i in (2, 0, 1) for k in (0.5, "full")]
    write_instances(tmp_path / "file", instances)
    groups = read_groups(tmp_path / "file")
    assert list(groups) == [0.5, "full"]
    assert [one.index for one in groups["full"]] == [0, 1, 2]


def test_every_knob_value_must_have_the_same_sentences() -> None:
    instances = [instance_of(index=0, knob=1), instance_of(index=1, knob=1), instance_of(knob=2)]
    with pytest.raises(SimtError, match=r"knob 2\.0 lacks 1 sentence, the first is 1"):
        group_by_knob(instances)


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("source", "a b c e"),
        ("reference", "x y"),
        ("references", ["x y z", "y"]),
        ("tokenised_references", ["x y @-@ z"]),
        ("reference_token_length", 9),
    ],
)
def test_every_knob_value_must_have_the_same_text(
    tmp_path: Path, field: str, value: object
) -> None:
    path = write_lines(tmp_path, line_with(knob=1), line_with(knob=2, **{field: value}))
    expected = rf"sentence 0 has another {field} at knob 2\.0 than at knob 1\.0"
    with pytest.raises(SimtError, match=expected):
        read_groups(path)


def test_simuleval_gets_a_folder_for_each_of_two_close_knobs(tmp_path: Path) -> None:
    knobs = (0.5, 0.50000001, 1e6, 1000001.0, 1e-7)
    groups = group_by_knob([instance_of(knob=knob) for knob in knobs])
    logs = write_simuleval_logs(groups, tmp_path)
    names = ["0.5", "0.50000001", "1000000", "1000001", "1e-07"]
    assert [log.parent.name for log in logs.values()] == names
    assert all(len(log.read_text().splitlines()) == 1 for log in logs.values())


def test_simuleval_gets_a_log_of_its_own_fields_for_each_knob(tmp_path: Path) -> None:
    groups = group_by_knob([instance_of(knob=3), instance_of(knob="full")])
    logs = write_simuleval_logs(groups, tmp_path)
    assert logs == {3.0: tmp_path / "3" / "instances.log", "full": tmp_path / "full/instances.log"}
    assert set(json.loads(logs["full"].read_text())) == set(SIMULEVAL_FIELDS)


# --- broken files --------------------------------------------------------------------------------


def test_a_complaint_names_the_file_and_the_line(tmp_path: Path) -> None:
    message = complaint(tmp_path, line_with(), line_with(index=1), "{")
    assert message.startswith(f"{tmp_path / 'instances.log'}, line 3: not JSON")


@pytest.mark.parametrize(
    "line", ["x", "[1, 2]", "{", "3", '"text"', line_with()[:-1], "[" * 10_000]
)
def test_a_line_that_is_no_object_is_refused(tmp_path: Path, line: str) -> None:
    assert "line 1: not" in complaint(tmp_path, line)


@pytest.mark.parametrize(
    "field", ["index", "prediction", "delays", "reference", "source", "source_length"]
)
def test_a_missing_field_is_named(tmp_path: Path, field: str) -> None:
    assert f"line 1: no field '{field}'" in complaint(tmp_path, line_without(field))


@pytest.mark.parametrize("field", ["elapsed", "prediction_length"])
def test_what_follows_from_others_may_be_missing(tmp_path: Path, field: str) -> None:
    assert len(list(read_instances(write_lines(tmp_path, line_without(field))))) == 1


@pytest.mark.parametrize(
    ("changes", "says"),
    [
        ({"index": "0"}, "index"),
        ({"index": True}, "index"),
        ({"index": -1}, "index"),
        ({"prediction": 3}, "prediction"),
        ({"prediction": None}, "prediction"),
        ({"delays": 3}, "delays: not a list of numbers"),
        ({"delays": [1, "2", 3]}, 'delays: "2" is not a number'),
        ({"delays": [1, None, 3]}, "delays: null is not a number"),
        ({"delays": [True, 2, 3]}, "delays: true is not a number"),
        ({"delays": [-1, 2, 3]}, "delays: -1 is negative"),
        ({"delays": [1, 3, 2]}, "delays: number 3 goes back from 3 to 2"),
        ({"delays": [1, 2, 5]}, "a delay of 5 in a source of length 4"),
        ({"delays": [1, 2]}, "2 delays, but prediction_length is 3"),
        ({"prediction_length": 4}, "3 delays, but prediction_length is 4"),
        ({"prediction": "x y"}, "3 delays for 2 words"),
        ({"elapsed": [0, 0]}, "3 delays, but 2 elapsed"),
        ({"elapsed": [0, 2, 1]}, "elapsed: number 3 goes back"),
        ({"source_length": "4"}, "source_length"),
        ({"source_length": -4}, "source_length: -4 is negative"),
        ({"source_length": 10**400}, "source_length"),
        ({"reference": ["a"]}, "reference: a list; several go into references, and the first into"),
        ({"knob": "fast"}, "knob"),
        ({"references": []}, "references"),
        ({"references": ["y", "z"]}, "reference is not the first of references"),
        ({"tokenised_references": ["x", "y"]}, "2 tokenised_references of 1 reference"),
        ({"source_length": 5}, "source_length is 5 for 4 words"),
    ],
)
def test_a_wrong_value_is_named(tmp_path: Path, changes: dict[str, Any], says: str) -> None:
    message = complaint(tmp_path, line_with(**changes))
    assert "line 1: " in message
    assert says in message


@pytest.mark.parametrize(
    ("value", "says"),
    [
        ("NaN", "NaN is not a number"),
        ("Infinity", "a number is too large"),
        ("1e999", "a number is too large"),
    ],
)
def test_a_number_that_is_none_is_refused(tmp_path: Path, value: str, says: str) -> None:
    line = line_with().replace("[3, 4, 4]", f"[3, 4, {value}]")
    assert f"line 1: delays: {says}" in complaint(tmp_path, line)


def broken_tokens(**changes: Any) -> str:
    return json.dumps(json.loads(full_instance().as_json()) | changes)


@pytest.mark.parametrize(
    ("changes", "says"),
    [
        ({"token_delays": [1, 2]}, "2 token_delays for 7 tokens"),
        ({"token_delays": [1, 2, 3, 4, 5, 6, 7]}, "a token delay of 7 in a source of 6 tokens"),
        ({"token_delays": [1, 2, 3, 4, 5, 6, 5.5]}, "token_delays"),
        ({"token_delays": None}, "without token_delays: the three go together"),
        ({"tokens": "Hel@@ lo , wor@@ ld !"}, "tokens does not end with <eos>"),
        ({"source_tokens": ""}, "source_tokens does not end with <eos>"),
        ({"write_confidence": [0.5]}, "1 value of write_confidence for 7 tokens"),
        ({"read_confidence": [0.5]}, "1 value of read_confidence for 6 tokens read"),
        ({"token_elapsed_ms": []}, "0 values of token_elapsed_ms for 7 tokens"),
        ({"write_confidence": ["high"] * 7}, "write_confidence.0"),
        ({"delays": [1, 2, 2, 2]}, "delay 2 is 2, but 1 by token_delays"),
    ],
)
def test_tokens_that_do_not_agree_are_refused(
    tmp_path: Path, changes: dict[str, Any], says: str
) -> None:
    assert says in complaint(tmp_path, broken_tokens(**changes))


def test_a_sentence_occurs_once_for_each_knob_value(tmp_path: Path) -> None:
    lines = [line_with(knob=1.0), line_with(knob=2.0), line_with(knob=1.0)]
    message = complaint(tmp_path, *lines)
    assert "line 3: sentence 0 at knob 1.0 is in line 1 already" in message


def test_text_that_is_not_utf8_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "instances.log"
    path.write_bytes(line_with(source="ü", delays=[]).encode() + b"\n\xfc\n")
    with pytest.raises(SimtError, match=r"line 1|line 2: not UTF-8"):
        list(read_instances(path))


def test_half_a_character_is_refused(tmp_path: Path) -> None:
    assert "line 1: not JSON" in complaint(tmp_path, line_with().replace('"x y z"', '"\\ud800"', 1))


def test_a_byte_order_mark_is_no_harm(tmp_path: Path) -> None:
    path = tmp_path / "instances.log"
    path.write_bytes(b"\xef\xbb\xbf" + line_with().encode())
    assert len(list(read_instances(path))) == 1


def test_blank_lines_at_the_end_are_no_harm(tmp_path: Path) -> None:
    assert len(list(read_instances(write_lines(tmp_path, line_with(), "", "  ")))) == 1


def test_a_blank_line_between_sentences_is_refused(tmp_path: Path) -> None:
    message = complaint(tmp_path, line_with(), "", line_with(index=1))
    assert "line 2: blank, with sentences after it" in message


def test_a_compressed_file_is_read_whatever_its_name(tmp_path: Path) -> None:
    path = tmp_path / "log"
    path.write_bytes(gzip.compress(f"{line_with()}\n{line_with(index=1)}\n".encode()))
    assert [one.index for one in read_instances(path)] == [0, 1]


@pytest.mark.parametrize("end", [15, -9, -3])
def test_a_compressed_file_that_is_cut_off_is_one_message(tmp_path: Path, end: int) -> None:
    path = tmp_path / "log.gz"
    path.write_bytes(gzip.compress(f"{line_with()}\n".encode())[:end])
    with pytest.raises(SimtError, match="cannot be read: Compressed file ended"):
        list(read_instances(path))


def test_a_compressed_file_that_is_damaged_is_one_message(tmp_path: Path) -> None:
    path = tmp_path / "log.gz"
    content = bytearray(gzip.compress(f"{line_with()}\n".encode()))
    content[-5] ^= 255  # of the checksum
    path.write_bytes(content)
    with pytest.raises(SimtError, match="cannot be read: CRC check failed"):
        list(read_instances(path))


def test_a_file_without_line_ends_is_not_read_whole(tmp_path: Path) -> None:
    path = tmp_path / "log.gz"
    path.write_bytes(gzip.compress(b"x" * (1 << 25)))
    with pytest.raises(SimtError, match="line 1: too long for a sentence"):
        list(read_instances(path))


def test_a_missing_file_is_said_to_be_missing(tmp_path: Path) -> None:
    with pytest.raises(SimtError, match="cannot be read: No such file"):
        list(read_instances(tmp_path / "nowhere"))


def test_an_empty_file_is_refused(tmp_path: Path) -> None:
    with pytest.raises(SimtError, match="is empty"):
        read_groups(write_lines(tmp_path))


def test_delays_of_characters_are_counted_as_such(tmp_path: Path) -> None:
    line = line_with(prediction="ab c")
    assert len(list(read_instances(write_lines(tmp_path, line), "char"))) == 1
    assert "3 delays for 2 words" in complaint(tmp_path, line)
    assert "3 delays for 1 word of" in complaint(tmp_path, line_with(prediction="ab"))
    assert "3 delays for 4 characters" in complaint(
        tmp_path, line_with(prediction="ab cd"), unit="char"
    )


def test_delays_of_something_else_are_not_counted(tmp_path: Path) -> None:
    line = line_with(prediction="▁ab c")
    assert len(list(read_instances(write_lines(tmp_path, line), "other"))) == 1


@given(st.binary(max_size=200))
def test_any_bytes_are_read_or_refused_with_a_line_number(
    tmp_path_factory: pytest.TempPathFactory, content: bytes
) -> None:
    path = tmp_path_factory.mktemp("fuzz") / "file"
    path.write_bytes(content)
    if not content.strip():
        assert list(read_instances(path)) == []
        return
    with pytest.raises(SimtError) as error:
        list(read_instances(path))
    assert f"{path}, line " in str(error.value) or content.startswith(b"\x1f\x8b")
