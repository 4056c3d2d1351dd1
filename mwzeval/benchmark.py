"""What a benchmark is, and which there are: verbs are written once, for all of them.

A benchmark is a package of `REGISTRY`. Its `__init__` says cheaply how it is called (`NAME`,
`TITLE`), which verbs it has of its own (`VERBS`), and what its files look like (`recognises`); its
module `benchmark` has the `BENCHMARK`, which adds options and scores files.
"""

from __future__ import annotations

from argparse import ArgumentParser, Namespace
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol, cast

from mwzeval.errors import MwzevalError, Problem, UsageError, did_you_mean, shorten

if TYPE_CHECKING:
    from mwzeval.conversation.runs import RunSetting
    from mwzeval.files.downloads import DataRoot
    from mwzeval.metrics.measure import Resampling, ScoredTable
    from mwzeval.report.leaderboard import Entry
    from mwzeval.scores.explanation import Explanation, Words
    from mwzeval.scores.report import Report
    from mwzeval.scores.sheets import Document

REGISTRY = (
    "mwzeval.multiwoz",
    "mwzeval.crosswoz",
    "mwzeval.dstc7",
    "mwzeval.pydial",
)
"""The package of each benchmark; the first is meant where none is named."""


@dataclass(frozen=True, slots=True)
class Shelf:
    """The public files of a benchmark: where they are, and which places each corpus reads.

    `corpora` maps the name of a corpus to patterns of places in the root.
    """

    title: str
    name: str
    root: DataRoot
    corpora: Mapping[str, tuple[str, ...]]


class ScoredFile(Protocol):
    """A file that has been scored, and what can be told of it."""

    @property
    def scored_table(self) -> ScoredTable:
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


class FileScorer(Protocol):
    """What scores files as the arguments of one command say; can be sent to other processes."""

    def score(self, file: str, *, progress: bool = False) -> ScoredFile:
        """Return a file scored. Raises `InputError` with every problem, `DataError`, `UsageError`.

        `progress` shows a line on a terminal's standard error, where that takes long.
        """

    def validate(self, file: str) -> list[Problem]:
        """Return every problem of a file, errors first, instead of raising."""


class Benchmark(Protocol):
    """A benchmark: its options, and how its files are scored, checked and shown.

    What a benchmark that is derived from this one leaves out is refused, as `lacks` says, or there
    is none of it.
    """

    names: Sequence[str]
    """What `--benchmark` may say; the first stands for what a file says."""
    words: Words
    revision: int
    """Raised when the meaning of a score changes; part of signatures."""
    headline: Sequence[str]
    """The scores that figures show when none is named; of those with a dot what is before it."""
    gates: str
    """An example of gates: `inform=85,success=70`."""
    input_help: str
    """An example of a correct input, and the page that describes the input."""
    lacks: Mapping[str, str]
    """What has no meaning here (`live`, `runs`) → a sentence that says why."""

    @property
    def reasons(self) -> Mapping[str, str]:
        """The kinds of reason that explanations may have, each with a sentence: what it means."""

    def add_arguments(self, parser: ArgumentParser, verb: str) -> None:
        """Add the options of a verb that are this benchmark's alone."""

    def scorer(self, arguments: Namespace) -> FileScorer:
        """Return what scores the files of a command. Raises `UsageError`."""

    def compared_scopes(self, arguments: Namespace) -> Collection[str]:
        """Return the scopes beside the whole that `compare` shows even without `--scopes`."""
        return ()

    def compared_scores(self, arguments: Namespace) -> Sequence[str]:
        """Return the names, or their beginnings, of the scores to compare; empty for all."""
        return () if arguments.all else self.headline

    def aliases(self, meta: Mapping[str, Any]) -> Mapping[str, str]:
        """Return short names of scores for gates → their names in a report with this `meta`."""

    def document(self, report: Report, arguments: Namespace) -> Document | None:
        """Return what options of this benchmark show instead of the summary; mostly None."""
        return None

    def live(self, arguments: Namespace) -> RunSetting:
        """Return who talks to whom about what in a live run, as the options of `live` say.

        Raises `UsageError` for unknown names, or where `lacks` says that nobody can be talked to.
        """
        raise UsageError(self.lacks["live"])

    def published(self, entry: Entry | None, arguments: Namespace) -> Document:
        """Return the published results, with a system of one's own among them if there is one.

        Raises `UsageError` when nothing is published that could be compared with it.
        """
        raise UsageError(self.lacks["leaderboard"])

    def shelf(self, data: str | None, *, offline: bool | None) -> Shelf | None:
        """Return where the public files are; None where there are none to be fetched."""
        return None


