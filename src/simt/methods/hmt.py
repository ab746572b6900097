"""HMT: a hidden Markov model over the moments at which a token could be written.

docs/methods.md, "HMT".

Shapes: B sentences, M source tokens, N target tokens, K states of a target token, S = N·K states in
the order (1,1)…(1,K),(2,1)…, D width, J source tokens read, T target tokens without pads.
"""

import math
from dataclasses import dataclass

import torch
from torch import Tensor, nn

from simt.methods.losses import Loss, Smoothing, token_log_probs
from simt.methods.model import Model, NetworkNeeds, require_row_masks
from simt.methods.policy import Decision, Policy, PolicyState, RecomputingPolicy, numeric_knob
from simt.model.batch import Batch
from simt.model.cache import DecoderCache
from simt.model.layers import initialise_linear
from simt.model.masks import causal_mask, causal_mask_without_pads, visible_mask
from simt.model.network import Network
from simt.params import Knob
from simt.settings import ModelSettings
from simt.settings.methods.hmt import HmtSettings


def state_reads(rows: int, limits_B: Tensor, settings: HmtSettings) -> Tensor:
    """How many source tokens each state sees: t = clamp(L + i - 1 + k - 1, 1, limit), (B, N, K)."""
    device = limits_B.device
    i_N1 = torch.arange(rows, device=device).unsqueeze(1)
    reads_NK = settings.low + i_N1 + torch.arange(settings.states, device=device)
    return torch.minimum(reads_NK.clamp(min=1), limits_B[:, None, None])


def state_mask(reads_BS: Tensor) -> Tensor:
    """A state sees the states before it that know no more source than it does, (B, 1, S, S)."""
    knows_no_more = reads_BS.unsqueeze(1) <= reads_BS.unsqueeze(2)
    return causal_mask(reads_BS.shape[1], reads_BS.device) & knows_no_more.unsqueeze(1)


def some_states_mask(reads_BS: Tensor, states_BT: Tensor) -> Tensor:
    """The rows of ``state_mask`` for some of the states, (B, 1, T, S)."""
    knows_no_more = reads_BS.unsqueeze(1) <= reads_BS.gather(1, states_BT).unsqueeze(2)
    return visible_mask(states_BT + 1, reads_BS.shape[1]) & knows_no_more.unsqueeze(1)


class HmtModel(Model):
    """A network with several decoder states for each target token."""

    def __init__(self, network: Network) -> None:
        super().__init__(network)
        self.selection = nn.Linear(2 * network.width, 2, bias=False)

    def initialise(self, generator: torch.Generator) -> None:
        super().initialise(generator)
        initialise_linear(self.selection, generator)

    def decode_states(
        self,
        decoder_input_BN: Tensor,
        memory_BMD: Tensor,
        reads_BNK: Tensor,
        source_mask_BM: Tensor | None = None,
    ) -> Tensor:
        """Top states, (B, N, K, D); ``source_mask_BM`` also hides pads that ``reads_BNK`` shows."""
        reads_BS = reads_BNK.flatten(1)
        embedded_BND = self.network.embed_target(decoder_input_BN)
        embedded_BSD = embedded_BND.repeat_interleave(reads_BNK.shape[2], dim=1)
        cross_mask = visible_mask(reads_BS, memory_BMD.shape[1])
        if source_mask_BM is not None:
            cross_mask = cross_mask & source_mask_BM[:, None, None, :]
        states_BSD = self.network.decode_embedded(
            embedded_BSD, memory_BMD, cross_mask, state_mask(reads_BS)
        )
        return states_BSD.view(*reads_BNK.shape, self.network.width)

    def decode_newest_states(
        self,
        decoder_input_BN: Tensor,
        memory_BMD: Tensor,
        reads_BNK: Tensor,
        cache: DecoderCache,
    ) -> Tensor:
        """Top states of the newest token, (B, 1, K, D).

        The input begins where the cache ends, but ``reads_BNK`` is of all tokens.
        """
        states = reads_BNK.shape[2]
        embedded_BND = self.network.embed_target(decoder_input_BN, cache)
        embedded_BTD = embedded_BND.repeat_interleave(states, dim=1)
        cache = cache.repeated(states)
        reads_BS, states_BT = reads_BNK.flatten(1), cache.positions(embedded_BTD.shape[1])
        newest_BKD = self.network.decode_embedded(
            embedded_BTD,
            memory_BMD,
            visible_mask(reads_BS.gather(1, states_BT), memory_BMD.shape[1]),
            some_states_mask(reads_BS, states_BT),
            cache,
        )
        return newest_BKD.unsqueeze(1)

    def selection_log_probs(
        self, states_BNKD: Tensor, memory_BMD: Tensor, reads_BNK: Tensor
    ) -> tuple[Tensor, Tensor]:
        """log b and log(1 - b), b = probability to write from a state, (B, N, K) each.

        The last state of a token always writes; its log(1 - b) is never to be used.
        """
        with torch.autocast(states_BNKD.device.type, enabled=False):
            logits_BNK2 = self.selection_logits(states_BNKD.float(), memory_BMD.float(), reads_BNK)
            skip_BNK, select_BNK = logits_BNK2.log_softmax(3).unbind(3)
        return torch.cat(
            [select_BNK[..., :-1], torch.zeros_like(select_BNK[..., -1:])], 2
        ), skip_BNK

    def selection_logits(
        self, states_BNKD: Tensor, memory_BMD: Tensor, reads_BNK: Tensor
    ) -> Tensor:
        """Scores of not writing and writing, from a state and the mean of the source it sees."""
        of_state_2D, of_source_2D = self.selection.weight.chunk(2, dim=1)
        counts_M1 = torch.arange(1, memory_BMD.shape[1] + 1, device=memory_BMD.device).unsqueeze(1)
        source_BM2 = (memory_BMD @ of_source_2D.t()).cumsum(1) / counts_M1
        columns_BS2 = (reads_BNK.flatten(1) - 1).unsqueeze(2).expand(-1, -1, 2)
        source_BNK2 = source_BM2.gather(1, columns_BS2).view(*reads_BNK.shape, 2)
        logits_BNK2: Tensor = states_BNKD @ of_state_2D.t() + source_BNK2
        return logits_BNK2


