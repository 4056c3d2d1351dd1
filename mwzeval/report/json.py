"""A report as the plain value that goes into a JSON file."""

from __future__ import annotations

import json
from dataclasses import asdict
from typing import Any

from mwzeval.errors import Problem
from mwzeval.report.model import Report


def to_plain(report: Report) -> dict[str, Any]:
    """Return the metrics at the top level, everything else under `meta`."""
    return {
        **report.metrics,
        "meta": {
            **report.meta,
            "signatures": {score.name: str(score.signature) for score in report.scores},
            "warnings": [plain_problem(problem) for problem in report.warnings],
        },
    }


def plain_problem(problem: Problem) -> dict[str, Any]:
    """Return a finding without the places it does not have."""
    return {key: value for key, value in asdict(problem).items() if value is not None}


def to_json(report: Report) -> str:
    """Return the report as JSON text, the same for the same result."""
    return json.dumps(to_plain(report), indent=2, ensure_ascii=False) + "\n"
