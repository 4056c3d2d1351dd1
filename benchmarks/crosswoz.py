"""Speed of CrossWOZ on one core: scoring the test fold, queries, goals and simulation."""

from __future__ import annotations

import statistics
from collections.abc import Callable, Iterator
from pathlib import Path

from benchmarks.measure import (
    REPETITIONS,
    Row,
    at_least,
    at_most,
    cpu_seconds,
    median_cpu,
    median_rate,
)
from mwzeval.crosswoz.corpus.database import Database
from mwzeval.crosswoz.corpus.folds import load_gold
from mwzeval.crosswoz.goals import GoalGenerator
from mwzeval.crosswoz.protocols import Rng
from mwzeval.crosswoz.scoring.baselines import gold_file, rule_tracker_file, simulator_file
from mwzeval.crosswoz.scoring.evaluation import evaluate, score
from mwzeval.crosswoz.simulation import Setting, goal_of
from mwzeval.crosswoz.systems.rules import RuleSystem
from mwzeval.crosswoz.systems.templates import TemplateNlg, TemplateReader, load_templates

TRACKS = ("dst", "nlu", "policy")
SCORING_SECONDS = 1
"""Limit for these tracks together."""
QUERY_MICROSECONDS = 50
ACT_A_SECOND, TEXT_A_SECOND = 1000, 200
DIALOGUES = 500
RATE = "CrossWOZ: dialogues a second"


def rows(data: Path) -> Iterator[Row]:
    """Yield the rows of the table; figures are CPU time."""
    gold = load_gold(data=data / "crosswoz")
    files = {
        "dst": rule_tracker_file(gold.fold),
        "nlu": gold_file(gold.fold, "nlu", ["user_acts", "system_acts_nlu"]),
        "policy": gold_file(gold.fold, "policy", ["system_acts"]),
        "sim": simulator_file(gold.fold),
        "e2e": gold_file(gold.fold, "e2e", ["response", "state", "selected"]),
        "nlg": gold_file(gold.fold, "nlg", ["response", "user_response"]),
    }
    together = 0.0
    for track, file in files.items():
        checked = evaluate(file, gold).checked
        took = median_cpu(lambda: score(checked), 1 if track == "nlg" else REPETITIONS)  # noqa: B023
        together += took if track in TRACKS else 0
        yield Row(f"CrossWOZ: scoring {track}, test fold", f"{took:.2f} s")
    what = f"CrossWOZ: scoring {', '.join(TRACKS)}, test fold, together"
    yield at_most(what, together, "s", SCORING_SECONDS)

    states = [
        (domain, slots)
        for dialogue in gold.fold.dialogues.values()
        for exchange in dialogue.exchanges
        for domain, slots in exchange.system.first_query.items()
        if any(slots.values())
    ]

    def queries() -> float:
        fresh = Database(gold.fold.tables)
        return cpu_seconds(lambda: [fresh.query(domain, slots) for domain, slots in states])

    took = 1e6 * statistics.median(queries() for _ in range(REPETITIONS)) / len(states)
    what = f"CrossWOZ: a query, mean of {len(states):,} test states, nothing remembered"
    yield at_most(what, took, "µs", QUERY_MICROSECONDS, 1)

    database = Database(gold.fold.tables)
    goals = GoalGenerator(database)

    def rate(call: Callable[[int], object]) -> float:
        return median_rate(
            DIALOGUES,
            lambda seed: [call(seed * DIALOGUES + number) for number in range(DIALOGUES)],
        )

    def simulated(setting: Setting) -> Callable[[int], object]:
        def simulate(number: int) -> object:
            goal = goal_of(goals.goal, 0, number)
            return setting.simulate(goal, number, 0).line()

        return simulate

    yield Row("CrossWOZ: goals a second", f"{rate(lambda n: goals.goal(Rng(n))):,.0f}")
    acts = Setting(database, RuleSystem)
    yield at_least(
        f"{RATE}, acts, goals drawn and dialogues logged", rate(simulated(acts)), ACT_A_SECOND
    )
    templates = load_templates()
    reader = TemplateReader(templates["user"].manual, templates["system"].manual, database)
    nlg = TemplateNlg(templates, "manual")
    text = Setting(database, RuleSystem, level="text", nlu=reader, nlg=nlg)
    yield at_least(
        f"{RATE}, text, templates and their reader", rate(simulated(text)), TEXT_A_SECOND
    )
