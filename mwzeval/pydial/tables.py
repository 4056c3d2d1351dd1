"""Tables that compare the paper's results with the policies of a run, with several runs, and with
retests.

P values are corrected by Holm's method over each table. Each table shows one score, success or
reward, after one number of training dialogues. Comparisons with the paper and comparisons with the
best learned policy of each row are corrected separately.

Source: Casanueva et al. (2017). Tables 6, 4 and 7 have results after 1,000, 4,000 and 10,000
training dialogues; Table 8 has results in other environments.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from itertools import combinations
from typing import Any

import numpy as np

from mwzeval.errors import UsageError
from mwzeval.pydial.leaderboard import FIGURES as LABELS
from mwzeval.pydial.leaderboard import TABLES, published_results
from mwzeval.pydial.policies.presets import PRESETS
from mwzeval.pydial.results import (
    FEWEST_SEEDS,
    FIGURES,
    LIMITS,
    Figure,
    Groups,
    Results,
    all_seeds,
    corrected,
    groups_of,
    interquartile_mean,
    interval_over_seeds,
    least_deviation,
    p_value_over_seeds,
    p_value_to_published,
    probability_of_improvement,
)
from mwzeval.pydial.retest import Retest
from mwzeval.pydial.tasks import Goodbye, in_order, task_named
from mwzeval.scores.score import Interval
from mwzeval.scores.sheets import ALIKE, FEW, Cell, Document, Sheet, plural, sheet
from mwzeval.statistics.intervals import CONFIDENCE

MEAN, IQM = "mean", "iqm"
MISSING = "–"
TRAINED = "*"
REWARD_OF_A_PERCENT = 0.2
"""The mean reward increases by at least this number if the success rate increases by one point."""
NOTE_ON_SEEDS = (
    "±: half the width of the 95 % t interval over seeds. IQM: interquartile mean over tasks "
    "and seeds; for IQM, ± is the larger distance from the mean to an end of the 95 % "
    "stratified bootstrap interval (Agarwal et al., 2021)."
)
NOTE_ON_LEARNED = "Bold or *: the best learned policy in the row."
NOTE_ON_BEST = (
    f"{ALIKE}: not significantly different from the best learned policy in the row (paired t "
    "test over seeds; Holm's correction over the table)."
)
NOTE_ON_PAPER = (
    "▲ ▼: significantly above or below the paper's score, which is shown after ours (two-sample "
    "t test; Holm's correction over the table). The paper's scores are means over 10 seeds; "
    "their standard deviations are not published and are assumed to equal ours."
)
NOTE_ON_FEW = (
    f"{FEW} fewer than {FEWEST_SEEDS} seeds, so there are no intervals or tests; differences may "
    "be due to chance."
)
NOTE_ON_NUMBERS = "(n): the number of seeds of a score, if it differs from the rest of the table."
NOTES_ON_GOODBYES: Mapping[Goodbye, str] = {
    "user": "In environments 2 and 4, only the user may end a dialogue with a learned policy "
    "(`--goodbye`).",
    "policy": "In environments 2 and 4, learned policies may end the dialogue at any time "
    "(`--goodbye`).",
}
NOTE_ON_RUNS = "Columns are not ranked, because their settings also change the tasks."
NOTE_ON_TABLE_8 = "In brackets: the scores in the paper's Table 8."
NOTE_ON_MEANS = "Mean over seeds ± half the width of the 95 % t interval."
NOTE_ON_TRAINED = (
    f"{TRAINED} on the training task, with the same error rate and simulated users as in training."
)


@dataclass(frozen=True, slots=True)
class Record:
    """The score of one policy in one row of a results table.

    `row` is the name of a task or of a group of tasks; `of` is "mean" (over seeds and tasks) or
    "iqm" (interquartile mean). `low` and `high` are the ends of the confidence interval, or None if
    there are too few seeds. `published` is the result in the paper. P values are two-sided and
    corrected over the table; without a test, a p value is None. `p_published` is the p value of the
    difference from the paper, and `p_best` is the p value of the difference from the best learned
    policy of the row. For the best learned policy, `best` is True.
    """

    row: str
    of: str
    policy: str
    dialogues: int
    figure: Figure
    value: float
    low: float | None
    high: float | None
    seeds: int
    published: float | None = None
    p_published: float | None = None
    best: bool = False
    p_best: float | None = None


@dataclass(frozen=True, slots=True)
class Improvement:
    """The mean over tasks of the probability that `policy` is better than `than`."""

    policy: str
    than: str
    dialogues: int
    figure: Figure
    value: float
    low: float | None
    high: float | None
    seeds: int


def _ends(interval: Interval | None) -> tuple[float | None, float | None]:
    return (None, None) if interval is None else (interval.low, interval.high)


def records_of(
    results: Results, dialogues: int, figure: Figure, groups: Groups | None = None
) -> tuple[Record, ...]:
    """Return the records of a table, by row and policy.

    `groups` are the rows (default: all groups of tasks).
    """
    records: list[Record] = []
    quartiles: list[Record] = []
    to_published: dict[tuple[str, str], float | None] = {}
    to_best: dict[tuple[str, str], float | None] = {}
    best: dict[str, str] = {}
    for row, tasks in results.groups() if groups is None else groups:
        learned: dict[str, dict[int, float]] = {}
        for policy in results.policies:
            scores = results.scores(tasks, policy, dialogues, figure)
            if not scores:
                continue
            of_seed = {seed: float(np.mean(row)) for seed, row in scores.items()}
            values = list(of_seed.values())
            if PRESETS[policy].learns:
                learned[policy] = of_seed
            published = _published(tasks, policy, dialogues, figure)
            if published is not None:
                rates = [_published([task], policy, dialogues, "success") for task in tasks]
                least = least_deviation([rate for rate in rates if rate is not None])
                least *= 1 if figure == "success" else REWARD_OF_A_PERCENT
                to_published[row, policy] = p_value_to_published(values, published, least)
            mean, seeds = float(np.mean(values)), len(values)
            ends = _ends(interval_over_seeds(values, limits=LIMITS[figure]))
            place = policy, dialogues, figure
            records.append(Record(row, MEAN, *place, mean, *ends, seeds, published))
            if len(tasks) > 1:
                middle = interquartile_mean(np.array(list(scores.values())))
                ends = _ends(middle.interval if seeds >= FEWEST_SEEDS else None)
                quartiles.append(Record(row, IQM, *place, middle.value, *ends, seeds))
        if len(learned) > 1:
            means = {policy: np.mean(list(values.values())) for policy, values in learned.items()}
            best[row] = max(means, key=means.__getitem__)
            for policy, of_seed in learned.items():
                if policy != best[row]:
                    to_best[row, policy] = p_value_over_seeds(learned[best[row]], of_seed)
    p_published, p_best = corrected(to_published), corrected(to_best)
    tested = [
        replace(
            record,
            best=best.get(record.row) == record.policy,
            p_published=p_published.get((record.row, record.policy)),
            p_best=p_best.get((record.row, record.policy)),
        )
        for record in records
    ]
    return (*tested, *quartiles)


def _published(tasks: Sequence[str], policy: str, dialogues: int, figure: str) -> float | None:
    """Return the mean of the paper's results, or None if any is missing."""
    label = PRESETS[policy].published
    return None if label is None else published_results().mean(tasks, label, dialogues, figure)


