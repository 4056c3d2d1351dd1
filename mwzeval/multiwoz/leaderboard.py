"""Published tables of systems, and where a system that was scored here stands among them.

Dataset-blind: the file of a leaderboard says under which conditions its figures hold, in the keys
of signatures; a system that was scored under other conditions is refused.
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from decimal import ROUND_HALF_UP, Decimal
from pathlib import Path
from typing import Any

from mwzeval.errors import DataError, UsageError, did_you_mean, shorten
from mwzeval.scores.score import WHOLE, Interval, Signature
from mwzeval.statistics import CONFIDENCE, wilson

RATES = ("inform", "success")
COMPARED = (*RATES, "bleu", "combined")
RICHNESS = ("avg_lengths", "cond_entropy", "num_unigrams", "num_trigrams")
MOST = {"combined": 200.0} | dict.fromkeys(RICHNESS, 1e9)
"""The largest values of figures that are no percentages."""
COVERAGE = ("n", "turns")
"""Conditions that a system may miss and still be shown, with a warning."""


@dataclass(frozen=True, slots=True)
class Published:
    """One system of a table; `figures` has those that were published, and the combined score.

    `note` says what is known to be wrong with the published figures.
    """

    system: str
    figures: Mapping[str, float]
    paper: str | None = None
    note: str | None = None


@dataclass(frozen=True, slots=True)
class Leaderboard:
    """Published tables by name, each sorted by the combined score, the best first.

    `conditions` are keys of signatures and the values that they had; `states` says of each table
    whether its systems predict states or take gold ones.
    """

    source: str
    conditions: Mapping[str, str]
    states: Mapping[str, str]
    reference_corpus: Published
    tables: Mapping[str, tuple[Published, ...]]

    @property
    def units(self) -> int:
        """How many dialogues the figures are of."""
        return int(self.conditions["n"])

    def table_name(self, asked: str) -> str:
        """Return the name of a table; hyphens are fine too. Raises `UsageError`."""
        name = asked.replace("-", "_")
        if name not in self.tables:
            hint, known = did_you_mean(name, self.tables), ", ".join(self.tables)
            raise UsageError(f'unknown table "{shorten(asked)}"{hint} (known: {known})')
        return name


@dataclass(frozen=True, slots=True)
class Figure:
    """A score of a system and its interval, None where it is not known."""

    value: float
    interval: Interval | None


@dataclass(frozen=True, slots=True)
class Candidate:
    """A system that was scored here: figures by name, and the choices in their signatures."""

    name: str
    figures: Mapping[str, Figure]
    choices: Mapping[str, str]


@dataclass(frozen=True, slots=True)
class Neighbour:
    """A published system, and which of its figures may be the same as the candidate's."""

    published: Published
    similar: frozenset[str]

    @property
    def indistinguishable(self) -> bool:
        """Whether all of its figures may be the same as the candidate's."""
        return self.similar.issuperset(COMPARED)


@dataclass(frozen=True, slots=True)
class Standing:
    """A table with the candidate's place in it: how many systems are above; None without one."""

    table: str
    neighbours: tuple[Neighbour, ...]
    above: int | None


def combined(inform: float, success: float, bleu: float) -> Decimal:
    """Return (Inform + Success) / 2 + BLEU of published figures, exactly.

    Source: Mehri et al., "Structured Fusion Networks for Dialog", SIGDIAL 2019.
    """
    return (Decimal(str(inform)) + Decimal(str(success))) / 2 + Decimal(str(bleu))


def rounded(value: float, places: int = 1) -> str:
    """Return the number with so many decimals, halves away from 0, as published tables have it."""
    return str(Decimal(str(value)).quantize(Decimal(1).scaleb(-places), ROUND_HALF_UP))


def read_leaderboard(path: Path) -> Leaderboard:
    """Return the published tables of a file; combined scores are computed, whatever it has.

    Raises `DataError` when it cannot be read or is not such a file.
    """
    try:
        plain = json.loads(path.read_text(encoding="utf-8"))
        return Leaderboard(
            source=plain["source"],
            conditions=plain["conditions"],
            states=plain["states"],
            reference_corpus=Published("reference corpus", plain["reference_corpus"]),
            tables={
                name: tuple(sorted(map(_published, plain[name]), key=_combined, reverse=True))
                for name in plain["states"]
            },
        )
    except (OSError, ValueError, LookupError, TypeError) as error:
        raise DataError(f"{path} (the published tables) cannot be read: {error}") from None


def _published(plain: Mapping[str, Any]) -> Published:
    figures = {name: plain[name] for name in (*RATES, "bleu", *RICHNESS) if name in plain}
    figures["combined"] = float(combined(*(figures[name] for name in (*RATES, "bleu"))))
    return Published(plain["system"], figures, plain.get("paper"), plain.get("note"))


def _combined(published: Published) -> float:
    return published.figures["combined"]


