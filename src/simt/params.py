"""params.yaml, read strictly in one place.

Every problem of the file is reported at once, each with its key path and what would be right.
Nothing here imports torch: Snakemake reads this at every parse.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, Literal

import yaml
from pydantic import Field, StringConstraints

from simt.errors import SimtError
from simt.pairs import (
    AlignedPart,
    BpeSettings,
    Download,
    Licensed,
    Part,
    Splits,
    TextSettings,
    ToyGrammar,
)
from simt.problems import Problems
from simt.settings import (
    METHOD_SETTINGS,
    Count,
    DecodingSettings,
    MethodSettings,
    ModelSettings,
    ScoringSettings,
    SentenceChoice,
    Settings,
    Share,
    TrainingSettings,
)

Name = Annotated[str, StringConstraints(pattern=r"^[a-z0-9][a-z0-9.-]*$")]  # part of a path
Size = Literal["small", "base", "big"]
Knob = float | Literal["full"]
Role = Literal["main", "analysis", "appendix"]
Raw = dict[str, Any]
_YAML = getattr(yaml, "CSafeLoader", yaml.SafeLoader)  # in C where it is built: 10 times faster


class StudyPairs(Settings):
    """The roles that pairs play in a study's figures."""

    main: tuple[str, ...] = Field(min_length=1)
    analysis: str
    appendix: tuple[str, ...]

    def in_role(self, role: Role) -> tuple[str, ...]:
        """The pairs that a figure for ``role`` shows."""
        return {"main": self.main, "analysis": (self.analysis,), "appendix": self.appendix}[role]


class Study(Settings):
    """A named set of pairs, runs and seeds: ``runs[pair][method]`` are variants."""

    pairs: StudyPairs
    seeds: tuple[Count, ...] = Field(min_length=1)
    runs: dict[str, dict[str, tuple[str, ...]]]


class Pair(Settings):
    """One corpus in one direction, with what it asks of models and training.

    ``training`` and ``methods`` are layers over the sections of that name.
    """

    source: Name
    target: Name
    toy: ToyGrammar | None = None
    downloads: dict[Name, Download] = {}
    licensed: dict[Name, Licensed] = {}
    splits: Splits | None = None
    text: Raw = {}
    bpe: str
    comet: tuple[str, ...] | None = None
    sizes: dict[Size, str]
    training: Raw = {}
    methods: dict[str, Raw] = {}
    knobs: dict[str, tuple[Knob, ...]] = {}


class Variant(Settings):
    """What a variant may say besides its method's settings."""

    size: Size = "base"
    start_from: Annotated[str, StringConstraints(pattern=r"^[^/]+/[^/]+$")] | None = None
    updates_share: Share = 1.0  # of the pair's updates
    peak_lr_share: Share = 1.0  # of the pair's peak learning rate
    knobs: tuple[Knob, ...] | None = None
    settings: Raw = {}


class Method(Settings):
    """A method's entry: ``settings`` are common to its variants."""

    revision: Count
    knobs: tuple[Knob, ...]
    settings: Raw
    training: Raw = {}
    variants: dict[Name, Variant]


class Drawing(Settings):
    """A figure or table: its title, and the runs it shows of those the study has."""

    title: str
    pairs: Role
    split: Literal["valid", "test", "aligned"]
    runs: dict[str, tuple[str, ...] | Literal["all"]]
    shows_comet: bool = False  # only then are its points scored by COMET, which takes longest
    also: tuple[Name, ...] = ()  # tables whose numbers it repeats


class Theatre(Drawing):
    """What the report shows word by word: which runs, and on which sentences."""

    choice: SentenceChoice


class Paper(Settings):
    """The figures and tables of the paper, by name, and the theatre of the report."""

    figures: dict[Name, Drawing]
    tables: dict[Name, Drawing]
    theatre: Theatre


