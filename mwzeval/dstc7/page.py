"""A submission on the report page: its report, and all its examples explained."""

from __future__ import annotations

from collections.abc import Sequence

from mwzeval.dstc7.evaluation import Evaluated
from mwzeval.dstc7.explanation import explain_all
from mwzeval.measure import Resampling
from mwzeval.report.page_model import PageSystem, Words

WORDS = Words("example", "examples", "part", goal="right answer")
NAMED = 3
"""How many systems the title of a page names."""


def page_system(
    name: str, evaluated: Evaluated, resampling: Resampling | None = None
) -> PageSystem:
    """Return what the page shows of a submission: its report, and its examples explained."""
    report = evaluated.report(resampling)
    return PageSystem(
        name=name,
        scores=report.scores,
        explanations=tuple(explain_all(evaluated.loaded)),
        warnings=report.warnings,
        meta=report.meta,
    )


def title_of(systems: Sequence[PageSystem]) -> str:
    """Return the title of a page: its systems and what they were scored on."""
    names = [system.name for system in systems]
    shown = ", ".join(names) if len(names) <= NAMED else f"{len(names)} systems"
    return f"{shown} · {systems[0].meta['corpus']} {systems[0].meta['fold']}"
