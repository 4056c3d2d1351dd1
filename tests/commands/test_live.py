"""`mwzeval live` and `play`: dialogues are held, kept, gone on with, and explained."""

from __future__ import annotations

import io
import json
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from mwzeval.cli import main
from mwzeval.multiwoz.goals.selection import estimated_model

AGENT = """
from mwzeval.conversation.protocols import InfrastructureError

def respond(messages, tools):
    if messages[-1]["role"] == "tool":
        return messages[-1]["content"]
    call = {"name": "find_hotel", "arguments": {"area": "north"}}
    return {"tool_calls": [{"id": 1, "function": call}]}

def unreachable(messages):
    raise InfrastructureError("the server cannot be reached")

def mostly_unreachable(messages, tools):
    if "hotel" not in messages[0]["content"]:
        unreachable(messages)
    return "yes"

class Silent:
    def answer(self, acts):
        return []

class User:
    is_done = False
    def __init__(self, goal, seed):
        self.text = f"{seed} {sorted(goal)}"
    def begin(self):
        return self.text
    def answer(self, turn):
        self.is_done = True
        return turn.text[:10]
"""
WORDS = "--agent mine.py:respond --user mine.py:User"
ACTS = "--level acts --agent"


@pytest.fixture(autouse=True)
def elsewhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("mine.py").write_text(AGENT, encoding="utf-8")


def live(words: str, goals: str = "corpus:4") -> int:
    return main(["live", "--corpus", "sample", "-q", "--goals", goals, *words.split()])


def read(name: str) -> tuple[dict[str, Any], list[dict[str, Any]]]:
    header, *dialogues = map(json.loads, Path(name).read_text(encoding="utf-8").splitlines())
    return header, dialogues


@pytest.mark.integration
def test_an_agent_of_ones_own_calls_functions_on_the_database() -> None:
    assert live(f"{WORDS} --trials 2 --jobs 2 -o run.jsonl") == 0
    header, dialogues = read("run.jsonl")
    assert header["goals"]["source"] == "corpus:test:4"
    assert [dialogue["dialogue"].partition("#")[2] for dialogue in dialogues] == ["1", "2"] * 4
    for dialogue in dialogues:
        assert dialogue["end"] == "user_stop"
        roles = [message["role"] for message in dialogue["messages"]]
        assert roles == ["user", "assistant", "tool", "assistant"] * 2
        assert json.loads(dialogue["messages"][2]["content"])["count"] == 3
    first, second = dialogues[:2]
    assert first["messages"][0] != second["messages"][0]


@pytest.mark.parametrize(
    ("words", "completed"),
    [
        ("--agent rule", 3),
        ("--agent rule --strict-user --fail-book goal", 3),
        pytest.param("--agent rule --user mine:User", 0, marks=pytest.mark.integration),
        (f"{ACTS} rule-convlab", 1),
        (f"{ACTS} rule-convlab --strict-user", 1),
        pytest.param(f"{ACTS} mine:Silent", 0, marks=pytest.mark.integration),
    ],
)
def test_agents_talk_to_users_in_words_and_acts(words: str, completed: int) -> None:
    assert live(f"{words} -o run.jsonl") == 0
    _, dialogues = read("run.jsonl")
    assert [dialogue["end"] for dialogue in dialogues] == ["user_stop"] * 4
    if "user mine" not in words:
        complete = sum(dialogue["user"]["complete"] for dialogue in dialogues)
        assert complete >= completed
        assert bool(complete) == bool(completed)


def test_sampled_goals_are_drawn_from_a_model_of_ones_own() -> None:
    hotel = {"info": {"area": "north"}, "reqt": ["phone"]}
    model = estimated_model([{"domain_ordering": ["hotel"], "hotel": hotel}])
    Path("model.json").write_text(json.dumps(model), encoding="utf-8")
    command = f"{ACTS} rule-convlab --goal-model model.json -o run.jsonl"
    assert live(command, goals="sampled:3") == 0
    header, dialogues = read("run.jsonl")
    assert header["goals"]["source"] == "sampled:3"
    assert [dialogue["goal"]["hotel"] for dialogue in dialogues] == [hotel] * 3
    assert [dialogue["dialogue"] for dialogue in dialogues][2] == "sampled-0003"


@pytest.mark.integration
def test_a_run_is_gone_on_with_only_as_it_was(capsys: pytest.CaptureFixture[str]) -> None:
    assert live("--agent rule -o run.jsonl") == 0
    whole = Path("run.jsonl").read_bytes()
    assert live("--agent rule -o run.jsonl --strict-user") == 2
    assert 'user.spec: "agenda"' in capsys.readouterr().err
    assert Path("run.jsonl").read_bytes() == whole


