"""The learning rate of each update."""

import math

from simt.settings import TrainingSettings


def learning_rate(settings: TrainingSettings, update: int) -> float:
    """A linear rise to the peak, then a fall with the square root of the update (from 1)."""
    warmup = settings.warmup_updates
    if update < warmup:
        rise = settings.peak_lr - settings.warmup_initial_lr
        return settings.warmup_initial_lr + rise * update / warmup
    return settings.peak_lr * math.sqrt(warmup / update)
