"""How bad each kind of problem is."""

from __future__ import annotations

from typing import Any

from mwzeval.scores.findings import Findings

DOUBTS = frozenset(
    (
        *("missing-confidence", "missing-example", "unknown-example", "no-common-example"),
        *("duplicate-example", "duplicate-candidate", "unknown-candidate", "none-not-allowed"),
        *("empty-ranking", "too-few-candidates", "too-many-candidates", "not-a-distribution"),
        "wrong-track",
    )
)
"""Errors when strict, else warnings."""

WARNINGS = frozenset(
    (
        *("file-name", "not-sorted", "gold-not-in-candidates", "ambiguous-option"),
        *("unchecked-example", "pool-size", "more-warnings"),
    )
)
"""All other kinds are errors."""


def note(findings: Findings, kind: str, message: str, *, fatal: bool = False, **place: Any) -> None:
    """Note a problem as bad as its kind is; `fatal` makes it an error in any case.

    `place` has any of `example`, `position`, `key` and `count`.
    """
    if kind in DOUBTS and not fatal:
        findings.doubt(kind, message, **place)
    elif kind in WARNINGS and not fatal:
        findings.warning(kind, message, **place)
    else:
        findings.error(kind, message, **place)
