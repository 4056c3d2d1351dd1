"""The programs of `examples/` that train, with a small budget."""

from __future__ import annotations

import runpy
import sys
from pathlib import Path

import pytest

from mwzeval.cli import main
from tests.places import ROOT

pytestmark = pytest.mark.integration


@pytest.mark.parametrize(
    ("program", "library"),
    [
        ("train_maskable_ppo", "sb3_contrib"),
        ("pydial_cleanrl_ppo", "numba"),
        ("pydial_torchrl", "torchrl"),
    ],
)
def test_examples_train_and_are_scored(
    program: str,
    library: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    pytest.importorskip(library)
    file = tmp_path / "tests.jsonl"
    budget = ["--steps", "1000", "--tests", "5", "-o", str(file)]
    monkeypatch.setattr(sys, "argv", [program, *budget])
    runpy.run_path(str(ROOT / "examples" / f"{program}.py"), run_name="__main__")
    printed = capsys.readouterr().out.splitlines()[-1]
    assert main(["evaluate", "--benchmark", "pydial", str(file)]) == 0
    success = capsys.readouterr().out.partition("Success")[2].split()[0]
    assert f"5 tests: success {success}%" in printed
