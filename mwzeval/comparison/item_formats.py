"""Read files with scores of items, written by many programs, as rows with named values.

The content of a file determines its format; its name does not matter:

* CSV (also with semicolons) and TSV: a line with the names of the columns, then one row per line.
* JSON and JSON Lines: a list of objects, an object that contains such a list, or an object with
  the scores of each item: `{"a": 1, "b": [0, 1], "c": {"f1": 0.5}}`, where a list has the trials of
  the item.
* Logs of inspect_ai, `.eval` (a zip archive) and `.json`. The item is the sample, the trial is the
  epoch, and each scorer is a score; a scorer whose values are objects gives a score for each key
  (`scorer.key`). Letters are converted as in inspect_ai. A NaN is not a score (inspect_ai
  calls it unscored), and a sample that ended in an error has no score.
  Source: https://inspect.aisi.org.uk/eval-logs.html; value_to_float of inspect_ai.scorer.
* Results of τ-bench, and of τ²-bench: an object with simulations. The item is the task, and the
  score is the reward. A simulation that an infrastructure failure ended has no score.
  Source: sierra-research/tau-bench, tau_bench/types.py; sierra-research/tau2-bench, data_model.
* Samples of lm-evaluation-harness (`--log_samples`): a line per document and filter. The item is a
  document. `metrics` of each line lists the scores; in older files, all numbers are scores. With
  several filters, each has its own score (`exact_match,strict-match`, as in the results of the
  harness). Scores that the harness computes only over all documents are not read.
  Source: EleutherAI/lm-evaluation-harness, lm_eval/evaluator.py (logged_samples).
"""

from __future__ import annotations

import csv
import io
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeAlias

from mwzeval.errors import InputError, MwzevalError, Problem, shorten
from mwzeval.files.reading import (
    decoded,
    is_url,
    is_zip,
    parse_json,
    parse_json_lines,
    read_text,
    read_zip,
    zip_names,
)
from mwzeval.scores.findings import Findings


@dataclass(frozen=True, slots=True)
class Columns:
    """The columns of a file to read; those that are None or empty are found by their names.

    `metric` is the column with the name of the score, for files with one score per row. `lower`
    names the scores that are better when lower.
    """

    item: str | None = None
    scores: tuple[str, ...] = ()
    cluster: str | None = None
    trial: str | None = None
    metric: str | None = None
    lower: tuple[str, ...] = ()


Row: TypeAlias = tuple[str, Mapping[str, Any]]
"""The location of a row in the file, for messages, and its values by column."""


@dataclass(frozen=True, slots=True)
class Rows:
    """The rows of a file, and the columns of its format; `a.b` names values in objects."""

    rows: Sequence[Row]
    columns: Columns = field(default_factory=Columns)

    @property
    def names(self) -> list[str]:
        """The names of all columns, in order of first occurrence."""
        return list(dict.fromkeys(name for _, values in self.rows for name in values))


def is_log(file: str) -> bool:
    """Return whether a file has the log format of an evaluation program."""
    try:
        return bool(read_rows(file, Findings()).columns.scores)
    except MwzevalError:
        return False


def read_rows(file: str, findings: Findings) -> Rows:
    """Return the rows of a file of any known format; add warnings about unused rows to `findings`.

    Raises `InputError` for other files.
    """
    if not is_url(file) and is_zip(file):
        return _inspect_samples(_inspect_summaries(file), findings)
    text = read_text(file)
    if text.lstrip()[0] not in "{[":
        return Rows(_table(text, findings))
    first, _, rest = text.strip().partition("\n")
    if first.rstrip().endswith("}") and rest.lstrip().startswith("{"):
        lines = parse_json_lines(text, file, constants=True)
        return _json_rows([(f"line {number}", value) for number, value in lines], findings)
    value = parse_json(text, file, constants=True)
    if isinstance(value, dict):
        if isinstance(value.get("eval"), dict) and ("samples" in value or "plan" in value):
            return _inspect_samples(value.get("samples"), findings)
        items = value
        # Results of τ²-bench have a list of tasks, too.
        lists = [
            records
            for records in (value.get("simulations"), *value.values())
            if isinstance(records, list)
        ]
        if _is_harness_sample(value):
            lists = [[value]]
        value = next(
            (records for records in lists if records and isinstance(records[0], dict)), None
        )
        if value is None:
            return Rows(_by_item(items), Columns("item", trial="trial"))
    return _json_rows([(f"row {n}", row) for n, row in enumerate(value, start=1)], findings)


