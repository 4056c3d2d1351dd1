"""Files of tests have what was said in some dialogues, and know what they are of anywhere."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import pytest

from mwzeval.cli import main
from mwzeval.pydial.dialogue.acts import parse_act
from mwzeval.pydial.runs.episodes import KEPT
from mwzeval.pydial.runs.run import run
from mwzeval.pydial.runs.scoring import evaluate, validate

TASK, TESTS = "Demo-CR-3", KEPT + 3
POLICIES = ("handcrafted", "random", "gp-sarsa")


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    output = tmp_path_factory.mktemp("run")
    run(TASK, POLICIES, output, dialogues=[2], seeds=1, tests=TESTS, processes=0)
    return output


def lines_of(folder: Path, policy: str) -> list[dict[str, Any]]:
    (file,) = (folder / TASK / policy / "seed-0").glob("test-*.jsonl")
    return [json.loads(line) for line in file.read_text(encoding="utf-8").splitlines()]


@pytest.mark.parametrize("policy", POLICIES)
def test_the_first_dialogues_of_a_test_have_what_was_said(folder: Path, policy: str) -> None:
    _, *lines = lines_of(folder, policy)
    assert [("goal" in line, "turns" in line) for line in lines] == [
        (number < KEPT, number < KEPT) for number in range(TESTS)
    ]
    for line in lines[:KEPT]:
        turns, requests = line["turns"], line["goal"]["requests"]
        assert turns[0]["system"] == "hello()"
        assert sum("user" in turn for turn in turns) == line["exchanges"]
        assert all(turn["heard"] for turn in turns if "user" in turn)
        said = [turn["system"] for turn in turns]
        assert all(str(parse_act(act)) == act for act in said)
        assert requests["name"] is None or any(f'"{requests["name"]}"' in act for act in said)
        if line["success"]:
            assert None not in requests.values()


@pytest.mark.parametrize("policy", POLICIES)
def test_a_test_is_scored_and_explained_wherever_it_lies(
    folder: Path, policy: str, tmp_path: Path
) -> None:
    (file,) = (folder / TASK / policy / "seed-0").glob("test-*.jsonl")
    moved = tmp_path / "mine.jsonl"
    shutil.copy(file, moved)
    there, here = evaluate(str(file)), evaluate(str(moved))
    assert here.report().metrics == there.report().metrics
    assert here.units() == there.units()
    assert here.meta["policy"] == policy
    assert [len(each.turns) > 1 for each in here.explain_all()] == [
        number < KEPT for number in range(TESTS)
    ]


def test_a_problem_of_every_line_is_told_once(
    folder: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    _, *lines = lines_of(folder, "random")
    lines[4]["reward"] = "much"
    file = tmp_path / "untold.jsonl"
    file.write_text("".join(json.dumps(line) + "\n" for line in lines), encoding="utf-8")
    found = validate(str(file))
    assert [(problem.key, problem.count) for problem in found] == [("task", TESTS), ("reward", 1)]
    assert "line 1" in found[0].message
    assert "line 5" in found[1].message
    assert main(["evaluate", "--benchmark", "pydial", str(file), "-o", "-"]) == 2
    assert len(capsys.readouterr().err.splitlines()) == 2