def improvements_of(results: Results, dialogues: int, figure: Figure) -> tuple[Improvement, ...]:
    """Return the probability of improvement of each ordered pair of policies with all tasks."""
    _, tasks = results.groups()[-1]
    tables = {
        policy: np.array(list(scores.values()))
        for policy in results.policies
        if (scores := results.scores(tasks, policy, dialogues, figure))
    }
    found = []
    for (first, mine), (second, theirs) in combinations(tables.items(), 2):
        seeds = min(len(mine), len(theirs))
        likely = probability_of_improvement(mine, theirs)
        low, high = _ends(None if seeds < FEWEST_SEEDS else likely.interval)
        place = dialogues, figure
        found.append(Improvement(first, second, *place, likely.value, low, high, seeds))
        low, high = (None if end is None else 1 - end for end in (high, low))
        found.append(Improvement(second, first, *place, 1 - likely.value, low, high, seeds))
    return tuple(found)


def table_document(results: Results, dialogues: Sequence[int] | None = None) -> Document:
    """Return the tables of a run: success and reward after each number of training dialogues.

    If there are several tasks, tables with probabilities of improvement follow; the last table has
    CPU seconds. Raises `UsageError` if there are no tests after a number of training dialogues.
    """
    sheets: list[Sheet] = []
    records: list[Record] = []
    improvements: list[Improvement] = []
    for at in _chosen_dialogues([results], dialogues):
        for figure in FIGURES:
            of_table = records_of(results, at, figure)
            sheets.append(_run_sheet(results, of_table, at, figure))
            records += of_table
            if len(results.groups()[-1][1]) > 1:
                pairs = improvements_of(results, at, figure)
                sheets += _improvements_sheet(results, pairs, at, figure)
                improvements += pairs
    sheets += seconds_sheet(results)
    notes = (*notes_of(records), *_note_on_goodbyes(results))
    plain = [asdict(record) for record in records]
    likely = [{"row": "all", "of": "improvement", **asdict(pair)} for pair in improvements]
    about = {"results": plain, "improvements": likely}
    return Document(("PyDial benchmark",), tuple(sheets), notes, (*plain, *likely), about)


