"""Knob values as people and files write them."""

from typing import Any

from simt.params import Knob


def knob_text(knob: Knob) -> str:
    """A knob value as a person writes it."""
    return knob if isinstance(knob, str) else f"{knob:g}"


def read_knob(value: Any) -> Knob | None:
    """The knob value that a file of scores has: a number, ``full``, or none."""
    return value if value in ("full", None) else float(value)
