"""The log of calls: what is there stays, and what a killed server has left is gone on with."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from mwzeval.conversation.tool_server.sessions import CallLog
from mwzeval.errors import MwzevalError, UsageError


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
    with pytest.raises(UsageError, match="is no log of calls"):
        CallLog(path)
    assert path.read_text() == content


def test_what_cannot_be_written_is_told(tmp_path: Path) -> None:
    with pytest.raises(MwzevalError, match=r"cannot write .*: Is a directory"):
        CallLog(tmp_path)
    if Path("/dev/full").exists():
        log = CallLog("/dev/full")
        with pytest.raises(MwzevalError, match="cannot write /dev/full: No space left"):
            log.add("a", 1, "add", "{}", None)
