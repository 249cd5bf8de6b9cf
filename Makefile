# Every target makes .venv on first use and is quick when nothing changed.

PYTHON ?= python3
BIN := .venv/bin
READY := .venv/.installed

.DEFAULT_GOAL := help
.PHONY: help setup grade test test-browser lint mutation clean

help:  ## Say what can be made
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "make %-12s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

setup: $(READY)  ## Install the kit and its tools into .venv
	@echo "Ready: $(BIN)/autograder --help"

grade: $(READY)  ## Grade the example class into build/results.json
	@mkdir -p build
	$(BIN)/autograder grade examples/submitted --json build/results.json

test: lint  ## Check everything, as CI does
	$(BIN)/python -m pytest -n 2 --dist loadfile  # two cores, each file's fixtures once

test-browser: $(READY)  ## Go through JupyterLab and formgrader in Chromium, pictures in build/browser
	$(BIN)/python -m pytest tests/browser --shots build/browser

lint: $(READY)  ## Check style, format and types
	$(BIN)/ruff check
	$(BIN)/ruff format --check
	$(BIN)/mypy

mutation: $(READY)  ## Change the solutions in small ways: which changes does no check notice?
	$(BIN)/autograder mutate

clean:  ## Remove what make and the tools made, .venv too
	rm -rf .venv build dist .hypothesis .mypy_cache .pytest_cache .ruff_cache
	find . -name __pycache__ -type d -prune -exec rm -rf {} +

# A .venv whose Python is gone or too old is made anew; any other is kept, torch is large.
$(READY): pyproject.toml constraints.txt
	@new_enough() { "$$1" -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null; }; \
	new_enough $(BIN)/python && exit; \
	for python in "$(PYTHON)" python3.13 python3.12 python3.11; do \
		if new_enough "$$python"; then exec "$$python" -m venv --clear .venv; fi; \
	done; \
	echo "The kit needs Python 3.11 or newer; \`$(PYTHON)\` is $$("$(PYTHON)" --version 2>&1)." >&2; \
	echo "Install Python 3.11 or newer, or name one: make setup PYTHON=/path/to/python3.12" >&2; \
	exit 1
	$(BIN)/python -m pip install -q --disable-pip-version-check -c constraints.txt -e ".[dev]"
	@touch $@
