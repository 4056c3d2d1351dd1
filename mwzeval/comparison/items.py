"""Scores of single items that other programs have written for any benchmark, as systems to compare.

A row of a file is a trial of an item. Without a column of trials, the rows of an item are its
trials in order. If a row lacks a score, the trial could not be judged and is ignored for this
score.

If all values of a score are 0 or 1 (in some files 0 or 100), the score is a rate in percent. If
items have several trials, pass^k is computed for the first rate. The values of all other scores are
not converted. A score is compared on the items for which all files have a value.

The content of a file determines the format; the file name does not matter:

* CSV (also with semicolons) and TSV: the first line names the columns; each further line is a row.
* JSON and JSON Lines: a list of objects, an object that contains such a list, or an object with the
  scores of each item: in `{"a": 1, "b": [0, 1], "c": {"f1": 0.5}}`, the list has the trials of item
  b.
* Logs of inspect_ai, `.eval` (a zip archive) and `.json`. An item is a sample, a trial is an epoch,
  and each scorer gives a score. If the values of a scorer are objects, each key gives a score
  (`scorer.key`). Grades (letters) are converted as in inspect_ai. A NaN is not a score (inspect_ai
  calls it unscored), and a sample that ended in an error has no score. Source:
  https://inspect.aisi.org.uk/eval-logs.html; value_to_float of inspect_ai.scorer.
* Results of τ-bench and of τ²-bench: an object that contains simulations. The item is the task, and
  the score is the reward. A simulation that an infrastructure failure ended has no score. Source:
  sierra-research/tau-bench, tau_bench/types.py; sierra-research/tau2-bench, data_model.
* Samples of lm-evaluation-harness (`--log_samples`): a line for each document and filter. The item
  is a document. The key `metrics` of each line lists the scores; in older files, all numbers are
  scores. If there are several filters, each filter gives its own score (`exact_match,strict-match`,
  as in the harness's results). Scores that the harness computes only over all documents are not
  read. Source: EleutherAI/lm-evaluation-harness, lm_eval/evaluator.py (logged_samples).
"""

from __future__ import annotations

import csv
import io
import math
import re
from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any, TypeAlias
from unicodedata import normalize

import numpy as np

from mwzeval.comparison.comparison import Comparison
from mwzeval.errors import (
    InputError,
    MwzevalError,
    Problem,
    UsageError,
    did_you_mean,
    shorten,
    some_of,
)
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
from mwzeval.metrics.measure import Measure, ScoredTable, mean, of_items, percentage
from mwzeval.scores.findings import Findings
from mwzeval.scores.score import Signature
from mwzeval.scores.table import Table
from mwzeval.statistics.trials import Trials, trial_name


