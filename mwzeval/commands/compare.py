"""Compare systems with a baseline: differences, intervals, p values and ranks.

The first system is the baseline. Dialogues and scores that are missing for any system are excluded
from the comparison. Systems with different signatures (for example because of gold states or other
rules) are shown in separate tables. Examples:
  mwzeval compare baseline.json ours.json
  mwzeval compare baseline=b1.json,b2.json,b3.json ours=o1.json,o2.json,o3.json  # runs (seeds)
  mwzeval compare --items theirs.eval ours.eval                       # of any other benchmark
"""

from __future__ import annotations

import argparse
from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from mwzeval.arguments import (
    add_files,
    add_format,
    add_places,
    add_resampling,
    level,
    resampling_of,
)
from mwzeval.benchmark import Benchmark
from mwzeval.commands.systems import (
    add_items,
    check_without_items,
    named_systems,
    read_items,
    score_files,
    unit_of,
)
from mwzeval.errors import Problem, UsageError, conditions
from mwzeval.files.reading import shortest_ends
from mwzeval.output import notify, warnings_behind, write_output, write_result


def add_arguments(parser: argparse.ArgumentParser, benchmark: Benchmark) -> None:
    from mwzeval.comparison.comparison import INTERVALS

    add_files(parser, "two or more systems, the baseline first: each a file, or NAME=RUN,RUN")
    add_items(parser)
    parser.add_argument(
        "--score",
        metavar="NAME,…",
        help="with --items: columns that contain scores (default: detected by name or format)",
    )
    parser.add_argument(
        "--lower-is-better",
        metavar="NAME,…",
        help="with --items: scores that are better when lower, such as error rates",
    )
    parser.add_argument(
        "--all",
        action="store_true",
        help="compare all scores (default: the main scores)",
    )
    either = parser.add_mutually_exclusive_group()
    either.add_argument(
        "--scopes",
        action="store_true",
        help=f"also compare the scores of each {benchmark.words.scope}",
    )
    either.add_argument(
        "--table",
        choices=INTERVALS,
        help="print a single table for a paper: one row per system, one column per score. The "
        "best score of a column is bold or has a star; a dagger marks scores that do not "
        "differ significantly from the best. Intervals are shown as [low, high], as ± half "
        "their width, or not at all",
    )
    parser.add_argument(
        "--alpha",
        type=level,
        default=0.05,
        metavar="P",
        help="significance level of corrected p values; the confidence level of intervals is 1 - P "
        "(default: %(default)s)",
    )
    add_resampling(parser)
    parser.add_argument(
        "-o", "--output", metavar="FILE", help="output file (default: standard output)"
    )
    benchmark.add_arguments(parser, "compare")
    add_format(parser)
    add_places(parser)


def run(arguments: argparse.Namespace, benchmark: Benchmark) -> int:
    from mwzeval.comparison import compare
    from mwzeval.comparison.comparison import NONE, comparison_document, paper_document
    from mwzeval.comparison.items import directions
    from mwzeval.comparison.systems import STRESS, choice_of, without_choice
    from mwzeval.scores.sheets import printed, render

    systems = named_systems(arguments)
    given = Counter(run for runs in systems.values() for run in runs)
    for file in given:
        if given[file] > 1:
            notify(f"warning: {file} is given more than once")
    files = list(given)
    warnings: dict[str, Sequence[Problem]]
    options: dict[str, Any]
    if arguments.items:
        if arguments.scopes:
            raise UsageError("--scopes cannot be combined with --items: items have no scopes")
        items = read_items(files, arguments, benchmark)
        tables, warnings = dict(items.scored), dict(items.warnings)
        options = {"unit": "item", "clusters": items.clusters}
    else:
        check_without_items(arguments, "score", "lower_is_better")
        if benchmark.no_runs and any(len(runs) > 1 for runs in systems.values()):
            raise UsageError(benchmark.no_runs)
        scorer = benchmark.scorer(arguments)
        scopes, headline = scorer.compared
        headline = benchmark.headline if headline is None else headline
        scored = [*score_files(files, arguments, benchmark, scorer).values()]
        tables = {file: system.scored_table for file, system in zip(files, scored, strict=True)}
        warnings = {file: system.warnings for file, system in zip(files, scored, strict=True)}
        options = {
            "scopes": arguments.scopes or scopes,
            "headline": () if arguments.all else headline,
            "unit": unit_of(benchmark.words, tables.values()),
        }
    called = dict(zip(files, shortest_ends(files), strict=True))
    doubts: Sequence[Problem] = ()
    chosen = {file: choice_of(table, STRESS) for file, table in tables.items()}
    if len(set(chosen.values())) > 1:
        tables = {file: without_choice(table, STRESS) for file, table in tables.items()}
        listed = ", ".join(f"{called[file]} {choice}" for file, choice in chosen.items())
        message = f"the dialogues were held under different conditions: {listed}"
        doubts = [Problem("other-conditions", message, "warning")]
    comparison = compare(
        {name: {called[run]: tables[run] for run in runs} for name, runs in systems.items()},
        resampling=resampling_of(arguments, round(1 - arguments.alpha, 9)),
        level=arguments.alpha,
        intervals=arguments.table not in (None, NONE),
        **options,
    )
    found = {
        name: tuple(conditions(problem for run in runs for problem in warnings[run]))
        for name, runs in systems.items()
    }
    comparison = replace(comparison, conditions={n: texts for n, texts in found.items() if texts})
    doubts = [*doubts, *(directions(comparison) if arguments.items else ())]
    with warnings_behind(*warnings.values(), doubts, can_be_validated=not arguments.items):
        document = comparison_document(comparison, places=arguments.places)
        if arguments.table:
            document = paper_document(comparison, arguments.table, places=arguments.places)
        if arguments.output in (None, "-"):
            write_result(printed(document, arguments.format), arguments.format)
        else:
            write_output(arguments.output, render(document, arguments.format))
    return 0
