"""Tell how many items and trials it takes to see a difference between two systems.

From a pilot run: a file that the benchmark reads, or one with scores of items (CSV or TSV with
columns such as item, trial, score; with --items any that `compare --items` reads). An item is what
two systems are compared on (a dialogue, a goal, a task); with two pilot runs, one of each system,
it is known how alike they are. Items of one cluster (--cluster-column) are not independent. E.g.
  mwzeval power pilot.tsv --difference 5
  mwzeval power ours.tsv theirs.tsv --difference 3 --goals 500,1000 --trials 1,4
  mwzeval power --items pilot.json --difference 5
"""

from __future__ import annotations

import argparse
from collections.abc import Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING, TypeAlias

from mwzeval.arguments import add_files, add_format, add_items, add_places, files_of
from mwzeval.commands.systems.items import (
    advising_benchmark,
    advising_items,
    are_items,
    asked_columns,
    check_without_columns,
)
from mwzeval.commands.systems.scoring import all_of, names_of, scorer_of
from mwzeval.errors import UsageError
from mwzeval.output import warnings_behind, write_result

if TYPE_CHECKING:
    from mwzeval.benchmark import Benchmark, ScoredFile
    from mwzeval.errors import Problem
    from mwzeval.metrics.measure import ScoredTable
    from mwzeval.scores.sheets import Document
    from mwzeval.statistics.power import TwoSided

SUCCESS = "success"
LIVE, SIMULATED = "live", "simulated"
"""Folds of dialogues that a simulated user has held."""
GOALS = (50, 100, 200, 500, 1000)
TRIALS = (1, 2, 4, 8)


def add_arguments(parser: argparse.ArgumentParser, benchmark: Benchmark) -> None:
    """Add the arguments of this verb."""
    add_files(parser, "a pilot run, or one of each of two systems")
    add_items(parser)
    parser.add_argument(
        "--score",
        metavar="NAME",
        help=f"which score (default: {SUCCESS}, else the first of the usual ones that there is)",
    )
    parser.add_argument(
        "--difference",
        type=_positive,
        metavar="D",
        help="the difference that is to be seen, in points of the score",
    )
    parser.add_argument(
        "--power",
        type=_percent,
        default=0.8,
        metavar="PERCENT",
        help="with which probability it is to be seen (default: 80)",
    )
    parser.add_argument(
        "--alpha",
        type=float,
        default=0.05,
        metavar="P",
        help="level of significance of the two-sided test (default: %(default)s)",
    )
    parser.add_argument(
        "--goals",
        type=_numbers,
        metavar="N,…",
        help="numbers of items to look at; no more than the largest can be used (default: "
        f"{','.join(map(str, GOALS))} and those of the pilot, up to all items of the corpus)",
    )
    parser.add_argument(
        "--trials",
        type=_numbers,
        metavar="N,…",
        help=f"numbers of trials of each item to look at (default: {','.join(map(str, TRIALS))}; "
        "1 where the pilot has no second trials)",
    )
    benchmark.add_arguments(parser, "power")
    add_format(parser)
    add_places(parser)


def _positive(text: str) -> float:
    value = float(text)
    if not 0 < value < float("inf"):
        raise argparse.ArgumentTypeError(f"a difference is above 0, not {text}")
    return value


def _percent(text: str) -> float:
    value = float(text.rstrip("%"))
    return value / 100 if value > 1 else value


def _numbers(text: str) -> list[int]:
    numbers = sorted({int(part) for part in text.split(",")})
    if numbers[0] < 1:
        raise argparse.ArgumentTypeError(f"numbers from 1, with commas between, not {text}")
    return numbers


def run(arguments: argparse.Namespace, benchmark: Benchmark) -> int:
    """Score the pilot runs and print what it takes.

    Raises `UsageError` for more trials than the pilot can tell of, a pilot whose items are all the
    same, and impossible levels.
    """
    from mwzeval.report.terminal import printed
    from mwzeval.statistics.power import TwoSided

    try:
        test = TwoSided(arguments.alpha, arguments.power)
    except ValueError as error:
        raise UsageError(str(error)) from None
    files = files_of(arguments)
    if len(files) > 2:
        arguments.parser.error(f"give one pilot run, or two: {len(files)} were given")
    scored, clusters, warnings, in_corpus = _scored(files, arguments, benchmark)
    are_items = _are_items(files, arguments)
    if are_items and arguments.score is not None:
        arguments.score = arguments.score.lower()  # as columns are called
    with warnings_behind(*warnings, can_be_validated=not are_items):
        document = _document(scored, clusters, in_corpus, arguments, benchmark, test)
        write_result(printed(document, arguments.format), arguments.format)
    return 0


