"""A rule-based system: RuleDST, the venue database, and a policy that answers all requests.

RuleDST is a tracker that maps the user's acts to a system state. Its rules are those of the paper's
public code. Source: Zhu et al., TACL 2020, section 4.2.

The system offers venues of the database. If no venue satisfies all constraints, the system states
this, offers a venue that satisfies as many constraints as possible, and reports the differences.
This rule-based policy is not from the paper.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import combinations
from typing import NamedTuple

from mwzeval.crosswoz.corpus.acts import (
    GENERAL,
    INFORM,
    NO_OFFER,
    NONE,
    RECOMMEND,
    REQUEST,
    SELECT,
    SERVICE_PREFIX,
    Act,
    Acts,
    general,
    ordered,
)
from mwzeval.crosswoz.corpus.database import (
    DEPARTURE_MARK,
    DESTINATION_MARK,
    Database,
    Entity,
)
from mwzeval.crosswoz.corpus.dialogues import State, empty_state
from mwzeval.crosswoz.corpus.names import (
    COST,
    DEPARTURE,
    DEPARTURE_STATION,
    DESTINATION,
    DESTINATION_STATION,
    DISHES,
    DURATION,
    HOTEL_TYPE,
    LIST_SLOTS,
    METRO,
    NAME,
    NEARBY,
    NEARBY_SLOTS,
    NO,
    NOTHING,
    PRICE,
    PRICE_SLOTS,
    RATING,
    SERVICES,
    SEVERAL_ITEMS,
    SOURCE_DOMAIN,
    TAXI,
    TICKET,
    TRAFFIC_DOMAINS,
    VENUE_DOMAINS,
    YES,
)
from mwzeval.crosswoz.corpus.ontology import REQUESTABLE

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
        system, user = tuple(system_acts), tuple(user_acts)
        self.domain = current_domain(user, system)
        intents = {act.intent for act in system}
        if self.domain in self.state and NO_OFFER in intents and INFORM not in intents:
            self.state[self.domain] = dict.fromkeys(self.state[self.domain], "")
        answered = {(act.domain, act.slot) for act in system if act.intent in (INFORM, RECOMMEND)}
        self.requests = [request for request in self.requests if request not in answered]
        # A venue that is named in this turn is not yet the chosen venue.
        chosen = {domain: slots.get(NAME, "") for domain, slots in self.state.items()}
        if self.source_in_turn:
            chosen |= {act.domain: act.value for act in user if _names(act)}
        selects = [act for act in user if _selects(act)]
        for act in selects:
            self._select(act.domain, act.value, chosen.get(act.value, ""))
        sources = {act.value for act in selects} if self.source_in_turn else set()
        for act in user:
            is_source = act.domain in sources and _names(act)
            if act.intent == INFORM and act.domain in self.state and not is_source:
                self._inform(self.state[act.domain], act)
        self.requests += [(act.domain, act.slot) for act in user if act.intent == REQUEST]
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
    user = tuple(user_acts)
    reports = [act for act in system_acts if act.intent in (INFORM, RECOMMEND)]
    by_intent = ([act for act in user if act.intent == kind] for kind in (SELECT, REQUEST, INFORM))
    for acts in (*by_intent, reports):
        if acts:
            return Counter(act.domain for act in acts).most_common(1)[0][0]
    return None


def _selects(act: Act) -> bool:
    return act.intent == SELECT and act.slot == SOURCE_DOMAIN


def _names(act: Act) -> bool:
    return act.intent == INFORM and act.slot == NAME


DISH_TAGS = frozenset(
    {"当地口味", "老字号", "其他", "美食林风味", "特色小吃", "美食林臻选"}
    | {"深夜营业", "名人光顾", "四合院"}
)
"""Entries among a restaurant's dishes that are not dishes (local taste, old brand, others, …)."""
MARKS = {DEPARTURE_STATION: DEPARTURE_MARK, DESTINATION_STATION: DESTINATION_MARK}
UNITS = {**dict.fromkeys(PRICE_SLOTS, "元"), RATING: "分"}
RECOMMENDED = 3
"""The maximum number of names that one turn recommends."""
LISTED = 3
"""The maximum number of values of a list, such as nearby venues, in one turn."""
REPLIES = {"thank": "welcome", "bye": "bye", "greet": "greet"}


class _Offer(NamedTuple):
    """The current venue, and the constraints for which it was offered.

    It is `open` while the user may choose another venue that was recommended with it.
    """

    constraints: tuple[str, ...]
    venue: Entity
    open: bool


