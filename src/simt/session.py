"""One sentence, word by word: source text in, words of the translation out when they are final."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from simt.corpus.growing import Delay, SourceText, TargetText, Written, text_of
from simt.corpus.subwords import Subwords
from simt.corpus.text import Tokeniser
from simt.methods import Method, Model
from simt.methods.policy import ScheduledPolicy
from simt.params import Knob
from simt.settings import DecodingSettings
from simt.simulation.loop import GreedyWriter
from simt.simulation.stream import Event, TokenStream


@dataclass(frozen=True, eq=False)
class Translator:
    """A model with all that it takes to translate text."""

    method: Method
    model: Model
    source_subwords: Subwords
    target_subwords: Subwords
    source_tokeniser: Tokeniser
    target_tokeniser: Tokeniser
    decoding: DecodingSettings


@dataclass(frozen=True)
class Act:
    """A READ of a source piece or a WRITE of a target piece, and the value that decided it.

    ``value`` is None where the policy was not asked, or only counts.
    """

    is_write: bool
    piece: str
    value: float | None
    ms: float


class Session:
    """The translation of one sentence while its source comes in; it never changes what it said."""

    def __init__(self, translator: Translator, knob: Knob) -> None:
        policy = translator.method.policy(translator.model, knob)
        network = translator.model.network
        self._translator = translator
        self._only_counts = isinstance(policy, ScheduledPolicy)
        self._stream = TokenStream(network, policy, GreedyWriter(translator.decoding, network.ids))
        self.has_ended = False
        self.source = SourceText(translator.source_tokeniser, translator.source_subwords)
        self.target = TargetText(translator.target_tokeniser, translator.target_subwords)

    def push(self, text: str) -> list[Written]:
        """The words that are final now that one more source word is known, or several."""
        return [one for one in self.follow(text) if isinstance(one, Written)]

    def finish(self) -> list[Written]:
        """The words that are left when the source has ended."""
        return [one for one in self.follow(None) if isinstance(one, Written)]

    def follow(self, text: str | None) -> Iterator[Act | Written]:
        """All that is done with some more source text, as it is done; None is the end.

        Where the translation has ended, nothing is; the source still counts.
        """
        assert not self.has_ended
        if text is None:
            yield from self._end()
            return
        for word in self._translator.source_tokeniser.respell(text).split():
            yield from self._shown(self._stream.push(self.source.push(word)))

    def _end(self) -> Iterator[Act | Written]:
        self.has_ended = True
        if self.source.words:  # nothing is not a sentence
            yield from self._shown(self._stream.push(self.source.finish()))
            yield from self._shown(self._stream.finish())

    def _shown(self, events: Iterable[Event]) -> Iterator[Act | Written]:
        for event in events:
            if event.token is None:
                yield self._act(event, self.source.piece(event.read))
            else:
                yield self._act(event, self._translator.target_subwords.piece(event.token))
                yield from self._written(event, event.token)

    def _act(self, event: Event, piece: str) -> Act:
        ms = 1000 * event.seconds
        self.target.spend(ms)
        return Act(event.token is not None, piece, self._value(event), ms)

    def _written(self, event: Event, token: int) -> list[Written]:
        delay = Delay(self.source.words_within(event.read), event.read)
        self.target.write(token, delay, self._value(event))
        return self.target.release(len(self.source.words))

    def _value(self, event: Event) -> float | None:
        return None if self._only_counts else event.value

    @property
    def is_done(self) -> bool:
        """Whether the translation has ended, be it before its source."""
        return self._stream.is_done

    @property
    def is_cut_off(self) -> bool:
        """Whether the translation has the greatest length that there is."""
        return len(self.tokens) > self._translator.decoding.max_target_tokens

    @property
    def tokens(self) -> list[int]:
        """What has been written, EOS included."""
        return self._stream.tokens

    @property
    def token_delays(self) -> list[int]:
        """Source tokens read when each token was written."""
        return self._stream.delays

    @property
    def text(self) -> str:
        """What has been said."""
        return text_of(self.target.words)
