"""Tools over MCP: sessions, the log of calls, and the server as clients of the protocol see it."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Iterator
from http.client import HTTPConnection
from pathlib import Path
from typing import Any

import pytest
from mcp import Client

from mwzeval.conversation.mcp import (
    LARGEST_REQUEST,
    Address,
    CallLog,
    HttpServer,
    Sessions,
    ToolServer,
)
from mwzeval.errors import MwzevalError, UsageError
from tests.conversation.toy import Adder

pytestmark = pytest.mark.integration


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "calls.jsonl"


def lines_of(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]


def test_servers_append_each_call_to_a_shared_log_immediately(path: Path) -> None:
    with CallLog(path) as log, CallLog(path) as other:
        log.add("a#2", 1, "add", '{"terms": [1]}', {"sum": 1})
        (line,) = lines_of(path)
        other.add("b", 1, "add", "{}", "é\ud800")
        log.add("a#2", 2, "add", "{}", None)
    assert line.pop("at").endswith("+00:00")
    call = {"session": "a#2", "call": 1, "name": "add"}
    assert line == {**call, "arguments": '{"terms": [1]}', "result": {"sum": 1}}
    written = [(line["session"], line["call"]) for line in lines_of(path)]
    assert written == [("a#2", 1), ("b", 1), ("a#2", 2)]


@pytest.mark.parametrize("has_first", [False, True])
@pytest.mark.parametrize("left", [1, 5, 11, 20, -1])
def test_a_log_with_an_incomplete_line_is_continued(has_first: bool, left: int, path: Path) -> None:
    with CallLog(path) as log:
        log.add("a", 1, "add", "{}", None)
    whole = path.read_bytes()
    before = whole * has_first + whole[:left]
    path.write_bytes(before)
    with CallLog(path) as log:
        log.add("a", 2, "add", "{}", None)
    *old, last = path.read_bytes().splitlines(keepends=True)
    assert b"".join(old) == before + b"\n"
    assert json.loads(last)["call"] == 2


@pytest.mark.parametrize("content", ["[]\n", "hello", '{"dialogue": "a"}\n', "\n"])
def test_a_file_with_other_content_is_not_changed(content: str, path: Path) -> None:
    path.write_text(content)
    with pytest.raises(UsageError, match=path.name):
        CallLog(path)
    assert path.read_text() == content


def test_a_log_that_cannot_be_written_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(MwzevalError, match=tmp_path.name):
        CallLog(tmp_path)


def test_each_session_has_its_own_tools_and_its_calls_are_logged(path: Path) -> None:
    calls = [*((name, "add", '{"terms": [1, 2]}') for name in "aba"), ("b", "subtract", "")]
    calls += [("a", "add", "{"), ("a", "add", "[1]")]
    with CallLog(path) as log:
        sessions = Sessions(Adder, log)
        results = [sessions.call(*call) for call in calls]
    numbers = [("a", 1), ("b", 1), ("a", 2), ("b", 2), ("a", 3), ("a", 4)]
    assert results[:3] == [
        {"sum": 3, "call": number, "session": session} for session, number in numbers[:3]
    ]
    assert all(result.keys() == {"error"} for result in results[3:])
    assert [line["result"] for line in lines_of(path)] == results
    assert [(line["session"], line["call"]) for line in lines_of(path)] == numbers
    assert (sessions.begun, sessions.calls, sessions.errors) == (2, 6, 3)


def test_the_least_recently_used_session_is_removed() -> None:
    sessions = Sessions(Adder, most=2)
    results = [sessions.call(name, "add", '{"terms": []}') for name in "abacab"]
    assert [result["call"] for result in results] == [1, 1, 2, 1, 3, 1]
    assert (sessions.begun, sessions.forgotten) == (4, 2)


Served = tuple[HttpServer, Sessions]


@pytest.fixture
def served() -> Iterator[Served]:
    sessions = Sessions(Adder)
    server = HttpServer(ToolServer("adder", Adder.schema, sessions.call), Address())
    server.start()
    yield server, sessions
    server.close()


def post(
    server: HttpServer, body: Any, path: str = "/mcp", method: str = "POST", **headers: str
) -> tuple[int, Any, Any]:
    """Return the status, headers and content of an answer."""
    connection = HTTPConnection(server.address.host, server.address.port, timeout=600)
    named = {name.replace("_", "-"): value for name, value in headers.items()}
    named |= {"content-type": "application/json", "accept": "application/json, text/event-stream"}
    connection.request(method, path, body if isinstance(body, str) else json.dumps(body), named)
    response = connection.getresponse()
    content = response.read()
    connection.close()
    is_json = response.getheader("content-type") == "application/json"
    return response.status, response.headers, json.loads(content) if is_json else content


def call(arguments: Any, name: Any = "add") -> dict[str, Any]:
    params = {"name": name, "arguments": arguments}
    return {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params}


def result_of(answer: tuple[int, Any, Any]) -> tuple[Any, str]:
    """Return the result of a call and its session."""
    result = answer[2]["result"]
    value = json.loads(result["content"][0]["text"])
    assert result["isError"] == ("error" in value)
    return value, result["_meta"]["mwzeval/session"]


def test_a_session_is_named_by_header_address_or_connection(served: Served) -> None:
    server, sessions = served
    right = call({"terms": [1]})
    assert result_of(post(server, right, Mwzeval_Session="a"))[1] == "a"
    assert result_of(post(server, right, "/mcp?session=b%231"))[1] == "b#1"
    assert result_of(post(server, right, "/mcp?session=b", Mwzeval_Session="a"))[1] == "a"
    client = {"name": "test", "version": "1"}
    about = {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": client}
    begin = {"jsonrpc": "2.0", "id": 0, "method": "initialize", "params": about}
    random_names = {post(server, begin)[1]["mcp-session-id"] for _ in range(2)}
    assert len(random_names) == 2
    for name in random_names:
        connection = {"mcp_session_id": name, "mcp_protocol_version": "2025-06-18"}
        assert result_of(post(server, right, **connection))[1] == name

    async def call_without_name() -> None:
        for _ in range(2):  # in newer versions of the protocol, both have one session
            async with Client(server.url) as client:
                await client.call_tool("add", {"terms": []})

    asyncio.run(call_without_name())
    assert (sessions.begun, sessions.calls) == (5, 7)
    assert server.url_of("b#1") == f"{server.url}?session=b%231"
    with pytest.raises(UsageError, match=r"127.0.0.1:\d+"):  # the port is in use
        HttpServer(ToolServer("adder", Adder.schema, sessions.call), server.address)


@pytest.mark.parametrize(
    ("arguments", "error"),
    [
        ("{", "the arguments are not JSON"),
        ("[1]", "the arguments must be an object, not [1]"),
        ([1], "the arguments must be an object, not [1]"),
        (7, "the arguments must be an object, not 7"),
        (True, "the arguments must be an object, not True"),
        (None, "cannot add None"),
        ({"terms": float("nan")}, "cannot add nan"),
    ],
)
def test_invalid_arguments_return_an_error_result(
    arguments: Any, error: str, served: Served
) -> None:
    server, sessions = served
    result, _ = result_of(post(server, call(arguments), "/mcp?session=a"))
    assert result["error"].startswith(error)
    assert sessions.errors == 1


def test_unusual_arguments_and_host_spellings_are_accepted(
    served: Served,
) -> None:
    answer = post(served[0], call('{"terms": [2, 3]}'), "/mcp?session=a")
    assert result_of(answer)[0]["sum"] == 5
    for version in ("2025-06-18", "2026-07-28"):
        answer = post(served[0], call({}, "\ud800"), mcp_protocol_version=version)
        assert answer[0] in (200, 400)
    for host in ("localhost", "LOCALHOST:80", "localhost.", "LocalHost.:80"):
        answer = post(served[0], call({"terms": [1]}), "/mcp?session=a", Host=host)
        assert result_of(answer)[0]["sum"] == 1


@pytest.mark.parametrize(
    ("status", "request_"),
    [
        (421, {"Host": "evil.example"}),
        (421, {"Host": "localhost:80.evil.example"}),
        (421, {"Host": "localhost:80@evil.example"}),
        (421, {"Host": "localhost:evil"}),
        (421, {"Host": "evil.example:80"}),
        (403, {"Origin": "http://evil.example"}),
        (400, {"Mwzeval_Session": "a" * 201}),
        (400, {"path": "/mcp?session=a%0a"}),
        (405, {"method": "GET"}),
        (405, {"method": "DELETE"}),
        (404, {"path": "/"}),
        (413, {"body": "1" * (LARGEST_REQUEST + 1)}),
        (400, {"body": "{"}),
    ],
)
def test_invalid_requests_are_refused(
    status: int, request_: dict[str, str], served: Served
) -> None:
    server, sessions = served
    assert post(server, **{"body": json.dumps(call({})), **request_})[0] == status
    assert sessions.begun == 0


@pytest.mark.parametrize(
    ("text", "host", "port"),
    [
        ("", "127.0.0.1", 0),
        ("8000", "127.0.0.1", 8000),
        (":8000", "127.0.0.1", 8000),
        ("localhost", "localhost", 0),
        ("localhost:80", "localhost", 80),
        ("::1", "::1", 0),
        ("[::1]", "::1", 0),
        ("[::1]:80", "::1", 80),
    ],
)
def test_an_address_is_a_host_a_port_or_both(text: str, host: str, port: int) -> None:
    assert Address.of(text) == (host, port)


@pytest.mark.parametrize("text", ["a:b", "a:65536", "a:-1", "٣:٣", "1" * 5000])
def test_an_invalid_address_is_refused(text: str) -> None:
    with pytest.raises(UsageError, match="HOST:PORT"):
        Address.of(text)
