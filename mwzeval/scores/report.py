"""The result of an evaluation: what is read from Python is what the JSON report has."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass, field
from typing import Any, NoReturn

from mwzeval.errors import Problem, UsageError, did_you_mean
from mwzeval.scores.score import WHOLE, Score
from mwzeval.scores.sheets import Sheet
from mwzeval.scores.table import Table
from mwzeval.scores.views import Viewed

SCHEMA = 1
"""Raised when the shape of JSON reports changes; `report/schema.json` describes it."""

SHOWN = 12
"""How many scores stand in the `repr` of a report."""

_REFUSED = re.compile(r"[^\w\-. ]")
"""What MLflow refuses in names of metrics; `/` makes folders of them."""


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Report(dict[str, Any], Viewed):
    """The result of one evaluation, which is also the dict that the JSON report is.

    As a dict it has the metrics at the top level and everything else under `meta`, in plain values
    that `json.dump` takes; it equals a dict with the same content. `print` shows the tables of the
    command line.

    `metrics` is the known plain shape, metric → numbers, None for a metric that was not asked for;
    `scores` are the same numbers unrounded, each with its signature; `table` has the rows (one per
    dialogue) behind the additive ones; `meta` says what was scored, how, and with which versions.
    `benchmark` is the name of the benchmark, as after `--benchmark`; `figures` are tables of
    totals, of which some numbers are scores. `references` names what is no system but scored beside
    it, by what stands before the dot in the names of its scores (`gold`).

    >>> from mwzeval import Evaluator
    >>> turn = {"response": "how about [hotel_name]?", "active_domains": ["hotel"]}
    >>> report = Evaluator(success=True, corpus="sample").evaluate({"smp0021": [turn]})
    >>> report["success"]["inform"]
    {'total': 100.0, 'hotel': 100.0}
    >>> report.score("inform", "hotel").n
    1
    """

    metrics: Mapping[str, Any]
    scores: tuple[Score, ...]
    table: Table
    warnings: tuple[Problem, ...]
    meta: Mapping[str, Any]
    benchmark: str
    figures: tuple[Sheet, ...] = ()
    references: Mapping[str, str] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.update(self._plain())

    def _plain(self) -> Iterator[tuple[str, Any]]:
        yield "schema", SCHEMA
        yield from self.metrics.items()
        yield (
            "meta",
            {
                **self.meta,
                "signatures": {score.name: str(score.signature) for score in self.scores},
                "scores": [score_record(score) for score in self.scores],
                "warnings": [plain_problem(problem.shared()) for problem in self.warnings],
            },
        )

    def score(self, name: str, scope: str = WHOLE) -> Score:
        """Return a score by its name, over everything or over a part such as a domain.

        Raises:
            KeyError: With what comes nearest when there is none.
        """
        for score in self.scores:
            if (score.name, score.scope) == (name, scope):
                return score
        scopes = [score.scope for score in self.scores if score.name == name]
        if scopes:
            raise KeyError(f"{name} of {scope}{did_you_mean(scope, scopes)}")
        names = dict.fromkeys(score.name for score in self.scores)
        raise KeyError(f"{name}{did_you_mean(name, names)}")

    def flat(self, prefix: str = "") -> dict[str, float]:
        """Return all scores by flat names, as trackers of experiments log them.

        A score is called `PREFIX/NAME`, that of a part `PREFIX/NAME.SCOPE`, and the ends of its
        interval the same with `_low` and `_high`. The prefix is the name of the benchmark unless
        it is given. Characters other than letters, digits, `_`, `-`, `.` and blanks become `_`.
        """
        parts = (prefix.strip("/") or self.benchmark).split("/")
        prefix = "/".join(_REFUSED.sub("_", part) for part in parts)
        numbers: dict[str, float] = {}
        for score in self.scores:
            name = score.name if score.scope == WHOLE else f"{score.name}.{score.scope}"
            values = {name: score.value}
            if score.interval is not None:
                values |= {f"{name}_low": score.interval.low, f"{name}_high": score.interval.high}
            for key, value in values.items():
                full = f"{prefix}/{_REFUSED.sub('_', key)}"
                while full in numbers:  # two names that differ only in refused characters
                    full += "_"
                numbers[full] = float(value)
        return numbers

    def log_to(self, *_: object, **__: object) -> NoReturn:
        """Raise `UsageError`, which names `flat`: trackers take its dictionary."""
        raise UsageError("log_to was removed: pass report.flat() to the tracker (docs/python.md)")

    def __repr__(self) -> str:
        """Return the benchmark and the first scores over everything, on one line."""
        of_all = [score for score in self.scores if score.scope == WHOLE]
        shown = [f"{score.name} {score.value:.{score.places}f}" for score in of_all[:SHOWN]]
        more = ["…"] * (len(of_all) > SHOWN)
        return f"<Report of {self.benchmark}: {', '.join([*shown, *more])}>"


def score_record(score: Score) -> dict[str, Any]:
    """Return a score in long form, as CSV, JSON Lines and JSON have it."""
    interval = score.interval
    return {
        "score": score.name,
        "scope": score.scope,
        "value": score.value,
        "low": interval.low if interval else None,
        "high": interval.high if interval else None,
        "n": score.n,
        "signature": str(score.signature),
    }


def plain_problem(problem: Problem) -> dict[str, Any]:
    """Return a finding without the places it does not have."""
    return {key: value for key, value in asdict(problem).items() if value is not None}
