"""Custom agents and users, and people at a terminal."""

from __future__ import annotations

import asyncio
import io
from pathlib import Path
from typing import Any

import pytest

from mwzeval.conversation import agents
from mwzeval.conversation.agents import (
    IMPORT_LIMIT,
    HumanAgent,
    HumanUser,
    Terminal,
    imported,
    own_agent,
    own_user,
)
from mwzeval.conversation.loop import ToolSession, converse
from mwzeval.conversation.messages import AgentTurn
from mwzeval.conversation.protocols import ConversationError, Ending
from mwzeval.conversation.trajectory import Planned, Record
from mwzeval.errors import UsageError
from tests.conversation.toy import Adder, Messages, call_of

PLANNED = Planned("a", "goal", seed=5)


def answers(agent: Any, *said: str) -> tuple[list[str], Record]:
    """Return the texts of an agent with tools, and the record of the dialogue."""
    record = Record()
    session = own_agent("mine", agent)(PLANNED, Adder(), record)
    return [session.answer(text).text for text in said or ("hello",)], record


def with_tools(messages: Messages, tools: list[Any]) -> Any:
    if messages[-1]["role"] == "tool":
        return messages[-1]["content"]
    return {"tool_calls": [call_of(tools[0]["function"]["name"], {"terms": [3]})]}


async def waiting(messages: Messages, tools: list[Any]) -> Any:
    await asyncio.sleep(0)
    return with_tools(messages, tools)


class Called:
    def __init__(self, tools: Any, seed: int = 0, *, dialogue: str = "") -> None:
        self.text = f"{len(tools)} {seed} {dialogue}"

    def __call__(self, messages: Messages) -> str:
        return self.text


class Responding:
    """An agent of text that awaits something, in one event loop over all its turns."""

    def __init__(self) -> None:
        self.lock: asyncio.Lock | None = None
        self.bookings: list[Any] = []

    async def respond(self, utterance: str) -> str:
        self.lock = self.lock or asyncio.Lock()
        async with self.lock:
            await asyncio.sleep(0)
        self.bookings.append({"domain": "hotel", "slots": {"name": utterance}})
        return f"you said {utterance}"


@pytest.mark.parametrize("agent", [with_tools, waiting])
def test_functions_may_have_tools_and_be_asynchronous(agent: Any) -> None:
    texts, record = answers(agent)
    assert texts == ['{"sum": 3, "call": 1, "session": ""}']
    roles = [message["role"] for message in record.messages]
    assert roles == ["user", "assistant", "tool", "assistant"]


async def failing(messages: Messages) -> Any:
    raise LookupError("none")


def test_exceptions_of_asynchronous_agents_are_raised() -> None:
    with pytest.raises(LookupError, match="none"):
        answers(failing)


def test_classes_receive_the_parameters_that_they_declare() -> None:
    assert answers(Called)[0] == [f"1 {PLANNED.number} a"]
    assert 0 <= PLANNED.number < 2**31


def test_agents_receive_copies_of_messages() -> None:
    def change(messages: Messages) -> str:
        first = messages[0].pop("content")
        return str(first)

    assert answers(change, "a", "b")[0] == ["a", "a"]


def test_agents_of_text_may_be_asynchronous_and_report_their_bookings() -> None:
    texts, record = answers(Responding, "a", "b")
    assert texts == ["you said a", "you said b"]
    bookings = [{"domain": "hotel", "slots": {"name": name}} for name in "ab"]
    assert record.more == {"bookings": bookings}


@pytest.mark.parametrize(
    ("attributes", "message"),
    [
        ({"respond": lambda self, utterance: 3}, "3"),
        ({"respond": lambda self, utterance: "x", "bookings": {1}}, "bookings"),
        ({"respond": lambda self, utterance: "x", "bookings": [1]}, "bookings"),
    ],
)
def test_invalid_text_and_bookings_are_errors_of_the_agent(attributes: Any, message: str) -> None:
    with pytest.raises(ConversationError, match=message):
        answers(type("Wrong", (), attributes))


class NeedsMore:
    def __init__(self, model: str) -> None:
        raise AssertionError(model)


@pytest.mark.parametrize(
    ("make", "made", "message"),
    [
        (own_agent, lambda: "x", "mine"),
        (own_agent, lambda messages, functions: "x", "functions"),
        (own_agent, lambda messages, tools_url: "x", "tools_url"),  # there is no server
        (own_agent, NeedsMore, "model"),
        (own_agent, type("Mute", (), {}), "mine"),
        (own_user, type("Mute", (), {"begin": lambda self: ""}), "answer"),
    ],
)
def test_uncallable_code_is_refused_immediately(make: Any, made: Any, message: str) -> None:
    with pytest.raises(UsageError, match=message):
        make("mine", made)


