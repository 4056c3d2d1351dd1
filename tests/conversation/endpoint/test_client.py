"""Completions of a server: what is sent, which side has caused an error, and retries."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from random import Random
from typing import Any

import pytest

from mwzeval.conversation.completions import (
    Client,
    Clock,
    ContextError,
    Endpoint,
    FolderCache,
    tools_text,
)
from mwzeval.conversation.protocols import AnswerError, InfrastructureError, LimitError
from mwzeval.conversation.trajectory import Planned
from tests.conversation.endpoint.server import Server, completion, serving
from tests.conversation.toy import call_of

pytestmark = pytest.mark.integration

KEY = "local-key-0123456789abcdef"
CONTEXT = "This model's maximum context length is 4096 tokens. However, you requested 5000 tokens."
SAID = [{"role": "user", "content": "hi"}]
SPOKEN = [*SAID, {"role": "assistant", "content": "Hm."}, *SAID]


class WaitingClock(Clock):
    """A clock whose time passes only while it waits."""

    def __init__(self) -> None:
        super().__init__()
        self.waits: list[float] = []

    def now(self) -> float:
        return sum(self.waits)

    def wait(self, seconds: float) -> bool:
        self.waits.append(seconds)
        return False


class Asked:
    """A server with faults, and a client with a clock."""

    def __init__(self, server: Server, arguments: Mapping[str, Any], **options: Any) -> None:
        self.server = server
        self.clock = WaitingClock()
        self.client = Client(
            Endpoint("toy", server.url, KEY, arguments), clock=self.clock, **options
        )

    def __call__(self, messages: Any = SAID, **more: Any) -> Any:
        return self.client.complete(messages, rng=Random(1), **more)


@contextmanager
def connected_client(*faults: Any, arguments: Any = None, **options: Any) -> Iterator[Asked]:
    with serving(Server(faults=faults)) as server:
        ask = Asked(server, arguments or {}, **options)
        yield ask
        ask.client.close()


def test_requests_follow_the_protocol() -> None:
    tools = [{"type": "function", "function": {"name": "find", "parameters": {}}}]
    calling = {"role": "assistant", "content": None, "tool_calls": [call_of("find", "{}")]}
    result = {"role": "tool", "tool_call_id": "x", "content": "{}"}
    messages = [*SAID, {**calling, "content": "", "usage": {"ms": 3}}, result]
    own = {"temperature": None, "max_tokens": 9}
    with connected_client(arguments=own) as ask:
        found = ask(messages, tools=tools_text(tools), more={"seed": 5})
        ask()
        for choice in (None, "required"):
            ask(tools=tools_text(tools), more={"tool_choice": choice})
    assert found.message == {"role": "assistant", "content": "hello"}
    assert found.usage == {"in": 7, "out": 3, "ms": 0}
    assert found.finish_reason == "stop"
    plain = {"model": "toy", "messages": SAID, "max_tokens": 9}
    assert ask.server.bodies == [
        {
            **plain,
            "messages": [*SAID, calling, result],
            "tools": tools,
            "tool_choice": "auto",
            "seed": 5,
        },
        plain,
        {**plain, "tools": tools},
        {**plain, "tools": tools, "tool_choice": "required"},
    ]
    assert ask.server.paths[0] == "/v1/chat/completions"
    assert ask.server.headers[0]["authorization"] == f"Bearer {KEY}"


TEMPORARY = [
    *(408, 409, 425, 429, 500, 502, 503, 529, "reset", "half"),
    b"<html>",
    b'{"choices": [',
    {},
    {"choices": []},
    {"choices": [{"message": "hello"}]},
    {"error": {"message": "overloaded", "code": 502}},
    {"error": "overloaded"},
]


@pytest.mark.parametrize("fault", TEMPORARY, ids=str)
def test_a_request_is_repeated_after_a_temporary_fault(fault: Any) -> None:
    with connected_client(fault, fault) as ask:
        found = ask()
    assert found.message["content"] == "hello"
    assert found.usage["retries"] == 2
    assert len(ask.server.bodies) == 3
    assert ask.server.bodies[0] == ask.server.bodies[2]
    first, second = ask.clock.waits
    assert 1 <= first <= 2 <= second <= 4


def test_a_request_is_repeated_after_its_time_limit() -> None:
    with connected_client("hang", seconds=0.3) as ask:
        assert ask().usage["retries"] == 1
    with (
        connected_client("hang", dialogue_seconds=0.3) as ask,
        pytest.raises(InfrastructureError, match=r"0\.3"),
    ):
        ask.client.of_dialogue(Planned("a", None), "agent")(SAID)


def test_failure_after_the_last_retry_is_an_infrastructure_error() -> None:
    with connected_client(*[503] * 9) as ask, pytest.raises(InfrastructureError, match="503"):
        ask()
    assert len(ask.server.bodies) == 6
    for wait, low in zip(ask.clock.waits, [1, 2, 4, 8, 16], strict=True):
        assert low <= wait <= min(2 * low, 30)


@pytest.mark.parametrize(
    ("after", "low"),
    [("7", 7), ("0", 0), ("3600", 59), ("Wed, 21 Oct 2015 07:28:09 GMT", 9), ("soon", 1)],
)
def test_a_server_may_request_a_delay(after: str, low: int) -> None:
    headers = {"retry-after": after, "date": "Wed, 21 Oct 2015 07:28:00 GMT"}
    with connected_client((429, headers)) as ask:
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
UNSUPPORTED: list[Any] = [
    (400, {}, {"error": {"message": "gemma:latest does not support tools"}}),
    (400, {}, {"object": "error", "message": '"auto" tool choice requires --enable-auto-tool-…'}),
    422,
]
"""Servers that do not support tools or an argument refuse the first request."""


@pytest.mark.parametrize(
    ("fault", "messages", "error"),
    [
        *((fault, SAID, ContextError) for fault in CONTEXTS),
        *((status, SPOKEN, AnswerError) for status in (400, 422)),
        *((fault, SAID, InfrastructureError) for fault in UNSUPPORTED),
        # A wrong address or key, or a lack of credit.
        *((status, SPOKEN, InfrastructureError) for status in (301, 401, 402, 403, 404)),
    ],
    ids=str,
)
def test_refused_requests_are_not_repeated_and_raise_an_error(
    fault: Any, messages: Any, error: type[Exception]
) -> None:
    with connected_client(fault) as ask, pytest.raises(error) as raised:
        ask(messages)
    assert raised.type is error
    assert "/v1" not in str(raised.value)  # the URLs of some gateways contain keys
    assert len(ask.server.bodies) == 1


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
def test_responses_without_optional_keys_and_usage_are_accepted(message: Any, kept: Any) -> None:
    bare = {"choices": [{"message": message}]}
    with connected_client(json.dumps(bare).encode(), completion(message, usage=None)) as ask:
        for _ in range(2):
            found = ask()
            assert found.message == {"role": "assistant", **kept}
            assert found.usage == {"ms": 0}


@pytest.mark.parametrize(
    "details", [None, [], *({"cached_tokens": n} for n in (4, 0, -1, "4", 1.5, True))]
)
def test_valid_numbers_of_cached_tokens_are_kept(details: Any) -> None:
    usage = {"prompt_tokens": 7, "completion_tokens": 3, "prompt_tokens_details": details}
    cached = {"cached": 4} if details == {"cached_tokens": 4} else {}
    with connected_client(completion({"content": "a"}, usage=usage)) as ask:
        assert ask().usage == {"in": 7, "out": 3, **cached, "ms": 0}


def test_a_connection_that_the_server_has_closed_is_replaced() -> None:
    with connected_client((400, {"connection": "close"})) as ask:
        with pytest.raises(InfrastructureError):
            ask()
        assert "retries" not in ask().usage


def test_retries_end_with_the_time_limit_of_the_dialogue() -> None:
    with connected_client(503, 503, dialogue_seconds=2.5) as ask:
        complete = ask.client.of_dialogue(Planned("a", None), "agent")
        with pytest.raises(InfrastructureError, match="503"):
            complete(SAID)
        assert (len(ask.server.bodies), len(ask.clock.waits)) == (2, 1)
        ask.clock.waits.append(2.5)
        with pytest.raises(LimitError):
            complete(SAID)
        assert len(ask.server.bodies) == 2


@pytest.mark.parametrize(("has_answered", "retries"), [(False, 1), (True, 5)])
def test_an_unreachable_server_has_more_retries_if_it_has_answered(
    has_answered: bool, retries: int
) -> None:
    with serving(Server()) as server:
        ask = Asked(server, {})
        if has_answered:
            ask()
    with pytest.raises(InfrastructureError, match="ConnectionRefusedError"):
        ask()
    assert len(ask.clock.waits) == retries


def test_a_cache_that_cannot_be_written_is_an_infrastructure_error(tmp_path: Path) -> None:
    with connected_client(cache=FolderCache(tmp_path / "cache", "")) as ask:
        ask()
        (file,) = tmp_path.rglob("*.json")
        file.unlink()
        file.mkdir()
        with pytest.raises(InfrastructureError, match="cache"):
            ask()
