"""The callback for stable-baselines3, and the training programs of `examples/`."""

from __future__ import annotations

import csv
import runpy
import sys
from contextlib import redirect_stdout
from io import StringIO
from itertools import pairwise
from pathlib import Path
from statistics import mean
from typing import Any

import gymnasium
import pytest

from mwzeval.errors import DependencyError, UsageError
from mwzeval.pydial import agents, register_with_gymnasium
from tests.command_lines import Run
from tests.places import ROOT
from tests.pydial.runs import PYDIAL

register_with_gymnasium()
pytestmark = pytest.mark.integration
DEMO = "mwzeval/Demo-CR-3-v0"


def rows_of(file: Path) -> list[dict[str, str]]:
    with file.open(encoding="utf-8", newline="") as stream:
        return list(csv.DictReader(line for line in stream if not line.startswith("#")))


def test_callback_logs_dialogue_means(tmp_path: Path) -> None:
    contrib = pytest.importorskip("sb3_contrib")
    from stable_baselines3.common.env_util import make_vec_env
    from stable_baselines3.common.logger import configure

    keywords = {"info_keywords": ("success", "exchange")}
    monitors: dict[str, Any] = {
        "monitor_dir": str(tmp_path / "monitors"),
        "monitor_kwargs": keywords,
    }
    environments = make_vec_env(DEMO, n_envs=3, seed=1, **monitors)
    model = contrib.MaskablePPO("MlpPolicy", environments, n_steps=50, batch_size=50, n_epochs=1)
    model.set_logger(configure(str(tmp_path), ["csv"]))
    callback = agents.DialogueCallback(window=1000, progress=True)
    model.learn(300, callback=callback)
    # Dialogues and their rewards continue in a second call.
    model.learn(150, callback=callback, reset_num_timesteps=False)
    environments.close()
    played = [row for file in (tmp_path / "monitors").glob("*.csv") for row in rows_of(file)]
    assert len(played) > 10
    last = {name: float(value) for name, value in rows_of(tmp_path / "progress.csv")[-1].items()}
    assert last["train/dialogues"] == len(played) == callback.dialogues
    assert last["train/reward"] == pytest.approx(mean(float(row["r"]) for row in played))
    assert last["train/exchanges"] == pytest.approx(mean(int(row["exchange"]) for row in played))
    successes = [row["success"] == "True" for row in played]
    assert last["train/success"] == pytest.approx(100 * mean(successes))


def test_logged_means_cover_the_last_window_of_dialogues(tmp_path: Path) -> None:
    baselines = pytest.importorskip("stable_baselines3")
    from stable_baselines3.common.logger import configure
    from stable_baselines3.common.monitor import Monitor

    monitor = Monitor(gymnasium.make(DEMO), str(tmp_path / "one"))
    model = baselines.DQN("MlpPolicy", monitor, buffer_size=500, learning_starts=1000, seed=0)
    model.set_logger(configure(str(tmp_path), ["csv"]))
    model.learn(200, callback=agents.DialogueCallback(window=2), log_interval=1)
    monitor.close()
    rewards = [float(row["r"]) for row in rows_of(tmp_path / "one.monitor.csv")]
    told = [float(row["train/reward"]) for row in rows_of(tmp_path / "progress.csv")]
    assert len(told) == len(rewards) > 4
    assert told[1:] == [mean(pair) for pair in pairwise(rewards)]


def test_callback_refuses_other_environments_and_invalid_windows(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    baselines = pytest.importorskip("stable_baselines3")
    with pytest.raises(UsageError, match="0"):
        agents.DialogueCallback(window=0)
    model = baselines.PPO("MlpPolicy", "CartPole-v1", n_steps=512, seed=0)
    with pytest.raises(UsageError, match="mwzeval"):
        model.learn(512, callback=agents.DialogueCallback())
    with pytest.raises(AttributeError, match="Callback"):
        agents.Callback  # noqa: B018
    agents._dialogue_callback.cache_clear()
    monkeypatch.setitem(__import__("sys").modules, "stable_baselines3.common.callbacks", None)
    with pytest.raises(DependencyError, match="stable_baselines3"):
        agents.DialogueCallback()
    agents._dialogue_callback.cache_clear()


@pytest.mark.parametrize(
    ("program", "library"),
    [
        ("train_maskable_ppo", "sb3_contrib"),
        ("pydial_cleanrl_ppo", "numba"),
        ("pydial_torchrl", "torchrl"),
    ],
)
def test_examples_train_and_are_scored(
    program: str, library: str, elsewhere: Path, monkeypatch: pytest.MonkeyPatch, run: Run
) -> None:
    pytest.importorskip(library)
    budget = ["--steps", "1000", "--tests", "5", "-o", "tests.jsonl"]
    monkeypatch.setattr(sys, "argv", [program, *budget])
    with redirect_stdout(StringIO()) as printed:
        runpy.run_path(str(ROOT / "examples" / f"{program}.py"), run_name="__main__")
    shown = run("evaluate", *PYDIAL, "tests.jsonl").out
    success = shown.partition("Success")[2].split()[0]
    assert f"5 tests: success {success}%" in printed.getvalue().splitlines()[-1]
