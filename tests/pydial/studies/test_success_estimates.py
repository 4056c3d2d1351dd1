"""Estimates of success of dialogues."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from mwzeval.cli import main
from mwzeval.pydial.runs.job import Job, run_job
from mwzeval.pydial.runs.run import run
from mwzeval.pydial.studies.success_estimates import auc
from mwzeval.pydial.studies.transfer import played_in
from mwzeval.pydial.studies.watched import watched

pytestmark = pytest.mark.integration
pytest.importorskip("sklearn")
TASK = "Demo-CR-3"


def test_auc_is_that_of_scikit_learn() -> None:
    from sklearn.metrics import roc_auc_score  # type: ignore[import-untyped]

    rng = np.random.default_rng(4)
    p, y = rng.integers(0, 9, 300) / 9, rng.integers(0, 2, 300).astype(np.float64)
    assert auc(p, y) == pytest.approx(roc_auc_score(y, p))
    assert np.isnan(auc(p, np.ones(300)))


@pytest.mark.parametrize("policy", ["handcrafted", "ppo"])
def test_what_is_watched_is_what_a_test_plays(policy: str, tmp_path: Path) -> None:
    pytest.importorskip("torch")
    job = Job(TASK, policy, 2, (4,), tests=6)
    run_job(job, tmp_path)
    found = watched(job, tmp_path, range(6))
    episodes = played_in(job, TASK, tmp_path, 6)
    assert found.successes.tolist() == [episode.success for episode in episodes]
    assert all(abs(n - e.exchanges) <= 1 for n, e in zip(found.lengths, episodes, strict=True))
    assert len(found.states) == len(found.outcomes) == sum(found.lengths)
    assert found.features[:, -1].max() <= 1
    starts = np.cumsum([0, *found.lengths[:-1]])
    assert set(found.exchanges[starts]) == {1.0}
    assert (found.values is None) == (policy == "handcrafted")


def test_the_command_judges_belief_and_critic(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    pytest.importorskip("torch")
    settings = {"dialogues": [10], "seeds": 1, "tests": 12, "processes": 0}
    run([TASK], ["random", "ppo"], tmp_path / "r", **settings)  # type: ignore[arg-type]
    call = ["pydial", "estimate", str(tmp_path / "r"), "--learn-from", "20"]
    assert main([*call, "-f", "jsonl", "-o", str(tmp_path / "p.svg")]) == 0
    records = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    plain = ["share of successes", "belief, raw", "belief"]
    assert [(r["policy"], r["estimate"]) for r in records] == [
        *(("random", name) for name in plain),
        *(("ppo", name) for name in (*plain, "critic")),
    ]
    assert all(0 <= r["brier"] <= 1 for r in records)
    assert all(0 <= r["calibration_error_by_chance"] <= 1 for r in records)
    # Calibration moves no exchange before another.
    assert all(raw["auc"] == belief["auc"] for _, raw, belief, *_ in (records[:3], records[3:]))
    assert "estimated probability of success" in (tmp_path / "p.svg").read_text()
    assert main([*call[:3], "--learn-from", "0"]) == 2
