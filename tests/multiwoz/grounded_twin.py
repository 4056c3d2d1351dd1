"""A slow implementation of the grounded scores in docs/metrics.md without indexes or caches."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any

from mwzeval.multiwoz.scoring.goal_success import DomainGoal, NeedsOffer
from mwzeval.multiwoz.words.text import Mention
from tests.multiwoz import specification

Turn = tuple[Mapping[str, Mapping[str, str]], Sequence[Mention]]

COUNTED = {
    "restaurant": "name address phone postcode area food pricerange",
    "hotel": "name address phone postcode area pricerange stars type",
    "attraction": "name address phone postcode area pricerange type entrancefee",
    "train": "trainid day departure destination leaveat arriveby price duration",
}
CHOSEN = ["area", "food", "pricerange", "stars", "type", "departure", "destination"]
OF_A_VENUE = ["name", "address", "phone", "postcode", "trainid"]
OF_ANY = ["area", "pricerange", "phone", "postcode", "address"]
COLUMN = {"leaveat": "leaveAt", "arriveby": "arriveBy", "trainid": "trainID"}
REQUESTS = {"PHONE": "phone", "ADDRESS": "address", "POST": "postcode", "TRAINID": "trainid"}


def number(text: str) -> float:
    return float(re.findall(r"[0-9.]+", text)[0])


def naming(domain: str) -> str:
    return "trainid" if domain == "train" else "name"


class Twin:
    def __init__(self, tables: dict[str, list[dict[str, Any]]], turns: Sequence[Turn]) -> None:
        self.tables = tables
        self.turns = [
            (state, [self.read(number, said, state) for number in range(len(said))])
            for state, said in turns
        ]

    def read(self, number: int, said: Sequence[Mention], state: Mapping[str, Any]) -> Mention:
        """An unknown number is the taxi's, except after a name in a response without a taxi."""
        mention = said[number]
        if mention.slot != "phone" or mention.value is not None or "taxi" not in state:
            return mention
        is_named = any(before.slot == "name" for before in said[:number])
        if is_named and all(other.domain != "taxi" for other in said):
            return mention
        return mention._replace(domain="taxi")

    def found(self, domain: str, state: Mapping[str, str]) -> list[str]:
        return specification.venues(self.tables, domain, dict(state), "2021")

    def rows(self, domain: str, venue: str) -> list[dict[str, Any]]:
        identifier = "trainID" if domain == "train" else "id"
        return [row for row in self.tables[domain] if row[identifier] == venue]

    def matches(self, row: dict[str, Any], mention: Mention) -> bool:
        """Return whether a row has the mentioned value; a price may be for up to 8 tickets."""
        value = row.get(COLUMN.get(mention.slot, mention.slot), "?")
        if value == "?":
            return False
        if mention.slot == "price":
            tickets = [number(value) * n for n in range(1, 9)]
            return any(abs(number(mention.text) - total) < 0.0501 for total in tickets)
        return bool(value == mention.text)

    def is_known(self, mention: Mention, domain: str) -> bool:
        rows = self.tables[domain]
        if mention.slot in ("leaveat", "arriveby"):
            return any(mention.text in (row["leaveAt"], row["arriveBy"]) for row in rows)
        return any(self.matches(row, mention) for row in rows)

    def named(self, turn: int, domain: str) -> list[str]:
        """Return the venues that a turn names; "?" is an unknown venue."""
        ids: list[str] = []
        for mention in self.turns[turn][1]:
            if mention.domain == domain and mention.slot == naming(domain):
                ids += [venue for venue in mention.venues or ["?"] if venue not in ids]
        return ids

    def named_before(self, turn: int, domain: str) -> tuple[int, list[str]]:
        for earlier in range(turn - 1, -1, -1):
            if names := self.named(earlier, domain):
                return earlier, names
        return -1, []

    def on_offer(self, turn: int, domain: str) -> list[str]:
        state = self.turns[turn][0]
        names = self.named(turn, domain)
        if real := [venue for venue in names if venue != "?"]:
            return real
        before = [venue for venue in self.named_before(turn, domain)[1] if venue != "?"]
        if domain not in state:
            return [] if names else before
        found = self.found(domain, state[domain])
        if names:
            return found + [venue for venue in before if venue not in found]
        return [venue for venue in before if venue in found] or found

    def elsewhere(self, turn: int, mention: Mention) -> str | None:
        """Return the first named other domain whose last named venue has the value."""
        order: list[str] = []
        for earlier in range(turn + 1):
            for said in self.turns[earlier][1]:
                domain = said.domain
                if domain in COUNTED and said.slot == naming(domain) and domain not in order:
                    order.append(domain)
        for domain in order:
            if domain == mention.domain or mention.slot not in COUNTED[domain].split():
                continue
            _, names = self.named_before(turn + 1, domain)
            rows = [row for venue in names for row in self.rows(domain, venue)]
            if any(self.matches(row, mention) for row in rows):
                return domain
        return None

    def judged(self) -> list[tuple[int, Mention, bool, bool | None]]:
        result: list[tuple[int, Mention, bool, bool | None]] = []
        for turn, (state, said) in enumerate(self.turns):
            for mention in said:
                domain, slot = mention.domain, mention.slot
                if domain is None:
                    if slot in OF_A_VENUE and not {"taxi", "police", "hospital"} & set(state):
                        result.append((turn, mention, False, None))
                    continue
                if domain not in COUNTED or slot not in COUNTED[domain].split():
                    continue
                known = self.is_known(mention, domain)
                asked = state.get(domain, {}).get({"leaveat": "leave"}.get(slot, slot))
                if not known and asked == mention.text:
                    continue
                if not known and slot in CHOSEN and not self.named(turn, domain):
                    continue
                agrees = self.agrees(turn, mention, domain, known)
                open_to_others = slot in OF_ANY and known and not self.named(turn, domain)
                if agrees is False and open_to_others and (other := self.elsewhere(turn, mention)):
                    result.append((turn, mention._replace(domain=other), True, True))
                    continue
                result.append((turn, mention, known, agrees))
        return result

    def agrees(self, turn: int, mention: Mention, domain: str, known: bool) -> bool | None:
        if mention.slot == naming(domain):
            return None
        rows = [row for venue in self.on_offer(turn, domain) for row in self.rows(domain, venue)]
        column = COLUMN.get(mention.slot, mention.slot)
        if all(row.get(column, "?") == "?" for row in rows):
            return None
        return known and any(self.matches(row, mention) for row in rows)

    def final_offer(self, domain: str) -> list[str]:
        turn, names = self.named_before(len(self.turns), domain)
        state = self.turns[-1][0]
        if names and turn < len(self.turns) - 1 and domain in state:
            found = self.found(domain, state[domain])
            return [venue for venue in names if venue in found] or names
        return names

    def informed(self, goal: Mapping[str, DomainGoal]) -> dict[str, bool]:
        result = {}
        for domain, wanted in goal.items():
            offer = self.final_offer(domain)
            if offer:
                result[domain] = all(venue in wanted.satisfying for venue in offer)
            else:
                result[domain] = wanted.needs_offer is not NeedsOffer.ALWAYS
        return result

    def succeeded(self, goal: Mapping[str, DomainGoal], booked: Sequence[frozenset[str]]) -> bool:
        if not all(self.informed(goal).values()):
            return False
        return all(
            self.is_given(domain, wanted, slot, booked)
            for domain, wanted in goal.items()
            for slot in wanted.requested
        )

    def is_given(
        self, domain: str, wanted: DomainGoal, slot: str, booked: Sequence[frozenset[str]]
    ) -> bool:
        if slot == "REFERENCE":
            return any(
                mention.slot == "reference" and mention.domain in (domain, None)
                for turn, (_, said) in enumerate(self.turns)
                if domain in booked[turn]
                for mention in said
            )
        venues = self.final_offer(domain) or sorted(wanted.satisfying)
        column = COLUMN.get(REQUESTS[slot], REQUESTS[slot])
        rows = [row for venue in venues for row in self.rows(domain, venue)]
        if rows and all(row.get(column, "?") == "?" for row in rows):
            return True
        return any(
            mention.slot == REQUESTS[slot]
            and mention.domain == domain
            and any(row.get(column) == mention.text for row in rows)
            for _, said in self.turns
            for mention in said
        )
