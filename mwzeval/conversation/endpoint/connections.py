"""Requests over connections that stay open: one for each thread, and one request at a time.

The standard library does this with 0.16 ms of computing a request; `httpx` takes 0.5 with a client
for each thread, 1.7 with a common one, 4 with an event loop in a thread of its own. With 64
requests at a time that take 20 ms each there are 0.3 for all that is to be done.
"""

from __future__ import annotations

import io
import socket
import ssl
import threading
import time
from collections.abc import Mapping
from contextlib import suppress
from http.client import HTTPException, HTTPResponse
from typing import Any, NamedTuple
from urllib.parse import urlsplit

MOST_BYTES = 16_000_000
"""Of an answer; nothing that a model says is as long."""

_QUICK: int | None = getattr(socket, "TCP_QUICKACK", None)
"""Lets the system confirm at once what comes. Many servers send headers and body as two packets,
the second only when the first is confirmed (Nagle), which takes 40 ms otherwise. It wears off."""


class Answer(NamedTuple):
    """What a server answers; names of headers are in lower case."""

    status: int
    headers: Mapping[str, str]
    body: bytes


class NoAnswerError(Exception):
    """A request that was not answered as a whole, for whatever reason."""


class Connections:
    """Connections to the server of a URL, which has no characters but those of ASCII.

    `close` ends all requests that are being answered, in whatever thread, and allows no other.
    """

    def __init__(self, url: str) -> None:
        parts = urlsplit(url)
        self._host = str(parts.hostname)
        self._port = parts.port or (443 if parts.scheme == "https" else 80)
        path = f"{parts.path}?{parts.query}" if parts.query else parts.path
        self._begin = f"POST {path} HTTP/1.1\r\nHost: {parts.netloc}\r\n"
        self._context = ssl.create_default_context() if parts.scheme == "https" else None
        self._of_thread = threading.local()
        self._open: set[socket.socket] = set()
        self._lock = threading.Lock()
        self._is_closed = False

    def post(self, body: bytes, headers: Mapping[str, str], seconds: float) -> Answer:
        """Return the answer to a request, whatever its status.

        Raises `NoAnswerError` when there is none, or only a part, after so many seconds.
        """
        deadline = time.monotonic() + seconds
        lines = [f"{name}: {value}\r\n" for name, value in headers.items()]
        head = f"{self._begin}{''.join(lines)}Content-Length: {len(body)}\r\n\r\n"
        is_whole = False
        try:
            sock = self._socket(seconds)
            sock.settimeout(seconds)
            sock.sendall(head.encode("ascii") + body)
            answer, stays_open = _received(sock, deadline)
            is_whole = stays_open
            return answer
        except TimeoutError:
            raise NoAnswerError(f"no answer within {seconds:g} seconds") from None
        except (OSError, HTTPException, ValueError) as error:
            # The last for lengths that are no numbers, and sockets that are closed meanwhile.
            raise NoAnswerError(f"{type(error).__name__}: {error}") from None
        finally:
            if not is_whole:
                self._drop()

    def close(self) -> None:
        """End all requests, and allow no other."""
        with self._lock:
            self._is_closed = True
            for sock in self._open:  # this wakes the thread that waits for it
                with suppress(OSError):
                    socket.socket.shutdown(sock, socket.SHUT_RDWR)

    def _socket(self, seconds: float) -> socket.socket:
        """Return the connection of this thread, a new one where the server has ended it."""
        known: socket.socket | None = getattr(self._of_thread, "socket", None)
        if known is not None and _is_idle(known):
            return known
        self._drop()
        new = socket.create_connection((self._host, self._port), seconds)
        try:
            new.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            if self._context is not None:
                new = self._context.wrap_socket(new, server_hostname=self._host)
            with self._lock:
                if self._is_closed:
                    raise NoAnswerError("the run has ended")
                self._open.add(new)
        except BaseException:
            new.close()
            raise
        self._of_thread.socket = new
        return new

    def _drop(self) -> None:
        sock = getattr(self._of_thread, "socket", None)
        if sock is not None:
            self._of_thread.socket = None
            with self._lock:
                self._open.discard(sock)
            sock.close()


def _received(sock: socket.socket, deadline: float) -> tuple[Answer, bool]:
    """Return the answer, and whether the connection stays open."""
    timed: Any = _TimedSocket(sock, deadline)
    response = HTTPResponse(timed, method="POST")
    try:
        response.begin()
        content = response.read(MOST_BYTES + 1)
        if len(content) > MOST_BYTES:
            raise NoAnswerError(f"an answer of more than {MOST_BYTES:,} bytes")
        if response.length:
            raise NoAnswerError("the answer was cut off")
        headers = {name.lower(): value for name, value in response.getheaders()}
        return Answer(response.status, headers, content), not response.will_close
    finally:
        response.close()


def _is_idle(sock: socket.socket) -> bool:
    """Tell whether a connection waits for a request: nothing comes from it, nor its end."""
    sock.settimeout(0)
    try:
        socket.socket.recv(sock, 1, socket.MSG_PEEK)  # that of the class: TLS knows no such flag
    except BlockingIOError:
        return True
    except OSError:
        return False
    return False


class _Timed(io.RawIOBase):
    """What comes from a socket until a deadline; a server may send a byte now and then."""

    def __init__(self, sock: socket.socket, deadline: float) -> None:
        self._sock = sock
        self._deadline = deadline

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any, /) -> int:
        left = self._deadline - time.monotonic()
        if left <= 0:
            raise TimeoutError
        self._sock.settimeout(left)
        if _QUICK is not None:
            self._sock.setsockopt(socket.IPPROTO_TCP, _QUICK, 1)
        return self._sock.recv_into(buffer)


class _TimedSocket:
    """As much of a socket as a response wants."""

    def __init__(self, sock: socket.socket, deadline: float) -> None:
        self._sock, self._deadline = sock, deadline

    def makefile(self, mode: str) -> io.BufferedReader:
        return io.BufferedReader(_Timed(self._sock, self._deadline))
