"""A run without conditions compared with runs of the same agent under conditions, goal by goal."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import partial
from math import prod
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mwzeval.comparison.comparison import about_units, shown_p
from mwzeval.comparison.systems import compare, without_choice
from mwzeval.errors import UsageError, shorten
from mwzeval.metrics.measure import Measure, Resampling, ScoredTable, percentage
from mwzeval.multiwoz.live.judge import SUCCESS
from mwzeval.multiwoz.live.report import ScoredRun, described
from mwzeval.multiwoz.live.stress import STRESS, label
from mwzeval.scores.report import score_record
from mwzeval.scores.score import NONE, WHOLE, Score, Signature, by_place
from mwzeval.scores.sheets import UNKNOWN, Cell, Document, sheet
from mwzeval.scores.table import Table
from mwzeval.statistics.bootstrap import Sums
from mwzeval.statistics.trials import all_succeed

USER_TURNS = "user_turns"
ALIKE = ("agent", "user", "goals", "corpus", "level", "seed", "fail_book", "database", USER_TURNS)
"""The keys of a header that have to be the same in all runs."""
MEANS = {"user_turns": "turns", "turns": "turns", "tool_calls": "calls", "agent_usd": "USD"}
"""The scores that are shown with the ratio to the score of the run without conditions."""
COLUMNS = {
    SUCCESS: SUCCESS,
    "drop": "drop",
    "robustness": "robustness",
    "recovered": "recovered",
    "false_bookings": "false bookings",
    **MEANS,
}
"""The scores that are shown for each run, with the headings of their columns."""
SCHEMA = 1
NOTES = (
    "drop: success rate without conditions minus success rate under conditions, paired by goal; "
    "p: two-sided p value of the drop after Holm's correction over the runs",
    "robustness: of the goals that succeed without conditions, the share that also succeed "
    "under conditions",
    "recovered: of the domains with a tool fault or a change of the user's goal, the share that "
    "succeed",
    "×: ratio of the value to that of the run without conditions",
    "pass^k: probability that a goal succeeds in all of k trials of every run",
)
Successes = Mapping[str, tuple[int, int]]
"""Maps each goal to the number of its successes and of its trials."""


def check_runs(runs: Mapping[str, ScoredRun]) -> None:
    """Raise `UsageError` unless the first run has no conditions and only conditions differ."""
    (first, clean), *others = runs.items()
    if WHOLE in runs:
        raise UsageError(f"{WHOLE} is the scope of the worst run: rename the file")
    if clean.run.header.get(STRESS):
        raise UsageError(f"{first} has stress conditions: name the run without conditions first")
    for name, other in others:
        if not isinstance(conditions := other.run.header.get(STRESS), Mapping) or not conditions:
            raise UsageError(
                f"{name} has no stress conditions: only the first run may be without conditions"
            )
        for key in ALIKE:
            choice, others_choice = (described(_choices(r).get(key, "")) for r in (clean, other))
            if choice != others_choice:
                differ = f"{key} {shorten(choice)} in {first}, {shorten(others_choice)} in {name}"
                raise UsageError(f"the runs may differ only in their conditions: {differ}")
        mine, own = _goals(clean), _goals(other)
        if different := sum(mine.get(item) != own.get(item) for item in mine.keys() | own.keys()):
            raise UsageError(
                f"{first} and {name} need the same goals, but {different} goals lack or differ "
                "(is a run incomplete?)"
            )


def _choices(scored: ScoredRun) -> dict[str, Any]:
    """Return the header with the limit of user turns; conditions raise the limit of tool rounds."""
    header = scored.run.header
    limits = header.get("limits")
    return {**header, **({USER_TURNS: limits.get(USER_TURNS)} if isinstance(limits, dict) else {})}


def _goals(scored: ScoredRun) -> dict[str, Any]:
    goals = scored.run.goals
    return {dialogue.item: goals[name] for name, dialogue in scored.run.dialogues.items()}


def successes_of(scored: ScoredTable) -> Successes:
    """Return the successes of each goal in a run."""
    totals = scored.table if scored.trials is None else scored.trials.totals()
    counts = np.ones(len(totals.units)) if scored.trials is None else scored.trials.counts
    column = next(name for name in (f"{SUCCESS}.{WHOLE}", SUCCESS) if name in totals.columns)
    numbers = zip(map(int, totals.column(column)), map(int, counts), strict=True)
    return dict(zip(totals.units, numbers, strict=True))


def _rates(scored: ScoredTable) -> dict[str, float]:
    return {goal: c / n for goal, (c, n) in successes_of(scored).items()}


def paired_scores(runs: Mapping[str, Successes]) -> ScoredTable:
    """Return drop and robustness of each run except the first, and pass^k over all runs.

    Robustness is the proportion of the first run's successes that are also successes under
    conditions. pass^k is the probability that k trials of a goal succeed in every run. Each row is
    a goal that all runs have.
    """
    (_, clean), *others = runs.items()
    goals = [goal for goal in clean if all(goal in successes for _, successes in others)]
    trials = [n for successes in runs.values() for _, n in map(successes.__getitem__, goals)]
    powers = {f"pass^{k}": k for k in range(1, min(trials, default=0) + 1)}
    rows = []
    for goal in goals:
        counts = [successes[goal] for successes in runs.values()]
        before, *rates = (c / n for c, n in counts)
        row = {"goals": 1.0, "clean": before}
        for (name, _), rate in zip(others, rates, strict=True):
            row |= {f"run {name}": rate, f"both {name}": before * rate}
        row |= {name: prod(all_succeed(c, n, k) for c, n in counts) for name, k in powers.items()}
        rows.append((goal, row))
    if not rows:
        raise UsageError("no goal was scored in all runs")
    table = Table.from_rows([*rows[0][1]], rows)
    measures = [_share(name, "goals", name, is_rate=max(trials) == 1) for name in powers]
    for name, _ in others:
        drop = partial(Measure, "drop", "Drop", Signature("drop", ()), lower_is_better=True)
        of_run = partial(_drop, f"run {name}")
        measures.append(drop(of_run, 1, scope=name, cases="goals", unit="points"))
        if table.column("clean").any():
            both = _share(f"both {name}", "clean", "robustness", is_rate=max(trials) == 1)
            measures.append(replace(both, label="Robustness", scope=name))
    return ScoredTable(table, tuple(measures))


def _share(part: str, cases: str, name: str, *, is_rate: bool) -> Measure:
    function, outcome = percentage(part, of=cases), part if is_rate else None
    return Measure(name, name, Signature(name, ()), function, 1, cases=cases, outcome=outcome)


def _drop(run: str, sums: Sums) -> NDArray[np.float64]:
    return np.asarray(100 * (sums["clean"] - sums[run]) / sums["goals"])


def scores_of(runs: Mapping[str, ScoredRun], how: Resampling) -> tuple[Score, ...]:
    """Return scores whose scope is the name of a run. The total is the worst of these scores."""
    (_, clean), *others = runs.items()
    measured = next(m.signature for m in clean.scored_table.measures if m.name == SUCCESS)
    labels = {name: label(run.run.header[STRESS]) for name, run in others}

    def signed(score: Score) -> Score:
        """Return a score whose signature has the choices of success and the conditions."""
        own, conditions = score.signature, labels.get(score.scope) or "+".join(labels.values())
        choices = (*measured.choices, (STRESS, conditions), *own.choices)
        return replace(score, signature=Signature(own.metric, choices))

    table = paired_scores({n: successes_of(r.scored_table) for n, r in runs.items()})
    paired = [signed(score) for score in table.scores(how)]
    scores = [*paired]
    for name, worst in (("drop", max), ("robustness", min)):
        of_runs = [score for score in paired if score.name == name]
        scores += [replace(worst(of_runs, key=lambda s: s.value), scope=WHOLE)] if of_runs else []
    for name, run in runs.items():
        own = by_place(run.scored_table.scores(how))
        found = (own.get((key, WHOLE)) for key in COLUMNS)
        scores += [replace(score, scope=name) for score in found if score]
    return tuple(scores)


def stress_document(
    runs: Mapping[str, ScoredRun], scores: Sequence[Score], how: Resampling
) -> Document:
    """Return a row for each run, pass^k, and the goals that fail or succeed under conditions."""
    tables = {name: without_choice(run.scored_table, STRESS) for name, run in runs.items()}
    compared = compare(tables, resampling=how, headline=(SUCCESS,))
    tests = {entry.system: entry.difference for entry in compared.measure(SUCCESS).systems}
    before, *_ = map(_rates, tables.values())
    placed, clean = by_place(scores), next(iter(runs))
    columns = {key: COLUMNS[key] for key in COLUMNS if any(s.name == key for s in scores)}
    rows: list[list[Cell | str]] = []
    about_runs = {}
    for name, table in tables.items():
        conditions, test, after = runs[name].run.header.get(STRESS), tests[name], _rates(table)
        failed = [goal for goal in before if after.get(goal, 1) < before[goal]]
        successful = [goal for goal in before if after.get(goal, 0) > before[goal]]
        about_runs[name] = {
            "conditions": label(conditions) if conditions else NONE,
            "p": test.p_value if test else None,
            "p_holm": test.adjusted if test else None,
            "newly_failed": failed,
            "newly_successful": successful,
        }
        cells = [_cell(placed.get((key, name)), placed.get((key, clean))) for key in columns]
        p_value = shown_p(test.adjusted if test else None)
        rows.append([name, *cells, p_value, f"{len(failed)} : {len(successful)}"])
    header = ["", *columns.values(), "p (Holm)", "newly failed : successful"]
    powers = [(score.label, _cell(score)) for score in scores if score.name.startswith("pass^")]
    return Document(
        heading=(
            *about_units(compared),
            *(f"{name}: {about['conditions']}" for name, about in about_runs.items()),
        ),
        sheets=(sheet("", header, rows), sheet("all runs", ["", "%"], powers)),
        notes=NOTES,
        records=tuple(map(score_record, scores)),
        plain={"schema": SCHEMA, "runs": about_runs, "scores": [*map(score_record, scores)]},
    )


def _cell(score: Score | None, clean: Score | None = None) -> Cell:
    """Return the cell of a score, with its ratio to the run without conditions."""
    if score is None:
        return Cell(UNKNOWN)
    if score.name not in MEANS:
        return Cell(score.value, form=f".{score.places}f", interval=score.interval)
    ratio = f" ×{score.value / clean.value:.2f}" if clean and clean.value else ""
    return Cell(score.value, form=f".{score.places}f", mark=ratio)
