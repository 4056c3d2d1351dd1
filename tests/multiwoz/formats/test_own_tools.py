"""A system's own functions: read as ours by a table, which is refused where it is wrong."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from mwzeval import Evaluator, InputError
from mwzeval.cli import main
from mwzeval.multiwoz.formats.adaptation import adapt
from mwzeval.multiwoz.formats.functions import OUR_TOOLS, read_tools
from mwzeval.multiwoz.predictions.reading import FunctionCall, check_dialogues
from mwzeval.scores.findings import Findings

ID = "smp0021"
USER = {"role": "user", "content": "hello"}
ANSWER = {"role": "assistant", "content": "How about [hotel_name]?"}
TOOLS: dict[str, Any] = {
    "search_hotels": {
        "function": "find_hotel",
        "slots": {
            **{"zone": "area", "price_level": "pricerange", "has_parking": "parking"},
            **{"telephone": "phone", "limit": None},
        },
    },
    "reserve": {
        "function": "book_hotel",
        "slots": {"hotel": "name", "guests": "people", "nights": "stay", "code": "reference"},
    },
    "get_weather": {"function": None},
}


def calling(name: str, returned: str | None = None, /, **arguments: Any) -> list[dict[str, Any]]:
    function = {"name": name, "arguments": json.dumps(arguments)}
    messages = [{"role": "assistant", "content": None, "tool_calls": [{"function": function}]}]
    return messages if returned is None else [*messages, {"role": "tool", "content": returned}]


def adapted(*messages: Any, tools: Any = None) -> tuple[list[dict[str, Any]], Findings]:
    findings = Findings()
    raw = {ID: [USER, *messages, ANSWER]}
    return (adapt(raw, "messages", findings, read_tools(tools)) or {}).get(ID, []), findings


def test_own_names_are_read_as_ours() -> None:
    own = (
        *calling("search_hotels", zone="north", price_level="cheap", has_parking=True, limit=5),
        *calling("get_weather", day="friday"),
        *calling("reserve", hotel="the lodge", day="friday", guests=2, nights=3),
    )
    ours = (
        *calling("find_hotel", area="north", pricerange="cheap", parking="yes"),
        *calling("book_hotel", name="the lodge", day="friday", people=2, stay=3),
    )
    (turn,), findings = adapted(*own, tools=TOOLS)
    ((expected,), _) = adapted(*ours)
    assert (findings.errors, findings.warnings) == ([], [])
    assert (turn["state"], turn["bookings"]) == (expected["state"], expected["bookings"])


def test_our_names_stay_known_beside_own_ones() -> None:
    assert OUR_TOOLS.by_name.keys() | TOOLS.keys() == read_tools(TOOLS).by_name.keys()


@pytest.mark.parametrize(
    ("messages", "kind"),
    [
        (calling("serch_hotels"), "unknown-function"),
        (calling("search_hotels", zonne="north"), "unknown-argument"),
        (calling("search_hotels", telephone="1"), "unknown-argument"),
        (calling("search_hotels", zone="north", area="south"), "repeated-argument"),
        (calling("find_hotel", parking=True), "argument-type"),
    ],
)  # fmt: skip
def test_calls_that_the_table_does_not_explain_are_told(messages: list[Any], kind: str) -> None:
    _, findings = adapted(*messages, tools=TOOLS)
    (error,) = findings.errors
    assert error.kind == kind


@pytest.mark.parametrize(
    ("tools", "kind", "key"),
    [
        ([], "shape", None),
        ({"a": {}}, "shape", "a"),
        ({"a": {"function": 1}}, "shape", "a.function"),
        ({"a": {"function": "find_hotels"}}, "unknown-function", "a.function"),
        ({"a": {"function": "find_hotel", "slot": {}}}, "unknown-key", "a"),
        ({"a": {"function": "find_hotel", "slots": []}}, "shape", "a.slots"),
        ({"a": {"function": "find_hotel", "slots": {"zone": "aera"}}}, "unknown-slot",
         "a.slots.zone"),
        ({"a": {"function": "find_hotel", "slots": {"zone": 1}}}, "shape", "a.slots.zone"),
    ],
)  # fmt: skip
def test_a_table_that_is_wrong_is_refused_with_the_place(
    tools: Any, kind: str, key: str | None
) -> None:
    with pytest.raises(InputError) as caught:
        read_tools(tools)
    (problem,) = caught.value.problems
    assert (problem.kind, problem.key) == (kind, key)


def test_a_name_that_has_no_utf_8_is_one() -> None:
    assert read_tools({"\ud800": {"function": "find_hotel"}}).checksum


def test_what_tools_return_stays_with_the_turn() -> None:
    found = '[{"name": "the lodge", "telephone": "01223000001"}]'
    use = {"type": "tool_use", "id": "u1", "name": "reserve", "input": {"nights": 3}}
    failed = {"type": "tool_result", "tool_use_id": "u1", "is_error": True, "content": "full"}
    (turn,), findings = adapted(
        *calling("search_hotels", found, zone="north"),
        *({"role": "assistant", "content": [use]}, {"role": "user", "content": [failed]}),
        *calling("find_train", day="monday"),
        tools=TOOLS,
    )
    ((checked,),) = check_dialogues({ID: [turn]}, findings, need_responses=True).values()
    assert findings.errors == []
    assert checked.calls == (
        FunctionCall("find_hotel", {"area": "north"}, found, TOOLS["search_hotels"]["slots"]),
        FunctionCall("book_hotel", {"stay": "3"}, {"error": "full"}, TOOLS["reserve"]["slots"]),
        FunctionCall("find_train", {"day": "monday"}),
    )


def test_scores_with_a_table_are_those_of_our_names_and_signed_so(tmp_path: Path) -> None:
    file = tmp_path / "tools.json"
    file.write_text(json.dumps(TOOLS))
    wanted = {"type": "hotel"}
    own = [USER, *calling("search_hotels", zone="south", price_level="expensive", **wanted), ANSWER]
    ours = [USER, *calling("find_hotel", area="south", pricerange="expensive", **wanted), ANSWER]
    reports = [
        Evaluator(success=True, corpus="sample", tools=tools).evaluate({ID: messages})
        for tools, messages in ((file, own), (TOOLS, own), (None, ours))
    ]
    values = [[score.value for score in report.scores] for report in reports]
    assert values[0] == values[1] == values[2]
    assert values[0][0] == 100
    signed = [str(report.scores[0].signature) for report in reports]
    assert signed[0] == signed[1] != signed[2]
    assert "tools:" in signed[0]


@pytest.mark.parametrize(
    "verb", ["evaluate -s", "validate", "explain", "shards -s", "report -o {page}"]
)
def test_verbs_take_the_table(
    verb: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    tools, log, page = (tmp_path / name for name in ("tools.json", "log.json", "page.html"))
    tools.write_text(json.dumps(TOOLS))
    messages = [USER, *calling("search_hotels", zone="south"), ANSWER]
    log.write_text(json.dumps({ID: messages}))
    called = [*verb.format(page=page).split(), str(log), "--corpus", "sample"]
    assert main([*called, "--tools", str(tools)]) == 0
    assert main(called) == 2
    told = capsys.readouterr()
    assert "search_hotels" in told.out + told.err


def test_a_wrong_table_is_told_with_its_file(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    tools = tmp_path / "tools.json"
    tools.write_text('{"a": {"function": "find_hotels"}}')
    assert main(["explain", "any.json", "--tools", str(tools)]) == 2
    assert str(tools) in capsys.readouterr().err
