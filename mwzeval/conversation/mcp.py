"""Tools for dialogues over the Model Context Protocol (MCP), on standard streams or over HTTP.

The server offers functions as MCP tools; the schema of the functions has the form used by chat
completions. The result of an invalid call is marked as an error and describes the problem, so that
a model can try again. A session is a conversation with its own tools. Over HTTP, a request names
its session in the header `Mwzeval-Session`, or as `?session=` in the address if a client cannot set
headers. If a request names no session, the server creates a session for the connection. The server
stores no state for a connection, so the number of connections is unlimited.

`mcp` and `uvicorn` are imported when a server is created.
"""

from __future__ import annotations

import json
import logging
import os
import re
import signal
import socket
import threading
from collections import Counter, OrderedDict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from datetime import datetime, timezone
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple, NoReturn
from urllib.parse import quote
from uuid import uuid4

from mwzeval.conversation.loop import result_of
from mwzeval.conversation.messages import ERROR, is_error
from mwzeval.conversation.protocols import Tools
from mwzeval.conversation.trajectory import json_line
from mwzeval.errors import MwzevalError, UsageError, shorten
from mwzeval.files.writing import named_where_unwritable
from mwzeval.libraries import required
from mwzeval.version import __version__

if TYPE_CHECKING:
    from mcp import types
    from mcp.server import Server
    from mcp.server.context import CallNext, HandlerResult, ServerRequestContext
    from starlette.types import ASGIApp, Message, Receive, Scope, Send

MOST_SESSIONS = 10_000
"""The maximum number of sessions; the least recently used session is removed if there are more."""
FIRST_CHARACTERS = 10_000
"""The number of characters read to check that an existing file is a call log."""
SESSION_KEY = "mwzeval/session"
"""The key for the session of a call, in the `_meta` of the call's result."""
_TEXT = "mwzeval/arguments"
"""The key under which the call handler receives arguments that are not a JSON object."""
_SESSION = "mwzeval.session"
"""The key for the session in the scope of an HTTP request."""
PATH = "/mcp"
HEADER = "Mwzeval-Session"
MCP_SESSION, MCP_VERSION = "mcp-session-id", "mcp-protocol-version"
LONGEST_NAME = 200
LARGEST_REQUEST = 1_000_000
"""The maximum size of a request in bytes."""
LOOPBACK = ("127.0.0.1", "localhost", "::1")
SECONDS_TO_END = 3
HOST = re.compile(r"(?P<name>\[[0-9a-f:.%]+\]|[^\s:@/\[\]]+?)\.?(?P<port>:[0-9]{1,5})?")

Call = Callable[[str, str, str], Any]
"""A function that maps the session, name and arguments (JSON text) of a call to the result."""


def check_installed() -> None:
    """Raise `DependencyError` if `mcp` is not installed."""
    required("mcp.server", "mcp", "serving tools needs mcp")


def made_up_name() -> str:
    """Return a random name for a session without a name."""
    return uuid4().hex[:16]


class CallLog:
    """A context manager that opens a log file for function calls and closes the file at the end.

    Each line is passed to the operating system before the result is sent. Several servers can write
    to one file, because each line is appended with a single system call. Raises `UsageError` if the
    file has other content, and `MwzevalError` if the file cannot be written.
    """

    def __init__(self, path: str | Path) -> None:
        self._name = shorten(str(path), 300)
        with named_where_unwritable(self._name):
            stream = self._stream = Path(path).open("ab+", buffering=0)  # noqa: SIM115 - closed on exit
            size = stream.seek(0, os.SEEK_END) if stream.seekable() else 0  # 0 for a pipe or device
            if not size:
                return
            stream.seek(0)
            first = stream.read(FIRST_CHARACTERS).partition(b"\n")[0]
            begin = b'{"session":'
            if not first.startswith(begin) and not (len(first) == size and begin.startswith(first)):
                stream.close()
                raise UsageError(f"{self._name} is not a log of calls: name another file")
            stream.seek(size - 1)
            if stream.read(1) != b"\n":  # a killed server has left an incomplete line
                self._append(b"\n")

    def add(self, session: str, number: int, name: str, arguments: str, result: Any) -> None:
        """Append a function call to the log and pass it to the operating system immediately.

        Raises `MwzevalError`.
        """
        now = datetime.now(timezone.utc).isoformat(timespec="milliseconds")
        call = {"session": session, "call": number, "name": name, "arguments": arguments}
        line = json_line({**call, "result": result, "at": now})
        with named_where_unwritable(self._name):
            # UTF-8 cannot encode lone surrogates; they are written as JSON escapes.
            self._append(line.encode("utf-8", "backslashreplace"))

    def __enter__(self) -> CallLog:
        return self

    def __exit__(self, *raised: object) -> None:
        self._stream.close()

    def _append(self, line: bytes) -> None:
        if self._stream.write(line) != len(line):
            raise OSError("a line was written only in part: check whether the disk is full")