def _chosen_dialogues(runs: Sequence[Results], dialogues: Sequence[int] | None) -> tuple[int, ...]:
    """Return the numbers of training dialogues of the tables; the default is all numbers."""
    known = sorted({at for results in runs for at in results.dialogues}) or [0]
    for number in dialogues or ():
        if number not in known:
            raise UsageError(
                f"nothing was tested after {number} dialogues ({', '.join(map(str, known))})"
            )
    return tuple(known if dialogues is None else dialogues)


def notes_of(records: Sequence[Record], *, ranked: bool = True) -> Iterator[str]:
    """Yield the notes that explain the marks in the tables."""
    learn_all = all(PRESETS[record.policy].learns for record in records)
    if any(record.low is not None for record in records):
        yield NOTE_ON_SEEDS
    if ranked and not learn_all and any(record.best for record in records):
        yield NOTE_ON_LEARNED
    if ranked and any(record.p_best is not None for record in records):
        yield NOTE_ON_BEST
    if any(record.p_published is not None for record in records):
        yield NOTE_ON_PAPER
    if any(record.seeds < FEWEST_SEEDS for record in records):
        yield NOTE_ON_FEW
    if len({record.seeds for record in records}) > 1:
        yield NOTE_ON_NUMBERS


def _note_on_goodbyes(results: Results) -> Iterator[str]:
    """Yield a note about who ends dialogues, if this setting affects the run."""
    learned = any(PRESETS[name].learns for name in results.policies)
    goodbye = results.settings.goodbye
    if goodbye and learned and not all(task_named(name).masked for name in results.tasks):
        yield NOTES_ON_GOODBYES[goodbye]


def _run_sheet(
    results: Results, records: Sequence[Record], dialogues: int, figure: Figure
) -> Sheet:
    by_place = {(r.row, r.of, r.policy): r for r in records}
    # The title shows the number of seeds if all are equal; otherwise, headings show column
    # maximums.
    numbers = {r.policy: max(o.seeds for o in records if o.policy == r.policy) for r in records}
    everywhere = {record.seeds for record in records}
    with_paper = {record.policy for record in records if record.published is not None}
    header = ["Task"]
    for policy in results.policies:
        more = f" ({numbers[policy]})" if policy in numbers and len(everywhere) > 1 else ""
        header.append(PRESETS[policy].label + more)
        header += ["paper"] if policy in with_paper else []
    rows = []
    for name, *place in _rows_of(results.groups()):
        cells: list[Cell | str] = [name]
        for policy in results.policies:
            record = by_place.get((place[0], place[1], policy))
            differs = record is not None and record.seeds != numbers[policy]
            cells.append(figure_cell(record, with_seeds=differs))
            if policy in with_paper:
                cells.append(published_text(record))
        rows.append(cells)
    title = _title_of(dialogues, figure, bool(with_paper))
    if len(everywhere) == 1:
        title += f", {plural(max(everywhere), 'seed')}"
    return sheet(title, header, rows)


