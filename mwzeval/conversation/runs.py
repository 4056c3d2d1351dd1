"""Resumable runs of dialogues, with several trials per goal, in parallel.

All random choices in a dialogue depend on the seed, the goal and the trial number only. Therefore,
parallel processes and interruptions do not change the results of a run.
"""

from __future__ import annotations

from argparse import Namespace
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from mwzeval.conversation.pool import (
    MOST_THREADS,
    NO_LIMITS,
    Processes,
    RunSetting,
    Threads,
    TimeLimits,
)
from mwzeval.conversation.protocols import AGENT_ERROR, ENDS, INFRASTRUCTURE, USER_ERROR, End
from mwzeval.conversation.trajectory import Planned, Trajectory, TrajectoryLog, header
from mwzeval.errors import MwzevalError, UsageError, shorten
from mwzeval.scores.sheets import interval_text
from mwzeval.statistics.intervals import wilson
from mwzeval.version import __version__

MOST_INFRASTRUCTURE = 0.05
"""The maximum share of dialogues with an infrastructure error in a valid run."""
FAILED_ENDS: tuple[End, ...] = (AGENT_ERROR, USER_ERROR, INFRASTRUCTURE)
SHOWN = 3
"""The number of problems that are printed for each type of ending."""
MOST_IN_A_ROW = 10
"""The number of consecutive failures, plus one for each parallel dialogue, after which a run
stops."""
CONCURRENCY = 4
"""The default number of parallel dialogues with a model; small servers can handle this number."""


@dataclass(frozen=True, slots=True)
class RunSummary:
    """The endings of the dialogues in a run.

    `problems` maps an ending to tuples (message, number of dialogues, name of the first dialogue),
    most frequent message first. `earlier` is the number of dialogues that were already in the file.
    `is_stopped` is true if the run stopped early because of consecutive infrastructure errors.
    """

    ends: Mapping[End, int]
    problems: Mapping[End, Sequence[tuple[str, int, str]]] = field(default_factory=dict)
    earlier: int = 0
    is_stopped: bool = False

    @property
    def dialogues(self) -> int:
        """The number of dialogues."""
        return sum(self.ends.values())

    @property
    def scored(self) -> int:
        """The number of dialogues without an infrastructure error; only these are scored."""
        return self.dialogues - self.ends.get(INFRASTRUCTURE, 0)

    @property
    def problem(self) -> str | None:
        """The reason why scores of the run would be invalid; None if they are valid."""
        lost = self.dialogues - self.scored
        words = shorten(self.problems.get(INFRASTRUCTURE, [("", 0, "")])[0][0], 400)
        if self.is_stopped:
            return (
                f"the run was stopped because many dialogues in a row failed: {words}; fix this, "
                "then repeat the command to resume the run"
            )
        if lost <= MOST_INFRASTRUCTURE * self.dialogues:
            return None
        return (
            f"{lost:,} of {self.dialogues:,} dialogues failed with an infrastructure error "
            f"({INFRASTRUCTURE}), more than {MOST_INFRASTRUCTURE:.0%}: repeat the command to "
            f"retry them{'; most often: ' * bool(words)}{words}"
        )

    def __str__(self) -> str:
        counts = (f"{self.ends[end]:,} {end}" for end in ENDS if self.ends.get(end))
        lines = [f"{self.dialogues:,} dialogues: {', '.join(counts)}"]
        if self.earlier:
            # A user who changed an agent but not its name must see that the agent was not called.
            held = self.dialogues - self.earlier
            lines.append(f"  {self.earlier:,} were already in the file, {held:,} are new")
        for end, problems in self.problems.items():
            lines += [
                f"  {end}: {shorten(words, 200)} ({number:,} of {self.ends[end]:,}, first {name})"
                for words, number, name in problems[:SHOWN]
            ]
            if len(problems) > SHOWN:
                lines.append(f"  {end}: {len(problems) - SHOWN:,} other problems")
        return "\n".join(lines)


def run(
    setting: RunSetting,
    output: str | Path,
    *,
    trials: int = 1,
    seed: int = 0,
    jobs: int = 1,
    concurrency: int | None = None,
    limits: TimeLimits | None = None,
    progress: bool | None = None,
) -> RunSummary:
    """Run all dialogues of a `setting`, write the dialogues to `output`, and summarize the endings.

    `output` is a JSON Lines file that is valid at any time; an existing file is resumed. Each goal
    is used in `trials` dialogues; all random choices depend on `seed`. `jobs` is the number of
    processes. `concurrency` is the number of threads that run dialogues; more than 1 requires a
    setting without custom code (None: at least 4 if such a setting waits for a server, otherwise
    1). The run stops after many consecutive infrastructure errors.

    Custom agents and users run in separate processes, which are killed if they exceed `limits`.
    Custom code runs in this process if `limits` is unlimited and `jobs` is 1. `progress` shows a
    progress bar on standard error; None shows it only on a terminal.

    Raises `UsageError` if a number is invalid, if `output` is the file of another run, or if an
    agent cannot be imported. Raises `MwzevalError` if `output` cannot be written.
    """
    for name, value in (("trials", trials), ("jobs", jobs)):
        if value < 1:
            raise UsageError(f"{name} must be at least 1, not {value}")
    concurrency = _concurrency(concurrency, jobs, setting)
    limits = limits or TimeLimits()
    plan = [
        Planned(item, goal, trial, trials > 1, seed)
        for item, goal in setting.items
        for trial in range(1, trials + 1)
    ]
    about = run_header(setting, seed=seed, trials=trials, limits=limits)
    with ExitStack() as stack:
        names = [planned.name for planned in plan]
        log = stack.enter_context(TrajectoryLog(output, about, names))
        waiting = [planned for planned in plan if planned.name not in log.ends]
        earlier = len(plan) - len(waiting)
        is_stopped = False
        if waiting:
            processes, threads = (min(number, len(waiting)) for number in (jobs, concurrency))
            pool: Threads | Processes = Processes(setting, processes, threads, limits)
            if processes == 1 and (setting.trusts or limits == NO_LIMITS):
                pool = Threads(setting, threads)
            stack.enter_context(pool)
            log.begin()
            show = _progress(stack, setting, log, len(plan), progress, trials)
            most, in_a_row = max(jobs, concurrency) + MOST_IN_A_ROW, 0
            try:
                for trajectory in pool.held(iter(waiting)):
                    log.add(trajectory)
                    show(trajectory)
                    in_a_row = in_a_row + 1 if trajectory.end == INFRASTRUCTURE else 0
                    if in_a_row >= most:  # the error is probably permanent
                        is_stopped = True
                        break
            finally:  # finished dialogues are saved even after an interruption
                with suppress(MwzevalError):
                    for trajectory in pool.finished():
                        log.add(trajectory)
        log.put_in_order()
        return RunSummary(Counter(log.ends.values()), _problems(log), earlier, is_stopped)


