"""What is compiled does the same, in all tasks; in a process of its own, which compiles."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.places import ROOT

pytestmark = pytest.mark.integration
FOLDER = "tests/pydial/batched"


@pytest.mark.slow
def test_compiled_code_passes_the_same_tests() -> None:
    options = ["-q", "-p", "no:cacheprovider", "-m", "", "--deselect", f"{FOLDER}/test_compiled.py"]
    done = subprocess.run(
        [sys.executable, "-m", "pytest", *options, FOLDER],
        cwd=ROOT,
        env={**os.environ, "NUMBA_DISABLE_JIT": "0"},
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stdout


def test_that_it_compiles_is_told_once_and_only_then(tmp_path: Path) -> None:
    lines: tuple[str, ...] = ("from mwzeval.pydial.batched.compiled import entry",)
    for name in ("one", "two"):
        lines += ("@entry", f"def {name}(x):", "    return x + 1")
    module = "\n".join((*lines, "print(one(1) + two(2))"))
    (tmp_path / "small.py").write_text(module + "\n", encoding="utf-8")
    environment = {**os.environ, "NUMBA_DISABLE_JIT": "0", "NUMBA_CACHE_DIR": str(tmp_path)}
    command = [sys.executable, str(tmp_path / "small.py")]
    for due in (1, 0):
        done = subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True)
        assert done.stdout == "5\n", done.stderr
        assert done.stderr.count("numba") == due
