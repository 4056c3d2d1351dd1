"""The scores of live dialogues in words: rows, measures, and their view for reports.

A dialogue is a row of counts; what is judged, and how, is in `judgement.py`. Definitions are in
`docs/live.md`.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mwzeval.conversation.messages import CALLED, RETURNED, Turn
from mwzeval.conversation.protocols import ENDS, INFRASTRUCTURE, USER_STOP
from mwzeval.conversation.trajectory import Trajectory
from mwzeval.metrics.measure import Measure, Sign, percentage
from mwzeval.multiwoz.convlab import scores as act_scores
from mwzeval.multiwoz.grounding.scores import (
    Computed,
    grounded_columns,
    grounded_measures,
    grounded_view,
)
from mwzeval.multiwoz.live.judgement import Judgement
from mwzeval.multiwoz.schema import ALL_DOMAINS
from mwzeval.multiwoz.scoring.goal_success import Rate, Rates
from mwzeval.scores.score import WHOLE
from mwzeval.statistics.bootstrap import Sums

SUCCESS, INFORM = "success", "inform"
SIZES = tuple(f"{count}-domain" for count in range(1, len(ALL_DOMAINS) + 1))
"""The scopes of goals with so many domains."""
TASK = Rates(
    (
        Rate(SUCCESS, "Task success", SUCCESS, "dialogues"),
        Rate(INFORM, "Inform", INFORM, "dialogues"),
    ),
    (*ALL_DOMAINS, *SIZES),
    of_dialogues=True,
)
GROUNDED = Computed(words=True, bookings="calls")
ALL = f"dialogues.{WHOLE}"
"""The column that is 1 for every dialogue."""
SCORED_ENDS = tuple(end for end in ENDS if end != INFRASTRUCTURE)
END_LABELS: Mapping[str, str] = {
    "user_stop": "Ended by the user",
    "limit": "Ended by a limit",
    "agent_error": "Failed by the agent",
    "user_error": "Failed by the user",
}
MEANS = (
    ("user_turns", "User turns", "turns"),
    ("tool_calls", "Tool calls", "calls"),
    ("tool_errors", "Tool errors", "errors"),
)
"""Name, label and unit of what is counted and told as a mean over dialogues."""
HEADLINE = (SUCCESS, "pass^", "flips^", "agent_usd", "user_usd", "both_usd", "end.")
"""The scores that come first, in this order, by what their names begin with."""
BY_SLOT = ("hallucination", "consistency")
"""Scores whose parts are slots, which are shown on request."""
COLUMNS = (
    *TASK.columns,
    *grounded_columns(lexicalized=True),
    *act_scores.INFORM_COLUMNS,
    *(name for name, _, _ in MEANS),
    *SCORED_ENDS,
    *("complete", "telling", "faults", "watched_turns"),
)


def row_of(
    trajectory: Trajectory, judgement: Judgement, exchanges: Sequence[Turn]
) -> dict[str, float]:
    """Return the additive numbers of one dialogue."""
    domains = judgement.domains
    whole = (1, judgement.success, all(domain.inform for domain in domains.values()))
    counted = {WHOLE: whole, SIZES[len(domains) - 1]: whole}
    counted |= {name: (1, domain.done, domain.inform) for name, domain in domains.items()}
    steps = [step for exchange in exchanges for step in exchange.steps]
    row = {
        **TASK.row(counted),
        **judgement.row,
        "user_turns": trajectory.turns,
        "tool_calls": sum(step.kind == CALLED for step in steps),
        "tool_errors": sum(step.kind == RETURNED and step.is_error for step in steps),
        trajectory.end: 1,
    }
    report = reported(trajectory)
    if isinstance(complete := report.get("complete"), bool):
        row |= {"complete": complete, "telling": 1}
    if "faults" in report:
        row |= {"faults": len(faults_in(trajectory)), "watched_turns": trajectory.turns}
    return row


def reported(trajectory: Trajectory) -> Mapping[str, Any]:
    """Return what the user reports; empty where it does not."""
    report = trajectory.more.get("user")
    return report if isinstance(report, Mapping) else {}


def faults_in(trajectory: Trajectory) -> Sequence[Any]:
    """Return the faults that the user reports of itself."""
    faults = reported(trajectory).get("faults")
    return faults if isinstance(faults, list | tuple) else ()


def measures(sums: Mapping[str, float], sign: Sign) -> Iterator[Measure]:
    """Yield the scores that have a value for these sums of columns, in the order of a report."""
    if not sums[ALL]:
        return
    yield from TASK.measures(sums, sign)
    yield from grounded_measures(GROUNDED, sums, sign)
    yield from act_scores.shares(act_scores.INFORM_SHARES, sums, sign, places=1)
    if sums["telling"]:
        yield Measure(
            *("complete", "Complete (as the user believes)", sign("complete")),
            percentage("complete", of="telling"),
            places=1,
            cases="telling",
            outcome="complete",
        )
    for name, label, unit in MEANS:
        score = partial(_mean, name)
        yield Measure(
            *(name, label, sign(name), score),
            cases=ALL,
            lower_is_better=True,
            unit=unit,
            is_description=True,
        )
    for end in SCORED_ENDS:
        yield Measure(
            *(f"end.{end}", END_LABELS[end], sign(f"end.{end}"), percentage(end, of=ALL)),
            places=1,
            cases=ALL,
            outcome=end,
            lower_is_better=end != USER_STOP,
            is_description=True,
        )
    if sums["watched_turns"]:
        yield Measure(
            *("user_faults", "Faults of the user, % of turns", sign("user_faults")),
            percentage("faults", of="watched_turns"),
            places=1,
            cases=ALL,
            lower_is_better=True,
            is_description=True,
        )


def _mean(counted: str, sums: Sums) -> NDArray[np.float64]:
    return np.asarray(sums[counted] / sums[ALL])


def plain_scores(
    sums: Mapping[str, float], values: Mapping[str, Mapping[str, float]]
) -> dict[str, Any]:
    """Return the parts of a report: `success`, `grounded` and `live`, of name → scope → value."""
    alone = {name: scopes[WHOLE] for name, scopes in values.items() if list(scopes) == [WHOLE]}
    told = (name for name, *_ in act_scores.INFORM_SHARES)
    own = (*told, "complete", *(name for name, _, _ in MEANS), "user_faults")
    return {
        "success": {name: values.get(name, {}) for name in (INFORM, SUCCESS)},
        "grounded": grounded_view(GROUNDED, sums, values),
        "live": {name: alone.get(name) for name in own}
        | {name: value for name, value in alone.items() if "^" in name},
    }
