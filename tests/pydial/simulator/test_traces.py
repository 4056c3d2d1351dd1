"""Recorded dialogues of the original: beliefs, masks and acts of its system, acts of its users.

For a user, all random choices in the previous state are enumerated, and all states that are
consistent with the record are followed.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from math import log, sqrt
from typing import Any

import pytest

from mwzeval.pydial.acts import HELLO, Act, Item, parse_act
from mwzeval.pydial.domain import METHODS
from mwzeval.pydial.goals import Goal
from mwzeval.pydial.policies.handcrafted import HandcraftedPolicy
from mwzeval.pydial.simulator.goals import achieved
from mwzeval.pydial.simulator.rng import Rng
from mwzeval.pydial.simulator.view import Belief
from mwzeval.pydial.tasks import TASKS
from tests.pydial.real_domains import domain, parameters, task_name, traces
from tests.pydial.simulator.outcomes import Script, outcomes
from tests.pydial.simulator.parts import TextUser, Tracker, simulation_of

pytestmark = pytest.mark.integration
DIALOGUES, EXCHANGES = 58, 464
DRAWS = 4000
"""Sufficient to draw each of the possible random acts (5 of 6 slots, any of 9 slots)."""


def belief_probabilities(belief: Belief) -> dict[str, dict[str, float]]:
    return {
        **{slot: {**m.values, "**NONE**": m.none} for slot, m in belief.slots.items()},
        "method": dict(zip(METHODS, belief.methods, strict=True)),
        "discourseAct": belief.discourse_acts,
        "requested": belief.requested,
    }


def replay() -> Iterator[tuple[str, Tracker, Act, dict[str, Any]]]:
    """Yield the name of each turn, the tracker after it, the system act and the record."""
    trackers: dict[str, Tracker] = {}
    for record in traces():
        task = TASKS[task_name(record["task"])]
        # The original keeps the fact that there was an offer across dialogues.
        new = Tracker(domain(task.domain), legacy=True, task=task)
        tracker = trackers.setdefault(task.name, new)
        tracker.begin()
        last = HELLO
        for gold in record["turns"][1:]:
            tracker.update(last, [(parse_act(text), score) for text, score in gold["nbest"]])
            last = parse_act(gold["recognised_policy_act"])
            yield f"{record['task']} {record['index']}:{gold['turn']}", tracker, last, gold


def test_beliefs_masks_and_acts_match_the_original_traces() -> None:
    number, policy, rng = 0, HandcraftedPolicy(), Rng(0)
    for number, (place, tracker, act, gold) in enumerate(replay(), start=1):  # noqa: B007
        belief = tracker.belief
        mine, theirs = belief_probabilities(belief), gold["belief"]
        assert mine.keys() == theirs.keys(), place
        for slot, probs in mine.items():
            values = dict.fromkeys({*probs, *theirs[slot]}, 0.0)
            assert {**values, **probs} == pytest.approx({**values, **theirs[slot]}, abs=1e-5), place
        features = {
            "inform_info": list(map(int, tracker.d.matches)),
            "informedVenueSinceNone": list(belief.offered_since_none),
            "lastActionInformNone": belief.nothing_found,
            "lastInformedVenue": belief.last_offered,
            "offerHappened": belief.offered,
        }
        assert features == gold["features"], place
        masked = [name for name in tracker.names if name not in tracker.allowed()]
        assert masked == gold["masked_summary_actions"], place
        # The policy is partly random.
        acts = (policy.act(belief, rng) for _ in range(DRAWS))
        assert any(map(act.says_the_same, acts)), (place, act)
    assert number == EXCHANGES


Seen = tuple[str, tuple[str, ...], tuple[Item, ...], int, frozenset[tuple[str, str | None]]]
Users = list[tuple[TextUser, float]]


def constraints_in(record: dict[str, Any]) -> tuple[Item, ...]:
    return tuple(Item(s, value, sign == "!=") for s, sign, value in record["constraints"])


def seen(said: Act, user: TextUser) -> Seen:
    goal, agenda = user.view.goal, tuple(map(str, user.agenda()))
    requests = frozenset(goal.requests.items())
    return str(said), agenda, tuple(goal.constraints), user.d.patience, requests


def seen_in_trace(turn: dict[str, Any]) -> Seen:
    state = turn["user_state"]
    acts, requests = tuple(state["agenda_top_first"]), frozenset(state["requests"].items())
    return turn["user_true"], acts, constraints_in(state), state["patience"], requests


def hidden_state(user: TextUser) -> str:
    d, used = user.d, sorted((slot, sorted(values)) for slot, values in user.used.items())
    told, pending = bool(d.nothing_matches), bool(d.first_offer_pending)
    return repr((used, told, pending, user.last_said, user.view.system_act))


def requested_first(system: Act, turn: dict[str, Any]) -> dict[str, None]:
    """Return the requested slots in their recorded order, which was that of Python 2's dict."""
    texts = [turn["user_true"], *turn["user_state"]["agenda_top_first"]]
    if system.name == "reqmore":
        texts.reverse()  # the request that is pushed last is said first
    asked = (act for act in map(parse_act, texts) if act.name == "request")
    return dict.fromkeys(item.slot for act in asked for item in act.items if item.value is None)


