"""What a study needs that is not on this machine yet, and how to get it."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

from simt.corpus.fetch import is_fetched, is_with_user
from simt.pairs import Download, Splits
from simt.params import Params
from simt.runs import corpus_folder, fetch_settings, scoring_settings, study_points
from simt.scoring.comet import CometUnavailable, find_model
from simt.settings import TOY_ESTIMATOR
from simt.user_files import what_is_missing


@dataclass(frozen=True)
class Missing:
    """What is not there: some entries of a pair, or, without a pair, the model of a metric."""

    what: str
    remedy: str
    pair: str | None = None
    entries: tuple[str, ...] = ()


def missing_items(params: Params, corpora: Path | None, models: Path | None) -> list[Missing]:
    """All of a study: files of corpora in the order of its pairs, then models of metrics."""
    pairs = [pair for pair in params.chosen_study.runs if params.pairs[pair].toy is None]
    files = [one for pair in pairs for one in _missing_of_pair(params, pair, corpora)]
    return [*files, *_missing_models(params, models)]


def _missing_of_pair(params: Params, pair: str, corpora: Path | None) -> Iterator[Missing]:
    settings = fetch_settings(params, pair)
    raw = corpus_folder(pair, "fetch")
    downloads = {}
    for name, entry in (settings.downloads | settings.licensed | settings.local).items():
        wanted = settings.wanted().get(name, [])
        if is_fetched(raw, name, wanted):
            continue
        if isinstance(entry, Download):
            if not is_with_user(name, entry, wanted, corpora):
                downloads[name] = entry.file_name
        elif why := what_is_missing(entry, wanted, corpora):
            yield Missing(f"{pair}, {name}", why, pair, (name,))
    if downloads:
        files = ", ".join(f"{name}/{file}" for name, file in downloads.items())
        remedy = (
            f"not downloaded yet: {files}. Get them: snakemake --config study={params.study} "
            "--until fetch. Without a network, put them below the folder that SIMT_CORPORA names."
        )
        yield Missing(f"{pair}, downloads", remedy, pair, tuple(downloads))


def _missing_models(params: Params, models: Path | None) -> Iterator[Missing]:
    points = study_points(params, params.chosen_study)
    named = dict.fromkeys(
        model for point in points for model in scoring_settings(params, point).comet
    )
    for model in named:
        if model == TOY_ESTIMATOR:
            continue  # trained by the study
        found = find_model(model, models)
        if isinstance(found, CometUnavailable):
            yield Missing(model, found.reason)


def to_stand_in(params: Params, missing: Iterable[Missing]) -> dict[str, set[str]]:
    """The entries of each pair to be generated: those that are missing, and their partners."""
    named: dict[str, set[str]] = {}
    for one in missing:
        if one.pair is not None:
            named.setdefault(one.pair, set()).update(one.entries)
    return {pair: _with_partners(names, params.splits(pair)) for pair, names in named.items()}


def _with_partners(names: set[str], splits: Splits) -> set[str]:
    """Also entries that some part reads side by side with one of these: lines must fit."""
    parts = [(part.source, *part.targets) for part in (*splits.train, *splits.valid, *splits.test)]
    if splits.aligned is not None:
        parts.append((splits.aligned.source, splits.aligned.target, splits.aligned.links))
    together = [{file.partition("/")[0] for file in files} for files in parts]
    grown = names.union(*(entries for entries in together if entries & names))
    return names if grown == names else _with_partners(grown, splits)
