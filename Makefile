# The few things a person types. Needs Python 3.11 or 3.12, pip and make; no root, no conda.

# The first interpreter whose version the pinned set allows.
PYTHON ?= $(shell for p in python3.11 python3.12 python3 python; do \
	$$p -c 'import sys; sys.exit(not (3, 11) <= sys.version_info < (3, 13))' 2>/dev/null && echo $$p && break; done)
BIN := .venv/bin
INSTALLED := .venv/.installed
JOEYNMT := .venv-joeynmt
SIMULEVAL := .simuleval/.installed
OF_STUDY = $(if $(STUDY),--study $(STUDY))
WORKERS ?= 2
N ?= 2000
SEED ?= 0
MUTANTS ?= 60

.PHONY: help demo live ui test test-fast test-failed test-slow fuzz mutants lint bench simuleval clean

help:
	@echo "make demo       run the toy study, from the corpus to the last figure"
	@echo "make live       a page on which trained systems translate while you type; PORT=8000"
	@echo "make ui         show the runs of the study in MLflow, in a browser; PORT=5000"
	@echo "                both are about the study of params.yaml, or of STUDY=multi30k"
	@echo "make test       run all tests; make test-fast: those of about three minutes in total; make test-slow: the others;"
	@echo "                make test-failed: those that failed the last time, one by one"
	@echo "make fuzz       run commands on N=2000 corrupted inputs, starting at SEED=0; failures are kept in fuzz/"
	@echo "make mutants    MUTANTS=60 small changes to the code, one at a time: which does no test notice?"
	@echo "make lint       run ruff, mypy, import-linter and snakefmt"
	@echo "make bench      measure the training speed of every method, and of JoeyNMT for comparison"
	@echo "make simuleval  install SimulEval beside simt, to run exported systems with it"
	@echo "make clean      remove what was installed (results/ is kept)"

demo: $(INSTALLED)
	$(BIN)/snakemake --profile workflow/profiles/local --config study=toy
	@$(BIN)/simt check paper --study toy
	@$(BIN)/dvc commit --force --quiet || echo "DVC has not recorded the study, so dvc status says that it has changed." >&2
	@echo "Open results/paper/toy/report.html in a browser: claims, figures, tables, and the policy viewer."
	@echo "The figures (PDF, SVG, PNG) and tables (LaTeX, Markdown, CSV) are beside it, each with its .json."
	@echo "make live opens a page on which three of its systems translate what you type."
	@echo "To use simt, snakemake and dvc yourself, run this in your shell first:"
	@echo "  source $(BIN)/activate && export SNAKEMAKE_PROFILE=workflow/profiles/local"

live: PORT ?= 8000
live: $(INSTALLED)
	$(BIN)/simt serve $(OF_STUDY) --port $(PORT)

ui: PORT ?= 5000
ui: export MLFLOW_DISABLE_TELEMETRY = true
ui: export MLFLOW_SERVER_ENABLE_JOB_EXECUTION = false
ui: $(INSTALLED)
	$(BIN)/simt track $(OF_STUDY) --pages http://127.0.0.1:$(PORT)
	@echo "Open that address in a browser; Ctrl-C ends the server."
	$(BIN)/mlflow server --backend-store-uri sqlite:///mlflow.db --host 127.0.0.1 --port $(PORT) --workers 1

test: $(INSTALLED) $(SIMULEVAL)
	$(BIN)/pytest -n $(WORKERS)

test-fast: $(INSTALLED) $(SIMULEVAL)
	$(BIN)/pytest -n $(WORKERS) -m "not slow"

# Many tests kill, race and time real processes, two at a time: what failed beside others is asked once
# more alone. It is named in both outputs, and more than five failures are not chance.
test-failed: $(INSTALLED) $(SIMULEVAL)
	$(BIN)/pytest --last-failed --last-failed-no-failures none --maxfail 5 -v

test-slow: $(INSTALLED) $(SIMULEVAL)
	$(BIN)/pytest -n $(WORKERS) -m slow

fuzz: $(INSTALLED)
	$(BIN)/python -m tests.fuzz --count $(N) --seed $(SEED)

mutants: $(INSTALLED)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -r tests/mutants/requirements.txt
	OMP_NUM_THREADS=1 $(BIN)/python -m tests.mutants --number $(MUTANTS) --seed $(SEED)

lint: $(INSTALLED)
	$(BIN)/pytest -q tests/workflow/test_style.py

# The toy study's size, then one with as many words as a small real corpus has, in both precisions.
bench: $(INSTALLED) $(JOEYNMT)/.installed
	$(BIN)/simt bench train --size toy --against $(JOEYNMT)/bin/python
	$(BIN)/simt bench train --size cpu-big --words 4000 --against $(JOEYNMT)/bin/python
	$(BIN)/simt bench train --size cpu-big --words 4000 --against $(JOEYNMT)/bin/python --precision bf16-products

# Its pins exclude ours, so it lives apart.
$(JOEYNMT)/.installed: bench/joeynmt.txt | $(INSTALLED)
	test -x $(JOEYNMT)/bin/python || $(PYTHON) -m venv $(JOEYNMT)
	$(JOEYNMT)/bin/python -m pip install --quiet --disable-pip-version-check -r $<
	@touch $@

# SimulEval and OmniSTEval beside our own packages: their pins exclude ours. Where they cannot be
# installed, the tests that ask them are skipped, but not in CI.
$(SIMULEVAL): tests/simuleval.txt | $(INSTALLED)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --no-deps --upgrade --target .simuleval -r $< \
		&& touch $@ || { echo "SimulEval and OmniSTEval could not be installed" >&2; test -z "$$CI"; }

simuleval: $(SIMULEVAL)
	@echo "To use it: export PATH=$(CURDIR)/.simuleval/bin:\$$PATH PYTHONPATH=$(CURDIR)/.simuleval"

# torch first and alone: whatever needs torch then finds it, and pip does not look for another build.
$(INSTALLED): pyproject.toml constraints.txt
	@test -n "$(PYTHON)" || { echo "Python 3.11 or 3.12 is needed and was not found; give it as: make $(MAKECMDGOALS) PYTHON=/path/to/python3.11" >&2; exit 1; }
	test -x $(BIN)/python || $(PYTHON) -m venv .venv
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -c constraints.txt torch
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -c constraints.txt -e '.[dev]'
	@touch $@

clean:
	rm -rf .venv .simuleval $(JOEYNMT)
