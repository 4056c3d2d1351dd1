"""Tools with one function and a memory: each result has the number of the call."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

SCHEMA: list[dict[str, Any]] = [
    {
        "type": "function",
        "function": {
            "name": "add",
            "description": "Add whole numbers.",
            "parameters": {
                "type": "object",
                "properties": {"terms": {"type": "array", "items": {"type": "integer"}}},
                "required": ["terms"],
                "additionalProperties": False,
            },
        },
    }
]


class Adder:
    schema: Sequence[Mapping[str, Any]] = SCHEMA

    def __init__(self, name: str = "") -> None:
        self.name = name
        self.calls = 0

    def call(self, name: str, arguments: Mapping[str, Any]) -> Any:
        self.calls += 1
        if name != "add":
            return {"error": f'there is no function "{name}"'}
        terms = arguments.get("terms")
        if not isinstance(terms, list):
            return {"error": "terms are a list"}
        return {"sum": sum(terms), "call": self.calls, "of": self.name}
