"""What can be wrong with files of the track, and how bad each kind of problem is."""

from __future__ import annotations

from typing import Any, Literal

from mwzeval.scores.findings import Findings

Degree = Literal["error", "doubt", "warning"]

KINDS: dict[str, Degree] = {
    # Any file.
    "unreadable": "error",
    "too-large": "error",
    "too-many-values": "error",
    "too-many-errors": "error",
    "more-warnings": "warning",
    "empty-file": "error",
    "not-json": "error",
    "not-utf8": "error",
    "not-an-array": "error",
    "missing-field": "error",
    "bad-type": "error",
    "file-name": "warning",
    # Submissions.
    "missing-confidence": "doubt",
    "bad-confidence": "error",
    "missing-example": "doubt",
    "unknown-example": "doubt",
    "no-common-example": "doubt",
    "duplicate-example": "doubt",
    "duplicate-candidate": "doubt",
    "unknown-candidate": "doubt",
    "none-not-allowed": "doubt",
    "empty-ranking": "doubt",
    "too-few-candidates": "doubt",
    "too-many-candidates": "doubt",
    "not-sorted": "warning",
    "not-a-distribution": "doubt",
    "malformed-trec": "error",
    # Targets.
    "malformed-targets": "error",
    "duplicate-target-example": "error",
    "no-targets": "error",
    "gold-not-in-candidates": "warning",
    # Dialogue files and pools.
    "wrong-track": "doubt",
    "duplicate-dialogue-example": "error",
    "ambiguous-option": "warning",
    "unchecked-example": "warning",
    "malformed-pool": "error",
    "duplicate-pool-candidate": "error",
    "pool-size": "warning",
}
"""Kind of problem → its degree; a doubt is an error when strict, a warning when lenient."""


def note(findings: Findings, kind: str, message: str, *, fatal: bool = False, **place: Any) -> None:
    """Note a problem as bad as its kind is; `fatal` makes it an error in any case.

    `place` has any of `example`, `position`, `key` and `count`.
    """
    degrees = {"error": findings.error, "doubt": findings.doubt, "warning": findings.warning}
    degrees["error" if fatal else KINDS[kind]](kind, message, **place)