class Sessions:
    """The sessions of a server, each with its own tools, and the log of all function calls.

    `make` returns the tools for a new session, which is created at its first call. A call in a
    session that was removed starts the session again. The counts of calls include all calls since
    the start of the server.
    """

    def __init__(
        self, make: Callable[[str], Tools], log: CallLog | None = None, most: int = MOST_SESSIONS
    ) -> None:
        self._make = make
        self._log = log
        self._most = most
        self._tools: OrderedDict[str, Tools] = OrderedDict()
        self._numbers: Counter[str] = Counter()
        self.begun = self.forgotten = self.calls = self.errors = 0

    def call(self, session: str, name: str, arguments: str) -> Any:
        """Return the result of a call with `arguments` as JSON text.

        Raises `MwzevalError` if the call cannot be logged.
        """
        if session not in self._tools:
            self.begun += 1
            if len(self._tools) >= self._most:
                del self._numbers[self._tools.popitem(last=False)[0]]
                self.forgotten += 1
            self._tools[session] = self._make(session)
        self._tools.move_to_end(session)
        result = result_of(self._tools[session], name, arguments)
        self._numbers[session] += 1
        self.calls += 1
        self.errors += is_error(result)
        if self._log is not None:
            self._log.add(session, self._numbers[session], name, arguments, result)
        return result

    def __str__(self) -> str:
        counts = f"sessions: {self.begun:,}, calls: {self.calls:,}, invalid calls: {self.errors:,}"
        return counts + (f", expired sessions: {self.forgotten:,}" if self.forgotten else "")


class ToolServer:
    """An MCP server for functions, independent of the transport.

    `schema` has the form of `Tools.schema`. `session` is the name of the session on standard input
    and output. If a call raises `MwzevalError`, the server records the error in `failure` and calls
    `stop`.
    """

    def __init__(
        self, name: str, schema: Sequence[Mapping[str, Any]], call: Call, session: str = ""
    ) -> None:
        check_installed()
        from mcp import types
        from mcp.server import Server

        self.stop: Callable[[], object] = lambda: None
        self.failure: MwzevalError | None = None
        tools = [
            types.Tool(
                name=tool["function"]["name"],
                description=tool["function"]["description"],
                input_schema=dict(tool["function"]["parameters"]),
            )
            for tool in schema
        ]

        async def list_tools(context: object, asked: object) -> types.ListToolsResult:
            return types.ListToolsResult(tools=tools)

        async def call_tool(
            context: ServerRequestContext[Any, Any], asked: types.CallToolRequestParams
        ) -> types.CallToolResult:
            arguments = asked.arguments or {}
            text = arguments[_TEXT] if arguments.keys() == {_TEXT} else _json(arguments)
            request = context.request
            caller = session if request is None else str(request.scope[_SESSION])
            try:
                result = call(caller, asked.name, text)
            except MwzevalError as error:
                self.failure = error
                self.stop()
                raise
            return types.CallToolResult(
                content=[types.TextContent(type="text", text=_json(result))],
                is_error=is_error(result),
                _meta={SESSION_KEY: caller},
            )

        self.server: Server[Any] = Server(
            name, version=__version__, on_list_tools=list_tools, on_call_tool=call_tool
        )
        self.server.middleware.append(_accepting_any_arguments)


