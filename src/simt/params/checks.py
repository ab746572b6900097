"""What must hold between the entries of params.yaml, in a section and across them."""

from collections import Counter
from collections.abc import Mapping
from typing import Any, TypeVar

from simt.errors import short
from simt.pairs import BpeSettings, TextSettings, placed_files
from simt.params.layers import Layers, Params
from simt.params.merged import check_merged
from simt.params.schema import (
    Drawing,
    Knob,
    Method,
    Pair,
    Paper,
    PolicyViewer,
    Raw,
    Study,
    Variant,
    part_of_a_path,
)
from simt.problems import Problems
from simt.settings import (
    METHOD_SETTINGS,
    DecodingSettings,
    MethodSettings,
    ModelSettings,
    ScoringSettings,
    Settings,
    TrainingSettings,
)
from simt.system_folder import names_folder
from simt.systems import ONE_MODEL_PER_POINT

S = TypeVar("S", bound=Settings)

LAYERED = ("pairs", "text", "bpe", "model", "training", "decoding", "scoring", "methods", "paper")
SECTIONS = ("study", "fidelity", "rehearsal", "studies", *LAYERED, "fidelities")
_MISSING = "this section is missing or empty"


def section_of(raw: Raw, name: str, problems: Problems) -> Raw:
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


def check_spelling(name: str, path: str, problems: Problems) -> None:
    """The key of an entry can be part of a path."""
    try:
        part_of_a_path(name)
    except ValueError as error:
        problems.add(path, str(error))


class Checker:
    """Builds Params section by section and notes what is wrong in each.

    Names are looked up in sections that are there only: to miss one is one problem, not a hundred.
    """

    def __init__(self, raw: Raw, problems: Problems) -> None:
        self.raw = raw
        self.problems = problems
        self.sections = {name: section_of(raw, name, problems) for name in ("studies", *LAYERED)}

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
        if not isinstance(self.raw.get("rehearsal", False), bool):
            problems.add("rehearsal", "must be true or false")
        if not problems.are_at("study"):
            self._check_entry("study", self.raw["study"], "study", "studies")
        for name, pair in pairs.items():
            self._check_pair(f"pairs.{name}", pair)
        for name, study in studies.items():
            self._check_study(f"studies.{name}", study)
        layers = Layers(pairs, sections["text"], sections["training"], methods)
        check_merged(layers, model, studies, problems)
        if problems.found or paper is None or decoding is None or scoring is None:
            return None
        return Params(
            study=self.raw["study"], fidelity=self.raw["fidelity"], studies=studies, pairs=pairs,
            text=sections["text"], bpe=bpe, model=model, training=sections["training"],
            decoding=decoding, scoring=scoring, methods=methods, paper=paper,
            is_rehearsal=self.raw.get("rehearsal", False),
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
            check_spelling(name, f"{section}.{name}", self.problems)
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
        if variant.start_from is not None and not names_folder(variant.start_from):
            start, _, of_start = variant.start_from.partition("/")
            self._check_variants(f"{path}.start_from", start, (of_start,))

    def _check_knobs(
        self, path: str, schema: type[MethodSettings], knobs: tuple[Knob, ...]
    ) -> None:
        """Knob values within the method's range, each once."""
        for knob in knobs:
            if complaint := schema.complaint(knob):
                self.problems.add(path, complaint)
        if len(set(knobs)) < len(knobs):
            listed = short(str(list(knobs)))
            self.problems.add(path, f"a value appears twice in {listed}; leave one out")

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
        names = Counter([*pair.downloads, *pair.licensed, *pair.local])
        for name in [name for name, times in names.items() if times > 1]:
            kind = "local" if name in pair.local else "licensed"
            self.problems.add(f"{path}.{kind}.{name}", "another entry has this name; rename one")
        for place, file in placed_files(pair.splits):
            folder, _, inside = file.partition("/")
            where = f"{path}.splits.{place}"
            self.problems.check_name(where, folder, "download, licensed or local entry", names)
            if folder in pair.licensed and inside not in pair.licensed[folder].files:
                place = f"{path}.licensed.{folder}.files"
                self.problems.add(where, f"add {inside} to {place}, so that the user is told")

    def _check_study(self, path: str, study: Study) -> None:
        """Pairs, methods and variants that exist, and runs for every pair in a role."""
        problems = self.problems
        if len(set(study.seeds)) < len(study.seeds):
            seeds = short(str(list(study.seeds)))
            problems.add(f"{path}.seeds", f"a seed appears twice in {seeds}")
        roles = study.pairs
        shown = (*roles.main, roles.analysis, *roles.appendix, *roles.scale)
        for pair in dict.fromkeys(shown):
            known = self._check_entry(f"{path}.pairs", pair, "pair", "pairs")
            if known and pair not in study.runs:
                problems.add(f"{path}.runs", f"no runs for {pair}, which the study shows")
        for pair, methods in study.runs.items():
            self._check_entry(f"{path}.runs.{pair}", pair, "pair", "pairs")
            if not any(methods.values()):
                problems.add(f"{path}.runs.{pair}", "no run: {offline: [uni, bi]} would be two")
            for method, variants in methods.items():
                self._check_variants(f"{path}.runs.{pair}.{method}", method, variants)
        for method, variants in study.first_seed_only.items():
            self._check_variants(f"{path}.first_seed_only.{method}", method, variants)
            if method in ONE_MODEL_PER_POINT:
                self._check_one_curve(f"{path}.first_seed_only.{method}", method, study)

    def _check_one_curve(self, path: str, method: str, study: Study) -> None:
        """Models that make up one curve have the same seeds: it has no mean otherwise."""
        run = {name for methods in study.runs.values() for name in methods.get(method, ())}
        if repeated := run - set(study.first_seed_only[method]):
            self.problems.add(
                path,
                f"the models of {method} make up one curve, so all of them need the same seeds; "
                f"add {', '.join(sorted(repeated))}, or leave {method} out here",
            )

    def _paper(self) -> Paper | None:
        """The paper, each of whose drawings shows variants that exist."""
        paper = self.sections["paper"]
        figures, tables = _mapping(paper.get("figures")), _mapping(paper.get("tables"))
        policy_viewer = (
            {"policy_viewer": paper["policy_viewer"]} if "policy_viewer" in paper else {}
        )
        self._check_drawings("paper.figures", self._entries("paper.figures", figures, Drawing))
        self._check_drawings("paper.tables", self._entries("paper.tables", tables, Drawing))
        self._check_drawings("paper", self._entries("paper", policy_viewer, PolicyViewer))
        return self._whole("paper", Paper)

    def _check_drawings(self, path: str, drawings: Mapping[str, Drawing]) -> None:
        """Figures and tables show variants that exist."""
        tables = _mapping(self.sections["paper"].get("tables"))
        for name, drawing in drawings.items():
            place = f"{path}.{name}"
            for method, variants in drawing.runs.items():
                listed = () if variants == "all" else variants
                self._check_variants(f"{place}.runs.{method}", method, listed)
            for method, listed in drawing.about.items():
                self._check_variants(f"{place}.about.{method}", method, listed)
            for table in drawing.also:
                self.problems.check_name(f"{place}.also", table, "table", tables)
            for pair in drawing.only:
                self._check_entry(f"{place}.only", pair, "pair", "pairs")

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
            self.problems.add(path, f"a variant appears twice in {short(str(list(variants)))}")


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
