# Every target works from a clean checkout: the first one used builds .venv.
SHELL  := /bin/bash
PYTHON ?= python3
VENV   ?= .venv
BIN    := $(VENV)/bin
STAMP  := $(VENV)/.gramsmith-installed
JOBS   ?= 2

DEMO_DATA   ?= src/gramsmith/data/breast_cancer.csv
DEMO_TARGET ?= diagnosis
DEMO_DIR    ?= demo-run

HALF ?=

PAPERS ?= all -o reproduction

.PHONY: help install demo test test-slow lint format bench bench-arena bench-honesty bench-learning bench-peers bench-smoke papers fuzz threads versions coverage docs check-docs build release clean mutants

help:  ## list the targets
	@grep -E '^[a-z-]+:.*##' $(MAKEFILE_LIST) | sed -E 's/:[^#]*## */\t/' | expand -t 18

install: $(STAMP)  ## create .venv and install gramsmith with every extra into it

$(BIN)/python:
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || \
	  { echo "gramsmith needs Python 3.11 or newer, got $$($(PYTHON) --version 2>&1)." \
	         "Name another one: make PYTHON=python3.12 ..." >&2; exit 1; }
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --upgrade 'pip>=25.1'

$(STAMP): pyproject.toml | $(BIN)/python
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --editable '.[all]' --group dev
	touch $@

# The demo asks for the extra `cli` only; where everything is installed it uses that.
$(BIN)/gramsmith: | $(BIN)/python
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --editable '.[cli]'

demo: $(BIN)/gramsmith  ## rank kernels on the bundled data set and write a report
	$(BIN)/gramsmith rank $(DEMO_DATA) --target $(DEMO_TARGET) -o $(DEMO_DIR) --force

test: $(STAMP)  ## the default test suite: laws, oracles, doctests of src, docs and README
	$(BIN)/python -m pytest -q -n $(JOBS) --dist worksteal

test-slow: $(STAMP)  ## the statistical and long-running tests
	$(BIN)/python -m pytest -q -n $(JOBS) --dist worksteal -m slow --timeout 1200

lint: $(STAMP)  ## ruff check, ruff format --check, mypy --strict
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy

format: $(STAMP)  ## apply ruff's fixes and formatting
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

bench: $(STAMP)  ## speed and memory, printed as ratios to the alternatives
	-$(BIN)/python -m pip install --quiet --disable-pip-version-check --group bench
	$(BIN)/python -m benchmarks

bench-arena: $(STAMP)  ## KernelSelector against trees, boosting, grid search; HALF=trying or reporting for one half
	-$(BIN)/python -m pip install --quiet --disable-pip-version-check --group bench
	$(BIN)/python -m benchmarks.arena $(if $(HALF),--half $(HALF)) $(ARENA)

bench-honesty: $(STAMP)  ## estimates for new data against fresh data, claims on noise
	$(BIN)/python -m benchmarks.honesty $(HONESTY)

bench-learning: $(STAMP)  ## test errors of learned kernels; HALF=reporting for the other half
	-$(BIN)/python -m pip install --quiet --disable-pip-version-check --group bench
	$(BIN)/python -m benchmarks.learned $(if $(HALF),--half $(HALF)) $(LEARNED)

bench-peers: $(STAMP)  ## the same work by other packages, each in an environment of its own; PEERS="kernlab xrfm" for some
	$(BIN)/python -m benchmarks.peers $(PEERS)

bench-smoke: $(STAMP)  ## every benchmark for half a minute: none may end with an error
	$(BIN)/python -m benchmarks --smoke 30

fuzz: $(STAMP)  ## bad files, tables, commands and arguments; FUZZ="calls --seconds 3600" for longer
	cd tests && $(abspath $(BIN))/python -m tools.fuzz $(FUZZ)

papers: $(STAMP)  ## re-run the papers; PAPERS="tan --quick" names papers and options
	$(BIN)/python -m papers $(PAPERS)

docs: $(STAMP)  ## build the documentation; a warning is an error
	$(BIN)/python -m sphinx -W --keep-going -b html docs docs/_build/html
	@echo "Open docs/_build/html/index.html in a browser."

check-docs: docs  ## look at the built documentation in a browser
	GRAMSMITH_SITE=docs/_build/html $(BIN)/python -m pytest -q tests/test_site.py

# like the plugin of `threads`, it stands beside .venv
coverage: $(STAMP)  ## the branches of the code that the default tests take, per folder
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --upgrade \
	  --target build/coverage --group coverage
	COVERAGE_FILE=build/coverage.data PYTHONPATH=build/coverage $(BIN)/python -m pytest -q -n $(JOBS) \
	  --dist worksteal --cov=gramsmith --cov-branch --cov-report=json:build/coverage.json $(TESTS)
	cd tests && $(abspath $(BIN))/python -m tools.coverage_by_folder ../build/coverage.json

mutants: $(STAMP)  ## whether tests notice small changes; MUTANTS="solvers --count 50" for fewer
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --group mutants
	cd tests && $(abspath $(BIN))/python -m tools.mutants $(MUTANTS)

# the plugin is not for the other tests: it stands beside .venv, not in it
threads: $(STAMP)  ## tests by four threads at once each
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --upgrade --no-deps \
	  --target build/threads --group threads
	PYTHONPATH=build/threads $(BIN)/python -m pytest -q --parallel-threads 4 \
	  tests/measures tests/solvers tests/test_moments.py tests/test_targets.py tests/oracle/test_golden.py

versions:  ## lowest dependencies, every Python at hand, each extra alone; VERSIONS="extras" for one
	.ci/versions $(VERSIONS)

release: $(STAMP)  ## build twice, compare, install the wheel in an empty environment and use it
	.ci/release $(BIN)/python

build: $(STAMP)  ## build the wheel and the source distribution into dist/
	$(BIN)/python -m build

clean:  ## remove everything that was built, the virtual environment included
	rm -rf $(VENV) build dist $(DEMO_DIR) reproduction docs/_build docs/api docs/gallery
	rm -rf .mypy_cache .ruff_cache .pytest_cache .hypothesis
	find src tests benchmarks papers examples docs -name __pycache__ -type d -exec rm -rf {} +
