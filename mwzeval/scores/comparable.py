"""Which systems can be compared in a score: the one rule, from signatures, for all that show many.

Two values of a score can be compared when their signatures agree in all choices but those of
`AMOUNTS` (how much was scored) and `OF_INTERVALS` (how its interval was found). Systems that can be
compared are a group; ranks, the best and differences have a meaning within a group only.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from mwzeval.scores.score import Signature

AMOUNTS = ("n", "turns", "trials")
OF_INTERVALS = ("ci", "samples", "seed")
ALIKE = (*AMOUNTS, *OF_INTERVALS)
"""Keys of signatures in which comparable values may differ."""

NONE = "none"
"""Stands for a choice that a signature does not have."""


@dataclass(frozen=True, slots=True)
class Group:
    """Systems that can be compared with each other in a score, by name, the baseline first.

    `setting` is how the group differs from the other groups (`state predicted, rules 2021`); it is
    empty where there is one group. Once the systems are compared, `units` are the units that all of
    them have, `left_out` is the number of further units of each system, and `clusters` the number
    of clusters of the units (None where units are independent).
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
    """Return the groups of systems, system → signature of one score, in the order of the systems.

    Choices in `ignoring` may differ, too.
    """
    may_differ = (*ALIKE, *ignoring)
    groups: list[list[str]] = []
    for name, signature in signed.items():
        for group in groups:
            if not signed[group[0]].differences(signature, ignoring=may_differ):
                group.append(name)
                break
        else:
            groups.append([name])
    different = differing(list(signed.values()), ignoring)
    return tuple(
        Group(tuple(group), ", ".join(_chosen(signed[group[0]], different))) for group in groups
    )


def differing(signatures: Sequence[Signature], ignoring: Iterable[str] = ()) -> dict[str, str]:
    """Return in what signatures differ so that they cannot be compared: choice → its values.

    The values are as a message has them (`gold and predicted`).
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


def _chosen(signature: Signature, keys: Iterable[str]) -> list[str]:
    choices = dict(signature.choices)
    return [f"{key} {choices[key]}" for key in keys if key in choices] or [f"no {k}" for k in keys]


def apart(groups: Mapping[str, Sequence[Group]]) -> list[str]:
    """Return sentences that say which systems cannot be compared in which scores, and why.

    `groups` has the groups of each score by its label.
    """
    labels: dict[str, list[str]] = {}
    for label, of_score in groups.items():
        if len(of_score) > 1:
            told = (f"{', '.join(group.systems)} ({group.setting})" for group in of_score)
            labels.setdefault("; ".join(told), []).append(label)
    return [
        f"Not comparable in {', '.join(dict.fromkeys(of))}: {text}." for text, of in labels.items()
    ]
