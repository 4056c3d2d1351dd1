"""Many simulated dialogues: held in several processes, logged, and resumed.

The goal of a number and the dialogue about it follow from the seed alone, so that neither the
number of processes nor an interruption changes anything.
"""

from __future__ import annotations

import json
from collections import Counter, deque
from collections.abc import Callable, Generator, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import Future
from concurrent.futures.process import BrokenProcessPool
from contextlib import closing
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import Any, BinaryIO

from mwzeval.cluster.processes import pool
from mwzeval.crosswoz import META
from mwzeval.crosswoz.corpus.dialogues import Goal
from mwzeval.crosswoz.corpus.names import GOAL_TYPES
from mwzeval.crosswoz.simulation.dialogue import Setting
from mwzeval.crosswoz.simulation.goals import GoalGenerator, goal_type
from mwzeval.crosswoz.simulation.log import SimulatedDialogue, dialogue_line, header_line
from mwzeval.crosswoz.simulation.protocols import Rng, SeededRng
from mwzeval.crosswoz.simulation.summary import Ended, Summary, ended_from_json
from mwzeval.crosswoz.simulation.time_limit import TimeLimitedSetting
from mwzeval.errors import MwzevalError, UsageError
from mwzeval.files.reading import read_bytes
from mwzeval.files.writing import named_where_unwritable, write_atomically

PER_TYPE = 1000
BATCH = 20
"""Dialogues that a process is given at a time."""
AHEAD = 4
"""Batches for each process that wait or are being worked on."""
GIVE_UP = 100_000
"""After so many goals in a row that no type needs, the others are not expected any more."""
MakeGoal = Callable[[Rng], Goal]
AnySetting = Setting | TimeLimitedSetting
"""Holds the dialogues, in this process or in one that can be killed."""
Done = tuple[str, Ended]
"""The line of the log ("" where there is none), and how the dialogue ended."""


