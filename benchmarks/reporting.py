"""Time of intervals, comparison, explanation and the page, on published predictions."""

from __future__ import annotations

import functools
import gc
import json
import shutil
import statistics
import sys
import tempfile
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path

from benchmarks.measure import (
    REPETITIONS,
    Row,
    at_most,
    at_most_times,
    cpu_seconds,
    run_process,
    seconds,
)
from benchmarks.multiwoz import yardstick
from mwzeval import Evaluator
from mwzeval.metrics.measure import Resampling
from mwzeval.multiwoz.plugin import MultiWoz
from mwzeval.multiwoz.scoring.explanation import explain
from mwzeval.report.html import to_html

SYSTEM = "augpt"
PAINTED = "performance.getEntriesByName('first-contentful-paint')[0].startTime"
FILTERED = """
async ([name, value, event]) => {
  const control = document.getElementById("page-" + name);
  const start = performance.now();
  control.value = value;
  control.dispatchEvent(new Event(event, { bubbles: true }));
  await new Promise((done) => requestAnimationFrame(() => setTimeout(done)));
  return performance.now() - start;
}
"""
CONTROLS: tuple[tuple[str, object, str], ...] = (
    ("search", "moderate", "input"),
    ("search", "", "input"),
    ("scope", "hotel", "change"),
    ("outcome", '[false,"success"]', "change"),
    ("differs", "1", "change"),
)


def rows(data: Path) -> Iterator[Row]:
    """Yield the rows of the table."""
    folder = data / "multiwoz" / "predictions"
    predictions = json.loads((folder / f"{SYSTEM}.json").read_bytes())
    corpus_bleu = yardstick(predictions)
    evaluator = Evaluator(True, True, True, True, corpus="multiwoz-2.2", confidence=0.95)
    evaluated = evaluator.score(predictions)
    intervals = functools.partial(evaluated.scored_table.scores, Resampling())
    pairs = [(cpu_seconds(intervals), cpu_seconds(corpus_bleu)) for _ in range(REPETITIONS)]
    yield at_most_times(f"{SYSTEM}: `--ci`, intervals of all metrics", pairs, 0.2)
    yield from _comparison(folder, corpus_bleu)

    # The garbage collector does not search the objects of this benchmark.
    gc.collect()
    gc.freeze()
    times = []
    for name, turns in evaluated.dialogues.items():
        dialogue = evaluated.scorer.normalize(name, turns, evaluated.sources)
        times.append(1000 * seconds(functools.partial(explain, evaluated.scorer, dialogue)))
    what = f"explaining a dialogue: median {statistics.median(times):.1f} ms, slowest"
    yield at_most(what, max(times), "ms", 50, 1)

    report = evaluator.evaluate(predictions)

    def page() -> None:
        explanations = tuple(evaluated.explain_all())
        system = replace(report, name=SYSTEM, explanations=explanations)
        pages.append(to_html([system, system], title="benchmark", words=MultiWoz.words).encode())

    pages: list[bytes] = []
    yield at_most("the page of 1,000 dialogues × 2 systems", seconds(page), "s", 5, 1)
    yield at_most("… its size", len(pages[0]) / 1e6, "MB", 6.5, 1)
    yield from _browser(pages[0])


def _comparison(folder: Path, corpus_bleu: Callable[[], object]) -> Iterator[Row]:
    files = sorted(str(path) for path in folder.glob("*.json"))
    with tempfile.TemporaryDirectory() as scratch:
        page = str(Path(scratch) / "out.html")
        comparing = ["-m", "mwzeval", "compare", *files, "-o", str(Path(scratch) / "out.txt")]
        run_process(comparing)
        took = run_process(comparing).cpu_seconds
        pairs = [(took, cpu_seconds(corpus_bleu)) for _ in range(REPETITIONS)]
        what = f"`mwzeval compare` of {len(files)} systems, all tests, as a process"
        yield at_most_times(what, pairs, 8)
        took = run_process(["-m", "mwzeval", "report", *files[:4], "-o", page]).cpu_seconds
        yield at_most("`mwzeval report` of 4 systems", took, "s", 6, 1)


def _browser(content: bytes) -> Iterator[Row]:
    """Yield the times in which chromium, if installed, paints and filters a page."""
    chromium = shutil.which("chromium") or shutil.which("chromium-browser")
    if chromium is None:
        print("the page is not measured in a browser: chromium is missing", file=sys.stderr)
        return
    from playwright.sync_api import sync_playwright

    paints, filters = [], []
    with tempfile.TemporaryDirectory() as scratch, sync_playwright() as playwright:
        file = Path(scratch) / "page.html"
        file.write_bytes(content)
        browser = playwright.chromium.launch(
            executable_path=chromium, args=["--no-sandbox", "--disable-gpu"]
        )
        for _ in range(REPETITIONS):
            page = browser.new_page()
            page.goto(file.as_uri())
            page.wait_for_selector("html[data-ready]", state="attached")
            paints.append(float(page.evaluate(PAINTED)))
            filters += [float(page.evaluate(FILTERED, list(control))) for control in CONTROLS]
            page.close()
        browser.close()
    yield at_most("… its first paint in chromium", statistics.median(paints), "ms", 500, 0)
    what = f"… filtering it: median {statistics.median(filters):.0f} ms, slowest"
    yield at_most(what, max(filters), "ms", 100, 0)
