# `make evaluate` and `make test` need nothing but Python >= 3.10 and a package index.
PYTHON ?= python3
BIN := .venv/bin

.PHONY: evaluate test nightly lint unit bench clean

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

unit: .venv/installed
	$(BIN)/python -m pytest -n 2 -m "not slow"

test: lint unit

# What takes minutes: figures over many seeds. Every night, and before a release.
nightly: .venv/installed
	$(BIN)/python -m pytest -n 2 -m slow

bench: .venv/installed
	$(BIN)/python -m benchmarks

clean:
	rm -rf .venv build dist .mypy_cache .pytest_cache .ruff_cache .hypothesis
