"""Dialogues in processes that can be killed, several beside each other.

A thread cannot be killed, and what an agent waits for or computes outside Python hears no signal; a
process always ends. Each holds one dialogue at a time and tells what it comes to before each call,
so that one that is killed keeps what was said.
"""

from __future__ import annotations

import os
import sys
import time
import traceback
from collections.abc import Collection, Iterator
from contextlib import suppress
from dataclasses import dataclass
from threading import Lock
from typing import TYPE_CHECKING, Any, Protocol

from mwzeval.conversation.loop import Ending, failed
from mwzeval.conversation.pools.children import become_child, how_it_ended, kill, started
from mwzeval.conversation.protocols import LIMIT, USER_STOP, End
from mwzeval.conversation.record import Event, Planned, Record
from mwzeval.conversation.trajectory import Trajectory
from mwzeval.errors import MwzevalError, UsageError

if TYPE_CHECKING:
    from multiprocessing.connection import Connection

TURN_SECONDS = 60.0
DIALOGUE_SECONDS = 600.0
_READY, _EVENT, _ENDED, _REFUSED, _RAISED = "ready", "event", "ended", "refused", "raised"


class Setting(Protocol):
    """Who talks to whom, about what, and what is kept of it.

    In another process it is a copy: what it loads in `begin` belongs to that process alone.
    A setting may have `unhurried`: the ends that are noted before calls which no limit of turns is
    for, because they wait for a server, and end by themselves.
    """

    @property
    def trusts(self) -> bool:
        """Whether nobody's own code takes part: then nothing hangs, and no process is needed."""

    def begin(self) -> None:
        """Make ready what dialogues need, once a process, and check it. Raises `MwzevalError`."""

    def hold(self, planned: Planned, record: Record) -> Ending:
        """Hold a dialogue; return how it ended. All that is to be kept goes to the record.

        `record.note` is told before each call of user and agent how the dialogue stands.
        """


@dataclass(frozen=True, slots=True)
class TimeLimits:
    """Seconds that one turn of a side may take, and a whole dialogue; None for any time.

    Raises `UsageError` for a limit that is not above 0.
    """

    turn: float | None = TURN_SECONDS
    dialogue: float | None = DIALOGUE_SECONDS

    def __post_init__(self) -> None:
        for seconds in (self.turn, self.dialogue):
            if seconds is not None and not seconds > 0:
                raise UsageError(f"a time limit is a number of seconds above 0, not {seconds:g}")


NO_LIMITS = TimeLimits(None, None)


class Here:
    """Holds the dialogues of a setting in this process, one after the other; a context."""

    def __init__(self, setting: Setting) -> None:
        self._setting = setting

    def __enter__(self) -> Here:
        self._setting.begin()
        return self

    def __exit__(self, *raised: object) -> None:
        stop = getattr(self._setting, "stop", None)
        if stop is not None:
            stop()

    def held(self, waiting: Iterator[Planned]) -> Iterator[tuple[Planned, Trajectory]]:
        """Yield dialogues as they are held."""
        for planned in waiting:
            record = Record()
            yield planned, record.trajectory(planned, self._setting.hold(planned, record))

    def finished(self) -> Iterator[tuple[Planned, Trajectory]]:
        """Yield nothing: each dialogue is taken as it ends."""
        return iter(())


class Workers:
    """Processes that hold the dialogues of a setting; a context, at whose end they are killed.

    Where processes are copies (fork), the setting may be anything; elsewhere it is pickled. What
    an agent prints goes to standard error: standard output has the result of the run. Entering
    waits until one process is ready, and raises what `Setting.begin` raises there.
    """

    def __init__(self, setting: Setting, count: int, limits: TimeLimits) -> None:
        self._setting = setting
        self._count = count
        self._limits = NO_LIMITS if setting.trusts else limits
        self._workers: list[_Worker] = []

    def __enter__(self) -> Workers:
        try:
            self._start().wait_until_ready()
        except BaseException:
            self.__exit__()
            raise
        return self

    def __exit__(self, *raised: object) -> None:
        for worker in self._workers:
            worker.kill()
        self._workers.clear()

    def held(self, waiting: Iterator[Planned]) -> Iterator[tuple[Planned, Trajectory]]:
        """Yield dialogues as they end, in any order.

        One whose process is killed for taking too long, or dies, ends as the setting has noted.
        Raises what the setting raises, and `MwzevalError` when a process cannot be started again.
        """
        from multiprocessing.connection import wait

        while True:
            self._give(waiting)
            busy = {worker.connection: worker for worker in self._workers if worker.planned}
            if not busy:
                return
            deadline = min(worker.deadline for worker in busy.values())
            seconds = None if deadline == _NEVER else max(0.0, deadline - time.monotonic())
            ready: Any = wait(list(busy), seconds)
            for connection in ready:
                if (done := busy[connection].heard()) is not None:
                    yield done
            for worker in busy.values():
                if worker.is_late():
                    yield worker.timed_out()
            self._workers = [worker for worker in self._workers if worker.is_alive]

    def finished(self) -> Iterator[tuple[Planned, Trajectory]]:
        """Yield the dialogues that have ended and were not taken yet."""
        for worker in self._workers:
            while worker.is_alive and worker.planned is not None and worker.connection.poll():
                if (done := worker.heard()) is not None:
                    yield done

    def _give(self, waiting: Iterator[Planned]) -> None:
        """Give each process that is free a dialogue, and start some as long as there are more."""
        for worker in self._workers:
            if worker.planned is None:
                planned = next(waiting, None)
                if planned is None:
                    return
                worker.give(planned)
        while len(self._workers) < self._count:
            planned = next(waiting, None)
            if planned is None:
                return
            self._start().give(planned)

    def _start(self) -> _Worker:
        worker = _Worker(self._setting, self._limits, self._count > 1)
        self._workers.append(worker)
        return worker


