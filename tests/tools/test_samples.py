"""The embedded samples are as their generators write them, and sound as corpora."""

from __future__ import annotations

import pytest

from tools.samples.__main__ import SAMPLES, differences


@pytest.mark.integration
@pytest.mark.parametrize("name", SAMPLES)
def test_generating_again_gives_the_committed_bytes(name: str) -> None:
    assert differences(name) == []
