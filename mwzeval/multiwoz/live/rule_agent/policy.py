"""What the rule agent does in a turn: which functions it calls, and what it says.

It asks for what it needs to search and to book, recommends one venue, answers what is asked about
it, and books it. When a wish changes it searches again.
"""

from __future__ import annotations

from collections.abc import Generator, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from mwzeval.multiwoz.acts import NONE, Act
from mwzeval.multiwoz.database.facts import OTHER_END
from mwzeval.multiwoz.formats.functions import BY_NAME
from mwzeval.multiwoz.live.rule_agent.heard import Heard, Situation
from mwzeval.multiwoz.live.rule_agent.language import Speech, number_of, told
from mwzeval.multiwoz.live.rule_agent.spoken_values import Vocabulary
from mwzeval.multiwoz.live.rule_agent.understanding import understand
from mwzeval.multiwoz.schema import DONTCARE, STATE_BOOKING_SLOTS
from mwzeval.multiwoz.template_system.policy import ANSWERS

Call = tuple[str, dict[str, str]]
Calling = Generator[Call, Any, None]
"""Yields calls of functions and is sent their results."""

VENUES = ("restaurant", "hotel", "attraction")
JOURNEY = ("departure", "destination", "day")
WISHES: Mapping[str, tuple[str, ...]] = {
    "restaurant": ("food", "pricerange", "area"),
    "hotel": ("area", "pricerange"),
    "attraction": ("type", "area"),
}
"""Asked for where the user begins without any."""
SERVICES = ("phone", "address", "postcode")
MOST_ASKED = 2
"""How often the same is asked for."""


@dataclass(slots=True)
class Found:
    """What has come of a domain: the search, what was recommended, what was booked."""

    searched: Mapping[str, str] | None = None
    count: int = 0
    results: Sequence[Mapping[str, Any]] = ()
    offered: Mapping[str, Any] | None = None
    seen: list[str] = field(default_factory=list)
    pending: list[str] = field(default_factory=list)
    wants_booking: bool = False
    is_loose: bool = False
    tried: Mapping[str, str] | None = None
    booked: Mapping[str, Any] | None = None
    asked: dict[str, int] = field(default_factory=dict)


