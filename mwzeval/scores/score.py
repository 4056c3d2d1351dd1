"""Scores with signatures, intervals, and numbers of units.

Two values of a score are comparable if their signatures have the same choices. Only the amount of
scored data (`AMOUNTS`) and the computation of the interval (`OF_INTERVALS`) may differ. Comparable
systems form a group; ranks, best scores and differences are defined only within a group.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import NamedTuple


@dataclass(frozen=True, slots=True)
class Signature:
    """The choices that affect a score, in a fixed order: `metric|key:value|…`."""

    metric: str
    choices: tuple[tuple[str, str], ...]

    @classmethod
    def of(cls, metric: str, choices: Mapping[str, object]) -> Signature:
        """Build a signature in the order of `choices`; choices that are None are omitted."""
        present = ((key, str(value)) for key, value in choices.items() if value is not None)
        return cls(metric, tuple(present))

    @classmethod
    def parse(cls, text: str) -> Signature:
        """Parse a signature from its text. Raises `ValueError` if a part has no colon."""
        metric, *parts = text.split("|")
        pairs = [part.partition(":") for part in parts]
        if not all(colon for _, colon, _ in pairs):
            raise ValueError(f"not a signature: {text!r}")
        return cls(metric, tuple((key, value) for key, _, value in pairs))

    def __str__(self) -> str:
        return "|".join([self.metric, *(f"{key}:{value}" for key, value in self.choices)])

    def extended(self, choices: Mapping[str, object]) -> Signature:
        """Return this signature extended by further choices."""
        more = tuple((key, str(value)) for key, value in choices.items())
        return Signature(self.metric, self.choices + more)

    def differences(self, other: Signature, ignoring: Iterable[str] = ()) -> tuple[str, ...]:
        """Return the keys whose values differ between the signatures, in this signature's order."""
        mine, theirs = dict(self.choices), dict(other.choices)
        keys = [*mine, *(key for key in theirs if key not in mine)]
        skipped = set(ignoring)
        return tuple(k for k in keys if k not in skipped and mine.get(k) != theirs.get(k))


@dataclass(frozen=True, slots=True)
class Interval:
    """The two ends of an interval, in the unit of the score, and the method that computed them.

    The interval ignores resamples without a value; `undefined` is the number of such resamples.
    """

    low: float
    high: float
    confidence: float
    method: str
    undefined: int = 0

    def __contains__(self, value: float) -> bool:
        return self.low <= value <= self.high

    def scaled(self, factor: float) -> Interval:
        """Return the interval times `factor` (0 or more), for example for percentages."""
        return replace(self, low=factor * self.low, high=factor * self.high)


def ends_record(interval: Interval | None) -> dict[str, float | None]:
    """Return a record with the ends of an interval; both values are None without an interval."""
    return {end: getattr(interval, end, None) for end in ("low", "high")}


PERCENT = "%"
WHOLE = "total"
"""The scope of a score of the whole input; other scopes are parts of the input."""


@dataclass(frozen=True, slots=True)
class Score:
    """One number of a report.

    `value` is unrounded, in `unit` (percent by default; empty for scores without a unit), and
    usually shown with `places` decimals. `n` is the number of units (dialogues), and `scope` is the
    part of the input (for example a domain). `interval` is in the unit of the value; it is None if
    no interval was computed. Higher values are better, unless `lower_is_better` is true or the
    score has no direction.

    >>> signature = Signature.of("inform", {"corpus": "sample", "rules": 2021})
    >>> score = Score("inform", "Inform", 87.5, n=40, signature=signature)
    >>> f"{score.label}: {score.value:.1f} ({score.signature})"
    'Inform: 87.5 (inform|corpus:sample|rules:2021)'
    """

    name: str
    label: str
    value: float
    n: int
    signature: Signature
    places: int = 2
    scope: str = WHOLE
    interval: Interval | None = None
    lower_is_better: bool = False
    unit: str = PERCENT


def by_place(scores: Iterable[Score]) -> dict[tuple[str, str], Score]:
    """Return scores by name and scope; if several scores have the same key, the first is used."""
    found: dict[tuple[str, str], Score] = {}
    for score in scores:
        found.setdefault((score.name, score.scope), score)
    return found


def is_named(name: str, headline: Iterable[str]) -> bool:
    """Return whether a headline (a list of score names) includes a score.

    `bleu` matches `bleu` and `bleu.mwz22`; `pass^` matches `pass^1` and so on.
    """
    return any(
        name == prefix or name.startswith(prefix if prefix.endswith(("^", ".")) else f"{prefix}.")
        for prefix in headline
    )


class Words(NamedTuple):
    """The nouns of a benchmark: a scored unit, several units, a part of a unit, and its goal."""

    unit: str = "dialogue"
    units: str = "dialogues"
    scope: str = "domain"
    goal: str = "goal"


SKIPPED = "skipped"
"""The key of signatures for the parts of units that `--missing skip` does not score."""
AMOUNTS = ("n", "turns", "trials", "missing")
OF_INTERVALS = ("ci", "samples", "seed")
ALIKE = (*AMOUNTS, *OF_INTERVALS)
"""Keys of signatures whose values may differ between comparable scores."""

NONE = "none"


@dataclass(frozen=True, slots=True)
class Group:
    """Systems that can be compared with each other in a score, by name, the baseline first.

    `setting` states how the group differs from the other groups (`state predicted, rules 2021`).
    After a comparison, `units` are the units that all systems have, `left_out` is the number of
    other units of each system, and `clusters` is the number of clusters (None if units are
    independent).
    """

    systems: tuple[str, ...]
    setting: str = ""
    units: tuple[str, ...] = ()
    left_out: Mapping[str, int] = field(default_factory=dict)
    clusters: int | None = None


def groups_of(signed: Mapping[str, Signature], ignoring: Iterable[str] = ()) -> tuple[Group, ...]:
    """Return groups of comparable systems, given the signature of each system's score."""
    may_differ = (*ALIKE, *ignoring)
    groups: dict[str, list[str]] = {}
    for name, signature in signed.items():
        like = (first for first in groups if not signed[first].differences(signature, may_differ))
        groups.setdefault(next(like, name), []).append(name)
    different = different_choices(list(signed.values()), ignoring)
    found = []
    for first, group in groups.items():
        choices = dict(signed[first].choices)
        own = [f"{key} {choices[key]}" for key in different if key in choices]
        found.append(Group(tuple(group), ", ".join(own or [f"no {key}" for key in different])))
    return tuple(found)


def different_choices(
    signatures: Sequence[Signature], ignoring: Iterable[str] = ()
) -> dict[str, str]:
    """Return the choices in which signatures differ: choice → `gold and predicted`."""
    may_differ = (*ALIKE, *ignoring)
    first, *others = signatures
    found = {key for other in others for key in first.differences(other, ignoring=may_differ)}
    choices = [dict(signature.choices) for signature in signatures]
    return {
        key: " and ".join(dict.fromkeys(other.get(key, NONE) for other in choices))
        for key in dict.fromkeys(key for chosen in choices for key in chosen)
        if key in found
    }


def comparability_notes(groups: Mapping[str, Sequence[Group]]) -> list[str]:
    """Return sentences about incomparable systems; `groups` maps labels of scores to groups."""
    labels: dict[str, dict[str, None]] = {}
    for label, of_score in groups.items():
        if len(of_score) > 1:
            parts = (f"{', '.join(group.systems)} ({group.setting})" for group in of_score)
            labels.setdefault("; ".join(parts), {})[label] = None
    return [f"Not comparable in {', '.join(found)}: {text}." for text, found in labels.items()]
