"""Conversations with calls: what they amount to, and each way to get them wrong."""

from __future__ import annotations

import json
from typing import Any

import pytest

from mwzeval.errors import Problem
from mwzeval.multiwoz.formats.adaptation import adapt
from mwzeval.multiwoz.predictions.reading import Findings

ID = "smp0021"
USER = {"role": "user", "content": "hello"}
ANSWER = {"role": "assistant", "content": "hi"}


def call(name: str, id_: str | None = "c1", /, **arguments: Any) -> dict[str, Any]:
    function = {"name": name, "arguments": json.dumps(arguments)}
    return {"type": "function", "function": function} | ({} if id_ is None else {"id": id_})


def calls(*made: dict[str, Any], content: Any = None) -> dict[str, Any]:
    return {"role": "assistant", "content": content, "tool_calls": list(made)}


def result(id_: str = "c1") -> dict[str, Any]:
    return {"role": "tool", "tool_call_id": id_, "content": "[]"}


def adapted(*messages: Any) -> tuple[list[dict[str, Any]], list[Problem]]:
    findings = Findings()
    dialogues = adapt({ID: list(messages)}, "messages", findings) or {}
    return dialogues.get(ID, []), [*findings.errors, *findings.warnings]


def states(*messages: Any) -> list[Any]:
    turns, problems = adapted(*messages)
    assert [problem for problem in problems if problem.severity == "error"] == []
    return [turn["state"] for turn in turns]


FIND = calls(call("find_hotel", "a", area="north", stars=4, parking=None, name=""))
BOOK = calls(call("book_hotel", "b", name="the lodge", day="friday", people=2, stay="3"))


def test_find_calls_give_constraints_and_book_calls_booking_slots() -> None:
    assert states(USER, FIND, result("a"), ANSWER, USER, BOOK, result("b"), ANSWER) == [
        {"hotel": {"area": "north", "stars": "4"}},
        {
            "hotel": {
                **{"area": "north", "stars": "4"},
                **{"bookday": "friday", "bookpeople": "2", "bookstay": "3"},
            }
        },
    ]


def test_a_find_call_replaces_the_constraints_of_its_domain_and_nothing_else() -> None:
    messages = (
        *(USER, FIND, BOOK, calls(call("find_train", "t", day="monday")), ANSWER),
        *(USER, calls(call("find_hotel", "c", area="west")), ANSWER),
        *(USER, calls(call("find_hotel", "d")), ANSWER),
    )
    booked = {"bookday": "friday", "bookpeople": "2", "bookstay": "3"}
    train = {"day": "monday"}
    assert states(*messages) == [
        {"hotel": {"area": "north", "stars": "4", **booked}, "train": train},
        {"hotel": {"area": "west", **booked}, "train": train},
        {"hotel": booked, "train": train},
    ]


def test_a_book_call_replaces_what_it_gives() -> None:
    again = calls(call("book_hotel", "c", name="the lodge", stay=1))
    first, second = states(USER, BOOK, ANSWER, USER, again, ANSWER)
    assert second == {"hotel": {**first["hotel"], "bookstay": "1"}}


def test_what_is_booked_is_told_with_the_turn_that_books_it() -> None:
    taxi = calls(call("book_taxi", "t", departure="a", destination="b", leaveat="10:00"))
    turns, _ = adapted(USER, FIND, ANSWER, USER, BOOK, taxi, ANSWER, USER, ANSWER)
    hotel = {"name": "the lodge", "day": "friday", "people": "2", "stay": "3"}
    assert [turn["bookings"] for turn in turns] == [
        [],
        [
            {"domain": "hotel", "slots": hotel},
            {
                "domain": "taxi",
                "slots": {"departure": "a", "destination": "b", "leaveat": "10:00"},
            },
        ],
        [],
    ]
    assert turns[2]["state"]["taxi"]["leaveat"] == "10:00"
    assert "name" not in turns[2]["state"]["hotel"]


def test_the_response_is_the_last_text_of_the_turn() -> None:
    thinking = {**FIND, "content": "Let me look."}
    turns, problems = adapted(USER, thinking, result("a"), ANSWER, USER, ANSWER)
    assert [turn["response"] for turn in turns] == ["hi", "hi"]
    (problem,) = problems
    assert (problem.kind, problem.turn, problem.key) == ("not-final", 1, "messages[1].content")


