"""Scores of single items of any benchmark, written by other programs, as systems to compare.

A row of a file is a trial of an item. Without a column of trials, the rows of an item are its
trials in order. If a row lacks a score, the trial could not be judged and is ignored for this
score.

If all values of a score are 0 or 1, or in some files 0 or 100, the score is a rate in percent; if
items have several trials, pass^k is computed for the first such score. All other scores keep their
unit. A score is compared on the items that have it in all files.
"""

from __future__ import annotations

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
from mwzeval.comparison.item_formats import CUT, Columns, Rows, read_rows
from mwzeval.errors import InputError, Problem, UsageError, did_you_mean, shorten, some_of
from mwzeval.metrics.measure import Measure, ScoredTable, mean, of_items, percentage
from mwzeval.scores.findings import Findings
from mwzeval.scores.score import Signature
from mwzeval.scores.table import Table
from mwzeval.statistics.trials import Trials, trial_name

Values: TypeAlias = dict[tuple[str, str], float]

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
"""Sums and squares of larger numbers would not be finite."""

SHOWN_COLUMNS = 12
PERCENT, AS_GIVEN = "percent", "as-given"


@dataclass(frozen=True, slots=True)
class ItemScores:
    """The scores of each file, the cluster of each item (None: items are independent), warnings."""

    scored: Mapping[str, ScoredTable]
    clusters: Mapping[str, str] | None
    warnings: Mapping[str, tuple[Problem, ...]]


@dataclass(slots=True)
class _File:
    """The values of each score of a file, by lower-case name; `labels` has the original names."""

    name: str
    findings: Findings
    values: dict[str, Values] = field(default_factory=dict)
    labels: dict[str, str] = field(default_factory=dict)

    def items(self, *scores: str) -> dict[str, None]:
        """Return the items that have any of these scores (by default, any score), in order."""
        return {item: None for score in scores or self.values for item, _ in self.values[score]}


def directions(comparison: Comparison) -> list[Problem]:
    """Return a warning for each score that is better when lower according to its name."""
    found, words = [], set(LOWER.split())
    for measure in (measure for measure in comparison.measures if not measure.lower_is_better):
        if not words.isdisjoint(re.split(r"[\W_]+", measure.name)):
            option = f'otherwise, add --lower-is-better "{shorten(measure.name)}"'
            message = f"{shorten(measure.label)}: higher counts as better; {option}"
            found.append(Problem("direction", message, "warning"))
    return found


