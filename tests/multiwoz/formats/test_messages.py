"""Messages with function calls: the resulting states, and all kinds of errors."""

from __future__ import annotations

from typing import Any

import pytest

from mwzeval.errors import Problem
from tests.multiwoz.formats import rendering
from tests.multiwoz.formats.rendering import call, calls, result

ID = "smp0021"
USER = {"role": "user", "content": "hello"}
ANSWER = {"role": "assistant", "content": "hi"}


def adapted(*messages: Any) -> tuple[list[dict[str, Any]], list[Problem]]:
    dialogues, problems = rendering.adapted({ID: list(messages)}, "messages")
    return dialogues.get(ID, []), problems


def states(*messages: Any) -> list[Any]:
    turns, problems = adapted(*messages)
    assert [problem for problem in problems if problem.severity == "error"] == []
    return [turn["state"] for turn in turns]


FIND = calls(call("find_hotel", "a", area="north", stars=4, parking=None, name=""))
BOOK = calls(call("book_hotel", "b", name="the lodge", day="friday", people=2, stay="3"))


BOOKED = {"bookday": "friday", "bookpeople": "2", "bookstay": "3"}


def test_find_calls_replace_constraints_and_book_calls_update_slots() -> None:
    messages = (
        *(USER, FIND, result("a"), ANSWER),
        *(USER, BOOK, result("b"), calls(call("find_train", "t", day="monday")), ANSWER),
        *(USER, calls(call("find_hotel", "c", area="west")), ANSWER),
        *(USER, calls(call("find_hotel", "d")), ANSWER),
        *(USER, calls(call("book_hotel", "e", name="the lodge", stay=1)), ANSWER),
    )
    train = {"day": "monday"}
    assert states(*messages) == [
        {"hotel": {"area": "north", "stars": "4"}},
        {"hotel": {"area": "north", "stars": "4", **BOOKED}, "train": train},
        {"hotel": {"area": "west", **BOOKED}, "train": train},
        {"hotel": BOOKED, "train": train},
        {"hotel": {**BOOKED, "bookstay": "1"}, "train": train},
    ]


def test_bookings_belong_to_the_turn_of_the_book_call() -> None:
    ride = {"departure": "a", "destination": "b", "leaveat": "10:00"}
    taxi = calls(call("book_taxi", "t", **ride))
    turns, _ = adapted(USER, FIND, ANSWER, USER, BOOK, taxi, ANSWER, USER, ANSWER)
    hotel = {"name": "the lodge", "day": "friday", "people": "2", "stay": "3"}
    bookings = [{"domain": "hotel", "slots": hotel}, {"domain": "taxi", "slots": ride}]
    assert [turn["bookings"] for turn in turns] == [[], bookings, []]
    assert turns[2]["state"] == {"hotel": {"area": "north", "stars": "4", **BOOKED}, "taxi": ride}


def test_the_response_is_the_last_text_of_the_turn() -> None:
    thinking = {**FIND, "content": "Let me look."}
    turns, problems = adapted(USER, thinking, result("a"), ANSWER, USER, ANSWER)
    assert [turn["response"] for turn in turns] == ["hi", "hi"]
    (problem,) = problems
    assert (problem.kind, problem.turn, problem.key) == ("not-final", 1, "messages[1].content")


def test_prompts_and_empty_calls_are_ignored() -> None:
    prompt = {"role": "system", "content": "You know the town."}
    plain = {**ANSWER, "tool_calls": None, "function_call": None, "refusal": None}
    turns, _ = adapted(prompt, {**prompt, "role": "developer"}, USER, plain)
    assert len(turns) == 1


def test_calls_and_results_in_content_parts_are_read() -> None:
    use = {"type": "tool_use", "id": "u1", "name": "find_train", "input": {"day": "monday"}}
    thought = {"type": "thinking", "thinking": "…"}
    messages = (
        {"role": "user", "content": [{"type": "text", "text": "a train"}]},
        {"role": "assistant", "content": [thought, {"type": "text", "text": "One moment."}, use]},
        {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "u1"}]},
        {"role": "assistant", "content": [{"type": "text", "text": "Here it is."}]},
    )
    turns, _ = adapted(*messages)
    assert [turn["response"] for turn in turns] == ["Here it is."]
    assert turns[0]["state"] == {"train": {"day": "monday"}}


def raw_call(name: Any = "find_hotel", arguments: Any = "{}", **more: Any) -> dict[str, Any]:
    return calls({"id": "c1", "function": {"name": name, "arguments": arguments}, **more})


