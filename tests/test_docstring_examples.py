"""The examples in docstrings run and print what they say."""

from __future__ import annotations

import doctest
from importlib import import_module

import pytest

from tests.places import ROOT

WITH_EXAMPLES = sorted(
    ".".join(path.relative_to(ROOT).with_suffix("").parts)
    for path in (ROOT / "mwzeval").rglob("*.py")
    if ">>> " in path.read_text("utf-8")
)


@pytest.mark.parametrize("name", WITH_EXAMPLES)
def test_examples_of_a_module_are_right(name: str) -> None:
    result = doctest.testmod(import_module(name))
    assert result.attempted > 0
    assert result.failed == 0


def test_what_people_import_has_an_example() -> None:
    from mwzeval.metrics.measure import Measure
    from mwzeval.multiwoz.evaluator import Evaluator
    from mwzeval.scores.findings import Findings
    from mwzeval.scores.report import Report
    from mwzeval.scores.score import Score
    from mwzeval.scores.table import Table

    for each in (Evaluator, Findings, Measure, Report, Score, Table):
        assert ">>> " in (each.__doc__ or ""), each