class Known(NamedTuple):
    """A benchmark as people call it, and what `--benchmark` calls it."""

    name: str
    title: str

    def advice(self, read_as: str) -> str:
        """Return what to say where a file of this benchmark is read as one of another."""
        return (
            f"this looks like a file of {self.title}, and is read as predictions for {read_as} "
            f"— did you mean --benchmark {self.name}?"
        )


class OwnVerb(NamedTuple):
    """A verb that one benchmark has: what it is for, the module that is run, and under which of
    the command line's `GROUPS` it is listed."""

    summary: str
    module: str
    group: str


def known_benchmarks() -> tuple[Known, ...]:
    """Return the benchmarks of the registry, without loading what scores them."""
    return tuple(Known(package.NAME, package.TITLE) for package in _packages())


def default_benchmark() -> str:
    """Return the name of the benchmark that is meant where none is named."""
    return known_benchmarks()[0].name


def own_verbs() -> dict[str, OwnVerb]:
    """Return the verbs that only one benchmark has, by name."""
    return {
        verb: OwnVerb(*about) for package in _packages() for verb, about in package.VERBS.items()
    }


def recognised(raw: Any, *, but: str | None = None) -> Known | None:
    """Return the benchmark that a JSON value, or a line of JSON Lines, is a file of.

    None where nothing says that it is of one, another than `but`. Only the beginning is looked at.
    The header of a file of trajectories names its benchmark.
    """
    from mwzeval.conversation.trajectory import is_header  # `--help` need not wait for it

    said = raw.get("benchmark") if is_header(raw) else None
    for package in _packages():
        if but != package.NAME and (said == package.NAME or package.recognises(raw)):
            return Known(package.NAME, package.TITLE)
    return None


def benchmark_of_files(files: Iterable[str]) -> str | None:
    """Return the benchmark that the first file is of that says so by its header or its shape.

    Only beginnings are read, of a folder that of its first file, which may lie in a folder within.
    What is no file, or cannot be read, is passed over: whoever reads it says so.
    """
    from mwzeval.files.json_files import beginning_value

    for file in files:
        try:
            raw = beginning_value(_first_file(file))
        except (MwzevalError, OSError, ValueError):
            continue
        if known := recognised(raw):
            return known.name
    return None


def _first_file(path: str) -> str:
    """Return a file, or the first of a folder. Raises `OSError`, `ValueError` for anything else."""
    place = Path(path)
    if place.is_dir():
        # A task of a run has a folder for each policy, and this one for each seed.
        inner = (min(place.glob(f"{above}*.json*"), default=None) for above in ("", "*/", "*/*/"))
        place = next((file for file in inner if file), place)
    if not place.is_file():
        raise FileNotFoundError(path)
    return str(place)


def benchmark_named(name: str) -> Benchmark:
    """Return the benchmark that has this name among its `names`. Raises `UsageError`."""
    families = {import_module(package).NAME: package for package in REGISTRY}
    package = families.get(name.partition("-")[0])
    if package is None:
        raise _unknown(name, tuple(families))
    benchmark = cast(Benchmark, import_module(f"{package}.benchmark").BENCHMARK)
    if name not in benchmark.names:
        raise _unknown(name, benchmark.names)
    return benchmark


def _packages() -> Iterator[Any]:
    return map(import_module, REGISTRY)


def _unknown(name: str, known: Sequence[str]) -> UsageError:
    return UsageError(
        f'unknown benchmark "{shorten(name)}"{did_you_mean(name, known)} '
        f"(known: {', '.join(known)})"
    )
