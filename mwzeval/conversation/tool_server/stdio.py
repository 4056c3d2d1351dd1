"""A server of tools on standard input and output, for a client that starts it: one session."""

from __future__ import annotations

import os
import signal
from collections.abc import Callable
from typing import NoReturn

from mwzeval.conversation.tool_server.server import ToolServer


def serve_stdio(server: ToolServer, leave: Callable[[], int]) -> None:
    """Serve until standard input ends.

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
