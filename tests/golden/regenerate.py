"""Record scores: `python -m tests.golden.regenerate [BENCHMARK ...]`.

Changed numbers are written only after an increase of the benchmark's scoring revision, which is
`SCORING_REVISION` in the `__init__.py` of its package.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path

from tests.golden.recorded import PACKAGES, Difference, Record, current, file_of, problem


def main(arguments: Sequence[str] | None = None) -> int:
    """Write the records of benchmarks (default: all); return 1 if a record was refused."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("benchmarks", nargs="*", metavar="BENCHMARK", help=", ".join(PACKAGES))
    names = parser.parse_args(arguments).benchmarks or list(PACKAGES)
    if unknown := [name for name in names if name not in PACKAGES]:
        parser.error(f"unknown: {', '.join(unknown)} (known: {', '.join(PACKAGES)})")
    written = [put(name, file_of(name), current(name)) for name in names]
    return 0 if all(written) else 1


def put(benchmark: str, path: Path, now: Record) -> bool:
    """Write a record unless numbers changed within a revision; return whether it is up to date."""
    if not path.exists():
        now.write(path)
        print(f"{benchmark}: written, {len(now.numbers())} numbers")
        return True
    before = Record.read(path)
    difference = Difference.between(before, now)
    for line in difference.lines():
        print(f"{benchmark}: {line}")
    refusal = problem(before, now)
    if refusal is not None:
        print(f"{benchmark}: not written: {refusal}", file=sys.stderr)
        return False
    if difference or now.revision != before.revision:
        now.write(path)
        print(f"{benchmark}: written, scoring revision {now.revision}")
    else:
        print(f"{benchmark}: as it was, scoring revision {now.revision}")
    return True


if __name__ == "__main__":
    sys.exit(main())
