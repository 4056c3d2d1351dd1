"""Options about columns of files of items, as what they ask for."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING

from mwzeval.errors import UsageError

if TYPE_CHECKING:
    from mwzeval.comparison.items import Asked

COLUMNS = ("item_column", "cluster_column", "trial_column")

ENDINGS = (".csv", ".tsv", ".eval")
"""Files that are no predictions of a benchmark, whatever is in them."""


def are_items(file: str) -> bool:
    """Tell whether a file has scores of items by its name, perhaps compressed."""
    name = file.lower()
    for compressed in (".gz", ".zst"):
        name = name.removesuffix(compressed)
    return name.endswith(ENDINGS)


def asked_columns(arguments: argparse.Namespace) -> Asked:
    """Return what is asked for. `--score` may name several columns, with commas between."""
    from mwzeval.comparison.items import Asked

    scores: str = arguments.score or ""
    return Asked(
        arguments.item_column,
        tuple(name.strip() for name in scores.split(",") if name.strip()),
        arguments.cluster_column,
        arguments.trial_column,
    )


def check_without_columns(arguments: argparse.Namespace, *others: str) -> None:
    """Raise `UsageError` when columns, or `others`, are named of files that have none."""
    for option in (*COLUMNS, *others):
        if getattr(arguments, option) is not None:
            raise UsageError(
                f"--{option.replace('_', '-')} is of files with scores of items: add --items"
            )