def test_a_call_without_result_may_come_with_the_answer() -> None:
    turns, problems = adapted(USER, {**FIND, "content": "Look here."})
    assert (turns[0]["response"], problems) == ("Look here.", [])


def test_the_prompt_and_empty_calls_are_passed_over() -> None:
    prompt = {"role": "system", "content": "You know the town."}
    plain = {**ANSWER, "tool_calls": None, "function_call": None, "refusal": None}
    turns, _ = adapted(prompt, {**prompt, "role": "developer"}, USER, plain)
    assert len(turns) == 1


def test_the_older_way_to_call_is_read() -> None:
    old = {
        "role": "assistant",
        "content": None,
        "function_call": {"name": "find_train", "arguments": '{"day": "monday"}'},
    }
    answered = {"role": "function", "name": "find_train", "content": "[]"}
    assert states(USER, old, answered, ANSWER) == [{"train": {"day": "monday"}}]


def test_calls_and_results_may_be_parts_of_the_content() -> None:
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


CALL = "messages[1].tool_calls[0]"
FUNCTION = f"{CALL}.function"
KNOWN_HOTEL = "(it has area, internet, name, parking, pricerange, stars, type)"
BAD: list[tuple[str, list[Any], str, int | None, str | None, str]] = [
    # what, messages, kind, turn, key, message
    ("no message", [], "empty", None, None, "there is no message of the user in it"),
    ("only a prompt", [{"role": "system", "content": "a"}], "empty", None, None,
     "there is no message of the user in it"),
    ("text as message", [USER, ANSWER, "hello"], "shape", 2, "messages[2]",
     "a message is an object, found text"),
    ("no role", [USER, ANSWER, {"content": "a"}], "shape", 2, "messages[2].role",
     "a role is text, found null"),
    ("unknown role", [USER, ANSWER, {"role": "assistent"}], "unknown-role", 2, "messages[2].role",
     'unknown role "assistent" — did you mean "assistant"?'),
    ("a role of another house", [USER, ANSWER, {"role": "bot"}], "unknown-role", 2,
     "messages[2].role",
     'unknown role "bot" (known: user, assistant, tool, function, system, developer)'),
    ("assistant first", [ANSWER, USER, ANSWER], "order", 0, "messages[0]",
     "the conversation begins with the assistant: the first turn is the user's"),
    ("no answer at all", [USER, ANSWER, USER], "no-answer", 2, "messages[2]",
     "the assistant gives no final answer in text to this message of the user"),
    ("no answer after a result", [USER, calls(call("find_hotel")), result()], "no-answer", 0,
     "messages[0]", "the assistant gives no final answer in text to this message of the user"),
    ("no answer between", [USER, USER, ANSWER], "no-answer", 0, "messages[0]",
     "the assistant gives no final answer in text to this message of the user"),
    ("nothing said by the user", [{"role": "user", "content": " "}, ANSWER], "empty-message", 0,
     "messages[0]", "the user says nothing"),
    ("nothing done", [USER, {"role": "assistant", "content": ""}, ANSWER], "empty-message", 1,
     "messages[1]", "the assistant neither says nor calls anything"),
    ("number as content", [USER, {"role": "assistant", "content": 5}, ANSWER], "shape", 1,
     "messages[1].content", "content is text or a list of parts, found a number"),
    ("text as part", [USER, {"role": "assistant", "content": ["a"]}, ANSWER], "shape", 1,
     "messages[1].content[0]", "a part of the content is an object, found text"),
    ("part without type", [USER, {"role": "assistant", "content": [{}]}, ANSWER], "shape", 1,
     "messages[1].content[0].type", "a part's type is text, found null"),
    ("part without text", [USER, {"role": "assistant", "content": [{"type": "text"}]}, ANSWER],
     "shape", 1, "messages[1].content[0].text", "expected text, found null"),
    ("object as calls", [USER, {**ANSWER, "tool_calls": {}}], "shape", 1,
     "messages[1].tool_calls", "expected a list of calls, found an object"),
    ("text as call", [USER, {**ANSWER, "tool_calls": ["a"]}], "shape", 1, CALL,
     "expected an object, found text"),
    ("call without function", [USER, {**ANSWER, "tool_calls": [{"id": "c"}]}], "shape", 1, FUNCTION,
     'expected {"name": …, "arguments": …}, found null'),
    ("function without name", [USER, raw_call(None), ANSWER], "shape", 1, f"{FUNCTION}.name",
     "a function's name is text, found null"),
    ("misspelled function", [USER, raw_call("find_hotels"), ANSWER], "unknown-function", 1,
     f"{FUNCTION}.name", 'unknown function "find_hotels" — did you mean "find_hotel"?'),
    ("foreign function", [USER, raw_call("get_weather"), ANSWER], "unknown-function", 1,
     f"{FUNCTION}.name",
     'unknown function "get_weather" (known: find_restaurant, find_hotel, find_attraction, '
     "find_train, find_taxi, find_hospital, find_police, book_restaurant, book_hotel, book_train, "
     "book_taxi; a table of your own functions goes with --tools)"),
    ("cut arguments", [USER, raw_call(arguments='{"area": '), ANSWER], "arguments-not-json", 1,
     f"{FUNCTION}.arguments", "not valid JSON: line 1, column 10: Expecting value"),
    ("Python arguments", [USER, raw_call(arguments="{'area': 'north'}"), ANSWER],
     "arguments-not-json", 1, f"{FUNCTION}.arguments",
     "not valid JSON: line 1, column 2: Expecting property name enclosed in double quotes"),
    ("empty arguments", [USER, raw_call(arguments=""), ANSWER], "arguments-not-json", 1,
     f"{FUNCTION}.arguments", "not valid JSON: line 1, column 1: Expecting value"),
    ("deep arguments", [USER, raw_call(arguments="[" * 100_000), ANSWER], "arguments-not-json", 1,
     f"{FUNCTION}.arguments", "not valid JSON: nested too deeply to be read"),
    ("list of arguments", [USER, raw_call(arguments="[]"), ANSWER], "shape", 1,
     f"{FUNCTION}.arguments", "arguments are an object, found a list"),
    ("no arguments", [USER, raw_call(arguments=None), ANSWER], "shape", 1,
     f"{FUNCTION}.arguments", "arguments are an object, found null"),
    ("argument twice", [USER, raw_call(arguments='{"area": "a", "area": "b"}'), ANSWER],
     "repeated-key", 1, f"{FUNCTION}.arguments", 'given more than once in one object: "area"'),
    ("misspelled argument", [USER, raw_call(arguments={"price_range": "cheap"}), ANSWER],
     "unknown-argument", 1, f"{FUNCTION}.arguments.price_range",
     'find_hotel has no argument "price_range" — did you mean "pricerange"?'),
    ("foreign argument", [USER, raw_call(arguments={"x": "cheap"}), ANSWER],
     "unknown-argument", 1, f"{FUNCTION}.arguments.x",
     f'find_hotel has no argument "x" {KNOWN_HOTEL}'),
    ("number as text", [USER, raw_call(arguments={"area": 5}), ANSWER],
     "argument-type", 1, f"{FUNCTION}.arguments.area",
     'expected text, found a number: write "5"'),
    ("truth as text", [USER, raw_call(arguments={"parking": True}), ANSWER],
     "argument-type", 1, f"{FUNCTION}.arguments.parking", "expected text, found true or false"),
    ("list as text", [USER, raw_call(arguments={"area": ["north"]}), ANSWER],
     "argument-type", 1, f"{FUNCTION}.arguments.area", "expected text, found a list"),
    ("fraction as number", [USER, raw_call("book_hotel", {"stay": 1.5}), ANSWER],
     "argument-type", 1, f"{FUNCTION}.arguments.stay", "expected a whole number, found a number"),
    ("truth as number", [USER, raw_call("book_hotel", {"stay": True}), ANSWER], "argument-type", 1,
     f"{FUNCTION}.arguments.stay", "expected a whole number, found true or false"),
    ("id called twice", [USER, calls(call("find_hotel"), call("find_train")), ANSWER],
     "repeated-call", 1, "messages[1].tool_calls[1].id",
     'the id "c1" was called before in this dialogue'),
    ("number as id", [USER, calls(call("find_hotel") | {"id": 1}), ANSWER], "shape", 1,
     f"{CALL}.id", "a call's id is text, found a number"),
    ("result without call", [USER, result(), ANSWER], "result-without-call", 1,
     "messages[1].tool_call_id", 'no call before has the id "c1"'),
    ("result of another call", [USER, calls(call("find_hotel", "call_11")), result("call_12"),
     ANSWER], "result-without-call", 2, "messages[2].tool_call_id",
     'no call before has the id "call_12" — did you mean "call_11"?'),
    ("two results", [USER, calls(call("find_hotel")), result(), result(), ANSWER],
     "repeated-result", 3, "messages[3].tool_call_id", 'the call "c1" has a result already'),
    ("result without id", [USER, calls(call("find_hotel")), {"role": "tool"}, ANSWER],
     "result-without-call", 2, "messages[2].tool_call_id", "the result of no call that waits for"),
    ("number as result's id", [USER, {"role": "tool", "tool_call_id": 3}, ANSWER], "shape", 1,
     "messages[1].tool_call_id", "a call's id is text, found a number"),
    ("calls of the user", [{**USER, "tool_calls": [call("find_hotel")]}, ANSWER], "calls-of-others",
     0, "messages[0]", "only the assistant calls functions"),
]  # fmt: skip


