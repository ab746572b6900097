"""Training: updates, time and checkpoints, for any method."""
