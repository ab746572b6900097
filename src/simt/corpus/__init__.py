"""Corpora: from an address, or a grammar, to batches of subword ids."""
