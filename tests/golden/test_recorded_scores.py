"""Scores on embedded data are constant within a scoring revision, for every benchmark."""

from __future__ import annotations

import pytest

from tests.golden.recorded import (
    PACKAGES,
    Difference,
    Record,
    current,
    file_of,
    problem,
)

REGENERATE = "python -m tests.golden.regenerate"


@pytest.mark.parametrize("benchmark", PACKAGES)
def test_recorded_scores_change_only_with_the_scoring_revision(benchmark: str) -> None:
    before, now = Record.read(file_of(benchmark)), current(benchmark)
    difference = Difference.between(before, now)
    shown = "\n".join([*list(difference.lines())[:50], problem(before, now) or ""])
    assert not difference.moved or now.revision > before.revision, shown
    advice = f"{shown}run `{REGENERATE} {benchmark}` and look at the difference"
    assert not difference, advice
    assert now.revision == before.revision, advice
