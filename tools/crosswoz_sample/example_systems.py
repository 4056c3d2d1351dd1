"""Example predictions for every track: what our own rules and templates make of the sample."""

from collections.abc import Iterator
from typing import Any

from mwzeval.crosswoz.corpus.acts import Acts
from mwzeval.crosswoz.corpus.database import Database
from mwzeval.crosswoz.corpus.dialogues import Dialogue, State, goal_to_json
from mwzeval.crosswoz.simulation.protocols import SYSTEM, USER, Nlg, Nlu, SeededRng
from mwzeval.crosswoz.simulation.user import RuleSimulator
from mwzeval.crosswoz.systems.rule_policy import RuleSystem
from mwzeval.crosswoz.systems.rule_tracker import RuleTracker

CONTEXT = 3
Turns = list[dict[str, Any]]


def nlu(dialogue: Dialogue, reader: Nlu) -> Turns:
    """The reader of templates, which takes one utterance in seven for the one before."""
    turns: Turns = []
    before: list[str] = []
    heard = dialogue.exchanges[0].user.utterance
    for number, exchange in enumerate(dialogue.exchanges):
        if number % 7 != 6:
            heard = exchange.user.utterance
        context = before[-CONTEXT:]
        user = reader.understand(heard, context, USER)
        system = reader.understand(exchange.system.utterance, [*context, heard][-CONTEXT:], SYSTEM)
        turns.append({"user_acts": list(user), "system_acts_nlu": list(system)})
        before += [exchange.user.utterance, exchange.system.utterance]
    return turns


def dst(dialogue: Dialogue) -> Turns:
    """RuleDST as in the paper: each turn starts from the gold state before it."""
    turns: Turns = []
    tracker = RuleTracker()
    for exchange in dialogue.exchanges:
        turns.append({"state": _sparse(tracker.update(exchange.user.acts))})
        tracker.state = {d: dict(slots) for d, slots in exchange.system.last_query.items()}
    return turns


def policy(dialogue: Dialogue, database: Database) -> Turns:
    """The policy of rules with the paper's RuleDST, which does not understand "near"."""
    return [{"system_acts": list(acts)} for acts, _, _ in _answers(dialogue, database)]


def nlg(dialogue: Dialogue, words: Nlg, seed: str) -> Turns:
    """Templates, chosen anew."""
    rng = SeededRng(f"{seed}/nlg/{dialogue.name}")
    return [
        {
            "user_response": words.say(exchange.user.acts, USER, rng),
            "response": words.say(exchange.system.acts, SYSTEM, rng),
        }
        for exchange in dialogue.exchanges
    ]


def simulator(dialogue: Dialogue, seed: str) -> Turns:
    """The user simulator of rules: each turn goes on from the gold state before it."""
    rng = SeededRng(f"{seed}/sim/{dialogue.name}")
    turns: Turns = []
    for number in range(len(dialogue.exchanges)):
        user = RuleSimulator(dialogue.goal, rng)
        if number:
            before = dialogue.exchanges[number - 1]
            user.state = list(before.user.state)
            acts = user.answer(before.system.acts)
        else:
            acts = user.begin()
        turns.append({"user_acts": list(acts), "user_state": goal_to_json(tuple(user.state))})
    return turns


def end_to_end(dialogue: Dialogue, database: Database, words: Nlg, seed: str) -> Turns:
    """The same system of rules in words."""
    rng = SeededRng(f"{seed}/e2e/{dialogue.name}")
    return [
        {
            "state": _sparse(state),
            "selected": selected,
            "system_acts": list(acts),
            "response": words.say(acts, SYSTEM, rng),
        }
        for acts, state, selected in _answers(dialogue, database)
    ]


def _answers(
    dialogue: Dialogue, database: Database
) -> Iterator[tuple[Acts, State, dict[str, list[str]]]]:
    system = RuleSystem(database, paper_compatible=True)
    for exchange in dialogue.exchanges:
        acts = system.answer(exchange.user.acts)
        yield acts, system.state, {d: list(names) for d, names in system.selected.items()}


def _sparse(state: State) -> State:
    filled = {d: {s: v for s, v in slots.items() if v} for d, slots in state.items()}
    return {domain: slots for domain, slots in filled.items() if slots}