@pytest.mark.parametrize(
    ("messages", "kind", "turn", "key", "message"),
    [pytest.param(*case[1:], id=case[0]) for case in BAD],
)
def test_each_fault_is_told_once_with_its_place(
    messages: list[Any], kind: str, turn: int | None, key: str | None, message: str
) -> None:
    _, problems = adapted(*messages)
    (error,) = (problem for problem in problems if problem.severity == "error")
    assert (error.kind, error.dialogue, error.turn, error.key) == (kind, ID, turn, key)
    assert error.message.startswith(message)


def test_all_faults_of_all_dialogues_are_told_together() -> None:
    raw = {name: {"messages": case} for name, case, *_ in BAD}
    findings = Findings("in.json")
    adapt(raw, "auto", findings)
    first, *errors = findings.errors
    assert first.kind == "read-as"
    assert {(error.dialogue, error.kind) for error in errors} == {
        (case[0], case[2]) for case in BAD
    }
    assert len(errors) == len(BAD)


@pytest.mark.parametrize(
    ("raw", "kind", "message"),
    [
        ([], "shape", "expected an object of dialogues"),
        ({}, "empty", "there is no dialogue in it"),
        ({ID: 5}, "shape", "expected a list of messages, found a number"),
        ({ID: {}}, "shape", "expected a list of messages, found null"),
        ({5: []}, "shape", "a dialogue id must be text, found a number"),
    ],
)
def test_what_is_no_collection_of_conversations_is_told(raw: Any, kind: str, message: str) -> None:
    findings = Findings()
    assert adapt(raw, "messages", findings) is None
    (error,) = findings.errors
    assert error.kind == kind
    assert error.message.startswith(message)


