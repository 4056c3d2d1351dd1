"""The files that verbs read, scored by a benchmark, and the names of systems."""

from __future__ import annotations

import argparse
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path, PurePath
from typing import TYPE_CHECKING

from mwzeval.arguments import files_of, named_runs
from mwzeval.benchmark import Benchmark, FileScorer, ScoredFile, advice, benchmark_of
from mwzeval.commands import items
from mwzeval.errors import InputError, MwzevalError, Problem, UsageError, did_you_mean, shorten
from mwzeval.files.reading import COMPRESSED, STANDARD_INPUT, shortest_ends
from mwzeval.output import counting
from mwzeval.statistics.trials import item_of_trial

if TYPE_CHECKING:
    from mwzeval.metrics.measure import ScoredTable
    from mwzeval.scores.score import Words


def score_files(
    files: Sequence[str],
    arguments: argparse.Namespace,
    benchmark: Benchmark,
    scorer: FileScorer | None = None,
) -> dict[str, ScoredFile]:
    """Return the scored files by the names of their systems, as the options of a verb say.

    `scorer` is that of the options, if the verb has it already.
    Raises `InputError` with the problems of all files, and `UsageError` for files with scores of
    items if the verb reads these with `--items`.
    """
    progress = not getattr(arguments, "quiet", False)
    scorer = scorer or benchmark.scorer(arguments)
    scored: dict[str, ScoredFile] = {}
    problems: list[Problem] = []
    with counting(len(files), "files", shown=progress and len(files) > 1) as update:
        for name, file in zip(names_of(files), files, strict=True):
            try:
                with recognising(file, benchmark):
                    scored[name] = scorer.score(file, progress=progress)
            except InputError as error:
                if hasattr(arguments, "items") and items.has_items(file):
                    raise UsageError(
                        f"{file}: scores of items of whatever benchmark are read with --items"
                    ) from None
                problems += error.problems
            update(1)
    if problems:
        raise InputError(problems)
    return scored


@contextmanager
def recognising(file: str, benchmark: Benchmark) -> Iterator[None]:
    """Raise `InputError` if a file that cannot be scored is of another benchmark."""
    try:
        yield
    except MwzevalError:
        if other := benchmark_of(file, but=benchmark.info.name):
            message = advice(other, benchmark.info.title)
            raise InputError([Problem("other-benchmark", message, file=file)]) from None
        raise


def unit_of(words: Words, tables: Iterable[ScoredTable]) -> str:
    """Return what systems are compared on: goals where these were tried several times."""
    return words.goal if any(scored.trials for scored in tables) else words.unit


def common_units_of(systems: Mapping[str, ScoredFile], unit: str) -> Sequence[str]:
    """Return the units of all systems, which `compare` can compare. Raises `UsageError`."""
    units = {name: system.units() for name, system in systems.items()}
    if len(systems) == 1:
        return next(iter(units.values()))
    from mwzeval.comparison.alignment import check_comparable, common_units

    # Trials are explained one by one, so they are what is common.
    tables = {
        name: replace(system.scored_table, table=system.scored_table.trial_rows)
        for name, system in systems.items()
    }
    check_comparable(tables)
    return common_units(tables, unit, units)


def trials_named(name: str, known: Sequence[str], unit: str) -> list[str]:
    """Return a unit, or all trials of an item. Raises `UsageError` for an unknown name."""
    if name in known:
        return [name]
    trials = [each for each in known if item_of_trial(each) == name]
    if not trials:
        close = did_you_mean(name.partition(".")[0].lower(), known)
        some = ", ".join(known[:5]) + ", …" * (len(known) > 5)
        raise UsageError(f'there is no {unit} "{shorten(name)}" in the file{close} (it has {some})')
    return trials


def names_of(files: Sequence[str]) -> list[str]:
    """Return a name for each file: its stem, with the folders that distinguish it from others.

    A file that is given again has a number.
    """
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
    for ending in (*COMPRESSED, ".jsonl", ".json", *items.ENDINGS):
        file = file.removesuffix(ending)
    return file


def named_systems(arguments: argparse.Namespace) -> dict[str, tuple[str, ...]]:
    """Return the files of the systems of a comparison, those of their runs, by their names.

    A file is a system, and so is `NAME=RUN,RUN`; a name that comes again has further runs. Less
    than two systems are bad use. Raises `UsageError` for a run or name that is given twice.
    """
    given = [(argument, named_runs(argument)) for argument in files_of(arguments)]
    single = names_of([argument for argument, named in given if named is None])
    names = iter(single)
    systems: dict[str, tuple[str, ...]] = {}
    for argument, named in given:
        name, files = named or (next(names), (argument,))
        if named and name in single:
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
