"""The names that plug-ins may import are documented, exist, and suffice for the plug-ins here."""

from __future__ import annotations

import ast
import re
from importlib import import_module
from pathlib import Path

import pytest

from mwzeval import benchmark
from mwzeval.benchmark import BUILT_IN
from mwzeval.cli import main
from tests.places import ROOT
from tests.samples import TEMPLATE, installed, write_sample

PAGE = (ROOT / "docs" / "add_benchmark.md").read_text(encoding="utf-8")
NAMES = {
    (module, name)
    for module, names in re.findall(r"^\| `(mwzeval\.[a-z.]+)` \| (.*) \|$", PAGE, re.MULTILINE)
    for name in re.findall(r"`(\w+)`", names)
}
PLUGINS = sorted((ROOT / "plugins").glob("*/*/*.py")) + sorted(TEMPLATE.glob("*.py"))


def imports(path: Path) -> set[tuple[str, str]]:
    nodes = ast.walk(ast.parse(path.read_text(encoding="utf-8")))
    return {
        (node.module or "", alias.name)
        for node in nodes
        if isinstance(node, ast.ImportFrom)
        for alias in node.names
    }


def test_documented_names_exist() -> None:
    assert len(NAMES) >= 25
    assert all(hasattr(import_module(module), name) for module, name in NAMES)


@pytest.mark.parametrize("path", [path for path in PLUGINS if "tests" not in path.parts])
def test_plugins_import_documented_names_only(path: Path) -> None:
    used = {(module, name) for module, name in imports(path) if module.startswith("mwzeval.")}
    assert used <= NAMES


def test_the_page_shows_the_template() -> None:
    code = (TEMPLATE / "mwzeval_toy.py").read_text(encoding="utf-8")
    assert f"```python\n{code}```" in PAGE


@pytest.mark.parametrize("removed", BUILT_IN)
def test_benchmarks_work_without_any_other(
    removed: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    samples = {}
    for name in BUILT_IN.keys() - {removed}:
        (tmp_path / name).mkdir()
        samples[name] = write_sample(name, tmp_path / name)
    monkeypatch.delitem(benchmark.BUILT_IN, removed)
    with installed():
        for name, sample in samples.items():
            assert main(["evaluate", "--benchmark", name, "-q", sample.better]) == 0
