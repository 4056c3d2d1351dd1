"""What to say in a turn: from the state, what changed in it, what was asked, and the database."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from mwzeval.multiwoz.normalization.normalize import State
from mwzeval.multiwoz.schema import DATABASE_DOMAINS, STATE_BOOKING_SLOTS
from mwzeval.multiwoz.template_system.catalogue import Catalogue
from mwzeval.multiwoz.template_system.language import (
    DETAILS,
    FLAGS,
    NAMES_OF_SLOTS,
    NOT_KNOWN,
    closes,
    joined,
    requested_slots,
    sentence,
    topics_of,
    wants_booking,
)

ANSWERS: Mapping[str, tuple[str, ...]] = {
    "restaurant": ("phone", "address", "postcode", "area", "pricerange", "food"),
    "hotel": (
        *("phone", "address", "postcode", "area", "pricerange", "stars", "type"),
        *("internet", "parking"),
    ),
    "attraction": ("phone", "address", "postcode", "area", "entrancefee", "type"),
    "train": ("trainid", "price", "duration", "arriveby", "leaveat"),
}
"""What may be asked about a venue, in the order of the answer."""
MEANT_BY_PRICE = {"attraction": "entrancefee", "train": "price"}
"""What somebody asks for who asks for the price; of other venues only the range is known."""
UNASKED: Mapping[str, tuple[str, ...]] = {
    "restaurant": ("address", "phone"),
    "hotel": ("address", "phone"),
    "attraction": ("address", "phone"),
    "train": (),
}
"""Told without being asked: of a venue that the user names, and of attractions, which cannot be
booked, so that their address and phone number are all that one can take along."""


@dataclass(frozen=True, slots=True)
class Reply:
    """A response with placeholders, the domains it is about, and what would fill it in.

    `venues` are the ids of the venues spoken of, `choices` how many match, by domain.
    """

    response: str
    domains: tuple[str, ...]
    venues: Mapping[str, str]
    choices: Mapping[str, int]


@dataclass(slots=True)
class Memory:
    """What a dialogue has come to; it changes with every turn."""

    state: State = field(default_factory=dict)
    domains: tuple[str, ...] = ()
    venues: dict[str, str] = field(default_factory=dict)
    choices: dict[str, int] = field(default_factory=dict)
    booked: dict[str, Mapping[str, str]] = field(default_factory=dict)
    asked: set[str] = field(default_factory=set)


@dataclass(frozen=True, slots=True)
class Moment:
    """One turn of the user: what was said, what is known after it, and a seed for wordings."""

    utterance: str
    state: State
    seed: str
    requests: tuple[str, ...]

    def say(self, what: str) -> str:
        """Return a wording."""
        return sentence(what, self.seed)


class Policy:
    """Answers the turns of one dialogue, one after the other."""

    def __init__(self, catalogue: Catalogue, seed: str) -> None:
        self._catalogue = catalogue
        self._seed = seed
        self._memory = Memory()
        self._turn = 0

    def reply(self, utterance: str, state: State) -> Reply:
        """Return the reply to the next turn of the user, whose state after it is `state`."""
        memory = self._memory
        requests = requested_slots(utterance)
        moment = Moment(utterance, state, f"{self._seed} {self._turn}", requests)
        domains = self._domains(moment)
        sentences: list[str] = []
        for domain in domains:
            sentences += self._about(domain, moment)
        if not domains:
            opening = self._turn == 0
            sentences.append(moment.say("hello" if opening else "welcome"))
        memory.state = state
        memory.domains = domains or memory.domains
        self._turn += 1
        return Reply(" ".join(sentences), domains, dict(memory.venues), dict(memory.choices))

    def _domains(self, moment: Moment) -> tuple[str, ...]:
        """Return what the turn is about, most important last."""
        before = self._memory.state
        changed = [d for d, slots in moment.state.items() if slots and slots != before.get(d)]
        topics = topics_of(moment.utterance, moment.state)
        emergencies = [domain for domain in ("police", "hospital") if domain in topics]
        if changed:
            return tuple(dict.fromkeys((*emergencies, *changed)))
        if emergencies:
            return tuple(emergencies)
        asks = moment.requests or wants_booking(moment.utterance)
        if closes(moment.utterance) and not asks and "?" not in moment.utterance:
            return ()
        if "taxi" in topics:
            return ("taxi",)
        before_too = tuple(domain for domain in topics if domain in self._memory.domains)
        return before_too or topics or self._memory.domains

    def _about(self, domain: str, moment: Moment) -> Iterator[str]:
        if domain in DATABASE_DOMAINS:
            yield from self._about_venue(domain, moment)
        elif domain == "taxi":
            yield from self._about_taxi(moment)
        elif domain in ("police", "hospital"):
            yield moment.say(f"inform {domain}")
            yield moment.say("more?")

    def _about_taxi(self, moment: Moment) -> Iterator[str]:
        known = moment.state.get("taxi", {})
        missing = [slot for slot in ("departure", "destination") if slot not in known]
        if not {"leaveat", "arriveby"} & known.keys():
            missing.append("time")
        missing = [slot for slot in missing if f"taxi {slot}" not in self._memory.asked]
        if missing and not {"phone", "car"} & set(moment.requests):
            self._memory.asked.add(f"taxi {missing[0]}")
            yield moment.say(f"ask taxi {missing[0]}")
        else:
            yield moment.say("booked taxi")
            yield moment.say("more?")

    def _about_venue(self, domain: str, moment: Moment) -> Iterator[str]:
        memory, slots = self._memory, moment.state.get(domain, {})
        constraints, booking = _split(slots)
        constraints_before, _ = _split(memory.state.get(domain, {}))
        found = self._catalogue.find(domain, constraints)
        memory.choices[domain] = len(found)
        if domain == "train":
            unknown = self._unknown_end(slots, found)
            if unknown:
                yield moment.say(f"ask train {unknown}")
                return
        missing = [slot for slot in STATE_BOOKING_SLOTS.get(domain, ()) if slot not in booking]
        complete = bool(booking and domain in STATE_BOOKING_SLOTS) and not missing
        venue = self._chosen(domain, found, constraints)
        if venue is None and not (complete and domain in memory.venues):
            yield moment.say(f"none {domain}")
            return
        # Who books although nothing matches means what was recommended before.
        memory.venues[domain] = venue or memory.venues[domain]
        is_new = constraints != constraints_before
        is_named = "name" in constraints and "name" not in constraints_before
        asked = self._asked(domain, moment, constraints if is_new else {})
        is_booking = wants_booking(moment.utterance)
        # A name that does not go with the other constraints is not said again.
        unsaid = "" if found else " unnamed"

        if complete and memory.booked.get(domain) != slots:
            memory.booked[domain] = dict(slots)
            yield moment.say(f"booked {domain}{unsaid}")
            yield from self._details(domain, asked)
            yield moment.say("more?")
        elif complete and ("reference" in moment.requests or not asked):
            yield moment.say(f"reference {domain}")
            yield from self._details(domain, asked)
            yield moment.say("more?")
        elif is_new:
            if len(found) > 1 and "name" not in constraints:
                yield moment.say(f"several {domain}")
            yield moment.say(f"offer {domain}{unsaid}")
            unasked = UNASKED[domain] if is_named or domain == "attraction" else ()
            yield from self._details(domain, [*asked, *(s for s in unasked if s not in asked)])
            yield self._question(domain, moment, missing if booking or is_booking else ())
        elif asked:
            yield from self._details(domain, asked)
            yield self._question(domain, moment, missing if booking else (), more=True)
        else:
            speaks_of_it = booking or is_booking or "reference" in moment.requests
            if found:
                yield moment.say(f"again {domain}")
            yield self._question(domain, moment, missing if speaks_of_it else ())

    def _chosen(
        self, domain: str, found: Sequence[str], constraints: Mapping[str, str]
    ) -> str | None:
        """Return the venue to speak of: the one before while it matches, else the first."""
        before = self._memory.venues.get(domain)
        if found:
            return before if before in found else found[0]
        # Users change their minds about a venue's features, but not about the one they name.
        return self._catalogue.named(domain, constraints["name"]) if "name" in constraints else None

    def _unknown_end(self, slots: Mapping[str, str], found: Sequence[str]) -> str | None:
        """Return which end of a journey to ask for: once, and not if there is no choice."""
        for end in ("departure", "destination"):
            is_open = end not in slots and not self._catalogue.shared("train", found, end)
            if is_open and f"train {end}" not in self._memory.asked:
                self._memory.asked.add(f"train {end}")
                return end
        return None

    def _question(
        self, domain: str, moment: Moment, missing: Sequence[str], more: bool = False
    ) -> str:
        slots = moment.state.get(domain, {})
        if domain == "train" and "day" not in slots:
            return moment.say("ask train day")
        if domain == "train" and not {"leaveat", "arriveby"} & slots.keys():
            return moment.say("ask train time")
        if missing:
            return moment.say(f"ask {domain} {missing[0]}")
        if more or domain in self._memory.booked:
            return moment.say("more?")
        return moment.say("more? attraction" if domain == "attraction" else f"book? {domain}")

    def _asked(self, domain: str, moment: Moment, given: Mapping[str, str]) -> list[str]:
        """Return what was asked about a venue; what the user has just given was not asked."""
        price = MEANT_BY_PRICE.get(domain, "pricerange")
        meant = {price if slot == "price" else slot for slot in moment.requests}
        return [slot for slot in ANSWERS[domain] if slot in meant and slot not in given]

    def _details(self, domain: str, slots: Sequence[str]) -> list[str]:
        """Return a sentence with such details of the venue spoken of, or none."""
        if not slots:
            return []
        row = self._catalogue.row(domain, self._memory.venues[domain])
        clauses = []
        for slot in slots:
            if slot == "trainid":
                clauses.append(DETAILS[slot].format(domain=domain))
            elif slot not in row:
                clauses.append(NOT_KNOWN.format(what=NAMES_OF_SLOTS.get(slot, slot)))
            elif (slot, row[slot] != "no") in FLAGS:
                clauses.append(FLAGS[slot, row[slot] != "no"])
            else:
                clauses.append(DETAILS[slot].format(domain=domain))
        return [joined(clauses)]


def _split(slots: Mapping[str, str]) -> tuple[dict[str, str], dict[str, str]]:
    """Return the slots that choose a venue, and those that only say how it is booked."""
    booking = {slot: value for slot, value in slots.items() if slot.startswith("book")}
    return {slot: slots[slot] for slot in slots if slot not in booking}, booking
