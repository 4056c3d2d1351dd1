"""Many systems: which differences are significant together, and what ranks follow from them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Place:
    """The place of a system among others.

    `rank` is 1 + the number of significantly better systems, `worst` the number of systems that are
    not significantly worse, itself among them: its true place is somewhere in between.
    """

    rank: int
    worst: int


def holm(p_values: Sequence[float]) -> tuple[float, ...]:
    """Return p values adjusted for their number, in the same order.

    Taking those at most α as significant makes any false finding among them no likelier than α,
    however the tests depend on each other.
    Source: Holm, "A Simple Sequentially Rejective Multiple Test Procedure", 1979.

    Raises:
        ValueError: For a p value not within 0 and 1.
    """
    for p_value in p_values:
        if not 0 <= p_value <= 1:
            raise ValueError(f"not a p value: {p_value}")
    adjusted = [0.0] * len(p_values)
    so_far = 0.0
    for step, index in enumerate(sorted(range(len(p_values)), key=p_values.__getitem__)):
        so_far = max(so_far, min(1.0, (len(p_values) - step) * p_values[index]))
        adjusted[index] = so_far
    return tuple(adjusted)


def ranks(scores: Mapping[str, float], significant: Iterable[tuple[str, str]]) -> dict[str, Place]:
    """Rank systems by score (higher is better), given the pairs that differ significantly.

    Systems share a rank when equally many are
    significantly better; since "not significantly different" is not transitive, sharing a rank
    does not mean that two do not differ, and a lower score may have the better rank. No system is
    significantly better than one of rank 1 (the rank ranges of the WMT rankings, Bojar et al., WMT
    2013).

    Raises:
        ValueError: For a pair of unknown systems, or of two with the same score.
    """
    better: dict[str, set[str]] = {system: set() for system in scores}
    for first, second in significant:
        for system in (first, second):
            if system not in scores:
                raise ValueError(f"no score is known of the system {system!r}")
        if scores[first] == scores[second]:
            raise ValueError(
                f"{first!r} and {second!r} score the same, so neither is significantly better"
            )
        high, low = (first, second) if scores[first] > scores[second] else (second, first)
        better[low].add(high)
    return {
        system: Place(
            rank=1 + len(better[system]),
            worst=len(scores) - sum(system in others for others in better.values()),
        )
        for system in scores
    }
