"""A small sample of every benchmark, from `tests/NAME/sample_files.py`.

Each such module has a function `write(folder)`, which quickly makes the `Sample` of its benchmark
from embedded data. Tests that cover all benchmarks use these samples.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from importlib import import_module, invalidate_caches
from pathlib import Path

from mwzeval import benchmark
from mwzeval.benchmark import BUILT_IN
from tests.places import ROOT

NAMES = tuple(BUILT_IN)
TOY = Path(__file__).parent / "toy"
"""The metadata that `pip` writes for examples/benchmark_plugin, which the tests install."""
TEMPLATE = ROOT / "examples" / "benchmark_plugin"
LIVE_NAMES = ("multiwoz", "crosswoz", "pydial")


@contextmanager
def installed(*folders: Path) -> Iterator[None]:
    """Add folders with modules and `.dist-info` of plug-ins to the import path."""
    before = list(sys.path)
    sys.path[:0] = map(str, (*folders, TEMPLATE))
    _forget_plugins()
    try:
        yield
    finally:
        sys.path[:] = before
        _forget_plugins()


def _forget_plugins() -> None:
    invalidate_caches()
    for function in (benchmark.plugins, benchmark._loaded):
        function.cache_clear()


@dataclass(frozen=True, slots=True)
class Sample:
    """Files of two systems on the same units."""

    better: str
    worse: str
    invalid: str
    """A file that cannot be scored."""
    leaderboard: tuple[str, ...] | None = None
    """Options of `leaderboard` for the better file; None if published results are for other
    data."""


@dataclass(frozen=True, slots=True)
class LiveSample:
    """A live run on embedded data: `LIVE` of `tests/NAME/sample_files`."""

    options: str
    """Goals and other options of `mwzeval live` for a few quick dialogues."""
    agent: str
    """The name of a built-in agent."""
    base: str
    """Python code of a custom agent class `Base` with a method `answer`."""


def live_sample(name: str) -> LiveSample:
    """Return the live sample of a benchmark."""
    sample: LiveSample = import_module(f"tests.{name}.sample_files").LIVE
    return sample


def write_sample(name: str, folder: Path) -> Sample:
    """Write the sample of a benchmark into a folder."""
    sample: Sample = import_module(f"tests.{name}.sample_files").write(folder)
    return sample
