"""Speed of CrossWOZ simulation, goals and queries on one core.

`python -m benchmarks.crosswoz_simulation` prints the table alone. CPU seconds of this process, so
that what else runs on the machine counts little; the median of several runs.
"""

from __future__ import annotations

import statistics
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

from benchmarks.measure import REPETITIONS, Row, at_least
from mwzeval.crosswoz.corpus.database import Database
from mwzeval.crosswoz.corpus.folds import load_fold
from mwzeval.crosswoz.simulation.dialogue import Setting
from mwzeval.crosswoz.simulation.goals import GoalGenerator
from mwzeval.crosswoz.simulation.log import trajectory_of
from mwzeval.crosswoz.simulation.protocols import SeededRng
from mwzeval.crosswoz.simulation.run import goal_of
from mwzeval.crosswoz.systems.rule_policy import RuleSystem
from mwzeval.crosswoz.systems.template_reader import TemplateReader
from mwzeval.crosswoz.systems.templates import TemplateNlg, load_templates
from mwzeval.files.downloads import DataRoot

DEFAULT_DATA = "../shared/data/crosswoz"
RATE = "CrossWOZ: dialogues a second"
ACT_A_SECOND, TEXT_A_SECOND = 1000, 200
QUERY_MICROSECONDS = 50
DIALOGUES = 500


def rows(data: Path) -> Iterator[Row]:
    """Yield the lines of the table, one measurement after the other."""
    fold = load_fold(DataRoot(data, "--data"))
    database = Database(fold.tables)
    states = [
        (domain, slots)
        for dialogue in fold.dialogues.values()
        for exchange in dialogue.exchanges
        for domain, slots in exchange.system.first_query.items()
        if any(slots.values())
    ]

    def queries() -> None:
        fresh = Database(fold.tables)
        start = time.process_time()
        for domain, slots in states:
            fresh.query(domain, slots)
        spent.append(time.process_time() - start)

    spent: list[float] = []
    for _ in range(REPETITIONS):
        queries()
    took = 1e6 * statistics.median(spent) / len(states)
    what = f"CrossWOZ: a query, mean of {len(states):,} test states, nothing remembered"
    limit = f"{QUERY_MICROSECONDS} µs"
    yield Row(what, f"{took:.1f} µs", None, limit, took <= QUERY_MICROSECONDS)

    goals = GoalGenerator(database)
    goals.goal(SeededRng(0))
    rate = _a_second(lambda number: goals.goal(SeededRng(number)))
    yield Row("CrossWOZ: goals a second", f"{rate:,.0f}", None, "", None)

    def simulated(setting: Setting) -> Callable[[int], object]:
        def one(number: int) -> object:
            goal = goal_of(goals.goal, 0, number)
            return trajectory_of(setting.simulate(goal, number, 0)).line()

        return one

    rate = _a_second(simulated(Setting(database, RuleSystem)))
    yield at_least(f"{RATE} in acts, goals drawn and dialogues logged", rate, ACT_A_SECOND)
    templates = load_templates()
    reader = TemplateReader(templates["user"].manual, templates["system"].manual, database)
    nlg = TemplateNlg(templates, "manual")
    in_words = Setting(database, RuleSystem, level="text", nlu=reader, nlg=nlg)
    rate = _a_second(simulated(in_words))
    yield at_least(f"{RATE} in words, templates and their reader", rate, TEXT_A_SECOND)


def _a_second(call: Callable[[int], object]) -> float:
    """Return the median rate of calls, each with another number."""
    rates = []
    for repetition in range(REPETITIONS):
        start = time.process_time()
        for number in range(DIALOGUES):
            call(repetition * DIALOGUES + number)
        rates.append(DIALOGUES / (time.process_time() - start))
    return statistics.median(rates)


def main() -> int:
    """Print the table."""
    missed = False
    for row in rows(Path(sys.argv[1] if len(sys.argv) > 1 else DEFAULT_DATA)):
        print(f"{row.what}: {row.measured} ({row.limit or 'no limit'})", flush=True)
        missed |= row.met is False
    return int(missed)


if __name__ == "__main__":
    sys.exit(main())
