"""params.yaml, read strictly in one place.

Every problem of the file is reported at once, each with its key path and what would be right.
Nothing here imports torch: Snakemake reads this at every parse.
"""

import json
import re
from collections.abc import Iterable, Mapping, Set
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Annotated, Any, Literal, TypeVar

import yaml
from pydantic import AfterValidator, Field, ValidationError, WrapValidator
from pydantic import ValidatorFunctionWrapHandler as Inner

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


def _part_of_a_path(name: str) -> str:
    """``name`` itself if it can be a folder's name, and a wildcard of Snakemake."""
    if not re.fullmatch(r"[a-z0-9][a-z0-9.-]*", name):
        raise ValueError(f"'{name}' cannot be a name; use lower case, digits, . and -")
    return name


def _told_as(what: str) -> WrapValidator:
    """A check that tells in one sentence what a union takes, not once for each of its members."""

    def check(value: Any, inner: Inner) -> Any:
        try:  # out of JSON, a tuple comes here as a list
            return inner(tuple(value) if isinstance(value, list) else value)
        except ValidationError:
            raise ValueError(f"{json.dumps(value)} must be {what}") from None

    return WrapValidator(check)


Name = Annotated[str, AfterValidator(_part_of_a_path)]
Size = Literal["small", "base", "big"]
Knob = Annotated[float | Literal["full"], _told_as("a finite number, or full")]
Variants = Annotated[tuple[str, ...] | Literal["all"], _told_as("a list of variants, or all")]
Role = Literal["main", "analysis", "appendix"]
Raw = dict[str, Any]
S = TypeVar("S", bound=Settings)
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
    start_from: str | None = None  # method/variant
    updates_share: Share = 1.0  # of the pair's updates
    peak_lr_share: Share = 1.0  # of the pair's peak learning rate
    training: Raw = {}
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
    runs: dict[str, Variants]
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
class Layers:
    """What the settings of a run are merged from."""

    pairs: Mapping[str, Pair]
    text: Raw
    training: Raw
    methods: Mapping[str, Method]

    def text_settings(self, pair: str) -> Raw:
        """The text settings of a pair, merged."""
        return self.text | self.pairs[pair].text

    def common_training(self, pair: str, method: str) -> Raw:
        """The training settings that the variants of a method take their shares of."""
        return self.training | self.pairs[pair].training | self.methods[method].training

    def training_settings(self, pair: str, method: str, variant: str) -> Raw:
        """The training settings of a run, merged."""
        merged = self.common_training(pair, method)
        recipe = self.methods[method].variants[variant]
        shares = {
            "updates": max(1, round(merged["updates"] * recipe.updates_share)),
            "peak_lr": merged["peak_lr"] * recipe.peak_lr_share,
        }
        return merged | shares | recipe.training

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


@dataclass(frozen=True)
class Params(Layers):
    """The whole of params.yaml with the fidelity preset laid over it."""

    study: str
    fidelity: str
    studies: Mapping[str, Study]
    bpe: Mapping[str, BpeSettings]
    model: Mapping[str, ModelSettings]
    decoding: DecodingSettings
    scoring: ScoringSettings
    paper: Paper
    presets: Mapping[str, "Params"] = field(default_factory=dict)  # the same under each fidelity

    def comet_models(self, pair: str) -> tuple[str, ...]:
        """The COMET models of a pair."""
        of_pair = self.pairs[pair].comet
        return self.scoring.comet if of_pair is None else of_pair

    def splits(self, pair: str) -> Splits:
        """Which raw files make the splits of a pair."""
        entry = self.pairs[pair]
        return entry.splits or _toy_splits(entry)


def load_params(path: Path, study: str | None = None, fidelity: str | None = None) -> Params:
    """params.yaml checked and resolved; ``study`` and ``fidelity`` replace the file's choice."""
    problems = Problems()
    raw = _read_yaml(path, problems)
    raw |= {"study": study} if study is not None else {}
    raw |= {"fidelity": fidelity} if fidelity is not None else {}
    presets = _resolve(raw, problems)
    problems.raise_if_any(path.name)
    return replace(presets[raw["fidelity"]], presets=presets)


