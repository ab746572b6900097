"""The learning rate of each update."""

import math

from simt.settings import TrainingSettings


def learning_rate(settings: TrainingSettings, update: int) -> float:
    """A linear rise to the peak, then a fall (updates count from 1).

    The fall is with the inverse square root of the update, or linear to 0 behind the last one.
    """
    warmup, peak = settings.warmup_updates, settings.peak_lr
    if update < warmup:
        rise = peak - settings.warmup_initial_lr
        return settings.warmup_initial_lr + rise * update / warmup
    if settings.lr_schedule == "linear":
        behind = settings.updates + 1
        return peak * (behind - update) / (behind - warmup)
    return peak * math.sqrt(warmup / update)
