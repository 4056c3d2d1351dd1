"""Episodes: dialogues that a policy plays in a task, for training, as a test or live.

Source: Casanueva et al. (2017), section 4. An episode depends on its seed, its number and the
weights of the policy. Training and test dialogues have separate random numbers. All policies and
checkpoints are tested with the same users.

Policies that choose acts play in the conversation loop that all benchmarks share. A `Belief`
represents a user turn, as seen after the channel and the tracker, and an `Act` a system turn.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import partial
from typing import Any, NamedTuple, Protocol

import numpy as np

from mwzeval.conversation.loop import Note, converse
from mwzeval.conversation.protocols import FAILURES, LIMIT, USER_STOP, Ending
from mwzeval.conversation.trajectory import Record
from mwzeval.errors import UsageError, shorten
from mwzeval.pydial.acts import BYE, HELLO, Act
from mwzeval.pydial.decision_process import DecisionProcess
from mwzeval.pydial.domain import Domain
from mwzeval.pydial.goals import Goal, plain_goal
from mwzeval.pydial.policies import ActionPolicy, Learner, VectorView
from mwzeval.pydial.simulator import codes as c
from mwzeval.pydial.simulator.rng import Rng, rng_from
from mwzeval.pydial.simulator.simulation import MakeUser, Simulation, last_reward
from mwzeval.pydial.simulator.view import Belief, View
from mwzeval.pydial.tasks import Goodbye, Task
from mwzeval.statistics.trials import trial_name

KEPT = 10
"""The number of dialogues at the start of a test whose utterances are saved."""
LARGEST_SEED = 10**18 - 1
"""The largest seed that PyTorch and the readers of episode files accept."""


@dataclass(frozen=True, slots=True)
class Episode:
    """A finished dialogue, identified by a task, a seed and the number `index`.

    `trial` is the number of the dialogue if the same user has several dialogues, otherwise None. If
    the dialogue was recorded, `talk` contains its `goal` and `turns` in the format of episode
    files.
    """

    task: str
    seed: int
    index: int
    success: bool
    exchanges: int
    reward: float
    trial: int | None = None
    talk: Mapping[str, Any] = field(default_factory=dict, compare=False, repr=False)

    @property
    def item(self) -> str:
        """The name of the simulated user in this episode."""
        return item_name(self.task, self.seed, self.index)

    @property
    def outcome(self) -> tuple[bool, int, float]:
        """The outcome of the episode: success, number of turns, and total reward."""
        return self.success, self.exchanges, self.reward

    @property
    def unit(self) -> str:
        """The name of the row that contains the episode's scores."""
        return trial_name(self.item, self.trial)


def item_name(task: str, seed: int, index: int) -> str:
    """Return the name of user number `index` of a task and a seed, such as `CR-1/0/000007`."""
    return f"{task}/{seed}/{index:06d}"


def check_seeds(*seeds: int) -> None:
    """Raise `UsageError` if a seed is invalid. Seeds are nonnegative and have at most 18 digits."""
    for seed in seeds:
        if not 0 <= seed <= LARGEST_SEED:
            raise UsageError(f"a seed must be from 0 to {LARGEST_SEED}, not {shorten(str(seed))}")


SAID, HEARD = "said", "heard"
"""Keys of a turn in a record: the user act and its N-best list."""
SUCCESS, EXCHANGES, REWARD, FINAL_GOAL = "success", "exchanges", "reward", "final_goal"
"""Keys under which a line stores the result of a dialogue."""
Answer = Callable[[Belief], Act]
"""Chooses the system act."""


class Outcome(NamedTuple):
    """The outcome of a dialogue. A dialogue in which one side failed is not a success."""

    success: bool
    exchanges: int
    reward: float
    out_of_time: bool = False


def keep_user_turn(record: Record, view: View) -> None:
    """Store the last user act and its N-best list."""
    heard = [[str(act), confidence] for act, confidence in view.hypotheses]
    record.said({SAID: str(view.user_act), HEARD: heard})


def turns_of(exchanges: Iterable[Any]) -> list[dict[str, Any]]:
    """Return the turns of a record in the format of episode files: the system act, the user's
    answer, and the N-best list of this answer.
    """
    turns: list[dict[str, Any]] = []
    system = str(HELLO)
    for exchange in exchanges:
        if not (isinstance(exchange, list | tuple) and len(exchange) == 2):
            continue  # the validation of the file reports this error
        user, answered = exchange
        if isinstance(user, Mapping):
            turns.append({"system": system, "user": user.get(SAID), HEARD: user.get(HEARD)})
        system = answered if isinstance(answered, str) else ""
    return [*turns, {"system": system}] if system else turns


