"""What the page shows of systems, before it is HTML: scores with bars, differences, reasons."""

from __future__ import annotations

import math
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from mwzeval.comparison import Comparison
from mwzeval.comparison.comparison import about_tests, about_units, all_pairs, difference_cells
from mwzeval.errors import Problem
from mwzeval.scores.comparable import Group, apart, groups_of
from mwzeval.scores.explanation import Explanation
from mwzeval.scores.report import Report
from mwzeval.scores.score import PERCENT, WHOLE, Score
from mwzeval.scores.sheets import ALIKE, Cell, Sheet


@dataclass(frozen=True)
class PageSystem:
    """What the page shows of one system.

    `meta` says what was scored and how (corpus, rules, coverage, versions), in any nesting of
    mappings; None values are left out. A key `note` is a sentence for the top of the page.
    `figures` are tables of totals beside the scores, and `references` names what is scored beside
    the system, as in a `Report`.
    """

    name: str
    scores: tuple[Score, ...]
    explanations: tuple[Explanation, ...]
    warnings: tuple[Problem, ...]
    meta: Mapping[str, Any]
    figures: tuple[Sheet, ...] = ()
    references: Mapping[str, str] = field(default_factory=dict)


def page_system(name: str, report: Report, explanations: Iterable[Explanation]) -> PageSystem:
    """Return what the page shows of a system: its report, and the explanations of its items.

    Parts of the input that are complete are left out of the coverage.
    """
    coverage = {
        what: count
        if "of" in count
        else {part: n for part, n in count.items() if n["scored"] < n["of"]} or None
        for what, count in report.meta["coverage"].items()
    }
    return PageSystem(
        name,
        report.scores,
        tuple(explanations),
        tuple(warning.shared() for warning in report.warnings),
        {**report.meta, "coverage": coverage},
        report.figures,
        report.references,
    )


def title_of(systems: Sequence[PageSystem]) -> str:
    """Return the title of a page: up to three systems, and what they were scored on."""
    names = [system.name for system in systems]
    shown = ", ".join(names) if len(names) <= 3 else f"{len(names)} systems"
    corpora = dict.fromkeys(f"{system.meta['corpus']} {system.meta['fold']}" for system in systems)
    return f"{shown} · {', '.join(corpora)}"


def headline_of(systems: Sequence[PageSystem], headline: Iterable[str]) -> list[str]:
    """Return the scores of a benchmark's headline that any system has, in its order.

    Of a group with a dot in its names, such as `bleu.`, it is the first.
    """
    names = labels_of(systems)
    found = ([n for n in names if n == asked or n.startswith(f"{asked}.")] for asked in headline)
    return [matching[0] for matching in found if matching]


def letter_of(place: int) -> str:
    """Return the short name of a system on the page: A, B, … Z, S27, …"""
    return chr(ord("A") + place) if place < 26 else f"S{place + 1}"


def labels_of(systems: Sequence[PageSystem]) -> dict[str, str]:
    """Return the first label of each score, and so of the outcome of the same name."""
    labels: dict[str, str] = {}
    for system in systems:
        for score in system.scores:
            labels.setdefault(score.name, score.label)
    return labels


def comparable_in(systems: Sequence[PageSystem], name: str) -> Sequence[Group]:
    """Return the groups of systems that can be compared in the score of a name.

    Where there is one group or none, it is the group of all systems, with or without the score.
    """
    signed = {
        system.name: score.signature
        for system in systems
        if (score := next((s for s in system.scores if s.name == name), None)) is not None
    }
    groups = groups_of(signed) if signed else ()
    return groups if len(groups) > 1 else [Group(tuple(system.name for system in systems))]


def not_comparable(systems: Sequence[PageSystem]) -> list[str]:
    """Return sentences that say which systems, by their letters, cannot be compared in what."""
    letters = {system.name: letter_of(place) for place, system in enumerate(systems)}
    return apart(
        {
            label: [
                Group(tuple(letters[name] for name in group.systems), group.setting)
                for group in comparable_in(systems, score)
            ]
            for score, label in labels_of(systems).items()
        }
    )


def _places(systems: Sequence[PageSystem], group: Group) -> list[int]:
    return [place for place, system in enumerate(systems) if system.name in group.systems]


