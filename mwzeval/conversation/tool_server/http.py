"""A server of tools over HTTP (streamable), for several sessions at once.

A session is what a request names: in the header `Mwzeval-Session`, or as `?session=` of the address
where a client cannot be told headers. One that names none is given a session for its connection.
Nothing is kept of a connection, so that any number of them may come and go.
"""

from __future__ import annotations

import logging
import re
import socket
import threading
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple
from urllib.parse import quote

from mwzeval.conversation.tool_server.server import ToolServer, made_up_name
from mwzeval.errors import UsageError, shorten

if TYPE_CHECKING:
    import uvicorn
    from starlette.types import ASGIApp, Message, Receive, Scope, Send

PATH = "/mcp"
HEADER = "Mwzeval-Session"
PARAMETER = "session"
MCP_SESSION, MCP_VERSION = "mcp-session-id", "mcp-protocol-version"
LONGEST_NAME = 200
LARGEST_REQUEST = 1_000_000
"""Bytes."""
LOOPBACK = ("127.0.0.1", "localhost", "::1")
SECONDS_TO_END = 3
_NAME = "mwzeval.session"


class Address(NamedTuple):
    """Where a server listens; port 0 is one that is free."""

    host: str = LOOPBACK[0]
    port: int = 0

    @classmethod
    def of(cls, text: str) -> Address:
        """Return the address `HOST:PORT`, `HOST`, `PORT` or `[HOST]:PORT`. Raises `UsageError`."""
        host, _, port = text.rpartition(":")
        if text.isdecimal():
            host, port = "", text
        elif text.count(":") != 1 and not (host.startswith("[") and host.endswith("]")):
            host, port = text, "0"  # a name, or an address of IPv6
        host = host.removeprefix("[").removesuffix("]")
        if not (port.isascii() and port.isdecimal() and int(port[:6]) < 2**16):
            raise UsageError(f'an address is HOST:PORT, HOST or PORT, not "{shorten(text)}"')
        return cls(host or LOOPBACK[0], int(port))

    def __str__(self) -> str:
        return f"[{self.host}]:{self.port}" if ":" in self.host else f"{self.host}:{self.port}"


HOST = re.compile(r"(?P<name>\[[0-9a-f:.%]+\]|[^\s:@/\[\]]+?)\.?(?P<port>:[0-9]{1,5})?")


class HttpServer:
    """A server of tools that listens at an address; `url` says where.

    Requests have to name the host that it listens at, this machine's loopback, or one of the
    `allowed_hosts`, so that no page in a browser comes here under another name. `default` is the
    session of those that name none; None gives each connection one of its own. `make` returns the
    server from what knows the session of a request.

    Raises `UsageError` when the address cannot be listened at.
    """

    def __init__(
        self,
        make: Callable[[Callable[[Any], str]], ToolServer],
        address: Address,
        *,
        allowed_hosts: Sequence[str] = (),
        default: str | None = None,
    ) -> None:
        self.tools = make(lambda request: str(request.scope[_NAME]))
        self._socket = _listening(address)
        self.address = address._replace(port=self._socket.getsockname()[1])
        app = _app(self.tools, [self.address.host, *allowed_hosts])
        self._server = _uvicorn(_NamedSessions(app, default))
        self.tools.stop = self.stop
        self._thread: threading.Thread | None = None

    @property
    def url(self) -> str:
        """Where clients find it."""
        return f"http://{self.address}{PATH}"

    def url_of(self, session: str) -> str:
        """Return the same with the name of a session."""
        return f"{self.url}?{PARAMETER}={quote(session, safe='')}"

    def serve(self) -> None:
        """Serve until it is stopped or interrupted."""
        try:
            self._server.run(sockets=[self._socket])
        finally:
            self._socket.close()

    def start(self) -> None:
        """Serve in a thread from now on."""
        # A client that comes before it is ready waits at the socket.
        self._thread = threading.Thread(target=self.serve, name="tool-server", daemon=True)
        self._thread.start()

    def stop(self) -> None:
        """End what `serve` and `start` have begun."""
        self._server.should_exit = True

    def close(self) -> None:
        """Stop, and wait for the thread."""
        self.stop()
        if self._thread is not None:
            self._thread.join(2 * SECONDS_TO_END)