@dataclass(frozen=True)
class Params:
    """The whole of params.yaml with the fidelity preset laid over it."""

    study: str
    fidelity: str
    studies: Mapping[str, Study]
    pairs: Mapping[str, Pair]
    text: Raw
    bpe: Mapping[str, BpeSettings]
    model: Mapping[str, ModelSettings]
    training: Raw
    decoding: DecodingSettings
    scoring: ScoringSettings
    methods: Mapping[str, Method]
    paper: Paper

    def text_settings(self, pair: str) -> Raw:
        """The text settings of a pair, merged."""
        return self.text | self.pairs[pair].text

    def comet_models(self, pair: str) -> tuple[str, ...]:
        """The COMET models of a pair."""
        of_pair = self.pairs[pair].comet
        return self.scoring.comet if of_pair is None else of_pair

    def splits(self, pair: str) -> Splits:
        """Which raw files make the splits of a pair."""
        entry = self.pairs[pair]
        return entry.splits or _toy_splits(entry)

    def training_settings(self, pair: str, method: str, variant: str) -> Raw:
        """The training settings of a run, merged."""
        merged = self.training | self.pairs[pair].training | self.methods[method].training
        recipe = self.methods[method].variants[variant]
        return merged | {
            "updates": max(1, round(merged["updates"] * recipe.updates_share)),
            "peak_lr": merged["peak_lr"] * recipe.peak_lr_share,
        }

    def method_settings(self, pair: str, method: str, variant: str) -> Raw:
        """The method's own settings of a run, merged."""
        entry = self.methods[method]
        of_pair = self.pairs[pair].methods.get(method, {})
        return entry.settings | of_pair | entry.variants[variant].settings

    def model_preset(self, pair: str, method: str, variant: str) -> str:
        """The name of the model size that a run gets."""
        return self.pairs[pair].sizes[self.methods[method].variants[variant].size]

    def knobs(self, pair: str, method: str, variant: str) -> tuple[Knob, ...]:
        """The knob values that a run is decoded at: the variant's, the pair's or the method's."""
        of_variant = self.methods[method].variants[variant].knobs
        if of_variant is not None:
            return of_variant
        return self.pairs[pair].knobs.get(method, self.methods[method].knobs)


def load_params(path: Path, study: str | None = None, fidelity: str | None = None) -> Params:
    """params.yaml checked and resolved; ``study`` and ``fidelity`` replace the file's choice."""
    problems = Problems()
    raw = _read_yaml(path, problems)
    problems.raise_if_any(path.name)  # a key that stands twice hides the other: nothing else to say
    raw |= {"study": study} if study is not None else {}
    raw |= {"fidelity": fidelity} if fidelity is not None else {}
    params = _resolve(raw, problems)
    problems.raise_if_any(path.name)
    assert params is not None
    return params


def _read_yaml(path: Path, problems: Problems) -> Raw:
    """The file as plain values; a key that stands twice is a problem."""
    try:
        with path.open(encoding="utf-8") as stream:
            node = yaml.compose(stream, Loader=_YAML)
            stream.seek(0)
            values = yaml.load(stream, Loader=_YAML)
    except FileNotFoundError:
        raise SimtError(f"{path} does not exist: run from the project's folder") from None
    except (yaml.YAMLError, UnicodeDecodeError) as error:
        raise SimtError(f"{path} is not YAML: {error}") from None
    if not isinstance(values, dict):
        raise SimtError(f"{path} is empty, or not a mapping of keys to values")
    _find_doubled_keys(node, "", problems)
    return values


def _find_doubled_keys(node: yaml.Node | None, path: str, problems: Problems) -> None:
    """Note each key that stands twice in one mapping; YAML would keep the last in silence."""
    if isinstance(node, yaml.SequenceNode):
        for item in node.value:
            _find_doubled_keys(item, path, problems)
    if not isinstance(node, yaml.MappingNode):
        return
    lines: dict[str, int] = {}
    for key, value in node.value:
        place = f"{path}.{key.value}" if path else str(key.value)
        line = key.start_mark.line + 1
        if key.value in lines and key.value != "<<":
            problems.add(place, f"stands twice, in lines {lines[key.value]} and {line}; rename one")
        lines.setdefault(key.value, line)
        _find_doubled_keys(value, place, problems)


SECTIONS = (
    "study", "fidelity", "studies", "pairs", "text", "bpe", "model", "training", "decoding",
    "scoring", "methods", "paper", "fidelities",
)  # fmt: skip


def _resolve(raw: Raw, problems: Problems) -> Params | None:
    """Params from plain values, or None with every problem noted."""
    for key in raw:
        if key not in SECTIONS:
            problems.unknown(key, "section", "params.yaml", SECTIONS)
    for key in SECTIONS:
        if key not in raw:
            problems.add(key, "this section is missing")
        elif key not in ("study", "fidelity") and not isinstance(raw[key], dict):
            problems.add(key, "must be a mapping of names to values")
    if problems.found:
        return None
    presets = raw["fidelities"]
    if not problems.check_name("fidelity", raw["fidelity"], "fidelity preset", presets):
        return None
    base = _Checker(raw, problems).params()
    overlay = presets[raw["fidelity"]]
    if base is None or not overlay:
        return base
    overlaid = Problems()
    params = _Checker(_laid_over(raw, overlay), overlaid).params()
    for path, text in overlaid.found.items():
        problems.add(f"fidelities.{raw['fidelity']}.{path}", text)
    return params


