"""Parallel dialogues: n processes with m threads each, or m threads of this process.

A thread cannot be killed, and an agent that waits or computes outside Python does not receive
signals; a process can always be killed. Custom code therefore runs in processes that have one
dialogue at a time. Each of these processes reports every change of its dialogue before the next
call, so that a dialogue is recorded even if its process is killed. Settings that wait for a server
and have no custom code (`trusts`) use threads. Settings that also compute use several processes, as
threads do not compute in parallel.
"""

from __future__ import annotations

import os
import signal
import sys
import threading
import time
import traceback
import warnings
from argparse import _ActionsContainer
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import nullcontext, suppress
from dataclasses import dataclass
from functools import partial
from queue import Empty, SimpleQueue
from typing import TYPE_CHECKING, Any, Protocol

from mwzeval.cluster import end_with_parent, interrupts_held, one_thread_each
from mwzeval.conversation.protocols import LIMIT, End, Ending, failed
from mwzeval.conversation.trajectory import Event, Planned, Record, Trajectory
from mwzeval.errors import MwzevalError, UsageError

if TYPE_CHECKING:
    from multiprocessing.connection import Connection
    from multiprocessing.process import BaseProcess

TURN_SECONDS = 60.0
DIALOGUE_SECONDS = 600.0
MOST_THREADS = 256
SWITCH_SECONDS = 0.05
"""The interval at which Python switches between threads, which is also the interval at which
waiting threads wake up. With 64 threads and the default of 5 ms, the threads would use 20 % of the
computing time for waking up."""
SECONDS_TO_END = 5.0
"""The maximum time that threads may need to end after the run has ended."""
SPARE = 1
"""The number of dialogues that a process receives before its threads are free, so that threads
never wait for the next dialogue."""
_NEVER = float("inf")


class RunSetting(Protocol):
    """The participants and goals of a run.

    Each process has its own copy of the setting; the method `begin` loads the data for this
    process. A setting that uses a server may define `waits = True` and a method `stop()` that ends
    all waiting. Calls that wait for a server have no time limit per turn, because these calls end
    by themselves; `unhurried` lists the endings that are noted before such calls.
    """

    @property
    def benchmark(self) -> str:
        """The name of the benchmark."""

    @property
    def items(self) -> Sequence[tuple[str, Any]]:
        """Pairs of the id of a goal and the goal, in the order of the file."""

    @property
    def about(self) -> Mapping[str, Any]:
        """The settings for the header: agent, user, goals, limits, database."""

    @property
    def trusts(self) -> bool:
        """Whether the setting has no custom code, so that dialogues need no separate process."""

    def begin(self) -> None:
        """Load and check the data of the dialogues, once per process. Raises `MwzevalError`."""

    def hold(self, planned: Planned, record: Record) -> Ending:
        """Run a dialogue, write it to the record, and return the ending.

        Before each call of the user or the agent, `record.note` is called with the ending that
        applies if the call never returns.
        """

    def judge(self, trajectory: Trajectory) -> bool | None:
        """Return whether the user's goal was met; None if this cannot be determined."""


@dataclass(frozen=True, slots=True)
class TimeLimits:
    """Time limits in seconds, for a turn of one side and for a dialogue; None means no limit.

    Raises `UsageError` if a limit is not positive.
    """

    turn: float | None = TURN_SECONDS
    dialogue: float | None = DIALOGUE_SECONDS

    def __post_init__(self) -> None:
        for seconds in (self.turn, self.dialogue):
            if seconds is not None and not seconds > 0:
                raise UsageError(
                    f"a time limit must be a number of seconds above 0, not {seconds:g}"
                )


NO_LIMITS = TimeLimits(None, None)


def add_pool_options(parser: _ActionsContainer) -> None:
    """Add the options for processes, threads and time limits."""
    parser.add_argument(
        "-j",
        "--jobs",
        type=int,
        default=1,
        metavar="N",
        help="number of processes; does not change results",
    )
    parser.add_argument(
        "--concurrency",
        type=int,
        metavar="N",
        help="number of dialogues that run at the same time, in all processes together; does "
        "not change results (default: 4 with a model behind an endpoint, else 1)",
    )
    for option, seconds, what in (
        (
            "--turn-seconds",
            TURN_SECONDS,
            "time limit for a turn of your own agent or user, in seconds; after that, the turn "
            "fails",
        ),
        (
            "--dialogue-seconds",
            DIALOGUE_SECONDS,
            "time limit of a dialogue, in seconds; after that, the dialogue ends",
        ),
    ):
        parser.add_argument(
            option,
            type=float,
            default=seconds,
            metavar="S",
            help=f"{what} (default: %(default)g)",
        )


