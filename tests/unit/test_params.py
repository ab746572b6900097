"""params.yaml as it stands, and every kind of mistake in one."""

import copy
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import yaml

from simt.errors import SimtError
from simt.params import load_params
from simt.problems import did_you_mean
from simt.settings import METHOD_SETTINGS

FILE = Path(__file__).parents[2] / "params.yaml"
VALUES: dict[str, Any] = yaml.safe_load(FILE.read_text(encoding="utf-8"))


@pytest.fixture
def values() -> dict[str, Any]:
    return copy.deepcopy(VALUES)


def problems_of(values: dict[str, Any], tmp_path: Path, fidelity: str | None = None) -> list[str]:
    path = tmp_path / "params.yaml"
    path.write_text(yaml.safe_dump(values, sort_keys=False), encoding="utf-8")
    with pytest.raises(SimtError) as caught:
        load_params(path, fidelity=fidelity)
    return str(caught.value).splitlines()[1:]


def change(values: dict[str, Any], path: str, value: Any) -> None:
    *parents, last = path.split("/")
    for key in parents:
        values = values[int(key)] if isinstance(values, list) else values[key]
    values[last] = value


@pytest.mark.parametrize("fidelity", VALUES["fidelities"])
@pytest.mark.parametrize("study", VALUES["studies"])
def test_every_study_is_valid_at_every_fidelity(study: str, fidelity: str) -> None:
    assert load_params(FILE, study, fidelity).study == study


def test_methods_are_those_with_settings() -> None:
    assert load_params(FILE).methods.keys() == METHOD_SETTINGS.keys()


def test_paper_study_trains_as_often_as_the_paper() -> None:
    # Section 15 of the specification: 17 + 36 + 18 + 16.
    study = load_params(FILE).studies["paper"]
    runs = {
        pair: sum(len(variants) for variants in methods.values())
        for pair, methods in study.runs.items()
    }
    assert runs == {"nist-zhen": 17, "wmt15-deen": 36, "wmt16-enro": 18, "iwslt15-envi": 16}


def test_paper_study_decodes_the_points_of_tables_5_to_8() -> None:
    params = load_params(FILE, "paper")
    main = {"waitk", "multipath", "hmt", "itst"}
    counts = {}
    for pair, methods in params.studies["paper"].runs.items():
        runs = [(m, v) for m, vs in methods.items() for v in vs if m in main]
        runs += [("sm2", "uni"), ("sm2", "bi")]
        knobs = [k for m, v in runs for k in params.knobs(pair, m, v)]
        counts[pair] = sum(k not in ("full", 0.99) for k in knobs)
    assert counts == {"nist-zhen": 34, "wmt15-deen": 37, "wmt16-enro": 38, "iwslt15-envi": 30}


def test_settings_of_a_run_are_merged_from_method_pair_and_variant() -> None:
    params = load_params(FILE)
    merged = params.method_settings("toy-deen", "sm2", "bi-w0.3")
    assert merged["confidence_weight"] == 0.3  # the variant
    assert merged["annealed_decay_updates"] == 600  # the pair
    assert merged["hint"] == "full_source"  # the method


def test_fine_tuning_gets_its_share_of_the_updates() -> None:
    training = load_params(FILE).training_settings("wmt15-deen", "sm2", "bi-ft")
    assert (training.updates, training.peak_lr) == (25000, pytest.approx(1e-4))


def test_variant_has_training_settings_of_its_own() -> None:
    params = load_params(FILE)
    stops = [
        params.training_settings("wmt15-deen", "sm2", variant).early_stop_validations
        for variant in ("bi-ft", "bi-adapter", "bi")
    ]
    assert stops == [5, 5, 0]


def test_official_fidelity_is_laid_over_settings_and_variants() -> None:
    params = load_params(FILE, fidelity="official")
    merged = params.method_settings("wmt15-deen", "sm2", "bi-p")
    assert (merged["first_read"], merged["prohibition"]) == (2, "one_sided")
    assert params.training_settings("wmt15-deen", "itst", "uni").dropout == 0.3
    assert params.training_settings("wmt15-deen", "sm2", "bi").dropout == 0.1


