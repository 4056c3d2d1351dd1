"""Live runs: a policy of one's own, or one that comes along, meets the users of a run's tests.

They are the users that `mwzeval pydial run` tests policies with, dialogue by dialogue.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from hashlib import sha256
from typing import Any

import numpy as np

from mwzeval.conversation.loop import Ending
from mwzeval.conversation.own_code import check_call, given, imported, is_own_code
from mwzeval.conversation.protocols import AnswerError
from mwzeval.conversation.record import Planned, Record
from mwzeval.conversation.trajectory import Trajectory
from mwzeval.errors import UsageError, shorten
from mwzeval.pydial import NAME
from mwzeval.pydial.dialogue.acts import NULL, Act, Item, parse_act
from mwzeval.pydial.dialogue.domain import has_controls
from mwzeval.pydial.dialogue.domain_files import OwnFiles, load_domain
from mwzeval.pydial.dialogue.plain_goals import plain_goal
from mwzeval.pydial.dialogue.rng import rng_from
from mwzeval.pydial.dialogue.simulation import Simulation
from mwzeval.pydial.dialogue.talk import (
    Answer,
    SimulatedUser,
    facts_of,
    hold_dialogue,
)
from mwzeval.pydial.runs.episodes import TEST, item_name, rng_of_phase
from mwzeval.pydial.runs.job import single_threaded
from mwzeval.pydial.runs.play import adapter_for
from mwzeval.pydial.tasks import task_named

DIALOGUES = 500
OFFERED = ("domain", "task", "seed", "dialogue")
A_POLICY = "a policy is a class whose objects have act(belief, rng) or answer(hypotheses)"
MOST_ITEMS, LONGEST_VALUE = 100, 1000
"""Of an act; whoever says more floods the file."""


@dataclass(frozen=True, slots=True)
class LiveOptions:
    """What the options of `mwzeval live` say; names as they are given."""

    agent: str
    task: str
    dialogues: int = DIALOGUES
    seed: int = 0
    data: str | None = None
    offline: bool | None = None
    own: OwnFiles | None = None
    """Of the domain, where it is one's own."""


def goals_named(goals: str | None, task: str | None) -> tuple[str, int]:
    """Return the task and the number of dialogues that `--goals TASK[:NUMBER]` says.

    `task` is the one of `--benchmark`, if it names one. Raises `UsageError`.
    """
    name, _, number = (goals or task or "").partition(":")
    if not name:
        raise UsageError("which task? Say --goals CR-1:100 (Demo-CR-1 needs no data)")
    if task is not None and name != task:
        raise UsageError(f"--goals is about {shorten(name)}, and --benchmark about {task}")
    if number and not (number.isdecimal() and 0 < len(number) < 8 and int(number) > 0):
        raise UsageError(f'--goals TASK:NUMBER, such as CR-1:100, not "{shorten(goals or "")}"')
    return task_named(name).name, int(number) if number else DIALOGUES


