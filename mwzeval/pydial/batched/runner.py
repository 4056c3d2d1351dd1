"""Episodes played in batches: the same users as in `runs/episodes.py`, met side by side."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np
from numpy.typing import NDArray

from mwzeval.pydial.batched.kernel.advance import HANDCRAFTED
from mwzeval.pydial.batched.simulation import BatchedSimulation, PlaceRng
from mwzeval.pydial.dialogue.domain import Domain
from mwzeval.pydial.environments.decision_process import DecisionProcess
from mwzeval.pydial.policies.learner import BatchLearner, BatchPolicy
from mwzeval.pydial.runs.episodes import TEST, TRAINING, Episode
from mwzeval.pydial.tasks import Goodbye, Task

Recorded = list[tuple[NDArray[np.float32], NDArray[np.bool_], int, float]]


class BatchedRunner:
    """A task for policies that look at many beliefs at once; `number` is how many.

    Dialogues are played in rounds. In a round a policy does not change; it learns, from one
    dialogue after the other in the order of their numbers, when all of them have ended. Each
    dialogue draws from a generator of its own, as in `TaskRunner`. The environment is the clean
    one: in the legacy one a dialogue depends on those before it. `goodbye` is that of `Masks`.
    """

    def __init__(
        self,
        domain: Domain,
        task: Task,
        number: int,
        *,
        confusion_seed: int = 0,
        goodbye: Goodbye = "policy",
    ) -> None:
        """Prepare and compile. Raises `DependencyError` without numba."""
        process = DecisionProcess(domain, task, confusion_seed=confusion_seed, goodbye=goodbye)
        self._play_in(BatchedSimulation(process, number))
        self.batch.load()

    @classmethod
    def of(cls, batch: BatchedSimulation) -> BatchedRunner:
        """Return a runner that plays in a simulation that is there already."""
        runner = object.__new__(cls)
        runner._play_in(batch)
        return runner

    def _play_in(self, batch: BatchedSimulation) -> None:
        self.batch = batch
        self.task = batch.process.simulation.task
        self.actions = len(batch.process.actions.names)
        self.size = batch.process.neural.size

    def train(self, policy: BatchLearner, seed: int, first: int, end: int) -> list[Episode]:
        """Play a round of training dialogues, from `first` on and before `end`; learn from them."""
        indices = range(first, min(end, first + self.batch.number))
        recorded: list[Recorded] = [[] for _ in indices]
        episodes = self._round(policy, TRAINING, seed, indices, recorded)
        for dialogue in recorded:
            policy.begin()
            for state, mask, action, reward in dialogue:
                policy.record(state, mask, action, reward)
            policy.end()
        return episodes

    def test(self, policy: BatchPolicy, seed: int, number: int, *, first: int = 0) -> list[Episode]:
        """Play the test dialogues from `first` on and before `number`."""
        episodes: list[Episode] = []
        for start in range(first, number, self.batch.number):
            indices = range(start, min(number, start + self.batch.number))
            episodes += self._round(policy, TEST, seed, indices, None)
        return episodes

    def _round(
        self,
        policy: BatchPolicy,
        phase: int,
        seed: int,
        indices: Sequence[int],
        recorded: list[Recorded] | None,
    ) -> list[Episode]:
        batch = self.batch
        which = np.arange(batch.number) < len(indices)
        generators = [np.random.default_rng((seed, phase, index)) for index in indices]
        batch.seed(range(len(indices)), generators)
        batch.begin(which)
        dialogues = [PlaceRng(batch, place) for place in range(len(indices))]
        rewards = np.zeros(batch.number)
        actions = np.zeros(batch.number, dtype=np.int64)
        while len(places := np.flatnonzero(which & ~batch.ended)):
            states, masks = batch.vectors[places], batch.masks[places]
            rngs = [dialogues[place] for place in places.tolist()]
            ahead = None if recorded is None else places.tolist()
            taken = policy.act_together(states, masks, rngs, ahead)
            actions[places] = taken
            batch.step(actions)
            rewards += batch.rewards
            if recorded is not None:
                given = batch.rewards[places].tolist()
                rows = zip(places.tolist(), states, masks, taken, given, strict=True)
                for place, state, mask, action, reward in rows:
                    recorded[place].append((state, mask, action, reward))
        return [self._episode(place, seed, index, rewards) for place, index in enumerate(indices)]

    def _episode(self, place: int, seed: int, index: int, rewards: NDArray[np.float64]) -> Episode:
        d = self.batch.dialogues[place]
        success, exchanges = bool(d["success"]), int(d["exchange"])
        return Episode(self.task.name, seed, index, success, exchanges, float(rewards[place]))

    def test_handcrafted(self, seed: int, number: int) -> Iterator[Episode]:
        """Yield the test dialogues of the handcrafted policy before `number`, in their order."""
        return self.play_handcrafted(seed, number, (seed, TEST))

    def play_handcrafted(self, seed: int, number: int, seeds: tuple[int, ...]) -> Iterator[Episode]:
        """Yield dialogues of the handcrafted policy; the i-th is drawn from `(*seeds, i)`."""
        batch = self.batch
        actions = np.full(batch.number, HANDCRAFTED)
        playing = np.full(batch.number, -1)
        rewards = np.zeros(batch.number)
        over: dict[int, Episode] = {}
        begun = told = 0
        while told < number:
            ended = np.flatnonzero(batch.ended)
            for place in ended[playing[ended] >= 0].tolist():
                over[playing[place]] = self._episode(place, seed, int(playing[place]), rewards)
            fresh = ended[: number - begun]
            playing[ended] = -1
            playing[fresh] = np.arange(begun, begun + len(fresh))
            begun += len(fresh)
            generators = [np.random.default_rng((*seeds, i)) for i in playing[fresh].tolist()]
            batch.seed(fresh.tolist(), generators)
            begin = np.zeros(batch.number, dtype=np.bool_)
            begin[fresh] = True
            rewards[fresh] = 0.0
            batch.step(actions, begin, looks=False)
            rewards += batch.rewards
            while told in over:
                yield over.pop(told)
                told += 1
