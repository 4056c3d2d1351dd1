"""Reading lists of dialogues in the unified format and with frames, and refused input."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pytest

from mwzeval.files.reading import RepeatedKeys
from mwzeval.multiwoz.evaluator import Evaluator
from tests.multiwoz.formats.rendering import adapted

USER = {"speaker": "user", "utterance": "hello"}
SYSTEM = {"speaker": "system", "utterance": "hi"}


def talk(*turns: Any, **more: Any) -> list[dict[str, Any]]:
    return [{"dialogue_id": "SMP0021.json", **more, "turns": list(turns)}]


def only(raw: Any, input_format: str) -> list[dict[str, Any]]:
    dialogues, problems = adapted(raw, input_format)
    assert problems == []
    ((name, turns),) = dialogues.items()
    assert name == "smp0021"
    return list(turns)


def framed(values: Any, service: Any = "hotel") -> dict[str, Any]:
    frame = {"service": service, "state": {"slot_values": values}}
    return {"speaker": "USER", "utterance": "…", "frames": [frame]}


@pytest.mark.parametrize(
    ("ids", "name"),
    [
        ({"dialogue_id": "multiwoz21-test-0", "original_id": "SNG0073.json"}, "sng0073"),
        ({"dialogue_id": "multiwoz21-test-0", "original_id": "PMUL4648"}, "pmul4648"),
        ({"dialogue_id": "multiwoz21-test-0", "original_id": "no file"}, "multiwoz21-test-0"),
        ({"dialogue_id": "MUL0001.json"}, "mul0001"),
        ({"dialogue_id": "sng0073#12"}, "sng0073#12"),
    ],
)
def test_the_corpus_id_of_a_dialogue_is_found(ids: dict[str, str], name: str) -> None:
    assert list(adapted([{**ids, "turns": [USER, SYSTEM]}], "unified")[0]) == [name]


def test_unfilled_slots_of_the_unified_format_are_ignored() -> None:
    hotel = {"price range": "cheap", "name": "", "area": "none", "book day": "not mentioned"}
    hotel |= {"stars": "4|5", "type": "dontcare"}
    state = {"hotel": hotel, "train": {"leave at": "", "arrive by": None}, "taxi": {}}
    turns = only(talk({**USER, "state": state}, SYSTEM), "unified")
    hotel = {"pricerange": "cheap", "stars": "4", "type": "dontcare"}
    assert turns == [{"response": "hi", "state": {"hotel": hotel}}]


@pytest.mark.parametrize("key", ["response", "utterance"])
@pytest.mark.parametrize("side", [0, 1])
def test_predictions_are_scored_instead_of_the_annotation(key: str, side: int) -> None:
    predictions: list[dict[str, Any]] = [{}, {key: "said"}]
    predictions[side]["state"] = {"hotel": {"area": "north"}}
    annotated = (
        {**USER, "state": {"hotel": {"area": "gold"}}, "predictions": predictions[0]},
        {**SYSTEM, "utterance": "gold", "predictions": predictions[1]},
    )
    expected: dict[str, Any] = {"response": "said", "state": {"hotel": {"area": "north"}}}
    assert only(talk(*annotated), "unified") == [expected]
    # State tracking requires no response.
    del predictions[1][key], expected["response"]
    assert only(talk(*annotated), "unified") == [expected]


@pytest.mark.parametrize(
    ("service", "slots"),
    [
        ("hotel", {"hotel-area": ["north", "x"], "hotel-stars": []}),
        ("hotel", {"area": ["north"]}),
        ("Hotel_2", {"area": ["north"]}),
        ("hotel_1", {"hotel_1-area": "north"}),
    ],
)
def test_slot_names_in_frames_may_contain_the_domain(
    service: str, slots: Mapping[str, Any]
) -> None:
    turns = only(talk(framed(slots, service), {**SYSTEM, "speaker": "SYSTEM"}), "sgd")
    assert turns == [{"response": "hi", "state": {"hotel": {"area": "north"}}}]


def test_missing_frames_keep_the_state_and_empty_frames_clear_it() -> None:
    turns = only(
        talk(
            *(framed({"area": ["north"]}), SYSTEM),
            *(framed({"day": ["monday"]}, "train"), SYSTEM),
            *({"speaker": "USER", "frames": []}, SYSTEM),
            *(framed({}), SYSTEM),
        ),
        "sgd",
    )
    hotel, train = {"area": "north"}, {"day": "monday"}
    assert [turn["state"] for turn in turns] == [
        {"hotel": hotel},
        {"hotel": hotel, "train": train},
        {"hotel": hotel, "train": train},
        {"train": train},
    ]


def test_frames_without_a_state_predict_no_state() -> None:
    silent = {"speaker": "USER", "frames": [{"service": "hotel"}]}
    assert only(talk(silent, SYSTEM, silent, SYSTEM), "sgd") == [{"response": "hi"}] * 2


PREDICTED = {**SYSTEM, "predictions": {"response": "a"}}
SHARED: list[tuple[str, Any, str, int | None, str | None]] = [
    # id, content, kind, turn, key
    ("an empty list", [], "empty", None, None),
    ("no id", [{"turns": [USER, SYSTEM]}], "missing-id", None, None),
    ("dialogue twice", talk(USER, SYSTEM) * 2, "repeated-key", None, None),
    ("no turns", [{"dialogue_id": "SMP0021.json"}], "shape", None, None),
    ("no speaker", talk(USER, SYSTEM, {}), "shape", 2, "speaker"),
    ("unknown speaker", talk(USER, SYSTEM, {"speaker": "sytem"}), "unknown-speaker", 2, "speaker"),
    ("system first", talk(SYSTEM, USER, SYSTEM), "order", 0, None),
    ("system twice", talk(USER, SYSTEM, SYSTEM), "order", 2, None),
    ("user twice", talk(USER, USER, SYSTEM), "no-answer", 0, None),
    ("user last", talk(USER, SYSTEM, USER), "no-answer", 2, None),
    ("repeated key", talk(USER, RepeatedKeys([*SYSTEM.items(), ("utterance", "b")])),
     "repeated-key", 1, None),
]  # fmt: skip
UNIFIED: list[tuple[str, Any, str, int | None, str | None]] = [
    ("text as predictions", talk(USER, {**SYSTEM, "predictions": "a"}), "shape", 1, "predictions"),
    ("two responses",
     talk(USER, {**SYSTEM, "predictions": {"response": "a", "utterance": "b"}}), "ambiguous", 1,
     "predictions.response"),
    ("two states", talk({**USER, "state": {}}, {**SYSTEM, "state": {}}), "ambiguous", 1, "state"),
    ("list as state", talk({**USER, "state": []}, SYSTEM), "shape", 0, "state"),
    ("number as value", talk({**USER, "state": {"hotel": {"book stay": 3}}}, SYSTEM), "shape", 0,
     "state.hotel.book stay"),
    ("annotation only", [*talk(USER, PREDICTED),
     {"dialogue_id": "SMP0022.json", "turns": [USER, SYSTEM]}], "missing-predictions", None, None),
]  # fmt: skip
AREA = "frames[0].state.slot_values"
FRAMES: list[tuple[str, Any, str, int | None, str | None]] = [
    ("number as service", talk(framed({}, 5), SYSTEM), "shape", 0, "frames[0].service"),
    ("list as slot values", talk(framed([]), SYSTEM), "shape", 0, AREA),
    ("number as value", talk(framed({"area": [4]}), SYSTEM), "shape", 0, f"{AREA}.area"),
    ("slot of another service", talk(framed({"train-day": ["monday"]}), SYSTEM), "wrong-service", 0,
     f"{AREA}.train-day"),
    ("a slot with two values", talk(framed({"area": ["a"], "hotel-area": ["b"]}), SYSTEM),
     "repeated-key", 0, f"{AREA}.hotel-area"),
    ("two states", talk(framed({}), {**framed({}), "speaker": "SYSTEM", "utterance": "a"}),
     "ambiguous", 1, "frames"),
]  # fmt: skip


@pytest.mark.parametrize(
    ("input_format", "raw", "kind", "turn", "key"),
    [
        pytest.param(input_format, *case[1:], id=f"{input_format}: {case[0]}")
        for input_format, cases in (
            ("unified", [*SHARED, *UNIFIED]),
            ("sgd", [*SHARED, *FRAMES]),
        )
        for case in cases
    ],
)
def test_each_error_is_reported_once_with_its_position(
    input_format: str, raw: Any, kind: str, turn: int | None, key: str | None
) -> None:
    _, problems = adapted(raw, input_format)
    (error,) = (problem for problem in problems if problem.severity == "error")
    assert (error.kind, error.turn, error.key) == (kind, turn, key)


@pytest.mark.parametrize("input_format", ["unified", "sgd"])
def test_later_checks_report_errors_with_their_place_in_the_file(input_format: str) -> None:
    raw = talk(
        *(USER, SYSTEM),
        *({**USER, **framed({"aera": ["a"]}), "state": {"hotel": {"aera": "a"}}}, {**SYSTEM}),
        *(USER, {"speaker": "system"}),
    )
    evaluator = Evaluator(success=True, corpus="sample", input_format=input_format)
    problems = evaluator.validate(raw)
    found = {problem.kind: (problem.dialogue, problem.turn, problem.key) for problem in problems}
    assert found["missing-response"] == ("smp0021", 5, "response")
    assert found["unknown-slot"] == ("smp0021", 3, "state.hotel.aera")
