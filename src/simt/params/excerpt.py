"""The part of params.yaml that a figure, a table or the report of a study is made with."""

import json
from collections.abc import Collection, Mapping

from pydantic import Field

from simt.pairs import BpeSettings
from simt.params.layers import Params
from simt.params.schema import Method, Pair, Paper, Raw, Study, Variant
from simt.settings import DecodingSettings, ModelSettings, ScoringSettings, Settings

Variants = Mapping[str, Collection[str]]  # by method


class StudyExcerpt(Settings):
    """A study with the entries that it names, resolved; the argument of the steps of the paper."""

    name: str
    fidelity: str
    study: Study
    pairs: dict[str, Pair]
    text: Raw
    bpe: dict[str, BpeSettings]
    model: dict[str, ModelSettings]
    training: Raw
    methods: dict[str, Method]
    decoding: DecodingSettings
    scoring: ScoringSettings
    paper: Paper
    # Left out where it is none: what was drawn before this entry was known stays as it is.
    is_rehearsal: bool = Field(default=False, exclude_if=lambda is_rehearsal: not is_rehearsal)

    def as_json(self) -> str:
        """One line in the order of params.yaml, which is that of curves and rows."""
        return json.dumps(self.model_dump(mode="json"), ensure_ascii=False)

    def params(self) -> Params:
        """The parameters as they were read, without what the step does not need."""
        return Params(
            study=self.name, fidelity=self.fidelity, studies={self.name: self.study},
            pairs=self.pairs, text=self.text, bpe=self.bpe, model=self.model,
            training=self.training, decoding=self.decoding, scoring=self.scoring,
            methods=self.methods, paper=self.paper, is_rehearsal=self.is_rehearsal,
        )  # fmt: skip


def excerpt(
    params: Params, variants: Variants, paper: Paper, listed: Variants | None = None
) -> StudyExcerpt:
    """What a step needs that shows some variants: a change to any other does not concern it.

    Of variants that are only ``listed`` it needs the sizes of their models.
    """
    listed = {} if listed is None else listed
    both = {key: {*variants.get(key, ()), *listed.get(key, ())} for key in (*variants, *listed)}
    study = params.chosen_study
    pairs = {pair: _of_pair(params.pairs[pair], variants) for pair in study.runs}
    sizes = {size for pair in pairs.values() for size in pair.sizes.values()}
    return StudyExcerpt(
        name=params.study,
        fidelity=params.fidelity,
        study=_of_study(study, both),
        pairs=pairs,
        text=dict(params.text),
        bpe={key: entry for key, entry in params.bpe.items()
             if key in {pair.bpe for pair in pairs.values()}},
        model={key: entry for key, entry in params.model.items() if key in sizes},
        training=dict(params.training),
        methods={key: _of_method(entry, variants.get(key, ()), both[key])
                 for key, entry in params.methods.items() if key in both},
        decoding=params.decoding,
        scoring=params.scoring,
        paper=paper,
        is_rehearsal=params.is_rehearsal,
    )  # fmt: skip


def _of_study(study: Study, variants: Variants) -> Study:
    runs = {pair: _chosen(methods, variants) for pair, methods in study.runs.items()}
    first_only = _chosen(study.first_seed_only, variants)
    return study.model_copy(update={"runs": runs, "first_seed_only": first_only})


def _chosen(
    methods: Mapping[str, tuple[str, ...]], variants: Variants
) -> dict[str, tuple[str, ...]]:
    """Of the variants of each method those that are shown."""
    shown = {
        method: tuple(variant for variant in listed if variant in variants.get(method, ()))
        for method, listed in methods.items()
    }
    return {method: listed for method, listed in shown.items() if listed}


def _of_pair(pair: Pair, variants: Variants) -> Pair:
    """Without what its corpus is made from, but for its splits, and without other methods."""
    methods = {method: values for method, values in pair.methods.items() if method in variants}
    knobs = {method: values for method, values in pair.knobs.items() if method in variants}
    emptied: dict[str, Raw] = {"downloads": {}, "licensed": {}, "local": {}}
    return pair.model_copy(update={"methods": methods, "knobs": knobs, **emptied})


def _of_method(method: Method, shown: Collection[str], kept: Collection[str]) -> Method:
    """Its variants that are shown, and of the others that are kept their size."""
    variants = {
        name: variant if name in shown else Variant(size=variant.size)
        for name, variant in method.variants.items()
        if name in kept
    }
    if not shown:
        return Method(revision=1, knobs=(), settings={}, variants=variants)
    return method.model_copy(update={"variants": variants})
