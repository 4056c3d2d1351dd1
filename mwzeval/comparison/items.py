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
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, TypeAlias
from unicodedata import normalize

import numpy as np
from numpy.typing import NDArray

from mwzeval.comparison.item_formats import CUT, Columns, Rows, is_number, number_of, read_rows
from mwzeval.errors import InputError, Problem, UsageError, did_you_mean, shorten
from mwzeval.metrics import trials
from mwzeval.metrics.measure import Measure, ScoredTable, percentage
from mwzeval.scores.findings import Findings
from mwzeval.scores.score import Signature
from mwzeval.scores.table import Table
from mwzeval.scores.trials import trial_name
from mwzeval.statistics.bootstrap import Sums
from mwzeval.statistics.trials import Trials

Values: TypeAlias = dict[tuple[str, str], float]
"""The values of one score by item and trial."""

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


@dataclass(slots=True)
class _File:
    """What a file says: the values of each score, the clusters of items.

    Names of scores are in lower case, `labels` has them as they were given.
    """

    name: str
    findings: Findings
    values: dict[str, Values]
    clusters: Mapping[str, str]
    labels: Mapping[str, str]

    def items(self, *scores: str) -> dict[str, None]:
        """Return the items that have any of these scores (without: any at all), in order."""
        return {item: None for score in scores or self.values for item, _ in self.values[score]}


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
    read = []
    for name in dict.fromkeys(files):
        with findings.collecting():
            read.append(_read(name, columns))
    if findings.errors:
        raise InputError(findings.errors, can_be_validated=False)
    _check_common(read)
    lower = _lower(read, columns.lower)
    common = set.intersection(*(set(file.items()) for file in read))
    shared = [score for score in read[0].values if all(score in file.values for file in read)]
    for score in shared:
        _leave_out(read, score, common)
        _convert_percent(read, score)
        _check_units(read, score)
        _check_copies(read, score)
    outcomes: dict[str, bool] = {}
    for file in read:
        for score, values in file.values.items():
            outcomes[score] = outcomes.get(score, True) and set(values.values()) <= {0, 1}
    return ItemScores(
        {file.name: _scored(file, outcomes, lower) for file in read},
        _clusters(read, common),
        {file.name: tuple(file.findings.warnings) for file in read},
    )


# Which column is which.


def _columns(rows: Rows, asked: Columns, findings: Findings) -> Columns:
    """Return the columns that are read. Raises `InputError` where item or score is missing."""
    names, known = rows.names, rows.columns

    def column(what: str, name: str | None, of_format: str | None) -> str | None:
        found = (of_format or _usual(what, names)) if name is None else _named(name, names)
        if name is not None and found is None:
            missing = f"no column {_quoted(name)} for the {what}{did_you_mean(name, names)}"
            findings.error("no-such-column", f"--{what}-column: {missing}{_listed(names)}")
        return found

    item = column("item", asked.item, known.item)
    if asked.item is None and item is None:
        usual = " or ".join(map(_quoted, NAMES["item"].split()[:4]))
        missing = f"no column is the item: call it {usual}, or name it by --item-column"
        findings.error("no-such-column", f"{missing}{_listed(names)}")
    elif asked.item is None and item is not None and known.item is None:
        _warn_of_other_items(rows, item, findings)
    cluster = column("cluster", asked.cluster, None)
    trial = column("trial", asked.trial, known.trial)
    if asked.trial is None and trial and all(v in (None, "") for v in rows.values(trial)):
        trial = None  # trials are then in their order
    if asked.scores:
        return Columns(item, _asked_scores(rows, asked.scores, findings), cluster, trial)
    if known.scores:
        findings.check()
        return Columns(item, known.scores, cluster, trial)
    metric = _usual("metric", names)
    scores = _usual_scores(rows, {item, cluster, trial, metric}, findings)
    return Columns(item, scores, cluster, trial, metric)


def _asked_scores(rows: Rows, asked: Sequence[str], findings: Findings) -> tuple[str, ...]:
    names, scored = rows.names, rows.columns.scores
    found: dict[str, None] = {}
    for name in _whole_names(asked, (*scored, *names)):
        # Of the scores of a format first: `match` is its scorer, whatever else is called so.
        column = _named(name, scored) or _named(name, names)
        if column is None:
            findings.error(
                "no-such-column",
                f'--score: no column "{shorten(name)}"{did_you_mean(name, names)}'
                f"{_with_numbers(rows)}",
            )
        else:
            found[column] = None
    findings.check()
    return tuple(found)


