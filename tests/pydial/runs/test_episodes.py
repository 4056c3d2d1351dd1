"""Episodes as rows of a table, and what is measured on them."""

from __future__ import annotations

import numpy as np
import pytest

from mwzeval.metrics.measure import Resampling, ScoredTable, named
from mwzeval.pydial.dialogue.domain_files import load_domain
from mwzeval.pydial.dialogue.simulation import Simulation
from mwzeval.pydial.policies.handcrafted import HandcraftedPolicy
from mwzeval.pydial.runs.episodes import Episode, play
from mwzeval.pydial.runs.scoring import measures, table_of
from mwzeval.pydial.tasks import TASKS
from mwzeval.scores.score import Signature

SIGNATURE = Signature.of("pydial", {"task": "CR-1"})
EPISODES = [
    Episode("CR-1", seed, index, success, exchanges, 20.0 * success - exchanges)
    for seed, index, success, exchanges in (
        (1, 0, True, 5),
        (1, 1, True, 7),
        (1, 2, False, 25),
        (2, 0, True, 6),
        (2, 1, False, 3),
        (2, 2, True, 8),
    )
]


def test_measures_are_means_over_episodes() -> None:
    table = table_of(EPISODES)
    assert table.units[0] == "CR-1/1/000000"
    scores = ScoredTable(table, measures(SIGNATURE)).scores()
    assert [(score.name, score.value, score.n) for score in scores] == [
        ("success", pytest.approx(100 * 4 / 6), 6),
        ("reward", pytest.approx(np.mean([15, 13, -25, 14, -3, 12])), 6),
        ("exchanges", 9.0, 6),
    ]


def test_episodes_of_a_seed_stay_together_in_intervals() -> None:
    """Two seeds that agree within themselves, and not with each other."""
    episodes = [
        Episode("CR-1", seed, index, seed == 1, 5, 15.0 if seed == 1 else -5.0)
        for seed in (1, 2)
        for index in range(50)
    ]
    resampling = Resampling(samples=400)
    apart = ScoredTable(table_of(episodes), measures(SIGNATURE)).scores(resampling)
    together = ScoredTable(table_of(episodes), measures(SIGNATURE, block=50)).scores(resampling)
    for name, widest in (("success", 100), ("reward", 20)):
        wide, narrow = named(together, name).interval, named(apart, name).interval
        assert wide is not None
        assert narrow is not None
        assert wide.high - wide.low == pytest.approx(widest)
        assert narrow.high - narrow.low < widest / 4


def test_no_episodes_have_no_scores() -> None:
    table = table_of([])
    assert table.values.shape == (0, 4)


def test_playing_on_is_playing_from_the_start() -> None:
    domain, task = load_domain("Demo-CR"), TASKS["Demo-CR-3"]
    policy = HandcraftedPolicy(domain)
    whole = list(play(Simulation(domain, task), policy, 12, seed=5))
    rest = list(play(Simulation(domain, task), policy, 4, seed=5, first=8))
    assert whole[8:] == rest
    assert [episode.index for episode in whole] == list(range(12))
    assert all(e.reward == 20 * e.success - e.exchanges for e in whole)
    assert whole != list(play(Simulation(domain, task), policy, 12, seed=6))
