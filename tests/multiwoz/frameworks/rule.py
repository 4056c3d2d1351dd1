"""The rule agent as a model of other frameworks."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from mwzeval.multiwoz.live.rule_agent import RuleAgent
from tests.multiwoz.live.written_runs import live, vocabulary

Messages = Sequence[dict[str, Any]]


def respond(messages: Messages) -> dict[str, Any]:
    """Return the answer to a dialogue, which the agent replays to be stateless like a model."""
    talk = [message for message in messages if message["role"] != "system"]
    agent = RuleAgent(vocabulary(), 0, "model")
    for place, message in enumerate(talk):
        if message["role"] == "assistant":
            agent(talk[:place])
    answer = {key: value for key, value in agent(talk).items() if key != "acts"}
    # The schema requires integers.
    for call in answer.get("tool_calls", ()):
        arguments = json.loads(call["function"]["arguments"])
        numbers = {name: int(arguments[name]) for name in ("people", "stay") if name in arguments}
        call["function"]["arguments"] = json.dumps({**arguments, **numbers})
    return answer


def judged_here(goals: str, *options: str) -> dict[str, dict[str, Any]]:
    """Run the rule agent with `mwzeval live`; return its dialogues by name."""
    live(f"{__file__}:respond", "here.jsonl", "--goals", goals, *options)
    return rows("here.jsonl")


def rows(run: str) -> dict[str, dict[str, Any]]:
    """Return the dialogues of a file by name, without keys that not all programs record."""
    _, *lines = Path(run).read_text("utf-8").splitlines()
    found = {}
    for line in map(json.loads, lines):
        for message in line["messages"]:
            for key in ("usage", "acts"):
                message.pop(key, None)
        found[line["dialogue"]] = line
    return found
