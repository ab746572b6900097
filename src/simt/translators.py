"""What can translate: finished runs, and folders that `simt export` wrote."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from math import isfinite
from pathlib import Path
from typing import NamedTuple

from simt.corpus.bpe import open_subwords
from simt.corpus.text import source_tokeniser, target_tokeniser
from simt.decoding import open_run, prepared_with
from simt.errors import SimtError
from simt.knobs import knob_text
from simt.methods import Method, Model
from simt.pairs import TextSettings
from simt.params import Knob, Params, Study
from simt.problems import did_you_mean
from simt.products import SETTINGS_FILE
from simt.runs import Run, corpus_folder, study_runs
from simt.session import Translator
from simt.settings import METHOD_SETTINGS, DecodingSettings
from simt.wording import count


@dataclass(frozen=True)
class System:
    """Something that can translate, not yet opened."""

    name: str
    method: str
    variant: str
    languages: tuple[str, str]  # source and target
    knobs: tuple[Knob, ...]  # that it was decoded at
    open: Callable[[], Translator]
    raw_test: Path | None = None  # sentences that it was not trained on, where they are at hand
    own_knob: Knob | None = None  # that it was exported with

    @property
    def pair(self) -> str:
        """The pair of a run of a study."""
        return self.name.split("/")[0]

    def knob(self, text: str | None) -> Knob:
        """The knob value that a person asks for; without one, its own or the middle of all."""
        if text is None and self.own_knob is not None:
            return self.own_knob
        if text is None:
            simultaneous = [knob for knob in self.knobs if knob != "full"]
            return simultaneous[len(simultaneous) // 2] if simultaneous else "full"
        settings = METHOD_SETTINGS[self.method]
        value = "full" if text == "full" else _number(text)
        if settings.knob_range is None and value != "full":
            raise SimtError(f"{self.name} reads the whole source first: its only knob is full")
        complaint = None if value is None else settings.complaint(value)
        if value is None or complaint:
            why = f": {complaint.removeprefix('full: ')}" if complaint else ""
            raise SimtError(f"{text!r} is not a knob value of {self.name}{why}; {self._offer()}")
        return value

    def _offer(self) -> str:
        """The knob values that a person may give."""
        settings = METHOD_SETTINGS[self.method]
        assert settings.knob_range is not None
        usual = _listed(knob for knob in self.knobs if knob != "full")
        or_full = ", or full" if settings.takes_full else ""
        return f"give {settings.knob_range.symbol}, such as {usual}{or_full}"


def _number(text: str) -> Knob | None:
    try:
        value = float(text)
    except ValueError:
        return None
    return value if isfinite(value) else None


def _listed(knobs: Iterable[Knob]) -> str:
    return " ".join(map(knob_text, knobs))


def make_translator(
    parts: tuple[Method, Model],
    languages: tuple[str, str],
    text: TextSettings,
    subwords: Path,
    decoding: DecodingSettings,
) -> Translator:
    """A translator of its parts; ``subwords`` is the folder with codes and vocabularies."""
    return Translator(
        *parts,
        *open_subwords(subwords),
        source_tokeniser(text, languages[0]),
        target_tokeniser(text, languages[1]),
        decoding,
    )


def study_systems(params: Params) -> list[System]:
    """The finished runs of the study, in its order."""
    return _finished(params, params.chosen_study)


def _finished(params: Params, study: Study) -> list[System]:
    runs = study_runs(study)
    return [_of_run(params, run) for run in runs if (run.folder / SETTINGS_FILE).exists()]


def _of_run(params: Params, run: Run) -> System:
    pair = params.pairs[run.pair]
    languages = (pair.source, pair.target)
    corpus = corpus_folder(run.pair)

    def opened() -> Translator:
        text = prepared_with(corpus).text
        parts = open_run(run.folder, corpus)
        return make_translator(parts, languages, text, corpus / "bpe", params.decoding)

    knobs = params.knobs(run.pair, run.method, run.variant)
    raw_test = corpus / "text" / "test.raw.jsonl"
    return System(str(run), run.method, run.variant, languages, knobs, opened, raw_test)


# --- names ----------------------------------------------------------------------------------------


class Chosen(NamedTuple):
    """A system at a knob value."""

    name: str
    system: System
    knob: Knob


def choose(
    text: str, knob: str | None, systems: Sequence[System], params: Params | None = None
) -> Chosen:
    """What ``sm2/bi``, ``toy-deen/sm2/bi``, or ``sm2/bi/seed2@0.5`` stands for; @ is a knob.

    ``params`` has the study that the systems are of; a name that only others have is told then.
    """
    name, _, own_knob = text.partition("@")
    found = _named(name, systems)
    if not found:
        raise SimtError(_no_such(name, systems, params))
    if _is_of_several_pairs(found):
        each = ", ".join(dict.fromkeys(f"{system.pair}/{name}" for system in found))
        raise SimtError(f"there is {name!r} of several pairs: name the pair, too, as in {each}")
    return chosen_at(name, found[0], own_knob or knob)  # the first seed


def _no_such(name: str, systems: Sequence[System], params: Params | None) -> str:
    """That a name stands for nothing, where it was looked for, and what there is."""
    of_study = f" of study {params.study}" if params else ""
    nothing = f"no finished run{of_study} or exported folder {name!r}"
    if params and (others := _other_studies(name, params)):
        have_it = f"study {others[0]} has" if len(others) == 1 else f"studies {_and(others)} have"
        return f"{nothing}; {have_it} it: --study {others[0]}"
    known = [_shortest_name(system, systems) for system in systems]
    there_are = ", ".join(dict.fromkeys(known)) or "none yet: `simt plan` says how to train one"
    elsewhere = "; --study NAME looks in another study" if params else ""
    return f"{nothing}{did_you_mean(name, known)}; there are {there_are}{elsewhere}"


def _other_studies(name: str, params: Params) -> list[str]:
    """The studies that have a finished run of that name, whichever is chosen."""
    return [one for one, study in params.studies.items() if _named(name, _finished(params, study))]


def _and(names: Sequence[str]) -> str:
    return " and ".join([", ".join(names[:-1]), names[-1]])


def _named(name: str, systems: Sequence[System]) -> list[System]:
    found = [system for system in systems if name in _names_of(system)]
    return found or _of_only_variant(name, systems)


def _of_only_variant(name: str, systems: Sequence[System]) -> list[System]:
    """Those of a method, named by it alone, if there is one variant of it."""
    found = [one for one in systems if name in (one.method, f"{one.pair}/{one.method}")]
    return found if len({one.variant for one in found}) == 1 else []


def _is_of_several_pairs(systems: Sequence[System]) -> bool:
    return len({system.pair for system in systems}) > 1


def _shortest_name(system: System, systems: Sequence[System]) -> str:
    """The first name of a system that no other pair has."""
    names = _names_of(system)
    return next(name for name in names if not _is_of_several_pairs(_named(name, systems)))


def chosen_at(name: str, system: System, knob: str | None) -> Chosen:
    """A system at the knob value that a person gives, or does not."""
    value = system.knob(knob)
    return Chosen(f"{name}@{knob_text(value)}", system, value)


def _names_of(system: System) -> Iterator[str]:
    """All names of a system, the shortest first."""
    parts = system.name.split("/")
    if len(parts) == 4:
        pair, method, variant, seed = parts
        for name in (f"{method}/{variant}", f"{pair}/{method}/{variant}"):
            yield from (name, f"{name}/{seed}")


def describe_systems(systems: Sequence[System], study_name: str) -> str:
    """A line for each system: its name, its languages and the knob values it was decoded at."""
    if not systems:
        return (
            f"Study {study_name} has no finished run. `simt plan` says what is to do; --study NAME "
            "takes another study, and a folder that simt export wrote can be given, too."
        )
    rows = [
        (system.name, " to ".join(system.languages), _symbol(system), _listed(system.knobs))
        for system in systems
    ]
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    lines = [
        "  "
        + "  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip()
        for row in rows
    ]
    example = _shortest_name(systems[-1], systems)
    head = f"Study {study_name}: {count(len(systems), 'finished run')} can translate"
    tail = f'echo "…" | simt translate {example} --study {study_name}'
    return "\n".join([head, "", *lines, "", f"  {tail}"])


def _symbol(system: System) -> str:
    knobs = METHOD_SETTINGS[system.method].knob_range
    return knobs.symbol if knobs else ""
