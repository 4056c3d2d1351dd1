"""Scores over many runs as a document: their spread, and what would make them surer."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict
from typing import Any

from mwzeval.comparison.runs import Across
from mwzeval.scores.report import COUNTS, SCHEMA, grouped, scored_data
from mwzeval.scores.score import WHOLE, Words
from mwzeval.scores.sheets import Cell, Document, Sheet, sheet


def runs_document(
    scores: Sequence[Across],
    *,
    runs: Mapping[str, Mapping[str, Any]],
    meta: Mapping[str, Any],
    words: Words,
) -> Document:
    """Return mean, spread and variance components of all scores.

    `runs` has the metrics of each run in their plain shape, by name; `meta` says what was scored,
    and `words` what its units are called.
    """
    counted, coverage = next(iter(meta["coverage"].items()))
    size = f"{len(runs)} runs × {coverage['scored']} {counted}"
    notes = (
        "of the variance of one run's score: due to the run (some seeds are better on all "
        f"{words.units}), the {words.units} (some are easier for all seeds), the rest (seeds "
        "differ in which they do well)",
        f"standard error: of the mean, over other seeds and other {words.units}; now, and with "
        "twice as many of either",
    )
    components = [score for score in scores if score.scope == WHOLE and score.shares]
    records = tuple(_record(score) for score in scores)
    return Document(
        heading=(f"{scored_data(meta)}: {size}", *filter(None, [meta.get("note")])),
        sheets=(
            *_spread(scores),
            *([_components(components, words.units)] if components else ()),
        ),
        notes=notes if components else (),
        records=tuple(
            {key: value for key, value in record.items() if not isinstance(value, dict | list)}
            for record in records
        ),
        plain={
            "schema": SCHEMA,
            "runs": [{"run": name, **metrics} for name, metrics in runs.items()],
            "scores": records,
            "meta": dict(meta),
        },
    )


def _spread(scores: Sequence[Across]) -> Iterator[Sheet]:
    """Yield the scores that have parts (domains) side by side, then the others."""
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


def _mean(score: Across) -> str:
    return f"{score.over.mean:.{score.places}f} ± {score.over.standard_deviation:.{score.places}f}"


def _range(score: Across) -> str:
    return f"{min(score.values):.{score.places}f}–{max(score.values):.{score.places}f}"


def _components(scores: Sequence[Across], units: str) -> Sheet:
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


def _record(score: Across) -> dict[str, Any]:
    shares = score.shares
    return {
        "score": score.name,
        "scope": score.scope,
        "mean": score.over.mean,
        "sd": score.over.standard_deviation,
        "min": min(score.values),
        "max": max(score.values),
        "runs": score.over.n,
        "n": score.n,
        "run_share": shares[0] if shares else None,
        "dialogue_share": shares[1] if shares else None,
        "rest_share": shares[2] if shares else None,
        "standard_error": score.standard_error(),
        "standard_error_twice_the_runs": score.standard_error(runs=2),
        "standard_error_twice_the_dialogues": score.standard_error(units=2),
        "values": list(score.values),
        "variances": asdict(score.components) if score.components else None,
    }
