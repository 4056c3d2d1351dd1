"""Files with scores of items, which some verbs read in place of files of a benchmark."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from typing import TYPE_CHECKING

from mwzeval.benchmark import DEFAULT, Benchmark, benchmark_of
from mwzeval.errors import InputError, Problem, UsageError
from mwzeval.files.reading import STANDARD_INPUT, plain_name

if TYPE_CHECKING:
    from mwzeval.comparison.items import ItemScores

ENDINGS = (".csv", ".tsv", ".eval")
"""Endings of files that are never predictions of a benchmark."""

COLUMNS = {
    "item": "what is scored",
    "cluster": "what items share that are not independent, such as a text",
    "trial": "which of several attempts at an item it is",
}


def add_items(parser: argparse.ArgumentParser) -> None:
    """Add `--items` and the options that name its columns."""
    parser.add_argument(
        "--items",
        action="store_true",
        help="files are of any benchmark, with scores of single items: CSV, TSV, JSON, JSON Lines, "
        "logs of inspect_ai, results of tau-bench and tau2-bench, samples of "
        "lm-evaluation-harness; told apart by their shape",
    )
    for column, what in COLUMNS.items():
        parser.add_argument(
            f"--{column}-column",
            metavar="NAME",
            help=f"with --items: which column says {what} (default: by its name); a.b is b in a",
        )


def check_without_items(arguments: argparse.Namespace, *others: str) -> None:
    """Raise `UsageError` if columns, or `others`, are named for files without scores of items."""
    for option in (*(f"{column}_column" for column in COLUMNS), *others):
        if getattr(arguments, option) is not None:
            raise UsageError(
                f"--{option.replace('_', '-')} is of files with scores of items: add --items"
            )


def are_items(file: str) -> bool:
    """Return whether a file has scores of items by its name, which may be that of a compressed."""
    return plain_name(file.lower()).endswith(ENDINGS)


def has_items(file: str) -> bool:
    """Return whether a file has scores of items by its name or its format."""
    from mwzeval.comparison.item_formats import is_log

    return are_items(file) or (file != STANDARD_INPUT and is_log(file))


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
        tuple(filter(None, [arguments.score])),
        arguments.cluster_column,
        arguments.trial_column,
        lower=tuple(filter(None, [given.get("lower_is_better")])),
    )
    try:
        return items.read_items(files, columns)
    except InputError as error:
        for file in {problem.file: None for problem in error.problems if problem.file in files}:
            if known := benchmark_of(str(file)):
                message = (
                    f"this looks like a file of {known.info.title}, which has no scores of items: "
                    f"leave out --items, and it is scored (--benchmark {known.info.name})"
                )
                raise InputError([Problem("of-benchmark", message, file=file)]) from None
        raise
