"""What holds for the tests themselves."""

from __future__ import annotations

import ast
import re
from pathlib import Path

import pytest

from tests.places import ROOT

TESTS = sorted((ROOT / "tests").rglob("*.py"))
CLOCKS = re.compile(
    r"(perf_counter|process_time|thread_time|monotonic)(_ns)?|clock_gettime(_ns)?|timeit|ru_[us]time"
)
EXCEPT = {
    "test_suite.py": "names the clocks",
    "waiting.py": "gives up what hangs",
    "fuzzing_child.py": "limits the processor seconds of a child, as of its memory; every night",
}


def clocks(source: str) -> set[str]:
    """Return the clocks that a module uses, by whatever name, also those of a browser."""
    found = set()
    for node in ast.walk(ast.parse(source)):
        match node:
            case ast.Attribute(attr=name) | ast.Name(id=name) | ast.alias(name=name):
                found |= {name} if CLOCKS.fullmatch(name) else set()
            case ast.Constant(value=str(text)):
                found |= set(re.findall(r"performance\.\w+|Date\.now", text))
    return found


@pytest.mark.parametrize(
    ("source", "found"),
    [
        ("import time\ntime.perf_counter()", {"perf_counter"}),
        ("from time import thread_time_ns as now", {"thread_time_ns"}),
        ("import timeit", {"timeit"}),
        ("page.evaluate('() => performance.now()')", {"performance.now"}),
        ("import time\ntime.sleep(1)\nos.utime(path, (time.time(),) * 2)", set()),
    ],
)
def test_clocks_are_found(source: str, found: set[str]) -> None:
    assert clocks(source) == found


def test_no_test_looks_at_a_clock() -> None:
    # Times depend on what else runs: they are measured by `python -m benchmarks`, and tests count
    # work (tests/work.py). Waiting for a process has a limit that only hanging exceeds.
    looking: dict[Path, set[str]] = {
        path: clocks(path.read_text(encoding="utf-8")) for path in TESTS if path.name not in EXCEPT
    }
    assert not {path: found for path, found in looking.items() if found}
