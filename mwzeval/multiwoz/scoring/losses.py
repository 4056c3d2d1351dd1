"""The fewest things that, put right, would have won a domain: found by repairing and judging.

Where several turns could have won it, the one that lacks least is told (docs/reasons.md).
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial, reduce

from mwzeval.multiwoz.scoring.goal_success import (
    OFFERED_BY,
    NormalizedTurn,
    Progress,
    placeholders_in,
    replaces,
)
from mwzeval.multiwoz.scoring.reasons import IN_WORDS, SLOT_NAMES, Loss
from mwzeval.multiwoz.scoring.repairs import (
    Case,
    Changes,
    activate,
    ask_for_no_offer,
    book,
    constrain,
    say,
)

BOOKED_FOR = "REFERENCE"
NAME = "name"


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
    deciding = _deciding_turn(case, domain)
    if deciding is None:
        ways = (_offer_losses(case, domain, turn) for turn in range(len(case.turns)))
        return min(ways, key=lambda way: way[0])[1]
    found = _state_losses(case, domain, deciding)
    return _later_losses(case, domain, found) if _excused(found) else found


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


Rank = tuple[int, int, int, int]
"""How far a turn is from winning: things lacking, those that the annotation excuses, whether
it speaks of it at all, its index."""


def _offer_losses(case: Case, domain: str, index: int, since: int = 0) -> tuple[Rank, list[Loss]]:
    """Return what a turn lacks of an offer that satisfies the goal, when none is made `since`."""
    turn, placeholder = case.turns[index], OFFERED_BY[domain]
    others = {other for other, by in OFFERED_BY.items() if by == placeholder} - {domain}
    said = placeholder in turn.response
    found = []
    if not said:
        words = _unsaid(case, placeholder, others, since)
        offer = partial(say, turn=index, placeholder=placeholder)
        found.append(Loss("no-venue-offered", "inform", domain, None, offer, words))
    noticed = domain in turn.active_domains
    if not noticed:
        found.append(_not_active("inform", domain, index, case, placeholder if said else None))
    offering = repaired(case, found)
    if not offering.offers_right(domain):
        found += _state_losses(offering, domain, index)
    lacking = len(found)
    if not noticed and found[-1].kind == "no-state" and not found[-1].then:
        lacking -= 1  # Both are that the domain was not noticed, though the user had asked for it.
    return (lacking, _excused(found), _remoteness(said, turn, others), index), found


def _later_losses(case: Case, domain: str, found: list[Loss]) -> list[Loss]:
    """Return what is lacking since the user wants what the goal says, if that is known.

    `found` is what the last offer lacks. Some of it the annotation excuses: the user wanted then
    what was offered. Where a later turn can win with less of that, what it lacks is returned.
    """
    about = [
        turn
        for turn in _saying(case, OFFERED_BY[domain])
        if domain in case.turns[turn].active_domains
    ]
    last = about[-1]
    nearest = _state_losses(case, domain, last)
    if not _excused(nearest):
        return nearest
    ways = []
    for index in range(last + 1, len(case.turns)):
        (lacking, excused, remoteness, _), losses = _offer_losses(case, domain, index, last + 1)
        if remoteness < FOR_OTHERS and repaired(case, losses).offers_right(domain):
            ways.append(((excused, lacking, remoteness, index), losses))
    best = min(ways, key=lambda way: way[0], default=None)
    if best is not None and best[0][0] < _excused(nearest):
        then = " and ".join(loss.then for loss in nearest if loss.then)
        return [_again(loss, last, then) for loss in best[1]]
    return nearest if _excused(nearest) < _excused(found) else found


def _again(loss: Loss, before: int, then: str) -> Loss:
    if loss.kind != "no-venue-offered":
        return loss
    return replace(
        loss, kind="not-offered-again", words={**loss.words, "before": before, "then": then}
    )


def _excused(found: Iterable[Loss]) -> int:
    """Count losses for which the annotation of the turn has what the state has."""
    return sum(bool(loss.then) for loss in found)


FOR_OTHERS = 2


def _remoteness(said: bool, turn: NormalizedTurn, others: Iterable[str]) -> int:
    """Tell turns apart that lack as much: one that says it to no other domain is nearest."""
    if not said:
        return 1
    return 0 if set(others).isdisjoint(turn.active_domains) else FOR_OTHERS


def _saying(case: Case, placeholder: str) -> list[int]:
    """Return the turns whose response has a placeholder."""
    return [index for index, turn in enumerate(case.turns) if placeholder in turn.response]


def _unsaid(
    case: Case, placeholder: str, others: Collection[str], since: int = 0
) -> dict[str, object]:
    """Return words for that no turn about a domain has a placeholder, and which turns have it.

    Those that speak to one of `others`, which it may as well be of, are passed over.
    """
    elsewhere = [
        f"turn {index} (active: {_listed(case.turns[index])})"
        for index in _saying(case, placeholder)
        if index >= since and _remoteness(True, case.turns[index], others) < FOR_OTHERS
    ]
    return {
        "placeholder": _called(case, placeholder),
        "elsewhere": f"; others have it: {', '.join(elsewhere)}" if elsewhere else "",
    }


def _called(case: Case, placeholder: str) -> str:
    return IN_WORDS[placeholder] if case.in_words else placeholder


def _listed(turn: NormalizedTurn) -> str:
    return ", ".join(turn.active_domains) or "none"


def _not_active(outcome: str, domain: str, index: int, case: Case, said: str | None) -> Loss:
    words = {
        "which": f", which has {_called(case, said)}" if said else "",
        "active": _listed(case.turns[index]),
    }
    repair = partial(activate, turn=index, domain=domain)
    return Loss("domain-not-active", outcome, domain, index, repair, words)


def _state_losses(case: Case, domain: str, index: int) -> list[Loss]:
    """Return what is wrong with the state behind the offer of a turn, and those after it."""
    state = case.turns[index].state.get(domain)
    annotated = case.annotated[index].get(domain, {})
    since = partial(constrain, since=index, domain=domain)
    if state is None:
        repair = partial(since, changes=case.constraints[domain])
        then = "" if annotated else f"had not asked for a {domain}"
        return [Loss("no-state", "inform", domain, index, repair, {}, then=then)]
    changes = _needed_changes(case, domain, index)
    if not case.offered(domain):
        words = {
            "state": spelled(state),
            "changes": ", ".join(
                f"no {slot}" if value is None else f"{slot}={value}"
                for slot, value in changes.items()
            ),
        }
        repair = partial(since, changes=changes)
        excuses = (_then(case, domain, index, slot, changes[slot]) for slot in changes)
        then = " and ".join(filter(None, excuses))
        return [Loss("no-venue-matches-state", "inform", domain, index, repair, words, then=then)]
    if len(changes) > 1 or not changes.keys() <= annotated.keys():
        for name in _names_known(case, domain, index):
            keep = partial(since, changes={NAME: name})
            if keep(case).offers_right(domain):
                return [Loss("name-lost", "inform", domain, index, keep, {"value": name})]
    return list(_constraint_losses(case, domain, index, changes))


def _names_known(case: Case, domain: str, index: int) -> Iterator[str]:
    """Yield names of the venue settled on that the state of a turn should have and has not."""
    if NAME in case.turns[index].state[domain]:
        return
    states = [turn.state for turn in reversed(case.turns[:index])]
    for state in (*states, case.annotated[index]):
        if name := state.get(domain, {}).get(NAME):
            yield name


def _constraint_losses(case: Case, domain: str, index: int, changes: Changes) -> Iterator[Loss]:
    state = case.turns[index].state[domain]
    misplaced = {
        slot: other
        for slot, wanted in changes.items()
        for other, instead in changes.items()
        if slot not in state and instead is None and state.get(other) == wanted
    }
    for slot, wanted in changes.items():
        if slot in misplaced:
            yield _constraint_loss(case, domain, index, slot, wanted, misplaced[slot])
        elif slot not in misplaced.values():
            yield _constraint_loss(case, domain, index, slot, wanted)


def _constraint_loss(
    case: Case, domain: str, index: int, slot: str, wanted: str | None, other: str | None = None
) -> Loss:
    turn, value = next(
        (at, state[domain].get(slot))
        for at, (_, state, _) in enumerate(case.turns)
        if at >= index and domain in state and state[domain].get(slot) != wanted
    )
    changes: Changes = {slot: wanted}
    if other is not None:
        kind, changes = "misplaced", {slot: wanted, other: None}
    else:
        kind = "extra" if wanted is None else "missing" if value is None else "wrong"
    return Loss(
        kind=f"{kind}-constraint",
        outcome="inform",
        domain=domain,
        turn=turn,
        repair=partial(constrain, since=index, domain=domain, changes=changes),
        words={"value": value, "wanted": wanted, "other": other},
        detail=slot,
        then=_then(case, domain, turn, other or slot, wanted),
    )


def _then(case: Case, domain: str, index: int, slot: str, wanted: str | None) -> str:
    """Return what the user wanted of a slot by the annotation, if the state has that; else ""."""
    value = case.turns[index].state[domain].get(slot)
    if case.annotated[index].get(domain, {}).get(slot) != value:
        return ""
    if value is None:
        return f"had not asked for {slot}={wanted}"
    return f"wanted {slot}={value}"


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
            if constrain(case, since, domain, without).offers_right(domain):
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
        said = slot in placeholders_in(turn.response).provided
        too_early = slot == BOOKED_FOR and index not in booked
        if booked and too_early and not said:
            continue  # What must yet be said can as well be said when it is booked.
        found = []
        if not said:
            give = partial(say, turn=index, placeholder=slot)
            words = _unsaid(case, slot, others)
            found.append(Loss("never-gave", "success", domain, None, give, words))
        if domain not in turn.active_domains:
            found.append(_not_active("success", domain, index, case, slot if said else None))
        if too_early:
            found.append(_not_booked(domain, index, booked))
        unasked = domain not in case.annotated[index]
        ways.append(((len(found), unasked, _remoteness(said, turn, others), index), found))
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
