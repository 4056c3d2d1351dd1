"""The tool schema: sound, closed, the same every time, and what the adapter reads."""

from __future__ import annotations

import json
from typing import Any

import jsonschema
import pytest

from mwzeval.multiwoz.formats.adaptation import adapt
from mwzeval.multiwoz.formats.functions import tools_schema
from mwzeval.multiwoz.normalization import ONTOLOGY
from mwzeval.scores.findings import Findings
from tests.places import ROOT, read_json, shared

TOOLS = {tool["function"]["name"]: tool["function"] for tool in tools_schema()}
STRICT = {tool["function"]["name"]: tool["function"] for tool in tools_schema(strict=True)}


@pytest.mark.parametrize("tools", [TOOLS, STRICT], ids=["open", "strict"])
@pytest.mark.parametrize("name", TOOLS)
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


@pytest.mark.parametrize("name", TOOLS)
def test_strict_functions_require_everything_and_null_is_not_known(name: str) -> None:
    strict, relaxed = STRICT[name]["parameters"], TOOLS[name]["parameters"]
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


@pytest.mark.parametrize("tools", [TOOLS, STRICT], ids=["open", "strict"])
@pytest.mark.parametrize("name", TOOLS)
def test_whatever_the_schema_allows_is_read_without_a_word(
    tools: dict[str, Any], name: str
) -> None:
    parameters = tools[name]["parameters"]
    choices = {key: values_of(property_) for key, property_ in parameters["properties"].items()}
    for round_ in range(max(map(len, choices.values()))):
        arguments = {key: values[round_ % len(values)] for key, values in choices.items()}
        jsonschema.validate(arguments, parameters)
        call = {"id": "c", "function": {"name": name, "arguments": json.dumps(arguments)}}
        messages = [
            {"role": "user", "content": "a"},
            {"role": "assistant", "content": "b", "tool_calls": [call]},
        ]
        findings = Findings()
        adapted = adapt({"a": messages}, "messages", findings)
        assert (findings.errors, findings.warnings) == ([], [])
        (turn,) = adapted["a"]
        given = {key: str(value) for key, value in arguments.items() if value is not None}
        kind, _, domain = name.partition("_")
        bookings = [{"domain": domain, "slots": given}] if kind == "book" else []
        assert turn["bookings"] == bookings
        slots = turn["state"][domain]
        assert set(slots) <= ONTOLOGY[domain] | {"arriveby", "leaveat"}
        if kind == "find" or domain == "taxi":
            assert slots == given
        else:
            of_venue = {"name", "trainid"}
            assert slots == {f"book{k}": v for k, v in given.items() if k not in of_venue}


@pytest.mark.parametrize(
    "corpus", ["sample", pytest.param("MultiWOZ", marks=pytest.mark.integration)]
)
def test_closed_values_are_all_that_the_database_has(corpus: str) -> None:
    sample = ROOT / "data" / "sample" / "db"
    folder = sample if corpus == "sample" else shared("data", "multiwoz", "db")
    for domain in ("restaurant", "hotel", "attraction", "train"):
        properties = TOOLS[f"find_{domain}"]["parameters"]["properties"]
        rows = read_json(folder / f"{domain}_db.json")
        for slot, property_ in properties.items():
            if "enum" in property_:
                values = {row[slot] for row in rows} - {"?"}
                assert values <= set(property_["enum"]), (domain, slot)
