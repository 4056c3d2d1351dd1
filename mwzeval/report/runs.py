"""Scores over many runs as a document: their spread, and what would make them surer."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict
from typing import Any

from mwzeval.comparison.runs import Across
from mwzeval.scores.report import SCHEMA
from mwzeval.scores.score import WHOLE
from mwzeval.scores.sheets import Document, Sheet, sheet

SPREAD = "mean ± standard deviation over runs"
NOTES = (
    "of the variance of one run's score: due to the run (some seeds are better on all dialogues), "
    "the dialogues (some are easier for all seeds), the rest (seeds differ in which they do well)",
    "standard error: of the mean, over other seeds and other dialogues; now, and with twice as "
    "many of either",
)


def runs_document(
    scores: Sequence[Across],
    *,
    runs: Mapping[str, Mapping[str, Any]],
    meta: Mapping[str, Any],
    places: int | None = None,
) -> Document:
    """Return mean, spread and variance components of all scores.

    `runs` has the metrics of each run in their plain shape, by name; `meta` says what was scored.
    """
    components = [score for score in scores if score.scope == WHOLE and score.shares]
    records = tuple(_record(score) for score in scores)
    return Document(
        heading=tuple(_heading(meta, len(runs))),
        sheets=(
            *_spread(scores, places),
            *([_components(components, places)] if components else ()),
        ),
        notes=NOTES if components else (),
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


def _heading(meta: Mapping[str, Any], runs: int) -> Iterator[str]:
    rules = f", rules {meta['rules']}" if "rules" in meta else ""
    unit, counted = next(iter(meta["coverage"].items()))
    yield f"{meta['corpus']}, {meta['fold']} fold{rules}: {runs} runs × {counted['scored']} {unit}"
    if note := meta.get("note"):
        yield note


def _spread(scores: Sequence[Across], places: int | None) -> Iterator[Sheet]:
    """Yield the scores that have parts (domains) side by side, then the others."""
    by_name: dict[str, dict[str, Across]] = {}
    for score in scores:
        by_name.setdefault(score.name, {})[score.scope] = score
    alike: dict[tuple[tuple[str, int], ...], list[dict[str, Across]]] = {}
    for parts in by_name.values():
        if len(parts) > 1:
            sizes = tuple((scope, part.n) for scope, part in parts.items())
            alike.setdefault(sizes, []).append(parts)
    title = SPREAD
    for with_parts in alike.values():
        scopes = list(dict.fromkeys(scope for parts in with_parts for scope in parts))
        rows = []
        for parts in with_parts:
            label = next(iter(parts.values())).label
            rows.append([label, *(_mean(parts.get(scope), places) for scope in scopes)])
            rows.append(["  range", *(_range(parts.get(scope), places) for scope in scopes)])
        counts = {scope: str(part.n) for parts in with_parts for scope, part in parts.items()}
        rows.append(["n", *(counts[scope] for scope in scopes)])
        yield sheet(title, ["", *scopes], rows)
        title = ""
    whole = [next(iter(parts.values())) for parts in by_name.values() if len(parts) == 1]
    if whole:
        rows = [[score.label, _mean(score, places), _range(score, places)] for score in whole]
        yield sheet("" if alike else SPREAD, ["", "mean ± sd", "range"], rows)


def _components(scores: Sequence[Across], places: int | None) -> Sheet:
    rows = []
    for score in scores:
        shares = [f"{100 * share:.1f}" for share in score.shares or ()]
        decimals = (score.places if places is None else places) + 1
        errors = [
            f"{score.standard_error(runs, units):.{decimals}f}"
            for runs, units in ((1, 1), (2, 1), (1, 2))
        ]
        rows.append([score.label, *shares, *errors, _advice(score)])
    header = ["", "run %", "dialogues %", "rest %", "standard error"]
    header += ["2 × runs", "2 × dialogues", "helps more"]
    return sheet("variance of one run's score, and standard error of the mean", header, rows)


def _advice(score: Across) -> str:
    more_runs, more_units = score.standard_error(2, 1), score.standard_error(1, 2)
    if more_runs is None or more_units is None or more_runs == more_units:
        return ""
    return "runs" if more_runs < more_units else "dialogues"


def _mean(score: Across | None, places: int | None) -> str:
    if score is None:
        return ""
    decimals = score.places if places is None else places
    spread = score.over.standard_deviation
    return f"{score.over.mean:.{decimals}f} ± {spread:.{decimals}f}"


def _range(score: Across | None, places: int | None) -> str:
    if score is None:
        return ""
    decimals = score.places if places is None else places
    return f"{min(score.values):.{decimals}f}–{max(score.values):.{decimals}f}"


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
