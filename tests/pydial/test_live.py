"""Live runs: the users of a run's tests talk to policies in the shared conversation loop."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from mwzeval.conversation.protocols import AnswerError
from mwzeval.pydial.acts import Act, Item
from mwzeval.pydial.domain import load_domain
from mwzeval.pydial.episodes import TEST, TaskRunner, play, rng_of_phase
from mwzeval.pydial.policies.handcrafted import HandcraftedPolicy, RandomPolicy
from mwzeval.pydial.policies.presets import preset_named, read_checkpoint
from mwzeval.pydial.scoring import evaluate, validate
from mwzeval.pydial.simulator.rng import Rng
from mwzeval.pydial.simulator.simulation import Simulation
from mwzeval.pydial.tasks import GOODBYES, TASKS, Goodbye
from mwzeval.pydial.users import checked_act
from tests.command_lines import Run
from tests.pydial.runs import PYDIAL, overflowing, read_lines, small_run

CODE = """
import os
import time

from mwzeval.errors import InputError, Problem
from mwzeval.pydial.episodes import TEST, rng_of_phase
from mwzeval.pydial.goals import Goal
from mwzeval.pydial.policies.handcrafted import HandcraftedPolicy
from mwzeval.pydial.simulator import codes as c
from mwzeval.pydial.simulator.simulation import Simulation
from mwzeval.pydial.simulator.user import answer


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


class Agenda:
    "The simulated user of the same dialogue, which draws from where that one would."

    def __init__(self, domain, task, rng, dialogue):
        name, seed, index = dialogue.split("/")
        self.simulation = Simulation(domain, task)
        self.simulation.draw_user(rng_of_phase(TEST, int(seed), int(index)))
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
        open("learned.npz")

    def answer(self, act):
        return "bye()"


class Fileless(Unmade):
    def __init__(self):
        raise InputError([Problem("missing", "cannot be read: train it", file="learned.npz")])


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
        if self.number == 2:
            time.sleep(1000)
        if self.number == 6:
            os._exit(3)
        if self.number == 7:
            self.goal = Goal([], {})
        many = ",".join(["area=north"] * 1000)
        said = {3: "I would like a garden", 4: "inform(area=nowhere)", 5: f"inform({many})"}
        return said.get(self.number, "bye()")
