"""Settings of a training that takes a moment."""

from simt.settings import TrainingSettings

TRAINING = TrainingSettings.of(
    {
        "updates": 12,
        "batch_tokens": 400,
        "micro_tokens": 200,
        "dropout": 0.1,
        "label_smoothing": 0.1,
        "peak_lr": 2e-3,
        "warmup_updates": 4,
        "warmup_initial_lr": 1e-7,
        "adam_betas": [0.9, 0.98],
        "adam_epsilon": 1e-8,
        "weight_decay": 1e-4,
        "clip_norm": 0,
        "max_tokens": 60,
        "validate_every_updates": 4,
        "early_stop_validations": 0,
        "snapshot_every_updates": 3,
        "average_snapshots": 2,
        "precision": "fp32",
        "compile": False,
    }
)
