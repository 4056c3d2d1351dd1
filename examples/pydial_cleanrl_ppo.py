"""PPO with action masks in one file, in the style of CleanRL, with 64 parallel dialogues.

    pip install '.[batched,neural]'
    python examples/pydial_cleanrl_ppo.py

The first use compiles the environments, which takes a minute. `--task CR-3` selects one of the
published tasks, which are downloaded.
"""

from __future__ import annotations

import argparse
from pathlib import Path
from statistics import mean
from typing import Any

import gymnasium
import numpy as np
import torch
from gymnasium.vector import AutoresetMode
from torch import Tensor, nn
from torch.distributions import Categorical

import mwzeval
from mwzeval.pydial.agents import play_tests
from mwzeval.pydial.log import TrainingLog
from mwzeval.pydial.tasks import DEMO

gymnasium.register_envs(mwzeval)  # done by the import; satisfies linters
ENVIRONMENTS, STEPS, EPOCHS, MINIBATCHES = 64, 32, 4, 8
GAMMA, LAMBDA, CLIP, ENTROPY, LEARNING_RATE = 0.99, 0.95, 0.2, 0.01, 1e-3


def mlp(inputs: int, outputs: int, scale: float) -> nn.Sequential:
    """Return a network with two hidden layers."""
    layers = [nn.Linear(inputs, 64), nn.Linear(64, 64), nn.Linear(64, outputs)]
    for layer, gain in zip(layers, (2**0.5, 2**0.5, scale), strict=True):
        nn.init.orthogonal_(layer.weight, gain)
        nn.init.zeros_(layer.bias)
    return nn.Sequential(layers[0], nn.Tanh(), layers[1], nn.Tanh(), layers[2])


def choices(actor: nn.Module, states: Tensor, masks: Tensor) -> Any:
    """Return the distribution of actions; masked actions have probability 0."""
    return Categorical(logits=actor(states).masked_fill(~masks, -torch.inf), validate_args=False)


def entropy_of(policy: Any) -> Tensor:
    """Return the entropies of distributions without the masked actions."""
    entropies: Tensor = -(policy.probs * policy.logits.clamp(min=-1e9)).sum(-1)  # avoids 0 × −inf
    return entropies


def main() -> None:
    """Train and test once."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--task", default="Demo-CR-1")
    parser.add_argument("--steps", type=int, default=50_000)
    parser.add_argument("--tests", type=int, default=500, help="dialogues of the test")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--log", metavar="FILE.csv", help="how training goes")
    parser.add_argument("-o", "--output", type=Path, help="episode file of the test")
    arguments = parser.parse_args()
    task, seed = arguments.task, arguments.seed
    torch.manual_seed(seed)
    torch.set_num_threads(1)  # the networks are small
    environments = gymnasium.make_vec(
        f"mwzeval/{task if task.startswith(DEMO) else f'PyDial-{task}'}-v0",
        num_envs=ENVIRONMENTS,
        vectorization_mode="vector_entry_point",
        autoreset_mode=AutoresetMode.SAME_STEP,
        confusion_seed=seed,  # the confusion tables of the test
    )
    observations, info = environments.reset(seed=seed)
    size, actions = observations.shape[1], info["action_mask"].shape[1]
    actor, critic = mlp(size, actions, 0.01), mlp(size, 1, 1.0)
    parameters = [*actor.parameters(), *critic.parameters()]
    optimizer = torch.optim.Adam(parameters, lr=LEARNING_RATE, eps=1e-5)
    shape = STEPS, ENVIRONMENTS
    states, masks = torch.zeros(*shape, size), torch.zeros(*shape, actions, dtype=torch.bool)
    taken, logs = torch.zeros(shape, dtype=torch.long), torch.zeros(shape)
    rewards, values, ends = torch.zeros(shape), torch.zeros(shape), torch.zeros(shape)
    sums = np.zeros(ENVIRONMENTS)
    log = TrainingLog(arguments.log, name=f"{task}/cleanrl")
    for _ in range(max(1, arguments.steps // (STEPS * ENVIRONMENTS))):
        for step in range(STEPS):
            states[step] = torch.as_tensor(observations)
            masks[step] = torch.as_tensor(info["action_mask"]).bool()
            with torch.no_grad():
                policy = choices(actor, states[step], masks[step])
                taken[step] = policy.sample()
                logs[step] = policy.log_prob(taken[step])
                values[step] = critic(states[step]).squeeze(-1)
            observations, reward, ended, _, info = environments.step(taken[step].numpy())
            rewards[step], ends[step] = torch.as_tensor(reward), torch.as_tensor(ended)
            sums += reward
            for place in np.flatnonzero(ended):
                last = {key: array[place] for key, array in info["final_info"].items()}
                log.dialogue(bool(last["success"]), int(last["exchange"]), sums[place])
                sums[place] = 0.0
        with torch.no_grad():
            following = critic(torch.as_tensor(observations)).squeeze(-1)
        advantages, advantage = torch.zeros(shape), torch.zeros(ENVIRONMENTS)
        for step in reversed(range(STEPS)):
            goes_on = 1 - ends[step]
            error = rewards[step] + GAMMA * goes_on * following - values[step]
            advantage = error + GAMMA * LAMBDA * goes_on * advantage
            advantages[step], following = advantage, values[step]
        returns = (advantages + values).flatten()
        for batch in (
            part for _ in range(EPOCHS) for part in torch.randperm(taken.numel()).chunk(MINIBATCHES)
        ):
            seen, gain = states.flatten(0, 1)[batch], advantages.flatten()[batch]
            policy = choices(actor, seen, masks.flatten(0, 1)[batch])
            gain = (gain - gain.mean()) / (gain.std() + 1e-8)
            ratio = (policy.log_prob(taken.flatten()[batch]) - logs.flatten()[batch]).exp()
            gained = torch.min(ratio * gain, ratio.clamp(1 - CLIP, 1 + CLIP) * gain).mean()
            value_loss = 0.5 * (critic(seen).squeeze(-1) - returns[batch]).square().mean()
            entropy = entropy_of(policy).mean()
            optimizer.zero_grad()
            (value_loss - gained - ENTROPY * entropy).backward()
            nn.utils.clip_grad_norm_(parameters, 0.5)
            optimizer.step()
            log.losses(value_loss=value_loss.detach(), entropy=entropy.detach())

    @torch.no_grad()
    def agent(observation: np.ndarray, mask: np.ndarray) -> int:
        scores = actor(torch.as_tensor(observation)).masked_fill(~torch.as_tensor(mask), -torch.inf)
        return int(scores.argmax())

    tests = play_tests(
        agent, task, seed=seed, dialogues=arguments.tests, file=arguments.output, policy="cleanrl"
    )
    success, reward = mean(test.success for test in tests), mean(test.reward for test in tests)
    print(f"{task}, {len(tests)} tests: success {success:.1%}, reward {reward:.1f}")


if __name__ == "__main__":
    main()
