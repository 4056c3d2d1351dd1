"""Agents and users of one's own: how they are named, made and called."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest

from mwzeval.conversation import agents
from mwzeval.conversation.agents import IMPORT_LIMIT, imported, own_agent, own_user
from mwzeval.conversation.messages import AgentTurn
from mwzeval.conversation.protocols import ConversationError
from mwzeval.conversation.trajectory import Planned, Record
from mwzeval.errors import UsageError


class ToyTools:
    schema: Sequence[Mapping[str, Any]] = ({"type": "function", "function": {"name": "find"}},)

    def call(self, name: str, arguments: Mapping[str, Any]) -> Any:
        return {"found": arguments}


def answer(made: Any, said: str = "hello") -> tuple[AgentTurn, Record]:
    record = Record()
    partner = own_agent("mine", made)(Planned("a", "goal", seed=5), ToyTools(), record)
    return partner.answer(said), record


def with_tools(messages: list[Any], tools: list[Any]) -> Any:
    if messages[-1]["role"] == "tool":
        return messages[-1]["content"]
    name = tools[0]["function"]["name"]
    return {"tool_calls": [{"id": 1, "function": {"name": name, "arguments": {"x": 1}}}]}


class Called:
    def __init__(self, tools: Any, seed: int = 0, *, dialogue: str = "") -> None:
        self.said = f"{len(tools)} {seed} {dialogue}"

    def __call__(self, messages: list[Any]) -> str:
        return self.said


class Responding:
    def __init__(self) -> None:
        self.bookings: Any = []

    def respond(self, utterance: str) -> Any:
        self.bookings.append({"domain": "hotel", "slots": {"name": utterance}})
        return f"you said {utterance}"


def test_functions_may_have_tools() -> None:
    turn, record = answer(with_tools)
    assert turn.text == '{"found": {"x": 1}}'
    assert [message["role"] for message in record.messages] == [
        *("user", "assistant", "tool", "assistant")
    ]
    assert answer(lambda messages: messages[-1]["content"])[0].text == "hello"


def test_classes_get_what_they_name() -> None:
    number = Planned("a", "goal", seed=5).number
    assert answer(Called)[0].text == f"1 {number} a"
    assert 0 <= number < 2**31


class Waiting:
    """An agent that awaits something, in one event loop over all its turns."""

    def __init__(self) -> None:
        self.lock: asyncio.Lock | None = None

    async def respond(self, utterance: str) -> str:
        self.lock = self.lock or asyncio.Lock()
        async with self.lock:
            await asyncio.sleep(0)
        return f"you said {utterance}"


async def waits(messages: list[Any], tools: list[Any]) -> Any:
    await asyncio.sleep(0)
    return with_tools(messages, tools)


async def fails(messages: list[Any]) -> Any:
    raise LookupError("nothing")


def test_agents_may_be_asynchronous() -> None:
    assert answer(waits)[0].text == '{"found": {"x": 1}}'
    partner = own_agent("mine", Waiting)(Planned("a", "goal"), None, Record())
    assert [partner.answer(said).text for said in "ab"] == ["you said a", "you said b"]
    with pytest.raises(LookupError, match="nothing"):
        answer(fails)


def test_agents_of_text_tell_their_bookings() -> None:
    turn, record = answer(Responding)
    assert turn.text == "you said hello"
    assert record.more == {"bookings": [{"domain": "hotel", "slots": {"name": "hello"}}]}


@pytest.mark.parametrize(
    ("attributes", "told"),
    [
        ({"respond": lambda self, utterance: 3}, "3"),
        ({"respond": lambda self, utterance: "x", "bookings": {1}}, "bookings"),
        ({"respond": lambda self, utterance: "x", "bookings": [1]}, "bookings"),
    ],
)
def test_what_agents_of_text_do_wrongly_is_theirs(attributes: Any, told: str) -> None:
    with pytest.raises(ConversationError, match=told):
        answer(type("Wrong", (), attributes))


class NeedsMore:
    def __init__(self, model: str) -> None:
        raise AssertionError(model)


@pytest.mark.parametrize(
    ("made", "told"),
    [
        (lambda: "x", "mine"),
        (lambda messages, functions: "x", "functions"),
        (lambda messages, tools_url: "x", "tools_url"),  # they are not served
        (NeedsMore, "model"),
        (type("Mute", (), {}), "mine"),
    ],
)
def test_what_cannot_be_called_is_told_before_anything(made: Any, told: str) -> None:
    with pytest.raises(UsageError, match=told):
        own_agent("mine", made)


def test_code_is_found_in_modules_and_files(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "beside.py").write_text("WORD = 'from beside'\n")
    (tmp_path / "an_agent.py").write_text(
        "from beside import WORD\ndef respond(messages):\n    return WORD\n"
    )
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("sys.path", ["/nowhere"])
    assert imported("an_agent:respond")([]) == "from beside"
    assert imported(f"{tmp_path}/an_agent.py:respond")([]) == "from beside"


@pytest.mark.parametrize(
    ("name", "told"),
    [
        ("no_such_module:Agent", "ModuleNotFoundError"),
        ("json:nothing", "AttributeError"),
        ("json:__name__", "json:__name__"),
        ("missing.py:Agent", "FileNotFoundError"),
        (":Agent", "ValueError"),
    ],
)
def test_what_cannot_be_imported_is_told(name: str, told: str) -> None:
    with pytest.raises(UsageError, match=told):
        imported(name)


def test_a_user_of_ones_own_is_checked() -> None:
    class Mine:
        is_done = False

        def __init__(self, goal: Any) -> None:
            goal["wish"] = "changed"

        def begin(self) -> str:
            return "half \ud800"

        def answer(self, heard: AgentTurn) -> Any:
            heard.messages[0]["content"] = "changed"
            return 3

        def report(self) -> Any:
            return {"complete": False}

    goal = {"wish": "mine"}
    user: Any = own_user("mine", Mine)(Planned("a", goal), Record())
    assert goal == {"wish": "mine"}
    assert user.begin() == "half ?"
    heard = AgentTurn(({"role": "assistant", "content": "text"},), "text")
    with pytest.raises(ConversationError, match="3"):
        user.answer(heard)
    assert heard.messages[0]["content"] == "text"
    assert user.report() == {"complete": False}
    with pytest.raises(UsageError, match="answer"):
        own_user("mine", type("Mute", (), {"begin": lambda self: ""}))


WAITING = """
from pathlib import Path
from tests.waiting import wait_until

