"""PPO with action masks; environment, collector, loss and advantages are TorchRL's.

    pip install '.[rl,neural]' torchrl
    python examples/pydial_torchrl.py

`--task CR-3` selects one of the published tasks, which are downloaded.
"""

from __future__ import annotations

import argparse
from pathlib import Path
from statistics import mean
from typing import Any

import gymnasium
import numpy as np
import torch
from tensordict.nn import TensorDictModule
from torch import Tensor, nn
from torchrl.collectors import Collector
from torchrl.envs import ActionMask, GymWrapper, SerialEnv, TransformedEnv
from torchrl.modules import MaskedCategorical, ProbabilisticActor, ValueOperator
from torchrl.objectives import ClipPPOLoss
from torchrl.objectives.value import GAE

import mwzeval
from mwzeval.pydial.agents import play_tests
from mwzeval.pydial.envs import MaskInObservation
from mwzeval.pydial.tasks import DEMO

gymnasium.register_envs(mwzeval)  # done by the import; satisfies linters
ENVIRONMENTS, FRAMES, EPOCHS, BATCH = 8, 1024, 4, 256


def make_environment(task: str, seed: int) -> TransformedEnv:
    """Return a TorchRL environment whose random actions are allowed actions."""
    environment = gymnasium.make(
        f"mwzeval/{task if task.startswith(DEMO) else f'PyDial-{task}'}-v0",
        confusion_seed=seed,  # the confusion tables of the test
    )
    wrapped = GymWrapper(MaskInObservation(environment), categorical_action_encoding=True)
    return TransformedEnv(wrapped, ActionMask(action_key="action", mask_key="action_mask"))


def mlp(inputs: int, outputs: int) -> nn.Sequential:
    """Return a network with two hidden layers."""
    return nn.Sequential(
        *(nn.Linear(inputs, 64), nn.Tanh()),
        *(nn.Linear(64, 64), nn.Tanh()),
        nn.Linear(64, outputs),
    )


class Actor(nn.Module):
    """The scores and masks of actions."""

    def __init__(self, network: nn.Module) -> None:
        super().__init__()
        self.network = network

    def forward(self, states: Tensor, masks: Tensor) -> tuple[Tensor, Tensor]:
        """Return the scores and the masks as booleans."""
        return self.network(states), masks.bool()


def main() -> None:
    """Train and test once."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--task", default="Demo-CR-1")
    parser.add_argument("--steps", type=int, default=30_000)
    parser.add_argument("--tests", type=int, default=500, help="dialogues of the test")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("-o", "--output", type=Path, help="episode file of the test")
    arguments = parser.parse_args()
    task, seed = arguments.task, arguments.seed
    torch.manual_seed(seed)
    torch.set_num_threads(1)  # the networks are small
    environments: Any = SerialEnv(ENVIRONMENTS, lambda: make_environment(task, seed))
    environments.set_seed(seed)
    first = environments.reset()
    size, actions = first["observations"].shape[-1], first["action_mask"].shape[-1]
    network = mlp(size, actions)
    actor = ProbabilisticActor(
        TensorDictModule(
            Actor(network), in_keys=["observations", "action_mask"], out_keys=["logits", "mask"]
        ),
        in_keys=["logits", "mask"],
        distribution_class=MaskedCategorical,
        return_log_prob=True,
        spec=environments.action_spec,
    )
    critic = ValueOperator(mlp(size, 1), in_keys=["observations"])
    advantages = GAE(gamma=0.99, lmbda=0.95, value_network=critic)
    loss = ClipPPOLoss(
        actor, critic, entropy_coeff=0.01, critic_coeff=0.5, normalize_advantage=True
    )
    optimizer = torch.optim.Adam(loss.parameters(), lr=1e-3)
    steps = FRAMES * max(1, arguments.steps // FRAMES)
    collector = Collector(
        environments,
        actor,
        frames_per_batch=FRAMES,
        total_frames=steps,
        auto_register_policy_transforms=False,
    )
    for played in collector:
        with torch.no_grad():
            advantages(played)
        exchanges = played.reshape(-1)
        for part in (
            part for _ in range(EPOCHS) for part in torch.randperm(FRAMES).chunk(FRAMES // BATCH)
        ):
            losses = loss(exchanges[part])
            optimizer.zero_grad()
            (losses["loss_objective"] + losses["loss_critic"] + losses["loss_entropy"]).backward()
            nn.utils.clip_grad_norm_(loss.parameters(), 0.5)
            optimizer.step()
    collector.shutdown()

    @torch.no_grad()
    def agent(observation: np.ndarray, mask: np.ndarray) -> int:
        scores = network(torch.as_tensor(observation))
        return int(scores.masked_fill(~torch.as_tensor(mask), -torch.inf).argmax())

    tests = play_tests(
        agent, task, seed=seed, dialogues=arguments.tests, file=arguments.output, policy="torchrl"
    )
    success, reward = mean(test.success for test in tests), mean(test.reward for test in tests)
    print(f"{task}, {len(tests)} tests: success {success:.1%}, reward {reward:.1f}")


if __name__ == "__main__":
    main()
