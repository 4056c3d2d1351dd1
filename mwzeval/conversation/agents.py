"""Agents and users that are somebody's own code, as they take part in dialogues in words.

They are found by name: `package.module:Name`, or `path/to/file.py:Name`. An agent is a function
`respond(messages)` or `respond(messages, tools)` that returns text, a message or a list of
messages; or a class, of which an object is made for each dialogue, that is called with the
messages, or has a method `respond(utterance)` that returns text; each of these may be asynchronous.
A user is a class with `begin()`, `answer(turn)` and `is_done`. Both get what they name among
`tools` (the schema), `goal` (users only), `seed` (a number of 31 bits) and `dialogue` (its name).
Where tools are served, an agent that has a client of its own also gets their address, `tools_url`,
and what it calls there is recorded as if it had asked for it in a message.

They get copies: what they change of a message does not change the record.

People take part at the terminal. What they are shown goes to standard error: standard output has
the result of the run.
"""

from __future__ import annotations

import asyncio
import json
import os
import shlex
import signal
import sys
import threading
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from copy import deepcopy
from functools import cache
from importlib import import_module
from importlib.util import module_from_spec, spec_from_file_location
from inspect import Parameter, isawaitable, isclass, signature
from pathlib import Path
from typing import TYPE_CHECKING, Any, TextIO

from mwzeval.conversation.loop import TOOL_ROUNDS, ToolSession
from mwzeval.conversation.messages import (
    TOOL_ROLE,
    USER_ROLE,
    AgentTurn,
    Message,
    plain_json,
    plain_text,
)
from mwzeval.conversation.protocols import (
    AnswerError,
    ConversationError,
    Tools,
    User,
    described,
)
from mwzeval.conversation.trajectory import Planned, Record
from mwzeval.errors import UsageError, did_you_mean, printable, shorten
from mwzeval.output import tell

if TYPE_CHECKING:
    from mwzeval.conversation.mcp import AgentServer

MakeAgent = Callable[[Planned, Tools | None, Record], ToolSession]
"""Returns the agent's side of a dialogue, whose messages go to the record."""
MakeUser = Callable[[Planned, Record], User]
"""Returns the user of a dialogue; messages that no agent hears go to the record."""

SUFFIX = ".py"
NOTICE_SECONDS = 5.0
"""After so long an import is reported."""
IMPORT_LIMIT = "MWZEVAL_IMPORT_SECONDS"
"""The environment variable with the seconds after which an import is ended (default: never)."""
LONGEST_LIMIT = 1e6
BY_NAME = (Parameter.POSITIONAL_OR_KEYWORD, Parameter.KEYWORD_ONLY)
RESPOND, BOOKINGS = "respond", "bookings"
AN_AGENT = (
    "an agent must be a function respond(messages) or respond(messages, tools), or a class "
    "whose objects can be called like this or have respond(utterance); --serve-tools adds the "
    "argument tools_url"
)
A_USER = "a user must be a class whose objects have begin(), answer(turn) and is_done"


class NotAUserError(ConversationError):
    """What a user says is nothing that can be said."""


def is_own_code(name: str) -> bool:
    """Return whether a name means somebody's own code."""
    return ":" in name


def imported(name: str) -> Callable[..., Any]:
    """Return the class or function that a name means.

    As with `python -m`, modules of the current folder are found; as with `python file.py`, so are
    those next to the file. Raises `UsageError` when it cannot be imported or called.
    """
    place, _, attribute = name.rpartition(":")
    with _watched(place), failing_as_usage(name, "imported"):
        found = getattr(_module(place), attribute)
    if not callable(found):
        raise UsageError(f'"{name}" cannot be called: expected a class or function')
    return found  # type: ignore[no-any-return]


