"""The files that verbs read: scored by a benchmark, or with scores of items; and their names."""

from __future__ import annotations

import argparse
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path, PurePath
from typing import TYPE_CHECKING

from mwzeval.benchmark import DEFAULT, Benchmark, ScoredFile, advice, benchmark_of
from mwzeval.errors import InputError, MwzevalError, Problem, UsageError
from mwzeval.files.reading import COMPRESSED, STANDARD_INPUT, plain_name, shortest_ends
from mwzeval.output import counting

if TYPE_CHECKING:
    from mwzeval.comparison.items import ItemScores
    from mwzeval.metrics.measure import ScoredTable
    from mwzeval.scores.score import Words

ITEM_ENDINGS = (".csv", ".tsv", ".eval")
"""Endings of files that are never predictions of a benchmark."""

COLUMNS = ("item_column", "cluster_column", "trial_column")
"""Options about files with scores of items."""


def score_files(
    files: Sequence[str], arguments: argparse.Namespace, benchmark: Benchmark
) -> dict[str, ScoredFile]:
    """Return the scored files by the names of their systems, as the options of a verb say.

    Raises `InputError` with the problems of all files, and `UsageError` for files with scores of
    items if the verb reads these with `--items`.
    """
    progress = not getattr(arguments, "quiet", False)
    scorer = benchmark.scorer(arguments)
    scored: dict[str, ScoredFile] = {}
    problems: list[Problem] = []
    with counting(len(files), "files", shown=progress and len(files) > 1) as update:
        for name, file in zip(names_of(files), files, strict=True):
            try:
                with recognising(file, benchmark):
                    scored[name] = scorer.score(file, progress=progress)
            except InputError as error:
                if hasattr(arguments, "items") and _has_items(file):
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
        if other := benchmark_of(file, but=benchmark.name):
            message = advice(other, benchmark.title)
            raise InputError([Problem("other-benchmark", message, file=file)]) from None
        raise


def unit_of(words: Words, tables: Iterable[ScoredTable]) -> str:
    """Return what systems are compared on: goals where these were tried several times."""
    return words.goal if any(scored.trials for scored in tables) else words.unit


def _has_items(file: str) -> bool:
    from mwzeval.comparison.item_formats import is_log

    return are_items(file) or (file != STANDARD_INPUT and is_log(file))


def are_items(file: str) -> bool:
    """Return whether a file has scores of items by its name, which may be that of a compressed."""
    return plain_name(file.lower()).endswith(ITEM_ENDINGS)


def read_items(
    files: Sequence[str], arguments: argparse.Namespace, benchmark: Benchmark
) -> ItemScores:
    """Return the scores in files of items, as `--score` and the options of columns say.

    Raises `UsageError` for options of a benchmark, `InputError`, which names the benchmark of a
    file if one scores it.
    """
    from mwzeval.comparison import items
    from mwzeval.comparison.item_formats import Columns

    given, parser = vars(arguments), argparse.ArgumentParser(add_help=False)
    benchmark.add_arguments(parser, arguments.verb)
    own = {"benchmark": DEFAULT, **vars(parser.parse_args([]))}
    if wrong := [option for option, default in own.items() if given[option] != default]:
        named = ", ".join(f"--{option.replace('_', '-')}" for option in wrong)
        raise UsageError(
            f"{named}: without meaning for files with scores of items (--items), of which no "
            "benchmark knows anything; leave it out"
        )
    columns = Columns(
        arguments.item_column,
        _names(arguments.score),
        arguments.cluster_column,
        arguments.trial_column,
        lower=_names(given.get("lower_is_better")),
    )
    try:
        return items.read_items(files, columns)
    except InputError as error:
        for file in {problem.file: None for problem in error.problems if problem.file in files}:
            if known := benchmark_of(str(file)):
                message = (
                    f"this looks like a file of {known.title}, which has no scores of items: leave "
                    f"out --items, and it is scored (--benchmark {known.name})"
                )
                raise InputError([Problem("of-benchmark", message, file=file)]) from None
        raise


def _names(text: str | None) -> tuple[str, ...]:
    return tuple(name.strip() for name in (text or "").split(",") if name.strip())


def check_without_columns(arguments: argparse.Namespace, *others: str) -> None:
    """Raise `UsageError` if columns, or `others`, are named for files without scores of items."""
    for option in (*COLUMNS, *others):
        if getattr(arguments, option) is not None:
            raise UsageError(
                f"--{option.replace('_', '-')} is of files with scores of items: add --items"
            )


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
    for ending in (*COMPRESSED, ".jsonl", ".json", *ITEM_ENDINGS):
        file = file.removesuffix(ending)
    return file
