"""Code outside a benchmark's folder does not depend on the benchmark."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from mwzeval.benchmark import BUILT_IN, GROUP
from tests.places import ROOT
from tests.samples import NAMES, write_sample
from tests.waiting import HANGING

PACKAGE = ROOT / "mwzeval"
KNOWING = ("__init__.py", "benchmark.py", "commands/extras.tsv")
"""Files that may name benchmarks: the public names, the registry, and the list of extras."""

SMOKE = """
import json, sys
import mwzeval
from mwzeval.benchmark import benchmarks
from mwzeval.cli import main
left, commands = json.loads(sys.argv[1])
assert [known.name for known in benchmarks(external=False)] == left
for command in commands:
    assert main(command) == 0, command
"""


def lines_naming(name: str, path: Path) -> list[int]:
    """Return the numbers, from 0, of the lines that contain a benchmark's name as a word."""
    word = re.compile(rf"\b{name}\b", re.IGNORECASE)
    text = path.read_text(encoding="utf-8")
    return [number for number, line in enumerate(text.splitlines()) if word.search(line)]


def test_built_in_entry_points_match_the_project_file() -> None:
    text = (ROOT / "pyproject.toml").read_text(encoding="utf-8")
    section = text.partition(f'[project.entry-points."{GROUP}"]\n')[2].partition("\n[")[0]
    assert section.strip() == "\n".join(f'{name} = "{BUILT_IN[name]}"' for name in BUILT_IN)
    assert all(BUILT_IN[name].startswith(f"mwzeval.{name}.") for name in NAMES)


def test_benchmarks_are_named_only_in_their_folder_and_known_files() -> None:
    for name in NAMES:
        naming = {
            str(path.relative_to(PACKAGE)): lines
            for path in sorted(PACKAGE.rglob("*"))
            if path.is_file() and "__pycache__" not in path.parts
            if path.relative_to(PACKAGE).parts[0] != name
            if (lines := lines_naming(name, path))
        }
        assert naming.keys() <= set(KNOWING), name
        assert len(naming["benchmark.py"]) == 1, name


@pytest.mark.integration
@pytest.mark.parametrize("name", NAMES)
def test_other_benchmarks_work_after_removing_one(name: str, tmp_path: Path) -> None:
    """The folder of the benchmark and the lines that name it are deleted in a copy."""
    copy = tmp_path / "mwzeval"
    shutil.copytree(PACKAGE, copy, ignore=shutil.ignore_patterns("__pycache__"))
    for folder in ("data", "predictions"):
        (tmp_path / folder).symlink_to(ROOT / folder)
    shutil.rmtree(copy / name)
    for file in KNOWING:
        path = copy / file
        lines = path.read_text(encoding="utf-8").splitlines(keepends=True)
        naming = lines_naming(name, path)
        kept = [line for number, line in enumerate(lines) if number not in naming]
        path.write_text("".join(kept), encoding="utf-8")
    left = [other for other in NAMES if other != name]
    commands = []
    for other in left:
        (tmp_path / f"of-{other}").mkdir()
        sample = write_sample(other, tmp_path / f"of-{other}")
        options = ["--benchmark", other]
        commands += [
            ["evaluate", *options, sample.better, "-q"],
            ["validate", *options, sample.better],
            ["explain", *options, sample.better],
            ["compare", *options, sample.better, sample.worse, "--samples", "100"],
        ]
    ran = subprocess.run(
        [sys.executable, "-c", SMOKE, json.dumps([left, commands])],
        cwd=tmp_path,
        env={"PYTHONPATH": str(tmp_path), "PATH": "", "MWZEVAL_CACHE": str(tmp_path / "cache")},
        capture_output=True,
        text=True,
        check=False,
        timeout=HANGING,
    )
    assert ran.returncode == 0, ran.stderr
