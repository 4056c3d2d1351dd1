"""The tools of a live dialogue, for an agent that calls them with a client of its own.

Each process that holds dialogues has a server of its own, in a thread, so that a call is executed
and recorded where the dialogue is: nothing has to be brought together later.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from mwzeval.conversation.tool_server.http import Address, HttpServer
from mwzeval.conversation.tool_server.server import ToolServer
from mwzeval.conversation.tool_session import ERROR
from mwzeval.errors import shorten

Execute = Callable[[str, str], Any]
"""Returns the result of a call from the name and the JSON text of the arguments."""


class AgentServer:
    """Serves functions of the dialogue that is held now, from its making on.

    `schema` is as of `Tools`. Raises `UsageError` when the address cannot be listened at.
    """

    def __init__(self, name: str, schema: Sequence[Mapping[str, Any]], address: Address) -> None:
        self._held: tuple[str, Execute] | None = None
        self._server = HttpServer(
            lambda session_of: ToolServer(name, schema, self._call, session_of), address
        )
        self._server.start()

    def url_of(self, dialogue: str) -> str:
        """Return where the functions of a dialogue are called."""
        return self._server.url_of(dialogue)

    def hold(self, dialogue: str, execute: Execute) -> None:
        """Let calls of a dialogue be executed, and of no other."""
        self._held = dialogue, execute

    def close(self) -> None:
        """End the server."""
        self._server.close()

    def _call(self, session: str, name: str, arguments: str) -> Any:
        held = self._held
        if held is None or held[0] != session:
            return {ERROR: f'the dialogue "{shorten(session)}" is not held now'}
        return held[1](name, arguments)
