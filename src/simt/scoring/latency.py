"""Latency: AL, LAAL, YAAL, AP, DAL, ATD, CW and the longest wait, under every definition in use.

``delays[i]`` (g) is how many source units had been read when target unit i was written, X the
source length, Y the target length. docs/methods.md, "Latency metrics" has the formulas and who
counts what:

- ``bpe_eos_hyp``: tokens, EOS counted on both sides, Y = what was written. The paper's.
- ``bpe_noeos_hyp``: tokens without EOS; a delay never exceeds the source without EOS.
- ``word_ref``: words, Y = words of the reference. SimulEval's.

Degenerate sentences, in every definition:

- Nothing was written, or there was nothing to read: the sentence has no latency. It is left out
  of the mean (SimulEval does so, too) and counted in ``Score.left_out``. Where EOS counts, an empty
  output is one token and has a latency.
- The output ended before the source did: every written unit counts in AL; CW divides the last
  delay, not the whole source (HMT's code divides the whole source).
- The whole source first: AL is X, whatever was written. One unit: AL is its delay.
- YAAL also leaves out sentences of which nothing was written before the whole source was read, and
  in all others the words that were: it says how a system is simultaneous where it is, and a few
  early words make it small. It is therefore shown with how many sentences it counts, and with the
  test for such policies (``degeneracy``).
- SimulEval counts an empty reference as one word, and one more word for each extra blank; in
  characters, it counts the blanks of a reference, but not those of an output.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise, takewhile
from math import isnan, nan
from typing import Any, Literal, NamedTuple

from simt.errors import SimtError
from simt.instances import Instance, Number, Unit
from simt.lagging import average_lagging
from simt.scoring.blanks import EAST_ASIAN, SOUTH_EAST_ASIAN, is_without_blanks
from simt.scoring.scores import Score, make_signature, mean
from simt.settings import LatencyMode
from simt.wording import count

# --- one sentence -------------------------------------------------------------------------------


def length_adaptive_average_lagging(
    delays: Sequence[Number], source_length: Number, target_length: Number
) -> float:
    """Average lagging behind a translator that writes as much as the longer of both.

    Polák et al. (2022), Papi et al. (2022): writing too much does not lower it.
    """
    return average_lagging(delays, source_length, max(len(delays), target_length))


def yet_another_average_lagging(
    delays: Sequence[Number], source_length: Number, target_length: Number
) -> float:
    """Length-adaptive average lagging of the units written before the whole source was read.

    Polák et al. (2025); not a number where there is none.
    """
    slope = source_length / max(len(delays), target_length)
    early = takewhile(lambda delay: delay < source_length, delays)
    lags = [delay - written * slope for written, delay in enumerate(early)]
    return sum(lags) / len(lags) if lags else nan


def average_proportion(
    delays: Sequence[Number], source_length: Number, target_length: Number
) -> float:
    """Mean fraction of the source that had been read at each target unit.

    Cho and Esipova (2016). With the length of a shorter reference it can exceed 1.
    """
    return sum(delays) / (source_length * target_length)


def differentiable_average_lagging(delays: Sequence[Number], source_length: Number) -> float:
    """Average lagging in which every unit also takes the time of X / Y to write.

    Cherry and Foster (2019); always with the length of what was written. The official SM² and
    ITST code cuts off the fractions at each step and gives less.
    """
    slope = source_length / len(delays)
    lag, paced = 0.0, 0.0
    for written, delay in enumerate(delays):
        paced = max(delay, paced + slope) if written else delay
        lag += paced - written * slope
    return lag / len(delays)


def average_token_delay(delays: Sequence[Number]) -> float:
    """Mean distance in time from each unit written to the source unit it is paired with.

    Kano et al. (2023), as SimulEval's scorer does for text: to write takes as long as to read, and
    the i-th unit goes with the i-th of the source, minus how far the output was ahead of the
    source when what is written at the same time was begun, but with none that was not read.
    (The command of SimulEval 1.1.4 takes every log for one of speech, and prints another number.)
    """
    total, now, ahead, last_delay = 0.0, 0.0, 0.0, 0.0
    for written, delay in enumerate(delays):
        if written and delay != last_delay:
            ahead = max(0.0, written - last_delay)
        now = max(delay, now) + 1
        total += now - min(written + 1 - ahead, delay)
        last_delay = delay
    return total / len(delays)


def waits(delays: Sequence[Number]) -> list[Number]:
    """The lengths of the runs of READs, each ended by a WRITE."""
    steps = [after - before for before, after in pairwise([0, *delays])]
    return [step for step in steps if step > 0]


def consecutive_wait(delays: Sequence[Number]) -> float:
    """Mean length of a run of READs (Gu et al. 2017)."""
    runs = waits(delays)
    return sum(runs) / len(runs) if runs else 0.0


def longest_wait(delays: Sequence[Number]) -> float:
    """Length of the longest run of READs."""
    return float(max(waits(delays), default=0))


# --- definitions --------------------------------------------------------------------------------


@dataclass(frozen=True)
class Definition:
    """What is counted: units, EOS, whose length Y is, and whether computing takes time."""

    unit: Literal["token", "word"]
    eos: Literal["both", "no"]
    length: Literal["hyp", "ref"]
    is_computation_aware: bool = False


MODES: dict[LatencyMode, Definition] = {
    "bpe_eos_hyp": Definition("token", "both", "hyp"),
    "bpe_noeos_hyp": Definition("token", "no", "hyp"),
    "word_ref": Definition("word", "no", "ref"),
}
DEFINITIONS = (
    *MODES.values(),
    Definition("word", "no", "hyp"),
    Definition("token", "both", "ref"),
    Definition("token", "no", "ref"),
    Definition("word", "no", "ref", is_computation_aware=True),
    Definition("word", "no", "hyp", is_computation_aware=True),
)


class Lengths(NamedTuple):
    """What the formulas get: delays, X, the reference's length (None: not known)."""

    delays: Sequence[Number]
    source: Number
    reference: int | None


