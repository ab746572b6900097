"""How fast every method trains on this machine, and how fast JoeyNMT does beside them.

What is timed is the update of the real training loop, from ids in files to new weights, with the
settings of params.yaml. Validation, snapshots and checkpoints are not in it, neither here nor
there. JoeyNMT takes part twice: with the batches that it makes itself, as someone who trains with
it would have it, and with ours, ready as ids.
"""

import platform
import tempfile
from collections.abc import Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from contextlib import ExitStack
from dataclasses import asdict, dataclass, replace
from importlib.metadata import version
from multiprocessing import get_context
from pathlib import Path
from time import perf_counter
from typing import Any

import torch

from simt.corpus.bpe import build_bpe, filler_pieces, open_vocabularies
from simt.corpus.ids import EncodedSplit
from simt.corpus.prepare import prepare
from simt.corpus.toy import write_toy_corpus
from simt.cost import Text, flops_per_token
from simt.errors import SimtError
from simt.lab.corpus_bench import measure
from simt.lab.joeynmt import JoeyNmt
from simt.lab.trials import Candidate, SpeedRow, Trial, run_trials, table
from simt.params import Params
from simt.runs import bpe_settings, named_settings, prepare_settings
from simt.settings import Precision, RunSettings
from simt.signals import StopRequest
from simt.training.devices import Devices
from simt.training.history import LogInterval
from simt.training.loop import Position
from simt.training.run import open_training

BASELINE = "offline/bi"
RUNS = (
    BASELINE,
    "offline/uni",
    "waitk/k3",
    "multipath/uni",
    "itst/uni",
    "hmt/l1-k2",
    "hmt/l2-k4",
    "hmt/l3-k6",
    "hmt/l9-k8",
    "sm2/uni",
    "sm2/bi",
)


@dataclass(frozen=True)
class BenchChoices:
    """What is measured, and how often."""

    pair: str  # whose settings are taken
    size: str | None  # a model of params.yaml; None: that of the pair
    runs: tuple[str, ...]  # method/variant; the baseline is always there
    updates: int  # in a trial
    repeats: int
    threads: int
    has_memory: bool
    precision: Precision | None = None  # None: that of the pair


@dataclass(frozen=True)
class BenchReport:
    """Rows, and what they were measured with."""

    about: dict[str, Any]
    rows: list[SpeedRow]

    def as_dict(self) -> dict[str, Any]:
        return {**self.about, "rows": [row.as_dict() for row in self.rows]}

    def text(self) -> str:
        """For a person."""
        about = self.about
        size = about["model"]
        head = (
            f"width {size['width']}, feed-forward {size['ffn']}, {size['heads']} heads, "
            f"{size['encoder_layers']}+{size['decoder_layers']} layers, {about['words']} words, "
            f"batches of {about['batch_tokens']} tokens, {about['threads']} thread(s) of "
            f"{about['processor']}; {about['repeats']} trials of {about['updates']} updates: "
            "median [10 %, 90 %]"
        )
        return f"{head}\n{self._peaks()}\n\n{table(self.rows)}\n{self._verdict()}"

    def _peaks(self) -> str:
        """What the fractions of a peak are fractions of."""
        peaks = self.about["peak_flops_per_s"]
        shown = ", ".join(f"{peak / 1e9:.0f} in {dtype}" for dtype, peak in peaks.items())
        precision = self.about["precision"]
        return f"trained in {precision}; GFLOP/s of large products here, the peak: {shown}"

    def _verdict(self) -> str:
        """How much faster than JoeyNMT we are, if it was there."""
        baseline, *others = self.rows
        return "".join(
            f"\n{baseline.name} trains {row.ratio.inverse().text(2)} times as fast as {row.name}"
            for row in others
            if row.name.startswith("JoeyNMT")
        )


def bench_sizes(
    params: Params,
    choices: BenchChoices,
    sizes: Sequence[str | None],
    corpus: Path | None,
    words: int | None,
    against: Path | None,
) -> Iterator[BenchReport]:
    """A report for each model size, on the files of ids in ``corpus`` or on a toy corpus."""
    with tempfile.TemporaryDirectory(prefix="simt-bench-") as folder:
        corpus = corpus or make_corpus(params, choices.pair, words, Path(folder))
        for size in sizes:
            yield bench_training(params, replace(choices, size=size), corpus, against)