"""


@pytest.fixture(autouse=True)
def code(elsewhere: Path) -> None:
    Path("mine.py").write_text(CODE, encoding="utf-8")


@pytest.fixture
def live(run: Run) -> Run:
    """Run `mwzeval live` with a new output file."""

    def hold(agent: str, goals: str, *more: str) -> Any:
        Path("run.jsonl").unlink(missing_ok=True)
        command = ["live", *PYDIAL, "-q", "--agent", agent, "--goals", goals]
        return run(*command, "-o", "run.jsonl", *more)

    return hold


def outcomes() -> list[tuple[bool, int, float]]:
    return [record.episode.outcome for record in evaluate("run.jsonl").records.values()]


def lines() -> list[dict[str, Any]]:
    return read_lines("run.jsonl")


def stepped(simulation: Simulation, policy: HandcraftedPolicy, index: int) -> Any:
    """Return the outcome of a test dialogue without the conversation loop."""
    rng = rng_of_phase(TEST, 3, index)
    belief, total = simulation.begin(rng), 0.0
    while True:
        reward, ended, success, _ = simulation.answer(policy.act(belief, rng))
        total += reward
        if ended:
            return success, simulation.exchange, total


@pytest.mark.parametrize("task", ["Demo-CR-1", "Demo-SFR-3", "Demo-LAP-6"])
def test_live_figures_match_the_test_dialogues_of_a_run(task: str, live: Run) -> None:
    simulation = Simulation(load_domain(TASKS[task].domain), TASKS[task], confusion_seed=3)
    policy = HandcraftedPolicy()
    expected = [stepped(simulation, policy, index) for index in range(30)]
    live("handcrafted", f"{task}:30", "--seed", "3")
    assert outcomes() == expected
    first = lines()
    for line, (_, exchanges, _) in zip(first, expected, strict=True):
        assert line["turns"] == len(line["acts"]) == exchanges
        assert line["end"] in ("user_stop", "limit")
    live("mine.py:ByBelief", f"{task}:30", "--seed", "3", "--jobs", "2")
    assert lines() == first


@pytest.mark.parametrize("goodbye", GOODBYES)
def test_action_policies_get_the_same_results_as_in_a_run(goodbye: Goodbye, live: Run) -> None:
    task, preset = TASKS["Demo-CR-2"], preset_named("gp-sarsa")
    (job,) = small_run("runs", "gp-sarsa", task.name, dialogues=(20,), goodbye=goodbye)
    model = job.model_file("runs", 20)
    agents = (("random", "neural", "user"), (str(model), preset.view, goodbye))
    for agent, view, who in agents:
        runner = TaskRunner(load_domain(task.domain), task, view, goodbye=who)  # type: ignore[arg-type]
        policy: Any = RandomPolicy()
        if agent != "random":
            policy = preset.learner(runner.size, runner.actions, seed=0, legacy=False)
            policy.load(read_checkpoint(model)[1])
        live(agent, f"{task.name}:12")
        assert outcomes() == [runner.test(policy, 0, index).outcome for index in range(12)]


def test_trials_repeat_the_goal_with_different_dialogues(live: Run) -> None:
    live("handcrafted", "Demo-CR-6:20", "--trials", "3")
    trials = [lines()[trial::3] for trial in range(3)]
    goals = [[line["goal"] for line in trial] for trial in trials]
    assert goals[0] == goals[1] == goals[2]
    acts = [[line["acts"] for line in trial] for trial in trials]
    assert acts[0] != acts[1]
    live("handcrafted", "Demo-CR-6:20")
    assert [line["acts"] for line in lines()] == [line["acts"] for line in trials[0]]


def test_a_failing_agent_is_scored_as_out_of_time(live: Run, run: Run) -> None:
    assert live("mine.py:Failing", "Demo-CR-1:3").code == 0
    assert outcomes() == [(False, 25, -25.0)] * 3
    assert {line["problem"] for line in lines()} == {"ValueError: no idea"}
    assert re.search(r"agent-error +3\b", run("explain", "run.jsonl").out)
    assert "ValueError: no idea" in run("explain", "run.jsonl", "Demo-CR-1/0/000001").out


@pytest.mark.integration
def test_damaged_model_files_stop_the_run(live: Run, run: Run) -> None:
    (job,) = small_run("run", "ppo", "Demo-CR-1")
    model = str(overflowing(job.model_file("run", 3)))
    with np.errstate(all="ignore"):
        stopped = live(model, "Demo-CR-1:2")
        refused = run("pydial", "retest", "run", "--users", "agenda")
    assert (stopped.code, refused.code) == (1, 2)
    assert model in stopped.err
    assert model in refused.err


@pytest.mark.parametrize(
    ("agent", "problem"),
    [("Wordy", "at most 32 slots"), ("Clearing", "rng"), ("Talker", "request(area)")],
)
def test_invalid_agent_behaviour_is_an_agent_error(agent: str, problem: str, live: Run) -> None:
    live(f"mine.py:{agent}", "Demo-CR-6:2")
    assert [line["end"] for line in lines()] == ["agent_error"] * 2
    assert all(problem in line["problem"] for line in lines())


def test_hypothesis_agents_may_answer_with_act_texts(live: Run) -> None:
    assert live("mine.py:ByHypotheses", "Demo-CR-1:4").code == 0
    assert all(said[1] in ("request(area)", "bye()") for line in lines() for said in line["acts"])
    assert {line["end"] for line in lines()} <= {"user_stop", "limit"}


@pytest.mark.parametrize(
    "answer",
    [
        *(None, "hello", ("inform", ()), Act(3)),  # type: ignore[arg-type]
        Act("inform", [Item("area", "north")]),  # type: ignore[arg-type]
        Act("inform", (("area", "north"),)),  # type: ignore[arg-type]
        Act("inform", (Item("area", 3),)),  # type: ignore[arg-type]
        Act("inform", (Item("area", "a\nb"),)),
        Act("inform", (Item("area", "north"),) * 1000),
    ],
)
def test_answers_that_are_not_valid_acts_are_errors(answer: object) -> None:
    with pytest.raises(AnswerError):
        checked_act(answer)


def test_policy_exceptions_propagate_unchanged_in_python() -> None:
    class Broken:
        def act(self, belief: object, rng: object) -> Act:
            raise ZeroDivisionError("of the policy")

    simulation = Simulation(load_domain("Demo-CR"), TASKS["Demo-CR-1"])
    with pytest.raises(ZeroDivisionError, match="of the policy"):
        play(simulation, Broken(), Rng(0), 0, 0)


@pytest.mark.parametrize(
    ("agent", "goals", "user", "told"),
    [
        ("handcraftd", "Demo-CR-1", "agenda", '"handcrafted"'),
        ("handcrafted", "Demo-CR-9", "agenda", "Demo-CR-9"),
        ("handcrafted", "Demo-CR-1:0", "agenda", "--goals"),
        ("handcrafted", ":5", "agenda", "task"),
        ("mine.py:Nobody", "Demo-CR-1", "agenda", "mine.py:Nobody"),
        ("json:JSONDecoder", "Demo-CR-1", "agenda", "act(belief, rng)"),
        ("handcrafted", "Demo-CR-1", "agend", '"agenda"'),
        ("handcrafted", "Demo-CR-1", "mine.py:Nobody", "mine.py:Nobody"),
        ("handcrafted", "Demo-CR-1", "json:JSONDecoder", "answer(act)"),
        ("handcrafted", "Demo-CR-1", "mine.py:Unmade", "learned.npz"),
        ("handcrafted", "Demo-CR-1", "mine.py:Fileless", "learned.npz"),
    ],
)
def test_invalid_arguments_are_refused_before_output_is_written(
    agent: str, goals: str, user: str, told: str, live: Run
) -> None:
    refused = live(agent, goals, "--user", user)
    assert refused.code == 2
    assert told in refused.err
    assert not Path("run.jsonl").exists()


def test_invalid_lines_are_reported_with_their_kind(live: Run) -> None:
    live("handcrafted", "Demo-CR-1:2")
    header, first, second = Path("run.jsonl").read_text("utf-8").splitlines()

    def altered(line: str, **fields: object) -> str:
        return json.dumps(json.loads(line) | fields)

    for found, kind in (
        ([header, first, second[:50]], "cut-off"),
        ([header, first, altered(second, end="infrastructure")], "infrastructure"),
        ([header, altered(first, dialogue="first")], "shape"),
        ([header, altered(first, acts=[5, ["hello"]])], "shape"),
        ([first.replace('"success":', '"succes":')], "shape"),
    ):
        Path("run.jsonl").write_text("\n".join(found), encoding="utf-8")
        assert kind in {problem.kind for problem in validate("run.jsonl")}


@pytest.mark.parametrize("task", ["Demo-CR-1", "Demo-SFR-5", "Demo-LAP-6"])
def test_a_copy_of_the_agenda_user_gives_the_same_dialogues(task: str, live: Run) -> None:
    found = []
    for user in ("agenda", "mine.py:Agenda"):
        live("handcrafted", f"{task}:60", "--seed", "2", "--user", user)
        found.append(lines())
    assert found[0] == found[1]
    assert len({line["success"] for line in found[0]}) == (1 if task == "Demo-CR-1" else 2)


def test_function_users_receive_the_goal_and_state_their_constraints(live: Run) -> None:
    live("handcrafted", "Demo-CR-1:20")
    due = [line["goal"] for line in lines()]
    shown = live("handcrafted", "Demo-CR-1:20", "--user", "mine.py:says_all")
    assert [line["goal"] for line in lines()] == due
    assert sum(line["success"] for line in lines()) > 15
    for line in lines():
        assert line["final_goal"]["constraints"] == line["goal"]["constraints"]
        first = line["acts"][0][0]["said"]
        assert all(value in first for _, _, value in line["goal"]["constraints"])
    assert '"mine.py:says_all"' in Path("run.jsonl").read_text("utf-8").splitlines()[0]
    assert "|user:mine.py:says_all|" in shown.out


@pytest.mark.integration
def test_a_failing_user_ends_only_its_own_dialogue(live: Run, run: Run) -> None:
    limits = ("--turn-seconds", "2", "--jobs", "2")
    live("handcrafted", "Demo-CR-3:9", "--user", "mine.py:Bad", *limits)
    found = lines()
    assert [line["end"] for line in found] == ["user_stop", *["user_error"] * 7, "user_stop"]
    told = ["ValueError", "2", "I would like", "nowhere", "100", "3", "goal"]
    for line, words in zip(found[1:8], told, strict=True):
        assert words in line["problem"]
        assert (line["success"], line["reward"]) == (False, -25)
    assert run("explain", "run.jsonl").code == 0


@pytest.mark.integration
def test_retest_table_has_run_tests_and_tests_with_other_users(run: Run) -> None:
    plan: dict[str, Any] = {"dialogues": (30,), "seeds": 2, "tests": 40}
    jobs = small_run("runs", ["handcrafted", "gp-sarsa"], **plan)
    command = ["pydial", "retest", "runs", "-f", "json", "--users"]
    shown = run(*command, "agenda,mine.py:Agenda,mine.py:says_all")
    records = json.loads(shown.out)["retest"]
    assert len(records) == 2 * 3 * 2
    values = {(r["policy"], r["user"], r["figure"]): r["value"] for r in records}
    for policy in ("handcrafted", "gp-sarsa"):
        files = [job.test_file("runs", job.tested_at[-1]) for job in jobs if job.policy == policy]
        rewards = [line["reward"] for file in files for line in read_lines(file)]
        assert len(rewards) == 80
        assert values[policy, "agenda", "reward"] == pytest.approx(np.mean(rewards))
        for figure in ("success", "reward"):
            assert values[policy, "mine.py:Agenda", figure] == values[policy, "agenda", figure]
        assert values[policy, "mine.py:says_all", "success"] != values[policy, "agenda", "success"]
    Path("mine.py").unlink()  # saved dialogues are not repeated
    again = run(*command, "agenda,mine.py:says_all", "--policies", "gp-sarsa")
    found = json.loads(again.out)["retest"]
    assert len(found) == 4
    assert all(record in records for record in found)
    assert run(*command, "agend").code == 2
    assert run("pydial", "retest", "nowhere", "--users", "agenda").code == 2
