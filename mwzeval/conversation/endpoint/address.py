"""Where a model is asked, and with which key, which no text may have."""

from __future__ import annotations

import os
import re
from base64 import b64encode
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from html import unescape
from typing import Any
from urllib.parse import quote, urlsplit

from mwzeval.errors import UsageError, shorten

PREFIX = "openai:"
"""What a name begins with that means a model behind an endpoint."""
PUBLIC_URL = "https://api.openai.com/v1"
PATH = "/chat/completions"
SHORTEST_SECRET = 8
"""Shorter keys are words such as EMPTY, which local servers are given."""
LONG_SECRET = 16
"""Shorter ones may come about by chance where case and blanks do not count."""
HIDDEN = "[key]"
OURS = ("messages", "model", "n", "stream", "stream_options", "tools")
"""What a request has from the conversation, and no argument may change."""
DEFAULTS: Mapping[str, Any] = {"temperature": 0}
_SECRETS = re.compile(r"\bsk-[\w-]{8,}|(?i:\bbearer\s+)[\w.~+/=-]{8,}")


_ESCAPE = re.compile(
    r"(?<!\\)\\+(?:u([0-9a-f]{4})|x([0-9a-f]{2})|[nrt])|%(?:25)*([0-9a-f]{2})", re.IGNORECASE
)
_BETWEEN = re.compile(r"[\\\s\u00ad\u200b-\u200f\u2060\ufeff]+")
"""Backslashes, white space and invisible characters."""


class Secrets:
    """Words that no text may have, however a model writes them; those that are short are none."""

    def __init__(self, words: Iterable[str]) -> None:
        long = [word for word in words if len(word) >= SHORTEST_SECRET]
        self._forms = tuple(form for word in long for form in forms_of(word))
        self._plain = tuple(_plain(form) for form in self._forms if len(form) >= LONG_SECRET)

    def hide(self, text: str) -> str:
        """Return a text without them; the whole text is hidden where one is escaped or broken."""
        for form in self._forms:
            text = text.replace(form, HIDDEN)
        if self._plain:
            plain = _plain(text)
            if any(form in plain for form in self._plain):
                return HIDDEN
        return text


def forms_of(secret: str) -> tuple[str, ...]:
    """Return a secret as it is, reversed, quoted, as hex and in base64, and these reversed."""
    forms = [quote(secret, safe="")]
    for text in (secret, secret[::-1]):
        raw = text.encode()
        forms += [text, raw.hex(), raw.hex().upper()]
        for before in range(3):
            # Within a longer text a byte stands at one of three places of a group of four letters;
            # the letters at the ends have bits of the neighbours too.
            letters = b64encode(bytes(before) + raw).decode().rstrip("=")
            is_shared = (before + len(raw)) % 3 > 0
            inner = letters[(0, 2, 3)[before] : len(letters) - is_shared]
            forms += [inner, inner.translate(str.maketrans("+/", "-_"))]
    return tuple(dict.fromkeys([*forms, *(form[::-1] for form in forms)]))


def _plain(text: str) -> str:
    """Return a text in lower case, without escapes of JSON, URLs and HTML, and without blanks."""
    text = _ESCAPE.sub(
        lambda found: chr(int(found[found.lastindex] if found.lastindex else "20", 16)),
        unescape(text),
    )
    return _BETWEEN.sub("", text).lower()


@dataclass(frozen=True, slots=True)
class Endpoint:
    """A model behind a server; `arguments` are those of every request.

    An argument that is None is left out, also one that would be sent otherwise (`temperature`, 0).
    The key is neither shown nor compared. Raises `UsageError` for what cannot be asked.
    """

    model: str
    base_url: str = PUBLIC_URL
    key: str | None = field(default=None, repr=False, compare=False)
    arguments: Mapping[str, Any] = field(default_factory=dict)

    def __post_init__(self) -> None:
        if not self.model:
            raise UsageError(f"a model behind an endpoint is named {PREFIX}MODEL")
        try:
            parts = urlsplit(self.base_url)
            _ = parts.port  # is checked when it is read
        except ValueError:  # whose text has a part of a password
            raise UsageError("the base URL has no host and port that can be read") from None
        if parts.scheme not in ("http", "https") or not parts.hostname:
            raise UsageError(
                "a base URL begins with http:// or https:// and a host, and ends mostly in /v1, "
                f'not "{shorten(self.hide(self.base_url))}"'
            )
        if not (self.base_url.isascii() and self.base_url.isprintable()) or " " in self.base_url:
            raise UsageError("a base URL has no spaces, and letters of ASCII only")
        if parts.username is not None or parts.password is not None:
            raise UsageError("the base URL has a password: keys are read from the environment only")
        taken = sorted(set(OURS).intersection(self.arguments))
        if taken:
            raise UsageError(f"{taken[0]} is no argument: it follows from the conversation")
        if self.key is not None and not (self.key.isascii() and self.key.isprintable()):
            raise UsageError("the key in the environment has characters that no key has")

    @property
    def host(self) -> str:
        """The host and port of the server."""
        parts = urlsplit(self.base_url)
        return f"{parts.hostname}:{parts.port}" if parts.port else str(parts.hostname)

    @property
    def about(self) -> dict[str, Any]:
        """What the header of a run says: model, host and arguments."""
        return {"model": self.model, "host": self.host, "arguments": dict(self.arguments)}

    def hide(self, text: str) -> str:
        """Return a text without the key, and what looks like another one."""
        return _SECRETS.sub(HIDDEN, Secrets([self.key or ""]).hide(text))

    @classmethod
    def of_side(
        cls,
        side: str,
        model: str,
        base_url: str | None = None,
        arguments: Mapping[str, Any] | None = None,
        environment: Mapping[str, str] | None = None,
    ) -> Endpoint:
        """Return the endpoint of the `agent` or `user`, with its key from the environment.

        `MWZEVAL_AGENT_BASE_URL` and `MWZEVAL_AGENT_API_KEY` come before `OPENAI_BASE_URL` and
        `OPENAI_API_KEY`. The last is sent only where the URL is not one of ours: a key does not
        go to another server than the one that it is for. Raises `UsageError`.
        """
        known = os.environ if environment is None else environment
        ours = f"MWZEVAL_{side.upper()}_"
        url = base_url or known.get(f"{ours}BASE_URL")
        key = known.get(f"{ours}API_KEY")
        if not url:
            url = known.get("OPENAI_BASE_URL") or PUBLIC_URL
            key = key or known.get("OPENAI_API_KEY")
        return cls(model, url.rstrip("/"), (key or "").strip() or None, dict(arguments or {}))
