"""Requests over connections that stay open; each ends in time, whatever a server sends.

The standard library does this with 0.07 ms of computing a request, `urllib3` with 0.12, which 64
threads at 20 ms a request feel (1.2 and 1.5 times the ideal time). Neither knows a deadline for a
whole request.

`HTTP_PROXY`, `HTTPS_PROXY`, `ALL_PROXY` and `NO_PROXY` mean what they mean elsewhere. A server on
this machine is never asked through a proxy, for which "this machine" is another one.
"""

from __future__ import annotations

import os
import socket
import ssl
import threading
import time
from base64 import b64encode
from collections.abc import Mapping
from http.client import HTTPConnection, HTTPException, HTTPSConnection
from ipaddress import ip_address
from typing import Any, NamedTuple
from urllib.parse import unquote, urlsplit
from urllib.request import getproxies, proxy_bypass

from mwzeval.errors import UsageError

PORTS = {"http": 80, "https": 443}
MOST_BYTES = 16_000_000
"""Of an answer; nothing that a model says is as long."""
_PART = 65_536
"""Bytes that are read at a time: a chunk of -1 bytes would be read until memory ends otherwise."""
LATE_SECONDS = 0.2
"""How much later than its deadline a request may be ended."""
_QUICK: int | None = getattr(socket, "TCP_QUICKACK", None)
"""Lets the system confirm at once what comes. Many servers send headers and body as two packets,
the second only when the first is confirmed (Nagle), which takes 40 ms otherwise. It wears off."""


class Answer(NamedTuple):
    """What a server answers; names of headers are in lower case, the last of a name counts."""

    status: int
    headers: Mapping[str, str]
    body: bytes


class NoAnswerError(Exception):
    """A request that was not answered as a whole, for whatever reason."""


class UnreachableError(NoAnswerError):
    """There is no connection to the server."""


class Proxy(NamedTuple):
    """Where a proxy listens, what it wants to be sent, and words that no text may have."""

    host: str
    port: int
    headers: Mapping[str, str]
    secrets: tuple[str, ...]


class Connections:
    """Connections to the server of a URL, which has no characters but those of ASCII.

    Each thread has one. `close` ends all requests that are being answered, in whatever thread, and
    allows no other. Raises `UsageError` for a proxy that is not known.
    """

    def __init__(self, url: str) -> None:
        parts = urlsplit(url)
        self._host, self._port = str(parts.hostname), parts.port or PORTS[parts.scheme]
        self._target = f"{parts.path}?{parts.query}" if parts.query else parts.path
        is_encrypted = parts.scheme == "https"
        self._context = ssl.create_default_context() if is_encrypted else None
        host = f"[{self._host}]" if ":" in self._host else self._host
        self._place = f"{host}:{self._port}"
        self._proxy = proxy = proxy_before(url)
        self._headers: Mapping[str, str] = {}
        self.secrets: tuple[str, ...] = ()
        if proxy is not None:
            self._place += f" through the proxy {proxy.host}:{proxy.port}"
            self.secrets = proxy.secrets
            if not is_encrypted:
                self._target, self._headers = url, proxy.headers
        self._of_thread = threading.local()
        self._lock = threading.Lock()
        self._requests: set[_Request] = set()
        self._watcher: threading.Thread | None = None
        self._closed = threading.Event()

    def post(self, body: bytes, headers: Mapping[str, str], seconds: float) -> Answer:
        """Return the answer to a request, whatever its status.

        Raises `UnreachableError` when there is no connection, and `NoAnswerError` when there is no
        answer, or only a part of it, after so many seconds, and after `close`.
        """
        request = self._of_thread.request = _Request(time.monotonic() + seconds)
        is_answered = False
        try:
            self._watch(request)
            try:
                answer = self._answer(body, {**headers, **self._headers}, seconds)
            finally:
                with self._lock:
                    in_time = request in self._requests
                    self._requests.discard(request)
            if not in_time:  # it was ended, and the answer seems to be whole
                raise TimeoutError
            is_answered = True
            return answer
        except UnreachableError:
            raise
        except (NoAnswerError, OSError, HTTPException, ValueError, AttributeError) as error:
            # The last two where it is closed meanwhile. What is ended in time seems to be cut off.
            if time.monotonic() >= request.deadline or isinstance(error, TimeoutError):
                raise NoAnswerError(f"no answer within {seconds:g} seconds") from None
            is_told = isinstance(error, NoAnswerError)
            raise NoAnswerError(str(error) if is_told else _described(error)) from None
        finally:
            if not is_answered:
                self._drop()

    def close(self) -> None:
        """End all requests, and what is connected meanwhile; allow no other."""
        self._closed.set()

    def _watch(self, request: _Request) -> None:
        """End the request at its deadline: a server may send a byte now and then for ever."""
        with self._lock:
            if self._closed.is_set():
                raise NoAnswerError("the run has ended")
            self._requests.add(request)
            if self._watcher is None:
                self._watcher = threading.Thread(target=self._end_late, daemon=True)
                self._watcher.start()

    def _end_late(self) -> None:
        while True:
            is_closed = self._closed.wait(LATE_SECONDS)
            now = time.monotonic()
            with self._lock:
                for request in list(self._requests):
                    is_late = is_closed or request.deadline <= now
                    if is_late and request.handle is not None and request.handle.shut_down():
                        self._requests.discard(request)
                if is_closed and not self._requests:
                    return
            if is_closed:  # there are some without a socket yet
                time.sleep(LATE_SECONDS)

    def _answer(self, body: bytes, headers: Mapping[str, str], seconds: float) -> Answer:
        connection = self._connection(seconds)
        connection.request("POST", self._target, body, headers)
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

    def _connection(self, seconds: float) -> HTTPConnection:
        """Return the connection of this thread, a new one where the server has ended it."""
        known: HTTPConnection | None = getattr(self._of_thread, "connection", None)
        if known is not None and known.sock is not None and _is_idle(known.sock, seconds):
            self._of_thread.request.handle = self._of_thread.handle
            return known
        self._drop()
        proxy = self._proxy
        address = (self._host, self._port) if proxy is None else (proxy.host, proxy.port)
        new = HTTPConnection(*address, timeout=seconds)
        if self._context is not None:
            new = HTTPSConnection(*address, timeout=seconds, context=self._context)
            if proxy is not None:
                new.set_tunnel(self._host, self._port, dict(proxy.headers))

        def connected(*arguments: Any) -> socket.socket:
            sock = socket.create_connection(*arguments)
            self._of_thread.request.handle = self._of_thread.handle = _Handle(sock)
            return sock

        # The deadline is for all that follows, tunnel and handshake among them.
        new._create_connection = connected  # type: ignore[attr-defined]
        try:
            new.connect()
        except (OSError, HTTPException) as error:  # TimeoutError is one of them
            new.close()
            text = f"{_described(error)} ({self._place})"
            if isinstance(error, ssl.SSLCertVerificationError):
                text += "; SSL_CERT_FILE may name a file of other certificates to trust"
            raise UnreachableError(text) from None
        new.auto_open = 0  # what the server has ended is not opened again unseen
        self._of_thread.connection = new
        return new

    def _drop(self) -> None:
        connection: HTTPConnection | None = getattr(self._of_thread, "connection", None)
        if connection is not None:
            self._of_thread.connection = None
            connection.close()


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


