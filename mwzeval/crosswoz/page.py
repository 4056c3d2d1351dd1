"""A system on the report page: its report, and all its dialogues explained."""

from __future__ import annotations

from collections.abc import Sequence

from mwzeval.crosswoz.evaluation import Evaluated
from mwzeval.measure import Resampling
from mwzeval.report.page_model import PageSystem, Words

WORDS = Words("dialogue", "dialogues", "domain")
NAMED = 3
"""How many systems the title of a page names."""


def page_system(
    name: str, evaluated: Evaluated, resampling: Resampling | None = None
) -> PageSystem:
    """Return what the page shows of predictions: their report, and the dialogues explained."""
    report = evaluated.report(resampling)
    return PageSystem(
        name=name,
        scores=report.scores,
        explanations=tuple(evaluated.explain_all()),
        warnings=report.warnings,
        meta=report.meta,
    )


def title_of(systems: Sequence[PageSystem]) -> str:
    """Return the title of a page: its systems and what they were scored on."""
    names = [system.name for system in systems]
    shown = ", ".join(names) if len(names) <= NAMED else f"{len(names)} systems"
    return f"{shown} · {systems[0].meta['corpus']} {systems[0].meta['fold']}"
