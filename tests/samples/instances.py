"""Instances from keywords: tests say what matters to them, and no more."""

from dataclasses import fields
from typing import Any

from simt.instances import Hypothesis, Instance, SplitSentence, make_instance
from simt.params import Knob

_OF_SENTENCE = {field.name for field in fields(SplitSentence)}


def instance_from(
    *, knob: Knob | None = None, ms_per_word: float | None = None, **values: Any
) -> Instance:
    """The instance of a sentence and a hypothesis whose fields are given together."""
    of_sentence = {name: value for name, value in values.items() if name in _OF_SENTENCE}
    of_hypothesis = {name: value for name, value in values.items() if name not in _OF_SENTENCE}
    return make_instance(
        SplitSentence(**of_sentence), Hypothesis(**of_hypothesis), knob, ms_per_word
    )
