"""The package runs on every Python version from 3.10.

ruff and mypy find syntax and standard library names that the oldest Python lacks. Installation and
imports are tested here.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.places import ROOT

pytestmark = pytest.mark.integration


def interpreter(version: str) -> str:
    """Return a Python of this version, from the search path or from pyenv."""
    root = Path(os.environ.get("PYENV_ROOT", "~/.pyenv")).expanduser() / "versions"
    installed = sorted(map(str, root.glob(f"{version}.*/bin/python")), reverse=True)
    code = "import sys, venv; print('%d.%d' % sys.version_info[:2])"
    for program in filter(None, (*installed, shutil.which(f"python{version}"))):
        done = subprocess.run([program, "-c", code], capture_output=True, text=True)
        if done.stdout.strip() == version:
            return program
    pytest.skip(f"Python {version} is not installed")


IMPORT_ALL = """
import importlib, pkgutil, sys, mwzeval
for module in pkgutil.walk_packages(mwzeval.__path__, "mwzeval.", lambda name: None):
    # Frameworks import the modules for them, and are not there.
    if not module.name.endswith("__main__") and ".frameworks." not in module.name:
        importlib.import_module(module.name)
assert "pkg_resources" not in sys.modules
"""
BUILT = (
    *("numpy", "scipy", "rapidfuzz", "levenshtein", "zstandard", "matplotlib", "scikit-learn"),
    *("numba", "llvmlite"),
)
EXTRAS = "batched,crosswoz,distributed,plot,retrieval,rl"
CHEAP_TESTS = (
    *("metrics/test_types", "golden/test_recorded_scores", "files/test_cache"),
    *("dstc7/**/test_worked_examples", "pydial/**/test_user"),
)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("version", "resolution"),
    [("3.10", "lowest-direct"), ("3.12", "lowest-direct"), ("3.13", "highest")],
)
def test_the_package_installs_and_runs_without_setuptools(
    version: str, resolution: str, tmp_path: Path
) -> None:
    python = interpreter(version)

    def run(*command: str | Path) -> None:
        environment = os.environ | {"PYTHONPATH": str(ROOT)}
        done = subprocess.run(
            list(map(str, command)), cwd=ROOT, env=environment, capture_output=True, text=True
        )
        assert done.returncode == 0, f"{command}\n{done.stdout}\n{done.stderr}"

    run(sys.executable, "-m", "venv", tmp_path / "tools")
    run(tmp_path / "tools/bin/pip", "install", "--quiet", "--disable-pip-version-check", "uv")
    uv, target = tmp_path / "tools/bin/uv", tmp_path / "venv/bin/python"
    run(uv, "venv", "--quiet", "--python", python, tmp_path / "venv")
    install = (uv, "pip", "install", "--quiet", "--python", target)
    # Minimum versions of packages with C code must have wheels for this Python version.
    built = [f"--only-binary={name}" for name in BUILT]
    run(*install, "--resolution", resolution, *built, f"{ROOT}[{EXTRAS}]")
    run(target, "-c", "import importlib.util as u; assert not u.find_spec('setuptools')")
    run(target, "-W", "error::SyntaxWarning:mwzeval", "-c", IMPORT_ALL)
    run(*install, "hypothesis", "ir-measures", "jsonschema", "pytest")
    tests = [next(ROOT.glob(f"tests/{name}.py")) for name in CHEAP_TESTS]
    run(target, "-m", "pytest", "-q", "-m", "not slow", "-p", "no:cacheprovider", *tests)
