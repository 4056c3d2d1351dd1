"""One completion against a real server: what is sent, who is to blame, what is asked again."""

from __future__ import annotations

import base64
import json
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from random import Random
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mwzeval.conversation.completions import (
    Client,
    Clock,
    ContextError,
    Endpoint,
    FolderCache,
    Secrets,
    tools_text,
)
from mwzeval.conversation.protocols import AnswerError, InfrastructureError, LimitError
from tests.conversation.endpoint.server import CONTEXT, Server, completion, hello, serving

pytestmark = pytest.mark.integration

KEY = "local-key-0123456789abcdef"
SAID = [{"role": "user", "content": "hi"}]


class Waited(Clock):
    """Time passes only when it is waited for."""

    def __init__(self) -> None:
        super().__init__()
        self.waits: list[float] = []

    def now(self) -> float:
        return sum(self.waits)

    def wait(self, seconds: float) -> bool:
        self.waits.append(seconds)
        return False


class Asked:
    """A server, and a client that asks it."""

    def __init__(self, server: Server, **options: Any) -> None:
        self.server = server
        self.clock = Waited()
        endpoint = Endpoint("toy", server.url, KEY, options.pop("arguments", {}))
        self.client = Client(endpoint, clock=self.clock, **options)

    def __call__(self, messages: Any = SAID, **more: Any) -> Any:
        return self.client.complete(messages, rng=Random(1), **more)


@contextmanager
def asked(*faults: Any, reply: Any = hello, **options: Any) -> Iterator[Asked]:
    with serving(Server(reply, faults)) as server:
        made = Asked(server, **options)
        yield made
        made.client.close()


def test_a_request_says_what_the_protocol_wants() -> None:
    tools = [{"type": "function", "function": {"name": "find", "parameters": {}}}]
    call = {"id": "call_1", "type": "function", "function": {"name": "find", "arguments": "{}"}}
    messages = [
        *SAID,
        {"role": "assistant", "content": "", "tool_calls": [call], "usage": {"ms": 3}},
        {"role": "tool", "tool_call_id": "call_1", "content": "{}"},
    ]
    with asked(arguments={"temperature": None, "max_tokens": 9}) as ask:
        found = ask(messages, tools=tools_text(tools), more={"seed": 5})
        assert found.message == {"role": "assistant", "content": "hello"}
        assert found.usage == {"in": 7, "out": 3, "ms": 0}
        assert found.finish_reason == "stop"
        messages[1] = {"role": "assistant", "content": None, "tool_calls": [call]}
        assert ask.server.bodies == [
            {
                "model": "toy",
                "messages": messages,
                "tools": tools,
                "tool_choice": "auto",
                "max_tokens": 9,
                "seed": 5,
            }
        ]
        assert ask.server.paths == ["/v1/chat/completions"]
        assert ask.server.headers[0]["authorization"] == f"Bearer {KEY}"
        ask()
        assert ask.server.bodies[1] == {"model": "toy", "messages": SAID, "max_tokens": 9}
        ask(tools=tools_text(tools), more={"tool_choice": None})
        assert "tool_choice" not in ask.server.bodies[2]
        ask(tools=tools_text(tools), more={"tool_choice": "required"})
        assert ask.server.bodies[3]["tool_choice"] == "required"


PASSING = [
    *(408, 409, 425, 429, 500, 502, 503, 529, "reset", "half"),
    b"<html>",
    b'{"choices": [',
    {},
    {"choices": []},
    {"choices": [{"message": "hello"}]},
    {"error": {"message": "overloaded", "code": 502}},
    {"error": "overloaded"},
]


@pytest.mark.parametrize("fault", PASSING, ids=str)
def test_what_passes_is_asked_again(fault: Any) -> None:
    with asked(fault, fault) as ask:
        found = ask()
        assert found.message["content"] == "hello"
        assert found.usage["retries"] == 2
        assert len(ask.server.bodies) == 3
        assert ask.server.bodies[0] == ask.server.bodies[2]
        first, second = ask.clock.waits
        assert 1 <= first <= 2 <= second <= 4


@pytest.mark.parametrize("fault", ["slow", "drip"])
def test_an_answer_has_to_be_whole_in_time(fault: str) -> None:
    with asked(fault, seconds=0.3) as ask:
        assert ask().usage["retries"] == 1


def test_after_the_last_time_it_is_nobody_s_fault() -> None:
    with asked(*[503] * 9) as ask:
        with pytest.raises(InfrastructureError, match="503"):
            ask()
        assert len(ask.server.bodies) == 6
        lows = [1, 2, 4, 8, 16]
        for wait, low in zip(ask.clock.waits, lows, strict=True):
            assert low <= wait <= min(2 * low, 30)