class _NamedSessions:
    """Finds the session of each request before the protocol has its turn."""

    def __init__(self, app: ASGIApp, default: str | None) -> None:
        self._app = app
        self._default = default
        self._of_no_connection = made_up_name()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "http":
            raw = [
                (name, _plain_host(value) if name == b"host" else value)
                for name, value in scope["headers"]
            ]
            scope = {**scope, "headers": raw}
        if scope["type"] != "http" or scope["path"] != PATH:
            await self._app(scope, receive, send)
            return
        from starlette.requests import Request
        from starlette.responses import PlainTextResponse

        request = Request(scope)
        if request.method != "POST":
            # There is nothing to listen to, and nothing to end.
            refused = PlainTextResponse("POST", status_code=405, headers={"Allow": "POST"})
            await refused(scope, receive, send)
            return
        headers = request.headers
        named = headers.get(HEADER) or request.query_params.get(PARAMETER) or self._default
        name = named or headers.get(MCP_SESSION)
        if name is None and MCP_VERSION in headers:  # newer clients know no connections
            name = self._of_no_connection
        if name is None:  # the client gives it back with each later request of the connection
            name = made_up_name()
            send = _with_header(send, MCP_SESSION, name)
        if len(name) > LONGEST_NAME or not name.isprintable():
            said = f"the name of a session is 1 to {LONGEST_NAME} printable characters\n"
            await PlainTextResponse(said, status_code=400)(scope, receive, send)
            return
        scope[_NAME] = name
        await self._app(scope, receive, send)


def _plain_host(value: bytes) -> bytes:
    """Return the value of a Host header in lower case and without a dot at the end of the name.

    What is no name or address, perhaps with a port, is no host, so that it is refused.
    """
    found = HOST.fullmatch(value.decode("latin-1").lower())
    return b"?" if found is None else f"{found['name']}{found['port'] or ''}".encode("latin-1")


def _with_header(send: Send, name: str, value: str) -> Send:
    async def with_header(message: Message) -> None:
        if message["type"] == "http.response.start":
            headers = [*message["headers"], (name.encode(), value.encode())]
            message = {**message, "headers": headers}
        await send(message)

    return with_header


def _app(tools: ToolServer, hosts: Sequence[str]) -> ASGIApp:
    from mcp.server.transport_security import TransportSecuritySettings

    names = [f"[{host}]" if ":" in host else host for host in (*LOOPBACK, *hosts)]
    security = TransportSecuritySettings(
        allowed_hosts=[each for name in names for each in (name, f"{name}:*")],
        allowed_origins=[f"http://{name}:*" for name in names],
    )
    return tools.server.streamable_http_app(
        streamable_http_path=PATH,
        json_response=True,
        stateless_http=True,
        transport_security=security,
        max_request_body_size=LARGEST_REQUEST,
    )


def _uvicorn(app: Any) -> uvicorn.Server:
    import uvicorn

    logging.getLogger("uvicorn").setLevel(logging.WARNING)
    config = uvicorn.Config(
        app,
        loop="asyncio",
        http="h11",
        ws="none",
        access_log=False,
        log_config=None,
        timeout_graceful_shutdown=SECONDS_TO_END,
    )
    return uvicorn.Server(config)


def _listening(address: Address) -> socket.socket:
    """Return a socket that listens. Raises `UsageError`."""
    try:
        family, kind, protocol, _, place = socket.getaddrinfo(
            address.host, address.port, type=socket.SOCK_STREAM
        )[0]
        listening = socket.socket(family, kind, protocol)
        try:
            listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            listening.bind(place)
            listening.listen(128)
        except BaseException:
            listening.close()
            raise
    except (OSError, UnicodeError, OverflowError) as error:
        reason = getattr(error, "strerror", None) or str(error)
        hint = ": choose another port, or none for one that is free" if address.port else ""
        raise UsageError(f"cannot listen at {address} ({reason}){hint}") from None
    return listening