def lengths_of(instance: Instance, definition: Definition, unit: Unit = "word") -> Lengths:
    """The delays and lengths of a sentence under a definition; see ``why_not`` before."""
    if definition.unit == "word":
        delays = instance.elapsed if definition.is_computation_aware else instance.delays
        return Lengths(delays, instance.source_length, _reference_length(instance, unit))
    assert instance.token_delays is not None
    source, reference = len(instance.source_pieces), instance.reference_token_length
    if definition.eos == "both":
        return Lengths(instance.token_delays, source, reference)
    capped = [min(delay, source - 1) for delay in instance.token_delays[:-1]]
    return Lengths(capped, source - 1, None if reference is None else max(reference - 1, 1))


def _reference_length(instance: Instance, unit: Unit) -> int | None:
    """The length of a reference as SimulEval counts it; None in a unit that nobody knows.

    Where words are not written between blanks, they are those of the tokeniser.
    """
    if unit == "other":
        return None
    if unit == "char":
        return max(len(instance.reference.strip()), 1)  # SimulEval itself divides by 0
    return len(instance.reference_in_words.split(" "))


class Metric(NamedTuple):
    """A formula, and whose length it takes for Y: nobody's, the hypothesis's, the longer of both,
    or that which the definition names.
    """

    name: str
    length: Literal["none", "hyp", "max", "defined"]
    compute: Callable[[Lengths, Number], float]
    is_of_units: bool = False  # delays must be counts, neither times nor computation-aware


METRICS = (
    Metric("AL", "defined", lambda given, y: average_lagging(given.delays, given.source, y)),
    Metric(
        "LAAL",
        "max",
        lambda given, y: length_adaptive_average_lagging(given.delays, given.source, y),
    ),
    Metric(
        "YAAL",
        "max",
        lambda given, y: yet_another_average_lagging(given.delays, given.source, y),
    ),
    Metric("AP", "defined", lambda given, y: average_proportion(given.delays, given.source, y)),
    Metric(
        "DAL", "hyp", lambda given, _: differentiable_average_lagging(given.delays, given.source)
    ),
    Metric("ATD", "none", lambda given, _: average_token_delay(given.delays), is_of_units=True),
    Metric("CW", "none", lambda given, _: consecutive_wait(given.delays)),
    Metric("MaxCW", "none", lambda given, _: longest_wait(given.delays)),
)
_METRICS = {metric.name: metric for metric in METRICS}
DEGENERACY = "DSPTV"  # degenerate simultaneous policy test value, of a corpus
MOST_DEGENERACY = 20  # percentage points that are no reason to warn


def _value(given: Lengths, definition: Definition, metric: Metric) -> float:
    if not given.delays or not given.source:
        return nan
    target: Number = len(given.delays)
    if _needs_reference(definition, metric):
        assert given.reference is not None
        target = given.reference
    return metric.compute(given, target)


def _needs_reference(definition: Definition, metric: Metric) -> bool:
    return metric.length == "max" or (metric.length == "defined" and definition.length == "ref")


# --- a set of sentences ---------------------------------------------------------------------------


