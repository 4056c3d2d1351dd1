"""Which format predictions are in, told by their shape.

Every item of every dialogue is looked at. A turn or message has a format's mark when it has one of
the format's keys in the format's place; predictions are of the one format whose marks they have.
Marks of two formats are an error, never a guess. Without any mark they are taken for mwzeval's own,
whose checks then say what is wrong.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from mwzeval.multiwoz.choices import OWN_FORMAT
from mwzeval.multiwoz.predictions.reading import TURN_KEYS
from mwzeval.scores.findings import OBJECT

MESSAGES, UNIFIED, SGD = "messages", "unified", "sgd"

_OF_MWZEVAL = frozenset(TURN_KEYS)
_OF_UNIFIED = frozenset({"state", "predictions", "utt_idx", "dialogue_acts", "db_results"})
_OF_SGD = frozenset({"frames"})


def marks(raw: Any) -> set[str]:
    """Return the formats whose marks are found."""
    if isinstance(raw, OBJECT):
        return set(_marks_of_object(raw))
    if isinstance(raw, list | tuple):
        return set(_marks_of_list(raw))
    return set()


def is_list_of_dialogues(raw: Any) -> bool:
    """Tell whether this is a list with an object that has turns, of whichever format."""
    return isinstance(raw, list | tuple) and any(
        isinstance(dialogue, OBJECT) and "turns" in dialogue for dialogue in raw
    )


def _marks_of_object(raw: Mapping[Any, Any]) -> Iterator[str]:
    for dialogue in raw.values():
        if isinstance(dialogue, OBJECT) and "messages" in dialogue:
            yield MESSAGES
        elif isinstance(dialogue, list | tuple):
            for item in dialogue:
                # What else stands in a turn of our own is not used, be it called "role".
                if not isinstance(item, OBJECT):
                    continue
                if not _OF_MWZEVAL.isdisjoint(item):
                    yield OWN_FORMAT
                elif "role" in item:
                    yield MESSAGES


def _marks_of_list(raw: list[Any] | tuple[Any, ...]) -> Iterator[str]:
    for dialogue in raw:
        turns = dialogue.get("turns") if isinstance(dialogue, OBJECT) else None
        for turn in turns if isinstance(turns, list | tuple) else ():
            if isinstance(turn, OBJECT):
                if not _OF_SGD.isdisjoint(turn):
                    yield SGD
                if not _OF_UNIFIED.isdisjoint(turn):
                    yield UNIFIED