CALL = "[1].tool_calls[0]"
FUNCTION = f"{CALL}.function"
BAD: list[tuple[str, list[Any], str, str | None]] = [
    # id, messages, kind, key below "messages"
    ("no message", [], "empty", None),
    ("text as message", [USER, ANSWER, "hello"], "shape", "[2]"),
    ("no role", [USER, ANSWER, {"content": "a"}], "shape", "[2].role"),
    ("unknown role", [USER, ANSWER, {"role": "assistent"}], "unknown-role", "[2].role"),
    ("assistant first", [ANSWER, USER, ANSWER], "order", "[0]"),
    ("no answer to the last user message", [USER, ANSWER, USER], "no-answer", "[2]"),
    ("no answer after a result", [USER, calls(call("find_hotel")), result()], "no-answer", "[0]"),
    ("no answer to the first user message", [USER, USER, ANSWER], "no-answer", "[0]"),
    ("empty user message", [{"role": "user", "content": " "}, ANSWER], "empty-message",
     "[0]"),
    ("empty answer", [USER, {"role": "assistant", "content": ""}, ANSWER], "empty-message", "[1]"),
    ("number as content", [USER, {"role": "assistant", "content": 5}, ANSWER], "shape",
     "[1].content"),
    ("text as part", [USER, {"role": "assistant", "content": ["a"]}, ANSWER], "shape",
     "[1].content[0]"),
    ("part without type", [USER, {"role": "assistant", "content": [{}]}, ANSWER], "shape",
     "[1].content[0].type"),
    ("part without text", [USER, {"role": "assistant", "content": [{"type": "text"}]}, ANSWER],
     "shape", "[1].content[0].text"),
    ("object as calls", [USER, {**ANSWER, "tool_calls": {}}], "shape", "[1].tool_calls"),
    ("text as call", [USER, {**ANSWER, "tool_calls": ["a"]}], "shape", CALL),
    ("call without function", [USER, {**ANSWER, "tool_calls": [{"id": "c"}]}], "shape", FUNCTION),
    ("function without name", [USER, raw_call(None), ANSWER], "shape", f"{FUNCTION}.name"),
    ("foreign function", [USER, raw_call("get_weather"), ANSWER], "unknown-function",
     f"{FUNCTION}.name"),
    ("cut arguments", [USER, raw_call(arguments='{"area": '), ANSWER], "arguments-not-json",
     f"{FUNCTION}.arguments"),
    ("deep arguments", [USER, raw_call(arguments="[" * 100_000), ANSWER], "arguments-not-json",
     f"{FUNCTION}.arguments"),
    ("argument twice", [USER, raw_call(arguments='{"area": "a", "area": "b"}'), ANSWER],
     "repeated-key", f"{FUNCTION}.arguments"),
    ("misspelled argument", [USER, raw_call(arguments={"price_range": "cheap"}), ANSWER],
     "unknown-argument", f"{FUNCTION}.arguments.price_range"),
    ("number as text", [USER, raw_call(arguments={"area": 5}), ANSWER], "argument-type",
     f"{FUNCTION}.arguments.area"),
    ("boolean as text", [USER, raw_call(arguments={"parking": True}), ANSWER], "argument-type",
     f"{FUNCTION}.arguments.parking"),
    ("boolean as number", [USER, raw_call("book_hotel", {"stay": True}), ANSWER], "argument-type",
     f"{FUNCTION}.arguments.stay"),
    ("repeated call id", [USER, calls(call("find_hotel"), call("find_train")), ANSWER],
     "repeated-call", "[1].tool_calls[1].id"),
    ("result without call", [USER, result(), ANSWER], "result-without-call", "[1].tool_call_id"),
    ("result of another call",
     [USER, calls(call("find_hotel", "call_11")), result("call_12"), ANSWER],
     "result-without-call", "[2].tool_call_id"),
    ("two results", [USER, calls(call("find_hotel")), result(), result(), ANSWER],
     "repeated-result", "[3].tool_call_id"),
    ("result without id", [USER, calls(call("find_hotel")), {"role": "tool"}, ANSWER],
     "result-without-call", "[2].tool_call_id"),
    ("number as result's id", [USER, {"role": "tool", "tool_call_id": 3}, ANSWER], "shape",
     "[1].tool_call_id"),
    ("calls of the user", [{**USER, "tool_calls": [call("find_hotel")]}, ANSWER],
     "calls-of-others", "[0]"),
]  # fmt: skip


@pytest.mark.parametrize(
    ("messages", "kind", "key"), [pytest.param(*case[1:], id=case[0]) for case in BAD]
)
def test_each_error_is_reported_once_with_its_position(
    messages: list[Any], kind: str, key: str | None
) -> None:
    _, problems = adapted(*messages)
    (error,) = (problem for problem in problems if problem.severity == "error")
    place = (None, None) if key is None else (int(key[1]), f"messages{key}")
    assert (error.kind, error.dialogue, error.turn, error.key) == (kind, ID, *place)


def test_all_errors_in_all_dialogues_are_reported_together() -> None:
    raw = {name: {"messages": case} for name, case, *_ in BAD}
    _, problems = rendering.adapted(raw, "auto")
    first, *errors = [problem for problem in problems if problem.severity == "error"]
    assert first.kind == "read-as"
    expected = [(name, kind) for name, _, kind, *_ in BAD]
    assert sorted((str(error.dialogue), error.kind) for error in errors) == sorted(expected)


@pytest.mark.parametrize(
    ("raw", "kind"),
    [([], "shape"), ({}, "empty"), ({ID: 5}, "shape"), ({ID: {}}, "shape"), ({5: []}, "shape")],
)
def test_inputs_that_are_not_conversations_are_errors(raw: Any, kind: str) -> None:
    dialogues, (error,) = rendering.adapted(raw, "messages")
    assert (dialogues, error.kind) == ({}, kind)


@pytest.mark.parametrize(
    ("messages", "kind", "count"),
    [
        ([USER, ANSWER], "no-calls", 1),
        ([USER, calls(call("find_hotel", area="center")), ANSWER], "value-not-in-schema", 1),
        ([USER, calls(call("book_train", trainid="TR1", people="two")), ANSWER],
         "value-not-in-schema", 1),
        ([USER, calls(call("book_train", "a", people=2), call("book_train", "b", people=2)),
          ANSWER], "missing-argument", 2),
        ([USER, FIND, ANSWER, ANSWER], "not-final", 1),
        ([{"role": "user", "content": [{"type": "image"}]}, FIND, ANSWER], "unknown-part", 1),
    ],
)  # fmt: skip
def test_possible_system_mistakes_are_warnings_with_counts(
    messages: list[Any], kind: str, count: int
) -> None:
    turns, (problem,) = adapted(*messages)
    assert turns
    assert (problem.severity, problem.kind, problem.count) == ("warning", kind, count)