def _document(
    scored: Mapping[str, ScoredTable],
    clusters: Mapping[str, str] | None,
    in_corpus: int | None,
    arguments: argparse.Namespace,
    benchmark: Benchmark,
    test: TwoSided,
) -> Document:
    from mwzeval.comparison.alignment import check_comparable
    from mwzeval.comparison.pilots import pilot_of, spreads_of_difference
    from mwzeval.report.power import Question, power_document

    usual = (SUCCESS, *benchmark.headline)
    pilots = {name: pilot_of(of, arguments.score, usual, clusters) for name, of in scored.items()}
    for pilot in pilots.values():
        check_comparable(scored, pilot.name)
    spreads = spreads_of_difference(pilots)
    has_trials = all(spread.within is not None for spread in spreads.values())
    if not has_trials and arguments.trials not in (None, [1]):
        raise UsageError(
            "no item of the pilot run has a second trial, so nothing is known of several: leave "
            "--trials out, or try some items again"
        )
    if not any(spread.of_item(1) for spread in spreads.values()):
        what = "score the same" if len(pilots) == 1 else "differ by the same"
        raise UsageError(
            f"nothing can be planned from this pilot: all its items {what}, so it does not tell "
            "how much items vary; take one that neither wins nor loses everything"
        )
    usual_goals = {*GOALS, *(len(pilot.scores) for pilot in pilots.values())}
    if in_corpus is not None:
        usual_goals = {*(number for number in usual_goals if number < in_corpus), in_corpus}
    question = Question(
        arguments.difference,
        test,
        arguments.goals or sorted(usual_goals),
        arguments.trials or (TRIALS if has_trials else (1,)),
        max(arguments.goals) if arguments.goals else in_corpus,
        in_corpus,
    )
    return power_document(pilots, spreads, question, places=arguments.places)


Scored: TypeAlias = (
    "tuple[dict[str, ScoredTable], Mapping[str, str] | None, Sequence[Sequence[Problem]], "
    "int | None]"
)
"""What was scored of each pilot run, by its name, the cluster of each item if there are any, the
warnings about each file, and the number of items of the corpus, if that is known."""


def _scored(files: list[str], arguments: argparse.Namespace, benchmark: Benchmark) -> Scored:
    """Return what was scored. Raises `InputError` of all files."""
    names = names_of(files)
    if _are_items(files, arguments):
        return _of_items(files, names, arguments, benchmark)
    check_without_columns(arguments)
    scorer = scorer_of(benchmark, arguments)
    with advising_items(files):
        scored = all_of(partial(scorer.score, file) for file in files)
    tables = dict(zip(names, (file.scored_table for file in scored), strict=True))
    in_corpus = _items_of_corpus(scored[0])
    return tables, None, [file.warnings for file in scored], in_corpus


def _items_of_corpus(file: ScoredFile) -> int | None:
    """Return how many items a corpus has; None where a simulation can make more, or for a part."""
    report = file.report()
    if report.meta["fold"] in (LIVE, SIMULATED) or "seeds" in report.meta:
        goals = dict(report.scores[0].signature.choices).get("goals", "").partition("@")[0]
        is_whole = goals.count(":") == 1 and goals.startswith("corpus:")
        return len(set(file.scored_table.table.units)) if is_whole else None
    _, counted = next(iter(report.meta["coverage"].items()))
    return int(counted["of"])


def _are_items(files: Sequence[str], arguments: argparse.Namespace) -> bool:
    return arguments.items or any(map(are_items, files))


def _of_items(
    files: Sequence[str],
    names: Sequence[str],
    arguments: argparse.Namespace,
    benchmark: Benchmark,
) -> Scored:
    from mwzeval.comparison.items import read_items

    with advising_benchmark(files):
        items = read_items(files, asked_columns(arguments, benchmark))
    tables = dict(zip(names, (items.scored[file] for file in files), strict=True))
    return tables, items.clusters, list(items.warnings.values()), None
