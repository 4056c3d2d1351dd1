"""The scores of a page: rows of a table, and bars with whiskers over the scopes."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from mwzeval.report.page.model import PageSystem, letter_of
from mwzeval.scores.score import WHOLE, Score


@dataclass(frozen=True, slots=True)
class Cell:
    """A score as text, and as a bar from `start` with `width`, in thousandths of the axis."""

    value: str
    interval: str | None
    start: float
    width: float
    low: float | None
    high: float | None


@dataclass(frozen=True, slots=True)
class ScoreRow:
    """A score over everything in each system; `incomparable` names differing choices.

    `difference` is the second of two systems minus the first, None unless both have the score.
    """

    label: str
    cells: tuple[Cell | None, ...]
    n: str
    difference: str | None
    incomparable: str | None


@dataclass(frozen=True, slots=True)
class Panel:
    """One score over its scopes: the bars of every system."""

    label: str
    low: str
    high: str
    rows: tuple[tuple[str, str, tuple[Cell | None, ...]], ...]


def _names_and_scopes(systems: Sequence[PageSystem]) -> dict[str, dict[str, None]]:
    """Return every score name with its scopes, in the order in which they come."""
    found: dict[str, dict[str, None]] = {}
    for system in systems:
        for score in system.scores:
            found.setdefault(score.name, {})[score.scope] = None
    return found


def _scores_of(systems: Sequence[PageSystem], name: str, scope: str) -> list[Score | None]:
    return [
        next((s for s in system.scores if (s.name, s.scope) == (name, scope)), None)
        for system in systems
    ]


def score_rows(systems: Sequence[PageSystem]) -> list[ScoreRow]:
    """Return a row for each score over everything; of two systems with their difference."""
    rows = []
    for name, scopes in _names_and_scopes(systems).items():
        if WHOLE not in scopes:
            continue
        scores = _scores_of(systems, name, WHOLE)
        known = [score for score in scores if score is not None]
        axis = _axis(known)
        difference = incomparable = None
        if len(scores) == 2 and scores[0] is not None and scores[1] is not None:
            first, second = scores[0], scores[1]
            keys = first.signature.differences(second.signature)
            incomparable = ", ".join(keys) or None
            difference = _signed(second.value - first.value, first.places)
        rows.append(
            ScoreRow(
                label=known[0].label,
                cells=tuple(_cell(score, axis) for score in scores),
                n=_counts(known),
                difference=difference,
                incomparable=incomparable,
            )
        )
    return rows


def panels_of(systems: Sequence[PageSystem]) -> list[Panel]:
    """Return the bars of each score that there is for more than everything."""
    panels = []
    for name, scopes in _names_and_scopes(systems).items():
        if not set(scopes) - {WHOLE}:
            continue
        per_scope = {scope: _scores_of(systems, name, scope) for scope in scopes}
        known = [score for scores in per_scope.values() for score in scores if score is not None]
        axis = _axis(known)
        panels.append(
            Panel(
                label=known[0].label,
                low=f"{axis[0]:g}",
                high=f"{axis[1]:g}",
                rows=tuple(
                    (
                        scope,
                        _counts([score for score in scores if score is not None]),
                        tuple(_cell(score, axis) for score in scores),
                    )
                    for scope, scores in per_scope.items()
                ),
            )
        )
    return panels


def _counts(scores: Iterable[Score]) -> str:
    return " / ".join(dict.fromkeys(f"{score.n:,}" for score in scores))


def _signed(value: float, places: int) -> str:
    text = f"{value:+.{places}f}"
    return f"±{text[1:]}" if float(text) == 0 else text.replace("-", "−")


def _ends(score: Score) -> tuple[float, float] | None:
    interval = score.interval
    if interval is None or not (math.isfinite(interval.low) and math.isfinite(interval.high)):
        return None
    return interval.low, interval.high


def _axis(scores: Iterable[Score]) -> tuple[float, float]:
    """Return round ends of an axis with zero and all values on it; 100 rather than 50 or 60."""
    values = [0.0]
    for score in scores:
        values += [score.value, *(_ends(score) or ())]
    finite = [value for value in values if math.isfinite(value)]
    low, high = _round_up(-min(finite)), _round_up(max(finite))
    return (-low if low else 0.0), (high if high or low else 1.0)


def _round_up(value: float) -> float:
    """Return the next 1, 2 or 5 times a power of ten, or 100 for what looks like percent."""
    if value <= 0:
        return 0.0
    if 10 < value <= 100:
        return 100.0
    power = 10.0 ** math.floor(math.log10(value))
    return next(step * power for step in (1, 2, 5, 10) if value <= step * power * (1 + 1e-9))


def _cell(score: Score | None, axis: tuple[float, float]) -> Cell | None:
    if score is None:
        return None

    def place(value: float) -> float:
        return round(1000 * (value - axis[0]) / (axis[1] - axis[0]), 1)

    value = score.value if math.isfinite(score.value) else 0.0
    ends = _ends(score)
    return Cell(
        value=f"{score.value:.{score.places}f}".replace("-", "−"),
        interval=ends
        and f"{ends[0]:.{score.places}f} – {ends[1]:.{score.places}f}".replace("-", "−"),
        start=place(min(value, 0.0)),
        width=round(place(max(value, 0.0)) - place(min(value, 0.0)), 1),
        low=ends and place(ends[0]),
        high=ends and place(ends[1]),
    )


def about_intervals(systems: Sequence[PageSystem]) -> str | None:
    """Return a sentence about the intervals that are shown, None when there are none."""
    intervals = [score.interval for s in systems for score in s.scores]
    kinds = dict.fromkeys(
        f"{100 * i.confidence if i.confidence <= 1 else i.confidence:g} % {i.method}"
        for i in intervals
        if i is not None
    )
    if not kinds:
        return None
    return f"Intervals: {', '.join(kinds)}" + (
        "; of each system by itself, so whether a difference is real is for a paired test to say."
        if len(systems) > 1
        else "."
    )


def signatures_of(systems: Sequence[PageSystem]) -> list[tuple[str, str]]:
    """Return (letters of the systems, signature), the signatures of one metric together."""
    owners: dict[str, list[str]] = {}
    metrics: dict[str, int] = {}
    for index, system in enumerate(systems):
        for score in system.scores:
            metrics.setdefault(score.signature.metric, len(metrics))
            letters = owners.setdefault(str(score.signature), [])
            if letter_of(index) not in letters:
                letters.append(letter_of(index))
    ordered = sorted(owners, key=lambda signature: metrics[signature.partition("|")[0]])
    return [(" ".join(owners[signature]), signature) for signature in ordered]