class Threads:
    """A context manager that runs dialogues in threads, or in the main thread if `count` is 1.

    Entering the context raises the exceptions of `RunSetting.begin`. The number of dialogues that
    are running or not yet returned never exceeds the number of threads. `on_event` is called with
    every change of a dialogue with custom code. When a dialogue that `start` began has ended,
    `on_end` is called with the dialogue or with an exception. On exit, `RunSetting.stop` is called;
    threads that do not end are abandoned.
    """

    def __init__(
        self,
        setting: RunSetting,
        count: int = 1,
        on_event: Callable[[Event], object] | None = None,
        on_end: Callable[[Trajectory | BaseException], object] | None = None,
    ) -> None:
        self._setting = setting
        self._count = count
        self._on_event = on_event
        self._waiting: SimpleQueue[Planned | None] = SimpleQueue()
        self._held: SimpleQueue[Trajectory | BaseException] = SimpleQueue()
        self._on_end = on_end or self._held.put
        self._threads: list[threading.Thread] = []

    def __enter__(self) -> Threads:
        self._setting.begin()
        self._switch_seconds = sys.getswitchinterval()
        if self._count > 1:
            sys.setswitchinterval(SWITCH_SECONDS)
        return self

    def __exit__(self, *raised: object) -> None:
        sys.setswitchinterval(self._switch_seconds)
        for _ in self._threads:
            self._waiting.put(None)
        getattr(self._setting, "stop", lambda: None)()
        end = time.monotonic() + SECONDS_TO_END  # for all threads together
        for thread in self._threads:
            thread.join(max(0.0, end - time.monotonic()))
        self._threads.clear()

    def held(self, waiting: Iterator[Planned]) -> Iterator[Trajectory]:
        """Yield dialogues when they end, in any order.

        Any exception that the run's setting raises is passed on.
        """
        if self._count == 1:
            yield from map(self._hold, waiting)
            return
        busy = 0
        for planned in waiting:
            if busy == self._count:
                yield self._next()
                busy -= 1
            self.start(planned)
            busy += 1
        for _ in range(busy):
            yield self._next()

    def start(self, planned: Planned) -> None:
        """Run a dialogue in the next free thread, or in this thread if `count` is 1."""
        if self._count == 1:
            self._run(planned)
            return
        if len(self._threads) < self._count:
            name = f"dialogue-{len(self._threads) + 1}"
            # Daemon threads, because a thread in a DNS lookup cannot be interrupted.
            self._threads.append(threading.Thread(target=self._work, name=name, daemon=True))
            self._threads[-1].start()
        self._waiting.put(planned)

    def finished(self) -> Iterator[Trajectory]:
        """Yield the dialogues that have ended and were not yielded before."""
        with suppress(Empty):
            while True:
                held = self._held.get_nowait()
                if not isinstance(held, BaseException):
                    yield held

    def _next(self) -> Trajectory:
        held = self._held.get()
        if isinstance(held, BaseException):
            raise held
        return held

    def _work(self) -> None:
        for planned in iter(self._waiting.get, None):
            self._run(planned)

    def _run(self, planned: Planned) -> None:
        held: Trajectory | BaseException
        try:
            held = self._hold(planned)
        except BaseException as error:
            held = error
        self._on_end(held)

    def _hold(self, planned: Planned) -> Trajectory:
        record = Record(self._on_event)
        try:
            ending = self._setting.hold(planned, record)
        except BaseException as error:
            if self._on_event is None or isinstance(error, Exception):
                raise
            # A cancelled task, or a panic of a library in another language.
            noted = record.ending
            return record.broken_off(planned, failed(noted.end, noted.user_turns, error))
        return record.trajectory(planned, ending)


