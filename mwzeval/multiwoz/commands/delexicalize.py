"""Put placeholders for what lexicalised responses say, as the database knows it.

Writes predictions with all else as it was, and prints how many mentions of which slots there are,
how many of them the database does not have, and how many could be read otherwise.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from mwzeval.arguments import add_format
from mwzeval.errors import InputError
from mwzeval.multiwoz.benchmark import add_corpus, add_input_format, add_unfilled
from mwzeval.output import write_result

if TYPE_CHECKING:
    from mwzeval.report.sheet import Document

STANDARD_OUTPUT = ("-", "/dev/stdout")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of this verb."""
    parser.add_argument(
        "predictions",
        metavar="PREDICTIONS",
        help="predictions: .json or .jsonl, also .gz or .zst; - reads JSON from standard input",
    )
    parser.add_argument(
        "-o",
        "--output",
        required=True,
        metavar="OUTPUT.json",
        help="where the delexicalised predictions go (- is standard output; the table then goes "
        "to standard error)",
    )
    parser.add_argument(
        "--mentions",
        metavar="FILE.jsonl",
        help="also write every mention: its place and text, slot and domain, the database's value "
        "and venues, and whether it is sure",
    )
    add_format(parser)
    add_input_format(parser)
    add_unfilled(parser)
    add_corpus(parser)
    parser.add_argument("--strict", action="store_true", help="treat every warning as an error")


def run(arguments: argparse.Namespace) -> int:
    """Delexicalise, write and print; return the exit code.

    Raises `InputError` for warnings when strict.
    """
    from mwzeval.files.writing import write_atomically
    from mwzeval.multiwoz.choices import LEXICALIZED
    from mwzeval.multiwoz.evaluator import Evaluator
    from mwzeval.multiwoz.formats.adaptation import adapt
    from mwzeval.multiwoz.predictions.reading import Findings, read_predictions
    from mwzeval.multiwoz.words.delexicalized_predictions import DelexicalizedInput
    from mwzeval.report.formats import render, warnings_text

    evaluator = Evaluator(
        corpus=arguments.corpus,
        fold=arguments.fold,
        rules=arguments.rules,
        data=arguments.data,
        offline=arguments.offline,
        input_format=arguments.input_format,
        responses=LEXICALIZED,
        unfilled=arguments.unfilled,
    )
    raw = read_predictions(arguments.predictions)
    checked = evaluator.checked(raw, file=arguments.predictions)
    if arguments.strict and checked.warnings:
        raise InputError(checked.warnings)
    sys.stderr.write(warnings_text(checked.warnings))
    delexicalized = DelexicalizedInput.of(checked.scorer, checked.dialogues)
    if arguments.mentions:
        lines = (json.dumps(record, ensure_ascii=False) for record in delexicalized.records())
        write_atomically(arguments.mentions, "".join(f"{line}\n" for line in lines))
    # The same once more, because what is written keeps keys that nobody scores.
    adapted = adapt(raw, arguments.input_format, Findings())
    written = json.dumps(delexicalized.written_into(adapted), indent=1, ensure_ascii=False) + "\n"
    table = render(_document(delexicalized.account.plain()), arguments.format)
    if arguments.output in STANDARD_OUTPUT:
        sys.stdout.write(written)
        sys.stderr.write(table)
    else:
        write_atomically(arguments.output, written)
        write_result(table, arguments.format)
    return 0


def _document(account: Mapping[str, Any]) -> Document:
    from mwzeval.report.sheet import Document, sheet

    slots: Mapping[str, Mapping[str, int | None]] = account["slots"]
    mentions = sum(counts["mentions"] or 0 for counts in slots.values())
    heading = (
        f"{account['with_mentions']} of {account['turns']} turns mention something: "
        f"{mentions} mentions"
    )
    rows = [
        [slot, *("" if counts[key] is None else str(counts[key]) for key in COLUMNS)]
        for slot, counts in slots.items()
    ]
    return Document(
        heading=(heading,),
        sheets=(sheet("", ["", *COLUMNS.values()], rows),),
        notes=(),
        records=tuple({"slot": slot, **counts} for slot, counts in slots.items()),
        plain=account,
    )


COLUMNS = {"mentions": "mentions", "not_in_database": "not in database", "unsure": "unsure"}
"""Keys of an account, and what stands above them."""
