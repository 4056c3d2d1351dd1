"""Dialogue acts as values: intent, domain, slot, value.

The canonical spelling joins the four with `+`. Never with `-`, which occurs inside slots
(`酒店设施-叫醒服务`).
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, NamedTuple

from mwzeval.crosswoz.corpus.names import SERVICES

GENERAL, INFORM, REQUEST = "General", "Inform", "Request"
RECOMMEND, NO_OFFER, SELECT = "Recommend", "NoOffer", "Select"
INTENTS = (GENERAL, INFORM, REQUEST, RECOMMEND, NO_OFFER, SELECT)
USER_INTENTS = (GENERAL, INFORM, REQUEST, SELECT)
SYSTEM_INTENTS = (GENERAL, INFORM, RECOMMEND, NO_OFFER)
USER_GENERAL = ("greet", "thank", "bye")
SYSTEM_GENERAL = ("greet", "welcome", "thank", "bye", "reqmore")
NONE = "none"
SERVICE_PREFIX = f"{SERVICES}-"
SEPARATOR = "+"


class Act(NamedTuple):
    """One dialogue act. A General act has its kind (`thank`) in place of the domain."""

    intent: str
    domain: str
    slot: str
    value: str

    @property
    def service(self) -> str | None:
        """The hotel service that the slot names, None for any other slot."""
        return self.slot.removeprefix(SERVICE_PREFIX) if self.is_service else None

    @property
    def is_service(self) -> bool:
        """Whether the act is about one service of a hotel."""
        return self.slot.startswith(SERVICE_PREFIX)

    def __str__(self) -> str:
        return SEPARATOR.join(self)


Acts = tuple[Act, ...]


def general(kind: str) -> Act:
    """Return a General act such as `thank`."""
    return Act(GENERAL, kind, NONE, NONE)


def parse_act(raw: Any) -> Act:
    """Return an act from a list of four texts or from its canonical spelling.

    Only the first three `+` of a spelling separate: a value may hold more. Raises `ValueError` with
    what was found instead.
    """
    if isinstance(raw, str):
        parts: Any = raw.split(SEPARATOR, 3)
    elif isinstance(raw, list | tuple):
        parts = raw
    else:
        raise ValueError(  # noqa: TRY004 - callers catch one kind
            f"an act is a list of four texts, found {type(raw).__name__}"
        )
    if len(parts) != 4:
        raise ValueError(f"an act is intent, domain, slot and value, found {len(parts)} parts")
    if not all(isinstance(part, str) for part in parts):
        raise ValueError("the four parts of an act are texts")
    return Act(*parts)


def parse_acts(raw: Iterable[Any]) -> Acts:
    """Return acts in their order. Raises `ValueError` as `parse_act` does."""
    return tuple(parse_act(act) for act in raw)


def ordered(acts: Iterable[Act]) -> Acts:
    """Return acts without repetition in the order of the corpus: by code point."""
    return tuple(sorted(set(acts)))