def check_drawings(paper: Paper, figures: Iterable[str], tables: Iterable[str]) -> None:
    """Stop unless params.yaml has just the figures and tables that can be drawn."""
    problems = Problems()
    for kind, entries, functions in (
        ("figure", paper.figures, list(figures)),
        ("table", paper.tables, list(tables)),
    ):
        for name in entries:
            problems.check_name(f"paper.{kind}s.{name}", name, kind, functions)
        for name in functions:
            if name not in entries:
                problems.add(f"paper.{kind}s.{name}", f"missing; the report shows this {kind}")
    problems.raise_if_any("params.yaml")


def _read_yaml(path: Path, problems: Problems) -> Raw:
    """The file as plain values; a key that stands twice is a problem."""
    try:
        with path.open(encoding="utf-8") as stream:
            loader = _YAML(stream)
            node = loader.get_single_node()
            _check_keys(node, "", (), problems)
            values = None if node is None else loader.construct_document(node)
    except FileNotFoundError:
        raise SimtError(f"{path} does not exist: run from the project's folder") from None
    except OSError as error:
        raise SimtError(f"{path} cannot be read: {error.strerror}") from None
    except (yaml.YAMLError, ValueError) as error:  # ValueError: not UTF-8, or a date without a day
        raise SimtError(f"{path} is not YAML: {error}") from None
    if not isinstance(values, dict):
        raise SimtError(f"{path} is empty, or not a mapping of keys to values")
    return values


def _check_keys(
    node: yaml.Node | None, path: str, parents: tuple[yaml.Node, ...], problems: Problems
) -> None:
    """Note each key that stands twice in one mapping; YAML would keep the last in silence.

    From here on every key is text, also a number or one that YAML takes for a flag, such as no.
    """
    if node in parents:
        raise SimtError(f"{path}: an alias stands inside what it is an alias of; write it out")
    if isinstance(node, yaml.SequenceNode):
        for item in node.value:
            _check_keys(item, path, (*parents, node), problems)
    if not isinstance(node, yaml.MappingNode):
        return
    lines: dict[str, int] = {}
    for key, value in node.value:
        if not isinstance(key, yaml.ScalarNode):
            continue  # YAML itself refuses it
        place = f"{path}.{key.value}" if path else key.value
        if key.value != "<<":
            key.tag = "tag:yaml.org,2002:str"
            line = key.start_mark.line + 1
            if (first := lines.get(key.value)) is not None:
                problems.add(place, f"stands twice, in lines {first} and {line}; rename one")
            lines.setdefault(key.value, line)
        _check_keys(value, place, (*parents, node), problems)


LAYERED = ("pairs", "text", "bpe", "model", "training", "decoding", "scoring", "methods", "paper")
SECTIONS = ("study", "fidelity", "studies", *LAYERED, "fidelities")
_MISSING = "this section is missing or empty"


def _resolve(raw: Raw, problems: Problems) -> dict[str, Params]:
    """Params under each preset, from plain values, as far as no problem was noted."""
    for key in raw:
        if key not in SECTIONS:
            problems.unknown(key, "section", "params.yaml", SECTIONS)
    base = _Checker(raw, problems).params()
    presets = _section(raw, "fidelities", problems)
    if presets and not problems.are_at("fidelity"):
        problems.check_name("fidelity", raw["fidelity"], "fidelity preset", presets)
    laid_over = {name: _with_preset(raw, base, name, problems) for name in presets}
    return {name: replace(one, fidelity=name) for name, one in laid_over.items() if one}


