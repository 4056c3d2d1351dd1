"""Every test run has a cache of its own, and no network."""

from __future__ import annotations

import os
from collections.abc import Iterator

import pytest
from hypothesis import HealthCheck, settings

from mwzeval.evaluator import Evaluator

settings.register_profile(
    "suite",
    deadline=None,
    derandomize=True,
    max_examples=100,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.filter_too_much],
)
settings.load_profile("suite")


@pytest.fixture(scope="session", autouse=True)
def clean_environment(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    folder = tmp_path_factory.getbasetemp()
    if "PYTEST_XDIST_WORKER" in os.environ:
        # Derived data are worked out once for all workers.
        folder = folder.parent
    with pytest.MonkeyPatch.context() as patch:
        patch.delenv("MWZEVAL_DATA", raising=False)
        patch.delenv("MWZEVAL_MIRROR", raising=False)
        patch.setenv("MWZEVAL_CACHE", str(folder / "cache"))
        patch.setenv("MWZEVAL_OFFLINE", "1")
        yield


@pytest.fixture(scope="session")
def evaluator() -> Evaluator:
    """All metrics on the sample corpus; shared by all tests, which is part of what they test."""
    return Evaluator(True, True, True, True, corpus="sample")
