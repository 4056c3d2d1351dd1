"""The result of an evaluation: scores, and their tables, data frames and JSON."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from typing import TYPE_CHECKING, Any, NoReturn, TypeVar

from mwzeval.errors import Problem, UsageError, conditions, did_you_mean
from mwzeval.files.reading import shortest_ends
from mwzeval.scores.score import WHOLE, Score, by_place, ends_record
from mwzeval.scores.sheets import (
    COUNT,
    FLOAT,
    TEXT,
    Cell,
    Document,
    Sheet,
    interval_text,
    plain_number,
    sheet,
    to_frame,
    to_html,
    to_text,
)
from mwzeval.scores.table import RESOLUTION, Table

if TYPE_CHECKING:
    import pandas

    from mwzeval.scores.explanation import Explanation

SCHEMA = 1
"""The version of JSON reports; `report/schema.json` describes them."""

SHOWN = 12

COLUMNS: Mapping[str, str] = {
    "score": TEXT,
    "scope": TEXT,
    "value": FLOAT,
    "low": FLOAT,
    "high": FLOAT,
    "n": COUNT,
    "signature": TEXT,
}
"""The columns of data frames and CSV."""

_REFUSED = re.compile(r"[^\w\-. ]")
"""Characters that MLflow does not allow in metric names, and `/`, which it shows as a folder."""


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Report:
    """The result of one evaluation. `print` shows the tables of the command line.

    `metrics` maps a metric to its numbers; a metric that was not computed is mapped to None.
    `scores` are the numbers of `metrics` without rounding, each with its signature. `table` has the
    rows (one per dialogue) from which additive scores are computed. `meta` describes the input, the
    settings and the versions of libraries. `benchmark` is the name that `--benchmark` accepts.
    `figures` are tables with totals of the input; some of the totals are also in `scores`. If
    references such as gold responses are also scored, `references` maps the prefix of each
    reference's score names (`gold`) to a description. `aliases` are short names of scores (such as
    `bleu`) that gates accept. Pages, figures and leaderboards also need the `name` of the system,
    and failure reasons need its `explanations`.

    >>> from mwzeval import Evaluator
    >>> turn = {"response": "how about [hotel_name]?", "active_domains": ["hotel"]}
    >>> report = Evaluator(success=True, corpus="sample").evaluate({"smp0021": [turn]})
    >>> report.metrics["success"]["inform"]
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
    aliases: Mapping[str, str] = field(default_factory=dict)
    name: str = ""
    explanations: tuple[Explanation, ...] = ()

    def to_dict(self) -> dict[str, Any]:
        """Return the JSON report as plain values: the metrics, and the rest under `meta`."""
        return {
            "schema": SCHEMA,
            **self.metrics,
            "meta": {
                **self.meta,
                "signatures": {score.name: str(score.signature) for score in self.scores},
                "scores": [score_record(score) for score in self.scores],
                "warnings": [plain_problem(problem.shared()) for problem in self.warnings],
            },
        }

    def __getitem__(self, key: object) -> NoReturn:
        """Raise `TypeError`, which names `to_dict`: a report was a dict until version 0.2."""
        raise TypeError(
            f"a Report is no longer a dict: use report.to_dict()[{key!r}] or report.metrics"
        )

    def to_frame(self) -> pandas.DataFrame:
        """Return a pandas DataFrame in long form, unrounded; docs/python.md lists its columns."""
        return to_frame(COLUMNS, [score_record(score) for score in self.scores])

    def __str__(self) -> str:
        return to_text(summary(self)).rstrip("\n")

    def _repr_html_(self) -> str:
        return to_html(summary(self))

    def score(self, name: str, scope: str = WHOLE) -> Score:
        """Return the score with this name, for the whole input or for a part such as a domain.

        Raises:
            KeyError: If the report has no such score; the message names scores with similar names.
        """
        if found := by_place(self.scores).get((name, scope)):
            return found
        scopes = [score.scope for score in self.scores if score.name == name]
        if scopes:
            raise KeyError(f"{name} of {scope}{did_you_mean(scope, scopes)}")
        names = dict.fromkeys(score.name for score in self.scores)
        raise KeyError(f"{name}{did_you_mean(name, names)}")

    def with_skipped(self, skipped: Mapping[str, list[Problem]], files: Sequence[str]) -> Report:
        """Return the report with a warning and an entry in `meta` for each skipped file.

        `skipped` maps the name of a file, one of all the `files` of the input, to its errors.
        """
        if not skipped:
            return self
        names = dict(zip(files, shortest_ends(files), strict=True))
        listed = [
            {
                "shard": names[file],
                "problems": [str(replace(p, file=names[file])) for p in problems],
            }
            for file, problems in skipped.items()
        ]
        warnings = [
            Problem("skipped-shard", f"left out: {first.message}", severity="warning", file=file)
            for file, (first, *_) in skipped.items()
        ]
        meta = {**self.meta, "skipped_shards": listed}
        return replace(self, warnings=(*self.warnings, *warnings), meta=meta)

    def flat(self, prefix: str = "") -> dict[str, float]:
        """Return all scores with flat names, for experiment trackers.

        A flat name is `PREFIX/NAME`, or `PREFIX/NAME.SCOPE` for a part of the input; the ends of
        the interval have the suffixes `_low` and `_high`. By default, the prefix is the name of the
        benchmark. Characters other than letters, digits, `_`, `-`, `.` and spaces become `_`.
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
                while full in numbers:  # another name differs only in refused characters
                    full += "_"
                numbers[full] = float(value)
        return numbers

    def log_to(self, *_: object, **__: object) -> NoReturn:
        """Raise `UsageError`, because `log_to` was removed; its message names `flat` instead."""
        raise UsageError("log_to was removed: pass report.flat() to the tracker (docs/python.md)")

    def __repr__(self) -> str:
        """Return the benchmark and its first scores of the whole input, on one line."""
        of_all = [score for score in self.scores if score.scope == WHOLE]
        shown = [f"{score.name} {score.value:.{score.places}f}" for score in of_all[:SHOWN]]
        more = ["…"] * (len(of_all) > SHOWN)
        return f"<Report of {self.benchmark}: {', '.join([*shown, *more])}>"


def score_record(score: Score) -> dict[str, Any]:
    """Return a score in long form, for CSV, JSON Lines and JSON."""
    return {
        "score": score.name,
        "scope": score.scope,
        "value": score.value,
        **ends_record(score.interval),
        "n": score.n,
        "signature": str(score.signature),
    }


def plain_problem(problem: Problem) -> dict[str, Any]:
    """Return a problem as a dictionary without empty fields."""
    return {key: value for key, value in asdict(problem).items() if value is not None}


WIDEST = 10
"""The maximum number of scopes in columns; if there are more scopes, the scopes are in rows."""
COUNTS = "n"

Beside = Mapping[str, Mapping[tuple[str, str], Score]]
"""Scores to show next to other scores: heading (`gold`) → (name, scope) → score."""


def summary(report: Report) -> Document:
    """Return a description of the input, all scores, and the signature of each metric.

    The scores of references are shown next to those of the system, in a column or in a row below.
    """
    signatures = tuple(dict.fromkeys(str(score.signature) for score in report.scores))
    elsewhere = {name for sheet in report.figures for name in sheet.scores}
    own: list[Score] = []
    beside: dict[str, dict[tuple[str, str], Score]] = {}
    for score in report.scores:
        reference, _, name = score.name.partition(".")
        if reference in report.references:
            beside.setdefault(reference.replace("_", " "), {})[name, score.scope] = score
        elif score.name not in elsewhere:
            own.append(score)
    titles = {key.replace("_", " "): text for key, text in report.references.items()}
    about = (f"{title}: {text}" for title, text in titles.items() if title in beside)
    groups, whole = grouped(own)
    sheets = [_scopes_sheet(with_parts, beside) for with_parts in groups]
    if whole:
        sheets.append(_whole_sheet(whole, beside))
    return Document(
        heading=tuple(_heading(report)),
        sheets=(*sheets, *report.figures),
        notes=(*about, *signatures),
        records=score_records(report),
        plain=report.to_dict(),
    )


def score_records(report: Report) -> tuple[dict[str, Any], ...]:
    """Return all scores in long form, with a column for the conditions if the report has any."""
    under = "; ".join(conditions(report.warnings))
    more = {"conditions": under} if under else {}
    return tuple({**score_record(score), **more} for score in report.scores)


def per_dialogue(report: Report) -> Document:
    """Return the rows from which scores are computed, with the additive columns of each unit."""
    table, unit = report.table, report.meta.get("unit", "dialogue")
    header = [unit, *table.columns]
    scales = [RESOLUTION if f"{column}:n" in table.columns else 1 for column in table.columns]
    records = tuple(
        dict(zip(header, [name, *map(plain_number, row)], strict=True))
        for name, row in zip(table.units, (table.values / scales).tolist(), strict=True)
    )
    rows = [[*map(str, record.values())] for record in records]
    return Document(
        heading=tuple(_heading(report)),
        sheets=(sheet("", header, rows),),
        notes=(),
        records=records,
        plain={f"{unit}s": records},
    )


def _heading(report: Report) -> Iterator[str]:
    meta = report.meta
    counted = [(what, count) for what, count in meta["coverage"].items() if "of" in count]
    covered = [f"{count['scored']} of {count['of']} {what}" for what, count in counted]
    yield f"{scored_data(meta)}: {', '.join(covered)}"
    if any("responses" in dict(score.signature.choices) for score in report.scores):
        found, turns = meta["responses"], meta["coverage"]["turns"]["scored"]
        yield (
            f"responses {found['taken_as']}{' (as specified)' if found['said'] else ''}: "
            f"{found['with_placeholder']} of {turns} turns have placeholders; names, ids and "
            f"references are placeholders in {found['identifier_as_placeholder']} turns, text in "
            f"{found['identifier_in_words']}"
        )
    yield from conditions(report.warnings)
    if note := meta.get("note"):
        yield note


def scored_data(meta: Mapping[str, Any]) -> str:
    """Return the corpus, fold and rules that the `meta` of a report states."""
    rules = f", rules {meta['rules']}" if "rules" in meta else ""
    return f"{meta['corpus']}, {meta['fold']} fold{rules}"


_Scores = TypeVar("_Scores", bound=Score)


def grouped(scores: Iterable[_Scores]) -> tuple[list[list[list[_Scores]]], list[_Scores]]:
    """Return groups of scores that have parts (such as domains), and the scores without parts.

    All scores of a group have the same parts with the same numbers of units.
    """
    by_name: dict[str, list[_Scores]] = {}
    for score in scores:
        by_name.setdefault(score.name, []).append(score)
    alike: dict[tuple[tuple[str, int], ...], list[list[_Scores]]] = {}
    whole = []
    for parts in by_name.values():
        if len(parts) > 1 or parts[0].scope != WHOLE:
            alike.setdefault(tuple((score.scope, score.n) for score in parts), []).append(parts)
        else:
            whole.append(parts[0])
    return [*alike.values()], whole


def _scopes_sheet(scores: Sequence[Sequence[Score]], beside: Beside) -> Sheet:
    """Return a row per name and a column per scope, or the reverse if there are many scopes."""
    scopes = [score.scope for score in scores[0]]
    names = {parts[0].name for parts in scores}
    is_turned = len(scopes) > WIDEST
    columns = [
        title
        for title, known in beside.items()
        if not is_turned
        and {scope for name, scope in known if name in names and scope in scopes} == {WHOLE}
    ]
    blank = [""] * len(columns)
    rows: list[list[Cell | str]] = [["", *scopes, *columns]]
    for parts in scores:
        name = parts[0].name
        of_whole = (beside[title].get((name, WHOLE)) for title in columns)
        rows.append([parts[0].label, *(_cell(score) for score in (*parts, *of_whole))])
        if any(score.interval for score in parts):
            ends = [_ends(score) for score in parts]
            rows.append(["interval" if is_turned else "", *ends, *blank])
        for title, cells in _beside(parts, beside).items():
            if title not in columns:
                rows.append([f"  {title}", *cells, *blank])
    rows.append([COUNTS, *(str(score.n) for score in scores[0]), *blank])
    header, *lines = zip(*rows, strict=True) if is_turned else rows
    return sheet("", [str(name).strip() for name in header], lines)


def _whole_sheet(scores: Sequence[Score], beside: Beside) -> Sheet:
    labels = [score.label for score in scores]
    columns: list[tuple[str, Sequence[Cell | str]]] = [("", labels), ("", [*map(_cell, scores)])]
    if interval := next((score.interval for score in scores if score.interval), None):
        columns.append((f"{100 * interval.confidence:g} % interval", [*map(_ends, scores)]))
    header, cells = zip(*columns, *_beside(scores, beside).items(), strict=True)
    return sheet("", header, list(zip(*cells, strict=True)))


def _beside(scores: Sequence[Score], beside: Beside) -> dict[str, list[Cell | str]]:
    found = {
        title: [_cell(known.get((score.name, score.scope))) for score in scores]
        for title, known in beside.items()
    }
    return {title: cells for title, cells in found.items() if any(cells)}


def _cell(score: Score | None) -> Cell | str:
    return "" if score is None else Cell(score.value, form=f".{score.places}f")


def _ends(score: Score) -> str:
    return interval_text(score.interval, f".{score.places}f")
