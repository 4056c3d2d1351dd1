"""RuleDST: a tracker that maps the user's acts to a system state.

Source: Zhu et al., TACL 2020, section 4.2. The tracking rules are those of the paper's public code.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field

from mwzeval.crosswoz.corpus.acts import INFORM, NO_OFFER, RECOMMEND, REQUEST, SELECT, Act
from mwzeval.crosswoz.corpus.dialogues import State, empty_state
from mwzeval.crosswoz.corpus.names import (
    COST,
    DEPARTURE,
    DESTINATION,
    DISHES,
    DURATION,
    HOTEL_TYPE,
    NAME,
    NEARBY,
    PRICE,
    RATING,
    SERVICES,
    SOURCE_DOMAIN,
    TICKET,
    YES,
)

OVERWRITTEN = frozenset(
    {NAME, DURATION, HOTEL_TYPE, DEPARTURE, DESTINATION, RATING, TICKET, PRICE, COST}
)
"""Slots in which a new value replaces the previous value; dishes and services are accumulated
instead."""


@dataclass(slots=True)
class RuleTracker:
    """Tracks one dialogue.

    `state` has the constraints so far, `domain` is the current domain, and `requests` has the
    (domain, slot) pairs of unanswered requests. `source_in_turn` selects a variant of RuleDST that
    no paper uses. If a chosen venue is named in the same turn as a Select act, the venue becomes
    the source of this act, the target domain is cleared, and the name is not a constraint in the
    domain of the source.
    """

    source_in_turn: bool = False
    state: State = field(default_factory=empty_state)
    domain: str | None = None
    requests: list[tuple[str, str]] = field(default_factory=list)

    def update(self, user_acts: Iterable[Act], system_acts: Iterable[Act] = ()) -> State:
        """Update and return the state after `system_acts` and the following `user_acts`."""
        said, heard = tuple(system_acts), tuple(user_acts)
        self.domain = current_domain(heard, said)
        intents = {act.intent for act in said}
        if self.domain in self.state and NO_OFFER in intents and INFORM not in intents:
            self.state[self.domain] = dict.fromkeys(self.state[self.domain], "")
        answered = {(act.domain, act.slot) for act in said if act.intent in (INFORM, RECOMMEND)}
        self.requests = [request for request in self.requests if request not in answered]
        # A venue that is named in this turn is not yet the chosen venue.
        chosen = {domain: slots.get(NAME, "") for domain, slots in self.state.items()}
        if self.source_in_turn:
            chosen |= {act.domain: act.value for act in heard if _names(act)}
        selects = [act for act in heard if _selects(act)]
        for act in selects:
            self._select(act.domain, act.value, chosen.get(act.value, ""))
        sources = {act.value for act in selects} if self.source_in_turn else set()
        for act in heard:
            is_source = act.domain in sources and _names(act)
            if act.intent == INFORM and act.domain in self.state and not is_source:
                self._inform(self.state[act.domain], act)
        self.requests += [(act.domain, act.slot) for act in heard if act.intent == REQUEST]
        return self.state

    def _select(self, domain: str, source: str, name: str) -> None:
        if not name or domain not in self.state or source not in NEARBY:
            return
        if domain == source or self.source_in_turn:
            self.state[domain] = dict.fromkeys(self.state[domain], "")
        if NEARBY[source] in self.state[domain]:
            self.state[domain][NEARBY[source]] = name

    @staticmethod
    def _inform(slots: dict[str, str], act: Act) -> None:
        if act.service is not None:
            if act.value == YES and SERVICES in slots:
                slots[SERVICES] = f"{slots[SERVICES]} {act.service}".lstrip()
        elif act.slot in slots and act.slot in OVERWRITTEN:
            slots[act.slot] = act.value
        elif act.slot in slots and act.slot == DISHES:
            slots[DISHES] = f"{slots[DISHES]} {act.value}".lstrip()


def current_domain(user_acts: Iterable[Act], system_acts: Iterable[Act] = ()) -> str | None:
    """Return the domain of most Select acts, else of most Request acts, else of most Inform acts.

    If there are no such acts, return the domain of the system's acts, or None. Among equally
    frequent domains, the first counts.
    """
    heard = tuple(user_acts)
    said = [act for act in system_acts if act.intent in (INFORM, RECOMMEND)]
    by_intent = ([act for act in heard if act.intent == of] for of in (SELECT, REQUEST, INFORM))
    for acts in (*by_intent, said):
        if acts:
            return Counter(act.domain for act in acts).most_common(1)[0][0]
    return None


def _selects(act: Act) -> bool:
    return act.intent == SELECT and act.slot == SOURCE_DOMAIN


def _names(act: Act) -> bool:
    return act.intent == INFORM and act.slot == NAME
