"""What only the user can provide is told for all pairs of a study at once."""

import os
from dataclasses import replace
from pathlib import Path

import pytest

from simt.atomic import write_json
from simt.params import Params, load_params
from simt.plan import describe_study
from simt.user_files import (
    before_the_first_download,
    changed_since_copied,
    missing_by_pair,
    unfetched_pairs,
)

FILE = Path(__file__).parents[2] / "params.yaml"


@pytest.fixture
def params(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Params:
    monkeypatch.chdir(tmp_path)
    return load_params(FILE, "paper")


def provide(folder: Path, *names: str) -> None:
    for name in names:
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).touch()


def test_missing_files_of_all_pairs_are_one_message(params: Params, tmp_path: Path) -> None:
    provide(tmp_path / "own/nist-zhen", "train.zh", "train.en.gz")
    provide(tmp_path / "own/rwth/DeEn", "de", "en")
    told = before_the_first_download(params, unfetched_pairs(params), tmp_path / "own")
    assert told is not None
    assert "LDC2010T11" in told
    assert "ldc:" not in told, "those are there"
    assert "DeEn/alignmentDeEn.talp: missing" in told
    assert "DeEn/de: there" in told
    assert "take it out of studies.paper" in told


def test_pairs_without_such_files_need_nothing(params: Params) -> None:
    assert before_the_first_download(params, ["wmt16-enro", "iwslt15-envi"], None) is None


@pytest.mark.parametrize("folder", ["raw", "bpe"])
def test_pair_that_was_fetched_or_pulled_is_not_asked_for(params: Params, folder: str) -> None:
    write_json(Path(f"results/corpora/nist-zhen/{folder}/settings.json"), {})
    assert "nist-zhen" not in unfetched_pairs(params)


def test_files_that_an_earlier_call_has_copied_are_not_asked_for_again(params: Params) -> None:
    raw = Path("results/corpora/wmt15-deen/raw/rwth/DeEn")
    provide(raw, "de", "en")
    assert "wmt15-deen" in missing_by_pair(params, ["wmt15-deen"], None)
    provide(raw, "alignmentDeEn.talp")
    assert missing_by_pair(params, ["wmt15-deen"], None) == {}


def test_plan_lists_what_is_missing(params: Params) -> None:
    told = describe_study(params)
    assert "for you to provide\n  nist-zhen, ldc: 2.1M Chinese-English" in told
    assert "  wmt15-deen, rwth: RWTH German-English" in told
    assert "for you to provide" not in describe_study(replace(params, study="tiny"))


def test_own_text_that_is_newer_than_its_copy_is_told(params: Params, tmp_path: Path) -> None:
    files = ("de", "en", "alignmentDeEn.talp")
    own, copies = tmp_path / "own/rwth/DeEn", Path("results/corpora/wmt15-deen/raw/rwth/DeEn")
    provide(own, *files)
    assert changed_since_copied(params, tmp_path / "own") == [], "nothing is copied yet"
    provide(copies, *files)
    assert changed_since_copied(params, tmp_path / "own") == []
    later = (copies / "en").stat().st_mtime + 1
    os.utime(own / "en", (later, later))
    told = changed_since_copied(params, tmp_path / "own")
    assert told == [
        "wmt15-deen: rwth/DeEn/en changed after being copied; to read the new text: "
        "rm -r results/corpora/wmt15-deen"
    ]
    assert told[0] in describe_study(params, tmp_path / "own")
    assert changed_since_copied(params, None) == []