def read_items(files: Sequence[str], columns: Columns | None = None) -> ItemScores:
    """Return the scores of files of any benchmark, for comparison with each other.

    `columns` are the columns to read; unspecified columns are found by the format of a file and the
    names of its columns.

    Raises:
        InputError: With the problems of all files.
        UsageError: If there is no common item, a common item has no cluster, or a score of
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
            f"no item is in all files: there is {found}; check that the files are of one "
            "benchmark, and that --item-column names the right column"
        )
    if not set.intersection(*(set(file.values) for file in read)):
        found = ", ".join(f"{_listed(list(file.labels))} in {file.name}" for file in read)
        raise UsageError(
            f"no score is in all files: there is {found}; give the columns the same name, or "
            "choose with --score"
        )
    lower = _lower(read, columns.lower)
    if clusters and (lacking := common - clusters.keys()):
        raise UsageError(f"no file has a cluster for item {_quoted(min(lacking))}")
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


# Roles of columns.


def _columns(rows: Rows, asked: Columns, findings: Findings) -> tuple[str, Columns]:
    names, known = rows.names, rows.columns

    def usual(what: str) -> list[str]:
        return [found for name in NAMES[what].split() if (found := _named(name, names)) is not None]

    def missing(what: str, name: str = "") -> None:
        close = did_you_mean(name, names)
        findings.error("no-such-column", f"{what}{close} (there are: {_listed(names)})")

    def column(what: str, name: str | None, of_format: str | None = None) -> str | None:
        if name is None:
            found = [of_format] if of_format else usual(what)
            if len(found) > 1 and found[0].lower() != what:
                missing(f"{_listed(found)} may be the {what}: choose with --{what}-column")
            return found[0] if found else None
        if _named(name, names) is None:
            missing(f"--{what}-column: no column {_quoted(name)} for the {what}", name)
        return _named(name, names)

    item = column("item", asked.item, known.item)
    if asked.item is None and item is None:
        missing('no column is the item: call it "item", or name it with --item-column')
    cluster = column("cluster", asked.cluster)
    trial = column("trial", asked.trial, known.trial)
    if asked.trial is None and all(row.get(trial or "") in (None, "") for _, row in rows.rows):
        trial = None  # then trials are numbered in order
    metric = None if asked.scores or known.scores else column("metric", None)
    scores = known.scores or (*usual("score"), *(n for n in names if n.startswith("scores.")))
    if asked.scores:
        # Scores of the format have priority: `match` is its scorer even if other columns match.
        wanted = _whole_names(asked.scores, (*known.scores, *names))
        found = {name: _named(name, known.scores) or _named(name, names) for name in wanted}
        for name in (name for name in found if found[name] is None):
            missing(f"--score: no column {_quoted(name)}", name)
        scores = tuple(dict.fromkeys(filter(None, found.values())))
    elif not scores:
        missing('no column is the score: call it "score", or name it with --score')
    findings.check()
    assert item is not None
    return item, Columns(item, scores, cluster, trial, metric)


def _whole_names(asked: Iterable[str], known: Iterable[str]) -> tuple[str, ...]:
    """Split comma-separated lists into names; the longest `known` names have priority.

    lm-evaluation-harness has names with commas: `exact_match,strict-match`.
    """
    longest = sorted(map(re.escape, known), key=len, reverse=True)
    name = "|".join([*longest, r"[^,\s][^,]*?"])
    pattern = rf"(?:^|(?<=,))\s*({name})\s*(?=,|$)"
    return tuple(re.findall(pattern, ",".join(asked), re.IGNORECASE))


def _named(name: str, names: Sequence[str]) -> str | None:
    """Return the column with a name, ignoring case; a column with the same case has priority."""
    if name in names:
        return name
    return next((known for known in names if known.lower() == name.lower()), None)


def _listed(names: Sequence[str]) -> str:
    return some_of([*map(_quoted, names)], SHOWN_COLUMNS) or "none"


def _quoted(name: str) -> str:
    return f'"{shorten(name)}"'


# Reading of one file.


def _read(name: str, asked: Columns, clusters: dict[str, str]) -> _File:
    findings = Findings(name)
    rows = read_rows(name, findings)
    if not rows.rows:
        raise InputError([Problem("no-scores", "no row has a score", file=name)])
    item_column, columns = _columns(rows, asked, findings)
    file = _File(name, findings)
    counts: Counter[tuple[str, str]] = Counter()
    seen: set[tuple[str, str, str]] = set()
    for place, row in rows.rows:
        try:
            item = _name_in(row, item_column)
            if columns.cluster:
                cluster = _name_in(row, columns.cluster)
                if (other := clusters.setdefault(item, cluster)) != cluster:
                    raise ValueError(
                        f"item {_quoted(item)} has cluster {_quoted(cluster)} here, but "
                        f"{_quoted(other)} before"
                    )
            for column in columns.scores:
                if column not in row and column in rows.columns.scores:
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
            f"{shorten(column)} is {found}, which is not a number such as 0.5, at most {LARGEST:g}"
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
                f"{score} is up to {max(kind):g}, but at most 1 in {shares[0]}: do the units "
                "differ?"
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


def _lower(files: Sequence[_File], asked: Sequence[str]) -> set[str]:
    known = list(dict.fromkeys(score for file in files for score in file.values))
    names = {name.lower() for name in _whole_names(asked, known)}
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
