"""Replace values of the database in lexicalized responses with placeholders.

Everything else in the predictions is unchanged. A table shows the number of mentions of each slot,
of mentions that are not in the database, and of ambiguous mentions.
"""

from __future__ import annotations

import argparse
import sys
from collections import Counter
from collections.abc import Iterable
from typing import TYPE_CHECKING

from mwzeval.arguments import STANDARD_OUTPUT, add_files, add_format, file_of
from mwzeval.errors import InputError
from mwzeval.multiwoz.benchmark import add_corpus, add_input_format, add_options, reading
from mwzeval.multiwoz.placeholders import known_placeholders
from mwzeval.multiwoz.words.text import Delexicalized
from mwzeval.output import warnings_behind, write_output, write_result

if TYPE_CHECKING:
    from mwzeval.scores.sheets import Document

NOT_OF_DATABASE = frozenset({"parking", "internet", "openhours", "reference", "count"})
"""Slots in the results of functions that are not looked up in the database."""
COLUMNS = {"mentions": "mentions", "not_in_database": "not in database", "unsure": "unsure"}
"""The column header for each key of a slot's counts."""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of this command."""
    add_files(
        parser,
        "predictions: .json or .jsonl, also .gz, .xz or .zst; - reads JSON from standard input",
        several=False,
    )
    parser.add_argument(
        "-o",
        "--output",
        required=True,
        metavar="OUTPUT.json",
        help="output file for the delexicalized predictions (- is standard output; the table "
        "then goes to standard error)",
    )
    parser.add_argument(
        "--mentions",
        metavar="FILE.jsonl",
        help="also write a list of all mentions: position, text, slot, domain, value and venues "
        "in the database, and whether the mention is certain",
    )
    add_format(parser)
    add_input_format(parser)
    add_options(parser, "--unfilled")
    add_corpus(parser)
    parser.add_argument("--strict", action="store_true", help="treat every warning as an error")


def run(arguments: argparse.Namespace) -> int:
    """Write the delexicalized predictions and print the counts of mentions; return 0.

    With `--strict`, raises `InputError` if there are warnings.
    """
    from mwzeval.multiwoz.choices import LEXICALIZED
    from mwzeval.multiwoz.evaluator import Evaluator
    from mwzeval.multiwoz.formats import adapt
    from mwzeval.multiwoz.predictions import predictions_text, read_predictions
    from mwzeval.scores.findings import Findings
    from mwzeval.scores.sheets import printed, render
    from mwzeval.text import json_line

    evaluator = Evaluator(**reading(arguments), responses=LEXICALIZED)
    file = file_of(arguments)
    raw = read_predictions(file)
    checked = evaluator.checked(raw, file=file)
    if arguments.strict and checked.warnings:
        raise InputError(checked.warnings)
    delexicalized = {
        name: checked.scorer.delexicalized(name, turns, checked.sources)
        for name, turns in checked.dialogues.items()
    }
    if arguments.mentions:
        lines = (
            json_line({"dialogue": name, "turn": number, **mention._asdict()}) + "\n"
            for name, turns in delexicalized.items()
            for number, turn in enumerate(turns)
            for mention in turn.mentions
        )
        write_output(arguments.mentions, "".join(lines))
    # The input is converted again, because the output also has the keys that are not scored.
    adapted = adapt(raw, arguments.input_format, Findings(), evaluator.tools)
    filled = {
        name: [
            {**turn, "response": found.response}
            for turn, found in zip(adapted[name], turns, strict=True)
        ]
        for name, turns in delexicalized.items()
    }
    written = predictions_text(filled, arguments.output)
    responses = [turn.response or "" for turns in checked.dialogues.values() for turn in turns]
    found = [turn for turns in delexicalized.values() for turn in turns]
    table = _document(responses, found)
    with warnings_behind(checked.warnings):
        if arguments.output in STANDARD_OUTPUT:
            write_result(written, "json")
            sys.stderr.write(render(table, arguments.format))
        else:
            write_output(arguments.output, written)
            write_result(printed(table, arguments.format), arguments.format)
    return 0


def _document(responses: Iterable[str], turns: list[Delexicalized]) -> Document:
    """Return the numbers of turns and of mentions by slot, the most frequent slot first.

    `not_in_database` counts values that are not in the database although the slot is. `unsure`
    counts ambiguous values and misspelled names.
    """
    from mwzeval.multiwoz.functions import RETURNED
    from mwzeval.scores.sheets import Document, sheet

    of_database = frozenset(RETURNED) - NOT_OF_DATABASE
    mentions = [mention for turn in turns for mention in turn.mentions]
    unknown = Counter(mention.slot for mention in mentions if mention.value is None)
    unsure = Counter(mention.slot for mention in mentions if not mention.sure)
    often = Counter(mention.slot for mention in mentions)
    slots: dict[str, dict[str, int | None]] = {}
    for slot, times in sorted(often.items(), key=lambda item: (-item[1], item[0])):
        not_found = unknown[slot] if slot in of_database else None
        slots[slot] = dict(zip(COLUMNS, (times, not_found, unsure[slot]), strict=True))
    with_mentions = sum(bool(turn.mentions) for turn in turns)
    heading = f"{len(mentions)} mentions in {with_mentions} of {len(turns)} turns"
    rows = [
        [slot, *("" if counts[key] is None else str(counts[key]) for key in COLUMNS)]
        for slot, counts in slots.items()
    ]
    return Document(
        heading=(heading,),
        sheets=(sheet("", ["", *COLUMNS.values()], rows),),
        notes=(),
        records=tuple({"slot": slot, **counts} for slot, counts in slots.items()),
        plain={
            "turns": len(turns),
            "with_mentions": with_mentions,
            "with_placeholders": sum(bool(known_placeholders(text)) for text in responses),
            "slots": slots,
        },
    )
