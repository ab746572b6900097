"""All scores of a point: what `simt score-point` writes beside the instances.

scores.json has one entry for each knob value with every score by name, and says once what is
missing and why::

    {"points": [{"knob": 0.5, "sentences": 500, "empty_outputs": 0, "scores": {"bleu":
       {"value": 27.1, "signature": "bleu|text:detokenised|nrefs:1|...", "sentences": 500,
        "left_out": 0}, ...}}],
     "missing": {"comet:Unbabel/wmt22-cometkiwi-da": "COMET model ... is not on this machine ..."},
     "main_latency": "al_token"}

What every sentence gives to each of them is in sentences.json (``simt.scoring.sentences``).
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple

from simt.atomic import write_json
from simt.errors import SimtError
from simt.instances import Instance, Unit, read_groups
from simt.params import Knob
from simt.products import INSTANCES_FILE, LINKS_FILE, SCORES_FILE, SENTENCES_FILE
from simt.scoring.alignment import read_links, satisfied_alignments
from simt.scoring.comet import CometUnavailable, column, comet_scores
from simt.scoring.latency import (
    MODES,
    main_column,
    point_latencies,
    why_no_reference,
    why_not,
)
from simt.scoring.lengths import LengthGroups, length_groups, sentence_lengths
from simt.scoring.quality import fingerprint, quality_scores
from simt.scoring.scores import Score
from simt.scoring.sentences import SentenceStatistics, statistics_of, write_sentences
from simt.settings import BleuText, BleuTokeniser, LatencyMode, LengthUnit, ScoringSettings

Groups = Mapping[Knob | None, Sequence[Instance]]


@dataclass
class PointScores:
    """The scores of every knob value, which outputs were empty, and why scores are missing."""

    main_latency: str
    sentences: int
    scores: dict[Knob | None, list[Score]] = field(default_factory=dict)
    is_empty: dict[Knob | None, list[bool]] = field(default_factory=dict)  # of each output
    missing: dict[str, str] = field(default_factory=dict)

    def as_json(self) -> dict[str, Any]:
        """Plain values for scores.json."""
        points = [
            {
                "knob": knob,
                "sentences": self.sentences,
                "empty_outputs": sum(self.is_empty[knob]),
                "scores": {score.name: score.as_json() for score in scores},
            }
            for knob, scores in self.scores.items()
        ]
        return {"points": points, "missing": self.missing, "main_latency": self.main_latency}

    def over(self, places: Sequence[int]) -> "PointScores":
        """The same scores of some of the sentences, from the statistics of these."""
        some = {knob: [one.over(places) for one in scores] for knob, scores in self.scores.items()}
        empty = {
            knob: [outputs[place] for place in places] for knob, outputs in self.is_empty.items()
        }
        return PointScores(self.main_latency, len(places), some, empty)


class CometModels(NamedTuple):
    """Names on the hub or paths of models, where else to look for them, and how many threads."""

    names: Sequence[str] = ()
    folder: Path | None = None
    threads: int | None = None


def score_groups(
    groups: Groups,
    mode: LatencyMode,
    bleu_text: BleuText,
    comet: CometModels | None = None,
    unit: Unit = "word",
    tokeniser: BleuTokeniser = "13a",
) -> PointScores:
    """Quality and latency of every knob value.

    Where the reference was forced, quality is left out and said to be.
    """
    everything = [instance for group in groups.values() for instance in group]
    reason = why_not(everything, MODES[mode])
    if reason is not None:
        raise SimtError(f"latency {mode}: {reason}; word_ref needs SimulEval's fields only")
    point = PointScores(main_column(mode, unit), len(everything) // len(groups))
    is_forced = any(instance.is_forced for instance in everything)
    for knob, instances in groups.items():
        quality = [] if is_forced else quality_scores(instances, bleu_text, tokeniser)
        point.scores[knob] = quality + point_latencies(instances, mode, unit)
        point.is_empty[knob] = [not instance.prediction.strip() for instance in instances]
    if reason := why_no_reference(everything, MODES["word_ref"], unit):
        point.missing[main_column("word_ref", unit)] = reason
    if is_forced:
        point.missing["bleu"] = "the reference was forced: there is no hypothesis to score"
    elif comet is not None:
        _add_comet(point, groups, comet)
    return point


def _add_comet(point: PointScores, groups: Groups, comet: CometModels) -> None:
    for model in comet.names:
        result = comet_scores(groups, model, comet.folder, comet.threads)
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
    """Write scores.json and sentences.json: every score of every knob value, and its statistics.

    ``models`` is a folder with COMET models that are not on the hub.
    """
    groups = read_groups(point / INSTANCES_FILE, "word")
    comet = CometModels(settings.comet, models, threads)
    tokeniser = settings.bleu_tokeniser
    scores = score_groups(groups, settings.latency, settings.bleu_text, comet, tokeniser=tokeniser)
    some, halves = next(iter(groups.values())), None
    if split == "aligned":
        _add_alignments(scores, groups, corpus)
    else:
        halves = length_groups(sentence_lengths(some, settings.length_unit))
    statistics = SentenceStatistics(
        tuple(instance.index for instance in some),
        None if split == "aligned" else fingerprint(some, settings.bleu_text, tokeniser),
        scores.main_latency,
        {"long": halves.long, "short": halves.short} if halves else {},
        {knob: statistics_of(of_knob) for knob, of_knob in scores.scores.items()},
    )
    write_sentences(point / SENTENCES_FILE, statistics)
    parts = {"groups": _length_groups(scores, halves, settings.length_unit)} if halves else {}
    write_json(point / SCORES_FILE, scores.as_json() | parts)


def _add_alignments(point: PointScores, groups: Groups, corpus: Path) -> None:
    """Satisfied alignments beside the other scores of each knob value."""
    links = read_links(corpus / "text" / LINKS_FILE)
    for knob, instances in groups.items():
        point.scores[knob].append(satisfied_alignments(instances, links))


def _length_groups(point: PointScores, halves: LengthGroups, unit: LengthUnit) -> dict[str, Any]:
    """Scores of the longer and of the shorter half of the sentences."""
    parts = (("long", halves.long, halves.long_mean), ("short", halves.short, halves.short_mean))
    return {
        name: {
            "sentences": len(places),
            "mean_length": mean,
            "unit": unit,
            "points": point.over(places).as_json()["points"],
        }
        for name, places, mean in parts
    }