def _described(error: Exception) -> str:
    return f"{type(error).__name__}: {error}".removesuffix(": ")


class _Handle:
    """A second handle of a socket, which TLS may replace, and its connection may forget."""

    def __init__(self, sock: socket.socket) -> None:
        self._number = os.dup(sock.fileno())

    def __del__(self) -> None:
        os.close(self._number)

    def shut_down(self) -> bool:
        """End the socket, which wakes the thread that waits for it; return whether it was open."""
        try:
            with socket.socket(fileno=os.dup(self._number)) as sock:
                sock.shutdown(socket.SHUT_RDWR)
        except OSError:
            return False
        return True


class _Request:
    """A request that is being answered: when it is due, and its socket where it has one."""

    def __init__(self, deadline: float) -> None:
        self.deadline = deadline
        self.handle: _Handle | None = None


def proxy_before(url: str) -> Proxy | None:
    """Return the proxy that the environment names for a URL. Raises `UsageError`."""
    parts = urlsplit(url)
    host, port = str(parts.hostname), parts.port or PORTS[parts.scheme]
    proxies = getproxies()
    named = proxies.get(parts.scheme) or proxies.get("all")
    if not named or _is_here(host) or proxy_bypass(f"{host}:{port}"):
        return None
    try:
        parts = urlsplit(named if "://" in named else f"http://{named}")
        proxy_host, port = parts.hostname, parts.port or PORTS["http"]
    except ValueError:
        proxy_host = None
    if not proxy_host or parts.scheme != "http":
        raise UsageError("the proxy that the environment names is not of the form http://HOST:PORT")
    if parts.username is None:
        return Proxy(proxy_host, port, {}, ())
    password = unquote(parts.password or "")
    pair = b64encode(f"{unquote(parts.username)}:{password}".encode()).decode()
    secrets = tuple(word for word in (pair, password, parts.password) if word)
    return Proxy(proxy_host, port, {"Proxy-Authorization": f"Basic {pair}"}, secrets)


def _is_here(host: str) -> bool:
    if host == "localhost":
        return True
    try:
        return ip_address(host).is_loopback
    except ValueError:
        return False