@dataclass(frozen=True, eq=False)
class MarkovChain:
    """The hidden Markov chain over states: initial and transition probabilities, in logs."""

    initial_BK: Tensor
    transitions_BNKK: Tensor  # [b, i, k', k]: from state k' of token i to state k of token i + 1

    @classmethod
    def from_selection(
        cls, select_BNK: Tensor, skip_BNK: Tensor, reads_BNK: Tensor
    ) -> "MarkovChain":
        """The transition probabilities that log b and log(1 - b) make.

        A token is written from the first state that selects, beginning at the first one that
        knows no less source than the state before: s renormalised over the allowed states.
        """
        skipped_BNK = skip_BNK[..., :-1].cumsum(2)
        skipped_BNK = torch.cat([torch.zeros_like(select_BNK[..., :1]), skipped_BNK], dim=2)
        arrive_BNK = select_BNK + skipped_BNK
        allowed_BNKK = reads_BNK[:, 1:, None, :] >= reads_BNK[:, :-1, :, None]
        first_BNK1 = allowed_BNKK.byte().argmax(3, keepdim=True)
        before_BNK1 = skipped_BNK[:, 1:, None].expand_as(allowed_BNKK).gather(3, first_BNK1)
        transitions_BNKK = arrive_BNK[:, 1:, None, :] - before_BNK1
        return cls(arrive_BNK[:, 0], transitions_BNKK.masked_fill(~allowed_BNKK, -math.inf))

    def forward_log_probs(self, emissions_BNK: Tensor) -> tuple[Tensor, Tensor]:
        """log α with the emissions, and log π, the same without them; (B, N, K) each."""
        both_2BNK = torch.stack([emissions_BNK, torch.zeros_like(emissions_BNK)])
        current_2BK = both_2BNK[:, :, 0] + self.initial_BK
        rows = [current_2BK]
        for i, transition_BKK in enumerate(self.transitions_BNKK.unbind(1), start=1):
            arrived_2BK = (current_2BK.unsqueeze(3) + transition_BKK).logsumexp(2)
            current_2BK = arrived_2BK + both_2BNK[:, :, i]
            rows.append(current_2BK)
        alpha_BNK, pi_BNK = torch.stack(rows, dim=2).unbind(0)
        return alpha_BNK, pi_BNK


def sentence_log_likelihoods(alpha_BNK: Tensor, target_lengths_B: Tensor) -> Tensor:
    """log p of each target, summed over all ways to write it, (B,)."""
    sentences = torch.arange(alpha_BNK.shape[0], device=alpha_BNK.device)
    return alpha_BNK[sentences, target_lengths_B - 1].logsumexp(1)


