"""The interface of benchmarks, and the search for installed benchmarks.

A benchmark is a class derived from `Benchmark`, named by an entry point of the group
`mwzeval.benchmarks`. A package outside mwzeval therefore adds a benchmark when it is installed:

    [project.entry-points."mwzeval.benchmarks"]
    toy = "mwzeval_toy:Toy"

All commands, formats, intervals and comparisons then work with `--benchmark toy`, and with files
that the new benchmark recognizes. `docs/add_benchmark.md` has a complete example.
"""

from __future__ import annotations

import argparse
from argparse import ArgumentParser, Namespace
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import cache
from importlib import import_module
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol

from mwzeval.errors import MwzevalError, Problem, UsageError, shorten, unknown
from mwzeval.libraries import no_garbage_collection
from mwzeval.scores.score import Words

if TYPE_CHECKING:
    from mwzeval.conversation.pool import RunSetting
    from mwzeval.files.downloads import DataRoot
    from mwzeval.metrics.measure import Resampling, ScoredTable
    from mwzeval.scores.explanation import Explanation
    from mwzeval.scores.findings import Findings
    from mwzeval.scores.report import Report
    from mwzeval.scores.sheets import Document

API = 1
"""The version of this interface; a new version requires changes to plug-ins."""

GROUP = "mwzeval.benchmarks"
BUILT_IN = {
    "multiwoz": "mwzeval.multiwoz.plugin:MultiWoz",
    "crosswoz": "mwzeval.crosswoz.plugin:CrossWoz",
    "dstc7": "mwzeval.dstc7.plugin:SentenceSelection",
    "pydial": "mwzeval.pydial.plugin:PyDial",
}
"""The entry points of mwzeval's own benchmarks, as in pyproject.toml; the first is the default
benchmark.

The entry points are repeated here because a search for them takes half as long as `--help`, and
because a checkout that is not installed has no entry points.
"""


class Benchmark:
    """A benchmark: its name, its options, and a scorer of its files.

    The class is imported whenever benchmarks are listed. Methods of a benchmark should therefore
    import slow modules when they are called. Only `api`, `name`, `title`, `recognises` and `scorer`
    must be implemented.
    """

    api: int
    """The version of the interface that the class implements: `api = 1`."""
    name: str
    """The name of the entry point, which `--benchmark` accepts."""
    title: str
    """The name of the benchmark in text."""
    input_help: str = ""
    """An example of a correct input, and the page of the documentation that describes the input."""
    words: Words = Words()
    """The benchmark's nouns for a unit, several units and a part of a unit: `Words("example",
    "examples", "part")`."""
    headline: Sequence[str] = ()
    """The main scores, which figures and `compare` show by default.

    The name of a main score (`bleu`) also stands for all scores whose names continue after a dot
    (`bleu.mwz22`).
    """
    gates: str = ""
    """An example of gates: `inform=85,success=70`."""
    no_runs: str = ""
    """The reason why `compare` does not accept several runs of a system; empty if runs are
    accepted."""
    verbs: Mapping[str, OwnVerb] = MappingProxyType({})
    """The commands that only this benchmark has, by name."""
    examples: Path | None = None
    """A folder with example predictions, which `mwzeval data examples` copies."""

    @property
    def names(self) -> Sequence[str]:
        """The accepted values of `--benchmark`: the name, and names of parts (`toy-easy`)."""
        return (self.name,)

    def recognises(self, raw: Any) -> bool:
        """Return whether a JSON value, or a line of JSON Lines, can be input of this benchmark."""
        return False

    def add_arguments(self, parser: ArgumentParser, verb: str) -> None:
        """Add the options of a command that only this benchmark has."""

    def scorer(self, arguments: Namespace) -> FileScorer:
        """Return the scorer for the files of a command. Raises `UsageError`."""
        raise NotImplementedError

    def live(self, arguments: Namespace) -> RunSetting:
        """Return the users, agents and judge of the dialogues of `live` and `play`.

        Raises `UsageError` if the benchmark has no live dialogues.
        """
        raise UsageError(f"`{arguments.verb}` is not available for {self.title}")

    def leaderboard(self, entry: Report | None, arguments: Namespace) -> Document:
        """Return the published results, with the scores of the user's system if given.

        Raises `UsageError` if there are no published results, or if no published result is
        comparable with the system's scores.
        """
        raise UsageError(f"`leaderboard` is not available for {self.title}")

    def shelf(self, data: str | None) -> DataRoot | None:
        """Return the public files, which `data` and `doctor` list; None if there are none."""
        return None


