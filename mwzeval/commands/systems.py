"""Input files of commands, scored by a benchmark or with scores of items; names of systems."""

from __future__ import annotations

import argparse
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path, PurePath
from typing import TYPE_CHECKING

from mwzeval.arguments import files_of, named_runs
from mwzeval.benchmark import DEFAULT, Benchmark, FileScorer, ScoredFile, advice, benchmark_of
from mwzeval.errors import InputError, MwzevalError, Problem, UsageError, shorten
from mwzeval.files.reading import COMPRESSED, STANDARD_INPUT, plain_name, shortest_ends
from mwzeval.output import counting

if TYPE_CHECKING:
    from mwzeval.comparison.items import ItemScores
    from mwzeval.metrics.measure import Resampling, ScoredTable
    from mwzeval.scores.report import Report
    from mwzeval.scores.score import Words


ENDINGS = (".csv", ".tsv", ".eval")
"""Suffixes of files that contain scores of items and never predictions."""

COLUMNS = {
    "item": "the name of an item",
    "cluster": "the cluster of an item, such as the text that it is about (items in the same "
    "cluster are not independent)",
    "trial": "the number of the trial of an item",
}


def score_files(
    files: Sequence[str],
    arguments: argparse.Namespace,
    benchmark: Benchmark,
    scorer: FileScorer | None = None,
) -> dict[str, ScoredFile]:
    """Return the scored files of each system; `arguments` has the options of the command.

    `scorer` is the scorer for these options, if the command has already created the scorer. Raises
    `InputError` with the problems of all files. Raises `UsageError` if a file has scores of items
    although the command has an option `--items`.
    """
    progress = not getattr(arguments, "quiet", False)
    scorer = scorer or benchmark.scorer(arguments)
    scored: dict[str, ScoredFile] = {}
    problems: list[Problem] = []
    with counting(len(files), "files", shown=progress and len(files) > 1) as update:
        for name, file in zip(names_of(files), files, strict=True):
            try:
                with recognising(benchmark, file):
                    scored[name] = scorer.score(file, progress=progress)
            except InputError as error:
                if hasattr(arguments, "items"):
                    from mwzeval.comparison.items import is_log

                    if are_items(file) or (file != STANDARD_INPUT and is_log(file)):
                        remedy = "add --items to read scores of any benchmark"
                        raise UsageError(f"{file} has scores of items: {remedy}") from None
                problems += error.problems
            update(1)
    if problems:
        raise InputError(problems)
    return scored


def named_report(
    name: str, system: ScoredFile, resampling: Resampling | None, *, explained: bool = False
) -> Report:
    """Return the report of a system with the system's name and, if `explained`, explanations."""
    report = system.report(resampling)
    explanations = tuple(system.explain_all()) if explained else ()
    return replace(report, name=name, explanations=explanations)


@contextmanager
def recognising(benchmark: Benchmark, *files: str) -> Iterator[None]:
    """Raise `InputError` if files cannot be scored and one of them is of another benchmark."""
    try:
        yield
    except MwzevalError:
        for file in files:
            if other := benchmark_of(file, but=benchmark.name):
                message = advice(other, benchmark.title)
                raise InputError([Problem("other-benchmark", message, file=file)]) from None
        raise


def unit_of(words: Words, tables: Iterable[ScoredTable]) -> str:
    """Return the noun for compared units, which are goals if there are several trials."""
    return words.goal if any(scored.trials for scored in tables) else words.unit


def names_of(files: Sequence[str]) -> list[str]:
    """Return a name for each file: its stem, made unique by its folders or a number."""
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
    for ending in (*COMPRESSED, ".jsonl", ".json", *ENDINGS):
        file = file.removesuffix(ending)
    return file


def named_systems(arguments: argparse.Namespace) -> dict[str, tuple[str, ...]]:
    """Return a mapping from system name to the files of the system's runs, for a comparison.

    An argument is a file or `NAME=RUN,RUN`; a repeated name adds runs to its system.

    Raises:
        UsageError: If a run or the name of a system occurs twice.
    """
    given = [(argument, named_runs(argument)) for argument in files_of(arguments)]
    single = names_of([argument for argument, named in given if named is None])
    names = iter(single)
    systems: dict[str, tuple[str, ...]] = {}
    for argument, named in given:
        name, files = named or (next(names), (argument,))
        if named and name in single:
            raise UsageError(f'two systems are called "{shorten(name)}": rename one of them')
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


def add_items(parser: argparse.ArgumentParser) -> None:
    """Add the option `--items`, and the options that name the columns of item files."""
    parser.add_argument(
        "--items",
        action="store_true",
        help="read scores of single items, of any benchmark: CSV, TSV, JSON, JSON Lines, "
        "logs of inspect_ai, results of tau-bench and tau2-bench, samples of "
        "lm-evaluation-harness; the format is detected",
    )
    for column, what in COLUMNS.items():
        parser.add_argument(
            f"--{column}-column",
            metavar="NAME",
            help=f"with --items: column with {what} (default: detected by its name); a.b is the "
            "key b of the object a",
        )


def check_without_items(arguments: argparse.Namespace, *others: str) -> None:
    """Raise `UsageError` if an option for scores of items is used without `--items`."""
    for option in (*(f"{column}_column" for column in COLUMNS), *others):
        if getattr(arguments, option) is not None:
            named = option.replace("_", "-")
            raise UsageError(f"--{named} only applies to scores of items: add --items")


def are_items(file: str) -> bool:
    """Return whether a file has scores of items, judged by its name without compression suffix."""
    return plain_name(file.lower()).endswith(ENDINGS)


def read_items(
    files: Sequence[str], arguments: argparse.Namespace, benchmark: Benchmark
) -> ItemScores:
    """Return the scores in files of items, according to `--score` and the column options.

    Raises `UsageError` if an option of a benchmark is used. Raises `InputError` if a file has no
    scores of items; the message names a benchmark that can score the file.
    """
    from mwzeval.comparison import items

    given, parser = vars(arguments), argparse.ArgumentParser(add_help=False)
    benchmark.add_arguments(parser, arguments.verb)
    own = {"benchmark": DEFAULT, **vars(parser.parse_args([]))}
    if wrong := [option for option, default in own.items() if given[option] != default]:
        named = ", ".join(f"--{option.replace('_', '-')}" for option in wrong)
        raise UsageError(f"{named} cannot be combined with --items")
    columns = items.Columns(
        arguments.item_column,
        tuple(filter(None, [arguments.score])),
        arguments.cluster_column,
        arguments.trial_column,
        lower=tuple(filter(None, [given.get("lower_is_better")])),
    )
    try:
        return items.read_items(files, columns)
    except InputError as error:
        for file in dict.fromkeys(problem.file for problem in error.problems):
            if file in files and (known := benchmark_of(str(file))):
                message = (
                    f"this looks like a file of {known.title}, without scores of items: "
                    f"leave out --items to score it (--benchmark {known.name})"
                )
                raise InputError([Problem("of-benchmark", message, file=file)]) from None
        raise
