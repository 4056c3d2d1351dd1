"""Train sb3-contrib's MaskablePPO on a dialogue task and test it like the benchmark.

    pip install '.[rl]' sb3-contrib
    python examples/train_maskable_ppo.py

This takes half a minute on one core. The default task is embedded, so nothing is downloaded;
`--task CR-3` selects one of the published tasks.
"""

from __future__ import annotations

import argparse
from pathlib import Path
from statistics import mean

import gymnasium
import numpy as np
import torch
from sb3_contrib import MaskablePPO
from stable_baselines3.common.env_util import make_vec_env

import mwzeval
from mwzeval.pydial.agents import DialogueCallback, play_tests
from mwzeval.pydial.tasks import DEMO

gymnasium.register_envs(mwzeval)  # done by the import; satisfies linters


def main() -> None:
    """Train and test once."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--task", default="Demo-CR-3")
    parser.add_argument("--steps", type=int, default=50_000)
    parser.add_argument("--tests", type=int, default=500, help="dialogues of the test")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("-o", "--output", type=Path, help="episode file of the test")
    arguments = parser.parse_args()
    task, seed = arguments.task, arguments.seed
    torch.set_num_threads(1)  # the network is small
    environments = make_vec_env(
        f"mwzeval/{task if task.startswith(DEMO) else f'PyDial-{task}'}-v0",
        n_envs=16,
        seed=seed,
        env_kwargs={"confusion_seed": seed},  # the confusion tables of the test
    )
    model = MaskablePPO(
        "MlpPolicy",
        environments,
        n_steps=64,
        batch_size=256,
        n_epochs=5,
        learning_rate=1e-3,
        ent_coef=0.01,
        seed=seed,
    )
    model.learn(arguments.steps, callback=DialogueCallback(progress=True))

    def agent(observation: np.ndarray, mask: np.ndarray) -> np.ndarray:
        return model.predict(observation, action_masks=mask, deterministic=True)[0]

    tests = play_tests(
        agent, task, seed=seed, dialogues=arguments.tests, file=arguments.output, policy="maskable"
    )
    success, reward = mean(test.success for test in tests), mean(test.reward for test in tests)
    print(f"{task}, {len(tests)} tests: success {success:.1%}, reward {reward:.1f}")


if __name__ == "__main__":
    main()
