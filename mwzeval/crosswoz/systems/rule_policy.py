"""A rule-based system: RuleDST, the venue database, and a policy that answers all requests.

The system offers venues of the database. If no venue satisfies all constraints, the system states
this, offers a venue that satisfies as many constraints as possible, and reports the differences.
This rule-based policy is not from the paper.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import combinations
from typing import NamedTuple

from mwzeval.crosswoz.corpus.acts import (
    GENERAL,
    INFORM,
    NO_OFFER,
    NONE,
    RECOMMEND,
    SERVICE_PREFIX,
    Act,
    Acts,
    general,
    ordered,
)
from mwzeval.crosswoz.corpus.database import Database, Entity
from mwzeval.crosswoz.corpus.dialogues import State
from mwzeval.crosswoz.corpus.names import (
    LIST_SLOTS,
    METRO,
    NAME,
    NEARBY_SLOTS,
    NO,
    NOTHING,
    SERVICES,
    SEVERAL_ITEMS,
    TAXI,
    TRAFFIC_DOMAINS,
    VENUE_DOMAINS,
    YES,
)
from mwzeval.crosswoz.corpus.ontology import REQUESTABLE
from mwzeval.crosswoz.systems.rule_tracker import RuleTracker
from mwzeval.crosswoz.systems.sl_policy import MARKS, UNITS, items_of

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
        self._said: Acts = ()

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
        heard = tuple(user_acts)
        self._tracker.update(heard, self._said)
        domain = self._tracker.domain
        acts: list[Act] = []
        if domain in VENUE_DOMAINS:
            acts = self._speak_of_venue(domain)
        elif domain in TRAFFIC_DOMAINS:
            acts = self._speak_of_trip(domain)
        if not acts:
            kinds = [act.domain for act in heard if act.intent == GENERAL]
            acts = [general(REPLIES[kind]) for kind in kinds if kind in REPLIES]
        self._said = ordered(acts or [general("reqmore")])
        return self._said

    def _speak_of_venue(self, domain: str) -> list[Act]:
        asked = [slot for of, slot in self._tracker.requests if of == domain]
        slots = self._tracker.state[domain]
        offer = self._offers.get(domain)
        acts: list[Act] = []
        if offer is None or offer.constraints != tuple(slots.values()):
            offer, acts = self._search(domain, slots, only_name=set(asked) <= {NAME})
            if offer is None:
                return acts
            self._offers[domain] = offer
        elif asked and offer.open:
            # All reported values must be of one venue, which is now chosen.
            self._offers[domain] = offer = offer._replace(open=False)
            acts = [Act(INFORM, domain, NAME, offer.venue.name)]
        elif NAME in asked:
            acts = [Act(INFORM, domain, NAME, offer.venue.name)]
        for slot in asked:
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
                    asked = SERVICE_PREFIX + item if slot == SERVICES else slot
                    acts += inform_acts(domain, asked, found[0])
            return _Offer(tuple(less.values()), found[0], False), acts
        return None, [no_offer]

    def _speak_of_trip(self, domain: str) -> list[Act]:
        found = self._database.query(domain, self._tracker.state[domain])
        if not found:
            return []
        asked = {slot for of, slot in self._tracker.requests if of == domain}
        slots = [slot for slot in REQUESTABLE[domain] if slot in asked]
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
