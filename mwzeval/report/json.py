"""Reports as the plain values that go into JSON files."""

from __future__ import annotations

import json
from dataclasses import asdict
from typing import Any

from mwzeval.errors import Problem, escaped
from mwzeval.scores.score import Report, Score

SCHEMA = 1
"""Raised when the shape of JSON reports changes; `report/schema.json` describes it."""


def to_plain(report: Report) -> dict[str, Any]:
    """Return the metrics at the top level, everything else under `meta`."""
    return {
        "schema": SCHEMA,
        **report.metrics,
        "meta": {
            **report.meta,
            "signatures": {score.name: str(score.signature) for score in report.scores},
            "scores": [score_record(score) for score in report.scores],
            "warnings": [plain_problem(problem.shared()) for problem in report.warnings],
        },
    }


def score_record(score: Score) -> dict[str, Any]:
    """Return a score in long form, as CSV, JSON Lines and JSON have it."""
    interval = score.interval
    return {
        "score": score.name,
        "scope": score.scope,
        "value": score.value,
        "low": interval.low if interval else None,
        "high": interval.high if interval else None,
        "n": score.n,
        "signature": str(score.signature),
    }


def plain_problem(problem: Problem) -> dict[str, Any]:
    """Return a finding without the places it does not have."""
    return {key: value for key, value in asdict(problem).items() if value is not None}


def to_json(value: object) -> str:
    """Return JSON text, the same for the same value, in which a terminal finds no commands."""
    return escaped(json.dumps(value, indent=2, ensure_ascii=False), _escape, keep="\n") + "\n"


def json_line(value: object) -> str:
    """Return JSON text on one line, without its end."""
    return escaped(json.dumps(value, ensure_ascii=False), _escape)


def _escape(char: str) -> str:
    return f"\\u{ord(char):04x}"
