"""A template-based policy, which is a baseline that needs only the database.

In each turn, the policy gets the gold state and the user's utterance. The policy finds requested
slots by keywords in the utterance, and queries the database. The policy has no access to goals,
references, gold bookings or later turns. The responses contain placeholders or literal values;
values that are not in the database are generated. Alternative wordings are used in rotation, so
responses are deterministic.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from mwzeval.files.downloads import DataRoot
from mwzeval.multiwoz import Rules
from mwzeval.multiwoz.corpus import GoldFold, read_tables
from mwzeval.multiwoz.database import Database, car, digest, partial_ratio, phone_number, reference
from mwzeval.multiwoz.live.wordings import agent_sentence, details, shown_value
from mwzeval.multiwoz.normalization import State, normalize_slot, normalize_slots
from mwzeval.multiwoz.schema import (
    DATABASE_DOMAINS,
    LONG_SLOTS,
    SERVICES,
    STATE_BOOKING_SLOTS,
    UNKNOWN,
    id_column,
)
from mwzeval.multiwoz.words.vocabulary import has, patterns_of

Services = Mapping[str, Mapping[str, str]]
"""The values of domains without a choice of venues (police, hospital), by domain and slot."""
NEARLY = 85
"""Minimum `partial_ratio` at which an unknown name is read as a misspelled name."""
ANSWERS: Mapping[str, tuple[str, ...]] = {
    "restaurant": ("phone", "address", "postcode", "area", "pricerange", "food"),
    "hotel": (
        *("phone", "address", "postcode", "area", "pricerange", "stars", "type"),
        *("internet", "parking"),
    ),
    "attraction": ("phone", "address", "postcode", "area", "entrancefee", "type"),
    "train": ("trainid", "price", "duration", "arriveby", "leaveat"),
}
"""The slots that users may request in each domain, in the order of the answer."""
MEANT_BY_PRICE = {"attraction": "entrancefee", "train": "price"}
"""The slot to which "price" refers in a domain. All other venues have only a price range."""
EVERYTHING = ("phone", "address", "postcode")
"""The slots that a user requests by asking for "information"."""
UNASKED = ("address", "phone")
"""Slots that are given without a request if the user has named the venue, and for attractions,
which cannot be booked."""
_BEFORE_A_VOWEL = re.compile(r"\ba (?=[aeiou])")


def requested_slots(utterance: str) -> tuple[str, ...]:
    """Return the slots that an utterance in lower case probably asks for."""
    slots = [slot for slot, cued in patterns_of("user request").items() if cued.search(utterance)]
    if not slots and has("user information", utterance) and not has("user last words", utterance):
        return EVERYTHING
    return tuple(slots)


def user_domains(utterance: str, state: State) -> tuple[str, ...]:
    """Return the domains that an utterance in lower case names, by a word or by a venue's name."""
    return tuple(
        domain
        for domain, cued in patterns_of("user domain").items()
        if cued.search(utterance) or (state.get(domain, {}).get("name") or "\n") in utterance
    )


class Catalogue:
    """The venues of domains with a database table. Inform and Success use these queries."""

    def __init__(self, tables: Mapping[str, Sequence[Mapping[str, Any]]], rules: Rules) -> None:
        self._rules = rules
        self._database = Database(tables, rules)
        self.rows = {
            domain: {str(row[id_column(domain)]): known_of(row) for row in rows}
            for domain, rows in tables.items()
        }
        """The known values of venues by domain, id, and slot (in the spelling of placeholders)."""

    def find(self, domain: str, constraints: Mapping[str, str]) -> tuple[str, ...]:
        """Return the ids of the venues that satisfy all constraints, in table order."""
        return self._database.find(domain, normalize_slots(constraints, self._rules))

    def named(self, domain: str, name: str) -> str | None:
        """Return the id of the venue with the most similar name, if any is similar enough."""
        name = name.lower()

        def nearness(venue: str) -> tuple[int, int]:
            known = self.rows[domain][venue].get("name", "")
            return partial_ratio(known, name), -abs(len(known) - len(name))

        best = max(self.rows[domain], key=nearness)
        return best if nearness(best)[0] >= NEARLY else None


def known_of(row: Mapping[str, Any]) -> dict[str, str]:
    """Return the known values of a database row by slot."""
    known = {}
    for column, value in row.items():
        if isinstance(value, str) and value.strip() not in ("", UNKNOWN):
            slot = normalize_slot(column)
            known[LONG_SLOTS.get(slot, slot)] = value.strip()
    return known


def known_services(root: DataRoot) -> dict[str, Mapping[str, str]]:
    """Return the values in the first rows of `db/police_db.json` and `db/hospital_db.json`.

    A service whose file is missing has no values. Raises `DataError` if a file is damaged.
    """
    tables = read_tables(root)
    return {domain: known_of(tables[domain][0]) if domain in tables else {} for domain in SERVICES}


