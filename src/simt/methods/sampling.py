"""Random counts for the methods that draw some.

Shapes: B sentences.
"""

import torch
from torch import Tensor


def sample_up_to(limits_B: Tensor, generator: torch.Generator) -> Tensor:
    """Uniform integers from 1 to each limit, both included; drawn on the CPU for any device."""
    uniform_B = torch.rand(limits_B.shape, generator=generator, dtype=torch.float64, device="cpu")
    uniform_B = uniform_B.to(limits_B.device, non_blocking=True)  # the host does not wait
    drawn_B = (uniform_B * limits_B).long() + 1
    return torch.minimum(drawn_B, limits_B)
