"""The way to a server: straight, or through the proxy that the environment names.

`HTTP_PROXY`, `HTTPS_PROXY`, `ALL_PROXY` and `NO_PROXY` mean what they mean elsewhere. A server on
this machine is never asked through a proxy, for which "this machine" is another one.
"""

from __future__ import annotations

from base64 import b64encode
from collections.abc import Mapping
from dataclasses import dataclass, field
from ipaddress import ip_address
from typing import NamedTuple
from urllib.parse import unquote, urlsplit
from urllib.request import getproxies, proxy_bypass

from mwzeval.errors import UsageError

PORTS = {"http": 80, "https": 443}


class Proxy(NamedTuple):
    """Where a proxy listens, and what it wants to be told."""

    host: str
    port: int
    headers: Mapping[str, str]


@dataclass(frozen=True, slots=True)
class Route:
    """The server of a URL, and what is before it. `secrets` are words that no text may have."""

    host: str
    port: int
    target: str
    """What a request asks for."""
    is_encrypted: bool
    proxy: Proxy | None = field(default=None, repr=False)
    secrets: tuple[str, ...] = field(default=(), repr=False)

    @property
    def authority(self) -> str:
        """Host and port, as a proxy is told them."""
        host = f"[{self.host}]" if ":" in self.host else self.host
        return f"{host}:{self.port}"

    @property
    def place(self) -> str:
        """Who is connected to, in words."""
        if self.proxy is None:
            return self.authority
        return f"{self.authority} through the proxy {self.proxy.host}:{self.proxy.port}"


def route_to(url: str) -> Route:
    """Return the way to the server of a URL. Raises `UsageError` for a proxy that is not known."""
    parts = urlsplit(url)
    host, port = str(parts.hostname), parts.port or PORTS[parts.scheme]
    path = f"{parts.path}?{parts.query}" if parts.query else parts.path
    is_encrypted = parts.scheme == "https"
    proxies = getproxies()
    named = proxies.get(parts.scheme) or proxies.get("all")
    if not named or _is_here(host) or proxy_bypass(f"{host}:{port}"):
        return Route(host, port, path, is_encrypted)
    proxy, secrets = _proxy(named)
    return Route(host, port, path if is_encrypted else url, is_encrypted, proxy, secrets)


def _proxy(named: str) -> tuple[Proxy, tuple[str, ...]]:
    """Return a proxy, and what nobody may be shown of it."""
    try:
        parts = urlsplit(named if "://" in named else f"http://{named}")
        host, port = parts.hostname, parts.port or PORTS["http"]
    except ValueError:
        host, port = None, 0
    if not host or parts.scheme != "http":
        raise UsageError("the proxy that the environment names is not of the form http://HOST:PORT")
    if parts.username is None:
        return Proxy(host, port, {}), ()
    password = unquote(parts.password or "")
    pair = b64encode(f"{unquote(parts.username)}:{password}".encode()).decode()
    secrets = tuple(word for word in (pair, password, parts.password) if word)
    return Proxy(host, port, {"Proxy-Authorization": f"Basic {pair}"}), secrets


def _is_here(host: str) -> bool:
    if host == "localhost":
        return True
    try:
        return ip_address(host).is_loopback
    except ValueError:
        return False
