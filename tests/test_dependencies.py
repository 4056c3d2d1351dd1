"""A library that the numbers rest on is never replaced in silence by something else."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from tests.places import ROOT

WITHOUT = """
import sys
class Absent:
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] == {module!r}:
            raise ModuleNotFoundError(f"No module named {{name!r}}", name=name)
sys.meta_path.insert(0, Absent())
sys.argv = ["evaluate.py", "-bsr", "-i", {file!r}, "-o", {output!r}]
from mwzeval.cli import run_verb
sys.exit(run_verb("evaluate", "evaluate.py"))
"""


@pytest.mark.parametrize(
    ("module", "message"),
    [
        ("Levenshtein", b"error: python-Levenshtein is not installed: without it fuzzywuzzy"),
        ("pkg_resources", b"pip install lexical-diversity 'setuptools<82'"),
        ("lexical_diversity", b"pip install lexical-diversity 'setuptools<82'"),
    ],
)
def test_a_missing_library_is_refused_by_name(module: str, message: bytes, tmp_path: Path) -> None:
    output = tmp_path / "report.json"
    good = str(ROOT / "predictions" / "sample-good.json")
    program = WITHOUT.format(module=module, file=good, output=str(output))
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, check=False)
    assert done.returncode == 2
    assert message in done.stderr
    assert b"Traceback" not in done.stderr
    assert not output.exists()