class RuleSystem:
    """A rule-based system for a single dialogue.

    The tracker is RuleDST with the variant `source_in_turn`, which resolves "near the one just
    chosen". With `paper_compatible`, the system uses RuleDST as in the paper.
    """

    def __init__(self, database: Database, *, paper_compatible: bool = False) -> None:
        self._database = database
        self._tracker = RuleTracker(source_in_turn=not paper_compatible)
        self._offers: dict[str, _Offer] = {}
        self._acts: Acts = ()

    @property
    def state(self) -> State:
        """The constraints of the last database query, except constraints that were given up."""
        return self._tracker.state

    @property
    def selected(self) -> Mapping[str, tuple[str, ...]]:
        """The current venue of each domain."""
        return {domain: (offer.venue.name,) for domain, offer in self._offers.items()}

    def answer(self, user_acts: Iterable[Act]) -> Acts:
        """Return the system's answer."""
        user = tuple(user_acts)
        self._tracker.update(user, self._acts)
        domain = self._tracker.domain
        acts: list[Act] = []
        if domain in VENUE_DOMAINS:
            acts = self._speak_of_venue(domain)
        elif domain in TRAFFIC_DOMAINS:
            acts = self._speak_of_trip(domain)
        if not acts:
            kinds = [act.domain for act in user if act.intent == GENERAL]
            acts = [general(REPLIES[kind]) for kind in kinds if kind in REPLIES]
        self._acts = ordered(acts or [general("reqmore")])
        return self._acts

    def _speak_of_venue(self, domain: str) -> list[Act]:
        requests = [slot for d, slot in self._tracker.requests if d == domain]
        slots = self._tracker.state[domain]
        offer = self._offers.get(domain)
        acts: list[Act] = []
        if offer is None or offer.constraints != tuple(slots.values()):
            offer, acts = self._search(domain, slots, only_name=set(requests) <= {NAME})
            if offer is None:
                return acts
            self._offers[domain] = offer
        elif requests and offer.open:
            # All reported values must be of one venue, which is now chosen.
            self._offers[domain] = offer = offer._replace(open=False)
            acts = [Act(INFORM, domain, NAME, offer.venue.name)]
        elif NAME in requests:
            acts = [Act(INFORM, domain, NAME, offer.venue.name)]
        for slot in requests:
            if slot != NAME:
                acts += inform_acts(domain, slot, offer.venue)
        return acts

    def _search(
        self, domain: str, slots: Mapping[str, str], *, only_name: bool
    ) -> tuple[_Offer | None, list[Act]]:
        """Return the offer for some constraints, and the acts that make the offer."""
        found = self._database.query(domain, slots)
        if not found:
            return self._search_less(domain, slots)
        constraints = tuple(slots.values())
        if name := slots[NAME]:
            exact = self._database.named(domain, name)
            return _Offer(constraints, exact or found[0], False), []
        if len(found) > 1 and only_name:
            names = [entity.name for entity in found[:RECOMMENDED]]
            acts = [Act(RECOMMEND, domain, NAME, name) for name in names]
            return _Offer(constraints, found[0], True), acts
        return _Offer(constraints, found[0], False), [Act(INFORM, domain, NAME, found[0].name)]

    def _search_less(
        self, domain: str, slots: Mapping[str, str]
    ) -> tuple[_Offer | None, list[Act]]:
        """Return an offer that satisfies the most constraints, and acts about the differences."""
        no_offer = Act(NO_OFFER, domain, NONE, NONE)
        for given_up in _least(slots):
            less = _without(slots, given_up)
            found = self._database.query(domain, less)
            if not found:
                continue
            self._tracker.state[domain] = less
            acts = [no_offer, Act(INFORM, domain, NAME, found[0].name)]
            for slot, item in given_up:
                if slot not in NEARBY_SLOTS and slot != NAME:
                    full_slot = SERVICE_PREFIX + item if slot == SERVICES else slot
                    acts += inform_acts(domain, full_slot, found[0])
            return _Offer(tuple(less.values()), found[0], False), acts
        return None, [no_offer]

    def _speak_of_trip(self, domain: str) -> list[Act]:
        found = self._database.query(domain, self._tracker.state[domain])
        if not found:
            return []
        requests = {slot for d, slot in self._tracker.requests if d == domain}
        slots = [slot for slot in REQUESTABLE[domain] if slot in requests]
        if domain == TAXI:
            return [Act(INFORM, domain, slot, str(found[0].record[slot])) for slot in slots]
        stations = {entity.name[:4]: entity.record.get(METRO) for entity in found}
        return [Act(INFORM, domain, slot, stations.get(MARKS[slot]) or NOTHING) for slot in slots]


def inform_acts(domain: str, slot: str, venue: Entity) -> list[Act]:
    """Return the acts that report a slot of a venue; the value `无` means that it has none."""
    record = venue.record
    if slot.startswith(SERVICE_PREFIX):
        has = slot.removeprefix(SERVICE_PREFIX) in (record.get(SERVICES) or ())
        return [Act(INFORM, domain, slot, YES if has else NO)]
    value = record.get(slot)
    if slot in LIST_SLOTS:
        items = items_of(slot, value)[:LISTED]
        return [Act(INFORM, domain, slot, item) for item in items or [NOTHING]]
    text = NOTHING if value is None else f"{value}{UNITS.get(slot, '')}"
    return [Act(INFORM, domain, slot, text)]


def items_of(slot: str, value: Sequence[str] | None) -> list[str]:
    """Return the items of a list in the database, except the tags in lists of dishes."""
    return [item for item in value or () if slot != DISHES or item not in DISH_TAGS]


def _least(slots: Mapping[str, str]) -> Iterator[Sequence[tuple[str, str]]]:
    """Yield sets of constraints to give up: small sets first, nearby venues last."""
    units = [
        (slot, item)
        for slot, value in slots.items()
        if value
        for item in (value.split() if slot in SEVERAL_ITEMS else (value,))
    ]
    ordinary = [unit for unit in units if unit[0] not in NEARBY_SLOTS]
    nearby = [unit for unit in units if unit[0] in NEARBY_SLOTS]
    for size in range(1, len(ordinary) + 1):
        yield from combinations(ordinary, size)
    if nearby:
        for size in range(len(ordinary) + 1):
            for given_up in combinations(ordinary, size):
                yield (*nearby, *given_up)


def _without(slots: Mapping[str, str], given_up: Iterable[tuple[str, str]]) -> dict[str, str]:
    less = dict(slots)
    for slot, item in given_up:
        kept = less[slot].split() if slot in SEVERAL_ITEMS else [less[slot]]
        kept.remove(item)
        less[slot] = " ".join(kept)
    return less
