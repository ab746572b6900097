"""What a pair is made of: where its text comes from, how it is read, cleaned and cut.

The entries under ``pairs`` in params.yaml, and the settings that the steps fetch, prepare and
bpe get as their argument. No defaults, for the reason given in settings/base.py; what
a pair has not may be left out.
"""

import re
from typing import Annotated, Literal

from pydantic import AfterValidator, Field, StringConstraints, model_validator

from simt.errors import short
from simt.settings import Count, CountOrZero, Settings

SPLITS = ("train", "valid", "test", "aligned")

Sha256 = Annotated[str, StringConstraints(pattern=r"^[0-9a-f]{64}$")]
Md5 = Annotated[str, StringConstraints(pattern=r"^[0-9a-f]{32}$")]
Address = Annotated[str, StringConstraints(pattern=r"^(https?|file)://\S+$")]


def _below_raw(path: str) -> str:
    """``path`` itself if it is relative and never leads upwards."""
    parts = path.split("/")
    is_odd = "\\" in path or not path.isprintable()
    if is_odd or any(part in ("", ".", "..") for part in parts):
        raise ValueError(f"'{short(path)}' must be a path below raw/, such as folder/file.txt")
    return path


RawPath = Annotated[str, AfterValidator(_below_raw)]


def _of_every_split(sizes: dict[str, int]) -> dict[str, int]:
    """``sizes`` themselves if each split has one, and nothing else has."""
    if sizes.keys() != set(SPLITS):
        raise ValueError(f"has {', '.join(sizes) or 'none'}; give exactly {', '.join(SPLITS)}")
    return sizes


class Download(Settings):
    """A file to fetch: the addresses are tried in order, the checksum decides.

    An archive (.tgz, .tar.gz, .tar, .zip) or a compressed file (.gz) is unpacked into
    ``raw/<name of the download>/``; only the files that some split reads are kept.
    ``contents`` are sums of the unpacked files, for addresses that compress anew.
    """

    addresses: tuple[Address, ...] = Field(min_length=1)
    sha256: Sha256 | None = None
    md5: Md5 | None = None
    bytes: Count | None = None
    contents: dict[str, Sha256] | None = None

    @property
    def file_name(self) -> str:
        """The last part of the first address, which every mirror must share in kind."""
        return re.split(r"[/=]", self.addresses[0])[-1]

    @model_validator(mode="after")
    def _ends_in_a_file_name(self) -> "Download":
        if not re.fullmatch(r"\w[\w.-]*\.\w+", self.file_name):
            raise ValueError(f"{self.addresses[0]} does not end in a file name such as train.tgz")
        return self


class Licensed(Settings):
    """Files that only the user can get: put by hand into a folder below SIMT_CORPORA."""

    title: str
    obtain: str  # from whom, and on which terms
    folder: RawPath
    files: tuple[RawPath, ...] = Field(min_length=1)
    sha256: dict[str, Sha256] | None = None


class Local(Settings):
    """Files of one's own, in a folder below SIMT_CORPORA; the splits say which they are."""

    folder: RawPath


class ToyGrammar(Settings):
    """The grammar of ``toy_grammar`` instead of an address."""

    revision: Count  # goes up when the grammar's sentences change
    seed: CountOrZero
    sizes: Annotated[dict[str, Count], AfterValidator(_of_every_split)]


class Sample(Settings):
    """Some sentence pairs of a part, which anyone can draw again.

    Those whose source has ``min_words`` words (between blanks) are put in the order of the SHA-256
    of their source; the pairs from ``begin`` (counted from 0) to before ``end`` are the sample.
    So samples that do not overlap share no pair, and a longer one holds the shorter.
    A part that has fewer is an error, unless the sample ``may_be_short``.
    """

    begin: CountOrZero
    end: Count
    min_words: Count
    may_be_short: bool = Field(default=False, exclude_if=lambda may_be: not may_be)

    @model_validator(mode="after")
    def _is_not_empty(self) -> "Sample":
        if self.begin >= self.end:
            raise ValueError(f"begin {self.begin} is not before end {self.end}: no pair is left")
        return self


