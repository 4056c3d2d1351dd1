"""Tables of runs beside the paper's: policies of one run, or each policy in several runs.

Source: Casanueva et al. (2017): Table 6 is after 1,000 training dialogues, 4 after 4,000, 7 after
10,000.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from mwzeval.errors import UsageError
from mwzeval.pydial.board import FIGURES as LABELS
from mwzeval.pydial.board import TABLES
from mwzeval.pydial.policies.presets import PRESETS
from mwzeval.pydial.results.means import MISSING, NOTE_ON_FEW, few_mark, mean_text
from mwzeval.pydial.results.over_seeds import FEWEST_SEEDS
from mwzeval.pydial.results.records import (
    IQM,
    MEAN,
    Groups,
    Improvement,
    Record,
    improvements_of,
    records_of,
    seconds_of,
)
from mwzeval.pydial.results.run_results import FIGURES, Figure, Results
from mwzeval.pydial.tasks import Goodbye, task_named
from mwzeval.scores.sheets import ALIKE, FEW, Cell, Document, Sheet, sheet
from mwzeval.statistics.intervals import CONFIDENCE

NOTE_ON_SEEDS = (
    "± reaches to the ends of the 95 % interval over seeds: Student's t, and in rows of IQM, the "
    "interquartile mean over tasks and seeds, the stratified bootstrap (Agarwal et al., 2021)."
)
NOTE_ON_LEARNED = "The best of a row is the best learned policy."
NOTE_ON_BEST = (
    f"{ALIKE} does not differ significantly from the best learned policy of the row (paired t test "
    "over seeds, Holm's correction over the table)."
)
NOTE_ON_PAPER = (
    "▲ ▼: significantly above, below the paper's figure, which stands behind the policy's own "
    "(t test of two means with Holm's correction over the table; the paper's is over 10 seeds, "
    "whose spread is not published and taken to be that of ours)."
)
NOTE_ON_NUMBERS = "(n): the number of seeds, where it differs."
NOTES_ON_GOODBYES: Mapping[Goodbye, str] = {
    "user": "In environments 2 and 4 learned policies leave goodbyes to the user (`--goodbye`).",
    "policy": "In environments 2 and 4 learned policies may say goodbye at any time (`--goodbye`).",
}


def table_document(results: Results, dialogues: Sequence[int] | None = None) -> Document:
    """Return tables of a run, one for success and one for reward after each number of dialogues.

    Behind them are, for several tasks, how likely one policy is better than another, and what
    training took. Raises `UsageError` for a number of dialogues after which nothing was tested.
    """
    sheets: list[Sheet] = []
    records: list[Record] = []
    improvements: list[Improvement] = []
    groups = tuple(results.groups())
    for at in chosen_dialogues([results], dialogues):
        for figure in FIGURES:
            of_table = records_of(results, at, figure)
            sheets.append(_sheet(results, of_table, at, figure))
            records += of_table
            if len(groups[-1][1]) > 1:
                pairs = improvements_of(results, at, figure)
                sheets += _improvements(results, pairs, at, figure)
                improvements += pairs
    sheets += seconds_sheet(results)
    notes = (*notes_of(records), *note_on_goodbyes(results))
    plain = [each.plain() for each in records]
    likely = [each.plain() for each in improvements]
    return Document(
        ("PyDial benchmark",),
        tuple(sheets),
        notes,
        (*plain, *likely),
        {"results": plain, "improvements": likely},
    )


def chosen_dialogues(runs: Sequence[Results], dialogues: Sequence[int] | None) -> tuple[int, ...]:
    """Return after how many training dialogues tables are, by default all that a run has.

    Raises `UsageError` for a number after which nothing was tested.
    """
    known = sorted({at for results in runs for at in results.dialogues}) or [0]
    for number in dialogues or ():
        if number not in known:
            raise UsageError(
                f"nothing was tested after {number} dialogues ({', '.join(map(str, known))})"
            )
    return tuple(known if dialogues is None else dialogues)


def notes_of(records: Sequence[Record]) -> Iterator[str]:
    """Yield what is to be known to read the tables; nothing about what they do not have."""
    if any(record.low is not None for record in records):
        yield NOTE_ON_SEEDS
    if any(record.best for record in records) and not all(
        PRESETS[record.policy].learns for record in records
    ):
        yield NOTE_ON_LEARNED
    if any(record.p_best is not None for record in records):
        yield NOTE_ON_BEST
    if any(record.p_published is not None for record in records):
        yield NOTE_ON_PAPER
    if any(record.seeds < FEWEST_SEEDS for record in records):
        yield NOTE_ON_FEW
    if len({record.seeds for record in records}) > 1:
        yield NOTE_ON_NUMBERS


def note_on_goodbyes(results: Results) -> Iterator[str]:
    """Yield who says goodbye in a run, where that differs."""
    learned = any(PRESETS[name].learns for name in results.policies)
    goodbye = results.settings.goodbye
    if goodbye and learned and any("bye" not in task_named(name).masks for name in results.tasks):
        yield NOTES_ON_GOODBYES[goodbye]


def _sheet(results: Results, records: Sequence[Record], dialogues: int, figure: Figure) -> Sheet:
    by_place = {(r.row, r.of, r.policy): r for r in records}
    numbers = Numbers(records)
    with_paper = {record.policy for record in records if record.published is not None}
    header = ["Task"]
    for policy in results.policies:
        header.append(numbers.column(PRESETS[policy].label, policy))
        header += ["paper"] if policy in with_paper else []
    rows = []
    for name, row, of in rows_of(tuple(results.groups())):
        cells: list[Cell | str] = [name]
        for policy in results.policies:
            record = by_place.get((row, of, policy))
            cells.append(_cell(record, numbers, ranked=True))
            if policy in with_paper:
                cells.append(published_text(record))
        rows.append(cells)
    return sheet(title_of(dialogues, figure, bool(with_paper)) + numbers.of_all, header, rows)


def title_of(dialogues: int, figure: Figure, with_paper: bool) -> str:
    """Return the title of a table."""
    table = TABLES.get(dialogues)
    beside = f" (the paper's Table {table})" if table and with_paper else ""
    return f"After {dialogues} training dialogues: {LABELS[figure]}{beside}"


def rows_of(groups: Groups) -> Iterator[tuple[str, str, str]]:
    """Yield the rows of a table: what they are called, and `row` and `of` of their records."""
    for name, _ in groups:
        yield name, name, MEAN
    for name, tasks in groups:
        if len(tasks) > 1:
            yield name.replace("mean of", "IQM of"), name, IQM


class Numbers:
    """How many seeds figures have: told once where all have as many, or by column, or by cell."""

    def __init__(self, records: Sequence[Record]) -> None:
        self._of: dict[str, set[int]] = {}
        for record in records:
            self._of.setdefault(record.policy, set()).add(record.seeds)
        everywhere = set().union(*self._of.values())
        self._differ = len(everywhere) > 1
        self.of_all = "" if self._differ or not everywhere else f", {_seeds(*everywhere)}"

    def column(self, label: str, policy: str) -> str:
        """Return the heading of a policy's column."""
        numbers = self._of.get(policy, set())
        return f"{label} ({max(numbers)})" if self._differ and numbers else label

    def cell(self, record: Record) -> str:
        """Return what follows a figure: the number where it is not its column's."""
        return f" ({record.seeds})" if record.seeds != max(self._of[record.policy]) else ""