def _laid_over(base: Any, overlay: Any) -> Any:
    """``base`` with the values of ``overlay`` in place of its own, mapping by mapping."""
    if not (isinstance(base, dict) and isinstance(overlay, dict)):
        return overlay
    return base | {key: _laid_over(base.get(key), value) for key, value in overlay.items()}


class _Checker:
    """Builds Params section by section and notes what is wrong in each."""

    def __init__(self, raw: Raw, problems: Problems) -> None:
        self.raw = raw
        self.problems = problems

    def params(self) -> Params | None:
        """Params, or None when there is any problem."""
        raw, problems = self.raw, self.problems
        studies = self._entries("studies", Study)
        pairs = self._entries("pairs", Pair)
        bpe = self._entries("bpe", BpeSettings)
        model = self._entries("model", ModelSettings)
        methods = self._methods()
        paper = problems.parse(Paper, raw["paper"], "paper")
        decoding = problems.parse(DecodingSettings, raw["decoding"], "decoding")
        scoring = problems.parse(ScoringSettings, raw["scoring"], "scoring")
        problems.parse(TextSettings, raw["text"], "text")
        problems.parse(TrainingSettings, raw["training"], "training")
        problems.check_name("study", raw["study"], "study", raw["studies"])
        for name, pair in pairs.items():
            self._check_pair(f"pairs.{name}", pair)
        for name, study in studies.items():
            self._check_study(f"studies.{name}", study)
        if paper is not None:
            self._check_drawings(paper)
        if problems.found or paper is None or decoding is None or scoring is None:
            return None
        params = Params(
            study=raw["study"], fidelity=raw["fidelity"], studies=studies, pairs=pairs,
            text=raw["text"], bpe=bpe, model=model, training=raw["training"],
            decoding=decoding, scoring=scoring, methods=methods, paper=paper,
        )  # fmt: skip
        _check_merged(params, problems)
        return None if problems.found else params

    def _entries(self, section: str, schema: type[Any]) -> dict[str, Any]:
        """The entries of a section that could be parsed."""
        parsed = {
            name: self.problems.parse(schema, entry, f"{section}.{name}")
            for name, entry in self.raw[section].items()
        }
        return {name: entry for name, entry in parsed.items() if entry is not None}

    def _methods(self) -> dict[str, Method]:
        """The methods' entries, with each variant's own settings apart from its recipe."""
        methods = {}
        for name, entry in self.raw["methods"].items():
            path = f"methods.{name}"
            if not self.problems.check_name(path, name, "method", METHOD_SETTINGS):
                continue
            method = self.problems.parse(Method, _with_recipes(entry), path)
            if method is not None:
                self._check_method(path, METHOD_SETTINGS[name], method)
                methods[name] = method
        return methods

    def _check_method(self, path: str, schema: type[MethodSettings], method: Method) -> None:
        """Each layer of a method's settings by itself, and its knobs."""
        self.problems.check_values(schema, method.settings, f"{path}.settings")
        self.problems.check_values(TrainingSettings, method.training, f"{path}.training")
        self._check_knobs(f"{path}.knobs", schema, method.knobs)
        for name, variant in method.variants.items():
            place = f"{path}.variants.{name}"
            self._check_knobs(f"{place}.knobs", schema, variant.knobs or ())
            for key in variant.settings.keys() - schema.model_fields.keys():
                known = [*schema.model_fields, *Variant.model_fields]
                known.remove("settings")
                self.problems.unknown(f"{place}.{key}", "setting", path.split(".")[-1], known)
            known_settings = {k: v for k, v in variant.settings.items() if k in schema.model_fields}
            self.problems.check_values(schema, known_settings, place)

    def _check_knobs(
        self, path: str, schema: type[MethodSettings], knobs: tuple[Knob, ...]
    ) -> None:
        """Knob values within the method's range, each once."""
        for knob in knobs:
            if knob == "full":
                continue
            if schema.knob_range is None:
                self.problems.add(path, f"{knob:g}: this method decodes at 'full' only")
            elif complaint := schema.knob_range.complaint(knob):
                self.problems.add(path, complaint)
        if len(set(knobs)) < len(knobs):
            self.problems.add(path, f"a value stands twice in {list(knobs)}; leave one out")

    def _check_pair(self, path: str, pair: Pair) -> None:
        """Names that exist, a source of text, and layers with known settings."""
        problems = self.problems
        problems.check_name(f"{path}.bpe", pair.bpe, "BPE entry", self.raw["bpe"])
        for size, preset in pair.sizes.items():
            problems.check_name(f"{path}.sizes.{size}", preset, "model size", self.raw["model"])
        problems.check_values(TrainingSettings, pair.training, f"{path}.training")
        problems.check_values(TextSettings, pair.text, f"{path}.text")
        for method, settings in pair.methods.items():
            if problems.check_name(f"{path}.methods", method, "method", METHOD_SETTINGS):
                schema = METHOD_SETTINGS[method]
                problems.check_values(schema, settings, f"{path}.methods.{method}")
        for method, knobs in pair.knobs.items():
            if problems.check_name(f"{path}.knobs", method, "method", METHOD_SETTINGS):
                self._check_knobs(f"{path}.knobs.{method}", METHOD_SETTINGS[method], knobs)
        if pair.source == pair.target:
            problems.add(f"{path}.target", f"is {pair.target}, as the source; name two languages")
        self._check_text_source(path, pair)

    def _check_text_source(self, path: str, pair: Pair) -> None:
        """Either the grammar or files, and every file that is read comes from somewhere."""
        if pair.toy is not None and (pair.source, pair.target) != ("de", "en"):
            self.problems.add(path, "the grammar writes German and English: source de, target en")
        if (pair.toy is None) == (pair.splits is None):
            self.problems.add(path, "give either toy (the grammar) or splits (files), one of them")
        if pair.splits is None:
            return
        for name in pair.downloads.keys() & pair.licensed.keys():
            self.problems.add(f"{path}.licensed.{name}", "a download has this name; rename one")
        for place, file in _raw_files(pair.splits):
            folder, _, inside = file.partition("/")
            known = [*pair.downloads, *pair.licensed]
            where = f"{path}.splits.{place}"
            self.problems.check_name(where, folder, "download or licensed folder", known)
            if folder in pair.licensed and inside not in pair.licensed[folder].files:
                place = f"{path}.licensed.{folder}.files"
                self.problems.add(where, f"add {inside} to {place}, so that the user is told")

    def _check_study(self, path: str, study: Study) -> None:
        """Pairs, methods and variants that exist, and runs for every pair in a role."""
        problems = self.problems
        if len(set(study.seeds)) < len(study.seeds):
            problems.add(f"{path}.seeds", f"a seed stands twice in {list(study.seeds)}")
        for pair in {*study.pairs.main, study.pairs.analysis, *study.pairs.appendix}:
            known = problems.check_name(f"{path}.pairs", pair, "pair", self.raw["pairs"])
            if known and pair not in study.runs:
                problems.add(f"{path}.runs", f"no runs for {pair}, which the study shows")
        for pair, methods in study.runs.items():
            problems.check_name(f"{path}.runs.{pair}", pair, "pair", self.raw["pairs"])
            for method, variants in methods.items():
                self._check_variants(f"{path}.runs.{pair}.{method}", method, variants)

    def _check_drawings(self, paper: Paper) -> None:
        """Figures and tables show variants that exist."""
        drawings: dict[str, Drawing] = {"theatre": paper.theatre}
        drawings |= {f"figures.{name}": drawing for name, drawing in paper.figures.items()}
        drawings |= {f"tables.{name}": drawing for name, drawing in paper.tables.items()}
        for place, drawing in drawings.items():
            for method, variants in drawing.runs.items():
                listed = () if variants == "all" else variants
                self._check_variants(f"paper.{place}.runs.{method}", method, listed)
            for name in drawing.also:
                self.problems.check_name(f"paper.{place}.also", name, "table", paper.tables)

    def _check_variants(self, path: str, method: str, variants: tuple[str, ...]) -> None:
        """The method and each variant exist, once."""
        methods = self.raw["methods"]
        if not self.problems.check_name(path, method, "method", methods):
            return
        known = methods[method].get("variants", {}) if isinstance(methods[method], dict) else {}
        for variant in variants:
            self.problems.check_name(path, variant, f"variant of {method}", known)
        if len(set(variants)) < len(variants):
            self.problems.add(path, f"a variant stands twice in {list(variants)}")


