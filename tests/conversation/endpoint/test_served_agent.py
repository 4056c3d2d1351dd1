"""The rule agent behind a server that fails in all ways is what it is in this process."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from pathlib import Path
from random import Random
from typing import Any

import pytest

from mwzeval.cli import main
from mwzeval.conversation.completions import Client, Clock, Endpoint
from mwzeval.conversation.loop import ToolSession, hold
from mwzeval.conversation.models import endpoint_agent
from mwzeval.conversation.protocols import Ending, Tools
from mwzeval.conversation.runs import run
from mwzeval.conversation.trajectory import Planned, Record
from mwzeval.multiwoz.corpus import read_tables
from mwzeval.multiwoz.live.episodes import WordSetting
from mwzeval.multiwoz.live.options import LiveOptions
from mwzeval.multiwoz.live.understanding import Vocabulary
from tests.conversation.endpoint.served import OddAgent, RuleServer, number_of
from tests.conversation.endpoint.server import CONTEXT, Server, serving
from tests.places import read_json, shared

pytestmark = pytest.mark.integration

KEY = "local-key-0123456789abcdef"
GOALS = 60
AFTER = 7
FAULTS: tuple[Any, ...] = (
    *((429, {"retry-after": str(AFTER)}), 408, 409, 425, 500, 502, 503, 529),
    *("reset", "half", b'{"choices": [', b"<html>", {"choices": []}, {"error": "overloaded"}),
    (503, {}, {"error": {"message": f"not for Bearer {KEY}"}}),
)


class NoTime(Clock):
    """No time passes; what would be waited for is kept."""

    def __init__(self) -> None:
        super().__init__()
        self.waits: list[float] = []

    def now(self) -> float:
        return 0.0

    def wait(self, seconds: float) -> bool:
        self.waits.append(seconds)
        return False


class Faults:
    """What becomes of a request: faults before its answer, or that it is too long."""

    def __init__(self, too_long: Sequence[Planned]) -> None:
        self._too_long = {planned.number for planned in too_long}
        self._left: dict[str, list[Any]] = {}
        self.made: Counter[str] = Counter()
        self.contexts = 0

    def __call__(self, body: Mapping[str, Any]) -> Any:
        key = json.dumps([body["seed"], len(body["messages"])])
        if body["seed"] in self._too_long and len(body["messages"]) > 6:
            self.contexts += 1
            return 400, {}, {"error": {"message": CONTEXT}}
        if key not in self._left:
            drawn = Random(number_of("faults", key))
            self._left[key] = drawn.sample(FAULTS, drawn.choice((0, 0, 1, 2, 5)))
        if not self._left[key]:
            return None
        fault = self._left[key].pop()
        self.made[str(fault)] += 1
        return fault


class Here(WordSetting):
    """The odd agent in this process."""

    def __init__(self, options: LiveOptions) -> None:
        super().__init__(options)
        self.vocabulary = Vocabulary(read_tables(options.root))

    def hold(self, planned: Planned, record: Record) -> Ending:
        tools = self._tools_of(planned)
        return hold(
            lambda: self._user(planned, record),
            lambda: self._partner(planned, tools, record),
            record,
        )

    def _partner(self, planned: Planned, tools: Tools, record: Record) -> ToolSession:
        return ToolSession(OddAgent(self.vocabulary, planned), tools, record.message)


class There(Here):
    """The same behind a server, asked by a client for which no time passes."""

    def __init__(self, options: LiveOptions, url: str) -> None:
        super().__init__(options)
        self.clock = NoTime()
        client = Client(Endpoint("rule", url, KEY), clock=self.clock, sends_seed=True)
        self.model = endpoint_agent(client, "Help.")

    def _partner(self, planned: Planned, tools: Tools, record: Record) -> ToolSession:
        return self.model(planned, tools, record)


def lines(file: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in file.read_text("utf-8").splitlines()[1:]]


def talk(line: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Return the messages without what only a server tells."""
    told = ("usage", "finish_reason")
    return [
        {key: value for key, value in message.items() if key not in told}
        for message in line["messages"]
    ]


def scores(file: Path, without: Collection[str], corpus: str, *data: str) -> dict[str, Any]:
    """Return the scores of a run without some dialogues."""
    kept = [
        line
        for line in file.open(encoding="utf-8")
        if json.loads(line).get("dialogue") not in without
    ]
    file.write_text("".join(kept), "utf-8")
    report = file.with_suffix(".json")
    options = ["--corpus", corpus, "-q", "-o", str(report), *data]
    assert main(["evaluate", str(file), *options]) == 0
    plain: dict[str, Any] = read_json(report)
    plain["live"].pop("usage", None)  # which only models have
    return {key: plain[key] for key in ("success", "grounded", "live")}


@pytest.mark.parametrize("corpus", ["sample", pytest.param("multiwoz-2.2", marks=pytest.mark.slow)])
def test_behind_a_server_that_fails_in_all_ways_an_agent_is_what_it_is(
    corpus: str, tmp_path: Path
) -> None:
    data = None if corpus == "sample" else str(shared("data"))
    options = LiveOptions(
        "rule", goals=f"corpus:test:{GOALS}", corpus=corpus, data=data, offline=True
    )
    here = Here(options)
    run(here, tmp_path / "here.jsonl", progress=False)
    plan = [Planned(item, goal) for item, goal in here.items]
    assert len(plan) == GOALS
    too_long = plan[10:50:20]
    faults = Faults(too_long)
    rule = RuleServer(here.vocabulary, plan, oddly=True)
    with serving(Server(rule, faults)) as server:
        there = There(options, server.url)
        summary = run(there, tmp_path / "there.jsonl", concurrency=16, progress=False)
    names = {planned.name for planned in too_long}
    ours, theirs = lines(tmp_path / "here.jsonl"), lines(tmp_path / "there.jsonl")
    for our, their in zip(ours, theirs, strict=True):
        if our["dialogue"] in names:
            assert their["end"] == "agent_error"
            assert talk(their) == talk(our)[: len(their["messages"])]
        else:
            assert talk(their) == talk(our)
            assert their["end"] == our["end"] == "user_stop"
            assert their["user"] == our["user"]
    said = [each for line in theirs for each in line["messages"] if each["role"] == "assistant"]
    assert summary.ends == {"user_stop": GOALS - len(too_long), "agent_error": len(too_long)}
    # Each fault is one request more and one time of waiting; what is too long is asked once.
    made = faults.made.total()
    assert faults.contexts == len(too_long)
    assert len(server.bodies) == len(said) + made + faults.contexts
    assert len(there.clock.waits) == made == sum(each["usage"].get("retries", 0) for each in said)
    assert len(faults.made) == len(FAULTS)
    asked_for = sum(AFTER <= wait < AFTER + 1 for wait in there.clock.waits)
    assert asked_for >= faults.made[str(FAULTS[0])]
    assert all(0 < wait <= 30 for wait in there.clock.waits)
    assert sum("in" not in each["usage"] for each in said) > GOALS
    assert sum(each.get("finish_reason") == "length" for each in said) == rule.cut > 0
    assert KEY not in (tmp_path / "there.jsonl").read_text("utf-8")
    extra = () if data is None else ("--data", data)
    found = [
        scores(tmp_path / f"{side}.jsonl", names, corpus, *extra) for side in ("here", "there")
    ]
    assert found[0] == found[1]