def expected_lags(
    pi_BNK: Tensor, reads_BNK: Tensor, source_lengths_B: Tensor, target_mask_BN: Tensor, low: int
) -> Tensor:
    """Mean lag behind the earliest possible path, over the tokens that lag, (B,)."""
    lengths_B1 = source_lengths_B.unsqueeze(1)
    rows_N = torch.arange(pi_BNK.shape[1], device=pi_BNK.device)
    earliest_BN = torch.minimum(rows_N + low, lengths_B1)
    behind_BNK = reads_BNK - earliest_BN.unsqueeze(2)
    lag_BN = (pi_BNK.exp() * behind_BNK).sum(2) * target_mask_BN
    lagging_B = (lag_BN > 0).sum(1).clamp(min=1)
    return (lag_BN.sum(1) / lagging_B).abs()


@dataclass(frozen=True)
class SelectionRule:
    """WRITE from the first state that selects; READ while the newest state does not."""

    threshold: float
    settings: HmtSettings

    def min_read(self, written_B: Tensor, source_lengths_B: Tensor) -> Tensor:
        return torch.minimum((written_B + self.settings.low).clamp(min=1), source_lengths_B)

    def choose_state(self, select_BK: Tensor, state: PolicyState) -> tuple[Tensor, Tensor]:
        """Whether to write, and the state to write from (counted from 0), (B,) each.

        ``select_BK`` holds the probability of each state of the next token, 1 for the last.
        """
        written_B1, read_B1 = state.written_B.unsqueeze(1), state.read_B.unsqueeze(1)
        states_K = torch.arange(self.settings.states, device=select_BK.device)
        reads_BK = torch.minimum((written_B1 + self.settings.low + states_K).clamp(min=1), read_B1)
        follows_BK = reads_BK >= state.previous_delay_B.unsqueeze(1)
        selects_BK = (select_BK >= self.threshold) & follows_BK
        newest_B = self.newest_state(state)
        is_open_B = (newest_B < self.settings.states) & ~state.is_complete_B
        in_range_B1 = newest_B.clamp(0, self.settings.states - 1).unsqueeze(1)
        write_B = ~is_open_B | selects_BK.gather(1, in_range_B1).squeeze(1)
        return write_B, selects_BK.byte().argmax(1)

    def newest_state(self, state: PolicyState) -> Tensor:
        """The state that the newest source token opened, (B,); not below 0 once it may write."""
        return state.read_B - self.settings.low - state.written_B


@dataclass(frozen=True, eq=False)
class SelectionPolicy(RecomputingPolicy):
    """Asks the model from which of a token's states it would write."""

    model: HmtModel
    rule: SelectionRule

    def cached_prefix(self, written_B: Tensor, before_B: Tensor, read_B: Tensor) -> Tensor:
        """Once the last state of a token knew all it can, neither it nor one before it changes."""
        last_B = before_B - self.rule.settings.low - self.rule.settings.states + 1
        settled_B = torch.minimum((last_B + 1).clamp(min=0), written_B)
        return torch.where(before_B == read_B, written_B, settled_B)

    def decide(self, memory_BJD: Tensor, state: PolicyState) -> Decision:
        sentences = torch.arange(len(state.read_B), device=state.read_B.device)
        reads_BNK = state_reads(state.width, state.read_B, self.rule.settings)
        reads_B1K = reads_BNK[sentences, state.written_B].unsqueeze(1)
        states_BKD = self.newest_states(memory_BJD, state, reads_BNK)
        log_select_B1K, _ = self.model.selection_log_probs(
            states_BKD.unsqueeze(1), memory_BJD, reads_B1K
        )
        select_BK = log_select_B1K.squeeze(1).exp()
        write_B, chosen_B = self.rule.choose_state(select_BK, state)
        states_BD = states_BKD[sentences, chosen_B]
        newest_B = self.rule.newest_state(state).clamp(0, select_BK.shape[1] - 1)
        return Decision(
            logits=lambda rows: self.model.network.output.logits(states_BD[rows]),
            write_B=write_B,
            value_B=select_BK[sentences, newest_B],
        )

    def newest_states(self, memory_BJD: Tensor, state: PolicyState, reads_BNK: Tensor) -> Tensor:
        """Top states of the next token, (B, K, D)."""
        if state.cache is None:
            states_BNKD = self.model.decode_states(state.decoder_input_BN, memory_BJD, reads_BNK)
        else:
            states_BNKD = self.model.decode_newest_states(
                state.decoder_input_BN, memory_BJD, reads_BNK, state.cache
            )
        return state.newest(states_BNKD)


