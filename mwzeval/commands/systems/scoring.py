"""The files of systems: scored together, for a comparison in several processes, and named."""

from __future__ import annotations

import argparse
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from functools import partial
from pathlib import Path, PurePath
from typing import TYPE_CHECKING, Any, TypeVar

from mwzeval.arguments import files_of, named_runs
from mwzeval.errors import SHOWN_PROBLEMS, InputError, MwzevalError, Problem, UsageError, shorten
from mwzeval.files.reading import COMPRESSED, STANDARD_INPUT
from mwzeval.progress import counting

if TYPE_CHECKING:
    from mwzeval.benchmark import Benchmark, FileScorer, ScoredFile
    from mwzeval.metrics.measure import ScoredTable
    from mwzeval.scores.words import Words

ENDINGS = (*COMPRESSED, ".jsonl", ".json", ".csv", ".tsv", ".eval")


def scorer_of(benchmark: Benchmark, arguments: argparse.Namespace) -> FileScorer:
    """Return what scores the files of a command, and knows files of other benchmarks.

    Raises `UsageError` for options that contradict each other.
    """
    return _Recognising(benchmark.scorer(arguments), benchmark.name, benchmark.title)


@dataclass(frozen=True, slots=True)
class _Recognising:
    """A scorer that tells of which benchmark a file is that it cannot score."""

    scorer: FileScorer
    name: str
    title: str

    def score(self, file: str, *, progress: bool = False) -> ScoredFile:
        """Return a file scored, as the scorer does."""
        with self._telling(file):
            return self.scorer.score(file, progress=progress)

    def validate(self, file: str) -> list[Problem]:
        """Return every problem of a file, or the one that it is of another benchmark."""
        with self._telling(file):
            problems = self.scorer.validate(file)
            if any(problem.severity == "error" for problem in problems):
                self._check(file)
        return problems

    @contextmanager
    def _telling(self, file: str) -> Iterator[None]:
        try:
            yield
        except MwzevalError:
            self._check(file)
            raise

    def _check(self, file: str) -> None:
        """Raise `InputError` if a file is of another benchmark; standard input is read already."""
        from mwzeval.benchmark import advice, recognised

        if file == STANDARD_INPUT or (raw := beginning_of(file)) is None:
            return
        if other := recognised(raw, but=self.name, external=True):
            message = advice(other, self.title)
            raise InputError([Problem("other-benchmark", message, file=file)])


def beginning_of(file: str) -> Any:
    """Return the JSON value that a file begins with; None when there is none that can be read."""
    from mwzeval.files.json_files import beginning_value

    with suppress(MwzevalError):
        return beginning_value(file)
    return None


def score_all(
    scorer: FileScorer, files: Sequence[str], *, progress: bool = False
) -> dict[str, ScoredFile]:
    """Return all files scored, by the names of their systems; what all have said comes once.

    Raises `InputError` with the problems of all files.
    """
    with counting(len(files), "files", shown=progress and len(files) > 1) as update:
        scored = all_of(
            partial(counted, partial(scorer.score, file, progress=progress), update)
            for file in files
        )
    return dict(zip(names_of(files), scored, strict=True))


def unit_of(words: Words, tables: Iterable[ScoredTable]) -> str:
    """Return what systems are compared on: goals where these were tried several times."""
    return words.goal if any(scored.trials for scored in tables) else words.unit


def systems_of(arguments: argparse.Namespace) -> dict[str, tuple[str, ...]]:
    """Return the files of the systems of a comparison, those of their runs, by their names.

    A file is a system, and so is `NAME=RUN,RUN`; a name that comes again has further runs. Less
    than two systems are bad use. Raises `UsageError` for a run or name that is given twice.
    """
    given = [(argument, named_runs(argument)) for argument in files_of(arguments)]
    single = [argument for argument, named in given if named is None]
    names = names_of(single)
    called = iter(names)
    systems: dict[str, tuple[str, ...]] = {}
    for argument, named in given:
        name, files = named or (next(called), (argument,))
        if named and name in names:
            raise UsageError(f'two systems are called "{shorten(name)}": give one another name')
        systems[name] = (*systems.get(name, ()), *files)
    if len(systems) < 2:
        arguments.parser.error(
            "give at least 2 files, or systems with several runs as NAME=RUN,RUN; the baseline "
            "comes first"
        )
    for name, files in systems.items():
        if "" in files:
            raise UsageError(f'a run of "{shorten(name)}" has no file: {shorten(",".join(files))}')
        if again := next((file for file in files if files.count(file) > 1), None):
            raise UsageError(f'a run of "{shorten(name)}" is given twice: {shorten(again)}')
    if sum(files.count(STANDARD_INPUT) for files in systems.values()) > 1:
        raise UsageError("standard input (-) can be read only once")
    return systems


Made = TypeVar("Made")


def counted(call: Callable[[], Made], update: Callable[[int], object]) -> Made:
    """Return what a call returns, and count it when it is done."""
    made = call()
    update(1)
    return made


def all_of(calls: Iterable[Callable[[], Made]]) -> list[Made]:
    """Return what all calls return, or raise `InputError` with the problems of all."""
    made = []
    problems: list[Sequence[Problem]] = []
    for call in calls:
        with _collecting(problems):
            made.append(call())
    if problems:
        raise InputError(_some_of_every_file(problems))
    return made


@contextmanager
def _collecting(problems: list[Sequence[Problem]]) -> Iterator[None]:
    try:
        yield
    except InputError as error:
        problems.append(error.problems)


def _some_of_every_file(problems: Sequence[Sequence[Problem]]) -> Iterator[Problem]:
    """Yield all problems, so many of each file first that a message shows some of every file."""
    share = max(1, SHOWN_PROBLEMS // len(problems))
    for of_file in problems:
        yield from of_file[:share]
    for of_file in problems:
        yield from of_file[share:]


def names_of(files: Sequence[str]) -> list[str]:
    """Return a name for each file: its stem, with as much of its folders as tells it from others.

    A file that comes again has a number.
    """
    from mwzeval.files.reading import shortest_ends

    names: list[str] = []
    for name in shortest_ends([_stem(file) for file in files]):
        again = sum(name == known.partition(" #")[0] for known in names)
        names.append(f"{name} #{again + 1}" if again else name)
    return names


def _stem(file: str) -> str:
    if file == STANDARD_INPUT:
        return "standard input"
    if PurePath(file).name in ("", ".."):  # a folder, such as the current one
        return str(Path(file).resolve())
    for ending in ENDINGS:
        file = file.removesuffix(ending)
    return file