def latency_scores(
    instances: Sequence[Instance], definition: Definition, unit: Unit = "word"
) -> list[Score]:
    """Every metric under one definition: the plain mean over sentences.

    What takes the reference's length is left out where that is not known. ``unit`` is what the
    delays of another system's file are counted in.
    """
    reason = why_not(instances, definition)
    if reason is not None:
        raise SimtError(reason)
    given = [lengths_of(instance, definition, unit) for instance in instances]
    is_reference_known = why_no_reference(instances, definition, unit) is None and all(
        lengths.reference is not None for lengths in given
    )
    scores = []
    for metric in METRICS:
        if not _applies(metric, definition, unit):
            continue
        if is_reference_known or not _needs_reference(definition, metric):
            scores.append(_mean(instances, given, definition, metric, unit))
            if metric.name == "YAAL":
                scores.append(_degeneracy_score(given, definition, unit))
    return scores


def _applies(metric: Metric, definition: Definition, unit: Unit) -> bool:
    """Whether a metric is for delays of this kind."""
    if definition.is_computation_aware:
        return metric.length != "none" and metric.name != "YAAL"
    return not metric.is_of_units or _unit_name(definition, unit) not in ("ms", "other")


class Earliness(NamedTuple):
    """What a sentence gives to the test of a policy: units written early, and as YAAL expects."""

    early: int  # before the whole source was read
    written: int
    expected: float  # source units that would be left when each unit is written
    read: Number  # source units of sentences with a YAAL


def _earliness(given: Lengths) -> Earliness:
    delays, source, reference = given
    assert reference is not None
    early = sum(delay < source for delay in delays)
    lagging = yet_another_average_lagging(delays, source, reference) if delays else nan
    if isnan(lagging):
        return Earliness(early, len(delays), 0.0, 0)
    return Earliness(early, len(delays), max(0.0, source - lagging), source)


def degeneracy(sentences: Sequence[Earliness]) -> float | None:
    """How far a corpus is from what its YAAL promises, in percentage points.

    Polák et al. (2025): the fraction of units that a system with this YAAL would write before the
    whole source is read (EFSW), minus the fraction that was (SWF). None without a YAAL.
    """
    early, written, expected, read = (sum(column) for column in zip(*sentences, strict=True))
    return 100 * (expected / read - early / written) if read else None


def is_degenerate(score: Score) -> bool:
    """Whether a test value warns of its policy; see ``degeneracy``."""
    return score.value is not None and abs(score.value) > MOST_DEGENERACY


def _degeneracy_score(given: Sequence[Lengths], definition: Definition, unit: Unit) -> Score:
    """The test value of the policy behind a YAAL."""
    return Score.of(
        column(DEGENERACY, definition, unit),
        signature(DEGENERACY, definition, unit),
        [_earliness(lengths) for lengths in given],
        degeneracy,
    )


def _mean(
    instances: Sequence[Instance],
    given: Sequence[Lengths],
    definition: Definition,
    metric: Metric,
    unit: Unit,
) -> Score:
    values = [_value(lengths, definition, metric) for lengths in given]
    return Score.of(
        column(metric.name, definition, unit),
        signature(metric.name, definition, unit, _rate(instances, definition)),
        [None if isnan(value) else value for value in values],
        mean,
    )


def column(metric: str, definition: Definition, unit: Unit = "word") -> str:
    """The name of a latency in a table: ``al_token``, ``max_cw_word``, ``al_ca_word``."""
    name = "max_cw" if metric == "MaxCW" else metric.lower()
    aware = "_ca" if definition.is_computation_aware else ""
    return f"{name}{aware}_{_unit_name(definition, unit)}"


def signature(
    metric: str, definition: Definition, unit: Unit = "word", rate: str | None = None
) -> str:
    """How a latency was computed, for example ``AL|unit:token|eos:both|length:hyp|ref:no|...``."""
    chosen = "max" if metric == DEGENERACY else _METRICS[metric].length
    length = definition.length if chosen == "defined" else chosen
    details = {
        "unit": _unit_name(definition, unit),
        "eos": definition.eos,
        "length": "no" if length == "none" else length,
        "ref": "first" if length in ("ref", "max") else "no",
    }
    if definition.is_computation_aware:
        details["ca"] = rate or "elapsed"
    return make_signature(metric, **details)


def _unit_name(definition: Definition, unit: Unit) -> str:
    return unit if definition.unit == "word" else definition.unit


