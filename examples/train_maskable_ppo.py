"""Train stable-baselines3's PPO, with masks, on a dialogue task, and test it.

    pip install 'mwzeval[rl]' sb3-contrib
    python examples/train_maskable_ppo.py --steps 20000

The task is an embedded one, so nothing is downloaded; `--environment mwzeval/PyDial-CR-3-v0` takes
one of the published tasks.
"""

from __future__ import annotations

import argparse
from typing import Any

import gymnasium
from sb3_contrib import MaskablePPO

import mwzeval

gymnasium.register_envs(mwzeval)  # the import has; this is for linters


def tested(model: MaskablePPO, environment: gymnasium.Env[Any, Any], dialogues: int) -> float:
    """Return the share of dialogues that succeed when the likeliest action is always taken."""
    successes = 0
    for seed in range(dialogues):
        observation, info = environment.reset(seed=seed)
        ended = False
        while not ended:
            masks = info["action_mask"] == 1
            action, _ = model.predict(observation, action_masks=masks, deterministic=True)
            observation, _, ended, _, info = environment.step(int(action))
        successes += info["success"]
    return successes / dialogues


def main() -> None:
    """Train and test once."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--environment", default="mwzeval/Demo-CR-1-v0")
    parser.add_argument("--steps", type=int, default=20_000)
    parser.add_argument("--dialogues", type=int, default=200)
    parser.add_argument("--seed", type=int, default=0)
    arguments = parser.parse_args()
    environment = gymnasium.make(arguments.environment)
    model = MaskablePPO(
        "MlpPolicy", environment, gamma=0.99, n_steps=512, learning_rate=1e-3, seed=arguments.seed
    )
    before = tested(model, environment, arguments.dialogues)
    model.learn(arguments.steps)
    after = tested(model, environment, arguments.dialogues)
    print(f"{arguments.environment}: success {before:.1%} before, {after:.1%} after training")


if __name__ == "__main__":
    main()
