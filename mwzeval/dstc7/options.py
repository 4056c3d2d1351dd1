"""What may be chosen about scoring, apart from how it is done, so that asking is cheap."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, get_args

from mwzeval.errors import UsageError, did_you_mean, shorten

Order = Literal["list", "confidence"]
ORDERS: tuple[Order, ...] = get_args(Order)

Metric = Literal["ranking", "fscore"]
METRICS: tuple[Metric, ...] = get_args(Metric)

COMPATIBLE = "2018"
COVERAGE = 0.9


@dataclass(frozen=True, slots=True)
class Options:
    """How submissions are checked and scored.

    `metric` is `ranking` (the official scores) or `fscore` (F over the choices that cover
    `coverage` of the probability, from the task description). `strict` makes errors of what is
    otherwise scored with a warning. `order` says what ranks: the `list`, as the official scorer
    has it, or the `confidence`. `compat="2018"` reproduces three faults of the organisers' script:
    Recall@100 counts any place, MAP depends on the order of the targets, and repeats count.

    Raises `UsageError` for anything else.
    """

    metric: Metric = "ranking"
    strict: bool = False
    order: Order = "list"
    compat: str | None = None
    coverage: float = COVERAGE

    def __post_init__(self) -> None:
        for what, value, known in (
            ("metric", self.metric, METRICS),
            ("order", self.order, ORDERS),
        ):
            if value not in known:
                hint = did_you_mean(value, known)
                listed = ", ".join(known)
                raise UsageError(f'unknown {what} "{shorten(value)}"{hint} (known: {listed})')
        if self.compat not in (None, COMPATIBLE):
            raise UsageError(f"compat is {COMPATIBLE} or nothing, not {shorten(str(self.compat))}")
        if self.compat and self.metric != "ranking":
            raise UsageError("no program of 2018 had the F-score: compat is for rankings")
        if not 0 < self.coverage <= 1:
            raise UsageError(f"a coverage is above 0 and at most 1, not {self.coverage}")
