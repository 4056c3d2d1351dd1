"""Trajectory files: writing, reading, and the kind and place of each problem."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mwzeval.conversation.messages import ExecutedCall, Turn, read_messages, turns_of
from mwzeval.conversation.protocols import ENDS
from mwzeval.conversation.trajectory import (
    FORMAT,
    LiveFile,
    Trajectory,
    check_live,
    header,
    is_dialogue,
    is_live,
    live_text,
    trajectory_of,
)
from mwzeval.scores.findings import Findings
from mwzeval.statistics.trials import item_and_trial
from tests.conversation.toy import call_of

HI = {"role": "user", "content": "hi"}
ANSWER = {"role": "assistant", "content": "hello"}
HEADER = header("anything", "1.0", {"seed": 3})


def line(name: Any = "a", **keys: Any) -> dict[str, Any]:
    return {"dialogue": name, "goal": {}, "messages": [HI, ANSWER], "end": "user_stop", **keys}


def text(*lines: Any) -> str:
    return "".join(raw if isinstance(raw, str) else json.dumps(raw) + "\n" for raw in lines)


def read(*lines: Any) -> tuple[LiveFile, Findings]:
    findings = Findings("run.jsonl")
    return check_live(text(*lines), findings), findings


def test_dialogues_and_header_are_read_in_file_order() -> None:
    lines = line("b#1", trial=1), line("a#2", trial=2, more=[1]), line("c"), line("c", trial=2)
    file, findings = read(HEADER, *lines[:2], HEADER, *lines[2:])
    assert findings.problems == []
    assert file.header == HEADER
    assert list(file.dialogues) == ["b#1", "a#2", "c", "c#2"]
    second = file.dialogues["a#2"]
    assert (second.item, second.trial, second.turns, second.more) == ("a", 2, 1, {"more": [1]})
    assert file.dialogues["c#2"].item == "c"


@pytest.mark.parametrize(
    ("first", "expected"),
    [
        (HEADER, True),
        (line(), True),
        ({"dialogue": "a", "messages": [HI], "goal": None}, True),
        ({"dialogue": "a", "messages": [HI], "end": "limit"}, True),
        ({"dialogue": "a", "acts": []}, True),
        # These are predictions.
        ({"dialogue": "a", "messages": [HI]}, False),
        ({"dialogue": "a", "turns": [], "goal": {}}, False),
        ({"a": [{"response": "hi"}]}, False),
        ('{"dialogue": "a", "messages": [', False),
        ([1], False),
    ],
)
def test_the_first_line_distinguishes_runs_from_predictions(first: Any, expected: bool) -> None:
    assert is_live(text(first, line("b")).encode()) is expected
    assert is_live(("\ufeff\n" + text(first)).encode()) is expected


@pytest.mark.parametrize(
    ("lines", "kind", "place"),
    [
        ([line(), "{broken\n", line("b")], "not-json", "line 2"),
        ([line(), [1]], "shape", "line 2"),
        ([line(), {"dialogue": 3, "messages": [HI]}], "shape", '"dialogue"'),
        ([line(), {"dialogue": "b"}], "shape", '"acts"'),
        ([line("a#2"), line("a#2")], "repeated-dialogue", 'dialogue "a#2": line 2'),
        ([line("a#2", trial=3)], "shape", 'key "trial": line 1'),
        ([line(end="tired")], "shape", "user_stop"),
        *(([line(trial=bad)], "shape", "trial") for bad in ("first", 0, True, 10**400)),
        *(([line(turns=bad)], "shape", "turns") for bad in (-1, 10**400)),
        ([line(problem=3)], "shape", "problem"),
        ([line(acts="hi")], "shape", "acts"),
        ([line(messages=[])], "empty", "line 1"),
        *(([line(messages=bad)], "shape", "messages") for bad in ("hi", ["hi"])),
        ([line(messages=[HI, {"role": "usr"}])], "unknown-role", 'turn 1, key "messages[1].role'),
        ([line(acts=[[[], []], [[]]])], "shape", "acts[1]"),
        ([{**HEADER, FORMAT: 2}, line()], "version", "2"),
        ([HEADER, line(), {**HEADER, "seed": 4}, line("b")], "other-header", "line 3"),
        ([HEADER], "empty", ""),
        (['{"dialogue": "a", "end": "limit", "end": "limit", "acts": []}\n'], "repeated-key", ""),
    ],
)
def test_problems_are_reported_with_kind_and_position(
    lines: list[Any], kind: str, place: str
) -> None:
    _, findings = read(*lines)
    (problem,) = [str(error) for error in findings.errors if error.kind == kind]
    assert place in problem
    assert findings.warnings == []


def test_lines_after_a_problem_are_read() -> None:
    file, findings = read(line(), "{\n", line("b", end=1), line("c"), [7], line("c"))
    kinds = [error.kind for error in findings.errors]
    assert kinds == ["not-json", "shape", "shape", "repeated-dialogue"]
    assert list(file.dialogues) == ["a", "c"]


@pytest.mark.parametrize("end", ["user_error", "agent_error", "infrastructure"])
def test_failed_dialogues_may_be_empty(end: str) -> None:
    assert read(line(messages=[], end=end))[1].problems == []


def test_an_incomplete_last_line_is_a_warning() -> None:
    whole = text(HEADER, line()).encode()
    last = json.dumps(line("b", problem="déjà"), ensure_ascii=False).encode()
    for cut in range(1, len(last) + 1):
        findings = Findings("run.jsonl")
        file = check_live(live_text(whole + last[:cut], "run.jsonl"), findings)
        is_whole = cut == len(last)
        assert list(file.dialogues) == (["a", "b"] if is_whole else ["a"])
        problems = [(problem.kind, problem.severity) for problem in findings.problems]
        assert problems == ([] if is_whole else [("cut-off", "warning")])


MESSAGES = st.fixed_dictionaries({"role": st.sampled_from(["user", "assistant"])})


@given(
    st.builds(
        Trajectory,
        item=st.text(min_size=1).filter(lambda name: item_and_trial(name)[1] is None),
        goal=st.none() | st.dictionaries(st.text(), st.text()),
        messages=st.lists(MESSAGES, min_size=1).map(tuple),
        end=st.sampled_from(ENDS),
        problem=st.none() | st.text(),
        turns=st.integers(1, 40),
        trial=st.integers(1, 9),
        is_numbered=st.just(True),
        more=st.dictionaries(st.sampled_from(["user", "usage"]), st.text()),
    )
)
def test_a_written_trajectory_is_read_again(trajectory: Trajectory) -> None:
    line = trajectory.line()
    assert line.endswith("\n")
    assert line.count("\n") == 1
    raw = json.loads(line)
    assert is_dialogue(raw)
    assert trajectory_of(raw) == trajectory


def test_external_lines_need_only_a_name_and_messages_or_acts() -> None:
    file, findings = read(
        {"dialogue": "mul1", "messages": [HI], "mood": "good"},
        {"dialogue": "mul2", "acts": [[[], []], [[], []]]},
    )
    first, second = file.dialogues.values()
    assert (first.item, first.trial, first.end, first.turns) == ("mul1", 1, "user_stop", 1)
    assert first.more == {"mood": "good"}
    assert second.turns == 2
    assert [(warning.kind, warning.count) for warning in findings.warnings] == [("no-end", 2)]


CALL = ExecutedCall("find", '{"area": "north"}')
WAIT = {"type": "text", "text": "one moment"}
USE = {"type": "tool_use", "name": "find", "input": {"area": "north"}}
FAILED = {"type": "tool_result", "content": "x", "is_error": True}


@pytest.mark.parametrize(
    ("message", "remarks", "calls"),
    [
        ({"tool_calls": [call_of("find", CALL.arguments)]}, [], [CALL]),
        ({"tool_calls": [call_of("find", {"area": "north"})]}, [], [CALL]),
        ({"tool_calls": [call_of("find", "")]}, [], [ExecutedCall("find", "")]),
        ({"function_call": {"name": "find", "arguments": CALL.arguments}}, [], [CALL]),
        ({"content": [WAIT, USE]}, ["one moment"], [CALL]),
        ({"content": "one moment"}, ["one moment"], []),
        ({"role": "tool", "content": '{"count": 2}'}, [], [(None, "", '{"count": 2}', False)]),
        ({"role": "function", "content": '{"error": 1}'}, [], [(None, "", '{"error": 1}', True)]),
        ({"role": "tool", "content": 'no "error"'}, [], [(None, "", 'no "error"', False)]),
        ({"role": "tool", "content": '["error"]'}, [], [(None, "", '["error"]', False)]),
        ({"role": "user", "content": [FAILED]}, [], [(None, "", "x", True)]),
    ],
)
def test_turns_contain_texts_calls_and_results_of_all_formats(
    message: dict[str, Any], remarks: list[str], calls: list[Any]
) -> None:
    expected = [call if isinstance(call, ExecutedCall) else ExecutedCall(*call) for call in calls]
    turns = turns_of(read_messages([HI, {"role": "assistant", **message}, ANSWER]))
    assert turns == [Turn("hi", remarks, expected, "hello")]


def test_each_message_of_the_user_begins_a_turn() -> None:
    instruction = {"role": "system", "content": "be kind"}
    turns = turns_of(read_messages([instruction, ANSWER, HI, HI, ANSWER, HI]))
    answered = Turn("hi", agent="hello")
    assert turns == [Turn("", agent="hello"), Turn("hi"), answered, Turn("hi")]


def test_results_without_ids_are_matched_to_calls_in_order() -> None:
    calls = {"role": "assistant", "tool_calls": [call_of("find", "1"), call_of("find", "2")]}
    results = [{"role": "tool", "content": result} for result in "aba"]
    (turn,) = turns_of(read_messages([HI, calls, *results]))
    executed = [(call.name, call.arguments, call.result) for call in turn.calls]
    assert executed == [("find", "1", "a"), ("find", "2", "b"), (None, "", "a")]