def bench_training(
    params: Params, choices: BenchChoices, corpus: Path, against: Path | None
) -> BenchReport:
    """The speed of every chosen run, and of the JoeyNMT that the interpreter ``against`` has."""
    torch.set_num_threads(choices.threads)
    names = [BASELINE, *(name for name in choices.runs if name != BASELINE)]
    settings = [_chosen(named_settings(params, choices.pair, name, choices.size), choices)
                for name in names]  # fmt: skip
    device = Devices.connect(rank=0, world=1, local_rank=0)
    peaks = peak_flops(device.device)
    with ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="simt-bench-")))
        baseline, *others = (Ours(one, corpus, folder, choices) for one in settings)
        first_batches = _first_batches(baseline, choices)
        joeynmt = []
        if against is not None:
            batches = [first + i for first in first_batches for i in range(choices.updates)]
            for chosen in (batches, None):
                place = Path(stack.enter_context(tempfile.TemporaryDirectory(dir=folder)))
                candidate = JoeyNmt(against, settings[0], corpus, chosen, choices.threads, place)
                joeynmt.append(stack.enter_context(candidate))
                _check_same_size(baseline, candidate)
        rows = run_trials(
            baseline,
            [*others, *joeynmt],
            first_batches,
            choices.updates,
            title=choices.size or choices.pair,
            has_memory=choices.has_memory,
        )
    about = _about(settings[0], choices, corpus) | {
        "device": device.device.type,
        "peak_flops_per_s": peaks,
        "precision": device.precision(settings[0].training.precision),
    }
    return BenchReport(about, _with_fractions(rows, settings, about))


def _chosen(settings: RunSettings, choices: BenchChoices) -> RunSettings:
    """The settings of a run in the precision that was asked for."""
    if choices.precision is None:
        return settings
    training = settings.training.model_copy(update={"precision": choices.precision})
    return settings.model_copy(update={"training": training})


def _with_fractions(
    rows: Sequence[SpeedRow], settings: Sequence[RunSettings], about: dict[str, Any]
) -> list[SpeedRow]:
    """The rows with the fraction of this machine's peak that each reached.

    Counted are products with weights, as everywhere in simt; JoeyNMT makes those of the baseline,
    in fp32.
    """
    text = Text(about["words"], about["words"], is_joint=True, source_per_target=about["ratio"])
    flops = {f"{one.method}/{one.variant}": flops_per_token(one, text) for one in settings}
    peaks = about["peak_flops_per_s"]

    def fraction(row: SpeedRow) -> float:
        of_ours = row.name in flops
        peak: float = peaks["fp32" if about["precision"] == "fp32" or not of_ours else "bf16"]
        return row.tokens_per_s.median * flops[row.name if of_ours else BASELINE] / peak

    return [replace(row, peak_fraction=fraction(row)) for row in rows]


_SIDES = {"cpu": 1024, "cuda": 8192}  # of matrices large enough for the full speed


def peak_flops(device: torch.device, repeats: int = 5) -> dict[str, float]:
    """FLOP/s of large products, by type: the best of a few, with torch's number of threads."""
    side, found = _SIDES[device.type], {}
    for name, dtype in (("fp32", torch.float32), ("bf16", torch.bfloat16)):
        square = torch.ones(side, side, dtype=dtype, device=device)
        found[name] = 2 * side**3 / min(_seconds_of_product(square) for _ in range(repeats))
    return found


def _seconds_of_product(square: torch.Tensor) -> float:
    started = perf_counter()
    (square @ square)[0, 0].item()  # which waits for a GPU
    return perf_counter() - started


