"""The files that verbs read: scored by a benchmark, or with scores of items; and their names."""

from __future__ import annotations

import argparse
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from itertools import chain
from pathlib import Path, PurePath
from typing import TYPE_CHECKING, Any

from mwzeval.benchmark import DEFAULT, advice, benchmark_named, recognised
from mwzeval.errors import SHOWN_PROBLEMS, InputError, MwzevalError, Problem, UsageError
from mwzeval.files.reading import COMPRESSED, STANDARD_INPUT, plain_name
from mwzeval.output import counting

if TYPE_CHECKING:
    from mwzeval.benchmark import Benchmark, FileScorer, ScoredFile
    from mwzeval.comparison.items import ItemScores
    from mwzeval.metrics.measure import ScoredTable
    from mwzeval.scores.score import Words

ITEM_ENDINGS = (".csv", ".tsv", ".eval")
"""Endings of files that are never predictions of a benchmark."""

COLUMNS = ("item_column", "cluster_column", "trial_column")
"""Options about files with scores of items."""


def scorer_of(benchmark: Benchmark, arguments: argparse.Namespace) -> FileScorer:
    """Return the scorer of a command, which also recognises files of other benchmarks.

    Raises `UsageError` for options that contradict each other.
    """
    return _Recognising(benchmark.scorer(arguments), benchmark)


@dataclass(frozen=True, slots=True)
class _Recognising:
    """A scorer that names the benchmark of a file that it cannot score."""

    scorer: FileScorer
    benchmark: Benchmark

    def score(self, file: str, *, progress: bool = False) -> ScoredFile:
        try:
            return self.scorer.score(file, progress=progress)
        except MwzevalError:
            self._check(file)
            raise

    def validate(self, file: str) -> list[Problem]:
        try:
            problems = self.scorer.validate(file)
        except MwzevalError:
            self._check(file)
            raise
        if any(problem.severity == "error" for problem in problems):
            self._check(file)
        return problems

    def _check(self, file: str) -> None:
        """Raise `InputError` if a file is of another benchmark."""
        if other := recognised(_beginning(file), but=self.benchmark.name, external=True):
            message = advice(other, self.benchmark.title)
            raise InputError([Problem("other-benchmark", message, file=file)])


def _beginning(file: str) -> Any:
    """Return the JSON value that a file begins with; None if there is none that can be read."""
    from mwzeval.files.json_files import beginning_value

    if file != STANDARD_INPUT:  # has been read already
        with suppress(MwzevalError):
            return beginning_value(file)
    return None


def score_all(
    scorer: FileScorer, files: Sequence[str], *, progress: bool = False
) -> dict[str, ScoredFile]:
    """Return all scored files by the names of their systems.

    Raises `InputError` with the problems of all files.
    """
    scored, problems = {}, []
    with counting(len(files), "files", shown=progress and len(files) > 1) as update:
        for name, file in zip(names_of(files), files, strict=True):
            try:
                scored[name] = scorer.score(file, progress=progress)
            except InputError as error:
                problems.append(error.problems)
            update(1)
    if problems:
        # A message shows the first problems: some of every file.
        share = max(1, SHOWN_PROBLEMS // len(problems))
        parts = [*(of_file[:share] for of_file in problems), *(of[share:] for of in problems)]
        raise InputError(chain.from_iterable(parts))
    return scored


def unit_of(words: Words, tables: Iterable[ScoredTable]) -> str:
    """Return what systems are compared on: goals where these were tried several times."""
    return words.goal if any(scored.trials for scored in tables) else words.unit


@contextmanager
def advising_items(files: Sequence[str]) -> Iterator[None]:
    """Raise `UsageError` if a file that no benchmark can read has scores of items."""
    from mwzeval.comparison.item_formats import is_log

    try:
        yield
    except InputError as error:
        refused = {problem.file for problem in error.problems}
        for file in (file for file in files if file in refused):
            if are_items(file) or (file != STANDARD_INPUT and is_log(file)):
                raise UsageError(
                    f"{file}: scores of items of whatever benchmark are read with --items"
                ) from None
        raise


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
    from mwzeval.conversation.trajectory import is_dialogue, is_header

    given = vars(arguments)
    own = argparse.ArgumentParser(add_help=False)
    benchmark.add_arguments(own, arguments.verb)
    wrong = ["benchmark"] if arguments.benchmark != DEFAULT else []
    wrong += [name for name, default in vars(own.parse_args([])).items() if given[name] != default]
    if wrong:
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
        problems = []
        for file in files:
            raw = _beginning(file) if any(file == of.file for of in error.problems) else None
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
    for ending in (*COMPRESSED, ".jsonl", ".json", *ITEM_ENDINGS):
        file = file.removesuffix(ending)
    return file
