"""params.yaml, read strictly in one place.

Every problem of the file is reported at once, each with its key path and what would be right.
Nothing here imports torch: Snakemake reads this at every parse.
"""

from simt.params.checks import LAYERED, SECTIONS
from simt.params.excerpt import StudyExcerpt, excerpt
from simt.params.layers import Layers, Params
from simt.params.loader import check_drawings, load_params
from simt.params.options import Face, Options, read_options
from simt.params.schema import Drawing, Knob, Pair, Paper, PolicyViewer, Role, Size, Study, Variant

__all__ = [
    "LAYERED",
    "SECTIONS",
    "Drawing",
    "Face",
    "Knob",
    "Layers",
    "Options",
    "Pair",
    "Paper",
    "Params",
    "PolicyViewer",
    "Role",
    "Size",
    "Study",
    "StudyExcerpt",
    "Variant",
    "check_drawings",
    "excerpt",
    "load_params",
    "read_options",
]
