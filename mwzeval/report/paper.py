"""A comparison as one table for a paper: systems below each other, their scores side by side."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from mwzeval.comparison import ComparedMeasure, ComparedSystem, Comparison
from mwzeval.errors import UsageError
from mwzeval.report.comparison import (
    FEW_RUNS,
    NOTHING,
    SIGNIFICANT,
    TESTS,
    comparison_document,
    count,
    few_runs,
)
from mwzeval.report.formats import Cell, Document, Sheet
from mwzeval.scores.score import WHOLE

ENDS, HALF_WIDTH, NONE = "ends", "half-width", "none"
INTERVALS = (ENDS, HALF_WIDTH, NONE)
"""How intervals are shown: `[lo, hi]`, `± half their width`, not at all."""

METHODS = {
    "wilson": "Wilson",
    "bootstrap": "bootstrap of {unit}s",
    "jackknife": "jackknife of {unit}s",
    "hierarchical-bootstrap": "bootstrap of {unit}s and runs",
}


def paper_document(
    comparison: Comparison, intervals: str = ENDS, *, places: int | None = None
) -> Document:
    """Return a row a system and a column a score of the whole, with a caption that says it all.

    The best score of a column stands out; a dagger marks what differs from it significantly, by the
    test of the score and Holm's correction over all pairs of systems, as ranks do. Systems whose
    scores have another signature (gold states, say) are not held against each other. `intervals` is
    one of `INTERVALS`; the comparison has to have those of the scores themselves. Raises
    `UsageError` where there is no score of the whole.
    """
    document = comparison_document(comparison, places=places)
    measures = [measure for measure in comparison.measures if measure.scope == WHOLE]
    if not measures:
        raise UsageError("--table is of scores of the whole, and there are none: leave it out")
    header = ("", *(f"{m.label} ↓" if m.lower_is_better else m.label for m in measures))
    rows = tuple(
        (
            Cell(system),
            *(_cell(comparison, measure, system, intervals, places) for measure in measures),
        )
        for system in comparison.systems
    )
    records = tuple(_records(comparison, measures))
    return Document(
        heading=document.heading,
        sheets=(Sheet("", header, rows, tuple(_caption(comparison, measures, intervals))),),
        notes=tuple(dict.fromkeys(str(measure.signature) for measure in measures)),
        records=records,
        plain={**document.plain, "table": records},
    )


def _cell(
    comparison: Comparison,
    measure: ComparedMeasure,
    system: str,
    intervals: str,
    places: int | None,
) -> Cell:
    decimals = measure.places if places is None else places
    entry = measure.of(system)
    mark = SIGNIFICANT if _differs(comparison, measure, entry) else ""
    interval = entry.interval
    if interval and intervals == ENDS:
        mark += f" [{interval.low:.{decimals}f}, {interval.high:.{decimals}f}]"
    elif interval and intervals == HALF_WIDTH:
        mark += f" ± {(interval.high - interval.low) / 2:.{decimals}f}"
    return Cell(f"{entry.value:.{decimals}f}", entry in measure.best(entry.setting), mark)


def _differs(comparison: Comparison, measure: ComparedMeasure, entry: ComparedSystem) -> bool:
    p_value = measure.against_best(entry)
    return p_value is not None and p_value <= comparison.level


def _caption(
    comparison: Comparison, measures: Sequence[ComparedMeasure], intervals: str
) -> Iterator[str]:
    unit = comparison.drawn
    runs = ""
    if comparison.several_runs:
        of = ", ".join(f"{system} {len(names)}" for system, names in comparison.runs.items())
        runs = f", means over runs ({of})"
    clusters = "" if comparison.clusters is None else f" in {count(comparison.clusters, unit)}"
    yield f"Scores on {count(len(comparison.units), comparison.unit)}{clusters}{runs}."
    tested: dict[str, list[str]] = {}
    for measure in measures:
        if not any(measure.best(setting) for setting in measure.settings):
            continue
        tested.setdefault(TESTS[measure.test].format(unit=unit), []).append(measure.label)
    how = list(tested)
    if len(tested) > 1:
        how = [f"{test} ({', '.join(labels)})" for test, labels in tested.items()]
    if how:
        yield (
            f"{SIGNIFICANT}: differs significantly from the best of its column: {'; '.join(how)}; "
            f"p ≤ {comparison.level:g} after Holm's correction over "
            f"{count(comparison.pairs, 'pair')} of systems."
        )
    methods = ", ".join(method.format(unit=unit) for method in _methods(measures))
    if methods and intervals != NONE:
        where = f"on other {unit}s" + (
            " and, of several runs, in other runs" if comparison.several_runs else ""
        )
        shown = "Brackets:" if intervals == ENDS else "±: half the width of"
        level = f"{100 * comparison.confidence:g} % intervals"
        yield f"{shown} {level}, {where} like these ({methods})."
    if few := few_runs(comparison):
        yield f"Of fewer than {FEW_RUNS} runs ({', '.join(few)}) little follows about others."
    yield from _apart(measures)


def _methods(measures: Sequence[ComparedMeasure]) -> list[str]:
    entries = (entry for measure in measures for entry in measure.systems)
    found = dict.fromkeys(entry.interval.method for entry in entries if entry.interval)
    return [METHODS.get(method, method) for method in found]


def _apart(measures: Sequence[ComparedMeasure]) -> Iterator[str]:
    """Yield which systems are not held against each other, and by what they differ."""
    columns: dict[str, list[str]] = {}
    for measure in measures:
        settings = measure.settings
        alike = set.intersection(*(set(setting.split(", ")) for setting in settings))
        if len(settings) > 1:
            groups = [
                f"{', '.join(entry.system for entry in entries)} "
                f"({', '.join(c for c in setting.split(', ') if c not in alike) or NOTHING})"
                for setting, entries in settings.items()
            ]
            columns.setdefault("; ".join(groups), []).append(measure.label)
    for text, labels in columns.items():
        yield f"Not held against each other in {', '.join(labels)}: {text}."


def _records(
    comparison: Comparison, measures: Sequence[ComparedMeasure]
) -> Iterator[Mapping[str, Any]]:
    for system in comparison.systems:
        for measure in measures:
            entry = measure.of(system)
            interval = entry.interval
            yield {
                "system": system,
                "score": measure.name,
                "value": entry.value,
                "low": interval.low if interval else None,
                "high": interval.high if interval else None,
                "interval": interval.method if interval else None,
                "runs": len(entry.runs),
                "sd": entry.over.standard_deviation if entry.over else None,
                "n": measure.n,
                "best": entry in measure.best(entry.setting),
                "p_best": measure.against_best(entry),
                "differs": _differs(comparison, measure, entry),
                "setting": entry.setting,
                "signature": str(measure.signature),
            }
