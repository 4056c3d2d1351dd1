"""Lines of trajectory files: written, read, and what is wrong with those of others."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mwzeval.conversation.protocols import ENDS
from mwzeval.conversation.trajectory import (
    Trajectory,
    dialogue_name,
    is_dialogue,
    item_and_trial,
    trajectory_of,
)

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


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("sng0073", ("sng0073", None)),
        ("sng0073#2", ("sng0073", 2)),
        ("a#b#12", ("a#b", 12)),
        ("#2", ("#2", None)),
        ("sng0073#", ("sng0073#", None)),
        ("sng0073#²", ("sng0073#²", None)),
    ],
)
def test_names_have_the_number_of_the_trial_behind_them(
    name: str, expected: tuple[str, int | None]
) -> None:
    assert item_and_trial(name) == expected
    assert dialogue_name(*expected) == name


def test_a_line_of_another_program_needs_a_name_and_messages() -> None:
    raw = {"dialogue": "mul1", "messages": [{"role": "user", "content": "hi"}], "mood": "good"}
    trajectory = trajectory_of(raw)
    assert (trajectory.item, trajectory.trial, trajectory.end) == ("mul1", 1, "user_stop")
    assert trajectory.turns == 1
    assert trajectory.more == {"mood": "good"}
    assert trajectory_of({"dialogue": "mul1", "acts": [[[], []], [[], []]]}).turns == 2


@pytest.mark.parametrize(
    "wrong",
    [
        {"trial": 0},
        {"trial": True},
        {"end": "tired"},
        {"turns": -1},
        {"problem": 3},
        {"acts": "hi"},
        {"messages": "hi"},
        {"messages": ["hi"]},
    ],
)
def test_values_that_no_line_has_are_told(wrong: dict[str, Any]) -> None:
    with pytest.raises(ValueError, match=next(iter(wrong))):
        trajectory_of({"dialogue": "a", "messages": [], **wrong})