def _problems(log: TrajectoryLog) -> dict[End, list[tuple[str, int, str]]]:
    names: dict[End, dict[str, list[str]]] = {}
    if any(end in FAILED_ENDS for end in log.ends.values()):
        for dialogue in log.trajectories():
            problem = dialogue.problem or "no reason given"
            names.setdefault(dialogue.end, {}).setdefault(problem, []).append(dialogue.name)
    return {
        end: sorted(
            ((problem, len(found), found[0]) for problem, found in names[end].items()),
            key=lambda problem: -problem[1],
        )
        for end in FAILED_ENDS
        if end in names
    }


def run_header(
    setting: RunSetting, *, seed: int, trials: int, limits: TimeLimits
) -> Mapping[str, Any]:
    """Return the header of a run's file, with all settings that determine the dialogues."""
    about = {**setting.about, "seed": seed, "trials": trials}
    if not setting.trusts:
        seconds = {"turn_seconds": limits.turn, "dialogue_seconds": limits.dialogue}
        about["limits"] = {**about.get("limits", {}), **seconds}
    return header(setting.benchmark, __version__, about)


def _concurrency(concurrency: int | None, jobs: int, setting: RunSetting) -> int:
    """Return the number of parallel dialogues in threads. Raises `UsageError`."""
    if concurrency is None:
        waits = setting.trusts and getattr(setting, "waits", False)
        return max(CONCURRENCY, jobs) if waits else 1
    if not 1 <= concurrency <= MOST_THREADS:
        raise UsageError(f"concurrency must be from 1 to {MOST_THREADS}, not {concurrency}")
    if concurrency > 1 and not setting.trusts:
        problem = "your own agent or user runs in processes: use jobs, not concurrency"
        raise UsageError(problem)
    if 1 < concurrency < jobs:
        raise UsageError(
            f"with {jobs} jobs, concurrency must be at least {jobs}, not {concurrency}"
        )
    return concurrency


def run_as_asked(arguments: Namespace, setting: RunSetting, output: str) -> RunSummary:
    """Run the dialogues of a setting with command-line options; return a summary of the endings.

    `arguments` has the options of `add_pool_options`, `seed`, `quiet` and optionally `trials`.
    Raises the same `UsageError` and `MwzevalError` as `run`.
    """
    return run(
        setting,
        output,
        trials=getattr(arguments, "trials", 1),
        seed=arguments.seed,
        jobs=arguments.jobs,
        concurrency=arguments.concurrency,
        limits=TimeLimits(arguments.turn_seconds, arguments.dialogue_seconds),
        progress=False if arguments.quiet else None,
    )


def _progress(
    stack: ExitStack,
    setting: RunSetting,
    log: TrajectoryLog,
    total: int,
    is_shown: bool | None,
    trials: int,
) -> Callable[[Trajectory], None]:
    """Show a bar with the success rate so far; return a function that adds a finished dialogue."""
    from tqdm import tqdm

    # The monitor thread of tqdm must not run when processes are forked.
    tqdm.monitor_interval = 0
    disable = None if is_shown is None else not is_shown
    bar = stack.enter_context(
        tqdm(total=total, initial=len(log.ends), unit="dialogue", disable=disable)
    )
    successes = judged = 0

    def judge(trajectory: Trajectory) -> None:
        nonlocal successes, judged
        is_lost = trajectory.end == INFRASTRUCTURE
        verdict = None if bar.disable or is_lost else setting.judge(trajectory)
        if verdict is None:
            return
        successes, judged = successes + bool(verdict), judged + 1
        shown = f"success {100 * successes / judged:.1f} %"
        if trials == 1:  # several dialogues with one goal are not independent
            sure = wilson(successes, judged).scaled(100)
            shown += f" ({interval_text(sure, '.1f')})"
        bar.set_postfix_str(shown, refresh=False)

    def add(trajectory: Trajectory) -> None:
        judge(trajectory)
        bar.update()

    for trajectory in () if bar.disable else log.trajectories():
        judge(trajectory)
    return add
