"""`mwzeval baseline`: the same bytes each time, in the shapes that evaluation reads."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from mwzeval.cli import main
from mwzeval.multiwoz.evaluator import Evaluator
from mwzeval.multiwoz.predictions.reading import read_predictions
from tests.places import ROOT
from tests.waiting import HANGING

COMMITTED = ROOT / "predictions" / "template-sample.json"
TEMPLATE = ("baseline", "template", "--corpus", "sample")


@pytest.mark.integration
@pytest.mark.parametrize("seed", ["0", "1", "4711"])
def test_the_same_bytes_come_out_each_time(tmp_path: Path, seed: str) -> None:
    output = tmp_path / "predictions.json"
    command = [sys.executable, "-m", "mwzeval", *TEMPLATE, "-o", str(output)]
    subprocess.run(
        command, check=True, cwd=ROOT, env={**os.environ, "PYTHONHASHSEED": seed}, timeout=HANGING
    )
    assert output.read_bytes() == COMMITTED.read_bytes()


def test_json_lines_and_standard_output_hold_the_same(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    lines = tmp_path / "predictions.jsonl"
    assert main([*TEMPLATE, "-o", str(lines)]) == 0
    printed = capsys.readouterr()
    assert printed.out == ""
    assert str(lines) in printed.err
    assert dict(read_predictions(lines)) == json.loads(COMMITTED.read_bytes())
    assert main([*TEMPLATE, "-o", "-"]) == 0
    assert capsys.readouterr().out == COMMITTED.read_text(encoding="utf-8")


def test_options_choose_fold_states_and_values(tmp_path: Path) -> None:
    output = tmp_path / "predictions.json"
    options = ("--fold", "val", "--states", "--lexicalized")
    assert main([*TEMPLATE, *options, "-o", str(output)]) == 0
    predictions = json.loads(output.read_bytes())
    turns = [turn for turns in predictions.values() for turn in turns]
    assert all(turn.keys() == {"response", "active_domains", "state"} for turn in turns)
    assert not any("[" in turn["response"] for turn in turns)
    dev = Evaluator(dst=True, corpus="sample", fold="dev")
    assert dev.evaluate(predictions).metrics["dst"]["joint_accuracy"] > 99.9


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("--fold", "tset"), '"test"'),
        (("--rules", "2020"), "2020"),
        (("-o", "x.json.gz"), "x.json.gz"),
        (("-o", "."), "cannot write .:"),
    ],
)
def test_what_cannot_be_done_is_refused(
    arguments: tuple[str, ...],
    message: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.chdir(tmp_path)
    output = () if "-o" in arguments else ("-o", "x.json")
    assert main([*TEMPLATE, *output, *arguments]) == 2
    assert message in capsys.readouterr().err
    assert list(tmp_path.iterdir()) == []