@dataclass(frozen=True)
class Hmt:
    """The likelihood of the target over all ways to write it, with a pull to the early ones."""

    settings: HmtSettings
    label_smoothing: float

    def needs(self, size: ModelSettings) -> NetworkNeeds:
        return NetworkNeeds("uni")

    def model(self, network: Network) -> HmtModel:
        require_row_masks(network, "HMT")
        return HmtModel(network)

    def loss(self, model: HmtModel, batch: Batch, update: int, generator: torch.Generator) -> Loss:
        return self.validation_loss(model, batch)

    def validation_loss(self, model: HmtModel, batch: Batch) -> Loss:
        """L_hmm + L_state + L_latency."""
        states_BNKD, select_BNK, skip_BNK, reads_BNK = self.run(model, batch)
        gold_TK = batch.gold_T.unsqueeze(1).expand(-1, self.settings.states)
        gold_log_probs, summed = token_log_probs(
            batch.tokens_of(states_BNKD).flatten(0, 1), model.network.output, gold_TK.flatten()
        )
        smoothing = Smoothing.over_all(self.label_smoothing, model.network.output.classes)
        emissions_BNK = self.spread(gold_log_probs.view(gold_TK.shape), batch)
        reads_BNK = torch.minimum(reads_BNK, batch.source_lengths_B[:, None, None])
        chain = MarkovChain.from_selection(select_BNK, skip_BNK, reads_BNK)
        return self.combine(
            batch, chain, emissions_BNK, smoothing.loss(gold_log_probs, summed), reads_BNK
        )

    def combine(
        self,
        batch: Batch,
        chain: MarkovChain,
        emissions_BNK: Tensor,
        state_losses: Tensor,
        reads_BNK: Tensor,
    ) -> Loss:
        """The weighted sum of the three losses."""
        alpha_BNK, pi_BNK = chain.forward_log_probs(emissions_BNK)
        hidden = -sentence_log_likelihoods(alpha_BNK, batch.target_lengths_B).sum()
        state = state_losses.sum() / self.settings.states
        latency = expected_lags(
            pi_BNK, reads_BNK, batch.source_lengths_B, batch.target_mask_BN, self.settings.low
        ).sum()
        total = hidden + self.settings.state_weight * state + self.settings.latency_weight * latency
        parts = {"hidden": hidden, "state": state, "latency": latency}
        parts = {name: part.detach() for name, part in parts.items()}
        return Loss(total, batch.target_tokens, parts)

    def run(self, model: HmtModel, batch: Batch) -> tuple[Tensor, Tensor, Tensor, Tensor]:
        """Top states, log b, log(1 - b) and how much source each state sees.

        The official code lets states see up to the padded width, so that pads enter the means
        of the source and decide which states see each other, though nobody attends to a pad.
        """
        width, rows = batch.source_BM.shape[1], batch.target_BN.shape[1]
        limits_B, encoder_mask, source_mask_BM = batch.source_lengths_B, None, None
        if self.settings.pads == "official":
            limits_B = torch.full_like(limits_B, width)
            source_mask_BM = batch.source_mask_BM
            encoder_mask = causal_mask_without_pads(source_mask_BM)
        reads_BNK = state_reads(rows, limits_B, self.settings)
        memory_BMD = model.network.encode(batch.source_BM, batch.source_lengths_B, encoder_mask)
        states_BNKD = model.decode_states(
            batch.decoder_input_BN, memory_BMD, reads_BNK, source_mask_BM
        )
        select_BNK, skip_BNK = model.selection_log_probs(states_BNKD, memory_BMD, reads_BNK)
        return states_BNKD, select_BNK, skip_BNK, reads_BNK

    def spread(self, rows_TK: Tensor, batch: Batch) -> Tensor:
        """Puts the values of real tokens where they belong in the batch; 0 at pads."""
        flat = rows_TK.new_zeros(batch.target_BN.numel(), rows_TK.shape[1])
        return flat.index_copy(0, batch.token_rows_T, rows_TK).view(*batch.target_BN.shape, -1)

    def policy(self, model: HmtModel, knob: Knob) -> Policy:
        threshold = numeric_knob("hmt", knob, "the probability to write at (0.5)")
        return SelectionPolicy(model, SelectionRule(threshold, self.settings))
