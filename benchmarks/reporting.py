"""What intervals, comparison, explanation and the page cost, on real predictions."""

from __future__ import annotations

import functools
import gc
import json
import statistics
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path

from benchmarks import browsing
from benchmarks.measure import REPETITIONS, Row, cpu_seconds, run_process, seconds
from mwzeval import Evaluator
from mwzeval.metrics.measure import Resampling
from mwzeval.multiwoz.benchmark import BENCHMARK
from mwzeval.multiwoz.scoring.scored_predictions import explain
from mwzeval.multiwoz.scoring.scorer import Sources
from mwzeval.report.page.html import to_html
from mwzeval.report.page.model import page_system

SYSTEM = "augpt"


def rows(folder: Path, yardstick: Callable[[], object]) -> Iterator[Row]:
    """Yield the lines of the table, one measurement after the other."""
    predictions = json.loads((folder / f"{SYSTEM}.json").read_bytes())
    evaluator = Evaluator(True, True, True, True, corpus="multiwoz-2.2", confidence=0.95)
    evaluated = evaluator.score(predictions)
    ratios = []
    for _ in range(REPETITIONS):
        took = cpu_seconds(functools.partial(evaluated.scored_table.scores, Resampling()))
        ratios.append(took / cpu_seconds(yardstick))
    ratio = statistics.median(ratios)
    what = f"{SYSTEM}: `--ci`, intervals of all metrics"
    yield Row(what, f"{took:.2f} s", ratio, "0.2 ×", ratio <= 0.2)
    yield from _comparison(folder, yardstick)

    checked = evaluated.checked
    sources = Sources.of(checked.dialogues.values())
    # What this benchmark holds is not for the garbage collector to search while one is explained.
    gc.collect()
    gc.freeze()
    times = []
    for name, turns in checked.dialogues.items():
        dialogue = checked.scorer.normalize(name, turns, sources)
        times.append(1000 * seconds(functools.partial(explain, checked.scorer, dialogue)))
    slowest = max(times)
    what = f"explaining one dialogue: median {statistics.median(times):.1f} ms, slowest"
    yield Row(what, f"{slowest:.1f} ms", None, "50 ms", slowest <= 50)

    report = evaluator.evaluate(predictions)

    def page() -> None:
        system = page_system(SYSTEM, report, evaluated.explain_all())
        pages.append(to_html([system, system], title="benchmark", words=BENCHMARK.words).encode())

    pages: list[bytes] = []
    took = seconds(page)
    yield Row("the page of 1,000 dialogues × 2 systems", f"{took:.1f} s", None, "5 s", took <= 5)
    megabytes = len(pages[0]) / 1e6
    yield Row("… its size", f"{megabytes:.1f} MB", None, "12 MB", megabytes <= 12)
    yield from browsing.rows(pages[0])


def _comparison(folder: Path, yardstick: Callable[[], object]) -> Iterator[Row]:
    files = sorted(str(path) for path in folder.glob("*.json"))
    with tempfile.TemporaryDirectory() as scratch:
        page = str(Path(scratch) / "out.html")
        comparing = ["-m", "mwzeval", "compare", *files, "-o", str(Path(scratch) / "out.txt")]
        run_process(comparing)
        took = run_process(comparing).cpu_seconds
        ratio = took / statistics.median(cpu_seconds(yardstick) for _ in range(REPETITIONS))
        what = f"`mwzeval compare` of {len(files)} systems, all tests, as a process"
        yield Row(what, f"{took:.1f} s", ratio, "10 ×", ratio <= 10)
        took = run_process(["-m", "mwzeval", "report", *files[:4], "-o", page]).cpu_seconds
        yield Row("`mwzeval report` of 4 systems", f"{took:.1f} s", None, "8 s", took <= 8)
