"""Medians of repeated timings, and a child process's time and peak memory."""

from __future__ import annotations

import math
import os
import statistics
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass

REPETITIONS = 7


@dataclass(frozen=True)
class Row:
    """One line of the table: a figure, in its unit, beside what it may be at most."""

    what: str
    measured: str
    ratio: float | None
    limit: str
    met: bool | None


def seconds(call: Callable[[], object]) -> float:
    start = time.perf_counter()
    call()
    return time.perf_counter() - start


def cpu_seconds(call: Callable[[], object]) -> float:
    """Return the CPU time that a call takes, which other programs on the machine change little."""
    start = time.process_time()
    call()
    return time.process_time() - start


def at_least(what: str, rate: float, least: int) -> Row:
    """Return the line of a rate a second."""
    return Row(what, f"{rate:,.0f}", None, f"at least {least:,}", rate >= least)


def paired(
    prepare: Callable[[], Callable[[], object]], yardstick: Callable[[], object]
) -> tuple[float, float]:
    """Return (median CPU seconds, median ratio to the yardstick), timed in turns.

    `prepare` makes everything ready and returns the call to be timed, anew for each repetition.
    """
    times, ratios = [], []
    for _ in range(REPETITIONS):
        call = prepare()
        times.append(cpu_seconds(call))
        ratios.append(times[-1] / cpu_seconds(yardstick))
    return statistics.median(times), statistics.median(ratios)


BYTECODE = tempfile.TemporaryDirectory(prefix="mwzeval-bytecode-")


@dataclass(frozen=True)
class ProcessCost:
    """What a finished process took."""

    wall_seconds: float
    peak_megabytes: float
    cpu_seconds: float = math.nan


def run_process(arguments: Sequence[str]) -> ProcessCost:
    """Run `python ARGUMENTS` with its output thrown away. Raises `RuntimeError` if it fails.

    Bytecode is kept between runs, as it is where a package is installed, whatever the environment
    of the benchmark says.
    """
    environment = {**os.environ, "PYTHONPYCACHEPREFIX": BYTECODE.name}
    environment.pop("PYTHONDONTWRITEBYTECODE", None)
    start = time.perf_counter()
    sink = os.open(os.devnull, os.O_WRONLY)
    pid = os.posix_spawn(
        sys.executable,
        [sys.executable, *arguments],
        environment,
        file_actions=[(os.POSIX_SPAWN_DUP2, sink, 1), (os.POSIX_SPAWN_DUP2, sink, 2)],
    )
    _, status, usage = os.wait4(pid, 0)
    os.close(sink)
    if status:
        raise RuntimeError(f"{' '.join(arguments)} failed")
    wall = time.perf_counter() - start
    return ProcessCost(wall, usage.ru_maxrss / 1024, usage.ru_utime + usage.ru_stime)
