"""Tools over MCP: sessions and their log, and the server as clients of the protocol see it."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Awaitable, Callable, Iterator, Mapping, Sequence
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

pytestmark = pytest.mark.integration

SCHEMA: list[dict[str, Any]] = [
    {
        "type": "function",
        "function": {
            "name": "add",
            "description": "Add whole numbers.",
            "parameters": {
                "type": "object",
                "properties": {"terms": {"type": "array", "items": {"type": "integer"}}},
                "required": ["terms"],
                "additionalProperties": False,
            },
        },
    }
]


class Adder:
    schema: Sequence[Mapping[str, Any]] = SCHEMA

    def __init__(self, name: str = "") -> None:
        self.name = name
        self.calls = 0

    def call(self, name: str, arguments: Mapping[str, Any]) -> Any:
        self.calls += 1
        if name != "add":
            return {"error": f'there is no function "{name}"'}
        terms = arguments.get("terms")
        if not isinstance(terms, list):
            return {"error": "terms are a list"}
        return {"sum": sum(terms), "call": self.calls, "of": self.name}


def lines(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]


def test_a_call_is_a_line_that_is_there_at_once_whoever_else_writes(tmp_path: Path) -> None:
    path = tmp_path / "calls.jsonl"
    with CallLog(path) as one, CallLog(path) as other:
        one.add("a#2", 1, "add", '{"terms": [1]}', {"sum": 1})
        (line,) = lines(path)
        other.add("b", 1, "add", "{}", "é\ud800")
        one.add("a#2", 2, "add", "{}", None)
    assert line.pop("at").endswith("+00:00")
    call = {"session": "a#2", "call": 1, "name": "add"}
    assert line == {**call, "arguments": '{"terms": [1]}', "result": {"sum": 1}}
    written = [(each["session"], each["call"]) for each in lines(path)]
    assert written == [("a#2", 1), ("b", 1), ("a#2", 2)]


@pytest.mark.parametrize("has_first", [False, True])
@pytest.mark.parametrize("left", [1, 5, 11, 20, -1])
def test_a_line_that_was_cut_off_ends_where_it_does(
    has_first: bool, left: int, tmp_path: Path
) -> None:
    """At any byte; what comes afterwards can be read."""
    path = tmp_path / "calls.jsonl"
    with CallLog(path) as log:
        log.add("a", 1, "add", "{}", None)
    whole = path.read_bytes()
    before, cut = whole * has_first, whole[:left]
    path.write_bytes(before + cut)
    with CallLog(path) as log:
        log.add("a", 2, "add", "{}", None)
    *old, last = path.read_bytes().splitlines(keepends=True)
    assert b"".join(old) == before + cut + b"\n"
    assert json.loads(last)["call"] == 2


@pytest.mark.parametrize("content", ["[]\n", "hello", '{"dialogue": "a"}\n', "\n"])
def test_a_file_of_something_else_stays_as_it_is(content: str, tmp_path: Path) -> None:
    path = tmp_path / "mine.jsonl"
    path.write_text(content)
    with pytest.raises(UsageError, match="mine"):
        CallLog(path)
    assert path.read_text() == content


def test_what_cannot_be_written_is_told(tmp_path: Path) -> None:
    with pytest.raises(MwzevalError, match=tmp_path.name):
        CallLog(tmp_path)
    if Path("/dev/full").exists():
        log = CallLog("/dev/full")
        with pytest.raises(MwzevalError, match="/dev/full"):
            log.add("a", 1, "add", "{}", None)


def test_each_session_has_its_own_tools_and_its_calls_are_logged(tmp_path: Path) -> None:
    path = tmp_path / "calls.jsonl"
    calls = [*((name, "add", '{"terms": [1, 2]}') for name in "aba"), ("b", "subtract", "")]
    calls += [("a", "add", "{"), ("a", "add", "[1]")]
    with CallLog(path) as log:
        sessions = Sessions(Adder, log)
        *results, wrong, no_json, no_object = [sessions.call(*call) for call in calls]
    assert results == [{"sum": 3, "call": n, "of": of} for n, of in ((1, "a"), (1, "b"), (2, "a"))]
    assert wrong == {"error": 'there is no function "subtract"'}
    assert no_json.keys() == no_object.keys() == {"error"}
    assert [line["result"] for line in lines(path)[:4]] == [*results, wrong]
    numbers = [(line["session"], line["call"]) for line in lines(path)]
    assert numbers == [("a", 1), ("b", 1), ("a", 2), ("b", 2), ("a", 3), ("a", 4)]
    assert (sessions.begun, sessions.calls, sessions.errors) == (2, 6, 3)


def test_the_session_that_was_called_least_recently_is_forgotten(tmp_path: Path) -> None:
    with CallLog(tmp_path / "calls.jsonl") as log:
        sessions = Sessions(Adder, log, most=2)
        results = [sessions.call(name, "add", '{"terms": []}') for name in "abacab"]
    numbers = [1, 1, 2, 1, 3, 1]
    assert [result["call"] for result in results] == numbers
    assert [line["call"] for line in lines(tmp_path / "calls.jsonl")] == numbers
    assert (sessions.begun, sessions.forgotten) == (4, 2)


MODES = ["legacy", "auto"]
"""The protocol with a handshake, and the newer one without."""


def asked(server: Any, mode: str, ask: Callable[[Client], Awaitable[Any]]) -> Any:
    async def connect() -> Any:
        async with Client(server, mode=mode) as client:
            return await ask(client)

    return asyncio.run(connect())


@pytest.mark.parametrize("mode", MODES)
def test_clients_see_the_schema_and_the_results(mode: str) -> None:
    sessions = Sessions(Adder)
    server = ToolServer("adder", SCHEMA, sessions.call, "here")

    async def ask(client: Client) -> Any:
        tools = (await client.list_tools()).tools
        calls = [("add", {"terms": [1, 2]}), ("add", {}), ("subtract", {"terms": [1]})]
        return tools, [await client.call_tool(*call) for call in calls]

    tools, results = asked(server.server, mode, ask)
    assert [(each.name, each.description, each.input_schema) for each in tools] == [
        tuple(tool["function"][key] for key in ("name", "description", "parameters"))
        for tool in SCHEMA
    ]
    assert [(json.loads(each.content[0].text), each.is_error) for each in results] == [
        ({"sum": 3, "call": 1, "of": "here"}, False),
        ({"error": "terms are a list"}, True),
        ({"error": 'there is no function "subtract"'}, True),
    ]
    assert {each.meta["mwzeval/session"] for each in results} == {"here"}
    assert (sessions.calls, sessions.errors) == (3, 2)


@pytest.fixture
def served() -> Iterator[tuple[HttpServer, Sessions]]:
    sessions = Sessions(Adder)
    server = HttpServer(ToolServer("adder", SCHEMA, sessions.call), Address())
    server.start()
    yield server, sessions
    server.close()


JSON = {"content-type": "application/json", "accept": "application/json, text/event-stream"}


def post(
    server: HttpServer, body: Any, path: str = "/mcp", method: str = "POST", **headers: str
) -> tuple[int, Any, Any]:
    """Return status, headers and content of an answer."""
    connection = HTTPConnection(server.address.host, server.address.port, timeout=600)
    text = body if isinstance(body, str) else json.dumps(body)
    named = {name.replace("_", "-"): value for name, value in headers.items()}
    connection.request(method, path, text, {**JSON, **named})
    response = connection.getresponse()
    content = response.read()
    connection.close()
    is_json = response.getheader("content-type") == "application/json"
    return response.status, response.headers, json.loads(content) if is_json else content


def call(arguments: Any, name: Any = "add") -> dict[str, Any]:
    asked = {"name": name, "arguments": arguments}
    return {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": asked}


def called(answer: tuple[int, Any, Any]) -> tuple[Any, str]:
    result = answer[2]["result"]
    return json.loads(result["content"][0]["text"]), result["_meta"]["mwzeval/session"]


def test_many_sessions_at_once_each_with_its_own_calls(
    served: tuple[HttpServer, Sessions],
) -> None:
    server, sessions = served

    async def converse(name: str, mode: str) -> list[Any]:
        results = []
        for _ in range(3):  # a connection for each, as in agents that connect in each turn
            async with Client(server.url_of(name), mode=mode) as client:
                result: Any = await client.call_tool("add", {"terms": [1]})
                results.append(json.loads(result.content[0].text))
        return results

    async def all_at_once() -> list[list[Any]]:
        return await asyncio.gather(*(converse(f"sng {n}#{n}", MODES[n % 2]) for n in range(1, 7)))

    for number, results in enumerate(asyncio.run(all_at_once()), start=1):
        of = f"sng {number}#{number}"
        assert results == [{"sum": 1, "call": n, "of": of} for n in (1, 2, 3)]
    assert (sessions.begun, sessions.calls) == (6, 18)


def test_a_session_is_named_by_header_address_or_connection(
    served: tuple[HttpServer, Sessions],
) -> None:
    server, sessions = served
    right = call({"terms": [1]})
    assert called(post(server, right, Mwzeval_Session="a"))[1] == "a"
    assert called(post(server, right, "/mcp?session=b%231"))[1] == "b#1"
    assert called(post(server, right, "/mcp?session=b", Mwzeval_Session="a"))[1] == "a"
    client = {"name": "test", "version": "1"}
    about = {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": client}
    begin = {"jsonrpc": "2.0", "id": 0, "method": "initialize", "params": about}
    made_up = {post(server, begin)[1]["mcp-session-id"] for _ in range(2)}
    assert len(made_up) == 2
    for name in made_up:
        of_connection = {"mcp_session_id": name, "mcp_protocol_version": "2025-06-18"}
        assert called(post(server, right, **of_connection))[1] == name
    for _ in range(2):  # newer clients without a name are one session
        asked(server.url, "auto", lambda client: client.call_tool("add", {"terms": []}))
    assert (sessions.begun, sessions.calls) == (5, 7)


@pytest.mark.parametrize(
    ("arguments", "error"),
    [
        ("{", "the arguments are not JSON"),
        ("[1]", "the arguments must be an object, not [1]"),
        ([1], "the arguments must be an object, not [1]"),
        (7, "the arguments must be an object, not 7"),
        (True, "the arguments must be an object, not True"),
        (None, "terms are a list"),
        ({"terms": float("nan")}, "terms are a list"),
    ],
)
def test_arguments_that_make_no_sense_are_results_with_an_error(
    arguments: Any, error: str, served: tuple[HttpServer, Sessions]
) -> None:
    server, sessions = served
    answer = post(server, call(arguments), "/mcp?session=a")
    assert called(answer)[0]["error"].startswith(error)
    assert answer[2]["result"]["isError"] is True
    assert sessions.errors == 1


def test_what_is_unusual_is_answered(served: tuple[HttpServer, Sessions]) -> None:
    """JSON in a string, as some models write it; half a character; hosts in other letters."""
    answer = post(served[0], call('{"terms": [2, 3]}'), "/mcp?session=a")
    assert called(answer)[0]["sum"] == 5
    for version in ("2025-06-18", "2026-07-28"):
        answer = post(served[0], call({}, "\ud800"), mcp_protocol_version=version)
        assert answer[0] in (200, 400)
    for host in ("localhost", "LOCALHOST:80", "localhost.", "LocalHost.:80"):
        answer = post(served[0], call({"terms": [1]}), "/mcp?session=a", Host=host)
        assert called(answer)[0]["sum"] == 1


@pytest.mark.parametrize(
    ("status", "asked"),
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
def test_what_is_no_business_of_the_server_is_refused(
    status: int, asked: dict[str, str], served: tuple[HttpServer, Sessions]
) -> None:
    server, sessions = served
    assert post(server, **{"body": json.dumps(call({})), **asked})[0] == status
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
def test_another_address_is_refused(text: str) -> None:
    with pytest.raises(UsageError, match="HOST:PORT"):
        Address.of(text)


def test_a_port_that_is_taken_is_told(served: tuple[HttpServer, Sessions]) -> None:
    server, sessions = served
    with pytest.raises(UsageError, match=r"127.0.0.1:\d+"):
        HttpServer(ToolServer("adder", SCHEMA, sessions.call), server.address)
