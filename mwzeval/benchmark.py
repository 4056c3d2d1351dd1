"""What the verbs ask of a benchmark, so that each verb is written once for all of them.

MultiWOZ, which has options of its own for every verb, is scored by `mwzeval.evaluator`; every other
benchmark is a `Benchmark`, found by the name that `--benchmark` gives.
"""

from __future__ import annotations

from argparse import ArgumentParser, Namespace
from collections.abc import Collection, Iterator, Mapping, Sequence
from importlib import import_module
from typing import Protocol, cast

from mwzeval.errors import Problem, UsageError, did_you_mean, shorten
from mwzeval.explanation import Explanation
from mwzeval.measure import Resampling, Scored
from mwzeval.report.model import Report
from mwzeval.report.page_model import Words
from mwzeval.report.sheet import Document

FAMILIES = {
    "dstc7": "mwzeval.dstc7.benchmark",
    "crosswoz": "mwzeval.crosswoz.benchmark",
    "pydial": "mwzeval.dialogue_management.benchmark",
}
"""What a benchmark's name begins with → the module with its `BENCHMARK`."""


class ScoredFile(Protocol):
    """A file that has been scored, and what can be told of it."""

    @property
    def scored(self) -> Scored:
        """The rows and measures, for comparisons."""

    @property
    def warnings(self) -> Sequence[Problem]:
        """What was noticed and did not prevent scoring."""

    def report(self, resampling: Resampling | None = None) -> Report:
        """Return the report, with intervals when it is said how to find them."""

    def units(self) -> Sequence[str]:
        """Return the names of what was scored, in order."""

    def explain(self, unit: str) -> Explanation:
        """Return what became of one unit. Raises `UsageError` for an unknown one."""

    def explain_all(self) -> Iterator[Explanation]:
        """Yield what became of every unit."""


class Benchmark(Protocol):
    """A benchmark: its options, and how its files are scored and checked."""

    names: Sequence[str]
    """What `--benchmark` may say; the first stands for what the file's name says."""
    words: Words
    reasons: Collection[str]
    """The kinds of reason that explanations may have."""
    aliases: Mapping[str, str]
    """Short names of scores for gates → their names in reports."""

    def add_arguments(self, parser: ArgumentParser, verb: str) -> None:
        """Add the options of a verb that are this benchmark's alone."""

    def score(self, name: str, file: str, arguments: Namespace) -> ScoredFile:
        """Return a file scored. Raises `InputError` with every problem."""

    def validate(self, name: str, file: str, arguments: Namespace) -> list[Problem]:
        """Return every problem of a file, errors first, instead of raising."""

    def published(self, name: str, report: Report | None, system: str) -> Document:
        """Return the published results, with a system of one's own among them if there is one.

        Raises `UsageError` when nothing is published.
        """


def benchmark_named(name: str) -> Benchmark:
    """Return the benchmark of a name such as `dstc7-ubuntu-1`. Raises `UsageError`."""
    module = FAMILIES.get(name.partition("-")[0])
    if module is None:
        families = ("multiwoz", *FAMILIES)
        raise UsageError(
            f'unknown benchmark "{shorten(name)}"{did_you_mean(name, families)} '
            f"(known: {', '.join(families)})"
        )
    benchmark = cast(Benchmark, import_module(module).BENCHMARK)
    if name not in benchmark.names:
        raise UsageError(
            f'unknown benchmark "{shorten(name)}"{did_you_mean(name, benchmark.names)} '
            f"(known: {', '.join(benchmark.names)})"
        )
    return benchmark
