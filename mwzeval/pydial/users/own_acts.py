"""Acts that somebody's own code answers with."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from mwzeval.conversation.protocols import AnswerError
from mwzeval.errors import shorten
from mwzeval.pydial.dialogue.acts import NULL, Act, Item, parse_act
from mwzeval.pydial.dialogue.domain import has_controls

MOST_ITEMS, LONGEST_VALUE = 100, 1000
"""Of an act; whoever says more floods the file."""


def checked_act(answer: Any, example: str = "request(area)") -> Act:
    """Return the act that somebody's own code answers with, an `Act` or its text.

    Raises `AnswerError`, with an `example`, for anything else.
    """
    act = parse_act(answer) if isinstance(answer, str) else answer
    if not isinstance(act, Act) or (act == NULL and isinstance(answer, str)):
        raise AnswerError(f"expected an act such as {example}, found {shorten(repr(answer))}")
    if (
        not isinstance(act.items, tuple)
        or len(act.items) > MOST_ITEMS
        or not all(map(_is_item, act.items))
        or not _are_texts((act.name,))
    ):
        raise AnswerError(
            f"an act has a name and at most {MOST_ITEMS} items of slot and value, found "
            f"{shorten(repr(answer))}"
        )
    return act


def _is_item(item: Any) -> bool:
    if not isinstance(item, Item) or not isinstance(item.negated, bool):
        return False
    return _are_texts((item.slot,) if item.value is None else (item.slot, item.value))


def _are_texts(values: Iterable[Any]) -> bool:
    return all(
        isinstance(value, str) and len(value) <= LONGEST_VALUE and not has_controls(value)
        for value in values
    )
