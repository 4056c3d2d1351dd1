"""One table for a paper: what is bold, what has a dagger, and what is not compared."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import cache

import numpy as np
import pytest

from mwzeval.comparison import Comparison, compare
from mwzeval.comparison.comparison import paper_document
from mwzeval.metrics.measure import Measure, Resampling, ScoredTable, percentage
from mwzeval.scores.score import Signature
from mwzeval.scores.sheets import Document
from mwzeval.scores.table import Table

FEW = Resampling(samples=300, seed=7)
UNITS = tuple(f"d{number:03}" for number in range(120))
RATES = {"weak": 0.3, "good": 0.8, "better": 0.82}


def scored(rate: float, seed: int, state: str = "predicted") -> ScoredTable:
    """Return a system that is right, and wrong, in so many dialogues."""
    right = np.random.default_rng([seed, 1]).random(len(UNITS)) < rate
    values = np.column_stack([right, 1 - right, np.ones(len(UNITS))]).astype(float)
    signature = Signature("right", (("state", state), ("rules", "1")))
    share = percentage("right", of="all")
    return ScoredTable(
        Table(UNITS, ("right", "wrong", "all"), values),
        (
            Measure("rate", "Rate", signature, share, 1, cases="all", outcome="right"),
            Measure("share", "Share", Signature("share", ()), share),
            Measure(
                "error", "Error", signature, percentage("wrong", of="all"), lower_is_better=True
            ),
            Measure("richness.words", "Words", Signature("words", ()), share),
        ),
    )


@cache
def of_single_runs() -> Comparison:
    systems = {name: scored(rate, number) for number, (name, rate) in enumerate(RATES.items())}
    return compare(systems, resampling=FEW, intervals=True)


@cache
def of_several_runs() -> Comparison:
    systems: dict[str, ScoredTable | Mapping[str, ScoredTable]] = {
        name: {f"run {run}": scored(rate, 10 * number + run) for run in range(3)}
        for number, (name, rate) in enumerate(RATES.items())
    }
    return compare({**systems, "single": scored(0.7, 99)}, resampling=FEW, intervals=True)


def cells(document: Document) -> dict[tuple[str, str], tuple[str, bool, str]]:
    """Return (system, column) → text, whether it is bold, and what follows."""
    (sheet,) = document.sheets
    return {
        (row[0].text, column): (cell.text, cell.best, cell.mark)
        for row in sheet.rows
        for column, cell in zip(sheet.header[1:], row[1:], strict=True)
    }


@pytest.mark.parametrize("comparison", [of_single_runs, of_several_runs])
def test_the_best_is_bold_and_what_does_not_differ_from_it_has_a_dagger(
    comparison: Callable[[], Comparison],
) -> None:
    found = comparison()
    shown = cells(paper_document(found, "none"))
    for column, name, sign in (
        ("Rate", "rate", 1),
        ("Share", "share", 1),
        ("Error ↓", "error", -1),
    ):
        measure = found.measure(name)
        values = {system: sign * measure.of(system).value for system in found.systems}
        best = max(values, key=values.__getitem__)
        for system in found.systems:
            p_value = measure.against_best(measure.of(system))
            mark = "†" if p_value is not None and p_value > found.level else ""
            mark += "‡" if len(found.runs[system]) == 3 else ""
            text = f"{abs(values[system]):.{measure.places}f}"
            assert shown[system, column] == (text, system == best, mark)
        assert "†" in {shown[system, column][2][:1] for system in found.systems}
        assert "†" not in shown["weak", column][2]
    assert not any(bold or "†" in mark for (_, c), (_, bold, mark) in shown.items() if c == "Words")


def test_intervals_are_those_of_a_report_and_of_several_runs_wider_than_none() -> None:
    comparison = of_single_runs()
    for number, (name, rate) in enumerate(RATES.items()):
        for score in scored(rate, number).scores(FEW):
            assert comparison.measure(score.name).of(name).interval == score.interval
    for measure in of_several_runs().measures:
        for entry in measure.systems:
            assert entry.interval is not None
            assert entry.interval.low < entry.value < entry.interval.high
            several = entry.interval.method == "hierarchical-bootstrap"
            assert several == (entry.system != "single")


def test_intervals_are_shown_as_ends_half_widths_or_not_at_all() -> None:
    comparison = of_single_runs()
    interval = comparison.measure("rate").of("better").interval
    assert interval is not None
    for style, shown in (
        ("ends", f" [{interval.low:.1f}, {interval.high:.1f}]"),
        ("half-width", f" ± {(interval.high - interval.low) / 2:.1f}"),
        ("none", ""),
    ):
        document = paper_document(comparison, style)
        assert cells(document)["better", "Rate"][2].lstrip("†") == shown
        assert ("95 %" in " ".join(document.sheets[0].caption)) == (style != "none")


def test_only_scores_with_the_same_signature_are_held_against_each_other() -> None:
    systems = {
        "end-to-end": scored(0.6, 1),
        "weak": scored(0.2, 2),
        "gold states": scored(0.99, 3, state="gold"),
    }
    comparison = compare(systems, resampling=FEW, intervals=True)
    document = paper_document(comparison, "none")
    shown = cells(document)
    assert {key for key, (_, best, _) in shown.items() if best} == {
        ("end-to-end", "Rate"),
        ("end-to-end", "Error ↓"),
        ("gold states", "Share"),
    }
    assert shown["gold states", "Rate"][2] == ""
    assert shown["end-to-end", "Share"][2] == ""
    groups = "Rate, Error: end-to-end, weak (state predicted); gold states (state gold)"
    assert groups in document.sheets[0].caption[-1]