def _title_of(dialogues: int, figure: Figure, with_paper: bool) -> str:
    table = TABLES.get(dialogues)
    beside = f" (the paper's Table {table})" if table and with_paper else ""
    return f"After {dialogues} training dialogues: {LABELS[figure]}{beside}"


def _rows_of(groups: Groups) -> Iterator[tuple[str, str, str]]:
    """Yield the label of each table row, with the `row` and `of` of its records."""
    for name, _ in groups:
        yield name, name, MEAN
    for name, tasks in groups:
        if len(tasks) > 1:
            yield name.replace("mean of", "IQM of"), name, IQM


def figure_cell(record: Record | None, *, with_seeds: bool = False, ranked: bool = True) -> Cell:
    """Return a table cell with a score, its significance marks and optionally its number of seeds.

    If `ranked` is False, the cell does not show whether the policy is the best.
    """
    if record is None:
        return Cell(MISSING)
    mark = ALIKE if ranked and record.p_best is not None and record.p_best > 1 - CONFIDENCE else ""
    mark += _beside_paper(record.value, record.published, record.p_published)
    mark += FEW * (record.seeds < FEWEST_SEEDS)
    text = _mean_text(record.value, record.low, record.high) + f" ({record.seeds})" * with_seeds
    return Cell(text, best=ranked and record.best, mark=mark)


def _mean_text(value: float, low: float | None, high: float | None) -> str:
    """Return a mean ± half the width of the interval or, if it is clipped, the longer side."""
    reach = "" if low is None or high is None else f" ±{max(high - value, value - low):.1f}"
    return f"{value:.1f}{reach}"


def _beside_paper(value: float, published: float | None, p_value: float | None) -> str:
    if published is None or p_value is None or p_value > 1 - CONFIDENCE:
        return ""
    return "▲" if value > published else "▼"


def published_text(record: Record | None) -> str:
    """Return a result of the paper as text for a table."""
    return MISSING if record is None or record.published is None else f"{record.published:.1f}"


def _improvements_sheet(
    results: Results, pairs: Sequence[Improvement], dialogues: int, figure: Figure
) -> Iterator[Sheet]:
    by_pair = {(pair.policy, pair.than): pair for pair in pairs}
    policies = [policy for policy in results.policies if any(p.policy == policy for p in pairs)]
    if not policies:
        return

    def likely(pair: Improvement | None) -> Cell:
        if pair is None:
            return Cell("")
        if pair.low is None or pair.high is None:
            return Cell(f"{pair.value:.2f}", mark=FEW)
        return Cell(f"{pair.value:.2f} [{pair.low:.2f}, {pair.high:.2f}]")

    rows: list[list[Cell | str]] = [
        [PRESETS[policy].label, *(likely(by_pair.get((policy, than))) for than in policies)]
        for policy in policies
    ]
    title = (
        f"After {dialogues} training dialogues: probability that the row's policy has a higher "
        f"{figure} than the column's policy, averaged over all {len(results.groups()[-1][1])} "
        "tasks"
    )
    yield sheet(title, ["Policy", *(PRESETS[policy].label for policy in policies)], rows)


def seconds_sheet(results: Results, label: str = "") -> Iterator[Sheet]:
    """Yield a table with the CPU seconds of training if these are available."""
    seconds: dict[tuple[str, int], list[float]] = {}
    for (_, policy), of_seeds in results.seconds.items():
        for of_seed in of_seeds.values():
            for at, took in of_seed.items():
                seconds.setdefault((policy, at), []).append(took)
    if not seconds:
        return
    known = sorted({at for _, at in seconds})

    def cell(policy: str, at: int) -> str:
        if (policy, at) not in seconds:
            return MISSING
        # The smallest number of a column should have at least two digits.
        least = min(float(np.mean(seconds[key])) for key in seconds if key[1] == at)
        digits = 2 if least < 1 else 1 if least < 10 else 0
        took = seconds[policy, at]
        return f"{float(np.mean(took)):.{digits}f} ({len(took)})"

    rows = [
        [PRESETS[policy].label, *(cell(policy, at) for at in known)]
        for policy in results.policies
        if any((policy, at) in seconds for at in known)
    ]
    header = ["Policy", *(f"{at} dialogues" for at in known)]
    yield sheet(f"CPU seconds of training, averaged over (n) tasks and seeds{label}", header, rows)


