"""Arguments that several verbs share."""

from __future__ import annotations

import argparse

from mwzeval.multiwoz.choices import AUTO, CORPUS_NAMES, FOLDS, RULES


def add_input(parser: argparse.ArgumentParser) -> None:
    """Add `-i`, the predictions file."""
    parser.add_argument(
        "-i",
        "--input",
        required=True,
        metavar="INPUT.json",
        help="predictions: .json or .jsonl, also .gz or .zst; - reads JSON from standard input",
    )


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
