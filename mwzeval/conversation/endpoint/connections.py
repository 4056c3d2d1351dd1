"""Requests over connections that stay open: one for each thread, and one request at a time.

With 64 requests at a time that take 20 ms each there are 0.3 ms for all that a request takes here;
`httpx` takes 0.5 with a client for each thread, 1.7 with a common one, 4 with an event loop in a
thread of its own. Threads wait for each other whenever one of them calls the system, so there are
as few calls as can be.
"""

from __future__ import annotations

import select
import socket
import ssl
import threading
import time
from collections.abc import Callable, Mapping
from contextlib import suppress
from functools import partial
from typing import TypeVar

from mwzeval.conversation.endpoint.responses import (
    Answer,
    BrokenAnswerError,
    Incoming,
    read_answer,
    read_head,
)
from mwzeval.conversation.endpoint.routes import Route, route_to

_QUICK: int | None = getattr(socket, "TCP_QUICKACK", None)
"""Lets the system confirm at once what comes. Many servers send headers and body as two packets,
the second only when the first is confirmed (Nagle), which takes 40 ms otherwise. It wears off."""
_MOST_AT_ONCE = 262_144
_T = TypeVar("_T")


class NoAnswerError(Exception):
    """A request that was not answered as a whole, for whatever reason."""


class UnreachableError(NoAnswerError):
    """There is no connection to the server."""


class Connections:
    """Connections to the server of a URL, which has no characters but those of ASCII.

    `close` ends all requests that are being answered, in whatever thread, and allows no other.
    """

    def __init__(self, url: str) -> None:
        self._route = route_to(url)
        netloc = url.split("/")[2]
        self._begin = f"POST {self._route.target} HTTP/1.1\r\nHost: {netloc}\r\n"
        if self._route.proxy is not None and not self._route.is_encrypted:
            self._begin += _lines(self._route.proxy.headers)
        self._context = ssl.create_default_context() if self._route.is_encrypted else None
        self._of_thread = threading.local()
        self._open: set[_Connection] = set()
        self._lock = threading.Lock()
        self._is_closed = False

    @property
    def secrets(self) -> tuple[str, ...]:
        """Words of the proxy's that no text may have."""
        return self._route.secrets

    def post(self, body: bytes, headers: Mapping[str, str], seconds: float) -> Answer:
        """Return the answer to a request, whatever its status.

        Raises `UnreachableError` when there is no connection, and `NoAnswerError` when there is no
        answer, or only a part of it, after so many seconds.
        """
        deadline = time.monotonic() + seconds
        head = f"{self._begin}{_lines(headers)}Content-Length: {len(body)}\r\n\r\n"
        is_whole = False
        try:
            connection = self._connection(deadline)
            connection.send(head.encode("ascii") + body, deadline)
            answer, is_whole = connection.answer(deadline)
            return answer
        except TimeoutError:
            raise NoAnswerError(f"no answer within {seconds:g} seconds") from None
        except BrokenAnswerError as error:
            raise NoAnswerError(str(error)) from None
        except (OSError, ValueError) as error:  # the last for what is closed meanwhile
            raise NoAnswerError(_told(error)) from None
        finally:
            if not is_whole:
                self._drop()

    def close(self) -> None:
        """End all requests, and allow no other."""
        with self._lock:
            self._is_closed = True
            for connection in self._open:
                connection.shut_down()

    def _connection(self, deadline: float) -> _Connection:
        """Return the connection of this thread, a new one where the server has ended it."""
        known: _Connection | None = getattr(self._of_thread, "connection", None)
        if known is not None and known.is_idle:
            return known
        self._drop()
        try:
            new = _Connection(_connected(self._route, self._context, deadline))
        except (OSError, BrokenAnswerError) as error:  # TimeoutError is one of them
            told = f"{_told(error)} ({self._route.place})"
            if isinstance(error, ssl.SSLCertVerificationError):
                told += "; SSL_CERT_FILE may name a file of other certificates to trust"
            raise UnreachableError(told) from None
        with self._lock:
            if self._is_closed:
                new.close()
                raise NoAnswerError("the run has ended")
            self._open.add(new)
        self._of_thread.connection = new
        return new

    def _drop(self) -> None:
        connection: _Connection | None = getattr(self._of_thread, "connection", None)
        if connection is not None:
            self._of_thread.connection = None
            with self._lock:
                self._open.discard(connection)
            connection.close()


