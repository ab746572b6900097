"""How fast sentences are decoded, by their length and the size of a batch."""

import statistics
import time
from collections.abc import Sequence
from typing import Any

import torch

from simt.corpus.ids import EOS, SPECIALS
from simt.methods import Knob, Method, Policy
from simt.model.transformer import Transformer
from simt.settings import DecodingSettings
from simt.simulation.loop import BATCH_SENTENCES, simulate

_SEED = 0


def bench_decode(
    method: Method,
    model: Transformer,
    knob: Knob,
    *,
    source_tokens: Sequence[int] = (10, 20, 40, 80),
    batch_sentences: Sequence[int] = (1, 16, BATCH_SENTENCES),
    repetitions: int = 3,
) -> list[dict[str, Any]]:
    """One row for each length and size of a batch: sentences a second, median and extremes.

    The sentences are random, and random references of the same length are forced, so that it is
    known how much is read and written, whatever the model has learned.
    """
    policy = method.policy(model, knob)
    rows = []
    for tokens in source_tokens:
        for batch in batch_sentences:
            sentences = max(4, min(batch, BATCH_SENTENCES))
            speeds = sorted(
                sentences / _seconds(policy, model, sentences, tokens, batch)
                for _ in range(repetitions)
            )
            rows.append(
                {
                    "knob": knob,
                    "source_tokens": tokens,
                    "batch_sentences": batch,
                    "sentences_per_second": round(statistics.median(speeds), 1),
                    "slowest": round(speeds[0], 1),
                    "fastest": round(speeds[-1], 1),
                    "repetitions": repetitions,
                }
            )
    return rows


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
