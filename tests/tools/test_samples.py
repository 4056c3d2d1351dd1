"""The embedded samples equal the output of their generators and are consistent corpora."""

from __future__ import annotations

import pytest

from tools.samples.__main__ import SAMPLES, differences


@pytest.mark.integration
@pytest.mark.parametrize("name", SAMPLES)
def test_regenerated_samples_equal_the_committed_files(name: str) -> None:
    assert differences(name) == []
