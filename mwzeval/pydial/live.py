"""Live dialogues between a policy (from custom code or from a run) and a user (simulated or
custom).

Each dialogue has the same user as the corresponding test of `mwzeval pydial run`. Users that
replace the simulated user have the same goals.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field
from functools import partial
from hashlib import sha256
from typing import Any

import numpy as np

from mwzeval.conversation.agents import check_call, given, imported, is_own_code
from mwzeval.conversation.models import ModelOptions
from mwzeval.conversation.protocols import AnswerError, Ending, InfrastructureError
from mwzeval.conversation.trajectory import Planned, Record, Trajectory
from mwzeval.errors import InputError, UsageError, shorten
from mwzeval.pydial import NAME
from mwzeval.pydial.acts import Act
from mwzeval.pydial.domain import Domain, OwnFiles, load_domain
from mwzeval.pydial.episodes import TEST, check_seeds, item_name, rng_of_phase
from mwzeval.pydial.goals import plain_goal
from mwzeval.pydial.job import single_threaded
from mwzeval.pydial.play import PolicyAdapter, adapter_for
from mwzeval.pydial.simulator.rng import Rng, rng_from
from mwzeval.pydial.simulator.simulation import Simulation, UserState
from mwzeval.pydial.simulator.talk import (
    Answer,
    SimulatedUser,
    facts_of,
    hold_dialogue,
)
from mwzeval.pydial.simulator.view import Belief
from mwzeval.pydial.tasks import Task, task_named
from mwzeval.pydial.users import AGENDA, RunUsers, checked_act

DIALOGUES = 500
OFFERED = ("domain", "task", "seed", "dialogue")
A_POLICY = "a policy must be a class whose objects have act(belief, rng) or answer(hypotheses)"


@dataclass(frozen=True, slots=True)
class LiveOptions:
    """The options of `mwzeval live`, with names as given on the command line."""

    agent: str
    task: str
    dialogues: int = DIALOGUES
    seed: int = 0
    data: str | None = None
    offline: bool | None = None
    own: OwnFiles | None = None
    """The files of a custom domain."""
    user: str = AGENDA
    user_model: ModelOptions = field(default_factory=partial(ModelOptions, "user"))


def goals_named(goals: str | None, task: str | None) -> tuple[str, int]:
    """Return the task and the number of dialogues in `--goals TASK[:NUMBER]`.

    `task` is the task named in the option `--benchmark`, or None. Raises `UsageError` if the task
    is unknown or the number is invalid.
    """
    name, _, number = (goals or task or "").partition(":")
    if not name:
        raise UsageError("name a task: --goals CR-1:100 (Demo-CR-1 needs no data)")
    if task is not None and name != task:
        raise UsageError(f"--goals names {shorten(name)}, but --benchmark names {task}")
    if number and not (number.isdecimal() and 0 < len(number) < 8 and int(number) > 0):
        raise UsageError(f'--goals TASK:NUMBER, such as CR-1:100, not "{shorten(goals or "")}"')
    return task_named(name).name, int(number) if number else DIALOGUES


class _Stage:
    """A simulation for one dialogue at a time. Each of several threads needs a simulation.

    `adapter` contains the policy unless the policy is custom code.
    """

    def __init__(self, options: LiveOptions, domain: Domain, task: Task) -> None:
        self.adapter: PolicyAdapter | None = None
        if is_own_code(options.agent):
            self.simulation = Simulation(domain, task, confusion_seed=options.seed)
        else:
            self.adapter = adapter_for(options.agent, domain, task, confusion_seed=options.seed)
            self.simulation = self.adapter.simulation


def _goal(simulation: Simulation, seed: int, index: int) -> dict[str, Any]:
    return plain_goal(simulation.draw_user(rng_of_phase(TEST, seed, index)))


class LiveSetting:
    """Act-level dialogues between a policy and the user of a task.

    Raises `UsageError` if a name is unknown, and `DataError` or `InputError` if a file is missing
    or invalid.
    """

    benchmark = NAME

    def __init__(self, options: LiveOptions) -> None:
        self._options = options
        self._task = task = task_named(options.task)
        seed = options.seed
        check_seeds(seed)
        self._domain = load_domain(
            task.domain, options.data, offline=options.offline, own=options.own
        )
        self._users = RunUsers(options.user, options.user_model)
        self.waits = self._users.waits
        self.trusts = self._users.trusts and not is_own_code(options.agent)
        self._own: Callable[..., Any] | None = None
        self._threads = ExitStack()
        first = _Stage(options, self._domain, task)
        self._free = [first]
        self._preset = None if first.adapter is None else first.adapter.preset
        self.items: Sequence[tuple[str, Any]] = tuple(
            (item_name(task.name, seed, index), _goal(first.simulation, seed, index))
            for index in range(options.dialogues)
        )
        goals = json.dumps(self.items, ensure_ascii=False).encode()
        self.about: Mapping[str, Any] = {
            "task": task.name,
            "legacy": False,
            "agent": {"spec": options.agent},
            "user": self._users.about(task),
            "goals": {
                "source": f"{task.name}:{options.dialogues}",
                "sha": sha256(goals).hexdigest()[:8],
            },
            "level": "acts",
            "limits": {"user_turns": task.max_exchanges},
        }

    def __reduce__(self) -> tuple[type[LiveSetting], tuple[LiveOptions]]:
        """Pickle only the options, so that each process loads the domain itself."""
        return LiveSetting, (self._options,)

    def begin(self) -> None:
        """Import the code of the policy and the users, and create the first user.

        Raises `UsageError` if the code cannot be used.
        """
        self._users.begin()
        (name, goal), seed = self.items[0], self._options.seed
        first = Planned(name, goal, seed=seed)
        goal_of_user = self._free[0].simulation.draw_user(rng_of_phase(TEST, seed, 0))
        self._users.check(UserState(self._domain, goal_of_user, Rng(0)), self._task, first)
        if not is_own_code(self._options.agent):
            self._threads.enter_context(single_threaded(self._preset))
            return
        name = self._options.agent
        own = imported(name)
        check_call(name, own, 0, OFFERED, A_POLICY)
        if isinstance(own, type) and not (hasattr(own, "act") or hasattr(own, "answer")):
            raise UsageError(f'"{name}" has neither act(belief, rng) nor answer(…): {A_POLICY}')
        self._own = own

    def stop(self) -> None:
        """Cancel all requests."""
        self._users.stop()

    def hold(self, planned: Planned, record: Record) -> Ending:
        """Run a dialogue and return how it ended."""
        try:
            stage = self._free.pop()
        except IndexError:
            stage = _Stage(self._options, self._domain, self._task)
        try:
            return self._hold(planned, record, stage)
        finally:
            self._free.append(stage)

    def _hold(self, planned: Planned, record: Record, stage: _Stage) -> Ending:
        seed, index = planned.seed, int(planned.item.rpartition("/")[2])
        talk = None
        if planned.trial > 1:
            talk = rng_from(np.random.default_rng((seed, TEST, index, planned.trial)))
        rng = rng_of_phase(TEST, seed, index)
        stage.simulation.make_user = self._users.maker(self._task, planned, record)
        user = SimulatedUser(stage.simulation, rng, record, talk)

        def note(ending: Ending) -> None:
            if record.is_watched:
                record.keep(facts_of(user))
            record.note(ending)

        ending = hold_dialogue(user, lambda: self._answer_of(planned, stage), record, note=note)
        record.keep(facts_of(user))
        record.note(ending)
        return ending

    def judge(self, trajectory: Trajectory) -> bool | None:
        """Return whether the goal of the user was met."""
        return bool(trajectory.more["success"])

    def _answer_of(self, planned: Planned, stage: _Stage) -> Answer:
        if (adapter := stage.adapter) is not None:

            def answer(belief: Belief) -> Act:
                try:
                    return adapter.answer(belief)
                except InputError as error:  # the policy is not responsible for a damaged file
                    raise InfrastructureError(str(error)) from None

            return answer
        assert self._own is not None
        values = self._domain, self._task, planned.number, planned.name
        policy = self._own(**given(self._own, dict(zip(OFFERED, values, strict=True))))
        simulation = stage.simulation
        if hasattr(policy, "act"):
            return lambda belief: _act_in(simulation, policy.act(belief, simulation.rng))
        return lambda belief: _act_in(simulation, policy.answer(simulation.view.hypotheses))


def _act_in(simulation: Simulation, answer: Any) -> Act:
    """Return the act in the answer of a custom policy.

    Raises `AnswerError` for any other answer, and if the policy has changed the dialogue's random
    generator in any way other than drawing numbers.
    """
    if vars(simulation.rng).keys() != vars(Rng(0)).keys():
        raise AnswerError("a policy draws from rng and does not change its attributes")
    act = checked_act(answer)
    try:
        simulation.view.check(act)
    except UsageError as error:
        raise AnswerError(str(error)) from None
    return act
