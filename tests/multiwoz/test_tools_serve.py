"""`mwzeval tools-serve`: MCP clients get the same function results as a live run."""

from __future__ import annotations

import asyncio
import json
import os
import re
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from mcp import Client, StdioServerParameters, stdio_client

from mwzeval.conversation.trajectory import Planned, Record
from mwzeval.multiwoz.corpus import corpus_root, read_tables
from mwzeval.multiwoz.live.stress import parse_conditions
from mwzeval.multiwoz.live.tools import DatabaseTools, schema_of, tools_of
from tests.command_lines import Run
from tests.places import ROOT
from tests.waiting import wait_until

pytestmark = pytest.mark.integration

VERB = ["-m", "mwzeval", "tools-serve", "--corpus", "sample"]
ENVIRONMENT = {**os.environ, "PYTHONPATH": str(ROOT)}
BOOKING = {"name": "the brass otter", "people": 2, "stay": "3", "day": "monday"}
CALLS: list[tuple[str, dict[str, Any]]] = [
    ("find_hotel", {"area": "centre", "stars": None}),
    ("find_train", {"departure": "nowhere"}),
    ("book_hotel", BOOKING),
    ("book_hotel", BOOKING),
    ("book_hotel", {"name": "the brass otter"}),
    ("book_taxi", {"departure": "é", "destination": "b", "leaveat": "quarter past five pm"}),
    ("find_hotl", {}),
    ("find_hotel", {"area": ["centre"]}),
]
no_signals = pytest.mark.skipif(sys.platform == "win32", reason="the tests send signals")


def in_process(seed: int, item: str, trial: int, stress: str = "") -> list[Any]:
    database = DatabaseTools(read_tables(corpus_root("sample", None, offline=True)))
    planned = Planned(item, None, trial, seed=seed)
    tools = tools_of(database, planned, parse_conditions(stress), Record())
    return [tools.call(*call) for call in CALLS]


async def all_calls(client: Client) -> list[Any]:
    results = []
    for call in CALLS:
        result: Any = await client.call_tool(*call)
        results.append(json.loads(result.content[0].text))
        assert result.is_error == ("error" in results[-1])
    return results


def logged(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]


@pytest.mark.parametrize("stress", ["", "stale=1,errors=.5"])
def test_stdio_results_equal_in_process_results(tmp_path: Path, stress: str) -> None:
    log, errors = tmp_path / "calls.jsonl", tmp_path / "errors.txt"
    options = ["--session", "sng0073#2", "--seed", "7", "--log", str(log), "--stress", stress]
    server = StdioServerParameters(command=sys.executable, args=[*VERB, *options], env=ENVIRONMENT)

    async def ask() -> tuple[list[Any], list[Any]]:
        with errors.open("w") as stream:
            async with Client(stdio_client(server, errlog=stream)) as client:
                return (await client.list_tools()).tools, await all_calls(client)

    tools, results = asyncio.run(ask())
    assert [
        {"name": tool.name, "description": tool.description, "parameters": tool.input_schema}
        for tool in tools
    ] == [tool["function"] for tool in schema_of(parse_conditions(stress))]
    assert results == in_process(7, "sng0073", 2, stress)
    assert (results == in_process(7, "sng0073", 2)) == (not stress)
    assert results[2].get("reference") != results[3]["reference"]
    lines = [
        (line["session"], line["call"], (line["name"], json.loads(line["arguments"])))
        for line in logged(log)
    ]
    assert lines == [("sng0073#2", number, call) for number, call in enumerate(CALLS, start=1)]
    assert [line["result"] for line in logged(log)] == results
    assert re.findall(r": (\d+)", errors.read_text().splitlines()[-1]) == ["1", "8", "4"]


class Server:
    """A server in another process; `first` is the first line of its standard error."""

    def __init__(self, *options: str) -> None:
        self.process = subprocess.Popen(
            [sys.executable, *VERB, *options],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            env=ENVIRONMENT,
        )
        self.first = self._stream("stderr").readline()

    def _stream(self, name: str) -> Any:
        return getattr(self.process, name)

    def send(self, method: str, **params: Any) -> None:
        request = {"jsonrpc": "2.0", "id": 1, "method": method, "params": params}
        self._stream("stdin").write(f"{json.dumps(request)}\n")
        self._stream("stdin").flush()

    def receive(self) -> Any:
        return json.loads(self._stream("stdout").readline())

    def ended(self) -> tuple[int, str, str]:
        """Wait until the server ends; return its exit code and remaining output."""
        wait_until("it ends", lambda: self.process.poll() is not None)
        out, err = self.process.communicate()
        return self.process.returncode, out, err


@no_signals
def test_ctrl_c_stops_a_stdio_server() -> None:
    server = Server()
    assert "11 functions of sample" in server.first
    server.send("ping")
    assert server.receive()["id"] == 1
    server.process.send_signal(signal.SIGINT)
    code, out, err = server.ended()
    assert (code, out) == (0, "")
    assert re.findall(r": (\d+)", err) == ["0", "0", "0"]


@no_signals
def test_http_server_keeps_sessions_separate_until_ctrl_c(tmp_path: Path) -> None:
    log = tmp_path / "calls.jsonl"
    server = Server("--http", "--log", str(log))
    url = server.first.split(" at ")[1].partition(";")[0]

    async def session(name: str) -> list[Any]:
        async with Client(f"{url}?session={name}") as client:
            return await all_calls(client)

    async def both() -> Any:
        return await asyncio.gather(session("a"), session("b"))

    results = asyncio.run(both())
    # The default trial number is 1, as in a live run.
    assert results == [in_process(0, "a", 1), in_process(0, "b", 1)]
    for name, expected in zip("ab", results, strict=True):
        assert [line["result"] for line in logged(log) if line["session"] == name] == expected
    server.process.send_signal(signal.SIGINT)
    code, out, err = server.ended()
    assert (code, out) == (0, "")
    assert re.findall(r": (\d+)", err.splitlines()[-1]) == ["2", "16", "8"]


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="/dev/full does not exist")
def test_server_exits_without_response_if_the_log_is_not_writable() -> None:
    server = Server("--log", "/dev/full", "--session", "a")
    client = {"name": "test", "version": "1"}
    server.send("initialize", protocolVersion="2025-06-18", capabilities={}, clientInfo=client)
    assert server.receive()["id"] == 1
    server.send("tools/call", name="find_hotel", arguments={})
    code, out, err = server.ended()
    assert (code, out, "/dev/full" in err) == (2, "", True)


@pytest.mark.parametrize(
    ("words", "named"),
    [
        ("--http a:b", "a:b"),
        ("--http 256.0.0.1", "256.0.0.1"),
        ("--corpus sampel", '"sample"'),
        ("--log own.json", "own.json"),
    ],
)
def test_invalid_options_are_refused(words: str, named: str, elsewhere: Path, run: Run) -> None:
    Path("own.json").write_text("{}")
    code, out, err = run("tools-serve", "--corpus", "sample", *words.split())
    assert (code, out, named in err) == (2, "", True)


def test_missing_package_error_names_the_extra(monkeypatch: pytest.MonkeyPatch, run: Run) -> None:
    monkeypatch.setitem(sys.modules, "mcp.server", None)
    for verb in ("tools-serve", "live --agent own.py:A --serve-tools"):
        code, _, err = run(*verb.split(), "--corpus", "sample")
        assert (code, "mwzeval[mcp]" in err) == (2, True)
