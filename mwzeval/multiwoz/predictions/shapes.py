"""What predictions look like, for type checkers; `reading` checks what really comes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, TypeAlias, TypedDict


class PredictedTurn(TypedDict, total=False):
    """A system turn as mwzeval's own format has it; docs/formats.md says what each key means.

    `state` is domain → slot → value. Of a `bookings` entry the keys are `domain` and `slots`, of a
    `calls` entry `function`, `arguments`, `result` and `slots`.
    """

    response: str
    state: Mapping[str, Mapping[str, Any]]
    active_domains: Sequence[str]
    bookings: Sequence[Mapping[str, Any]]
    calls: Sequence[Mapping[str, Any]]


Predictions: TypeAlias = (
    Mapping[str, Sequence[PredictedTurn]]
    | Mapping[str, Sequence[Mapping[str, Any]]]
    | Mapping[str, Mapping[str, Any]]
    | Sequence[Mapping[str, Any]]
)
"""Dialogue id → its system turns in order; or messages, or the dialogues of another format."""
