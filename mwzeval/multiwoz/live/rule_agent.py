"""The built-in agents `rule`, which searches, recommends, answers and books by rules, and `oracle`.

Like any agent, the rule agent receives messages, and returns a message with tool calls or text. The
agent reads only the vocabulary, that is, the existing values, directly from the database. The agent
asks for the slots that it needs to search and to book, recommends one venue, answers questions
about this venue, and books it. If a constraint changes, the agent searches again.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Generator, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any

from mwzeval.multiwoz.acts import ACT_SLOTS, GENERAL, GIVE_UP, NONE, STATE_SLOTS, Act
from mwzeval.multiwoz.functions import BY_NAME
from mwzeval.multiwoz.live.tools import NOT_KNOWN, UNAVAILABLE
from mwzeval.multiwoz.live.understanding import (
    ENDS,
    BeliefState,
    Constraint,
    UserTurn,
    Vocabulary,
    plain,
    understand,
)
from mwzeval.multiwoz.live.wordings import agent_sentence, details, shown_value
from mwzeval.multiwoz.schema import (
    ACT_BOOKING_SLOTS,
    BOOKING_SLOTS,
    DONTCARE,
    NAMED_BY,
    OTHER_END,
    SERVICES,
    STATE_BOOKING_SLOTS,
    VENUE_DOMAINS,
)
from mwzeval.multiwoz.template_system import ANSWERS, EVERYTHING

Record = Mapping[str, Any]
Call = tuple[str, dict[str, str]]
Calling = Generator[Call, Any, None]
"""Yields function calls and receives their results."""
Calls = Generator[Call, Any, Any]
"""Yields calls, receives their results, and returns the last result."""

FIRST_ASKED: Mapping[str, tuple[str, ...]] = {
    "restaurant": ("food", "pricerange", "area"),
    "hotel": ("area", "pricerange"),
    "attraction": ("type", "area"),
}
"""The slots that the agent asks for if the user gives no constraint."""
OFFERED: Mapping[str, tuple[str, ...]] = {
    "restaurant": ("name", "pricerange", "food", "area"),
    "hotel": ("name", "pricerange", "stars", "type", "area"),
    "attraction": ("name", "type", "area"),
    "train": ("trainid", "departure", "leaveat", "day", "destination", "arriveby"),
}
"""The slots of a venue or train that the agent mentions in an offer."""
MOST_ASKED = 2
"""The maximum number of questions about the same slot."""
MOST_REPETITIONS = 6
"""The maximum number of times that a call is repeated."""
_ALONE = re.compile(r"\bi\b")
_BEGINNING = re.compile(r"^\w|(?<=[.?!] )\w")


class Response:
    """The response of the agent in a turn: sentences, and the dialogue acts that they express."""

    def __init__(self, seed: str) -> None:
        self._seed = seed
        self.sentences: list[str] = []
        self.acts: list[Act] = []

    def __bool__(self) -> bool:
        return bool(self.sentences)

    @property
    def text(self) -> str:
        """The sentences of the response as one text."""
        return " ".join(self.sentences)

    def add(self, text: str, acts: Iterable[Act] = ()) -> None:
        """Append a sentence and the acts that it expresses."""
        text = _ALONE.sub("I", text)
        self.sentences.append(_BEGINNING.sub(lambda begun: begun[0].upper(), text))
        self.acts += acts

    def say(self, what: str, record: Record, acts: Iterable[Act] = ()) -> None:
        """Append a sentence that contains the values of a record."""
        self.add(agent_sentence("rule", what, self._seed, partial(_value, record)), acts)

    def offer(self, domain: str, record: Record, count: int) -> None:
        """Recommend a venue or train; if there are several results, state their number, `count`."""
        if count > 1:
            plural = agent_sentence("rule", f"plural {domain}", self._seed, str)
            values = {"count": str(count), "plural": plural}
            choice = Act("Inform", domain.capitalize(), "Choice", str(count))
            self.say("several", values, [choice])
        intent = "Inform" if domain == "train" else "Recommend"
        acts = informs(intent, domain, record, OFFERED[domain])
        # The article is part of the wording: `a cheap thai restaurant`.
        described = "type" if domain == "attraction" else "pricerange"
        value = record.get(described)
        if domain != "train" and isinstance(value, str):
            record = {**record, described: f"{'an' if value[:1] in 'aeiou' else 'a'} {value}"}
        self.say(domain, record, acts)

    def details(self, domain: str, record: Record, slots: Sequence[str]) -> None:
        """Answer questions about a venue or train."""
        if slots:
            text = details(record, slots, partial(_value, record))
            self.add(text, informs("Inform", domain, record, slots))

    def ask(self, domain: str, slots: Sequence[str]) -> None:
        """Ask the user for slots, with one sentence for each slot."""
        for slot in slots:
            timed = slot in ("leaveat", "arriveby")
            about = "booking" if slot != plain(slot) and domain != "train" else domain
            names = [ACT_SLOTS[about].get(s, s) for s in (OTHER_END if timed else (plain(slot),))]
            acts = [Act("Request", about.capitalize(), name, "?") for name in names]
            self.say(f"ask {domain} {'time' if timed else slot}", {}, acts)

    def general(self, intent: str, what: str) -> None:
        """Append a sentence of courtesy, such as a greeting or goodbye."""
        self.say(what, {}, [Act(intent, GENERAL, NONE, NONE)])


def informs(intent: str, domain: str, record: Record, slots: Iterable[str]) -> list[Act]:
    """Return the acts that inform about slots of a record."""
    names = ACT_SLOTS[domain]
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


class CallingAgent:
    """An agent for one dialogue, which is called with all messages so far.

    The method `answer` yields the calls of a turn, receives their results, and adds sentences to
    the response. For comparison with the user's interpretation, a message also contains the `acts`
    of its sentences.
    """

    def __init__(self, answer: Callable[[str, Response], Calling], seed: int, item: str) -> None:
        self._answer = answer
        self._seed = f"{seed} {item}"
        self._turns = self._calls = 0
        self._response = Response(self._seed)
        self._running: Calling | None = None

    def __call__(self, messages: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
        """Return the next message, which is a call or a response to the user."""
        last = messages[-1] if messages else {}
        content = last.get("content")
        result: Any = None
        if last.get("role") == "tool" and self._running is not None:
            try:
                result = json.loads(content)  # type: ignore[arg-type]
            except (TypeError, ValueError, RecursionError):
                result = None
        else:
            self._response = Response(f"{self._seed} {self._turns}")
            self._turns += 1
            text = content if isinstance(content, str) else ""
            self._running = self._answer(text, self._response)
        try:
            name, arguments = self._running.send(result)
        except StopIteration:
            self._running = None
            acts = [list(act) for act in self._response.acts]
            return {"role": "assistant", "content": self._response.text, "acts": acts}
        self._calls += 1
        function = {"name": name, "arguments": json.dumps(arguments)}
        call = {"id": f"call_{self._calls}", "type": "function", "function": function}
        return {"role": "assistant", "content": None, "tool_calls": [call]}


class RuleAgent(CallingAgent):
    """The built-in agent `rule` for one dialogue. Several agents can share a `vocabulary`."""

    def __init__(self, vocabulary: Vocabulary, seed: int = 0, dialogue: str = "") -> None:
        def read(utterance: str, state: BeliefState) -> UserTurn:
            return understand(utterance, vocabulary, state)

        super().__init__(Policy(read).answer, seed, dialogue)


@dataclass(slots=True)
class DomainState:
    """The state of one domain: search, recommended venue, unanswered requests, and booking."""

    searched: Mapping[str, str] | None = None
    count: int = 0
    results: Sequence[Record] = ()
    offered: Record | None = None
    seen: list[str] = field(default_factory=list)
    pending: list[str] = field(default_factory=list)
    wants_booking: bool = False
    any_type: bool = False
    tried: Mapping[str, str] | None = None
    booked: Record | None = None
    asked: dict[str, int] = field(default_factory=dict)


class Policy:
    """The dialogue policy of the agent, for one dialogue.

    `understand` returns the meaning of a user utterance in a belief state.
    """

    def __init__(self, understand: Callable[[str, BeliefState], UserTurn]) -> None:
        self._understand = understand
        self._state = BeliefState()
        self._domains: dict[str, DomainState] = {}
        self._is_first = True
        self._response = Response("")
        self._proposed: str | None = None

    def answer(self, utterance: str, response: Response) -> Calling:
        """Yield the agent's calls in a turn, and append sentences to `response`."""
        self._response, state = response, self._state
        turn = self._understand(utterance, state)
        asked, state.asked = state.asked, []
        proposed, self._proposed = self._proposed, None
        self._update(turn)
        domains = turn.domains
        for domain, slot in turn.requests:
            if slot not in self._of(domain).pending:
                self._of(domain).pending.append(slot)
        for domain in turn.books:
            self._of(domain).wants_booking = True
        for domain in (*turn.declines, *turn.given_up):
            self._of(domain).wants_booking = False
        for domain in turn.any_type:
            self._of(domain).any_type = True
        if not domains and state.current is not None:
            continues = turn.agrees or turn.refuses or turn.wants_other or asked
            if continues and not (turn.closes or turn.given_up):
                domains = [state.current]
        if (
            proposed
            and proposed == state.current
            and turn.agrees
            and not (turn.closes or turn.refuses)
        ):
            self._of(proposed).wants_booking = True
        for domain in domains:
            if domain == "taxi":
                yield from self._taxi()
            elif domain in SERVICES:
                yield from self._service(domain)
            elif domain != "train" or not self._ask_missing("train", (*ENDS, "day")):
                yield from self._venue(domain, turn)
        if not response:
            self._close(turn)
        elif not response.text.endswith("?"):
            response.general("reqmore", "more?")
        self._is_first = False

    def _of(self, domain: str) -> DomainState:
        return self._domains.setdefault(domain, DomainState())

    def _known(self, domain: str) -> dict[str, str]:
        """Return the constraints for a search."""
        return {
            slot: value
            for slot, value in self._state.constraints.get(domain, {}).items()
            if not slot.startswith("book") and slot != "trainid" and value != DONTCARE
        }

    def _update(self, turn: UserTurn) -> None:
        """Add the constraints of a turn, some of which replace earlier constraints."""
        state = self._state
        for domain, slot, value in turn.constraints:
            informed = state.constraints.setdefault(domain, {})
            offered = state.offered.get(domain, {})
            is_booking = slot.startswith("book")
            if slot == "name" and value == offered.get("name"):
                continue
            if informed.get(slot) != value:
                if slot == "name":
                    # A name replaces all earlier constraints on the search.
                    for other in [slot for slot in informed if not slot.startswith("book")]:
                        del informed[other]
                elif (
                    "name" in informed
                    and domain in VENUE_DOMAINS
                    and not is_booking
                    and value not in (DONTCARE, offered.get(slot))
                ):
                    del informed["name"]
                informed[slot] = value
                if slot == "type":
                    self._of(domain).any_type = False
                other = OTHER_END.get(slot, "")
                if other in informed and (domain == "taxi" or informed[other] == DONTCARE):
                    del informed[other]
            if is_booking:
                self._of(domain).wants_booking = value != DONTCARE
        state.turn_to(turn.domains)

    def _close(self, turn: UserTurn) -> None:
        if turn.closes or turn.thanks:
            self._response.general("bye" if turn.closes else "welcome", "welcome")
        elif self._is_first:
            self._response.general("greet", "hello")
        else:
            self._response.general("reqmore", "more?")

    def _ask_missing(self, domain: str, needed: Sequence[str]) -> bool:
        """Ask for missing slots, each up to `MOST_ASKED` times. A journey also needs a time.

        Returns whether the agent asked for anything.
        """
        asked = self._of(domain).asked
        informed = self._state.constraints.get(domain, {})
        if domain in ("train", "taxi") and "arriveby" not in informed:
            needed = (*needed, "leaveat")
        missing = [s for s in needed if s not in informed and asked.get(s, 0) < MOST_ASKED]
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

    # Venues and trains

    def _venue(self, domain: str, turn: UserTurn) -> Calling:
        known, response, state = self._of(domain), self._response, self._state
        informed = state.constraints.get(domain, {})
        constraints = self._known(domain)
        is_open = not informed and known.searched is None and not known.asked
        if is_open and domain in VENUE_DOMAINS:
            slots = FIRST_ASKED[domain]
            spoken = domain.capitalize()
            acts = [Act("Request", spoken, ACT_SLOTS[domain][slot], "?") for slot in slots]
            response.say(f"ask {domain}", {}, acts)
            known.asked |= dict.fromkeys(slots, 1)
            state.asked += [(domain, slot) for slot in slots]
            return
        before = known.offered
        if constraints != known.searched:
            yield from self._search(domain, constraints)
            if not known.results and known.any_type and constraints.get("type") == "hotel":
                del informed["type"], constraints["type"]
                yield from self._search(domain, constraints)
        if not known.results:
            acts = informs("NoOffer", domain, constraints, constraints)
            acts = acts or [Act("NoOffer", domain.capitalize(), NONE, NONE)]
            response.say(f"none {domain}", {}, acts)
            known.offered = None
            state.offered.pop(domain, None)
            return
        wants_other = turn.wants_other and turn.domains[-1:] in ([domain], [])
        offered = known.offered = self._chosen(domain, wants_other)
        state.offered[domain] = offered
        is_offer = offered != before
        if is_offer:
            self._offer(domain, offered, known.count if "name" not in constraints else 1)
        elif wants_other and not known.pending:
            response.say("no other", offered)
        asked = [slot for slot in ANSWERS[domain] if slot in known.pending]
        response.details(domain, offered, asked)
        if "name" in known.pending and not is_offer:
            response.say("name", offered, informs("Inform", domain, offered, ["name"]))
        if domain in BOOKING_SLOTS:
            yield from self._booking(domain, offered, turn)
            if is_offer and not known.booked and not state.asked:
                acts = [Act("OfferBook", domain.capitalize(), NONE, NONE)]
                response.say(f"book? {domain}", {}, acts)
                self._proposed = domain
        known.pending = []

    def _offer(self, domain: str, offered: Record, count: int) -> None:
        self._response.offer(domain, offered, count)

    def _search(self, domain: str, constraints: Mapping[str, str]) -> Calling:
        known = self._of(domain)
        known.searched = dict(constraints)
        parameters = {parameter.name for parameter in BY_NAME[f"find_{domain}"].parameters}
        arguments = {slot: v for slot, v in constraints.items() if slot in parameters}
        result = yield f"find_{domain}", arguments
        listed = result.get("results") if isinstance(result, Mapping) else None
        known.results = [
            row
            for row in (listed if isinstance(listed, list) else ())
            if isinstance(row, Mapping)
            and (domain in SERVICES or isinstance(row.get(NAMED_BY[domain]), str))
        ]
        count = result.get("count") if known.results else 0
        known.count = count if isinstance(count, int) else len(known.results)

    def _chosen(self, domain: str, wants_other: bool) -> Record:
        """Return the previous venue if it still fits, or the first venue not yet recommended."""
        known, key = self._of(domain), NAMED_BY[domain]
        names = [str(row[key]) for row in known.results]
        name = str(known.offered[key]) if known.offered else ""
        named = self._state.constraints.get(domain, {}).get(key, "")
        name = named if named in names else name
        if wants_other:
            name = next((other for other in names if other not in known.seen), names[0])
        elif name not in names:
            name = names[0]
        if name not in known.seen:
            known.seen.append(name)
        return known.results[names.index(name)]

    def _missing(self, domain: str) -> list[str]:
        """Return the booking slots without a value."""
        informed = self._state.constraints.get(domain, {})
        slots = STATE_BOOKING_SLOTS.get(domain, ())
        return [slot for slot in slots if informed.get(slot, DONTCARE) == DONTCARE]

    def _booking(self, domain: str, offered: Record, turn: UserTurn) -> Calling:
        known, response = self._of(domain), self._response
        informed = self._state.constraints.get(domain, {})
        slots = BOOKING_SLOTS[domain]
        missing = self._missing(domain)
        key = NAMED_BY[domain]
        speaks_of_it = domain in turn.books or any(
            c.domain == domain and c.slot.startswith("book") for c in turn.constraints
        )
        if known.wants_booking and missing:
            if speaks_of_it or known.asked.get(missing[0], 0) < MOST_ASKED:
                self._ask(domain, missing)
            return
        booking = {slot: informed[f"book{slot}"] for slot in slots if f"book{slot}" not in missing}
        arguments = {key: str(offered[key]), **booking}
        if known.wants_booking and arguments != known.tried:
            known.tried = arguments
            result = yield f"book_{domain}", arguments
            known.booked = {**offered, **arguments, **result} if _is_booked(result) else None
            if known.booked is None:
                acts = [Act("NoBook", "Booking", NONE, NONE)]
                response.say("refused" if domain != "train" else "not booked", arguments, acts)
            else:
                self._confirm(domain, known.booked)
        elif known.wants_booking and known.booked and speaks_of_it:
            self._confirm(domain, known.booked)
        elif "reference" in known.pending and known.booked:
            acts = [Act("Inform", "Booking", "Ref", str(known.booked.get("reference")))]
            response.say("reference", known.booked, acts)

    def _confirm(self, domain: str, booked: Record) -> None:
        """Confirm a booking."""
        acts = [Act("Book", "Booking", "Ref", str(booked.get("reference")))]
        if domain == "train":
            acts += informs("Inform", "train", booked, ["people"])
        else:
            acts += informs("Inform", "booking", booked, ["name", *BOOKING_SLOTS[domain]])
        self._response.say(f"booked {domain}", booked, acts)

    # Taxis, and services (police, hospital)

    def _taxi(self) -> Calling:
        known, response = self._of("taxi"), self._response
        if self._ask_missing("taxi", ENDS):
            return
        ride = self._known("taxi")
        if ride != known.tried:
            known.tried = ride
            result = yield "book_taxi", ride
            known.booked = {**ride, **result} if _is_booked(result) else None
        if known.booked is None:
            response.say("not booked", {}, [Act("NoBook", "Booking", NONE, NONE)])
            return
        acts = [
            Act("Inform", "Taxi", "Car", str(known.booked.get("type"))),
            Act("Inform", "Taxi", "Phone", str(known.booked.get("phone"))),
        ]
        response.say("booked taxi", known.booked, acts)
        known.pending = []

    def _service(self, domain: str) -> Calling:
        known = self._of(domain)
        is_open = domain == "hospital" and not known.pending
        if is_open and self._ask_missing(domain, ["department"]):
            return
        constraints = self._known(domain)
        if constraints != known.searched:
            yield from self._search(domain, constraints)
        if known.results:
            record = known.results[0]
            what = "department" if "department" in constraints else domain
            self._response.say(what, record, informs("Inform", domain, record, EVERYTHING))
            known.pending = []


