"""A project with finished runs, as far as translating needs them; their weights are random."""

from pathlib import Path

import torch

from simt.atomic import write_json
from simt.corpus.bpe import open_subwords
from simt.corpus.ids import SPECIAL_IDS
from simt.lab.training_bench import make_corpus
from simt.methods import build_model, method_of
from simt.model.network import VocabularySizes
from simt.params import Params, load_params
from simt.runs import Run, prepare_settings, run_settings
from simt.training.checkpoint import save_tensors
from tests.samples.markers import mark
from tests.samples.project import ROOT
from tests.samples.settings import lively

RUNS = tuple(
    Run("tiny-deen", method, variant, 1)
    for method, variant in (("waitk", "k3"), ("sm2", "bi"), ("itst", "uni"), ("offline", "bi"))
)


def write_project(to: Path) -> Params:
    """The tiny study in a folder, where it has a corpus and some runs."""
    (to / "params.yaml").write_bytes((ROOT / "params.yaml").read_bytes())
    params = load_params(to / "params.yaml", "tiny")
    corpus = to / "results" / "corpora" / "tiny-deen"
    make_corpus(params, "tiny-deen", None, corpus)
    mark(corpus / "text", prepare_settings(params, "tiny-deen"))
    for run in RUNS:
        write_run(params, run, to)
    return params


def write_run(params: Params, run: Run, project: Path) -> None:
    """A finished run whose random model writes sentences that end."""
    settings = run_settings(params, run)
    source, target = open_subwords(project / "results" / "corpora" / run.pair / "bpe")
    sizes = VocabularySizes(len(source), len(target), source is target, SPECIAL_IDS)
    generator = torch.Generator().manual_seed(run.seed)
    model = lively(build_model(method_of(settings), settings.model, sizes, 0.0, generator))
    with torch.no_grad():
        model.network.target_embedding_VD[SPECIAL_IDS.eos] *= 2
    folder = project / run.folder
    save_tensors(folder / "model.pt", model.state_dict())
    write_json(folder / "run.json", {"commit": "0" * 40, "updates": 8, "versions": {}})
    mark(folder, settings)
