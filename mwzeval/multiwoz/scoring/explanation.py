"""Explain why Inform or Success failed by the smallest set of repairs with which the domain passes.

For each possible failure, a pure function changes the scorer's input so that the failure is
repaired. The scorer is then run on the repaired input to determine which repairs are needed. If a
domain can be repaired in any of several turns, the turn that needs the fewest repairs is reported
(docs/explaining.md).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial, reduce

from mwzeval.multiwoz.annotations import GoldDialogue
from mwzeval.multiwoz.database import Database
from mwzeval.multiwoz.grounding.scores import INFORM as GROUNDED_INFORM
from mwzeval.multiwoz.grounding.scores import SUCCESS as GROUNDED_SUCCESS
from mwzeval.multiwoz.normalization import State
from mwzeval.multiwoz.placeholders import natural_spacing
from mwzeval.multiwoz.predictions import Turn
from mwzeval.multiwoz.reasons import reason
from mwzeval.multiwoz.schema import OFFERED_BY, PROVIDABLE
from mwzeval.multiwoz.scoring.goal_success import (
    DialogueOutcome,
    DomainGoal,
    DomainTurn,
    NeedsOffer,
    NormalizedTurn,
    Progress,
    dialogue_acts,
    judge,
    replaces,
)
from mwzeval.multiwoz.scoring.scorer import NormalizedDialogue, Scorer
from mwzeval.scores.explanation import SYSTEM, Explanation, Fact, Reason, TurnView, Utterance

IN_WORDS = {
    "NAME": "a name",
    "TRAINID": "a train's id",
    "PHONE": "a phone number",
    "ADDRESS": "an address",
    "POST": "a postcode",
    "REFERENCE": "a reference number",
}
"""The description of each placeholder, which is used for responses without placeholders."""

Changes = Mapping[str, str | None]
"""Maps slots to their new values; None removes the slot."""


@dataclass(frozen=True, slots=True, eq=False)
class Scenario:
    """A dialogue to explain: its turns, the goal and the gold annotation.

    `constraints` are the informable slots of each domain of the goal. `booked` are the domains that
    each turn books, and `annotated` are the gold states. `in_words` is true if the original
    responses are lexicalized.
    """

    goal: Mapping[str, DomainGoal]
    constraints: Mapping[str, Mapping[str, str]]
    turns: tuple[NormalizedTurn, ...]
    booked: tuple[frozenset[str], ...]
    annotated: tuple[State, ...]
    database: Database
    in_words: bool = False

    @classmethod
    def of(cls, scorer: Scorer, dialogue: NormalizedDialogue) -> Scenario:
        """Return the scenario of a dialogue, which contains the input of the scorer."""
        gold = scorer.gold.dialogues[dialogue.name]
        return cls(
            goal=scorer.goal(dialogue.name),
            constraints={domain: goal.informable for domain, goal in gold.goal.items()},
            turns=dialogue.turns,
            booked=gold.booked,
            annotated=scorer.gold_states(dialogue.name),
            database=scorer.database,
            in_words=dialogue.mentions is not None,
        )

    def acts(self) -> Iterator[dict[str, DomainTurn]]:
        """Yield, turn by turn, the offer and provided slots in each active domain of the goal."""
        return dialogue_acts(self.goal, self.turns, self.booked, self.database)

    def outcome(self) -> DialogueOutcome:
        """Return the outcome of the scenario under Inform and Success."""
        return judge(self.goal, self.acts())

    def offers_right(self, domain: str) -> bool:
        """Return whether the final offer has venues that all satisfy the goal.

        For a train, Inform is also met without any offer, but omitting the offer is not regarded as
        a repair.
        """
        result = self.outcome().domains[domain]
        return bool(result.offered) and result.inform

    # Repairs

    def say(self, turn: int, placeholder: str) -> Scenario:
        """Add a placeholder to the response of a turn."""
        old = self.turns[turn]
        return self._with({turn: old._replace(response=f"{old.response} {placeholder}")})

    def activate(self, turn: int, domain: str) -> Scenario:
        """Add an active domain to a turn."""
        old = self.turns[turn]
        return self._with({turn: old._replace(active_domains=(*old.active_domains, domain))})

    def constrain(self, since: int, domain: str, changes: Changes) -> Scenario:
        """Change slots in a turn and in all later turns whose state has the domain."""
        changed = {}
        for index in range(since, len(self.turns)):
            old = self.turns[index]
            if index == since or domain in old.state:
                slots = {**old.state.get(domain, {}), **changes}
                kept = {slot: value for slot, value in slots.items() if value is not None}
                changed[index] = old._replace(state={**old.state, domain: kept})
        return self._with(changed)

    def book(self, turn: int, domain: str) -> Scenario:
        """Return a scenario in which a turn makes a booking in a domain."""
        booked = list(self.booked)
        booked[turn] |= {domain}
        return replace(self, booked=tuple(booked))

    def ask_for_no_offer(self, domain: str) -> Scenario:
        """Return a scenario in which the goal accepts any offer, or no offer, in a domain."""
        goal = replace(self.goal[domain], needs_offer=NeedsOffer.NEVER)
        return replace(self, goal={**self.goal, domain: goal})

    def _with(self, changed: Mapping[int, NormalizedTurn]) -> Scenario:
        turns = tuple(changed.get(index, turn) for index, turn in enumerate(self.turns))
        return replace(self, turns=turns)


@dataclass(frozen=True, slots=True, eq=False)
class Failure:
    """A reason why a domain failed, and its repair.

    If all failures of a domain are repaired, the domain passes. If the repair of any failure is
    omitted, the domain fails. `slot` is the slot of the failure, if any; `words` replace the
    placeholders in the sentence of its reason. `then` is the user's wish at that turn, if the state
    agrees with the annotation of the turn but not with the goal. `then` is empty if the annotation
    does not explain the state.
    """

    kind: str
    outcome: str
    domain: str
    turn: int | None
    repair: Callable[[Scenario], Scenario]
    words: Mapping[str, object]
    slot: str | None = None
    then: str = ""

    def reason(self) -> Reason:
        """Return the failure as a reason, with the sentence and the turn."""
        words = {
            **self.words,
            "too": "; the annotation of that turn agrees with the state" * bool(self.then),
        }
        return reason(self.kind, self.outcome, self.domain, self.turn, words, self.slot)


def failures(case: Scenario) -> list[Failure]:
    """Return the failures of Inform by domain, or else those of Success ([] if both are met)."""
    outcome = case.outcome()
    found: list[Failure] = []
    for domain, result in outcome.domains.items():
        if outcome.inform:
            for slot in sorted(result.missing):
                found += _slot_failures(case, domain, slot)
        elif not result.inform:
            alone = replace(case, goal={domain: case.goal[domain]})
            found += _inform_failures(alone, domain)
    return found


def repaired(case: Scenario, found: Iterable[Failure]) -> Scenario:
    """Return the input of the scorer after the repair of the given failures."""
    return reduce(lambda so_far, failure: failure.repair(so_far), found, case)


def _inform_failures(case: Scenario, domain: str) -> list[Failure]:
    if not case.goal[domain].satisfying:
        ask_nothing = partial(Scenario.ask_for_no_offer, domain=domain)
        return [Failure("unsatisfiable-goal", "inform", domain, None, ask_nothing, {})]
    # The turn of the final offer, or the last turn that found no venue to offer.
    progress, deciding = Progress(case.goal), None
    for index, acts in enumerate(case.acts()):
        venues = acts[domain].found if domain in acts else None
        if venues is not None and replaces(venues, progress.offered[domain]):
            deciding = index
        progress.advance(acts)
    if deciding is None:
        ways = (_offer_failures(case, domain, turn) for turn in range(len(case.turns)))
        return min(ways, key=lambda way: way[0])[1]
    found = _state_failures(case, domain, deciding)
    return _later_failures(case, domain, found) if _excused(found) else found


Rank = tuple[int, int, int, int]
"""The sort key of a turn: the number of failures, the number of failures explained by the
annotation, the result of `_remoteness`, and the index of the turn."""


def _offer_failures(
    case: Scenario, domain: str, index: int, since: int = 0
) -> tuple[Rank, list[Failure]]:
    """Return why a turn makes no right offer. Turns before `since` are not mentioned."""
    turn, placeholder = case.turns[index], OFFERED_BY[domain]
    others = {other for other, by in OFFERED_BY.items() if by == placeholder} - {domain}
    found = []
    if placeholder not in turn.response:
        words = _unsaid(case, placeholder, others, since)
        offer = partial(Scenario.say, turn=index, placeholder=placeholder)
        found.append(Failure("no-venue-offered", "inform", domain, None, offer, words))
    is_active = domain in turn.active_domains
    if not is_active:
        found.append(_not_active("inform", domain, index, case, placeholder))
    offering = repaired(case, found)
    if not offering.offers_right(domain):
        found += _state_failures(offering, domain, index)
    lacking = len(found)
    if not is_active and found[-1].kind == "no-state" and not found[-1].then:
        lacking -= 1  # The two failures have one cause: the system did not notice the domain.
    return (lacking, _excused(found), _remoteness(placeholder, turn, others), index), found


def _later_failures(case: Scenario, domain: str, found: list[Failure]) -> list[Failure]:
    """Return the failures after the turn in which the user's wish became the goal, if known.

    `found` are the failures of the last offer. The annotation explains some of these failures if
    the user wanted the offered venue at that time. A later turn with fewer such failures is
    preferred.
    """
    last = max(
        index
        for index, turn in enumerate(case.turns)
        if OFFERED_BY[domain] in turn.response and domain in turn.active_domains
    )
    nearest = _state_failures(case, domain, last)
    if not _excused(nearest):
        return nearest
    ways = []
    for index in range(last + 1, len(case.turns)):
        (lacking, excused, remoteness, _), lacks = _offer_failures(case, domain, index, last + 1)
        if remoteness < FOR_OTHERS and repaired(case, lacks).offers_right(domain):
            ways.append(((excused, lacking, remoteness, index), lacks))
    best = min(ways, key=lambda way: way[0], default=None)
    if best is not None and best[0][0] < _excused(nearest):
        then = " and ".join(failure.then for failure in nearest if failure.then)
        return [
            replace(f, kind="not-offered-again", words={**f.words, "before": last, "then": then})
            if f.kind == "no-venue-offered"
            else f
            for f in best[1]
        ]
    return nearest if _excused(nearest) < _excused(found) else found


def _excused(found: Iterable[Failure]) -> int:
    """Return the number of failures whose state agrees with the annotation of the turn."""
    return sum(bool(failure.then) for failure in found)


FOR_OTHERS = 2


def _remoteness(placeholder: str, turn: NormalizedTurn, others: Iterable[str]) -> int:
    """Return 0 if the turn has the placeholder, 1 if not, and 2 if it may be about `others`."""
    if placeholder not in turn.response:
        return 1
    return 0 if set(others).isdisjoint(turn.active_domains) else FOR_OTHERS


def _unsaid(
    case: Scenario, placeholder: str, others: Iterable[str], since: int = 0
) -> dict[str, object]:
    """Return parts of a sentence: the missing placeholder, and the other turns that have it.

    Turns about any of `others` are omitted, because the placeholder may be about these domains.
    """
    elsewhere = ", ".join(
        f"turn {index} (active: {_listed(turn)})"
        for index, turn in enumerate(case.turns)
        if index >= since and _remoteness(placeholder, turn, others) == 0
    )
    return {
        "placeholder": _called(case, placeholder),
        "elsewhere": elsewhere and f"; other turns give it: {elsewhere}",
    }


def _called(case: Scenario, placeholder: str) -> str:
    return IN_WORDS[placeholder] if case.in_words else placeholder


def _listed(turn: NormalizedTurn) -> str:
    return ", ".join(turn.active_domains) or "none"


def _not_active(outcome: str, domain: str, index: int, case: Scenario, placeholder: str) -> Failure:
    turn = case.turns[index]
    which = f", which has {_called(case, placeholder)}" if placeholder in turn.response else ""
    repair = partial(Scenario.activate, turn=index, domain=domain)
    words = {"which": which, "active": _listed(turn)}
    return Failure("domain-not-active", outcome, domain, index, repair, words)


def _state_failures(case: Scenario, domain: str, index: int) -> list[Failure]:
    """Return the failures of the states at and after the turn of an offer."""
    state = case.turns[index].state.get(domain)
    annotated = case.annotated[index].get(domain, {})

    def failure(kind: str, changes: Changes, words: Mapping[str, object], then: str) -> Failure:
        repair = partial(Scenario.constrain, since=index, domain=domain, changes=changes)
        return Failure(kind, "inform", domain, index, repair, words, then=then)

    if state is None:
        then = "" if annotated else f"had not requested a {domain}"
        return [failure("no-state", case.constraints[domain], {}, then)]
    changes = _needed_changes(case, domain, index)
    if not case.outcome().domains[domain].offered:
        listed = ", ".join(
            f"no {slot}" if value is None else f"{slot}={value}" for slot, value in changes.items()
        )
        excuses = (_then(case, domain, index, slot, changes[slot]) for slot in changes)
        then = " and ".join(filter(None, excuses))
        words = {"state": spelled(state), "changes": listed}
        return [failure("no-venue-matches-state", changes, words, then)]
    if "name" not in state and (len(changes) > 1 or not changes.keys() <= annotated.keys()):
        # The name of the chosen venue is missing in the state.
        states = [turn.state for turn in reversed(case.turns[:index])]
        for other in (*states, case.annotated[index]):
            if name := other.get(domain, {}).get("name"):
                lost = failure("name-lost", {"name": name}, {"value": name}, "")
                if lost.repair(case).offers_right(domain):
                    return [lost]
    return list(_constraint_failures(case, domain, index, changes))


def _constraint_failures(
    case: Scenario, domain: str, index: int, changes: Changes
) -> Iterator[Failure]:
    state = case.turns[index].state[domain]
    misplaced = {
        slot: other
        for slot, constraint in changes.items()
        for other, instead in changes.items()
        if slot not in state and instead is None and state.get(other) == constraint
    }
    for slot, constraint in changes.items():
        if slot in misplaced.values() and slot not in misplaced:
            continue
        other = misplaced.get(slot)
        turn, value = next(
            (at, turn.state[domain].get(slot))
            for at, turn in enumerate(case.turns)
            if at >= index and domain in turn.state and turn.state[domain].get(slot) != constraint
        )
        repairing: Changes = {slot: constraint}
        if other is not None:
            kind, repairing = "misplaced", {slot: constraint, other: None}
        else:
            kind = "extra" if constraint is None else "missing" if value is None else "wrong"
        yield Failure(
            kind=f"{kind}-constraint",
            outcome="inform",
            domain=domain,
            turn=turn,
            repair=partial(Scenario.constrain, since=index, domain=domain, changes=repairing),
            words={"value": value, "wanted": constraint, "other": other},
            slot=slot,
            then=_then(case, domain, turn, other or slot, constraint),
        )


def _then(case: Scenario, domain: str, index: int, slot: str, constraint: str | None) -> str:
    """Return the annotated wish for a slot if the state agrees with it, else ""."""
    value = case.turns[index].state[domain].get(slot)
    if case.annotated[index].get(domain, {}).get(slot) != value:
        return ""
    if value is None:
        return f"had not requested {slot}={constraint}"
    return f"wanted {slot}={value}"


def _needed_changes(case: Scenario, domain: str, since: int) -> Changes:
    """Return a minimal set of changes with which the state satisfies the goal.

    Changes of wrong values are preferred to additions of missing slots, and additions to removals
    of slots that the goal does not have.
    """
    constraints = case.constraints[domain]
    states = [turn.state[domain] for turn in case.turns[since:] if domain in turn.state]
    everything = case.database.find(domain, {})
    others = {pair for state in states for pair in state.items() if pair[0] not in constraints}
    extra = {
        slot: None
        for slot, value in sorted(others)
        if case.database.find(domain, {slot: value}) != everything
    }
    missing = {slot: value for slot, value in constraints.items() if slot not in states[0]}
    changes: Changes = {**extra, **missing, **constraints}
    while True:
        fewer = changes
        for slot in changes:
            without = {other: value for other, value in fewer.items() if other != slot}
            if case.constrain(since, domain, without).offers_right(domain):
                fewer = without
        if len(fewer) == len(changes):
            return {slot: fewer[slot] for slot in (*constraints, *extra) if slot in fewer}
        changes = fewer


def _slot_failures(case: Scenario, domain: str, slot: str) -> list[Failure]:
    """Return why a requested slot was not provided, for the turn that needs the fewest repairs."""
    booked = [turn for turn in range(len(case.turns)) if domain in case.booked[turn]]
    others = {other for other, goal in case.goal.items() if slot in goal.requested} - {domain}
    ways: list[tuple[Rank, list[Failure]]] = []
    for index, turn in enumerate(case.turns):
        has_slot = slot in turn.response
        too_early = slot == "REFERENCE" and index not in booked
        if booked and too_early and not has_slot:
            continue  # A missing reference number can be provided in the turn of the booking.
        found = []
        if not has_slot:
            give = partial(Scenario.say, turn=index, placeholder=slot)
            words = _unsaid(case, slot, others)
            found.append(Failure("never-gave", "success", domain, None, give, words))
        if domain not in turn.active_domains:
            found.append(_not_active("success", domain, index, case, slot))
        if too_early:
            book = partial(Scenario.book, turn=index, domain=domain)
            if booked:
                words = {"booked": next((turn for turn in booked if turn > index), booked[0])}
                found.append(Failure("gave-before-booked", "success", domain, index, book, words))
            else:
                found.append(Failure("never-booked", "success", domain, None, book, {}))
        unasked = domain not in case.annotated[index]
        ways.append(((len(found), unasked, _remoteness(slot, turn, others), index), found))
    nearest = min(ways, key=lambda way: way[0])[1]
    name = PROVIDABLE[slot]
    return [replace(failure, slot=name) for failure in nearest]


def spelled(slots: Mapping[str, str]) -> str:
    """Return slots and their values as a single line of text."""
    return ", ".join(f"{slot}={value}" for slot, value in slots.items()) or "anything"


SHOWN_VENUES = 3
"""Maximum number of venues that are named. All further venues are only counted."""


def explain(
    scorer: Scorer, dialogue: NormalizedDialogue, predicted: Sequence[Turn] = ()
) -> Explanation:
    """Return the outcomes of a dialogue, the acts of its turns, and the reasons why Inform or
    Success failed.

    If the turns are given in `predicted`, the explanation shows original responses, calls and
    bookings. For each response that was delexicalized, a fact shows the delexicalized form, which
    was scored.
    """
    case = Scenario.of(scorer, dialogue)
    outcomes = case.outcome().named("inform", "success")
    views = list(_turn_views(case, scorer.gold.dialogues[dialogue.name], predicted))
    reasons = [failure.reason() for failure in failures(case)]
    if dialogue.mentions is not None:
        words = scorer.words(dialogue)
        grounded = words.grounded.outcome.named(GROUNDED_INFORM, GROUNDED_SUCCESS)
        for scope, of_scope in grounded.items():
            outcomes[scope].update(of_scope)
        for index, view in enumerate(views):
            claims = tuple(claim for claim in words.claims if claim.turn == index)
            facts = (*view.facts, *words.turn_facts(index))
            views[index] = view._replace(facts=facts, claims=claims)
        reasons += words.reasons()
    goal = tuple(_goal_facts(case))
    return Explanation(dialogue.name, outcomes, goal, tuple(views), tuple(reasons))


def _calls_and_bookings(turn: Turn) -> Iterator[Fact]:
    for call in turn.calls:
        arguments = ", ".join(f"{name}={value}" for name, value in call.arguments.items())
        yield Fact("called", f"{call.function}({arguments})")
    if not turn.calls:
        for domain, slots in turn.bookings or ():
            yield Fact("booked", spelled(slots), domain)


def _goal_facts(case: Scenario) -> Iterator[Fact]:
    for domain, goal in case.goal.items():
        constraints = case.constraints[domain]
        yield Fact("wants", spelled(constraints), domain)
        if goal.needs_offer is not NeedsOffer.NEVER:
            satisfying = case.database.find(domain, constraints)
            yield Fact("satisfied by", _venues(case, domain, satisfying), domain)
        if goal.requested:
            yield Fact("asks for", ", ".join(sorted(goal.requested)), domain)


def _turn_views(
    case: Scenario, gold: GoldDialogue, predicted: Sequence[Turn]
) -> Iterator[TurnView]:
    progress = Progress(case.goal)
    has_offered: set[str] = set()
    for index, acts in enumerate(case.acts()):
        turn = case.turns[index]
        scored = natural_spacing(turn.response)
        response: str | None = scored
        facts = []
        if predicted:
            response = predicted[index].response
            if response is not None and response != scored and not case.in_words:
                facts.append(Fact("scored as", scored))
            facts += _calls_and_bookings(predicted[index])
        before = {domain: frozenset(slots) for domain, slots in progress.provided.items()}
        progress.advance(acts)
        facts.append(Fact("active", ", ".join(turn.active_domains) or "none"))
        for domain, slots in turn.state.items():
            facts.append(Fact("state", spelled(slots), domain))
        for domain, act in acts.items():
            if act.found is not None:
                has_offered.add(domain)
                facts.append(Fact("matched", _venues(case, domain, act.found), domain))
        for domain in case.goal:
            if domain in has_offered:
                facts.append(_offer(case, domain, progress.offered[domain]))
            if new := progress.provided[domain] - before[domain]:
                facts.append(Fact("provided", ", ".join(sorted(new)), domain))
        utterances = [Utterance("user", gold.user_utterances[index])]
        if response is not None:
            utterances.append(Utterance(SYSTEM, response))
        utterances.append(Utterance("reference", gold.references[index]))
        yield TurnView(tuple(utterances), tuple(facts))


def _offer(case: Scenario, domain: str, offered: tuple[str, ...]) -> Fact:
    goal, remark = case.goal[domain], ""
    if offered and goal.needs_offer is not NeedsOffer.NEVER:
        satisfying = len(goal.satisfying.intersection(offered))
        share = {0: "none", len(offered): "all"}.get(satisfying, str(satisfying))
        remark = f" (satisfying the goal: {share})"
    return Fact("on offer", _venues(case, domain, offered, remark), domain)


def _venues(case: Scenario, domain: str, ids: Sequence[str], remark: str = "") -> str:
    """Return the number of venues, a remark, and the names of the first venues."""
    if not ids:
        return "no venue"
    shown = [case.database.names.get((domain, venue), venue) for venue in ids[:SHOWN_VENUES]]
    rest = ", …" if len(ids) > SHOWN_VENUES else ""
    kind = "venue" if len(ids) == 1 else "venues"
    return f"{len(ids)} {kind}{remark}: {', '.join(shown)}{rest}"
