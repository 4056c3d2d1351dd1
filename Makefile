# `make evaluate` and `make test` need nothing but Python >= 3.10 and a package index.
PYTHON ?= python3
BIN := .venv/bin

.PHONY: evaluate test test-all nightly lint unit bench clean

.venv/installed: pyproject.toml requirements.txt
	$(PYTHON) -m venv .venv
	$(BIN)/pip install --quiet --disable-pip-version-check --editable '.[dev]'
	touch $@

evaluate: .venv/installed
	$(BIN)/python evaluate.py --bleu --success --richness --dst --input predictions/sample-good.json

lint: .venv/installed
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy

# A file of tests stays in one process: what its tests share is computed once.
PYTEST := $(BIN)/python -m pytest -n 2 --dist loadfile

# The gate before every commit: each figure on one system, each property on some examples.
unit: .venv/installed
	$(PYTEST) -m "not slow and not exhaustive"

test: lint unit

# The same for every system, format and seed, with four times as many examples.
test-all: lint
	$(PYTEST) -m "not slow" --hypothesis-profile exhaustive

# What takes minutes: figures over many seeds. Every night, and before a release.
nightly: .venv/installed
	$(PYTEST) -m slow --hypothesis-profile exhaustive

bench: .venv/installed
	$(BIN)/python -m benchmarks

clean:
	rm -rf .venv build dist .mypy_cache .pytest_cache .ruff_cache .hypothesis