class FileScorer(Protocol):
    """Scores files according to the options of a command. Scorers can be pickled."""

    @property
    def compared(self) -> tuple[Collection[str], Sequence[str] | None]:
        """The scopes and the scores that `compare` shows by default.

        Without scopes, only scores of the whole input are shown. An empty list of scores means all
        scores; None means the main scores of the benchmark.
        """
        return (), None

    @property
    def reasons(self) -> Mapping[str, str]:
        """The failure reasons in explanations: for each code, a sentence about the reason."""
        return {}

    def document(self, report: Report) -> Document | None:
        """Return a document to print instead of the summary of a report; None for the summary."""
        return None

    def read(self, file: str, findings: Findings) -> ScoredFile:
        """Return the scored file, and note its problems. `score` and `validate` call this."""
        if type(self).read_shards is FileScorer.read_shards:
            reason = "a FileScorer implements `read`, `read_shards`, or `score` and `validate`"
            raise NotImplementedError(reason)
        return self.read_shards([file], findings)

    def score(self, file: str, *, progress: bool = False) -> ScoredFile:
        """Return a scored file. Raises `InputError` with all problems, `DataError`, `UsageError`.

        `progress` shows a progress bar on a terminal's standard error if scoring takes long.
        """
        from mwzeval.scores.findings import Findings

        findings = Findings(file)
        with no_garbage_collection():
            scored = self.read(file, findings)
        findings.check()
        return scored

    def read_shards(self, files: Sequence[str], findings: Findings) -> ScoredFile:
        """Return the scored input that is divided among files, and note its problems.

        `score_shards` calls this method; `read` also calls this method unless the class implements
        `read`.
        """
        raise UsageError("this benchmark reads no shards: put all predictions into one file")

    def score_shards(
        self,
        files: Sequence[str],
        *,
        name: str,
        client: Any = None,
        skip_bad: bool = False,
        progress: bool = False,
    ) -> Report:
        """Return the report of an input that is divided among files. Raises the errors of `score`.

        `name` is the name of the whole input in messages about problems. A Dask `client` scores the
        files on its cluster. With `skip_bad`, invalid files are omitted, and listed in the report's
        `meta`.
        """
        from mwzeval.scores.findings import IN_TWO_FILES, Findings

        if client is not None:
            raise UsageError("--dask is not available for this benchmark: leave it out")
        skipped: dict[str, list[Problem]] = {}
        while True:
            left, findings = [file for file in files if file not in skipped], Findings(name)
            with no_garbage_collection(), findings.collecting():
                scored = self.read_shards(left, findings)
            if not findings.errors:
                return scored.report().with_skipped(skipped, files)
            # An item that is in two files may be invalid in only one of them.
            own = [problem for problem in findings.errors if problem.kind != IN_TWO_FILES]
            bad = {problem.file for problem in own}
            if not (skip_bad and own and bad < {*left}):  # all files, or the whole input
                findings.extend(problem for problems in skipped.values() for problem in problems)
                findings.check()
            for problem in own:
                skipped.setdefault(str(problem.file), []).append(problem)

    def validate(self, file: str) -> list[Problem]:
        """Return every problem of a file, errors first."""
        from mwzeval.scores.findings import Findings

        findings = Findings(file)
        with findings.collecting():
            self.read(file, findings)
        return findings.problems


