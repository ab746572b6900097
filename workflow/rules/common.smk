# What every rule file needs: the parameters, read once, and the names of files.
import atexit
import gc
import shlex
import sys
import time
from pathlib import Path

from snakemake.exceptions import WorkflowError
from snakemake.logging import logger

from simt.check import reset_future_mtimes, raise_if_damaged, unseen_changes
from simt.errors import SimtError
from simt.paper import FIGURES, TABLES
from simt.params import check_drawings, load_params, read_options
from simt.products import (
    CURVES,
    FETCHED_OUTPUTS,
    MODEL_FILE,
    TRAINED,
    STATES,
    decoded,
    scored,
)
from simt.resources import (
    CORPUS,
    DECODING,
    ESTIMATOR,
    SCORING,
    TRAINING,
    JobsBySize,
    TrainingJobs,
)
from simt.runs import (
    CORPUS_FOLDER,
    PAPER_FOLDER,
    POINT_FOLDER,
    POINT_NAME,
    RUN_FOLDER,
    RUN_NAME,
    Point,
    Run,
    has_estimator,
)
from simt.steps import Steps, asked_for, of_params, of_wildcards
from simt.user_files import (
    before_the_first_download,
    changed_since_copied,
    corpora_folder,
    missing_by_pair,
    unfetched_pairs,
)

# A graph of thousands of jobs stays to the end: to look through it for garbage again and again as it
# grows, and to take it apart when all is done, is a quarter of the time that a plan takes.
gc.set_threshold(100_000)
atexit.register(gc.freeze)

try:
    OPTIONS = read_options(config)
    PARAMS = load_params(Path("params.yaml"), OPTIONS.study, OPTIONS.fidelity)
    check_drawings(PARAMS.paper, FIGURES, TABLES)
    STEPS = Steps(PARAMS)
    if workflow.is_main_process and "--unlock" not in sys.argv:
        # Here it is a message; from an input function it comes with a traceback.
        STEPS.raise_if_left_out(sys.argv)
        all_steps = STEPS.all()
        raise_if_damaged(PARAMS, all_steps)
        if changed := unseen_changes(PARAMS, all_steps):
            logger.warning(changed)
        for changed in changed_since_copied(PARAMS, corpora_folder()):
            logger.warning(changed)
        if future := reset_future_mtimes(all_steps, time.time()):
            logger.warning(
                f"{future} results had times in the future (was the clock set back?);"
                " their times are now the present one."
            )
except SimtError as error:
    raise WorkflowError(str(error)) from None


# `simt` is the one installed beside this Snakemake, whatever the caller's PATH says. Each rule has one
# command, which takes the shell's place: its exit code is the job's, and a signal reaches it alone.
BIN = Path(sys.executable).parent
shell.prefix(f"set -euo pipefail; export PATH={shlex.quote(str(BIN))}:$PATH; exec ")


wildcard_constraints:
    pair="[a-z0-9][a-z0-9.-]*",
    method="[a-z0-9][a-z0-9.-]*",
    variant="[a-z0-9][a-z0-9.-]*",
    seed="[0-9]+",
    study=PARAMS.study,
    name="[a-z0-9][a-z0-9.-]*",
