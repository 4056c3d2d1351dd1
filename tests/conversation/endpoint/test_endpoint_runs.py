"""Our own rule agent behind a server that fails now and then: as it is in this process."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from mwzeval.cli import main
from mwzeval.conversation.trajectory import Planned
from mwzeval.multiwoz.corpus import corpus_root, read_tables
from mwzeval.multiwoz.live.rule_agent import RuleAgent
from mwzeval.multiwoz.live.understanding import Vocabulary
from tests.conversation.endpoint.server import Server, serving
from tests.places import read_json

pytestmark = [pytest.mark.integration, pytest.mark.usefixtures("elsewhere")]

KEY = "local-key-0123456789abcdef"
GOALS = 12
FAULTS = (429, 500, "reset", "half", b"{", 408)


class RuleServer:
    """Answers requests as the rule agent would, whose dialogue it knows by the seed."""

    def __init__(self, names: list[str], trials: int = 1) -> None:
        self._vocabulary = Vocabulary(read_tables(corpus_root("sample", None, offline=True)))
        plan = [Planned(name, None, trial) for name in names for trial in range(1, trials + 1)]
        self._planned = {planned.number: planned for planned in plan}
        self._agents: dict[int, RuleAgent] = {}
        self._answers: dict[tuple[int, int], Mapping[str, Any]] = {}

    def __call__(self, body: Mapping[str, Any]) -> Mapping[str, Any]:
        system, *messages = body["messages"]
        assert system["role"] == "system"
        assert body["tools"]
        planned = self._planned[body["seed"]]
        place = planned.number, len(messages)
        if place not in self._answers:  # a request may come again
            if planned.number not in self._agents:
                key = f"{planned.item}#{planned.trial}"
                self._agents[planned.number] = RuleAgent(self._vocabulary, planned.seed, key)
            answer = self._agents[planned.number](messages)
            self._answers[place] = {**answer, "content": answer.get("content") or None}
        return self._answers[place]


class Faults:
    """Of three requests one is answered at once, one after a fault, and one after two."""

    def __init__(self) -> None:
        self.count = 0
        self._left: dict[str, list[Any]] = {}

    def __call__(self, body: Mapping[str, Any]) -> Any:
        key = json.dumps([body["seed"], len(body["messages"])])
        if key not in self._left:
            number = len(self._left)
            self._left[key] = [FAULTS[(number + more) % len(FAULTS)] for more in range(number % 3)]
        if not self._left[key]:
            return None
        self.count += 1
        return self._left[key].pop()


def live(agent: str, output: str, *options: str) -> list[dict[str, Any]]:
    """Hold dialogues; return the lines of the file."""
    goals = ("--goals", f"corpus:test:{GOALS}", "--corpus", "sample")
    assert main(["live", "--agent", agent, *goals, "-q", "-o", output, *options]) == 0
    return [json.loads(line) for line in Path(output).read_text("utf-8").splitlines()]


def talk(line: Mapping[str, Any]) -> Any:
    """Return a dialogue without what only one of the agents tells of itself."""
    told = ("usage", "acts")
    messages = [
        {key: value for key, value in message.items() if key not in told}
        for message in line["messages"]
    ]
    return {**line, "messages": messages}


def scores(run: str) -> dict[str, Any]:
    assert main(["evaluate", run, "--corpus", "sample", "-q", "-o", "report.json"]) == 0
    plain: dict[str, Any] = read_json(Path("report.json"))
    plain["live"].pop("usage", None)  # which only models have
    return {key: plain[key] for key in ("success", "grounded", "live") if key in plain}


def test_a_model_as_the_agent_reads_the_noise_of_the_rule_agent() -> None:
    _, *here = live("rule", "here.jsonl", "--stress", "hard")
    server = Server(RuleServer([line["dialogue"] for line in here]))
    with serving(server):
        url = ("--agent-base-url", server.url, "--send-seed", "--concurrency", "4")
        _, *there = live("openai:rule", "there.jsonl", "--stress", "hard", *url)
    for mine, other in zip(map(talk, there), map(talk, here), strict=True):
        assert mine["messages"] == other["messages"]
        assert mine["stress"] == other["stress"]
    said = [m for line in there for m in line["messages"] if m["role"] == "user"]
    read = [m for body in server.bodies for m in body["messages"] if m["role"] == "user"]
    assert any("meant" in message for message in said)
    assert not any("meant" in message for message in read)
    assert {message["content"] for message in read} == {message["content"] for message in said}


def test_a_run_that_was_killed_goes_on_with_its_cache() -> None:
    """With −9, when the server has been asked so often; and by Ctrl-C, while requests hang."""
    _, *here = live("rule", "here.jsonl")
    names = [line["dialogue"] for line in here]
    goals = ("--goals", f"corpus:test:{GOALS}", "--corpus", "sample")
    for ending in (signal.SIGKILL, signal.SIGINT):
        server = Server(RuleServer(names))
        with serving(server):
            file = f"{ending.name}.jsonl"
            cache = ("--cache", f"cache-{ending.name}")
            options = ("--agent-base-url", server.url, "--send-seed", *cache, "--concurrency", "4")
            command = ["live", "--agent", "openai:rule", *goals, "-q", "-o", file, *options]
            server.hang(after=60, until=4)
            call = (sys.executable, "-m", "mwzeval", *command)
            killed = subprocess.Popen(call, stderr=subprocess.PIPE)
            assert server.hangs.wait(60)
            killed.send_signal(ending)
            _, told = killed.communicate(timeout=60)
            assert killed.returncode == (-ending if ending == signal.SIGKILL else 130), told
            assert 1 < len(Path(file).read_bytes().splitlines()) < GOALS
            server.go_on()
            _, *there = live("openai:rule", file, *options)
            requests = len(server.bodies)
            live("openai:rule", f"again-{file}", *options)
            assert Path(f"again-{file}").read_bytes() == Path(file).read_bytes()
            assert len(server.bodies) == requests
        assert list(map(talk, there)) == list(map(talk, here))


def test_behind_a_server_with_faults_an_agent_is_what_it_is() -> None:
    _, *here = live("rule", "here.jsonl", "--trials", "2")
    names = sorted({line["dialogue"].partition("#")[0] for line in here})
    faults = Faults()
    server = Server(RuleServer(names, trials=2), faults)
    with serving(server):
        url = ("--agent-base-url", server.url, "--send-seed", "--trials", "2", "--cache", "cache")
        header, *there = live("openai:rule", "there.jsonl", *url, "--concurrency", "16")
        requests = len(server.bodies)
        live("openai:rule", "again.jsonl", *url, "--concurrency", "3")
        assert len(server.bodies) == requests
    assert list(map(talk, there)) == list(map(talk, here))
    assert scores("here.jsonl") == scores("there.jsonl")
    used = read_json(Path("report.json"))["live"]["usage"]["agent"]
    assert server.most_at_once <= 16
    usage = [
        message["usage"]
        for line in there
        for message in line["messages"]
        if message["role"] == "assistant"
    ]
    assert sum(each.get("retries", 0) for each in usage) == faults.count > 50
    assert len(usage) + faults.count == requests
    # What the server itself has counted: 7 tokens in and 3 out for whatever it is asked.
    assert used["requests"] + used["retries"] == requests
    assert (used["not_counted"], used["retries"]) == (0, faults.count)
    assert (used["tokens_in"], used["tokens_out"]) == (7 * len(usage), 3 * len(usage))
    assert Path("again.jsonl").read_bytes() == Path("there.jsonl").read_bytes()
    assert header["agent"]["prompt"]["name"] == "agent-1"
    files = [path for path in Path().rglob("*") if path.is_file()]
    assert len(files) > len(usage)
    assert not [path for path in files if KEY.encode() in path.read_bytes()]
