"""Measure speed and memory: `python -m benchmarks [PART…] [--data FOLDER]`.

Without parts, all are measured and `results.md` is written.
"""

from __future__ import annotations

import argparse
import os
import platform
import sys
from importlib.metadata import version
from itertools import chain
from pathlib import Path

from benchmarks import crosswoz, dstc7, endpoints, live, multiwoz, pydial_speed, reporting, sharding
from benchmarks.measure import Row
from mwzeval.version import __version__

RESULTS = Path(__file__).parent / "results.md"
PACKAGES = ("sacrebleu", "sacremoses", "fuzzywuzzy", "python-Levenshtein", "numpy")
PARTS = {
    "multiwoz": multiwoz.rows,
    "rewards": multiwoz.reward_rows,
    "reporting": reporting.rows,
    "sharding": sharding.rows,
    "live": live.rows,
    "endpoints": endpoints.rows,
    "dstc7": dstc7.rows,
    "crosswoz": crosswoz.rows,
    "pydial": pydial_speed.rows,
    "pydial-training": pydial_speed.training_rows,
}
PAGE = """# Benchmarks

`make bench` writes this page. Seconds depend on the machine. Ratios compare the CPU
time with the time of sacreBLEU's `corpus_bleu` on the same turns: both are measured
alternately in one run, and the median of the ratios is reported. In rows with "not
seen before", the process has loaded the corpus and scored files of other systems, as
in a training loop, but has not scored the measured file.

{about}

| what | measured | ratio | at most | met |
|---|---:|---:|---:|---|
{lines}
"""


def main() -> int:
    """Print the rows; return 1 if a limit is not met, and 2 if there are no data."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description=__doc__)
    parser.add_argument("parts", nargs="*", metavar="PART", help=f"among {', '.join(PARTS)}")
    parser.add_argument("--data", type=Path, default=Path("../shared/data"), metavar="FOLDER")
    given = parser.parse_args()
    if unknown := set(given.parts).difference(PARTS):
        parser.error(f"no part {', '.join(unknown)}: choose among {', '.join(PARTS)}")
    data: Path = given.data.resolve()
    if not (data / "multiwoz" / "predictions").is_dir():
        print(f"no published predictions in {data}/multiwoz/predictions", file=sys.stderr)
        return 2
    os.environ.setdefault("MWZEVAL_DATA", str(data / "multiwoz"))
    lines = []
    for row in chain.from_iterable(PARTS[part](data) for part in given.parts or PARTS):
        lines.append(_line(row))
        print(lines[-1], flush=True)
    if not given.parts:
        packages = ", ".join(f"{name} {version(name)}" for name in PACKAGES)
        about = f"mwzeval {__version__}; Python {platform.python_version()}; {packages};\n"
        about += f"{platform.machine()}, {os.cpu_count()} cores, {platform.system()}."
        RESULTS.write_text(PAGE.format(about=about, lines="\n".join(lines)), encoding="utf-8")
    return int(any("**no**" in line for line in lines))


def _line(row: Row) -> str:
    ratio = "" if row.ratio is None else f"{row.ratio:.2f} ×"
    met = {True: "yes", False: "**no**", None: ""}[row.met]
    return f"| {row.what} | {row.measured} | {ratio} | {row.limit} | {met} |"


if __name__ == "__main__":
    sys.exit(main())
