"""Files of trajectories and their lines: written, read, and what is wrong with them."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

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
    lines = line("b#1", trial=1), line("a#2", trial=2, more=[1]), line("c"), line("c", trial=2)
    file, findings = read(HEADER, *lines[:2], HEADER, *lines[2:])
    assert findings.problems == []
    assert file.header == HEADER
    assert list(file.dialogues) == ["b#1", "a#2", "c", "c#2"]
    second = file.dialogues["a#2"]
    assert (second.item, second.trial, second.turns) == ("a", 2, 1)
    assert second.more == {"more": [1]}
    assert file.dialogues["c#2"].item == "c"


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
    ("lines", "kind", "named"),
    [
        ([line(), "{broken\n", line("b")], "not-json", "line 2"),
        ([line(), [1]], "shape", "line 2"),
        ([line(), {"dialogue": 3, "messages": SAID}], "shape", '"dialogue"'),
        ([line(), {"dialogue": "b"}], "shape", '"acts"'),
        ([line("a#2"), line("a#2")], "repeated-dialogue", 'dialogue "a#2": line 2'),
        ([line("a#2", trial=3)], "shape", 'key "trial": line 1'),
        ([line(end="tired")], "shape", "user_stop"),
        ([line(trial="first")], "shape", "trial"),
        ([line(trial=0)], "shape", "trial"),
        ([line(trial=True)], "shape", "trial"),
        ([line(turns=-1)], "shape", "turns"),
        ([line(turns=10**400)], "shape", "turns"),
        ([line(trial=10**400)], "shape", "trial"),
        ([line(problem=3)], "shape", "problem"),
        ([line(acts="hi")], "shape", "acts"),
        ([line(messages=[])], "empty", "line 1"),
        ([line(messages="hi")], "shape", "messages"),
        ([line(messages=["hi"])], "shape", "messages"),
        (
            [line(messages=[*SAID, {"role": "usr"}])],
            "unknown-role",
            'turn 2, key "messages[2].role',
        ),
        ([line(messages=[{"role": 1}])], "shape", "role"),
        ([line(messages=[{"role": "user", "content": 3}])], "shape", "content"),
        ([line(messages=[{"role": "user", "tool_calls": {}}])], "shape", "calls"),
        ([line(acts=[[[], []], [[]]])], "shape", "acts"),
        ([{**HEADER, FORMAT: 2}, line()], "version", "2"),
        ([HEADER, line(), {**HEADER, "seed": 4}, line("b")], "other-header", "line 3"),
        ([HEADER], "empty", ""),
        (
            ['{"dialogue": "a", "end": "limit", "end": "limit", "messages": []}\n'],
            "repeated-key",
            "",
        ),
    ],
)
def test_what_is_wrong_has_a_kind_and_a_place(lines: list[Any], kind: str, named: str) -> None:
    _, findings = read(*lines)
    (told,) = [str(error) for error in findings.errors if error.kind == kind]
    assert named in told
    assert findings.warnings == []


def test_all_problems_are_told_and_the_other_lines_read() -> None:
    file, findings = read(line(), "{\n", line("b", end=1), line("c"), [7], line("c"))
    kinds = [error.kind for error in findings.errors]
    assert kinds == ["not-json", "shape", "shape", "repeated-dialogue"]
    assert list(file.dialogues) == ["a", "c"]


def test_a_dialogue_that_failed_at_once_may_be_empty() -> None:
    for end in ("user_error", "agent_error", "infrastructure"):
        assert read(line(messages=[], end=end))[1].problems == []


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


_MESSAGE = st.fixed_dictionaries({"role": st.sampled_from(["user", "assistant"])})


@given(
    st.builds(
        Trajectory,
        item=st.text(min_size=1).filter(lambda name: item_and_trial(name)[1] is None),
        goal=st.none() | st.dictionaries(st.text(), st.text()),
        messages=st.lists(_MESSAGE, min_size=1).map(tuple),
        end=st.sampled_from(ENDS),
        problem=st.none() | st.text(),
        turns=st.integers(1, 40),
        trial=st.integers(1, 9),
        is_numbered=st.just(True),
        more=st.dictionaries(st.sampled_from(["user", "usage"]), st.text()),
    )
)
def test_what_is_written_is_read_again(trajectory: Trajectory) -> None:
    line = trajectory.line()
    assert line.endswith("\n")
    assert line.count("\n") == 1
    raw = json.loads(line)
    assert is_dialogue(raw)
    assert trajectory_of(raw) == trajectory


def test_a_line_of_another_program_needs_a_name_and_messages() -> None:
    raw = {"dialogue": "mul1", "messages": [{"role": "user", "content": "hi"}], "mood": "good"}
    trajectory = trajectory_of(raw)
    assert (trajectory.item, trajectory.trial, trajectory.end) == ("mul1", 1, "user_stop")
    assert trajectory.turns == 1
    assert trajectory.more == {"mood": "good"}
    assert trajectory_of({"dialogue": "mul1", "acts": [[[], []], [[], []]]}).turns == 2
