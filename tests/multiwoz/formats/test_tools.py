"""The schema of the functions, and a system's own functions with their mapping table."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import jsonschema
import pytest

from mwzeval import Evaluator, InputError
from mwzeval.errors import Problem
from mwzeval.multiwoz.functions import read_tools, tools_schema
from mwzeval.multiwoz.normalization import ONTOLOGY
from mwzeval.multiwoz.predictions import FunctionCall, check_dialogues
from mwzeval.scores.findings import Findings
from tests.command_lines import Run
from tests.multiwoz.formats import rendering
from tests.multiwoz.formats.rendering import call, calls
from tests.places import ROOT, read_json, shared, write_json

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
    messages = [calls(call(name, None, **arguments))]
    return messages if returned is None else [*messages, {"role": "tool", "content": returned}]


def adapted(*messages: Any, tools: Any = None) -> tuple[list[dict[str, Any]], list[Problem]]:
    dialogues, problems = rendering.adapted({ID: [USER, *messages, ANSWER]}, "messages", tools)
    return dialogues.get(ID, []), problems


def test_custom_tool_names_are_mapped_to_the_standard_ones() -> None:
    own = (
        *calling("search_hotels", zone="north", price_level="cheap", has_parking=True, limit=5),
        *calling("get_weather", day="friday"),
        *calling("reserve", hotel="the lodge", day="friday", guests=2, nights=3),
    )
    ours = (
        *calling("find_hotel", area="north", pricerange="cheap", parking="yes"),
        *calling("book_hotel", name="the lodge", day="friday", people=2, stay=3),
    )
    (turn,), problems = adapted(*own, tools=TOOLS)
    ((expected,), _) = adapted(*ours)
    assert problems == []
    assert (turn["state"], turn["bookings"]) == (expected["state"], expected["bookings"])


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
def test_calls_that_do_not_match_the_tool_table_are_errors(messages: list[Any], kind: str) -> None:
    _, problems = adapted(*messages, tools=TOOLS)
    assert [problem.kind for problem in problems if problem.severity == "error"] == [kind]


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
def test_errors_in_a_tool_table_are_reported_with_their_place(
    tools: Any, kind: str, key: str | None
) -> None:
    with pytest.raises(InputError) as caught:
        read_tools(tools)
    (problem,) = caught.value.problems
    assert (problem.kind, problem.key) == (kind, key)


def test_tool_names_may_contain_lone_surrogates() -> None:
    assert read_tools({"\ud800": {"function": "find_hotel"}}).checksum


def test_tool_results_are_kept_with_the_turn() -> None:
    found = '[{"name": "the lodge", "telephone": "01223000001"}]'
    use = {"type": "tool_use", "id": "u1", "name": "reserve", "input": {"nights": 3}}
    failed = {"type": "tool_result", "tool_use_id": "u1", "is_error": True, "content": "full"}
    (turn,), problems = adapted(
        *calling("search_hotels", found, zone="north"),
        *({"role": "assistant", "content": [use]}, {"role": "user", "content": [failed]}),
        *calling("find_train", day="monday"),
        tools=TOOLS,
    )
    ((checked,),) = check_dialogues({ID: [turn]}, Findings(), need_responses=True).values()
    assert {problem.severity for problem in problems} == {"warning"}
    assert checked.calls == (
        FunctionCall("find_hotel", {"area": "north"}, found, TOOLS["search_hotels"]["slots"]),
        FunctionCall("book_hotel", {"stay": "3"}, {"error": "full"}, TOOLS["reserve"]["slots"]),
        FunctionCall("find_train", {"day": "monday"}),
    )


def test_tool_tables_keep_the_scores_and_change_the_signature(tmp_path: Path) -> None:
    file = write_json(tmp_path / "tools.json", TOOLS)
    own = calling("search_hotels", zone="south", price_level="expensive", type="hotel")
    ours = calling("find_hotel", area="south", pricerange="expensive", type="hotel")
    reports = [
        Evaluator(success=True, corpus="sample", tools=tools).evaluate({ID: [USER, *made, ANSWER]})
        for tools, made in ((file, own), (TOOLS, own), (None, ours))
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
def test_commands_accept_a_tool_table(verb: str, tmp_path: Path, run: Run) -> None:
    tools = write_json(tmp_path / "tools.json", TOOLS)
    messages = [USER, *calling("search_hotels", zone="south"), ANSWER]
    log = write_json(tmp_path / "log.json", {ID: messages})
    called = [*verb.format(page=tmp_path / "page.html").split(), log, "--corpus", "sample"]
    assert run(*called, "--tools", tools).code == 0
    refused = run(*called)
    assert (refused.code, "search_hotels" in refused.out + refused.err) == (2, True)


def test_errors_in_a_tool_table_name_the_file(tmp_path: Path, run: Run) -> None:
    tools = write_json(tmp_path / "tools.json", {"a": {"function": "find_hotels"}})
    refused = run("explain", "any.json", "--tools", tools)
    assert (refused.code, tools in refused.err) == (2, True)


OPEN = {tool["function"]["name"]: tool["function"] for tool in tools_schema()}
STRICT = {tool["function"]["name"]: tool["function"] for tool in tools_schema(strict=True)}


@pytest.mark.parametrize("tools", [OPEN, STRICT], ids=["open", "strict"])
@pytest.mark.parametrize("name", OPEN)
def test_every_function_is_a_closed_json_schema(tools: dict[str, Any], name: str) -> None:
    parameters = tools[name]["parameters"]
    jsonschema.Draft202012Validator.check_schema(parameters)
    assert parameters["additionalProperties"] is False
    assert set(parameters["required"]) <= set(parameters["properties"])
    for property_ in parameters["properties"].values():
        assert set(property_) <= {"type", "enum", "description"}
        assert property_["description"]
    with pytest.raises(jsonschema.ValidationError):
        jsonschema.validate({"colour": "red"}, parameters)


@pytest.mark.parametrize("name", OPEN)
def test_strict_functions_require_all_properties_and_accept_null(name: str) -> None:
    strict, relaxed = STRICT[name]["parameters"], OPEN[name]["parameters"]
    assert STRICT[name]["strict"] is True
    assert strict["required"] == list(strict["properties"]) == list(relaxed["properties"])
    nothing = {key: None for key in strict["properties"] if key not in relaxed["required"]}
    if not relaxed["required"]:
        jsonschema.validate({}, relaxed)
        jsonschema.validate(nothing, strict)


def values_of(property_: Any) -> list[Any]:
    kinds = property_["type"] if isinstance(property_["type"], list) else [property_["type"]]
    some: dict[str, list[Any]] = {"integer": [1, 12], "string": ["anything"], "null": [None]}
    return list(property_.get("enum", ())) or [value for kind in kinds for value in some[kind]]


@pytest.mark.parametrize("tools", [OPEN, STRICT], ids=["open", "strict"])
@pytest.mark.parametrize("name", OPEN)
def test_calls_valid_under_the_schema_cause_no_warnings(tools: dict[str, Any], name: str) -> None:
    parameters = tools[name]["parameters"]
    choices = {key: values_of(property_) for key, property_ in parameters["properties"].items()}
    for round_ in range(max(map(len, choices.values()))):
        arguments = {key: values[round_ % len(values)] for key, values in choices.items()}
        jsonschema.validate(arguments, parameters)
        messages = [USER, calls(call(name, **arguments), content="b")]
        adapted, problems = rendering.adapted({"a": messages}, "messages")
        assert problems == []
        (turn,) = adapted["a"]
        given = {key: str(value) for key, value in arguments.items() if value is not None}
        kind, _, domain = name.partition("_")
        bookings = [{"domain": domain, "slots": given}] if kind == "book" else []
        assert turn["bookings"] == bookings
        slots = turn["state"][domain]
        assert set(slots) <= ONTOLOGY[domain] | {"arriveby", "leaveat"}
        if kind == "book" and domain != "taxi":
            of_venue = {"name", "trainid"}
            given = {f"book{k}": v for k, v in given.items() if k not in of_venue}
        assert slots == given


@pytest.mark.parametrize(
    "corpus", ["sample", pytest.param("MultiWOZ", marks=pytest.mark.integration)]
)
def test_schema_enums_contain_all_database_values(corpus: str) -> None:
    sample = ROOT / "data" / "sample" / "db"
    folder = sample if corpus == "sample" else shared("data", "multiwoz", "db")
    for domain in ("restaurant", "hotel", "attraction", "train"):
        properties = OPEN[f"find_{domain}"]["parameters"]["properties"]
        rows = read_json(folder / f"{domain}_db.json")
        for slot, property_ in properties.items():
            if "enum" in property_:
                values = {row[slot] for row in rows} - {"?"}
                assert values <= set(property_["enum"]), (domain, slot)
