"""The built-in agent `rule`: asks for what it needs, books what it recommended, says what it found.

It talks as any agent does: messages in, a message with calls of tools or with words out. Nothing
but the vocabulary (which values there are) comes from the database directly. It asks for what it
needs to search and to book, recommends one venue, answers what is asked about it, and books it.
When a wish changes it searches again.
"""

from __future__ import annotations

import json
import re
from collections.abc import Generator, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any, Protocol

from mwzeval.multiwoz.acts import GENERAL, NONE, SYSTEM_SLOTS, Act
from mwzeval.multiwoz.database import OTHER_END
from mwzeval.multiwoz.formats.functions import BY_NAME
from mwzeval.multiwoz.live.cues import EVERYTHING
from mwzeval.multiwoz.live.understanding import (
    ENDS,
    BeliefState,
    UserTurn,
    Vocabulary,
    plain,
    understand,
)
from mwzeval.multiwoz.live.wordings import agent_sentence, details, shown_value
from mwzeval.multiwoz.schema import (
    DONTCARE,
    NAMED_BY,
    SERVICES,
    STATE_BOOKING_SLOTS,
    VENUE_DOMAINS,
)
from mwzeval.multiwoz.template_system import ANSWERS

Record = Mapping[str, Any]
Call = tuple[str, dict[str, str]]
Calling = Generator[Call, Any, None]
"""Yields calls of functions and is sent their results."""

WISHES: Mapping[str, tuple[str, ...]] = {
    "restaurant": ("food", "pricerange", "area"),
    "hotel": ("area", "pricerange"),
    "attraction": ("type", "area"),
}
"""Asked for where the user begins without any."""
OFFERED: Mapping[str, tuple[str, ...]] = {
    "restaurant": ("name", "pricerange", "food", "area"),
    "hotel": ("name", "pricerange", "stars", "type", "area"),
    "attraction": ("name", "type", "area"),
    "train": ("trainid", "departure", "leaveat", "day", "destination", "arriveby"),
}
"""Slots of an offer."""
PLURAL = {
    "restaurant": "restaurants",
    "hotel": "places to stay",
    "attraction": "attractions",
    "train": "trains",
}
MOST_ASKED = 2
"""How often the same is asked for."""
_ACT_SLOTS = {
    domain: {slot.lower().replace(" ", ""): act.capitalize() for act, slot in slots.items()}
    for domain, slots in SYSTEM_SLOTS.items()
}
"""Domain → slot of a record → slot of an act."""
_ALONE = re.compile(r"\bi\b")
_BEGINNING = re.compile(r"^\w|(?<=[.?!] )\w")


class Response:
    """What an agent says in a turn: sentences, and the acts that they stand for."""

    def __init__(self, seed: str) -> None:
        self._seed = seed
        self.sentences: list[str] = []
        self.acts: list[Act] = []

    def __bool__(self) -> bool:
        return bool(self.sentences)

    @property
    def text(self) -> str:
        """The sentences as one text."""
        return " ".join(self.sentences)

    def add(self, text: str, acts: Iterable[Act] = ()) -> None:
        """Add a sentence."""
        text = _ALONE.sub("I", text)
        self.sentences.append(_BEGINNING.sub(lambda begun: begun[0].upper(), text))
        self.acts += acts

    def say(self, what: str, record: Record, acts: Iterable[Act] = ()) -> None:
        """Say a sentence with the values of a record."""
        self.add(agent_sentence("rule", what, self._seed, partial(_value, record)), acts)

    def offer(self, domain: str, record: Record, count: int) -> None:
        """Recommend a venue or train, of so many."""
        if count > 1:
            values = {"count": str(count), "plural": PLURAL[domain]}
            choice = Act("Inform", domain.capitalize(), "Choice", str(count))
            self.say("several", values, [choice])
        intent = "Inform" if domain == "train" else "Recommend"
        acts = told(intent, domain, record, OFFERED[domain])
        # The article belongs to the wording: `a cheap thai restaurant`.
        described = "type" if domain == "attraction" else "pricerange"
        value = record.get(described)
        if domain != "train" and isinstance(value, str):
            record = {**record, described: f"{'an' if value[:1] in 'aeiou' else 'a'} {value}"}
        self.say(domain, record, acts)

    def details(self, domain: str, record: Record, slots: Sequence[str]) -> None:
        """Answer what was asked about a venue or train."""
        if slots:
            text = details(record, slots, partial(_value, record))
            self.add(text, told("Inform", domain, record, slots))

    def ask(self, domain: str, slots: Sequence[str]) -> None:
        """Ask for slots of states, one sentence for each."""
        for slot in slots:
            timed = slot in ("leaveat", "arriveby")
            is_booking = slot != plain(slot) and domain != "train"
            of = "booking" if is_booking else domain
            names = [_ACT_SLOTS[of].get(s, s) for s in (OTHER_END if timed else (plain(slot),))]
            acts = [Act("Request", of.capitalize(), name, "?") for name in names]
            self.say(f"ask {domain} {'time' if timed else slot}", {}, acts)

    def general(self, intent: str, what: str) -> None:
        """Say a courtesy."""
        self.say(what, {}, [Act(intent, GENERAL, NONE, NONE)])