class SimulatedUser:
    """The simulated user in one dialogue, drawn from `rng`.

    `talk` and `make_user` are explained in `Simulation.begin`. `is_done` is True after a goodbye or
    after the maximum number of turns.
    """

    def __init__(
        self,
        simulation: Simulation,
        rng: Rng,
        record: Record | None = None,
        talk: Rng | None = None,
        make_user: MakeUser | None = None,
    ) -> None:
        self.simulation = simulation
        self._begin = partial(simulation.begin, rng, talk, make_user=make_user)
        self.record = record
        self._reward = 0.0
        self._outcome: Outcome | None = None
        self._has_begun = self.is_done = False

    def begin(self) -> Belief:
        """Return the belief after the first user act."""
        belief = self._begin()
        self._has_begun = True
        self.is_done = self.simulation.d.user_act == c.BYE
        self._keep()
        return belief

    def answer(self, act: Act, /) -> Belief:
        """Return the belief after the user's answer to an act."""
        simulation = self.simulation
        result = simulation.answer(act)
        self._reward += result.reward
        self.is_done = result.ended or simulation.d.user_act == c.BYE
        if result.ended:
            self._outcome = Outcome(
                result.success, simulation.exchange, self._reward, result.out_of_time
            )
        else:
            self._keep()
        return simulation.belief

    @property
    def goal(self) -> Goal | None:
        """The current goal of the user, or None before the dialogue."""
        return self.simulation.goal if self._has_begun else None

    def outcome(self) -> Outcome:
        """Return the outcome of the dialogue under the assumption that no further act follows.

        An unfinished dialogue counts as out of time. After the user's goodbye, the system's answer
        has no effect.
        """
        if self._outcome is not None:
            return self._outcome
        simulation, task = self.simulation, self.simulation.task
        if self.is_done:
            success = simulation.success()
            reward = self._reward + last_reward(simulation.t, success)
            return Outcome(success, simulation.exchange, reward)
        return Outcome(False, task.max_exchanges, task.max_exchanges * task.exchange_reward)

    def _keep(self) -> None:
        if self.record is not None:
            keep_user_turn(self.record, self.simulation.view)


class System:
    """The system, which answers until the user is done."""

    def __init__(self, user: SimulatedUser, answer: Answer) -> None:
        self._user = user
        self._answer = answer

    def answer(self, belief: Belief, /) -> Act:
        """Return the system act in reply to a belief."""
        user = self._user
        if user.is_done and user.simulation.ended:
            return BYE
        act = self._answer(belief)
        if user.record is not None:
            user.record.heard(str(user.simulation.spoken(act)))
        if user.is_done:  # answering a goodbye ends the dialogue
            user.answer(act)
        return act


def hold_dialogue(
    user: SimulatedUser,
    make_answer: Callable[[], Answer],
    *,
    note: Note | None = None,
    failures: tuple[type[BaseException], ...] = FAILURES,
) -> Ending:
    """Run a dialogue of a simulation and return how it ended.

    `note` and `failures` are passed to `converse`. After the dialogue, its result is in the user's
    attribute `outcome`.
    """
    task = user.simulation.task
    ending = converse(
        lambda: user,
        lambda: System(user, make_answer()),
        user_turns=task.max_exchanges + 1,  # in the last turn, the user detects the end
        note=note,
        failures=failures,
    )
    exchanges = user.simulation.exchange
    if ending.end == USER_STOP and user.outcome().out_of_time:
        return Ending(LIMIT, exchanges, f"{exchanges} exchanges")
    return ending._replace(user_turns=min(ending.user_turns, exchanges))


def facts_of(user: SimulatedUser) -> dict[str, Any]:
    """Return the fields for a dialogue's line in a file, except for the turns and the ending."""
    outcome = user.outcome()
    facts: dict[str, Any] = {
        SUCCESS: outcome.success,
        EXCHANGES: outcome.exchanges,
        REWARD: outcome.reward,
    }
    return facts if user.goal is None else facts | {FINAL_GOAL: plain_goal(user.goal)}


class ActPolicy(Protocol):
    """The interface of policies that return dialogue acts instead of summary actions."""

    def act(self, belief: Belief, rng: Rng) -> Act:
        """Return the system act that the policy chooses for a belief."""
        ...


