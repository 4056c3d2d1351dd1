"""Rows of the table, timed calls, and the time and peak memory of processes."""

from __future__ import annotations

import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial

REPETITIONS = 7
BYTECODE = tempfile.TemporaryDirectory(prefix="mwzeval-bytecode-")
PEAK = """
import re, sys
from pathlib import Path
print(re.search(r"VmHWM:\\s*(\\d+)", Path("/proc/self/status").read_text())[1], file=sys.stderr)
"""
"""The end of a script that reports its peak memory: what the system reports of a child process
can be the memory of its parent."""


@dataclass(frozen=True)
class Row:
    """A measured figure with its unit, and the limit that it has to meet."""

    what: str
    measured: str
    ratio: float | None = None
    limit: str = ""
    met: bool | None = None


def at_least(what: str, rate: float, least: int | None) -> Row:
    """Return the row of a rate per second."""
    if least is None:
        return Row(what, f"{rate:,.0f}")
    return Row(what, f"{rate:,.0f}", None, f"at least {least:,}", rate >= least)


def at_most(what: str, value: float, unit: str, most: float | None, digits: int = 2) -> Row:
    """Return the row of a time or a size."""
    measured = f"{value:.{digits}f} {unit}"
    return Row(what, measured) if most is None else Row(
        what, measured, None, f"{most:g} {unit}", value <= most
    )  # fmt: skip


def seconds(call: Callable[[], object]) -> float:
    """Return the wall-clock time of a call."""
    start = time.perf_counter()
    call()
    return time.perf_counter() - start


def cpu_seconds(call: Callable[[], object]) -> float:
    """Return the CPU time of a call, which other programs on the machine change little."""
    start = time.process_time()
    call()
    return time.process_time() - start


def median_cpu(call: Callable[[], object], repetitions: int = REPETITIONS) -> float:
    """Return the median CPU time of repeated calls."""
    return statistics.median(cpu_seconds(call) for _ in range(repetitions))


def median_rate(number: int, call: Callable[[int], object]) -> float:
    """Return the median of `number` per CPU second over calls with seeds 1, 2 …, after seed 0."""
    call(0)
    times = [cpu_seconds(partial(call, seed)) for seed in range(1, REPETITIONS + 1)]
    return number / statistics.median(times)


@dataclass(frozen=True)
class ProcessCost:
    """Time and peak memory of a finished process."""

    wall_seconds: float
    cpu_seconds: float
    megabytes: float


def run_process(arguments: Sequence[str]) -> ProcessCost:
    """Run `python ARGUMENTS`, whose output is discarded, with bytecode kept between runs.

    Raises `RuntimeError` if the process fails.
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
    return ProcessCost(wall, usage.ru_utime + usage.ru_stime, usage.ru_maxrss / 1024)


def run_script(script: str, *arguments: str) -> ProcessCost:
    """Run a script on Linux and return its cost, with the peak memory that it reports itself."""
    before, start = os.times(), time.perf_counter()
    command = [sys.executable, "-c", script + PEAK, *arguments]
    done = subprocess.run(command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, check=True)
    wall, after = time.perf_counter() - start, os.times()
    cpu = after.children_user - before.children_user
    cpu += after.children_system - before.children_system
    return ProcessCost(wall, cpu, int(done.stderr.split()[-1]) / 1024)