def candidate(name: str, scores: Any, board: Leaderboard) -> Candidate:
    """Return a system out of its scores in long form, as reports have them under `meta.scores`.

    Rates without an interval get one, as it follows from value and number. Raises `UsageError`
    when the scores are no such list, one that is needed is missing or no possible value, or they
    were made under other conditions than the published ones.
    """
    references = board.conditions["references"]
    found = {}
    choices: dict[str, str] = {}
    try:
        whole = {record["score"]: record for record in scores if record["scope"] == WHOLE}
        for figure in (*COMPARED, *RICHNESS):
            key = {"bleu": f"bleu.{references}"}.get(figure, figure)
            record = whole.get(f"richness.{figure}" if figure in RICHNESS else key)
            if record is not None:
                signature = Signature.parse(record["signature"])
                found[figure] = _figure(figure, record, signature)
                if figure in COMPARED:
                    choices |= signature.choices
    except _ImpossibleError as error:
        raise UsageError(f"{name}: not a report of `mwzeval evaluate`: {error}") from None
    except (LookupError, TypeError, ValueError, AttributeError):
        raise UsageError(
            f"{name}: not a report of `mwzeval evaluate`, whose meta.scores have each score with "
            "its signature"
        ) from None
    _check_conditions(name, choices, board)
    if lacking := [figure for figure in COMPARED if figure not in found]:
        raise UsageError(
            f"{name}: a place among the published systems needs {', '.join(lacking)} as well; "
            "evaluate with --bleu --success"
        )
    return Candidate(name, found, choices)


class _ImpossibleError(Exception):
    pass


def _figure(name: str, record: Mapping[str, Any], signature: Signature) -> Figure:
    most = MOST.get(name, 100.0)
    value = _number(f"{name} is", record["value"], 0, most)
    if record["low"] is not None and record["high"] is not None:
        level, _, method = dict(signature.choices)["ci"].partition("%-")
        percent = _number(f"the level of {name} is", float(level), 1, 99.9999)
        # An interval may reach beyond the possible values, though not far.
        low, high = (
            _number(f"the interval of {name} has", record[end], -most, 2 * most)
            for end in ("low", "high")
        )
        return Figure(value, Interval(low, high, percent / 100, method))
    if name not in RATES:
        return Figure(value, None)
    n = int(_number(f"the n of {name} is", record["n"], 1, 1e9))
    return Figure(value, wilson(value * n / 100, n).scaled(100))


def _number(what: str, found: Any, least: float, most: float) -> float:
    is_number = isinstance(found, int | float) and not isinstance(found, bool)
    if not is_number or not least <= found <= most:
        expected = f"a number from {least:g} to {most:g}"
        raise _ImpossibleError(f"{what} {shorten(json.dumps(found))}, expected {expected}")
    return float(found)


def _check_conditions(name: str, choices: Mapping[str, str], board: Leaderboard) -> None:
    different = [
        f"{key} is {_bare(choices[key])}, there {expected}"
        for key, expected in board.conditions.items()
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


def cautions(board: Leaderboard, system: Candidate, shown: Iterable[Standing]) -> tuple[str, ...]:
    """Return in what a system differs from those published, though it may be shown among them."""
    found = [
        f"{system.name}: {what} scored are {system.choices[key]}, of the published systems "
        f"{board.conditions[key]}; figures of other dialogues or turns do not quite compare"
        for key, what in zip(COVERAGE, ("dialogues", "turns"), strict=True)
        if key in system.choices and system.choices[key] != board.conditions[key]
    ]
    state = system.choices.get("state")
    found += [
        f"{system.name}: its states are {state}, those of the systems in {standing.table} are "
        f"{board.states[standing.table]}"
        for standing in shown
        if standing.above is not None and state != board.states[standing.table]
    ]
    if lacking := [name for name in COMPARED if system.figures[name].interval is None]:
        found.append(
            f"{system.name}: no interval is known of {', '.join(lacking)}, so no published one "
            "is called similar; evaluate with --ci"
        )
    return tuple(found)


def standings(
    board: Leaderboard, system: Candidate | None, table: str | None = None
) -> tuple[Standing, ...]:
    """Return the tables (or one), with the system in those whose systems have states as it has.

    In a table that was asked for by name it has a place in any case.
    """
    names = list(board.tables) if table is None else [table]
    return tuple(
        _standing(
            board,
            name,
            system
            if system and (table or system.choices.get("state") == board.states[name])
            else None,
        )
        for name in names
    )


def _standing(board: Leaderboard, table: str, system: Candidate | None) -> Standing:
    published = board.tables[table]
    if system is None:
        return Standing(table, tuple(Neighbour(row, frozenset()) for row in published), None)
    ours = system.figures["combined"].value
    return Standing(
        table,
        tuple(Neighbour(row, similar_figures(system, row, board.units)) for row in published),
        sum(_combined(row) > ours for row in published),
    )


def similar_figures(system: Candidate, published: Published, units: int) -> frozenset[str]:
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
        ours, theirs = system.figures[name], published.figures.get(name)
        if theirs is not None and ours.interval is not None:
            other = _interval_of_published(name, theirs, units, ours.value, ours.interval)
            if _may_be_equal(ours.value, ours.interval, theirs, other):
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


def confidence_of(system: Candidate) -> float:
    """Return the confidence of the system's intervals."""
    intervals: Sequence[Interval | None] = [f.interval for f in system.figures.values()]
    return next((interval.confidence for interval in intervals if interval), CONFIDENCE)
