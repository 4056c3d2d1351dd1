"""What a user would have ended with, had the system of a predictions file answered.

The user is the corpus' own, whatever the system says; so each sub-goal gets the last venue that the
system named while the user spoke of it. Simulated dialogues need none of this: their users say
in their state what they have accepted.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from mwzeval.crosswoz.corpus.acts import GENERAL, INFORM, RECOMMEND, REQUEST, SERVICE_PREFIX, Act
from mwzeval.crosswoz.corpus.database import Database
from mwzeval.crosswoz.corpus.dialogues import Dialogue, Exchange, Goal, SemanticTuple
from mwzeval.crosswoz.corpus.names import (
    DEPARTURE,
    DESTINATION,
    LIST_SLOTS,
    NAME,
    NOTHING,
    SERVICES,
    TRAFFIC_DOMAINS,
)
from mwzeval.crosswoz.corpus.normalization import comparable_text
from mwzeval.crosswoz.predictions.reading import Predicted
from mwzeval.crosswoz.spoken_values import told_in

ENDS = (DEPARTURE, DESTINATION)
Value = str | tuple[str, ...]


@dataclass(slots=True)
class _Told:
    """What the system has told about one sub-goal so far."""

    name: str = ""
    values: dict[str, list[str]] = field(default_factory=dict)
    ends: dict[str, str] = field(default_factory=dict)
    responses: list[tuple[str, frozenset[str]]] = field(default_factory=list)
    """What was said, and the slots that the user had just asked for."""


def outcome_of(gold: Dialogue, predicted: Sequence[Predicted], database: Database) -> Goal:
    """Return the lines of a dialogue's goal with what they come to through predictions.

    Ordinary constraints have their final values. Where the system's acts are predicted they say
    what it tells; otherwise its words do, as far as they hold what the database has.
    """
    told = {line.subgoal: _Told() for line in gold.goal}
    by_acts = False
    for number, subgoals in enumerate(subgoals_by_exchange(gold)):
        said = predicted[number]
        by_acts = by_acts or said.system_acts is not None
        following = gold.exchanges[number + 1 :]
        for domain, subgoal in subgoals.items():
            asked = frozenset(
                act.slot
                for act in gold.exchanges[number].user.acts
                if act.intent == REQUEST and act.domain == domain
            )
            _take(told[subgoal], domain, said, asked, following[0] if following else None)
    pairs = zip(gold.goal, gold.final_goal, strict=True)
    names = {line.subgoal: line.value for line in gold.final_goal if line.slot == NAME}
    for subgoal, of in told.items():
        # A user who has named the venue needs not be told.
        wanted = next((w for w in gold.goal if (w.subgoal, w.slot) == (subgoal, NAME)), None)
        if wanted is not None and wanted.value and not wanted.refers and not of.name:
            of.name = str(names[subgoal])
    return tuple(
        _final(wanted, final, told[wanted.subgoal], database, by_acts=by_acts)
        for wanted, final in pairs
    )


def subgoals_by_exchange(gold: Dialogue) -> Iterator[Mapping[str, int]]:
    """Yield for each exchange which sub-goals the user speaks of, by domain.

    A domain stands for the last of its sub-goals that the user has begun to express; without acts
    about any domain the user still speaks of what came before.
    """
    before: dict[str, int] = {}
    for exchange in gold.exchanges:
        begun: dict[str, int] = {}
        for line in exchange.user.state:
            if line.expressed:
                begun[line.domain] = max(line.subgoal, begun.get(line.domain, 0))
        domains = dict.fromkeys(a.domain for a in exchange.user.acts if a.intent != GENERAL)
        now = {domain: begun[domain] for domain in domains if domain in begun}
        before = now or before
        yield before


def _take(
    told: _Told, domain: str, said: Predicted, asked: frozenset[str], following: Exchange | None
) -> None:
    if said.response:
        told.responses.append((said.response, asked))
    state = (said.state or {}).get(domain, {})
    if domain in TRAFFIC_DOMAINS:
        told.ends |= {end: state[end] for end in ENDS if state.get(end)}
    if said.system_acts is None:
        names = spoken_names(said.response or "", (said.selected or {}).get(domain, ()))
    else:
        names = [act.value for act in said.system_acts if _names(act, domain)]
        for act in said.system_acts:
            if act.intent == INFORM and act.domain == domain and act.slot != NAME:
                told.values.setdefault(act.slot, []).append(act.value)
    if names:
        heard = following.user.acts if following else ()
        wanted = [act.value for act in heard if _names(act, domain) and act.value in names]
        told.name = (wanted or names)[0]


def spoken_names(response: str, selected: Sequence[str]) -> list[str]:
    """Return the selected names that a response says, in their order.

    Of names within names (a restaurant and its branch) only the longest counts.
    """
    text = comparable_text(response)
    spoken = {name: comparable_text(name) for name in selected}
    found = [name for name, form in spoken.items() if form and form in text]
    return [
        name
        for name in found
        if not any(spoken[name] != spoken[o] and spoken[name] in spoken[o] for o in found)
    ]


def _names(act: Act, domain: str) -> bool:
    return act.intent in (INFORM, RECOMMEND) and act.slot == NAME and act.domain == domain


def _final(
    wanted: SemanticTuple, final: SemanticTuple, told: _Told, database: Database, *, by_acts: bool
) -> SemanticTuple:
    if wanted.domain in TRAFFIC_DOMAINS and wanted.slot in ENDS:
        return wanted.with_value(told.ends.get(wanted.slot, ""))
    if wanted.slot == NAME:
        return wanted.with_value(told.name)
    if wanted.value:
        return wanted.with_value(final.value)
    if by_acts:
        return wanted.with_value(_listed(wanted.slot, told.values.get(wanted.slot, [])))
    return wanted.with_value(_spoken(wanted, told, database))


def _listed(slot: str, values: Sequence[str]) -> Value:
    if not values:
        return ""
    if slot not in LIST_SLOTS:
        return values[-1]
    return NOTHING if values[-1] == NOTHING else tuple(v for v in values if v != NOTHING)


def _spoken(wanted: SemanticTuple, told: _Told, database: Database) -> Value:
    domain, slot = wanted.domain, wanted.slot
    if domain in TRAFFIC_DOMAINS:
        held: object = database.trip_facts(domain, told.ends).get(slot)
    else:
        venue = database.named(domain, told.name)
        record_slot = SERVICES if slot.startswith(SERVICE_PREFIX) else slot
        held = None if venue is None else venue.record.get(record_slot)
    for response, asked in reversed(told.responses):
        value = told_in(response, slot, held, asked=slot in asked)
        if value:
            return value
    return ""
