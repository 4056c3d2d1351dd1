"""Files that say the scores of their items themselves, and are of no benchmark that is known."""

from __future__ import annotations

import argparse
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from mwzeval.commands.systems.scoring import beginning_of
from mwzeval.errors import InputError, Problem, UsageError
from mwzeval.files.reading import STANDARD_INPUT, plain_name

if TYPE_CHECKING:
    from mwzeval.benchmark import Benchmark
    from mwzeval.comparison.item_formats import Columns

ITEM_ENDINGS = (".csv", ".tsv", ".eval")
"""Of files that are no predictions of a benchmark, whatever is in them."""

COLUMNS = ("item_column", "cluster_column", "trial_column")


def are_items(file: str) -> bool:
    """Tell whether a file has scores of items by its name, perhaps compressed."""
    return plain_name(file.lower()).endswith(ITEM_ENDINGS)


@contextmanager
def advising_items(files: Iterable[str]) -> Iterator[None]:
    """Say of files that no benchmark reads that they have scores of items, if they do.

    Raises `UsageError` then, and otherwise what is raised.
    """
    try:
        yield
    except InputError as error:
        refused = {problem.file for problem in error.problems}
        for file in files:
            if file in refused and _has_items(file):
                raise UsageError(
                    f"{file}: scores of items of whatever benchmark are read with --items"
                ) from None
        raise


@contextmanager
def advising_benchmark(files: Iterable[str]) -> Iterator[None]:
    """Say of files without scores of items that a benchmark scores them first: `InputError`."""
    from mwzeval.benchmark import DEFAULT, benchmark_named, recognised
    from mwzeval.conversation.trajectory import is_dialogue, is_header

    try:
        yield
    except InputError as error:
        refused = {problem.file for problem in error.problems} - {STANDARD_INPUT}
        problems = []
        for file in (file for file in files if file in refused):
            raw = beginning_of(file)
            is_live = is_header(raw) or is_dialogue(raw)
            known = recognised(raw) or (benchmark_named(DEFAULT) if is_live else None)
            if known is not None:
                message = (
                    f"these are {'live dialogues' if is_live else 'predictions'} of {known.title}, "
                    "and not scores of items: leave out --items, and they are scored (--benchmark "
                    f"{known.name})"
                )
                problems.append(Problem("of-benchmark", message, file=file))
        if problems:
            raise InputError(problems) from None
        raise


def _has_items(file: str) -> bool:
    """Tell whether a file has the name of one with scores of items, or the shape of a log."""
    from mwzeval.comparison.item_formats import is_log

    return are_items(file) or (file != STANDARD_INPUT and is_log(file))


def asked_columns(arguments: argparse.Namespace, benchmark: Benchmark) -> Columns:
    """Return what is asked for of files of items; `--score` may name several, with commas between.

    Raises `UsageError` for options of a benchmark, which has no say in such files.
    """
    from mwzeval.benchmark import DEFAULT
    from mwzeval.comparison.item_formats import Columns

    given = vars(arguments)
    own = argparse.ArgumentParser(add_help=False)
    benchmark.add_arguments(own, arguments.verb)
    without = vars(own.parse_args([]))
    wrong = [option for option, default in without.items() if given[option] != default]
    if arguments.benchmark != DEFAULT:
        wrong.insert(0, "benchmark")
    if wrong:
        named = ", ".join(f"--{option.replace('_', '-')}" for option in wrong)
        raise UsageError(
            f"{named}: without meaning for files with scores of items (--items), of which no "
            "benchmark knows anything; leave it out"
        )
    return Columns(
        arguments.item_column,
        _names(arguments.score),
        arguments.cluster_column,
        arguments.trial_column,
        lower=_names(given.get("lower_is_better")),
    )


def _names(text: str | None) -> tuple[str, ...]:
    return tuple(name.strip() for name in (text or "").split(",") if name.strip())


def check_without_columns(arguments: argparse.Namespace, *others: str) -> None:
    """Raise `UsageError` when columns, or `others`, are named of files that have none."""
    for option in (*COLUMNS, *others):
        if getattr(arguments, option) is not None:
            raise UsageError(
                f"--{option.replace('_', '-')} is of files with scores of items: add --items"
            )
