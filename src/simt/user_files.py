"""Files that only the user can provide: licensed ones and the user's own, below SIMT_CORPORA."""

import os
from collections.abc import Iterable, Sequence
from pathlib import Path

from simt.pairs import Licensed, Local
from simt.params import Params
from simt.products import SETTINGS_FILE
from simt.runs import corpus_folder, fetch_settings
from simt.wording import indented


def corpora_folder() -> Path | None:
    """The user's SIMT_CORPORA, which commands and Snakemake look at alike."""
    folder = os.environ.get("SIMT_CORPORA")
    return Path(folder) if folder else None


def plain_or_gz(path: Path) -> Path | None:
    """The file itself, or its compressed form where only that is there."""
    compressed = path.with_name(path.name + ".gz")
    return next((candidate for candidate in (path, compressed) if candidate.is_file()), None)


def unfetched_pairs(params: Params) -> list[str]:
    """The pairs of a study whose raw files are still to come, or were never needed here."""
    return [
        pair
        for pair in params.chosen_study.runs
        if not any(
            (corpus_folder(pair, step) / SETTINGS_FILE).exists() for step in ("fetch", "bpe")
        )
    ]


def missing_by_pair(
    params: Params, pairs: Iterable[str], corpora: Path | None
) -> dict[str, list[str]]:
    """What the user has still to provide: a message for each entry that lacks a file."""
    found = {pair: _missing_of_pair(params, pair, corpora) for pair in pairs}
    return {pair: messages for pair, messages in found.items() if messages}


def before_the_first_download(
    params: Params, pairs: Iterable[str], corpora: Path | None
) -> str | None:
    """All that is missing of these pairs as one message; None where nothing is."""
    missing = missing_by_pair(params, pairs, corpora)
    if not missing:
        return None
    lines = ["files are missing that only you can provide; nothing has been downloaded yet"]
    for pair, messages in missing.items():
        lines += [f"{pair}:", *(indented(message) for message in messages)]
    lines.append(f"Then start again. To go without a pair, take it out of studies.{params.study}.")
    return "\n".join(lines)


def changed_since_copied(params: Params, corpora: Path | None) -> list[str]:
    """A line for each pair with files of the user's that are newer than their copies."""
    if corpora is None:
        return []
    found = {pair: _newer_of_pair(params, pair, corpora) for pair in params.chosen_study.runs}
    return [
        f"{pair}: {', '.join(files)} changed after being copied; to read the new text: "
        f"rm -r {corpus_folder(pair)}"
        for pair, files in found.items()
        if files
    ]


def _newer_of_pair(params: Params, pair: str, corpora: Path) -> list[str]:
    settings, raw = fetch_settings(params, pair), corpus_folder(pair, "fetch")
    newer, wanted = [], settings.wanted()
    for name, entry in (settings.licensed | settings.local).items():
        for inside in wanted.get(name, ()):
            copy, source = raw / name / inside, plain_or_gz(corpora / entry.folder / inside)
            if source is None or not copy.is_file():
                continue
            if source.stat().st_mtime > copy.stat().st_mtime:
                newer.append(f"{entry.folder}/{inside}")
    return newer


def _missing_of_pair(params: Params, pair: str, corpora: Path | None) -> list[str]:
    settings, raw = fetch_settings(params, pair), corpus_folder(pair, "fetch")
    messages = []
    for name, entry in (settings.licensed | settings.local).items():
        wanted = settings.wanted().get(name, [])
        if all((raw / name / inside).is_file() for inside in wanted):
            continue  # copied by an earlier call
        if message := what_is_missing(entry, wanted, corpora):
            messages.append(f"{name}: {message}")
    return messages


def what_is_missing(
    entry: Licensed | Local, wanted: Sequence[str], corpora: Path | None
) -> str | None:
    """What to get, from where, on which terms, and where to put it; None if all is there."""
    found = {
        inside: corpora is not None and plain_or_gz(corpora / entry.folder / inside) is not None
        for inside in wanted
    }
    if all(found.values()):
        return None
    lines = [
        *_what(entry),
        f"Put these files (each may be compressed as .gz) {_where(entry, corpora)}:",
    ]
    lines += [f"  {inside}: {'there' if found[inside] else 'missing'}" for inside in wanted]
    return "\n".join([lines[0], *map(indented, lines[1:])])


def _what(entry: Licensed | Local) -> list[str]:
    if isinstance(entry, Local):
        return ["your own files are not there."]
    return [
        f"{entry.title} is not there; it cannot be downloaded by a program.",
        f"Get it: {entry.obtain}",
    ]


def _where(entry: Licensed | Local, corpora: Path | None) -> str:
    if corpora is None:
        return f"below $SIMT_CORPORA/{entry.folder} (set SIMT_CORPORA to a folder of your own)"
    state = "" if corpora.is_dir() else " is not a folder"
    return f"below {corpora / entry.folder} (SIMT_CORPORA={corpora}{state})"
