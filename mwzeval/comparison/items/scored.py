"""From observations of files that are held together to scores with an item a unit.

Scores that are 0 or 1 in all files are rates in percent, as are those that are 0 or 100 in some of
them; where items have several trials, the first
of them has pass^k. All others keep their unit. A score is compared on the items for which all files
have it.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial

import numpy as np
from numpy.typing import NDArray

from mwzeval.comparison.items.naming import Asked, whole_names
from mwzeval.comparison.items.observations import Observations, observations_of_all
from mwzeval.errors import Problem, UsageError, did_you_mean, shorten
from mwzeval.metrics.measure import Measure, ScoredTable, percentage
from mwzeval.metrics.trials import of_items
from mwzeval.scores.score import Signature
from mwzeval.scores.table import Table
from mwzeval.statistics import Sums, Trials

FEWEST_DOUBLED = 10
"""Two equal trials of fewer items may well be chance."""
PERCENT, AS_GIVEN = "percent", "as-given"


@dataclass(frozen=True, slots=True)
class ItemScores:
    """What was scored of each file, the cluster of each item (None: items are), and warnings."""

    scored: Mapping[str, ScoredTable]
    clusters: Mapping[str, str] | None
    warnings: Mapping[str, tuple[Problem, ...]]


def read_items(files: Sequence[str], asked: Asked | None = None) -> ItemScores:
    """Return the scores of files of any benchmark, for comparison with each other.

    Raises:
        InputError: With the problems of all files.
        UsageError: Without a common item, when an item has different clusters in the files, or when
            a score of `asked.lower` does not exist.
    """
    asked = asked or Asked()
    observed = observations_of_all(dict.fromkeys(files), asked)
    _check_common(observed)
    lower = _lower(observed, asked.lower)
    whole = dict(observed)
    warnings = {file: [*of_file.warnings] for file, of_file in observed.items()}
    common = set.intersection(*(set(of.items.values()) for of in observed.values()))
    for score in _shared(observed):
        everywhere = set.intersection(*(set(of.items_of(score)) for of in observed.values()))
        if not everywhere:
            raise UsageError(f'no item has the score "{shorten(score)}" in all files')
        # What is not in all files, the comparison leaves out itself.
        lacking = common - everywhere
        for file, of in observed.items():
            if left_out := len(of.items_of(score).keys() & lacking):
                message = f"{left_out} items with {score} are left out: another file has it not"
                warnings[file].append(Problem("left-out", message, "warning", file))
                observed[file] = of.without(score, lacking)
    for score in _shared(observed):
        _as_shares(observed, score, warnings)
        _check_values(observed, score, warnings)
        _check_left_out(whole, observed, score, warnings)
    outcomes: dict[str, bool] = {}
    for of in observed.values():
        for score, values in of.values.items():
            are_outcomes = all(value in (0, 1) for value in values.values())
            outcomes[score] = outcomes.get(score, True) and are_outcomes
    scored = {file: _scored(of, outcomes, lower) for file, of in observed.items()}
    return ItemScores(scored, _clusters(observed), {f: tuple(w) for f, w in warnings.items()})


def _as_shares(
    observed: dict[str, Observations], score: str, warnings: Mapping[str, list[Problem]]
) -> None:
    """Divide a score of 0 and 100 by 100 where it is 0 and 1 in another file."""
    kinds = {file: set(of.values[score].values()) for file, of in observed.items()}
    if not any(kind <= {0, 1} and 1 in kind for kind in kinds.values()):
        return
    for file, kind in kinds.items():
        if kind <= {0, 100} and 100 in kind:
            of = observed[file]
            values = {unit: value / 100 for unit, value in of.values[score].items()}
            observed[file] = replace(of, values={**of.values, score: values})
            message = f"{score}: 0 and 100 are read as 0 and 1, as in another file"
            warnings[file].append(Problem("units", message, "warning", file))


def _check_values(
    observed: Mapping[str, Observations], score: str, warnings: Mapping[str, list[Problem]]
) -> None:
    """Warn of values that look like marks of errors, other units, means, or copies of a file."""
    seen: dict[tuple[tuple[str, float], ...], str] = {}
    ranges = {}
    for file, of in observed.items():
        values = of.values[score]
        found = set(values.values())
        ranges[file] = min(found), max(found)
        messages = []
        errors = sum(value == -1 for value in values.values())
        if errors and min(found - {-1}, default=-1) >= 0:
            messages.append(
                f"{score} is -1 in {errors} rows and at least 0 in all others: if -1 marks an "
                "error, leave the score of these rows empty"
            )
        if _is_doubled(of, score):
            messages.append(
                f"each item has every {score} more than once: was the file joined with itself?"
            )
        copy_of = seen.setdefault(tuple(sorted(values.items())), file)
        if copy_of != file and len(values) > 1:
            messages.append(f"{score} is the same as in {copy_of} for every item")
        warnings[file] += (Problem("values", text, "warning", file) for text in messages)
    shares = [file for file, (low, high) in ranges.items() if low >= 0 and high <= 1]
    for file, (_, high) in ranges.items():
        if shares and high > 1:
            message = (
                f"{score} is up to {high:g}, and at most 1 in {shares[0]}: is it in the same unit?"
            )
            warnings[file].append(Problem("units", message, "warning", file))
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
                warnings[file].append(Problem("means", message, "warning", file))


def _is_doubled(of: Observations, score: str) -> bool:
    """Tell whether a file has each item with each score twice, or k times, for one k."""
    counts = Counter((of.items[unit], value) for unit, value in of.values[score].items())
    items = {item for item, _ in counts}
    return len(items) >= FEWEST_DOUBLED and math.gcd(*counts.values()) > 1


def _check_left_out(
    whole: Mapping[str, Observations],
    observed: Mapping[str, Observations],
    score: str,
    warnings: Mapping[str, list[Problem]],
) -> None:
    """Warn where the items that some file lacks move a score by more than its standard error."""
    common = set.intersection(*(set(of.items_of(score)) for of in observed.values()))
    for file, of in whole.items():
        means = _item_means(of, score)
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
            warnings[file].append(Problem("left-out", message, "warning", file))


def _item_means(of: Observations, score: str) -> dict[str, float]:
    values: dict[str, list[float]] = {}
    for unit, value in of.values[score].items():
        values.setdefault(of.items[unit], []).append(value)
    return {item: sum(each) / len(each) for item, each in values.items()}


def _shared(observed: Mapping[str, Observations]) -> list[str]:
    first, *others = observed.values()
    return [score for score in first.values if all(score in of.values for of in others)]


def _check_common(observed: Mapping[str, Observations]) -> None:
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
            names = (", ".join(map(shorten, of.labels.values())) for of in (first, other))
            raise UsageError(
                f"{first.file} and {other.file} have no score in common: {' and '.join(names)}; "
                "give the columns one name, or choose by --score"
            )


def _clusters(observed: Mapping[str, Observations]) -> dict[str, str] | None:
    """Return the cluster of each item, from all files that say it."""
    clusters: dict[str, str] = {}
    for of in observed.values():
        for item, cluster in of.clusters.items():
            if clusters.setdefault(item, cluster) != cluster:
                raise UsageError(
                    f'item "{shorten(item)}" is of cluster "{shorten(cluster)}" in {of.file}, and '
                    f'of "{shorten(clusters[item])}" in a file before it'
                )
    if not clusters:
        return None
    common = set.intersection(*(set(of.items.values()) for of in observed.values()))
    if lacking := sorted(common - clusters.keys()):
        raise UsageError(f'no file says of which cluster item "{shorten(lacking[0])}" is')
    return clusters


def _lower(observed: Mapping[str, Observations], asked: Sequence[str]) -> set[str]:
    """Return the scores that are better when lower."""
    known = list(dict.fromkeys(score for of in observed.values() for score in of.values))
    names = whole_names(asked, known)
    for name in names:
        if name.lower() not in known:
            raise UsageError(
                f'--lower-is-better: no score "{shorten(name)}"{did_you_mean(name.lower(), known)} '
                f"(there are: {', '.join(map(shorten, known))})"
            )
    return {name.lower() for name in names}


def _scored(
    observed: Observations, outcomes: Mapping[str, bool], lower: Collection[str]
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


def _labelled(scored: ScoredTable, of: Measure) -> ScoredTable:
    """Return scores of trials with the name of that which they are of, where there are others."""
    return replace(
        scored,
        measures=tuple(
            m
            if m.name == of.name
            else replace(
                m,
                label=f"{m.label} of {of.label}",
                signature=m.signature.extended({"of": of.name}),
            )
            for m in scored.measures
        ),
    )


def _measure(observed: Observations, score: str, is_outcome: bool, *, is_lower: bool) -> Measure:
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
