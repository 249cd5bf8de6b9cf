# Every target installs .venv on first use and is quick when nothing changed.

PYTHON ?= python3
BIN := .venv/bin
PIP := $(BIN)/python -m pip
READY := .venv/.installed
UNFINISHED := .venv/.unfinished
# Each file runs on one core, so that its fixtures are built once; see tests/conftest.py.
TWO_CORES := -n 2 --dist loadfile
# The end-to-end tests, which take longest, come first; by default the files with the fewest tests
# come last, and one core waits for the longest of them.
TESTS := $(TWO_CORES) --no-loadscope-reorder tests --ignore tests/browser

# Many containers set this. Then no process keeps compiled modules, and each one that imports torch
# takes three times as long.
unexport PYTHONDONTWRITEBYTECODE

.DEFAULT_GOAL := help
.PHONY: help setup grade test test-slow test-nightly test-browser hostile fuzz lint mutation \
	docs storyteller clean

help:  ## List the targets
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "make %-12s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

setup: $(READY)  ## Install the kit and its tools into .venv
	@echo "Ready. Next: $(BIN)/autograder start"

grade: $(READY)  ## Grade the example class into build/results.json
	@mkdir -p build
	$(BIN)/autograder grade examples/submitted --json build/results.json

test: lint  ## Check style, types, the engine, and each stage with `verify`
	$(BIN)/python -m pytest $(TESTS) -m "not slow and not nightly"

test-slow: $(READY)  ## Run the slow checks, such as the full proof of every stage
	$(BIN)/python -m pytest $(TESTS) -m "slow and not nightly"

test-nightly: $(READY)  ## Prove in every case what the other tests prove in some
	$(BIN)/python -m pytest $(TESTS) -m nightly
	AUTOGRADER_WORKERS=spawn $(BIN)/python -m pytest $(TWO_CORES) tests/kit/student

test-browser: $(READY)  ## Test JupyterLab and formgrader in Chromium; screenshots in build/browser
	$(BIN)/python -m pytest tests/browser --shots build/browser

hostile: $(READY)  ## Run every attack, alone and in a class; fail if one gains points or costs too much
	$(BIN)/python -m benchmarks.hostile
	$(BIN)/python -m benchmarks.ballast
	$(BIN)/python -m pytest tests/e2e/test_hostile_class.py

fuzz: $(READY)  ## Give every reader of untrusted bytes, and the collector, 5,000 new inputs
	AUTOGRADER_FUZZ_EXAMPLES=5000 $(BIN)/python -m pytest $(TWO_CORES) tests/e2e/test_fuzzing.py
	AUTOGRADER_FUZZ_EXAMPLES=5000 $(BIN)/python -m pytest $(TWO_CORES) tests/e2e/test_collector_fuzzing.py

lint: $(READY)  ## Check style, format, types, the direction of imports and the prose
	$(BIN)/ruff check
	$(BIN)/ruff format --check
	$(BIN)/mypy --num-workers 2
	$(BIN)/lint-imports --no-logo
	$(BIN)/python -m tools.prose --check

mutation: $(READY)  ## Change the solutions in small ways; list the changes that no check catches
	$(BIN)/autograder mutate

docs: $(READY)  ## Build the documentation site into build/site; a broken link is an error
	@echo 'uv pip install -c constraints.txt -r pyproject.toml --extra docs'; $(PIP_SETTINGS); \
	$(BIN)/uv pip install -q --python $(BIN)/python -c constraints.txt -r pyproject.toml --extra docs
	$(BIN)/mkdocs build --strict

storyteller: $(READY)  ## Draw the stories again and train the storyteller: twelve minutes on one core
	$(BIN)/python -m tools.storyteller

clean:  ## Remove everything that make and the tools wrote, .venv too
	rm -rf .venv build dist .hypothesis .import_linter_cache .mypy_cache .pytest_cache .ruff_cache
	find . -name __pycache__ -type d -prune -exec rm -rf {} +

# uv takes a quarter of pip's CPU time, but does not read pip's settings. The settings for indexes
# are passed to uv, which then takes the best version of all indexes, as pip does. Without such
# settings, torch is the CPU build from PyTorch's own index, because GPU builds take gigabytes.
define PIP_SETTINGS
set -a; settings=$$($(PIP) config list | sed 's/\\n/ /g'); \
setting() { echo "$$settings" | sed -n "s/.*[.]$$1='\(.*\)'/\1/p" | xargs; }; \
: "$${UV_FIND_LINKS=$$(setting find-links | tr ' ' ,)}"; \
: "$${UV_INDEX=$$(setting extra-index-url)}" "$${UV_INDEX_STRATEGY=unsafe-best-match}"; \
: "$${UV_DEFAULT_INDEX=$$(setting index-url | cut -d ' ' -f 1)}"; \
test "$$UV_FIND_LINKS$$UV_INDEX$$UV_DEFAULT_INDEX" || : "$${UV_TORCH_BACKEND=cpu}"
endef

# A .venv is built again if its Python is missing or too old, or if its installation was
# interrupted, because it may then hold half of a package. venv writes `activate` last. Any other
# .venv is kept, because torch is large.
$(READY): pyproject.toml constraints.txt
	@new_enough() { "$$1" -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null; }; \
	test -e $(BIN)/activate && test ! -e $(UNFINISHED) && new_enough $(BIN)/python && exit; \
	for python in "$(PYTHON)" python3.13 python3.12 python3.11; do \
		if new_enough "$$python"; then exec "$$python" -m venv --clear .venv; fi; \
	done; \
	echo "The kit needs Python 3.11 or newer; \`$(PYTHON)\` is $$("$(PYTHON)" --version 2>&1)." >&2; \
	echo "Install Python 3.11 or newer, or name one: make setup PYTHON=/path/to/python3.12" >&2; \
	exit 1
	@touch $(UNFINISHED)
	$(PIP) install -q --disable-pip-version-check -c constraints.txt uv
	@echo 'uv pip install -c constraints.txt -e ".[dev]"'; $(PIP_SETTINGS); \
	$(BIN)/uv pip install -q --python $(BIN)/python -c constraints.txt -e ".[dev]" || { \
		echo "uv failed, see above; pip installs instead, which takes longer." >&2; \
		$(PIP) install -q --force-reinstall -c constraints.txt -e ".[dev]"; }
	@rm $(UNFINISHED)
	@touch $@
