"""Compute how many items and trials are needed to detect a difference between two systems.

The input is a pilot run: either a file that the benchmark reads, or scores of items. Scores of
items are read from CSV or TSV files with columns such as item, trial and score. With --items, all
formats of `compare --items` can be read. An item is the unit of the comparison (a dialogue, a goal,
a task). Two pilot runs, one of each system, show how often the systems agree. Items in the same
cluster (--cluster-column) are not independent. Examples:
  mwzeval power pilot.tsv --difference 5
  mwzeval power ours.tsv theirs.tsv --difference 3 --goals 500,1000 --trials 1,4
  mwzeval power --items pilot.json --difference 5
"""

from __future__ import annotations

import argparse

from mwzeval.arguments import add_files, add_format, add_places, files_of, level, number, share
from mwzeval.benchmark import Benchmark, ScoredFile
from mwzeval.commands.systems import (
    add_items,
    are_items,
    check_without_items,
    names_of,
    read_items,
    score_files,
)
from mwzeval.output import warnings_behind, write_result

SUCCESS = "success"
LIVE, SIMULATED = "live", "simulated"
"""The folds that consist of dialogues with a simulated user."""


def add_arguments(parser: argparse.ArgumentParser, benchmark: Benchmark) -> None:
    from mwzeval.comparison.power import GOALS, TRIALS

    add_files(parser, "a pilot run of one system, or one run of each of two systems")
    add_items(parser)
    parser.add_argument(
        "--score",
        metavar="NAME",
        help=f"score to plan for (default: {SUCCESS}, else the first main score that the file has)",
    )
    parser.add_argument(
        "--difference",
        type=number(lambda value: 0 < value < float("inf"), "a difference above 0"),
        metavar="D",
        help="difference to detect, in points of the score",
    )
    parser.add_argument(
        "--power",
        type=_power,
        default=0.8,
        metavar="PERCENT",
        help="probability of detecting the difference, in %% (default: 80)",
    )
    parser.add_argument(
        "--alpha",
        type=level,
        default=0.05,
        metavar="P",
        help="significance level of the two-sided test (default: %(default)s)",
    )
    parser.add_argument(
        "--goals",
        type=_numbers,
        metavar="N,…",
        help="numbers of items to compute the power for, of which the largest is taken as the "
        f"number of available items (default: {','.join(map(str, GOALS))} and the number in the "
        "pilot, up to all items of the corpus)",
    )
    parser.add_argument(
        "--trials",
        type=_numbers,
        metavar="N,…",
        help="numbers of trials per item to compute the power for (default: "
        f"{','.join(map(str, TRIALS))}; 1 if the pilot has no second trials)",
    )
    benchmark.add_arguments(parser, "power")
    add_format(parser)
    add_places(parser)


_power = number(
    lambda value: 0.5 <= value < 1, "a power of at least 50 and less than 100 %, such as 80", share
)
_numbers = number(
    lambda numbers: numbers[0] >= 1,
    "whole numbers from 1, separated by commas",
    lambda text: sorted(set(map(int, text.split(",")))),
)


def run(arguments: argparse.Namespace, benchmark: Benchmark) -> int:
    from mwzeval.comparison.power import TwoSided, pilots_of, power_document
    from mwzeval.scores.sheets import printed

    files = files_of(arguments)
    if len(files) > 2:
        arguments.parser.error(f"give one or two pilot runs: got {len(files)}")
    clusters, in_corpus, name = None, None, arguments.score
    if is_of_items := arguments.items or any(map(are_items, files)):
        items = read_items(files, arguments, benchmark)
        tables = [items.scored[file] for file in files]
        clusters, warnings = items.clusters, list(items.warnings.values())
        name = name and name.lower()  # as the names of columns
    else:
        check_without_items(arguments)
        scored = [*score_files(files, arguments, benchmark).values()]
        tables = [file.scored_table for file in scored]
        warnings = [tuple(file.warnings) for file in scored]
        in_corpus = _items_of_corpus(scored[0])
    systems = dict(zip(names_of(files), tables, strict=True))
    with warnings_behind(*warnings, can_be_validated=not is_of_items):
        usual = (SUCCESS, *benchmark.headline)
        pilots = pilots_of(systems, name, usual, clusters)
        document = power_document(
            pilots,
            TwoSided(arguments.alpha, arguments.power),
            difference=arguments.difference,
            goals=arguments.goals or (),
            trials=arguments.trials or (),
            in_corpus=in_corpus,
            places=arguments.places,
        )
        write_result(printed(document, arguments.format), arguments.format)
    return 0


def _items_of_corpus(file: ScoredFile) -> int | None:
    """Return the number of items of a corpus; None for simulations and parts of a corpus."""
    report = file.report()
    if report.meta["fold"] in (LIVE, SIMULATED) or "seeds" in report.meta:
        goals = dict(report.scores[0].signature.choices).get("goals", "").partition("@")[0]
        is_whole = goals.count(":") == 1 and goals.startswith("corpus:")
        return len(set(file.scored_table.table.units)) if is_whole else None
    _, counted = next(iter(report.meta["coverage"].items()))
    return int(counted["of"])
