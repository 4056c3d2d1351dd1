"""The conversations that a server of tools is called in, by name."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from mwzeval.conversation.protocols import Tools
from mwzeval.conversation.tool_server.call_log import CallLog
from mwzeval.conversation.tool_session import is_error, result_of

MOST_SESSIONS = 10_000
"""So many are remembered; of more, those that were called least recently are forgotten."""


@dataclass(slots=True)
class _Session:
    tools: Tools
    calls: int = 0


class Sessions:
    """Tools for each session, made when it is first called, and the log of all calls.

    `make` returns the tools of a session. One that is forgotten begins anew when it is called
    again. The counts are of the whole life of the server.
    """

    def __init__(
        self, make: Callable[[str], Tools], log: CallLog | None = None, most: int = MOST_SESSIONS
    ) -> None:
        self._make = make
        self._log = log
        self._most = most
        self._sessions: OrderedDict[str, _Session] = OrderedDict()
        self.begun = self.forgotten = self.calls = self.errors = 0

    def call(self, session: str, name: str, arguments: str) -> Any:
        """Return the result of a call, of which the arguments are JSON text.

        Raises `MwzevalError` when it cannot be logged.
        """
        called = self._session(session)
        result = result_of(called.tools, name, arguments)
        called.calls += 1
        self.calls += 1
        self.errors += is_error(result)
        if self._log is not None:
            self._log.add(session, called.calls, name, arguments, result)
        return result

    def __str__(self) -> str:
        counts = f"sessions: {self.begun:,}, calls: {self.calls:,}, wrong ones: {self.errors:,}"
        return counts + (f", forgotten sessions: {self.forgotten:,}" if self.forgotten else "")

    def _session(self, name: str) -> _Session:
        known = self._sessions.get(name)
        if known is not None:
            self._sessions.move_to_end(name)
            return known
        self.begun += 1
        if len(self._sessions) >= self._most:
            self._sessions.popitem(last=False)
            self.forgotten += 1
        made = self._sessions[name] = _Session(self._make(name))
        return made
