"""Many simulated dialogues: held in several processes, logged, and resumed.

The goal of a number and the dialogue about it follow from the seed alone, so that neither the
number of processes nor an interruption changes anything.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from hashlib import sha256
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from mwzeval.conversation.pool import NO_LIMITS, TimeLimits
from mwzeval.conversation.protocols import Ending
from mwzeval.conversation.runs import run
from mwzeval.conversation.trajectory import Planned, Record, Trajectory, is_header
from mwzeval.crosswoz import NAME
from mwzeval.crosswoz.corpus.dialogues import Goal, goal_to_json
from mwzeval.crosswoz.corpus.names import GOAL_TYPES
from mwzeval.crosswoz.simulation.dialogue import Setting
from mwzeval.crosswoz.simulation.goals import GoalGenerator, goal_type
from mwzeval.crosswoz.simulation.log import (
    END_OF,
    SimulatedDialogue,
    dialogue_name,
    exchange_to_json,
    facts_of,
)
from mwzeval.crosswoz.simulation.protocols import Rng, SeededRng
from mwzeval.crosswoz.simulation.summary import Ended, Summary
from mwzeval.errors import MwzevalError, UsageError
from mwzeval.files.reading import read_bytes

PER_TYPE = 1000
GIVE_UP = 100_000
"""After so many goals in a row that no type needs, the others are not expected any more."""
MakeGoal = Callable[[Rng], Goal]


class GoalPlan:
    """Which goals are simulated: those in the order of their numbers whose type lacks some.

    `first_passed_over` is the number of the first other goal, None as long as there is none.
    """

    def __init__(self, make_goal: MakeGoal, seed: int, per_type: int) -> None:
        self.first_passed_over: int | None = None
        self._make_goal = make_goal
        self._seed = seed
        self.per_type = per_type

    def goals(self) -> Iterator[tuple[int, Goal]]:
        """Yield numbers and goals. Raises `MwzevalError` when goals of some type never come."""
        lacking = Counter(dict.fromkeys(GOAL_TYPES, self.per_type))
        number = passed_over = 0
        while lacking.total():
            goal = goal_of(self._make_goal, self._seed, number)
            kind = goal_type(goal)
            if lacking[kind]:
                lacking[kind] -= 1
                passed_over = 0
                yield number, goal
            else:
                passed_over += 1
                if self.first_passed_over is None:
                    self.first_passed_over = number
                if passed_over == GIVE_UP:
                    types = ", ".join(code for code, count in lacking.items() if count)
                    raise MwzevalError(f"none of {GIVE_UP:,} goals was of the types {types}")
            number += 1


def goal_of(make_goal: MakeGoal, seed: int, number: int) -> Goal:
    """Return the goal of a number."""
    return make_goal(SeededRng(f"{seed}/goal/{number}"))


def simulated_dialogues(
    setting: Setting,
    *,
    per_type: int = PER_TYPE,
    seed: int = 0,
    make_goal: MakeGoal | None = None,
) -> Iterator[SimulatedDialogue]:
    """Yield the dialogues of a simulation one after the other, in this process.

    `setting` holds them, `per_type` is how many there are of each goal type, `seed` decides all
    random choices, and `make_goal` generates goals (default: the goal generator on the database).
    Raises `MwzevalError` when the generator makes no goals of some type.
    """
    make = make_goal or GoalGenerator(setting.database).goal
    for number, goal in GoalPlan(make, seed, per_type).goals():
        yield setting.simulate(goal, number, seed)


def simulate(
    setting: Setting,
    *,
    per_type: int = PER_TYPE,
    seed: int = 0,
    processes: int = 1,
    output: str | Path | None = None,
    resume: bool = False,
    make_goal: MakeGoal | None = None,
    about: Mapping[str, Any] | None = None,
    progress: bool | None = None,
    time_limit: float | None = None,
) -> Summary:
    """Simulate `per_type` dialogues of each goal type in a `setting`; return how many finish.

    Goals are made by `make_goal` (default: CrossWOZ's goal generator on the database); one whose
    type has enough is passed over. `seed` decides all random choices, `processes` how many
    dialogues are held beside each other. `output` is a file of trajectories, complete lines at any
    time; with `resume` a run that was killed goes on with its file, which becomes what it would
    have been. `about` is added to the file's header. `progress` shows a bar on standard error, None
    only on a terminal. With a `time_limit` in seconds, dialogues are held in processes that can be
    killed, and one whose user or system takes longer for a call ends as failed; without, such a
    call is waited for.

    Raises `UsageError` for numbers that make no sense, when the output exists and is not resumed,
    or is that of another run; `MwzevalError` when it cannot be written or a process dies.
    """
    if per_type < 1:
        raise UsageError(f"per_type is at least 1, not {per_type}")
    if resume and output is None:
        raise UsageError("only a simulation with an output can be resumed")
    if output is not None and not resume and Path(output).exists():
        raise UsageError(f"{output} exists: resume it, or choose another file")
    limits = NO_LIMITS if time_limit is None else TimeLimits(time_limit, None)
    plan = GoalPlan(make_goal or GoalGenerator(setting.database).goal, seed, per_type)
    # Processes are only killed where there are limits.
    held = SimulationRun.of(setting, plan, about, trusts=limits == NO_LIMITS)
    with TemporaryDirectory() as folder:
        log = Path(output or f"{folder}/log.jsonl")
        run(held, log, seed=seed, jobs=processes, limits=limits, progress=progress)
        lines = map(json.loads, read_bytes(log).splitlines())
        ended = [Ended.of_line(line) for line in lines if not is_header(line)]
    return Summary.of(ended, plan.first_passed_over)


@dataclass(frozen=True, slots=True)
class SimulationRun:
    """A setting and the goals that are talked about in it, as `conversation.runs` takes them."""

    setting: Setting
    goals: Mapping[str, Goal]
    about: Mapping[str, Any]
    trusts: bool
    items: Sequence[tuple[str, Any]]
    benchmark: str = field(default=NAME, init=False)

    @classmethod
    def of(
        cls, setting: Setting, plan: GoalPlan, about: Mapping[str, Any] | None, *, trusts: bool
    ) -> SimulationRun:
        """Return the run of a plan; `about` is added to the header of its file.

        `trusts` says that nothing hangs, so that no process has to be killed.
        """
        goals = {dialogue_name(number): goal for number, goal in plan.goals()}
        items = [(name, goal_to_json(goal)) for name, goal in goals.items()]
        text = json.dumps(items, ensure_ascii=False).encode()
        header = {
            "track": "simulation",
            "level": setting.level,
            "per_type": plan.per_type,
            "goals": {"source": "generator", "sha": sha256(text).hexdigest()[:8]},
            "limits": {"user_turns": setting.limit},
        }
        return cls(setting, goals, {**header, **(about or {})}, trusts, items)

    def begin(self) -> None:
        """Make nothing ready: the setting has its database."""

    def hold(self, planned: Planned, record: Record) -> Ending:
        """Hold a dialogue."""

        def note(so_far: SimulatedDialogue) -> None:
            for exchange in so_far.exchanges[len(record.acts) :]:
                record.exchange(exchange_to_json(exchange))
            record.keep(facts_of(so_far))
            record.note(_ending(so_far))

        dialogue = self.setting.simulate(
            self.goals[planned.item],
            int(planned.item.rpartition("-")[2]),
            planned.seed,
            note=note if record.is_watched else None,
        )
        note(dialogue)
        return _ending(dialogue)

    def judge(self, trajectory: Trajectory) -> bool:
        """Return whether the dialogue was finished."""
        return trajectory.end == "user_stop"


def _ending(dialogue: SimulatedDialogue) -> Ending:
    return Ending(END_OF[dialogue.outcome], dialogue.user_turns, dialogue.problem)
