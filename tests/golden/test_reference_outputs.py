"""Output and files of commands equal the recorded ones."""

from __future__ import annotations

import pytest

from tests.golden.reference_outputs import OTHERS, file_of, groups, recorded
from tests.places import read_json

SLOW = ("live", "crosswoz", "requests", "vector")
"""Slow groups: they simulate dialogues, run a server, or compile with numba for a minute."""


@pytest.mark.parametrize(
    "group",
    [
        pytest.param(group, marks=pytest.mark.integration if group in SLOW else ())
        for group in (*groups(), *OTHERS)
    ],
)
def test_outputs_match_the_recorded_reference_outputs(group: str) -> None:
    reference = read_json(file_of(group))
    found = recorded(group)
    assert list(found) == list(reference)
    assert [name for name in found if found[name] != reference[name]] == []
