"""Faults told from words alone: hardly any of the agenda user, and all that are planted."""

from __future__ import annotations

import json
from collections.abc import Iterator
from functools import lru_cache
from pathlib import Path
from typing import Any

import pytest

from mwzeval.cli import main
from mwzeval.conversation.messages import read_messages
from mwzeval.multiwoz.corpus import corpus_root, read_tables
from mwzeval.multiwoz.live.reading import AgentReader
from mwzeval.multiwoz.live.user_faults import EARLY, INVENTED, REPEATED, faults_of
from tests.cases import tabled

Line = dict[str, Any]
BYE = {"role": "user", "content": "Thank you, goodbye."}
GOAL: dict[str, Any] = {
    "domain_ordering": ["restaurant"],
    "restaurant": {
        "info": {"food": "chinese", "pricerange": "cheap"},
        "fail_info": {"food": "thai", "pricerange": "cheap"},
        "reqt": ["phone"],
        "book": {"people": "2", "day": "monday", "time": "18:15"},
    },
}


@lru_cache
def reader() -> AgentReader:
    return AgentReader(read_tables(corpus_root("sample", None, offline=True)))


@pytest.fixture(scope="module")
def lines(tmp_path_factory: pytest.TempPathFactory) -> list[Line]:
    """Dialogues of the agenda user, about all goals of the sample's test fold."""
    file = tmp_path_factory.mktemp("held") / "rule.jsonl"
    assert main(["live", "--agent", "rule", "--corpus", "sample", "-q", "-o", str(file)]) == 0
    return [json.loads(line) for line in file.read_text("utf-8").splitlines()[1:]]


def told(goal: Any, messages: list[Any], token: str | None = None) -> list[tuple[str, int, str]]:
    """Return the faults of a user that says nothing of what it holds."""
    found = faults_of(goal, read_messages(messages), {"token": token}, reader())
    return [(each["kind"], each["turn"], each["detail"]) for each in found]


def turns_of_user(line: Line) -> list[int]:
    return [i for i, each in enumerate(line["messages"]) if each["role"] == "user"]


def test_the_agenda_user_has_hardly_any(lines: list[Line]) -> None:
    assert {line["user"]["token"] for line in lines} == {"[DONE]"}
    faulty = [
        (line["dialogue"], faults)
        for line in lines
        if (faults := told(line["goal"], line["messages"], "[DONE]"))
    ]
    assert len(lines) > 50
    assert len(faulty) <= 1, faulty


def ended_before(lines: list[Line]) -> Iterator[tuple[Any, list[Any]]]:
    """Yield dialogues that a user ends where it went on to say what it wants."""
    for line in lines:
        for place in turns_of_user(line)[1:-1]:
            yield line["goal"], [*line["messages"][:place], BYE]


def test_to_end_before_all_is_told_is_found(lines: list[Line]) -> None:
    cut = list(ended_before(lines))
    early = [told(goal, messages, "[DONE]") for goal, messages in cut]
    assert len(cut) > 100
    missed = [faults for faults in early if [fault[0] for fault in faults] != [EARLY]]
    # A second wish may be said by the agent that there is nothing of the first.
    assert len(missed) <= 0.02 * len(cut)
    assert not any(told(goal, messages, "[GIVE UP]") for goal, messages in cut)


def test_to_be_done_in_the_message_that_asks_for_a_booking_is_found(lines: list[Line]) -> None:
    checked = 0
    for line in lines:
        calls = [
            place
            for place, each in enumerate(line["messages"])
            for call in each.get("tool_calls", ())
            if call["function"]["name"].startswith("book_")
            and "book" in line["goal"][call["function"]["name"].removeprefix("book_")]
        ]
        if calls:
            last = max(place for place in turns_of_user(line) if place < calls[-1])
            # What the agent does after it is too late.
            for messages in (line["messages"][: last + 1], line["messages"][: calls[-1] + 3]):
                ((kind, _, detail),) = told(line["goal"], messages, "[DONE]")
                assert kind == EARLY
                assert "is not booked" in detail or "…" in detail
            checked += 1
    assert checked > 10