def _with_preset(raw: Raw, base: Params | None, name: str, problems: Problems) -> Params | None:
    """Params with a preset laid over them; what is wrong without it is not told again."""
    preset, place = raw["fidelities"][name], f"fidelities.{name}"
    _check_spelling(name, place, problems)
    if preset == {}:
        return base
    if not isinstance(preset, dict):
        problems.add(place, "must be a mapping of sections to values; {} changes nothing")
        return None
    for key in preset:
        if key not in LAYERED:
            problems.unknown(f"{place}.{key}", "section", "a preset", LAYERED)
    layers = {key: preset[key] for key in LAYERED if key in preset}
    overlaid = Problems()
    wrong = {path for path, _ in problems.found}
    params = _Checker(_laid_over(raw, layers, "", wrong), overlaid).params()
    for path, text in overlaid.found:
        if (path, text) not in problems.found:
            problems.add(f"{place}.{path}", text)
    return params


def _section(raw: Raw, name: str, problems: Problems) -> Raw:
    """The entries of a section; a problem, and none, where it cannot be read."""
    section = raw.get(name)
    if section is None or section == {}:
        problems.add(name, _MISSING)
    elif not isinstance(section, dict):
        problems.add(name, "must be a mapping of names to values")
    return _mapping(section)


def _mapping(value: Any) -> Raw:
    """``value`` if it is a mapping; nothing in place of anything else, which is told elsewhere."""
    return value if isinstance(value, dict) else {}


def _check_spelling(name: str, path: str, problems: Problems) -> None:
    """The key of an entry can be part of a path."""
    try:
        _part_of_a_path(name)
    except ValueError as error:
        problems.add(path, str(error))


def _laid_over(base: Any, overlay: Any, path: str, wrong: Set[str]) -> Any:
    """``base`` with the values of ``overlay`` in place of its own, mapping by mapping.

    Nothing can be laid over an entry that is wrong as a whole: all else would be missing there.
    """
    if isinstance(overlay, dict) and path in wrong:
        return base
    if not (isinstance(base, dict) and isinstance(overlay, dict)):
        return overlay
    return base | {
        key: _laid_over(base.get(key), value, f"{path}.{key}" if path else key, wrong)
        for key, value in overlay.items()
    }