def _usual_scores(rows: Rows, taken: set[str | None], findings: Findings) -> tuple[str, ...]:
    """Return the columns with usual names of scores that have numbers."""
    names, known = rows.names, NAMES["score"].split()
    usual = [name for score in known for name in names if name.lower() == score]
    for outer in ("scores", *known, "metrics"):
        usual += [name for name in names if name.startswith(f"{outer}.")]
    usual = [name for name in usual if name not in taken]
    numbers = [name for name in usual if all(map(is_number, rows.values(name)))]
    for name in usual if numbers else ():
        if name not in numbers:
            findings.warning("not-a-score", f'column "{shorten(name)}" is left out: no numbers')
    if not usual:
        findings.error(
            "no-such-column",
            f"no column is the score: call it {' or '.join(map(_quoted, known[:3]))}, or name it "
            f"by --score{_with_numbers(rows, taken)}",
        )
    findings.check()
    return tuple(numbers or usual[:1])


def _warn_of_other_items(rows: Rows, item: str, findings: Findings) -> None:
    """Warn where another column may be the item as well, and tells rows apart otherwise."""
    values = list(map(str, rows.values(item)))
    number = len(set(values))
    names = rows.names
    for other in (
        name for usual in NAMES["item"].split() for name in names if name.lower() == usual
    ):
        pairs = set(zip(values, map(str, rows.values(other)), strict=True))
        found = len({pair[1] for pair in pairs})
        if not len(pairs) == number == found:
            findings.warning(
                "other-item",
                f"the item is column {_quoted(item)} ({number} of them), not {_quoted(other)} "
                f"({found}); if it is that: --item-column {_quoted(other)}",
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


def _usual(what: str, names: Sequence[str]) -> str | None:
    return next(filter(None, (_named(name, names) for name in NAMES[what].split())), None)


def _named(name: str, names: Sequence[str]) -> str | None:
    """Return the column of a name, that with the same case first."""
    if name in names:
        return name
    return next((known for known in names if known.lower() == name.lower()), None)


def _with_numbers(rows: Rows, taken: Collection[str | None] = ()) -> str:
    """Return which columns have numbers, and so may be scores; all names where none has."""
    numbers = [
        name
        for name in rows.names
        if name not in taken
        and any(value is not None for value in rows.values(name))
        and all(map(is_number, rows.values(name)))
    ]
    return _listed(numbers, "numbers are in") if numbers else _listed(rows.names)


def _listed(names: Sequence[str], what: str = "there are") -> str:
    more = f" and {len(names) - SHOWN_COLUMNS} more" if len(names) > SHOWN_COLUMNS else ""
    return f" ({what}: {', '.join(map(_quoted, names[:SHOWN_COLUMNS])) or 'none'}{more})"


def _quoted(name: str) -> str:
    return f'"{shorten(name)}"'


# One file.


def _read(name: str, asked: Columns) -> _File:
    """Read a file. Raises `InputError` with every problem of it."""
    findings = Findings(name)
    rows = read_rows(name, findings)
    columns = _columns(rows, asked, findings)
    assert columns.item is not None
    values: dict[str, Values] = {}
    clusters: dict[str, str] = {}
    labels: dict[str, str] = {}
    counts: Counter[tuple[str, str]] = Counter()
    seen: set[tuple[str, str]] = set()
    for place, row in rows.rows:
        name_in = partial(_name_in, row, place=place, findings=findings)
        item = name_in(columns.item, "item")
        if item is None:
            continue
        if columns.cluster is not None:
            cluster = name_in(columns.cluster, "cluster")
            if cluster is not None and clusters.setdefault(item, cluster) != cluster:
                findings.error(
                    "other-cluster",
                    f"{place}: item {_quoted(item)} is of cluster {_quoted(cluster)}, and "
                    f"before of {_quoted(clusters[item])}",
                )
        for column in columns.scores:
            if column not in row and column in rows.columns.scores:
                continue  # a score of the format is not in every row: of other filters, of errors
            label: str | None = column
            if columns.metric is not None:
                label = name_in(columns.metric, "name of the score")
            if label is None:
                continue
            score = label.lower()
            labels.setdefault(score, label)
            counts[item, score] += 1
            trial: str | None = str(counts[item, score])
            if columns.trial is not None:
                trial = name_in(columns.trial, "trial")
            if trial is None:
                continue
            if (unit := (trial_name(item, trial), score)) in seen:
                findings.error(
                    "repeated-trial",
                    f"{place}: trial {_quoted(trial)} of item {_quoted(item)} came before; "
                    "leave one out, or name the column that tells them apart (--trial-column)",
                )
            seen.add(unit)
            value = row.get(column)
            try:
                number = number_of(value)
            except (ValueError, TypeError, OverflowError):
                decimals = ": decimals are written 0.5" if "," in str(value) else ""
                findings.error(
                    "not-a-number",
                    f"{place}: {shorten(label)} is {_quoted(str(value))}, which is not a "
                    f"number{decimals}",
                )
                continue
            if number is None:
                findings.warning("no-score", f"trials without {shorten(label)} are not counted")
            else:
                values.setdefault(score, {})[item, trial] = number
    repeated = {item for (item, _), count in counts.items() if count > 1}
    of_all = {item for item, _ in counts}
    if columns.trial is None and repeated and len(repeated) < len(of_all):
        findings.warning(
            "repeated-item",
            f"{len(repeated)} of {len(of_all)} items, such as {_quoted(min(repeated))}, have "
            "several rows, which count as trials; leave one out if it is there twice",
        )
    if not findings.errors and not values:
        findings.error("no-scores", "there is no row with a score")
    findings.check()
    return _File(name, findings, values, clusters, labels)


def _name_in(
    row: Mapping[str, Any], column: str, what: str, *, place: str, findings: Findings
) -> str | None:
    """Return a value as a name; None, and it is an error, where there is none."""
    value = row.get(column)
    if value == CUT:
        findings.error("cut", f'{place}: the {what}, "{column}", is {value}')
        return None
    if isinstance(value, float) and value.is_integer():
        value = int(value)  # 1.0 and 1 are one number
    if isinstance(value, str | bool | int | float) and (words := str(value).split()):
        # Spaces are one, as inspect_ai has them in summaries, and so are spellings of letters.
        return normalize("NFC", " ".join(words))
    findings.error("no-name", f'{place} has no {what} in column "{column}"')
    return None


# Files that are compared with each other.


def _check_common(files: Sequence[_File]) -> None:
    first, *others = files
    for other in others:
        mine, theirs = first.items(), other.items()
        if not mine.keys() & theirs.keys():
            raise UsageError(
                f"{first.name} and {other.name} have no item in common: there are "
                f"{_quoted(next(iter(mine)))} and {_quoted(next(iter(theirs)))} — are they of one "
                "benchmark, and is the item another column (--item-column NAME)?"
            )
        if not first.values.keys() & other.values.keys():
            names = (", ".join(map(shorten, file.labels.values())) for file in (first, other))
            raise UsageError(
                f"{first.name} and {other.name} have no score in common: {' and '.join(names)}; "
                "give the columns one name, or choose by --score"
            )


def _leave_out(files: Sequence[_File], score: str, common: Collection[str]) -> None:
    """Remove items that lack a score in another file; warn, also where that changes the score.

    Items that are not `common` to all files are left out by the comparison itself.

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
                f"{len(lacking)} items with {score} are left out: another file has it not",
            )
        of_items: dict[str, list[float]] = {}
        for (item, _), value in file.values[score].items():
            of_items.setdefault(item, []).append(value)
        means = {item: sum(values) / len(values) for item, values in of_items.items()}
        kept = [mean for item, mean in means.items() if item in everywhere]
        values = file.values[score].items()
        file.values[score] = {unit: value for unit, value in values if unit[0] not in lacking}
        if len(kept) == len(means):
            continue
        with np.errstate(over="ignore", invalid="ignore"):  # of values near the largest number
            error = float(np.std(list(means.values()), ddof=1)) / len(means) ** 0.5
            before, after = np.mean(list(means.values())), np.mean(kept)
        if abs(after - before) > error:
            file.findings.warning(
                "left-out",
                f"{len(means) - len(kept)} of {len(means)} items are not in all files; without "
                f"them {score} changes from {before:.3g} to {after:.3g}, by more than its standard "
                f"error ({error:.2g})",
            )


def _convert_percent(files: Sequence[_File], score: str) -> None:
    """Divide a score of 0 and 100 by 100 where it is 0 and 1 in another file."""
    kinds = [set(file.values[score].values()) for file in files]
    if not any(kind <= {0, 1} and 1 in kind for kind in kinds):
        return
    for file, kind in zip(files, kinds, strict=True):
        if kind <= {0, 100} and 100 in kind:
            file.values[score] = {unit: v / 100 for unit, v in file.values[score].items()}
            message = f"{score}: 0 and 100 are read as 0 and 1, as in another file"
            file.findings.warning("units", message)


def _check_units(files: Sequence[_File], score: str) -> None:
    """Warn of values that look like marks of errors, other units, or means of trials."""
    kinds = [(file, set(file.values[score].values())) for file in files]
    shares = [file for file, kind in kinds if min(kind) >= 0 and max(kind) <= 1]
    for file, kind in kinds:
        if -1 in kind and min(kind - {-1}, default=-1) >= 0:
            errors = sum(value == -1 for value in file.values[score].values())
            file.findings.warning(
                "values",
                f"{score} is -1 in {errors} rows and at least 0 in all others: if -1 marks an "
                "error, leave the score of these rows empty",
            )
        if shares and max(kind) > 1:
            file.findings.warning(
                "units",
                f"{score} is up to {max(kind):g}, and at most 1 in {shares[0].name}: is it in the "
                "same unit?",
            )
    for greatest in (1, 100):
        within = [(file, kind) for file, kind in kinds if 0 <= min(kind) <= max(kind) <= greatest]
        single = [file for file, kind in within if kind <= {0, greatest} and greatest in kind]
        for file, kind in within if single else ():
            if max(kind) > greatest / 100 and not kind <= {0, greatest}:
                file.findings.warning(
                    "means",
                    f"{score} has values between 0 and {greatest}, and only 0 and {greatest} in "
                    f"{single[0].name}: if they are means of trials, write a row for each trial",
                )


def _check_copies(files: Sequence[_File], score: str) -> None:
    """Warn of a file that is a copy of another one, or was joined with itself."""
    seen: dict[tuple[object, ...], str] = {}
    for file in files:
        values = file.values[score]
        counts = Counter((item, value) for (item, _), value in values.items())
        # With each value of an item twice, or k times for one k.
        if len(file.items(score)) >= FEWEST_DOUBLED and math.gcd(*counts.values()) > 1:
            message = (
                f"each item has every {score} more than once: was the file joined with itself?"
            )
            file.findings.warning("values", message)
        copy_of = seen.setdefault(tuple(sorted(values.items())), file.name)
        if copy_of != file.name and len(values) > 1:
            message = f"{score} is the same as in {copy_of} for every item"
            file.findings.warning("values", message)


def _clusters(files: Sequence[_File], common: Collection[str]) -> dict[str, str] | None:
    """Return the cluster of each item, from all files that say it."""
    clusters: dict[str, str] = {}
    for file in files:
        for item, cluster in file.clusters.items():
            if clusters.setdefault(item, cluster) != cluster:
                raise UsageError(
                    f"item {_quoted(item)} is of cluster {_quoted(cluster)} in {file.name}, and of "
                    f"{_quoted(clusters[item])} in a file before it"
                )
    if clusters and (lacking := set(common) - clusters.keys()):
        raise UsageError(f"no file says of which cluster item {_quoted(min(lacking))} is")
    return clusters or None


def _lower(files: Sequence[_File], asked: Sequence[str]) -> set[str]:
    """Return the scores that are better when lower."""
    known = list(dict.fromkeys(score for file in files for score in file.values))
    names = _whole_names(asked, known)
    for name in names:
        if name.lower() not in known:
            raise UsageError(
                f"--lower-is-better: no score {_quoted(name)}{did_you_mean(name.lower(), known)}"
                f"{_listed(known)}"
            )
    return {name.lower() for name in names}


def _scored(file: _File, outcomes: Mapping[str, bool], lower: Collection[str]) -> ScoredTable:
    """Return the scores of one file, an item a unit."""
    # That a failure comes k times is no pass^k.
    first = next((s for s in file.values if outcomes[s] and s not in lower), None)
    several = sum(outcomes[score] for score in file.values) > 1
    item_of = {trial_name(*key): key[0] for values in file.values.values() for key in values}
    of_trials, of_items, measures = [], [], []
    for score, values in file.values.items():
        measure = _measure(file, score, outcomes[score], is_lower=score in lower)
        rows = ((trial_name(*key), {score: v, _count(score): 1}) for key, v in values.items())
        table = Table.from_rows((score, _count(score)), rows)
        found = trials.of_items(
            ScoredTable(table, (measure,)),
            item_of.__getitem__,
            outcome=score if score == first else None,
        )
        of_trials.append(table)
        of_items.append(found.table)
        for m in found.measures:
            if several and m.name != score:
                signature = m.signature.extended({"of": score})
                label = f"{m.label} of {measure.label}"
                measures.append(replace(m, label=label, signature=signature))
            else:
                measures.append(m)
    table = _beside(of_items, file.items())
    if len(item_of) == len(table.units):
        return ScoredTable(table, tuple(measures))
    repeated = Trials(_beside(of_trials, item_of), tuple(item_of.values()))
    return ScoredTable(table, tuple(measures), trials=repeated)


def _beside(tables: Sequence[Table], units: Iterable[str]) -> Table:
    """Return all columns for these units, 0 where a table has none of a unit."""
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