@dataclass(frozen=True, slots=True)
class Columns:
    """The columns of a file to read; columns that are None or empty are found by their names.

    If a file has one score per row, `metric` is the column with the name of the score. `lower`
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


Rows: TypeAlias = tuple[Sequence[Row], Columns]
"""The rows of a file, and the columns of its format; the name `a.b` means the value `b` in the
object `a`."""


NAMES = {
    "item": "item task task_id goal dialogue id",
    "trial": "trial epoch",
    "cluster": "cluster",
    "metric": "metric",
    "score": "score reward success correct accuracy f1 value",
}
"""Usual names of columns; case is ignored."""

LOWER = "error wer cer loss perplexity mae mse rmse distance latency seconds time cost tokens turns"
"""Words in the names of scores for which lower values are usually better."""

WORDS = {"": None, "na": None, "n/a": None, "null": None, "none": None, "true": 1, "false": 0}
LARGEST = 1e100
"""The largest valid number; sums and squares of larger numbers would not be finite."""

SHOWN_COLUMNS = 12
PERCENT, AS_GIVEN = "percent", "as-given"


@dataclass(frozen=True, slots=True)
class ItemScores:
    """The item scores of each file, the clusters of items (None: independent), and warnings."""

    scored: Mapping[str, ScoredTable]
    clusters: Mapping[str, str] | None
    warnings: Mapping[str, tuple[Problem, ...]]


@dataclass(slots=True)
class _File:
    """The values of each score of a file, by lower-case name; `labels` has the original names."""

    name: str
    findings: Findings
    values: dict[str, dict[tuple[str, str], float]] = field(default_factory=dict)
    labels: dict[str, str] = field(default_factory=dict)

    def items(self, *scores: str) -> dict[str, None]:
        """Return the items that have any of these scores (by default, any score), in order."""
        return {item: None for score in scores or self.values for item, _ in self.values[score]}


def directions(comparison: Comparison) -> list[Problem]:
    """Return a warning for each score whose name suggests that lower values are better."""
    found, words = [], set(LOWER.split())
    for measure in (measure for measure in comparison.measures if not measure.lower_is_better):
        if not words.isdisjoint(re.split(r"[\W_]+", measure.name)):
            option = f'otherwise, add --lower-is-better "{shorten(measure.name)}"'
            message = f"{shorten(measure.label)}: higher counts as better; {option}"
            found.append(Problem("direction", message, "warning"))
    return found


def read_items(files: Sequence[str], columns: Columns | None = None) -> ItemScores:
    """Return the item scores in files from any benchmark, for comparison with each other.

    `columns` are the columns to read; unspecified columns are recognized by file format and column
    name.

    Raises:
        InputError: If files are invalid; the error has the problems of all files.
        UsageError: If the files have no item in common, an item has no cluster, or a score in
            `columns.lower` does not exist.
    """
    columns = columns or Columns()
    findings = Findings()
    clusters: dict[str, str] = {}
    read = []
    for name in dict.fromkeys(files):
        with findings.collecting():
            read.append(_read(name, columns, clusters))
    if findings.errors:
        raise InputError(findings.errors, can_be_validated=False)
    common = set.intersection(*(set(file.items()) for file in read))
    if not common:
        found = ", ".join(f"{_quoted(next(iter(file.items())))} in {file.name}" for file in read)
        raise UsageError(
            f"no item is in all files (there is {found}): check that the files are from the same "
            "benchmark, and that --item-column names the right column"
        )
    if not set.intersection(*(set(file.values) for file in read)):
        found = ", ".join(f"{_listed(list(file.labels))} in {file.name}" for file in read)
        raise UsageError(
            f"no score is in all files (there is {found}): give the columns the same name, or "
            "select columns with --score"
        )
    lower = _lower(read, columns.lower)
    if clusters and (lacking := common - clusters.keys()):
        raise UsageError(f"no file states the cluster of item {_quoted(min(lacking))}")
    outcomes = {}
    for score in dict.fromkeys(score for file in read for score in file.values):
        having = [file for file in read if score in file.values]
        if len(having) == len(read):
            _leave_out(read, score, common)
        outcomes[score] = _are_outcomes(having, score)
        if len(having) == len(read):
            _check_values(read, score)
    scored = {file.name: _scored(file, outcomes, lower) for file in read}
    warnings = {file.name: tuple(file.findings.warnings) for file in read}
    return ItemScores(scored, clusters or None, warnings)


# The roles of the columns.


def _columns(
    rows: Sequence[Row], known: Columns, chosen: Columns, findings: Findings
) -> tuple[str, Columns]:
    names = list(dict.fromkeys(name for _, values in rows for name in values))

    def usual(what: str) -> list[str]:
        return [found for name in NAMES[what].split() if (found := _named(name, names)) is not None]

    def missing(what: str, name: str = "") -> None:
        close = did_you_mean(name, names)
        findings.error("no-such-column", f"{what}{close} (there are: {_listed(names)})")

    def column(what: str, name: str | None, of_format: str | None = None) -> str | None:
        if name is None:
            found = [of_format] if of_format else usual(what)
            if len(found) > 1 and found[0].lower() != what:
                missing(f"{_listed(found)} may be the {what}: select a column with --{what}-column")
            return found[0] if found else None
        if _named(name, names) is None:
            missing(f"--{what}-column: no column {_quoted(name)} for the {what}", name)
        return _named(name, names)

    item = column("item", chosen.item, known.item)
    if chosen.item is None and item is None:
        missing(
            'no column contains the items: rename it to "item", or select it with --item-column'
        )
    cluster = column("cluster", chosen.cluster)
    trial = column("trial", chosen.trial, known.trial)
    if chosen.trial is None and all(row.get(trial or "") in (None, "") for _, row in rows):
        trial = None  # then trials are numbered in order
    metric = None if chosen.scores or known.scores else column("metric", None)
    scores = known.scores or (*usual("score"), *(n for n in names if n.startswith("scores.")))
    if chosen.scores:
        # Scores of the format have priority, so `match` is a scorer even if other columns match.
        score_names = _whole_names(chosen.scores, (*known.scores, *names))
        found = {name: _named(name, known.scores) or _named(name, names) for name in score_names}
        for name in (name for name in found if found[name] is None):
            missing(f"--score: no column {_quoted(name)}", name)
        scores = tuple(dict.fromkeys(filter(None, found.values())))
    elif not scores:
        missing('no column contains the scores: rename it to "score", or select it with --score')
    findings.check()
    assert item is not None
    return item, Columns(item, scores, cluster, trial, metric)


def _whole_names(chosen: Iterable[str], known: Iterable[str]) -> tuple[str, ...]:
    """Split comma-separated lists into names; the longest `known` names have priority.

    lm-evaluation-harness has names with commas: `exact_match,strict-match`.
    """
    longest = sorted(map(re.escape, known), key=len, reverse=True)
    name = "|".join([*longest, r"[^,\s][^,]*?"])
    pattern = rf"(?:^|(?<=,))\s*({name})\s*(?=,|$)"
    return tuple(re.findall(pattern, ",".join(chosen), re.IGNORECASE))


def _named(name: str, names: Sequence[str]) -> str | None:
    """Return the column with a name, ignoring case; a column with the same case has priority."""
    if name in names:
        return name
    return next((known for known in names if known.lower() == name.lower()), None)


def _listed(names: Sequence[str]) -> str:
    return some_of([*map(_quoted, names)], SHOWN_COLUMNS) or "none"


def _quoted(name: str) -> str:
    return f'"{shorten(name)}"'


# Reading a file.


def _read(name: str, chosen: Columns, clusters: dict[str, str]) -> _File:
    findings = Findings(name)
    rows, known = read_rows(name, findings)
    if not rows:
        raise InputError([Problem("no-scores", "no row has a score", file=name)])
    item_column, columns = _columns(rows, known, chosen, findings)
    file = _File(name, findings)
    counts: Counter[tuple[str, str]] = Counter()
    seen: set[tuple[str, str, str]] = set()
    for place, row in rows:
        try:
            item = _name_in(row, item_column)
            if columns.cluster:
                cluster = _name_in(row, columns.cluster)
                if (other := clusters.setdefault(item, cluster)) != cluster:
                    raise ValueError(
                        f"item {_quoted(item)} has cluster {_quoted(cluster)} here, but "
                        f"{_quoted(other)} in an earlier row"
                    )
            for column in columns.scores:
                if column not in row and column in known.scores:
                    continue  # rows of errors and of other filters lack some scores
                label = _name_in(row, columns.metric) if columns.metric else column
                score = label.lower()
                file.labels.setdefault(score, label)
                counts[item, score] += 1
                count = str(counts[item, score])
                trial = _name_in(row, columns.trial) if columns.trial else count
                if (item, trial, score) in seen:
                    raise ValueError(
                        f"trial {_quoted(trial)} of item {_quoted(item)} occurs twice; leave one "
                        "out, or name the column that distinguishes trials (--trial-column)"
                    )
                seen.add((item, trial, score))
                number = _number_in(row, column)
                if number is None:
                    findings.warning("no-score", f"trials without {shorten(label)} are not counted")
                else:
                    file.values.setdefault(score, {})[item, trial] = number
        except ValueError as error:
            findings.error("row", f"{place}: {error}")
    items = {item for item, _ in counts}
    repeated = {item for (item, _), count in counts.items() if count > 1}
    if columns.trial is None and repeated and repeated != items:
        findings.warning(
            "repeated-item",
            f"{len(repeated)} of {len(items)} items, such as {_quoted(min(repeated))}, have "
            "several rows, which are counted as trials; remove duplicate rows",
        )
    if not findings.errors and not file.values:
        findings.error("no-scores", "no row has a score")
    findings.check()
    return file


def _name_in(row: Mapping[str, Any], column: str) -> str:
    """Return a value as a name. Raises `ValueError` if the value cannot be a name."""
    value = row.get(column)
    if value == CUT:
        raise ValueError(f"{_quoted(column)} is {value}")
    if isinstance(value, float) and value.is_integer():
        value = int(value)  # 1.0 and 1 are the same number
    if isinstance(value, str | int | float) and (words := str(value).split()):
        # Repeated spaces are merged, as in inspect_ai's summaries; equivalent characters are
        # unified.
        return normalize("NFC", " ".join(words))
    raise ValueError(f"{_quoted(column)} is empty")


def _number_in(row: Mapping[str, Any], column: str) -> float | None:
    """Return a value as a number, None for null and NaN; other values raise `ValueError`."""
    value = row.get(column)
    if isinstance(value, str):
        value = WORDS.get(value.strip().lower(), value)
    try:
        number = math.nan if value is None else float(value)
    except (ValueError, TypeError, OverflowError):
        number = math.inf
    if abs(number) > LARGEST:
        found = _quoted(str(row[column]))
        raise ValueError(
            f"{shorten(column)} must be a number up to {LARGEST:g}, such as 0.5, not {found}"
        )
    return None if math.isnan(number) else number


# Checks across files.


def _leave_out(files: Sequence[_File], score: str, common: Collection[str]) -> None:
    """Remove items that lack a score in another file, and warn, also about a changed score.

    The comparison itself excludes items that are not `common` to all files.

    Raises:
        UsageError: If no item has the score in all files.
    """
    scored = [file.items(score).keys() for file in files]
    everywhere = set(scored[0]).intersection(*scored[1:])
    if not everywhere:
        raise UsageError(f"no item has the score {_quoted(score)} in all files")
    for file, items in zip(files, scored, strict=True):
        if lacking := items & set(common) - everywhere:
            file.findings.warning(
                "left-out",
                f"{len(lacking)} items with {score} are left out: they are missing in another file",
            )
        values = file.values[score]
        of_item: dict[str, list[float]] = {}
        for (item, _), value in values.items():
            of_item.setdefault(item, []).append(value)
        means = {item: sum(values) / len(values) for item, values in of_item.items()}
        kept = [mean for item, mean in means.items() if item in everywhere]
        file.values[score] = {key: v for key, v in values.items() if key[0] not in lacking}
        if len(kept) == len(means):
            continue
        with np.errstate(over="ignore", invalid="ignore"):  # for values near the largest number
            before, after = np.mean(list(means.values())), np.mean(kept)
            error = float(np.std(list(means.values()), ddof=1)) / len(means) ** 0.5
        if abs(after - before) > error:
            file.findings.warning(
                "left-out",
                f"{len(means) - len(kept)} of {len(means)} items are not in all files; leaving "
                f"them out changes {score} from {before:.3g} to {after:.3g}, by more "
                f"than its standard error ({error:.2g})",
            )


def _are_outcomes(files: Sequence[_File], score: str) -> bool:
    """Return whether a score is 0 or 1 in all files; scores of 0 and 100 are divided by 100."""
    kinds = [set(file.values[score].values()) for file in files]
    everything = set().union(*kinds)
    if 100 in everything and 1 not in everything:
        return False
    if not all(kind <= {0, 1} or kind <= {0, 100} for kind in kinds):
        return False
    for file, kind in zip(files, kinds, strict=True):
        if 100 in kind:
            file.values[score] = {unit: v / 100 for unit, v in file.values[score].items()}
            message = f"{score}: 0 and 100 are read as 0 and 1, to match another file"
            file.findings.warning("units", message)
    return True


def _check_values(files: Sequence[_File], score: str) -> None:
    """Warn if the units differ from those in another file, and if a file is a copy of another."""
    kinds = {file.name: set(file.values[score].values()) for file in files}
    outcomes = [name for name, kind in kinds.items() if kind <= {0, 1} and 1 in kind]
    shares = [name for name, kind in kinds.items() if 0 <= min(kind) <= max(kind) <= 1]
    copies: dict[tuple[object, ...], str] = {}
    for file in files:
        values, kind = file.values[score], kinds[file.name]
        warn = partial(file.findings.warning, "values")
        if shares and max(kind) > 1:
            warn(
                f"{score} has values up to {max(kind):g}, but in {shares[0]} no value is above 1: "
                "do the units differ?"
            )
        elif outcomes and not kind <= {0, 1}:
            warn(
                f"{score} is {min(kind - {0, 1}):g} in some row, but only 0 or 1 in "
                f"{outcomes[0]}: write a row for each trial instead of the mean, and leave the "
                "score of errors empty"
            )
        copy_of = copies.setdefault(tuple(sorted(values.items())), file.name)
        if copy_of != file.name and len(values) > 1:
            warn(f"{score} is the same as in {copy_of} for every item")


def _lower(files: Sequence[_File], chosen: Sequence[str]) -> set[str]:
    known = list(dict.fromkeys(score for file in files for score in file.values))
    names = {name.lower() for name in _whole_names(chosen, known)}
    for name in names.difference(known):
        raise UsageError(
            f"--lower-is-better: no score {_quoted(name)}{did_you_mean(name, known)} (there are: "
            f"{_listed(known)})"
        )
    return names


def _scored(file: _File, outcomes: Mapping[str, bool], lower: Collection[str]) -> ScoredTable:
    # There is no pass^k of failures: scores that are better when lower are excluded.
    first = next((s for s in file.values if outcomes[s] and s not in lower), None)
    several = sum(outcomes[score] for score in file.values) > 1
    item_of = {trial_name(*key): key[0] for values in file.values.values() for key in values}
    tables, tables_of_items, measures = [], [], []
    for score, values in file.values.items():
        measure = _measure(file, score, outcomes[score], is_lower=score in lower)
        rows = ((trial_name(*key), {score: v, _count(score): 1}) for key, v in values.items())
        tables.append(Table.from_rows((score, _count(score)), rows))
        found = of_items(
            ScoredTable(tables[-1], (measure,)),
            item_of.__getitem__,
            outcome=score if score == first else None,
        )
        tables_of_items.append(found.table)
        for m in found.measures:
            if several and m.name != score:
                signature = m.signature.extended({"of": score})
                m = replace(m, label=f"{m.label} of {measure.label}", signature=signature)
            measures.append(m)
    table = _beside(tables_of_items, file.items())
    trials = None
    if len(item_of) > len(table.units):
        trials = Trials(_beside(tables, item_of), tuple(item_of.values()))
    return ScoredTable(table, tuple(measures), trials=trials)


def _beside(tables: Sequence[Table], units: Iterable[str]) -> Table:
    """Return all columns for these units, 0 if a table lacks a unit."""
    rows: dict[str, dict[str, float]] = {unit: {} for unit in units}
    for table in tables:
        for unit, values in zip(table.units, table.values.tolist(), strict=True):
            rows[unit] |= zip(table.columns, values, strict=True)
    return Table.from_rows([name for table in tables for name in table.columns], rows.items())


def _measure(file: _File, score: str, is_outcome: bool, *, is_lower: bool) -> Measure:
    values = file.values[score]
    label = file.labels[score]
    fine = not is_outcome and all(abs(value) <= 1 for value in values.values())
    return Measure(
        score,
        label[:1].upper() + label[1:],
        Signature.of(score, {"n": len(values), "unit": PERCENT if is_outcome else AS_GIVEN}),
        percentage(score, of=_count(score)) if is_outcome else mean(score, of=_count(score)),
        places=3 if fine else 2,
        cases=_count(score),
        outcome=score if is_outcome else None,
        scale=100 if is_outcome else 1,
        lower_is_better=is_lower,
        unit="%" if is_outcome else "",
    )


def _count(score: str) -> str:
    """Return the column that counts the trials with a score."""
    return f"{score} trials"


# Formats.


def is_log(file: str) -> bool:
    """Return whether a file has the log format of an evaluation program."""
    try:
        return bool(read_rows(file, Findings())[1].scores)
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
        return _table(text, findings), Columns()
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
            return _by_item(items), Columns("item", trial="trial")
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
    return [(place, _flat(value)) for place, value in values], Columns()


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
    "is cut off in the summaries of the archive: select a shorter column, or convert the log to "
    "JSON (inspect log convert --to json)"
)
"""Replaces metadata that the summaries of an archive cut after about a thousand characters, because
different texts with the same beginning would look equal."""


def _inspect_summaries(file: str) -> list[Any]:
    names = zip_names(file)
    # An unfinished run has no summary, only a journal of its parts.
    journal = [name for name in names if name.startswith("_journal/summaries/")]
    members = [SUMMARIES] if SUMMARIES in names else journal
    if not members:
        raise _other_shape(
            file, f"the archive has no {SUMMARIES}, so it is not a log of inspect_ai"
        )
    samples: list[Any] = []
    for name, content in read_zip(file, members).items():
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
    return rows, Columns("id", tuple(scorers), trial="epoch")


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
    return rows, Columns("task_id", ("reward",), trial="trial")


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
    return rows, Columns("doc_id", tuple(scores))
