"""The site of `docs/` builds without a warning, and its links have targets."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path
from urllib.parse import unquote, urlsplit

import pytest

from tests.places import ROOT

pytestmark = pytest.mark.integration

LOCAL = re.compile(r'\b(?:href|src)="(?!https?:|data:|#|mailto:|javascript:)([^"]+)"')


def test_documentation_builds_without_warnings_or_external_resources(tmp_path: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-m", "mkdocs", "build", "--strict", "--site-dir", tmp_path],
        cwd=ROOT,
        env=os.environ | {"PYTHONPATH": str(ROOT)},
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr
    pages = {page: page.read_text(encoding="utf-8") for page in tmp_path.rglob("*.html")}
    names = {page.relative_to(tmp_path).as_posix() for page in pages}
    documents = {f"{page.stem}.html" for page in (ROOT / "docs").glob("*.md")}
    assert documents <= names
    assert {"options.html", "repository/index.html", "repository/CHANGELOG.html"} <= names
    assert "repository/examples/first_score.html" in names
    lost = []
    for page, text in pages.items():
        for link in LOCAL.findall(text):
            target = page.parent / unquote(urlsplit(link).path)
            if page.name != "404.html" and not target.exists():
                lost.append((page.name, link))
        # Pages load no scripts, images or styles from other sites; only links may be external.
        assert not re.search(r'<(?:script|img|iframe)[^>]* src="https?:', text), page
        assert not re.search(r'<link[^>]*rel="stylesheet"[^>]*href="https?:', text), page
    assert not lost
    options = pages[tmp_path / "options.html"]
    assert all(f'id="{verb}"' in options for verb in ("evaluate", "pydial", "data"))
    assert "Evaluator" in pages[tmp_path / "python.html"]
