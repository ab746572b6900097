"""Do results/ and params.yaml agree, and is everything still there?

A step is done when its settings are those of params.yaml, the files its marker vouches for are
whole, and they were made from the files that are there now. Times of files play no part, so this
also holds after files have been pulled from elsewhere.
"""

import json
import os
from base64 import urlsafe_b64encode
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from simt.errors import SimtError
from simt.markers import (
    EARLIER,
    Marker,
    UnreadableMarkerError,
    damage,
    read_marker,
    settings_of,
)
from simt.params import Params
from simt.products import SETTINGS_FILE
from simt.steps import STAGES, Step, Steps
from simt.wording import count

StepState = Literal["done", "to do", "stale", "damaged"]

_SHOWN_LENGTH = 40  # of a setting


@dataclass(frozen=True)
class Status:
    """Whether a step's results are there, current and whole, and if not, why."""

    state: StepState
    why: str = ""
    is_seen: bool = True  # by Snakemake, which then makes it again


class Inspection:
    """Looks at steps, at each once: many lean on the same corpus."""

    def __init__(self) -> None:
        self._markers: dict[str, Marker | None] = {}
        self._statuses: dict[str, Status] = {}

    def status(self, step: Step) -> Status:
        """Whether a step is done, and if not, why."""
        if step.name not in self._statuses:
            self._statuses[step.name] = self._look_at(step)
        return self._statuses[step.name]

    def _look_at(self, step: Step) -> Status:
        try:
            marker = self._markers[step.name] = read_marker(step.marker)
        except UnreadableMarkerError as error:
            self._markers[step.name] = None
            return Status("stale" if str(error) == EARLIER else "damaged", str(error), False)
        if marker is None:
            return Status("to do")
        if differences := list(_differences(marker.settings, step.settings.as_values())):
            return Status("stale", "; ".join(differences), is_recorded(step))
        if marker.files.keys() != set(step.product.vouched):
            return Status("stale", EARLIER, False)
        if wrong := _damage(step, marker):
            return Status("damaged", "; ".join(wrong), False)
        for read in step.reads:
            if self.status(read.step).state != "done":
                return Status("stale", f"{read.step.name} is {self.status(read.step).state}")
        if changed := list(self._changed_since(step, marker)):
            source, name = changed[0]
            why = f"was made from an earlier {name}: {source.name} was redone since"
            return Status("stale", why, any(_is_later(one, step) for one, _ in changed))
        return Status("done")

    def _changed_since(self, step: Step, marker: Marker) -> Iterator[tuple[Step, str]]:
        """The steps whose files a step was made from and are others now, each with one of them."""
        for read in step.reads:
            source = self._markers[read.step.name]
            assert source is not None, read.step.name
            now = source.digests(read.part, read.patterns)
            if others := [name for name in now if marker.made_from.get(name) != now[name]]:
                yield read.step, others[0]

    def content_damage(self, step: Step) -> Status:
        """The same for a step that is done, by the content of its files."""
        marker = self._markers[step.name]
        assert marker is not None, step.name
        wrong = _damage(step, marker, is_deep=True)
        return Status("damaged", "; ".join(wrong), False) if wrong else Status("done")


def _damage(step: Step, marker: Marker, is_deep: bool = False) -> list[str]:
    """What is wrong with the files of a step that has this marker."""
    try:
        written = step.marker.stat().st_mtime
    except OSError:  # it is being made again
        return []
    return damage(step.folder, marker, written, step.product.temporary, is_deep)


def is_recorded(step: Step) -> bool:
    """Whether Snakemake has noted how it made a step: without that it sees no other setting."""
    name = urlsafe_b64encode(str(step.marker).encode()).decode()
    return Path(".snakemake", "metadata", name).exists()


def _is_later(source: Step, step: Step) -> bool:
    """Whether Snakemake sees by the times of markers that a step was made from an earlier source.

    They say nothing after files have been copied or pulled from a store.
    """
    try:
        return source.marker.stat().st_mtime_ns > step.marker.stat().st_mtime_ns
    except OSError:  # one of them is being made again
        return False


def _differences(found: Any, wanted: Any, path: str = "") -> Iterator[str]:
    """Where two settings differ, as ``training.updates 800 -> 900``."""
    if isinstance(found, dict) and isinstance(wanted, dict):
        for key in sorted(found.keys() | wanted.keys()):
            place = f"{path}.{key}" if path else key
            yield from _differences(found.get(key), wanted.get(key), place)
    elif found != wanted:
        yield f"{path} {_change(found, wanted)}"


def _change(found: Any, wanted: Any) -> str:
    """From what to what; of lists too long for that, what is new and what is gone."""
    both = (_as_text(found), _as_text(wanted))
    are_lists = isinstance(found, list) and isinstance(wanted, list)
    if not are_lists or max(map(len, both)) <= _SHOWN_LENGTH:
        return " -> ".join(map(_short, both))
    new = [_as_text(value) for value in wanted if value not in found]
    gone = [_as_text(value) for value in found if value not in wanted]
    sides = (("with", new), ("without", gone))
    told = [f"{word} {_short(', '.join(values))}" for word, values in sides if values]
    return f"now {' and '.join(told) or 'in another order'}"


def _as_text(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False)


def _short(text: str) -> str:
    return text if len(text) <= _SHOWN_LENGTH else f"{text[: _SHOWN_LENGTH - 3]}..."


# --- a stage of a study -------------------------------------------------------------------------