def test_lines_that_come_again_are_found(lines: list[Line]) -> None:
    for line in lines:
        first, second = turns_of_user(line)[:2]
        again = {"role": "user", "content": line["messages"][first]["content"] + "  !"}
        messages = [*line["messages"][:second], again, *line["messages"][second:]]
        assert [fault[:2] for fault in told(line["goal"], messages)] == [(REPEATED, 1)]


@tabled
def test_values_from_nowhere_are_found(text: str, values: list[str]) -> None:
    faults = told(GOAL, [{"role": "user", "content": text}])
    assert [detail for _, _, detail in faults] == values
    assert {kind for kind, _, _ in faults} <= {INVENTED}


def test_what_the_agent_has_said_is_not_invented() -> None:
    offer = "Jade Pavilion in the north has parking and wifi, at 19:30 on tuesday."
    user = "Jade Pavilion in the north at 7:30 pm on tuesday, with parking and wifi, then."
    messages = [
        {"role": role, "content": text}
        for role, text in (("user", "Hi!"), ("assistant", offer), ("user", user))
    ]
    assert told(GOAL, messages) == []


EXCHANGES = [
    ("A cheap thai place?", "There is none."),
    ("A chinese one then.", "Jade Pavilion. Its phone number is 01999 555555."),
    ("A table for 2 on monday at 18:15.", "It is booked. The reference is 7GAWK763."),
]


@pytest.mark.parametrize(
    ("left_out", "open_"),
    [
        (None, None),
        (1, "restaurant food chinese is never expressed"),
        (2, "restaurant is not booked"),
    ],
)
def test_what_is_open_is_told(left_out: int | None, open_: str | None) -> None:
    messages: list[Any] = []
    for number, (user, agent) in enumerate(EXCHANGES):
        if number != left_out:
            messages += [{"role": "user", "content": user}, {"role": "assistant", "content": agent}]
    faults = told(GOAL, [*messages, BYE], "[DONE]")
    assert [kind for kind, _, _ in faults] == ([] if open_ is None else [EARLY])
    if open_ == "restaurant is not booked":
        assert open_ in faults[0][2] or "…" in faults[0][2]


def test_goals_of_others_may_ask_for_anything_and_spell_it_so() -> None:
    goal = {
        "domain_ordering": ["attraction", "train"],
        "attraction": {"info": {"colour": "red"}, "reqt": ["entrancefee", "mood", "reference"]},
        "train": {"reqt": ["trainid", "Price"], "info": {}},
    }
    hello = [
        {"role": "user", "content": "A red attraction?"},
        {"role": "assistant", "content": "Hm."},
    ]
    ((kind, _, detail),) = told(goal, [*hello, BYE], "[DONE]")
    assert kind == EARLY
    assert detail.startswith("attraction entrancefee is not given, train trainid is not given")
    answer = "It is free. The train TR3226 costs 10.20 pounds."
    messages = [
        *hello,
        {"role": "user", "content": "And?"},
        {"role": "assistant", "content": answer},
    ]
    assert told(goal, [*messages, BYE], "[DONE]") == []


def test_a_run_of_own_users_is_checked_too(lines: list[Line], tmp_path: Path) -> None:
    """Whoever does not report its faults is looked at when a file is scored."""
    line = {**lines[0], "user": {"token": "[DONE]"}, "turns": 2}
    first = turns_of_user(line)[0]
    line["messages"] = [line["messages"][first], {"role": "assistant", "content": "Hm."}, BYE]
    file, report = tmp_path / "own.jsonl", tmp_path / "report.json"
    file.write_text(json.dumps(line) + "\n", "utf-8")
    command = ["evaluate", str(file), "--input-format", "live", "--corpus", "sample"]
    assert main([*command, "-q", "-o", str(report)]) == 0
    plain = json.loads(report.read_text("utf-8"))
    assert plain["live"]["user_faults"] == 50