def side_by_side(runs: Sequence[Results], dialogues: Sequence[int] | None = None) -> Document:
    """Return tables of several runs: their means over all tasks, and the tasks of every policy.

    Each column is a run, and the heading of the column has the settings in which the runs differ.
    Policies of different runs are not ranked against each other, because different environments
    have different tasks. The marks in a column come from the table of that run. A mean over several
    tasks is omitted if the run has no results in one of the tasks. Raises `UsageError` if a run has
    no tests after a number of training dialogues.
    """
    labels = labels_of(runs)
    groups = groups_of(in_order(task for results in runs for task in results.tasks))
    sheets: list[Sheet] = []
    records: list[tuple[str, Record]] = []
    for at in _chosen_dialogues(runs, dialogues):
        for figure in FIGURES:
            tables = [records_of(results, at, figure, groups) for results in runs]
            sheets += _sheets_of_runs(groups, labels, tables, _title_of(at, figure, False))
            for label, table in zip(labels, tables, strict=True):
                records += [(label, record) for record in table]
    for label, results in zip(labels, runs, strict=True):
        sheets += seconds_sheet(results, f": {label}")
    notes = list(notes_of([record for _, record in records], ranked=False))
    if len({results.settings.goodbye for results in runs}) == 1:
        notes += _note_on_goodbyes(runs[0])
    heading = ["PyDial benchmark"]
    if "seeds" not in labels[0]:
        named = zip(labels, runs, strict=True)
        heading += [f"{label}: seeds {all_seeds(results.seeds)}" for label, results in named]
    plain = [{"run": label, **asdict(record)} for label, record in records]
    return Document(
        tuple(heading), tuple(sheets), (*notes, NOTE_ON_RUNS), tuple(plain), {"results": plain}
    )


def labels_of(runs: Sequence[Results]) -> tuple[str, ...]:
    """Return a label for each run: the settings that differ, or else seeds or folders."""
    settings = [
        (
            "legacy" if results.settings.legacy else "clean",
            f"goodbyes of the {results.settings.goodbye or 'user'}",
            f"{results.settings.tests} tests",
        )
        for results in runs
    ]
    differ = [len(set(column)) > 1 for column in zip(*settings, strict=True)]
    labels = [
        ", ".join(text for text, differs in zip(texts, differ, strict=True) if differs)
        for texts in settings
    ]
    for further in (
        [f"seeds {all_seeds(results.seeds)}" for results in runs],
        [str(results.folder) for results in runs],
    ):
        if len(set(labels)) < len(labels):
            labels = [", ".join(filter(None, pair)) for pair in zip(labels, further, strict=True)]
    return tuple(labels)


def _sheets_of_runs(
    groups: Groups, labels: Sequence[str], tables: Sequence[Sequence[Record]], title: str
) -> Iterator[Sheet]:
    """Yield a table of each policy's mean over all tasks, and a table of tasks per policy."""
    by_place = [{(r.row, r.of, r.policy): r for r in table} for table in tables]
    there = {record.policy for table in tables for record in table}
    policies = [name for name in PRESETS if name in there]

    def line(name: str, *place: str) -> list[Cell | str]:
        found = [records.get((place[0], place[1], place[2])) for records in by_place]
        known = [record for record in found if record is not None]
        differ = len({record.seeds for record in known}) > 1
        cells = [figure_cell(record, with_seeds=differ, ranked=False) for record in found]
        return [name, *cells, published_text(known[0] if known else None)]

    header = (*labels, "paper")
    of_all, tasks = groups[-1]
    for name, row, statistic in _rows_of(groups):
        if row == of_all and len(tasks) > 1:
            lines = [line(PRESETS[policy].label, row, statistic, policy) for policy in policies]
            yield sheet(f"{title}, {name}", ("Policy", *header), lines)
    for policy in policies:
        lines = [line(name, row, statistic, policy) for name, row, statistic in _rows_of(groups)]
        yield sheet(f"{title}, {PRESETS[policy].label}", ("Task", *header), lines)


