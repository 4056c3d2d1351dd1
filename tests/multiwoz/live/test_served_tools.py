"""Agents with an MCP client of their own: what they call is in the dialogue, and is scored."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from mwzeval.cli import main
from tests.places import read_json

pytestmark = pytest.mark.integration

GOALS = ("--corpus", "sample", "--goals", "corpus:test:4")
AGENT = """
import json
from mcp import Client
from mwzeval.multiwoz.corpus import corpus_root, read_tables
from mwzeval.multiwoz.live.rule_agent import RuleAgent
from mwzeval.multiwoz.live.understanding import Vocabulary

VOCABULARY = Vocabulary(read_tables(corpus_root("sample", None, offline=True)))

class Rule:
    \"\"\"The rule agent, that calls what it wants called.\"\"\"
    def __init__(self, dialogue, tools_url):
        self.agent = RuleAgent(VOCABULARY, 0, f"{dialogue}#1")
        self.url = tools_url

    async def __call__(self, messages):
        async with Client(self.url) as client:
            while (answer := self.agent(messages)).get("tool_calls"):
                messages.append(answer)
                for call in answer["tool_calls"]:
                    function = call["function"]
                    arguments = json.loads(function["arguments"])
                    result = await client.call_tool(function["name"], arguments)
                    said = {"tool_call_id": call["id"], "content": result.content[0].text}
                    messages.append({"role": "tool", **said})
        return answer

class Text:
    \"\"\"Answers text with text, and asks for another dialogue's functions as well.\"\"\"
    def __init__(self, tools_url):
        self.url = tools_url

    async def respond(self, utterance):
        said = []
        for url in (self.url, self.url.replace("session=", "session=other-")):
            async with Client(url, mode="legacy") as client:
                result = await client.call_tool("find_hotel", {"area": "centre"})
                said.append(result.content[0].text)
        return said[1] + str(json.loads(said[0])["count"])
"""


@pytest.fixture(autouse=True)
def agents(elsewhere: None) -> None:
    Path("own.py").write_text(AGENT)


def held(agent: str, output: str, *options: str) -> list[str]:
    """Return the lines of dialogues, without the header."""
    command = ["live", "--agent", agent, *GOALS, "-q", "-o", output, *options]
    assert main(command) == 0
    return Path(output).read_text(encoding="utf-8").splitlines()[1:]


@pytest.mark.parametrize("stress", ["clean", "errors=.3,stale=1"])
def test_the_rule_agent_over_mcp_is_the_rule_agent(stress: str) -> None:
    """Byte for byte, references of bookings among it; and so is a run that was cut off."""
    options = ("--stress", stress)
    expected = held("rule", "rule.jsonl", *options)
    assert held("own.py:Rule", "served.jsonl", "--serve-tools", "-j", "2", *options) == expected
    whole = Path("served.jsonl").read_bytes()
    assert b'"tools":"mcp"' in whole.splitlines()[0]
    assert b'\\"reference\\"' in whole
    end = whole.index(b"\n", len(whole) // 2)
    Path("served.jsonl").write_bytes(whole[: end - 100])
    held("own.py:Rule", "served.jsonl", "--serve-tools", *options)
    assert Path("served.jsonl").read_bytes() == whole
    scores: list[Any] = []
    for run in ("rule.jsonl", "served.jsonl"):
        assert main(["evaluate", run, "-q", "-o", "report.json"]) == 0
        plain = read_json(Path("report.json"))
        scores.append([plain["success"], plain["grounded"], plain["live"]])
    assert scores[0] == scores[1]
    assert (scores[0][0]["success"]["total"] > 90) == (stress == "clean")


def test_what_agents_in_text_call_is_recorded_and_of_their_dialogue_alone() -> None:
    lines = held("own.py:Text", "text.jsonl", "--serve-tools", "--user-turns", "1")
    for line in map(json.loads, lines):
        _, call, result, answer, *_ = line["messages"]
        assert call["tool_calls"][0]["function"]["name"] == "find_hotel"
        count = json.loads(result["content"])["count"]
        other = {"error": f'the dialogue "other-{line["dialogue"]}" is not running'}
        assert answer["content"] == json.dumps(other) + str(count)
