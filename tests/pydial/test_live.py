"""Live runs: the users of a run's tests meet policies through the loop of all benchmarks."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from mwzeval.cli import main
from mwzeval.conversation.protocols import AnswerError
from mwzeval.pydial.acts import Act, Item
from mwzeval.pydial.checkpoints import checkpoint_content, read_checkpoint
from mwzeval.pydial.domain import load_domain
from mwzeval.pydial.episode_files import Selection, check_records, read_texts
from mwzeval.pydial.episodes import TEST, Episode, TaskRunner, play, rng_of_phase
from mwzeval.pydial.policies.handcrafted import HandcraftedPolicy, RandomPolicy
from mwzeval.pydial.policies.presets import preset_named
from mwzeval.pydial.run import run
from mwzeval.pydial.scoring import validate
from mwzeval.pydial.simulator.simulation import Simulation
from mwzeval.pydial.tasks import GOODBYES, TASKS, Goodbye
from mwzeval.pydial.users import checked_act
from mwzeval.scores.findings import Findings

POLICIES = """
from mwzeval.errors import InputError, Problem
from mwzeval.pydial.policies.handcrafted import HandcraftedPolicy

class ByBelief(HandcraftedPolicy):
    def __init__(self, domain, task):
        super().__init__()

class ByHypotheses:
    def answer(self, hypotheses):
        act, confidence = hypotheses[0]
        return "bye()" if act.name == "bye" else "request(area)"

class Failing:
    def answer(self, hypotheses):
        raise ValueError("no idea")

class Fileless:
    def __init__(self):
        raise InputError([Problem("missing", "cannot be read: train it", file="learned.npz")])

    def answer(self, act):
        return "bye()"

class Talker:
    def answer(self, hypotheses):
        return "what would you like?"


class Wordy:
    number = 0

    def answer(self, hypotheses):
        self.number += 1
        items = ",".join(f"slot{self.number}x{at}=x" for at in range(20))
        return f"inform({items})"


class Clearing:
    def act(self, belief, rng):
        vars(rng).clear()
        return "request(area)"
"""


USERS = """
import os
import time

from mwzeval.pydial.goals import Goal
from mwzeval.pydial.episodes import TEST, rng_of_phase
from mwzeval.pydial.simulator import codes as c
from mwzeval.pydial.simulator.simulation import Simulation
from mwzeval.pydial.simulator.user import answer


class Agenda:
    "The simulated user of the same dialogue, which draws from where that one would."

    def __init__(self, domain, task, rng, dialogue):
        name, seed, index = dialogue.split("/")
        first = rng_of_phase(TEST, int(seed), int(index))
        self.simulation = Simulation(domain, task)
        self.simulation.draw_user(first)
        d = self.simulation.d
        d.rng, d.again_act, d.system_act = rng, c.NULL, [c.NULL, c.NULL]

    @property
    def goal(self):
        return self.simulation.goal

    def answer(self, act):
        t, d, view = self.simulation.t, self.simulation.d, self.simulation.view
        view.put_system(act)
        d.now = 1 - d.now
        answer(t, d)
        return view.user_act


class Unmade:
    def __init__(self):
        open("trained_user.safetensors")

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
    Path("mine.py").write_text(POLICIES + USERS, encoding="utf-8")


def live(agent: str, goals: str, *more: str) -> int:
    command = ["live", "--benchmark", "pydial", "-q", "--agent", agent, "--goals", goals]
    return main([*command, "-o", "run.jsonl", *more])


def episodes() -> list[Episode]:
    findings = Findings()
    texts = read_texts("run.jsonl", Selection())
    records, _ = check_records(texts, "run.jsonl", Selection(), findings)
    findings.check()
    return [record.episode for record in records]


def lines() -> list[dict[str, Any]]:
    return [json.loads(line) for line in Path("run.jsonl").read_text("utf-8").splitlines()[1:]]