class ScoredFile(Protocol):
    """A scored file: its rows and measures, and an explanation of each unit."""

    @property
    def scored_table(self) -> ScoredTable:
        """The rows and the measures."""

    @property
    def warnings(self) -> Sequence[Problem]:
        """The problems of the file that did not prevent scoring."""

    def report(self, resampling: Resampling | None = None) -> Report:
        """Return the report, with intervals if `resampling` is given.

        The `meta` of the report has `corpus`, `fold`, `unit` and `coverage` (`{units: {"scored": n,
        "of": n}}`).
        """

    def units(self) -> Sequence[str]:
        """Return the names of the units that can be explained, in order."""
        return self.scored_table.trial_rows.units

    def explain(self, unit: str) -> Explanation:
        """Return the explanation of a unit. Raises `UsageError` for an unknown unit."""

    def explain_all(self) -> Iterator[Explanation]:
        """Yield the explanation of every unit."""
        return map(self.explain, self.units())


class OwnVerb(NamedTuple):
    """A command of one benchmark: its summary, its module, and its group in `mwzeval --help`.

    The module has the functions `add_arguments(parser)` and `run(arguments)`, and its docstring is
    the help. `module:Name` is a class with these functions, for modules with several commands.
    """

    summary: str
    module: str
    group: str


class Plugin(NamedTuple):
    """A benchmark of another distribution; `problem` is the reason why it is unusable, or ""."""

    name: str
    value: str
    distribution: str
    version: str
    problem: str


HOST = Path(__file__).parent

DEFAULT = next(iter(BUILT_IN))
"""The benchmark to use if none is named or recognized."""


@cache
def _loaded(value: str) -> Benchmark:
    module, _, name = value.partition(":")
    benchmark: Benchmark = getattr(import_module(module), name)()
    return benchmark


@cache
def plugins() -> tuple[Plugin, ...]:
    """Return the benchmarks of other distributions: usable ones by name, then unusable ones.

    A warning is printed for each unusable benchmark.
    """
    # A search of 300 distributions takes 10 ms, and this import 18 ms: too long for `--help`.
    from importlib.metadata import entry_points

    from mwzeval.output import notify

    owners = dict.fromkeys(BUILT_IN, "mwzeval")
    found = []
    entries: list[Any] = [entry for entry in entry_points(group=GROUP) if entry.dist]
    for entry in sorted(entries, key=lambda entry: (entry.name, entry.dist.name)):
        if entry.value == BUILT_IN.get(entry.name):
            continue
        owner = owners.get(entry.name)
        problem = (
            f"the name already belongs to a benchmark of {owner}" if owner else _problem(entry)
        )
        if not problem:
            owners[entry.name] = entry.dist.name
        else:
            notify(f"warning: {entry.dist.name} {entry.dist.version} is skipped: {problem}")
        found.append(Plugin(entry.name, entry.value, entry.dist.name, entry.dist.version, problem))
    return (*sorted(found, key=lambda plugin: bool(plugin.problem)),)


def _problem(entry: Any) -> str:
    """Return why the class of an entry point cannot be used; "" if it can."""
    try:
        benchmark = _loaded(entry.value)
        api, names, verbs = benchmark.api, benchmark.names, benchmark.verbs
        name, title = benchmark.name, benchmark.title
    except (Exception, SystemExit) as error:
        return f"it cannot be imported ({type(error).__name__}: {shorten(str(error), 200)})"
    if api != API:
        return f"it needs version {api} of the interface, but this mwzeval has version {API}"
    if not isinstance(title, str) or not isinstance(verbs, Mapping):
        return "`title` must be a string, and `verbs` must be a mapping"
    if not all(isinstance(verb, OwnVerb) for verb in verbs.values()):
        return "`verbs` must map each name to an OwnVerb"
    is_sequence = isinstance(names, Sequence) and not isinstance(names, str)
    if not is_sequence or not names or not all(isinstance(name, str) for name in names):
        return "`names` must be a sequence of strings that is not empty"
    return (
        ""
        if name == entry.name
        else f'the entry point has another name than its benchmark, "{shorten(str(name))}"'
    )


def benchmarks(*, external: bool = True) -> Iterator[Benchmark]:
    """Yield the built-in benchmarks, and then the benchmarks of other distributions."""
    yield from map(_loaded, BUILT_IN.values())
    if external:
        yield from (_loaded(plugin.value) for plugin in plugins() if not plugin.problem)


