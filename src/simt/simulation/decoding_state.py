"""The decoding state: where every sentence of a batch stands, and what it did on the way.

Shapes: S sentences of the batch, B of them that act now, M source tokens, N target tokens at most,
T decoder rows to compute.
"""

from collections.abc import Sequence

import torch
from torch import Tensor

from simt.corpus.ids import SpecialIds
from simt.methods import PolicyState
from simt.model.cache import DecoderCache, KeyValueCache, Projection
from simt.simulation.translations import Translation


class DecodingState:
    """The sentences of a batch while a policy translates them.

    ``max_length`` is how many tokens can be written at most, EOS included; ``seconds_per_token``
    is what a source token costs before any decoding.
    """

    def __init__(
        self,
        lengths_S: Tensor,
        max_length: int,
        layers: int,
        seconds_per_token: float,
        ids: SpecialIds,
    ) -> None:
        sentences, source_width, device = len(lengths_S), int(lengths_S.max()), lengths_S.device
        self.lengths_S = lengths_S
        self.written_S = torch.zeros_like(lengths_S)
        self.read_S = torch.zeros_like(lengths_S)
        self.decoded_S = torch.zeros_like(lengths_S)  # how much had been read in the last step
        self.is_done_S = torch.zeros_like(lengths_S, dtype=torch.bool)
        self._caches = [KeyValueCache(sentences) for _ in range(layers)]
        self._places_S = torch.arange(sentences, device=device)  # of the sentences in these
        self._places = sentences
        self._input_SN = torch.full((sentences, max_length + 1), ids.pad, device=device)
        self._input_SN[:, 0] = ids.start
        self._eos = ids.eos
        self._delays_SN = torch.zeros_like(self._input_SN)
        self._write_values_SN = torch.zeros(sentences, max_length, device=device)
        self._read_values_SM = torch.full((sentences, source_width), torch.nan, device=device)
        self._seconds_per_token = seconds_per_token
        self._spent_S = torch.zeros(sentences, dtype=torch.float64, device=device)
        self._elapsed_SN = torch.zeros(sentences, max_length, dtype=torch.float64, device=device)

    def for_policy(
        self, sentences_B: Tensor, first_B: Tensor, sources: Sequence[Projection]
    ) -> PolicyState:
        """What a policy knows of some sentences of which rows before ``first_B`` are cached."""
        written_B = self.written_S[sentences_B]
        asked_B1 = (written_B - first_B).unsqueeze(1)
        rows = int(asked_B1.max()) + 1
        width = int(first_B.max()) + rows
        places_B = self._places_S[sentences_B]
        cache = DecoderCache(first_B, asked_B1, width, places_B, sources, self._caches)
        positions_BT = cache.positions(rows)
        # Rows behind the newest are pads, wherever they lead.
        columns_BT = positions_BT.clamp(max=self._input_SN.shape[1] - 1)
        return PolicyState(
            decoder_input_BN=self._input_SN[sentences_B.unsqueeze(1), columns_BT],
            delays_BN=self._delays_SN[sentences_B, :width],
            written_B=written_B,
            read_B=self.read_S[sentences_B],
            source_lengths_B=self.lengths_S[sentences_B],
            cache=cache,
        )

    def forget_all_but(self, sentences_B: Tensor) -> None:
        """Gives up cached rows of other sentences, once that frees half of the memory or more."""
        if 2 * len(sentences_B) > self._places:
            return
        for cache in self._caches:
            cache.select(self._places_S[sentences_B])
        self._places = len(sentences_B)
        self._places_S[sentences_B] = torch.arange(self._places, device=sentences_B.device)

    def add_time(self, sentences_B: Tensor, seconds: float) -> None:
        """Shares out what a call took among its sentences."""
        self._spent_S[sentences_B] += seconds / len(sentences_B)

    def write(self, sentences_B: Tensor, tokens_B: Tensor, value_B: Tensor) -> None:
        """Writes a token for each of the sentences; those with EOS are done."""
        written_B, read_B = self.written_S[sentences_B], self.read_S[sentences_B]
        self._input_SN[sentences_B, written_B + 1] = tokens_B
        self._delays_SN[sentences_B, written_B] = read_B
        self._write_values_SN[sentences_B, written_B] = value_B
        elapsed_B = self._spent_S[sentences_B] + read_B * self._seconds_per_token
        self._elapsed_SN[sentences_B, written_B] = elapsed_B
        self.written_S[sentences_B] = written_B + 1
        self.is_done_S[sentences_B] = tokens_B == self._eos

    def read(self, sentences_B: Tensor, value_B: Tensor) -> None:
        """Reads one token more of each of the sentences."""
        self._read_values_SM[sentences_B, self.read_S[sentences_B]] = value_B
        self.read_S[sentences_B] += 1

    def translations(self, indices: Sequence[int]) -> list[Translation]:
        """The finished sentences, which are those of the given numbers in their split."""
        tensors = (
            self._input_SN[:, 1:],
            self._delays_SN,
            self._write_values_SN,
            self._elapsed_SN,
            self._read_values_SM,
        )
        columns = zip(
            indices, self.written_S.tolist(), *(each.tolist() for each in tensors), strict=True
        )
        return [
            Translation(
                index=index,
                tokens=tuple(tokens[:written]),
                delays=tuple(delays[:written]),
                write_values=tuple(write_values[:written]),
                read_values=tuple(
                    None if value != value else value
                    for value in read_values[: delays[written - 1]]
                ),
                elapsed_s=tuple(elapsed[:written]),
            )
            for index, written, tokens, delays, write_values, elapsed, read_values in columns
        ]
