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
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from http.client import HTTPConnection, HTTPException, HTTPSConnection
from typing import NamedTuple

from mwzeval.conversation.endpoint.routes import Route, route_to

MOST_BYTES = 16_000_000
"""Of an answer; nothing that a model says is as long."""
_PART = 65_536
"""Bytes that are read at a time: a chunk of -1 bytes would be read until memory ends otherwise."""
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
            connection = self._connection(deadline, seconds)
            sock = connection.sock  # which it forgets where it ends with the answer
            with self._due.at(deadline, lambda: sock):
                found = self._answered(connection, body, headers)
            answer = found
            return answer
        except UnreachableError:
            raise
        except (NoAnswerError, OSError, HTTPException, ValueError, AttributeError) as error:
            # The last two where it is closed meanwhile. What is ended in time seems to be cut off.
            if time.monotonic() >= deadline or isinstance(error, TimeoutError):
                raise NoAnswerError(f"no answer within {seconds:g} seconds") from None
            raise NoAnswerError(_told(error)) from None
        finally:
            if answer is None:
                self._drop()

    def close(self) -> None:
        """End all requests, and allow no other."""
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
            content = bytearray()
            while part := response.read1(_PART):
                content += part
                if len(content) > MOST_BYTES:
                    raise NoAnswerError(f"an answer of more than {MOST_BYTES:,} bytes")
            if response.length:
                raise NoAnswerError("the answer was cut off")
            names = {name.lower(): value for name, value in response.getheaders()}
            return Answer(response.status, names, bytes(content))

    def _connection(self, deadline: float, seconds: float) -> HTTPConnection:
        """Return the connection of this thread, a new one where the server has ended it."""
        known: HTTPConnection | None = getattr(self._of_thread, "connection", None)
        if known is not None and known.sock is not None and _is_idle(known.sock, seconds):
            return known
        self._drop()
        new = _connection_to(self._route, self._context, seconds)
        try:
            with self._due.at(deadline, lambda: new.sock):
                _connect(new, self._route, self._context)
        except (OSError, HTTPException) as error:  # TimeoutError is one of them
            new.close()
            told = f"{_told(error)} ({self._route.place})"
            if isinstance(error, ssl.SSLCertVerificationError):
                told += "; SSL_CERT_FILE may name a file of other certificates to trust"
            raise UnreachableError(told) from None
        new.auto_open = 0  # what the server has ended is not opened again unseen
        self._of_thread.connection = new
        return new

    def _drop(self) -> None:
        connection: HTTPConnection | None = getattr(self._of_thread, "connection", None)
        if connection is not None:
            self._of_thread.connection = None
            connection.close()


class _Due:
    """Ends what takes too long as a whole: a server may send a byte now and then."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._watched: dict[Callable[[], socket.socket | None], float] = {}
        self._thread: threading.Thread | None = None
        self._closed = threading.Event()

    @contextmanager
    def at(self, deadline: float, socket_of: Callable[[], socket.socket | None]) -> Iterator[None]:
        """End the socket at the deadline, unless this is left before.

        Raises `TimeoutError` where it was ended and nothing else has come of that, such as an
        answer that seems to be whole, and `NoAnswerError` after `close`.
        """
        with self._lock:
            if self._closed.is_set():
                raise NoAnswerError("the run has ended")
            self._watched[socket_of] = deadline
            if self._thread is None:
                self._thread = threading.Thread(target=self._watch, daemon=True)
                self._thread.start()
        in_time = False
        try:
            yield
        finally:
            with self._lock:
                in_time = self._watched.pop(socket_of, None) is not None
        if not in_time:
            raise TimeoutError

    def close(self) -> None:
        """End all that is watched, and what is connected meanwhile; allow no other."""
        with self._lock:
            self._closed.set()

    def _watch(self) -> None:
        while True:
            is_closed = self._closed.wait(LATE_SECONDS)
            now = time.monotonic()
            with self._lock:
                for socket_of, deadline in list(self._watched.items()):
                    if (is_closed or deadline <= now) and _shut_down(socket_of()):
                        del self._watched[socket_of]
                if is_closed and not self._watched:
                    return
            if is_closed:  # there are some without a socket yet
                time.sleep(LATE_SECONDS)


def _connection_to(route: Route, context: ssl.SSLContext | None, seconds: float) -> HTTPConnection:
    """Return a connection to a server, or to the proxy before it, that is not open yet."""
    where = route if route.proxy is None else route.proxy
    if context is None:
        return HTTPConnection(where.host, where.port, timeout=seconds)
    connection = HTTPSConnection(where.host, where.port, timeout=seconds, context=context)
    if route.proxy is not None:
        connection.set_tunnel(route.host, route.port, dict(route.proxy.headers))
    return connection


def _connect(connection: HTTPConnection, route: Route, context: ssl.SSLContext | None) -> None:
    """Open a connection; it has its socket before anything is waited for that the server sends."""
    HTTPConnection.connect(connection)  # also where TLS follows, the socket of which it hides
    if context is not None:
        encrypted = context.wrap_socket(
            connection.sock, server_hostname=route.host, do_handshake_on_connect=False
        )
        connection.sock = encrypted
        encrypted.do_handshake()


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


def _shut_down(sock: socket.socket | None) -> bool:
    """End a socket, which wakes the thread that waits for it; return whether there was one."""
    if sock is None:
        return False
    try:
        socket.socket.shutdown(sock, socket.SHUT_RDWR)  # TLS would say goodbye first
    except OSError:
        return False
    return True


def _told(error: Exception) -> str:
    if isinstance(error, NoAnswerError):
        return str(error)
    return f"{type(error).__name__}: {error}".removesuffix(": ")
