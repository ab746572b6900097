"""Hostile inputs for every command that reads a file or settings; `make fuzz` runs more."""