def _json_rows(values: Sequence[tuple[str, Any]], findings: Findings) -> Rows:
    for place, value in values:
        if not isinstance(value, dict):
            raise _other_shape(
                findings.file, f"{place} is not an object with an item and its score"
            )
    first = values[0][1] if values else {}
    if _is_harness_sample(first):
        return _harness_samples(values, findings)
    if "task_id" in first and (
        "reward_info" in first or ("reward" in first and ("traj" in first or "info" in first))
    ):
        return _tau_results(values, findings)
    return Rows([(place, _flat(value)) for place, value in values])


def _other_shape(file: str | None, what: str) -> InputError:
    return InputError([Problem("other-shape", what, file=file)])


def _flat(values: Mapping[str, Any]) -> dict[str, Any]:
    """Return the values; values inside objects get names such as `a.b`."""
    flat: dict[str, Any] = {}
    for name, value in values.items():
        if isinstance(value, dict):
            flat |= {f"{name}.{inner}": part for inner, part in _flat(value).items()}
        else:
            flat[name] = value
    return flat


def _table(text: str, findings: Findings) -> list[Row]:
    """Return the rows of a table. The names of its columns are in lower case."""
    header = text.lstrip().splitlines()[0]
    delimiter = next((sign for sign in "\t,;" if sign in header), ",")
    reader = csv.reader(io.StringIO(text, newline=None), delimiter=delimiter)
    names: list[str] = []
    rows: list[Row] = []
    try:
        for row in reader:
            cells = [cell.strip() for cell in row]
            place = f"line {reader.line_num}"
            if not any(cells):
                continue
            if not names:
                names = [name.lower() for name in cells]
                if len(set(names)) < len(names):
                    findings.error("repeated-column", f"{place} has two columns with the same name")
            elif len(cells) != len(names):
                findings.error(
                    "other-columns",
                    f"{place} has {len(cells)} cells, but there are {len(names)} column names",
                )
            else:
                rows.append((place, dict(zip(names, cells, strict=True))))
    except csv.Error as error:
        findings.error("not-a-table", f"line {reader.line_num}: {error}")
    findings.check()
    return rows


def _by_item(items: Mapping[str, Any]) -> list[Row]:
    rows: list[Row] = []
    for item, of_item in items.items():
        for trial, value in enumerate(of_item if isinstance(of_item, list) else [of_item], start=1):
            scores = _flat(value) if isinstance(value, dict) else {"score": value}
            rows.append((f'item "{shorten(item)}"', {"trial": trial, **scores, "item": item}))
    return rows


# Logs of inspect_ai.

SUMMARIES = "summaries.json"
REMOVED = "Key removed from summary (> 1k)"
LETTERS = {"C": 1.0, "P": 0.5, "I": 0.0, "N": 0.0, "yes": 1.0, "no": 0.0}
CUT = (
    "is cut off in the summaries of the archive: name a shorter column, or write the log as "
    "JSON (inspect log convert --to json)"
)
"""Replaces metadata that the summaries of an archive cut after about a thousand characters, because
different texts with the same beginning would look equal."""


