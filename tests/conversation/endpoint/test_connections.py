"""Servers that speak HTTP badly: a request ends in time, whatever they send."""

from __future__ import annotations

import socket
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress

import pytest

from mwzeval.conversation.connections import MOST_BYTES, Connections, NoAnswerError

pytestmark = pytest.mark.integration

OK = b"HTTP/1.1 200 OK\r\n"
CHUNKED = b"Transfer-Encoding: chunked\r\n"
Sends = Callable[[socket.socket, threading.Event], None]


def dripping(head: bytes, drop: bytes = b" ") -> Sends:
    """Send a head, and then a little again and again, more often than anybody waits for."""

    def send(connection: socket.socket, over: threading.Event) -> None:
        connection.sendall(head)
        while not over.wait(0.02):
            connection.sendall(drop)

    return send


def flooding(head: bytes) -> Sends:
    """Send a head, and then more than is read of an answer."""

    def send(connection: socket.socket, over: threading.Event) -> None:
        connection.sendall(head)
        for _ in range(20 * MOST_BYTES // 65_536):
            connection.sendall(bytes(65_536))

    return send


@contextmanager
def server(send: Sends, hears: bytes = b"\r\n\r\n{}") -> Iterator[int]:
    """Yield the port of a server that sends what it does as soon as it has heard all of this."""
    over = threading.Event()

    def serve() -> None:
        with suppress(OSError):
            while True:
                connection, _ = listening.accept()
                with connection, suppress(OSError):
                    heard = b""
                    while hears not in heard:
                        heard += connection.recv(1000) or hears
                    send(connection, over)

    with socket.create_server(("127.0.0.1", 0)) as listening:
        thread = threading.Thread(target=serve, daemon=True)
        thread.start()
        yield listening.getsockname()[1]
        over.set()
        listening.shutdown(socket.SHUT_RDWR)


def post(url: str, seconds: float = 0.2, close_early: bool = False) -> str:
    """Return what is told of a request that ends, which is waited for in another thread."""
    connections = Connections(url)
    told: list[str] = []

    def ask() -> None:
        try:
            answer = connections.post(b"{}", {}, seconds)
            told.append(f"{answer.status} {len(answer.body)}")
        except NoAnswerError as error:
            told.append(str(error))

    thread = threading.Thread(target=ask, daemon=True)
    thread.start()
    if close_early:
        thread.join(0.1)
        connections.close()
    thread.join(10)
    connections.close()
    assert told, "the request has not ended"
    return told[0]


DRIPS = {
    "an answer with a length": dripping(OK + b"Content-Length: 9999\r\n\r\n"),
    "the last answer": dripping(OK + b"Connection: close\r\nContent-Length: 9999\r\n\r\n"),
    "an answer until its end": dripping(b"HTTP/1.0 200 OK\r\n\r\n"),
    "chunks": dripping(OK + CHUNKED + b"\r\n", b"1\r\n \r\n"),
    "the last chunks": dripping(OK + CHUNKED + b"Connection: close\r\n\r\n", b"1\r\n \r\n"),
    "trailers": dripping(OK + CHUNKED + b"\r\n0\r\n", b"a: b\r\n"),
    "a status": dripping(OK[:-2]),
    "headers": dripping(OK + b"a: "),
    "go on": dripping(b"", b"HTTP/1.1 100 Continue\r\n\r\n"),
}


@pytest.mark.parametrize("what", DRIPS)
def test_a_server_that_sends_a_little_now_and_then_is_not_waited_for(what: str) -> None:
    with server(DRIPS[what]) as port:
        told = post(f"http://127.0.0.1:{port}/v1")
    assert "0.2" in told


@pytest.mark.parametrize("what", DRIPS)
def test_whatever_a_server_sends_ends_with_the_run(what: str) -> None:
    with server(DRIPS[what]) as port:
        told = post(f"http://127.0.0.1:{port}/v1", seconds=60, close_early=True)
    assert not told.startswith("200")


def test_a_handshake_of_a_byte_now_and_then_is_not_waited_for() -> None:
    record = b"\x16\x03\x03\x40\x00"  # of a handshake, and of 16,384 bytes
    with server(dripping(record, b"\x02"), hears=b"\x16") as port:
        assert f"127.0.0.1:{port}" in post(f"https://127.0.0.1:{port}/v1")


def test_a_tunnel_of_a_header_now_and_then_is_not_waited_for(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    with server(dripping(OK, b"a: b\r\n"), hears=b"\r\n\r\n") as port:
        for name in ("NO_PROXY", "no_proxy"):
            monkeypatch.delenv(name, raising=False)
        monkeypatch.setenv("https_proxy", f"http://127.0.0.1:{port}")
        assert "model.test:443 through the proxy" in post("https://model.test/v1")


@pytest.mark.parametrize(
    "head",
    [
        b"\r\n",
        b"Connection: close\r\n\r\n",
        CHUNKED + b"\r\nfffffffffff\r\n",
        CHUNKED + b"\r\n-1\r\n",  # a chunk of less than nothing
    ],
)
def test_an_answer_without_end_is_not_kept(head: bytes) -> None:
    with server(flooding(OK + head)) as port:
        told = post(f"http://127.0.0.1:{port}/v1", seconds=60)
    assert told == "sent an answer of more than 16,000,000 bytes"
