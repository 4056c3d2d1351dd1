"""Dialogues in a process of their own, which is killed when one call in it takes too long.

A thread cannot be killed, and what a system waits for or computes outside Python hears no signal;
a process always ends.
"""

from __future__ import annotations

import os
from dataclasses import replace
from typing import TYPE_CHECKING

from mwzeval.cluster.processes import end_with_parent
from mwzeval.crosswoz.corpus.dialogues import Goal
from mwzeval.crosswoz.simulation.dialogue import Setting
from mwzeval.crosswoz.simulation.log import USER_FAILED, SimulatedDialogue
from mwzeval.errors import UsageError

if TYPE_CHECKING:
    from multiprocessing.connection import Connection
    from multiprocessing.process import BaseProcess


class TimeLimitedSetting:
    """A setting whose dialogues end when a call of user or system takes more than so many seconds.

    A call is one turn of a side, with the NLU and NLG that serve it, or making the side. What is
    killed with the process begins anew with the next dialogue. Raises `UsageError` for a limit that
    is not above 0.
    """

    def __init__(self, setting: Setting, seconds: float) -> None:
        if not seconds > 0:
            raise UsageError(f"a time limit is a number of seconds above 0, not {seconds:g}")
        self._setting = setting
        self._seconds = seconds
        self._process: BaseProcess | None = None
        self._connection: Connection | None = None

    def simulate(self, goal: Goal, number: int, seed: int | str) -> SimulatedDialogue:
        """Return the dialogue about a goal, as `Setting.simulate` does.

        One that was killed has the exchanges that were complete, and fails on the side whose turn
        it was; so it is when the process dies.
        """
        connection = self._connected()
        connection.send((goal, number, seed))
        # Each message is what the dialogue comes to if the call that begins now never returns.
        so_far = SimulatedDialogue(number, goal, goal, (), USER_FAILED, 0)
        try:
            while connection.poll(self._seconds):
                message: tuple[bool, SimulatedDialogue] = connection.recv()
                has_ended, so_far = message
                if has_ended:
                    return so_far
            problem = f"TimeoutError: no answer within {self._seconds:g} seconds"
        except (EOFError, OSError):
            problem = "the process died"
        self.close()
        return replace(so_far, problem=problem)

    def close(self) -> None:
        """Kill the process, if there is one."""
        if self._process is not None and self._connection is not None:
            self._process.kill()
            self._process.join()
            self._connection.close()
        self._process = self._connection = None

    def _connected(self) -> Connection:
        import multiprocessing

        if self._connection is None:
            self._connection, inner = multiprocessing.Pipe()
            self._process = multiprocessing.Process(
                target=_serve, args=(self._setting, inner), daemon=True
            )
            self._process.start()
            inner.close()
            # To start a process may take longer than a call may.
            self._connection.recv()
        return self._connection


def _serve(setting: Setting, connection: Connection) -> None:
    """Hold the dialogues that are asked for, and tell before each call how they stand."""
    end_with_parent()
    connection.send(None)
    try:
        while True:
            goal, number, seed = connection.recv()
            ended = setting.simulate(
                goal, number, seed, note=lambda so_far: connection.send((False, so_far))
            )
            connection.send((True, ended))
    except (KeyboardInterrupt, EOFError, OSError):
        os._exit(1)
