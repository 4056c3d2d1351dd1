"""Simulated dialogues: a user with a goal talks to a system, at act level or text level.

A goal and its dialogue depend only on the number of the goal and on the seed, not on the number of
processes or on interruptions.

Source: Zhu et al., TACL 2020, section 5.6 ("task finish rate"). The user begins; a dialogue is
finished if the user terminates it within 15 turns.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from hashlib import sha256
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, Literal

from mwzeval.conversation.loop import converse
from mwzeval.conversation.pool import NO_LIMITS, TimeLimits
from mwzeval.conversation.protocols import INFRASTRUCTURE, LIMIT, USER_STOP, Ending
from mwzeval.conversation.runs import run
from mwzeval.conversation.trajectory import Planned, Record, Trajectory, is_header
from mwzeval.crosswoz import NAME
from mwzeval.crosswoz.corpus.acts import Acts
from mwzeval.crosswoz.corpus.database import Database
from mwzeval.crosswoz.corpus.dialogues import Goal, goal_to_json
from mwzeval.crosswoz.corpus.names import GOAL_TYPES
from mwzeval.crosswoz.corpus.ontology import mistakes_in
from mwzeval.crosswoz.goals import GoalGenerator, goal_type
from mwzeval.crosswoz.protocols import (
    CONTEXT,
    SYSTEM,
    USER,
    MakeSystem,
    MakeTextSystem,
    MakeUser,
    Nlg,
    Nlu,
    Rng,
    Side,
    UserSimulator,
    as_acts,
    as_text,
    selected_of,
    state_of,
)
from mwzeval.crosswoz.scoring.simulation import FINAL_GOAL, GOAL_TYPE, SILENT, natural_mix
from mwzeval.crosswoz.tracks import (
    RESPONSE,
    SELECTED,
    STATE,
    SYSTEM_ACTS,
    SYSTEM_ACTS_NLU,
    USER_ACTS,
    USER_RESPONSE,
)
from mwzeval.crosswoz.user import RuleSimulator
from mwzeval.errors import MwzevalError, UsageError, printable, unknown
from mwzeval.files.reading import read_bytes

Level = Literal["act", "text"]
LEVELS: tuple[Level, ...] = ("act", "text")
MOST_EXCHANGES = 15
"""The maximum number of user turns of a dialogue."""
PER_TYPE = 1000
GIVE_UP = 100_000
"""The maximum number of consecutive goals whose types already have enough dialogues."""
MakeGoal = Callable[[Rng], Goal]
FINISHED = "finished"
OUTCOMES = {
    USER_STOP: FINISHED,
    LIMIT: "limit",
    "user_error": "user failed",
    "agent_error": "system failed",
    INFRASTRUCTURE: "infrastructure",
}
"""A mapping from the ending of a trajectory to the name of this ending in a summary."""
SHOWN_PROBLEMS = 5


@dataclass(frozen=True, slots=True)
class Setting:
    """The user, the system, and the level at which they talk.

    Either `make_system` (a system at act level, `System`) or `make_text_system` (a system at text
    level, `TextSystem`) is given. At level `text`, the user and a system at act level use `nlu` and
    `nlg`. Raises `UsageError` if the settings cannot be combined.
    """

    database: Database
    make_system: MakeSystem | None = None
    make_text_system: MakeTextSystem | None = None
    make_user: MakeUser = RuleSimulator
    level: Level = "act"
    nlu: Nlu | None = None
    nlg: Nlg | None = None
    limit: int = MOST_EXCHANGES

    def __post_init__(self) -> None:
        if self.level not in LEVELS:
            raise UsageError(unknown("level", self.level, LEVELS))
        if (self.make_system is None) == (self.make_text_system is None):
            raise UsageError("a simulation needs exactly one system, for acts or for text")
        if self.level == "act" and self.make_system is None:
            raise UsageError("a system for text cannot use acts: choose the level text")
        if self.level == "text" and (self.nlu is None or self.nlg is None):
            raise UsageError("a user at level text needs an NLU and an NLG")
        if self.limit < 1:
            raise UsageError(f"the limit must be at least one turn, not {self.limit}")

    def simulate(self, goal: Goal, number: int, seed: int | str) -> Trajectory:
        """Return the dialogue about a `goal`; `seed` and `number` decide all random choices.

        If the user or the system raises an exception or returns invalid acts, the dialogue ends and
        the error is recorded as its problem.
        """
        record = Record()
        ending = self.hold(goal, number, seed, record)
        return record.trajectory(Planned(dialogue_name(number), goal_to_json(goal)), ending)

    def hold(self, goal: Goal, number: int, seed: int | str, record: Record) -> Ending:
        """Run the dialogue, write it to `record`, and return how the dialogue ended.

        The exchanges of the record have the form of predictions files.
        """
        rng = Rng(f"{seed}/dialogue/{number}")
        users: list[UserSimulator] = []

        def make_user() -> _CheckedUser:
            users.append(self.make_user(goal, rng))
            return _CheckedUser(users[0])

        def keep(ending: Ending) -> Ending:
            state = getattr(users[0], "state", None) if users else None
            final = goal if state is None else tuple(state)
            silent = sum(not (turn[SYSTEM_ACTS] or turn.get(RESPONSE)) for turn in record.acts)
            record.keep(
                {GOAL_TYPE: goal_type(goal), SILENT: silent, FINAL_GOAL: goal_to_json(final)}
            )
            record.note(ending)
            return ending

        ending = converse(
            make_user,
            lambda: _Partner(self, rng, record),
            user_turns=self.limit,
            note=keep if record.is_watched else None,
        )
        # A dialogue that reaches the limit has no problem, but lowers the finish rate.
        return keep(ending._replace(problem=None) if ending.end == LIMIT else ending)


class _CheckedUser:
    """A user whose acts are checked."""

    def __init__(self, user: UserSimulator) -> None:
        self._user = user

    def begin(self) -> Acts:
        return as_acts(self._user.begin(), "the user")

    def answer(self, system_acts: Acts, /) -> Acts:
        return as_acts(self._user.answer(system_acts), "the user")

    @property
    def is_done(self) -> bool:
        return self._user.terminated


class _Partner:
    """The system's side of a dialogue; at text level, it includes the NLU and NLG of both sides."""

    def __init__(self, setting: Setting, rng: Rng, record: Record) -> None:
        self._setting, self._rng, self._record = setting, rng, record
        make: Any = setting.make_system or setting.make_text_system
        self._system: Any = make(setting.database)
        self._before: list[str] = []

    def answer(self, user_acts: Acts, /) -> Acts:
        """Return the acts that the user's NLU finds in the system's answer."""
        exchange: dict[str, Any] = {USER_ACTS: user_acts}
        if self._setting.level == "act":
            acts = nlu_acts = as_acts(self._system.answer(user_acts), "the system")
            in_words = {}
        else:
            utterance = exchange[USER_RESPONSE] = self._say(user_acts, USER)
            reply, acts_of_system = self._respond(utterance)
            self._before.append(utterance)
            nlu_acts = self._understand(reply, SYSTEM) if reply else ()
            self._before.append(reply)
            acts = nlu_acts if acts_of_system is None else as_acts(acts_of_system, "the system")
            in_words = {SYSTEM_ACTS_NLU: nlu_acts, RESPONSE: reply}
        exchange |= {STATE: state_of(self._system), SELECTED: selected_of(self._system)}
        self._record.exchange({**exchange, SYSTEM_ACTS: acts, **in_words})
        return nlu_acts

    def _respond(self, utterance: str) -> tuple[str, Any]:
        """Return the system's text, and its acts if they are known."""
        if self._setting.make_system is None:
            reply = as_text(self._system.respond(utterance), "the system")
            return reply, getattr(self._system, "said", None)
        understood = self._understand(utterance, USER)
        acts = as_acts(self._system.answer(understood), "the system")
        return as_text(self._say(acts, SYSTEM), "the system"), acts

    def _say(self, acts: Acts, side: Side) -> str:
        assert self._setting.nlg is not None  # checked in __post_init__
        return self._setting.nlg.say(acts, side, self._rng) or ""

    def _understand(self, utterance: str, side: Side) -> Acts:
        assert self._setting.nlu is not None  # checked in __post_init__
        context = self._before[-CONTEXT:]
        return as_acts(self._setting.nlu.understand(utterance, context, side), "the NLU")


