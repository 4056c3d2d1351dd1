"""JSON text, the same for the same value."""

from __future__ import annotations

import json

from mwzeval.errors import escaped


def to_json(value: object) -> str:
    """Return JSON text, the same for the same value, in which a terminal finds no commands."""
    return escaped(json.dumps(value, indent=2, ensure_ascii=False), _escape, keep="\n") + "\n"


def json_line(value: object) -> str:
    """Return JSON text on one line, without its end."""
    return escaped(json.dumps(value, ensure_ascii=False), _escape)


def _escape(char: str) -> str:
    return f"\\u{ord(char):04x}"
