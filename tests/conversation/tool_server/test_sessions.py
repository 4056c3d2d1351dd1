"""Sessions: each has tools of its own, all calls are counted, and only so many are remembered."""

from __future__ import annotations

import tracemalloc
from pathlib import Path

from mwzeval.conversation.tool_server.sessions import MOST_SESSIONS, CallLog, Sessions
from tests.conversation.tool_server.adder import Adder
from tests.conversation.tool_server.test_log import lines


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
    assert str(sessions) == "sessions: 2, calls: 4, wrong ones: 1"


def test_arguments_that_are_no_object_are_errors_as_in_a_live_run() -> None:
    sessions = Sessions(Adder)
    assert sessions.call("a", "add", "{")["error"].startswith("the arguments are not JSON")
    assert sessions.call("a", "add", "[1]") == {"error": "the arguments are an object, not [1]"}
    assert sessions.errors == 2


def test_the_session_that_was_called_least_recently_is_forgotten() -> None:
    sessions = Sessions(Adder, most=2)
    for name in "abac":
        sessions.call(name, "add", '{"terms": []}')
    assert sessions.call("a", "add", '{"terms": []}')["call"] == 3
    assert sessions.call("b", "add", '{"terms": []}')["call"] == 1
    assert (sessions.begun, sessions.forgotten) == (4, 2)


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
