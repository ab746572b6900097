"""The kinds of sentences, how often each comes, and the mark that ends it."""

from collections.abc import Callable

from toy_grammar.coordination import contrast, double_predicate, obstacle
from toy_grammar.draw import Draw
from toy_grammar.infinitives import attempt, purpose
from toy_grammar.questions import open_question, yes_no_question
from toy_grammar.statements import statement
from toy_grammar.subordination import (
    condition,
    meanwhile,
    occasion,
    reason,
    report,
    sequence,
)
from toy_grammar.words import Phrase

Kind = Callable[[Draw], Phrase]

WEIGHTED_KINDS: tuple[tuple[Kind, str, int], ...] = (
    (statement, ".", 40),
    (reason, ".", 12),
    (condition, ".", 7),
    (sequence, ".", 4),
    (meanwhile, ".", 4),
    (occasion, ".", 4),
    (report, ".", 12),
    (purpose, ".", 4),
    (attempt, ".", 4),
    (contrast, ".", 4),
    (obstacle, ".", 4),
    (double_predicate, ".", 4),
    (yes_no_question, "?", 4),
    (open_question, "?", 5),
)

KINDS: tuple[tuple[Kind, str], ...] = tuple(
    (kind, mark) for kind, mark, weight in WEIGHTED_KINDS for _ in range(weight)
)