async def _accepting_any_arguments(
    ctx: ServerRequestContext[Any, Any], call_next: CallNext
) -> HandlerResult:
    """Also pass arguments that are not an object to the handler, which then returns an error."""
    asked = ctx.params
    if ctx.method == "tools/call" and isinstance(asked, Mapping):
        arguments = asked.get("arguments")
        if not isinstance(arguments, Mapping | None):
            text = arguments if isinstance(arguments, str) else json.dumps(arguments)
            ctx = replace(ctx, params={**asked, "arguments": {_TEXT: text}})
    return await call_next(ctx)


def _json(value: Any) -> str:
    """Return a value as JSON text, without lone surrogates, which cannot be sent."""
    return json.dumps(value, ensure_ascii=False).encode(errors="replace").decode()


def serve_stdio(server: ToolServer, leave: Callable[[], int]) -> None:
    """Serve on standard input and output until the input ends, for clients that start the server.

    If the server is interrupted or stopped before the input ends, the process exits with the return
    value of `leave()`, because the thread that reads the input cannot be interrupted.
    """
    import anyio
    from mcp.server.stdio import stdio_server

    def end(*signalled: object) -> NoReturn:
        os._exit(leave())

    async def serve() -> None:
        async with stdio_server() as (reading, writing):
            options = server.server.create_initialization_options()
            await server.server.run(reading, writing, options)

    server.stop = end
    before = signal.signal(signal.SIGINT, end)
    try:
        anyio.run(serve)
    finally:
        signal.signal(signal.SIGINT, before)


class Address(NamedTuple):
    """The address of a server; port 0 selects a free port."""

    host: str = LOOPBACK[0]
    port: int = 0

    @classmethod
    def of(cls, text: str) -> Address:
        """Parse `HOST:PORT`, `HOST`, `PORT` or `[HOST]:PORT`. Raises `UsageError`."""
        if text.isdecimal():
            host, port = "", text
        elif text.count(":") > 1 and "]" not in text:
            host, port = text, ""  # an IPv6 address
        else:
            host, colon, port = text.rpartition(":")
            if not colon or port.endswith("]"):
                host, port = text, ""
        host = host.removeprefix("[").removesuffix("]")
        port = port or "0"
        if not (port.isascii() and port.isdecimal() and int(port[:6]) < 2**16):
            raise UsageError(f'an address must be HOST:PORT, HOST or PORT, not "{shorten(text)}"')
        return cls(host or LOOPBACK[0], int(port))

    def __str__(self) -> str:
        return f"[{self.host}]:{self.port}" if ":" in self.host else f"{self.host}:{self.port}"

    def listening(self) -> socket.socket:
        """Return a listening socket at this address. Raises `UsageError`."""
        try:
            family, *_, place = socket.getaddrinfo(self.host, self.port, type=socket.SOCK_STREAM)[0]
            is_both = family == socket.AF_INET6 and socket.has_dualstack_ipv6()
            return socket.create_server(place, family=family, backlog=128, dualstack_ipv6=is_both)
        except (OSError, UnicodeError, OverflowError) as error:
            reason = getattr(error, "strerror", None) or str(error)
            hint = ": choose another port, or leave it out to get a free one" if self.port else ""
            raise UsageError(f"cannot listen at {self} ({reason}){hint}") from None


