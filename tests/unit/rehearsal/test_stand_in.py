"""Generated text is read, cleaned and cut by the steps of the pair whose files it stands in for."""

import json
from collections import Counter
from pathlib import Path
from typing import cast

import pytest
import yaml

from simt.corpus.alignments import read_aligned
from simt.corpus.bpe import build_bpe
from simt.corpus.prepare import prepare
from simt.pairs import AlignedPart, PrepareSettings
from simt.params import Params, load_params
from simt.rehearsal.shrinking import ON_CPU, shrunk
from simt.rehearsal.stand_in import write_stand_ins
from simt.runs import bpe_settings, prepare_settings

FILE = Path(__file__).parents[3] / "params.yaml"
REAL = [name for name, pair in load_params(FILE).pairs.items() if pair.toy is None]


def rehearsed(folder: Path, pair: str) -> Params:
    """The params of a rehearsal of some study with this pair."""
    raw = yaml.safe_load(FILE.read_text(encoding="utf-8"))
    study = next(name for name, study in raw["studies"].items() if pair in study["runs"])
    file = folder / "params.yaml"
    file.write_text(yaml.safe_dump(shrunk(raw, study, "default", ON_CPU, {})), encoding="utf-8")
    return load_params(file)


def prepared(folder: Path, pair: str) -> tuple[PrepareSettings, dict[str, dict[str, int]]]:
    """The text of a pair all of whose files are generated, and its statistics."""
    params = rehearsed(folder, pair)
    settings = prepare_settings(params, pair)
    entry = params.pairs[pair]
    write_stand_ins(settings, {*entry.downloads, *entry.licensed}, folder / "raw")
    return settings, prepare(settings, folder / "raw", folder / "text", processes=1)


@pytest.mark.parametrize("pair", REAL)
def test_all_splits_of_every_pair_are_there(pair: str, tmp_path: Path) -> None:
    settings, stats = prepared(tmp_path, pair)
    assert stats["train"]["kept"] > 500
    assert stats["valid"]["kept"] >= 4
    assert stats["test"]["kept"] >= 6
    assert ("aligned" in stats) == (settings.splits.aligned is not None)


def test_lines_are_as_long_as_real_ones(tmp_path: Path) -> None:
    _, stats = prepared(tmp_path, "wmt15-deen")
    assert 20 < stats["train"]["mean_target_words"] < 35


def test_chinese_is_without_blanks_and_cut_into_words(tmp_path: Path) -> None:
    _, stats = prepared(tmp_path, "nist-zhen")
    raw = (tmp_path / "raw/ldc/train.zh").read_text(encoding="utf-8")
    assert " " not in raw
    assert stats["train"]["mean_source_words"] > 10


def test_vocabulary_is_as_large_as_the_merges_asked_for(tmp_path: Path) -> None:
    prepared(tmp_path, "wmt15-deen")
    settings = bpe_settings(rehearsed(tmp_path, "wmt15-deen"), "wmt15-deen")
    build_bpe(settings, tmp_path / "text", tmp_path / "bpe", processes=1)
    stats = json.loads((tmp_path / "bpe/stats.json").read_text(encoding="utf-8"))
    specials = 4  # <bos>, <pad>, <eos>, <unk>
    assert stats["vocabulary"] == {"source": 32000 + specials, "target": 32000 + specials}
    assert stats["splits"]["train"]["target"]["unknown"] == 0


@pytest.mark.parametrize("is_target_first", [False, True])
@pytest.mark.parametrize("base", [0, 1])
def test_links_are_written_as_the_part_counts_them(
    base: int, is_target_first: bool, tmp_path: Path
) -> None:
    settings = prepare_settings(rehearsed(tmp_path, "wmt15-deen"), "wmt15-deen")
    old = settings.splits.aligned
    assert old is not None
    part = old.model_copy(update={"base": base, "is_target_first": is_target_first})
    splits = settings.splits.model_copy(update={"aligned": part})
    write_stand_ins(settings.model_copy(update={"splits": splits}), {"rwth"}, tmp_path)
    (first, *_) = read_aligned(cast(AlignedPart, part), tmp_path, Counter())
    # "Peter glaubt , dass ein Schüler Geschenke kaufen musste ." and its translation
    words = {(first.source_words[i], first.target_words[j]) for i, j in first.links.sure}
    assert {("Peter", "Peter"), ("Schüler", "student"), ("Geschenke", "gifts")} <= words
