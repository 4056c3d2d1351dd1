"""Processes that hold dialogues, as those see them that start them."""

from __future__ import annotations

import os
import signal
import sys
import warnings
from collections.abc import Callable
from contextlib import nullcontext, suppress
from typing import TYPE_CHECKING, Any

from mwzeval.cluster import end_with_parent, interrupts_held, one_thread_each

if TYPE_CHECKING:
    from multiprocessing.connection import Connection
    from multiprocessing.process import BaseProcess


def started(
    target: Callable[..., None], *arguments: Any, is_one_of_many: bool
) -> tuple[BaseProcess, Connection]:
    """Return a process that calls `target` with the arguments and a connection, and ours to it."""
    context = _context()
    connection, inner = context.Pipe()
    # What is in the buffers would be written by each copy.
    sys.stdout.flush()
    sys.stderr.flush()
    process: BaseProcess = context.Process(target=target, args=(*arguments, inner))
    with one_thread_each() if is_one_of_many else nullcontext(), warnings.catch_warnings():
        # Threads of NumPy's, which know that they are not copied.
        warnings.simplefilter("ignore", DeprecationWarning)
        with interrupts_held():  # the parent alone hears Ctrl-C, from the first moment on
            process.start()
    inner.close()
    return process, connection


def kill(process: BaseProcess) -> None:
    """Kill a process with all that it has started."""
    if process.pid is not None and hasattr(os, "killpg"):
        with suppress(OSError):
            os.killpg(process.pid, signal.SIGKILL)
    process.kill()
    process.join()


def how_it_ended(code: int | None) -> str:
    """Return in words how a process with this exit code has ended; None for one that has not."""
    if code is None:
        return "closed its connection"
    if code < 0:
        with suppress(ValueError):
            return f"was ended by {signal.Signals(-code).name}"
    return f"ended with exit code {code}"


def _context() -> Any:
    """Return how processes are started.

    A copy of this one (fork) is ready at once, has the databases that are loaded, and needs no
    agent that can be pickled. Of threads it knows nothing; but there are none that matter, since
    agents are imported in the other processes only. Where copies are not safe it is as usual.
    """
    import multiprocessing

    is_safe = sys.platform not in ("darwin", "win32")
    return multiprocessing.get_context("fork" if is_safe else None)


def become_child() -> None:
    """End with the parent, which alone hears Ctrl-C; standard output is not for this process."""
    end_with_parent()
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the parent says when to stop
    if hasattr(os, "setpgrp"):
        os.setpgrp()  # with all that an agent starts, so that it is killed with it
    with suppress(OSError):
        os.dup2(2, 1)
    sys.stdout = sys.stderr
