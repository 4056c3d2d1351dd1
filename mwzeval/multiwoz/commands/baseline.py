"""Run a baseline system over a fold and write its predictions.

The baseline `template` is a template-based policy that uses the database. The policy gets the gold
states, and uses the user's utterances only to find requested slots by keywords; see
docs/multiwoz.md.
"""

from __future__ import annotations

import argparse

from mwzeval.multiwoz.benchmark import add_corpus
from mwzeval.output import write_output, write_result

SYSTEMS = ("template",)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of this command."""
    parser.add_argument("system", choices=SYSTEMS, help="the baseline system: template")
    parser.add_argument(
        "-o",
        "--output",
        required=True,
        metavar="FILE",
        help="output file: .json or .jsonl; - writes JSON to standard output",
    )
    add_corpus(parser)
    parser.add_argument(
        "--lexicalized",
        action="store_true",
        help="write lexicalized responses, with values of the database instead of placeholders",
    )
    parser.add_argument(
        "--states",
        action="store_true",
        help="also write the gold states; in a file without states, the evaluation uses the "
        "gold states and prints a warning",
    )


def run(arguments: argparse.Namespace) -> int:
    """Run the system and write its predictions; return the exit code.

    Raises `UsageError` if the name of the output file ends in neither .json nor .jsonl.
    """
    from mwzeval.files.reading import STANDARD_INPUT
    from mwzeval.multiwoz.choices import FOLDS, RULES, corpus_named, known_name
    from mwzeval.multiwoz.corpus import corpus_root, load_fold
    from mwzeval.multiwoz.predictions import check_name, predictions_text
    from mwzeval.multiwoz.template_system import baseline_predictions, known_services

    check_name(arguments.output)
    corpus = corpus_named(arguments.corpus)
    fold = known_name("fold", arguments.fold, FOLDS)
    rules = known_name("rules", arguments.rules, RULES)
    root = corpus_root(corpus, arguments.data)
    predictions = baseline_predictions(
        load_fold(corpus, fold, root),
        rules,
        states=arguments.states,
        services=known_services(root) if arguments.lexicalized else None,
    )
    text = predictions_text(predictions, arguments.output)
    if arguments.output == STANDARD_INPUT:
        write_result(text, "json")
        return 0
    count = f"{len(predictions)} dialogues, {sum(map(len, predictions.values()))} turns"
    write_output(arguments.output, text, f": {count} of the {fold} fold of {corpus}")
    return 0
