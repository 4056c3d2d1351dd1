"""Scores of single items of any benchmark, that other programs wrote, as systems to compare.

A row of a file is a trial of an item. Where there is no column of trials, rows of an item are its
trials in their order. A row without a score is a trial that could not be judged, and is none of
that score.

Scores that are 0 or 1 in all files are rates in percent, as are those that are 0 or 100 in some of
them; where items have several trials, the first of them has pass^k. All others keep their unit. A
score is compared on the items for which all files have it.
"""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any
from unicodedata import normalize

import numpy as np
from numpy.typing import NDArray

from mwzeval.comparison.item_formats import Columns, Cut, Row, Rows, is_number, number_of, read_rows
from mwzeval.errors import InputError, Problem, UsageError, did_you_mean, shorten
from mwzeval.metrics.measure import Measure, ScoredTable, percentage
from mwzeval.metrics.trials import of_items
from mwzeval.scores.findings import Findings
from mwzeval.scores.score import Signature
from mwzeval.scores.table import Table
from mwzeval.statistics.bootstrap import Sums
from mwzeval.statistics.trials import TRIAL_MARK, Trials

NAMES = {
    "item": "item item_id task task_id goal dialogue example example_id question_id doc_id "
    "sample_id unit id",
    "trial": "trial repetition epoch attempt",
    "cluster": "cluster cluster_id",
    "metric": "metric measure scorer",
    "score": "score reward success value correct is_correct accuracy acc acc_norm exact_match em "
    "f1 passed pass resolved",
}
"""Usual names of columns, the most telling first; upper and lower case are the same."""

LOWER = (
    "error errors wer cer ter der loss nll perplexity ppl byte brier mae mse rmse distance latency "
    "seconds ms duration time cost price tokens turns steps retries hallucination toxicity"
)
"""Words in names of scores that are mostly better when lower."""

SHOWN_COLUMNS = 12
FEWEST_DOUBLED = 10
"""Two equal trials of fewer items may well be chance."""
PERCENT, AS_GIVEN = "percent", "as-given"


@dataclass(frozen=True, slots=True)
class ItemScores:
    """The scores of each file, the cluster of each item (None: items are independent), warnings."""

    scored: Mapping[str, ScoredTable]
    clusters: Mapping[str, str] | None
    warnings: Mapping[str, tuple[Problem, ...]]


@dataclass(frozen=True, slots=True)
class _Observations:
    """Scores of one file: `values` by score and trial, the item of each trial, items' clusters.

    Names of scores are in lower case, `labels` has them as they were given.
    """

    file: str
    values: Mapping[str, Mapping[str, float]]
    items: Mapping[str, str]
    clusters: Mapping[str, str]
    labels: Mapping[str, str]
    warnings: tuple[Problem, ...]

    def items_of(self, score: str) -> set[str]:
        """Return the items that have a score."""
        return {self.items[unit] for unit in self.values[score]}

    def with_values(self, score: str, values: Mapping[str, float]) -> _Observations:
        """Return these observations with other values of one score."""
        return replace(self, values={**self.values, score: values})


def may_be_lower(score: str) -> bool:
    """Return whether the name of a score says that it is better when lower."""
    return not set(LOWER.split()).isdisjoint(re.split(r"[\W_]+", score.lower()))


