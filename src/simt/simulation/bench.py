"""How fast sentences are decoded: by method, length, and how many are decoded together."""

import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from statistics import median

import torch

from simt.corpus.ids import EOS, SPECIALS
from simt.methods import Knob, Method, Policy, method_of
from simt.model.transformer import Transformer, Vocabulary
from simt.params import Params
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
        knob = self.knob if isinstance(self.knob, str) else f"{self.knob:g}"
        middle, low, high = self.gain
        return (
            f"{self.run:<14} {knob:>5} {self.source_tokens:>7} {self.one_by_one:>11.1f} "
            f"{self.batched:>9.1f}   {middle:.1f} [{low:.1f}, {high:.1f}]"
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
        method, model, knob = _untrained(params, pair, size, name, words)
        policy = method.policy(model, knob)
        for tokens in SOURCE_TOKENS:
            yield measure_speed(name, knob, policy, model, tokens, repetitions)


def measure_speed(
    name: str,
    knob: Knob,
    policy: Policy,
    model: Transformer,
    tokens: int,
    repetitions: int,
    sentences: int = BATCH_SENTENCES,
    alone: int = 8,
) -> Speed:
    """One row: ``sentences`` in one batch against some of them one by one, in turns.

    The sentences are random, and random references of the same length are forced, so that it is
    known how much is read and written, whatever the model has learned.
    """
    turns = [
        (
            alone / _seconds(policy, model, alone, tokens, 1),
            sentences / _seconds(policy, model, sentences, tokens, sentences),
        )
        for _ in range(repetitions)
    ]
    gains = [batched / single for single, batched in turns]
    return Speed(
        run=name,
        knob=knob,
        source_tokens=tokens,
        one_by_one=median(single for single, _ in turns),
        batched=median(batched for _, batched in turns),
        gain=(median(gains), min(gains), max(gains)),
    )


def _untrained(
    params: Params, pair: str, size: str | None, name: str, words: int
) -> tuple[Method, Transformer, Knob]:
    settings = named_settings(params, pair, name, size)
    method = method_of(settings)
    model = method.build(
        settings.model,
        Vocabulary(words, words, is_joint=True),
        settings.training.dropout,
        torch.Generator().manual_seed(_SEED),
    )
    knobs = params.knobs(pair, settings.method, settings.variant)
    return method, model.eval(), knobs[len(knobs) // 2]


def _seconds(policy: Policy, model: Transformer, sentences: int, tokens: int, batch: int) -> float:
    generator = torch.Generator().manual_seed(_SEED)
    sides = []
    for embedding_VD in (model.source_embedding_VD, model.target_embedding_VD):
        shape = (sentences, tokens - 1)
        ids = torch.randint(len(SPECIALS), embedding_VD.shape[0], shape, generator=generator)
        sides.append([[*row, EOS] for row in ids.tolist()])
    settings = DecodingSettings(
        max_target_tokens=tokens, forbid_eos_before_source_end=False, ms_per_word=400
    )
    started = time.perf_counter()
    simulate(model, [policy], sides[0], settings, sides[1], batch)
    return time.perf_counter() - started
