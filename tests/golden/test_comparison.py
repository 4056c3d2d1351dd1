"""Comparison of published systems: exact tests on the golden outcomes, and a slow twin."""

from __future__ import annotations

import importlib
import json
import math
import random
from collections import defaultdict
from functools import cache
from typing import Any

import numpy as np
import pytest

from mwzeval.comparison import ComparedMeasure, Comparison, compare
from mwzeval.metrics.measure import ScoredTable
from mwzeval.multiwoz.evaluator import Evaluator
from mwzeval.scores.table import Table
from tests.places import read_json, shared

pytestmark = pytest.mark.integration

SYSTEMS = ("augpt", "damd", "galaxy-e2e", "hdsa", "lava", "marco", "pptod", "ubar")
scipy_stats: Any = importlib.import_module("scipy.stats")


@cache
def scored(system: str) -> ScoredTable:
    return (
        evaluator()
        .score(read_json(shared("data", "multiwoz", "predictions", f"{system}.json")))
        .scored_table
    )


@cache
def evaluator() -> Evaluator:
    data = shared("data", "multiwoz")
    return Evaluator(bleu=True, success=True, corpus="multiwoz-2.2", data=data)


@cache
def comparison() -> Comparison:
    return compare({system: scored(system) for system in SYSTEMS})


@cache
def golden_outcomes() -> dict[str, dict[str, dict[str, bool]]]:
    outcomes: dict[str, dict[str, dict[str, bool]]] = defaultdict(dict)
    path = shared("golden", "multiwoz", "vectors", "dialogues.jsonl")
    for line in path.read_text(encoding="utf-8").splitlines():
        fields = json.loads(line)
        # The vectors have no Success if Inform failed.
        outcomes[fields["system"]][fields["dialogue"]] = {
            what: bool(fields[what].get("total")) for what in ("inform", "success")
        }
    return outcomes


def compared(what: str, system: str) -> ComparedMeasure:
    """Return a score for all systems that are comparable with this system."""
    return next(
        measure
        for measure in comparison().measures
        if measure.name == what and system in measure.group.systems
    )


@pytest.mark.parametrize("what", ["inform", "success"])
@pytest.mark.parametrize("system", SYSTEMS[1:])
def test_exact_tests_agree_with_the_golden_outcomes(system: str, what: str) -> None:
    outcomes = golden_outcomes()
    measure = compared(what, system)
    baseline = measure.group.systems[0]
    common = set.intersection(*(set(outcomes[name]) for name in measure.group.systems))
    assert set(measure.group.units) == common
    difference = measure.of(system).difference
    if system == baseline:
        assert difference is None
        return
    pairs = [(outcomes[system][name][what], outcomes[baseline][name][what]) for name in common]
    wins, losses = pairs.count((True, False)), pairs.count((False, True))
    assert difference is not None
    assert difference.counts is not None
    found = (difference.counts.wins, difference.counts.ties, difference.counts.losses)
    assert found == (wins, len(common) - wins - losses, losses)
    assert difference.value == pytest.approx(100 * (wins - losses) / len(common))
    expected = scipy_stats.binomtest(wins, wins + losses).pvalue
    assert difference.p_value == pytest.approx(expected, rel=1e-9)


def bleu_by_hand(sums: dict[str, float]) -> float:
    """Return BLEU (Papineni et al., 2002) of a corpus with matches for every n-gram order."""
    fields = {column.rpartition(".")[2]: value for column, value in sums.items()}
    logs = [
        math.log(fields[f"correct_{order}"] / fields[f"total_{order}"]) for order in range(1, 5)
    ]
    brevity = min(0.0, 1 - fields["reference_length"] / fields["system_length"])
    return 100 * math.exp(brevity + sum(logs) / 4)


def some_rows(system: str, units: list[str]) -> tuple[Table, ScoredTable]:
    whole = scored(system)
    table = whole.table.select(units)
    chosen = [index for index, column in enumerate(table.columns) if column.startswith("bleu.")]
    columns = tuple(table.columns[index] for index in chosen)
    bleu = Table(table.units, columns, table.values[:, chosen])
    measures = tuple(measure for measure in whole.measures if measure.name.startswith("bleu."))
    return bleu, ScoredTable(bleu, measures)


@pytest.mark.parametrize(("system", "baseline"), [("damd", "augpt"), ("marco", "ubar")])
def test_swapping_dialogues_one_by_one_gives_the_same_p_value_for_bleu(
    system: str, baseline: str
) -> None:
    units = sorted(set(scored(system).table.units) & set(scored(baseline).table.units))[::8]
    (mine, scored_mine), (theirs, scored_theirs) = (
        some_rows(name, units) for name in (system, baseline)
    )
    found = compare({baseline: scored_theirs, system: scored_mine}).measures[0].of(system)
    assert found.difference is not None

    def difference(swapped: list[bool]) -> float:
        swap = np.array(swapped)[:, np.newaxis]
        first = np.where(swap, theirs.values, mine.values).sum(axis=0).tolist()
        second = np.where(swap, mine.values, theirs.values).sum(axis=0).tolist()
        columns = mine.columns
        return bleu_by_hand(dict(zip(columns, first, strict=True))) - bleu_by_hand(
            dict(zip(columns, second, strict=True))
        )

    observed = difference([False] * len(units))
    assert found.difference.value == pytest.approx(observed, abs=1e-9)
    coin, trials = random.Random(3), 3000
    far = sum(
        abs(difference([coin.random() < 0.5 for _ in units])) >= abs(observed)
        for _ in range(trials)
    )
    expected = (1 + far) / (1 + trials)
    error = math.sqrt(max(expected * (1 - expected), 1e-4) * (1 / 1000 + 1 / trials))
    assert found.difference.p_value == pytest.approx(expected, abs=4 * error)


def test_published_systems_are_ranked_in_the_known_order() -> None:
    """Only systems with the same sources of states and domains are ranked together."""
    for order in (("augpt",), ("galaxy-e2e", "pptod", "ubar", "damd"), ("marco", "lava", "hdsa")):
        by_value = sorted(compared("combined", order[0]).systems, key=lambda entry: -entry.value)
        assert tuple(entry.system for entry in by_value) == order
        ranks = [entry.place.rank for entry in by_value if entry.place]
        assert ranks == sorted(ranks)
        assert ranks[:1] == [1] * (len(order) > 1)