class Ours:
    """A run of params.yaml, trained by the loop that also trains it in earnest."""

    def __init__(
        self, settings: RunSettings, corpus: Path, work: Path, choices: BenchChoices
    ) -> None:
        self.name = f"{settings.method}/{settings.variant}"
        self._again = (settings.as_json(), corpus, choices.updates, choices.threads)
        devices = Devices.connect(rank=0, world=1, local_rank=0)
        self.training = open_training(settings, corpus, None, work, devices, checkpoint_minutes=10)
        self.parameters = sum(weight.numel() for weight in self.training.model.parameters())

    def run_trial(self, first: int, updates: int) -> Trial:
        # In the middle of a training every schedule has set in: ITST masks, SM² anneals.
        middle = self.training.settings.updates // 2
        self.training.position = Position(update=middle, index=first)
        started = perf_counter()
        for _ in range(updates):
            self.training.update(LogInterval(), StopRequest())
        return Trial(self.training.position.tokens, perf_counter() - started)

    def peak_mb(self) -> float:
        """Of the GPU or the machine, measured in a process that trains nothing else."""
        if self.training.devices.device.type == "cuda":
            with ProcessPoolExecutor(1, get_context("spawn")) as fresh:
                return fresh.submit(_train_a_little, *self._again).result()
        return measure(_train_a_little, *self._again)["largest_process_mb"]


def _train_a_little(settings: str, corpus: Path, updates: int, threads: int) -> float:
    """The most memory that it took, as the history of a training has it."""
    torch.set_num_threads(threads)
    devices = Devices.connect(rank=0, world=1, local_rank=0)
    parsed = RunSettings.model_validate_json(settings)
    training = open_training(parsed, corpus, None, corpus, devices, checkpoint_minutes=10)
    for _ in range(updates):
        training.update(LogInterval(), StopRequest())
    return devices.peak_memory_mb()


def _first_batches(baseline: Ours, choices: BenchChoices) -> list[int]:
    """Where each round of trials begins among the batches of an epoch."""
    batches = baseline.training.corpus.batches_in(0)
    if choices.updates > batches:
        raise SimtError(
            f"the corpus has {batches} batches, too few for trials of {choices.updates} updates: "
            "lower --updates"
        )
    places = batches - choices.updates + 1
    return [number * choices.updates % places for number in range(choices.repeats)]


def _check_same_size(ours: Candidate, theirs: Candidate) -> None:
    if ours.parameters != theirs.parameters:
        raise SimtError(
            f"{theirs.name} has {theirs.parameters} parameters and {ours.name} has "
            f"{ours.parameters}: that is not the same model"
        )


def _about(settings: RunSettings, choices: BenchChoices, corpus: Path) -> dict[str, Any]:
    return {
        **asdict(choices),
        "model": settings.model.model_dump(),
        "batch_tokens": settings.training.batch_tokens,
        "dropout": settings.training.dropout,
        "ratio": _source_per_target(corpus),
        "words": len(open_vocabularies(corpus)[1]),
        "processor": _processor(),
        "versions": {name: version(name) for name in ("simt", "torch", "numpy")},
    }


def _source_per_target(corpus: Path) -> float:
    """Source tokens of the training text by its target tokens."""
    train = EncodedSplit.open(corpus, "train")
    return len(train.source.ids) / len(train.target.ids)


def _processor() -> str:
    """What the system calls it."""
    try:
        lines = Path("/proc/cpuinfo").read_text().splitlines()
    except OSError:
        return platform.machine()
    named = [line.split(":", 1)[1].strip() for line in lines if line.startswith("model name")]
    return named[0] if named else platform.machine()


# --- the corpus -------------------------------------------------------------------------------


def make_corpus(params: Params, pair: str, words: int | None, folder: Path) -> Path:
    """The bpe/ folder of a toy pair, made by the real steps.

    The grammar has few words; ``words`` fills the vocabulary up with some that never occur, so
    that a model can be measured with as many outputs as a real one.
    """
    toy = params.pairs[pair].toy if pair in params.pairs else None
    if toy is None:
        raise SimtError(f"{pair} is not a toy pair of params.yaml: give its bpe/ as --corpus")
    raw, text, bpe = (folder / name for name in ("raw", "text", "bpe"))
    write_toy_corpus(raw, toy.seed, toy.sizes)
    prepare(prepare_settings(params, pair), raw, text, processes=1)
    build_bpe(bpe_settings(params, pair), text, bpe, processes=1)
    if words is not None:
        _fill_up(bpe / "vocabulary", words - len(open_vocabularies(bpe)[0]))
    return bpe


def _fill_up(vocabulary: Path, missing: int) -> None:
    if missing < 0:
        raise SimtError(f"the corpus has {-missing} words more than --words: raise it")
    with vocabulary.open("a", encoding="utf-8") as stream:
        stream.writelines(f"{piece} 0\n" for piece in filler_pieces(missing))
