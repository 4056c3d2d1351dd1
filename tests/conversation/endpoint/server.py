"""A real server on this machine that speaks chat completions, and fails when it is told to."""

from __future__ import annotations

import asyncio
import json
import socket
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
import uvicorn

Reply = Callable[[Mapping[str, Any]], Mapping[str, Any]]
"""Returns the message to the body of a request, or the whole answer with its `choices`."""
CONTEXT = "This model's maximum context length is 4096 tokens. However, you requested 5000 tokens."


def hello(body: Mapping[str, Any]) -> Mapping[str, Any]:
    return {"role": "assistant", "content": "hello"}


class Server:
    """The application. `faults` are what becomes of the requests, in the order in which they come,
    or a function of their bodies; afterwards, and where it is None, they are answered.

    A fault is a status, a pair of a status and headers, a value that is the whole answer, bytes of
    the same, or one of `reset`, `half`, `slow`, `drip`. All requests are kept.
    """

    def __init__(
        self,
        reply: Reply = hello,
        faults: Sequence[Any] | Callable[[Any], Any] = (),
        delay: float = 0,
    ) -> None:
        self.reply = reply
        self._waiting = [] if callable(faults) else list(faults)
        self._faults = faults if callable(faults) else None
        self.delay = delay
        self.bodies: list[Any] = []
        self.headers: list[Mapping[str, str]] = []
        self.paths: list[str] = []
        self.at_once = self.most_at_once = 0
        self.port = 0
        self.hangs = threading.Event()
        """Is set when as many requests hang as are to."""
        self._hang_after: int | None = None
        self._hang_until = self._hanging = 0

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}/v1"

    def hang(self, after: int, until: int) -> None:
        """Let all requests after so many hang, and tell when there are so many of these."""
        self.hangs.clear()
        self._hanging, self._hang_until, self._hang_after = 0, until, after

    def go_on(self) -> None:
        """End the requests that hang, and answer those that come."""
        self._hang_after = None

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        assert scope["type"] == "http"
        self.at_once += 1
        self.most_at_once = max(self.most_at_once, self.at_once)
        try:
            await self._answer(scope, receive, send)
        finally:
            self.at_once -= 1

    async def _answer(self, scope: Any, receive: Any, send: Any) -> None:
        raw = b""
        more = True
        while more:
            message = await receive()
            raw += message.get("body", b"")
            more = message.get("more_body", False)
        body = json.loads(raw)
        self.bodies.append(body)
        if self._hang_after is not None and len(self.bodies) > self._hang_after:
            self._hanging += 1
            if self._hanging == self._hang_until:
                self.hangs.set()
            while self._hang_after is not None:
                await asyncio.sleep(0.01)
            send.__self__.transport.abort()
            return
        self.paths.append(scope["path"])
        self.headers.append({name.decode(): value.decode() for name, value in scope["headers"]})
        if self._faults is not None:
            fault = self._faults(body)
        else:
            fault = self._waiting.pop(0) if self._waiting else None
        if self.delay:
            await asyncio.sleep(self.delay)
        match fault:
            case None:
                value = self.reply(body)
                await _send(send, 200, value if "choices" in value else completion(value))
            case "reset":
                send.__self__.transport.abort()
            case "half":
                start = {"type": "http.response.start", "status": 200}
                await send({**start, "headers": [(b"content-length", b"1000")]})
                await send({"type": "http.response.body", "body": b'{"choi', "more_body": True})
                send.__self__.transport.close()
            case "slow" | "drip":
                start = {"type": "http.response.start", "status": 200, "headers": []}
                await send(start)
                for _ in range(100 if fault == "drip" else 1):
                    await send({"type": "http.response.body", "body": b" ", "more_body": True})
                    await asyncio.sleep(0.02 if fault == "drip" else 2)
            case int():
                await _send(send, fault, {"error": {"message": f"fault {fault}"}})
            case (int() as status, headers):
                await _send(send, status, {"error": {"message": f"fault {status}"}}, headers)
            case (int() as status, headers, value):
                await _send(send, status, value, headers)
            case _:
                await _send(send, 200, fault)


def completion(message: Mapping[str, Any], **more: Any) -> dict[str, Any]:
    usage = {"prompt_tokens": 7, "completion_tokens": 3, "total_tokens": 10}
    choice = {"index": 0, "finish_reason": "stop", "message": message}
    return {"object": "chat.completion", "choices": [choice], "usage": usage, **more}


async def _send(
    send: Any, status: int, value: Any, headers: Mapping[str, str] | None = None
) -> None:
    body = value if isinstance(value, bytes) else json.dumps(value).encode()
    raw = {"content-type": "application/json", "content-length": str(len(body)), **(headers or {})}
    pairs = [(name.encode(), text.encode()) for name, text in raw.items()]
    await send({"type": "http.response.start", "status": status, "headers": pairs})
    await send({"type": "http.response.body", "body": body})


@contextmanager
def serving(server: Server, certificate: Path | None = None) -> Iterator[Server]:
    """Let a server answer, in a thread of its own, on a port that is free.

    With a certificate (a file that has its key, too) it speaks TLS.
    """
    with socket.create_server(("127.0.0.1", 0), backlog=512) as listening:
        server.port = listening.getsockname()[1]
        config = uvicorn.Config(
            server,
            http="h11",
            lifespan="off",
            log_level="critical",
            access_log=False,
            timeout_graceful_shutdown=0,
            ssl_certfile=certificate,
        )
        running = uvicorn.Server(config)
        thread = threading.Thread(target=running.run, kwargs={"sockets": [listening]}, daemon=True)
        thread.start()
        try:
            yield server
        finally:
            running.should_exit = True
            thread.join(10)


def shorten_waits(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let requests be made again at once: this changes nothing but how long a test takes."""
    for name, seconds in (("SHORTEST", 0.001), ("LONGEST", 0.01)):
        monkeypatch.setattr(f"mwzeval.conversation.completions.{name}", seconds)
