"""Score the predictions of a dialogue system.

Prints a table and writes a JSON report. At least one metric must be asked for, e.g.
  evaluate.py --bleu --success --richness --input predictions.json
"""

from __future__ import annotations

import argparse
import sys

from mwzeval.commands.arguments import add_corpus, add_format, add_input, add_intervals
from mwzeval.errors import InputError

STANDARD_OUTPUT = ("-", "/dev/stdout")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of this verb."""
    metrics = parser.add_argument_group("metrics")
    for short, name, what in (
        ("-b", "bleu", "BLEU against every reference set that is there"),
        ("-s", "success", "Inform and Success rates"),
        ("-r", "richness", "lexical richness: distinct n-grams, entropies, lengths, MSTTR"),
        ("-d", "dst", "dialogue state tracking: joint accuracy, slot precision, recall, F1"),
    ):
        metrics.add_argument(short, f"--{name}", action="store_true", help=what)
    add_input(parser)
    parser.add_argument(
        "-o",
        "--output",
        default="evaluation_results.json",
        metavar="OUTPUT.json",
        help="where the JSON report goes (default: %(default)s; - is standard output, instead of "
        "the table)",
    )
    add_corpus(parser)
    parser.add_argument(
        "--references",
        metavar="NAMES",
        help="reference sets for BLEU, with commas between (default: the corpus' own and every "
        "references/*.json in the data folder)",
    )
    add_intervals(parser)
    add_format(parser)
    parser.add_argument(
        "--per-dialogue", action="store_true", help="print the counts of each dialogue instead"
    )
    parser.add_argument("--strict", action="store_true", help="treat every warning as an error")
    parser.add_argument(
        "-q", "--quiet", action="store_true", help="print nothing but errors; only write the report"
    )


def run(arguments: argparse.Namespace) -> int:
    """Score, print and write; return the exit code."""
    if not (arguments.bleu or arguments.success or arguments.richness or arguments.dst):
        arguments.parser.error("ask for at least one metric: --bleu --success --richness --dst")
    from mwzeval.evaluator import Evaluator
    from mwzeval.files import write_atomically
    from mwzeval.multiwoz.predictions import read_predictions
    from mwzeval.report.formats import render
    from mwzeval.report.json import to_json, to_plain
    from mwzeval.report.summary import per_dialogue, summary
    from mwzeval.report.text import warnings_text

    evaluator = Evaluator(
        arguments.bleu,
        arguments.success,
        arguments.richness,
        arguments.dst,
        corpus=arguments.corpus,
        fold=arguments.fold,
        rules=arguments.rules,
        data=arguments.data,
        offline=arguments.offline,
        references=arguments.references,
        confidence=arguments.ci,
        samples=arguments.samples,
        seed=arguments.seed,
    )
    report = evaluator.report(
        read_predictions(arguments.input), file=arguments.input, progress=not arguments.quiet
    )
    if arguments.strict and report.warnings:
        raise InputError(report.warnings)
    if not arguments.quiet:
        sys.stderr.write(warnings_text(report.warnings))
    if arguments.output in STANDARD_OUTPUT:
        sys.stdout.write(to_json(to_plain(report)))
        return 0
    write_atomically(arguments.output, to_json(to_plain(report)))
    if not arguments.quiet:
        document = (
            per_dialogue(report)
            if arguments.per_dialogue
            else summary(report, places=arguments.places)
        )
        sys.stdout.write(render(document, arguments.format))
    return 0
