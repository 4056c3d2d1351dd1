"""What is compiled does the same, in all tasks; in a process of its own, which compiles."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

from tests.places import ROOT

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
