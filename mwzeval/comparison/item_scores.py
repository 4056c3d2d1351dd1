"""Tables of scores that other programs wrote: a line per item, or per trial of an item.

CSV or TSV with a line of column names. The columns that are read are the item (`item`, `task`,
`goal` …), the score (`score`, `reward`, `success` …, or the one that is asked for) and, where there
are several trials of an item, `trial`; without it the lines of an item are its trials. A line
without a score is of no trial: the trial could not be judged.
"""

from __future__ import annotations

import csv
import io
import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from mwzeval.errors import Problem, did_you_mean, shorten
from mwzeval.files.json_files import read_text
from mwzeval.metrics.measure import Measure, ScoredTable, percentage
from mwzeval.metrics.trials import of_items
from mwzeval.scores.findings import Findings
from mwzeval.scores.score import Signature
from mwzeval.scores.table import Table
from mwzeval.statistics import Sums
from mwzeval.statistics.trials import TRIAL_MARK

ENDINGS = (".csv", ".tsv")
ITEM = ("item", "item_id", "task", "task_id", "goal", "dialogue", "example", "unit", "id")
TRIAL = ("trial", "repetition", "epoch")
SCORE = ("score", "reward", "success", "value")
"""Names of columns, the most telling first; upper and lower case are the same."""

SUM, COUNT = "score", "trials"
"""Columns of what is scored."""


def is_table_of_items(file: str) -> bool:
    """Tell whether a file is such a table, by its name: `.csv`, `.tsv`, or these compressed."""
    name = file.lower()
    for compressed in (".gz", ".zst"):
        name = name.removesuffix(compressed)
    return name.endswith(ENDINGS)


def read_item_scores(file: str, score: str | None = None) -> tuple[ScoredTable, list[Problem]]:
    """Return what a table says, an item a unit, and the warnings.

    The score is called as its column. Scores that are all 0 or 1 are rates in percent, with pass^k
    where there are trials; others keep their unit. `score` names the column of scores.

    Raises `InputError` with every problem of the file.
    """
    findings = Findings(file)
    lines = _lines(file, findings)
    names = [name.strip().lower() for name in next(lines, (1, []))[1]]
    columns = _columns(names, score, findings)
    rows: dict[str, float] = {}
    items: dict[str, str] = {}
    numbers: dict[str, int] = {}
    for number, cells in lines:
        if len(cells) != len(names):
            findings.error(
                "other-columns",
                f"line {number} has {len(cells)} cells, the names of columns are {len(names)}",
            )
            continue
        item = cells[columns.item].strip()
        numbers[item] = numbers.get(item, 0) + 1
        trial = str(numbers[item]) if columns.trial is None else cells[columns.trial].strip()
        unit = f"{item}{TRIAL_MARK}{trial}"
        if unit in items:
            findings.error(
                "repeated-trial",
                f'line {number}: trial "{shorten(trial)}" of item "{shorten(item)}" came before',
            )
        items[unit] = item
        value = _number(cells[columns.score], number, columns.name, findings)
        if value is not None:
            rows[unit] = value
    if not rows:
        findings.error("no-scores", "there is no line with a score")
    findings.check()
    return _scored(rows, items, columns.name), findings.warnings


def _lines(file: str, findings: Findings) -> Iterator[tuple[int, list[str]]]:
    """Yield (line number from 1, cells) of lines that are not blank, the names of columns first."""
    text = read_text(file)
    delimiter = "\t" if "\t" in text.lstrip().partition("\n")[0] else ","
    reader = csv.reader(io.StringIO(text), delimiter=delimiter)
    try:
        for cells in reader:
            if any(cell.strip() for cell in cells):
                yield reader.line_num, cells
    except csv.Error as error:
        findings.error("not-a-table", f"line {reader.line_num}: {error}")


@dataclass(frozen=True, slots=True)
class _Columns:
    """Which column is what, and what that of the scores is called."""

    item: int
    score: int
    trial: int | None
    name: str


def _columns(names: Sequence[str], score: str | None, findings: Findings) -> _Columns:
    """Return where everything stands. Raises `InputError` where item or score are missing."""
    places = {}
    for what, known in (("item", ITEM), ("score", SCORE if score is None else (score.lower(),))):
        found = [names.index(name) for name in known if name in names]
        if not found:
            there = ", ".join(f'"{shorten(name)}"' for name in names[:10])
            asked = " or ".join(f'"{shorten(name)}"' for name in known)
            findings.error(
                "no-such-column",
                f"line 1 names no column with the {what}: it must be called {asked}"
                f"{did_you_mean(known[0], names)} (there are: {there})",
            )
        places[what] = found
    findings.check()
    of_score = places["score"][0]
    trial = next((names.index(name) for name in TRIAL if name in names), None)
    return _Columns(places["item"][0], of_score, trial, names[of_score])


def _number(cell: str, line: int, column: str, findings: Findings) -> float | None:
    """Return a score; None, and it is noted, where a line has none."""
    if not cell.strip():
        findings.warning("no-score", f"trials without {column} are not counted")
        return None
    try:
        value = float(cell)
    except ValueError:
        value = math.nan
    if not math.isfinite(value):
        findings.error(
            "not-a-number", f'line {line}: {column} is "{shorten(cell)}", which is not a number'
        )
    return value


def _scored(rows: dict[str, float], items: dict[str, str], name: str) -> ScoredTable:
    table = Table.from_rows(
        (SUM, COUNT), ((unit, {SUM: value, COUNT: 1}) for unit, value in rows.items())
    )
    is_outcome = all(value in (0, 1) for value in rows.values())
    measure = Measure(
        name,
        name.capitalize(),
        Signature.of(name, {"n": len(rows), "unit": "percent" if is_outcome else "as-given"}),
        percentage(SUM, of=COUNT) if is_outcome else _mean,
        cases=COUNT,
        outcome=SUM if is_outcome else None,
        scale=100 if is_outcome else 1,
    )
    return of_items(
        ScoredTable(table, (measure,)), items.__getitem__, outcome=name if is_outcome else None
    )


def _mean(sums: Sums) -> NDArray[np.float64]:
    return sums[SUM] / sums[COUNT]
