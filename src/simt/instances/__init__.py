"""One decoded sentence with its delays: the border between decoding and scoring.

A file holds one JSON object a line. The first eight fields are SimulEval's, in words, so that its
score-only mode and OmniSTEval's short form read them; the others are ours, in tokens, and may all
be missing in the file of another system:

==================== =============================================================================
index                number of the sentence in its split, from 0
source, prediction   text as people write it (the hypothesis detokenised)
reference            the first reference
delays               complete source words read when each word of the prediction was written
elapsed              the same, plus the time spent computing until then, in words of speech
prediction_length    how many words were written: as many as there are delays
source_length        source words
-------------------- -----------------------------------------------------------------------------
knob                 the decode-time number, "full", or null
references           all references, where there are several
tokenised_references the references in words, as the model's side of the text has them
source_tokens        pieces joined by a blank, with the final ``<eos>``
tokens               pieces of the hypothesis, with the final ``<eos>``
token_delays         source tokens read when each token was written; ``<eos>`` counts on both sides
reference_token_length   tokens of the first reference, with ``<eos>``
write_confidence     of each WRITE; null where the policy had no choice
read_confidence      of each READ, in the order of source tokens; null where it had no choice
token_elapsed_ms     time spent computing until each token was written
ms_per_word          the rate of speech that turned it into ``elapsed``
words                what a word is, if not what stands between blanks: {"source": "tokens", ...}
is_forced            true where the reference was forced: no quality can be scored then
==================== =============================================================================

A file may hold several knob values, in any order; a sentence occurs once for each. SimulEval would
keep only the last of them: `simt simuleval` gives it one folder for each knob value.
"""

from simt.instances.files import (
    Unit,
    group_by_knob,
    read_groups,
    read_instances,
    write_instances,
)
from simt.instances.making import Hypothesis, SplitSentence, make_instance
from simt.instances.record import EOS_TOKEN, SIMULEVAL_FIELDS, Instance, Number, WordsOf
from simt.instances.simuleval import write_simuleval_logs
from simt.instances.words import text_word_ends, word_delays

__all__ = [
    "EOS_TOKEN",
    "SIMULEVAL_FIELDS",
    "Hypothesis",
    "Instance",
    "Number",
    "SplitSentence",
    "Unit",
    "WordsOf",
    "group_by_knob",
    "make_instance",
    "read_groups",
    "read_instances",
    "text_word_ends",
    "word_delays",
    "write_instances",
    "write_simuleval_logs",
]
