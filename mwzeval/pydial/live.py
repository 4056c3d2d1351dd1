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

from mwzeval.conversation.agents import (
    check_call,
    failing_as_usage,
    given,
    imported,
    is_own_code,
)
from mwzeval.conversation.completions import Client
from mwzeval.conversation.models import ModelOptions, is_endpoint
from mwzeval.conversation.protocols import AnswerError, Ending, InfrastructureError
from mwzeval.conversation.trajectory import Planned, Record, Trajectory
from mwzeval.errors import InputError, UsageError, did_you_mean, shorten
from mwzeval.pydial import NAME
from mwzeval.pydial.acts import Act
from mwzeval.pydial.domain import OwnFiles, load_domain
from mwzeval.pydial.episodes import (
    TEST,
    Answer,
    SimulatedUser,
    check_seeds,
    facts_of,
    hold_dialogue,
    item_name,
    rng_of_phase,
)
from mwzeval.pydial.goals import plain_goal
from mwzeval.pydial.job import single_threaded
from mwzeval.pydial.play import PolicyAdapter, adapter_for
from mwzeval.pydial.simulator.rng import Rng, rng_from
from mwzeval.pydial.simulator.simulation import Simulation, UserState
from mwzeval.pydial.simulator.view import Belief
from mwzeval.pydial.tasks import task_named
from mwzeval.pydial.users import GOAL, PROMPT, Make, checked_act, model_users, own_users

AGENDA = "agenda"
KNOWN_USERS = f"{AGENDA}, openai:MODEL, package.module:Name or file.py:Name"
DIALOGUES = 500
OFFERED = ("domain", "task", "seed", "dialogue")
Stage = tuple[Simulation, PolicyAdapter | None]
"""A simulation for one dialogue at a time, with the policy. Each of several threads needs one."""
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


