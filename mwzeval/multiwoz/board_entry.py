"""What of a system may be compared with published figures, and from which it does not differ."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import replace
from decimal import Decimal

from mwzeval.errors import UsageError
from mwzeval.report.leaderboard import Board, Row, row_of
from mwzeval.report.systems import ScoredSystem
from mwzeval.scores.score import WHOLE, Interval
from mwzeval.statistics.intervals import wilson

RATES = ("inform", "success")
COMPARED = (*RATES, "bleu", "combined")
RICHNESS = ("avg_lengths", "cond_entropy", "num_unigrams", "num_trigrams")
COVERAGE = {"n": "dialogues", "turns": "turns"}
"""Conditions that a system may miss and still be shown, with a warning."""


def combined(inform: float, success: float, bleu: float) -> Decimal:
    """Return (Inform + Success) / 2 + BLEU of published figures, exactly.

    Source: Mehri et al., "Structured Fusion Networks for Dialog", SIGDIAL 2019.
    """
    return (Decimal(str(inform)) + Decimal(str(success))) / 2 + Decimal(str(bleu))


def own_row(entry: ScoredSystem, conditions: Mapping[str, str]) -> tuple[Row, dict[str, str]]:
    """Return the row of a system that was scored, and the choices in its signatures.

    `conditions` are those of the published figures, as keys of signatures. Rates without an
    interval get Wilson's, as it follows from value and number. Raises `UsageError` when a score
    that is needed is missing, or was made under other conditions.
    """
    scores = {score.name: score for score in entry.scores if score.scope == WHOLE}
    names = {figure: figure for figure in COMPARED} | {"bleu": f"bleu.{conditions['references']}"}
    row = row_of(entry, names | {figure: f"richness.{figure}" for figure in RICHNESS})
    figures = dict(row.figures)
    for name, figure in figures.items():
        if name in RATES and figure.interval is None:
            n = scores[name].n
            interval = wilson(figure.value * n / 100, n).scaled(100)
            figures[name] = replace(figure, interval=interval)
    choices: dict[str, str] = {}
    for name in (name for name in COMPARED if name in figures):
        choices |= scores[names[name]].signature.choices
    _check_conditions(entry.name, choices, conditions)
    if lacking := [name for name in COMPARED if name not in figures]:
        raise UsageError(
            f"{entry.name}: a place among the published systems needs {', '.join(lacking)} as "
            "well; evaluate with --bleu --success"
        )
    return replace(row, figures=figures), choices


def _check_conditions(name: str, choices: Mapping[str, str], conditions: Mapping[str, str]) -> None:
    different = [
        f"{key} is {_bare(choices[key])}, there {expected}"
        for key, expected in conditions.items()
        if key not in COVERAGE and key in choices and _bare(choices[key]) != expected
    ]
    if different:
        raise UsageError(
            f"{name} cannot stand among the published systems, whose figures were made "
            f"otherwise: {'; '.join(different)}"
        )


def _bare(choice: str) -> str:
    """Return a choice without the checksum of what was chosen."""
    return choice.partition("@")[0]


def cautions(
    own: Row, choices: Mapping[str, str], conditions: Mapping[str, str], apart: Mapping[str, str]
) -> Iterator[str]:
    """Yield in what a system differs from those published.

    `choices` are those in the system's signatures, `conditions` those of the published figures;
    `apart` maps the tables that the system has no place in to the states that their systems have.
    """
    for key, what in COVERAGE.items():
        if key in choices and choices[key] != conditions[key]:
            yield (
                f"{own.system}: {what} scored are {choices[key]}, of the published systems "
                f"{conditions[key]}; figures of other dialogues or turns do not quite compare"
            )
    for table, expected in apart.items():
        yield (
            f"{own.system} has no place in {table}: its states are {choices.get('state')}, those "
            f"of the systems there are {expected}"
        )
    if lacking := [name for name in COMPARED if own.figures[name].interval is None]:
        yield (
            f"{own.system}: no interval is known of {', '.join(lacking)}, so no published one "
            "is called similar; evaluate with --ci"
        )


def with_similar(board: Board, own: Row, units: int) -> Board:
    """Return a board with what is similar to a system marked; `units` were scored of each."""
    rows = []
    for row in board.rows:
        if row.kind == "published":
            similar = similar_figures(own, row, units)
            row = replace(row, similar=similar, indistinguishable=similar.issuperset(COMPARED))
        rows.append(row)
    return replace(board, rows=tuple(rows))


def similar_figures(own: Row, published: Row, units: int) -> frozenset[str]:
    """Return the published figures from which the system's do not differ significantly.

    Both have sampling error: the interval of the difference is put together from those of the two
    (Newcombe, Statistics in Medicine 17, 1998; Zou and Donner, ibid. 27, 2008). Of a published rate
    it is Wilson's; of a published BLEU or combined score, of which nothing else is known, it is
    taken to be as wide as the system's own.

    Both were scored on the same dialogues, but which ones the published system won is not known, so
    they are treated as independent samples. That is conservative: what is hard for one is mostly
    hard for the other, so the true interval of the difference is narrower, and some system called
    similar here would differ in a paired test. There is no correction for the number of rows.
    """
    similar = set()
    for name in COMPARED:
        ours, theirs = own.figures[name], published.figures.get(name)
        if theirs is not None and ours.interval is not None:
            other = _interval_of_published(name, theirs.value, units, ours.value, ours.interval)
            if _may_be_equal(ours.value, ours.interval, theirs.value, other):
                similar.add(name)
    return frozenset(similar)


def _interval_of_published(
    name: str, value: float, units: int, ours: float, interval: Interval
) -> Interval:
    if name in RATES:
        return wilson(value * units / 100, units, interval.confidence).scaled(100)
    return replace(interval, low=value + interval.low - ours, high=value + interval.high - ours)


def _may_be_equal(first: float, of_first: Interval, second: float, of_second: Interval) -> bool:
    difference = first - second
    low = difference - math.hypot(first - of_first.low, of_second.high - second)
    high = difference + math.hypot(of_first.high - first, second - of_second.low)
    return low <= 0 <= high
