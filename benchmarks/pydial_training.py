"""How long training takes in PyDial's CR-1, and its memory.

`python -m benchmarks.pydial_training [DATA]` prints the table alone. Each policy trains in a
process of its own; without the published data the embedded domain of the same shape stands in. CPU
seconds, so that what else runs on the machine counts little.
"""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

from benchmarks.measure import Row
from benchmarks.pydial_simulation import DEFAULT_DATA
from mwzeval.pydial.tasks import DEMO

DIALOGUES = 1000
SECONDS = {"gp-sarsa": 30.0, "dqn": 25.0}
MEGABYTES = 600
TRAINED = """
import resource, sys, tempfile
from mwzeval.pydial.runs.job import Job, run_job
task, policy, dialogues, data = sys.argv[1:]
with tempfile.TemporaryDirectory() as folder:
    run_job(Job(task, policy, 1, (int(dialogues),), tests=1, data=data or None), folder)
spent = resource.getrusage(resource.RUSAGE_SELF)
print(spent.ru_utime + spent.ru_stime, spent.ru_maxrss / 1024)
"""


def rows(data: Path | None) -> Iterator[Row]:
    """Yield the lines of the table, one measurement after the other."""
    task = "CR-1" if data else f"{DEMO}CR-1"
    for policy, most in SECONDS.items():
        arguments = [task, policy, str(DIALOGUES), str(data or "")]
        done = subprocess.run(
            [sys.executable, "-c", TRAINED, *arguments], stdout=subprocess.PIPE, check=True
        )
        seconds, peak = map(float, done.stdout.split())
        what = f"PyDial {task}: {policy}, {DIALOGUES:,} dialogues of training"
        yield Row(what, f"{seconds:.1f} s", None, f"{most:.0f} s", seconds <= most)
        yield Row("… its peak memory", f"{peak:.0f} MB", None, f"{MEGABYTES} MB", peak <= MEGABYTES)


def main() -> int:
    data = Path(sys.argv[1] if len(sys.argv) > 1 else DEFAULT_DATA)
    met = []
    for row in rows(data if data.is_dir() else None):
        print(f"{row.what}: {row.measured} (at most {row.limit})", flush=True)
        met.append(row.met)
    return int(not all(met))


if __name__ == "__main__":
    sys.exit(main())
