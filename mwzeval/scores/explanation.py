"""Why a unit scored as it did: what a benchmark says of a unit, for terminal and page alike.

Nothing here knows a benchmark. Each turns a scored unit into an `Explanation`; texts are plain and
may come from anybody, so whoever shows them escapes them.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Words:
    """What a scored unit is called, several of them, a part of one, and what it aims at."""

    unit: str = "dialogue"
    units: str = "dialogues"
    scope: str = "domain"
    goal: str = "goal"


@dataclass(frozen=True, slots=True)
class Reason:
    """Why a 0/1 outcome was lost.

    `code` is a kind, perhaps with a detail behind a colon (`never-gave:phone`); `outcome` what was
    lost (`inform`); `scope` the part of the unit concerned (a domain); `turn` where it was lost,
    from 0, None when no single turn did it; `text` says it in a sentence.
    """

    code: str
    outcome: str
    scope: str
    turn: int | None
    text: str


@dataclass(frozen=True, slots=True)
class Fact:
    """A line of detail: what it is, about which part of the unit (or None), and its value."""

    label: str
    value: str
    scope: str | None = None


@dataclass(frozen=True, slots=True)
class Utterance:
    """What somebody said; `speaker` is `user`, `system` or `reference`."""

    speaker: str
    text: str


@dataclass(frozen=True, slots=True)
class TurnView:
    """One turn: what was said, and what the scorer made of it."""

    utterances: tuple[Utterance, ...]
    facts: tuple[Fact, ...]


@dataclass(frozen=True, slots=True)
class Explanation:
    """A unit with its outcomes, `outcomes[scope][name]`, and why the lost ones were lost.

    The scope of the whole unit is `WHOLE` of `mwzeval.scores.score`; an outcome is None where it
    was not asked for (Success of a domain when Inform has failed).
    """

    unit: str
    outcomes: Mapping[str, Mapping[str, bool | None]]
    goal: tuple[Fact, ...]
    turns: tuple[TurnView, ...]
    reasons: tuple[Reason, ...]


def count_reasons(explanations: Iterable[Explanation]) -> dict[tuple[str, str], int]:
    """Return in how many units each (code, scope) occurs, the most frequent first."""
    counts = Counter(
        pair
        for explanation in explanations
        for pair in {(reason.code, reason.scope) for reason in explanation.reasons}
    )
    return dict(sorted(counts.items(), key=lambda item: (-item[1], item[0])))
