"""Boolean attention masks, True = visible.

Shapes: B sentences, M source tokens, N rows that look at them. A mask for
``scaled_dot_product_attention`` is (B, 1, N, M); an axis of 1 means "for all alike".
"""

import torch
from torch import Tensor


def length_mask(lengths_B: Tensor, width: int) -> Tensor:
    """True at the first ``lengths_B`` positions of each row, (B, width)."""
    return torch.arange(width, device=lengths_B.device) < lengths_B.unsqueeze(1)


def key_mask(lengths_B: Tensor, width: int) -> Tensor | None:
    """Hides what is beyond each length from all rows, (B, 1, 1, width); None hides nothing.

    Only a CPU is asked whether there is anything to hide: a GPU would have to wait.
    """
    if lengths_B.device.type == "cpu" and bool((lengths_B >= width).all()):
        return None
    return length_mask(lengths_B, width)[:, None, None, :]


def visible_mask(visible_BN: Tensor, width: int) -> Tensor:
    """Row n of sentence b sees the first ``visible_BN[b, n]`` positions, (B, 1, N, width).

    Every count must be at least 1: a row that sees nothing has no attention.
    """
    return (torch.arange(width, device=visible_BN.device) < visible_BN.unsqueeze(2)).unsqueeze(1)


def causal_mask(width: int, device: torch.device) -> Tensor:
    """Row n sees positions up to its own, (1, 1, width, width)."""
    return torch.ones(1, 1, width, width, dtype=torch.bool, device=device).tril()


def causal_mask_without_pads(real_BT: Tensor) -> Tensor:
    """Row n sees real positions up to its own, (B, 1, T, T).

    Real rows see the same with ``causal_mask`` alone; this is for whoever looks at pad rows.
    """
    return causal_mask(real_BT.shape[1], real_BT.device) & real_BT[:, None, None, :]
