"""HTTP requests through urllib3, with a time limit for the whole request.

The timeouts of urllib3 limit single reads, so a server that sends one byte at a time could delay an
answer without limit. Therefore, the sockets of this module end each read at the deadline of the
request for which the thread is waiting.

`HTTP_PROXY`, `HTTPS_PROXY`, `ALL_PROXY` and `NO_PROXY` have their usual meaning. Requests to this
machine never use a proxy, because `localhost` would then mean the machine of the proxy.
"""

from __future__ import annotations

import socket
import ssl
import threading
import time
from base64 import b64encode
from collections.abc import Mapping
from contextlib import suppress
from http.client import IncompleteRead
from ipaddress import ip_address
from typing import Any, NamedTuple
from urllib.parse import unquote, urlsplit
from urllib.request import getproxies, proxy_bypass
from weakref import WeakSet

from urllib3 import HTTPConnectionPool, HTTPSConnectionPool, PoolManager, ProxyManager, Timeout
from urllib3.connection import HTTPConnection, HTTPSConnection
from urllib3.exceptions import HTTPError

from mwzeval.errors import UsageError

PORTS = {"http": 80, "https": 443}
MOST_BYTES = 16_000_000
"""The maximum size of an answer in bytes; any completion is smaller."""
_PART = 65_536
"""The maximum number of bytes per read."""
_MOST_OPEN = 4096
"""The maximum number of open connections that wait for further requests."""
_QUICK: int | None = getattr(socket, "TCP_QUICKACK", None)
"""The socket option that acknowledges packets immediately and must be set again for each answer.
Many servers send the body only after the headers are acknowledged (Nagle's algorithm); without this
option, the acknowledgment takes 40 ms."""


class Answer(NamedTuple):
    """The answer of a server.

    Header names are in lower case; the last of several equal headers counts.
    """

    status: int
    headers: Mapping[str, str]
    body: bytes


class NoAnswerError(Exception):
    """A request did not receive a complete answer."""


class UnreachableError(NoAnswerError):
    """The server cannot be reached."""


class Proxy(NamedTuple):
    """The address of a proxy, its headers, and secrets that no text may contain."""

    host: str
    port: int
    headers: Mapping[str, str]
    secrets: tuple[str, ...]


class _Request(threading.local):
    """The present request of a thread."""

    connections: Connections
    deadline: float
    is_connecting: bool


_REQUEST = _Request()


class _Limited:
    def recv_into(self, *arguments: Any, **more: Any) -> Any:
        """Read as the base class, but not beyond the deadline of the request."""
        left = _REQUEST.deadline - time.monotonic()
        if left <= 0:
            raise TimeoutError
        self.settimeout(left)  # type: ignore[attr-defined]
        return super().recv_into(*arguments, **more)  # type: ignore[misc]


class _Socket(_Limited, socket.socket):
    pass


class _EncryptedSocket(_Limited, ssl.SSLSocket):
    def do_handshake(self, block: bool = False) -> None:
        _REQUEST.connections.add(self)
        self.settimeout(max(0.001, _REQUEST.deadline - time.monotonic()))
        super().do_handshake(block)


class _Connection(HTTPConnection):
    def _new_conn(self) -> socket.socket:
        plain = super()._new_conn()
        seconds = plain.gettimeout()
        limited = _Socket(fileno=plain.detach())
        limited.settimeout(seconds)
        _REQUEST.connections.add(limited)
        return limited

    def connect(self) -> None:
        _REQUEST.is_connecting = True
        super().connect()
        _REQUEST.is_connecting = False

    def getresponse(self) -> Any:
        if _QUICK is not None:
            self.sock.setsockopt(socket.IPPROTO_TCP, _QUICK, 1)
        return super().getresponse()


class _EncryptedConnection(_Connection, HTTPSConnection):
    pass


class _Pool(HTTPConnectionPool):
    ConnectionCls = _Connection


class _EncryptedPool(HTTPSConnectionPool):
    ConnectionCls = _EncryptedConnection