def _with_recipes(entry: Any) -> Any:
    """A method's entry with the flat keys of each variant sorted into recipe and settings."""
    if not isinstance(entry, dict) or not isinstance(entry.get("variants"), dict):
        return entry
    return entry | {"variants": {n: _recipe(v) for n, v in entry["variants"].items()}}


def _recipe(variant: Any) -> Any:
    if not isinstance(variant, dict):
        return variant
    own = {key: value for key, value in variant.items() if key in Variant.model_fields}
    own.pop("settings", None)
    return own | {"settings": {key: v for key, v in variant.items() if key not in own}}


def _raw_files(splits: Splits) -> list[tuple[str, str]]:
    """Every file that the splits read, with the key path below ``splits``."""
    files = []
    for split in ("train", "valid", "test"):
        for number, part in enumerate(getattr(splits, split)):
            place = f"{split}.{number}"
            files.append((f"{place}.source", part.source))
            files += [(f"{place}.targets.{n}", file) for n, file in enumerate(part.targets)]
    if splits.aligned is not None:
        for key in ("source", "target", "links"):
            files.append((f"aligned.{key}", getattr(splits.aligned, key)))
    return files


def raw_files(splits: Splits) -> tuple[str, ...]:
    """Every file below raw/ that the splits read, each once."""
    return tuple(dict.fromkeys(file for _, file in _raw_files(splits)))


