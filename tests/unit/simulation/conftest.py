"""Models of this size are fastest with one thread."""

import torch

torch.set_num_threads(1)
