"""The dialogue states that example systems predict."""

from collections.abc import Sequence

from tools.dice import Dice
from tools.multiwoz_sample.conversation import State
from tools.multiwoz_sample.world import AREAS, TOWNS

Belief = dict[str, dict[str, str]]
_WRONG: dict[str, Sequence[str]] = {
    "area": AREAS,
    "pricerange": ("cheap", "moderate", "expensive"),
    "food": ("italian", "indian", "chinese", "british", "french"),
    "stars": ("3", "4", "5"),
    "day": ("monday", "thursday", "sunday"),
    "departure": TOWNS,
    "destination": TOWNS,
}


def gold_belief(state: State, *, as_said: bool = False) -> Belief:
    """Return the annotated state as a prediction.

    A belief `as_said` has clock times the way the user put them, "&" in names, and "dontcare"
    where the gold state of an evaluation has nothing.
    """
    return {
        domain: {s: _value(v, as_said) for s, v in slots.items() if as_said or v != ["dontcare"]}
        for domain, slots in state.items()
    }


class WeakTracker:
    """Loses some slots of a dialogue for good, and takes others for something else."""

    def __init__(self, dice: Dice, lost: float, confused: float) -> None:
        """Lose and confuse slots with the given probabilities, once per dialogue and slot."""
        self._dice, self._lost, self._confused = dice, lost, confused
        self._fates: dict[tuple[str, str], str] = {}

    def track(self, belief: Belief) -> Belief:
        """Return the state as this tracker sees it."""
        seen: Belief = {}
        for domain, slots in belief.items():
            for slot, value in slots.items():
                if (domain, slot) not in self._fates:
                    self._fates[domain, slot] = self._fate(slot, value)
                fate = self._fates[domain, slot]
                if fate != "lost":
                    seen.setdefault(domain, {})[slot] = fate or value
        return seen

    def _fate(self, slot: str, value: str) -> str:
        if self._dice.chance(self._lost):
            return "lost"
        if slot in _WRONG and self._dice.chance(self._confused):
            return self._dice.pick([other for other in _WRONG[slot] if other != value])
        return ""


def _value(values: Sequence[str], as_said: bool) -> str:
    if not as_said:
        return values[0]
    said = [value for value in values[1:] if value.endswith((" am", " pm"))]
    return said[0] if said else values[0].replace(" and ", " & ")
