"""A small sample of every benchmark in the registry: `tests/NAME/sample_files.py` has to have it.

Each such module has `write(folder)`, which returns the `Sample` of its benchmark, made from
embedded data within a moment. What is tested for all benchmarks is tested with these.
"""

from __future__ import annotations

from dataclasses import dataclass
from importlib import import_module
from pathlib import Path

from mwzeval.benchmark import known_benchmarks

NAMES = tuple(known.name for known in known_benchmarks())


@dataclass(frozen=True, slots=True)
class Sample:
    """Files of two systems on the same units, the first the better one."""

    better: str
    worse: str
    invalid: str
    """A file that cannot be scored."""
    corpus: tuple[str, ...] = ()
    """Options of a verb that is given no file, to be about the sample."""
    board: tuple[str, ...] | None = None
    """Options with which the better file stands among published results; None where its data are
    others."""
    shards: tuple[str, ...] = ()
    """Options that have to be said of shards."""
    worded: str = ""
    """A file whose claims can be read; empty where there are none."""


def write_sample(name: str, folder: Path) -> Sample:
    """Return the sample of a benchmark, its files in the folder."""
    sample: Sample = import_module(f"tests.{name}.sample_files").write(folder)
    return sample