class Connections:
    """Connections to the server of a URL (ASCII only), which threads can share.

    `close` ends the requests of all threads and refuses new requests. Raises `UsageError` if the
    proxy is not supported.
    """

    def __init__(self, url: str) -> None:
        parts = urlsplit(url)
        host, port = str(parts.hostname), parts.port or PORTS[parts.scheme]
        self._target = f"{parts.path}?{parts.query}" if parts.query else parts.path
        self._place = _place(host, port)
        self.secrets: tuple[str, ...] = ()
        settings: dict[str, Any] = {"maxsize": _MOST_OPEN}
        if parts.scheme == "https":
            settings["ssl_context"] = context = ssl.create_default_context()
            context.sslsocket_class = _EncryptedSocket
        proxy = proxy_before(url)
        if proxy is None:
            manager = PoolManager(**settings)
        else:
            place = _place(proxy.host, proxy.port)
            manager = ProxyManager(f"http://{place}", proxy_headers=proxy.headers, **settings)
            self._place += f" through the proxy {place}"
            self.secrets = proxy.secrets
            if parts.scheme == "http":
                self._target = url
        manager.pool_classes_by_scheme = {"http": _Pool, "https": _EncryptedPool}
        self._pool = manager.connection_from_url(url)
        self._sockets: WeakSet[socket.socket] = WeakSet()
        self._lock = threading.Lock()
        self._is_closed = False

    def post(self, body: bytes, headers: Mapping[str, str], seconds: float) -> Answer:
        """Send a request and return the answer with its status; `seconds` limits the whole request.

        Raises `UnreachableError` if the server cannot be reached. Raises `NoAnswerError` if the
        answer is missing or incomplete, if the time limit is exceeded, or if the connections are
        closed.
        """
        _REQUEST.deadline = time.monotonic() + seconds
        _REQUEST.is_connecting = False
        _REQUEST.connections = self
        try:
            self._check_open()
            answer = self._answer(body, headers, seconds)
            self._check_open()  # an answer that `close` has interrupted may look complete
            return answer
        except (HTTPError, OSError, ValueError) as error:
            cause = _cause(error)
            if _REQUEST.is_connecting:
                text = f"{_described(cause)} ({self._place})"
                if isinstance(cause, ssl.SSLCertVerificationError):
                    text += "; set SSL_CERT_FILE to trust other certificates"
                raise UnreachableError(text) from None
            if isinstance(cause, TimeoutError):
                raise NoAnswerError(f"no answer within {seconds:g} seconds") from None
            if isinstance(cause, IncompleteRead):
                raise NoAnswerError("the answer was cut off") from None
            raise NoAnswerError(_described(cause)) from None

    def close(self) -> None:
        """End all requests and new connections, and refuse further requests."""
        self._is_closed = True
        with self._lock:
            sockets = list(self._sockets)
        for sock in sockets:
            with suppress(OSError):
                # This wakes the waiting thread. The method of the base class does not shut down
                # TLS first.
                socket.socket.shutdown(sock, socket.SHUT_RDWR)
        self._pool.close()

    def add(self, sock: socket.socket) -> None:
        """Add the socket of a new connection, which `close` can end from now on."""
        with self._lock:
            self._sockets.add(sock)
        self._check_open()

    def _check_open(self) -> None:
        if self._is_closed:
            raise NoAnswerError("the run has ended")

    def _answer(self, body: bytes, headers: Mapping[str, str], seconds: float) -> Answer:
        response = self._pool.urlopen(
            "POST",
            self._target,
            body=body,
            headers=dict(headers),
            timeout=Timeout(total=seconds),
            retries=False,
            redirect=False,
            assert_same_host=False,
            preload_content=False,
        )
        with response:  # closes the connection unless the answer is complete
            content = bytearray()
            while part := response.read1(_PART):
                content += part
                if len(content) > MOST_BYTES:
                    raise NoAnswerError(f"sent an answer of more than {MOST_BYTES:,} bytes")
            response.release_conn()
            names = {name.lower(): value for name, value in response.headers.iteritems()}
            return Answer(response.status, names, bytes(content))


def _cause(error: BaseException) -> BaseException:
    """Return the error of the standard library that urllib3 has wrapped."""
    while isinstance(error, HTTPError) and (inner := error.__cause__ or error.__context__):
        error = inner
    return error


def _described(error: BaseException) -> str:
    return f"{type(error).__name__}: {error}".removesuffix(": ")


def proxy_before(url: str) -> Proxy | None:
    """Return the proxy for a URL from the environment. Raises `UsageError`."""
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
        raise UsageError("the proxy in the environment does not have the form http://HOST:PORT")
    if parts.username is None:
        return Proxy(proxy_host, port, {}, ())
    password = unquote(parts.password or "")
    pair = b64encode(f"{unquote(parts.username)}:{password}".encode()).decode()
    secrets = tuple(word for word in (pair, password, parts.password) if word)
    return Proxy(proxy_host, port, {"Proxy-Authorization": f"Basic {pair}"}, secrets)


def _place(host: str, port: int) -> str:
    return f"[{host}]:{port}" if ":" in host else f"{host}:{port}"


def _is_here(host: str) -> bool:
    if host == "localhost":
        return True
    try:
        return ip_address(host).is_loopback
    except ValueError:
        return False
