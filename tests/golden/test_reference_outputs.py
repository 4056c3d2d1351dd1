"""What commands print and write is what was recorded, byte for byte."""

from __future__ import annotations

import pytest

from tests.golden.reference_outputs import file_of, groups, recorded
from tests.places import read_json


@pytest.mark.parametrize("group", groups())
def test_outputs_are_those_on_record(group: str) -> None:
    reference = read_json(file_of(group))
    found = recorded(group)
    assert list(found) == list(reference)
    for command, outputs in found.items():
        assert outputs == reference[command], command
