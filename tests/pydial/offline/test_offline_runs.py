"""Runs of policies that learn from data sets: their files are those of any run."""

from __future__ import annotations

import csv
import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from mwzeval.cli import main
from mwzeval.errors import InputError, UsageError
from mwzeval.pydial.dialogue.domain_files import load_domain
from mwzeval.pydial.offline.behaviour import behaviour_named
from mwzeval.pydial.offline.datasets import write_dataset
from mwzeval.pydial.policies import presets
from mwzeval.pydial.runs.play import adapter_for
from mwzeval.pydial.runs.run import planned, run
from mwzeval.pydial.tasks import task_named

pytestmark = pytest.mark.integration
pytest.importorskip("torch")
pytest.importorskip("minari")
TASK = task_named("Demo-CR-3")
DOMAIN = load_domain(TASK.domain)
PLAN: dict[str, Any] = {"dialogues": [2, 4], "seeds": 1, "tests": 3, "processes": 0}


@pytest.fixture(autouse=True)
def _few_steps(monkeypatch: pytest.MonkeyPatch) -> None:
    quick = {
        name: replace(preset, settings=replace(preset.settings, updates=4, hidden=(8,)))
        if preset.offline
        else preset
        for name, preset in presets.PRESETS.items()
    }
    for name, preset in quick.items():
        monkeypatch.setitem(presets.PRESETS, name, preset)


@pytest.fixture
def mixed(tmp_path: Path) -> Path:
    """The folder of a behaviour, with a data set of four dialogues."""
    return write_dataset(tmp_path, behaviour_named("mixed", DOMAIN, TASK), 0, 4).parent


def test_a_run_is_read_by_all_that_read_runs(
    mixed: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out = tmp_path / "runs"
    run([TASK.name], ["bc", "cql"], out, dataset=mixed, **PLAN)
    folder = out / TASK.name / "cql" / "seed-0"
    names = {path.name for path in folder.iterdir()}
    assert {"model-000002.npz", "model-000004.npz", "dataset.json"} < names
    tests = {name: (folder / name).read_bytes() for name in names if name.startswith("test-")}
    assert len(tests) == 2
    assert json.loads((folder / "dataset.json").read_text())["policy"] == "mixed"
    # What is missing is made again, to the same bytes.
    (folder / "test-000004.jsonl").unlink()
    run([TASK.name], ["bc", "cql"], out, dataset=mixed, **PLAN)
    assert {name: (folder / name).read_bytes() for name in tests} == tests
    assert main(["pydial", "table", str(out)]) == 0
    assert "CQL" in capsys.readouterr().out
    assert main(["pydial", "cross", str(out), "--tests", "1"]) == 0
    assert "BC" in capsys.readouterr().out
    assert adapter_for(folder / "model-000004.npz", DOMAIN, TASK).preset is not None


def test_tests_are_logged_after_the_dialogues_that_were_learned_from(
    mixed: Path, tmp_path: Path
) -> None:
    log = tmp_path / "log.csv"
    for _ in range(2):  # each test is told once
        out = tmp_path / "runs"
        run([TASK.name], ["bc"], out, dataset=mixed, **PLAN, log=log)
    with log.open(encoding="utf-8", newline="") as file:
        rows = [row for row in csv.DictReader(file) if row["name"] == "test/success"]
    assert [int(row["step"]) for row in rows] == [2, 4]


def test_what_does_not_fit_together_is_refused(mixed: Path, tmp_path: Path) -> None:
    out = tmp_path / "runs"

    def called(**other: Any) -> None:
        run([TASK.name], ["bc"], out, **{**PLAN, "dataset": mixed, **other})

    for other, told in (
        ({"dataset": None}, "bc learns from a data set: name its folder with --dataset"),
        ({"dialogues": [5]}, "has 4 dialogues, and 5 are to be learned from"),
        ({"legacy": True}, "leave out legacy"),
        ({"goodbye": "policy"}, "say the same with --goodbye"),
        ({"dataset": tmp_path}, "there is no data set of Demo-CR-3"),
        ({"batch": 2}, "bc: dialogues are played one after the other"),
    ):
        with pytest.raises(UsageError, match=told):
            called(**other)
    assert not out.exists()
    called()
    at_random = write_dataset(tmp_path, behaviour_named("random", DOMAIN, TASK), 0, 4).parent
    with pytest.raises(InputError, match="use another folder"):
        called(dataset=at_random)


def test_all_policies_are_those_that_can_learn(mixed: Path) -> None:
    without = {job.policy for job in planned([TASK.name], "all")}
    with_data = {job.policy for job in planned([TASK.name], "all", dataset=mixed)}
    assert with_data - without == {"bc", "cql"}