def dialogue_name(number: int) -> str:
    """Return the name of the dialogue with this number."""
    return f"simulated-{number:06d}"


def goal_of(make_goal: MakeGoal, seed: int, number: int) -> Goal:
    """Return the goal with this number."""
    return make_goal(Rng(f"{seed}/goal/{number}"))


def planned_goals(make_goal: MakeGoal, seed: int, per_type: int) -> Iterator[tuple[int, Goal]]:
    """Yield numbered goals in order, except goals of a type that already has enough dialogues.

    Raises `MwzevalError` if the generator never makes goals of some type.
    """
    lacking = Counter(dict.fromkeys(GOAL_TYPES, per_type))
    number = passed_over = 0
    while lacking.total():
        goal = goal_of(make_goal, seed, number)
        kind = goal_type(goal)
        if lacking[kind]:
            lacking[kind] -= 1
            passed_over = 0
            yield number, goal
        else:
            passed_over += 1
            if passed_over == GIVE_UP:
                types = ", ".join(code for code, count in lacking.items() if count)
                raise MwzevalError(
                    f"none of {GIVE_UP:,} generated goals has one of the types {types}"
                )
        number += 1


def simulate(
    setting: Setting,
    *,
    per_type: int = PER_TYPE,
    seed: int = 0,
    processes: int = 1,
    output: str | Path | None = None,
    resume: bool = False,
    about: Mapping[str, Any] | None = None,
    progress: bool | None = None,
    time_limit: float | None = None,
) -> Summary:
    """Simulate `per_type` dialogues of each goal type in a `setting`; return the finish rates.

    Goals of a type that already has enough dialogues are skipped. `seed` decides all random
    choices. `processes` is the number of parallel dialogues. `output` is a file of trajectories; at
    any time, all lines in the file are complete. With `resume`, an interrupted run continues its
    file, and the result is identical to that of an uninterrupted run. The header of the output file
    includes the entries of `about`.
    `progress` shows a bar on standard error (None: only on a terminal). With a `time_limit` in
    seconds, dialogues run in processes that can be killed, and a dialogue fails if a single call of
    the user or system takes longer than this limit. By default, the duration of a call is not
    limited.

    Raises `UsageError` if a number is invalid, if the output file already exists without `resume`,
    or if the file belongs to another run. Raises `MwzevalError` if the output cannot be written or
    a process dies.
    """
    if per_type < 1:
        raise UsageError(f"per_type must be at least 1, not {per_type}")
    if resume and output is None:
        raise UsageError("only a simulation with an output can be resumed")
    if output is not None and not resume and Path(output).exists():
        raise UsageError(f"{output} already exists: resume it, or choose another file")
    limits = NO_LIMITS if time_limit is None else TimeLimits(time_limit, None)
    goals = planned_goals(GoalGenerator(setting.database).goal, seed, per_type)
    # Processes are killed only if there are limits.
    held = SimulationRun.of(setting, goals, per_type, about, trusts=limits == NO_LIMITS)
    with TemporaryDirectory() as folder:
        log = Path(output or f"{folder}/log.jsonl")
        run(held, log, seed=seed, jobs=processes, limits=limits, progress=progress)
        lines = map(json.loads, read_bytes(log).splitlines())
        return Summary.of([line for line in lines if not is_header(line)])


