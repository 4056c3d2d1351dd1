"""Count how often each slot is correct, missing, spurious or wrong, with frequent confusions.

A slot is missing when only the annotation has it, spurious when only the prediction has it, and
wrong when the values differ.
"""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING

from mwzeval.arguments import add_files, add_format, file_of
from mwzeval.errors import UsageError
from mwzeval.multiwoz import NAME
from mwzeval.multiwoz.benchmark import add_dst_rules, add_reading, scorer_of
from mwzeval.output import warnings_behind, write_result

if TYPE_CHECKING:
    from mwzeval.scores.report import Report
    from mwzeval.scores.sheets import Document

NOTE = (
    "number of turns in which a slot was correct, missing (annotated but not predicted), "
    "spurious (predicted but not annotated) or wrong (predicted with a different value); gold → "
    "predicted: the most frequent wrong values"
)
SHOWN = 2
"""Maximum number of confusions in a row of a table; records and JSON contain more."""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of this command."""
    parser.set_defaults(benchmark=NAME)
    add_files(parser, "a system's file", several=False)
    add_dst_rules(parser, "exact")
    add_reading(parser)
    add_format(parser)


def run(arguments: argparse.Namespace) -> int:
    """Print the state errors in a table for each tracking rule; return 0.

    Raises `UsageError` for a file without states.
    """
    from mwzeval.scores.sheets import printed

    arguments.dst_rule = arguments.dst_rule or ["exact"]
    file = file_of(arguments)
    report = scorer_of(arguments).score(file).report()
    document = _document(report)
    if not document.sheets:
        raise UsageError(f"{file} has turns without a state, so errors cannot be counted")
    with warnings_behind(report.warnings):
        write_result(printed(document, arguments.format), arguments.format)
    return 0


def _document(report: Report) -> Document:
    """Return a table for each rule (none without states) and a record for each slot."""
    from mwzeval.scores.sheets import Document, sheet

    by_rule = {
        rule: scores["errors"] for rule, scores in (report.metrics.get("dst_rules") or {}).items()
    }
    sheets, records = [], []
    for rule, of_slots in by_rule.items():
        rows = []
        for slot, errors in of_slots.items():
            counts = {kind: number for kind, number in errors.items() if kind != "confusions"}
            confusions = [
                "{gold} → {predicted} ({turns})".format(**confusion)
                for confusion in errors["confusions"]
            ]
            rows.append([slot, *map(str, counts.values()), "; ".join(confusions[:SHOWN])])
            everything = "; ".join(confusions)
            records.append({"rule": rule, "slot": slot, **counts, "confusions": everything})
        header = ["slot", "correct", "missing", "spurious", "wrong", "gold → predicted"]
        sheets.append(sheet(rule, header, rows))
    return Document(
        heading=(f"{report.meta['corpus']}, {report.meta['fold']} fold",),
        sheets=tuple(sheets),
        notes=(NOTE,),
        records=tuple(records),
        plain={"dst_errors": by_rule},
    )