class LiveSetting:
    """Act-level dialogues between a policy and the user of a task.

    Raises `UsageError` if a name is unknown or an option is invalid, and `DataError`, `InputError`
    or `MwzevalError` if a file is missing or invalid.
    """

    benchmark = NAME

    def __init__(self, options: LiveOptions) -> None:
        self._options = options
        self._task = task = task_named(options.task)
        seed, user, model = options.seed, options.user, options.user_model
        check_seeds(seed)
        self._domain = load_domain(
            task.domain, options.data, offline=options.offline, own=options.own
        )
        self.waits = is_endpoint(user)
        self._prompt = model.prompt_or(PROMPT, GOAL) if self.waits else None
        self._has_own_user = not self.waits and is_own_code(user)
        if not (self.waits or self._has_own_user or user == AGENDA):
            hint = did_you_mean(user, (AGENDA,))
            raise UsageError(f'unknown user "{shorten(user)}"{hint} ({KNOWN_USERS})')
        self.trusts = not (self._has_own_user or is_own_code(options.agent))
        self._make_policy: Callable[..., Any] | None = None
        self._make_user: Make | None = None
        self._client: Client | None = None
        self._threads = ExitStack()
        self._free = [self._stage()]
        simulation, adapter = self._free[0]
        self._preset = None if adapter is None else adapter.preset
        self.items: Sequence[tuple[str, Any]] = tuple(
            (
                item_name(task.name, seed, index),
                plain_goal(simulation.draw_user(rng_of_phase(TEST, seed, index))),
            )
            for index in range(options.dialogues)
        )
        goals = json.dumps(self.items, ensure_ascii=False).encode()
        spec = task.user_model if user == AGENDA else user
        self.about: Mapping[str, Any] = {
            "task": task.name,
            "legacy": False,
            "agent": {"spec": options.agent},
            "user": {"spec": spec} if self._prompt is None else model.about(user, self._prompt),
            "goals": {
                "source": f"{task.name}:{options.dialogues}",
                "sha": sha256(goals).hexdigest()[:8],
            },
            "level": "acts",
            "limits": {"user_turns": task.max_exchanges},
        }

    def _stage(self) -> Stage:
        """Return a simulation with the policy, unless the policy is custom code."""
        seed = self._options.seed
        if is_own_code(self._options.agent):
            return Simulation(self._domain, self._task, confusion_seed=seed), None
        adapter = adapter_for(self._options.agent, self._domain, self._task, confusion_seed=seed)
        return adapter.simulation, adapter

    def __reduce__(self) -> tuple[type[LiveSetting], tuple[LiveOptions]]:
        """Pickle only the options, so that each process loads the domain itself."""
        return LiveSetting, (self._options,)

    def begin(self) -> None:
        """Import the code of the policy and the users, and create the first user.

        Raises `UsageError` if the code cannot be used.
        """
        options = self._options
        if self._prompt is not None:
            self._client = options.user_model.client(options.user)
            self._make_user = model_users(self._client, self._prompt)
        elif self._has_own_user:
            self._make_user = own_users(options.user)
            self._check_user(self._make_user)
        if not is_own_code(options.agent):
            self._threads.enter_context(single_threaded(self._preset))
            return
        name = options.agent
        own = imported(name)
        check_call(name, own, 0, OFFERED, A_POLICY)
        if isinstance(own, type) and not (hasattr(own, "act") or hasattr(own, "answer")):
            raise UsageError(f'"{name}" has neither act(belief, rng) nor answer(…): {A_POLICY}')
        self._make_policy = own

    def _check_user(self, make: Make) -> None:
        """Create a custom user without starting a dialogue, to find errors in all dialogues, such
        as a missing file of weights. Raises `UsageError` if the user cannot be created.
        """
        (name, goal), seed = self.items[0], self._options.seed
        simulation, _ = self._free[0]
        state = UserState(self._domain, simulation.draw_user(rng_of_phase(TEST, seed, 0)), Rng(0))
        with failing_as_usage(self._options.user, "made"):
            make(state, self._task, Planned(name, goal, seed=seed), Record())

    def stop(self) -> None:
        """Cancel all requests to the model that plays the users."""
        if self._client is not None:
            self._client.close()

    def hold(self, planned: Planned, record: Record) -> Ending:
        """Run a dialogue and return how it ended."""
        try:
            stage = self._free.pop()
        except IndexError:
            stage = self._stage()
        try:
            return self._hold(planned, record, *stage)
        finally:
            self._free.append(stage)

    def _hold(
        self,
        planned: Planned,
        record: Record,
        simulation: Simulation,
        adapter: PolicyAdapter | None,
    ) -> Ending:
        seed, index = planned.seed, int(planned.item.rpartition("/")[2])
        talk = None
        if planned.trial > 1:
            talk = rng_from(np.random.default_rng((seed, TEST, index, planned.trial)))
        make = self._make_user
        user = SimulatedUser(
            simulation,
            rng_of_phase(TEST, seed, index),
            record,
            talk,
            None if make is None else lambda state: make(state, self._task, planned, record),
        )

        def note(ending: Ending) -> None:
            if record.is_watched:
                record.keep(facts_of(user))
            record.note(ending)

        def answer_of() -> Answer:
            return self._own_answer(planned, simulation) if adapter is None else _answer(adapter)

        ending = hold_dialogue(user, answer_of, note=note)
        record.keep(facts_of(user))
        record.note(ending)
        return ending

    def judge(self, trajectory: Trajectory) -> bool | None:
        """Return whether the goal of the user was met."""
        return bool(trajectory.more["success"])

    def _own_answer(self, planned: Planned, simulation: Simulation) -> Answer:
        assert self._make_policy is not None
        values = self._domain, self._task, planned.number, planned.name
        offered = dict(zip(OFFERED, values, strict=True))
        policy = self._make_policy(**given(self._make_policy, offered))
        if hasattr(policy, "act"):
            return lambda belief: _act_in(simulation, policy.act(belief, simulation.rng))
        return lambda belief: _act_in(simulation, policy.answer(simulation.view.hypotheses))


def _answer(adapter: PolicyAdapter) -> Answer:
    def answer(belief: Belief) -> Act:
        try:
            return adapter.answer(belief)
        except InputError as error:  # the policy is not responsible for a damaged file
            raise InfrastructureError(str(error)) from None

    return answer


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
