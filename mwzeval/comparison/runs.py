"""Several runs of one system with different seeds, and the variance of their scores.

The spread of a score over runs does not describe the variance between dialogues, and the interval
of one run does not describe the variance between seeds. `ScoreOfRuns.components` has the variance
between dialogues and the variance between seeds. A score is the mean of a number per unit, the
unit's jackknife pseudo-value. For a rate, the pseudo-value is the 0/1 outcome of the unit. The
variance of the pseudo-values over runs and units is split into components for runs, for units and
for the rest.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, astuple, dataclass, fields, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mwzeval.comparison.systems import check_alike
from mwzeval.metrics.measure import Measure, ScoredTable, observed
from mwzeval.scores.report import COUNTS, SCHEMA, grouped, scored_data
from mwzeval.scores.score import WHOLE, Score, Words, by_place
from mwzeval.scores.sheets import Cell, Document, Sheet, sheet
from mwzeval.scores.table import Table
from mwzeval.statistics.runs import VarianceComponents, standard_deviation, variance_components

NESTED = ("values", "variances")
"""The keys of records that only JSON output contains."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ScoreOfRuns(Score):
    """A score over runs, whose value is the mean of `values`, in the order of the runs.

    `components` has the variance components of the pseudo-values, in the squared unit of the score.
    `components` is None if the score is not a mean over units (distinct words, windows of text), or
    if runs have different cases (for example, if a case is a dialogue that mentions a slot).
    """

    values: tuple[float, ...]
    components: VarianceComponents | None

    @property
    def sd(self) -> float:
        """The standard deviation over the runs."""
        return standard_deviation(self.values)

    @property
    def shares(self) -> tuple[float, ...] | None:
        """The shares of run, units and rest in the variance of a single run's score."""
        if self.components is None:
            return None
        run, *others = astuple(self.components)
        parts = (run, *(part / self.n for part in others))
        total = sum(parts)
        return tuple(part / total for part in parts) if total else None

    def standard_error(self, runs: float = 1, units: float = 1) -> float | None:
        """Return the standard error of the mean for multiples of the present runs and units."""
        if self.components is None:
            return None
        return self.components.standard_error(round(runs * len(self.values)), round(units * self.n))


def scores_of_runs(runs: Mapping[str, ScoredTable]) -> tuple[ScoreOfRuns, ...]:
    """Return each score with its values in all runs, by the name of the score.

    Raises:
        UsageError: If runs have different signatures.
        InputError: If runs have different units; the message lists the units that are missing in a
            run.
    """
    check_alike(runs)
    first = next(iter(runs.values()))
    aligned = [replace(run, table=run.table.select(first.table.units)) for run in runs.values()]
    tables = [run.table for run in aligned]
    measures = [{measure.key: measure for measure in run.measures} for run in aligned]
    scores = [by_place(run.scores()) for run in aligned]
    found = []
    for measure in first.measures:
        values = tuple(of_run[measure.key].value for of_run in scores)
        components = _components([of_run[measure.key] for of_run in measures], tables)
        score = {f.name: getattr(scores[0][measure.key], f.name) for f in fields(Score)}
        score["value"] = float(np.mean(values))
        found.append(ScoreOfRuns(**score, values=values, components=components))
    return tuple(found)


def _components(of_runs: list[Measure], tables: list[Table]) -> VarianceComponents | None:
    cases = of_runs[0].cases
    if of_runs[0].known is not None or of_runs[0].block > 1:
        return None
    if cases is not None:
        first, *others = (table.column(cases) > 0 for table in tables)
        if not all(np.array_equal(first, other) for other in others):
            return None  # different units: runs and units cannot be distinguished
    numbers = np.array([pseudo_values(m, table) for m, table in zip(of_runs, tables, strict=True)])
    if numbers.shape[1] < 2 or not np.isfinite(numbers).all():
        return None
    return variance_components(numbers)


def pseudo_values(measure: Measure, table: Table) -> NDArray[np.float64]:
    """Return n·score - (n-1)·(score without the unit) for each of the n units of the score.

    Source: Efron and Tibshirani, An Introduction to the Bootstrap, 1993, section 11.5.
    """
    rows = table.values
    if measure.cases is not None:
        rows = rows[table.column(measure.cases) > 0]
    n = len(rows)
    left_out = rows.sum(axis=0) - rows
    with np.errstate(invalid="ignore", divide="ignore"):
        whole = measure.of(observed(table))[0]
        without = measure.of(dict(zip(table.columns, left_out.T, strict=True)))
    return np.asarray(n * whole - (n - 1) * without, dtype=np.float64)


