"""Every act of the original's users is one that ours can say, as probably as it should be.

From the state before, all draws are tried in every way; states that cannot be told apart from
outside are all followed.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from math import log, sqrt
from typing import Any

import pytest

from mwzeval.pydial.acts import Act, Item, parse_act
from mwzeval.pydial.goals import Goal
from mwzeval.pydial.simulator.error_model import Confusion
from mwzeval.pydial.simulator.goals import achieved
from tests.pydial.real_domains import domain, parameters, traces
from tests.pydial.simulator.original_confusion import original_confusion
from tests.pydial.simulator.outcomes import Script, outcomes
from tests.pydial.simulator.parts import TextUser, simulation_of

pytestmark = pytest.mark.integration
DIALOGUES = 58
Seen = tuple[str, tuple[str, ...], tuple[Item, ...], int, frozenset[tuple[str, str | None]]]


@dataclass
class Step:
    """An exchange: how probable it was, what was to be expected, and who may be the user now."""

    probability: float
    surprise: float
    variance: float
    users: list[tuple[TextUser, float]]


def seen(said: str, user: TextUser) -> Seen:
    goal = user.view.goal
    return (
        *(said, tuple(user.agenda()), tuple(goal.constraints), user.d.patience),
        frozenset(goal.requests.items()),
    )


def seen_in_trace(turn: dict[str, Any]) -> Seen:
    state = turn["user_state"]
    constraints = tuple(Item(s, value, sign == "!=") for s, sign, value in state["constraints"])
    acts, requests = tuple(state["agenda_top_first"]), frozenset(state["requests"].items())
    return turn["user_true"], acts, constraints, state["patience"], requests


def copied(user: TextUser, rng: Script, first_requests: Sequence[str]) -> TextUser:
    """Return the same user with other chance, that asks for some slots before others."""
    other = user.twin()
    other.d.rng = rng
    requests = other.view.goal.requests
    order = [*(slot for slot in dict.fromkeys(first_requests) if slot in requests), *requests]
    goal = Goal(other.view.goal.constraints, {slot: requests[slot] for slot in order})
    other.view.put_goal(goal)
    return other


def requested_first(system: Act, turn: dict[str, Any]) -> list[str]:
    """Return the slots asked for in their order, which was that of Python 2's dictionaries."""
    acts = [
        parse_act(text) for text in (turn["user_true"], *turn["user_state"]["agenda_top_first"])
    ]
    if system.name == "reqmore":
        acts.reverse()  # the last one pushed is the first one said
    return [i.slot for act in acts if act.name == "request" for i in act.items if i.value is None]


def hidden(user: TextUser) -> str:
    d = user.d
    told, pending = bool(d.nothing_matches), bool(d.first_offer_pending)
    return repr((user.used, told, pending, user.last_said, str(user.view.system_act)))


def step(users: list[tuple[TextUser, float]], system: Act, turn: dict[str, Any]) -> Step:
    wanted, first = seen_in_trace(turn), requested_first(system, turn)
    expected: Counter[Seen] = Counter()
    possible: dict[str, tuple[TextUser, float]] = {}
    for user, weight in users:

        def answered(rng: Script, user: TextUser = user) -> tuple[TextUser, str]:
            other = copied(user, rng, first)
            return other, str(other.answer(system))

        for (other, said), probability in outcomes(answered):
            found = seen(said, other)
            expected[found] += probability * weight  # type: ignore[assignment]
            if found == wanted:
                before = possible.get(hidden(other), (other, 0.0))[1]
                possible[hidden(other)] = other, before + probability * weight
    assert possible, f"after {system} cannot be {wanted}, but {expected.most_common(3)}"
    logs = [(p, log(p)) for p in expected.values()]
    surprise = -sum(p * bits for p, bits in logs)
    probability = sum(weight for _, weight in possible.values())
    return Step(
        probability,
        surprise,
        sum(p * bits**2 for p, bits in logs) - surprise**2,
        [(user, weight / probability) for user, weight in possible.values()],
    )


@cache
def replayed(index: int) -> list[Step]:
    trace = traces()[index]
    code = trace["task"].split("-")[1]
    constraints = [Item(s, value, sign == "!=") for s, sign, value in trace["goal"]["constraints"]]
    goal = Goal(constraints, dict.fromkeys(trace["goal"]["requests"]))
    simulation, figures = simulation_of(domain(code), legacy=True), parameters(trace["um_params"])
    user = TextUser(simulation, goal, trace["patience"], figures, Script(()))
    users, steps = [(user, 1.0)], []
    for before, turn in zip(trace["turns"], trace["turns"][1:], strict=False):
        # A goodbye that the system hears too soon is not the policy's act, which the user answers.
        system = parse_act(before.get("recognised_policy_act") or before["system"])
        steps.append(step(users, system, turn))
        users = steps[-1].users
    return steps


@pytest.mark.parametrize("index", range(DIALOGUES))
def test_what_the_users_said_is_possible(index: int) -> None:
    trace = traces()[index]
    steps = replayed(index)
    assert len(steps) == trace["num_turns"]
    assert {achieved(user.t, user.d) for user, _ in steps[-1].users} == {bool(trace["success"])}


def test_what_the_users_said_is_no_more_and_no_less_probable_than_it_should_be() -> None:
    steps = [step for index in range(len(traces())) for step in replayed(index)]
    assert len(traces()) == DIALOGUES
    excess = sum(-log(step.probability) - step.surprise for step in steps)
    assert abs(excess) < 3 * sqrt(sum(step.variance for step in steps))


def misheard(confusion: Confusion, said: Act, heard: Act) -> tuple[str, bool] | None:
    """Return what was misheard and whether that sounds alike; None where it cannot be told."""
    if heard.name != said.name:
        return (
            None if heard.name == "null" else ("act", heard.name in confusion.acts[said.name].words)
        )
    wrong = [pair for pair in zip(said.items, heard.items, strict=True) if pair[0] != pair[1]]
    if not wrong or wrong[0][0].slot not in confusion.slots:
        return None
    if wrong[0][0].slot != wrong[0][1].slot:
        return "slot", all(b.slot in confusion.slots[a.slot].words for a, b in wrong)
    near = confusion.values_taken_for.get(wrong[0][0].slot, {}).get(str(wrong[0][0].value))
    if near is None or len(wrong) > 1:
        return None
    return "value", wrong[0][1].value in near.words


def test_what_was_misheard_sounds_alike() -> None:
    found = Counter(
        told
        for trace in traces()
        for turn in trace["turns"][1:]
        for text, _ in turn["nbest"]
        if (
            told := misheard(
                original_confusion(trace["task"].split("-")[1], trace["seed"]),
                parse_act(turn["user_true"]),
                parse_act(text),
            )
        )
    )
    assert found == {("act", True): 180, ("slot", True): 42, ("value", True): 47}
