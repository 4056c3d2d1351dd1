"""What a file says: the value of each score for each trial of each item, and items' clusters.

Where there is no column of trials, rows of an item are its trials in their order. A row without a
score is of a trial that could not be judged, and is none of that score.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass, field, replace
from typing import Any
from unicodedata import normalize

from mwzeval.comparison.items.naming import Asked, columns_of
from mwzeval.comparison.items.recognition import read_sheet
from mwzeval.comparison.items.sheet import Columns, Cut, Row, Sheet, number_of
from mwzeval.errors import InputError, Problem, shorten
from mwzeval.scores.findings import Findings
from mwzeval.statistics.trials import TRIAL_MARK


@dataclass(frozen=True, slots=True)
class Observations:
    """Scores of one file: `values` by score and trial, the item of each trial, items' clusters.

    Names of scores are in lower case, `labels` has them as they were given.
    """

    file: str
    format: str
    values: dict[str, dict[str, float]] = field(default_factory=dict)
    items: dict[str, str] = field(default_factory=dict)
    clusters: dict[str, str] = field(default_factory=dict)
    labels: dict[str, str] = field(default_factory=dict)
    warnings: tuple[Problem, ...] = ()

    def items_of(self, score: str) -> dict[str, None]:
        """Return the items that have a score, in their order."""
        return {self.items[unit]: None for unit in self.values[score]}

    def without(self, score: str, items: Collection[str]) -> Observations:
        """Return all of this, but one score not of some items."""
        of_score = self.values[score].items()
        kept = {unit: v for unit, v in of_score if self.items[unit] not in items}
        return replace(self, values={**self.values, score: kept})


def observations_of(file: str, asked: Asked) -> Observations:
    """Read a file. Raises `InputError` with every problem of it."""
    sheet = read_sheet(file)
    findings = Findings(file)
    findings.extend(sheet.warnings)
    columns = columns_of(sheet, asked, findings)
    observed = Observations(file, sheet.format)
    _Reading(sheet, columns, observed, findings).read()
    if not findings.errors and not any(observed.values.values()):
        findings.error("no-scores", "there is no row with a score")
    findings.check()
    values = {score: of_units for score, of_units in observed.values.items() if of_units}
    return replace(observed, values=values, warnings=tuple(findings.warnings))


@dataclass(slots=True)
class _Reading:
    """One file while it is read."""

    sheet: Sheet
    columns: Columns
    into: Observations
    findings: Findings
    numbers: dict[tuple[str, str], int] = field(default_factory=dict)
    seen: set[tuple[str, str]] = field(default_factory=set)

    def read(self) -> None:
        for row in self.sheet.rows:
            item = self._text(row, self.columns.item, "item")
            if item is None:
                continue
            if self.columns.cluster is not None:
                cluster = self._text(row, self.columns.cluster, "cluster")
                if cluster is not None and self.into.clusters.setdefault(item, cluster) != cluster:
                    self.findings.error(
                        "other-cluster",
                        f'{row.place}: item "{shorten(item)}" is of cluster "{shorten(cluster)}", '
                        f'and before of "{shorten(self.into.clusters[item])}"',
                    )
            for column in self.columns.scores:
                # What a format names as a score is not in every row: of other filters, of errors.
                if column in row.values or column not in self.sheet.columns.scores:
                    self._score(row, item, column)
        self._tell_repeated()

    def _tell_repeated(self) -> None:
        """Warn where some items have several rows, and no column says that these are trials."""
        repeated = {item for (item, _), rows in self.numbers.items() if rows > 1}
        of_all = {item for item, _ in self.numbers}
        if repeated and len(repeated) < len(of_all):
            self.findings.warning(
                "repeated-item",
                f'{len(repeated)} of {len(of_all)} items, such as "{shorten(min(repeated))}", have '
                "several rows, which count as trials; leave one out if it is there twice",
            )

    def _score(self, row: Row, item: str, column: str) -> None:
        name = column
        if self.columns.metric is not None:
            name = self._text(row, self.columns.metric, "name of the score") or column
        score = name.lower()
        self.into.labels.setdefault(score, name)
        trial = self._trial(row, item, score)
        if trial is None:
            return
        unit = f"{item}{TRIAL_MARK}{trial}"
        if (unit, score) in self.seen:
            self.findings.error(
                "repeated-trial",
                f'{row.place}: trial "{shorten(trial)}" of item "{shorten(item)}" came before; '
                "leave one out, or name the column that tells them apart (--trial-column)",
            )
        self.seen.add((unit, score))
        value = row.get(column)
        try:
            number = number_of(value)
        except (ValueError, TypeError, OverflowError):
            decimals = ": decimals are written 0.5" if "," in str(value) else ""
            self.findings.error(
                "not-a-number",
                f'{row.place}: {shorten(name)} is "{shorten(str(value))}", which is not a '
                f"number{decimals}",
            )
            return
        if number is None:
            self._none(name)
            return
        self.into.items[unit] = item
        self.into.values.setdefault(score, {})[unit] = number

    def _trial(self, row: Row, item: str, score: str) -> str | None:
        if self.columns.trial is not None:
            return self._text(row, self.columns.trial, "trial")
        self.numbers[item, score] = self.numbers.get((item, score), 0) + 1
        return str(self.numbers[item, score])

    def _none(self, name: str) -> None:
        self.findings.warning("no-score", f"trials without {shorten(name)} are not counted")

    def _text(self, row: Row, column: str | None, what: str) -> str | None:
        """Return a value as a name; None, and it is an error, where there is none."""
        value: Any = None if column is None else row.get(column)
        if isinstance(value, Cut):
            self.findings.error("cut", f'{row.place}: the {what}, "{column}", is {value}')
            return None
        if isinstance(value, float) and value.is_integer():
            value = int(value)  # 1.0 and 1 are one number
        if isinstance(value, str | bool | int | float) and (words := str(value).split()):
            # Spaces are one, as inspect_ai has them in summaries, and so are spellings of letters.
            return normalize("NFC", " ".join(words))
        self.findings.error("no-name", f'{row.place} has no {what} in column "{column}"')
        return None


def observations_of_all(files: Collection[str], asked: Asked) -> dict[str, Observations]:
    """Read files. Raises `InputError` with the problems of all."""
    findings = Findings()
    observed = {}
    for file in files:
        with findings.collecting():
            observed[file] = observations_of(file, asked)
    if findings.errors:
        raise InputError(findings.errors, can_be_validated=False)
    return observed