def next_users(users: Users, system: Act, turn: dict[str, Any]) -> tuple[Users, float, float]:
    """Return the possible users after a turn, the surprisal of its act minus the expected
    surprisal, and the variance of the surprisal.
    """
    wanted, first = seen_in_trace(turn), requested_first(system, turn)
    expected: Counter[Seen] = Counter()
    possible: dict[str, tuple[TextUser, float]] = {}
    for user, weight in users:
        goal = user.view.goal
        requests = {slot: goal.requests[slot] for slot in first if slot in goal.requests}
        ordered = Goal(goal.constraints, {**requests, **goal.requests})

        def answered(
            rng: Script, user: TextUser = user, goal: Goal = ordered
        ) -> tuple[TextUser, Act]:
            other = user.twin(rng)
            other.view.put_goal(goal)
            return other, other.answer(system)

        for (other, said), probability in outcomes(answered):
            found = seen(said, other)
            expected[found] += probability * weight  # type: ignore[assignment]
            if found == wanted:
                before = possible.get(hidden_state(other), (other, 0.0))[1]
                possible[hidden_state(other)] = other, before + probability * weight
    assert possible, f"after {system} cannot be {wanted}, but {expected.most_common(3)}"
    surprise = -sum(p * log(p) for p in expected.values())
    variance = sum(p * log(p) ** 2 for p in expected.values()) - surprise**2
    total = sum(weight for _, weight in possible.values())
    now = [(user, weight / total) for user, weight in possible.values()]
    return now, -log(total) - surprise, variance


def test_user_acts_in_the_traces_have_their_expected_probability() -> None:
    excess = variance = 0.0
    for trace in traces():
        simulation = simulation_of(domain(trace["task"].split("-")[1]), legacy=True)
        goal = Goal([*constraints_in(trace["goal"])], dict.fromkeys(trace["goal"]["requests"]))
        figures = parameters(trace["um_params"])
        users = [(TextUser(simulation, goal, trace["patience"], figures, Script(())), 1.0)]
        turns = list(zip(trace["turns"], trace["turns"][1:], strict=False))
        for before, turn in turns:
            # If the system hears an early goodbye, the user answers another act.
            system = parse_act(before.get("recognised_policy_act") or before["system"])
            users, more, spread = next_users(users, system, turn)
            excess, variance = excess + more, variance + spread
        assert len(turns) == trace["num_turns"]
        assert {achieved(user.t, user.d) for user, _ in users} == {bool(trace["success"])}
    assert len(traces()) == DIALOGUES
    assert abs(excess) < 3 * sqrt(variance)
