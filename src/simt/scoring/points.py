"""All scores of a point: what `simt score-point` writes beside the instances.

The file has one entry for each knob value with every score by name, and says once what is missing
and why::

    {"points": [{"knob": 0.5, "sentences": 500, "empty_outputs": 0, "scores": {"bleu":
       {"value": 27.1, "signature": "bleu|text:detokenised|nrefs:1|...", "sentences": 500,
        "empty": 0}, ...}}],
     "missing": {"comet:Unbabel/wmt22-cometkiwi-da": "COMET model ... is not on this machine ..."},
     "main_latency": "al_token"}
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from simt.atomic import write_json
from simt.errors import SimtError
from simt.instances import INSTANCES_FILE, Instance, Unit, read_groups
from simt.params import Knob
from simt.scoring.alignment import read_links, satisfied_alignments
from simt.scoring.comet import CometUnavailable, column, comet_scores
from simt.scoring.latency import MODES, Mode, main_column, point_latencies, why_not
from simt.scoring.lengths import length_groups, sentence_lengths
from simt.scoring.quality import BleuText, quality_scores
from simt.scoring.scores import Score
from simt.settings import ScoringSettings

SCORES_FILE = "scores.json"

Groups = Mapping[Knob | None, Sequence[Instance]]


@dataclass
class PointScores:
    """The scores of every knob value, how many outputs were empty, and why scores are missing."""

    main_latency: str
    sentences: int
    scores: dict[Knob | None, list[Score]] = field(default_factory=dict)
    empty_outputs: dict[Knob | None, int] = field(default_factory=dict)
    missing: dict[str, str] = field(default_factory=dict)

    def as_json(self) -> dict[str, Any]:
        """Plain values for scores.json."""
        points = [
            {
                "knob": knob,
                "sentences": self.sentences,
                "empty_outputs": self.empty_outputs[knob],
                "scores": {score.name: score.as_json() for score in scores},
            }
            for knob, scores in self.scores.items()
        ]
        return {"points": points, "missing": self.missing, "main_latency": self.main_latency}


def score_groups(
    groups: Groups,
    mode: Mode,
    bleu_text: BleuText,
    comet_models: Sequence[str] = (),
    models: Path | None = None,
    threads: int | None = None,
    unit: Unit = "word",
) -> PointScores:
    """Quality and latency of every knob value.

    Where the reference was forced, quality is left out and said to be. ``comet_models`` are names
    on the hub or paths; ``models`` is where else to look for them.
    """
    everything = [instance for group in groups.values() for instance in group]
    reason = why_not(everything, MODES[mode])
    if reason is not None:
        raise SimtError(f"latency {mode}: {reason}; word_ref needs SimulEval's fields only")
    point = PointScores(main_column(mode, unit), len(everything) // len(groups))
    is_forced = any(instance.is_forced for instance in everything)
    for knob, instances in groups.items():
        quality = [] if is_forced else quality_scores(instances, bleu_text)
        point.scores[knob] = quality + point_latencies(instances, mode, unit)
        point.empty_outputs[knob] = sum(not instance.prediction.strip() for instance in instances)
    if is_forced:
        point.missing["bleu"] = "the reference was forced: there is no hypothesis to score"
    else:
        _add_comet(point, groups, comet_models, models, threads)
    return point


def _add_comet(
    point: PointScores,
    groups: Groups,
    comet_models: Sequence[str],
    models: Path | None,
    threads: int | None,
) -> None:
    for model in comet_models:
        result = comet_scores(groups, model, models, threads)
        if isinstance(result, CometUnavailable):
            point.missing[column(result.model)] = result.reason
            continue
        for knob, score in result.items():
            point.scores[knob].append(score)


# --- the step ---------------------------------------------------------------------------------


def score_point(
    settings: ScoringSettings,
    split: str,
    corpus: Path,
    point: Path,
    models: Path | None,
    threads: int,
) -> None:
    """Write scores.json: every score of every knob value, and for which the sentences are long.

    ``models`` is a folder with COMET models that are not on the hub.
    """
    groups = read_groups(point / INSTANCES_FILE, "word")
    scores = score_groups(
        groups, settings.latency, settings.bleu_text, settings.comet, models, threads
    ).as_json()
    if split == "aligned":
        _add_alignments(scores, groups, corpus)
    else:
        scores["groups"] = _length_groups(groups, settings)
    write_json(point / SCORES_FILE, scores)


def _add_alignments(scores: dict[str, Any], groups: Groups, corpus: Path) -> None:
    """Satisfied alignments beside the other scores of each knob value."""
    links = read_links(corpus / "text" / "aligned.talp")
    for point, instances in zip(scores["points"], groups.values(), strict=True):
        satisfied = satisfied_alignments(instances, links)
        point["scores"][satisfied.name] = satisfied.as_json()


def _length_groups(groups: Groups, settings: ScoringSettings) -> dict[str, Any]:
    """Scores of the longer and of the shorter half of the sentences, without COMET."""
    some = next(iter(groups.values()))
    halves = length_groups(sentence_lengths(some, settings.length_unit))
    parts = (("long", halves.long, halves.long_mean), ("short", halves.short, halves.short_mean))
    return {
        name: {
            "sentences": len(places),
            "mean_length": mean,
            "unit": settings.length_unit,
            "points": score_groups(
                _only(groups, places), settings.latency, settings.bleu_text
            ).as_json()["points"],
        }
        for name, places, mean in parts
    }


def _only(groups: Groups, places: Sequence[int]) -> Groups:
    return {knob: [instances[place] for place in places] for knob, instances in groups.items()}
