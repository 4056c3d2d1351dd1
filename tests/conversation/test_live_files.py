"""Files of trajectories: told apart, read, and what is wrong with them, with its place."""

from __future__ import annotations

import json
from typing import Any

import pytest

from mwzeval.conversation.files import LiveFile, check_live, is_live, live_text
from mwzeval.conversation.trajectory import FORMAT, header
from mwzeval.scores.findings import Findings

SAID = [{"role": "user", "content": "hi"}, {"role": "assistant", "content": "hello"}]
HEADER = header("anything", "1.0", {"seed": 3})


def line(name: Any = "a", **keys: Any) -> dict[str, Any]:
    return {"dialogue": name, "goal": {}, "messages": SAID, "end": "user_stop", **keys}


def text(*lines: Any) -> str:
    return "".join(each if isinstance(each, str) else json.dumps(each) + "\n" for each in lines)


def read(*lines: Any) -> tuple[LiveFile, Findings]:
    findings = Findings("run.jsonl")
    return check_live(text(*lines), findings), findings


def test_dialogues_come_by_name_in_their_order_with_the_header() -> None:
    file, findings = read(HEADER, line("b#1", trial=1), line("a#2", trial=2, more=[1]))
    assert findings.problems == []
    assert file.header == HEADER
    assert list(file.dialogues) == ["b#1", "a#2"]
    second = file.dialogues["a#2"]
    assert (second.item, second.trial, second.turns) == ("a", 2, 1)
    assert second.more == {"more": [1]}


def test_a_trial_need_not_stand_in_the_name() -> None:
    file, findings = read(line("a"), line("a", trial=2))
    assert findings.problems == []
    assert list(file.dialogues) == ["a", "a#2"]
    assert {each.item for each in file.dialogues.values()} == {"a"}


@pytest.mark.parametrize(
    ("first", "expected"),
    [
        (HEADER, True),
        (line(), True),
        ({"dialogue": "a", "messages": SAID, "goal": None}, True),
        ({"dialogue": "a", "messages": SAID, "end": "limit"}, True),
        ({"dialogue": "a", "acts": []}, True),
        # These are predictions.
        ({"dialogue": "a", "messages": SAID}, False),
        ({"dialogue": "a", "turns": [], "goal": {}}, False),
        ({"a": [{"response": "hi"}]}, False),
        ('{"dialogue": "a", "messages": [', False),
        ([1], False),
    ],
)
def test_a_file_is_told_by_its_first_line(first: Any, expected: bool) -> None:
    assert is_live(text(first, line("b")).encode()) is expected
    assert is_live(("\ufeff\n" + text(first)).encode()) is expected


@pytest.mark.parametrize(
    ("lines", "kind", "expected"),
    [
        ([line(), "{broken\n", line("b")], "not-json", "run.jsonl: not valid JSON: line 2, column"),
        ([line(), [1]], "shape", "line 2: expected"),
        ([line(), {"dialogue": 3, "messages": SAID}], "shape", 'found no "dialogue" that is text'),
        ([line(), {"dialogue": "b"}], "shape", 'found neither "messages" nor "acts"'),
        ([line("a#2"), line("a#2")], "repeated-dialogue", 'dialogue "a#2": line 2: the dialogue'),
        ([line("a#2", trial=3)], "shape", 'key "trial": line 1: trial is 3, where the name says 2'),
        ([line(end="tired")], "shape", "line 1: end is one of user_stop"),
        ([line(trial="first")], "shape", "line 1: trial is a whole number"),
        ([line(messages=[])], "empty", "line 1: nothing is said in the dialogue"),
        ([line(messages="hi")], "shape", "line 1: messages is a list of objects"),
        (
            [line(messages=[*SAID, {"role": "usr"}])],
            "unknown-role",
            'turn 2, key "messages[2].role',
        ),
        ([line(messages=[{"role": 1}])], "shape", "a role is text, found a number"),
        ([line(messages=[{"role": "user", "content": 3}])], "shape", "content is text or a list"),
        (
            [line(messages=[{"role": "user", "tool_calls": {}}])],
            "shape",
            "expected a list of calls",
        ),
        ([line(acts=[[[], []], [[]]])], "shape", "an exchange is [acts of the user, acts of the"),
        ([{**HEADER, FORMAT: 2}, line()], "version", "version 2 of the format is not known"),
        ([HEADER, line(), {**HEADER, "seed": 4}, line("b")], "other-header", "line 3: another"),
        ([HEADER], "empty", "there is no dialogue in it"),
        (
            ['{"dialogue": "a", "end": "limit", "end": "limit", "messages": []}\n'],
            "repeated-key",
            "",
        ),
    ],
)
def test_what_is_wrong_is_told_with_its_place(lines: list[Any], kind: str, expected: str) -> None:
    _, findings = read(*lines)
    told = [str(error) for error in findings.errors if error.kind == kind]
    assert len(told) == 1
    assert expected in told[0]
    assert findings.warnings == []


def test_all_problems_are_told_and_the_other_lines_read() -> None:
    file, findings = read(line(), "{\n", line("b", end=1), line("c"), [7], line("c"))
    kinds = [error.kind for error in findings.errors]
    assert kinds == ["not-json", "shape", "shape", "repeated-dialogue"]
    assert list(file.dialogues) == ["a", "c"]


def test_a_dialogue_that_failed_at_once_may_be_empty() -> None:
    for end in ("user_error", "agent_error", "infrastructure"):
        assert read(line(messages=[], end=end))[1].problems == []


def test_the_same_header_may_come_again() -> None:
    file, findings = read(HEADER, line(), HEADER, line("b"))
    assert findings.problems == []
    assert list(file.dialogues) == ["a", "b"]


def test_an_end_that_is_missing_is_a_warning_once() -> None:
    lines = [{key: v for key, v in line(name).items() if key != "end"} for name in "ab"]
    file, findings = read(*lines)
    assert [(each.kind, each.count) for each in findings.warnings] == [("no-end", 2)]
    assert {each.end for each in file.dialogues.values()} == {"user_stop"}


def test_a_last_line_that_ends_anywhere_is_left_out() -> None:
    """Wherever a run was killed, also within a character."""
    whole = text(HEADER, line()).encode()
    last = json.dumps(line("b", problem="déjà"), ensure_ascii=False).encode()
    for cut in range(1, len(last)):
        findings = Findings("run.jsonl")
        file = check_live(live_text(whole + last[:cut], "run.jsonl"), findings)
        assert list(file.dialogues) == ["a"]
        assert [(each.kind, each.severity) for each in findings.problems] == [
            ("cut-off", "warning")
        ]
    findings = Findings("run.jsonl")
    assert list(check_live(live_text(whole + last, "run.jsonl"), findings).dialogues) == ["a", "b"]
    assert findings.problems == []