def rng_of(seed: int, index: int) -> Rng:
    """Return the random generator for a dialogue that does not belong to a run."""
    return rng_from(np.random.default_rng((seed, index)))


def play(simulation: Simulation, policy: ActPolicy, rng: Rng, seed: int, index: int) -> Episode:
    """Play a dialogue to its end and return it. `rng` makes all random choices."""
    record = Record() if index < KEPT else None
    user = SimulatedUser(simulation, rng, record)
    hold_dialogue(user, lambda: lambda belief: policy.act(belief, rng), failures=())
    success, exchanges, reward, _ = user.outcome()
    talk = _talk(simulation.goal, record)
    return Episode(simulation.task.name, seed, index, success, exchanges, reward, talk=talk)


def _talk(goal: Goal, record: Record | None) -> dict[str, Any]:
    """Return the goal and the turns of a finished dialogue, or {} without a record."""
    if record is None:
        return {}
    return {"goal": plain_goal(goal), "turns": turns_of(record.acts)}


TRAINING, TEST = 0, 1


def rng_of_phase(phase: int, seed: int, index: int) -> Rng:
    """Return the separate random generator of a training or test dialogue."""
    return rng_from(np.random.default_rng((seed, phase, index)))


class TaskRunner:
    """Plays a task with policies that observe the belief in the form named by `view`.

    With `goodbye` "user", policies cannot end dialogues in environments without masks.
    `looks_again` is an option for the legacy DQN policy (see `DecisionProcess`). With `compiled`,
    numba compiles the simulation for the view "neural"; the parts of a compiled simulation cannot
    be replaced.
    """

    def __init__(
        self,
        domain: Domain,
        task: Task,
        view: VectorView,
        *,
        legacy: bool = False,
        confusion_seed: int = 0,
        goodbye: Goodbye = "policy",
        looks_again: bool = False,
        compiled: bool = False,
    ) -> None:
        self.view = view
        self.process = DecisionProcess(
            domain,
            task,
            legacy=legacy,
            confusion_seed=confusion_seed,
            keep_alternatives=legacy and view != "kernel",
            looks_again=looks_again,
            goodbye=goodbye,
            kernel=view == "kernel",
        )
        if compiled:
            from mwzeval.pydial.simulator.compiled import CompiledProcess

            self.process = CompiledProcess(self.process)
        self.actions = len(self.process.actions)
        self.size = len(self.process.names) if view == "neural" else self.process.kernel_size

    @contextmanager
    def testing(self) -> Iterator[None]:
        """Play dialogues in a `with` block that do not affect the dialogues after it."""
        before = self.process.carried_over
        yield
        self.process.carried_over = before

    def train(self, policy: Learner, seed: int, index: int) -> Episode:
        """Play a training dialogue, from which the policy learns."""
        return self._play(policy, policy, TRAINING, seed, index)

    def test(self, policy: ActionPolicy, seed: int, index: int) -> Episode:
        """Play a test dialogue with a policy that chooses summary actions."""
        return self._play(policy, None, TEST, seed, index)

    def _play(
        self, policy: ActionPolicy, learner: Learner | None, phase: int, seed: int, index: int
    ) -> Episode:
        training = learner is not None
        process = self.process
        record = None if training or index >= KEPT else Record()
        rng, vector = process.start(np.random.default_rng((seed, phase, index)))
        if record is not None:
            keep_user_turn(record, process.view)
        if learner is not None:
            learner.begin()
        two_views = training and self.view == "kernel" and process.simulation.legacy
        total = 0.0
        while True:
            mask = process.mask
            action = policy.act(vector, mask, rng, training)
            # In legacy GP-SARSA, the vectors for choosing actions and for learning differ.
            learns_from = process.kernel_vector(choosing=False) if two_views else vector
            vector, reward, ended, info = process.step(action)
            total += reward
            if learner is not None:
                learner.record(learns_from, mask, action, reward)
            if record is not None:
                record.heard(str(process.view.system_act))
            if ended:
                break
            if record is not None:
                keep_user_turn(record, process.view)
        if learner is not None:
            learner.end()
        talk = {} if record is None else _talk(process.view.goal, record)
        name = process.simulation.task.name
        return Episode(name, seed, index, info["success"], info["exchange"], total, talk=talk)

    def test_act_policy(self, policy: ActPolicy, seed: int, index: int) -> Episode:
        """Play a test dialogue with a policy that returns dialogue acts."""
        rng = rng_of_phase(TEST, seed, index)
        return play(self.process.simulation, policy, rng, seed, index)