@dataclass(frozen=True, slots=True)
class SimulationRun:
    """A setting and its goals, in the form that `conversation.runs` requires."""

    setting: Setting
    goals: Mapping[str, Goal]
    about: Mapping[str, Any]
    trusts: bool
    items: Sequence[tuple[str, Any]]
    benchmark: str = field(default=NAME, init=False)

    @classmethod
    def of(
        cls,
        setting: Setting,
        goals: Iterable[tuple[int, Goal]],
        per_type: int,
        about: Mapping[str, Any] | None = None,
        *,
        trusts: bool = True,
    ) -> SimulationRun:
        """Return the run for `per_type` goals of each type; the file's header contains `about`.

        `trusts` is true if no call can hang, so that no process has to be killed.
        """
        by_name = {dialogue_name(number): goal for number, goal in goals}
        items = [(name, goal_to_json(goal)) for name, goal in by_name.items()]
        text = json.dumps(items, ensure_ascii=False).encode()
        header = {
            "track": "simulation",
            "level": setting.level,
            "per_type": per_type,
            "goals": {"source": "generator", "sha": sha256(text).hexdigest()[:8]},
            "limits": {"user_turns": setting.limit},
        }
        return cls(setting, by_name, {**header, **(about or {})}, trusts, items)

    def begin(self) -> None:
        """Do nothing, because the database is already loaded."""

    def hold(self, planned: Planned, record: Record) -> Ending:
        """Run a dialogue."""
        number = int(planned.item.rpartition("-")[2])
        return self.setting.hold(self.goals[planned.item], number, planned.seed, record)

    def judge(self, trajectory: Trajectory) -> bool:
        """Return whether the dialogue was finished."""
        return trajectory.end == USER_STOP


@dataclass(frozen=True, slots=True)
class Rate:
    """Numbers of dialogues and of finished dialogues; `turns` is the mean number of user turns."""

    dialogues: int
    finished: int
    turns: float

    @property
    def finish_rate(self) -> float | None:
        """The share of finished dialogues, 0 to 1; None without dialogues."""
        return self.finished / self.dialogues if self.dialogues else None

    @classmethod
    def of(cls, lines: Iterable[Mapping[str, Any]]) -> Rate:
        """Return the finish rate of dialogues, except dialogues with an infrastructure error."""
        scored = [line for line in lines if line["end"] != INFRASTRUCTURE]
        finished = sum(line["end"] == USER_STOP for line in scored)
        turns = sum(line["turns"] for line in scored)
        return cls(len(scored), finished, turns / len(scored) if scored else 0.0)

    def to_json(self) -> dict[str, Any]:
        """Return the rate as plain values."""
        return {
            "dialogues": self.dialogues,
            "finished": self.finished,
            "finish_rate": self.finish_rate,
            "mean_user_turns": self.turns,
        }