class _Checker:
    """Builds Params section by section and notes what is wrong in each.

    Names are looked up in sections that are there only: to miss one is one problem, not a hundred.
    """

    def __init__(self, raw: Raw, problems: Problems) -> None:
        self.raw = raw
        self.problems = problems
        self.sections = {name: _section(raw, name, problems) for name in ("studies", *LAYERED)}

    def params(self) -> Params | None:
        """Params, or None when there is any problem."""
        problems, sections = self.problems, self.sections
        studies = self._named_entries("studies", Study)
        pairs = self._named_entries("pairs", Pair)
        bpe = self._entries("bpe", sections["bpe"], BpeSettings)
        model = self._entries("model", sections["model"], ModelSettings)
        methods = self._methods()
        paper = self._paper()
        decoding = self._whole("decoding", DecodingSettings)
        scoring = self._whole("scoring", ScoringSettings)
        self._whole("text", TextSettings)
        self._whole("training", TrainingSettings)
        for key in ("study", "fidelity"):
            if self.raw.get(key) is None:
                problems.add(key, _MISSING)
        if not problems.are_at("study"):
            self._check_entry("study", self.raw["study"], "study", "studies")
        for name, pair in pairs.items():
            self._check_pair(f"pairs.{name}", pair)
        for name, study in studies.items():
            self._check_study(f"studies.{name}", study)
        layers = Layers(pairs, sections["text"], sections["training"], methods)
        _check_merged(layers, studies, problems)
        if problems.found or paper is None or decoding is None or scoring is None:
            return None
        return Params(
            study=self.raw["study"], fidelity=self.raw["fidelity"], studies=studies, pairs=pairs,
            text=sections["text"], bpe=bpe, model=model, training=sections["training"],
            decoding=decoding, scoring=scoring, methods=methods, paper=paper,
        )  # fmt: skip

    def _entries(self, path: str, entries: Raw, schema: type[S]) -> dict[str, S]:
        """The entries that could be parsed."""
        parsed = {
            name: self.problems.parse(schema, entry, f"{path}.{name}")
            for name, entry in entries.items()
        }
        return {name: entry for name, entry in parsed.items() if entry is not None}

    def _named_entries(self, section: str, schema: type[S]) -> dict[str, S]:
        """The entries of a section whose names become parts of paths."""
        for name in self.sections[section]:
            _check_spelling(name, f"{section}.{name}", self.problems)
        return self._entries(section, self.sections[section], schema)

    def _whole(self, section: str, schema: type[S]) -> S | None:
        """A section that is one entry."""
        values = self.sections[section]
        return self.problems.parse(schema, values, section) if values else None

    def _check_entry(self, path: str, name: object, kind: str, section: str) -> bool:
        """Whether a section has an entry of that name; if not, a problem is noted."""
        known = self.sections[section]
        return bool(known) and self.problems.check_name(path, name, kind, known)

    def _methods(self) -> dict[str, Method]:
        """The methods' entries, with each variant's own settings apart from its recipe."""
        methods = {}
        for name, entry in self.sections["methods"].items():
            path, of_variants = f"methods.{name}", f"methods.{name}.variants"
            if not self.problems.check_name(path, name, "method", METHOD_SETTINGS):
                continue
            sorted_entry = _with_recipes(entry)
            method = self.problems.parse(Method, sorted_entry, path)
            if method is not None:
                self._check_method(path, METHOD_SETTINGS[name], method)
                methods[name] = method
            recipes = _mapping(_mapping(sorted_entry).get("variants"))
            variants = method.variants if method else self._entries(of_variants, recipes, Variant)
            for variant, recipe in variants.items():
                self._check_variant(f"{of_variants}.{variant}", name, recipe)
        return methods

    def _check_method(self, path: str, schema: type[MethodSettings], method: Method) -> None:
        """Each layer of a method's settings by itself, and its knobs."""
        self.problems.check_values(schema, method.settings, f"{path}.settings")
        self.problems.check_values(TrainingSettings, method.training, f"{path}.training")
        self._check_knobs(f"{path}.knobs", schema, method.knobs)

    def _check_variant(self, path: str, method: str, variant: Variant) -> None:
        """A variant's settings and knobs, and that what it starts from exists."""
        schema = METHOD_SETTINGS[method]
        self._check_knobs(f"{path}.knobs", schema, variant.knobs or ())
        self.problems.check_values(TrainingSettings, variant.training, f"{path}.training")
        known = [key for key in (*schema.model_fields, *Variant.model_fields) if key != "settings"]
        for key in variant.settings:
            if key not in known:
                self.problems.unknown(f"{path}.{key}", "setting", method, known)
        known_settings = {k: v for k, v in variant.settings.items() if k in known}
        self.problems.check_values(schema, known_settings, path)
        if variant.start_from is not None:
            start, _, of_start = variant.start_from.partition("/")
            self._check_variants(f"{path}.start_from", start, (of_start,))

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
        self._check_entry(f"{path}.bpe", pair.bpe, "BPE entry", "bpe")
        for size, preset in pair.sizes.items():
            self._check_entry(f"{path}.sizes.{size}", preset, "model size", "model")
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
        shown = (*study.pairs.main, study.pairs.analysis, *study.pairs.appendix)
        for pair in dict.fromkeys(shown):
            known = self._check_entry(f"{path}.pairs", pair, "pair", "pairs")
            if known and pair not in study.runs:
                problems.add(f"{path}.runs", f"no runs for {pair}, which the study shows")
        for pair, methods in study.runs.items():
            self._check_entry(f"{path}.runs.{pair}", pair, "pair", "pairs")
            for method, variants in methods.items():
                self._check_variants(f"{path}.runs.{pair}.{method}", method, variants)

    def _paper(self) -> Paper | None:
        """The paper, each of whose drawings shows variants that exist."""
        paper = self.sections["paper"]
        figures, tables = _mapping(paper.get("figures")), _mapping(paper.get("tables"))
        theatre = {"theatre": paper["theatre"]} if "theatre" in paper else {}
        self._check_drawings("paper.figures", self._entries("paper.figures", figures, Drawing))
        self._check_drawings("paper.tables", self._entries("paper.tables", tables, Drawing))
        self._check_drawings("paper", self._entries("paper", theatre, Theatre))
        return self._whole("paper", Paper)

    def _check_drawings(self, path: str, drawings: Mapping[str, Drawing]) -> None:
        """Figures and tables show variants that exist."""
        tables = _mapping(self.sections["paper"].get("tables"))
        for name, drawing in drawings.items():
            place = f"{path}.{name}"
            for method, variants in drawing.runs.items():
                listed = () if variants == "all" else variants
                self._check_variants(f"{place}.runs.{method}", method, listed)
            for table in drawing.also:
                self.problems.check_name(f"{place}.also", table, "table", tables)

    def _check_variants(self, path: str, method: str, variants: tuple[str, ...]) -> None:
        """The method and each variant exist, once."""
        methods = self.sections["methods"]
        if not self._check_entry(path, method, "method", "methods"):
            return
        known = _mapping(methods[method]).get("variants")
        if isinstance(known, dict):
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


