"""Encodings of source prefixes that grow while a sentence is being translated.

Shapes: B sentences, M source tokens, J longest prefix, D width.
"""

from dataclasses import dataclass

import torch
from torch import Tensor

from simt.model.network import Network


@dataclass(eq=False)
class PrefixEncodings:
    """The source side of some sentences, of which more and more is known.

    A "uni" encoder sees each sentence once, its prefixes are slices. A "bi" encoder must see each
    prefix anew; those that did not grow since the last call are not encoded again.
    """

    network: Network
    source_BM: Tensor
    memory_BMD: Tensor
    encoded_B: Tensor  # how many tokens memory_BMD was made from

    @classmethod
    def start(
        cls, network: Network, source_BM: Tensor, source_lengths_B: Tensor
    ) -> "PrefixEncodings":
        """Sentences of which nothing has been read."""
        if network.encoder == "uni":
            memory_BMD = network.encode(source_BM, source_lengths_B)
            return cls(network, source_BM, memory_BMD, source_lengths_B)
        memory_BMD = network.output.weight_VD.new_zeros(*source_BM.shape, network.width)
        return cls(network, source_BM, memory_BMD, torch.zeros_like(source_lengths_B))

    def memory(self, read_B: Tensor) -> Tensor:
        """States of the first ``read_B`` tokens of each sentence, (B, J, D), garbage beyond."""
        if self.network.encoder == "bi":
            self._encode_changed(read_B)
        return self.memory_BMD[:, : int(read_B.max())]

    def _encode_changed(self, read_B: Tensor) -> None:
        changed = (read_B != self.encoded_B).nonzero().squeeze(1)
        if len(changed):
            longest = int(read_B[changed].max())
            source = self.source_BM[changed, :longest]
            self.memory_BMD[changed, :longest] = self.network.encode(source, read_B[changed])
            self.encoded_B = read_B.clone()

    def select(self, rows: Tensor) -> "PrefixEncodings":
        """The same for some of the sentences, in the order of ``rows``."""
        return PrefixEncodings(
            self.network, self.source_BM[rows], self.memory_BMD[rows], self.encoded_B[rows]
        )