@dataclass(frozen=True, slots=True)
class Bar:
    """A score of a system, and the length of its bar, which is 0 for a score that is not finite.

    `difference` has the difference to the baseline, its interval and the corrected p value (the
    last two are empty for the baseline itself); it is empty where nothing is compared.
    """

    cell: Cell
    length: float
    difference: Sequence[Cell] = ()


@dataclass(frozen=True, slots=True)
class Panel:
    """A score of the systems that can be compared in it, over everything or over several scopes.

    `setting` is how these systems, at `places`, differ from others that have the score. The axis is
    from `low` to `high`. A row has its scope, the number of items as text, and the bars of systems
    that have such a score, by their places. `beside` has the score of each reference.
    """

    name: str
    label: str
    setting: str
    lower_is_better: bool
    low: float
    high: float
    places: Sequence[int]
    rows: Sequence[tuple[str, str, Mapping[int, Bar]]]
    beside: Sequence[str]


def references_of(systems: Sequence[PageSystem]) -> dict[str, str]:
    """Return the labels of what is scored beside the systems, by the prefix of its scores."""
    return {
        key: label
        for system in systems
        for key, label in system.references.items()
        if any(score.name.startswith(f"{key}.") for score in system.scores)
    }


Standings = Mapping[tuple[str, str, str], tuple[bool, str, Sequence[Cell]]]
"""Score, scope and system → whether it is the best, its mark, and its difference (see `Bar`)."""


def standings_of(comparison: Comparison) -> Standings:
    """Return how systems compare with others, in all scores in which there are others."""
    return {
        (measure.name, measure.scope, entry.system): (
            entry in measure.best,
            ALIKE if measure.is_alike(entry, comparison.level) else "",
            difference_cells(measure, entry, measure.places)[:3],
        )
        for measure in comparison.measures
        if len(measure.systems) > 1
        for entry in measure.systems
    }


def panels_of(
    systems: Sequence[PageSystem], standings: Standings, *, scopes: bool = False
) -> list[Panel]:
    """Return a panel for each score over everything and each group that can be compared in it.

    With `scopes` it is for each score that exists for more than everything, with all scopes.
    """
    references = references_of(systems)
    shown: dict[str, dict[str, None]] = {}
    by_key: list[dict[tuple[str, str], Score]] = []
    for system in systems:
        by_key.append({(s.name, s.scope): s for s in reversed(system.scores)})
        for score in system.scores:
            if scopes or (score.scope == WHOLE and score.name.split(".")[0] not in references):
                shown.setdefault(score.name, {})[score.scope] = None

    def panel(name: str, group: Group) -> Panel:
        places = _places(systems, group)

        def row(name: str, scope: str) -> dict[int, Score]:
            found = {place: by_key[place].get((name, scope)) for place in places}
            return {place: score for place, score in found.items() if score}

        rows = {scope: row(name, scope) for scope in shown[name]}
        known = [score for scores in rows.values() for score in scores.values()]
        low, high = _axis(known)
        return Panel(
            name=name,
            label=known[0].label,
            setting=group.setting,
            lower_is_better=known[0].lower_is_better,
            low=low,
            high=high,
            places=places,
            rows=[
                (
                    scope,
                    _distinct(f"{score.n:,}" for score in scores.values()),
                    {
                        at: _bar(s, standings.get((name, scope, systems[at].name)))
                        for at, s in scores.items()
                    },
                )
                for scope, scores in rows.items()
                if scores
            ],
            beside=[
                _distinct(f"{s.value:.{s.places}f}" for s in row(f"{key}.{name}", WHOLE).values())
                for key in references
            ],
        )

    return [
        panel(name, group)
        for name, of_name in shown.items()
        if not scopes or of_name.keys() - {WHOLE}
        for group in comparable_in(systems, name)
    ]


def _distinct(texts: Iterable[str]) -> str:
    return " / ".join(dict.fromkeys(texts))


def _bar(score: Score, standing: tuple[bool, str, Sequence[Cell]] | None) -> Bar:
    best, mark, difference = standing or (False, "", ())
    interval = score.interval if _ends(score) else None
    cell = Cell(score.value, best, mark, form=f".{score.places}f", interval=interval)
    return Bar(cell, score.value if math.isfinite(score.value) else 0.0, difference)


def _ends(score: Score) -> list[float]:
    interval = score.interval
    ends = [interval.low, interval.high] if interval else []
    return ends if all(map(math.isfinite, ends)) else []


