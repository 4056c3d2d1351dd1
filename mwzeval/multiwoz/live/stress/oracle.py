"""The built-in agent `oracle`: the policy of `rule` with the meaning of what the user says.

The agent receives the acts of the user's last message in place of the text, and it overcomes the
faults of functions. It states only what the user asks for. If the agent fails, a condition is not
fair, because even an agent that understands everything cannot succeed.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterable, Mapping
from functools import partial
from typing import Any

from mwzeval.multiwoz.acts import GENERAL, GIVE_UP, STATE_SLOTS, Act
from mwzeval.multiwoz.live.rule_agent import Call, Calling, Policy, Record, Response, informs
from mwzeval.multiwoz.live.tools import NOT_KNOWN, UNAVAILABLE
from mwzeval.multiwoz.live.understanding import ENDS, BeliefState, Constraint, UserTurn
from mwzeval.multiwoz.live.wordings import agent_sentence, shown_value
from mwzeval.multiwoz.schema import ACT_BOOKING_SLOTS, NAMED_BY, VENUE_DOMAINS
from mwzeval.multiwoz.template_system import ANSWERS

MOST_REPETITIONS = 6
"""The maximum number of times that a call is repeated."""

Calls = Generator[Call, Any, Any]
"""Yields calls, receives their results, and returns the last result."""


class OraclePolicy(Policy):
    """The policy for one dialogue. `meant` returns the acts of the user's last message."""

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


def _value(record: Record, slot: str) -> str:
    return shown_value(slot, str(record[slot]))


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
