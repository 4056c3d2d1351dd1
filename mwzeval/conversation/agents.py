"""Custom agents and users (Python code outside this package), and people at the terminal.

Custom code is named `package.module:Name` or `path/to/file.py:Name`. An agent is a function
`respond(messages)` or `respond(messages, tools)` that returns text, a message or a list of
messages. An agent can also be a class; each dialogue gets a new object of the class. The object is
called like an agent function, or has a method `respond(utterance)` that returns text. Functions and
methods may be asynchronous. A user is a class with `begin()`, `answer(turn)` and `is_done`. Agents
and users receive those of the following parameters that they declare: `tools` (the function schema;
for agents only), `goal` (for users only), `seed` (an integer of 31 bits) and `dialogue` (the name
of the dialogue). If a tool server runs, an agent may also declare `tools_url`, the address of the
server. Calls to the server are recorded as if the agent had requested them in a message.

Agents and users receive copies of messages, so they cannot change the record.

If a person takes part, the dialogue is shown on standard error, and the result is printed on
standard output.
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
from mwzeval.output import notify

if TYPE_CHECKING:
    from mwzeval.conversation.mcp import AgentServer

MakeAgent = Callable[[Planned, Tools | None, Record], ToolSession]
"""A function that creates an agent for a dialogue; the agent's messages are written to the
record."""
MakeUser = Callable[[Planned, Record], User]
"""A function that returns a user; messages that the agent does not see go to the record."""

SUFFIX = ".py"
NOTICE_SECONDS = 5.0
"""The number of seconds after which a notice about a slow import is printed."""
IMPORT_LIMIT = "MWZEVAL_IMPORT_SECONDS"
"""The environment variable with the time limit of an import in seconds (default: no limit)."""
LONGEST_LIMIT = 1e6
BY_NAME = (Parameter.POSITIONAL_OR_KEYWORD, Parameter.KEYWORD_ONLY)
RESPOND, BOOKINGS = "respond", "bookings"
AN_AGENT = (
    "an agent must be a function respond(messages) or respond(messages, tools), or a class "
    "whose objects are called with these arguments or have a method respond(utterance); with "
    "--serve-tools there is an additional argument, tools_url"
)
A_USER = (
    "a user must be a class whose objects have the methods begin() and answer(turn) and the "
    "attribute is_done"
)


class NotAUserError(ConversationError):
    """A user returned something other than valid text."""


def is_own_code(name: str) -> bool:
    """Return whether a name refers to custom code."""
    return ":" in name


def imported(name: str) -> Callable[..., Any]:
    """Import and return the class or function with this name.

    A module is searched for in the current folder, as with `python -m`. A file can also import
    modules from its own folder, as with `python file.py`. Raises `UsageError` if the import fails
    or the object is not callable.
    """
    place, _, attribute = name.rpartition(":")
    with _watched(place), failing_as_usage(name, "imported"):
        found = getattr(_module(place), attribute)
    if not callable(found):
        raise UsageError(f'"{name}" cannot be called: expected a class or function')
    return found  # type: ignore[no-any-return]


@contextmanager
def _watched(place: str) -> Iterator[None]:
    """Report a slow import, and stop it after the number of seconds in `IMPORT_LIMIT`.

    Raises `UsageError` if the import is stopped. Only imports in the main thread can be stopped.
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
        notify(
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
    # SIGALRM also interrupts a program that ignores Ctrl-C.
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
    """Convert any exception or exit of custom code into a `UsageError`."""
    try:
        yield
    except (UsageError, KeyboardInterrupt):
        raise
    except BaseException as error:  # libraries in other languages raise more than `Exception`
        raise UsageError(f'"{name}" cannot be {done}: {described(error)}') from error


def given(called: Callable[..., Any], offered: Mapping[str, Any]) -> dict[str, Any]:
    """Return the items of `offered` whose names are parameters of a class or function."""
    try:
        parameters = signature(called).parameters
    except (TypeError, ValueError):  # a callable that is not Python code may have no signature
        return {}
    return {
        name: value
        for name, value in offered.items()
        if name in parameters and parameters[name].kind in BY_NAME
    }


def check_call(
    name: str, called: Callable[..., Any], positional: int, offered: Iterable[str], expected: str
) -> None:
    """Raise `UsageError` with the text `expected` if `called` does not accept the arguments.

    `positional` is the number of positional arguments that `called` must accept. The keyword
    arguments are the items of `offered` that `called` declares as parameters.
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
    assert spec is not None  # because the name ends in .py
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
    """Return a factory for a custom agent; `made` is the function or class of the agent.

    Error messages show `name`. `server` provides the tools for agents that have their own client.
    Raises `UsageError` if the agent cannot be called as described in this module.
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

        # An agent that returns only text does not call tools through messages.
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
    """Return the response of an agent with its own tools, and record the agent's bookings."""
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
    """Return the event loop of this process, so an agent can keep connections between turns."""
    return asyncio.new_event_loop()


def own_user(name: str, made: Callable[..., Any]) -> MakeUser:
    """Return a factory for simulated users of a custom class; error messages show `name`.

    Raises `UsageError` if the class cannot be called as described in this module.
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
    """Passes copies of agent turns to a user, and checks that the user returns text."""

    def __init__(self, user: Any) -> None:
        self._user = user

    def begin(self) -> str:
        """Return the user's first utterance.

        Raises `NotAUserError` if the utterance is not text.
        """
        return _checked_text(self._user.begin())

    def answer(self, heard: AgentTurn, /) -> str:
        """Return the user's next utterance. Raises `NotAUserError` if the utterance is not text."""
        return _checked_text(self._user.answer(deepcopy(heard)))

    @property
    def is_done(self) -> bool:
        """Whether the user has finished."""
        return bool(self._user.is_done)

    def report(self) -> Any:
        """Return the user's final report; None if the user has no method `report`.

        Raises `AnswerError` if the report is not JSON. Exceptions of the user's method are passed
        on.
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
"""A person's limits on tool rounds and tool errors, which are too high to be reached in
practice."""
LONGEST_RESULT = 2_000
"""The maximum number of characters of a tool's result that are shown."""
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
    """Raised when the person leaves: the dialogue is not counted, and the run stops."""


class Terminal:
    """A terminal: an input stream that is read by line, and an output stream for text."""

    def __init__(self, read: TextIO, show: TextIO) -> None:
        self._read = read
        self._show = show

    def show(self, text: str = "") -> None:
        """Print text of one or more lines; control characters are made visible."""
        self._show.write(printable(f"{text}\n", keep="\n"))
        self._show.flush()

    def ask(self) -> str:
        """Return the next nonempty line. Raises `LeftError` on `/quit` and at the end of input."""
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
        """Explain the available commands, and suggest a correction for an unknown one."""
        if command != "/help":
            self.show(f'unknown command "{shorten(command)}"{did_you_mean(command, known)}')
        self.show(text)


class HumanUser:
    """A person who writes to an agent, and to whom the lines of the goal are shown."""

    def __init__(self, goal: Sequence[str], terminal: Terminal) -> None:
        self._goal = "\n".join(["Your goal:", *(f"  {line}" for line in goal)])
        self._terminal = terminal
        self.is_done = False

    def begin(self) -> str:
        """Return the person's first message."""
        self._terminal.show(self._goal)
        self._terminal.show("Type `/bye` to end the dialogue, `/help` for help.")
        return self._asked()

    def answer(self, heard: AgentTurn, /) -> str:
        """Return the person's reply to a turn of the agent."""
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
    """A person who answers a user and can call the functions in `schema`.

    The object can be passed to `ToolSession` as the function `respond`.
    """

    def __init__(self, schema: Sequence[Mapping[str, Any]], terminal: Terminal) -> None:
        self._functions = {tool["function"]["name"]: tool["function"] for tool in schema}
        self._terminal = terminal
        self._has_begun = False

    def __call__(self, messages: list[Message]) -> Any:
        """Return the text or the function call that the person types."""
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
    """Return the arguments of a typed call. Raises `ValueError` if they cannot be parsed."""
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
    """Return an agent whose answers a person at the terminal writes."""
    person = HumanAgent(() if tools is None else tools.schema, Terminal(sys.stdin, sys.stderr))
    return ToolSession(person, tools, record.message, tool_rounds=MANY, tool_errors=MANY)
