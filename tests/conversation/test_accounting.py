"""What models have used, against sums by hand, and files of prices."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mwzeval.conversation.trajectory import Trajectory, trajectory_of
from mwzeval.conversation.usage import AGENT, USER, Usage, read_prices, usage_of, usages_of
from mwzeval.errors import InputError

USER_SAYS = {"role": "user", "content": "a hotel"}
RESULT = {"role": "tool", "tool_call_id": "1", "content": "{}"}


def agent(usage: Any, **more: Any) -> dict[str, Any]:
    return {"role": "assistant", "content": "x", "usage": usage, **more}


def dialogue(*messages: dict[str, Any], **keys: Any) -> Trajectory:
    return trajectory_of({"dialogue": "x", "messages": list(messages), **keys})


def test_requests_tokens_times_and_retries_are_added_up() -> None:
    held = dialogue(
        {**USER_SAYS, "usage": {"in": 1000, "out": 1, "ms": 7, "cached": 600}},
        agent({"in": 10, "out": 2, "ms": 100, "retries": 3}),
        RESULT,
        agent({"in": 20, "out": 4, "ms": 250}, finish_reason="length"),
        {**USER_SAYS, "usage": {"in": 2000, "out": 2, "ms": 9}, "finish_reason": "stop"},
        agent({"in": 40, "out": 8, "ms": 400}),
    )
    assert usage_of(held) == {
        AGENT: Usage(3, 0, 70, 14, 0, 3, 1, (350, 400)),
        USER: Usage(2, 0, 3000, 3, 600, 0, 0, (7, 9)),
    }


def test_what_a_server_does_not_count_is_not_nothing() -> None:
    held = dialogue(USER_SAYS, agent({"ms": 5}), USER_SAYS, agent({"in": 3, "out": 1, "ms": 5}))
    (used,) = usage_of(held).values()
    assert (used.requests, used.uncounted, used.tokens_in, used.turns) == (2, 1, 3, (5, 5))
    assert used.is_known
    assert not used.is_counted
    assert not Usage(2, uncounted=2).is_known
    assert Usage().is_known


@pytest.mark.parametrize(
    "usage",
    [
        {"in": 30, "out": 4},
        {"prompt_tokens": 30, "completion_tokens": 4, "total_tokens": 34},
        {"input_tokens": 30, "output_tokens": 4},
    ],
)
def test_tokens_have_the_names_of_servers(usage: dict[str, int]) -> None:
    greeting = {"role": "assistant", "content": "Hi! How can I help you?", "usage": None}
    (used,) = usage_of(dialogue(greeting, USER_SAYS, agent(usage))).values()
    assert used == Usage(1, 0, 30, 4)
    details = {**usage, "prompt_tokens_details": {"cached_tokens": 12}}
    assert usage_of(dialogue(USER_SAYS, agent(details)))[AGENT].cached == 12


@pytest.mark.parametrize(
    "bad",
    [-1, 1.5, True, "3", None, 10**400, float("inf")],
)
def test_what_is_no_count_is_not_counted(bad: Any) -> None:
    used = usage_of(dialogue(USER_SAYS, agent({"in": bad, "out": 1, "ms": bad})))[AGENT]
    assert (used.requests, used.uncounted, used.tokens_out) == (1, 1, 0)
    assert used.turns in ((), (1.5,))


def test_a_line_may_say_it_for_all_messages() -> None:
    talk = (USER_SAYS, {"role": "assistant", "content": "x"}, USER_SAYS)
    flat = {"prompt_tokens": 500, "completion_tokens": 20}
    assert usage_of(dialogue(*talk, usage=flat)) == {AGENT: Usage(1, 0, 500, 20)}
    of_both = {"agent": {"in": 5, "out": 2, "calls": 7}, "user": {"in": 1, "out": 1}}
    assert usage_of(dialogue(*talk, usage=of_both)) == {
        AGENT: Usage(7, 0, 5, 2),
        USER: Usage(2, 0, 1, 1),
    }
    # Messages say more than the line.
    assert usage_of(dialogue(agent({"in": 1, "out": 1}), usage=flat))[AGENT].tokens_in == 1
    nothings: list[Any] = [{"in": 3}, {}, [], "5", None, {"agent": 4}]
    for nothing in nothings:
        assert usage_of(dialogue(*talk, usage=nothing)) == {}


def test_dialogues_without_usage_beside_others_are_not_counted() -> None:
    plain = {"role": "assistant", "content": "x"}
    found = usages_of(
        {
            "a": dialogue(USER_SAYS, agent({"in": 1, "out": 1})),
            "b": dialogue(USER_SAYS, plain, USER_SAYS, plain),
            "c": dialogue(USER_SAYS),
        }
    )
    assert found == {AGENT: {"a": Usage(1, 0, 1, 1), "b": Usage(2, 2), "c": Usage()}}
    assert usages_of({"b": dialogue(USER_SAYS, plain)}) == {}


def test_results_in_the_role_of_the_user_are_of_the_same_turn() -> None:
    result = {"role": "user", "content": [{"type": "tool_result", "content": "{}"}]}
    said = agent({"in": 1, "out": 1, "ms": 100})
    (used,) = usage_of(dialogue(USER_SAYS, said, result, said)).values()
    assert used.turns == (200,)


counts = st.integers(0, 10**6)
usages = st.builds(
    Usage,
    *(counts, counts, counts, counts, counts, counts, counts),
    st.lists(st.integers(0, 9999).map(float), max_size=3).map(tuple),
)


@given(st.lists(usages, max_size=6), st.data())
def test_totals_are_additive_over_dialogues(of_dialogues: list[Usage], data: st.DataObject) -> None:
    cut = data.draw(st.integers(0, len(of_dialogues)))
    parts = Usage.total(of_dialogues[:cut]), Usage.total(of_dialogues[cut:])
    assert Usage.total(parts) == Usage.total(of_dialogues)
    assert Usage.total(of_dialogues).tokens_in == sum(each.tokens_in for each in of_dialogues)


def written(folder: Path, content: Any) -> Path:
    path = folder / "prices.json"
    path.write_text(content if isinstance(content, str) else json.dumps(content), encoding="utf-8")
    return path


def test_tokens_cost_what_the_file_says(tmp_path: Path) -> None:
    raw = {"small": {"in": 0.5, "out": 2}, "large": {"in": 3, "out": 15, "cached_in": 0.3}}
    prices = read_prices(written(tmp_path, raw))
    used = Usage(9, 0, tokens_in=1_000_000, tokens_out=200_000, cached=400_000)
    assert prices.models["small"].of(used) == pytest.approx(0.5 + 0.4)
    assert prices.models["large"].of(used) == pytest.approx(1.8 + 0.12 + 3)
    turned = {name: dict(reversed(raw[name].items())) for name in reversed(raw)}
    assert read_prices(written(tmp_path, turned)).sha == prices.sha
    assert read_prices(written(tmp_path, {"small": {"in": 0, "out": 2}})).sha != prices.sha


@pytest.mark.parametrize(
    ("content", "key"),
    [
        ("{", None),
        ([], None),
        ({}, None),
        ({"m": 3}, "m"),
        ({"m": {"in": 1}}, "m"),
        ({"m": {"in": 1, "out": -1}}, "m.out"),
        ({"m": {"in": 1, "out": True}}, "m.out"),
        ({"m": {"in": "1", "out": 1}}, "m.in"),
        ({"m": {"in": 1, "out": 1, "cached": 1}}, "m"),
        ('{"m": {"in": 1, "out": 1}, "m": {"in": 2, "out": 1}}', None),
        ('{"m": {"in": 1, "out": NaN}}', None),
    ],
)
def test_what_is_wrong_has_its_place(tmp_path: Path, content: Any, key: str | None) -> None:
    path = written(tmp_path, content)
    with pytest.raises(InputError) as raised:
        read_prices(path)
    assert [(each.file, each.key) for each in raised.value.problems] == [(str(path), key)]