class Policy:
    """Answers the turns of one dialogue in sequence.

    If `services` is given, responses contain literal values instead of placeholders. Reference
    numbers and taxis are generated from the dialogue id.
    """

    def __init__(
        self, catalogue: Catalogue, dialogue: str, services: Services | None = None
    ) -> None:
        self._catalogue = catalogue
        self._dialogue = dialogue
        self._services = services
        self._turn = 0
        self._utterance = ""
        self._requests: tuple[str, ...] = ()
        self._state: State = {}
        self._state_before: State = {}
        self._domains: tuple[str, ...] = ()
        self._venues: dict[str, str] = {}
        self._choices: dict[str, int] = {}
        self._booked: dict[str, Mapping[str, str]] = {}
        self._asked: set[str] = set()

    def reply(self, utterance: str, state: State) -> tuple[str, tuple[str, ...]]:
        """Return the response to the next user turn, and the active domains.

        `state` is the belief state after the user turn.
        """
        self._utterance, self._state = utterance.lower(), state
        self._requests = requested_slots(self._utterance)
        domains = self._active_domains()
        sentences = [sentence for domain in domains for sentence in self._about(domain)]
        if not domains:
            sentences.append(self._say("hello" if self._turn == 0 else "welcome"))
        self._state_before = state
        self._domains = domains or self._domains
        self._turn += 1
        response = " ".join(sentences)
        if self._services is not None:
            response = _BEFORE_A_VOWEL.sub("an ", response)
        return response, domains

    def _say(self, what: str, domain: str = "") -> str:
        seed = f"{self._dialogue} {self._turn}"
        return agent_sentence("template", what, seed, lambda slot: self._value(domain, slot))

    def _value(self, domain: str, slot: str) -> str:
        """Return a placeholder, or the value of the venue under discussion."""
        if self._services is None:
            return f"[{domain}_{slot}]"
        if slot == "choice":
            return str(self._choices[domain])
        made_up = digest(f"{self._dialogue} {domain} {slot}")
        if slot == "reference":
            return reference(made_up)
        if domain == "taxi":
            return phone_number(made_up) if slot == "phone" else car(made_up)
        row = self._services.get(domain)
        if row is None:
            row = self._catalogue.rows[domain][self._venues[domain]]
        return shown_value(slot, row[slot]) if slot in row else "unknown"

    def _active_domains(self) -> tuple[str, ...]:
        """Return the active domains of the turn, the most important one last."""
        before = self._state_before
        changed = [d for d, slots in self._state.items() if slots and slots != before.get(d)]
        topics = user_domains(self._utterance, self._state)
        emergencies = [domain for domain in SERVICES if domain in topics]
        if changed or emergencies:
            return tuple(dict.fromkeys((*emergencies, *changed)))
        asks = self._requests or has("user booking", self._utterance) or "?" in self._utterance
        if has("user closing", self._utterance) and not asks:
            return ()
        if "taxi" in topics:
            return ("taxi",)
        return tuple(d for d in topics if d in self._domains) or topics or self._domains

    def _about(self, domain: str) -> Iterator[str]:
        if domain in DATABASE_DOMAINS:
            yield from self._about_venue(domain)
        elif domain == "taxi":
            yield from self._about_taxi()
        elif domain in SERVICES:
            yield self._say(f"inform {domain}", domain)
            yield self._say("more?")

    def _about_taxi(self) -> Iterator[str]:
        known = self._state.get("taxi", {})
        missing = [slot for slot in ("departure", "destination") if slot not in known]
        if not {"leaveat", "arriveby"} & known.keys():
            missing.append("time")
        missing = [slot for slot in missing if f"taxi {slot}" not in self._asked]
        if missing and not {"phone", "car"} & set(self._requests):
            self._asked.add(f"taxi {missing[0]}")
            yield self._say(f"ask taxi {missing[0]}")
        else:
            yield self._say("booked taxi", "taxi")
            yield self._say("more?")

    def _about_venue(self, domain: str) -> Iterator[str]:
        slots = self._state.get(domain, {})
        constraints, booking = _split(slots)
        constraints_before, _ = _split(self._state_before.get(domain, {}))
        found = self._catalogue.find(domain, constraints)
        self._choices[domain] = len(found)
        if domain == "train" and (end := self._unknown_end(slots, found)):
            yield self._say(f"ask train {end}")
            return
        missing = [slot for slot in STATE_BOOKING_SLOTS.get(domain, ()) if slot not in booking]
        complete = bool(booking and domain in STATE_BOOKING_SLOTS) and not missing
        venue = self._chosen(domain, found, constraints)
        if venue is None and not (complete and domain in self._venues):
            yield self._say(f"none {domain}")
            return
        # If a user books although no venue matches, the last offered venue is booked.
        self._venues[domain] = venue or self._venues[domain]
        is_new = constraints != constraints_before
        is_booking = bool(booking) or has("user booking", self._utterance)
        # Slots whose values the user has just given are not requests.
        price = MEANT_BY_PRICE.get(domain, "pricerange")
        meant = {price if slot == "price" else slot for slot in self._requests}
        given = constraints if is_new else {}
        asked = [slot for slot in ANSWERS[domain] if slot in meant and slot not in given]
        # If a named venue does not satisfy the other constraints, its name is not repeated.
        unnamed = "" if found else " unnamed"
        asks_reference = "reference" in self._requests
        if complete and (self._booked.get(domain) != slots or asks_reference or not asked):
            what = f"booked {domain}{unnamed}"
            if self._booked.get(domain) == slots:
                what = f"reference {domain}"
            self._booked[domain] = dict(slots)
            yield self._say(what, domain)
            yield from self._details(domain, asked)
            yield self._say("more?")
        elif is_new:
            if len(found) > 1 and "name" not in constraints:
                yield self._say(f"several {domain}", domain)
            yield self._say(f"offer {domain}{unnamed}", domain)
            is_named = "name" in constraints and "name" not in constraints_before
            if domain == "attraction" or (is_named and domain != "train"):
                asked += [slot for slot in UNASKED if slot not in asked]
            yield from self._details(domain, asked)
            yield self._question(domain, missing if is_booking else ())
        elif asked:
            yield from self._details(domain, asked)
            yield self._question(domain, missing if booking else (), more=True)
        else:
            if found:
                yield self._say(f"again {domain}", domain)
            yield self._question(domain, missing if is_booking or asks_reference else ())

    def _chosen(
        self, domain: str, found: Sequence[str], constraints: Mapping[str, str]
    ) -> str | None:
        """Return the previous venue if it still matches, otherwise the first match."""
        before = self._venues.get(domain)
        if found:
            return before if before in found else found[0]
        # Users change their minds about the features of a venue, but not about its name.
        return self._catalogue.named(domain, constraints["name"]) if "name" in constraints else None

    def _unknown_end(self, slots: Mapping[str, str], found: Sequence[str]) -> str | None:
        """Return `departure` or `destination` if the policy should ask for it (only once each)."""
        rows = self._catalogue.rows["train"]
        for end in ("departure", "destination"):
            is_open = end not in slots and len({rows[train].get(end) for train in found}) != 1
            if is_open and f"train {end}" not in self._asked:
                self._asked.add(f"train {end}")
                return end
        return None

    def _question(self, domain: str, missing: Sequence[str], more: bool = False) -> str:
        slots = self._state.get(domain, {})
        if domain == "train" and "day" not in slots:
            return self._say("ask train day")
        if domain == "train" and not {"leaveat", "arriveby"} & slots.keys():
            return self._say("ask train time")
        if missing:
            return self._say(f"ask {domain} {missing[0]}")
        if more or domain in self._booked:
            return self._say("more?")
        return self._say("more? attraction" if domain == "attraction" else f"book? {domain}")

    def _details(self, domain: str, slots: Sequence[str]) -> Iterator[str]:
        """Yield a sentence with these slots of the venue under discussion, if any are known."""
        if slots:
            row = self._catalogue.rows[domain][self._venues[domain]]
            yield details(row, slots, lambda slot: self._value(domain, slot))