@pytest.mark.parametrize(
    ("after", "low"),
    [("7", 7), ("0", 0), ("3600", 59), ("Wed, 21 Oct 2015 07:28:09 GMT", 9), ("soon", 1)],
)
def test_a_server_says_when_it_is_to_be_asked_again(after: str, low: int) -> None:
    headers = {"retry-after": after, "date": "Wed, 21 Oct 2015 07:28:00 GMT"}
    with asked((429, headers)) as ask:
        ask()
        assert low <= ask.clock.waits[0] <= low + 1


CONTEXTS = [
    (400, {}, {"error": {"message": CONTEXT, "code": 400}}),
    (400, {}, {"error": {"message": "no", "code": "context_length_exceeded"}}),
    (400, {}, {"error": {"message": "no", "type": "exceed_context_size_error"}}),
    (500, {}, {"error": {"message": "the request exceeds the available context size"}}),
    (413, {}, {"object": "error", "message": CONTEXT}),
    {"error": {"message": CONTEXT, "code": 400}},
]
"""A conversation that is too long."""
REFUSED: list[Any] = [
    (400, {}, {"error": {"message": "gemma:latest does not support tools"}}),
    (400, {}, {"object": "error", "message": '"auto" tool choice requires --enable-auto-tool-…'}),
    (400, {}, {"error": {"message": "Unsupported value: 'temperature' does not support 0"}}),
    422,
]
"""Servers that parse no calls, or do not know an argument, refuse every first request."""
SPOKEN = [*SAID, {"role": "assistant", "content": "Hm."}, *SAID]


@pytest.mark.parametrize(
    ("fault", "messages", "error"),
    [
        *((fault, SAID, ContextError) for fault in CONTEXTS),
        *((status, SPOKEN, AnswerError) for status in (400, 422)),
        *((fault, SAID, InfrastructureError) for fault in REFUSED),
        # A wrong key, or no money left.
        *((status, SPOKEN, InfrastructureError) for status in (301, 401, 402, 403, 404)),
    ],
    ids=str,
)
def test_what_is_refused_is_asked_once_and_the_fault_of_one_side(
    fault: Any, messages: Any, error: type[Exception]
) -> None:
    with asked(fault) as ask:
        with pytest.raises(error) as raised:
            ask(messages)
        assert raised.type is error
        assert len(ask.server.bodies) == 1


@pytest.mark.parametrize(
    ("status", "path", "key", "noticed"),
    [
        (401, "/v1", None, "no key"),
        (401, "/v1", KEY, ""),
        (404, "", KEY, "/v1"),
        (404, "/v1", None, ""),
    ],
)
def test_what_is_unusual_about_url_and_key_is_told(
    status: int, path: str, key: str | None, noticed: str
) -> None:
    with serving(Server(hello, (status,))) as server:
        client = Client(Endpoint("toy", server.url.removesuffix("/v1") + path, key))
        with pytest.raises(InfrastructureError) as raised:
            client.complete(SAID, rng=Random(1))
        client.close()
    told = str(raised.value)
    assert [word for word in ("no key", "/v1") if word in told] == [noticed] * bool(noticed)


def test_no_text_has_the_key() -> None:
    echo = {"error": {"message": f"bad key {KEY}, or sk-proj-abcdefghijkl"}}
    with asked((400, {}, echo), reply=lambda _: {"content": f"my key is {KEY}"}) as ask:
        with pytest.raises(AnswerError) as raised:
            ask(SPOKEN)
        assert str(raised.value).count("[key]") == 2
        assert ask().message["content"] == "my key is [key]"
        assert KEY not in repr(ask.client.endpoint)


@pytest.mark.parametrize(
    ("message", "kept"),
    [
        ({"content": None}, {"content": None}),
        ({"content": None, "tool_calls": None}, {"content": None}),
        ({"content": "a", "tool_calls": [], "reasoning": "b"}, {"content": "a"}),
        ({"content": None, "refusal": "I do not"}, {"content": "I do not"}),
        ({"tool_calls": [{"id": None}]}, {"content": None, "tool_calls": [{"id": None}]}),
    ],
)
def test_messages_lack_what_they_like(message: Any, kept: Any) -> None:
    bare = {"choices": [{"message": message}]}
    with asked(json.dumps(bare).encode(), completion(message, usage=None)) as ask:
        for _ in range(2):
            found = ask()
            assert found.message == {"role": "assistant", **kept}
            assert found.usage == {"ms": 0}


NOTHING: dict[str, int] = {}
BAD_COUNTS: tuple[Any, ...] = (0, -1, None, "4", 1.5, True)


