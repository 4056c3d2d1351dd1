"""The memory of a long training loop is bounded; the tests count entries, not bytes."""

from __future__ import annotations

import gc
import inspect
import sys
from typing import Any

import pytest

from mwzeval.multiwoz.corpus import corpus_root, load_fold
from mwzeval.multiwoz.database import REMEMBERED, Database
from mwzeval.multiwoz.evaluator import Evaluator
from mwzeval.version import library_version
from tests.places import sample_predictions

LARGEST = 2**16


def entries(*roots: object) -> int:
    """Return the number of items in all reachable containers, except through modules."""
    seen: set[int] = set()
    waiting = list(roots)
    count = 0
    while waiting:
        found = waiting.pop()
        if id(found) in seen or inspect.ismodule(found) or inspect.isclass(found):
            continue
        seen.add(id(found))
        if inspect.isroutine(found):
            continue
        if isinstance(found, dict | list | set | tuple | frozenset):
            count += len(found)
        waiting += gc.get_referents(found)
    return count


def other_predictions(step: int) -> dict[str, Any]:
    """Return predictions with responses and states that differ between all steps."""
    return {
        name: [
            {
                "response": f"{turn['response']} {name}-{step}-{index} .",
                "state": {"hotel": {"name": f"{name} {step} {index}"}},
                "active_domains": ["hotel"],
            }
            for index, turn in enumerate(turns)
        ]
        for name, turns in list(sample_predictions("good").items())[:3]
    }


def test_text_caches_are_bounded() -> None:
    Evaluator(True, True, True, True, corpus="sample").evaluate(other_predictions(0))
    most = {
        f"{name}.{key}": value.cache_parameters()["maxsize"]
        for name, module in list(sys.modules.items())
        if name.startswith(("mwzeval.multiwoz", "mwzeval.metrics"))
        for key, value in vars(module).items()
        if hasattr(value, "cache_parameters")
        and inspect.signature(value).parameters
        and value is not library_version
    }
    assert "mwzeval.multiwoz.scoring.bleu.tokenize" in most
    unbounded = [name for name, size in most.items() if size is None or size > LARGEST]
    assert not unbounded


def test_evaluator_memory_grows_only_by_database_answers() -> None:
    evaluator = Evaluator(True, True, True, corpus="sample")
    steps = 15
    evaluator.evaluate(other_predictions(0))
    before = entries(evaluator)
    for step in range(1, steps):
        predictions = other_predictions(step)
        evaluator.evaluate(predictions)
    turns = sum(map(len, predictions.values()))
    # A cached answer has several entries: itself, its column, and its nested key.
    assert entries(evaluator) - before <= 8 * turns * steps


@pytest.mark.integration
def test_the_database_cache_of_answers_is_bounded() -> None:
    tables = load_fold("sample", "test", corpus_root("sample", None, offline=None)).tables
    database = Database(tables, "2021")
    asked = REMEMBERED + 100
    for number in range(asked):
        database.find("hotel", {"name": f"§{number}"})
    assert entries(database) < 8 * REMEMBERED
    database.find("hotel", {"name": "§0"})
