"""The toy pair: grammatical German and English from one grammar, with gold word alignments.

Nothing is downloaded: sentence n of a split follows from the seed, the split's name and n
alone, so that any corpus is the beginning of every longer one.

From the bottom up: nouns, morphology, adverbials, verbs, frames (the lexicon); draw (random
choices); words, phrases, clauses, order (one clause in both languages); relatives, statements,
reasons, subordination, infinitives, coordination, questions, sentences (how clauses combine);
generator (pairs and files).
"""

from simt.corpus.toy.generator import SPLITS, generate_pairs, write_toy_corpus
from simt.corpus.toy.words import ToyPair

__all__ = [
    "SPLITS",
    "ToyPair",
    "generate_pairs",
    "write_toy_corpus",
]