def test_reading_params_does_not_import_torch() -> None:
    code = (
        "import sys, simt.params, simt.runs, simt.check, simt.plan; print('torch' in sys.modules)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "False"


# Each mistake: where it is made, its value, and a line that must be told.
MISTAKES = {
    "unknown section": ("sizes", {}, "sizes: unknown section"),
    "unknown setting of a variant": (
        "methods/sm2/variants/bi",
        {"encodr": "bi"},
        "methods.sm2.variants.bi.encodr: unknown setting (did you mean encoder?); "
        "sm2 has encoder, confidence_weight",
    ),
    "unknown setting of a method": (
        "methods/sm2/settings/gamma",
        1,
        "methods.sm2.settings.gamma: unknown setting",
    ),
    "unknown method": ("methods/waitx", {}, "methods.waitx: there is no method 'waitx'"),
    "unknown reader": (
        "pairs/wmt15-deen/splits/train/0/reader",
        "sgml",
        "pairs.wmt15-deen.splits.train.0.reader: 'sgml' is not possible; "
        "there are plain, tsv, sgm, xml, tmx",
    ),
    "unknown study": ("study", "nope", "study: there is no study 'nope'; there are toy, tiny"),
    "unknown fidelity": ("fidelity", "exact", "fidelity: there is no fidelity preset 'exact'"),
    "unknown pair in a study": (
        "studies/toy/pairs/main",
        ["toy-dee"],
        "studies.toy.pairs: there is no pair 'toy-dee' (did you mean toy-deen?)",
    ),
    "unknown variant in a study": (
        "studies/toy/runs/toy-deen/waitk",
        ["k4"],
        "studies.toy.runs.toy-deen.waitk: there is no variant of waitk 'k4'",
    ),
    "unknown variant in a figure": (
        "paper/figures/fig08-ablations/runs/sm2",
        ["bi-no-pie"],
        "paper.figures.fig08-ablations.runs.sm2: there is no variant of sm2 'bi-no-pie'",
    ),
    "unknown BPE": ("pairs/toy-deen/bpe", "joint", "pairs.toy-deen.bpe: there is no BPE entry"),
    "unknown size": ("pairs/toy-deen/sizes/base", "toyy", "pairs.toy-deen.sizes.base: there is no"),
    "text for a number": (
        "training/dropout",
        "0.1",
        'training.dropout: "0.1" is text to YAML, not a number; write 0.1 without quotes',
    ),
    "number that YAML takes for text": (
        "training/peak_lr",
        "8e-3",
        'training.peak_lr: "8e-3" is text to YAML, not a number; write 8.0e-3',
    ),
    "whole number that YAML takes for text": (
        "training/updates",
        "1e5",
        'training.updates: "1e5" is text to YAML, not a number; write 100000',
    ),
    "number for a list": (
        "studies/toy/seeds",
        3,
        "studies.toy.seeds: 3 is not a list; write a list, such as [3]",
    ),
    "text for a list": (
        "studies/toy/seeds",
        "1",
        'studies.toy.seeds: "1" is not a list; write a list, such as [1]',
    ),
    "words for a number": (
        "training/dropout",
        "a lot",
        'training.dropout: "a lot" is not a number; write a number, such as 0.1',
    ),
    "part of an update": (
        "training/updates",
        2.5,
        "training.updates: 2.5 is not a whole number; write a whole number, such as 10",
    ),
    "text for a switch": (
        "training/compile",
        "yes",
        'training.compile: "yes" is not true or false; write one of these, without quotes',
    ),
    "folder without its key": (
        "pairs/tiny-deen/local",
        {"clock": "clock"},
        'pairs.tiny-deen.local.clock: "clock" is not an entry; write {folder: clock}',
    ),
    "β of 1": ("training/adam_betas", [0.9, 1.0], "training.adam_betas.1: 1.0: input should be"),
    "endless learning rate": (
        "training/peak_lr",
        float("inf"),
        "training.peak_lr: Infinity: input should be a finite number",
    ),
    "endless learning rate of a pair": (
        "pairs/toy-deen/training/peak_lr",
        float("inf"),
        "pairs.toy-deen.training.peak_lr: Infinity: input should be a finite number",
    ),
    "endless k": (
        "methods/multipath/knobs",
        [float("inf")],
        "methods.multipath.knobs.0: Infinity must be a finite number, or full",
    ),
    "word for a knob": (
        "pairs/tiny-deen/knobs/sm2",
        [0.5, "half"],
        'pairs.tiny-deen.knobs.sm2.1: "half" must be a finite number, or full',
    ),
    "variant without a list": (
        "paper/figures/fig08-ablations/runs/sm2",
        "bi",
        'paper.figures.fig08-ablations.runs.sm2: "bi" must be a list of variants, or all',
    ),
    "no seed": ("studies/toy/seeds", [], "studies.toy.seeds: is empty; give at least one"),
    "text for a seed": ("studies/toy/seeds", ["1"], 'studies.toy.seeds.0: "1" is text to YAML'),
    "split without a size": (
        "pairs/toy-deen/toy/sizes",
        {"train": 1, "valid": 1, "test": 1},
        "pairs.toy-deen.toy.sizes: has train, valid, test; give exactly train, valid, test, align",
    ),
    "size of no split": (
        "pairs/toy-deen/toy/sizes/dev",
        1,
        "pairs.toy-deen.toy.sizes: has train, valid, test, aligned, dev; give exactly train, val",
    ),
    "name of a pair that is no path": (
        "pairs/Foo_Bar",
        VALUES["pairs"]["toy-deen"],
        "pairs.Foo_Bar: 'Foo_Bar' cannot be a name; use lower case, digits, . and -",
    ),
    "name of a study that is no path": (
        "studies/a b",
        VALUES["studies"]["toy"],
        "studies.a b: 'a b' cannot be a name; use lower case, digits, . and -",
    ),
    "name of a preset that is no path": (
        "fidelities/..",
        {},
        "fidelities...: '..' cannot be a name; use lower case, digits, . and -",
    ),
    "name of a download that is no path": (
        "pairs/wmt15-deen/downloads/Foo_Bar",
        VALUES["pairs"]["wmt15-deen"]["downloads"]["commoncrawl"],
        "pairs.wmt15-deen.downloads.Foo_Bar: 'Foo_Bar' cannot be a name; use lower case",
    ),
    "empty section": ("bpe", {}, "bpe: this section is missing or empty"),
    "section that is a list": ("model", ["toy"], "model: must be a mapping of names to values"),
    "empty study": ("study", None, "study: this section is missing or empty"),
    "number for a study": ("study", 7, "study: there is no study '7'; there are toy, tiny"),
    "empty fidelity": ("fidelity", None, "fidelity: this section is missing or empty"),
    "list for a fidelity": ("fidelity", ["a"], "fidelity: there is no fidelity preset '['a']'"),
    "method without variants": (
        "methods/sm2/variants",
        None,
        "methods.sm2.variants: null: input should be an object",
    ),
    "number for a method": ("methods/3", {}, "methods.3: there is no method '3'; there are hmt"),
    "section that a preset cannot have": (
        "fidelities/official/study",
        "toy",
        "fidelities.official.study: unknown section; a preset has pairs, text,",
    ),
    "misspelt section in a preset": (
        "fidelities/official/trainin",
        {"dropout": 0.2},
        "fidelities.official.trainin: unknown section (did you mean training?)",
    ),
    "misspelt setting in a preset": (
        "fidelities/official/training/dropuot",
        0.2,
        "fidelities.official.training.dropuot: unknown setting (did you mean dropout?)",
    ),
    "preset that is a list": ("fidelities/official", [1], "fidelities.official: must be a mapping"),
    "preset that is a word": ("fidelities/official", "x", "fidelities.official: must be a mapping"),
    "preset with an empty section": (
        "fidelities/official/methods",
        None,
        "fidelities.official.methods: this section is missing or empty",
    ),
    "number for a flag": ("decoding/forbid_eos_before_source_end", 1, "decoding.forbid_eos_"),
    "k below 1": ("methods/waitk/variants/k1/k", 0, "methods.waitk.variants.k1.k: 0: "),
    "γ above 1": ("methods/sm2/knobs", [0.5, 1.5], "methods.sm2.knobs: γ = 1.5 must be above 0"),
    "γ of 0": ("pairs/wmt15-deen/knobs/sm2", [0], "pairs.wmt15-deen.knobs.sm2: γ = 0 must be"),
    "fraction as k": ("methods/multipath/knobs", [1.5], "methods.multipath.knobs: k = 1.5 is not"),
    "knob of an offline run": (
        "methods/offline/knobs",
        [3],
        "methods.offline.knobs: 3: this method",
    ),
    "full source of HMT": ("methods/hmt/knobs", ["full"], "methods.hmt.knobs: full: this method"),
    "knob twice": ("methods/itst/knobs", [0.2, 0.2], "methods.itst.knobs: a value appears twice"),
    "no knobs": ("methods/sm2/variants/bi/knobs", [], "methods.sm2.variants.bi.knobs: no knob"),
    "first seed only of nothing": (
        "studies/multi30k/first_seed_only/sm2",
        ["bi-q"],
        "studies.multi30k.first_seed_only.sm2: there is no variant of sm2 'bi-q'",
    ),
    "some models of a curve with fewer seeds": (
        "studies/multi30k/first_seed_only/hmt",
        ["l2-k4"],
        "studies.multi30k.first_seed_only.hmt: the models of hmt make up one curve, so all of them "
        "need the same seeds; add l1-k2, or leave hmt out here",
    ),
    "warm-up longer than the training": (
        "pairs/toy-deen/training/warmup_updates",
        8000,
        "pairs.toy-deen.training.warmup_updates: 8,000 is above updates (1,800); lower it",
    ),
    "start with fewer seeds": (
        "studies/multi30k/first_seed_only",
        {"offline": ["bi-small"]},
        "studies.multi30k.runs.multi30k-deen.sm2: bi-small-ft starts from offline/bi-small, which "
        "is trained with the first seed only; add bi-small-ft to first_seed_only.sm2",
    ),
    "seed twice": ("studies/toy/seeds", [1, 1], "studies.toy.seeds: a seed appears twice"),
    "start that is not run": (
        "studies/toy/runs/toy-deen/offline",
        ["uni", "bi-small", "bi-big"],
        "studies.toy.runs.toy-deen.sm2: bi-ft starts from offline/bi, which is not run here; "
        "add bi to studies.toy.runs.toy-deen.offline",
    ),
    "start that does not exist": (
        "methods/sm2/variants/bi-ft/start_from",
        "offline/tri",
        "methods.sm2.variants.bi-ft.start_from: there is no variant of offline 'tri'",
    ),
    "start without a variant": (
        "methods/sm2/variants/bi-ft/start_from",
        "offline",
        "methods.sm2.variants.bi-ft.start_from: there is no variant of offline ''; there are uni",
    ),
    "start of a variant that no study runs": (
        "methods/sm2/variants/mine",
        {"start_from": "offlin/bi"},
        "methods.sm2.variants.mine.start_from: there is no method 'offlin' (did you mean offline?",
    ),
    "start of another size": (
        "methods/sm2/variants/bi-ft/start_from",
        "offline/bi-big",
        "methods.sm2.variants.bi-ft.start_from: offline/bi-big is of size",
    ),
    "start of another encoder": (
        "methods/sm2/variants/bi-ft/start_from",
        "offline/uni",
        "methods.sm2.variants.bi-ft.start_from: offline/uni has a uni encoder, this a bi one",
    ),
    "setting that is nowhere": (
        "methods/waitk/variants/k1",
        {"knobs": [1]},
        "methods.waitk.variants.k1.k: missing",
    ),
    "heads that do not divide": (
        "model/toy/heads",
        5,
        "model.toy: 5 heads do not divide a width of 64",
    ),
    "prohibition without states": (
        "methods/sm2/variants/bi-p/prohibition_lower",
        11,
        "methods.sm2.variants.bi-p: prohibition_upper 10 is below prohibition_lower 11",
    ),
    "joint BPE of two sizes": (
        "bpe/joint-8k/source_merges",
        10,
        "bpe.joint-8k: joint BPE has one number of merges",
    ),
    "file from nowhere": (
        "pairs/wmt15-deen/splits/train/0/source",
        "europarl/x.de",
        "pairs.wmt15-deen.splits.train.0.source: there is no download, licensed or local entry",
    ),
    "file outside raw": (
        "pairs/wmt15-deen/splits/train/0/source",
        "../x.de",
        "pairs.wmt15-deen.splits.train.0.source: '../x.de' must be a path below raw/",
    ),
    "licensed file that nobody asks for": (
        "pairs/nist-zhen/splits/train/0/source",
        "ldc/train.zho",
        "pairs.nist-zhen.splits.train.0.source: add train.zho to pairs.nist-zhen.",
    ),
    "own files under the name of a download": (
        "pairs/wmt15-deen/local",
        {"europarl-v7": {"folder": "mine"}},
        "pairs.wmt15-deen.local.europarl-v7: another entry has this name; rename one",
    ),
    "address without a file": (
        "pairs/iwslt15-envi/downloads/train-en/addresses",
        ["https://example.org/x.tgz?download=1"],
        "pairs.iwslt15-envi.downloads.train-en: https://example.org/x.tgz?download=1 does not end",
    ),
    "short checksum": (
        "pairs/wmt15-deen/downloads/europarl-v7/sha256",
        "0224",
        "pairs.wmt15-deen.downloads.europarl-v7.sha256: ",
    ),
    "one language twice": ("pairs/wmt15-deen/target", "de", "pairs.wmt15-deen.target: is de"),
    "pair without text": ("pairs/wmt15-deen/splits", None, "pairs.wmt15-deen: give either toy"),
    "grammar in another language": ("pairs/toy-deen/target", "fr", "pairs.toy-deen: the grammar"),
    "pair without runs": (
        "studies/toy/pairs/appendix",
        ["wmt16-enro"],
        "studies.toy.runs: no runs",
    ),
    "study without a run": ("studies/tiny/runs/tiny-deen", {}, "studies.tiny.runs.tiny-deen: no r"),
    "methods without a variant": (
        "studies/tiny/runs/tiny-deen",
        {"sm2": [], "waitk": []},
        "studies.tiny.runs.tiny-deen: no run: {offline: [uni, bi]} would be two",
    ),
}


@pytest.mark.parametrize("mistake", MISTAKES)
def test_mistake_is_told_with_its_key_path(
    mistake: str, values: dict[str, Any], tmp_path: Path
) -> None:
    path, value, expected = MISTAKES[mistake]
    change(values, path, value)
    told = problems_of(values, tmp_path)
    assert any(line.startswith(f"  {expected}") for line in told), "\n".join(told)


def test_all_problems_are_told_at_once(values: dict[str, Any], tmp_path: Path) -> None:
    change(values, "training/dropout", 2)
    change(values, "methods/waitk/variants/k3/k", -1)
    change(values, "pairs/toy-deen/bpe", "none")
    paths = [line.split(":")[0].strip() for line in problems_of(values, tmp_path)]
    assert {"training.dropout", "methods.waitk.variants.k3.k", "pairs.toy-deen.bpe"} <= set(paths)


def test_mistakes_of_every_kind_are_told_in_one_go(values: dict[str, Any], tmp_path: Path) -> None:
    del values["bpe"]
    change(values, "methods/waitk/variants/k1/k", 0)
    change(values, "methods/sm2/knobs", [1.5, 0, 2])
    change(values, "methods/sm2/variants/bi-ft/start_from", "offline/nope")
    change(values, "studies/tiny/runs/tiny-deen/offline", ["uni", "bi-small", "bi-big"])
    change(values, "pairs/toy-deen/training/max_tokens", 2000)
    change(values, "paper/figures/fig03-bleu-al/split", "tset")
    change(values, "paper/figures/fig08-ablations/runs/sm2", ["by"])
    change(values, "fidelities/paper/model/base/ffn", 0)
    told = problems_of(values, tmp_path)
    expected = [
        "bpe: this section is missing or empty",
        "methods.waitk.variants.k1.k: 0: input should be greater than or equal to 1",
        "methods.sm2.knobs: γ = 1.5 must be above 0 and at most 1",
        "methods.sm2.knobs: γ = 0 must be above 0 and at most 1",
        "methods.sm2.knobs: γ = 2 must be above 0 and at most 1",
        "methods.sm2.variants.bi-ft.start_from: there is no variant of offline 'nope'",
        "paper.figures.fig03-bleu-al.split: 'tset' is not possible",
        "paper.figures.fig08-ablations.runs.sm2: there is no variant of sm2 'by'",
        "pairs.toy-deen.training: max_tokens 2000 is above batch_tokens or micro_tokens (640)",
        "studies.tiny.runs.tiny-deen.sm2: bi-adapter starts from offline/bi, which is not run here",
        "fidelities.paper.model.base.ffn: 0: input should be greater than or equal to 1",
    ]
    assert len(told) == len(expected), "\n".join(told)
    for line, start in zip(told, expected, strict=True):
        assert line.startswith(f"  {start}")


@pytest.mark.parametrize(
    ("path", "value"),
    [
        ("training/dropout", 2),  # not again for each pair, run or preset
        ("training/max_tokens", 99999),
        ("methods/sm2/settings", {"encodr": "bi"}),
        ("methods/sm2/variants", None),
        ("methods/sm2", None),
        ("methods", {}),
        ("pairs", None),
        ("study", None),
        ("pairs/wmt15-deen/splits/valid/0/reader", "sgml"),
        ("pairs/tiny-deen/knobs/sm2", ["half"]),
        ("methods/sm2/variants/bi-ft/start_from", "offline/bi-big"),
    ],
)
def test_one_mistake_is_one_problem(
    path: str, value: Any, values: dict[str, Any], tmp_path: Path
) -> None:
    change(values, path, value)
    assert len(problems_of(values, tmp_path)) == 1


def test_broken_entry_does_not_hide_its_variants(values: dict[str, Any], tmp_path: Path) -> None:
    change(values, "methods/sm2/revision", 0)
    change(values, "methods/sm2/variants/bi-ft/start_from", "offline/nope")
    paths = [line.split(":")[0].strip() for line in problems_of(values, tmp_path)]
    assert paths == ["methods.sm2.revision", "methods.sm2.variants.bi-ft.start_from"]


def test_mistake_in_a_fidelity_preset_is_told_there(values: dict[str, Any], tmp_path: Path) -> None:
    change(values, "fidelities/paper/methods/sm2/settings/smooth_mixture", "no")
    told = problems_of(values, tmp_path, fidelity="paper")
    assert told[0].startswith("  fidelities.paper.methods.sm2.settings.smooth_mixture: ")


def test_two_pairs_with_one_name_are_told_with_their_lines(tmp_path: Path) -> None:
    text = FILE.read_text(encoding="utf-8").replace(
        "  tiny-deen:\n    source", "  toy-deen:\n    source"
    )
    path = tmp_path / "params.yaml"
    path.write_text(text, encoding="utf-8")
    with pytest.raises(SimtError, match=r"pairs\.toy-deen: appears twice, in lines \d+ and \d+"):
        load_params(path)


def test_key_that_stands_twice_hides_no_other_problem(tmp_path: Path) -> None:
    path = tmp_path / "params.yaml"
    text = FILE.read_text(encoding="utf-8").replace("  max_words: 250", "  max_words: 0")
    path.write_text(text + "study: tiny\n", encoding="utf-8")
    with pytest.raises(SimtError) as caught:
        load_params(path)
    paths = [line.split(":")[0].strip() for line in str(caught.value).splitlines()[1:]]
    assert paths == ["study", "text.max_words"]


def test_key_is_text_whatever_yaml_takes_it_for(tmp_path: Path) -> None:
    path = tmp_path / "params.yaml"
    text = FILE.read_text(encoding="utf-8").replace(
        "  joint-8k:", "  no: *b\n  2024: *b\n  joint-8k:"
    )
    path.write_text(text.replace("joint-toy: {", "joint-toy: &b {"), encoding="utf-8")
    assert {"no", "2024"} <= load_params(path).bpe.keys()


@pytest.mark.parametrize("text", ["&a [*a]", "&a {b: *a}", "{b: &a {c: [*a]}}"])
def test_alias_inside_itself_is_told_by_its_key(text: str, tmp_path: Path) -> None:
    path = tmp_path / "params.yaml"
    path.write_text(f"text: {text}\n", encoding="utf-8")
    with pytest.raises(
        SimtError, match=r"^text(\.b)?(\.c)?(\.0)?: an alias stands inside what it is an"
    ):
        load_params(path)


def test_folder_is_no_params_file(tmp_path: Path) -> None:
    with pytest.raises(SimtError, match="cannot be read: Is a directory"):
        load_params(tmp_path)


@pytest.mark.parametrize(
    "text",
    ["", "- a\n- b\n", "a: [1\n", "\x00", "study: toy\n", "a: 2026-13-01\n", "[a]: b\n"],
)
def test_file_that_is_no_params_file_is_an_error_not_a_traceback(text: str, tmp_path: Path) -> None:
    path = tmp_path / "params.yaml"
    path.write_text(text, encoding="utf-8")
    with pytest.raises(SimtError):
        load_params(path)


def test_missing_file_is_an_error_with_the_remedy(tmp_path: Path) -> None:
    with pytest.raises(SimtError, match="run from the project's folder"):
        load_params(tmp_path / "params.yaml")


def test_a_mistake_that_an_anchor_repeats_is_told_once(
    values: dict[str, Any], tmp_path: Path
) -> None:
    drawings = [*values["paper"]["figures"].values(), *values["paper"]["tables"].values()]
    shown = [
        one for one in drawings if one["runs"].get("sm2") == ["uni", "bi"] and "about" not in one
    ]
    assert len(shown) > 4
    for one in shown:
        one["runs"]["sm2"] = ["uni", "bii"]
    problem, places = problems_of(values, tmp_path)
    assert problem.startswith(
        "  paper.figures.fig03-bleu-al.runs.sm2: there is no variant of sm2 'bii' "
        "(did you mean bi?); there are uni, bi"
    )
    assert places == (
        "    the same at paper.figures.fig04-comet-al.runs.sm2, "
        "paper.figures.fig05-alignments.runs.sm2, paper.figures.fig10-appendix-bleu-al.runs.sm2 "
        f"and {len(shown) - 4} more places"
    )


def test_misspelt_key_of_two_pairs_is_one_problem(values: dict[str, Any], tmp_path: Path) -> None:
    for pair in ("toy-deen", "tiny-deen"):
        change(values, f"pairs/{pair}/training/batch_tokns", 1)
    problem, places = problems_of(values, tmp_path)
    assert "batch_tokns: unknown setting (did you mean batch_tokens?)" in problem
    assert places == "    the same at pairs.tiny-deen.training.batch_tokns"


@pytest.mark.parametrize(
    ("name", "meant"),
    [
        ("fig3", " (did you mean fig03-bleu-al?)"),
        ("fig03", " (did you mean fig03-bleu-al?)"),
        ("3", " (did you mean fig03-bleu-al or tab03-sizes?)"),
        ("fig03-blue-al", " (did you mean fig03-bleu-al?)"),
        ("fig99", ""),
    ],
)
def test_part_of_a_name_or_a_slip_is_enough_to_suggest_it(name: str, meant: str) -> None:
    assert (
        did_you_mean(name, ["fig03-bleu-al", "fig13-states", "fig30-bleu", "tab03-sizes"]) == meant
    )
