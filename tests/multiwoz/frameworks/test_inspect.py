"""inspect_ai with its mock models produces the dialogues and verdicts of `mwzeval live`."""

from __future__ import annotations

import asyncio
import json
import sys
from typing import Any

import pytest

if sys.version_info < (3, 11):
    pytest.skip("inspect_ai needs Python 3.11", allow_module_level=True)

from inspect_ai import Task, eval, score
from inspect_ai.agent import Agent, AgentPrompt, AgentState, agent, react
from inspect_ai.log import EvalLog, read_eval_log
from inspect_ai.model import (
    ChatMessage,
    ChatMessageAssistant,
    ChatMessageTool,
    ModelOutput,
    ModelUsage,
    execute_tools,
    get_model,
)
from inspect_ai.tool import ToolCall, ToolInfo

from mwzeval.errors import UsageError
from mwzeval.multiwoz.frameworks.inspect import (
    multiwoz,
    multiwoz_dataset,
    multiwoz_tools,
    multiwoz_user,
    plain_messages,
    task_success,
    write_run,
)
from mwzeval.multiwoz.functions import tools_schema
from tests.multiwoz.frameworks.rule import judged_here, respond, rows
from tests.multiwoz.live.written_runs import report

pytestmark = pytest.mark.integration

GOALS = "corpus:test:4"


