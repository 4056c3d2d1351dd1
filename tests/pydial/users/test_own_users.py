"""Users of one's own in the place of the simulated one, in live dialogues and in a table."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from mwzeval.cli import main
from mwzeval.pydial.runs.run import run

USERS = """
import os
import time

from mwzeval.pydial.dialogue.goals import Goal
from mwzeval.pydial.dialogue.user import UserSimulator
from mwzeval.pydial.runs.episodes import TEST, rng_of_phase


class Agenda:
    "The simulated user of the same dialogue, which draws from where that one would."

    def __init__(self, domain, task, rng, dialogue):
        name, seed, index = dialogue.split("/")
        first = rng_of_phase(TEST, int(seed), int(index))
        self.user = UserSimulator(domain, task.user_model).begin(first)
        self.user.state.rng = rng
        self.goal = self.user.goal

    def answer(self, act):
        return self.user.answer(act)


class Unmade:
    def __init__(self):
        open("trained_user.npz")

    def answer(self, act):
        return "bye()"


def says_all(acts, goal):
    "Says what it wants, asks what it was not told, and leaves."
    if len(acts) == 1:
        items = ",".join(f'{item.slot}="{item.value}"' for item in goal.constraints)
        return f"inform({items})"
    if acts[-1].name == "request":
        return f'inform({acts[-1].items[0].slot}="dontcare")'
    unfilled = goal.unfilled()
    return f"request({unfilled[0]})" if unfilled else "bye()"


class Bad:
    def __init__(self, dialogue):
        self.number = int(dialogue.rpartition("/")[2])
        if self.number == 1:
            raise ValueError("not made")

    def answer(self, act):
        number = self.number
        if number == 2:
            time.sleep(1000)
        if number == 3:
            return "I would like a garden"
        if number == 4:
            return "inform(area=nowhere)"
        if number == 5:
            return "inform(" + ",".join(["area=north"] * 1000) + ")"
        if number == 6:
            os._exit(3)
        if number == 7:
            self.goal = Goal([], {})
        return "bye()"
"""


@pytest.fixture(autouse=True)
def elsewhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("mine.py").write_text(USERS, encoding="utf-8")


def lines(file: str = "run.jsonl") -> list[dict[str, Any]]:
    return [json.loads(line) for line in Path(file).read_text("utf-8").splitlines()[1:]]


def live(user: str, goals: str, *more: str, output: str = "run.jsonl") -> list[dict[str, Any]]:
    command = ["live", "--benchmark", "pydial", "-q", "--agent", "handcrafted", "--user", user]
    assert main([*command, "--goals", goals, "-o", output, *more]) == 0
    return lines(output)


@pytest.mark.parametrize("task", ["Demo-CR-1", "Demo-SFR-5", "Demo-LAP-6"])
def test_who_says_what_the_agenda_user_says_has_its_dialogues(task: str) -> None:
    due = live("agenda", f"{task}:60", "--seed", "2")
    assert live("mine.py:Agenda", f"{task}:60", "--seed", "2", output="mine.jsonl") == due
    assert len({line["success"] for line in due}) == (1 if task == "Demo-CR-1" else 2)


def test_a_function_is_told_its_goal_and_what_it_was_told(
    capsys: pytest.CaptureFixture[str],
) -> None:
    due = live("agenda", "Demo-CR-1:20")
    found = live("mine.py:says_all", "Demo-CR-1:20", output="mine.jsonl")
    assert [line["goal"] for line in found] == [line["goal"] for line in due]
    assert sum(line["success"] for line in found) > 15
    for line in found:
        assert line["final_goal"]["constraints"] == line["goal"]["constraints"]
        first = line["acts"][0][0]["said"]
        assert all(value in first for _, _, value in line["goal"]["constraints"])
    header = json.loads(Path("mine.jsonl").read_text("utf-8").splitlines()[0])
    assert '"spec": "mine.py:says_all"' in json.dumps(header)
    assert "|user:mine.py:says_all|" in capsys.readouterr().out


@pytest.mark.integration
def test_a_bad_user_ends_its_own_dialogue_only() -> None:
    found = live("mine.py:Bad", "Demo-CR-3:9", "--turn-seconds", "2", "--jobs", "2")
    assert [line["end"] for line in found] == ["user_stop", *["user_error"] * 7, "user_stop"]
    told = ["ValueError", "2", "I would like", "nowhere", "100", "3", "goal"]
    for line, words in zip(found[1:8], told, strict=True):
        assert words in line["problem"]
        assert not line["success"]
        assert line["reward"] == -25
    assert main(["explain", "run.jsonl"]) == 0


@pytest.mark.parametrize(
    ("user", "told"),
    [
        ("agend", '"agenda"'),
        ("mine.py:Nobody", "mine.py:Nobody"),
        ("json:JSONDecoder", "answer(act)"),
        ("mine.py:Unmade", "trained_user.npz"),
    ],
)
def test_bad_use_is_told(user: str, told: str, capsys: pytest.CaptureFixture[str]) -> None:
    command = ["live", "--benchmark", "pydial", "-q", "--agent", "handcrafted", "--user", user]
    assert main([*command, "--goals", "Demo-CR-1:2", "-o", "run.jsonl"]) == 2
    assert told in capsys.readouterr().err


@pytest.mark.integration
def test_the_table_has_the_tests_of_a_run_and_those_of_other_users(
    capsys: pytest.CaptureFixture[str],
) -> None:
    plan: dict[str, Any] = {"dialogues": (30,), "seeds": 2, "tests": 40}
    run(["Demo-CR-3"], ["handcrafted", "gp-sarsa"], "runs", **plan, processes=0)
    command = ["pydial", "cross-users", "runs", "--users"]
    assert main([*command, "agenda,mine.py:Agenda,mine.py:says_all", "-f", "json"]) == 0
    records = json.loads(capsys.readouterr().out)["users"]
    assert len(records) == 2 * 3 * 2
    of = {(r["policy"], r["user"], r["figure"]): r["value"] for r in records}
    for policy, at in (("handcrafted", 0), ("gp-sarsa", 30)):
        tests = [
            json.loads(line)
            for file in Path("runs", "Demo-CR-3", policy).glob(f"seed-*/test-{at:06d}.jsonl")
            for line in file.read_text("utf-8").splitlines()[1:]
        ]
        assert len(tests) == 80
        reward = sum(test["reward"] for test in tests) / 80
        assert of[policy, "agenda", "reward"] == pytest.approx(reward)
        for figure in ("success", "reward"):
            assert of[policy, "mine.py:Agenda", figure] == of[policy, "agenda", figure]
        assert of[policy, "mine.py:says_all", "success"] != of[policy, "agenda", "success"]
    Path("mine.py").unlink()  # dialogues that were held are not held again
    users = "agenda,mine.py:says_all"
    assert main([*command, users, "--policies", "gp-sarsa", "-f", "json"]) == 0
    again = json.loads(capsys.readouterr().out)["users"]
    assert len(again) == 8
    assert all(record in records for record in again)
    assert main([*command, "agend"]) == 2
    assert main(["pydial", "cross-users", "nowhere", "--users", "agenda"]) == 2