def read_items(files: Sequence[str], columns: Columns | None = None) -> ItemScores:
    """Return the scores of files of any benchmark, for comparison with each other.

    `columns` are those to read; what it leaves open is decided by the format of a file and the
    names of its columns.

    Raises:
        InputError: With the problems of all files.
        UsageError: Without a common item, when an item has different clusters in the files, or when
            a score of `columns.lower` does not exist.
    """
    columns = columns or Columns()
    findings = Findings()
    observed: dict[str, _Observations] = {}
    for file in dict.fromkeys(files):
        with findings.collecting():
            observed[file] = _observations(file, columns)
    if findings.errors:
        raise InputError(findings.errors, can_be_validated=False)
    _check_common(observed)
    lower = _lower(observed, columns.lower)
    whole = dict(observed)
    warnings = {file: [*found.warnings] for file, found in observed.items()}

    def warn(file: str, kind: str, message: str) -> None:
        warnings[file].append(Problem(kind, message, "warning", file))

    common = set.intersection(*(set(found.items.values()) for found in observed.values()))
    first, *others = observed.values()
    shared = [score for score in first.values if all(score in other.values for other in others)]
    for score in shared:
        everywhere = set.intersection(*(found.items_of(score) for found in observed.values()))
        if not everywhere:
            raise UsageError(f'no item has the score "{shorten(score)}" in all files')
        # What is not in all files, the comparison leaves out itself.
        lacking = common - everywhere
        for file, found in observed.items():
            if left_out := len(found.items_of(score) & lacking):
                warn(
                    file,
                    "left-out",
                    f"{left_out} items with {score} are left out: another file has it not",
                )
                values = found.values[score].items()
                kept = {unit: value for unit, value in values if found.items[unit] not in lacking}
                observed[file] = found.with_values(score, kept)
    for score in shared:
        _as_shares(observed, score, warn)
        _check_values(observed, score, warn)
        _check_left_out(whole, observed, score, warn)
    outcomes: dict[str, bool] = {}
    for found in observed.values():
        for score, of_score in found.values.items():
            are_outcomes = all(value in (0, 1) for value in of_score.values())
            outcomes[score] = outcomes.get(score, True) and are_outcomes
    scored = {file: _scored(found, outcomes, lower) for file, found in observed.items()}
    return ItemScores(scored, _clusters(observed), {f: tuple(w) for f, w in warnings.items()})


# Which column is which.


def _columns(rows: Rows, asked: Columns, findings: Findings) -> Columns:
    """Return the columns that are read. Raises `InputError` where item or score is missing."""
    names, known = rows.names, rows.columns

    def column(what: str, name: str | None) -> str | None:
        if name is None:
            return _first(what, names)
        if (found := _named(name, names)) is None:
            findings.error(
                "no-such-column",
                f'--{what}-column: no column "{shorten(name)}" for the {what}'
                f"{did_you_mean(name, names)}{_there(names)}",
            )
        return found

    item = known.item if asked.item is None else None
    item = item or column("item", asked.item)
    if item is None and asked.item is None:
        usual = " or ".join(f'"{name}"' for name in NAMES["item"].split()[:4])
        findings.error(
            "no-such-column",
            f"no column is the item: call it {usual}, or name it by --item-column{_there(names)}",
        )
    if item is not None and asked.item is None and known.item is None:
        _warn_of_other_items(rows, item, findings)
    cluster = column("cluster", asked.cluster)
    trial = known.trial if asked.trial is None else None
    trial = trial or column("trial", asked.trial)
    if asked.trial is None and trial and all(v in (None, "") for v in rows.values(trial)):
        trial = None  # trials are then in their order
    metric = None if asked.scores or known.scores else _first("metric", names)
    if asked.scores:
        scores = _asked_scores(rows, asked.scores, {item, cluster, trial, metric}, findings)
    else:
        scores = known.scores or _usual_scores(rows, {item, cluster, trial, metric}, findings)
    findings.check()
    return Columns(item, scores, cluster, trial, metric)


def _asked_scores(
    rows: Rows, asked: Sequence[str], taken: set[str | None], findings: Findings
) -> tuple[str, ...]:
    names, scored = rows.names, rows.columns.scores
    found: dict[str, None] = {}
    for name in _whole_names(asked, (*scored, *names)):
        # Of the scores of a format first: `match` is its scorer, whatever else is called so.
        column = _named(name, scored) or _named(name, names)
        if column is None:
            findings.error(
                "no-such-column",
                f'--score: no column "{shorten(name)}"{did_you_mean(name, names)}'
                f"{_with_numbers(rows, taken)}{_there(names)}",
            )
        else:
            found[column] = None
    return tuple(found)


