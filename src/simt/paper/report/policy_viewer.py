"""What the policy viewer shows: aligned sentences, and how each system went through them."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any

from simt.corpus.alignments import AlignedSentence
from simt.corpus.example_selection import aligned_sentences, choose_sentences
from simt.errors import SimtError
from simt.instances import EOS_TOKEN, Instance, read_instances
from simt.paper.figure_data import FigureData, System, gather, is_simultaneous
from simt.paper.report.files import Files
from simt.paper.rows import Gap, Place
from simt.params import Knob, Params
from simt.pieces import visible, word_ends
from simt.products import INSTANCES_FILE, SCORES_FILE, STATES_FILE
from simt.runs import Point, Run, corpus_folder, why_left_out
from simt.settings import METHOD_SETTINGS, MethodSettings
from simt.systems import label_of

Plain = dict[str, Any]  # values for JSON
_SHOWN_SCORES = ("al_token", "al_word", "sa_word")


def viewer_data(files: Files, params: Params) -> Plain | None:
    """What the script of the policy viewer needs; None where the study has nothing for it."""
    data = gather(params, params.paper.policy_viewer, with_paper_numbers=False)
    if why_left_out(params, data.study, data.drawing):
        return None
    pair = data.pairs[0]
    sentences = aligned_sentences(corpus_folder(pair, "prepare"))
    chosen = choose_sentences(sentences, params.paper.policy_viewer.choice)
    shown = ShownSystems(files, data, pair, chosen)
    systems = data.systems(pair)
    return {
        "pair": data.direction(pair),
        "languages": [params.pairs[pair].source, params.pairs[pair].target],
        "latency": params.scoring.latency,
        "main_latency": data.rows.main_latency,
        "sentences": [_sentence(sentences[one.index], one) for one in shown.sentences(systems[0])],
        "systems": [shown.system(one) for one in systems],
    }


# --- sentences --------------------------------------------------------------------------------


def _sentence(gold: AlignedSentence, instance: Instance) -> Plain:
    """Tokens of both sides, where words end, and links from token to token.

    A link leads from the last piece of the source word, with which it has been read, to the first
    piece of the target word, which should not be written before.
    """
    source, target = instance.source_pieces, instance.pieces
    source_ends, target_ends = word_ends(source[:-1]), word_ends(target[:-1])
    target_starts = (0, *target_ends)
    links = [
        [source_ends[i] - 1, target_starts[j], int((i, j) in gold.links.sure)]
        for i, j in sorted(gold.links.sure | gold.links.possible)
    ]
    return {
        "number": instance.index,
        "source": [_piece(piece) for piece in source],
        "target": [_piece(piece) for piece in target],
        "source_ends": source_ends,
        "target_ends": target_ends,
        "links": links,
    }


def _piece(piece: str) -> str:
    """A piece for a reader."""
    return "↵" if piece == EOS_TOKEN else visible(piece)


# --- systems ----------------------------------------------------------------------------------


@dataclass(frozen=True)
class ShownSystems:
    """The systems on a pair, by their first seed, with what they did to the chosen sentences."""

    files: Files
    data: FigureData
    pair: str
    chosen: Sequence[int]

    def sentences(self, system: System) -> list[Instance]:
        """The chosen sentences as some system decoded them."""
        return self._decoded(self._places(system)[0])

    def system(self, system: System) -> Plain:
        """A system at each knob value; with every state, if its model has a confidence."""
        places = self._places(system)
        settings = METHOD_SETTINGS[system.method]
        shown: Plain = {
            "key": system.key,
            "label": label_of(system.key),
            "symbol": settings.knob_range.symbol if settings.knob_range else "",
            "knobs": [self._knob(place) for place in places],
        }
        if settings.has_confidence:
            shown["first_read"] = self.data.settings(self.pair, system)["first_read"]
            shown["grids"] = self._grids(places[0].run)
        return shown

    def _places(self, system: System) -> list[Place]:
        places = self.data.places(self.pair, system, is_simultaneous)
        return [place for place in places if place.run.seed == self.data.study.seeds[0]]

    def _knob(self, place: Place) -> Plain:
        """What a knob value does with each sentence, and the scores of the whole point."""
        name = self.data.knob_name(place)
        return {
            "name": str(name),
            "id": name.value,  # in links
            "words": self._settings(place.run).policy_in_words(),
            "value": place.knob,
            "file": str(_folder(place.run) / SCORES_FILE),
            "scores": {score: self._score(place, score) for score in _SHOWN_SCORES},
            "paths": [_path(instance) for instance in self._decoded(place)],
        }

    def _settings(self, run: Run) -> MethodSettings:
        own = self.data.params.method_settings(run.pair, run.method, run.variant)
        return METHOD_SETTINGS[run.method].of(own)

    def _score(self, place: Place, score: str) -> Plain:
        number = self.data.rows.look_up(place, score)
        if isinstance(number, Gap):
            raise self._unfit(_folder(place.run), f"has no {score}: {number.reason}")
        return {"value": number.value, "signature": number.signature}

    def _decoded(self, place: Place) -> list[Instance]:
        """The chosen sentences at a knob value, in the order of the choice."""
        path = _folder(place.run) / INSTANCES_FILE
        if not path.exists():
            raise self._unfit(path, "is missing")
        found = _read_instances(path)
        keys = [(place.knob, number) for number in self.chosen]
        if any(key not in found for key in keys):
            raise self._unfit(path, f"lacks sentences at knob {place.knob}")
        return [found[key] for key in keys]

    def _grids(self, run: Run) -> list[list[list[int]]]:
        """Confidences in thousandths of every state of each sentence."""
        path = _folder(run) / STATES_FILE
        grids = {one["index"]: one["confidence"] for one in self.files.json_lines(path)}
        if grids.keys() != set(self.chosen):
            raise self._unfit(path, "has other sentences than params.yaml chooses")
        return [grids[number] for number in self.chosen]

    def _unfit(self, path: Path, why: str) -> SimtError:
        remedy = f"snakemake --config study={self.files.study} -- points"
        return SimtError(f"{path} {why}; bring it up to date with: {remedy}")


@lru_cache(maxsize=1)  # the knob values of a run follow one another
def _read_instances(path: Path) -> dict[tuple[Knob | None, int], Instance]:
    return {(one.knob, one.index): one for one in read_instances(path)}


def _path(instance: Instance) -> Plain:
    """The delays of a sentence, and what the policy found in the states where it was asked."""
    path: Plain = {"delays": instance.token_delays}
    values = instance.write_confidence or ()
    if set(values) - {1.0}:  # a policy that only counts has no confidence, and says 1 everywhere
        path["write"] = _rounded(values)
        path["read"] = _rounded(instance.read_confidence or ())
    return path


def _rounded(values: Iterable[float | None]) -> list[float | None]:
    return [None if value is None else round(value, 3) for value in values]


def _folder(run: Run) -> Path:
    return Point(run, "aligned").folder
