"""Dialogues in threads of several processes: for those that wait for a server and compute as well.

Threads of one process compute one at a time. Each process holds its dialogues in threads and tells
of them when they have ended: nobody's own code is held so, and none is killed for taking too long.
"""

from __future__ import annotations

import os
import traceback
from collections.abc import Iterator
from contextlib import suppress
from typing import TYPE_CHECKING, Any

from mwzeval.conversation.pools.children import become_child, how_it_ended, kill, started
from mwzeval.conversation.pools.processes import Setting
from mwzeval.conversation.pools.threads import Threads
from mwzeval.conversation.record import Planned
from mwzeval.conversation.trajectory import Trajectory
from mwzeval.errors import MwzevalError

if TYPE_CHECKING:
    from multiprocessing.connection import Connection

READY = "ready"
SPARE = 1
"""Dialogues that a process is given before it has a thread for them: it never waits for more."""


class ThreadedProcesses:
    """Processes that hold the dialogues of a setting in `concurrency` threads, all in all.

    A context, at whose end they are killed. Entering waits until one of them is ready, and raises
    what `Setting.begin` raises there. What is begun at a time is little more than can be held.
    """

    def __init__(self, setting: Setting, processes: int, concurrency: int) -> None:
        self._setting = setting
        more = concurrency % processes
        self._threads = [concurrency // processes + (n < more) for n in range(processes)]
        self._processes: list[_Process] = []

    def __enter__(self) -> ThreadedProcesses:
        try:
            for threads in self._threads:
                self._processes.append(_Process(self._setting, threads))
            self._processes[0].receive()
        except BaseException:
            self.__exit__()
            raise
        return self

    def __exit__(self, *raised: object) -> None:
        for process in self._processes:
            process.kill()
        self._processes.clear()

    def held(self, waiting: Iterator[Planned]) -> Iterator[tuple[Planned, Trajectory]]:
        """Yield dialogues as they end, in any order. Raises what the setting raises."""
        from multiprocessing.connection import wait

        for spare in range(max(self._threads) + SPARE):  # to all of them alike
            for process in self._processes:
                if spare < process.threads + SPARE:
                    process.give(next(waiting, None))
        while busy := {each.connection: each for each in self._processes if each.busy}:
            ready: Any = wait(list(busy))
            for connection in ready:
                done = busy[connection].receive()
                if done is not None:
                    busy[connection].give(next(waiting, None))
                    yield done

    def finished(self) -> Iterator[tuple[Planned, Trajectory]]:
        """Yield the dialogues that have ended and were not taken yet."""
        for process in self._processes:
            while process.busy and process.connection.poll():
                done = process.receive()
                if done is not None:
                    yield done


class _Process:
    """One of the processes, as its parent sees it; `busy` is how many dialogues it was given."""

    def __init__(self, setting: Setting, threads: int) -> None:
        self.threads = threads
        self.busy = 0
        self._is_told = False
        self._process, self.connection = started(_serve, setting, threads, is_one_of_many=True)

    def give(self, planned: Planned | None) -> None:
        """Let it hold a dialogue; None tells it once that there are no more."""
        if planned is None and self._is_told:
            return
        self._is_told = planned is None
        self.busy += planned is not None
        with suppress(OSError):  # one that has died is heard of
            self.connection.send(planned)

    def receive(self) -> tuple[Planned, Trajectory] | None:
        """Return a dialogue that has ended, None when the process is ready.

        Raises what the setting raises, and `MwzevalError` when the process has died.
        """
        try:
            told = self.connection.recv()
        except (EOFError, OSError):
            self._process.join(1)
            raise MwzevalError(
                f"a process of the run {how_it_ended(self._process.exitcode)}, perhaps for lack "
                "of memory: try fewer --jobs"
            ) from None
        if isinstance(told, MwzevalError):
            raise told
        if told == READY:
            return None
        if isinstance(told, tuple):
            self.busy -= 1
            return told
        raise RuntimeError(told)

    def kill(self) -> None:
        """Kill it."""
        kill(self._process)
        self.connection.close()


def _serve(setting: Setting, threads: int, connection: Connection) -> None:
    """Hold the dialogues that are asked for, in threads of this process."""
    become_child()
    try:
        with Threads(setting, threads) as pool:
            connection.send(READY)
            for done in pool.held(iter(connection.recv, None)):
                connection.send(done)
        connection.recv()  # until the parent has all of them, and kills this process
    except (EOFError, BrokenPipeError, ConnectionError):
        pass
    except MwzevalError as error:
        connection.send(error)
    except BaseException:
        with suppress(OSError):
            connection.send(traceback.format_exc())
    os._exit(1)  # threads that wait for something are not waited for