class Processes:
    """A context manager that runs dialogues in processes, and kills the processes on exit.

    `threads` is the total number of threads of all processes. With the start method fork, the
    setting can be any object; with other start methods, the setting is pickled. Text that agents
    print goes to standard error. Entering the context waits until a process is ready, and raises
    the exceptions of `RunSetting.begin` in this process.
    """

    def __init__(
        self, setting: RunSetting, count: int, threads: int = 1, limits: TimeLimits = NO_LIMITS
    ) -> None:
        limits = NO_LIMITS if setting.trusts else limits
        shares = [max(1, (threads + count - 1 - number) // count) for number in range(count)]
        self._make = [partial(_Worker, setting, share, limits, count > 1) for share in shares]
        self._workers: list[_Worker] = []
        self._is_given_all = False

    def __enter__(self) -> Processes:
        try:
            for make in self._make:
                self._workers.append(make())
            self._workers[0].wait_until_ready()
        except BaseException:
            self.__exit__()
            raise
        return self

    def __exit__(self, *raised: object) -> None:
        for worker in self._workers:
            worker.kill()
        self._workers.clear()

    def held(self, waiting: Iterator[Planned]) -> Iterator[Trajectory]:
        """Yield dialogues when they end, in any order.

        If a process dies or exceeds a time limit, its dialogue has the ending that was noted. Any
        exception that the run's setting raises is passed on. Raises `MwzevalError` if a process
        cannot be restarted.
        """
        from multiprocessing.connection import wait

        while True:
            self._give(waiting)
            busy = {worker.connection: worker for worker in self._workers if worker.busy}
            if not busy:
                return
            deadline = min(worker.deadline for worker in busy.values())
            seconds = None if deadline == _NEVER else max(0.0, deadline - time.monotonic())
            ready: Any = wait(list(busy), seconds)
            for connection in ready:
                if (held := busy[connection].receive()) is not None:
                    yield held
            for worker in busy.values():
                if (held := worker.timed_out()) is not None:
                    yield held

    def finished(self) -> Iterator[Trajectory]:
        """Yield the dialogues that have ended and were not yielded before."""
        for worker in self._workers:
            while worker.busy and worker.is_alive and worker.connection.poll():
                if (held := worker.receive()) is not None:
                    yield held

    def _give(self, waiting: Iterator[Planned]) -> None:
        """Assign dialogues to the least busy processes, and restart killed processes."""
        while not self._is_given_all:
            number, worker = max(enumerate(self._workers), key=lambda item: item[1].free)
            if not worker.free:
                return
            planned = next(waiting, None)
            if planned is None:
                self._is_given_all = True
                for worker in self._workers:
                    worker.send(None)
                return
            if not worker.is_alive:
                worker = self._workers[number] = self._make[number]()
            worker.give(planned)


class _Worker:
    """The parent's view of a process; `busy` is the number of dialogues assigned to it.

    The process is killed at `deadline`.
    """

    def __init__(
        self, setting: RunSetting, threads: int, limits: TimeLimits, is_one_of_many: bool
    ) -> None:
        self._process, self.connection = _started(setting, threads, is_one_of_many)
        self._limits = limits
        self._trusts = setting.trusts
        self._most = threads + SPARE if setting.trusts else 1
        self._unhurried: Collection[End] = getattr(setting, "unhurried", ())
        self.is_alive = True
        self.busy = 0
        self._is_ready = False
        self._planned: Planned | None = None
        self._record = Record()
        self._turn_ends = self._dialogue_ends = _NEVER

    @property
    def free(self) -> int:
        return self._most - self.busy

    @property
    def deadline(self) -> float:
        return min(self._turn_ends, self._dialogue_ends)

    def wait_until_ready(self) -> None:
        while not self._is_ready:
            self.receive()

    def give(self, planned: Planned) -> None:
        self.busy += 1
        self._planned, self._record = planned, Record()
        self.send(planned)
        self._begin_dialogue()

    def send(self, planned: Planned | None) -> None:
        """Send a dialogue to the process; None means that there are no more dialogues.

        A dead process is not detected here, but later.
        """
        with suppress(OSError):
            self.connection.send(planned)

    def receive(self) -> Trajectory | None:
        """Read one message; return the dialogue if it has ended or the process has died."""
        try:
            kind, value = self.connection.recv()
        except (EOFError, OSError):
            return self._broken_off(self._died())
        match kind:
            case "ready":
                self._is_ready = True
                self._begin_dialogue()
            case "event":
                self._record.add(value)
                if value[0] == "note":
                    limit = None if value[1].end in self._unhurried else self._limits.turn
                    self._turn_ends = time.monotonic() + (limit or _NEVER)
            case "ended":
                self.busy -= 1
                self._turn_ends = self._dialogue_ends = _NEVER
                held: Trajectory = value
                return held
            case "refused":
                raise value
            case _:
                raise RuntimeError(value)
        return None

    def timed_out(self) -> Trajectory | None:
        """If the process has exceeded its time limit, kill the process and return its dialogue."""
        if not self.busy or time.monotonic() < self.deadline or self.connection.poll():
            return None
        noted = self._record.ending
        if self._dialogue_ends <= self._turn_ends:
            late = Ending(LIMIT, noted.user_turns, f"{self._limits.dialogue:g} seconds")
        else:
            late = noted._replace(problem=f"no answer within {self._limits.turn:g} seconds")
        self.kill()
        return self._broken_off(late)

    def kill(self) -> None:
        if not self.is_alive:
            return
        self.is_alive = False
        if self._process.pid is not None and hasattr(os, "killpg"):
            with suppress(OSError):
                os.killpg(self._process.pid, signal.SIGKILL)
        self._process.kill()
        self._process.join()
        self.connection.close()

    def _begin_dialogue(self) -> None:
        if self.busy and self._is_ready:
            now = time.monotonic()
            self._turn_ends = now + (self._limits.turn or _NEVER)
            self._dialogue_ends = now + (self._limits.dialogue or _NEVER)

    def _broken_off(self, ending: Ending) -> Trajectory:
        self.busy = 0
        self._turn_ends = self._dialogue_ends = _NEVER
        assert self._planned is not None
        return self._record.broken_off(self._planned, ending)

    def _died(self) -> Ending:
        self._process.join(1)  # an agent may have closed the connection but still run
        code = self._process.exitcode
        how = "closed its connection" if code is None else f"ended with exit code {code}"
        if code is not None and code < 0:
            with suppress(ValueError):
                how = f"was ended by {signal.Signals(-code).name}"
        self.kill()
        if self._trusts:
            raise MwzevalError(
                f"a process of the run {how}, perhaps because of too little memory: try fewer "
                "--jobs"
            )
        if not self._is_ready:
            raise MwzevalError(f"the process of the agent and user {how} when it started")
        return self._record.ending._replace(problem=f"the process {how}")


def _started(
    setting: RunSetting, threads: int, is_one_of_many: bool
) -> tuple[BaseProcess, Connection]:
    """Start a process that serves a setting; return it and its connection.

    A forked process is ready immediately, shares the loaded databases, and does not need to pickle
    the agent. The parent's threads are not copied, but none of them matters, because only child
    processes import agents. Where fork is not safe, the default start method is used.
    """
    import multiprocessing

    is_safe = sys.platform not in ("darwin", "win32")
    context: Any = multiprocessing.get_context("fork" if is_safe else None)
    connection, inner = context.Pipe()
    # Otherwise each fork would write the buffered output again.
    sys.stdout.flush()
    sys.stderr.flush()
    process: BaseProcess = context.Process(target=_serve, args=(setting, threads, inner))
    with one_thread_each() if is_one_of_many else nullcontext(), warnings.catch_warnings():
        # NumPy's threads handle forks correctly.
        warnings.simplefilter("ignore", DeprecationWarning)
        with interrupts_held():  # only the parent handles Ctrl-C, even during the start
            process.start()
    inner.close()
    return process, connection


def _serve(setting: RunSetting, threads: int, connection: Connection) -> None:
    end_with_parent()
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the parent decides when to stop
    if hasattr(os, "setpgrp"):
        os.setpgrp()  # processes that an agent starts are killed together with this one
    with suppress(OSError):
        os.dup2(2, 1)  # this process must not write to standard output
    sys.stdout = sys.stderr
    process = os.getpid()
    lock = threading.Lock()  # the thread of a tool server also records its calls

    def send(kind: str, value: Any) -> None:
        if os.getpid() != process:
            os._exit(1)  # this is a child process that the agent has forked and not ended
        with lock:
            connection.send((kind, value))

    def end(held: Trajectory | BaseException) -> None:
        with suppress(OSError):  # an agent may have closed the connection
            if isinstance(held, Trajectory):
                send("ended", held)
                return
            if isinstance(held, MwzevalError):
                send("refused", held)
            else:  # an error of the setting; errors of user and agent are recorded
                send("raised", "".join(traceback.format_exception(held)))
        os._exit(1)  # an error of the setting ends the run

    on_event = None if setting.trusts else partial(send, "event")
    try:
        with Threads(setting, threads, on_event, end) as pool:
            send("ready", None)
            for planned in iter(connection.recv, None):
                pool.start(planned)
            connection.recv()  # until the parent has received all messages and kills this process
    except (EOFError, ConnectionError):  # the parent has ended
        pass
    except Exception as error:
        end(error)
    os._exit(1)  # exit without waiting for threads that do not end
