"""Score the gold responses and states of a fold: how high the scores of a system can be.

The gold annotation is scored as a system's predictions are, with all metrics.
"""

from __future__ import annotations

import argparse

from mwzeval.commands.arguments import add_corpus, add_format, add_intervals, add_references
from mwzeval.output import write_result


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of this verb."""
    add_corpus(parser)
    add_references(parser)
    add_intervals(parser)
    add_format(parser)
    parser.add_argument(
        "-o", "--output", metavar="OUTPUT.json", help="also write a JSON report, as of a system"
    )


def run(arguments: argparse.Namespace) -> int:
    """Score and print; write a report if asked to."""
    from mwzeval.evaluator import Evaluator
    from mwzeval.files import write_atomically
    from mwzeval.multiwoz.ceiling import gold_predictions
    from mwzeval.multiwoz.choices import AUTO, DEFAULT_CORPUS
    from mwzeval.multiwoz.corpus import corpus_root, load_fold
    from mwzeval.report.ceiling import ceiling_report, ceiling_summary
    from mwzeval.report.formats import render
    from mwzeval.report.json import to_json, to_plain

    evaluator = Evaluator(
        bleu=True,
        success=True,
        richness=True,
        dst=True,
        corpus=DEFAULT_CORPUS if arguments.corpus == AUTO else arguments.corpus,
        fold=arguments.fold,
        rules=arguments.rules,
        data=arguments.data,
        offline=arguments.offline,
        references=arguments.references,
        confidence=arguments.ci,
        samples=arguments.samples,
        seed=arguments.seed,
    )
    root = corpus_root(evaluator.corpus, evaluator.data, offline=evaluator.offline)
    gold = load_fold(evaluator.corpus, evaluator.fold, root)
    report = ceiling_report(evaluator.report(gold_predictions(gold), progress=True))
    if arguments.output:
        write_atomically(arguments.output, to_json(to_plain(report)))
    document = ceiling_summary(report, places=arguments.places)
    write_result(render(document, arguments.format), arguments.format)
    return 0