def _toy_splits(pair: Pair) -> Splits:
    """The files that the grammar writes, as if they had been downloaded."""
    source, target = pair.source, pair.target

    def part(split: str) -> Part:
        return Part(
            reader="plain", source=f"{split}.{source}", targets=(f"{split}.{target}",),
            encoding="utf-8", is_dirty=False,
        )  # fmt: skip

    aligned = AlignedPart(
        source=f"aligned.{source}", target=f"aligned.{target}", links="aligned.talp",
        base=0, encoding="utf-8",
    )  # fmt: skip
    return Splits(
        train=(part("train"),), valid=(part("valid"),), test=(part("test"),), aligned=aligned
    )


def _check_merged(params: Params, problems: Problems) -> None:
    """What only shows when the layers are put together, for every run of every study."""
    for name in params.pairs:
        problems.parse(TextSettings, params.text_settings(name), f"pairs.{name}.text")
    for study_name, study in params.studies.items():
        for pair, methods in study.runs.items():
            for method, variants in methods.items():
                for variant in variants:
                    path = f"studies.{study_name}.runs.{pair}.{method}"
                    _check_run(params, study, problems, path, (pair, method, variant))


def _check_run(
    params: Params, study: Study, problems: Problems, path: str, run: tuple[str, str, str]
) -> None:
    """A run has complete settings, a model size, knobs, and a start that the study trains."""
    pair, method, variant = run
    place = f"methods.{method}.variants.{variant}"
    recipe = params.methods[method].variants[variant]
    if recipe.size not in params.pairs[pair].sizes:
        problems.add(f"pairs.{pair}.sizes", f"has no size {recipe.size}, which {place} asks for")
        return
    problems.parse(METHOD_SETTINGS[method], params.method_settings(*run), place)
    problems.parse(TrainingSettings, params.training_settings(*run), f"pairs.{pair}.training")
    if not params.knobs(*run):
        problems.add(f"{place}.knobs", f"no knob value, and none at methods.{method}.knobs")
    if recipe.start_from is not None:
        _check_start(params, study, problems, path, run)


def _check_start(
    params: Params, study: Study, problems: Problems, path: str, run: tuple[str, str, str]
) -> None:
    """The run to start from is trained in the same study and has the same shape."""
    pair, method, variant = run
    start = params.methods[method].variants[variant].start_from
    assert start is not None
    base_method, base_variant = start.split("/")
    place = f"methods.{method}.variants.{variant}.start_from"
    if not problems.check_name(place, base_method, "method", params.methods):
        return
    if not problems.check_name(
        place, base_variant, f"variant of {base_method}", params.methods[base_method].variants
    ):
        return
    base = (pair, base_method, base_variant)
    if base_variant not in study.runs[pair].get(base_method, ()):
        problems.add(
            path, f"{variant} starts from {start}, which is not run here; add {base_variant} to "
            f"{path.rsplit('.', 1)[0]}.{base_method}",
        )  # fmt: skip
    elif params.methods[base_method].variants[base_variant].start_from is not None:
        problems.add(place, f"{start} itself starts from another run; start from an original one")
    elif params.model_preset(*base) != params.model_preset(*run):
        problems.add(
            place, f"{start} is of size {params.model_preset(*base)}, this of "
            f"{params.model_preset(*run)}; make their sizes equal",
        )  # fmt: skip
    elif (theirs := params.method_settings(*base).get("encoder")) != (
        ours := params.method_settings(*run).get("encoder")
    ):
        problems.add(place, f"{start} has a {theirs} encoder, this a {ours} one; make them equal")