def test_without_an_output_only_scores_are_printed_and_nothing_is_kept(
    capsys: pytest.CaptureFixture[str],
) -> None:
    before = sorted(Path().iterdir())
    command = ["live", "--corpus", "sample", "--agent", "rule", "--goals", "corpus:2"]
    assert main([*command, "-o", "run.jsonl"]) == 0
    kept = capsys.readouterr()
    Path("run.jsonl").unlink()
    assert main(command) == 0
    printed = capsys.readouterr()
    assert printed == kept
    assert "Success" in printed.out
    assert "2 user_stop" in printed.err
    assert main([*command, "-q", "-f", "json"]) == 0
    printed = capsys.readouterr()
    assert json.loads(printed.out)["meta"]["fold"] == "live"
    assert "user_stop" not in printed.err
    assert sorted(Path().iterdir()) == before


@pytest.mark.integration
def test_problems_stand_in_lines_of_their_own(capsys: pytest.CaptureFixture[str]) -> None:
    Path("broken.py").write_text("def respond(messages):\n    raise KeyError('state')\n")
    command = ["live", "--agent", "broken.py:respond", "--corpus", "sample", "-o", "run.jsonl"]
    command += ["--goals", "corpus:2"]
    for lines in (2, 3):  # the second time all dialogues are in the file
        assert main(command) == 0
        told = capsys.readouterr().err.splitlines()
        assert len(told) == lines
        assert "2 agent_error" in told[0]
        assert "KeyError: 'state' (2 of 2, first smp0021)" in told[-1]


@pytest.mark.integration
@pytest.mark.parametrize("name", ["unreachable", "mostly_unreachable"])
def test_too_many_dialogues_that_say_nothing_fail(
    name: str, capsys: pytest.CaptureFixture[str]
) -> None:
    command = f"--agent mine:{name} --user mine:User -o run.jsonl"
    for _ in range(2):  # they are held again
        assert live(command) == 1
        printed = capsys.readouterr()
        assert "of 4 dialogues" in printed.err
        assert ("Success" in printed.out) == (name == "mostly_unreachable")


PLAY = ["play", "multiwoz", "--corpus", "sample"]


Typed = Callable[..., None]


@pytest.fixture
def typed(monkeypatch: pytest.MonkeyPatch) -> Typed:
    """Put lines into standard input."""
    return lambda *lines: monkeypatch.setattr(sys, "stdin", io.StringIO("\n".join([*lines, ""])))


def test_a_person_is_the_user(typed: Typed, capsys: pytest.CaptureFixture[str]) -> None:
    typed("a cheap hotel, please", "/bye thanks")
    assert main([*PLAY, "--goals", "corpus:smp0036", "-o", "run.jsonl"]) == 0
    shown = capsys.readouterr()
    assert "Your goal:" in shown.err
    assert shown.out.splitlines()[1].startswith("smp0036")
    assert [dialogue["end"] for dialogue in read("run.jsonl")[1]] == ["user_stop"]


def test_a_person_is_the_agent_until_they_leave(
    typed: Typed, capsys: pytest.CaptureFixture[str]
) -> None:
    typed("/find_train day=monday", "/quit")
    assert main([*PLAY, "--as", "agent", "-o", "run.jsonl"]) == 130
    shown = capsys.readouterr()
    assert '"trainid"' in shown.err
    assert shown.out == ""
    assert not Path("run.jsonl").exists()


def test_the_benchmark_may_be_named_after_options(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["play", "--as", "agent", "crosswoz"]) == 2
    assert "CrossWOZ" in capsys.readouterr().err


def test_a_person_calls_functions_with_faults(
    typed: Typed, capsys: pytest.CaptureFixture[str]
) -> None:
    typed("/find_train day=monday", "/quit")
    assert main([*PLAY, "--as", "agent", "--stress", "errors=1", "-o", "run.jsonl"]) == 130
    assert '"status": "unavailable"' in capsys.readouterr().err


def test_the_next_dialogue_is_about_another_goal(typed: Typed) -> None:
    for _ in range(2):
        typed("/bye")
        assert main([*PLAY, "--goals", "corpus:2", "-o", "run.jsonl"]) == 0
    assert len({str(dialogue["dialogue"]) for dialogue in read("run.jsonl")[1]}) == 2
    typed("/bye")
    assert main([*PLAY, "--goals", "corpus:2", "-o", "run.jsonl"]) == 2
