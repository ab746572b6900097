"""Sentences of ten words, right or half right, whose BLEU and lagging are known."""

from collections.abc import Iterable
from pathlib import Path

from simt.instances import EOS_TOKEN, Instance, write_instances
from simt.params import Knob, Params
from simt.products import INSTANCES_FILE
from simt.runs import Point, corpus_folder
from simt.scoring.points import score_point
from tests.samples.instances import instance_from

REFERENCE = "a b c d e f g h i j"
GOOD, BAD = REFERENCE, "a b c d e z z z z z"

# Five of ten words, four of nine pairs, three of eight triples, two of seven quadruples; the
# lengths are equal: 100 · (5/10 · 4/9 · 3/8 · 2/7) ** (1/4).
BAD_BLEU = 100 * (1 / 42) ** 0.25


def decoded(index: int, knob: Knob, prediction: str, delay: int) -> Instance:
    """Ten words, each written after ``delay`` tokens more than wait-0 would have read."""
    tokens = [*prediction.split(), EOS_TOKEN]
    source = [*"zyxwvutsrq", EOS_TOKEN]
    delays = [min(delay + place, len(source)) for place in range(len(tokens))]
    return instance_from(
        index=index, knob=knob, source=" ".join(source[:-1]), source_tokens=source,
        references=[REFERENCE], prediction=prediction, tokens=tokens, token_delays=delays,
        reference_token_length=11,
    )  # fmt: skip


def write_point(
    params: Params,
    run: str,
    instances: Iterable[Instance],
    seed: int = 1,
    pair: str = "tiny-deen",
) -> Path:
    """Decode and score a run on the test set of a pair."""
    folder = Point.parse(f"{pair}/{run}/seed{seed}/test").folder
    write_instances(folder / INSTANCES_FILE, list(instances))
    settings = params.scoring.model_copy(update={"comet": ()})
    score_point(settings, "test", corpus_folder(pair), folder, None, 1)
    return folder
