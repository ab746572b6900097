"""Satisfied alignments: how often a word was written after the source word it translates was read.

docs/methods.md, "Satisfied alignments".

SA = fraction of target words with a <= g, over instances on which the reference
was forced, because only the reference has gold alignments. a is the furthest source word linked
to the target word, counted in tokens up to its last piece; g is the delay of the target word's
first piece. [?] marks what the paper leaves open; every choice is in the signature.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from simt.corpus.alignments import Links, parse_links
from simt.corpus.ids import REMEDY
from simt.errors import SimtError
from simt.instances import Instance
from simt.pieces import word_ends
from simt.problems import read_text
from simt.scoring.scores import Score, make_signature


@dataclass(frozen=True)
class AlignmentChoices:
    """The protocol; the defaults are those of docs/methods.md, "Satisfied alignments"."""

    links: Literal["sure", "possible"] = "sure"  # possible: both kinds
    unaligned: Literal["skip", "satisfied"] = "skip"  # [?] target words without a link
    average: Literal["word", "piece"] = "word"  # [?] piece: each with its own delay


def satisfied_alignments(
    instances: Sequence[Instance],
    links: Sequence[Links],
    choices: AlignmentChoices | None = None,
) -> Score:
    """SA over all words of all sentences, from 0 to 1; ``links[i]`` are those of sentence i.

    ``left_out`` counts sentences without a word that counts; of each other sentence it is kept how
    many words were satisfied, and of how many.
    """
    choices = choices or AlignmentChoices()
    verdicts = [_verdicts(instance, _links_of(instance, links), choices) for instance in instances]
    return Score.of(
        f"sa_{choices.average}",
        make_signature(
            "SA",
            links=choices.links,
            position="furthest",
            unaligned=choices.unaligned,
            average=choices.average,
            forced="reference",
        ),
        [(sum(sentence), len(sentence)) if sentence else None for sentence in verdicts],
        _ratio,
    )


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


def _verdicts(instance: Instance, links: Links, choices: AlignmentChoices) -> list[bool]:
    """For every word or piece that counts, whether its source word had been read."""
    if instance.token_delays is None or not instance.is_forced:
        raise SimtError(
            f"sentence {instance.index}: satisfied alignments need token_delays on which the "
            "reference was forced (is_forced)"
        )
    source_ends = word_ends(instance.source_pieces[:-1])
    target_ends = word_ends(instance.pieces[:-1])
    needed = furthest_links(links, choices, len(source_ends), len(target_ends), instance.index)
    verdicts: list[bool] = []
    starts = (0, *target_ends)
    for word, end in enumerate(target_ends):
        places = range(starts[word], end if choices.average == "piece" else starts[word] + 1)
        if word in needed:
            ready = source_ends[needed[word]]
            verdicts += [ready <= instance.token_delays[place] for place in places]
        elif choices.unaligned == "satisfied":
            verdicts += [True] * len(places)
    return verdicts


def furthest_links(
    links: Links, choices: AlignmentChoices, source_words: int, target_words: int, index: int
) -> dict[int, int]:
    """The last source word that each linked target word translates, both from 0."""
    chosen = links.sure | links.possible if choices.links == "possible" else links.sure
    furthest: dict[int, int] = {}
    for source, target in chosen:
        if source >= source_words or target >= target_words:
            raise SimtError(
                f"sentence {index}: link {source}-{target} (from 0) leads beyond its "
                f"{source_words} and {target_words} words; is this the split of the links?"
            )
        furthest[target] = max(source, furthest.get(target, 0))
    return furthest
