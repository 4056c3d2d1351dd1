"""What the rows of a table are called in texts."""

from __future__ import annotations

from typing import NamedTuple


class Words(NamedTuple):
    """What a scored unit is called, several of them, a part of one, and what it aims at."""

    unit: str = "dialogue"
    units: str = "dialogues"
    scope: str = "domain"
    goal: str = "goal"
