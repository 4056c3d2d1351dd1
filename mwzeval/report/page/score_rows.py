"""The scores of a page: rows of a table, and bars with whiskers over the scopes."""

from __future__ import annotations

import math
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass

from mwzeval.report.page.model import PageSystem, comparable_in, letter_of
from mwzeval.report.page.standings import Standing, Standings
from mwzeval.scores.comparable import Group
from mwzeval.scores.score import PERCENT, WHOLE, Score


@dataclass(frozen=True, slots=True)
class Cell:
    """A score as text, and as a bar from `start` with `width`, in thousandths of the axis.

    `standing` is None where there is nothing to compare it with.
    """

    value: str
    interval: str | None
    start: float
    width: float
    low: float | None
    high: float | None
    standing: Standing | None = None


@dataclass(frozen=True, slots=True)
class ScoreRow:
    """A score over everything in the systems that can be compared in it; None in the others.

    `setting` says in what these differ from the others; `is_main`, that it is of the headline;
    `beside` is what each of the references has, as text.
    """

    label: str
    cells: tuple[Cell | None, ...]
    n: str
    setting: str
    is_main: bool
    lower_is_better: bool
    beside: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Panel:
    """One score over its scopes: the bars of the systems that can be compared, by their places."""

    label: str
    setting: str
    low: str
    high: str
    rows: tuple[tuple[str, str, tuple[tuple[int, Cell | None], ...]], ...]


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


def score_rows(
    systems: Sequence[PageSystem], standings: Standings, headline: Collection[str]
) -> list[ScoreRow]:
    """Return a row for each score over everything and each group that can be compared in it."""
    references = references_of(systems)
    return [
        _row(systems, name, group, standings, references, is_main=name in headline)
        for name, scopes in _names_and_scopes(systems).items()
        if WHOLE in scopes and name.partition(".")[0] not in references
        for group in comparable_in(systems, name)
    ]


def references_of(systems: Sequence[PageSystem]) -> dict[str, str]:
    """Return what is scored beside the systems, by what its scores begin with."""
    return {
        key: label
        for system in systems
        for key, label in system.references.items()
        if any(score.name.startswith(f"{key}.") for score in system.scores)
    }


def _row(
    systems: Sequence[PageSystem],
    name: str,
    group: Group,
    standings: Standings,
    references: Iterable[str],
    *,
    is_main: bool,
) -> ScoreRow:
    places = [at for at, system in enumerate(systems) if system.name in group.systems]
    scores = _scores_of(systems, name, WHOLE)
    scores = [score if at in places else None for at, score in enumerate(scores)]
    known = [score for score in scores if score is not None]
    axis = _axis(known)
    return ScoreRow(
        label=known[0].label,
        cells=tuple(_cell(score, axis, at, standings) for at, score in enumerate(scores)),
        n=_counts(known),
        setting=group.setting,
        beside=tuple(
            " / ".join(
                dict.fromkeys(
                    f"{score.value:.{score.places}f}"
                    for at, score in enumerate(_scores_of(systems, f"{key}.{name}", WHOLE))
                    if score is not None and at in places
                )
            )
            for key in references
        ),
        is_main=is_main,
        lower_is_better=known[0].lower_is_better,
    )


def chart_of(
    systems: Sequence[PageSystem], standings: Standings, headline: Iterable[str]
) -> list[Panel]:
    """Return the bars of the scores of the headline over everything, of each group."""
    scopes = _names_and_scopes(systems)
    return [
        _panel(systems, name, (WHOLE,), group, standings)
        for name in headline
        if WHOLE in scopes[name]
        for group in comparable_in(systems, name)
    ]


def panels_of(systems: Sequence[PageSystem], standings: Standings) -> list[Panel]:
    """Return the bars of each score that there is for more than everything, of each group."""
    return [
        _panel(systems, name, scopes, group, standings)
        for name, scopes in _names_and_scopes(systems).items()
        if set(scopes) - {WHOLE}
        for group in comparable_in(systems, name)
    ]


def _panel(
    systems: Sequence[PageSystem],
    name: str,
    scopes: Iterable[str],
    group: Group,
    standings: Standings,
) -> Panel:
    places = [at for at, system in enumerate(systems) if system.name in group.systems]
    chosen = [systems[at] for at in places]
    per_scope = {scope: _scores_of(chosen, name, scope) for scope in scopes}
    known = [score for scores in per_scope.values() for score in scores if score is not None]
    axis = _axis(known)
    return Panel(
        label=known[0].label,
        setting=group.setting,
        low=f"{axis[0]:g}",
        high=f"{axis[1]:g}",
        rows=tuple(
            (
                scope,
                _counts([score for score in scores if score is not None]),
                tuple(
                    (at, _cell(score, axis, at, standings))
                    for at, score in zip(places, scores, strict=True)
                ),
            )
            for scope, scores in per_scope.items()
            if any(score is not None for score in scores)
        ),
    )


def _counts(scores: Iterable[Score]) -> str:
    return " / ".join(dict.fromkeys(f"{score.n:,}" for score in scores))


def _ends(score: Score) -> tuple[float, float] | None:
    interval = score.interval
    if interval is None or not (math.isfinite(interval.low) and math.isfinite(interval.high)):
        return None
    return interval.low, interval.high


def _axis(scores: Iterable[Score]) -> tuple[float, float]:
    """Return round ends of an axis with zero and all values on it, of percent 100 above 10."""
    values = [0.0]
    is_percent = False
    for score in scores:
        values += [score.value, *(_ends(score) or ())]
        is_percent = score.unit == PERCENT
    finite = [value for value in values if math.isfinite(value)]
    low, high = _round_up(-min(finite)), _round_up(max(finite))
    if is_percent and 10 < high <= 100:
        high = 100.0
    return (-low if low else 0.0), (high if high or low else 1.0)


def _round_up(value: float) -> float:
    """Return the next 1, 2 or 5 times a power of ten."""
    if value <= 0:
        return 0.0
    power = 10.0 ** math.floor(math.log10(value))
    return next(step * power for step in (1, 2, 5, 10) if value <= step * power * (1 + 1e-9))


def _cell(
    score: Score | None, axis: tuple[float, float], at: int, standings: Standings
) -> Cell | None:
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
        standing=standings.get((score.name, score.scope), {}).get(at),
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
    alone = ", of each system by itself" if len(systems) > 1 else ""
    return f"Intervals of scores: {', '.join(kinds)}{alone}."


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
