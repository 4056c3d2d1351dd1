"""The way to a server: certificates and proxies of the environment."""

from __future__ import annotations

import select
import socket
import socketserver
import threading
from base64 import b64encode
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from random import Random
from typing import Any

import pytest
import trustme

from mwzeval.conversation.completions import Client, Endpoint
from mwzeval.conversation.connections import proxy_before
from mwzeval.conversation.protocols import InfrastructureError
from mwzeval.errors import UsageError
from tests.conversation.endpoint.server import Server, serving

pytestmark = pytest.mark.integration

SAID = [{"role": "user", "content": "hi"}]
PASSWORD = "pass+word/123"
BASIC = b64encode(f"me:{PASSWORD}".encode()).decode()
VARIABLES = ("HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY", "NO_PROXY", "SSL_CERT_FILE")


@pytest.fixture(autouse=True)
def bare(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in VARIABLES:
        monkeypatch.delenv(name, raising=False)
        monkeypatch.delenv(name.lower(), raising=False)


class Proxy(socketserver.ThreadingTCPServer):
    """Lets everybody through to one port of this machine, whatever host is asked for."""

    daemon_threads = True

    def __init__(self, to: int, status: int = 200) -> None:
        super().__init__(("127.0.0.1", 0), Passing)
        self.to = to
        self.status = status
        self.heads: list[str] = []

    @property
    def url(self) -> str:
        return f"http://me:pass%2Bword%2F123@127.0.0.1:{self.server_address[1]}"


class Passing(socketserver.BaseRequestHandler):
    def handle(self) -> None:
        proxy: Any = self.server
        head = b""
        while b"\r\n\r\n" not in head:
            head += self.request.recv(1000)
        proxy.heads.append(head.decode("latin-1"))
        with socket.create_connection(("127.0.0.1", proxy.to)) as other:
            if head.startswith(b"CONNECT"):
                self.request.sendall(b"HTTP/1.1 %d Told\r\n\r\n" % proxy.status)
            else:
                other.sendall(head)
            while proxy.status == 200:
                ready, _, _ = select.select([self.request, other], [], [])
                for one in ready:
                    data = one.recv(100_000)
                    if not data:
                        return
                    (other if one is self.request else self.request).sendall(data)


@contextmanager
def proxy_to(port: int, status: int = 200) -> Iterator[Proxy]:
    with Proxy(port, status) as proxy:
        thread = threading.Thread(target=proxy.serve_forever, args=(0.05,), daemon=True)
        thread.start()
        yield proxy
        proxy.shutdown()


@pytest.fixture(scope="module")
def authority() -> trustme.CA:
    return trustme.CA()


@pytest.fixture
def secure(authority: trustme.CA, tmp_path: Path) -> Iterator[Server]:
    """A server with a certificate of an authority that nobody knows."""
    names = "localhost", "model.test"
    chain = tmp_path / "server.pem"
    authority.issue_cert(*names).private_key_and_cert_chain_pem.write_to_path(str(chain))
    authority.cert_pem.write_to_path(str(tmp_path / "authority.pem"))
    with serving(Server(), certificate=chain) as server:
        yield server


def ask(url: str) -> Any:
    client = Client(Endpoint("toy", url, "local-key-0123456789"))
    client.clock.stop()  # nothing is waited for: each request is made once
    try:
        return client.complete(SAID, rng=Random(1)).message["content"], client.complete(
            [*SAID, *SAID], rng=Random(1)
        ).message["content"]
    finally:
        client.close()


def test_an_authority_of_the_environment_is_trusted(
    secure: Server, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    url = f"https://localhost:{secure.port}/v1"
    client = Client(Endpoint("toy", url))
    monkeypatch.setattr(client.clock, "wait", lambda seconds: False)
    with pytest.raises(InfrastructureError, match=r"SSLCertVerificationError: .*SSL_CERT_FILE"):
        client.complete(SAID, rng=Random(1))
    monkeypatch.setenv("SSL_CERT_FILE", str(tmp_path / "authority.pem"))
    assert ask(url) == ("hello", "hello")
    assert len(secure.bodies) == 2
    assert secure.most_at_once == 1


@pytest.mark.parametrize("name", ["HTTPS_PROXY", "all_proxy"])
def test_encrypted_requests_go_through_a_tunnel(
    name: str, secure: Server, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SSL_CERT_FILE", str(tmp_path / "authority.pem"))
    with proxy_to(secure.port) as proxy:
        monkeypatch.setenv(name, proxy.url)
        assert ask("https://model.test/v1") == ("hello", "hello")
    (head,) = proxy.heads  # one connection for two requests
    assert head.startswith("CONNECT model.test:443 HTTP/1.")
    assert f"\r\nProxy-Authorization: Basic {BASIC}\r\n" in head
    assert "local-key" not in head
    assert "proxy-authorization" not in secure.headers[0]
    assert secure.headers[0]["host"] == "model.test"


def test_plain_requests_tell_the_proxy_the_whole_url(monkeypatch: pytest.MonkeyPatch) -> None:
    with serving(Server()) as server, proxy_to(server.port) as proxy:
        monkeypatch.setenv("http_proxy", proxy.url)
        assert ask("http://model.test:8000/v1?a=b") == ("hello", "hello")
    first = "POST http://model.test:8000/v1/chat/completions?a=b HTTP/1.1\r\n"
    assert proxy.heads[0].startswith(f"{first}Host: model.test:8000\r\n")
    assert f"\r\nProxy-Authorization: Basic {BASIC}\r\n" in proxy.heads[0]


def test_a_proxy_that_refuses_is_told_without_its_password(
    secure: Server, monkeypatch: pytest.MonkeyPatch
) -> None:
    with proxy_to(secure.port, 407) as proxy:
        monkeypatch.setenv("HTTPS_PROXY", proxy.url)
        client = Client(Endpoint("toy", "https://model.test/v1"))
        monkeypatch.setattr(client.clock, "wait", lambda seconds: False)
        with pytest.raises(InfrastructureError) as raised:
            client.complete(SAID, rng=Random(1))
    told = str(raised.value)
    assert all(
        each in told for each in ("407", "model.test:443", f"127.0.0.1:{proxy.server_address[1]}")
    )
    assert PASSWORD not in str(raised.value)
    assert len(proxy.heads) == 2


def test_what_a_proxy_echoes_is_hidden(monkeypatch: pytest.MonkeyPatch) -> None:
    echo = {"error": {"message": f"{BASIC} means {PASSWORD} or pass%2Bword%2F123"}}
    with serving(Server(faults=[(400, {}, echo)])) as server, proxy_to(server.port) as proxy:
        monkeypatch.setenv("HTTP_PROXY", proxy.url)
        with pytest.raises(InfrastructureError) as raised:
            ask("http://model.test/v1")
        assert str(raised.value).count("[key]") == 3


@pytest.mark.parametrize(
    ("url", "no_proxy", "goes_through"),
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
def test_who_is_asked_through_a_proxy(
    url: str, no_proxy: str, goes_through: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HTTP_PROXY", "proxy.test:3128")
    monkeypatch.setenv("NO_PROXY", no_proxy)
    proxy = proxy_before(url)
    assert (proxy is not None) == goes_through
    if proxy is not None:
        assert proxy[:2] == ("proxy.test", 3128)


@pytest.mark.parametrize("proxy", ["socks5://a:secret-pw@b:1", "http://a:b@c:secret", "http://"])
def test_a_proxy_that_is_not_known_is_refused_without_its_password(
    proxy: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HTTP_PROXY", proxy)
    with pytest.raises(UsageError) as raised:
        Client(Endpoint("toy", "http://model.test/v1"))
    assert "http://HOST:PORT" in str(raised.value)
    assert "secret" not in str(raised.value)
