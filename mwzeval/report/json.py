"""JSON text, the same for the same value."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import fields, is_dataclass
from typing import Any

from mwzeval.errors import escaped


def to_json(value: object) -> str:
    """Return JSON text, the same for the same value, in which a terminal finds no commands."""
    return escaped(json.dumps(value, indent=2, ensure_ascii=False), _escape, keep="\n") + "\n"


def json_line(value: object) -> str:
    """Return JSON text on one line, without its end."""
    return escaped(json.dumps(value, ensure_ascii=False), _escape)


def plain(value: object) -> Any:
    """Return a value as JSON has it: dataclasses and named tuples are objects of their fields.

    `json` makes lists of named tuples, and `dataclasses.asdict` leaves these as they are.
    """
    if is_dataclass(value) and not isinstance(value, type):
        return {field.name: plain(getattr(value, field.name)) for field in fields(value)}
    if isinstance(value, tuple) and hasattr(value, "_asdict"):
        return {name: plain(each) for name, each in value._asdict().items()}
    if isinstance(value, Mapping):
        return {key: plain(each) for key, each in value.items()}
    if isinstance(value, (list, tuple)):
        return [plain(each) for each in value]
    return value


def _escape(char: str) -> str:
    return f"\\u{ord(char):04x}"
