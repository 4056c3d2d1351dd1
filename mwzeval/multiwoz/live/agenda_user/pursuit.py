"""What a user wants in one domain, and how far it has come: told, answered, booked."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from mwzeval.multiwoz.convlab.acts import USER_SLOTS
from mwzeval.multiwoz.convlab.wishes import missing_part, tried
from mwzeval.multiwoz.live.agenda_user.hearing import NO_VALUE, fits
from mwzeval.multiwoz.schema import UNANSWERED, UNANSWERED_VALUES

IDENTITY = {"train": "trainID"}
"""Domain → slot that says which one is spoken of; `name` where nothing is said here."""

Said = Mapping[str, Sequence[str]]
"""Slot → values that the system has told in one turn."""


class Pursuit:
    """One domain of a goal. `wanted` is its part of the user's copy and is written to."""

    def __init__(self, domain: str, wanted: dict[str, Any]) -> None:
        self.domain = domain
        self.wanted = wanted
        for part in ("fail_info", "fail_book"):
            # To want nothing first is to have no such wish.
            if not wanted.get(part, True):
                del wanted[part]
        self.given_up = False
        self.spoken_of = False
        """Whether the user has said anything of this domain."""
        self.order: list[str] | None = None
        """Slots of constraints in the order in which they are told; None before that is drawn."""
        self.places: dict[str, str] = {}
        """Where a taxi goes, as far as the goal leaves that to what else it wants."""
        self.told: dict[str, str] = {}
        self.venue: str | None = None
        """The venue or train that was last named."""
        self.known: dict[str, Sequence[str]] = {}
        """What was said of that since it was named."""

    @property
    def identity(self) -> str:
        """The slot that says which venue or train is spoken of."""
        return IDENTITY.get(self.domain, "name")

    @property
    def constraints(self) -> Mapping[str, str]:
        """What is looked for at present."""
        return {**self.places, **tried(self.wanted, "info")}

    @property
    def booking(self) -> Mapping[str, str]:
        """What is to be booked at present."""
        return tried(self.wanted, "book")

    @property
    def wishes(self) -> Mapping[str, str]:
        """All slots of which the goal says a value."""
        return {**self.booking, **self.constraints}

    @property
    def requests(self) -> dict[str, str]:
        """Requested slots with their answers, `?` without one."""
        requests: dict[str, str] = self.wanted.get("reqt", {})
        return requests

    @property
    def is_finished(self) -> bool:
        """Whether the user has nothing more to say here."""
        if self.given_up:
            return True
        return missing_part(self.wanted) is None and not self.pending()

    def missing(self) -> tuple[str, Mapping[str, str]] | None:
        """Return what is needed next, as intent and slots; None when nothing is."""
        return missing_part(self.wanted)

    def pending(self) -> list[str]:
        """Return the slots of constraints that are still to be told, in their order."""
        untold = self.untold(self.constraints)
        return untold if self.order is None else [slot for slot in self.order if slot in untold]

    def untold(self, wishes: Mapping[str, str]) -> list[str]:
        """Return the slots whose wishes are still to be told."""
        words = USER_SLOTS[self.domain]
        return [
            slot for slot, wish in wishes.items() if slot in words and self.told.get(slot) != wish
        ]

    def all_slots(self) -> list[str]:
        """Return the slots of what is looked for, now or later."""
        return list(dict.fromkeys([*self.constraints, *self.wanted.get("info", ())]))

    def turn_to_second_wish(self, part: str) -> bool:
        """Want `info` or `book` instead of what failed; return whether there is such a wish."""
        failed = self.wanted.pop(f"fail_{part}", None)
        if failed is None:
            return False
        self.wanted[f"fail_{part}_fail"] = failed
        return True

    def forget_told(self, slots: Iterable[str]) -> None:
        """Have slots told again."""
        for slot in slots:
            self.told.pop(slot, None)

    def notice_venue(self, said: Said) -> None:
        """Note what is said of a venue; forget the answers of another than is spoken of now."""
        named = [name for name in said.get(self.identity, ()) if name.lower() not in NO_VALUE]
        before = self.venue
        if named and not (before and any(self._is_venue(name, before) for name in named)):
            self.venue = named[-1]
            self.known = {}
            if before is not None:
                self.requests.update(dict.fromkeys(self.requests, UNANSWERED))
        if self.venue is not None:
            self.known.update(said)

    def _is_venue(self, name: str, venue: str) -> bool:
        return fits(self.domain, self.identity, name, venue)

    def against(self, said: Said) -> list[str]:
        """Return the slots of which no said value is what is wanted."""
        wishes = self.wishes
        return [
            slot
            for slot, values in said.items()
            if slot in wishes
            and not any(fits(self.domain, slot, value, wishes[slot]) for value in values)
        ]

    def take_answers(self, said: Said) -> bool:
        """Store answers; return whether anything is answered that was not.

        Another number in each turn for the same taxi brings a user no further.
        """
        requests = self.requests
        new = False
        for slot in requests:
            value = said.get(slot, ("",))[-1]
            # In quotes it counts as an answer, although it says that there is none.
            answer = f'"{value}"' if value in UNANSWERED_VALUES else value
            if value and requests[slot] != answer:
                new = new or requests[slot] in UNANSWERED_VALUES
                requests[slot] = answer
        return new
