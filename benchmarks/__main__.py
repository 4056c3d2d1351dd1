"""Run benchmarks and write their table, `python -m benchmarks [PREDICTIONS_FOLDER [PART…]]`.

Without parts all are run; the table has those that were.
"""

from __future__ import annotations

import os
import platform
import sys
from collections.abc import Callable, Iterable
from importlib.metadata import version
from itertools import chain
from pathlib import Path

from benchmarks import (
    crosswoz_scoring,
    crosswoz_simulation,
    delexicalization,
    dstc7,
    dstc7_baselines,
    endpoints,
    live,
    multiwoz,
    pydial_batched,
    pydial_simulation,
    pydial_training,
    reporting,
    sharding,
    training,
)
from benchmarks.measure import Row
from mwzeval.version import __version__

RESULTS = Path(__file__).parent / "results.md"
PACKAGES = ("sacrebleu", "sacremoses", "fuzzywuzzy", "python-Levenshtein", "numpy")
DEFAULT_FOLDER = "../shared/data/multiwoz/predictions"


def main() -> int:
    folder = Path(sys.argv[1] if len(sys.argv) > 1 else DEFAULT_FOLDER)
    if not folder.is_dir():
        print(f"no folder of published predictions at {folder}", file=sys.stderr)
        return 2
    os.environ.setdefault("MWZEVAL_DATA", str(folder.parent.resolve()))
    asked = sys.argv[2:]
    parts = _parts(folder)
    if unknown := set(asked).difference(parts):
        print(f"no part {', '.join(unknown)}: choose among {', '.join(parts)}", file=sys.stderr)
        return 2
    lines = []
    for row in chain.from_iterable(
        rows() for part, rows in parts.items() if part in asked or not asked
    ):
        lines.append(_line(row))
        print(lines[-1], flush=True)
    RESULTS.write_text(_page(lines), encoding="utf-8")
    return int(any("**no**" in line for line in lines))


def _parts(folder: Path) -> dict[str, Callable[[], Iterable[Row]]]:
    data = folder.parents[1]
    return {
        "multiwoz": lambda: multiwoz.rows(folder),
        "reporting": lambda: reporting.rows(
            folder, multiwoz.yardstick(folder / f"{reporting.SYSTEM}.json")
        ),
        "delexicalization": lambda: delexicalization.rows(folder),
        "sharding": lambda: sharding.rows(folder),
        "training": lambda: training.rows(folder),
        "live": lambda: live.rows(data),
        "endpoints": lambda: endpoints.rows(data),
        "dstc7": dstc7.rows,
        "dstc7_baselines": dstc7_baselines.rows,
        "crosswoz_scoring": lambda: crosswoz_scoring.rows(data / "crosswoz"),
        "crosswoz_simulation": lambda: crosswoz_simulation.rows(data / "crosswoz"),
        "pydial_simulation": lambda: pydial_simulation.rows(data),
        "pydial_training": lambda: pydial_training.rows(data),
        "pydial_batched": lambda: pydial_batched.rows(data),
    }


def _line(row: Row) -> str:
    ratio = "" if row.ratio is None else f"{row.ratio:.2f} ×"
    met = {True: "yes", False: "**no**", None: ""}[row.met]
    return f"| {row.what} | {row.measured} | {ratio} | {row.limit} | {met} |"


def _page(lines: list[str]) -> str:
    packages = ", ".join(f"{name} {version(name)}" for name in PACKAGES)
    return "\n".join(
        [
            "# Benchmarks",
            "",
            "Written by `make bench`. Ratios are to sacreBLEU's `corpus_bleu` on the same turns in",
            "the same run, median of interleaved pairs, both in CPU time; seconds depend on the",
            'machine. "Not seen before" is a file of another system in a process that has its',
            "corpus loaded and has scored other files, as in a training loop.",
            "",
            f"mwzeval {__version__}; Python {platform.python_version()}; {packages};",
            f"{platform.machine()}, {os.cpu_count()} cores, {platform.system()}.",
            "",
            "| what | measured | ratio | at most | met |",
            "|---|---:|---:|---:|---|",
            *lines,
            "",
        ]
    )


if __name__ == "__main__":
    sys.exit(main())