class HttpServer:
    """A tool server over HTTP; `url` is its address.

    The host in a request must be the server's own host, the loopback of this machine, or one of
    `allowed_hosts`; this check protects against DNS rebinding from web pages. `default` is the
    session of requests without a session name; if `default` is None, each connection gets its own
    session.

    Raises `UsageError` if the server cannot listen at the address.
    """

    def __init__(
        self,
        tools: ToolServer,
        address: Address,
        *,
        allowed_hosts: Sequence[str] = (),
        default: str | None = None,
    ) -> None:
        import uvicorn
        from mcp.server.transport_security import TransportSecuritySettings

        self._socket = address.listening()
        self.address = address._replace(port=self._socket.getsockname()[1])
        hosts = (*LOOPBACK, self.address.host, *allowed_hosts)
        names = [f"[{host}]" if ":" in host else host for host in hosts]
        app = tools.server.streamable_http_app(
            streamable_http_path=PATH,
            json_response=True,
            stateless_http=True,
            transport_security=TransportSecuritySettings(
                allowed_hosts=[allowed for name in names for allowed in (name, f"{name}:*")],
                allowed_origins=[f"http://{name}:*" for name in names],
            ),
            max_request_body_size=LARGEST_REQUEST,
        )
        logging.getLogger("uvicorn").setLevel(logging.WARNING)
        config = uvicorn.Config(
            _named_sessions(app, default),
            loop="asyncio",
            http="h11",
            timeout_graceful_shutdown=SECONDS_TO_END,
            ws="none",
            access_log=False,
            log_config=None,
        )
        self._server = uvicorn.Server(config)
        tools.stop = self._stop
        # Clients that connect before the server is ready wait at the socket.
        self._thread = threading.Thread(target=self.serve, name="tool-server", daemon=True)

    @property
    def url(self) -> str:
        """The URL of the server."""
        return f"http://{self.address}{PATH}"

    def url_of(self, session: str) -> str:
        """Return the URL of the server for the session called `session`."""
        return f"{self.url}?session={quote(session, safe='')}"

    def serve(self) -> None:
        """Serve until the server is stopped or interrupted."""
        try:
            self._server.run(sockets=[self._socket])
        finally:
            self._socket.close()

    def start(self) -> None:
        """Start the server in a thread of its own."""
        self._thread.start()

    def close(self) -> None:
        """Stop the server, and wait for its thread."""
        self._stop()
        self._thread.join(2 * SECONDS_TO_END)

    def _stop(self) -> None:
        self._server.should_exit = True


def _named_sessions(app: ASGIApp, default: str | None) -> ASGIApp:
    """Return an application that determines the session of each request and then calls `app`."""
    from starlette.datastructures import MutableHeaders
    from starlette.requests import Request
    from starlette.responses import PlainTextResponse

    without_connection = made_up_name()

    async def named(scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await app(scope, receive, send)
            return
        headers = MutableHeaders(scope=scope)
        # Host names are case-insensitive and may end in a dot; invalid hosts are refused.
        host = HOST.fullmatch(headers.get("host", "").lower())
        headers["host"] = "?" if host is None else f"{host['name']}{host['port'] or ''}"
        if scope["path"] != PATH:
            await app(scope, receive, send)
            return
        request = Request(scope)
        if request.method != "POST":
            # GET (listen) and DELETE (end) are not supported.
            refused = PlainTextResponse("POST", status_code=405, headers={"Allow": "POST"})
            await refused(scope, receive, send)
            return
        given = headers.get(HEADER) or request.query_params.get("session") or default
        session = given or headers.get(MCP_SESSION)
        is_new = session is None and MCP_VERSION not in headers
        if session is None:  # newer versions of MCP have no connections
            session = made_up_name() if is_new else without_connection
        if len(session) > LONGEST_NAME or not session.isprintable():
            problem = f"the name of a session must have 1 to {LONGEST_NAME} printable characters\n"
            await PlainTextResponse(problem, status_code=400)(scope, receive, send)
            return

        async def with_name(message: Message) -> None:
            if message["type"] == "http.response.start":
                # The client repeats this header in each later request of the connection.
                MutableHeaders(scope=message)[MCP_SESSION] = session
            await send(message)

        scope[_SESSION] = session
        await app(scope, receive, with_name if is_new else send)

    return named


class AgentServer(HttpServer):
    """A server that provides the functions of the current dialogue to an agent with its own client.

    Each process that runs dialogues has its own server in a thread, so that calls are executed and
    recorded in the same process as the dialogue. Raises `UsageError` if the server cannot listen at
    the address.
    """

    def __init__(self, name: str, schema: Sequence[Mapping[str, Any]], address: Address) -> None:
        self._held: tuple[str, Callable[[str, str], Any]] | None = None
        super().__init__(ToolServer(name, schema, self._call), address)
        self.start()

    def hold(self, dialogue: str, execute: Callable[[str, str], Any]) -> None:
        """From now on, execute only calls of this dialogue, with `execute(name, JSON text)`."""
        self._held = dialogue, execute

    def _call(self, session: str, name: str, arguments: str) -> Any:
        held = self._held
        if held is None or held[0] != session:
            return {ERROR: f'the dialogue "{shorten(session)}" is not running'}
        return held[1](name, arguments)
