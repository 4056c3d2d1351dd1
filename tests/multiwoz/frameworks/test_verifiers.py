"""verifiers with a model on a local server produces the dialogues of `mwzeval live`."""

from __future__ import annotations

import asyncio
import json
import sys
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pytest

from mwzeval.errors import UsageError
from tests.conversation.endpoint.server import Server, completion, serving
from tests.multiwoz.frameworks.rule import judged_here, respond, rows

if sys.version_info < (3, 11):
    pytest.skip("verifiers needs Python 3.11", allow_module_level=True)

import verifiers.v1 as vf
from verifiers.v1.utils.trace_store import write_episode

from mwzeval.multiwoz.frameworks.verifiers import NAME, load_environment, write_run

pytestmark = pytest.mark.integration

GOALS = "corpus:test:4"


@pytest.fixture(autouse=True)
def offline(elsewhere: None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("HF_HUB_OFFLINE", "UV_OFFLINE"):
        monkeypatch.setenv(name, "1")
    monkeypatch.setattr("verifiers.v1.runtimes.subprocess.CACHE_DIR", tmp_path)


def run_dialogues(env: vf.Env, reply: Callable[..., Any], rollouts: int = 1) -> list[vf.Episode]:
    """Run all dialogues of an environment concurrently, as `vf-eval` does."""

    def whole(body: Mapping[str, Any]) -> Any:
        message = reply(body["messages"])
        if not isinstance(message, dict):
            return message
        return completion(message, id="1", created=0, model="rule")

    async def run(url: str) -> list[vf.Episode]:
        client = vf.EvalClientConfig(base_url=url, api_key_var="NO_KEY")
        context = vf.ModelContext(model="rule", client=client)
        async with env.serving():
            slots = [slot for task in env.taskset for slot in env.slots(task, rollouts)]
            return list(await asyncio.gather(*(env.run_slot(slot, context) for slot in slots)))

    server = Server(faults=whole)
    with serving(server):
        episodes = asyncio.run(run(server.url))
    body = server.bodies[0]
    assert body["messages"][0]["role"] == "system"
    assert {tool["function"]["name"] for tool in body["tools"]} >= {"find_hotel", "book_hotel"}
    return episodes


def the_traces(episodes: list[vf.Episode]) -> list[vf.Trace]:
    assert [error.message for episode in episodes for error in episode.errors] == []
    return [trace for episode in episodes for trace in episode.traces]


def test_environment_is_loaded_by_its_name() -> None:
    env = load_environment(goals=GOALS, corpus="sample")
    config = vf.resolve_env_config({"taskset": {"id": NAME, "goals": GOALS, "corpus": "sample"}})
    assert type(vf.load_environment(config)) is type(env)
    assert vf.default_harness_id(NAME) == NAME
    tasks = list(env.taskset)
    assert len(tasks) == 4
    assert all(task.data.prompt is None for task in tasks)
    assert "Cambridge" in tasks[0].data.system_prompt


@pytest.mark.parametrize("stress", ["", "tools"])
def test_the_rule_agent_as_the_model_is_the_agent_of_a_live_run(stress: str) -> None:
    here = judged_here(GOALS, "--stress", stress)
    env = load_environment(goals=GOALS, corpus="sample", stress=stress)
    episodes = run_dialogues(env, respond)
    for episode in episodes:
        write_episode(Path(), episode)
    assert write_run("traces.jsonl", "there.jsonl") == len(here)
    assert rows("there.jsonl") == here
    for trace in the_traces(episodes):
        line = here[trace.task.data.id]
        assert trace.rewards["task_success"].score == trace.reward
        assert stress or trace.reward == 1
        assert trace.metrics["user_turns"] == line["turns"]
        assert trace.metrics["user_faults"] == len(line["user"]["faults"])
        assert trace.metrics["user_complete"] == line["user"]["complete"]
        goal = line["goal"]
        wants_booking = any(
            goal[name].get("book") for name in goal["domain_ordering"] if name != "taxi"
        )
        assert ("booking" in trace.metrics) == wants_booking


CALL = {"id": "same", "type": "function", "function": {"name": "find_police", "arguments": "{}"}}


@pytest.mark.parametrize(
    ("reply", "end"),
    [
        ({"role": "assistant", "content": "Hm."}, "limit"),
        ({"role": "assistant", "content": ""}, "agent_error"),
        ({"role": "assistant", "content": None, "tool_calls": [CALL]}, "agent_error"),
    ],
    ids=["silent", "empty", "calls"],
)
def test_models_without_actions_have_no_reward(reply: Any, end: str) -> None:
    env = load_environment(goals="corpus:test:2", corpus="sample", user_turns=3)
    episodes = run_dialogues(env, lambda _: reply, rollouts=2)
    for trace in the_traces(episodes):
        assert trace.ok
        assert trace.reward == 0
        assert trace.metrics["inform"] == 0
        assert trace.info["mwzeval"]["end"] == end
        assert trace.metrics["agent_error"] == (end == "agent_error")
    for episode in episodes:
        write_episode(Path(), episode)
    assert write_run("traces.jsonl", "run.jsonl") == 4
    assert [name.partition("#")[2] for name in rows("run.jsonl")] == ["1", "2"] * 2


def test_dialogues_ended_by_a_limit_of_verifiers_are_scored() -> None:
    config = vf.resolve_env_config(
        {
            "taskset": {"id": NAME, "goals": "corpus:test:1", "corpus": "sample"},
            "agent": {"max_turns": 3},
        }
    )
    (trace,) = the_traces(run_dialogues(vf.load_environment(config), respond))
    assert trace.info["mwzeval"]["end"] == "limit"
    assert trace.info["mwzeval"]["problem"] == "max_turns"
    assert trace.reward == 0


def test_server_failures_give_no_verdict_on_the_model() -> None:
    env = load_environment(goals="corpus:test:1", corpus="sample")
    (episode,) = run_dialogues(env, lambda _: 400)
    assert not episode.ok
    (trace,) = episode.traces
    assert not trace.rewards
    assert "mwzeval" not in trace.info
    Path("traces.jsonl").write_text(json.dumps({"traces": []}) + "\n", encoding="utf-8")
    with pytest.raises(UsageError):
        write_run("traces.jsonl", "run.jsonl")
