"""What a study lacks is told with its remedy; what is there in some form is not missing."""

from dataclasses import replace
from pathlib import Path

import pytest

from simt.params import load_params
from simt.rehearsal.missing import Missing, missing_items, to_stand_in

PARAMS = load_params(Path(__file__).parents[3] / "params.yaml", "paper")


@pytest.fixture(autouse=True)
def elsewhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A folder without results, and no models in a cache."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("HF_HUB_CACHE", str(tmp_path / "hub"))


def named(study: str, corpora: Path | None = None) -> list[str]:
    return [one.what for one in missing_items(replace(PARAMS, study=study), corpora, None)]


def touch(path: Path) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.touch()


def test_everything_of_the_paper_is_missing_at_first() -> None:
    assert named("paper") == [
        "nist-zhen, ldc",
        "nist-zhen, nist",
        "wmt15-deen, rwth",
        "wmt15-deen, downloads",
        "wmt16-enro, downloads",
        "iwslt15-envi, downloads",
        "Unbabel/wmt22-cometkiwi-da",
    ]


def test_remedies_say_where_to_get_it() -> None:
    found = {one.what: one.remedy for one in missing_items(PARAMS, None, None)}
    assert "Linguistic Data Consortium" in found["nist-zhen, ldc"]
    assert "--until fetch" in found["wmt15-deen, downloads"]
    assert "huggingface-cli login" in found["Unbabel/wmt22-cometkiwi-da"]


def test_toy_study_lacks_nothing() -> None:
    assert named("toy") == []


@pytest.mark.parametrize(
    "files",
    [
        ["tatoeba/deu-eng.zip", "challenge/test.txt"],  # as downloaded, each below its entry
        ["deu-eng.zip", "challenge/test.txt.gz"],
        ["tatoeba/deu.txt", "challenge/test.txt"],  # unpacked
    ],
)
def test_downloads_in_the_users_corpora_are_there(files: list[str], tmp_path: Path) -> None:
    corpora = tmp_path / "mine"
    for file in files:
        touch(corpora / file)
    assert named("tatoeba", corpora) == ["Unbabel/wmt22-cometkiwi-da"]


def test_what_the_study_has_fetched_is_there(tmp_path: Path) -> None:
    raw = tmp_path / "results/corpora/tatoeba-deen/raw"
    touch(raw / "tatoeba/deu.txt")
    touch(raw / ".fetched/tatoeba.json")
    (downloads, _) = missing_items(replace(PARAMS, study="tatoeba"), None, None)
    assert downloads.entries == ("challenge",)


def test_files_that_are_read_side_by_side_are_generated_together() -> None:
    missing = [Missing("…", "…", "iwslt15-envi", ("train-en",))]
    assert to_stand_in(PARAMS, missing) == {"iwslt15-envi": {"train-en", "train-vi"}}