def _usual_scores(rows: Rows, taken: set[str | None], findings: Findings) -> tuple[str, ...]:
    """Return the columns with usual names of scores that have numbers."""
    names, scores = rows.names, NAMES["score"].split()
    usual = [name for known in scores for name in names if name.lower() == known]
    for known in ("scores", *scores, "metrics"):
        usual += [name for name in names if name.startswith(f"{known}.")]
    usual = [name for name in usual if name not in taken]
    numbers = [name for name in usual if all(map(is_number, rows.values(name)))]
    for name in usual if numbers else ():
        if name not in numbers:
            findings.warning("not-a-score", f'column "{shorten(name)}" is left out: no numbers')
    if not usual:
        known = " or ".join(f'"{name}"' for name in scores[:3])
        findings.error(
            "no-such-column",
            f"no column is the score: call it {known}, or name it by --score"
            f"{_with_numbers(rows, taken)}{_there(names)}",
        )
    return tuple(numbers or usual[:1])


def _warn_of_other_items(rows: Rows, item: str, findings: Findings) -> None:
    """Warn where another column may be the item as well, and tells rows apart otherwise."""
    values = list(map(str, rows.values(item)))
    number = len(set(values))
    names = rows.names
    usual = NAMES["item"].split()
    for other in (name for known in usual for name in names if name.lower() == known):
        pairs = set(zip(values, map(str, rows.values(other)), strict=True))
        found = len({pair[1] for pair in pairs})
        if not len(pairs) == number == found:
            findings.warning(
                "other-item",
                f'the item is column "{shorten(item)}" ({number} of them), not '
                f'"{shorten(other)}" ({found}); if it is that: --item-column "{shorten(other)}"',
            )


def _whole_names(parts: Sequence[str], known: Sequence[str]) -> list[str]:
    """Return the names in a list that was split at commas, which names may have themselves.

    lm-evaluation-harness calls scores `exact_match,strict-match`; the longest name that is
    `known` is taken.
    """
    names = []
    rest = list(parts)
    while rest:
        lengths = range(len(rest), 1, -1)
        length = next((n for n in lengths if _named(",".join(rest[:n]), known)), 1)
        names.append(",".join(rest[:length]))
        del rest[:length]
    return names


def _first(what: str, names: Sequence[str]) -> str | None:
    usual = NAMES[what].split()
    return next((name for known in usual if (name := _named(known, names))), None)


def _named(name: str, names: Sequence[str]) -> str | None:
    """Return the column of a name, that with the same case first."""
    if name in names:
        return name
    return next((known for known in names if known.lower() == name.lower()), None)


def _with_numbers(rows: Rows, taken: set[str | None]) -> str:
    """Return which columns have numbers, and so may be scores."""
    found = [
        name
        for name in rows.names
        if name not in taken
        and any(value is not None for value in rows.values(name))
        and all(map(is_number, rows.values(name)))
    ]
    return f" (numbers are in: {_listed(found)})" if found else ""


def _there(names: Sequence[str]) -> str:
    return f" (there are: {_listed(names)})" if names else " (there are none)"


def _listed(names: Sequence[str]) -> str:
    more = f" and {len(names) - SHOWN_COLUMNS} more" if len(names) > SHOWN_COLUMNS else ""
    return ", ".join(f'"{shorten(name)}"' for name in names[:SHOWN_COLUMNS]) + more


# One file.


