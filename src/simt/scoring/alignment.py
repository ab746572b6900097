"""Satisfied alignments: how often a word was written after the source word it translates was read.

docs/methods.md, "Satisfied alignments".

SA = fraction of target words with a <= g, over instances on which the reference
was forced, because only the reference has gold alignments. a is the furthest source word linked
to the target word, counted in tokens up to its last piece; g is the delay of the target word's
first piece. Sure links only; words without one do not count [?]. [?] marks what the paper leaves
open; every choice is in the signature.
"""

from collections.abc import Sequence
from pathlib import Path

from simt.corpus.alignments import Links, furthest_links, parse_links
from simt.corpus.ids import REMEDY
from simt.errors import SimtError
from simt.instances import Instance
from simt.pieces import word_ends
from simt.problems import read_text
from simt.scoring.scores import Score, make_signature


def satisfied_alignments(instances: Sequence[Instance], links: Sequence[Links]) -> Score:
    """SA over all words of all sentences, from 0 to 1; ``links[i]`` are those of sentence i.

    ``left_out`` counts sentences without a word that counts; of each other sentence it is kept how
    many words were satisfied, and of how many.
    """
    verdicts = [_verdicts(instance, _links_of(instance, links)) for instance in instances]
    return Score.of(
        "sa_word",
        make_signature(
            "SA", links="sure", position="furthest", unaligned="skip", average="word",
            forced="reference",
        ),
        [(sum(sentence), len(sentence)) if sentence else None for sentence in verdicts],
        _ratio,
    )  # fmt: skip


def _ratio(counts: Sequence[tuple[int, int]]) -> float:
    return sum(satisfied for satisfied, _ in counts) / sum(words for _, words in counts)


def read_links(path: Path) -> list[Links]:
    """The links of every sentence of a prepared split."""
    lines = read_text(path, REMEDY).split("\n")[:-1]
    return [
        parse_links(line, 0, f"{path}, line {number}") for number, line in enumerate(lines, start=1)
    ]


def _links_of(instance: Instance, links: Sequence[Links]) -> Links:
    if instance.index >= len(links):
        raise SimtError(
            f"sentence {instance.index} has no line of links: there are {len(links)}; "
            "instances and links must be of the same split"
        )
    return links[instance.index]


def _verdicts(instance: Instance, links: Links) -> list[bool]:
    """For every word with a sure link, whether its source word had been read."""
    if instance.token_delays is None or not instance.is_forced:
        raise SimtError(
            f"sentence {instance.index}: satisfied alignments need token_delays on which the "
            "reference was forced (is_forced)"
        )
    source_ends = word_ends(instance.source_pieces[:-1])
    target_ends = word_ends(instance.pieces[:-1])
    _refuse_other_words(instance, len(target_ends))
    _refuse_links_beyond(links, len(source_ends), len(target_ends), instance.index)
    starts = (0, *target_ends)
    return [
        source_ends[source] <= instance.token_delays[starts[target]]
        for target, source in furthest_links(links.sure).items()
    ]


def _refuse_other_words(instance: Instance, forced: int) -> None:
    """A word too many would shift all links behind it."""
    words = [line.split() for line in instance.tokenised_references or ()]
    if words and len(words[0]) != forced:
        raise SimtError(
            f"sentence {instance.index}: {forced} words were forced, but its reference has "
            f"{len(words[0])}; decode it again: snakemake -R decode"
        )


def _refuse_links_beyond(links: Links, source_words: int, target_words: int, index: int) -> None:
    for source, target in links.sure:
        if source >= source_words or target >= target_words:
            raise SimtError(
                f"sentence {index}: link {source}-{target} (from 0) leads beyond its "
                f"{source_words} and {target_words} words; is this the split of the links?"
            )