def benchmark_named(name: str) -> Benchmark:
    """Return the benchmark with this name among its `names`. Raises `UsageError`."""
    families: dict[str, Sequence[str]] = {}
    for benchmark in benchmarks():
        if name in benchmark.names:
            return benchmark
        families[benchmark.name] = benchmark.names
    alike = (names for family, names in families.items() if name.startswith(f"{family}-"))
    more = "; plug-ins add others: docs/add_benchmark.md"
    raise UsageError(unknown("benchmark", name, next(alike, families), more))


def own_verbs(*, external: bool = False) -> dict[str, OwnVerb]:
    """Return the commands that only one benchmark has, by name."""
    owners = benchmarks(external=external)
    return {name: verb for benchmark in owners for name, verb in benchmark.verbs.items()}


def recognised(raw: Any, *, but: str | None = None, external: bool = False) -> Benchmark | None:
    """Return the benchmark that recognizes a JSON value, or a line of JSON Lines, as its input.

    Returns None if no benchmark other than `but` recognizes the file. The header of a file of
    trajectories names its benchmark. If `external`, plug-ins are tried after the built-in
    benchmarks.
    """
    from mwzeval.conversation.trajectory import is_header  # `--help` does not need it

    named = raw.get("benchmark") if is_header(raw) else None
    for benchmark in benchmarks(external=external):
        if benchmark.name == but:
            continue
        try:
            if named == benchmark.name or benchmark.recognises(raw):
                return benchmark
        except (Exception, SystemExit):
            if benchmark.name in BUILT_IN:
                raise
    return None


@contextmanager
def plugin_errors(benchmark: Benchmark | None, *, may_exit: bool = False) -> Iterator[None]:
    """Raise a `MwzevalError` that names the plug-in and the line if a plug-in's code fails.

    An `OSError` in the code of mwzeval, such as a full disk, is not treated as an error of the
    plug-in. `SystemExit` is an error unless argparse raised it or `may_exit` is true (in commands
    of the plug-in).
    """
    try:
        yield
    except (MwzevalError, MemoryError, BrokenPipeError):
        raise
    except (Exception, SystemExit) as error:
        if benchmark is None or benchmark.name in BUILT_IN:
            raise
        import traceback

        frames = traceback.extract_tb(error.__traceback__)
        if isinstance(error, OSError) and HOST in Path(frames[-1].filename).parents:
            raise
        if isinstance(error, SystemExit) and (may_exit or frames[-1].filename == argparse.__file__):
            raise
        # The code of mwzeval or Python may fail because of a value that the plug-in returned.
        frame = ([frame for frame in frames if _is_of_plugin(frame.filename)] or frames)[-1]
        raise MwzevalError(
            f"the plug-in {benchmark.title} failed at {frame.filename}:{frame.lineno} "
            f"({type(error).__name__}: {shorten(str(error), 200)}): please report it to its "
            "authors"
        ) from error


def _is_of_plugin(file: str) -> bool:
    """Return whether a source file belongs neither to mwzeval nor to Python's library."""
    folders = Path(file).parents
    in_library = Path(argparse.__file__).parent in folders and "site-packages" not in file
    return HOST not in folders and not in_library


def advice(other: Benchmark, read_as: str) -> str:
    """Return the error for a file of the benchmark `other` that was read as input of `read_as`."""
    return (
        f"this looks like a file of {other.title}, but is read as predictions for {read_as} "
        f"— did you mean --benchmark {other.name}?"
    )


def benchmark_of(file: str, *, but: str | None = None) -> Benchmark | None:
    """Return the benchmark, other than `but`, that recognizes the beginning of a file.

    For a pattern (`part-*.json`), the first file is tried. For a folder, the first file of each
    level is tried, up to three folders deeper, because the tests of a run are in
    TASK/POLICY/seed-N. Unreadable files give None.
    """
    from mwzeval.files.reading import beginning_value, expand, is_url

    levels = ("*/" * depth + "*.json*" for depth in range(4))
    try:
        place = Path(file if is_url(file) else expand([file])[0])
        firsts = (min(place.glob(level), default=place) for level in levels)
        for first in firsts if place.is_dir() else [place]:
            if first.is_file():
                found = recognised(beginning_value(str(first)), but=but, external=True)
                if found is not None:
                    return found
    except (MwzevalError, OSError, ValueError):
        pass
    return None
