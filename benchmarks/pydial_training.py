"""How long training and a test take in PyDial's CR-3, and the memory.

`python -m benchmarks.pydial_training [DATA]` prints the table alone. Each policy trains in a
process of its own, imports (2 to 4 seconds) included; without the published data the embedded
domain of the same shape stands in. CPU seconds, so that what else runs on the machine counts
little. A first process, which is not measured, compiles.
"""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

from benchmarks.measure import Row
from benchmarks.pydial_simulation import DEFAULT_DATA
from mwzeval.pydial.tasks import DEMO

DIALOGUES, TESTS = 1000, 500
SECONDS = {
    "gp-sarsa": 15.0,
    "dqn": 12.0,
    "ppo": 14.0,
    "a2c": 18.0,
    "a2c-modern": 20.0,
    "enac": 25.0,
}
"""At most, for each policy: about twice what is measured on one core."""
MEGABYTES = 600
TRAINED = """
import resource, sys, tempfile
from mwzeval.pydial.runs.job import Job, run_job
task, policy, dialogues, tests, data = sys.argv[1:]
with tempfile.TemporaryDirectory() as folder:
    run_job(Job(task, policy, 1, (int(dialogues),), tests=int(tests), data=data or None), folder)
spent = resource.getrusage(resource.RUSAGE_SELF)
print(spent.ru_utime + spent.ru_stime, spent.ru_maxrss / 1024)
"""


def rows(data: Path | None) -> Iterator[Row]:
    """Yield the lines of the table, one measurement after the other."""
    task = "CR-3" if data else f"{DEMO}CR-3"
    _trained(task, "dqn", data)
    for policy, most in SECONDS.items():
        seconds, peak = _trained(task, policy, data)
        what = f"PyDial {task}: {policy}, {DIALOGUES:,} dialogues of training, {TESTS} of a test"
        yield Row(what, f"{seconds:.1f} s", None, f"{most:.0f} s", seconds <= most)
        yield Row("… its peak memory", f"{peak:.0f} MB", None, f"{MEGABYTES} MB", peak <= MEGABYTES)


def _trained(task: str, policy: str, data: Path | None) -> tuple[float, float]:
    """Return CPU seconds and megabytes of a process that trains and tests a policy."""
    arguments = [task, policy, str(DIALOGUES), str(TESTS), str(data or "")]
    command = [sys.executable, "-c", TRAINED, *arguments]
    done = subprocess.run(command, stdout=subprocess.PIPE, check=True)
    seconds, peak = map(float, done.stdout.split())
    return seconds, peak


def main() -> int:
    data = Path(sys.argv[1] if len(sys.argv) > 1 else DEFAULT_DATA)
    met = []
    for row in rows(data if data.is_dir() else None):
        print(f"{row.what}: {row.measured} (at most {row.limit})", flush=True)
        met.append(row.met)
    return int(not all(met))


if __name__ == "__main__":
    sys.exit(main())
