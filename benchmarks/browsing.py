"""How soon the page is painted and filtered in a browser; nothing where chromium is missing."""

from __future__ import annotations

import shutil
import statistics
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

from benchmarks.measure import REPETITIONS, Row

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


def rows(content: bytes) -> Iterator[Row]:
    """Yield the lines of the table for a page of 1,000 dialogues of two systems."""
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
            filters += [float(page.evaluate(FILTERED, list(each))) for each in CONTROLS]
            page.close()
        browser.close()
    paint, slowest = statistics.median(paints), max(filters)
    yield Row("… its first paint in chromium", f"{paint:.0f} ms", None, "1000 ms", paint < 1000)
    what = f"… filtering it: median {statistics.median(filters):.0f} ms, slowest"
    yield Row(what, f"{slowest:.0f} ms", None, "100 ms", slowest < 100)