def _observations(file: str, asked: Columns) -> _Observations:
    """Read a file. Raises `InputError` with every problem of it."""
    rows = read_rows(file)
    findings = Findings(file)
    findings.extend(rows.warnings)
    columns = _columns(rows, asked, findings)
    assert columns.item is not None
    values: dict[str, dict[str, float]] = {}
    items: dict[str, str] = {}
    clusters: dict[str, str] = {}
    labels: dict[str, str] = {}
    counts: Counter[tuple[str, str]] = Counter()
    seen: set[tuple[str, str]] = set()
    for row in rows.rows:
        item = _text(row, columns.item, "item", findings)
        if item is None:
            continue
        if columns.cluster is not None:
            cluster = _text(row, columns.cluster, "cluster", findings)
            if cluster is not None and clusters.setdefault(item, cluster) != cluster:
                findings.error(
                    "other-cluster",
                    f'{row.place}: item "{shorten(item)}" is of cluster "{shorten(cluster)}", '
                    f'and before of "{shorten(clusters[item])}"',
                )
        for column in columns.scores:
            if column not in row.values and column in rows.columns.scores:
                continue  # a score of the format is not in every row: of other filters, of errors
            name = column
            if columns.metric is not None:
                name = _text(row, columns.metric, "name of the score", findings) or column
            score = name.lower()
            labels.setdefault(score, name)
            if columns.trial is None:
                counts[item, score] += 1
                trial: str | None = str(counts[item, score])
            else:
                trial = _text(row, columns.trial, "trial", findings)
            if trial is None:
                continue
            unit = f"{item}{TRIAL_MARK}{trial}"
            if (unit, score) in seen:
                findings.error(
                    "repeated-trial",
                    f'{row.place}: trial "{shorten(trial)}" of item "{shorten(item)}" came before; '
                    "leave one out, or name the column that tells them apart (--trial-column)",
                )
            seen.add((unit, score))
            value = row.get(column)
            try:
                number = number_of(value)
            except (ValueError, TypeError, OverflowError):
                decimals = ": decimals are written 0.5" if "," in str(value) else ""
                findings.error(
                    "not-a-number",
                    f'{row.place}: {shorten(name)} is "{shorten(str(value))}", which is not a '
                    f"number{decimals}",
                )
                continue
            if number is None:
                findings.warning("no-score", f"trials without {shorten(name)} are not counted")
            else:
                items[unit] = item
                values.setdefault(score, {})[unit] = number
    repeated = {item for (item, _), count in counts.items() if count > 1}
    of_all = {item for item, _ in counts}
    if repeated and len(repeated) < len(of_all):
        findings.warning(
            "repeated-item",
            f'{len(repeated)} of {len(of_all)} items, such as "{shorten(min(repeated))}", have '
            "several rows, which count as trials; leave one out if it is there twice",
        )
    if not findings.errors and not values:
        findings.error("no-scores", "there is no row with a score")
    findings.check()
    return _Observations(file, values, items, clusters, labels, tuple(findings.warnings))


def _text(row: Row, column: str, what: str, findings: Findings) -> str | None:
    """Return a value as a name; None, and it is an error, where there is none."""
    value: Any = row.get(column)
    if isinstance(value, Cut):
        findings.error("cut", f'{row.place}: the {what}, "{column}", is {value}')
        return None
    if isinstance(value, float) and value.is_integer():
        value = int(value)  # 1.0 and 1 are one number
    if isinstance(value, str | bool | int | float) and (words := str(value).split()):
        # Spaces are one, as inspect_ai has them in summaries, and so are spellings of letters.
        return normalize("NFC", " ".join(words))
    findings.error("no-name", f'{row.place} has no {what} in column "{column}"')
    return None


# Files that are compared with each other.

Warn = Callable[[str, str, str], None]
"""Adds a warning: the file, the kind, the message."""


def _as_shares(observed: dict[str, _Observations], score: str, warn: Warn) -> None:
    """Divide a score of 0 and 100 by 100 where it is 0 and 1 in another file."""
    kinds = {file: set(found.values[score].values()) for file, found in observed.items()}
    if not any(kind <= {0, 1} and 1 in kind for kind in kinds.values()):
        return
    for file, kind in kinds.items():
        if kind <= {0, 100} and 100 in kind:
            found = observed[file]
            values = {unit: value / 100 for unit, value in found.values[score].items()}
            observed[file] = found.with_values(score, values)
            warn(file, "units", f"{score}: 0 and 100 are read as 0 and 1, as in another file")


