"""The Transformer that every method trains: tensors, masks and shapes, and nothing else."""