def _check_merged(layers: Layers, studies: Mapping[str, Study], problems: Problems) -> None:
    """What only shows when the layers are put together, for every run of every study."""
    for study_name, study in studies.items():
        for pair, methods in study.runs.items():
            for method, variants in methods.items():
                if pair not in layers.pairs or method not in layers.methods:
                    continue  # told where it is
                if not problems.are_at("training"):  # else told again for every pair
                    training = layers.common_training(pair, method)
                    problems.check_whole(TrainingSettings, training, f"pairs.{pair}.training")
                path = f"studies.{study_name}.runs.{pair}.{method}"
                for variant in variants:
                    if variant in layers.methods[method].variants:
                        _check_run(layers, study, problems, path, (pair, method, variant))


def _check_run(
    layers: Layers, study: Study, problems: Problems, path: str, run: tuple[str, str, str]
) -> None:
    """A run has complete settings, a model size, knobs, and a start that the study trains."""
    pair, method, variant = run
    place = f"methods.{method}.variants.{variant}"
    size = layers.methods[method].variants[variant].size
    if size not in layers.pairs[pair].sizes:
        problems.add(f"pairs.{pair}.sizes", f"has no size {size}, which {place} asks for")
    if not problems.are_at(f"methods.{method}.settings"):  # else told again for every variant
        problems.check_whole(METHOD_SETTINGS[method], layers.method_settings(*run), place)
    if not layers.knobs(*run):
        problems.add(f"{place}.knobs", f"no knob value, and none at methods.{method}.knobs")
    _check_start(layers, study, problems, path, run)


def _check_start(
    layers: Layers, study: Study, problems: Problems, path: str, run: tuple[str, str, str]
) -> None:
    """The run to start from, if any, is trained in the same study and has the same shape."""
    pair, method, variant = run
    recipe = layers.methods[method].variants[variant]
    start = recipe.start_from
    base_method, _, base_variant = (start or "").partition("/")
    if base_method not in layers.methods:
        return
    base = layers.methods[base_method].variants.get(base_variant)
    if base is None:
        return
    place = f"methods.{method}.variants.{variant}.start_from"
    sizes = layers.pairs[pair].sizes
    theirs = layers.method_settings(pair, base_method, base_variant).get("encoder")
    ours = layers.method_settings(*run).get("encoder")
    if base_variant not in study.runs[pair].get(base_method, ()):
        problems.add(
            path, f"{variant} starts from {start}, which is not run here; add {base_variant} to "
            f"{path.rsplit('.', 1)[0]}.{base_method}",
        )  # fmt: skip
    elif base.start_from is not None:
        problems.add(place, f"{start} itself starts from another run; start from an original one")
    elif sizes.get(base.size) != sizes.get(recipe.size):
        problems.add(
            place, f"{start} is of size {base.size}, this of {recipe.size}; make their sizes equal"
        )  # fmt: skip
    elif theirs != ours and not any(
        problems.are_at(f"methods.{one}.settings") for one in (method, base_method)
    ):
        problems.add(place, f"{start} has a {theirs} encoder, this a {ours} one; make them equal")