@contextmanager
def _watched(place: str) -> Iterator[None]:
    """Report an import that takes long, and end it after the seconds of `IMPORT_LIMIT`.

    Raises `UsageError` then. Only an import in the main thread can be ended.
    """
    given = os.environ.get(IMPORT_LIMIT, "").strip()
    try:
        limit = float(given) if given else None
        if limit is not None and not 0 < limit < LONGEST_LIMIT:
            raise ValueError
    except ValueError:
        raise UsageError(
            f'{IMPORT_LIMIT} must be a number of seconds above 0, not "{shorten(given)}"'
        ) from None
    is_late = False

    def report() -> None:
        tell(
            f"still importing {place} after {NOTICE_SECONDS:g} seconds (press Ctrl-C to stop, or "
            f"set a limit in seconds with {IMPORT_LIMIT})"
        )

    def end(*_: object) -> None:
        nonlocal is_late
        is_late = True
        raise KeyboardInterrupt

    notice = threading.Timer(NOTICE_SECONDS, report)
    notice.daemon = True
    notice.start()
    # SIGALRM also interrupts a program that was started with Ctrl-C ignored.
    is_main = threading.current_thread() is threading.main_thread()
    can_end = limit is not None and is_main and hasattr(signal, "SIGALRM")
    if can_end:
        before = signal.signal(signal.SIGALRM, end)
        signal.setitimer(signal.ITIMER_REAL, limit or 0)
    try:
        yield
    except KeyboardInterrupt:
        if is_late:
            raise UsageError(f"{place} was not imported within {limit:g} seconds") from None
        raise
    finally:
        notice.cancel()
        if can_end:
            signal.setitimer(signal.ITIMER_REAL, 0)
            signal.signal(signal.SIGALRM, before)


@contextmanager
def failing_as_usage(name: str, done: str) -> Iterator[None]:
    """Turn whatever somebody's own code raises, and its end, into a `UsageError`."""
    try:
        yield
    except (UsageError, KeyboardInterrupt):
        raise
    except BaseException as error:  # libraries in other languages raise more than `Exception`
        raise UsageError(f'"{name}" cannot be {done}: {described(error)}') from error


def given(called: Callable[..., Any], offered: Mapping[str, Any]) -> dict[str, Any]:
    """Return what a class or function names among its parameters of what is offered."""
    try:
        parameters = signature(called).parameters
    except (TypeError, ValueError):  # code that is not Python does not say
        return {}
    return {
        name: value
        for name, value in offered.items()
        if name in parameters and parameters[name].kind in BY_NAME
    }


def check_call(
    name: str, called: Callable[..., Any], positional: int, offered: Iterable[str], expected: str
) -> None:
    """Raise `UsageError`, with what is `expected`, when a call of it would fail.

    It has so many `positional` arguments, and those among the `offered` that it names.
    """
    try:
        signed = signature(called)
    except (TypeError, ValueError):
        return
    try:
        signed.bind(*[None] * positional, **given(called, dict.fromkeys(offered)))
    except TypeError as error:
        raise UsageError(f'"{name}" cannot be called: {error}; {expected}') from None


def _module(place: str) -> Any:
    path = Path(place).resolve()
    folder = str(path.parent) if place.endswith(SUFFIX) else ""
    if folder not in sys.path:
        sys.path.insert(0, folder)
    if not place.endswith(SUFFIX):
        return import_module(place)
    spec = spec_from_file_location(path.stem, path)
    assert spec is not None  # as its name ends like a module's
    assert spec.loader is not None
    module = module_from_spec(spec)
    sys.modules[path.stem] = module
    spec.loader.exec_module(module)
    return module


def own_agent(
    name: str,
    made: Any,
    tool_rounds: int = TOOL_ROUNDS,
    server: AgentServer | None = None,
) -> MakeAgent:
    """Return what makes an agent of one's own: a function, or a class.

    `name` is what messages call it; `server` has the tools for agents with a client of their own.
    Raises `UsageError` for what cannot be called like that.
    """
    is_class = isclass(made)
    offered = ["tools"] + ["seed", "dialogue"] * is_class + ["tools_url"] * (server is not None)
    check_call(name, made, 0 if is_class else 1, offered, AN_AGENT)
    is_called = not is_class or any("__call__" in vars(base) for base in made.__mro__)
    if not (is_called or hasattr(made, RESPOND)):
        raise UsageError(f'"{name}" cannot be called with messages: {AN_AGENT}')

    def partner(planned: Planned, tools: Tools | None, record: Record) -> ToolSession:
        values = {
            "tools": [] if tools is None else deepcopy(tools.schema),
            "seed": planned.number,
            "dialogue": planned.name,
        }
        if server is not None:
            values["tools_url"] = server.url_of(planned.name)
        more = given(made, values)
        agent = made(**more) if is_class else lambda messages: made(messages, **more)

        def answer(messages: list[Message]) -> Any:
            return _awaited(agent(deepcopy(messages)))

        def text(messages: list[Message]) -> str:
            return _text_answer(agent, messages[-1]["content"], record)

        # An agent that says only text calls no tools in messages.
        is_textual = is_class and hasattr(agent, RESPOND)
        session = ToolSession(
            text if is_textual else answer,
            tools,
            record.message,
            tool_rounds=0 if is_textual else tool_rounds,
        )
        if server is not None:
            server.hold(planned.name, session.execute)
        return session

    return partner


