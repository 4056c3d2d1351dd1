"""The agenda of a user: a stack of acts that it means to say."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from mwzeval.multiwoz.convlab.acts import GENERAL, NONE, Act
from mwzeval.multiwoz.convlab.draws import UserDraws
from mwzeval.multiwoz.schema import ALL_BOOKING_SLOTS

INFORM, REQUEST = "inform", "request"
BYE = Act("bye", GENERAL, NONE, NONE)
INITIATIVE = 4
"""How many acts a user says at most of its own accord."""
_MOST_BOOKED = 10
_SAME = {
    "people": "the same",
    "day": "the same day",
    "area": "same area as the {}",
    "pricerange": "in the same price range as the {}",
}


class Agenda:
    """A stack of acts, in lower case and with the slots of goals; the last is said first."""

    def __init__(self, draws: UserDraws) -> None:
        self._draws = draws
        self._items: list[Act] = [BYE]
        self.pushed = 0
        """How many acts were pushed since the user was spoken to."""

    def __len__(self) -> int:
        return len(self._items)

    def __iter__(self) -> Iterator[Act]:
        return iter(self._items)

    def close(self) -> None:
        """Leave nothing but the farewell."""
        self._items = [BYE]
        self.pushed = 0

    def add(self, act: Act) -> None:
        """Put an act on top. It is said before the others, so equal values become "the same"."""
        _, domain, slot, value = act
        same = _SAME.get(slot)
        if same is not None:
            items = self._items
            for index, older in enumerate(items):
                if older.slot == slot and older.value == value and self._draws.same():
                    items[index] = older._replace(value=same.format(domain))
        self._items.append(act)

    def push(self, act: Act) -> None:
        """Put an act on top in place of the one with the same slot."""
        self.remove(act.intent, act.domain, act.slot)
        self.add(act)
        self.pushed += 1

    def remove(self, intent: str, domain: str, slot: str) -> None:
        """Take the lowest act of the intent, domain and slot away, if there is one."""
        for index, item in enumerate(self._items):
            if item.slot == slot and item.domain == domain and item.intent == intent:
                del self._items[index]
                return

    def asks(self, domain: str) -> bool:
        """Return whether a request of the domain is still to be said."""
        return any(item.domain == domain and item.intent == REQUEST for item in self._items)

    def informs(self, domain: str, booking: bool = False) -> bool:
        """Return whether a constraint (or a slot of a booking) is still to be said."""
        return any(
            item.domain == domain
            and item.intent == INFORM
            and (item.slot in ALL_BOOKING_SLOTS) == booking
            for item in self._items
        )

    def pop(self) -> list[Act]:
        """Take the acts from the top that are said in one turn: at least one, of one kind."""
        items = self._items
        top = items[-1]
        booking = _books(top)
        most = self._most(booking)
        popped: list[Act] = []
        while items:
            act = items.pop()
            popped.append(act)
            if not items or len(popped) >= most:
                break
            following = items[-1]
            if following.domain != top.domain or following.intent != top.intent:
                break
            if not _books(following) if booking else act[::2] == _ASKS_NAME:
                break
        return popped

    def _most(self, booking: bool) -> int:
        if booking:
            return self.pushed or _MOST_BOOKED
        if all(item.value == "dontcare" for item in _top(self._items, self.pushed)):
            return INITIATIVE
        return self.pushed


def _books(act: Act) -> bool:
    return act.intent == INFORM and act.slot in ALL_BOOKING_SLOTS


def _top(items: Sequence[Act], count: int) -> Sequence[Act]:
    return items[-count:] if count else ()


_ASKS_NAME = (REQUEST, "name")