class Part(Settings):
    """One piece of a split: files below raw/ and how to read them.

    ``plain`` and ``sgm`` and ``xml`` take a source file and one target file a reference;
    an sgm file may itself hold several references. ``tsv`` and ``tmx`` hold both sides in one
    file, named as ``source``. ``is_dirty`` allows broken lines: they are dropped and counted.
    ``is_escaped`` says that the text writes &apos; and its like for characters. With a ``sample``,
    only that is taken.
    """

    reader: Literal["plain", "tsv", "sgm", "xml", "tmx"]
    source: RawPath
    targets: tuple[RawPath, ...]
    columns: tuple[CountOrZero, CountOrZero] | None = None
    encoding: Literal["utf-8", "latin-1"]
    is_dirty: bool
    is_escaped: bool = False
    # Left out where there is none: text prepared before this entry was known stays as it is.
    sample: Sample | None = Field(default=None, exclude_if=lambda sample: sample is None)

    @model_validator(mode="after")
    def _fits_its_reader(self) -> "Part":
        if self.reader in ("tsv", "tmx") and self.targets:
            raise ValueError(f"a {self.reader} file holds both sides: leave targets empty")
        if self.reader not in ("tsv", "tmx") and not self.targets:
            raise ValueError(f"reader {self.reader} needs at least one file in targets")
        if (self.reader == "tsv") != (self.columns is not None):
            raise ValueError("columns (of source and target, from 0) go with reader tsv only")
        return self


class AlignedPart(Settings):
    """Gold word alignments: tokenised text and one line of links a sentence.

    ``i-j`` is a sure link and ``ipj`` a possible one, counted from ``base``; the source index
    comes first unless ``is_target_first``. With a ``sample``, only that is taken.
    """

    source: RawPath
    target: RawPath
    links: RawPath
    base: Literal[0, 1]
    is_target_first: bool = False
    encoding: Literal["utf-8", "latin-1"]
    sample: Sample | None = Field(default=None, exclude_if=lambda sample: sample is None)


class Splits(Settings):
    """Which files make train, valid and test, and the gold alignments where there are any."""

    train: tuple[Part, ...] = Field(min_length=1)
    valid: tuple[Part, ...] = Field(min_length=1)
    test: tuple[Part, ...] = Field(min_length=1)
    aligned: AlignedPart | None = None


class TextSettings(Settings):
    """How raw text becomes tokenised text, and which training pairs are left out."""

    source_tokeniser: Literal["moses", "jieba", "blanks"]
    target_tokeniser: Literal["moses", "jieba", "blanks"]
    normalise_punctuation: bool
    romanian_diacritics: Literal["keep", "comma", "none"]  # ș as written, ș for ş, s
    max_words: Count
    max_ratio: Annotated[float, Field(ge=1)]
    drop_duplicates: bool
    drop_evaluation_sentences: bool  # decontamination


class BpeSettings(Settings):
    """Subwords by subword-nmt; joint: one set of merges and one vocabulary for both sides.

    ``is_filled_up``: a vocabulary that has fewer pieces than merges were asked for gets some that
    never occur, so that a model on a little text is as large as on all of it.
    """

    joint: bool
    source_merges: Count
    target_merges: Count
    min_pair_count: Count
    is_filled_up: bool = Field(default=False, exclude_if=lambda is_filled: not is_filled)

    @model_validator(mode="after")
    def _joint_is_one(self) -> "BpeSettings":
        if self.joint and self.source_merges != self.target_merges:
            raise ValueError(
                "joint BPE has one number of merges: make source_merges and target_merges equal"
            )
        return self


class FetchSettings(Settings):
    """The argument of ``simt fetch``."""

    source: str
    target: str
    toy: ToyGrammar | None = None
    downloads: dict[str, Download]
    licensed: dict[str, Licensed]
    # Left out where there are none: corpora fetched before this entry was known stay as they are.
    local: dict[str, Local] = Field(default={}, exclude_if=lambda entries: not entries)
    files: tuple[RawPath, ...]  # every file that some split reads, below raw/

    def wanted(self) -> dict[str, list[str]]:
        """The files that the splits read of each entry, as paths inside it."""
        wanted: dict[str, list[str]] = {}
        for file in dict.fromkeys(self.files):
            name, _, inside = file.partition("/")
            wanted.setdefault(name, []).append(inside)
        return wanted


class PrepareSettings(Settings):
    """The argument of ``simt prepare``."""

    source: str
    target: str
    splits: Splits
    text: TextSettings


# --- which files ----------------------------------------------------------------------------------


def placed_files(splits: Splits) -> list[tuple[str, str]]:
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
    return tuple(dict.fromkeys(file for _, file in placed_files(splits)))


def toy_splits(source: str, target: str) -> Splits:
    """The files that the grammar writes, as if they had been downloaded."""

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