def _axis(scores: Iterable[Score]) -> tuple[float, float]:
    """Return round ends of an axis with zero and all values on it, of percent 100 above 10."""
    values = [0.0]
    is_percent = False
    for score in scores:
        values += [score.value, *_ends(score)]
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


def about_intervals(systems: Sequence[PageSystem]) -> str | None:
    """Return a sentence about the intervals that are shown, None when there are none."""
    kinds = dict.fromkeys(
        f"{100 * score.interval.confidence:g} % {score.interval.method}"
        for system in systems
        for score in system.scores
        if score.interval is not None
    )
    alone = ", of each system by itself" if len(systems) > 1 else ""
    return f"Intervals of scores: {', '.join(kinds)}{alone}." if kinds else None


def about_comparison(comparison: Comparison) -> list[str]:
    """Return sentences that say on what, and how, the systems were compared."""
    sentences = [*about_units(comparison), *about_tests(comparison)]
    if any(
        measure.is_alike(entry, comparison.level)
        for measure in comparison.measures
        for entry in measure.systems
    ):
        pairs = f" ({all_pairs(comparison)}, Holm's correction)" * (len(comparison.systems) > 2)
        sentences.append(f"{ALIKE}: does not differ significantly from the best{pairs}")
    return sentences


def signatures_of(systems: Sequence[PageSystem]) -> list[tuple[str, str]]:
    """Return (letters of the systems, signature), the signatures of one metric together."""
    metrics: dict[str, dict[str, dict[str, None]]] = {}
    for place, system in enumerate(systems):
        for score in system.scores:
            letters = metrics.setdefault(score.signature.metric, {})
            letters.setdefault(str(score.signature), {})[letter_of(place)] = None
    return [
        (" ".join(letters), signature)
        for signatures in metrics.values()
        for signature, letters in signatures.items()
    ]


@dataclass(frozen=True, slots=True)
class Kind:
    """A kind of reason for losing an outcome, and in how many items of each system it occurs.

    `details` are kinds whose code has a detail behind a colon. An item with several details counts
    once for the kind without it.
    """

    outcome: str
    code: str
    counts: tuple[int, ...]
    details: tuple[Kind, ...] = ()

    def occurs_in(self, places: Collection[int]) -> bool:
        """Tell whether it occurs in a system at one of the places."""
        return any(self.counts[place] for place in places)


def kinds_of(systems: Sequence[PageSystem]) -> list[Kind]:
    """Return all kinds: outcomes in the order in which items have them, frequent codes first."""
    outcomes: dict[str, int] = {}
    counts: dict[tuple[str, str], list[int]] = {}
    for place, system in enumerate(systems):
        for explanation in system.explanations:
            for named in explanation.outcomes.values():
                for outcome in named:
                    outcomes.setdefault(outcome, len(outcomes))
            seen = {(reason.outcome, reason.code) for reason in explanation.reasons}
            for key in seen | {(outcome, code.partition(":")[0]) for outcome, code in seen}:
                counts.setdefault(key, [0] * len(systems))[place] += 1
    details: dict[tuple[str, str], list[Kind]] = {}
    for outcome, code in sorted(
        counts,
        key=lambda kind: (
            outcomes.get(kind[0], len(outcomes)),
            kind[0],
            -sum(counts[kind]),
            kind[1],
        ),
    ):
        family = code.partition(":")[0]
        found = details.setdefault((outcome, family), [])
        if code != family:
            found.append(Kind(outcome, code, tuple(counts[outcome, code])))
    return [Kind(*key, tuple(counts[key]), tuple(found)) for key, found in details.items()]


def histograms(
    systems: Sequence[PageSystem], kinds: Sequence[Kind]
) -> list[tuple[str, str, list[int], list[Kind]]]:
    """Return why systems that can be compared in it lost an outcome, for each of these groups.

    That is the label of the outcome, the setting of the group, the places of its systems, and the
    kinds of reasons, the most frequent first.
    """
    labels = labels_of(systems)
    found = []
    for outcome in dict.fromkeys(kind.outcome for kind in kinds):
        for group in comparable_in(systems, outcome):
            places = _places(systems, group)
            shown = [k for k in kinds if k.outcome == outcome and k.occurs_in(places)]
            if shown:
                label = labels.get(outcome, outcome.capitalize())
                found.append((label, group.setting, places, shown))
    return found
