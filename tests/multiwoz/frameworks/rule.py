"""The rule agent as the model of a framework: what it would say to the messages so far."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from mwzeval.cli import main
from mwzeval.multiwoz.corpus import corpus_root, read_tables
from mwzeval.multiwoz.live.rule_agent import RuleAgent
from mwzeval.multiwoz.live.understanding import Vocabulary

Messages = Sequence[dict[str, Any]]


class RuleModel:
    """Answers any request alone: a model is told the whole dialogue, and never which it is.

    The agent of a dialogue is known by what was said so far; all begin in the same way.
    """

    def __init__(self) -> None:
        self._vocabulary = Vocabulary(read_tables(corpus_root("sample", None, offline=True)))
        self._agents: dict[str, list[RuleAgent]] = {}

    def __call__(self, messages: Messages) -> dict[str, Any]:
        talk = [message for message in messages if message["role"] != "system"]
        before = len(talk)
        while before and talk[before - 1]["role"] != "assistant":
            before -= 1
        known = self._agents.get(history(talk[:before])) if before else None
        agent = known.pop() if known else RuleAgent(self._vocabulary, 0, "model")
        answer = with_numbers(agent(talk))
        self._agents.setdefault(history([*talk, answer]), []).append(agent)
        return answer


def with_numbers(answer: dict[str, Any]) -> dict[str, Any]:
    """Return an answer whose calls have whole numbers where the schema wants them."""
    for call in answer.get("tool_calls", ()):
        arguments = json.loads(call["function"]["arguments"])
        numbers = {name: int(arguments[name]) for name in ("people", "stay") if name in arguments}
        call["function"]["arguments"] = json.dumps({**arguments, **numbers})
    return answer


def history(talk: Messages) -> str:
    """Return what was said and called, in a form that is the same whoever tells it."""
    return json.dumps(
        [
            [
                message["role"],
                message.get("content") or "",
                [call["function"] for call in message.get("tool_calls") or ()],
            ]
            for message in talk
        ],
        sort_keys=True,
    )


def judged_here(goals: str, *options: str) -> dict[str, dict[str, Any]]:
    """Return the row of each dialogue of the rule agent in `mwzeval live`, by name."""
    command = ["live", "--agent", f"{__file__}:Agent", "--goals", goals, "--corpus", "sample"]
    assert main([*command, "-q", "-o", "here.jsonl", *options]) == 0
    return rows("here.jsonl")


def rows(run: str) -> dict[str, dict[str, Any]]:
    """Return what each dialogue of a file says and is, without what only one side tells."""
    _, *lines = Path(run).read_text("utf-8").splitlines()
    found = {}
    for line in map(json.loads, lines):
        for message in line["messages"]:
            for key in ("usage", "acts"):
                message.pop(key, None)
        found[line["dialogue"]] = line
    return found


class Agent:
    """The same, as an agent of `mwzeval live`."""

    model: RuleModel | None = None

    def __call__(self, messages: Messages) -> dict[str, Any]:
        if Agent.model is None:
            Agent.model = RuleModel()
        answer = Agent.model(messages)
        return {key: value for key, value in answer.items() if key != "acts"}