def stepped(simulation: Simulation, policy: HandcraftedPolicy, seed: int, index: int) -> Episode:
    """A test dialogue without the loop: one act after the other."""
    rng = rng_of_phase(TEST, seed, index)
    belief, total = simulation.begin(rng), 0.0
    while True:
        reward, ended, success, _ = simulation.answer(policy.act(belief, rng))
        total += reward
        if ended:
            task = simulation.task.name
            return Episode(task, seed, index, success, simulation.exchange, total)


@pytest.mark.parametrize("task", ["Demo-CR-1", "Demo-SFR-3", "Demo-LAP-6"])
def test_figures_are_those_of_the_test_dialogues_of_a_run(task: str) -> None:
    domain = load_domain(TASKS[task].domain)
    simulation = Simulation(domain, TASKS[task], confusion_seed=3)
    policy = HandcraftedPolicy()
    expected = [stepped(simulation, policy, 3, index) for index in range(30)]
    assert live("handcrafted", f"{task}:30", "--seed", "3") == 0
    assert episodes() == expected
    for line, episode in zip(lines(), expected, strict=True):
        assert line["turns"] == len(line["acts"]) == episode.exchanges
        assert line["end"] in ("user_stop", "limit")
    without_header = Path("run.jsonl").read_bytes().partition(b"\n")[2]
    Path("run.jsonl").unlink()
    assert live("mine.py:ByBelief", f"{task}:30", "--seed", "3", "--jobs", "2") == 0
    assert Path("run.jsonl").read_bytes().partition(b"\n")[2] == without_header


@pytest.mark.parametrize("goodbye", GOODBYES)
def test_policies_that_choose_actions_are_tested_as_in_a_run(
    goodbye: Goodbye, tmp_path: Path
) -> None:
    task, folder = "Demo-CR-2", tmp_path / "runs"
    plan: dict[str, Any] = {"dialogues": (20,), "seeds": 1, "tests": 1, "goodbye": goodbye}
    run([task], ["gp-sarsa"], folder, **plan, processes=0)
    model = folder / task / "gp-sarsa" / "seed-0" / "model-000020.safetensors"
    preset = preset_named("gp-sarsa")
    agents = (("random", "neural", "user"), (str(model), preset.view, goodbye))
    for agent, view, who in agents:
        domain = load_domain(TASKS[task].domain)
        runner = TaskRunner(domain, TASKS[task], view, goodbye=who)  # type: ignore[arg-type]
        policy: Any = RandomPolicy()
        if agent != "random":
            policy = preset.learner(runner.size, runner.actions, seed=0, legacy=False)
            policy.load(read_checkpoint(model)[1])
        Path("run.jsonl").unlink(missing_ok=True)
        assert live(agent, f"{task}:12") == 0
        assert episodes() == [runner.test(policy, 0, index) for index in range(12)]


def test_trials_are_talks_with_the_same_user(capsys: pytest.CaptureFixture[str]) -> None:
    assert live("handcrafted", "Demo-CR-6:20", "--trials", "3") == 0
    found = lines()
    for first, *others in (found[at : at + 3] for at in range(0, 60, 3)):
        assert all(other["goal"] == first["goal"] for other in others)
    assert any(a["acts"] != b["acts"] for a, b in zip(found[::3], found[1::3], strict=True))
    again = [each for each in episodes() if each.trial == 1]
    Path("run.jsonl").unlink()
    assert live("handcrafted", "Demo-CR-6:20") == 0
    assert [each.reward for each in episodes()] == [each.reward for each in again]
    capsys.readouterr()


def test_an_agent_that_fails_has_let_the_time_run_out(capsys: pytest.CaptureFixture[str]) -> None:
    assert live("mine.py:Failing", "Demo-CR-1:3") == 0
    assert [(each.success, each.exchanges, each.reward) for each in episodes()] == [
        (False, 25, -25.0)
    ] * 3
    assert {line["problem"] for line in lines()} == {"ValueError: no idea"}
    assert main(["explain", "run.jsonl"]) == 0
    assert re.search(r"agent-error +3\b", capsys.readouterr().out)
    assert main(["explain", "run.jsonl", "Demo-CR-1/0/000001"]) == 0
    assert "ValueError: no idea" in capsys.readouterr().out


