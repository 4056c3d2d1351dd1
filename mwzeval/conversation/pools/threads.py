"""Dialogues in threads, many beside each other: for those that wait for a server, not compute.

A thread cannot be killed: whatever is waited for has to end by itself, or when the setting is told
to `stop`. Nobody's own code is held so.
"""

from __future__ import annotations

import sys
import threading
import time
from collections.abc import Iterator
from contextlib import suppress
from queue import Empty, SimpleQueue

from mwzeval.conversation.pools.processes import Setting
from mwzeval.conversation.record import Planned, Record
from mwzeval.conversation.trajectory import Trajectory

MOST_THREADS = 256
SWITCH_SECONDS = 0.05
"""How long a thread may compute before another one gets its turn. Each of those that wait for it
wakes up as often, which with 64 threads and the usual 5 ms costs a fifth of the computing."""
SECONDS_TO_END = 5.0
"""How long threads may take to notice that the run has ended."""


class Threads:
    """Threads that hold the dialogues of a setting; a context, at whose end they are left.

    Entering raises what `Setting.begin` raises. There are never more dialogues than threads of
    which the trajectory was not taken yet. A setting that waits for something may have a method
    `stop` that ends all waiting: it is called at the end.
    """

    def __init__(self, setting: Setting, count: int) -> None:
        self._setting = setting
        self._count = count
        self._waiting: SimpleQueue[Planned | None] = SimpleQueue()
        self._held: SimpleQueue[tuple[Planned, Trajectory] | BaseException] = SimpleQueue()
        self._threads: list[threading.Thread] = []

    def __enter__(self) -> Threads:
        self._setting.begin()
        self._switch_seconds = sys.getswitchinterval()
        sys.setswitchinterval(SWITCH_SECONDS)
        return self

    def __exit__(self, *raised: object) -> None:
        sys.setswitchinterval(self._switch_seconds)
        for _ in self._threads:
            self._waiting.put(None)
        stop = getattr(self._setting, "stop", None)
        if stop is not None:
            stop()
        end = time.monotonic() + SECONDS_TO_END  # of all of them, which may be many
        for thread in self._threads:
            thread.join(max(0.0, end - time.monotonic()))
        self._threads.clear()

    def held(self, waiting: Iterator[Planned]) -> Iterator[tuple[Planned, Trajectory]]:
        """Yield dialogues as they end, in any order. Raises what the setting raises."""
        busy = 0
        for planned in waiting:
            if busy == self._count:
                yield self._next()
                busy -= 1
            elif busy == len(self._threads):
                self._start()
            self._waiting.put(planned)
            busy += 1
        for _ in range(busy):
            yield self._next()

    def finished(self) -> Iterator[tuple[Planned, Trajectory]]:
        """Yield the dialogues that have ended and were not taken yet."""
        with suppress(Empty):
            while True:
                done = self._held.get_nowait()
                if not isinstance(done, BaseException):
                    yield done

    def _next(self) -> tuple[Planned, Trajectory]:
        done = self._held.get()
        if isinstance(done, BaseException):
            raise done
        return done

    def _start(self) -> None:
        name = f"dialogue-{len(self._threads) + 1}"
        # What waits for a name server hears nothing; the program ends none the less.
        thread = threading.Thread(target=self._work, name=name, daemon=True)
        self._threads.append(thread)
        thread.start()

    def _work(self) -> None:
        while (planned := self._waiting.get()) is not None:
            self._held.put(self._hold(planned))

    def _hold(self, planned: Planned) -> tuple[Planned, Trajectory] | BaseException:
        try:
            record = Record()
            return planned, record.trajectory(planned, self._setting.hold(planned, record))
        except BaseException as error:
            return error
