"""Conversations of the sample: a simulated user and a wizard who answers from the database."""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from mwzeval.crosswoz.corpus.acts import INFORM, RECOMMEND, Acts
from mwzeval.crosswoz.corpus.database import Database
from mwzeval.crosswoz.corpus.dialogues import Goal, State, goal_to_json
from mwzeval.crosswoz.corpus.names import (
    GOAL_TYPES,
    HOTEL,
    NAME,
    SERVICES,
    STATE_SLOTS,
    TRAFFIC_DOMAINS,
    VENUE_DOMAINS,
)
from mwzeval.crosswoz.simulation.goals import GoalGenerator, goal_type
from mwzeval.crosswoz.simulation.protocols import SYSTEM, USER, Nlg, Rng, SeededRng
from mwzeval.crosswoz.simulation.user import RuleSimulator
from mwzeval.crosswoz.systems.rule_policy import RuleSystem
from mwzeval.crosswoz.systems.rule_tracker import RuleTracker

MOST_EXCHANGES = 12
"""Longer conversations are thrown away."""
NAME_KEPT = 0.15
"""How often a wizard writes the venue that is talked of into the state."""
SERVICES_SWAPPED = 0.2
"""How often a wizard writes services in another order than the user."""
WORKERS = 12
SELECTED = "selectedResults"
Describe = Callable[[Goal], list[str]]


@dataclass(frozen=True, slots=True)
class Studio:
    """What conversations are made with: a database, words for acts, and for goals."""

    database: Database
    words: Nlg
    describe: Describe


def conversations(studio: Studio, seed: str, first_id: int, per_type: int) -> dict[str, Any]:
    """Return so many dialogues of each goal type, as in the public files."""
    lacking = dict.fromkeys(GOAL_TYPES, per_type)
    generator = GoalGenerator(studio.database)
    found: dict[str, Any] = {}
    number = 0
    while any(lacking.values()):
        rng = SeededRng(f"{seed}/{number}")
        number += 1
        goal = generator.goal(rng)
        kind = goal_type(goal)
        if lacking[kind]:
            dialogue = _conversation(goal, studio, rng)
            if dialogue is not None:
                lacking[kind] -= 1
                found[str(first_id + len(found))] = dialogue
    return found


def _conversation(goal: Goal, studio: Studio, rng: Rng) -> dict[str, Any] | None:
    """Return a dialogue, None when it does not come to its end soon enough."""
    user = RuleSimulator(goal, rng)
    messages = list(_messages(user, studio, rng))
    if not user.terminated:
        return None
    return {
        "sys-usr": [rng.choose(range(WORKERS)), rng.choose(range(WORKERS, 2 * WORKERS))],
        "goal": goal_to_json(goal),
        "messages": messages,
        "final_goal": goal_to_json(tuple(user.state)),
        "task description": studio.describe(goal),
        "type": GOAL_TYPES[goal_type(goal)],
    }


def _messages(user: RuleSimulator, studio: Studio, rng: Rng) -> Iterator[dict[str, Any]]:
    wizard = RuleSystem(studio.database)
    said: Acts = ()
    for number in range(MOST_EXCHANGES):
        heard = user.answer(said) if number else user.begin()
        yield {
            "content": studio.words.say(heard, USER, rng),
            "role": "usr",
            "dialog_act": [list(act) for act in heard],
            "user_state": goal_to_json(tuple(user.state)),
        }
        first = _first_query(wizard.state, heard, said)
        said = wizard.answer(heard)
        last = _copy(wizard.state)
        _write_as_people_do(first, last, wizard.selected, heard, rng)
        yield {
            "content": studio.words.say(said, SYSTEM, rng),
            "role": "sys",
            "dialog_act": [list(act) for act in said],
            "sys_state": _with_results(last, studio.database, wizard.selected),
            "sys_state_init": _with_results(first, studio.database, _offered(said)),
        }
        if user.terminated:
            return


def _first_query(before: State, heard: Acts, said: Acts) -> State:
    """Return the state that the wizard asks the database first, before giving anything up."""
    tracker = RuleTracker(source_in_turn=True, state=_copy(before))
    return tracker.update(heard, said)


def _copy(state: State) -> State:
    return {domain: dict(slots) for domain, slots in state.items()}


def _write_as_people_do(
    first: State,
    last: State,
    selected: Mapping[str, tuple[str, ...]],
    heard: Acts,
    rng: Rng,
) -> None:
    """Change states as wizards do, who know what they mean: none of it follows from the acts."""
    services = first[HOTEL][SERVICES].split()
    if len(services) > 1 and rng.happens(SERVICES_SWAPPED):
        for state in (first, last):
            state[HOTEL][SERVICES] = " ".join(reversed(state[HOTEL][SERVICES].split()))
    asked = {act.domain for act in heard if act.domain in VENUE_DOMAINS}
    for domain in VENUE_DOMAINS:
        if domain in asked and domain in selected and rng.happens(NAME_KEPT):
            first[domain][NAME] = last[domain][NAME] = selected[domain][0]


def _offered(said: Acts) -> dict[str, tuple[str, ...]]:
    names: dict[str, list[str]] = {}
    for act in said:
        if act.intent in (INFORM, RECOMMEND) and act.slot == NAME:
            names.setdefault(act.domain, []).append(act.value)
    return {domain: tuple(of_domain) for domain, of_domain in names.items()}


def _with_results(
    state: State, database: Database, selected: Mapping[str, tuple[str, ...]]
) -> dict[str, dict[str, Any]]:
    plain: dict[str, dict[str, Any]] = {}
    for domain in STATE_SLOTS:
        names = list(selected.get(domain, ()))
        if domain in TRAFFIC_DOMAINS:
            names = [entity.name for entity in database.query(domain, state[domain])]
        plain[domain] = {**state[domain], SELECTED: names}
    return plain