def runs_document(
    scores: Sequence[ScoreOfRuns],
    *,
    runs: Mapping[str, Mapping[str, Any]],
    meta: Mapping[str, Any],
    words: Words,
) -> Document:
    """Return the mean, spread and variance components of all scores.

    `runs` maps names of runs to their metrics in the plain shape; `meta` describes the scored data,
    and `words` has the nouns for its units.
    """
    counted, coverage = next(iter(meta["coverage"].items()))
    size = f"{len(runs)} runs × {coverage['scored']} {counted}"
    notes = (
        f"run, {words.units}, rest: percentages of the variance of one run's score that are due "
        f"to differences between runs (some seeds are better on all {words.units}), to "
        f"differences between {words.units} (some are easier for all seeds), and to the rest "
        f"(different seeds do well on different {words.units})",
        f"standard error: standard error of the mean over random seeds and {words.units}: now, "
        f"with twice as many runs, and with twice as many {words.units}",
    )
    components = [score for score in scores if score.scope == WHOLE and score.shares]
    sheets = [*_spread(scores)]
    sheets += [_components_sheet(components, words.units)] if components else []
    records = tuple(_record(score) for score in scores)
    return Document(
        heading=(f"{scored_data(meta)}: {size}", *filter(None, [meta.get("note")])),
        sheets=tuple(sheets),
        notes=notes if components else (),
        records=tuple(
            {key: record[key] for key in record if key not in NESTED} for record in records
        ),
        plain={
            "schema": SCHEMA,
            "runs": [{"run": name, **metrics} for name, metrics in runs.items()],
            "scores": records,
            "meta": dict(meta),
        },
    )


def _spread(scores: Sequence[ScoreOfRuns]) -> Iterator[Sheet]:
    groups, whole = grouped(scores)
    title = "mean ± standard deviation over runs"
    for with_parts in groups:
        rows = [
            row
            for parts in with_parts
            for row in ([parts[0].label, *map(_mean, parts)], ["  range", *map(_range, parts)])
        ]
        rows.append([COUNTS, *(str(score.n) for score in with_parts[0])])
        yield sheet(title, ["", *(score.scope for score in with_parts[0])], rows)
        title = ""
    if whole:
        rows = [[score.label, _mean(score), _range(score)] for score in whole]
        yield sheet(title, ["", "mean ± sd", "range"], rows)


def _mean(score: ScoreOfRuns) -> str:
    return f"{score.value:.{score.places}f} ± {score.sd:.{score.places}f}"


def _range(score: ScoreOfRuns) -> str:
    return f"{min(score.values):.{score.places}f}–{max(score.values):.{score.places}f}"


def _components_sheet(scores: Sequence[ScoreOfRuns], units: str) -> Sheet:
    rows: list[list[Cell | str]] = []
    for score in scores:
        shares = [f"{100 * share:.1f}" for share in score.shares or ()]
        errors = [score.standard_error(*more) or 0.0 for more in ((1, 1), (2, 1), (1, 2))]
        helps = "" if errors[1] == errors[2] else "runs" if errors[1] < errors[2] else units
        cells = [Cell(error, form=f".{score.places + 1}f") for error in errors]
        rows.append([score.label, *shares, *cells, helps])
    header = ["", "run %", f"{units} %", "rest %", "standard error"]
    header += ["2 × runs", f"2 × {units}", "helps more"]
    return sheet("variance of one run's score, and standard error of the mean", header, rows)


def _record(score: ScoreOfRuns) -> dict[str, Any]:
    names = ("run_share", "dialogue_share", "rest_share")
    return {
        "score": score.name,
        "scope": score.scope,
        "mean": score.value,
        "sd": score.sd,
        "min": min(score.values),
        "max": max(score.values),
        "runs": len(score.values),
        "n": score.n,
        **dict(zip(names, score.shares or (None, None, None), strict=True)),
        "standard_error": score.standard_error(),
        "standard_error_twice_the_runs": score.standard_error(runs=2),
        "standard_error_twice_the_dialogues": score.standard_error(units=2),
        "values": list(score.values),
        "variances": asdict(score.components) if score.components else None,
    }
