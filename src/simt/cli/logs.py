"""The output of any system, from a log with one JSON object a sentence."""

import argparse
from pathlib import Path
from typing import TYPE_CHECKING, get_args

from simt.cli.arguments import MODELS, folder, models_folder, threads
from simt.cli.command import Group, option, several
from simt.settings import BleuText, BleuTokeniser, LatencyMode
from simt.wording import count

if TYPE_CHECKING:
    from simt.instances import Instance, Unit
    from simt.params import Knob

COMMANDS = Group("the output of any system")

LOG = several(
    option(
        "file", type=Path, help="one JSON object per sentence, like SimulEval's log, e.g. log.jsonl"
    ),
    option(
        "--unit",
        choices=("word", "char", "ms", "other"),
        default="word",
        help="unit of the delays; ms: milliseconds of speech; default: word",
    ),
)


@COMMANDS.command(
    "score quality and latency of the output of any system",
    LOG,
    option(
        "--latency",
        choices=get_args(LatencyMode),
        help="definition of latency; default: that of the paper, bpe_eos_hyp, if the file has "
        "tokens, otherwise word_ref",
    ),
    option(
        "--bleu-text",
        choices=get_args(BleuText),
        default="detokenised",
        help="text that BLEU compares; default: detokenised",
    ),
    option(
        "--tokeniser",
        choices=get_args(BleuTokeniser),
        help="how sacreBLEU cuts text into words: zh for Chinese, ja-mecab for Japanese, ko-mecab "
        "for Korean; default: 13a",
    ),
    option(
        "--comet",
        action="append",  # several after one --comet would take the file for a model
        default=[],
        metavar="MODEL",
        help="name or folder of a COMET model, e.g. Unbabel/wmt22-cometkiwi-da; may be repeated; "
        "default: none",
    ),
    MODELS,
    threads(),
    option(
        "--json",
        type=Path,
        metavar="FILE",
        help="also write the scores to this file, e.g. scores.json",
    ),
)
def score(options: argparse.Namespace) -> None:
    from simt.atomic import write_json
    from simt.instances import read_groups
    from simt.scoring.latency import usual_mode
    from simt.scoring.points import CometModels, score_groups
    from simt.scoring.quality import usual_tokeniser
    from simt.scoring.table import score_table

    groups = read_groups(options.file, options.unit)
    point = score_groups(
        groups,
        options.latency or usual_mode(groups),
        options.bleu_text,
        CometModels(options.comet, models_folder(options), options.threads),
        options.unit,
        options.tokeniser or usual_tokeniser(groups, options.bleu_text),
    )
    print(f"{options.file}: {count(point.sentences, 'sentence')}\n\n{score_table(point.scores)}")
    for reason in point.missing.values():
        print(f"\nleft out: {reason}")
    _print_note(groups, options.unit)
    if options.json:
        write_json(options.json, point.as_json())


@COMMANDS.command("measure latency of the output of any system, by every definition in use", LOG)
def latency(options: argparse.Namespace) -> None:
    from simt.instances import read_groups
    from simt.scoring.latency import latency_table
    from simt.scoring.table import score_table

    groups = read_groups(options.file, options.unit)
    tables = {knob: latency_table(group, options.unit) for knob, group in groups.items()}
    sentences = count(len(next(iter(groups.values()))), "sentence")
    rows = {knob: table.rows for knob, table in tables.items()}
    print(f"{options.file}: {sentences}\n\n{score_table(rows)}")
    for reason in dict.fromkeys(one for table in tables.values() for one in table.missing):
        print(f"\nleft out: {reason}")
    _print_note(groups, options.unit)


def _print_note(groups: "dict[Knob | None, list[Instance]]", unit: "Unit") -> None:
    from simt.scoring.latency import note_on_references

    if note := note_on_references(next(iter(groups.values())), unit):
        print(f"\nnote: {note}")


@COMMANDS.command(
    "convert to the folders that simuleval --score-only reads",
    LOG,
    folder("--to", "output, one folder for each knob value", "simuleval"),
    product="files",
)
def simuleval(options: argparse.Namespace) -> None:
    from simt.instances import read_groups, write_simuleval_logs

    for log in write_simuleval_logs(read_groups(options.file, options.unit), options.to).values():
        print(log.parent)
