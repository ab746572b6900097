# The few things a person types. Needs Python 3.11 or 3.12, pip and make; no root, no conda.

# The first interpreter whose version the pinned set allows.
PYTHON ?= $(shell for p in python3.11 python3.12 python3 python; do \
	$$p -c 'import sys; sys.exit(not (3, 11) <= sys.version_info < (3, 13))' 2>/dev/null && echo $$p && break; done)
BIN := .venv/bin
INSTALLED := .venv/.installed
JOEYNMT := .venv-joeynmt
SIMULEVAL := .simuleval/.installed
WORKERS ?= 2
PORT ?= 5000

.PHONY: help demo ui test test-fast test-slow lint bench clean

help:
	@echo "make demo       the toy study, from the corpus to its last figure"
	@echo "make ui         the study's runs in MLflow, in a browser"
	@echo "make test       all tests;  make test-fast: those under two minutes;  make test-slow: the others"
	@echo "make lint       ruff, mypy, import-linter, snakefmt"
	@echo "make bench      how fast every method trains here, and JoeyNMT beside them"
	@echo "make clean      removes what was installed (results/ stays)"

demo: $(INSTALLED)
	$(BIN)/snakemake --profile workflow/profiles/local --config study=toy
	@$(BIN)/simt check paper --study toy
	@echo "Open results/paper/toy/report.html in a browser: claims, figures, tables, and the policy theatre."
	@echo "The figures (PDF, SVG, PNG) and tables (LaTeX, Markdown, CSV) are beside it, each with its .json."
	@echo "$(BIN)/simt plan says what else a study holds; each number's definition is beside it."

ui: export MLFLOW_DISABLE_TELEMETRY = true
ui: export MLFLOW_SERVER_ENABLE_JOB_EXECUTION = false
ui: $(INSTALLED)
	$(BIN)/simt track
	@echo "Open http://127.0.0.1:$(PORT) in a browser; Ctrl-C ends it."
	$(BIN)/mlflow server --backend-store-uri sqlite:///mlflow.db --host 127.0.0.1 --port $(PORT) --workers 1

test: $(INSTALLED) $(SIMULEVAL)
	$(BIN)/pytest -n $(WORKERS)

test-fast: $(INSTALLED) $(SIMULEVAL)
	$(BIN)/pytest -n $(WORKERS) -m "not slow"

test-slow: $(INSTALLED)
	$(BIN)/pytest -n $(WORKERS) -m slow

lint: $(INSTALLED)
	$(BIN)/pytest -q tests/workflow/test_style.py

# The toy study's size, then one with as many words as a small real corpus has.
bench: $(INSTALLED) $(JOEYNMT)/.installed
	$(BIN)/simt bench train --size toy --against $(JOEYNMT)/bin/python
	$(BIN)/simt bench train --size cpu-small --words 4000 --against $(JOEYNMT)/bin/python

# Its pins exclude ours, so it lives apart.
$(JOEYNMT)/.installed: bench/joeynmt.txt | $(INSTALLED)
	test -x $(JOEYNMT)/bin/python || $(PYTHON) -m venv $(JOEYNMT)
	$(JOEYNMT)/bin/python -m pip install --quiet --disable-pip-version-check -r $<
	@touch $@

# Only its scoring code, beside our own packages: its pins exclude ours. Where it cannot be
# installed, the test that asks it is skipped, but not in CI.
$(SIMULEVAL): tests/simuleval.txt | $(INSTALLED)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --no-deps --upgrade --target .simuleval -r $< \
		&& touch $@ || { echo "SimulEval could not be installed" >&2; test -z "$$CI"; }

# torch first and alone: whatever needs torch then finds it, and pip does not look for another build.
$(INSTALLED): pyproject.toml constraints.txt
	@test -n "$(PYTHON)" || { echo "Python 3.11 or 3.12 is needed and was not found; give it as: make $(MAKECMDGOALS) PYTHON=/path/to/python3.11" >&2; exit 1; }
	test -x $(BIN)/python || $(PYTHON) -m venv .venv
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -c constraints.txt torch
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -c constraints.txt -e '.[dev]'
	@touch $@

clean:
	rm -rf .venv .simuleval $(JOEYNMT)
