"""What a simulated user still means to say: a stack of acts."""

from __future__ import annotations

from collections.abc import Container, Iterable, Iterator

from mwzeval.pydial.dialogue.acts import BYE, DONTCARE, Act, Item
from mwzeval.pydial.dialogue.goals import Goal

TYPE = "type"
"""The pseudo-slot of the kind of entity: `type="restaurant"`."""
TELLING = frozenset({"inform", "confirm", "affirm"})
"""Acts that give values away."""


class Agenda:
    """A stack of user acts; iterating begins at the top."""

    __slots__ = ("_acts",)

    def __init__(self, acts: Iterable[Act] = ()) -> None:
        """Stack the acts, the first on top."""
        self._acts = list(acts)
        self._acts.reverse()

    def __len__(self) -> int:
        return len(self._acts)

    def __iter__(self) -> Iterator[Act]:
        return reversed(self._acts)

    @property
    def top(self) -> Act | None:
        """The act to be said next, None when there is none."""
        return self._acts[-1] if self._acts else None

    def push(self, act: Act) -> None:
        """Put an act on top."""
        self._acts.append(act)

    def pop(self) -> Act:
        """Take the top act."""
        return self._acts.pop()

    def leave(self) -> None:
        """Mean nothing but to say goodbye."""
        self._acts = [BYE]

    def drop_told(self, slots: Container[str], names: Container[str] = TELLING) -> None:
        """Remove acts of these names that mention one of the slots."""
        self._acts = [
            act
            for act in self._acts
            if act.name not in names or not any(item.slot in slots for item in act.items)
        ]

    def raise_informs(self, slot: str) -> bool:
        """Move the informs about a slot to the top; tell whether there are any."""
        about = [
            act
            for act in self._acts
            if act.name == "inform" and any(item.slot == slot for item in act.items)
        ]
        if about:
            self.drop_told((slot,), ("inform",))
            self._acts += about
        return bool(about)

    def confirm_instead(self) -> None:
        """Turn informs into questions, but for those of no preference."""
        self._acts = [
            Act("confirm", act.items)
            if act.name == "inform" and act.items and act.items[0].value != DONTCARE
            else act
            for act in self._acts
        ]


def first_agenda(goal: Goal, entity_type: str) -> Agenda:
    """Return what a user begins with: the kind of entity, the constraints, goodbye."""
    informs = [Act("inform", (item,)) for item in (Item(TYPE, entity_type), *goal.constraints)]
    return Agenda([*informs, BYE])