def _is_booked(result: Any) -> bool:
    return isinstance(result, Mapping) and result.get("status") == "booked"


class OraclePolicy(Policy):
    """The policy of the agent `oracle`, which receives the meaning of what the user says.

    The function `meant` returns the acts of the user's last message, which replace the text. The
    agent overcomes the faults of functions, and states only what the user asks for. If the agent
    fails, a condition is not fair, because even an agent that understands everything cannot
    succeed.
    """

    def __init__(self, meant: Callable[[], Iterable[Act]]) -> None:
        super().__init__(lambda _, state: turn_of(meant(), state))

    def answer(self, utterance: str, response: Response) -> Calling:
        """Yield the calls of a turn until they succeed, and add sentences to `response`."""
        calling, result = super().answer(utterance, response), None
        while True:
            try:
                name, arguments = calling.send(result)
            except StopIteration:
                return
            kind, _, domain = name.partition("_")
            result = yield from _repeated(name, arguments)
            if kind == "find" and not result.get("count"):
                result = yield from _repeated(name, arguments)
            elif kind == "book" and "another" in result.get("reason", ""):
                result = yield from self._book_another(domain, arguments)

    def _book_another(self, domain: str, arguments: Mapping[str, str]) -> Calls:
        """Book the first other venue in the results that has room."""
        known, result = self._of(domain), dict[str, Any]()
        for venue in known.results:
            if venue["name"] == arguments["name"] or result.get("status") == "booked":
                continue
            self._state.offered[domain] = known.offered = venue
            known.tried = {**arguments, "name": venue["name"]}
            result = yield from _repeated(f"book_{domain}", known.tried)
        return result

    def _offer(self, domain: str, offered: Record, count: int) -> None:
        """Name a venue or train, unless a venue is booked in this turn.

        The booked venue may be another venue, and the user would interpret two names as a list.
        """
        is_booked = self._of(domain).wants_booking and not self._missing(domain)
        if is_booked and domain in VENUE_DOMAINS:
            return
        slots = ["trainid", "leaveat"] if domain == "train" else ["name"]
        text = agent_sentence("template", f"again {domain}", "", partial(_value, offered))
        self._response.add(text, informs("Recommend", domain, offered, slots))

    def _venue(self, domain: str, turn: UserTurn) -> Calling:
        """Answer questions after all else, with the details that a search by name returns."""
        known, response = self._of(domain), self._response
        asked, known.pending = known.pending, []
        yield from super()._venue(domain, turn)
        venue = known.offered
        if venue is None:
            known.pending = asked
        elif asked:
            name = venue[NAMED_BY[domain]]
            if domain in VENUE_DOMAINS:
                found = yield f"find_{domain}", {"name": name}
                venue = next((row for row in found["results"] if row["name"] == name), venue)
            response.details(domain, venue, [slot for slot in ANSWERS[domain] if slot in asked])
            if "name" in asked:
                response.say("name", venue, informs("Inform", domain, venue, ["name"]))