@pytest.mark.parametrize(
    ("messages", "kind", "count", "message"),
    [
        ([USER, ANSWER], "no-calls", 1, "no function is called anywhere"),
        ([USER, calls(call("find_hotel", area="center")), ANSWER], "value-not-in-schema", 1,
         'find_hotel was called with the area "center", which is not one of centre, east, north, '
         "south, west, dontcare"),
        ([USER, calls(call("book_train", trainid="TR1", people="two")), ANSWER],
         "value-not-in-schema", 1,
         'book_train was called with the people "two", which is not a whole number'),
        ([USER, calls(call("book_train", "a", people=2), call("book_train", "b", people=2)),
          ANSWER], "missing-argument", 2, "book_train was called without trainid"),
        ([USER, FIND, ANSWER, ANSWER], "not-final", 1, "what the assistant says before it calls"),
        ([{"role": "user", "content": [{"type": "image"}]}, FIND, ANSWER], "unknown-part", 1,
         'a part of type "image" is not used'),
    ],
)  # fmt: skip
def test_what_may_be_a_mistake_of_the_system_is_counted_and_scored(
    messages: list[Any], kind: str, count: int, message: str
) -> None:
    turns, (problem,) = adapted(*messages)
    assert turns
    assert (problem.severity, problem.kind, problem.count) == ("warning", kind, count)
    assert problem.message.startswith(message)