class LiveSetting:
    """The simulated user of a task talks to a policy, in acts.

    Raises `UsageError` for unknown names, `DataError` and `InputError` for files.
    """

    benchmark = NAME

    def __init__(self, options: LiveOptions) -> None:
        self._options = options
        self._task = task = task_named(options.task)
        seed = options.seed
        if seed < 0:
            raise UsageError(f"a seed is 0 or more, not {seed}")
        self._domain = load_domain(
            task.domain, options.data, offline=options.offline, own=options.own
        )
        self.trusts = not is_own_code(options.agent)
        self._adapter = None
        self._own: Callable[..., Any] | None = None
        self._threads = ExitStack()
        if self.trusts:
            self._adapter = adapter_for(options.agent, self._domain, task, confusion_seed=seed)
            self._simulation = self._adapter.simulation
        else:
            self._simulation = Simulation(self._domain, task, confusion_seed=seed)
        self.items: Sequence[tuple[str, Any]] = tuple(
            (item_name(task.name, seed, index), self._goal(index))
            for index in range(options.dialogues)
        )
        goals = json.dumps(self.items, ensure_ascii=False).encode()
        self.about: Mapping[str, Any] = {
            "task": task.name,
            "legacy": False,
            "agent": {"spec": options.agent},
            "user": {"spec": task.user_model},
            "goals": {
                "source": f"{task.name}:{options.dialogues}",
                "sha": sha256(goals).hexdigest()[:8],
            },
            "level": "acts",
            "limits": {"user_turns": task.max_exchanges},
        }

    def __reduce__(self) -> tuple[type[LiveSetting], tuple[LiveOptions]]:
        """Let each process that is no copy load the domain for itself."""
        return LiveSetting, (self._options,)

    def begin(self) -> None:
        """Import the policy. Raises `UsageError` when that fails."""
        if self._adapter is not None:
            self._threads.enter_context(single_threaded(self._adapter.preset))
            return
        name = self._options.agent
        own = imported(name)
        check_call(name, own, 0, OFFERED, A_POLICY)
        if isinstance(own, type) and not (hasattr(own, "act") or hasattr(own, "answer")):
            raise UsageError(f'"{name}" has neither act(belief, rng) nor answer(…): {A_POLICY}')
        self._own = own

    def hold(self, planned: Planned, record: Record) -> Ending:
        """Hold a dialogue."""
        seed, index = planned.seed, int(planned.item.rpartition("/")[2])
        talk = None
        if planned.trial > 1:
            talk = rng_from(np.random.default_rng((seed, TEST, index, planned.trial)))
        rng = rng_of_phase(TEST, seed, index)
        user = SimulatedUser(self._simulation, rng, record, talk)

        def note(ending: Ending) -> None:
            if record.is_watched:
                record.keep(facts_of(user))
            record.note(ending)

        ending = hold_dialogue(user, lambda: self._answer_of(planned), record, note=note)
        record.keep(facts_of(user))
        record.note(ending)
        return ending

    def judge(self, trajectory: Trajectory) -> bool | None:
        """Return whether the user got what was wanted."""
        return bool(trajectory.more["success"])

    def _goal(self, index: int) -> Any:
        rng = rng_of_phase(TEST, self._options.seed, index)
        return plain_goal(self._simulation.users.begin(rng).goal)

    def _answer_of(self, planned: Planned) -> Answer:
        if self._adapter is not None:
            self._adapter.prepare()
            return self._adapter.answer
        assert self._own is not None
        values = self._domain, self._task, planned.number, planned.name
        policy = self._own(**given(self._own, dict(zip(OFFERED, values, strict=True))))
        simulation = self._simulation
        if hasattr(policy, "act"):
            return lambda belief: checked_act(policy.act(belief, simulation.rng))
        return lambda belief: checked_act(policy.answer(simulation.heard))


def checked_act(answer: Any) -> Act:
    """Return the act that a policy answers with, an `Act` or its text. Raises `AnswerError`."""
    act = parse_act(answer) if isinstance(answer, str) else answer
    if not isinstance(act, Act) or (act == NULL and isinstance(answer, str)):
        raise AnswerError(f"expected an act such as request(area), found {shorten(repr(answer))}")
    if (
        not isinstance(act.items, tuple)
        or len(act.items) > MOST_ITEMS
        or not all(map(_is_item, act.items))
        or not _are_texts((act.name,))
    ):
        raise AnswerError(
            f"an act has a name and at most {MOST_ITEMS} items of slot and value, found "
            f"{shorten(repr(answer))}"
        )
    return act


def _is_item(item: Any) -> bool:
    if not isinstance(item, Item) or not isinstance(item.negated, bool):
        return False
    return _are_texts((item.slot,) if item.value is None else (item.slot, item.value))


def _are_texts(values: Iterable[Any]) -> bool:
    return all(
        isinstance(value, str) and len(value) <= LONGEST_VALUE and not has_controls(value)
        for value in values
    )
