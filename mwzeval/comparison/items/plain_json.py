"""JSON and JSON Lines of our own making: objects with an item and its scores.

A list of objects, an object that holds such a list, or one that says the score of each item:
`{"a": 1, "b": [0, 1], "c": {"f1": 0.5}}`, where a list has the trials of the item.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from mwzeval.comparison.items.sheet import Columns, Row, Sheet, not_of_shape, objects

FORMAT = "JSON"
ITEM, SCORE, TRIAL = "item", "score", "trial"
LISTS = ("items", "results", "samples", "rows", "data", "scores", "tasks", "simulations")
"""Where an object holds the list of its rows."""


def read_plain_lines(values: Sequence[tuple[int, Any]], file: str) -> Sheet:
    """Return the rows of JSON Lines, (number of the line, value). Raises `InputError`."""
    return Sheet(file, FORMAT, objects(((f"line {n}", value) for n, value in values), file))


def read_plain(value: Any, file: str) -> Sheet:
    """Return the rows of a JSON value. Raises `InputError` for one without rows."""
    if isinstance(value, Mapping):
        found = next((value[name] for name in LISTS if _is_list_of_objects(value.get(name))), None)
        if found is None:
            return Sheet(file, FORMAT, list(_by_item(value, file)), Columns(item=ITEM, trial=TRIAL))
        value = found
    if not isinstance(value, list):
        raise not_of_shape(file, "there are no rows: a list of objects, or an object by item")
    return Sheet(file, FORMAT, objects(((f"row {n}", row) for n, row in enumerate(value, 1)), file))


def _is_list_of_objects(value: Any) -> bool:
    return isinstance(value, list) and bool(value) and isinstance(value[0], Mapping)


def _by_item(value: Mapping[str, Any], file: str) -> Iterator[Row]:
    for item, of_item in value.items():
        of_trials = of_item if isinstance(of_item, list) else [of_item]
        for trial, scores in enumerate(of_trials, start=1):
            if isinstance(scores, Mapping):
                yield Row(f'item "{item}"', {TRIAL: trial, **scores, ITEM: item})
            elif scores is None or isinstance(scores, bool | int | float):
                yield Row(f'item "{item}"', {TRIAL: trial, ITEM: item, SCORE: scores})
            else:
                raise not_of_shape(
                    file,
                    f'"{item}" is neither a score nor a list of them; an object either says the '
                    f"score of each item or holds a list of rows ({', '.join(LISTS)})",
                )