def test_user_texts_are_validated_and_users_receive_copies() -> None:
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


def test_code_is_imported_from_modules_and_files(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "beside.py").write_text("WORD = 'from beside'\n")
    code = "from beside import WORD\ndef respond(messages):\n    return WORD\n"
    (tmp_path / "an_agent.py").write_text(code)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("sys.path", ["/nowhere"])
    assert imported("an_agent:respond")([]) == "from beside"
    assert imported(f"{tmp_path}/an_agent.py:respond")([]) == "from beside"


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("no_such_module:Agent", "ModuleNotFoundError"),
        ("json:nothing", "AttributeError"),
        ("json:__name__", "json:__name__"),
        ("missing.py:Agent", "FileNotFoundError"),
        (":Agent", "ValueError"),
    ],
)
def test_code_that_cannot_be_imported_is_refused(name: str, message: str) -> None:
    with pytest.raises(UsageError, match=message):
        imported(name)


def test_a_slow_import_is_reported(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    report, slow = tmp_path / "report", tmp_path / "slow_agent.py"
    wait = f"wait_until('a report', Path({str(report)!r}).read_text)"
    code = f"from pathlib import Path\nfrom tests.waiting import wait_until\n{wait}\nagent = print"
    slow.write_text(code)
    report.touch()
    monkeypatch.setattr(agents, "NOTICE_SECONDS", 0.01)
    monkeypatch.setattr(agents, "notify", report.write_text)
    assert imported(f"{slow}:agent") is print
    assert "slow_agent.py" in report.read_text()
    assert IMPORT_LIMIT in report.read_text()


def test_imports_end_at_their_time_limit(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(IMPORT_LIMIT, "0.05")
    (tmp_path / "hanging_agent.py").write_text("from threading import Event\nEvent().wait()\n")
    with pytest.raises(UsageError, match="hanging_agent"):
        imported(f"{tmp_path / 'hanging_agent.py'}:agent")


@pytest.mark.parametrize("limit", ["soon", "5s", "0", "-1", "nan", "1e300"])
def test_an_import_limit_must_be_a_positive_number(
    limit: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(IMPORT_LIMIT, limit)
    with pytest.raises(UsageError, match=IMPORT_LIMIT):
        imported("json:loads")


def terminal_with(*typed: str) -> tuple[Terminal, io.StringIO]:
    shown = io.StringIO()
    return Terminal(io.StringIO("".join(f"{line}\n" for line in typed)), shown), shown


def play_user(*typed: str) -> tuple[Ending, str, Messages]:
    """Return the ending, the text on the terminal, and the messages."""
    terminal, shown = terminal_with(*typed)
    recorded: Messages = []
    ending = converse(
        lambda: HumanUser(["You want an inn.", "Ask for its phone."], terminal),
        lambda: ToolSession(lambda messages: "the number is \x1b[1m5", None, recorded.append),
    )
    return ending, shown.getvalue(), recorded


def test_human_users_see_the_goal_and_write_until_goodbye() -> None:
    typed = ("", "an inn, please", "/goal", "/gaol", "/bye thanks")
    ending, shown, recorded = play_user(*typed)
    assert ending == Ending("user_stop", 2)
    assert shown.count("You want an inn.") == 2
    assert "\x1b" not in shown
    assert all(command in shown for command in ('"/gaol"', '"/goal"'))
    said = [message["content"] for message in recorded if message["role"] == "user"]
    assert said == ["an inn, please", "thanks"]


@pytest.mark.parametrize("typed", [("hello",), ("hello", "/quit")])
def test_quitting_or_end_of_input_interrupts_the_run(typed: tuple[str, ...]) -> None:
    with pytest.raises(KeyboardInterrupt):
        play_user(*typed)


def test_human_agents_can_call_functions() -> None:
    calls = ("/add 3", '/add terms="a b', '/add terms="a b" more=5')
    terminal, shown = terminal_with("/tools", *calls, "the sum is 5")
    record = Record()
    session = ToolSession(HumanAgent(Adder.schema, terminal), Adder(), record.message)
    assert session.answer("a sum?").text == "the sum is 5"
    _, calling, result, _ = record.messages
    arguments = '{"terms": "a b", "more": "5"}'
    assert calling["tool_calls"] == [call_of("add", arguments, "call_1")]
    assert result["content"] == '{"error": "cannot add a b"}'
    for text in ("user> a sum?", "/add  terms", "name=value", "quotation", '"error": "cannot'):
        assert text in shown.getvalue()
