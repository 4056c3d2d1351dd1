"""A number with what is needed to trust it: over how many units, and under which choices.

Two values of a score can be compared when their signatures agree in all choices but those of
`AMOUNTS` (how much was scored) and `OF_INTERVALS` (how its interval was found). Systems that can be
compared are a group; ranks, the best and differences have a meaning within a group only.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import NamedTuple


@dataclass(frozen=True, slots=True)
class Signature:
    """The choices that move a score, in a fixed order, as `metric|key:value|…`."""

    metric: str
    choices: tuple[tuple[str, str], ...]

    @classmethod
    def of(cls, metric: str, choices: Mapping[str, object]) -> Signature:
        """Build a signature; the order of `choices` is kept."""
        return cls(metric, tuple((key, str(value)) for key, value in choices.items()))

    @classmethod
    def parse(cls, text: str) -> Signature:
        """Read back what `str` wrote. Raises `ValueError` when a part has no colon."""
        metric, *parts = text.split("|")
        pairs = [part.partition(":") for part in parts]
        if not all(colon for _, colon, _ in pairs):
            raise ValueError(f"not a signature: {text!r}")
        return cls(metric, tuple((key, value) for key, _, value in pairs))

    def __str__(self) -> str:
        return "|".join([self.metric, *(f"{key}:{value}" for key, value in self.choices)])

    def extended(self, choices: Mapping[str, object]) -> Signature:
        """Return this signature with further choices behind it."""
        more = tuple((key, str(value)) for key, value in choices.items())
        return Signature(self.metric, self.choices + more)

    def differences(self, other: Signature, ignoring: Iterable[str] = ()) -> tuple[str, ...]:
        """Return the keys on which the two disagree, in this signature's order."""
        mine, theirs = dict(self.choices), dict(other.choices)
        keys = [*mine, *(key for key in theirs if key not in mine)]
        skipped = set(ignoring)
        return tuple(k for k in keys if k not in skipped and mine.get(k) != theirs.get(k))


@dataclass(frozen=True, slots=True)
class Interval:
    """Two ends in the unit of the score, and how they were found.

    `undefined` counts the resamples without a value, which are not in the interval.
    """

    low: float
    high: float
    confidence: float
    method: str
    undefined: int = 0

    def __contains__(self, value: float) -> bool:
        return self.low <= value <= self.high

    def scaled(self, factor: float) -> Interval:
        """Return the interval of `factor` (0 or more) times the score, as for percentages."""
        if factor < 0:
            raise ValueError(f"an interval can be scaled by 0 or more: got {factor}")
        return replace(self, low=factor * self.low, high=factor * self.high)


def ends_record(interval: Interval | None) -> dict[str, float | None]:
    """Return the ends of an interval as records have them, None where there is none."""
    if interval is None:
        return {"low": None, "high": None}
    return {"low": interval.low, "high": interval.high}


PERCENT = "%"
WHOLE = "total"
"""The scope of a score over everything, next to those of its parts."""


@dataclass(frozen=True, slots=True)
class Score:
    """One number of a report.

    `value` is unrounded, in `unit` (percent by default; empty for scores without a unit), and
    usually shown with `places` decimals; `n` is the number of units (dialogues) behind it; `scope`
    says which part of the input it is about (a domain, say); `interval` is in the unit of
    the value, None if it was not computed. Higher is better unless `lower_is_better` (or it has
    no direction at all).

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
    """Return scores by name and scope, the first of each."""
    found: dict[tuple[str, str], Score] = {}
    for score in scores:
        found.setdefault((score.name, score.scope), score)
    return found


def is_named(name: str, headline: Iterable[str]) -> bool:
    """Return whether a score is one of a headline.

    `bleu` stands for `bleu` and `bleu.mwz22`, `pass^` for `pass^1` and so on.
    """
    return any(
        name == asked or name.startswith(asked if asked.endswith(("^", ".")) else f"{asked}.")
        for asked in headline
    )


class Words(NamedTuple):
    """The nouns of a benchmark: a scored unit, several units, a part of a unit, and its goal."""

    unit: str = "dialogue"
    units: str = "dialogues"
    scope: str = "domain"
    goal: str = "goal"


AMOUNTS = ("n", "turns", "trials")
OF_INTERVALS = ("ci", "samples", "seed")
ALIKE = (*AMOUNTS, *OF_INTERVALS)
"""Keys of signatures in which comparable values may differ."""

NONE = "none"


@dataclass(frozen=True, slots=True)
class Group:
    """Systems that can be compared with each other in a score, by name, the baseline first.

    `setting` is how the group differs from the other groups (`state predicted, rules 2021`). Once
    the systems are compared, `units` are those that all of them have, `left_out` is the number of
    further units of each system, and `clusters` that of clusters (None where units are
    independent).
    """

    systems: tuple[str, ...]
    setting: str = ""
    units: tuple[str, ...] = ()
    left_out: Mapping[str, int] = field(default_factory=dict)
    clusters: int | None = None

    @property
    def pairs(self) -> int:
        """The number of pairs of systems."""
        return len(self.systems) * (len(self.systems) - 1) // 2


def groups_of(signed: Mapping[str, Signature], ignoring: Iterable[str] = ()) -> tuple[Group, ...]:
    """Return groups of systems, system → signature of a score; choices `ignoring` may differ."""
    may_differ = (*ALIKE, *ignoring)
    groups: dict[str, list[str]] = {}
    for name, signature in signed.items():
        like = (first for first in groups if not signed[first].differences(signature, may_differ))
        groups.setdefault(next(like, name), []).append(name)
    different = differing(list(signed.values()), ignoring)
    found = []
    for first, group in groups.items():
        choices = dict(signed[first].choices)
        own = [f"{key} {choices[key]}" for key in different if key in choices]
        found.append(Group(tuple(group), ", ".join(own or [f"no {key}" for key in different])))
    return tuple(found)


def differing(signatures: Sequence[Signature], ignoring: Iterable[str] = ()) -> dict[str, str]:
    """Return in what signatures differ so that they cannot be compared: choice → `gold and
    predicted`.
    """
    may_differ = (*ALIKE, *ignoring)
    first, *others = signatures
    found = {key for other in others for key in first.differences(other, ignoring=may_differ)}
    choices = [dict(signature.choices) for signature in signatures]
    keys = [key for key in dict.fromkeys(key for of in choices for key in of) if key in found]
    return {
        key: " and ".join(dict.fromkeys(chosen.get(key, NONE) for chosen in choices))
        for key in keys
    }


def apart(groups: Mapping[str, Sequence[Group]]) -> list[str]:
    """Return which systems cannot be compared in which scores, and why; `groups` are by label of
    scores.
    """
    labels: dict[str, list[str]] = {}
    for label, of_score in groups.items():
        if len(of_score) > 1:
            told = (f"{', '.join(group.systems)} ({group.setting})" for group in of_score)
            labels.setdefault("; ".join(told), []).append(label)
    return [
        f"Not comparable in {', '.join(dict.fromkeys(of))}: {text}." for text, of in labels.items()
    ]
