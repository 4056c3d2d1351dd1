"""The grounded scores of dialogues: rows, rates, and what the scores are called.

What is judged and how is in `grounding.py` and `bookings.py`; all of it is defined, with examples,
in `docs/metrics.md`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mwzeval.metrics.goal_success import DialogueOutcome
from mwzeval.metrics.grounding import MentionRates, OutcomeRates, percentages
from mwzeval.metrics.measure import Measure
from mwzeval.multiwoz.corpus.gold import ALL_DOMAINS
from mwzeval.multiwoz.grounding.bookings import BOOKED_BY, BookingOutcome
from mwzeval.multiwoz.grounding.responses import SLOTS, Grounded
from mwzeval.scores.score import WHOLE, Signature
from mwzeval.statistics import Sums

MENTIONS = MentionRates(SLOTS)
GOALS = OutcomeRates("grounded_goals", ("grounded_inform", "grounded_success"), ALL_DOMAINS)
BOOKINGS = OutcomeRates("booking_goals", ("booking",), BOOKED_BY)
BY_CALLS = "booking_by_calls"
"""The column that counts dialogues which say themselves what they book."""

LABELS = {
    "hallucination": "Hallucination",
    "consistency": "Consistency",
    "grounded_inform": "Grounded Inform",
    "grounded_success": "Grounded Success",
    "booking": "Booking",
}

CHOICES: Mapping[str, Mapping[str, str]] = {
    "hallucination": {"echo": "left-out", "invented": "capitals"},
    "consistency": {"offer": "named-or-query", "several": "any", "invented": "capitals"},
    "grounded_inform": {"offer": "named-last", "invented": "capitals"},
    "grounded_success": {"offer": "named-last", "given": "of-offer", "invented": "capitals"},
    "booking": {"tried-first": "right"},
}
"""What was decided where it could have been decided otherwise, as signatures have it."""


def grounded_columns(lexicalized: bool) -> tuple[str, ...]:
    """Return the columns of rows; placeholders leave only the bookings."""
    of_words = (*MENTIONS.columns, *GOALS.columns) if lexicalized else ()
    return (*of_words, *BOOKINGS.columns, BY_CALLS)


@dataclass(frozen=True, slots=True)
class Computed:
    """Which grounded scores an input allows.

    `words` are those of lexicalised responses. `bookings` is where what is booked was read from:
    `calls` or `states` of all dialogues that are to book, `mixed`, or None where from neither.
    """

    words: bool
    bookings: str | None

    @classmethod
    def of(
        cls, sums: Mapping[str, float], *, lexicalized: bool, predicted_states: bool
    ) -> Computed:
        """Return which scores of these sums mean something."""
        cases, by_calls = sums[f"{BOOKINGS.cases}.{WHOLE}"], sums[BY_CALLS]
        if by_calls:
            return cls(lexicalized, "calls" if by_calls == cases else "mixed")
        return cls(lexicalized, "states" if predicted_states else None)


def grounded_row(grounded: Grounded) -> dict[str, float]:
    """Return one dialogue's counts of what its responses say."""
    return {
        **MENTIONS.row(judged.value for judged in grounded.judged),
        **GOALS.row(_kept(grounded.outcome)),
    }


def _kept(outcome: DialogueOutcome) -> dict[str, Sequence[bool]]:
    kept: dict[str, Sequence[bool]] = {WHOLE: (outcome.inform, outcome.success)}
    for domain, result in outcome.domains.items():
        kept[domain] = (result.inform, bool(result.success))
    return kept


def booking_row(outcomes: Mapping[str, BookingOutcome], *, by_calls: bool) -> dict[str, float]:
    """Return one dialogue's bookings that the goal has, and which of them are right."""
    if not outcomes:
        return {}
    kept: dict[str, Sequence[bool]] = {
        domain: (outcome.right,) for domain, outcome in outcomes.items()
    }
    kept[WHOLE] = (all(outcome.right for outcome in outcomes.values()),)
    return {**BOOKINGS.row(kept), BY_CALLS: by_calls}


def grounded_plain(computed: Computed, sums: Mapping[str, float]) -> dict[str, Any]:
    """Return the scores for a report: percent by scope, unrounded, None if not computed."""
    plain: dict[str, Any] = dict.fromkeys(("mentions", *LABELS))
    if computed.words:
        counts = {scope: int(sums[f"mentions.{scope}"]) for scope in MENTIONS.scopes}
        plain["mentions"] = {scope: n for scope, n in counts.items() if n or scope == WHOLE}
        plain["hallucination"] = percentages(MENTIONS.scopes, "hallucinated", "mentions", sums)
        plain["consistency"] = percentages(MENTIONS.scopes, "consistent", "belonging", sums)
        for name in GOALS.outcomes:
            plain[name] = percentages(GOALS.scopes, name, GOALS.cases, sums)
    if computed.bookings:
        plain["booking"] = percentages(BOOKINGS.scopes, "booking", BOOKINGS.cases, sums)
    return plain


def grounded_measures(
    computed: Computed, sums: Mapping[str, float], signed: Callable[[str], Signature]
) -> Iterator[Measure]:
    """Yield the scores as measures, in the order of a report; none where there are no cases."""
    if computed.words:
        for name in GOALS.outcomes:
            yield from _outcomes(GOALS, name, sums, signed)
    if computed.bookings:
        yield from _outcomes(BOOKINGS, "booking", sums, signed)
    if computed.words:
        for name, outcome, cases in (
            ("hallucination", "hallucinated", "mentions"),
            ("consistency", "consistent", "belonging"),
        ):
            for scope in MENTIONS.scopes:
                if sums[f"{cases}.{scope}"]:
                    # Mentions of one dialogue depend on each other: these are no outcomes of
                    # units, and dialogues are resampled.
                    yield Measure(
                        name=name,
                        label=LABELS[name],
                        signature=signed(name),
                        of=Rate(f"{outcome}.{scope}", f"{cases}.{scope}"),
                        places=1,
                        scope=scope,
                        cases=f"{cases}.{scope}",
                        lower_is_better=name == "hallucination",
                    )


def _outcomes(
    rates: OutcomeRates, name: str, sums: Mapping[str, float], signed: Callable[[str], Signature]
) -> Iterator[Measure]:
    for scope in rates.scopes:
        if sums[f"{rates.cases}.{scope}"]:
            yield Measure(
                name=name,
                label=LABELS[name],
                signature=signed(name),
                of=Rate(f"{name}.{scope}", f"{rates.cases}.{scope}"),
                places=1,
                scope=scope,
                cases=f"{rates.cases}.{scope}",
                outcome=f"{name}.{scope}",
            )


@dataclass(frozen=True, slots=True)
class Rate:
    """The percentage of one column in another."""

    outcome: str
    cases: str

    def __call__(self, sums: Sums) -> NDArray[np.float64]:
        """Return the percentage of each set of sums."""
        return 100 * sums[self.outcome] / sums[self.cases]