def _repeated(name: str, arguments: Mapping[str, str]) -> Calls:
    """Repeat a call until it is known whether it was carried out."""
    for _ in range(1 + MOST_REPETITIONS):
        result = yield name, dict(arguments)
        if result.get("status") not in (UNAVAILABLE, NOT_KNOWN):
            break
    return result


def turn_of(acts: Iterable[Act], state: BeliefState) -> UserTurn:
    """Return the meaning of the acts of a user message."""
    turn = UserTurn()
    domains = []
    for intent, of_act, act_slot, value in acts:
        domain = of_act.lower()
        if domain == GENERAL:
            turn.thanks |= intent == "thank"
            turn.closes |= intent == "bye"
            if intent == GIVE_UP:
                turn.given_up.append(value)
            continue
        domains.append(domain)
        slot = STATE_SLOTS[domain].get(act_slot)
        if act_slot == "NotBook":
            turn.declines.append(domain)
        elif slot is not None and intent == "Request":
            turn.requests.append((domain, slot))
        elif slot is not None:
            if act_slot in ACT_BOOKING_SLOTS.get(domain, ()):
                slot = f"book{slot}"
            elif domain == "taxi" and slot in ENDS:
                # "The hotel" is the venue that was recommended.
                value = str(state.offered.get(value.removeprefix("the "), {}).get("name", value))
            turn.constraints.append(Constraint(domain, slot, value))
    turn.domains = list(dict.fromkeys(domains))
    return turn