def check_stage(params: Params, stage: str, is_deep: bool = False) -> str:
    """A line that says all is well up to a stage; otherwise an error that lists what is not."""
    statuses = _statuses(params, stage, is_deep)
    steps = [step for step, _ in statuses]
    wrong = [(step, status) for step, status in statuses if status.state != "done"]
    if wrong:
        head = f"{len(wrong)} of {len(steps)} steps of study {params.study} are not current:"
        remedy = [f"Bring them up to date with: {_make(params, stage)}"]
        if any(not status.is_seen for _, status in wrong):
            redo = _redo(params, f"{stage} --deep" if is_deep else stage)
            remedy.insert(0, f"Snakemake cannot see all of this. Let it see, with: {redo}")
        raise SimtError("\n".join([head, *_lines(wrong), *remedy]))
    files = sum(len(step.product.vouched) for step in steps)
    compared = "size and content" if is_deep else "size"
    return (
        f"study {params.study}: all {len(steps)} steps up to {stage} are those of params.yaml, "
        f"and their {files} files have the {compared} they were written with"
    )


def redo_stage(params: Params, stage: str, is_deep: bool = False) -> str:
    """What to run now that Snakemake sees all that is not current up to a stage.

    Only markers go, so that what they vouched for counts as not yet made.
    """
    unseen = [
        step.marker
        for step, status in _statuses(params, stage, is_deep)
        if not status.is_seen or _unseen_damage(step)
    ]
    for marker in unseen:
        if marker.is_dir():
            raise SimtError(f"{marker} is a folder but must be a file: remove it")
    for marker in unseen:
        marker.unlink()
    again = _make(params, stage)
    return f"{count(len(unseen), 'step')} of study {params.study} to be made again, with: {again}"


def _statuses(params: Params, stage: str, is_deep: bool) -> list[tuple[Step, Status]]:
    """Every step up to a stage, and whether it is done."""
    wanted = STAGES[: [str(one) for one in STAGES].index(stage) + 1]
    inspection = Inspection()
    steps = [step for step in Steps(params).all() if step.stage in wanted]
    statuses = [(step, inspection.status(step)) for step in steps]
    if not is_deep:
        return statuses
    return [
        (step, inspection.content_damage(step) if status.state == "done" else status)
        for step, status in statuses
    ]


def _lines(wrong: Iterable[tuple[Step, Status]]) -> list[str]:
    return [
        f"  {step.folder if step.product.marker == SETTINGS_FILE else step.marker}: "
        f"{status.state} {status.why}".rstrip()
        for step, status in wrong
    ]


def _make(params: Params, stage: str) -> str:
    """The command that makes what is to do up to a stage."""
    choices = f"study={params.study} fidelity={params.fidelity}"
    return f"snakemake --profile workflow/profiles/local --config {choices} -- {stage}"


def _redo(params: Params, stage: str) -> str:
    """The command after which Snakemake makes again what it does not see to be wrong.

    As short as it is, however many steps there are: people copy it.
    """
    return f"simt check {stage} --redo --study {params.study} --fidelity {params.fidelity}"


# --- before Snakemake plans -----------------------------------------------------------------------


def reset_future_mtimes(steps: Iterable[Step], now: float) -> int:
    """How many files are of a time to come, since the clock was set back; from here on, of now.

    Snakemake would take all that is made from them for outdated, fail its jobs and delete it.
    """
    paths = [Path(path) for step in steps for path in step.outputs]
    future = [path for path in paths if path.is_file() and path.stat().st_mtime > now]
    for path in future:
        os.utime(path, (now, now))
    return len(future)


def unseen_changes(params: Params, steps: Iterable[Step]) -> str:
    """What has other settings now without a note of Snakemake's, and the remedy; or nothing.

    So are results that were copied here or pulled from a store: it would call them up to date.
    """
    wrong = sum(
        not is_recorded(step)
        and (found := settings_of(step.marker)) is not None
        and found != step.settings.as_values()
        for step in steps
    )
    if not wrong:
        return ""
    were = "was" if wrong == 1 else "were"
    return (
        f"{count(wrong, 'step')} {were} made with other settings than those of params.yaml, which "
        "Snakemake cannot detect, as it did not produce these files here. To make them again: "
        f"{_redo(params, 'paper')}"
    )


def mismatch_warning(steps: Iterable[Step]) -> str:
    """A warning where results are read that params.yaml does not stand for; empty if it does."""
    look, steps = Inspection(), list(steps)
    there = [step for step in steps if look.status(step).state != "to do"]
    others = [step for step in there if look.status(step).state != "done"]
    if not others:
        return ""
    first, verb = others[0], "does" if len(others) == 1 else "do"
    return (
        f"{len(others)} of {count(len(there), 'result')} used here {verb} not match "
        f"params.yaml, such as {first.name} ({look.status(first).why}); `simt plan` lists them"
    )


def raise_if_damaged(params: Params, steps: Iterable[Step]) -> None:
    """Raise an error if files are damaged in a way that Snakemake does not see.

    It makes again what is not there, but takes an emptied or cut file for a good one.
    """
    wrong = [
        (step, Status("damaged", found, is_seen=False))
        for step in steps
        if (found := _unseen_damage(step))
    ]
    if wrong:
        head = f"{count(len(wrong), 'step')} with damaged results:"
        redo = _redo(params, "paper")
        raise SimtError("\n".join([head, *_lines(wrong), f"To make this again: {redo}"]))


def _unseen_damage(step: Step) -> str:
    try:
        marker = read_marker(step.marker)
    except UnreadableMarkerError as error:
        return str(error)
    if marker is None:
        return ""
    wrong = _damage(step, marker)
    gone = {f"{name} is missing" for name in step.product.files}
    unseen = [one for one in wrong if one not in gone]
    # A job that is at work has taken its marker away before it changed any file.
    return "; ".join(unseen) if unseen and _is_there(step, marker) else ""


def _is_there(step: Step, marker: Marker) -> bool:
    try:
        return read_marker(step.marker) == marker
    except UnreadableMarkerError:
        return False