_NEVER = float("inf")


class _Worker:
    """A process as its parent sees it; `planned` is the dialogue that it holds."""

    def __init__(self, setting: Setting, limits: TimeLimits, is_one_of_many: bool) -> None:
        self._process, self.connection = started(_serve, setting, is_one_of_many=is_one_of_many)
        self._limits = limits
        self._trusts = setting.trusts
        self._unhurried: Collection[End] = getattr(setting, "unhurried", ())
        self.is_alive = True
        self.planned: Planned | None = None
        self._is_ready = False
        self._record = Record()
        self._turn_ends = self._dialogue_ends = _NEVER

    @property
    def deadline(self) -> float:
        """When the process is to be killed."""
        return min(self._turn_ends, self._dialogue_ends)

    def wait_until_ready(self) -> None:
        """Return when the setting has begun. Raises what it raises."""
        while not self._is_ready:
            self._receive()

    def give(self, planned: Planned) -> None:
        """Let the process hold a dialogue."""
        self.planned = planned
        self._record = Record()
        with suppress(OSError):  # one that has died is heard of
            self.connection.send(planned)
        if self._is_ready:
            self._begin_dialogue()

    def heard(self) -> tuple[Planned, Trajectory] | None:
        """Read what the process says; return the dialogue if it has ended."""
        ended = self._receive()
        return None if ended is None else self._finished(ended)

    def is_late(self) -> bool:
        """Tell whether the process took too long, and says nothing even now."""
        late = self.planned is not None and time.monotonic() >= self.deadline
        return late and not self.connection.poll()

    def timed_out(self) -> tuple[Planned, Trajectory]:
        """Kill the process; return the dialogue."""
        noted = self._record.ending
        if self._dialogue_ends <= self._turn_ends:
            late = Ending(LIMIT, noted.user_turns, f"{self._limits.dialogue:g} seconds")
        else:
            late = noted._replace(problem=f"no answer within {self._limits.turn:g} seconds")
        self.kill()
        return self._finished(late)

    def kill(self) -> None:
        """Kill the process with all that it has started."""
        if self.is_alive:
            self.is_alive = False
            kill(self._process)
            self.connection.close()

    def _begin_dialogue(self) -> None:
        now = time.monotonic()
        self._turn_ends = now + (self._limits.turn or _NEVER)
        self._dialogue_ends = now + (self._limits.dialogue or _NEVER)

    def _finished(self, ending: Ending) -> tuple[Planned, Trajectory]:
        planned, record = self.planned, self._record
        assert planned is not None
        self.planned = None
        self._turn_ends = self._dialogue_ends = _NEVER
        # Whether an agent fails after the user's last message does not matter any more.
        if record.ending.end == USER_STOP:
            ending = Ending(USER_STOP, record.ending.user_turns)
        return planned, record.trajectory(planned, ending)

    def _receive(self) -> Ending | None:
        """Read one message; return how the dialogue ended if it did, by the process' end or not."""
        try:
            kind, value = self.connection.recv()
        except (EOFError, OSError):
            return self._died()
        match kind:
            case "ready":
                self._is_ready = True
                if self.planned is not None:
                    self._begin_dialogue()
            case "event":
                self._record.add(value)
                if value[0] == "note":
                    limit = None if value[1].end in self._unhurried else self._limits.turn
                    self._turn_ends = time.monotonic() + (limit or _NEVER)
            case "ended":
                ending: Ending = value[0]
                self._record = value[1] or self._record
                return ending
            case "refused":
                raise value
            case _:
                raise RuntimeError(value)
        return None

    def _died(self) -> Ending:
        self._process.join(1)  # an agent may have closed the connection, and go on
        how = how_it_ended(self._process.exitcode)
        self.kill()
        if not self._is_ready:
            raise MwzevalError(f"the process of agent and user {how} when it was started")
        if self._trusts:
            raise MwzevalError(
                f"a process of the run {how}, perhaps for lack of memory: try fewer --jobs"
            )
        return self._record.ending._replace(problem=f"the process {how}")


def _serve(setting: Setting, connection: Connection) -> None:
    """Hold the dialogues that are asked for, in this process."""
    become_child()
    try:
        setting.begin()
        connection.send((_READY, None))
        while True:
            connection.send((_ENDED, _held(setting, connection.recv(), connection)))
    except (KeyboardInterrupt, EOFError, BrokenPipeError, ConnectionError):
        os._exit(1)
    except MwzevalError as error:
        connection.send((_REFUSED, error))
    except Exception:
        # What user and agent raise is theirs, and noted; this is a mistake of the setting.
        with suppress(OSError):  # an agent has closed the connection: that is its end
            connection.send((_RAISED, traceback.format_exc()))
        sys.exit(1)


def _held(
    setting: Setting, planned: Planned, connection: Connection
) -> tuple[Ending, Record | None]:
    """Hold a dialogue; return all of it only if nothing was told of it meanwhile."""
    if setting.trusts:
        record = Record()
        return setting.hold(planned, record), record
    process = os.getpid()
    lock = Lock()  # an agent that calls a server of tools is recorded by the thread of that

    def tell(event: Event) -> None:
        if os.getpid() != process:
            os._exit(1)  # a copy that the agent has made of this process, and not ended
        with lock:
            connection.send((_EVENT, event))

    record = Record(tell)
    try:
        return setting.hold(planned, record), None
    except Exception:
        raise
    except BaseException as error:  # a cancelled task, a panic of a library in another language
        return failed(record.ending.end, record.ending.user_turns, error), None
