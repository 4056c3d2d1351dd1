"""Scores that only runs with conditions have: events, recovery, false reports, and asides.

An event is a fault of a tool or a change of the user's wishes. A domain with an event is recovered
if it succeeds. All other scores of a run are unchanged.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import Any, NamedTuple

from mwzeval.conversation.messages import turns_of
from mwzeval.conversation.trajectory import Trajectory
from mwzeval.metrics.measure import Measure, Rate, Sign, mean
from mwzeval.multiwoz.acts import ASIDE, BOOKING, NONE, Act, goal_slot
from mwzeval.multiwoz.functions import Tools
from mwzeval.multiwoz.goals import ORDERING, Goal, Records, wish_for
from mwzeval.multiwoz.grounding.log import Returned, returned_by
from mwzeval.multiwoz.grounding.statements import SENTENCE
from mwzeval.multiwoz.live.judge import SUCCESS
from mwzeval.multiwoz.live.modalities import Modality
from mwzeval.multiwoz.live.stress import CHANGES, LAYERS, STRESS, TOOL_FAULTS
from mwzeval.multiwoz.live.tools import ERRORS, STALE, TIMEOUTS
from mwzeval.multiwoz.live.transcript import calls_by_turn, reported_bookings
from mwzeval.multiwoz.live.user import NO_OFFER, heard_acts
from mwzeval.multiwoz.live.wordings import is_same
from mwzeval.multiwoz.reasons import reason
from mwzeval.multiwoz.schema import ACT_BOOKING_SLOTS, NAMED_BY
from mwzeval.multiwoz.scoring.goal_success import Rates
from mwzeval.multiwoz.words.vocabulary import has
from mwzeval.scores.explanation import Explanation, Fact, Reason
from mwzeval.scores.findings import LIST, OBJECT
from mwzeval.scores.score import WHOLE

FAULT_KINDS = tuple(kind for kind, layer in LAYERS.items() if layer == TOOL_FAULTS)
CHANGE_KINDS = tuple(
    kind for kind, layer in LAYERS.items() if layer == CHANGES and kind not in (ASIDE, "same")
)
LOUD = (ERRORS, TIMEOUTS)
"""The faults after which the same call succeeds."""
UNDISTURBED = "no event"
"""The scope of domains without any event."""
RECOVERED = Rates(
    (Rate("recovered", "Recovered", "recovered", "disturbed"),),
    (*FAULT_KINDS, *CHANGE_KINDS, UNDISTURBED),
    of_dialogues=False,
)
COUNTED = (
    ("tool_faults", "Faults of tools", FAULT_KINDS),
    ("changed_wishes", "Changes of wishes", CHANGE_KINDS),
)
"""Name, label and kinds of the events whose mean per dialogue is shown."""
DECLINED, IGNORED, PROMISED = "declined", "ignored", "promised"
_WORSE = partial(Rate, lower_is_better=True)
_FAILED = "false_failed", "failed_bookings"
RATES = (
    _WORSE("false_bookings", "False bookings", "false_booking", "can_book", is_outcome=True),
    _WORSE("denied", "Denied although available", "denied", "heard", is_outcome=True),
    _WORSE("false_bookings_failed", "False bookings, % of failed", *_FAILED),
    Rate("asides.declined", "Asides declined", DECLINED, "asides", is_description=True),
    _WORSE("asides.ignored", "Asides ignored", IGNORED, "asides", is_description=True),
    _WORSE("asides.promised", "Asides promised", PROMISED, "asides", is_description=True),
)
COLUMNS = (
    "with_conditions",
    *(f"{name}.{kind}" for name, _, kinds in COUNTED for kind in (WHOLE, *kinds)),
    *RECOVERED.columns,
    *dict.fromkeys(column for rate in RATES for column in (rate.part, rate.whole)),
)


class Event(NamedTuple):
    """A fault, a change or an aside. The `slot` of an aside is its keyword."""

    kind: str
    domain: str
    turn: int
    slot: str


def events_of(dialogue: Trajectory) -> list[Event]:
    """Return the events that the line of a dialogue has."""
    log = dialogue.more.get(STRESS)
    found = log if isinstance(log, OBJECT) else {}
    return [
        Event(event["kind"], str(event.get("domain")), event["turn"], str(event.get("slot", "")))
        for event in (*_list(found.get("faults")), *_list(found.get("changes")))
        if isinstance(event, OBJECT) and type(event.get("turn")) is int
        if event.get("kind") in (*FAULT_KINDS, *CHANGE_KINDS, ASIDE)
    ]


def with_events(
    modality: Modality,
    tools: Tools,
    database: Records,
    conditions: Mapping[str, Any],
    dialogues: Sequence[Trajectory],
) -> Modality:
    """Return the modality for runs with conditions, which has more scores, facts and reasons.

    False bookings are counted only if the agent calls functions or reports bookings in a dialogue.
    """
    can_book = any(
        "bookings" in dialogue.more or any("tool_calls" in message for message in dialogue.messages)
        for dialogue in dialogues
    )
    counted = [
        (name, label, kinds)
        for name, label, kinds in COUNTED
        if not conditions.keys().isdisjoint(kinds)
    ]

    def row(dialogue: Trajectory, goal: Goal) -> Mapping[str, float]:
        own = modality.row(dialogue, goal)
        numbers = Counter({"with_conditions": 1})
        disturbed: dict[str, set[str]] = {}
        for event in events_of(dialogue):
            for name in (name for name, _, kinds in COUNTED if event.kind in kinds):
                numbers.update((f"{name}.{WHOLE}", f"{name}.{event.kind}"))
                disturbed.setdefault(event.domain, {WHOLE}).add(event.kind)
        for domain in goal[ORDERING]:
            for scope in disturbed.get(domain, {UNDISTURBED}):
                numbers[f"disturbed.{scope}"] += 1
                numbers[f"recovered.{scope}"] += int(own[f"success.{domain}"])
        numbers += _reports(dialogue, goal, tools, database, can_book=can_book)
        return {**own, **numbers, **_asides(dialogue)}

    def explain(dialogue: Trajectory, goal: Goal, is_scored: bool) -> Explanation:
        explained = modality.explain(dialogue, goal, is_scored)
        turns, causes = list(explained.turns), dict[tuple[str, str], Reason]()
        open_calls = _open_calls(dialogue, tools)
        misinformed = {found.scope for found in explained.reasons if found.code == "said-wrong"}
        for kind, domain, turn, slot in events_of(dialogue):
            label = "fault of a tool" if kind in FAULT_KINDS else "change of the user"
            label = "aside of the user" if kind == ASIDE else label
            place = max(0, min(turn, len(turns) - 1))
            # The turn distinguishes the fact from an equal fact in the previous turn.
            fact = Fact(label, " ".join(filter(None, (kind, slot, f"(turn {turn})"))), domain)
            turns[place] = turns[place]._replace(facts=(*turns[place].facts, fact))
            is_cause = explained.outcomes.get(domain, {}).get(SUCCESS) is False
            if kind in LOUD:
                is_cause = is_cause and (domain, turn) in open_calls
            elif kind == STALE:
                is_cause = is_cause and domain in misinformed
            if is_cause and kind != ASIDE:
                text: Any = "live" if dialogue.messages else "acts"
                cause = reason(f"after-{kind}", SUCCESS, domain, turn, {}, column=text)
                causes.setdefault((domain, kind), cause)
        reasons = (*causes.values(), *explained.reasons)
        return replace(explained, turns=tuple(turns), reasons=reasons)

    def measures(sums: Mapping[str, float], sign: Sign) -> Iterator[Measure]:
        yield from modality.measures(sums, sign)
        described = partial(Measure, is_description=True, lower_is_better=True)
        for name, label, kinds in counted:
            for scope in (WHOLE, *(kind for kind in kinds if sums[f"{name}.{kind}"])):
                function = mean(f"{name}.{scope}", of="with_conditions")
                yield described(name, label, sign(name), function, unit="a dialogue", scope=scope)
        yield from RECOVERED.measures(sums, sign)
        for rate in RATES:
            yield from rate.measures(sums, sign(rate.name))

    columns = (*modality.columns, *COLUMNS)
    return modality._replace(columns=columns, row=row, explain=explain, measures=measures)


def _reports(
    dialogue: Trajectory, goal: Goal, tools: Tools, database: Records, *, can_book: bool
) -> Counter[str]:
    """Count the agent's false reports that it has booked, and that nothing was found.

    The acts that the user states and understands are known unless the user is a model.
    """
    calls = calls_by_turn(dialogue.talk, tools) if dialogue.talk else []
    booked = {booking.domain for booking in reported_bookings(dialogue.more.get("bookings"))}
    made: list[Returned] = []
    own = (_acts_in(dialogue.report.get(side)) for side in ("said", "understood"))
    turns = list(zip(*own, strict=False)) or [tuple(_acts_in(turn)) for turn in dialogue.acts]
    counts = Counter({"heard": bool(turns), "can_book": bool(turns and can_book)})
    wishes: dict[str, dict[str, str]] = {}
    domain = None
    for number, (user_acts, agent_acts) in enumerate(turns):
        for act in user_acts:
            if act.domain.lower() in goal[ORDERING]:
                domain = act.domain.lower()
                slot = goal_slot(domain, act.slot) or NONE
                value = wish_for(goal[domain], slot) if is_same(act.value) else act.value
                is_of_booking = act.slot in ACT_BOOKING_SLOTS.get(domain, ())
                if act.intent == "Inform" and slot != NONE and value and not is_of_booking:
                    wishes.setdefault(domain, {})[slot] = value
        failed = False
        for returned in map(returned_by, calls[number] if number < len(calls) else ()):
            if returned and returned.is_booking:
                failed |= returned.has_failed
                made += [] if returned.has_failed else [returned]
        booked |= {returned.domain for returned in made}
        acts = heard_acts(agent_acts, goal[ORDERING], domain)
        # If a booking is reported again, its reference may be assigned to another domain.
        codes = [act.value for act in acts if act.slot == "ref"]
        again = any(booking.has_code(code) for booking in made for code in codes)
        claims = [act.domain for act in acts if act.intent in BOOKING and not again]
        false = not booked.issuperset(claims)
        nothing = {act.domain for act in acts if act.intent == NO_OFFER and act.domain in NAMED_BY}
        denied = any(database.query(d, wishes.get(d, {}).items()) for d in nothing)
        counts |= {"false_booking": false and counts["can_book"], "denied": denied}
        counts += {"failed_bookings": failed, "false_failed": failed and false}
    return counts


def _acts_in(turns: object) -> list[list[Act]]:
    """Return acts by turn, without entries that are not acts."""
    return [
        [Act(*map(str, act)) for act in _list(acts) if len(_list(act)) == 4]
        for acts in _list(turns)
    ]


def _list(value: Any) -> Sequence[Any]:
    return value if isinstance(value, LIST) else ()


def _open_calls(dialogue: Trajectory, tools: Tools) -> set[tuple[str, int]]:
    """Return the domains and turns of the calls whose last attempt failed."""
    turns = calls_by_turn(dialogue.talk, tools) if dialogue.talk else ()
    last = {
        (call.function, json.dumps(call.arguments)): (returned_by(call), turn)
        for turn, calls in enumerate(turns)
        for call in calls
    }
    return {(found.domain, turn) for found, turn in last.values() if found and found.has_failed}


def _asides(dialogue: Trajectory) -> Counter[str]:
    """Count the answers to asides: refusals, other sentences about the aside, or no answer."""
    counts = Counter[str]()
    turns = turns_of(dialogue.talk)
    for event in events_of(dialogue):
        if event.kind == ASIDE and 0 <= event.turn < len(turns):
            counts.update(("asides", answer_to_aside(turns[event.turn].agent or "", event.slot)))
    return counts


def answer_to_aside(text: str, keyword: str) -> str:
    """Return whether an agent's message declines, ignores or promises a request with a keyword."""
    sentences = [match[0] for match in SENTENCE.finditer(text.lower())]
    about = [sentence for sentence in sentences if keyword.removesuffix("s") in sentence]
    if any(has("agent negation", sentence) for sentence in about):
        return DECLINED
    if about:
        return PROMISED
    return DECLINED if any(has("agent refuses", sentence) for sentence in sentences) else IGNORED