def _seeds(number: int) -> str:
    return "1 seed" if number == 1 else f"{number} seeds"


def _cell(record: Record | None, numbers: Numbers, *, ranked: bool) -> Cell:
    if record is None:
        return Cell(MISSING)
    return figure_cell(record, numbers.cell(record), ranked=ranked)


def figure_cell(record: Record, after: str = "", *, ranked: bool) -> Cell:
    """Return a figure with its marks; `after` follows it. Not `ranked`: whether it is best, too."""
    text = mean_text(record.value, record.low, record.high)
    mark = ALIKE if ranked and record.p_best is not None and record.p_best > 1 - CONFIDENCE else ""
    differs = record.p_published is not None and record.p_published <= 1 - CONFIDENCE
    if record.published is not None and differs:
        mark += "▲" if record.value > record.published else "▼"
    mark += few_mark(record.seeds)
    return Cell(text + after, best=ranked and record.best, mark=mark)


def published_text(record: Record | None) -> str:
    """Return the paper's figure."""
    return MISSING if record is None or record.published is None else f"{record.published:.1f}"


def _improvements(
    results: Results, pairs: Sequence[Improvement], dialogues: int, figure: Figure
) -> Iterator[Sheet]:
    by_pair = {(pair.policy, pair.than): pair for pair in pairs}
    policies = [policy for policy in results.policies if any(p.policy == policy for p in pairs)]
    if not policies:
        return
    rows: list[list[Cell | str]] = []
    for policy in policies:
        cells = [_likely(by_pair.get((policy, than))) for than in policies]
        rows.append([PRESETS[policy].label, *cells])
    *_, (_, tasks) = results.groups()
    title = (
        f"After {dialogues} training dialogues: probability that the policy of the row has the "
        f"higher {figure} than that of the column, mean of all {len(tasks)} tasks"
    )
    yield sheet(title, ["Policy", *(PRESETS[policy].label for policy in policies)], rows)


def _likely(pair: Improvement | None) -> Cell:
    if pair is None:
        return Cell("")
    if pair.low is None or pair.high is None:
        return Cell(f"{pair.value:.2f}", mark=FEW)
    return Cell(f"{pair.value:.2f} [{pair.low:.2f}, {pair.high:.2f}]")


def seconds_sheet(results: Results, label: str = "") -> Iterator[Sheet]:
    """Yield a table of the CPU seconds that training took, where they are known."""
    seconds = seconds_of(results)
    if not seconds:
        return
    known = sorted({dialogues for _, dialogues in seconds})
    means = {at: [seconds[key][0] for key in seconds if key[1] == at] for at in known}
    digits = {at: _digits(of) for at, of in means.items()}
    rows: list[list[Any]] = []
    for policy in results.policies:
        if any((policy, at) in seconds for at in known):
            cells = [
                f"{seconds[policy, at][0]:.{digits[at]}f} ({seconds[policy, at][1]})"
                if (policy, at) in seconds
                else MISSING
                for at in known
            ]
            rows.append([PRESETS[policy].label, *cells])
    header = ["Policy", *(f"{at} dialogues" for at in known)]
    yield sheet(f"CPU seconds of training, mean of (n) tasks and seeds{label}", header, rows)


def _digits(seconds: Iterable[float]) -> int:
    """Return the decimals of a column: its smallest number has two digits or more, if it can."""
    least = min(seconds)
    return 2 if least < 1 else 1 if least < 10 else 0