@dataclass(frozen=True, slots=True)
class Summary:
    """Finish rates and problems.

    `natural` is the finish rate for the natural mix of goal types ("overall" in the paper), and
    `macro` is the mean of the finish rates of the goal types. `outcomes` counts dialogues by their
    ending. `problems` counts the errors of users and systems, most frequent first. `silent` counts
    dialogues with an empty system turn. `unknown` counts the dialogues with unknown acts, by the
    part of the act that is unknown.
    """

    by_type: Mapping[str, Rate]
    natural: Rate
    outcomes: Mapping[str, int]
    silent: int
    problems: Mapping[str, int]
    unknown: Mapping[str, int] = field(default_factory=dict)

    @property
    def macro(self) -> float | None:
        """The mean of the finish rates of the goal types; None without dialogues."""
        rates = [rate.finish_rate for rate in self.by_type.values() if rate.finish_rate is not None]
        return sum(rates) / len(rates) if rates else None

    @classmethod
    def of(cls, lines: Sequence[Mapping[str, Any]]) -> Summary:
        """Return the summary of a log, given its lines in the order of their goals."""
        by_type = {
            code: Rate.of(line for line in lines if line[GOAL_TYPE] == code) for code in GOAL_TYPES
        }
        ends = Counter(line["end"] for line in lines)
        problems = Counter(line["problem"] for line in lines if "problem" in line)
        unknown_acts = Counter(what for line in lines for what in dict.fromkeys(_unknown(line)))
        return cls(
            by_type,
            Rate.of(lines[: natural_mix(line["dialogue"] for line in lines)]),
            {outcome: ends[end] for end, outcome in OUTCOMES.items()},
            sum(line[SILENT] > 0 for line in lines),
            dict(problems.most_common()),
            dict(unknown_acts.most_common()),
        )

    def to_json(self) -> dict[str, Any]:
        """Return the finish rates and problems as plain values."""
        return {
            "by_goal_type": {code: rate.to_json() for code, rate in self.by_type.items()},
            "natural_mix": self.natural.to_json(),
            "macro_finish_rate": self.macro,
            "outcomes": dict(self.outcomes),
            "silent_dialogues": self.silent,
            "problems": dict(self.problems),
            "unknown": dict(self.unknown),
        }

    def to_text(self) -> str:
        """Return the finish rates as a table, followed by the problems."""
        lines = [f"{'goal type':<14}{'dialogues':>10}{'finished %':>12}{'user turns':>12}"]
        for name, rate in {**self.by_type, "natural mix": self.natural}.items():
            percent = _percent(rate.finish_rate)
            lines.append(f"{name:<14}{rate.dialogues:>10}{percent:>12}{rate.turns:>12.2f}")
        total = sum(rate.dialogues for rate in self.by_type.values())
        lines.append(f"{'macro':<14}{total:>10}{_percent(self.macro):>12}")
        if wrong := [f"{what}: {n}" for what, n in self.outcomes.items() if what != FINISHED and n]:
            lines.append(f"not finished: {', '.join(wrong)}")
        if self.silent:
            lines.append(f"in {self.silent} dialogues, the system was silent in at least one turn")
        lines += _most(
            [f"{count} × {problem}" for problem, count in self.problems.items()],
            "problems (see the log)",
        )
        lines += _most(
            [f"in {count} dialogues {what}" for what, count in self.unknown.items()],
            "unknown intents, domains or slots",
        )
        return "\n".join(map(printable, lines)) + "\n"


def _unknown(line: Mapping[str, Any]) -> Iterator[str]:
    """Yield the mistakes in the acts of user and system."""
    for turn in line.get("acts", ()):
        for side, key in (("user", USER_ACTS), ("system", SYSTEM_ACTS)):
            for _, message in mistakes_in(side, turn[key]):
                yield f"{side} acts: {message}"


def _most(lines: Sequence[str], others: str) -> list[str]:
    more = len(lines) - SHOWN_PROBLEMS
    return [*lines[:SHOWN_PROBLEMS], *([f"… and {more} other {others}"] if more > 0 else [])]


def _percent(share: float | None) -> str:
    return "–" if share is None else f"{100 * share:.1f}"
