"""Rows of the table, timed calls, and the time and peak memory of processes."""

from __future__ import annotations

import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path

REPETITIONS = 7
BYTECODE = tempfile.TemporaryDirectory(prefix="mwzeval-bytecode-")
PEAK = """
import re
from pathlib import Path
print("", re.search(r"VmHWM:\\s*(\\d+)", Path("/proc/self/status").read_text())[1])
"""
"""The end of a script that reports its own peak memory, because the value that the system reports
for a child process can be that of its parent."""


@dataclass(frozen=True)
class Row:
    """A measured figure with its unit, and the limit that it has to meet."""

    what: str
    measured: str
    ratio: float | None = None
    limit: str = ""
    met: bool | None = None


def at_least(what: str, rate: float, least: int | None, ratio: float | None = None) -> Row:
    """Return the row of a rate per second."""
    if least is None:
        return Row(what, f"{rate:,.0f}")
    return Row(what, f"{rate:,.0f}", ratio, f"at least {least:,}", rate >= least)


def at_most(what: str, value: float, unit: str, most: float | None, digits: int = 2) -> Row:
    """Return the row of a time or a size."""
    measured = f"{value:.{digits}f} {unit}"
    if most is None:
        return Row(what, measured)
    return Row(what, measured, None, f"{most:g} {unit}", value <= most)


def at_most_times(what: str, pairs: Sequence[tuple[float, float]], most: float) -> Row:
    """Return the row of times and of their ratios to a yardstick, medians of (time, yardstick)."""
    took = statistics.median(time for time, _ in pairs)
    ratio = statistics.median(time / yardstick for time, yardstick in pairs)
    return Row(what, f"{took:.2f} s", ratio, f"{most:g} ×", ratio <= most)


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
    """Time and peak memory of a finished process, and what it printed."""

    wall_seconds: float
    cpu_seconds: float
    megabytes: float
    output: str


def run_process(
    arguments: Sequence[str],
    environment: Mapping[str, str] | None = None,
    folder: Path | None = None,
) -> ProcessCost:
    """Run `python ARGUMENTS` in a folder, with bytecode kept between runs.

    `environment` is added to that of this process. Raises `RuntimeError` if the process fails.
    """
    variables = {**os.environ, "PYTHONPYCACHEPREFIX": BYTECODE.name, **(environment or {})}
    variables.pop("PYTHONDONTWRITEBYTECODE", None)
    command = [sys.executable, *arguments]
    with tempfile.TemporaryFile("w+") as output, tempfile.TemporaryFile("w+") as errors:
        start = time.perf_counter()
        process = subprocess.Popen(command, stdout=output, stderr=errors, env=variables, cwd=folder)
        _, status, usage = os.wait4(process.pid, 0)
        wall = time.perf_counter() - start
        process.returncode = os.waitstatus_to_exitcode(status)
        output.seek(0)
        errors.seek(0)
        if status:
            raise RuntimeError(f"{' '.join(arguments)[:200]} failed: {errors.read()[-2000:]}")
        spent = usage.ru_utime + usage.ru_stime
        return ProcessCost(wall, spent, usage.ru_maxrss / 1024, output.read())


def run_script(script: str, *arguments: str) -> ProcessCost:
    """Run a script on Linux and return its cost, with the peak memory that it reports itself."""
    cost = run_process(["-c", script + PEAK, *arguments])
    return replace(cost, megabytes=int(cost.output.split()[-1]) / 1024)
