"""Conversations of a simulated user with a wizard who answers from the database."""

import re
from collections.abc import Iterator, Mapping, Sequence
from itertools import groupby
from typing import Any

from mwzeval.crosswoz.corpus import names
from mwzeval.crosswoz.corpus.acts import INFORM, RECOMMEND, SERVICE_PREFIX, Acts
from mwzeval.crosswoz.corpus.database import Database
from mwzeval.crosswoz.corpus.dialogues import Goal, SemanticTuple, State, goal_to_json
from mwzeval.crosswoz.simulation.goals import GoalGenerator, goal_type
from mwzeval.crosswoz.simulation.protocols import SYSTEM, USER, Nlg, Rng, SeededRng
from mwzeval.crosswoz.simulation.user import RuleSimulator
from mwzeval.crosswoz.systems.rule_policy import RuleSystem
from mwzeval.crosswoz.systems.rule_tracker import RuleTracker
from tools.samples.crosswoz.city import WORDS

MOST_EXCHANGES = 12
"""Longer conversations are not used."""
NAME_KEPT = 0.15
"""Probability that a wizard writes the name of the current venue into the state."""
SERVICES_SWAPPED = 0.2
"""Probability that a wizard writes services in another order than the user."""
WORKERS = 12
_PLACE = "第{}步选定的地方"


def conversations(
    database: Database, nlg: Nlg, seed: str, first_id: int, per_type: int
) -> dict[str, Any]:
    """Return as many dialogues of each goal type, in the format of the public files."""
    lacking = dict.fromkeys(names.GOAL_TYPES, per_type)
    generator, found, number = GoalGenerator(database), dict[str, Any](), 0
    while any(lacking.values()):
        rng = SeededRng(f"{seed}/{number}")
        number += 1
        goal = generator.goal(rng)
        kind = goal_type(goal)
        if not lacking[kind]:
            continue
        user = RuleSimulator(goal, rng)
        messages = list(_messages(user, database, nlg, rng))
        if user.terminated:
            lacking[kind] -= 1
            found[str(first_id + len(found))] = {
                "sys-usr": [rng.choose(range(WORKERS)), rng.choose(range(WORKERS, 2 * WORKERS))],
                "goal": goal_to_json(goal),
                "messages": messages,
                "final_goal": goal_to_json(tuple(user.state)),
                "task description": task_description(goal),
                "type": names.GOAL_TYPES[kind],
            }
    return found


def _messages(
    user: RuleSimulator, database: Database, nlg: Nlg, rng: Rng
) -> Iterator[dict[str, Any]]:
    wizard, answer = RuleSystem(database), Acts()
    for number in range(MOST_EXCHANGES):
        acts = user.answer(answer) if number else user.begin()
        yield {
            "content": nlg.say(acts, USER, rng),
            "role": "usr",
            "dialog_act": [list(act) for act in acts],
            "user_state": goal_to_json(tuple(user.state)),
        }
        # The state of the first query: no constraint is given up yet.
        tracker = RuleTracker(source_in_turn=True, state=_copy(wizard.state))
        first = tracker.update(acts, answer)
        answer = wizard.answer(acts)
        last = _copy(wizard.state)
        _vary(first, last, wizard.selected, acts, rng)
        offered: dict[str, list[str]] = {}
        for act in answer:
            if act.intent in (INFORM, RECOMMEND) and act.slot == names.NAME:
                offered.setdefault(act.domain, []).append(act.value)
        yield {
            "content": nlg.say(answer, SYSTEM, rng),
            "role": "sys",
            "dialog_act": [list(act) for act in answer],
            "sys_state": _with_results(last, database, wizard.selected),
            "sys_state_init": _with_results(first, database, offered),
        }
        if user.terminated:
            return


def _copy(state: State) -> State:
    return {domain: dict(slots) for domain, slots in state.items()}


def _vary(
    first: State, last: State, selected: Mapping[str, Sequence[str]], acts: Acts, rng: Rng
) -> None:
    """Change states as people do, in ways that do not follow from the acts."""
    hotel, services = names.HOTEL, names.SERVICES
    if len(first[hotel][services].split()) > 1 and rng.happens(SERVICES_SWAPPED):
        for state in (first, last):
            state[hotel][services] = " ".join(reversed(state[hotel][services].split()))
    domains = {act.domain for act in acts}
    for domain in names.VENUE_DOMAINS:
        if domain in domains and domain in selected and rng.happens(NAME_KEPT):
            first[domain][names.NAME] = last[domain][names.NAME] = selected[domain][0]


def _with_results(
    state: State, database: Database, selected: Mapping[str, Sequence[str]]
) -> dict[str, dict[str, Any]]:
    results = {domain: list(selected.get(domain, ())) for domain in names.STATE_SLOTS}
    for domain in names.TRAFFIC_DOMAINS:
        results[domain] = [entity.name for entity in database.query(domain, state[domain])]
    return {d: {**state[d], "selectedResults": results[d]} for d in names.STATE_SLOTS}


def task_description(goal: Goal) -> list[str]:
    """Return the description of a goal for its user, with a text per sub-goal.

    Zhu et al., TACL 2020, section 3.2; the sentences are our own.
    """
    texts = []
    for number, group in groupby(goal, key=lambda line: line.subgoal):
        lines = list(group)
        parts = [WORDS["opening", lines[0].domain][0].format(number=number)]
        text = "，".join([*parts, *(_constraint(line) for line in lines if line.value)]) + "。"
        if requests := [_request(line.slot) for line in lines if not line.value]:
            text += f"需要问清：{'、'.join(requests)}。"
        texts.append(text)
    return texts


def _constraint(line: SemanticTuple) -> str:
    if line.slot.startswith(SERVICE_PREFIX):
        return f"必须提供{line.slot.removeprefix(SERVICE_PREFIX)}"
    value = line.value if isinstance(line.value, str) else "和".join(line.value)
    reference = re.search(r"id=([0-9]+)", value) if line.refers else None
    if reference:
        value = _PLACE.format(reference[1])
        if line.slot == names.NAME:
            return f"要在{value}附近"
    wording = WORDS.get(("constraint", line.slot), (f"{line.slot}是{{value}}",))
    return wording[0].format(value=value)


def _request(slot: str) -> str:
    if slot.startswith(SERVICE_PREFIX):
        return f"是否提供{slot.removeprefix(SERVICE_PREFIX)}"
    return f"有哪些{slot}" if slot in names.NEARBY.values() else f"它的{slot}"