@pytest.mark.integration
def test_files_that_are_damaged_or_missing_end_the_run_and_are_no_failure_of_a_side(
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert live("handcrafted", "Demo-CR-1:2", "--user", "mine.py:Fileless") == 2
    assert "learned.npz" in capsys.readouterr().err
    Path("run.jsonl").unlink(missing_ok=True)
    run(["Demo-CR-1"], ["ppo"], "run", dialogues=[2], seeds=1, tests=1, processes=0)
    model = Path("run/Demo-CR-1/ppo/seed-0/model-000002.safetensors")
    origin, weights = read_checkpoint(model)
    huge = {name: np.full_like(array, 1e38) for name, array in weights.items()}
    model.write_bytes(checkpoint_content(origin, 2, huge))
    with np.errstate(all="ignore"):
        assert live(str(model), "Demo-CR-1:2") == 1
        assert str(model) in capsys.readouterr().err
        assert main(["pydial", "retest", "run", "--users", "agenda"]) == 2
        assert str(model) in capsys.readouterr().err


@pytest.mark.parametrize(("agent", "problem"), [("Wordy", "at most 32 slots"), ("Clearing", "rng")])
def test_an_agent_that_goes_beyond_its_part_has_failed(agent: str, problem: str) -> None:
    assert live(f"mine.py:{agent}", "Demo-CR-6:2") == 0
    assert {line["end"] for line in lines()} == {"agent_error"}
    assert all(problem in line["problem"] for line in lines())


def test_hypotheses_are_answered_with_texts_of_acts() -> None:
    assert live("mine.py:ByHypotheses", "Demo-CR-1:4") == 0
    assert all(said[1] in ("request(area)", "bye()") for line in lines() for said in line["acts"])
    assert {line["end"] for line in lines()} <= {"user_stop", "limit"}
    Path("run.jsonl").unlink()
    assert live("mine.py:Talker", "Demo-CR-1:2") == 0
    assert all("request(area)" in line["problem"] for line in lines())


@pytest.mark.parametrize(
    "answer",
    [
        None,
        "hello",
        ("inform", ()),
        Act("inform", [Item("area", "north")]),  # type: ignore[arg-type]
        Act("inform", (("area", "north"),)),  # type: ignore[arg-type]
        Act("inform", (Item("area", 3),)),  # type: ignore[arg-type]
        Act("inform", (Item("area", "a\nb"),)),
        Act("inform", (Item("area", "north"),) * 1000),
        Act(3),  # type: ignore[arg-type]
    ],
)
def test_what_is_no_act_is_no_answer(answer: object) -> None:
    with pytest.raises(AnswerError):
        checked_act(answer)


def test_in_python_errors_of_a_policy_arrive_as_they_are() -> None:
    class Broken:
        def act(self, belief: object, rng: object) -> Act:
            raise ZeroDivisionError("of the policy")

    simulation = Simulation(load_domain("Demo-CR"), TASKS["Demo-CR-1"])
    with pytest.raises(ZeroDivisionError, match="of the policy"):
        list(play(simulation, Broken(), 1, 0))


@pytest.mark.parametrize(
    ("agent", "goals", "told"),
    [
        ("handcraftd", "Demo-CR-1", '"handcrafted"'),
        ("handcrafted", "Demo-CR-9", "Demo-CR-9"),
        ("handcrafted", "Demo-CR-1:0", "--goals"),
        ("handcrafted", ":5", "task"),
        ("mine.py:Nobody", "Demo-CR-1", "mine.py:Nobody"),
        ("json:JSONDecoder", "Demo-CR-1", "act(belief, rng)"),
    ],
)
def test_bad_use_is_told_before_anything_is_written(
    agent: str, goals: str, told: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert live(agent, goals) == 2
    assert told in capsys.readouterr().err
    assert not Path("run.jsonl").exists()


def test_lines_that_are_wrong_are_named() -> None:
    assert live("handcrafted", "Demo-CR-1:2") == 0
    header, first, second = Path("run.jsonl").read_text("utf-8").splitlines()
    lost = json.loads(second) | {"end": "infrastructure"}
    named = json.loads(first) | {"dialogue": "first"}
    unpaired = json.loads(first) | {"acts": [5, ["hello"]]}
    for found, kind in (
        ([header, first, second[:50]], "cut-off"),
        ([header, first, json.dumps(lost)], "infrastructure"),
        ([header, json.dumps(named)], "shape"),
        ([header, json.dumps(unpaired)], "shape"),
        ([first.replace('"success":', '"succes":')], "shape"),
    ):
        Path("run.jsonl").write_text("\n".join(found), encoding="utf-8")
        assert kind in {problem.kind for problem in validate("run.jsonl")}


def talks(user: str, goals: str, *more: str) -> list[dict[str, Any]]:
    """Return the dialogues of a user with the handcrafted policy."""
    Path("run.jsonl").unlink(missing_ok=True)
    assert live("handcrafted", goals, "--user", user, *more) == 0
    return lines()


@pytest.mark.parametrize("task", ["Demo-CR-1", "Demo-SFR-5", "Demo-LAP-6"])
def test_who_says_what_the_agenda_user_says_has_its_dialogues(task: str) -> None:
    due = talks("agenda", f"{task}:60", "--seed", "2")
    assert talks("mine.py:Agenda", f"{task}:60", "--seed", "2") == due
    assert len({line["success"] for line in due}) == (1 if task == "Demo-CR-1" else 2)


def test_a_function_is_told_its_goal_and_what_it_was_told(
    capsys: pytest.CaptureFixture[str],
) -> None:
    due = talks("agenda", "Demo-CR-1:20")
    found = talks("mine.py:says_all", "Demo-CR-1:20")
    assert [line["goal"] for line in found] == [line["goal"] for line in due]
    assert sum(line["success"] for line in found) > 15
    for line in found:
        assert line["final_goal"]["constraints"] == line["goal"]["constraints"]
        first = line["acts"][0][0]["said"]
        assert all(value in first for _, _, value in line["goal"]["constraints"])
    header = json.loads(Path("run.jsonl").read_text("utf-8").splitlines()[0])
    assert '"spec": "mine.py:says_all"' in json.dumps(header)
    assert "|user:mine.py:says_all|" in capsys.readouterr().out


@pytest.mark.integration
def test_a_bad_user_ends_its_own_dialogue_only() -> None:
    found = talks("mine.py:Bad", "Demo-CR-3:9", "--turn-seconds", "2", "--jobs", "2")
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
        ("mine.py:Unmade", "trained_user.safetensors"),
    ],
)
def test_bad_use_is_told(user: str, told: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert live("handcrafted", "Demo-CR-1:2", "--user", user) == 2
    assert told in capsys.readouterr().err


@pytest.mark.integration
def test_the_table_has_the_tests_of_a_run_and_those_of_other_users(
    capsys: pytest.CaptureFixture[str],
) -> None:
    plan: dict[str, Any] = {"dialogues": (30,), "seeds": 2, "tests": 40}
    run(["Demo-CR-3"], ["handcrafted", "gp-sarsa"], "runs", **plan, processes=0)
    command = ["pydial", "retest", "runs", "--users"]
    assert main([*command, "agenda,mine.py:Agenda,mine.py:says_all", "-f", "json"]) == 0
    records = json.loads(capsys.readouterr().out)["retest"]
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
    again = json.loads(capsys.readouterr().out)["retest"]
    assert len(again) == 4
    assert all(record in records for record in again)
    assert main([*command, "agend"]) == 2
    assert main(["pydial", "retest", "nowhere", "--users", "agenda"]) == 2
