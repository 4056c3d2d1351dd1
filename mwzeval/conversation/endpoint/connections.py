"""Requests over connections that stay open: one for each thread, and one request at a time.

The standard library does this with 0.2 ms of computing a request when 64 threads ask at a time;
`urllib3` takes 0.5, `httpx` 1.3 with a client for each thread, 1.9 with a common one, and 4 with an
event loop.
"""

from __future__ import annotations

import socket
import ssl
import threading
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from http.client import HTTPConnection, HTTPException, HTTPSConnection
from typing import NamedTuple

from mwzeval.conversation.endpoint.routes import Route, route_to

MOST_BYTES = 16_000_000
"""Of an answer; nothing that a model says is as long."""
LATE_SECONDS = 0.2
"""How much later than it is due a request may be ended."""
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


class UnreachableError(NoAnswerError):
    """There is no connection to the server."""


class Connections:
    """Connections to the server of a URL, which has no characters but those of ASCII.

    `close` ends all requests that are being answered, in whatever thread, and allows no other.
    """

    def __init__(self, url: str) -> None:
        self._route = route_to(url)
        self._context = ssl.create_default_context() if self._route.is_encrypted else None
        self._of_thread = threading.local()
        self._open: set[HTTPConnection] = set()
        self._lock = threading.Lock()
        self._is_closed = False
        self._due = _Due()

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
        answer = None
        try:
            connection = self._connection(seconds)
            with self._due.at(deadline, connection):
                answer = self._answered(connection, body, headers)
            return answer
        except (OSError, HTTPException, ValueError, AttributeError) as error:
            # The last two where it is closed meanwhile.
            if time.monotonic() >= deadline or isinstance(error, TimeoutError):
                raise NoAnswerError(f"no answer within {seconds:g} seconds") from None
            raise NoAnswerError(_told(error)) from None
        finally:
            if answer is None:
                self._drop()

    def close(self) -> None:
        """End all requests, and allow no other."""
        with self._lock:
            self._is_closed = True
            for connection in self._open:
                _shut_down(connection)
        self._due.close()

    def _answered(
        self, connection: HTTPConnection, body: bytes, headers: Mapping[str, str]
    ) -> Answer:
        proxy = None if self._route.is_encrypted else self._route.proxy
        more = {} if proxy is None else proxy.headers
        connection.request("POST", self._route.target, body, {**headers, **more})
        if _QUICK is not None:
            connection.sock.setsockopt(socket.IPPROTO_TCP, _QUICK, 1)
        with connection.getresponse() as response:
            content = response.read(MOST_BYTES + 1)
            if len(content) > MOST_BYTES:
                raise NoAnswerError(f"an answer of more than {MOST_BYTES:,} bytes")
            if response.length:
                raise NoAnswerError("the answer was cut off")
            names = {name.lower(): value for name, value in response.getheaders()}
            return Answer(response.status, names, content)

    def _connection(self, seconds: float) -> HTTPConnection:
        """Return the connection of this thread, a new one where the server has ended it."""
        known: HTTPConnection | None = getattr(self._of_thread, "connection", None)
        if known is not None and known.sock is not None and _is_idle(known.sock, seconds):
            return known
        self._drop()
        new = _connection_to(self._route, self._context, seconds)
        try:
            new.connect()
        except (OSError, HTTPException) as error:  # TimeoutError is one of them
            new.close()
            told = f"{_told(error)} ({self._route.place})"
            if isinstance(error, ssl.SSLCertVerificationError):
                told += "; SSL_CERT_FILE may name a file of other certificates to trust"
            raise UnreachableError(told) from None
        new.auto_open = 0  # what the server has ended is not opened again unseen
        with self._lock:
            if self._is_closed:
                new.close()
                raise NoAnswerError("the run has ended")
            self._open.add(new)
        self._of_thread.connection = new
        return new

    def _drop(self) -> None:
        connection: HTTPConnection | None = getattr(self._of_thread, "connection", None)
        if connection is not None:
            self._of_thread.connection = None
            with self._lock:
                self._open.discard(connection)
            connection.close()


class _Due:
    """Ends requests that take too long as a whole: a server may send a byte now and then."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._deadlines: dict[HTTPConnection, float] = {}
        self._thread: threading.Thread | None = None
        self._closed = threading.Event()

    @contextmanager
    def at(self, deadline: float, connection: HTTPConnection) -> Iterator[None]:
        """End the connection at the deadline, unless this is left before."""
        with self._lock:
            self._deadlines[connection] = deadline
            if self._thread is None:
                self._thread = threading.Thread(target=self._watch, daemon=True)
                self._thread.start()
        try:
            yield
        finally:
            with self._lock:
                del self._deadlines[connection]

    def close(self) -> None:
        """Watch no longer."""
        self._closed.set()

    def _watch(self) -> None:
        while not self._closed.wait(LATE_SECONDS):
            now = time.monotonic()
            with self._lock:
                for connection, deadline in self._deadlines.items():
                    if deadline <= now:
                        _shut_down(connection)


def _connection_to(route: Route, context: ssl.SSLContext | None, seconds: float) -> HTTPConnection:
    """Return a connection to a server, or to the proxy before it, that is not open yet."""
    where = route if route.proxy is None else route.proxy
    if context is None:
        return HTTPConnection(where.host, where.port, timeout=seconds)
    connection = HTTPSConnection(where.host, where.port, timeout=seconds, context=context)
    if route.proxy is not None:
        connection.set_tunnel(route.host, route.port, dict(route.proxy.headers))
    return connection


def _is_idle(sock: socket.socket, seconds: float) -> bool:
    """Tell whether a connection waits for a request: nothing comes from it, nor its end."""
    sock.settimeout(0)
    try:
        socket.socket.recv(sock, 1, socket.MSG_PEEK)  # that of the class: TLS knows no such flag
    except BlockingIOError:
        return True
    except OSError:
        return False
    finally:
        sock.settimeout(seconds)
    return False


def _shut_down(connection: HTTPConnection) -> None:
    """End a connection; this wakes the thread that waits for it."""
    sock = connection.sock
    if sock is not None:
        with suppress(OSError):
            socket.socket.shutdown(sock, socket.SHUT_RDWR)  # TLS would say goodbye first


def _told(error: Exception) -> str:
    return f"{type(error).__name__}: {error}".removesuffix(": ")