def _split(slots: Mapping[str, str]) -> tuple[dict[str, str], dict[str, str]]:
    """Return the slots that select a venue, and the slots that are needed only for a booking."""
    booking = {slot: value for slot, value in slots.items() if slot.startswith("book")}
    return {slot: slots[slot] for slot in slots if slot not in booking}, booking


def baseline_predictions(
    gold: GoldFold,
    rules: Rules = "2021",
    *,
    states: bool = False,
    services: Services | None = None,
) -> dict[str, list[dict[str, Any]]]:
    """Return the system's predictions for all dialogues of a fold, in the fold's order.

    Each predicted turn has a `response` and `active_domains`. If `states` is true, the turns also
    have the gold states, which then count as predicted states. Otherwise, the turns have no states,
    and gold states are used for scoring. If `services` (the known values of police and hospital) is
    given, responses contain literal values instead of placeholders.
    """
    catalogue = Catalogue(gold.tables, rules)
    predictions = {}
    for name, dialogue in gold.dialogues.items():
        policy = Policy(catalogue, name, services)
        turns = []
        for utterance, state in zip(dialogue.user_utterances, dialogue.states, strict=True):
            response, domains = policy.reply(utterance, state)
            turn: dict[str, Any] = {"response": response, "active_domains": list(domains)}
            if states:
                turn["state"] = {domain: dict(slots) for domain, slots in state.items()}
            turns.append(turn)
        predictions[name] = turns
    return predictions
