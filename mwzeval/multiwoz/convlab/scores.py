"""What came of live dialogues, and their scores as published tables have them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import partial

import numpy as np
from numpy.typing import NDArray

from mwzeval.metrics.measure import Measure, Sign, percentage
from mwzeval.multiwoz.schema import ALL_DOMAINS
from mwzeval.statistics.bootstrap import Sums


@dataclass(frozen=True, slots=True)
class Outcome:
    """What came of one dialogue.

    `book` has a score, 0 to 1, for each domain whose booking is scored; `inform` are true
    positives, false positives and false negatives; `final_goal` the domains in which the database
    has, and has not, what the user wished and learnt; `steps` two for each exchange.
    """

    complete: bool
    success: bool
    book: tuple[float, ...]
    inform: tuple[int, int, int]
    final_goal: tuple[int, int]
    domain_success: Mapping[str, bool]
    booked: Mapping[str, str]
    steps: int

    @property
    def book_rate(self) -> float | None:
        """The mean of the scores of bookings; None where none is scored."""
        return sum(self.book) / len(self.book) if self.book else None

    @property
    def inform_scores(self) -> tuple[float, float, float] | None:
        """Precision, recall and F1; None where nothing was to be told."""
        return inform_scores(*self.inform)


INFORM_SHARES = (
    ("inform_precision", "Inform precision", "precision", "dialogues_asking"),
    ("inform_recall", "Inform recall", "recall", "dialogues_asking"),
    ("inform_f1", "Inform F1", "f1", "dialogues_asking"),
    ("inform_micro_precision", "Inform precision (micro)", "found", "told"),
    ("inform_micro_recall", "Inform recall (micro)", "found", "asked"),
)
"""Those of `SHARES` that are about slots told and asked for: also of dialogues in words."""
INFORM_COLUMNS = ("found", "told", "asked", "dialogues_asking", "precision", "recall", "f1")
SHARES = (
    ("complete", "Complete", "complete", "dialogues"),
    ("success", "Success", "success", "dialogues"),
    ("book_rate", "Book rate", "book", "dialogues_booking"),
    *INFORM_SHARES,
    ("domains_satisfied", "Domains satisfied", "domains_satisfied", "domains"),
    ("goals_satisfied", "Goals satisfied", "goals_satisfied", "dialogues"),
)
"""Name and label of a score in percent, and the columns that it is a ratio of."""
MEANS = (
    ("turns", "Turns", "steps", "dialogues"),
    ("turns_of_successes", "Turns of successes", "steps_of_successes", "success"),
)
"""The same of what is no share. A turn is one of either side, as in the published tables."""
OUTCOMES = frozenset({"complete", "success", "goals_satisfied"})
"""Columns that are 0 or 1 for a dialogue."""
COLUMNS = (
    *dict.fromkeys(column for _, _, *columns in (*SHARES, *MEANS) for column in reversed(columns)),
    *(f"{column}.{domain}" for domain in ALL_DOMAINS for column in ("dialogues", "success")),
)


def row(outcome: Outcome) -> dict[str, float]:
    """Return the additive numbers of one dialogue."""
    met, unmet = outcome.final_goal
    numbers: dict[str, float] = {
        "dialogues": 1,
        "complete": outcome.complete,
        "success": outcome.success,
        **inform_row(*outcome.inform),
        "domains": met + unmet,
        "domains_satisfied": met,
        "goals_satisfied": not unmet,
        "steps": outcome.steps,
        "steps_of_successes": outcome.steps * outcome.success,
    }
    if outcome.book_rate is not None:
        numbers |= {"book": outcome.book_rate, "dialogues_booking": 1}
    for domain, success in outcome.domain_success.items():
        numbers |= {f"dialogues.{domain}": 1, f"success.{domain}": success}
    return numbers


def inform_scores(found: int, superfluous: int, missing: int) -> tuple[float, float, float] | None:
    """Return precision, recall and F1 of a dialogue; None where nothing was to be told."""
    if not found + missing:
        return None
    recall = found / (found + missing)
    if not found:
        return 0.0, recall, 0.0
    precision = found / (found + superfluous)
    return precision, recall, 2 * precision * recall / (precision + recall)


def inform_row(found: int, superfluous: int, missing: int) -> dict[str, float]:
    """Return the numbers of `INFORM_COLUMNS` of one dialogue; arguments are as in `Outcome`."""
    numbers: dict[str, float] = {
        "found": found,
        "told": found + superfluous,
        "asked": found + missing,
    }
    scores = inform_scores(found, superfluous, missing)
    if scores is None:
        return numbers
    rates = dict(zip(("precision", "recall", "f1"), scores, strict=True))
    return {**numbers, **rates, "dialogues_asking": 1}


def shares(
    names: Iterable[tuple[str, str, str, str]],
    sums: Mapping[str, float],
    sign: Sign,
    places: int = 2,
) -> Iterator[Measure]:
    """Yield those of `SHARES` that have a value for these sums of columns, in percent."""
    for name, label, part, whole in names:
        if sums[whole]:
            outcome = part if part in OUTCOMES else None
            score = percentage(part, of=whole)
            yield Measure(name, label, sign(name), score, places, cases=whole, outcome=outcome)


def measures(sums: Mapping[str, float], sign: Sign) -> Iterator[Measure]:
    """Yield the scores that have a value for these sums of columns."""
    yield from shares(SHARES, sums, sign)
    for name, label, part, whole in MEANS:
        if sums[whole]:
            mean = partial(_ratio, part, whole)
            yield Measure(
                name,
                label,
                sign(name),
                mean,
                cases=whole,
                lower_is_better=True,
                unit="turns",
                is_description=True,
            )
    for domain in ALL_DOMAINS:
        part, whole = f"success.{domain}", f"dialogues.{domain}"
        if sums[whole]:
            score, signed = percentage(part, of=whole), sign("success")
            yield Measure(
                "success", "Success", signed, score, scope=domain, cases=whole, outcome=part
            )


def _ratio(part: str, whole: str, sums: Sums) -> NDArray[np.float64]:
    return np.asarray(sums[part] / sums[whole])
