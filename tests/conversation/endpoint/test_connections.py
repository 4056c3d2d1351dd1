"""Connections to servers that send invalid HTTP, with certificates, and through proxies."""

from __future__ import annotations

import gzip
import os
import select
import socket
import threading
from base64 import b64encode
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager, suppress
from pathlib import Path
from random import Random

import pytest
import trustme

from mwzeval.conversation.completions import Client, Endpoint
from mwzeval.conversation.connections import (
    MOST_BYTES,
    Connections,
    NoAnswerError,
    proxy_before,
)
from mwzeval.conversation.protocols import InfrastructureError
from mwzeval.errors import UsageError
from tests.conversation.endpoint.server import Server, serving

pytestmark = pytest.mark.integration

SAID = [{"role": "user", "content": "hi"}]
OK = b"HTTP/1.1 200 OK\r\n"
CHUNKED = b"Transfer-Encoding: chunked\r\n"
PASSWORD = "pass+word/123"
BASIC = b64encode(f"me:{PASSWORD}".encode()).decode()
Sends = Callable[[socket.socket, threading.Event, bytes], None]


@pytest.fixture(autouse=True)
def environment(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY", "NO_PROXY", "SSL_CERT_FILE"):
        monkeypatch.delenv(name, raising=False)
        monkeypatch.delenv(name.lower(), raising=False)


def dripping(head: bytes, drop: bytes = b" ") -> Sends:
    """Send a head, and then a few bytes repeatedly, more often than any time limit."""

    def send(connection: socket.socket, over: threading.Event, request: bytes) -> None:
        connection.sendall(head)
        while not over.wait(0.02):
            connection.sendall(drop)

    return send


def flooding(head: bytes) -> Sends:
    """Send a head, and then more bytes than an answer may have."""

    def send(connection: socket.socket, over: threading.Event, request: bytes) -> None:
        connection.sendall(head)
        for _ in range(20 * MOST_BYTES // 65_536):
            connection.sendall(bytes(65_536))

    return send


@contextmanager
def raw_server(send: Sends, request: bytes = b"\r\n\r\n{}") -> Iterator[int]:
    """Yield the port of a server that calls `send` when it has received the end of a request."""
    over = threading.Event()

    def serve() -> None:
        with suppress(OSError):
            while True:
                connection, _ = listening.accept()
                with connection, suppress(OSError):
                    received = b""
                    while request not in received:
                        received += connection.recv(1000) or request
                    send(connection, over, received)

    with socket.create_server(("127.0.0.1", 0)) as listening:
        threading.Thread(target=serve, daemon=True).start()
        yield listening.getsockname()[1]
        over.set()
        listening.shutdown(socket.SHUT_RDWR)


def post(url: str, seconds: float = 0.2, is_closed: bool = False) -> str:
    """Return the status or the problem of a request, which must end."""
    connections = Connections(url)
    results: list[str] = []

    def ask() -> None:
        try:
            results.append(str(connections.post(b"{}", {}, seconds).status))
        except NoAnswerError as error:
            results.append(str(error))

    thread = threading.Thread(target=ask, daemon=True)
    thread.start()
    if is_closed:
        thread.join(0.1)
        connections.close()
    thread.join(10)
    connections.close()
    assert results, "the request has not ended"
    return results[0]


DRIPS = {
    "body with a length": dripping(OK + b"Content-Length: 9999\r\n\r\n"),
    "last body": dripping(OK + b"Connection: close\r\nContent-Length: 9999\r\n\r\n"),
    "body without a length": dripping(b"HTTP/1.0 200 OK\r\n\r\n"),
    "chunks": dripping(OK + CHUNKED + b"\r\n", b"1\r\n \r\n"),
    "last chunks": dripping(OK + CHUNKED + b"Connection: close\r\n\r\n", b"1\r\n \r\n"),
    "trailers": dripping(OK + CHUNKED + b"\r\n0\r\n", b"a: b\r\n"),
    "status": dripping(OK[:-2]),
    "headers": dripping(OK + b"a: "),
    "interim answers": dripping(b"", b"HTTP/1.1 100 Continue\r\n\r\n"),
}


@pytest.mark.parametrize("part", DRIPS)
def test_requests_to_slow_servers_end_within_the_time_limit(part: str) -> None:
    with raw_server(DRIPS[part]) as port:
        url = f"http://127.0.0.1:{port}/v1"
        assert "0.2" in post(url)
        assert post(url, seconds=60, is_closed=True) != "200"


def test_slow_handshakes_and_tunnels_end_within_the_time_limit(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    record = b"\x16\x03\x03\x40\x00"  # of a handshake, and of 16,384 bytes
    with raw_server(dripping(record, b"\x02"), request=b"\x16") as port:
        url = f"https://127.0.0.1:{port}/v1"
        assert f"127.0.0.1:{port}" in post(url)
        assert post(url, seconds=60, is_closed=True) != "200"
    with raw_server(dripping(OK, b"a: b\r\n"), request=b"\r\n\r\n") as port:
        monkeypatch.setenv("https_proxy", f"http://127.0.0.1:{port}")
        assert "model.test:443 through the proxy" in post("https://model.test/v1")
        assert post("https://model.test/v1", seconds=60, is_closed=True) != "200"


@pytest.mark.parametrize(
    "head",
    [
        b"\r\n",
        b"Connection: close\r\n\r\n",
        CHUNKED + b"\r\nfffffffffff\r\n",
        CHUNKED + b"\r\n-1\r\n",  # a chunk of negative size
    ],
)
def test_an_answer_has_a_maximum_size(head: bytes) -> None:
    with raw_server(flooding(OK + head)) as port:
        assert f"{MOST_BYTES:,}" in post(f"http://127.0.0.1:{port}/v1", seconds=60)


def answering(head: bytes, body: bytes) -> Sends:
    """Send an answer."""
    return lambda connection, over, request: connection.sendall(head + b"\r\n" + body)


@pytest.mark.parametrize("size", [b"", CHUNKED])
def test_compressed_answers_are_decoded(size: bytes) -> None:
    body = gzip.compress(b"hello")
    if size:
        body = b"%x\r\n%b\r\n0\r\n\r\n" % (len(body), body)
    else:
        size = b"Content-Length: %d\r\n" % len(body)
    with raw_server(answering(OK + size + b"Content-Encoding: gzip\r\n", body)) as port:
        connections = Connections(f"http://127.0.0.1:{port}/v1")
        assert connections.post(b"{}", {}, 10).body == b"hello"
        connections.close()


@pytest.mark.parametrize(
    ("head", "body"),
    [
        (b"Content-Length: 9\r\nConnection: close\r\n", b"short"),
        (CHUNKED + b"Connection: close\r\n", b"5\r\nshort\r\n"),
    ],
)
def test_answers_that_end_too_early_are_errors(head: bytes, body: bytes) -> None:
    with raw_server(answering(OK + head, body)) as port:
        assert not post(f"http://127.0.0.1:{port}/v1", seconds=10).isdigit()


def tunnel(port: int, heads: list[str], status: int) -> Sends:
    """Append the head of a request to `heads`, and connect the client to a port."""

    def send(connection: socket.socket, over: threading.Event, head: bytes) -> None:
        heads.append(head.decode("latin-1"))
        with socket.create_connection(("127.0.0.1", port)) as server:
            if head.startswith(b"CONNECT"):
                connection.sendall(b"HTTP/1.1 %d Told\r\n\r\n" % status)
            else:
                server.sendall(head)
            while status == 200:
                for ready in select.select([connection, server], [], [])[0]:
                    data = ready.recv(100_000)
                    if not data:
                        return
                    (server if ready is connection else connection).sendall(data)

    return send


@contextmanager
def proxy_to(
    port: int, variable: str, monkeypatch: pytest.MonkeyPatch, status: int = 200
) -> Iterator[list[str]]:
    """Set a variable to a proxy with a password; yield the heads of its requests."""
    heads: list[str] = []
    with raw_server(tunnel(port, heads, status), request=b"\r\n\r\n") as proxy:
        monkeypatch.setenv(variable, f"http://me:pass%2Bword%2F123@127.0.0.1:{proxy}")
        yield heads


@pytest.fixture
def secure(tmp_path: Path) -> Iterator[Server]:
    """A server with a certificate of an unknown authority."""
    authority = trustme.CA()
    certificate = authority.issue_cert("localhost", "model.test")
    certificate.private_key_and_cert_chain_pem.write_to_path(str(tmp_path / "server.pem"))
    authority.cert_pem.write_to_path(str(tmp_path / "authority.pem"))
    with serving(Server(), certificate=tmp_path / "server.pem") as server:
        yield server


def ask(url: str) -> list[str]:
    """Send two requests without retries, and return their answers."""
    with closing(Client(Endpoint("toy", url, "local-key-0123456789"))) as client:
        client.clock.stop()
        requests = (SAID, [*SAID, *SAID])
        answers = [client.complete(request, rng=Random(1)) for request in requests]
    return [answer.message["content"] for answer in answers]


def test_certificate_authorities_in_the_environment_are_trusted(
    secure: Server, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    url = f"https://localhost:{secure.port}/v1"
    problem = post(url, seconds=60)
    assert all(word in problem for word in ("SSLCertVerificationError", "SSL_CERT_FILE"))
    monkeypatch.setenv("SSL_CERT_FILE", str(tmp_path / "authority.pem"))
    assert ask(url) == ["hello", "hello"]
    assert len(secure.bodies) == 2


@pytest.mark.parametrize("variable", ["HTTPS_PROXY", "all_proxy"])
def test_encrypted_requests_use_a_tunnel(
    variable: str, secure: Server, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SSL_CERT_FILE", str(tmp_path / "authority.pem"))
    with proxy_to(secure.port, variable, monkeypatch) as heads:
        assert ask("https://model.test/v1") == ["hello", "hello"]
    (head,) = heads  # both requests have one connection
    assert head.startswith("CONNECT model.test:443 HTTP/1.")
    assert f"\r\nProxy-Authorization: Basic {BASIC}\r\n" in head
    assert "local-key" not in head
    assert "proxy-authorization" not in secure.headers[0]
    assert secure.headers[0]["host"] == "model.test"


def test_a_proxy_receives_the_whole_url_of_a_plain_request(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    with (
        serving(Server()) as server,
        proxy_to(server.port, "http_proxy", monkeypatch) as heads,
    ):
        assert ask("http://model.test:8000/v1?a=b") == ["hello", "hello"]
    first = "POST http://model.test:8000/v1/chat/completions?a=b HTTP/1.1\r\n"
    assert heads[0].startswith(f"{first}Host: model.test:8000\r\n")
    assert "local-key" in heads[0]
    assert f"\r\nProxy-Authorization: Basic {BASIC}\r\n" in heads[0]


def test_proxy_errors_name_the_proxy_without_its_password(
    secure: Server, monkeypatch: pytest.MonkeyPatch
) -> None:
    with proxy_to(secure.port, "HTTPS_PROXY", monkeypatch, status=407):
        problem = post("https://model.test/v1", seconds=60)
        place = os.environ["HTTPS_PROXY"].rpartition("@")[2]
    assert all(word in problem for word in ("407", "model.test:443", place))
    assert PASSWORD not in problem


def test_a_password_in_the_answer_of_a_proxy_is_hidden(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    echo = {"error": {"message": f"{BASIC} means {PASSWORD} or pass%2Bword%2F123"}}
    with (
        serving(Server(faults=[(400, {}, echo)])) as server,
        proxy_to(server.port, "HTTP_PROXY", monkeypatch),
        pytest.raises(InfrastructureError) as raised,
    ):
        ask("http://model.test/v1")
    assert str(raised.value).count("[key]") == 3


@pytest.mark.parametrize(
    ("url", "no_proxy", "is_proxied"),
    [
        ("http://model.test/v1", "", True),
        ("http://model.test/v1", "other.test", True),
        ("http://model.test/v1", "other.test,.test", False),
        ("http://model.test:8000/v1", "model.test:8000", False),
        ("http://model.test:8001/v1", "model.test:8000", True),
        ("http://model.test/v1", "*", False),
        ("http://localhost:8000/v1", "", False),
        ("http://127.0.0.2:8000/v1", "", False),
        ("http://[::1]:8000/v1", "", False),
        ("http://10.0.0.1:8000/v1", "", True),
        ("https://model.test/v1", "", False),
    ],
)
def test_the_environment_determines_which_requests_use_a_proxy(
    url: str, no_proxy: str, is_proxied: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HTTP_PROXY", "proxy.test:3128")
    monkeypatch.setenv("NO_PROXY", no_proxy)
    proxy = proxy_before(url)
    assert (proxy and proxy[:2]) == (("proxy.test", 3128) if is_proxied else None)


def test_proxies_may_have_ipv6_addresses_and_any_password(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("HTTP_PROXY", "http://me:p%E2%82%AC@[::1]:9")
    assert "through the proxy [::1]:9" in post("http://model.test/v1")
    proxy = proxy_before("http://model.test/v1")
    assert proxy is not None
    assert b64encode("me:p€".encode()).decode() in proxy.secrets


@pytest.mark.parametrize("proxy", ["socks5://a:secret-pw@b:1", "http://a:b@c:secret", "http://"])
def test_an_unknown_proxy_is_refused_without_its_password(
    proxy: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HTTP_PROXY", proxy)
    with pytest.raises(UsageError, match="http://HOST:PORT") as raised:
        Client(Endpoint("toy", "http://model.test/v1"))
    assert "secret" not in str(raised.value)
