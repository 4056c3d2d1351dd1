"""A system of one's own for a board of published results."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from mwzeval.errors import UsageError
from mwzeval.report.json import score_record
from mwzeval.scores.score import Report

LARGEST = 1e9
"""No score of any benchmark is larger."""


@dataclass(frozen=True, slots=True)
class Entry:
    """A system to be shown among published ones.

    `records` are its scores in long form, as reports have them under `meta.scores`; `meta` says
    what was scored and how.
    """

    name: str
    records: Sequence[Mapping[str, Any]]
    meta: Mapping[str, Any]

    @classmethod
    def of(cls, name: str, report: Report) -> Entry:
        """Return a system that was scored now."""
        return cls(name, tuple(map(score_record, report.scores)), report.meta)

    @classmethod
    def reported(cls, name: str, plain: Any) -> Entry:
        """Return a system out of its JSON report.

        Raises `UsageError` when it is none, or a value is none that a score can have.
        """
        meta = plain.get("meta") if isinstance(plain, Mapping) else None
        records = meta.get("scores") if isinstance(meta, Mapping) else None
        if not isinstance(records, list) or not all(map(_is_record, records)):
            raise UsageError(
                f"{name}: not a report of `mwzeval evaluate`, whose meta.scores have each score "
                "with its signature"
            )
        for record in records:
            for key in ("value", "n", "low", "high"):
                if not _is_possible(record.get(key), may_lack=key in ("low", "high")):
                    raise UsageError(
                        f"{name}: not a report of `mwzeval evaluate`: {key} of {record['score']} "
                        "is no number that a score can have"
                    )
        return cls(name, tuple(records), meta or {})


def _is_record(record: Any) -> bool:
    keys = ("score", "scope", "signature")
    return isinstance(record, Mapping) and all(isinstance(record.get(key), str) for key in keys)


def _is_possible(value: Any, *, may_lack: bool) -> bool:
    if value is None:
        return may_lack
    is_number = isinstance(value, int | float) and not isinstance(value, bool)
    return is_number and abs(value) <= LARGEST  # neither does NaN