def told(intent: str, domain: str, record: Record, slots: Iterable[str]) -> list[Act]:
    """Return the acts that inform of slots of a record."""
    names = _ACT_SLOTS[domain]
    return [
        Act(intent, domain.capitalize(), names[slot], str(record[slot]))
        for slot in slots
        if slot in names and slot in record
    ]


def _value(record: Record, slot: str) -> str:
    value = record.get(slot)
    if not isinstance(value, str) or value in ("", "?", DONTCARE):
        return "unknown"
    return shown_value(slot, value)


def _number_of(count: str, singular: str, plural: str) -> str:
    return f"{count} {singular if count == '1' else plural}"


class TurnPolicy(Protocol):
    """What decides on the turns of one dialogue."""

    def answer(self, utterance: str, response: Response) -> Calling:
        """Yield the calls of a turn, and say in `response` what the user is to hear."""


class CallingAgent:
    """One dialogue of an agent with a policy: call it with all messages so far.

    A message in words has the `acts` that its words stand for, too, as lists: what a user makes of
    the words can be compared with them.
    """

    def __init__(self, policy: TurnPolicy, seed: int, dialogue: str) -> None:
        self._policy = policy
        self._seed = f"{seed} {dialogue}"
        self._turns = 0
        self._calls = 0
        self._response = Response(self._seed)
        self._running: Calling | None = None

    def __call__(self, messages: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
        """Return the next message: a call, or what the user hears."""
        last = messages[-1] if messages else {}
        content = last.get("content")
        if last.get("role") == "tool" and self._running is not None:
            return self._resume(self._running, _parsed(content))
        self._response = Response(f"{self._seed} {self._turns}")
        self._turns += 1
        text = content if isinstance(content, str) else ""
        self._running = self._policy.answer(text, self._response)
        return self._resume(self._running, None)

    def _resume(self, running: Calling, result: Any) -> dict[str, Any]:
        try:
            name, arguments = running.send(result)
        except StopIteration:
            self._running = None
            acts = [list(act) for act in self._response.acts]
            return {"role": "assistant", "content": self._response.text, "acts": acts}
        self._calls += 1
        function = {"name": name, "arguments": json.dumps(arguments)}
        call = {"id": f"call_{self._calls}", "type": "function", "function": function}
        return {"role": "assistant", "content": None, "tool_calls": [call]}


class RuleAgent(CallingAgent):
    """One dialogue of the agent `rule`; `vocabulary` may serve many."""

    def __init__(self, vocabulary: Vocabulary, seed: int = 0, dialogue: str = "") -> None:
        super().__init__(Policy(vocabulary), seed, dialogue)


def _parsed(content: Any) -> Any:
    try:
        return json.loads(content)
    except (TypeError, ValueError, RecursionError):
        return None


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
        self._state = BeliefState()
        self._found: dict[str, Found] = {}
        self._is_first = True
        self._response = Response("")
        self._proposed: str | None = None

    def answer(self, utterance: str, response: Response) -> Calling:
        """Yield the calls of a turn, and say in `response` what the user is to hear."""
        self._response, state = response, self._state
        turn = understand(utterance, self._vocabulary, state)
        asked = state.asked
        state.asked = []
        proposed, self._proposed = self._proposed, None
        self._take_in(turn)
        domains = turn.domains
        for domain, slot in turn.requests:
            found = self._of(domain)
            if slot not in found.pending:
                found.pending.append(slot)
        for domain in turn.books:
            self._of(domain).wants_booking = True
        for domain in (*turn.declines, *turn.given_up):
            self._of(domain).wants_booking = False
        for domain in turn.loose:
            self._of(domain).is_loose = True
        if not domains and state.current is not None:
            goes_on = turn.agrees or turn.refuses or turn.wants_other
            if (goes_on or asked) and not (turn.closes or turn.given_up):
                domains = [state.current]
        if (
            proposed
            and proposed == state.current
            and turn.agrees
            and not (turn.closes or turn.refuses)
        ):
            self._of(proposed).wants_booking = True
        for domain in domains:
            yield from self._about(domain, turn)
        if not response:
            self._close(turn)
        elif not response.text.endswith("?"):
            response.general("reqmore", "more?")
        self._is_first = False

    def _of(self, domain: str) -> Found:
        return self._found.setdefault(domain, Found())

    def _take_in(self, turn: UserTurn) -> None:
        """Add what is wanted."""
        state = self._state
        for domain, slot, value in turn.wishes:
            wanted = state.wanted.setdefault(domain, {})
            if slot == "name" and value == state.offered.get(domain, {}).get("name"):
                continue
            if wanted.get(slot) != value:
                if slot == "name":
                    # Whoever names a venue wants that one, whatever was said before.
                    for other in [slot for slot in wanted if not slot.startswith("book")]:
                        del wanted[other]
                elif not slot.startswith("book") and "name" in wanted:
                    offered = state.offered.get(domain, {})
                    if domain in VENUE_DOMAINS and value != DONTCARE and offered.get(slot) != value:
                        del wanted["name"]
                wanted[slot] = value
                if slot == "type":
                    self._of(domain).is_loose = False
                other = OTHER_END.get(slot, "")
                if other in wanted and (domain == "taxi" or wanted[other] == DONTCARE):
                    del wanted[other]
            if slot.startswith("book"):
                self._of(domain).wants_booking = value != DONTCARE
        state.turn_to(turn.domains)

    def _close(self, turn: UserTurn) -> None:
        response = self._response
        if turn.closes or turn.thanks:
            intent = "bye" if turn.closes else "welcome"
            response.general(intent, "welcome")
        elif self._is_first:
            response.general("greet", "hello")
        else:
            response.general("reqmore", "more?")

    def _about(self, domain: str, turn: UserTurn) -> Calling:
        if domain == "taxi":
            yield from self._taxi()
        elif domain in SERVICES:
            yield from self._service(domain)
        elif domain == "train" and self._lacks("train", self._needed_for_train()):
            return
        else:
            yield from self._venue(domain, turn)

    def _lacks(self, domain: str, needed: Sequence[str]) -> bool:
        """Ask for what is not known, but not again and again; tell whether anything was asked."""
        asked = self._of(domain).asked
        wanted = self._state.wanted.get(domain, {})
        missing = [s for s in needed if s not in wanted and asked.get(s, 0) < MOST_ASKED]
        if missing:
            self._ask(domain, missing)
        return bool(missing)

    def _ask(self, domain: str, slots: Sequence[str]) -> None:
        asked = self._of(domain).asked
        for slot in slots:
            asked[slot] = asked.get(slot, 0) + 1
        self._response.ask(domain, slots)
        self._state.asked += [(domain, slot) for slot in slots]
        if "leaveat" in slots:
            self._state.asked.append((domain, "arriveby"))
        self._state.current = domain

    def _needed_for_train(self) -> list[str]:
        wanted = self._state.wanted.get("train", {})
        return [*ENDS, "day", *(() if "arriveby" in wanted else ("leaveat",))]

    # Venues and trains

    def _venue(self, domain: str, turn: UserTurn) -> Calling:
        found, response = self._of(domain), self._response
        wanted = self._state.wanted.get(domain, {})
        constraints = {
            slot: value
            for slot, value in wanted.items()
            if not slot.startswith("book") and slot != "trainid" and value != DONTCARE
        }
        is_open = not constraints and found.searched is None and not wanted
        if is_open and domain in VENUE_DOMAINS and not found.asked:
            names = (_ACT_SLOTS[domain][slot] for slot in WISHES[domain])
            acts = [Act("Request", domain.capitalize(), name, "?") for name in names]
            response.say(f"ask {domain}", {}, acts)
            found.asked |= dict.fromkeys(WISHES[domain], 1)
            self._state.asked += [(domain, slot) for slot in WISHES[domain]]
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
            response.say(f"none {domain}", {}, acts or [Act("NoOffer", spoken, NONE, NONE)])
            found.offered = None
            self._state.offered.pop(domain, None)
            return
        wants_other = turn.wants_other and turn.domains[-1:] in ([domain], [])
        self._choose(domain, wants_other)
        is_offer = found.offered != before
        assert found.offered is not None
        if is_offer:
            count = found.count if "name" not in constraints else 1
            response.offer(domain, found.offered, count)
        elif wants_other and not found.pending:
            response.say("no other", found.offered)
        asked = [slot for slot in ANSWERS[domain] if slot in found.pending]
        response.details(domain, found.offered, asked)
        if "name" in found.pending and not is_offer:
            response.say("name", found.offered, told("Inform", domain, found.offered, ["name"]))
        yield from self._booking(domain, turn)
        if (
            is_offer
            and domain in STATE_BOOKING_SLOTS
            and not found.booked
            and not self._state.asked
        ):
            response.say(f"book? {domain}", {}, [Act("OfferBook", domain.capitalize(), NONE, NONE)])
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
        key = NAMED_BY[domain]
        names = [str(row[key]) for row in found.results]
        before = str(found.offered[key]) if found.offered else ""
        chosen = self._state.wanted.get(domain, {}).get(key, "")
        before = chosen if chosen in names else before
        if wants_other or before not in names:
            unseen = [name for name in names if name not in found.seen] or names
            before = unseen[0] if wants_other else names[0]
        found.offered = found.results[names.index(before)]
        if before not in found.seen:
            found.seen.append(before)
        self._state.offered[domain] = found.offered

    def _booking(self, domain: str, turn: UserTurn) -> Calling:
        found, response = self._of(domain), self._response
        if domain not in STATE_BOOKING_SLOTS or found.offered is None:
            return
        wanted = self._state.wanted.get(domain, {})
        booking = {
            slot.removeprefix("book"): wanted[slot]
            for slot in STATE_BOOKING_SLOTS[domain]
            if wanted.get(slot, DONTCARE) != DONTCARE
        }
        key = NAMED_BY[domain]
        arguments = {key: str(found.offered[key]), **booking}
        missing = [
            slot for slot in STATE_BOOKING_SLOTS[domain] if slot.removeprefix("book") not in booking
        ]
        speaks_of_it = domain in turn.books or any(
            wish.domain == domain and wish.slot.startswith("book") for wish in turn.wishes
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
            response.say("reference", found.booked, acts)

    def _book(self, domain: str, arguments: dict[str, str]) -> Calling:
        found, response = self._of(domain), self._response
        result = yield f"book_{domain}", arguments
        found.booked = None
        if not _is_booked(result):
            acts = [Act("NoBook", "Booking", NONE, NONE)]
            response.say("refused" if domain != "train" else "not booked", arguments, acts)
            return
        found.booked = {**(found.offered or {}), **arguments, **result}
        self._confirm(domain)

    def _confirm(self, domain: str) -> None:
        """Say what is booked."""
        response = self._response
        record = dict(self._of(domain).booked or {})
        people = str(record["people"])
        acts = [Act("Book", "Booking", "Ref", str(record.get("reference")))]
        if domain == "train":
            record["tickets"] = _number_of(people, "ticket", "tickets")
            acts += told("Inform", "train", record, ["people"])
        else:
            slots = [slot.removeprefix("book") for slot in STATE_BOOKING_SLOTS[domain]]
            acts += told("Inform", "booking", record, ["name", *slots])
            record["people"] = _number_of(people, "person", "people")
            record["stay"] = _number_of(str(record.get("stay")), "night", "nights")
        response.say(f"booked {domain}", record, acts)

    # Taxis, and what there is only one of

    def _taxi(self) -> Calling:
        found, response = self._of("taxi"), self._response
        wanted = self._state.wanted.get("taxi", {})
        timed = "leaveat" in wanted or "arriveby" in wanted
        if self._lacks("taxi", ["departure", "destination", *(() if timed else ("leaveat",))]):
            return
        known = {slot: value for slot, value in wanted.items() if value != DONTCARE}
        if known != found.tried:
            found.tried = known
            result = yield "book_taxi", known
            found.booked = {**known, **result} if _is_booked(result) else None
        if found.booked is None:
            response.say("not booked", {}, [Act("NoBook", "Booking", NONE, NONE)])
            return
        acts = [
            Act("Inform", "Taxi", "Car", str(found.booked.get("type"))),
            Act("Inform", "Taxi", "Phone", str(found.booked.get("phone"))),
        ]
        response.say("booked taxi", found.booked, acts)
        found.pending = []

    def _service(self, domain: str) -> Calling:
        found, response = self._of(domain), self._response
        wanted = self._state.wanted.get(domain, {})
        if domain == "hospital" and not found.pending and self._lacks(domain, ["department"]):
            return
        known = {slot: value for slot, value in wanted.items() if value != DONTCARE}
        if known != found.searched:
            yield from self._search(domain, known)
        if not found.results:
            return
        record = found.results[0]
        what = "department" if "department" in known else domain
        response.say(what, record, told("Inform", domain, record, EVERYTHING))
        found.pending = []


def _is_record(domain: str, row: Any) -> bool:
    return isinstance(row, Mapping) and (
        domain in SERVICES or isinstance(row.get(NAMED_BY[domain]), str)
    )


def _is_booked(result: Any) -> bool:
    return isinstance(result, Mapping) and result.get("status") == "booked"
