"""How the systems of a page stand to each other, as a comparison found it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from mwzeval.comparison import Comparison
from mwzeval.comparison.comparison import about_tests, about_units, all_pairs, difference_cells
from mwzeval.report.page.model import PageSystem
from mwzeval.scores.sheets import ALIKE


@dataclass(frozen=True, slots=True)
class Standing:
    """A score of a system beside those that can be compared with it, as texts.

    `difference` is to the baseline, with its `interval` and the corrected `p`, both empty where
    they are not known; of the baseline it is `baseline`. `is_alike` tells that the system is not
    the best but does not differ from it significantly.
    """

    difference: str
    interval: str
    p: str
    is_best: bool
    is_alike: bool


Standings = Mapping[tuple[str, str], Mapping[int, Standing]]
"""Name and scope of a score → system's place → how it stands."""


def standings_of(systems: Sequence[PageSystem], comparison: Comparison) -> Standings:
    """Return how the systems stand in each score in which some can be compared."""
    places = {system.name: place for place, system in enumerate(systems)}
    found: dict[tuple[str, str], dict[int, Standing]] = {}
    for measure in comparison.measures:
        if len(measure.systems) == 1:
            continue
        best = measure.best
        for entry in measure.systems:
            difference, interval, p, _ = difference_cells(measure, entry, measure.places)
            found.setdefault((measure.name, measure.scope), {})[places[entry.system]] = Standing(
                difference=difference.text.replace("-", "−"),
                interval=interval.text.replace("-", "−"),
                p=p.text,
                is_best=entry in best,
                is_alike=measure.is_alike(entry, comparison.level),
            )
    return found


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
