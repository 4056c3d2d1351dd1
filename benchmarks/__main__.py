"""Run all benchmarks and write their table, `python -m benchmarks [PREDICTIONS_FOLDER]`."""

from __future__ import annotations

import os
import platform
import sys
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
    lines = []
    yardstick = multiwoz.yardstick(folder / f"{reporting.SYSTEM}.json")
    for row in chain(
        multiwoz.rows(folder),
        reporting.rows(folder, yardstick),
        delexicalization.rows(folder),
        sharding.rows(folder),
        training.rows(folder),
        live.rows(folder.parents[1]),
        endpoints.rows(folder.parents[1]),
        dstc7.rows(),
        dstc7_baselines.rows(),
        crosswoz_scoring.rows(folder.parents[1] / "crosswoz"),
        crosswoz_simulation.rows(folder.parents[1] / "crosswoz"),
        pydial_simulation.rows(folder.parents[1]),
        pydial_training.rows(folder.parents[1]),
        pydial_batched.rows(folder.parents[1]),
    ):
        lines.append(_line(row))
        print(lines[-1], flush=True)
    RESULTS.write_text(_page(lines), encoding="utf-8")
    return int(any("**no**" in line for line in lines))


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
            "the same run, median of paired runs; seconds depend on the machine.",
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
