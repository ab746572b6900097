"""An exported system as an agent of SimulEval, which is not installed with simt (1.1.4 is known).

    simuleval --agent-class simt.agent.SimtAgent --model exported/sm2-bi --knob 0.5 \\
        --source test.de --target test.en

For a Chinese target, add ``--eval-latency-unit char --sacrebleu-tokenizer zh``: docs/methods.md,
"Latency metrics: definitions".
"""

from argparse import ArgumentParser, Namespace

from simuleval.agents import TextToTextAgent
from simuleval.agents.actions import Action, ReadAction, WriteAction
from simuleval.agents.states import AgentStates

from simt.errors import SimtError
from simt.exported import choose_folder
from simt.gpus import use_threads
from simt.session import Session


class SimtStates(AgentStates):  # type: ignore[misc]  # SimulEval has no types
    """The states of a sentence, and the session that translates it."""

    def reset(self) -> None:
        super().reset()
        self.session: Session | None = None
        self.heard = 0  # source words that the session has got


class SimtAgent(TextToTextAgent):  # type: ignore[misc]
    """Gives out a word as soon as it is final.

    SimulEval asks once for every source word, so that all words that this makes final are one
    action; and it would wait for ever for an agent that reads on behind the last source word.
    """

    def __init__(self, args: Namespace) -> None:
        chosen = choose_folder(args.model, args.knob)
        if chosen is None:
            raise SimtError(f"--model {args.model}: there is no such folder; simt export makes one")
        use_threads(args.threads)
        self._translator = chosen.system.open()
        self._knob = chosen.knob
        super().__init__(args)

    @staticmethod
    def add_args(parser: ArgumentParser) -> None:
        """What this agent takes on SimulEval's command line."""
        parser.add_argument("--model", required=True, help="a folder that simt export wrote")
        parser.add_argument("--knob", help="e.g. 0.5 or full; default: the middle of its values")
        parser.add_argument("--threads", type=int, default=1, help="CPU threads; default: 1")

    def build_states(self) -> SimtStates:
        return SimtStates()

    def to(self, device: str, fp16: bool = False) -> None:
        """Compute there; in single precision, as it was trained and scored."""
        if fp16:
            raise SimtError("a system of simt computes in single precision: leave fp16 out")
        self._translator.model.to(device)

    def policy(self, states: SimtStates | None = None) -> Action:
        states = states or self.states
        if states.session is None:
            states.session = Session(self._translator, self._knob)
        session = states.session
        words = session.push(" ".join(states.source[states.heard :]))
        states.heard = len(states.source)
        if states.source_finished:
            words += session.finish()
        is_over = session.is_done or states.source_finished
        if not words and not is_over:
            return ReadAction()
        return WriteAction(" ".join(word.text for word in words), finished=is_over)
