"""A small sample of every benchmark: `tests/NAME/sample_files.py` has to have it.

Each such module has `write(folder)`, which returns the `Sample` of its benchmark, made from
embedded data within a moment. What is tested for all benchmarks is tested with these.
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
"""What `pip` writes about the plug-in of examples/benchmark_plugin, which the tests install."""
TEMPLATE = ROOT / "examples" / "benchmark_plugin"
LIVE_NAMES = ("multiwoz", "crosswoz", "pydial")


@contextmanager
def installed(*folders: Path) -> Iterator[None]:
    """Let Python find what is installed in folders: modules, and `.dist-info` of plug-ins."""
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
    """Files of two systems on the same units, the first the better one."""

    better: str
    worse: str
    invalid: str
    """A file that cannot be scored."""
    leaderboard: tuple[str, ...] | None = None
    """Options with which the better file stands among published results; None where its data are
    others."""


@dataclass(frozen=True, slots=True)
class LiveSample:
    """A live run on embedded data: `LIVE` of `tests/NAME/sample_files`."""

    options: str
    """Goals and whatever else `mwzeval live` needs: some dialogues, held within a moment."""
    agent: str
    """One that comes along."""
    base: str
    """Python: an agent `Base` of one's own, that has `answer`."""


def live_sample(name: str) -> LiveSample:
    """Return the live sample of a benchmark."""
    sample: LiveSample = import_module(f"tests.{name}.sample_files").LIVE
    return sample


def write_sample(name: str, folder: Path) -> Sample:
    """Return the sample of a benchmark, its files in the folder."""
    sample: Sample = import_module(f"tests.{name}.sample_files").write(folder)
    return sample
