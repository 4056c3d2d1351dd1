"""Learn a policy for PyDial from recorded dialogues with d3rlpy, and test it.

    mwzeval pydial record Demo-CR-3 --policy mixed --dialogues 1000 -o datasets
    python examples/pydial_offline.py Demo-CR-3 --dataset datasets/mixed -o offline.jsonl
    mwzeval evaluate --benchmark pydial offline.jsonl

The data set is read with Minari, and the policy is learned by conservative Q-learning (Kumar et
al., 2020). docs/pydial_training.md describes the installation of d3rlpy.
"""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

import d3rlpy
import minari
import numpy as np
import torch

from mwzeval.pydial.agents import play_tests
from mwzeval.pydial.recording import DATA, dataset_name

SETTINGS = {"learning_rate": 1e-3, "batch_size": 64, "alpha": 0.1}


def recorded(folder: Path) -> Any:
    """Convert the dialogues of a data set in Minari's format to d3rlpy's format."""
    stored = minari.MinariDataset(folder / DATA)
    episodes = [
        d3rlpy.dataset.Episode(
            observations=dialogue.observations[:-1],
            actions=dialogue.actions[:, np.newaxis],
            rewards=dialogue.rewards[:, np.newaxis].astype(np.float32),
            terminated=True,
        )
        for dialogue in stored.iterate_episodes()
    ]
    # The recorded dialogues may lack some actions, so the number of actions is given.
    return d3rlpy.dataset.ReplayBuffer(
        d3rlpy.dataset.InfiniteBuffer(),
        episodes=episodes,
        action_space=d3rlpy.ActionSpace.DISCRETE,
        action_size=int(stored.action_space.n),
    )


def main() -> None:
    """Train and test a policy."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("task")
    parser.add_argument("--dataset", required=True, type=Path, help="the folder of a behaviour")
    parser.add_argument("--steps", type=int, default=4000, help="of gradient descent")
    parser.add_argument("--tests", type=int, default=500)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("-o", "--output", required=True)
    given = parser.parse_args()
    d3rlpy.seed(given.seed)
    torch.set_num_threads(1)  # the networks are small
    policy = d3rlpy.algos.DiscreteCQLConfig(**SETTINGS).create()
    dialogues = recorded(given.dataset / dataset_name(given.task))
    policy.fit(
        dialogues,
        n_steps=given.steps,
        n_steps_per_epoch=given.steps,
        show_progress=False,
        logger_adapter=d3rlpy.logging.NoopAdapterFactory(),
    )

    def act(observation: Any, mask: Any) -> int:
        """Return the allowed action with the highest value."""
        actions = np.arange(len(mask))
        values = policy.predict_value(np.repeat(observation[np.newaxis], len(mask), 0), actions)
        return int(np.where(mask, values, -np.inf).argmax())

    episodes = play_tests(
        act, given.task, seed=given.seed, dialogues=given.tests, file=given.output, policy="cql"
    )
    print(f"success: {np.mean([episode.success for episode in episodes]):.1%}")


if __name__ == "__main__":
    main()
