"""Why a domain was lost: the fewest things that, put right, would have won it.

Nothing is guessed from the outcome: each loss comes with a repair, a pure function on what the
scorer judges, and the scorer's own steps say which repairs are needed.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial, reduce
from typing import NamedTuple

from mwzeval.metrics.goal_success import Progress, replaces
from mwzeval.multiwoz.scoring.offers import OFFERED_BY, NormalizedTurn, provided_slots
from mwzeval.multiwoz.scoring.repairs import (
    Case,
    Changes,
    Repair,
    activate,
    ask_for_no_offer,
    book,
    constrain,
    say,
)


class Kind(NamedTuple):
    """A kind of loss: when it is one, what repairs it, and how a particular one is told."""

    meaning: str
    repair: str
    sentence: str


KINDS = {
    "no-venue-offered": Kind(
        "no turn about the domain offers a venue",
        "a turn has the placeholder that offers one",
        "No turn about the {domain} offers a venue: none has {placeholder}.",
    ),
    "domain-not-active": Kind(
        "the turn that could have won it is not about the domain",
        "the domain is active in that turn",
        "The {domain} is not active in turn {turn}{which} (active: {active}).",
    ),
    "no-state": Kind(
        "a venue is offered while the state has no such domain",
        "the state has the domain, with the goal's constraints",
        "The state of turn {turn} says nothing of the {domain}, so no venue is found to offer.",
    ),
    "no-venue-matches-state": Kind(
        "a venue is offered, but none matches the state",
        "the slots named have the goal's values, or are gone where the goal has none",
        "No venue matches the state of turn {turn} ({state}); the goal says: {changes}.",
    ),
    "wrong-constraint": Kind(
        "the state has another value than the goal, and not all venues on offer satisfy the goal",
        "the slot has the goal's value from that turn on",
        "The state of turn {turn} has {slot}={value}, the goal {slot}={wanted}.",
    ),
    "missing-constraint": Kind(
        "the state lacks a constraint of the goal, and not all venues on offer satisfy the goal",
        "the slot has the goal's value from that turn on",
        "The state of turn {turn} lacks {slot}={wanted}, which the goal has.",
    ),
    "extra-constraint": Kind(
        "the state has a constraint that the goal has not, and that excludes what the user wants",
        "the slot is gone from that turn on",
        "The state of turn {turn} has {slot}={value}, unlike the goal,"
        " and so excludes what satisfies it.",
    ),
    "name-lost": Kind(
        "the state does not name the venue settled on, though it did before or the annotation does",
        "the state has the name from that turn on",
        "The state of turn {turn} lacks name={value}, which had been settled on,"
        " so too much is on offer.",
    ),
    "unsatisfiable-goal": Kind(
        "no venue in the database satisfies the goal",
        "the goal asks for no offer",
        "No venue in the database satisfies the goal for the {domain}: no system can inform.",
    ),
    "never-gave": Kind(
        "no turn about the domain gives the slot",
        "a turn has the slot's placeholder",
        "No turn about the {domain} gives its {slot} ({placeholder}).",
    ),
    "gave-before-booked": Kind(
        "the slot is given in a turn by which the annotation has not booked the domain",
        "the domain is booked by that turn",
        "Turn {turn} gives the {slot} while the {domain} is not booked"
        " (by the annotation it is at turn {booked}).",
    ),
    "never-booked": Kind(
        "by the annotation none of the turns predicted has the domain booked",
        "the domain is booked by a turn",
        "By the annotation the {domain} is booked in none of the turns predicted,"
        " so that no {slot} counts.",
    ),
}
"""Every kind of loss, in the order in which they are explained (see docs/reasons.md)."""

BOOKED_FOR = "REFERENCE"
SLOT_NAMES = {"POST": "postcode"}
"""Canonical placeholders whose lower-case name is not what they are called."""

NAME = "name"


@dataclass(frozen=True, slots=True, eq=False)
class Loss:
    """Something for want of which a domain's outcome was lost, with the repair.

    A domain is won when all its losses for an outcome are repaired, and not when one is left out.
    `detail` is the slot concerned, where the kind has one; `words` fill the kind's sentence.
    """

    kind: str
    outcome: str
    domain: str
    turn: int | None
    repair: Repair
    words: Mapping[str, object]
    detail: str | None = None

    @property
    def code(self) -> str:
        """The kind, with the detail behind a colon."""
        return self.kind if self.detail is None else f"{self.kind}:{self.detail}"

    @property
    def text(self) -> str:
        """The loss in a sentence."""
        words = {"domain": self.domain, "turn": self.turn, "slot": self.detail, **self.words}
        return KINDS[self.kind].sentence.format(**words)


def losses(case: Case) -> list[Loss]:
    """Return why Inform failed, domain by domain, or else why Success did; nothing if neither."""
    outcome = case.outcome()
    if not outcome.inform:
        lost = [domain for domain, result in outcome.domains.items() if not result.inform]
        return [loss for domain in lost for loss in _inform_losses(case.alone(domain), domain)]
    return [
        loss
        for domain, result in outcome.domains.items()
        for slot in sorted(result.missing)
        for loss in _slot_losses(case, domain, slot)
    ]


def repaired(case: Case, found: Iterable[Loss]) -> Case:
    """Return the case with the repairs of some losses."""
    return reduce(lambda so_far, loss: loss.repair(so_far), found, case)


def _inform_losses(case: Case, domain: str) -> list[Loss]:
    if not case.goal[domain].satisfying:
        ask_nothing = partial(ask_for_no_offer, domain=domain)
        return [Loss("unsatisfiable-goal", "inform", domain, None, ask_nothing, {})]
    if _deciding_turn(case, domain) is not None:
        return _state_losses(case, domain)
    ways = (_offer_losses(case, domain, turn) for turn in range(len(case.turns)))
    return min(ways, key=lambda way: way[0])[1]


def _deciding_turn(case: Case, domain: str) -> int | None:
    """Return the turn that made the final offer, or found nothing to offer last."""
    progress = Progress(case.goal)
    deciding = None
    for index, acts in enumerate(case.acts()):
        found = acts[domain].found if domain in acts else None
        if found is not None and replaces(found, progress.offered[domain]):
            deciding = index
        progress.advance(acts)
    return deciding


Rank = tuple[int, int, int]
"""How far a turn is from winning: things lacking, whether it speaks of it at all, its index."""


def _offer_losses(case: Case, domain: str, index: int) -> tuple[Rank, list[Loss]]:
    """Return what a turn lacks of an offer that satisfies the goal, when no turn offers."""
    turn = case.turns[index]
    placeholder = OFFERED_BY[domain]
    said = placeholder in turn.response
    found = []
    if not said:
        offer = partial(say, turn=index, placeholder=placeholder)
        words = {"placeholder": placeholder}
        found.append(Loss("no-venue-offered", "inform", domain, None, offer, words))
    if domain not in turn.active_domains:
        found.append(_not_active("inform", domain, index, turn, placeholder if said else None))
    offering = repaired(case, found)
    if not offering.outcome_of(domain).inform:
        found += _state_losses(offering, domain)
    others = {other for other, by in OFFERED_BY.items() if by == placeholder} - {domain}
    return (len(found), _remoteness(said, turn, others), index), found


def _remoteness(said: bool, turn: NormalizedTurn, others: Iterable[str]) -> int:
    """Tell turns apart that lack as much: one that says it to no other domain is nearest."""
    if not said:
        return 1
    return 0 if set(others).isdisjoint(turn.active_domains) else 2


def _not_active(
    outcome: str, domain: str, index: int, turn: NormalizedTurn, said: str | None
) -> Loss:
    words = {
        "which": f", which has {said}" if said else "",
        "active": ", ".join(turn.active_domains) or "none",
    }
    repair = partial(activate, turn=index, domain=domain)
    return Loss("domain-not-active", outcome, domain, index, repair, words)


def _state_losses(case: Case, domain: str) -> list[Loss]:
    """Return what is wrong with the state behind the final offer."""
    index = _deciding_turn(case, domain)
    assert index is not None
    state = case.turns[index].state.get(domain)
    since = partial(constrain, since=index, domain=domain)
    if state is None:
        wanted = case.constraints[domain]
        return [Loss("no-state", "inform", domain, index, partial(since, changes=wanted), {})]
    changes = _needed_changes(case, domain, index)
    if not case.outcome_of(domain).offered:
        words = {
            "state": spelled(state),
            "changes": ", ".join(
                f"no {slot}" if value is None else f"{slot}={value}"
                for slot, value in changes.items()
            ),
        }
        repair = partial(since, changes=changes)
        return [Loss("no-venue-matches-state", "inform", domain, index, repair, words)]
    annotated = case.annotated[index].get(domain, {})
    if len(changes) > 1 or not changes.keys() <= annotated.keys():
        for name in _names_known(case, domain, index):
            keep = partial(since, changes={NAME: name})
            if keep(case).outcome_of(domain).inform:
                return [Loss("name-lost", "inform", domain, index, keep, {"value": name})]
    return [_constraint_loss(case, domain, index, *change) for change in changes.items()]


def _names_known(case: Case, domain: str, index: int) -> Iterator[str]:
    """Yield names of the venue settled on that the state of a turn should have and has not."""
    if NAME in case.turns[index].state[domain]:
        return
    states = [turn.state for turn in reversed(case.turns[:index])]
    for state in (*states, case.annotated[index]):
        if name := state.get(domain, {}).get(NAME):
            yield name


def _constraint_loss(case: Case, domain: str, index: int, slot: str, wanted: str | None) -> Loss:
    differing = (
        (at, state[domain].get(slot))
        for at, (_, state, _) in enumerate(case.turns)
        if at >= index and domain in state and state[domain].get(slot) != wanted
    )
    turn, value = next(differing)
    kind = "extra" if wanted is None else "missing" if value is None else "wrong"
    return Loss(
        kind=f"{kind}-constraint",
        outcome="inform",
        domain=domain,
        turn=turn,
        repair=partial(constrain, since=index, domain=domain, changes={slot: wanted}),
        words={"value": value, "wanted": wanted},
        detail=slot,
    )


def _needed_changes(case: Case, domain: str, since: int) -> Changes:
    """Return changes of the state to what the goal says, none of which can be left out.

    Where there is a choice, slots with another value are changed rather than missing ones, and
    these rather than slots of which the goal says nothing.
    """
    wanted = case.constraints[domain]
    states = [turn.state[domain] for turn in case.turns[since:] if domain in turn.state]
    everything = case.database.query(domain, {})
    others = {pair for state in states for pair in state.items() if pair[0] not in wanted}
    extra = {
        slot: None
        for slot, value in sorted(others)
        if case.database.query(domain, {slot: value}) != everything
    }
    missing = {slot: value for slot, value in wanted.items() if slot not in states[0]}
    changes: Changes = {**extra, **missing, **wanted}
    while True:
        fewer = changes
        for slot in changes:
            without = {other: value for other, value in fewer.items() if other != slot}
            if constrain(case, since, domain, without).outcome_of(domain).inform:
                fewer = without
        if len(fewer) == len(changes):
            return {slot: fewer[slot] for slot in (*wanted, *extra) if slot in fewer}
        changes = fewer


def _slot_losses(case: Case, domain: str, slot: str) -> list[Loss]:
    """Return what keeps a requested slot from counting, in the turn that comes nearest to it."""
    booked = [turn for turn in range(len(case.turns)) if domain in case.booked[turn]]
    others = {other for other, goal in case.goal.items() if slot in goal.requested} - {domain}
    ways: list[tuple[Rank, list[Loss]]] = []
    for index, turn in enumerate(case.turns):
        said = slot in provided_slots(turn.response)
        too_early = slot == BOOKED_FOR and index not in booked
        if booked and too_early and not said:
            continue  # What must yet be said can as well be said when it is booked.
        found = []
        if not said:
            give = partial(say, turn=index, placeholder=slot)
            words = {"placeholder": slot}
            found.append(Loss("never-gave", "success", domain, None, give, words))
        if domain not in turn.active_domains:
            found.append(_not_active("success", domain, index, turn, slot if said else None))
        if too_early:
            found.append(_not_booked(domain, index, booked))
        ways.append(((len(found), _remoteness(said, turn, others), index), found))
    nearest = min(ways, key=lambda way: way[0])[1]
    name = SLOT_NAMES.get(slot, slot.lower())
    return [replace(loss, detail=name) for loss in nearest]


def _not_booked(domain: str, index: int, booked: Sequence[int]) -> Loss:
    repair = partial(book, turn=index, domain=domain)
    if not booked:
        return Loss("never-booked", "success", domain, None, repair, {})
    words = {"booked": next((turn for turn in booked if turn > index), booked[0])}
    return Loss("gave-before-booked", "success", domain, index, repair, words)


def spelled(slots: Mapping[str, str]) -> str:
    """Return slots and their values in one line."""
    return ", ".join(f"{slot}={value}" for slot, value in slots.items()) or "anything"
