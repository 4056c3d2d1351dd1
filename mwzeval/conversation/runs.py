"""Many dialogues: about each goal, as often as requested, in parallel, and resumed.

Everything random in a dialogue follows from the seed, the goal and the number of the trial, so that
neither parallel processes nor an interruption change anything.
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
"""The share of dialogues that may be lost to infrastructure errors."""
FAILED_ENDS: tuple[End, ...] = (AGENT_ERROR, USER_ERROR, INFRASTRUCTURE)
SHOWN = 3
"""The number of problems that are printed for each end."""
MOST_IN_A_ROW = 10
"""Dialogues in a row that may fail, besides those in progress, before a run stops."""
CONCURRENCY = 4
"""Dialogues at a time where a model is asked; a small server has as many slots, or fewer."""


@dataclass(frozen=True, slots=True)
class RunSummary:
    """How the dialogues of a run have ended.

    `problems` are what was wrong where a side failed, by end: the words, in how many dialogues,
    and the first of these; the most frequent first. `earlier` is how many dialogues had been in the
    file before; `is_stopped` says that so many in a row were lost that the others were not held.
    """

    ends: Mapping[End, int]
    problems: Mapping[End, Sequence[tuple[str, int, str]]] = field(default_factory=dict)
    earlier: int = 0
    is_stopped: bool = False

    @property
    def dialogues(self) -> int:
        """How many there are."""
        return sum(self.ends.values())

    @property
    def scored(self) -> int:
        """How many of them say something of agent and user."""
        return self.dialogues - self.ends.get(INFRASTRUCTURE, 0)

    @property
    def problem(self) -> str | None:
        """What makes scores of the run worthless; None where nothing does."""
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
            # Who has changed an agent and kept its name has to see that it was not asked.
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
    """Hold all dialogues of a `setting` and write them to `output`; return how they have ended.

    `output` is a file of JSON Lines, whole at any time, that is resumed if it exists. Each
    goal is talked about `trials` times; `seed` decides everything random. `jobs` dialogues are held
    in parallel in processes, or `concurrency` in the threads of these, for those that wait
    for a server and have nobody's own code (None: 4 for these, else 1). When dialogue after
    dialogue is lost to infrastructure errors, the run stops.

    Somebody's own agent or user is held in processes of its own, which are killed when it takes
    longer than `limits`, unless these say that it may take any time and there is one job.
    `progress` shows a bar on standard error, None only on a terminal.

    Raises `UsageError` for numbers that make no sense, an output of another run, and an agent that
    cannot be imported; `MwzevalError` when the output cannot be written.
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
                    if in_a_row >= most:  # there is no use in going on
                        is_stopped = True
                        break
            finally:  # an interruption, too: what has ended is kept
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
    """Return the header of the file of a run: all that its dialogues depend on."""
    about = {**setting.about, "seed": seed, "trials": trials}
    if not setting.trusts:
        seconds = {"turn_seconds": limits.turn, "dialogue_seconds": limits.dialogue}
        about["limits"] = {**about.get("limits", {}), **seconds}
    return header(setting.benchmark, __version__, about)


def _concurrency(concurrency: int | None, jobs: int, setting: RunSetting) -> int:
    """Return how many dialogues there are at a time in threads. Raises `UsageError`."""
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
    """Hold the dialogues of a setting as the options of a verb say; return how they have ended.

    These are `add_pool_options`, `seed`, `quiet` and, where there is such, `trials`. Raises
    `UsageError`, `MwzevalError` as `run` does.
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
    """Show a bar with the rate of success so far; return what counts a dialogue that has ended."""
    from tqdm import tqdm

    # Its thread that looks after bars would be there when processes are copied.
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
        if trials == 1:  # dialogues about one goal are not independent
            sure = wilson(successes, judged).scaled(100)
            shown += f" ({interval_text(sure, '.1f')})"
        bar.set_postfix_str(shown, refresh=False)

    def add(trajectory: Trajectory) -> None:
        judge(trajectory)
        bar.update()

    for trajectory in () if bar.disable else log.trajectories():
        judge(trajectory)
    return add
