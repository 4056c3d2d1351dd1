"""The rule pair has the figures of ConvLab-2's own run, within chance."""

from __future__ import annotations

import math
from functools import partial
from statistics import mean, variance

import pytest
from scipy.stats import norm
from scipy.stats import t as student

from mwzeval.metrics.measure import ScoredTable, named
from mwzeval.multiwoz.convlab.evaluator import judged
from mwzeval.multiwoz.convlab.resources import ActResources, load_resources
from mwzeval.multiwoz.convlab.scores import COLUMNS, measures, row
from mwzeval.multiwoz.convlab.system import RuleSystem
from mwzeval.multiwoz.corpus.corpora import corpus_root
from mwzeval.multiwoz.goals.selection import select_goals
from mwzeval.scores.score import Signature
from mwzeval.scores.table import Table
from tests.multiwoz.convlab.records import hold_dialogue
from tests.places import read_json, shared

pytestmark = pytest.mark.integration

CORPUS = "multiwoz-2.1"
NAMES = {
    "complete": "complete",
    "success": "success",
    "book": "book_rate",
    "P": "inform_precision",
    "R": "inform_recall",
    "F1": "inform_f1",
    "micro_P": "inform_micro_precision",
    "micro_R": "inform_micro_recall",
    "turns_all": "turns",
    "turns_success": "turns_of_successes",
    "domains_ok": "domains_satisfied",
    "dialogues_ok": "goals_satisfied",
}
"""Figures of the golden file, and what they are called here, where shares are in percent."""
SOURCES = {"sampled": "sampled:1000", "corpus_raw": "corpus-raw", "corpus": "corpus"}


@pytest.fixture(scope="module")
def resources() -> ActResources:
    return load_resources(CORPUS, corpus_root(CORPUS, shared("data"), offline=True))


def figures_of(setting: str, seed: int, resources: ActResources) -> dict[str, float]:
    """Return the scores of a run of 1,000 dialogues, named as in the golden file."""
    root = corpus_root(CORPUS, shared("data"), offline=True)
    database = resources.database
    goals = select_goals(SOURCES[setting], corpus=CORPUS, root=root, database=database, seed=seed)
    rows = []
    for item, goal in goals.goals.items():
        system = partial(RuleSystem, resources, seed, item, 1)
        dialogue = hold_dialogue(goal, system, resources, seed=seed, item=item)
        rows.append((item, row(judged(dialogue, database))))
    assert len(rows) == 1000
    table = Table.from_rows(COLUMNS, rows)
    scored = ScoredTable(table, tuple(measures(table.sums(), lambda name: Signature(name, ()))))
    scores = scored.scores()
    return {
        figure: named(scores, name).value / (1 if name.startswith("turns") else 100)
        for figure, name in NAMES.items()
    }


def check(setting: str, seeds: range, resources: ActResources) -> None:
    """Compare means over seeds: three standard errors, or as unlikely where seeds are few.

    The spread is that of both runs together: five golden seeds alone say little about it.
    """
    golden = read_json(shared("golden", "live", "figures.json"))["settings"][setting]
    published = golden["per_seed"]
    runs = [figures_of(setting, seed, resources) for seed in seeds]
    freedom = len(runs) + len(published) - 2
    bound = float(student.isf(norm.sf(3), freedom))
    beyond = {}
    for figure in NAMES:
        ours, theirs = ([run[figure] for run in of] for of in (runs, published))
        squares = sum((len(of) - 1) * variance(of) for of in (ours, theirs))
        error = math.sqrt(squares / freedom * (1 / len(ours) + 1 / len(theirs)))
        deviation = (mean(ours) - mean(theirs)) / error
        if abs(deviation) > bound:
            beyond[figure] = (mean(ours), mean(theirs), deviation, bound)
    assert not beyond


@pytest.mark.parametrize("setting", list(SOURCES))
def test_figures_are_those_of_the_public_run(setting: str, resources: ActResources) -> None:
    check(setting, range(3), resources)


@pytest.mark.slow
@pytest.mark.parametrize("setting", list(SOURCES))
def test_figures_of_thirty_seeds_are_those_of_the_public_run(
    setting: str, resources: ActResources
) -> None:
    check(setting, range(30), resources)
