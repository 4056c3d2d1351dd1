"""Grounded scores as additive rows: what is said is in the database, agrees, and is what is wanted.

Dataset-blind: a benchmark says of each value mentioned whether it is known and agrees with what is
on offer; here are rows of that, and rates. Whether goals were kept is `goal_success`.
Measures over mentions divide by mentions, not by dialogues; definitions are in `docs/metrics.md`.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import NamedTuple

from mwzeval.metrics.measure import Measure, Sign, percentage
from mwzeval.scores.score import WHOLE


class JudgedValue(NamedTuple):
    """A value or an entity that a response mentions.

    `known` tells whether the database has it; `agrees` whether it is one of what is on offer, None
    where there is nothing that it could agree with.
    """

    slot: str
    known: bool
    agrees: bool | None


class MentionCounts(NamedTuple):
    """How many values are mentioned, and how many of them are not known; how many could agree with
    what is on offer, and do.
    """

    mentions: int = 0
    hallucinated: int = 0
    belonging: int = 0
    consistent: int = 0

    @classmethod
    def of(cls, judged: Sequence[tuple[bool, bool | None]]) -> MentionCounts:
        """Count values by whether they are known and agree, as in `JudgedValue`."""
        known = [known for known, _ in judged]
        agrees = [agrees for _, agrees in judged]
        missing, right = known.count(False), agrees.count(True)
        return cls(len(known), missing, len(agrees) - agrees.count(None), right)

    @classmethod
    def total(cls, parts: Iterable[Iterable[int]]) -> MentionCounts:
        """Add counts up."""
        return cls(*map(sum, zip(*parts, strict=True)))


class HeldByLog(NamedTuple):
    """A claim that a log of tools tells something about.

    `agrees` tells whether tools have returned what is said; `known` whether the database says the
    same as what is said, None where it cannot tell.
    """

    slot: str
    agrees: bool
    known: bool | None


class Rate(NamedTuple):
    """A percentage of counts: `outcome` of `cases`."""

    name: str
    label: str
    outcome: str
    cases: str
    lower_is_better: bool = False


class ClaimRates:
    """Rows and measures of what is said: by slot and in total.

    A kind of rates has `counts`, and `rates` of them.
    """

    counts: tuple[str, ...]
    rates: tuple[Rate, ...]

    def __init__(self, slots: Iterable[str]) -> None:
        self.scopes = (WHOLE, *slots)
        self._of_scope = {
            scope: tuple(f"{count}.{scope}" for count in self.counts) for scope in self.scopes
        }
        self.columns = tuple(f"{count}.{scope}" for count in self.counts for scope in self.scopes)

    def _row(self, counted: Iterable[tuple[str, Sequence[int], int]]) -> dict[str, float]:
        """Return the sums of (slot, which counts it adds to, how often)."""
        row: dict[str, float] = {}
        for slot, holds, times in counted:
            for columns in (self._of_scope[WHOLE], self._of_scope[slot]):
                for column, counts in zip(columns, holds, strict=True):
                    if counts:
                        row[column] = row.get(column, 0) + times
        return row

    def measures(self, sums: Mapping[str, float], sign: Sign) -> Iterator[Measure]:
        """Yield the percentages of each scope that has cases.

        Mentions of one dialogue depend on each other: they are no outcomes of units, and intervals
        come from resampled dialogues.
        """
        for name, label, outcome, cases, lower_is_better in self.rates:
            for scope in self.scopes:
                if sums[f"{cases}.{scope}"]:
                    yield Measure(
                        name=name,
                        label=label,
                        signature=sign(name),
                        of=percentage(f"{outcome}.{scope}", of=f"{cases}.{scope}"),
                        places=1,
                        scope=scope,
                        cases=f"{cases}.{scope}",
                        lower_is_better=lower_is_better,
                    )


class MentionRates(ClaimRates):
    """Mentions held against a database: `hallucination`, then `consistency`."""

    counts = MentionCounts._fields
    rates = (
        Rate("hallucination", "Hallucination", "hallucinated", "mentions", lower_is_better=True),
        Rate("consistency", "Consistency", "consistent", "belonging"),
    )

    def row(self, judged: Iterable[JudgedValue]) -> dict[str, float]:
        """Return one dialogue's counts of mentions."""
        return self._row(
            (slot, (True, not known, agrees is not None, agrees is True), times)
            for (slot, known, agrees), times in Counter(judged).items()
        )


class LogRates(ClaimRates):
    """Claims held against a log: `log_consistency`, and `log_only`, what the database denies."""

    counts = ("logged", "logged_right", "logged_both", "logged_only")
    rates = (
        Rate("log_consistency", "Log Consistency", "logged_right", "logged"),
        Rate("log_only", "Log Only", "logged_only", "logged_both", lower_is_better=True),
    )

    def row(self, held: Iterable[HeldByLog]) -> dict[str, float]:
        """Return one dialogue's counts of claims."""
        return self._row(
            (
                slot,
                (True, agrees, agrees and known is not None, agrees and known is False),
                times,
            )
            for (slot, agrees, known), times in Counter(held).items()
        )
