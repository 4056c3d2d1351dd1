"""What a user brings to a dialogue when it reads: its goal, what it has said, what it asked."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from mwzeval.multiwoz.acts import USER_SLOTS, Act
from mwzeval.multiwoz.choices import Rules
from mwzeval.multiwoz.goals.goal import ORDERING, Goal
from mwzeval.multiwoz.normalization.normalize import normalize_slot, normalize_value
from mwzeval.multiwoz.words.delexicalize import Context
from mwzeval.multiwoz.words.gazetteer import Gazetteer

GOAL_SLOTS: Mapping[str, Mapping[str, str]] = {
    domain: {spoken.lower(): slot for slot, spoken in slots.items()}
    for domain, slots in USER_SLOTS.items()
}
"""Domain → slot of a user's act in lower case → slot of a goal."""
_PARTS = ("info", "fail_info", "book", "fail_book")
STATION = " train station"
"""What a goal may add to a town."""
_REFERRING = ("same ", "the same", "in the same")
"""How values begin that stand for one that was said before."""


class ReadingContext:
    """What the reading of an agent's turn depends on beside the turn; one dialogue long.

    `goal` may be the copy that the user writes into. `domain` is what was spoken of last, `state`
    what the user has said that it wants, `words` what was named.
    """

    def __init__(self, goal: Goal, gazetteer: Gazetteer, rules: Rules) -> None:
        self.goal = goal
        self.domains: tuple[str, ...] = tuple(goal[ORDERING])
        self.domain: str | None = None
        self.state: dict[str, dict[str, str]] = {}
        self.words = Context(gazetteer)
        self.asked: set[tuple[str, str]] = set()
        """Domain and slot, as acts call it, of what the user has asked for last."""
        self._rules = rules

    def said(self, acts: Iterable[Act]) -> None:
        """Go on with what the user has said."""
        self.asked.clear()
        for intent, raw, spoken, value in acts:
            domain = raw.lower()
            if domain not in GOAL_SLOTS:
                continue
            self.domain = domain
            if intent == "Request":
                self.asked.add((domain, spoken))
            slot = GOAL_SLOTS[domain].get(spoken.lower())
            if slot is not None and value != "?" and not value.startswith(_REFERRING):
                normal = normalize_slot(slot)
                told = self.state.setdefault(domain, {})
                told[normal] = normalize_value(normal, value.lower(), self._rules)

    def spelled(self, domain: str, slot: str, value: str) -> str:
        """Return a value as the goal spells it, if that means the same."""
        wanted = self.goal.get(domain)
        if wanted is None:
            return value
        normal = normalize_slot(slot)
        said = normalize_value(normal, value.lower(), self._rules)
        for part in _PARTS:
            own = wanted.get(part, _NOTHING).get(slot)
            if own is None:
                continue
            wish = normalize_value(normal, own.lower(), self._rules)
            if said in (wish, wish.removesuffix(STATION)):
                return str(own)
        return value


_NOTHING: Mapping[str, str] = {}
