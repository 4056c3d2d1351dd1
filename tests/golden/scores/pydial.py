"""Dialogues of PyDial's tasks in the embedded domains, and their scores."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from hashlib import sha256
from math import fsum
from tempfile import TemporaryDirectory
from typing import Any

from mwzeval.pydial.acts import Act
from mwzeval.pydial.decision_process import DecisionProcess
from mwzeval.pydial.domain import load_domain
from mwzeval.pydial.episode_files import Selection
from mwzeval.pydial.episodes import Episode, TaskRunner
from mwzeval.pydial.policies.handcrafted import HandcraftedPolicy, RandomPolicy
from mwzeval.pydial.run import run
from mwzeval.pydial.scoring import evaluate
from mwzeval.pydial.simulator.rng import Rng
from mwzeval.pydial.simulator.simulation import Simulation
from mwzeval.pydial.simulator.view import Belief
from mwzeval.pydial.tasks import DEMO, TASKS
from tests.golden.recorded import Cases, Groups, by_signature

DEMO_TASKS = [name for name in TASKS if name.startswith(DEMO)]
SCORED_TASKS = ["Demo-CR-1", "Demo-SFR-3", "Demo-LAP-6"]
MODES = {False: "clean", True: "legacy"}
SEED = 3
DIALOGUES = 12


def current() -> Cases:
    """Return scores of policies without learning, and digests of their dialogues.

    Policies of all tasks → signature → name → value; task and policy → "dialogues" → name → value.
    """
    return {**dict(_scores()), **dict(_dialogues())}


def _scores() -> Iterator[tuple[str, Groups]]:
    policies = ["handcrafted", "random"]
    for legacy, mode in MODES.items():
        with TemporaryDirectory() as folder:
            run(SCORED_TASKS, policies, folder, seeds=2, tests=5, legacy=legacy, processes=0)
            for policy in policies:
                scores = evaluate(folder, Selection(policy)).report().scores
                yield f"{policy}, {mode}", by_signature(scores)


def _dialogues() -> Iterator[tuple[str, Groups]]:
    for name in DEMO_TASKS:
        task = TASKS[name]
        domain = load_domain(task.domain)
        for legacy, mode in MODES.items():
            runner = TaskRunner(domain, task, "neural", legacy=legacy, confusion_seed=SEED)
            chooser = _Chooser(runner.process)
            act_policy = _Speaker(HandcraftedPolicy(), runner.process.simulation)
            episodes = [runner.test(chooser, SEED, index) for index in range(DIALOGUES)]
            yield f"{name}, random, {mode}", chooser.groups(episodes)
            episodes = [
                runner.test_act_policy(act_policy, SEED, index) for index in range(DIALOGUES)
            ]
            yield f"{name}, handcrafted, {mode}", act_policy.groups(episodes)


class _Observer:
    """Records the inputs and actions of a policy."""

    def __init__(self, simulation: Simulation) -> None:
        self._simulation = simulation
        self._texts: list[str] = []
        self._numbers: list[float] = []

    def note(self, seen: Any, done: object) -> None:
        """Record the policy's input, its action, the user act and the hypotheses."""
        heard = self._simulation.view.hypotheses
        self._texts += [
            str(self._simulation.view.user_act),
            *(str(act) for act, _ in heard),
            str(done),
        ]
        numbers = [*(confidence for _, confidence in heard), *seen]
        # The weights depend on the position, so that swapped numbers change the sum.
        self._numbers.append(fsum(place % 97 * x for place, x in enumerate(numbers, start=1)))

    def groups(self, episodes: Sequence[Episode]) -> Groups:
        """Return the outcomes of dialogues and a digest of the record."""
        digest = sha256("\n".join(self._texts).encode()).hexdigest()[:16]
        return {
            "dialogues": {
                "successes": float(sum(episode.success for episode in episodes)),
                "exchanges": float(sum(episode.exchanges for episode in episodes)),
                "reward": fsum(episode.reward for episode in episodes),
                "digest of acts": digest,
                "weighted sum of beliefs": fsum(self._numbers),
            }
        }


class _Speaker(_Observer):
    """The handcrafted policy with a record of its inputs and acts."""

    def __init__(self, policy: HandcraftedPolicy, simulation: Simulation) -> None:
        super().__init__(simulation)
        self._policy = policy

    def act(self, belief: Belief, rng: Rng) -> Act:
        act = self._policy.act(belief, rng)
        slots = (marginal.best.probability for marginal in belief.slots.values())
        flags = [p for _, p in sorted({**belief.requested, **belief.discourse_acts}.items())]
        self.note([*belief.methods, *slots, *flags], act)
        return act


class _Chooser(_Observer):
    """The random policy with a record of the vectors and masks that learning policies get."""

    def __init__(self, process: DecisionProcess) -> None:
        super().__init__(process.simulation)
        self._process = process
        self._policy = RandomPolicy()

    def act(self, state: Any, mask: Any, rng: Rng, training: bool = False) -> int:
        action = self._policy.act(state, mask, rng, training)
        kernel = self._process.kernel_vector()
        self.note([*map(float, state), *map(float, kernel), *map(float, mask)], action)
        return action
