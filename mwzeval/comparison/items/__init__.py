"""Scores of single items that other programs wrote, of any benchmark; knows no dataset.

Each format has a module that reads it as rows with named values; from there on all are alike.
`read_items` takes files that are compared with each other.
"""

from mwzeval.comparison.items.naming import Asked, may_be_lower
from mwzeval.comparison.items.recognition import is_log
from mwzeval.comparison.items.scored import ItemScores, read_items

__all__ = ["Asked", "ItemScores", "is_log", "may_be_lower", "read_items"]
