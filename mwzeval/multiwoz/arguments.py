"""The options of MultiWOZ: what verbs share about predictions, metrics and corpora."""

from __future__ import annotations

import argparse
from typing import Any

from mwzeval.arguments import add_data
from mwzeval.multiwoz.choices import (
    AUTO,
    CORPUS_NAMES,
    FOLDS,
    INPUT_FORMATS,
    RESPONSES,
    RULES,
)
from mwzeval.multiwoz.tracking.conventions import CHOICES, FUZZY95, PRESETS


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
    """Return what `add_reading` or `add_corpus` adds, as arguments of an `Evaluator`."""
    what = ("corpus", "fold", "rules", "data", "offline")
    names = (*what, "input_format", "responses", "unfilled")
    return {name: getattr(arguments, name) for name in names if hasattr(arguments, name)}


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
