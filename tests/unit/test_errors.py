"""Messages that a person can read, whatever they quote."""

from simt.errors import SimtError, short


def test_short_message_is_as_it_was_written() -> None:
    message = "params.yaml has 1 problem:\n  a.b: 'Größe γ' is not possible; there are 1, 2"
    assert str(SimtError(message)) == message


def test_long_value_is_quoted_by_its_ends() -> None:
    quoted = short("a" * 10**6 + "z")
    assert len(quoted) <= 80
    assert quoted.startswith("aaa")
    assert quoted.endswith("z")


def test_long_line_keeps_its_remedy() -> None:
    said = str(SimtError(f"{'x' * 10**6} is wrong; write a number"))
    assert len(said) <= 1000
    assert said.endswith("is wrong; write a number")


def test_many_lines_are_counted_and_the_last_ones_kept() -> None:
    said = str(SimtError("\n".join(map(str, range(1000))))).splitlines()
    assert said[:2] == ["0", "1"]
    assert said[-4:] == [f"  … and {1000 - (len(said) - 1)} more lines …", "997", "998", "999"]


def test_many_long_lines_are_no_long_message() -> None:
    assert len(str(SimtError("\n".join(["y" * 999] * 30)))) < 8000


def test_message_cannot_steer_the_terminal() -> None:
    assert str(SimtError("\x1b[2J\r\u202ename\ud800")) == r"\x1b[2J\r\u202ename\ud800"
