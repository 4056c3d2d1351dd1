# `make evaluate` and `make test` need nothing but Python >= 3.10 and a package index.
PYTHON ?= python3
BIN := .venv/bin
INSTALL := $(BIN)/pip install --quiet --disable-pip-version-check --editable

.PHONY: evaluate test test-all nightly lint unit bench docs release clean

# What scoring needs: no PyTorch, nothing that only tests or single extras use.
.venv/installed: pyproject.toml
	$(PYTHON) -m venv .venv
	$(INSTALL) .
	touch $@

.venv/developing: pyproject.toml .venv/installed
	$(INSTALL) '.[dev]'
	touch $@

evaluate: .venv/installed
	$(BIN)/python evaluate.py --bleu --success --richness --dst --input predictions/sample-good.json

lint: .venv/developing
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy

# A file of tests stays in one process: what its tests share is computed once.
PYTEST := $(BIN)/python -m pytest -n 2 --dist loadfile

# The gate before every commit: each figure on one system, each property on some examples.
unit: .venv/developing
	$(PYTEST) -m "not slow and not exhaustive"

test: lint unit

# The same for every system, format and seed, with four times as many examples.
test-all: lint
	$(PYTEST) -m "not slow" --hypothesis-profile exhaustive

# What takes minutes: figures over many seeds. Every night, and before a release.
nightly: .venv/developing
	$(PYTEST) -m slow --hypothesis-profile exhaustive

bench: .venv/developing
	$(BIN)/python -m benchmarks

# The site, in build/site; `make docs` fails on any link that leads nowhere.
docs: .venv/developing
	$(BIN)/mkdocs build --strict

# What would be published, in dist/, checked as a user would install it.
release: .venv/developing
	$(BIN)/python -m tools.release

clean:
	rm -rf .venv build dist .mypy_cache .pytest_cache .ruff_cache .hypothesis