def _text_answer(agent: Any, utterance: str, record: Record) -> str:
    """Return what an agent with its own tools says, and keep its bookings."""
    answer = _awaited(agent.respond(utterance))
    bookings = getattr(agent, BOOKINGS, None)
    if bookings is not None:
        copy = plain_json(bookings, BOOKINGS)
        if not isinstance(copy, list) or not all(isinstance(booking, dict) for booking in copy):
            raise AnswerError(
                f'{BOOKINGS} must be a list of {{"domain": …, "slots": {{…}}}}, found '
                f"{shorten(repr(bookings))}"
            )
        record.keep({BOOKINGS: copy})
    if not isinstance(answer, str):
        raise AnswerError(f"expected text, found {shorten(repr(answer))}")
    return answer


def _awaited(answer: Any) -> Any:
    if not isawaitable(answer):
        return answer

    async def wait() -> Any:
        return await answer

    return _event_loop().run_until_complete(wait())


@cache
def _event_loop() -> asyncio.AbstractEventLoop:
    """Return the loop of this process: what an agent has opened in one turn serves the next."""
    return asyncio.new_event_loop()


def own_user(name: str, made: Callable[..., Any]) -> MakeUser:
    """Return what makes a user of one's own, a class, which messages call by the `name`.

    Raises `UsageError` for what cannot be called like that.
    """
    check_call(name, made, 0, ("goal", "seed", "dialogue"), A_USER)
    missing = [method for method in ("begin", "answer") if not hasattr(made, method)]
    if isclass(made) and missing:
        raise UsageError(f'"{name}" has no {missing[0]}(): {A_USER}')

    def user(planned: Planned, record: Record) -> CheckedUser:
        goal = deepcopy(planned.goal)
        values = {"goal": goal, "seed": planned.number, "dialogue": planned.name}
        return CheckedUser(made(**given(made, values)))

    return user


class CheckedUser:
    """A user whose turns are checked to be text, and who cannot change those of the agent."""

    def __init__(self, user: Any) -> None:
        self._user = user

    def begin(self) -> str:
        """Return what the user says first. Raises `NotAUserError` for what is no text."""
        return _checked_text(self._user.begin())

    def answer(self, heard: AgentTurn, /) -> str:
        """Return what the user says. Raises `NotAUserError` for what is no text."""
        return _checked_text(self._user.answer(deepcopy(heard)))

    @property
    def is_done(self) -> bool:
        """Whether the user has said its last."""
        return bool(self._user.is_done)

    def report(self) -> Any:
        """Return what the user holds in the end, None if it does not say.

        Raises whatever it raises, and `AnswerError` for what is no JSON.
        """
        report = getattr(self._user, "report", None)
        return None if report is None else plain_json(report(), "report")


def _checked_text(said: Any) -> str:
    if not isinstance(said, str):
        raise NotAUserError(f"expected text, found {shorten(repr(said))}")
    return plain_text(said)


COMMAND, QUIT = "/", "/quit"
PROMPT = "you> "
MANY = 1_000
"""Calls in one turn, and calls that are wrong: a person is not stopped for these."""
LONGEST_RESULT = 2_000
"""Characters of a tool's result that are shown."""
USER_HELP = """\
Type your messages to the agent. Commands:
  /goal        show the goal again
  /bye [TEXT]  send a last message and end the dialogue
  /quit        leave; the dialogue is not counted"""
AGENT_HELP = """\
Type your messages to the user. Commands:
  /tools                       show the functions and their arguments
  /find_hotel area=north …     call a function; quote values with spaces: name="the lodge"
  /quit                        leave; the dialogue is not counted"""


class LeftError(KeyboardInterrupt):
    """The person has left: the dialogue does not count, and no other one begins."""


