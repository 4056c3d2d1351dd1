# `make evaluate` and `make test` need nothing but Python >= 3.10 and a package index.
PYTHON ?= python3
BIN := .venv/bin
INSTALL := $(BIN)/pip install --quiet --disable-pip-version-check --editable

.PHONY: evaluate plugins test test-all nightly lint unit bench docs release clean

# What scoring needs: no PyTorch, nothing that only tests or single extras use.
.venv/installed: pyproject.toml
	$(PYTHON) -m venv .venv
	$(INSTALL) .
	touch $@

# What `make test` needs: no PyTorch and no frameworks either.
.venv/developing: pyproject.toml .venv/installed
	$(INSTALL) '.[dev]'
	touch $@

.venv/everything: pyproject.toml .venv/developing
	$(INSTALL) '.[dev,dev-all]'
	touch $@

evaluate: .venv/installed
	$(BIN)/python evaluate.py --bleu --success --richness --dst --input predictions/sample-good.json

# Libraries that are not installed have no types.
PARTIAL := --disable-error-code import-not-found --allow-subclassing-any --allow-untyped-decorators \
	--no-warn-return-any --no-warn-unused-ignores

# Style, imports between layers, names that nothing uses, and types of the package.
lint: .venv/developing
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	mkdir -p build
	$(BIN)/lint-imports --no-cache >build/imports.txt || { cat build/imports.txt; exit 1; }
	! $(BIN)/vulture | grep -E "unused (function|class|method|property|import)"
	$(BIN)/python -m tools.messages --check
	$(BIN)/mypy mwzeval $(PARTIAL)

PYTEST := $(BIN)/python -m pytest -n 2 --dist worksteal

# Before every commit: what runs in this process, without data, network, browser or frameworks.
unit: .venv/developing
	$(PYTEST) -m "not slow and not integration"

test: lint unit

# In addition everything that is slower to set up, with six times as many examples.
test-all: .venv/everything lint plugins
	$(BIN)/mypy
	$(BIN)/mkdocs build --strict
	$(PYTEST) -m "not slow" --hypothesis-profile thorough

# Plug-ins are installed as by users, but where only their own tests find them.
plugins: .venv/developing
	MYPYPATH=plugins/mwzeval-sgd $(BIN)/mypy plugins/mwzeval-sgd/mwzeval_sgd
	$(BIN)/pip install --quiet --no-deps --upgrade --target build/plugins ./plugins/mwzeval-sgd
	PYTHONPATH=build/plugins $(BIN)/python -m pytest plugins -p no:cacheprovider

# What takes minutes: figures over many seeds. Every night, and before a release.
nightly: .venv/everything
	$(PYTEST) -m slow --hypothesis-profile thorough

bench: .venv/everything
	$(BIN)/python -m benchmarks

# The site, in build/site; `make docs` fails on any link that leads nowhere.
docs: .venv/everything
	$(BIN)/mkdocs build --strict

# What would be published, in dist/, checked as a user would install it.
release: .venv/everything
	$(BIN)/python -m tools.release

clean:
	rm -rf .venv build dist .mypy_cache .pytest_cache .ruff_cache .hypothesis .import_linter_cache
