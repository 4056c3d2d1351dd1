"""A comparison as one table for a paper: systems below each other, their scores side by side."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import product
from typing import Any

from mwzeval.comparison import ComparedMeasure, ComparedSystem, Comparison
from mwzeval.comparison.comparison import (
    TESTS,
    about_few,
    apart_in,
    comparison_document,
    largest_groups,
)
from mwzeval.errors import UsageError
from mwzeval.scores.comparable import Group
from mwzeval.scores.score import WHOLE
from mwzeval.scores.sheets import (
    ALIKE,
    FEW,
    UNKNOWN,
    Cell,
    Document,
    Sheet,
    interval_text,
    plural,
)

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

    The best score of a column stands out; a dagger marks what does not differ from it
    significantly, by the test of the score and Holm's correction over all pairs of systems, as
    ranks do. Of systems that cannot be compared (gold states, say) each group has its own best.
    `intervals` is one of `INTERVALS`; the comparison has to have those of the scores themselves.
    Raises `UsageError` where there is no score of the whole.
    """
    document = comparison_document(comparison, places=places)
    measures = [measure for measure in comparison.measures if measure.scope == WHOLE]
    if not measures:
        raise UsageError("--table is of scores of the whole, and there are none: leave it out")
    columns: dict[str, list[ComparedMeasure]] = {}
    for measure in measures:
        columns.setdefault(measure.name, []).append(measure)
    header = ("", *(f"{m.label} ↓" if m.lower_is_better else m.label for m, *_ in columns.values()))
    rows = tuple(
        (
            Cell(system),
            *(_cell(comparison, column, system, intervals, places) for column in columns.values()),
        )
        for system in comparison.systems
    )
    records = tuple(_records(comparison, columns.values()))
    return Document(
        heading=document.heading,
        sheets=(Sheet("", header, rows, tuple(_caption(comparison, measures, intervals))),),
        notes=(signatures := tuple(dict.fromkeys(str(m.signature) for m in measures))),
        signatures=signatures,
        records=records,
        plain={**document.plain, "table": records},
    )


def _entry(
    column: Sequence[ComparedMeasure], system: str
) -> tuple[ComparedMeasure, ComparedSystem] | None:
    """Return a system's score and those that it can be compared with; None where it has none."""
    found = (
        (measure, entry)
        for measure in column
        for entry in measure.systems
        if entry.system == system
    )
    return next(found, None)


def _cell(
    comparison: Comparison,
    column: Sequence[ComparedMeasure],
    system: str,
    intervals: str,
    places: int | None,
) -> Cell:
    found = _entry(column, system)
    if found is None:
        return Cell(UNKNOWN)
    measure, entry = found
    decimals = measure.places if places is None else places
    mark = ALIKE if measure.is_alike(entry, comparison.level) else ""
    interval = entry.interval
    if entry.has_few_runs:
        mark += FEW
    elif interval and intervals == ENDS:
        mark += interval_text(interval, f".{decimals}f", " [{}, {}]")
    elif interval and intervals == HALF_WIDTH:
        mark += f" ± {(interval.high - interval.low) / 2:.{decimals}f}"
    return Cell(entry.value, entry in measure.best, mark, form=f".{decimals}f")


def _caption(
    comparison: Comparison, measures: Sequence[ComparedMeasure], intervals: str
) -> Iterator[str]:
    unit = comparison.drawn
    runs = ""
    if comparison.several_runs:
        of = ", ".join(f"{system} {len(names)}" for system, names in comparison.runs.items())
        runs = f", means over runs ({of})"
    on = dict.fromkeys(_on(comparison, group) for group in largest_groups(comparison))
    yield f"Scores on {' and '.join(on)}{runs}."
    tested: dict[str, list[str]] = {}
    for measure in measures:
        if measure.best and measure.test is not None:
            tested.setdefault(TESTS[measure.test].format(unit=unit), []).append(measure.label)
    how = list(tested)
    if len(tested) > 1:
        how = [f"{test} ({', '.join(dict.fromkeys(of))})" for test, of in tested.items()]
    if how:
        sizes = {group.pairs for group in comparison.groups} - {0}
        pairs = f"{plural(max(sizes), 'pair')} of" if len(sizes) == 1 else "all pairs of comparable"
        yield (
            f"{ALIKE}: does not differ significantly from the best of its column: "
            f"{'; '.join(how)}; p > {comparison.level:g} after Holm's correction over {pairs} "
            "systems."
        )
    methods = ", ".join(method.format(unit=unit) for method in _methods(measures))
    if methods and intervals != NONE:
        where = f"on other {unit}s" + (
            " and, of several runs, in other runs" if comparison.several_runs else ""
        )
        shown = "Brackets:" if intervals == ENDS else "±: half the width of"
        level = f"{100 * comparison.confidence:g} % intervals"
        yield f"{shown} {level}, {where} like these ({methods})."
    if few := about_few(comparison):
        yield f"{FEW}: {few}."
    yield from apart_in(comparison, measures)


def _on(comparison: Comparison, group: Group) -> str:
    clusters = "" if group.clusters is None else f" in {plural(group.clusters, 'cluster')}"
    return f"{plural(len(group.units), comparison.unit)}{clusters}"


def _methods(measures: Sequence[ComparedMeasure]) -> list[str]:
    entries = (entry for measure in measures for entry in measure.systems)
    found = dict.fromkeys(
        entry.interval.method for entry in entries if entry.interval and not entry.has_few_runs
    )
    return [METHODS.get(method, method) for method in found]


def _records(
    comparison: Comparison, columns: Iterable[Sequence[ComparedMeasure]]
) -> Iterator[Mapping[str, Any]]:
    for system, column in product(comparison.systems, columns):
        if (found := _entry(column, system)) is not None:
            measure, entry = found
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
                "best": entry in measure.best,
                "p_best": measure.against_best(entry),
                "alike": measure.is_alike(entry, comparison.level),
                "setting": measure.setting,
                "signature": str(measure.signature),
            }
