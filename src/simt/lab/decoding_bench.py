"""How fast sentences are decoded: by method, length, and how many are decoded together."""

import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from statistics import median

import torch

from simt.corpus.ids import SPECIAL_IDS, SPECIALS
from simt.knobs import knob_text
from simt.methods import Method, Model, Policy, build_model, method_of
from simt.model.network import Network, VocabularySizes
from simt.params import Knob, Params
from simt.runs import named_settings
from simt.settings import DecodingSettings
from simt.simulation.loop import BATCH_SENTENCES, simulate

RUNS = ("offline/bi", "waitk/k3", "multipath/uni", "itst/uni", "hmt/l2-k4", "sm2/uni", "sm2/bi")
SOURCE_TOKENS = (10, 20, 40, 80)
_SEED = 0


@dataclass(frozen=True)
class Speed:
    """Sentences a second of one run at one length: alone, and in batches.

    ``gain`` has the median, the smallest and the largest ratio of both over all repetitions.
    """

    run: str
    knob: Knob
    source_tokens: int
    one_by_one: float
    batched: float
    gain: tuple[float, float, float]

    def text(self) -> str:
        """A row of the table under ``HEAD``."""
        middle, low, high = self.gain
        return (
            f"{self.run:<14} {knob_text(self.knob):>5} {self.source_tokens:>7} "
            f"{self.one_by_one:>11.1f} {self.batched:>9.1f}   {middle:.1f} [{low:.1f}, {high:.1f}]"
        )


HEAD = (
    f"{'run':<14} {'knob':>5} {'tokens':>7} {'one by one':>11} {'batched':>9}   gain [min, max]\n"
    f"{'':<28} sentences a second; batches of {BATCH_SENTENCES}"
)


def bench_decoding(
    params: Params, pair: str, size: str | None, names: Sequence[str], words: int, repetitions: int
) -> Iterator[Speed]:
    """The speed of each run such as ``sm2/bi``, at the middle of its knob values."""
    for name in names:
        method, model, knob = untrained_model(params, pair, size, name, words)
        policy = method.policy(model, knob)
        for tokens in SOURCE_TOKENS:
            yield measure_speed(name, knob, policy, model.network, tokens, repetitions)


def measure_speed(  # noqa: PLR0913 - what is measured, each by its name
    name: str,
    knob: Knob,
    policy: Policy,
    network: Network,
    tokens: int,
    repetitions: int,
    sentences: int = BATCH_SENTENCES,
    alone: int = 8,
) -> Speed:
    """One row: ``sentences`` in one batch against some of them one by one, in alternation.

    The sentences are random, and random references of the same length are forced, so that it is
    known how much is read and written, whatever the model has learned.
    """
    trials = [
        (
            alone / _seconds(policy, network, alone, tokens, 1),
            sentences / _seconds(policy, network, sentences, tokens, sentences),
        )
        for _ in range(repetitions)
    ]
    gains = [batched / single for single, batched in trials]
    return Speed(
        run=name,
        knob=knob,
        source_tokens=tokens,
        one_by_one=median(single for single, _ in trials),
        batched=median(batched for _, batched in trials),
        gain=(median(gains), min(gains), max(gains)),
    )


def untrained_model(
    params: Params, pair: str, size: str | None, name: str, words: int
) -> tuple[Method, Model, Knob]:
    """A run such as ``sm2/bi`` with random weights, and the middle of its knob values.

    Unlike what a person gets who names no knob, ``full`` is one of the values.
    """
    settings = named_settings(params, pair, name, size)
    method = method_of(settings)
    model = build_model(
        method,
        settings.model,
        VocabularySizes(words, words, is_joint=True, ids=SPECIAL_IDS),
        settings.training.dropout,
        torch.Generator().manual_seed(_SEED),
    )
    knobs = params.knobs(pair, settings.method, settings.variant)
    return method, model.eval(), knobs[len(knobs) // 2]


def _seconds(policy: Policy, network: Network, sentences: int, tokens: int, batch: int) -> float:
    sources, references = random_pairs(network, sentences, tokens)
    settings = DecodingSettings(
        max_target_tokens=tokens, forbid_eos_before_source_end=False, ms_per_word=400
    )
    started = time.perf_counter()
    simulate(network, [policy], sources, settings, references, batch)
    return time.perf_counter() - started


def random_pairs(
    network: Network, sentences: int, tokens: int
) -> tuple[list[list[int]], list[list[int]]]:
    """Sources and references of as many random tokens each, EOS included."""
    generator = torch.Generator().manual_seed(_SEED)
    sides = []
    for _ in range(2):  # both have the same number of words
        shape = (sentences, tokens - 1)
        ids = torch.randint(len(SPECIALS), network.output.classes, shape, generator=generator)
        sides.append([[*row, network.ids.eos] for row in ids.tolist()])
    return sides[0], sides[1]