class Terminal:
    """Reads lines from one stream, and shows text on another."""

    def __init__(self, read: TextIO, show: TextIO) -> None:
        self._read = read
        self._show = show

    def show(self, text: str = "") -> None:
        """Show a line or several; signs that would steer a terminal are made visible."""
        self._show.write(printable(f"{text}\n", keep="\n"))
        self._show.flush()

    def ask(self) -> str:
        """Return a line that is not empty. Raises `LeftError` for `/quit` and at the end."""
        while True:
            self._show.write(PROMPT)
            self._show.flush()
            line = self._read.readline()
            if not line:
                self.show()
            if not line or line.split()[:1] == [QUIT]:
                raise LeftError("the person left")
            if line.strip():
                return line.strip()

    def explain(self, command: str, known: Sequence[str], text: str) -> None:
        """Show what can be typed, and what an unknown command may mean."""
        if command != "/help":
            self.show(f'unknown command "{shorten(command)}"{did_you_mean(command, known)}')
        self.show(text)


class HumanUser:
    """A person who is shown a goal, a line a wish, and talks to an agent in words."""

    def __init__(self, goal: Sequence[str], terminal: Terminal) -> None:
        self._goal = "\n".join(["Your goal:", *(f"  {line}" for line in goal)])
        self._terminal = terminal
        self.is_done = False

    def begin(self) -> str:
        """Return what the person says first."""
        self._terminal.show(self._goal)
        self._terminal.show("Type `/bye` to end the dialogue, `/help` for help.")
        return self._asked()

    def answer(self, heard: AgentTurn, /) -> str:
        """Return what the person says to a turn of the agent."""
        self._terminal.show(f"\nagent> {heard.text}\n")
        return self._asked()

    def _asked(self) -> str:
        while True:
            line = self._terminal.ask()
            command, _, rest = line.partition(" ")
            if not line.startswith(COMMAND):
                return line
            if command == "/bye":
                self.is_done = True
                return rest.strip() or "Thank you, goodbye."
            if command == "/goal":
                self._terminal.show(self._goal)
            else:
                self._terminal.explain(command, ("/goal", "/bye", QUIT), USER_HELP)


class HumanAgent:
    """A person who answers a user and calls functions for that: an agent as `ToolSession` asks it.

    `schema` has the functions.
    """

    def __init__(self, schema: Sequence[Mapping[str, Any]], terminal: Terminal) -> None:
        self._functions = {tool["function"]["name"]: tool["function"] for tool in schema}
        self._terminal = terminal
        self._has_begun = False

    def __call__(self, messages: list[Message]) -> Any:
        """Return what the person says, or the call that is typed."""
        terminal = self._terminal
        if not self._has_begun:
            self._has_begun = True
            terminal.show("You are the agent. Type `/help` for help.")
        last = messages[-1]
        if last["role"] == USER_ROLE:
            terminal.show(f"\nuser> {last['content']}\n")
        elif last["role"] == TOOL_ROLE:
            text = json.dumps(json.loads(last["content"]), ensure_ascii=False, indent=2)
            terminal.show(text if len(text) <= LONGEST_RESULT else f"{text[:LONGEST_RESULT]}\n…")
        while True:
            line = terminal.ask()
            if not line.startswith(COMMAND):
                return line
            command = line.split()[0]
            name = command.removeprefix(COMMAND)
            if command == "/tools":
                for known, function in self._functions.items():
                    terminal.show(f"  /{known}  {', '.join(function['parameters']['properties'])}")
            elif name in self._functions:
                try:
                    arguments = json.dumps(_arguments(line), ensure_ascii=False)
                    return {"tool_calls": [{"function": {"name": name, "arguments": arguments}}]}
                except ValueError as error:
                    terminal.show(str(error))
            else:
                commands = ("/tools", QUIT, *(COMMAND + name for name in self._functions))
                terminal.explain(command, commands, AGENT_HELP)


def _arguments(line: str) -> dict[str, str]:
    """Return the arguments of a typed call. Raises `ValueError` when they cannot be read."""
    try:
        words = shlex.split(line)[1:]
    except ValueError as error:
        raise ValueError(f"this command cannot be read: {error}") from None
    arguments = {}
    for word in words:
        name, equals, value = word.partition("=")
        if not equals:
            raise ValueError(f'"{shorten(word)}": write name=value, as in area=north')
        arguments[name] = value
    return arguments


def human_agent(planned: Planned, tools: Tools | None, record: Record) -> ToolSession:
    """Return a person as the agent of a dialogue."""
    person = HumanAgent(() if tools is None else tools.schema, Terminal(sys.stdin, sys.stderr))
    return ToolSession(person, tools, record.message, tool_rounds=MANY, tool_errors=MANY)