class GoalPlan:
    """Which goals are simulated: those in the order of their numbers whose type lacks some.

    Iterating yields their numbers; `first_passed_over` is the number of the first other goal.
    """

    def __init__(self, make_goal: MakeGoal, seed: int, per_type: int) -> None:
        self.first_passed_over: int | None = None
        self._make_goal = make_goal
        self._seed = seed
        self._per_type = per_type

    def __iter__(self) -> Iterator[int]:
        lacking = Counter(dict.fromkeys(GOAL_TYPES, self._per_type))
        number = passed_over = 0
        while lacking.total():
            kind = goal_type(goal_of(self._make_goal, self._seed, number))
            if lacking[kind]:
                lacking[kind] -= 1
                passed_over = 0
                yield number
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
    for number in GoalPlan(make, seed, per_type):
        yield setting.simulate(goal_of(make, seed, number), number, seed)


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
    dialogues are held beside each other. `output` is a JSON Lines file of all dialogues, complete
    lines at any time; with `resume` a run that was killed goes on where its file ends, and the file
    becomes what it would have been. `about` is added to the file's header. `progress` shows a bar
    on standard error, None only on a terminal. With a `time_limit` in seconds, dialogues are held
    in processes that can be killed, and one whose user or system takes longer for a call ends as
    failed; without, such a call is waited for.

    Raises `UsageError` for numbers that make no sense, when the output exists and is not resumed,
    or is that of another run; `MwzevalError` when it cannot be written or a process dies.
    """
    _check(per_type, processes)
    make = make_goal or GoalGenerator(setting.database).goal
    plan = GoalPlan(make, seed, per_type)
    limited: AnySetting = setting
    if time_limit is not None:
        limited = TimeLimitedSetting(setting, time_limit)
        about = {"time_limit": time_limit, **(about or {})}
    meta = log_header(setting, seed, per_type, about)
    ended: list[Ended] = []
    with _Log.open(output, meta, resume) as log:
        ended += log.before
        numbers = iter(plan)
        for dialogue, number in zip(log.before, numbers, strict=False):
            if dialogue.number != number:
                raise UsageError(f"{output} is not the log of this simulation: goals differ")
        from tqdm import tqdm

        total = per_type * len(GOAL_TYPES)
        shown = tqdm(
            total=total,
            initial=len(ended),
            unit="dialogue",
            disable=None if progress is None else not progress,
        )
        worker = _Worker(limited, make, seed, output is not None)
        with shown, closing(_batches(worker, numbers, processes)) as batches:
            for batch in batches:
                log.write(line for line, _ in batch)
                ended += [how for _, how in batch]
                shown.update(len(batch))
    return Summary.of(ended, plan.first_passed_over)


def log_header(
    setting: Setting, seed: int, per_type: int, about: Mapping[str, Any] | None = None
) -> dict[str, Any]:
    """Return what the first line of a log says: what the dialogues depend on.

    These are the level and limit of the `setting`, `seed`, `per_type` and what else is `about`
    them.
    """
    return {
        "dataset": "crosswoz",
        "track": "simulation",
        "level": setting.level,
        "seed": seed,
        "per_type": per_type,
        "limit": setting.limit,
        **(about or {}),
    }


def _check(per_type: int, processes: int) -> None:
    for name, value in (("per_type", per_type), ("processes", processes)):
        if value < 1:
            raise UsageError(f"{name} is at least 1, not {value}")


def _batches(
    worker: _Worker, numbers: Iterator[int], processes: int
) -> Generator[Sequence[Done], None, None]:
    """Yield what comes of the goals of some numbers, in their order, a batch at a time."""
    groups = iter(lambda: tuple(islice(numbers, BATCH)), ())
    if processes == 1:
        try:
            yield from map(worker.work, groups)
        finally:
            if isinstance(worker.setting, TimeLimitedSetting):
                worker.setting.close()
        return
    # Started as is usual, so that systems made in a script need no `if __name__ == "__main__"`.
    with pool(processes, initializer=_begin, initargs=(worker,), start=None) as executor:
        waiting: deque[Future[Sequence[Done]]] = deque()
        try:
            for group in groups:
                waiting.append(executor.submit(_work, group))
                if len(waiting) >= AHEAD * processes:
                    yield waiting.popleft().result()
            while waiting:
                yield waiting.popleft().result()
        except BrokenProcessPool as error:
            raise MwzevalError(
                "a process of the simulation died, perhaps for lack of memory; what was done is in "
                f"the output, if there is one, and can be resumed ({error})"
            ) from None


@dataclass(frozen=True, slots=True)
class _Worker:
    """Simulates the dialogues of goal numbers."""

    setting: AnySetting
    make_goal: MakeGoal
    seed: int
    logged: bool

    def work(self, numbers: Iterable[int]) -> Sequence[Done]:
        return [self._one(number) for number in numbers]

    def _one(self, number: int) -> Done:
        goal = goal_of(self.make_goal, self.seed, number)
        dialogue = self.setting.simulate(goal, number, self.seed)
        return dialogue_line(dialogue) if self.logged else "", Ended.of(dialogue)


_worker: _Worker | None = None


def _begin(worker: _Worker) -> None:
    global _worker
    _worker = worker


def _work(numbers: Sequence[int]) -> Sequence[Done]:
    assert _worker is not None
    return _worker.work(numbers)


class _Log:
    """The output file while it grows; `before` is what a run that was killed has left in it."""

    def __init__(self, stream: BinaryIO | None, before: Sequence[Ended]) -> None:
        self._stream = stream
        self.before = before

    @classmethod
    def open(cls, output: str | Path | None, meta: Mapping[str, Any], resume: bool) -> _Log:
        if output is None:
            if resume:
                raise UsageError("only a simulation with an output can be resumed")
            return cls(None, ())
        path = Path(output)
        before: Sequence[Ended] = ()
        size = 0
        if path.exists():
            if not resume:
                raise UsageError(f"{path} exists: resume it, or choose another file")
            before, size = _unfinished(path, meta)
        if not size:
            write_atomically(path, header_line(meta))
            size = path.stat().st_size
        stream = path.open("r+b")
        stream.seek(size)
        stream.truncate()
        return cls(stream, before)

    def write(self, lines: Iterable[str]) -> None:
        """Add lines; they are with the system when this returns."""
        if self._stream is not None:
            with named_where_unwritable(self._stream.name):
                self._stream.write("".join(lines).encode("utf-8", "surrogatepass"))
                self._stream.flush()

    def __enter__(self) -> _Log:
        return self

    def __exit__(self, *raised: object) -> None:
        if self._stream is not None:
            with named_where_unwritable(self._stream.name):
                self._stream.close()


def _unfinished(path: Path, meta: Mapping[str, Any]) -> tuple[list[Ended], int]:
    """Return what a log has that a killed simulation left, and how many bytes of it are whole.

    Raises `UsageError` when it is the log of another simulation.
    """
    raw = read_bytes(path)
    whole = raw.rfind(b"\n") + 1
    lines = raw[:whole].decode("utf-8", "replace").split("\n")[:-1]
    wrong = UsageError(
        f"{path} is not the log of this simulation: choose another file, or call it as before"
    )
    if not lines:
        if raw and not header_line(meta).encode().startswith(raw):
            raise wrong
        return [], 0
    try:
        if json.loads(lines[0])[META] != json.loads(json.dumps(meta)):
            raise wrong
        return [ended_from_json(json.loads(line)) for line in lines[1:]], whole
    except (ValueError, LookupError, TypeError, AttributeError):
        raise wrong from None
