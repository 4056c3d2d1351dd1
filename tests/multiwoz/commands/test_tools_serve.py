"""`mwzeval tools-serve`: clients of MCP get what agents of a live run get in process."""

from __future__ import annotations

import asyncio
import json
import os
import re
import signal
import socket
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from mcp import Client, StdioServerParameters, stdio_client

from mwzeval.cli import main
from mwzeval.conversation.trajectory import Planned, Record
from mwzeval.multiwoz.corpus import corpus_root, read_tables
from mwzeval.multiwoz.live.stress.conditions import parse_conditions
from mwzeval.multiwoz.live.stress.tool_faults import schema_of, tools_of
from mwzeval.multiwoz.live.tools import DatabaseTools
from tests.places import ROOT
from tests.waiting import HANGING, wait_until

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


@pytest.mark.parametrize("stress", ["", "stale=1,errors=.5"])
def test_over_standard_streams_all_is_as_in_process(tmp_path: Path, stress: str) -> None:
    """Also what is printed: a word too many on standard output would be no message."""
    log, errors = tmp_path / "calls.jsonl", tmp_path / "errors.txt"
    options = ["--session", "sng0073#2", "--seed", "7", "--log", str(log), "--stress", stress]

    async def ask() -> tuple[list[Any], list[Any]]:
        server = StdioServerParameters(
            command=sys.executable, args=[*VERB, *options], env=ENVIRONMENT
        )
        with errors.open("w") as stream:
            async with Client(stdio_client(server, errlog=stream)) as client:
                return (await client.list_tools()).tools, await all_calls(client)

    tools, results = asyncio.run(ask())
    assert [
        {"name": each.name, "description": each.description, "parameters": each.input_schema}
        for each in tools
    ] == [tool["function"] for tool in schema_of(parse_conditions(stress))]
    assert results == in_process(7, "sng0073", 2, stress)
    assert (results == in_process(7, "sng0073", 2)) == (not stress)
    assert results[2].get("reference") != results[3]["reference"]
    lines = [json.loads(line) for line in log.read_text(encoding="utf-8").splitlines()]
    assert [(line["session"], line["call"]) for line in lines] == [
        ("sng0073#2", number) for number in range(1, 1 + len(CALLS))
    ]
    assert [line["result"] for line in lines] == results
    assert [(line["name"], json.loads(line["arguments"])) for line in lines] == CALLS
    assert re.findall(r": (\d+)", errors.read_text().splitlines()[-1]) == ["1", "8", "4"]


def begun(*options: str, **more: Any) -> tuple[subprocess.Popen[str], str]:
    """Return a server, and what it says first."""
    process = subprocess.Popen(
        [sys.executable, *VERB, *options],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env=ENVIRONMENT,
        **more,
    )
    assert process.stderr is not None
    return process, process.stderr.readline()


@pytest.mark.skipif(sys.platform == "win32", reason="signals are sent")
def test_over_http_sessions_beside_each_other_and_a_log_that_is_there_when_it_is_killed(
    tmp_path: Path,
) -> None:
    log = tmp_path / "calls.jsonl"
    process, said = begun("--http", "--log", str(log))
    try:
        url = said.split(" at ")[1].partition(";")[0]

        async def session(name: str) -> list[Any]:
            async with Client(f"{url}?session={name}") as client:
                return await all_calls(client)

        async def both() -> Any:
            return await asyncio.gather(session("a"), session("b"))

        results = asyncio.run(both())
    finally:
        process.kill()
        process.communicate()
    # The number of a trial that is not said is 1, as in a live run.
    assert results == [in_process(0, "a", 1), in_process(0, "b", 1)]
    lines = [json.loads(line) for line in log.read_text(encoding="utf-8").splitlines()]
    for name, expected in zip("ab", results, strict=True):
        assert [line["result"] for line in lines if line["session"] == name] == expected


@pytest.mark.skipif(sys.platform == "win32", reason="signals are sent")
@pytest.mark.parametrize("options", [(), ("--http",)])
def test_ctrl_c_ends_it_with_what_was_called(options: tuple[str, ...]) -> None:
    process, said = begun(*options)
    assert "11 functions of sample" in said
    if options:  # it listens before it says so, and is interrupted when it answers
        port = int(said.rpartition(":")[2].partition("/")[0])
        with socket.create_connection(("127.0.0.1", port), HANGING) as client:
            client.sendall(b"GET / HTTP/1.0\r\n\r\n")
            assert client.recv(9) == b"HTTP/1.1 "
    else:
        assert process.stdin is not None
        assert process.stdout is not None
        process.stdin.write('{"jsonrpc": "2.0", "id": 1, "method": "ping"}\n')
        process.stdin.flush()
        assert process.stdout.readline().startswith("{")
    process.send_signal(signal.SIGINT)
    wait_until("it ends", lambda: process.poll() is not None)
    out, told = process.communicate()
    assert (process.returncode, out) == (0, "")
    assert re.findall(r": (\d+)", told) == ["0", "0", "0"]


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="there is no such device")
def test_what_cannot_be_logged_is_not_answered() -> None:
    process, _ = begun("--log", "/dev/full", "--session", "a")
    call = {"name": "find_hotel", "arguments": {}}
    first = {"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": INITIALIZE}
    second = {"jsonrpc": "2.0", "id": 2, "method": "tools/call", "params": call}
    assert process.stdin is not None
    assert process.stdout is not None
    process.stdin.write(f"{json.dumps(first)}\n")
    process.stdin.flush()
    assert json.loads(process.stdout.readline())["id"] == 1
    process.stdin.write(f"{json.dumps(second)}\n")
    process.stdin.flush()  # and stays open
    wait_until("it ends", lambda: process.poll() is not None)
    out, told = process.communicate()
    assert (process.returncode, out) == (2, "")
    assert "/dev/full" in told


INITIALIZE = {
    "protocolVersion": "2025-06-18",
    "capabilities": {},
    "clientInfo": {"name": "test", "version": "1"},
}


@pytest.mark.parametrize(
    ("options", "told"),
    [
        (["--http", "a:b"], "a:b"),
        (["--http", "256.0.0.1"], "256.0.0.1"),
        (["--corpus", "sampel"], '"sample"'),
        (["--log", "own.json"], "own.json"),
    ],
)
def test_what_makes_no_sense_is_told(
    options: list[str],
    told: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("own.json").write_text("{}")
    assert main(["tools-serve", "--corpus", "sample", *options]) == 2
    printed = capsys.readouterr()
    assert told in printed.err
    assert printed.out == ""


def test_without_the_package_it_is_said_what_to_install(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setitem(sys.modules, "mcp.server", None)
    command = ["live", "--agent", "own.py:A", "--corpus", "sample", "--serve-tools"]
    for arguments in (["tools-serve", "--corpus", "sample"], command):
        assert main(arguments) == 2
        assert "mwzeval[mcp]" in capsys.readouterr().err
