"""Toy sentence pairs: grammatical German and English from one grammar, with gold word alignments.

Nothing is downloaded: sentence n of a split follows from the seed, the split's name and n
alone, so that any corpus is the beginning of every longer one.

From the bottom up: nouns, morphology, adverbials, verbs, frames (the lexicon); draw (random
choices); words, phrases, clauses, order (one clause in both languages); relatives, statements,
reasons, subordination, infinitives, coordination, questions, sentences (how clauses combine);
generator (pairs).
"""

from toy_grammar.generator import generate_pairs
from toy_grammar.words import ToyPair

__all__ = ["ToyPair", "generate_pairs"]