@pytest.fixture(autouse=True)
def quiet(elsewhere: None, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("INSPECT_DISPLAY", "none")


def rule(messages: list[ChatMessage], *_: object) -> ModelOutput:
    """Return the rule agent's answer as an output of the mock model."""
    return output(respond(plain(messages)))


def plain(messages: list[ChatMessage]) -> list[dict[str, Any]]:
    """Convert messages of inspect_ai to those of chat completions."""
    told: list[dict[str, Any]] = []
    for message in messages:
        if isinstance(message, ChatMessageAssistant | ChatMessageTool):
            told += plain_messages([message])
        else:
            told.append({"role": message.role, "content": message.text})
    return told


def output(message: dict[str, Any]) -> ModelOutput:
    calls = [
        ToolCall(
            id=call["id"],
            function=call["function"]["name"],
            arguments=json.loads(call["function"]["arguments"]),
        )
        for call in message.get("tool_calls", ())
    ]
    said = ChatMessageAssistant(content=message["content"] or "", tool_calls=calls or None)
    made = ModelOutput.from_message(said)
    # Without usage, the mock model would download a tokenizer to count tokens.
    made.usage = ModelUsage(input_tokens=7, output_tokens=3, total_tokens=10)
    return made


def log_of(task: Task, outputs: Any = None, **options: Any) -> EvalLog:
    model = get_model("mockllm/model", custom_outputs=outputs, memoize=False)
    (log,) = eval(task, model=model, log_dir="logs", log_samples=True, **options)
    return log


def verdicts(log: EvalLog) -> dict[tuple[str, int], Any]:
    assert log.status == "success", log.error
    return {
        (str(sample.id), sample.epoch): (sample.scores or {})["task_success"]
        for sample in log.samples or ()
    }


@pytest.mark.parametrize("stress", ["", "tools"])
def test_the_rule_agent_as_the_model_is_the_agent_of_a_live_run(stress: str) -> None:
    requests: list[tuple[str, list[ToolInfo]]] = []

    def outputs(messages: list[ChatMessage], tools: list[ToolInfo], *_: object) -> ModelOutput:
        requests.append((messages[0].text, tools))
        return rule(messages)

    log = log_of(multiwoz(GOALS, corpus="sample", trials=2, stress=stress), outputs)
    here = judged_here(GOALS, "--trials", "2", "--stress", stress)
    assert write_run(log.location, "there.jsonl") == 8
    assert rows("there.jsonl") == here
    found = verdicts(log)
    assert len(found) == 8
    for (item, trial), verdict in found.items():
        line, metadata = here[f"{item}#{trial}"], verdict.metadata
        assert (verdict.answer, metadata["turns"]) == (line["end"], line["turns"])
        assert metadata["complete"] == line["user"]["complete"]
        assert metadata["user_faults"] == len(line["user"]["faults"])
    scores, there = report("here.jsonl"), report("there.jsonl")
    assert [scores[key] for key in ("success", "grounded")] == [
        there[key] for key in ("success", "grounded")
    ]
    assert log.results is not None
    means = {result.name: result.metrics["mean"].value for result in log.results.scores}
    for name in ("success", "inform"):
        assert means[name] == pytest.approx(scores["success"][name]["total"] / 100)
    ((system, tools), *_) = requests
    assert "Cambridge" in system
    described = {tool["function"]["name"]: tool["function"] for tool in tools_schema()}
    assert [tool.name for tool in tools] == list(described)
    assert sum("out of date" in tool.description for tool in tools) == (3 if stress else 0)
    for tool in tools:
        schema = described[tool.name]["parameters"]
        assert tool.parameters.properties.keys() == schema["properties"].keys()
        assert tool.parameters.required == schema.get("required", [])


@pytest.mark.parametrize("text", ["Hm.", ""])
def test_models_without_actions_fail(text: str) -> None:
    task = multiwoz("corpus:test:2", corpus="sample", user_turns=3)
    log = log_of(task, lambda *_: output({"content": text}))
    for verdict in verdicts(log).values():
        assert verdict.value["success"] == verdict.value["inform"] == 0
        assert verdict.answer == ("limit" if text else "agent_error")


@agent
def outside() -> Agent:
    """An agent with its own loop, which gets no system message of mwzeval."""

    async def execute(state: AgentState) -> AgentState:
        while True:
            assert not any(message.role == "system" for message in state.messages)
            answer = output(respond(plain(state.messages))).message
            state.messages.append(answer)
            if not answer.tool_calls:
                return state
            executed = await execute_tools(state.messages, multiwoz_tools())
            state.messages.extend(executed.messages)

    return execute


def test_verdicts_of_custom_agents_with_tools_equal_those_of_a_live_run() -> None:
    task = Task(
        dataset=multiwoz_dataset(GOALS, corpus="sample"),
        solver=multiwoz_user(outside()),
        scorer=task_success(),
    )
    log = log_of(task)
    here = judged_here(GOALS)
    write_run(log, "there.jsonl")
    assert rows("there.jsonl") == here


def test_usage_of_all_model_requests_is_counted() -> None:
    """All requests of a turn count; inspect_ai reports cached tokens separately."""

    def cached(*asked: Any) -> ModelOutput:
        made = rule(*asked)
        made.usage = ModelUsage(
            input_tokens=7, output_tokens=3, input_tokens_cache_read=20, input_tokens_cache_write=5
        )
        return made

    react_agent = react(prompt=AgentPrompt("Help."), tools=multiwoz_tools(), submit=False)
    for solver in (multiwoz_user(), multiwoz_user(react_agent)):
        dataset = multiwoz_dataset("corpus:test:2", corpus="sample")
        log = log_of(Task(dataset=dataset, solver=solver, scorer=task_success()), cached)
        (of_model,) = log.stats.model_usage.values()
        write_run(log, "used.jsonl")
        used = report("used.jsonl")["live"]["usage"]["agent"]
        assert used["requests"] == of_model.output_tokens // 3 > 2
        assert used["tokens_out"] == of_model.output_tokens
        assert used["tokens_in"] == 32 * used["requests"]
        assert used["cached"] == of_model.input_tokens_cache_read
        assert used["not_counted"] == 0


def test_dialogues_ended_by_a_limit_of_inspect_are_scored() -> None:
    log = log_of(multiwoz("corpus:test:1", corpus="sample"), rule, message_limit=6)
    (verdict,) = verdicts(log).values()
    assert verdict.answer == "limit"
    assert verdict.value["success"] == 0


def test_model_failures_are_errors_of_the_sample() -> None:
    def outputs(*_: object) -> ModelOutput:
        raise RuntimeError("503")

    log = log_of(multiwoz("corpus:test:1", corpus="sample"), outputs, fail_on_error=False)
    (sample,) = log.samples or []
    assert sample.error is not None
    assert not sample.scores
    with pytest.raises(UsageError):
        write_run(log, "there.jsonl")


def test_function_calls_outside_a_dialogue_are_errors() -> None:
    async def call() -> None:
        await multiwoz_tools()[0]()

    with pytest.raises(UsageError):
        asyncio.run(call())


def test_unparsable_arguments_are_kept_as_the_error_text() -> None:
    broken = ToolCall(id="1", function="find_hotel", arguments={}, parse_error="no JSON")
    (plain,) = plain_messages([ChatMessageAssistant(content="", tool_calls=[broken])])
    assert plain["tool_calls"][0]["function"]["arguments"] == "no JSON"


def test_logs_can_be_rescored_without_a_model() -> None:
    log = log_of(multiwoz("corpus:test:2", corpus="sample"), rule)
    again = score(read_eval_log(log.location), task_success(), action="overwrite", display="none")
    before, after = verdicts(log), verdicts(again)
    assert before.keys() == after.keys()
    for sample, verdict in before.items():
        assert after[sample].value == pytest.approx(verdict.value, nan_ok=True)
        assert after[sample].metadata == verdict.metadata