def _rate(instances: Sequence[Instance], definition: Definition) -> str | None:
    """The rate of speech behind the elapsed times, where the file says it."""
    if not definition.is_computation_aware:
        return None
    rates = {instance.ms_per_word for instance in instances}
    rate = rates.pop() if len(rates) == 1 else None
    return None if rate is None else f"{rate:g}ms"


def why_not(instances: Sequence[Instance], definition: Definition) -> str | None:
    """Why the instances have no latency under a definition, or None."""
    if not instances:
        return "there is no sentence"
    if definition.unit == "token":
        if any(instance.token_delays is None for instance in instances):
            return "no latency in tokens: not every sentence has token_delays"
        is_known = all(instance.reference_token_length is not None for instance in instances)
        if definition.length == "ref" and not is_known:
            return "no latency in tokens against references: reference_token_length is missing"
    if definition.is_computation_aware:
        if any(len(instance.elapsed) != len(instance.delays) for instance in instances):
            return "no computation-aware latency: not every sentence has elapsed times"
        if not any(any(instance.elapsed) for instance in instances):
            return "no computation-aware latency: every elapsed time is 0"
    return None


def why_no_reference(
    instances: Sequence[Instance], definition: Definition, unit: Unit
) -> str | None:
    """Why lengths of references do not count under a definition, or None."""
    if definition.unit == "token" or unit == "char":
        return None
    if unit == "other":
        return "no latency against references: their length in the unit of the delays is not known"
    text = "".join(instance.reference_in_words for instance in instances)
    if not is_without_blanks(text, EAST_ASIAN + SOUTH_EAST_ASIAN):
        return None
    return (
        "no latency against references: they are without blanks, as Chinese, Japanese or Thai is "
        "written, and each would count as one word. Put blanks between their words, as between "
        "those of the predictions; or, if the log has a delay for every character, give --unit char"
    )


def note_on_references(instances: Sequence[Instance], unit: Unit) -> str | None:
    """What to know about the lengths of references, or None."""
    empty = sum(not instance.reference.strip() for instance in instances)
    if not empty or unit == "other":
        return None
    of_all = f"{empty} of {count(len(instances), 'reference')}"
    verb, noun = "is" if empty == 1 else "are", "character" if unit == "char" else "word"
    return f"{of_all} {verb} empty, which counts as one {noun}, as in SimulEval"


class LatencyTable(NamedTuple):
    """One log under every definition side by side, and which definitions it lacks the data for."""

    rows: list[Score]
    missing: list[str]


def latency_table(instances: Sequence[Instance], unit: Unit = "word") -> LatencyTable:
    """Every metric under every definition, each signature once, those of a metric together."""
    rows: dict[str, Score] = {}
    missing: dict[str, None] = {}
    for definition in DEFINITIONS:
        reason = why_not(instances, definition)
        if reason is not None:
            missing[reason] = None
            continue
        if reason := why_no_reference(instances, definition, unit):
            missing[reason] = None
        for score in latency_scores(instances, definition, unit):
            rows.setdefault(score.signature, score)
    in_order = [metric.name for metric in METRICS]
    in_order.insert(in_order.index("YAAL") + 1, DEGENERACY)
    by_metric = sorted(rows.values(), key=lambda row: in_order.index(row.signature.split("|")[0]))
    return LatencyTable(by_metric, list(missing))


def point_latencies(
    instances: Sequence[Instance], mode: LatencyMode, unit: Unit = "word"
) -> list[Score]:
    """The latencies of a point in both units: by ``mode``, and by the usual one in the other unit.

    In a file without tokens, only words; its mode must then be ``word_ref``. Computation-aware
    lagging is added where there are elapsed times.
    """
    chosen = MODES[mode]
    other = MODES["word_ref" if chosen.unit == "token" else "bpe_eos_hyp"]
    scores = latency_scores(instances, chosen, unit)
    if why_not(instances, other) is None:
        scores += latency_scores(instances, other, unit)
    aware = replace(MODES["word_ref"], is_computation_aware=True)
    if why_not(instances, aware) is None:
        name = column("AL", aware, unit)
        scores += [one for one in latency_scores(instances, aware, unit) if one.name == name]
    return scores


def usual_mode(groups: Mapping[Any, Sequence[Instance]]) -> LatencyMode:
    """The paper's definition where every sentence has tokens, and SimulEval's elsewhere."""
    mode: LatencyMode = "bpe_eos_hyp"
    has_tokens = all(why_not(group, MODES[mode]) is None for group in groups.values())
    return mode if has_tokens else "word_ref"


def main_column(mode: LatencyMode, unit: Unit = "word") -> str:
    """The column of average lagging under a mode: the x-axis of the figures."""
    return column("AL", MODES[mode], unit)
