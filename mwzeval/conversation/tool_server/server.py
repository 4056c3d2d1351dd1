"""Functions in the form of chat completions as tools of the Model Context Protocol (MCP).

What is wrong with a call is a result that says so, and marked as an error: models read that and try
again. `mcp` is imported when a server is made.
"""

from __future__ import annotations

import json
import os
import signal
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any, NoReturn
from uuid import uuid4

from mwzeval.conversation.tool_session import is_error
from mwzeval.errors import MwzevalError
from mwzeval.libraries import required
from mwzeval.version import __version__

if TYPE_CHECKING:
    from mcp import types
    from mcp.server import Server
    from mcp.server.context import CallNext, HandlerResult, ServerRequestContext

EXTRA = "mcp"
SESSION_KEY = "mwzeval/session"
"""Under which `_meta` of a result says which session the call was of."""
CALL = "tools/call"
_TEXT = "mwzeval/arguments"
"""Under which the handler finds arguments that are no object."""

Call = Callable[[str, str, str], Any]
"""Returns the result of a call from session, name and the JSON text of the arguments."""


def check_installed() -> None:
    """Raise `DependencyError` where the package is missing."""
    required("mcp.server", EXTRA, "serving tools needs mcp")


def made_up_name() -> str:
    """Return a name for a session that nobody has named."""
    return uuid4().hex[:16]


class ToolServer:
    """Serves functions; a transport carries it.

    `schema` is as of `Tools`. `session_of` returns the session of a request, which is None where
    the transport has none. When a call raises `MwzevalError`, the server cannot go on: `failure` is
    set, and the transport is told to `stop`.
    """

    def __init__(
        self,
        name: str,
        schema: Sequence[Mapping[str, Any]],
        call: Call,
        session_of: Callable[[Any], str],
    ) -> None:
        check_installed()
        from mcp import types
        from mcp.server import Server

        self._call = call
        self._session_of = session_of
        self._types = types
        self._tools = [
            types.Tool(
                name=tool["function"]["name"],
                description=tool["function"]["description"],
                input_schema=dict(tool["function"]["parameters"]),
            )
            for tool in schema
        ]
        self.stop: Callable[[], object] = lambda: None
        self.failure: MwzevalError | None = None
        self.server: Server[Any] = Server(
            name, version=__version__, on_list_tools=self._listed, on_call_tool=self._called
        )
        self.server.middleware.append(self._accepting_any_arguments)

    async def _listed(self, context: object, asked: object) -> types.ListToolsResult:
        return self._types.ListToolsResult(tools=self._tools)

    async def _accepting_any_arguments(
        self, ctx: ServerRequestContext[Any, Any], call_next: CallNext
    ) -> HandlerResult:
        """Let arguments that are no object come to the handler, which tells the agent."""
        asked = ctx.params
        if ctx.method == CALL and isinstance(asked, Mapping):
            arguments = asked.get("arguments")
            if not isinstance(arguments, Mapping | None):
                text = arguments if isinstance(arguments, str) else json.dumps(arguments)
                ctx = replace(ctx, params={**asked, "arguments": {_TEXT: text}})
        return await call_next(ctx)

    async def _called(
        self, context: ServerRequestContext[Any, Any], asked: types.CallToolRequestParams
    ) -> types.CallToolResult:
        arguments = asked.arguments or {}
        text = _json(arguments)
        if arguments.keys() == {_TEXT}:
            text = arguments[_TEXT]
        session = self._session_of(context.request)
        try:
            result = self._call(session, asked.name, text)
        except MwzevalError as error:
            self.failure = error
            self.stop()
            raise
        return self._types.CallToolResult(
            content=[self._types.TextContent(type="text", text=_json(result))],
            is_error=is_error(result),
            _meta={SESSION_KEY: session},
        )


def serve_stdio(server: ToolServer, leave: Callable[[], int]) -> None:
    """Serve on standard input and output until the input ends: for a client that starts a server.

    Where the server is interrupted or stopped before, `leave` is called, and the process ends with
    the exit code that it returns: the thread that waits for input can be woken by input only.
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


def _json(value: Any) -> str:
    """Return the JSON text of a value, without lone surrogates, which cannot be sent."""
    return json.dumps(value, ensure_ascii=False).encode(errors="replace").decode()