def _check_values(observed: Mapping[str, _Observations], score: str, warn: Warn) -> None:
    """Warn of values that look like marks of errors, other units, means, or copies of a file."""
    seen: dict[tuple[tuple[str, float], ...], str] = {}
    ranges = {}
    for file, found in observed.items():
        values = found.values[score]
        kinds = set(values.values())
        ranges[file] = min(kinds), max(kinds)
        errors = sum(value == -1 for value in values.values())
        if errors and min(kinds - {-1}, default=-1) >= 0:
            message = (
                f"{score} is -1 in {errors} rows and at least 0 in all others: if -1 marks an "
                "error, leave the score of these rows empty"
            )
            warn(file, "values", message)
        if _is_doubled(found, score):
            message = (
                f"each item has every {score} more than once: was the file joined with itself?"
            )
            warn(file, "values", message)
        copy_of = seen.setdefault(tuple(sorted(values.items())), file)
        if copy_of != file and len(values) > 1:
            warn(file, "values", f"{score} is the same as in {copy_of} for every item")
    shares = [file for file, (low, high) in ranges.items() if low >= 0 and high <= 1]
    for file, (_, high) in ranges.items():
        if shares and high > 1:
            message = (
                f"{score} is up to {high:g}, and at most 1 in {shares[0]}: is it in the same unit?"
            )
            warn(file, "units", message)
    for greatest in (1, 100):
        within = [f for f, (low, high) in ranges.items() if low >= 0 and high <= greatest]
        kinds_of = {file: set(observed[file].values[score].values()) for file in within}
        single = [f for f in within if kinds_of[f] <= {0, greatest} and greatest in kinds_of[f]]
        for file in within:
            if single and ranges[file][1] > greatest / 100 and not kinds_of[file] <= {0, greatest}:
                message = (
                    f"{score} has values between 0 and {greatest}, and only 0 and {greatest} in "
                    f"{single[0]}: if they are means of trials, write a row for each trial"
                )
                warn(file, "means", message)


def _is_doubled(found: _Observations, score: str) -> bool:
    """Tell whether a file has each item with each score twice, or k times, for one k."""
    counts = Counter((found.items[unit], value) for unit, value in found.values[score].items())
    items = {item for item, _ in counts}
    return len(items) >= FEWEST_DOUBLED and math.gcd(*counts.values()) > 1


def _check_left_out(
    whole: Mapping[str, _Observations],
    observed: Mapping[str, _Observations],
    score: str,
    warn: Warn,
) -> None:
    """Warn where the items that some file lacks move a score by more than its standard error."""
    common = set.intersection(*(found.items_of(score) for found in observed.values()))
    for file, found in whole.items():
        means = _item_means(found, score)
        kept = [value for item, value in means.items() if item in common]
        if len(kept) == len(means):
            continue
        with np.errstate(over="ignore", invalid="ignore"):  # of values near the largest number
            error = float(np.std(list(means.values()), ddof=1)) / len(means) ** 0.5
            before, after = np.mean(list(means.values())), np.mean(kept)
        if abs(after - before) > error:
            message = (
                f"{len(means) - len(kept)} of {len(means)} items are not in all files; without "
                f"them {score} changes from {before:.3g} to {after:.3g}, by more than its standard "
                f"error ({error:.2g})"
            )
            warn(file, "left-out", message)


def _item_means(found: _Observations, score: str) -> dict[str, float]:
    values: dict[str, list[float]] = {}
    for unit, value in found.values[score].items():
        values.setdefault(found.items[unit], []).append(value)
    return {item: sum(each) / len(each) for item, each in values.items()}


def _check_common(observed: Mapping[str, _Observations]) -> None:
    first, *others = observed.values()
    for other in others:
        mine, theirs = first.items.values(), other.items.values()
        if not set(mine) & set(theirs):
            raise UsageError(
                f"{first.file} and {other.file} have no item in common: there are "
                f'"{shorten(next(iter(mine)))}" and "{shorten(next(iter(theirs)))}" — are they of '
                "one benchmark, and is the item another column (--item-column NAME)?"
            )
        if not first.values.keys() & other.values.keys():
            names = (", ".join(map(shorten, found.labels.values())) for found in (first, other))
            raise UsageError(
                f"{first.file} and {other.file} have no score in common: {' and '.join(names)}; "
                "give the columns one name, or choose by --score"
            )


