"""The grounded scores of dialogues: rows, rates, and what the scores are called.

What is judged and how is in `grounding.py` and `bookings.py`; all of it is defined, with examples,
in `docs/metrics.md`.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from mwzeval.metrics.goal_success import OutcomeRates, judge
from mwzeval.metrics.grounding import HeldByLog, LogRates, MentionRates
from mwzeval.metrics.measure import Measure, Sign
from mwzeval.multiwoz.corpus.gold import ALL_DOMAINS
from mwzeval.multiwoz.grounding.bookings import BOOKED_BY, BookingOutcome
from mwzeval.multiwoz.grounding.evidence import OF_LOG, LogClaim
from mwzeval.multiwoz.grounding.responses import SLOTS, Grounded
from mwzeval.scores.score import WHOLE

MENTIONS = MentionRates(SLOTS)
LOG = LogRates(dict.fromkeys((*SLOTS, *OF_LOG)))
INFORM, SILENT, SUCCESS = "grounded_inform", "silent_inform", "grounded_success"
GOALS = OutcomeRates(
    "grounded_goals",
    {INFORM: "Grounded Inform", SILENT: "Inform if silent", SUCCESS: "Grounded Success"},
    ALL_DOMAINS,
    descriptions=(SILENT,),
)
"""`SILENT` is the Grounded Inform of a system that names nothing, with which the other compares."""
BOOKINGS = OutcomeRates("booking_goals", {"booking": "Booking"}, BOOKED_BY)
BY_CALLS = "booking_by_calls"
"""The column that counts dialogues which say themselves what they book."""

OF_WORDS = ("hallucination", "consistency", INFORM, SILENT, SUCCESS)
"""The scores of what responses say."""
BY_LOG = ("log_consistency", "log_only")
"""The scores of what responses say, held against what tools returned."""

CHOICES: Mapping[str, Mapping[str, str]] = {
    "hallucination": {"echo": "left-out", "invented": "layout"},
    "consistency": {"offer": "named-or-query", "several": "sentence", "invented": "layout"},
    INFORM: {"offer": "named-last", "invented": "layout"},
    SILENT: {},
    SUCCESS: {"offer": "named-last", "given": "of-offer", "invented": "layout"},
    "log_consistency": {"offer": "named-or-query", "cut": "whole-part"},
    "log_only": {"offer": "named-or-query", "cut": "whole-part"},
    "booking": {"tried-first": "right"},
}
"""What was decided where it could have been decided otherwise, as signatures have it."""


def grounded_columns(lexicalized: bool) -> tuple[str, ...]:
    """Return the columns of rows; placeholders leave only the bookings."""
    of_words = (*MENTIONS.columns, *GOALS.columns, *LOG.columns) if lexicalized else ()
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


def grounded_row(grounded: Grounded, claims: Iterable[LogClaim] = ()) -> dict[str, float]:
    """Return one dialogue's counts of what its responses say; `claims` are those of its log."""
    return {
        **MENTIONS.row(judged.value for judged in grounded.judged),
        **GOALS.row(_goal_outcomes(grounded)),
        **LOG.row(HeldByLog(one.mention.slot, one.agrees, one.known) for one in claims),
    }


def _goal_outcomes(grounded: Grounded) -> dict[str, tuple[bool, bool, bool]]:
    """Return the outcomes of the whole goal and of each domain, in the order of `GOALS.labels`."""
    outcome, silent = grounded.outcome, judge(grounded.goal, ())
    return {WHOLE: (outcome.inform, silent.inform, outcome.success)} | {
        domain: (result.inform, silent.domains[domain].inform, bool(result.success))
        for domain, result in outcome.domains.items()
    }


def booking_row(outcomes: Mapping[str, BookingOutcome], *, by_calls: bool) -> dict[str, float]:
    """Return one dialogue's bookings that the goal has, and which of them are right."""
    if not outcomes:
        return {}
    kept: dict[str, Sequence[bool]] = {
        domain: (outcome.right,) for domain, outcome in outcomes.items()
    }
    kept[WHOLE] = (all(outcome.right for outcome in outcomes.values()),)
    return {**BOOKINGS.row(kept), BY_CALLS: by_calls}


def grounded_measures(
    computed: Computed, sums: Mapping[str, float], sign: Sign
) -> Iterator[Measure]:
    """Yield the scores as measures, in the order of a report; none where there are no cases."""
    if computed.words:
        yield from GOALS.measures(sums, sign)
    if computed.bookings:
        yield from BOOKINGS.measures(sums, sign)
    if computed.words:
        yield from MENTIONS.measures(sums, sign)
        yield from LOG.measures(sums, sign)


def grounded_view(
    computed: Computed, sums: Mapping[str, float], values: Mapping[str, Mapping[str, float]]
) -> dict[str, Any]:
    """Return the scores for a report from `values`, name → scope → number.

    Percent by scope, and the number of `mentions`; None for what was not computed. What a log tells
    only where there is one: counts of its claims, of those that contradict its tools, and of those
    that tools support and the database does not.
    """
    plain: dict[str, Any] = dict.fromkeys(("mentions", *OF_WORDS, "booking"))
    if computed.words:
        counts = {scope: int(sums[f"mentions.{scope}"]) for scope in MENTIONS.scopes}
        plain["mentions"] = {scope: n for scope, n in counts.items() if n or scope == WHOLE}
        plain |= {name: values.get(name, {}) for name in OF_WORDS}
    if computed.words and (logged := int(sums[f"logged.{WHOLE}"])):
        right = int(sums[f"logged_right.{WHOLE}"])
        plain |= {name: values.get(name, {}) for name in BY_LOG}
        plain["log"] = {
            "claims": logged,
            "contradicts_tools": logged - right,
            "only_tools": int(sums[f"logged_only.{WHOLE}"]),
        }
    if computed.bookings:
        plain["booking"] = values.get("booking", {})
    return plain