wait_until("the report of a slow import", Path({told!r}).exists)

def agent(messages):
    return "hello"
"""
HANGING = """
from threading import Event
Event().wait()
"""


def test_an_import_that_takes_long_is_reported(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    told, begun = tmp_path / "told", tmp_path / "begun"

    def notify(message: str) -> None:
        begun.write_text(message, "utf-8")
        begun.rename(told)

    monkeypatch.setattr(agents, "NOTICE_SECONDS", 0.01)
    monkeypatch.setattr(agents, "notify", notify)
    (tmp_path / "slow_agent.py").write_text(WAITING.format(told=str(told)), encoding="utf-8")
    assert imported(f"{tmp_path / 'slow_agent.py'}:agent")([]) == "hello"
    assert "slow_agent.py" in told.read_text("utf-8")
    assert IMPORT_LIMIT in told.read_text("utf-8")


def test_an_import_ends_at_its_limit(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(IMPORT_LIMIT, "0.05")
    (tmp_path / "hanging_agent.py").write_text(HANGING, encoding="utf-8")
    with pytest.raises(UsageError, match="hanging_agent"):
        imported(f"{tmp_path / 'hanging_agent.py'}:agent")


@pytest.mark.parametrize("limit", ["soon", "5s", "0", "-1", "nan", "1e300"])
def test_an_import_limit_that_is_no_number_is_refused(
    limit: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(IMPORT_LIMIT, limit)
    with pytest.raises(UsageError, match=IMPORT_LIMIT):
        imported("json:loads")
