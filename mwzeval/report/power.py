"""How large a comparison must be, as a document: designs, what each shows, and advice."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from mwzeval.comparison.comparison import FEW_CLUSTERS
from mwzeval.comparison.pilots import (
    ALIKE,
    INDEPENDENT,
    PAIRED,
    Clustering,
    Pilot,
    clustering_of,
)
from mwzeval.scores.sheets import Document, plural, sheet
from mwzeval.statistics.power import Spread, TwoSided

ASSUMPTIONS = {
    PAIRED: "paired: assuming that the systems agree as often as the two pilot runs do",
    INDEPENDENT: "independent: assuming that the other system finds other items hard (worst case)",
    ALIKE: "alike: assuming that the other system finds the same items hard (best case)",
}


CLUSTERED = (
    "clusters: items are taken to come in clusters as large as the pilot's; more clusters tell "
    "more than more items of one"
)


@dataclass(frozen=True, slots=True)
class Design:
    """So many items with so many trials of each, and what they show under each assumption.

    `smallest` is the difference that is seen with the power that is wanted, `power` the chance to
    see the difference that is asked for (empty where none is); both by assumption.
    """

    items: int
    trials: int
    smallest: Mapping[str, float]
    power: Mapping[str, float]


@dataclass(frozen=True, slots=True)
class Question:
    """What is to be seen, and with what.

    `difference` is in the unit of the score (None: only the smallest ones are asked for); `items`
    and `trials` are the numbers to look at; `most` is how many items there are (None: no limit),
    `in_corpus` how many the corpus has (None: unknown, or more can be made).
    """

    difference: float | None
    test: TwoSided
    items: Sequence[int]
    trials: Sequence[int]
    most: int | None = None
    in_corpus: int | None = None


def designs(question: Question, spreads: Mapping[str, Spread]) -> list[Design]:
    """Return every combination of items and trials."""
    test, difference = question.test, question.difference
    found = []
    for items in question.items:
        for trials in question.trials:
            errors = {name: of.standard_error(items, trials) for name, of in spreads.items()}
            smallest = {name: test.smallest_difference(error) for name, error in errors.items()}
            power = (
                {}
                if difference is None
                else {name: test.power_of(difference, error) for name, error in errors.items()}
            )
            found.append(Design(items, trials, smallest, power))
    return found


def power_document(
    pilots: Mapping[str, Pilot],
    spreads: Mapping[str, Spread],
    question: Question,
    *,
    places: int | None = None,
) -> Document:
    """Return the designs of a question, pilot runs by name, spreads by assumption."""
    first = next(iter(pilots.values()))
    decimals = first.places if places is None else places
    rows = designs(question, spreads)
    clustering = clustering_of(pilots, next(iter(spreads.values())))
    header = ["items × trials", "in all", *spreads]
    title = f"Smallest difference that is detected with {100 * question.test.power:g} % probability"
    if question.difference is not None:
        header += [f"power {name}" for name in spreads]
        title += f", and power (%) at {question.difference:g} points"
    cells = [
        [
            f"{row.items} × {row.trials}",
            str(row.items * row.trials),
            *(f"{each:.{decimals}f}" for each in row.smallest.values()),
            *(f"{100 * each:.0f}" for each in row.power.values()),
        ]
        for row in rows
    ]
    advice = _advice(spreads, question, decimals)
    return Document(
        heading=tuple(_heading(pilots, clustering, question, decimals)),
        sheets=(sheet(title, header, cells),),
        notes=(
            *(ASSUMPTIONS[name] for name in spreads),
            *((CLUSTERED,) if clustering else ()),
            f"advice: {advice}",
        ),
        records=tuple(_records(rows)),
        plain={
            "score": first.label,
            "pilots": {name: _plain(pilot) for name, pilot in pilots.items()},
            "difference": question.difference,
            "items_in_corpus": question.in_corpus,
            "power": question.test.power,
            "alpha": question.test.alpha,
            "variance_of_difference": {
                name: _variances(of, clustering) for name, of in spreads.items()
            },
            **({"clusters": asdict(clustering)} if clustering else {}),
            "designs": list(_records(rows)),
            "advice": advice,
        },
    )


def _heading(
    pilots: Mapping[str, Pilot],
    clustering: Clustering | None,
    question: Question,
    decimals: int,
) -> Iterator[str]:
    for name, pilot in pilots.items():
        spread, items = pilot.spread, plural(len(pilot.scores), "item")
        of = f"{pilot.label} of {name}: {pilot.value:.{decimals}f}"
        if spread.within is None:
            yield f"{of} over {items}, 1 trial each: more trials cannot be judged from it"
            continue
        between = spread.between + (spread.shared / clustering.size if clustering else 0)
        whole = between + spread.within
        share = 100 * between / whole if whole else 0
        yield (
            f"{of} over {items}, {pilot.rows} trials; {share:.0f} % of the variance of a trial is "
            f"between items, {100 - share:.0f} % between trials of an item"
        )
    if clustering:
        yield from _of_clusters(clustering)
    test = question.test
    yield (
        f"two systems on the same items, two-sided test at {100 * test.alpha:g} %, differences in "
        "points of the score"
    )
    if question.in_corpus is not None:
        more = max(question.items) > question.in_corpus
        yield (
            ("caution: " if more else "")
            + f"the corpus has {plural(question.in_corpus, 'item')}"
            + (", fewer than some rows of the table need" if more else "")
        )


def _of_clusters(clustering: Clustering) -> Iterator[str]:
    clusters = plural(clustering.number, "cluster")
    yield (
        f"{clusters}: differences on items of one correlate by {clustering.correlation:.2f}; an "
        f"item shares its own with {clustering.size - 1:.1f} others in the mean, so that it takes "
        f"{clustering.design_effect:.1f} × the items that independent ones would (design effect)"
    )
    if clustering.number < FEW_CLUSTERS:
        yield (
            f"caution: {clusters} tell little of how alike items of one are; what follows is rough"
        )


def _advice(spreads: Mapping[str, Spread], question: Question, decimals: int) -> str:
    advised = {name: _advised(spread, question, decimals) for name, spread in spreads.items()}
    first, *others = advised.values()
    if question.difference is None:
        largest = plural(max(question.items), "item"), plural(max(question.trials), "trial")
        what = f"{largest[0]} with {largest[1]} each detect "
    else:
        what = f"to detect {question.difference:g} points, "
    best = f"; in the best case, {others[0]}" if others else ""
    in_corpus = question.in_corpus
    is_whole = in_corpus is not None and max(question.items) >= in_corpus
    more = "" if is_whole else "; adding items helps more than adding as many trials"
    return f"{what}{first}{best}{more}"


def _advised(spread: Spread, question: Question, decimals: int) -> str:
    test, difference, most = question.test, question.difference, question.most
    if difference is None:
        error = spread.standard_error(max(question.items), max(question.trials))
        return f"differences of {test.smallest_difference(error):.{decimals}f} points or more"
    needed = test.items_needed(difference, spread, 1)
    if most is None or needed <= most:
        return f"take 1 trial of {plural(needed, 'item')}"
    trials = test.trials_needed(difference, spread, most)
    if trials is not None:
        return (
            f"take {trials} trials of each of {most:,} items ({most * trials:,} in all; with more "
            f"items, 1 trial of {needed:,} is enough)"
        )
    endless = 1 if spread.within is None else math.inf
    least = test.smallest_difference(spread.standard_error(most, endless))
    what = "with 1 trial" if spread.within is None else "with any number of trials"
    than = ", more than the corpus has" if needed > (question.in_corpus or needed) else ""
    return (
        f"{needed:,} items are needed{than}: {most:,} detect no difference below "
        f"{least:.{decimals}f} points {what}"
    )


def _records(rows: Sequence[Design]) -> Iterator[dict[str, Any]]:
    for row in rows:
        for assumption, smallest in row.smallest.items():
            yield {
                "items": row.items,
                "trials": row.trials,
                "assumption": assumption,
                "smallest_difference": smallest,
                "power": row.power.get(assumption),
            }


def _variances(spread: Spread, clustering: Clustering | None) -> dict[str, float | None]:
    variances = {"between_items": spread.between, "between_trials": spread.within}
    if clustering:
        variances["between_clusters"] = spread.shared / clustering.size
    return variances


def _plain(pilot: Pilot) -> dict[str, Any]:
    spread = pilot.spread
    return {
        "value": pilot.value,
        "items": len(pilot.scores),
        "trials": pilot.rows,
        "variance_between_items": spread.between,
        "variance_between_trials": spread.within,
    }