@pytest.mark.parametrize(
    ("details", "kept"),
    [
        ({"cached_tokens": 4, "audio_tokens": 0}, {"cached": 4}),
        *(({"cached_tokens": bad}, NOTHING) for bad in BAD_COUNTS),
        (None, NOTHING),
        ([], NOTHING),
    ],
)
def test_tokens_from_the_cache_of_the_server_are_kept(details: Any, kept: Any) -> None:
    usage = {"prompt_tokens": 7, "completion_tokens": 3, "prompt_tokens_details": details}
    with asked(completion({"content": "a"}, usage=usage)) as ask:
        assert ask().usage == {"in": 7, "out": 3, **kept, "ms": 0}


WRITTEN = {
    "as it is": KEY,
    "reversed": KEY[::-1],
    "upper case": KEY.upper(),
    "hex": KEY.encode().hex().upper(),
    "hex with blanks": KEY.encode().hex(" "),
    "base64": base64.b64encode(KEY.encode()).decode(),
    "base64 of the reversed": base64.b64encode(KEY[::-1].encode()).decode(),
    "base64, reversed": base64.b64encode(KEY.encode()).decode()[::-1],
    "base64 in lines": base64.encodebytes(
        b"authorization: a long line before, Bearer " + KEY.encode()
    ).decode(),
    "percent": "".join(f"%{ord(c):02x}" for c in KEY),
    "html": "".join(f"&#{ord(c)};" for c in KEY),
    "escaped": "".join(f"\\u{ord(c):04x}" for c in KEY),
    "escaped for Python": "".join(f"\\x{ord(c):02x}" for c in KEY),
    "spaced": " ".join(KEY),
    "with invisible characters": "\u200b".join(KEY),
}


@pytest.mark.parametrize("escapes", [0, 1, 2, 3])
@pytest.mark.parametrize("form", WRITTEN)
def test_no_form_of_the_key_is_kept_however_often_it_is_escaped(form: str, escapes: int) -> None:
    secret = WRITTEN[form]
    for _ in range(escapes):
        secret = json.dumps({"a": secret})
    call = {"id": "c", "type": "function", "function": {"name": "f", "arguments": secret}}
    with asked(reply=lambda _: {"content": f"x{secret}y", "tool_calls": [call]}) as ask:
        message = ask().message
    for text in (message["content"], message["tool_calls"][0]["function"]["arguments"]):
        assert "[key]" in text
        assert WRITTEN[form] not in text
        assert json.dumps(WRITTEN[form])[1:-1] not in text


@given(st.binary(max_size=9), st.binary(max_size=9))
def test_a_key_within_text_in_base64_is_found(before: bytes, behind: bytes) -> None:
    text = base64.b64encode(before + KEY.encode() + behind).decode()
    assert "[key]" in Secrets([KEY]).hide(text)


@pytest.mark.parametrize("text", ["\\" * 10**5, "local-key-" * 10**4, " " * 10**5, "%25" * 10**5])
def test_texts_that_nearly_have_a_key_are_kept(text: str) -> None:
    assert Secrets([KEY]).hide(text) == text


def test_a_connection_that_the_server_has_ended_is_not_a_fault() -> None:
    with asked((400, {"connection": "close"})) as ask:
        with pytest.raises(InfrastructureError):
            ask()
        assert "retries" not in ask().usage


def test_a_dialogue_has_no_time_left() -> None:
    with asked(503, 503) as ask:
        with pytest.raises(InfrastructureError, match="503"):
            ask(deadline=2.5)
        assert len(ask.server.bodies) == 2
        with pytest.raises(LimitError):  # before anything was asked
            ask(deadline=0.5)
        assert len(ask.server.bodies) == 2


def test_where_nobody_listens_it_is_nobody_s_fault() -> None:
    with serving(Server()) as server:
        pass
    ask = Asked(server)
    with pytest.raises(InfrastructureError, match="ConnectionRefusedError"):
        ask()
    assert len(ask.clock.waits) == 1


def test_a_server_that_has_answered_before_may_come_back() -> None:
    with serving(Server()) as server:
        ask = Asked(server)
        ask()
    with pytest.raises(InfrastructureError):
        ask()
    assert len(ask.clock.waits) == 5


def test_a_cache_that_cannot_be_written_is_nobody_s_fault(tmp_path: Path) -> None:
    with asked(cache=FolderCache(tmp_path / "cache", "")) as ask:
        ask()
        (file,) = tmp_path.rglob("*.json")
        file.unlink()
        file.mkdir()
        with pytest.raises(InfrastructureError, match="cache"):
            ask()
