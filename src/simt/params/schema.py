"""The sections of params.yaml, each by itself."""

import json
import re
from typing import Annotated, Any, Literal

from pydantic import AfterValidator, Field, ValidationError, WrapValidator
from pydantic import ValidatorFunctionWrapHandler as Inner

from simt.errors import short
from simt.pairs import Download, Licensed, Local, Splits, ToyGrammar
from simt.settings import Count, EvaluationSplit, Fraction, SentenceChoice, Settings


def part_of_a_path(name: str) -> str:
    """``name`` itself if it can be a folder's name, and a wildcard of Snakemake."""
    if not re.fullmatch(r"[a-z0-9][a-z0-9.-]*", name):
        raise ValueError(f"'{short(name)}' cannot be a name; use lower case, digits, . and -")
    return name


def _told_as(what: str) -> WrapValidator:
    """A check that tells in one sentence what a union takes, not once for each of its members."""

    def check(value: Any, inner: Inner) -> Any:
        try:  # out of JSON, a tuple comes here as a list
            return inner(tuple(value) if isinstance(value, list) else value)
        except ValidationError:
            raise ValueError(f"{short(json.dumps(value))} must be {what}") from None

    return WrapValidator(check)


Name = Annotated[str, AfterValidator(part_of_a_path)]
Size = Literal["small", "base", "big"]
Knob = Annotated[float | Literal["full"], _told_as("a finite number, or full")]
Variants = Annotated[tuple[str, ...] | Literal["all"], _told_as("a list of variants, or all")]
Role = Literal["main", "first-main", "second-main", "other-main", "analysis", "appendix", "scale"]
Raw = dict[str, Any]


class StudyPairs(Settings):
    """The roles that pairs play in a study's figures.

    ``scale`` are pairs of one corpus with more and less of training or of text.
    """

    main: tuple[str, ...] = Field(min_length=1)
    analysis: str
    appendix: tuple[str, ...]
    scale: tuple[str, ...] = ()

    def in_role(self, role: Role) -> tuple[str, ...]:
        """The pairs that a figure for ``role`` shows; none is both main and appendix."""
        pairs: dict[Role, tuple[str, ...]] = {
            "main": self.main,
            "first-main": self.main[:1],
            "second-main": self.main[1:2],
            "other-main": self.main[2:],
            "analysis": (self.analysis,),
            "appendix": tuple(pair for pair in self.appendix if pair not in self.main),
            "scale": self.scale,
        }
        return pairs[role]


class Study(Settings):
    """A named set of pairs, runs and seeds: ``runs[pair][method]`` are variants.

    ``first_seed_only[method]`` are those of them that are not trained with the other seeds.
    """

    pairs: StudyPairs
    seeds: tuple[Count, ...] = Field(min_length=1)
    runs: dict[str, dict[str, tuple[str, ...]]]
    first_seed_only: dict[str, tuple[str, ...]] = {}

    def seeds_of(self, method: str, variant: str) -> tuple[int, ...]:
        """The seeds that a variant is trained with."""
        is_first_only = variant in self.first_seed_only.get(method, ())
        return self.seeds[:1] if is_first_only else self.seeds


class Pair(Settings):
    """One corpus in one direction, with what it asks of models and training.

    ``training`` and ``methods`` are layers over the sections of that name.
    """

    source: Name
    target: Name
    toy: ToyGrammar | None = None
    downloads: dict[Name, Download] = {}
    licensed: dict[Name, Licensed] = {}
    local: dict[Name, Local] = {}
    licence: str | None = None  # of the text, for the cards of exported systems
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
    start_from: str | None = None  # method/variant, or the path of an exported folder
    updates_fraction: Fraction = 1.0  # of the pair's updates
    peak_lr_fraction: Fraction = 1.0  # of the pair's peak learning rate
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
    """A figure or table: its title, and the runs it shows of those the study has.

    It also shows the runs that it is ``about``; without any of them it is left out.
    """

    title: str
    pairs: Role
    split: EvaluationSplit
    runs: dict[str, Variants]
    about: dict[str, tuple[str, ...]] = Field(default={}, exclude_if=lambda runs: not runs)
    shows_comet: bool = False  # only then are its points scored by COMET, which takes longest
    also: tuple[Name, ...] = ()  # tables whose numbers it repeats
    only: tuple[Name, ...] = ()  # pairs that it can show; () is any


class PolicyViewer(Drawing):
    """What the report shows word by word: which runs, and on which sentences."""

    choice: SentenceChoice


class Paper(Settings):
    """The figures and tables of the paper, by name, and the policy viewer of the report."""

    figures: dict[Name, Drawing]
    tables: dict[Name, Drawing]
    policy_viewer: PolicyViewer
