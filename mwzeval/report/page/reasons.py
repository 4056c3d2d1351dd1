"""The histogram of a page: which reasons lost units, in how many of each system."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from mwzeval.report.page.model import PageSystem, comparable_in, everyone, labels_of
from mwzeval.scores.comparable import Group

SHOWN_KINDS = 10
"""How many kinds of reason the histogram of an outcome shows before the rest is folded away."""


@dataclass(frozen=True, slots=True)
class Kind:
    """A kind of reason for losing an outcome, and in how many units of each system it occurs.

    `code` may have a detail behind a colon; the kind is then part of the one at `parent`, the code
    without it. A unit with several details counts once for their parent.
    """

    outcome: str
    code: str
    counts: tuple[int, ...]
    parent: int | None = None

    @property
    def detail(self) -> str:
        """What stands behind the colon."""
        return self.code.partition(":")[2]


@dataclass(frozen=True, slots=True)
class Bars:
    """A row of the histogram: the place of its kind, and bars: system's place, count, length."""

    place: int
    kind: Kind
    bars: tuple[tuple[int, int, float], ...]
    details: tuple[Bars, ...] = ()


@dataclass(frozen=True, slots=True)
class Histogram:
    """Why systems that can be compared in it lost one outcome, the most frequent reason first.

    `setting` says in what they differ from the others.
    """

    outcome: str
    setting: str
    shown: tuple[Bars, ...]
    folded: tuple[Bars, ...]


def kinds_of(systems: Sequence[PageSystem]) -> tuple[Kind, ...]:
    """Return all kinds: outcomes in the order in which units have them, frequent codes first.

    The details of a code follow it; a code that only comes with no detail has none.
    """
    outcomes: dict[str, int] = {}
    families: dict[tuple[str, str], list[int]] = {}
    details: dict[tuple[str, str], dict[str, list[int]]] = {}
    for index, system in enumerate(systems):
        for explanation in system.explanations:
            for named in explanation.outcomes.values():
                for outcome in named:
                    outcomes.setdefault(outcome, len(outcomes))
            seen = dict.fromkeys((r.outcome, r.code) for r in explanation.reasons)
            for outcome, code in seen:
                family = (outcome, code.partition(":")[0])
                counts = details.setdefault(family, {}).setdefault(code, [0] * len(systems))
                counts[index] += 1
            for family in dict.fromkeys((o, code.partition(":")[0]) for o, code in seen):
                families.setdefault(family, [0] * len(systems))[index] += 1
    kinds: list[Kind] = []
    for family in sorted(
        families,
        key=lambda f: (outcomes.get(f[0], len(outcomes)), f[0], -sum(families[f]), f[1]),
    ):
        outcome, name = family
        parent = len(kinds)
        kinds.append(Kind(outcome, name, tuple(families[family])))
        kinds += [
            Kind(outcome, code, tuple(counts), parent)
            for code, counts in sorted(
                details[family].items(), key=lambda item: (-sum(item[1]), item[0])
            )
            if code != name
        ]
    return tuple(kinds)


def histograms(systems: Sequence[PageSystem], kinds: Sequence[Kind]) -> list[Histogram]:
    """Return a histogram per outcome and group of systems that can be compared in it.

    Lengths are thousandths of the longest bar of all.
    """
    labels = labels_of(systems)
    longest = max((count for kind in kinds for count in kind.counts), default=1)

    def bars_of(place: int, group: Group) -> Bars:
        counts = [
            (at, kinds[place].counts[at])
            for at in range(len(systems))
            if systems[at].name in group.systems
        ]
        lengths = tuple((at, count, round(1000 * count / longest, 1)) for at, count in counts)
        below = [bars_of(other, group) for other, of in enumerate(kinds) if of.parent == place]
        return Bars(place, kinds[place], lengths, tuple(filter(_is_seen, below)))

    found = []
    for outcome in dict.fromkeys(kind.outcome for kind in kinds):
        for group in comparable_in(systems, outcome) or [everyone(systems)]:
            rows = [
                bars_of(place, group)
                for place, kind in enumerate(kinds)
                if kind.parent is None and kind.outcome == outcome
            ]
            seen = tuple(filter(_is_seen, rows))
            label = labels.get(outcome, outcome.capitalize())
            found.append(Histogram(label, group.setting, seen[:SHOWN_KINDS], seen[SHOWN_KINDS:]))
    return [histogram for histogram in found if histogram.shown]


def _is_seen(bars: Bars) -> bool:
    return any(count for _, count, _ in bars.bars)