class Policy:
    """One dialogue of the agent. `answer` yields calls of functions until all is said."""

    def __init__(self, vocabulary: Vocabulary) -> None:
        self._vocabulary = vocabulary
        self._situation = Situation()
        self._found: dict[str, Found] = {}
        self._is_first = True
        self._speech = Speech("")
        self._proposed: str | None = None

    def answer(self, utterance: str, speech: Speech) -> Calling:
        """Yield the calls of a turn, and say in `speech` what the user is to hear."""
        self._speech, situation = speech, self._situation
        heard = understand(utterance, self._vocabulary, situation)
        asked = situation.asked
        situation.asked = []
        proposed, self._proposed = self._proposed, None
        self._take_in(heard)
        domains = heard.domains
        for domain, slot in heard.requests:
            found = self._of(domain)
            if slot not in found.pending:
                found.pending.append(slot)
        for domain in heard.books:
            self._of(domain).wants_booking = True
        for domain in (*heard.declines, *heard.given_up):
            self._of(domain).wants_booking = False
        for domain in heard.loose:
            self._of(domain).is_loose = True
        if not domains and situation.current is not None:
            goes_on = heard.agrees or heard.refuses or heard.wants_other
            if (goes_on or asked) and not (heard.closes or heard.given_up):
                domains = [situation.current]
        if (
            proposed
            and proposed == situation.current
            and heard.agrees
            and not (heard.closes or heard.refuses)
        ):
            self._of(proposed).wants_booking = True
        for domain in domains:
            yield from self._about(domain, heard)
        if not speech:
            self._close(heard)
        elif not speech.text.endswith("?"):
            speech.general("reqmore", "more?")
        self._is_first = False

    def _of(self, domain: str) -> Found:
        return self._found.setdefault(domain, Found())

    def _take_in(self, heard: Heard) -> None:
        """Add what is wanted."""
        situation = self._situation
        for domain, slot, value in heard.wishes:
            wanted = situation.wanted.setdefault(domain, {})
            if slot == "name" and value == situation.offered.get(domain, {}).get("name"):
                continue
            if wanted.get(slot) != value:
                if slot == "name":
                    # Whoever names a venue wants that one, whatever was said before.
                    for other in [slot for slot in wanted if not slot.startswith("book")]:
                        del wanted[other]
                elif not slot.startswith("book") and "name" in wanted:
                    offered = situation.offered.get(domain, {})
                    if domain in VENUES and value != DONTCARE and offered.get(slot) != value:
                        del wanted["name"]
                wanted[slot] = value
                if slot == "type":
                    self._of(domain).is_loose = False
                other = OTHER_END.get(slot, "")
                if other in wanted and (domain == "taxi" or wanted[other] == DONTCARE):
                    del wanted[other]
            if slot.startswith("book"):
                self._of(domain).wants_booking = value != DONTCARE
        situation.hear(heard.domains)

    def _close(self, heard: Heard) -> None:
        speech = self._speech
        if heard.closes or heard.thanks:
            intent = "bye" if heard.closes else "welcome"
            speech.general(intent, "welcome")
        elif self._is_first:
            speech.general("greet", "hello")
        else:
            speech.general("reqmore", "more?")

    def _about(self, domain: str, heard: Heard) -> Calling:
        if domain == "taxi":
            yield from self._taxi()
        elif domain in ("police", "hospital"):
            yield from self._service(domain)
        elif domain == "train" and self._lacks("train", self._needed_for_train()):
            return
        else:
            yield from self._venue(domain, heard)

    def _lacks(self, domain: str, needed: Sequence[str]) -> bool:
        """Ask for what is not known, but not again and again; tell whether anything was asked."""
        asked = self._of(domain).asked
        wanted = self._situation.wanted.get(domain, {})
        missing = [s for s in needed if s not in wanted and asked.get(s, 0) < MOST_ASKED]
        if missing:
            self._ask(domain, missing)
        return bool(missing)

    def _ask(self, domain: str, slots: Sequence[str]) -> None:
        asked = self._of(domain).asked
        for slot in slots:
            asked[slot] = asked.get(slot, 0) + 1
        self._speech.ask(domain, slots)
        self._situation.asked += [(domain, slot) for slot in slots]
        if "leaveat" in slots:
            self._situation.asked.append((domain, "arriveby"))
        self._situation.current = domain

    def _needed_for_train(self) -> list[str]:
        wanted = self._situation.wanted.get("train", {})
        return [*JOURNEY, *(() if "arriveby" in wanted else ("leaveat",))]

    # Venues and trains

    def _venue(self, domain: str, heard: Heard) -> Calling:
        found, speech = self._of(domain), self._speech
        wanted = self._situation.wanted.get(domain, {})
        constraints = {
            slot: value
            for slot, value in wanted.items()
            if not slot.startswith("book") and slot != "trainid" and value != DONTCARE
        }
        is_open = not constraints and found.searched is None and not wanted
        if is_open and domain in VENUES and not found.asked:
            speech.say(f"ask {domain}", {}, _questions(domain))
            found.asked |= dict.fromkeys(WISHES[domain], 1)
            self._situation.asked += [(domain, slot) for slot in WISHES[domain]]
            return
        before = found.offered
        if constraints != found.searched:
            yield from self._search(domain, constraints)
            if not found.results and found.is_loose and constraints.get("type") == "hotel":
                del wanted["type"], constraints["type"]
                yield from self._search(domain, constraints)
        if not found.results:
            acts = told("NoOffer", domain, constraints, constraints)
            spoken = domain.capitalize()
            speech.template(f"none {domain}", acts or [Act("NoOffer", spoken, NONE, NONE)])
            found.offered = None
            self._situation.offered.pop(domain, None)
            return
        wants_other = heard.wants_other and heard.domains[-1:] in ([domain], [])
        self._choose(domain, wants_other)
        is_offer = found.offered != before
        assert found.offered is not None
        if is_offer:
            count = found.count if "name" not in constraints else 1
            speech.offer(domain, found.offered, count)
        elif wants_other and not found.pending:
            speech.say("no other", found.offered)
        asked = [slot for slot in ANSWERS[domain] if slot in found.pending]
        speech.details(domain, found.offered, asked)
        if "name" in found.pending and not is_offer:
            speech.say("name", found.offered, told("Inform", domain, found.offered, ["name"]))
        yield from self._booking(domain, heard)
        if (
            is_offer
            and domain in STATE_BOOKING_SLOTS
            and not found.booked
            and not self._situation.asked
        ):
            speech.template(f"book? {domain}", [Act("OfferBook", domain.capitalize(), NONE, NONE)])
            self._proposed = domain
        found.pending = []

    def _search(self, domain: str, constraints: Mapping[str, str]) -> Calling:
        found = self._of(domain)
        found.searched = dict(constraints)
        parameters = {parameter.name for parameter in BY_NAME[f"find_{domain}"].parameters}
        arguments = {slot: v for slot, v in constraints.items() if slot in parameters}
        result = yield f"find_{domain}", arguments
        results = result.get("results") if isinstance(result, Mapping) else None
        listed = results if isinstance(results, list) else []
        found.results = [row for row in listed if _is_record(domain, row)]
        count = result.get("count") if found.results else 0
        found.count = count if isinstance(count, int) else len(found.results)

    def _choose(self, domain: str, wants_other: bool) -> None:
        """Recommend the same as before while it fits, else the first that was not seen yet."""
        found = self._of(domain)
        key = _key(domain)
        names = [str(row[key]) for row in found.results]
        before = str(found.offered[key]) if found.offered else ""
        chosen = self._situation.wanted.get(domain, {}).get(key, "")
        before = chosen if chosen in names else before
        if wants_other or before not in names:
            unseen = [name for name in names if name not in found.seen] or names
            before = unseen[0] if wants_other else names[0]
        found.offered = found.results[names.index(before)]
        if before not in found.seen:
            found.seen.append(before)
        self._situation.offered[domain] = found.offered

    def _booking(self, domain: str, heard: Heard) -> Calling:
        found, speech = self._of(domain), self._speech
        if domain not in STATE_BOOKING_SLOTS or found.offered is None:
            return
        wanted = self._situation.wanted.get(domain, {})
        booking = {
            slot.removeprefix("book"): wanted[slot]
            for slot in STATE_BOOKING_SLOTS[domain]
            if wanted.get(slot, DONTCARE) != DONTCARE
        }
        key = _key(domain)
        arguments = {key: str(found.offered[key]), **booking}
        missing = [
            slot for slot in STATE_BOOKING_SLOTS[domain] if slot.removeprefix("book") not in booking
        ]
        speaks_of_it = domain in heard.books or any(
            wish.domain == domain and wish.slot.startswith("book") for wish in heard.wishes
        )
        if found.wants_booking and missing:
            if speaks_of_it or found.asked.get(missing[0], 0) < MOST_ASKED:
                self._ask(domain, missing)
        elif found.wants_booking and arguments != found.tried:
            found.tried = arguments
            yield from self._book(domain, arguments)
        elif found.wants_booking and found.booked and speaks_of_it:
            self._confirm(domain)
        elif "reference" in found.pending and found.booked:
            acts = [Act("Inform", "Booking", "Ref", str(found.booked.get("reference")))]
            speech.say("reference", found.booked, acts)

    def _book(self, domain: str, arguments: dict[str, str]) -> Calling:
        found, speech = self._of(domain), self._speech
        result = yield f"book_{domain}", arguments
        found.booked = None
        if not _is_booked(result):
            acts = [Act("NoBook", "Booking", NONE, NONE)]
            speech.say("refused" if domain != "train" else "not booked", arguments, acts)
            return
        found.booked = {**(found.offered or {}), **arguments, **result}
        self._confirm(domain)

    def _confirm(self, domain: str) -> None:
        """Say what is booked."""
        speech = self._speech
        record = dict(self._of(domain).booked or {})
        people = str(record["people"])
        acts = [Act("Book", "Booking", "Ref", str(record.get("reference")))]
        if domain == "train":
            record["tickets"] = number_of(people, "ticket", "tickets")
            acts += told("Inform", "train", record, ["people"])
        else:
            slots = [slot.removeprefix("book") for slot in STATE_BOOKING_SLOTS[domain]]
            acts += told("Inform", "booking", record, ["name", *slots])
            record["people"] = number_of(people, "person", "people")
            record["stay"] = number_of(str(record.get("stay")), "night", "nights")
        speech.say(f"booked {domain}", record, acts)

    # Taxis, and what there is only one of

    def _taxi(self) -> Calling:
        found, speech = self._of("taxi"), self._speech
        wanted = self._situation.wanted.get("taxi", {})
        timed = "leaveat" in wanted or "arriveby" in wanted
        if self._lacks("taxi", ["departure", "destination", *(() if timed else ("leaveat",))]):
            return
        known = {slot: value for slot, value in wanted.items() if value != DONTCARE}
        if known != found.tried:
            found.tried = known
            result = yield "book_taxi", known
            found.booked = {**known, **result} if _is_booked(result) else None
        if found.booked is None:
            speech.say("not booked", {}, [Act("NoBook", "Booking", NONE, NONE)])
            return
        acts = [
            Act("Inform", "Taxi", "Car", str(found.booked.get("type"))),
            Act("Inform", "Taxi", "Phone", str(found.booked.get("phone"))),
        ]
        speech.say("booked taxi", found.booked, acts)
        found.pending = []

    def _service(self, domain: str) -> Calling:
        found, speech = self._of(domain), self._speech
        wanted = self._situation.wanted.get(domain, {})
        if domain == "hospital" and not found.pending and self._lacks(domain, ["department"]):
            return
        known = {slot: value for slot, value in wanted.items() if value != DONTCARE}
        if known != found.searched:
            yield from self._search(domain, known)
        if not found.results:
            return
        record = found.results[0]
        what = "department" if "department" in known else domain
        speech.say(what, record, told("Inform", domain, record, SERVICES))
        found.pending = []


def _questions(domain: str) -> Iterator[Act]:
    names = {"food": "Food", "pricerange": "Price", "area": "Area", "type": "Type"}
    for slot in WISHES[domain]:
        yield Act("Request", domain.capitalize(), names[slot], "?")


def _key(domain: str) -> str:
    return "trainid" if domain == "train" else "name"


def _is_record(domain: str, row: Any) -> bool:
    return isinstance(row, Mapping) and (
        domain in ("police", "hospital") or isinstance(row.get(_key(domain)), str)
    )


def _is_booked(result: Any) -> bool:
    return isinstance(result, Mapping) and result.get("status") == "booked"
