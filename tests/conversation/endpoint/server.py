"""A server on this machine with the API of chat completions, and with faults on request."""

from __future__ import annotations

import asyncio
import json
import socket
import threading
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
import uvicorn

Reply = Callable[[Mapping[str, Any]], Mapping[str, Any]]
"""A function that maps the body of a request to the message of the answer."""


def hello(body: Mapping[str, Any]) -> Mapping[str, Any]:
    return {"role": "assistant", "content": "hello"}


class Server:
    """An application that records all requests.

    `faults` are the faults of the requests in their order, or a function of the body; None is no
    fault. A fault is a status; a tuple of status and headers, and optionally the body; a body with
    status 200 (bytes or a value); or `reset`, `half` (of an answer) or `hang`.
    """

    def __init__(
        self,
        reply: Reply = hello,
        faults: Iterable[Any] | Callable[[Any], Any] = (),
        delay: float = 0,
    ) -> None:
        self._reply = reply
        self._faults = faults if callable(faults) else iter(faults)
        self._delay = delay
        self.bodies: list[Any] = []
        self.headers: list[Mapping[str, str]] = []
        self.paths: list[str] = []
        self.port = 0

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}/v1"

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        raw, is_more = b"", True
        while is_more:
            message = await receive()
            raw += message.get("body", b"")
            is_more = message.get("more_body", False)
        body = json.loads(raw)
        self.bodies.append(body)
        self.paths.append(scope["path"])
        self.headers.append({name.decode(): value.decode() for name, value in scope["headers"]})
        fault = self._faults(body) if callable(self._faults) else next(self._faults, None)
        await asyncio.sleep(self._delay)
        match fault:
            case None:
                await _send(send, 200, completion(self._reply(body)))
            case "reset":
                send.__self__.transport.abort()
            case "half":
                start = {"type": "http.response.start", "status": 200}
                await send({**start, "headers": [(b"content-length", b"1000")]})
                await send({"type": "http.response.body", "body": b'{"choi', "more_body": True})
                send.__self__.transport.close()
            case "hang":
                await receive()  # until the client closes the connection
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
    """Run a server in a thread; `certificate` is a file with a certificate and its key, for TLS."""
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
    """Repeat requests almost immediately."""
    for name, seconds in (("SHORTEST", 0.001), ("LONGEST", 0.01)):
        monkeypatch.setattr(f"mwzeval.conversation.completions.{name}", seconds)