def _clusters(observed: Mapping[str, _Observations]) -> dict[str, str] | None:
    """Return the cluster of each item, from all files that say it."""
    clusters: dict[str, str] = {}
    for found in observed.values():
        for item, cluster in found.clusters.items():
            if clusters.setdefault(item, cluster) != cluster:
                raise UsageError(
                    f'item "{shorten(item)}" is of cluster "{shorten(cluster)}" in {found.file}, '
                    f'and of "{shorten(clusters[item])}" in a file before it'
                )
    if not clusters:
        return None
    common = set.intersection(*(set(found.items.values()) for found in observed.values()))
    if lacking := sorted(common - clusters.keys()):
        raise UsageError(f'no file says of which cluster item "{shorten(lacking[0])}" is')
    return clusters


def _lower(observed: Mapping[str, _Observations], asked: Sequence[str]) -> set[str]:
    """Return the scores that are better when lower."""
    known = list(dict.fromkeys(score for found in observed.values() for score in found.values))
    names = _whole_names(asked, known)
    for name in names:
        if name.lower() not in known:
            raise UsageError(
                f'--lower-is-better: no score "{shorten(name)}"{did_you_mean(name.lower(), known)} '
                f"(there are: {', '.join(map(shorten, known))})"
            )
    return {name.lower() for name in names}


def _scored(
    observed: _Observations, outcomes: Mapping[str, bool], lower: Collection[str]
) -> ScoredTable:
    """Return the scores of one file, an item a unit."""
    units = dict.fromkeys(unit for of_score in observed.values.values() for unit in of_score)
    names = tuple(dict.fromkeys(observed.items[unit] for unit in units))
    # That a failure comes k times is no pass^k.
    first = next((s for s in observed.values if outcomes[s] and s not in lower), None)
    several = sum(outcomes[score] for score in observed.values) > 1
    parts, of_trials = [], []
    for score, values in observed.values.items():
        measure = _measure(observed, score, outcomes[score], is_lower=score in lower)
        rows = ((unit, {score: v, _count(score): 1}) for unit, v in values.items())
        of_trials.append(Table.from_rows((score, _count(score)), rows))
        of_score = of_items(
            ScoredTable(of_trials[-1], (measure,)),
            observed.items.__getitem__,
            outcome=score if score == first else None,
        )
        parts.append(_labelled(of_score, measure) if several else of_score)
    trials = None
    if len(units) > len(names):
        of_units = tuple(observed.items[unit] for unit in units)
        trials = Trials(_beside(of_trials, tuple(units)), of_units)
    by_item = _beside([part.table for part in parts], names)
    return ScoredTable(by_item, tuple(m for part in parts for m in part.measures), trials=trials)


def _beside(tables: list[Table], units: tuple[str, ...]) -> Table:
    """Return all columns for these units, 0 where a table has none of a unit."""
    position = {unit: index for index, unit in enumerate(units)}
    columns = tuple(column for table in tables for column in table.columns)
    values = np.zeros((len(units), len(columns)))
    start = 0
    for table in tables:
        rows = [position[unit] for unit in table.units]
        values[rows, start : start + len(table.columns)] = table.values
        start += len(table.columns)
    return Table(units, columns, values)


def _labelled(scored: ScoredTable, measure: Measure) -> ScoredTable:
    """Return scores of trials with the name of that which they are of, where there are others."""
    return replace(
        scored,
        measures=tuple(
            m
            if m.name == measure.name
            else replace(
                m,
                label=f"{m.label} of {measure.label}",
                signature=m.signature.extended({"of": measure.name}),
            )
            for m in scored.measures
        ),
    )


def _measure(observed: _Observations, score: str, is_outcome: bool, *, is_lower: bool) -> Measure:
    values = observed.values[score]
    label = observed.labels[score]
    fine = not is_outcome and all(abs(value) <= 1 for value in values.values())
    return Measure(
        score,
        label[:1].upper() + label[1:],
        Signature.of(score, {"n": len(values), "unit": PERCENT if is_outcome else AS_GIVEN}),
        percentage(score, of=_count(score)) if is_outcome else partial(_mean, score),
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


def _mean(score: str, sums: Sums) -> NDArray[np.float64]:
    return np.asarray(sums[score] / sums[_count(score)])
