"""Arguments that several verbs share."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from typing import Any

from mwzeval.multiwoz.choices import (
    AUTO,
    CORPUS_NAMES,
    FOLDS,
    INPUT_FORMATS,
    RESPONSES,
    RULES,
)
from mwzeval.multiwoz.state_conventions import CHOICES, FUZZY95, PRESETS
from mwzeval.statistics import CONFIDENCE, SAMPLES, SEED

FORMATS = ("text", "json", "jsonl", "csv", "markdown", "latex")
"""Formats of tables; some verbs have more."""


def add_input(parser: argparse.ArgumentParser) -> None:
    """Add the predictions file, with `-i` or without; `input_of` returns it."""
    parser.add_argument("file", nargs="?", metavar="INPUT.json", help="the same as -i")
    parser.add_argument(
        "-i",
        "--input",
        metavar="INPUT.json",
        help="predictions: .json or .jsonl, also .gz or .zst; - reads JSON from standard input",
    )


def input_of(arguments: argparse.Namespace) -> str:
    """Return the one file that `add_input` was given."""
    given = [file for file in (arguments.input, arguments.file) if file is not None]
    if len(given) != 1:
        arguments.parser.error("name one file: -i INPUT.json")
    return str(given[0])


def add_input_format(parser: argparse.ArgumentParser) -> None:
    """Add `--input-format`, how predictions are written."""
    parser.add_argument(
        "--input-format",
        default=AUTO,
        choices=INPUT_FORMATS,
        help=f"how predictions are written: {', '.join(INPUT_FORMATS)} (default: auto, told by "
        "their shape)",
    )


def add_reading(parser: argparse.ArgumentParser) -> None:
    """Add how predictions are read, and what they are held against."""
    add_input_format(parser)
    add_responses(parser)
    add_unfilled(parser)
    add_corpus(parser)


def reading(arguments: argparse.Namespace) -> dict[str, Any]:
    """Return what `add_reading` adds, as arguments of an `Evaluator`."""
    what = ("corpus", "fold", "rules", "data", "offline")
    names = (*what, "input_format", "responses", "unfilled")
    return {name: getattr(arguments, name) for name in names}


def add_corpus(parser: argparse.ArgumentParser) -> None:
    """Add the choice of corpus and rules, and where data come from."""
    parser.add_argument(
        "--corpus",
        default=AUTO,
        metavar="NAME",
        help=f"{', '.join(CORPUS_NAMES)}, or auto (default): sample for the sample's dialogues, "
        "else multiwoz-2.2",
    )
    parser.add_argument(
        "--fold", default="test", metavar="FOLD", help=f"{', '.join(FOLDS)} (default: test)"
    )
    parser.add_argument(
        "--rules",
        default="2021",
        metavar="YEAR",
        help=f"normalisation rules, {' or '.join(RULES)} (default: 2021, those of the leaderboard)",
    )
    add_data(parser)


def add_data(parser: argparse.ArgumentParser) -> None:
    """Add where data come from."""
    parser.add_argument(
        "--data",
        metavar="DIR",
        help="folder with the public files (default: MWZEVAL_DATA, else a cache that is filled "
        "by download when needed)",
    )
    parser.add_argument(
        "--offline",
        action="store_true",
        default=None,
        help="never use the network (also MWZEVAL_OFFLINE=1)",
    )


def add_dst_rules(parser: argparse._ActionsContainer) -> None:
    """Add `--dst-rule`, further rules for state tracking."""
    parser.add_argument(
        "--dst-rule",
        action="append",
        default=[],
        metavar="RULE,…",
        help=f"state tracking as published elsewhere: {', '.join(PRESETS)}, or one with changed "
        f"choices, such as exact+dontcare=absent ({', '.join(CHOICES)}; see docs/dst.md); "
        f"{FUZZY95} is --dst",
    )


def add_responses(parser: argparse.ArgumentParser) -> None:
    """Add whether responses are in words or have placeholders."""
    parser.add_argument(
        "--responses",
        default=AUTO,
        choices=RESPONSES,
        help="lexicalized responses are delexicalised with the database before they are scored; "
        "delexicalized ones have placeholders; auto (default): as most of the input "
        "(docs/delexicalization.md)",
    )


def add_unfilled(parser: argparse.ArgumentParser) -> None:
    """Add the values of states that say that a slot is not filled."""
    parser.add_argument(
        "--unfilled",
        default=(),
        metavar="VALUE,…",
        help="values of states that say that a slot is not filled, such as none,'not mentioned' "
        "('' is the empty value); by default they are values like any other",
    )


def add_references(parser: argparse.ArgumentParser) -> None:
    """Add the choice of reference sets for BLEU."""
    parser.add_argument(
        "--references",
        metavar="NAMES",
        help="reference sets for BLEU, with commas between (default: the corpus' own and every "
        "references/*.json in the data folder)",
    )


def add_intervals(parser: argparse.ArgumentParser) -> None:
    """Add intervals: their confidence, and how resamples are drawn."""
    parser.add_argument(
        "--ci",
        nargs="?",
        type=_confidence,
        const=CONFIDENCE,
        metavar="PERCENT",
        help="print an interval with every score (default: 95 %%)",
    )
    add_resampling(parser)


def add_resampling(parser: argparse.ArgumentParser) -> None:
    """Add how resamples are drawn."""
    parser.add_argument(
        "--samples", type=int, default=SAMPLES, metavar="N", help="resamples (default: %(default)s)"
    )
    parser.add_argument(
        "--seed", type=int, default=SEED, metavar="N", help="seed of resampling (%(default)s)"
    )


def _confidence(text: str) -> float:
    try:
        value = float(text.rstrip("%"))
    except ValueError:
        message = f"a percentage, such as 95, not {text!r} (if this is a file: put it before --ci)"
        raise argparse.ArgumentTypeError(message) from None
    return value / 100 if value > 1 else value


def add_format(parser: argparse.ArgumentParser, formats: Sequence[str] = ()) -> None:
    """Add `-f`, the format of what is printed, and the number of decimals."""
    choices = formats or FORMATS
    parser.add_argument(
        "-f",
        "--format",
        default="text",
        choices=choices,
        help=f"what is printed: {', '.join(choices)} (default: text)",
    )
    parser.add_argument(
        "--places", type=_places, metavar="N", help="decimals (default: as is customary)"
    )


def _places(text: str) -> int:
    places = int(text)
    if not 0 <= places <= 12:
        raise ValueError(text)
    return places
