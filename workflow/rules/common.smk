# What every rule file needs: the parameters, read once, and the names of files.
import shlex
import sys
from pathlib import Path

from snakemake.exceptions import WorkflowError

from simt.check import PAPER_FILES
from simt.errors import SimtError
from simt.paper import FIGURES, TABLES
from simt.params import check_drawings, load_params
from simt.resources import CORPUS, DECODING, ESTIMATOR, SCORING, TRAINING, Jobs
from simt.runs import (
    SETTINGS_FILE,
    THEATRE_FILE,
    Point,
    Run,
    corpus_folder,
    corpus_settings,
    estimator_files,
    judge_files,
    point_settings,
    run_settings,
    scoring_settings,
    shown_files,
    staged_points,
    start_files,
    study_points,
    study_runs,
)

try:
    PARAMS = load_params(
        Path("params.yaml"), config.get("study"), config.get("fidelity")
    )
    check_drawings(PARAMS.paper, FIGURES, TABLES)
except SimtError as error:
    raise WorkflowError(str(error)) from None
STUDY = PARAMS.studies[PARAMS.study]

# `simt` is the one installed beside this Snakemake, whatever the caller's PATH says.
shell.prefix(f"export PATH={shlex.quote(str(Path(sys.executable).parent))}:$PATH; ")


wildcard_constraints:
    pair="[a-z0-9][a-z0-9.-]*",
    method="[a-z0-9][a-z0-9.-]*",
    variant="[a-z0-9][a-z0-9.-]*",
    seed="[0-9]+",
    study=PARAMS.study,
    name="[a-z0-9][a-z0-9.-]*",
