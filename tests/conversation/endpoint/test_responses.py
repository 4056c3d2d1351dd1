"""Answers are read as the standard library reads them, however they are cut into packets."""

from __future__ import annotations

import io
from collections.abc import Iterator
from http.client import HTTPResponse
from typing import Any

import pytest

from mwzeval.conversation.endpoint.responses import (
    MOST_BYTES,
    BrokenAnswerError,
    Incoming,
    read_answer,
)

OK = b"HTTP/1.1 200 OK\r\n"
CHUNKED = OK + b"Transfer-Encoding: chunked\r\n\r\n"
WHOLE = [
    OK + b"Content-Length: 5\r\n\r\nhello",
    OK + b"content-length:0\r\n\r\n",
    OK + b"Content-Length: 2\r\nConnection: close\r\n\r\n{}",
    OK + b"Content-Length: 2\r\nRetry-After:  7 \r\nX: a:b\r\n\r\n{}",
    OK + b"\r\nuntil the end",
    CHUNKED + b"5\r\nhello\r\n6;name=value\r\n world\r\n0\r\n\r\n",
    CHUNKED + b"A\r\n0123456789\r\n0\r\nTrailer: x\r\n\r\n",
    b"HTTP/1.1 429 Too Many Requests\r\nContent-Length: 1\r\n\r\nx",
    b"HTTP/1.1 503\r\nContent-Length: 0\r\n\r\n",
    b"HTTP/1.1 204 No Content\r\n\r\n",
    b"HTTP/1.0 200 OK\r\nContent-Length: 2\r\n\r\n{}",
    b"HTTP/1.0 200 OK\r\nContent-Length: 2\r\nConnection: keep-alive\r\n\r\n{}",
    b"HTTP/1.1 100 Continue\r\n\r\n" + OK + b"Content-Length: 2\r\n\r\n{}",
]


def incoming(data: bytes, size: int) -> Incoming:
    parts: Iterator[bytes] = (data[n : n + size] for n in range(0, len(data), size))
    return Incoming(lambda: next(parts, b""))


class Sent:
    def __init__(self, data: bytes) -> None:
        self._data = data

    def makefile(self, mode: str) -> io.BytesIO:
        return io.BytesIO(self._data)


@pytest.mark.parametrize("data", WHOLE)
def test_answers_are_read_as_the_standard_library_reads_them(data: bytes) -> None:
    sent: Any = Sent(data)
    oracle = HTTPResponse(sent, method="POST")
    oracle.begin()
    stays_open = not oracle.will_close
    body = oracle.read()
    headers = {name.lower(): value.strip() for name, value in oracle.getheaders()}
    for size in (1, 2, 3, 7, 1000):
        answer, is_open = read_answer(incoming(data, size))
        assert (answer.status, answer.body, is_open) == (oracle.status, body, stays_open)
        assert answer.headers == headers


def test_a_connection_that_has_more_to_say_is_not_used_again() -> None:
    _, stays_open = read_answer(incoming(WHOLE[0] + b"HTTP/1.1", 1000))
    assert not stays_open


@pytest.mark.parametrize(
    ("data", "told"),
    [
        *((data[:-1], "cut off") for data in WHOLE[:4] if not data.endswith(b"\r\n\r\n")),
        (CHUNKED + b"5\r\nhello\r\n0\r\n", "cut off"),
        (CHUNKED + b"5\r\nhello!\r\n0\r\n\r\n", "longer than it says"),
        (CHUNKED + b"-5\r\nhello\r\n0\r\n\r\n", "no number"),
        (CHUNKED + b"1000000000\r\n", "more than"),
        (b"", "cut off"),
        (OK, "cut off"),
        (b"<html>\r\n\r\n", "no answer of HTTP"),
        (b"HTTP/2 200\r\n\r\n", "no answer of HTTP"),
        (b"HTTP/1.1 2000 OK\r\n\r\n", "no answer of HTTP"),
        (OK + b"Content-Length: +5\r\n\r\nhello", "no number"),
        (OK + b"Content-Length: 5, 5\r\n\r\nhello", "no number"),
        (OK + b"Content-Length: %d\r\n\r\n" % (MOST_BYTES + 1), "more than"),
        (OK + b"\r\n" + bytes(MOST_BYTES + 1), "more than"),
        (OK + b"Transfer-Encoding: gzip\r\n\r\n", "coding"),
        (OK + b"X: " + bytes(100_000), "never end"),
    ],
)
def test_what_is_no_answer_is_told(data: bytes, told: str) -> None:
    for size in (11, 100_000):
        with pytest.raises(BrokenAnswerError, match=told):
            read_answer(incoming(data, size))
