"""What every adapter gives: predictions as mwzeval writes them, and where they came from."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any


@dataclass(slots=True)
class Adapted:
    """Dialogue → turns as mwzeval writes them, and → each turn's position in the original list.

    Where problems were found, the dialogues are as whole as can be, for other problems to be found.
    """

    dialogues: dict[str, list[dict[str, Any]]] = field(default_factory=dict)
    positions: dict[str, list[int]] = field(default_factory=dict)

    def add(self, dialogue: str, turns: list[tuple[int, dict[str, Any]]]) -> None:
        """Add a dialogue; one without turns is left out, because something was said about it."""
        if turns:
            self.positions[dialogue] = [position for position, _ in turns]
            self.dialogues[dialogue] = [turn for _, turn in turns]