def retest_document(retests: Sequence[Retest]) -> Document:
    """Return tables of success and reward, by domain and kind of users.

    Rows are policies with their training tasks, and columns are test tasks or error rates. Tables
    of rewards include the results of the paper's Table 8.
    """
    records = [record for figure in FIGURES for record in _retest_records(retests, figure)]
    p_values = corrected({index: record["p_published"] for index, record in enumerate(records)})
    records = [{**r, "p_published": p_values.get(index)} for index, r in enumerate(records)]
    at_errors = any(r["errors"] != task_named(r["trained"]).error_rate for r in records)
    tables: dict[tuple[str, str], list[Mapping[str, Any]]] = {}
    for record in records:
        figure = LABELS[record["figure"]].capitalize()
        tested = task_named(record["tested"])
        if tested.base != task_named(record["trained"]).base:
            key = f"{figure} in other environments of {tested.domain}", "condition"
        elif at_errors:
            key = f"{figure} with {record['user']} users, by errors", "errors"
        else:
            key = f"{figure}, by users", "user"
        tables.setdefault(key, []).append(record)
    sheets = (_retest_sheet(*key, of_table) for key, of_table in tables.items())
    notes = _retest_notes(records)
    return Document((), tuple(sheets), tuple(notes), tuple(records), {"retest": records})


def _retest_records(retests: Sequence[Retest], figure: Figure) -> Iterator[dict[str, Any]]:
    for r in retests:
        values = list(r.tests[figure].values())
        low, high = _ends(interval_over_seeds(values, limits=LIMITS[figure]))
        task = task_named(r.tested)
        published = p_value = None
        if r.user is None and figure == "reward":
            of_paper = published_results().cross.get(PRESETS[r.policy].published or "", {})
            published = of_paper.get(r.trained, {}).get(r.tested)
        if published is not None:
            p_value = p_value_to_published(values, published, 0.0)
        yield {
            "policy": r.policy,
            "trained": r.trained,
            "tested": r.tested,
            "user": r.user or task.user_model,
            "condition": r.tested if r.user is None else f"{r.tested}, {r.user}",
            "errors": task.error_rate,
            "figure": figure,
            "value": float(np.mean(values)),
            "low": low,
            "high": high,
            "seeds": len(values),
            "as_trained": r.trained == r.tested and r.user is None,
            "published": published,
            "p_published": p_value,
        }


def _retest_sheet(title: str, key: str, records: Sequence[Mapping[str, Any]]) -> Sheet:
    def column(value: Any) -> str:
        return f"{100 * value:g} %" if key == "errors" else str(value)

    tested = in_order(record["tested"] for record in records)
    ordered = sorted(records, key=lambda record: tested.index(record["tested"]))
    values: Iterable[Any] = dict.fromkeys(r[key] for r in (records if key == "user" else ordered))
    if key == "errors":
        values = sorted(values)
    columns = list(map(column, values))
    by_place = {(r["trained"], r["policy"], column(r[key])): r for r in records}
    rows: list[list[Cell | str]] = []
    for trained in in_order(record["trained"] for record in records):
        for policy in PRESETS:
            found = [by_place.get((trained, policy, name)) for name in columns]
            if any(found):
                rows.append([trained, PRESETS[policy].label, *map(_retest_cell, found)])
    return sheet(title, ["Trained in", "Policy", *columns], rows)


def _retest_cell(record: Mapping[str, Any] | None) -> Cell:
    if record is None:
        return Cell(MISSING)
    value, published = record["value"], record["published"]
    text = _mean_text(value, record["low"], record["high"])
    mark = FEW * (record["seeds"] < FEWEST_SEEDS) + TRAINED * record["as_trained"]
    if published is not None:
        text = f"{text} ({published:.1f})"
        mark = _beside_paper(value, published, record["p_published"]) or mark
    return Cell(text, mark=mark)


def _retest_notes(records: Sequence[Mapping[str, Any]]) -> Iterator[str]:
    if any(record["published"] is not None for record in records):
        yield NOTE_ON_TABLE_8
    if any(record["seeds"] >= FEWEST_SEEDS for record in records):
        yield NOTE_ON_MEANS
    if any(record["seeds"] < FEWEST_SEEDS for record in records):
        yield NOTE_ON_FEW
    if any(record["as_trained"] for record in records):
        yield NOTE_ON_TRAINED
    if any(record["p_published"] is not None for record in records):
        yield NOTE_ON_PAPER