class _Connection:
    """A connection whose calls return at once, or wait until a deadline."""

    def __init__(self, sock: socket.socket) -> None:
        sock.setblocking(False)
        self._socket = sock

    @property
    def is_idle(self) -> bool:
        """Whether it waits for a request: nothing comes from it, nor its end."""
        return not _is_ready(self._socket, 0)

    def send(self, data: bytes, deadline: float) -> None:
        """Send all of it. Raises `OSError`, `TimeoutError` at the deadline."""
        left = memoryview(data)
        while left:
            left = left[self._tried(partial(self._socket.send, left), deadline, True) or 0 :]

    def answer(self, deadline: float) -> tuple[Answer, bool]:
        """Return an answer as `read_answer` does. Raises `OSError`, `TimeoutError`."""
        _wait(self._socket, deadline)  # there is none yet
        return read_answer(Incoming(lambda: self._receive(deadline)))

    def shut_down(self) -> None:
        """End it; this wakes the thread that waits for it."""
        with suppress(OSError):
            socket.socket.shutdown(self._socket, socket.SHUT_RDWR)  # TLS would say goodbye first

    def close(self) -> None:
        """Close it."""
        self._socket.close()

    def _receive(self, deadline: float) -> bytes:
        if _QUICK is not None:
            self._socket.setsockopt(socket.IPPROTO_TCP, _QUICK, 1)
        receive = partial(self._socket.recv, _MOST_AT_ONCE)
        while (part := self._tried(receive, deadline)) is None:
            pass
        return part

    def _tried(self, call: Callable[[], _T], deadline: float, sends: bool = False) -> _T | None:
        """Return what a call gives, or None after waiting until it may give something."""
        try:
            return call()
        except (BlockingIOError, ssl.SSLWantReadError, ssl.SSLWantWriteError) as error:
            if isinstance(error, ssl.SSLError):  # which may want the other
                sends = isinstance(error, ssl.SSLWantWriteError)
        _wait(self._socket, deadline, sends)
        return None


def _connected(route: Route, context: ssl.SSLContext | None, deadline: float) -> socket.socket:
    """Return a connection to a server, whatever is on the way. Raises `OSError`."""
    where = route if route.proxy is None else route.proxy
    sock = socket.create_connection((where.host, where.port), _left(deadline))
    try:
        sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        if context is not None:
            if route.proxy is not None:
                headers = {"Host": route.authority, **route.proxy.headers}
                ask = f"CONNECT {route.authority} HTTP/1.1\r\n{_lines(headers)}\r\n"
                sock.sendall(ask.encode("ascii"))
                # Byte by byte: what comes afterwards is not the proxy's.
                status, _, _ = read_head(Incoming(lambda: sock.recv(1)))
                if status // 100 != 2:
                    raise OSError(f"the proxy answers {status}")
            sock.settimeout(_left(deadline))
            return context.wrap_socket(sock, server_hostname=route.host)
    except BaseException:
        sock.close()
        raise
    return sock


def _left(deadline: float) -> float:
    return max(0.001, deadline - time.monotonic())


def _wait(sock: socket.socket, deadline: float, to_send: bool = False) -> None:
    """Return when something comes, or can be sent. Raises `TimeoutError` at the deadline."""
    left = deadline - time.monotonic()
    if left <= 0 or not _is_ready(sock, left, to_send):
        raise TimeoutError


def _is_ready(sock: socket.socket, seconds: float, to_send: bool = False) -> bool:
    """Tell whether something comes, or can be sent, within so many seconds."""
    if not hasattr(select, "poll"):  # Windows, where `select` takes any socket
        readable, writable, _ = select.select(
            [] if to_send else [sock], [sock] if to_send else [], [], seconds
        )
        return bool(readable or writable)
    poll = select.poll()
    poll.register(sock, select.POLLOUT if to_send else select.POLLIN)
    return bool(poll.poll(1000 * seconds))


def _lines(headers: Mapping[str, str]) -> str:
    return "".join(f"{name}: {value}\r\n" for name, value in headers.items())


def _told(error: Exception) -> str:
    if isinstance(error, BrokenAnswerError):
        return str(error)
    return f"{type(error).__name__}: {error}".removesuffix(": ")
