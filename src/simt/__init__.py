"""Simultaneous machine translation: SM² and its baselines, from corpus to figure."""
