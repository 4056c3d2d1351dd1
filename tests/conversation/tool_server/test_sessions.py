"""Sessions with tools of their own, and the log of their calls, which a new server continues."""

from __future__ import annotations

import json
import tracemalloc
from pathlib import Path
from typing import Any

import pytest

from mwzeval.conversation.tool_server.sessions import MOST_SESSIONS, CallLog, Sessions
from mwzeval.errors import MwzevalError, UsageError
from tests.conversation.tool_server.adder import Adder


def lines(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]


def test_a_call_is_a_line_that_is_there_at_once(tmp_path: Path) -> None:
    path = tmp_path / "calls.jsonl"
    with CallLog(path) as log:
        log.add("a#2", 1, "add", '{"terms": [1]}', {"sum": 1})
        (line,) = lines(path)
    assert line.pop("at").endswith("+00:00")
    assert line == {
        "session": "a#2",
        "call": 1,
        "name": "add",
        "arguments": '{"terms": [1]}',
        "result": {"sum": 1},
    }


def test_several_servers_write_to_one_file(tmp_path: Path) -> None:
    path = tmp_path / "calls.jsonl"
    with CallLog(path) as one, CallLog(path) as other:
        for number in range(1, 4):
            one.add("a", number, "add", "{}", "é\ud800")
            other.add("b", number, "add", "{}", None)
    assert [(each["session"], each["call"]) for each in lines(path)] == [
        (session, number) for number in (1, 2, 3) for session in "ab"
    ]


@pytest.mark.parametrize("left", [0, 1, 9, -1])
def test_a_line_that_was_cut_off_ends_where_it_does(left: int, tmp_path: Path) -> None:
    """At any byte from the end of the key on; what comes afterwards can be read."""
    path = tmp_path / "calls.jsonl"
    with CallLog(path) as log:
        log.add("a", 1, "add", "{}", None)
    whole = path.read_bytes()
    cut = whole[: len('{"session":') + left] if left >= 0 else whole[:left]
    path.write_bytes(whole + cut)
    with CallLog(path) as log:
        log.add("a", 2, "add", "{}", None)
    first, second, third = path.read_bytes().splitlines(keepends=True)
    assert (first, second) == (whole, cut + b"\n")
    assert json.loads(third)["call"] == 2


@pytest.mark.parametrize("left", [1, 5, 20])
def test_a_first_line_that_was_cut_off_is_one_of_a_log(left: int, tmp_path: Path) -> None:
    path = tmp_path / "calls.jsonl"
    path.write_text('{"session":"a","call":1'[:left])
    with CallLog(path) as log:
        log.add("a", 1, "add", "{}", None)
    assert json.loads(path.read_text().splitlines()[1])["call"] == 1


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
    with CallLog(path) as log:
        sessions = Sessions(Adder, log)
        results = [sessions.call(name, "add", '{"terms": [1, 2]}') for name in "aba"]
        wrong = sessions.call("b", "subtract", "")
    assert results == [
        {"sum": 3, "call": 1, "of": "a"},
        {"sum": 3, "call": 1, "of": "b"},
        {"sum": 3, "call": 2, "of": "a"},
    ]
    assert wrong == {"error": 'there is no function "subtract"'}
    assert [line["result"] for line in lines(path)] == [*results, wrong]
    assert [(line["session"], line["call"]) for line in lines(path)] == [
        ("a", 1),
        ("b", 1),
        ("a", 2),
        ("b", 2),
    ]
    assert (sessions.begun, sessions.calls, sessions.errors) == (2, 4, 1)


def test_arguments_that_are_no_object_are_errors_as_in_a_live_run() -> None:
    sessions = Sessions(Adder)
    assert all(sessions.call("a", "add", text).keys() == {"error"} for text in ("{", "[1]"))
    assert sessions.errors == 2


def test_the_session_that_was_called_least_recently_is_forgotten() -> None:
    sessions = Sessions(Adder, most=2)
    for name in "abac":
        sessions.call(name, "add", '{"terms": []}')
    assert sessions.call("a", "add", '{"terms": []}')["call"] == 3
    assert sessions.call("b", "add", '{"terms": []}')["call"] == 1
    assert (sessions.begun, sessions.forgotten) == (4, 2)


@pytest.mark.integration
def test_what_is_remembered_is_bounded() -> None:
    sessions = Sessions(Adder)
    tracemalloc.start()
    try:
        for number in range(MOST_SESSIONS + 1_000):
            sessions.call(f"{number:0200}", "add", '{"terms": []}')
        held, _ = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert held < 1_000 * MOST_SESSIONS