def _inspect_summaries(file: str) -> list[Any]:
    names = zip_names(file)
    # An unfinished run has no summary, only a journal of its parts.
    journal = [name for name in names if name.startswith("_journal/summaries/")]
    wanted = [SUMMARIES] if SUMMARIES in names else journal
    if not wanted:
        raise _other_shape(
            file, f"the archive has no {SUMMARIES}, so it is not a log of inspect_ai"
        )
    samples: list[Any] = []
    for name, content in read_zip(file, wanted).items():
        place = f"{file}/{name}"
        value = parse_json(decoded(content, place), place, constants=True)
        samples += value if isinstance(value, list) else [value]
    for sample in samples:
        metadata = sample.get("metadata") if isinstance(sample, dict) else None
        if isinstance(metadata, dict):
            ends = (REMOVED, "...")
            cut = [key for key, text in metadata.items() if str(text).endswith(ends)]
            metadata |= dict.fromkeys(cut, CUT)
    return samples


def _inspect_samples(samples: Any, findings: Findings) -> Rows:
    if not samples or not isinstance(samples, list):
        raise _other_shape(
            findings.file,
            "the log has no samples: it was written without them, or the run ended early",
        )
    rows = []
    scorers: dict[str, None] = {}
    for number, sample in enumerate(samples, start=1):
        if not isinstance(sample, dict) or "id" not in sample:
            raise _other_shape(findings.file, f"sample {number} is not an object with an id")
        has_failed = sample.get("error")
        scores = {} if has_failed else _inspect_scores(sample.get("scores"))
        if not scores:
            why = "ended in an error" if has_failed else "have no scores"
            findings.warning("no-score", f"samples that {why} are not counted")
        scorers |= dict.fromkeys(scores)
        about = {"id": sample["id"], "epoch": sample.get("epoch", 1)}
        place = f'sample "{shorten(str(sample["id"]))}", epoch {about["epoch"]}'
        rows.append((place, {**_flat({**about, "metadata": sample.get("metadata")}), **scores}))
    return Rows(rows, Columns("id", tuple(scorers), trial="epoch"))


def _inspect_scores(scores: Any) -> dict[str, Any]:
    named = scores.items() if isinstance(scores, dict) else ()
    flat = _flat(
        {name: score.get("value") if isinstance(score, dict) else score for name, score in named}
    )
    return {name: LETTERS.get(v, v) if isinstance(v, str) else v for name, v in flat.items()}


# Results of τ-bench and τ²-bench.


def _tau_results(values: Iterable[tuple[str, Any]], findings: Findings) -> Rows:
    rows = []
    for place, value in values:
        row = _flat(value)
        reward = row.get("reward_info.reward", row.get("reward"))
        if str(row.get("termination_reason")).lower().endswith("infrastructure_error"):
            reward = None
            findings.warning(
                "no-score", "simulations that ended with an infrastructure error are not counted"
            )
        rows.append((place, {**row, "reward": reward}))
    return Rows(rows, Columns("task_id", ("reward",), trial="trial"))


# Samples of lm-evaluation-harness.


def _is_harness_sample(value: Mapping[str, Any]) -> bool:
    return "doc_id" in value and not {"resps", "filtered_resps", "doc_hash"}.isdisjoint(value)


def _harness_samples(samples: Iterable[tuple[str, Any]], findings: Findings) -> Rows:
    scores: dict[str, None] = {}
    rows = []
    for place, values in samples:
        listed, of_filter = values.get("metrics"), values.get("filter")
        ending = "" if of_filter in ("none", None) else f",{of_filter}"
        numbers = {
            name: value
            for name, value in values.items()
            if isinstance(value, int | float) and name not in ("doc_id", "target")
        }
        metrics = sorted(map(str, listed if isinstance(listed, list) else numbers))
        row = _flat({name: value for name, value in values.items() if name not in metrics})
        for metric in metrics:
            if metric in numbers:
                row[metric + ending] = numbers[metric]
                scores[metric + ending] = None
            else:
                what = f"{shorten(metric)} is left out: it is not a number for each document"
                findings.warning("not-of-items", what)
        rows.append((place, row))
    return Rows(rows, Columns("doc_id", tuple(scores)))
