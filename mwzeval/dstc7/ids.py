"""Ids in the one form in which they are compared, whatever type and case a file has them in."""

from __future__ import annotations

from typing import Any

NONE = "NONE"
"""The id that stands for "none of the candidates is correct" (subtask 4)."""


def candidate_id(raw: Any) -> str | None:
    """Return the canonical form of a candidate's id; None for what cannot be one.

    That is the decimal string of an integer (Advising), else the text without outer blanks in
    upper case (Ubuntu has 12 of A–Z and 0–9, later editions lower-case hexadecimal).
    """
    if type(raw) is str:
        return raw.strip().upper() or None
    return _decimal(raw) if type(raw) is int else None


def example_id(raw: Any) -> str | None:
    """Return the canonical form of an example's id; None for what cannot be one.

    That is the decimal string of a number, written as a number or as text.
    """
    if type(raw) is str:
        text = raw.strip()
        if text.isascii() and text.isdigit():
            return text.lstrip("0") or "0"
        return text or None
    return _decimal(raw) if type(raw) is int else None


def _decimal(number: int) -> str | None:
    try:
        return str(number)
    except ValueError:  # more digits than Python converts
        return None


def plain_id(identity: str) -> int | str:
    """Return an id as files have it: a number where it is one, else the text."""
    is_number = identity.isascii() and identity.isdigit() and len(identity) < 19
    return int(identity) if is_number and str(int(identity)) == identity else identity
