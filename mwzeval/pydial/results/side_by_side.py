"""Each policy in several runs: columns side by side, headed by what the runs differ in.

Environments that differ are other tasks, so that nothing is ranked across the runs.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from mwzeval.pydial.policies.presets import PRESETS
from mwzeval.pydial.results.means import MISSING
from mwzeval.pydial.results.over_seeds import all_seeds
from mwzeval.pydial.results.records import Groups, Record, records_of
from mwzeval.pydial.results.run_results import FIGURES, Results, groups_of
from mwzeval.pydial.results.tables import (
    NOTE_ON_BEST,
    NOTE_ON_LEARNED,
    chosen_dialogues,
    figure_cell,
    note_on_goodbyes,
    notes_of,
    published_text,
    rows_of,
    seconds_sheet,
    title_of,
)
from mwzeval.pydial.tasks import in_order
from mwzeval.scores.sheets import Cell, Document, Sheet, sheet

NOTE = "Columns are not ranked: what they differ in changes the tasks, too."


def side_by_side(runs: Sequence[Results], dialogues: Sequence[int] | None = None) -> Document:
    """Return tables of several runs: their means of all tasks, and every policy's tasks.

    Marks are those of each run's own tables. A mean over tasks that a run lacks is left out. Raises
    `UsageError` for a number of dialogues after which nothing was tested.
    """
    labels = labels_of(runs)
    groups = tuple(groups_of(in_order(task for results in runs for task in results.tasks)))
    sheets: list[Sheet] = []
    records: list[tuple[str, Record]] = []
    for at in chosen_dialogues(runs, dialogues):
        for figure in FIGURES:
            tables = [records_of(results, at, figure, groups) for results in runs]
            sheets += _sheets(groups, labels, tables, title_of(at, figure, with_paper=False))
            records += [
                (label, record)
                for label, table in zip(labels, tables, strict=True)
                for record in table
            ]
    named = tuple(zip(labels, runs, strict=True))
    for label, results in named:
        sheets += seconds_sheet(results, f": {label}")
    heading = [f"{label}: seeds {all_seeds(results.seeds)}" for label, results in named]
    noted = notes_of([record for _, record in records])
    notes = [note for note in noted if note not in (NOTE_ON_LEARNED, NOTE_ON_BEST)]
    if len({results.settings.goodbye for results in runs}) == 1:
        notes += note_on_goodbyes(runs[0])
    plain = [{"run": label, **record.plain()} for label, record in records]
    return Document(
        ("PyDial benchmark", *([] if "seeds" in labels[0] else heading)),
        tuple(sheets),
        (*notes, NOTE),
        tuple(plain),
        {"results": plain},
    )


def labels_of(runs: Sequence[Results]) -> tuple[str, ...]:
    """Return what the runs are called: their settings that differ, then seeds, then folders."""
    named = [_settings(results) for results in runs]
    differ = [key for key in named[0] if len({each[key] for each in named}) > 1]
    labels = [", ".join(each[key] for key in differ) for each in named]
    for further in (
        [f"seeds {all_seeds(results.seeds)}" for results in runs],
        [str(results.folder) for results in runs],
    ):
        if len(set(labels)) < len(labels):
            labels = [", ".join(filter(None, pair)) for pair in zip(labels, further, strict=True)]
    return tuple(labels)


def _settings(results: Results) -> Mapping[str, str]:
    settings = results.settings
    return {
        "environment": "legacy" if settings.legacy else "clean",
        "goodbye": f"goodbyes of the {settings.goodbye or 'user'}",
        "tests": f"{settings.tests} tests",
    }


def _sheets(
    groups: Groups, labels: Sequence[str], tables: Sequence[Sequence[Record]], title: str
) -> Iterator[Sheet]:
    """Yield a table of the mean of all tasks by policy, and one of all tasks for each policy."""
    by_place = [{(r.row, r.of, r.policy): r for r in table} for table in tables]
    there = {record.policy for table in tables for record in table}
    policies = [name for name in PRESETS if name in there]
    rows = tuple(rows_of(groups))

    def line(name: str, *place: str) -> list[Cell | str]:
        found = [records.get((place[0], place[1], place[2])) for records in by_place]
        known = [record for record in found if record is not None]
        differ = len({record.seeds for record in known}) > 1
        cells = [
            Cell(MISSING)
            if record is None
            else figure_cell(record, f" ({record.seeds})" if differ else "", ranked=False)
            for record in found
        ]
        return [name, *cells, published_text(known[0] if known else None)]

    header = (*labels, "paper")
    of_all, tasks = groups[-1]
    if len(tasks) > 1:
        for name, row, of in rows:
            if row == of_all:
                lines = [line(PRESETS[policy].label, row, of, policy) for policy in policies]
                yield sheet(f"{title}, {name}", ("Policy", *header), lines)
    for policy in policies:
        lines = [line(name, row, of, policy) for name, row, of in rows]
        yield sheet(f"{title}, {PRESETS[policy].label}", ("Task", *header), lines)
