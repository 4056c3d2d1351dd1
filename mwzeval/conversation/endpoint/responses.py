"""An answer of HTTP/1.1 as it comes from a connection, whole or not at all.

`http.client` reads headers as those of mail, which is most of the computing of a request.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import NamedTuple

MOST_BYTES = 16_000_000
"""Of an answer; nothing that a model says is as long."""
MOST_BYTES_OF_HEADERS = 65_536
_WITHOUT_BODY = (204, 304)


class Answer(NamedTuple):
    """What a server answers; names of headers are in lower case."""

    status: int
    headers: Mapping[str, str]
    body: bytes


class BrokenAnswerError(Exception):
    """What came is no answer of HTTP, or not all of it."""


class Incoming:
    """What comes from a connection: `receive` returns some bytes, none at the end."""

    def __init__(self, receive: Callable[[], bytes]) -> None:
        self._receive = receive
        self._buffer = b""

    def line_block(self, end: bytes, most: int) -> bytes:
        """Return what comes before `end`, which is read, too."""
        begin = 0
        while (place := self._buffer.find(end, begin)) < 0:
            begin = max(0, len(self._buffer) - len(end) + 1)
            if begin > most:
                raise BrokenAnswerError("headers or a line that never end")
            self._read()
        block, self._buffer = self._buffer[:place], self._buffer[place + len(end) :]
        return block

    def exactly(self, size: int) -> bytes:
        """Return so many bytes."""
        parts, left = [self._buffer], size - len(self._buffer)
        while left > 0:
            part = self._some()
            parts.append(part)
            left -= len(part)
        whole = b"".join(parts)
        self._buffer = whole[size:]
        return whole[:size]

    def rest(self) -> bytes:
        """Return all that comes."""
        parts, size = [self._buffer], len(self._buffer)
        while part := self._receive():
            size += len(part)
            _check_size(size)
            parts.append(part)
        self._buffer = b""
        return b"".join(parts)

    @property
    def is_empty(self) -> bool:
        """Whether all that has come was read."""
        return not self._buffer

    def _read(self) -> None:
        self._buffer += self._some()

    def _some(self) -> bytes:
        part = self._receive()
        if not part:
            raise BrokenAnswerError("the answer was cut off")
        return part


def read_answer(incoming: Incoming) -> tuple[Answer, bool]:
    """Return an answer, and whether the connection can be used for another request.

    Raises `BrokenAnswerError`, and whatever is raised where the bytes come from.
    """
    status, version, headers = read_head(incoming)
    while 100 <= status < 200:  # more is to come
        status, version, headers = read_head(incoming)
    told = headers.get("connection", "").lower()
    stays_open = "close" not in told if version == b"HTTP/1.1" else "keep-alive" in told
    if status in _WITHOUT_BODY:
        body = b""
    elif "transfer-encoding" in headers:
        if headers["transfer-encoding"].strip().lower() != "chunked":
            raise BrokenAnswerError("an answer in a coding that nobody has asked for")
        body = _chunks(incoming)
    elif "content-length" in headers:
        body = incoming.exactly(_size(headers["content-length"], 10))
    else:
        body = incoming.rest()
        stays_open = False
    return Answer(status, headers, body), stays_open and incoming.is_empty


def read_head(incoming: Incoming) -> tuple[int, bytes, dict[str, str]]:
    """Return the status, the version of HTTP, and the headers."""
    first, *lines = incoming.line_block(b"\r\n\r\n", MOST_BYTES_OF_HEADERS).split(b"\r\n")
    version, _, told = first.partition(b" ")
    if not version.startswith(b"HTTP/1.") or not told[:3].isdigit() or told[3:4].strip():
        raise BrokenAnswerError("what came is no answer of HTTP/1.1")
    headers = {}
    for line in lines:
        name, _, value = line.partition(b":")
        headers[name.decode("latin-1").lower()] = value.strip().decode("latin-1")
    return int(told[:3]), version, headers


def _chunks(incoming: Incoming) -> bytes:
    parts, size = [], 0
    while True:
        told = incoming.line_block(b"\r\n", MOST_BYTES_OF_HEADERS).partition(b";")[0]
        length = _size(told.decode("latin-1").strip(), 16)
        if not length:
            break
        size += length
        _check_size(size)
        parts.append(incoming.exactly(length))
        if incoming.exactly(2) != b"\r\n":
            raise BrokenAnswerError("a chunk that is longer than it says")
    while incoming.line_block(b"\r\n", MOST_BYTES_OF_HEADERS):
        pass  # headers after the end
    return b"".join(parts)


def _size(text: str, base: int) -> int:
    try:
        size = int(text, base) if text.isascii() and text.isalnum() else -1
    except ValueError:
        size = -1
    if size < 0:
        raise BrokenAnswerError("an answer whose length is no number")
    _check_size(size)
    return size


def _check_size(size: int) -> None:
    if size > MOST_BYTES:
        raise BrokenAnswerError(f"an answer of more than {MOST_BYTES:,} bytes")
