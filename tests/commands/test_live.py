"""`mwzeval live` and `play`: dialogues are simulated, saved, resumed and explained."""

from __future__ import annotations

import json
import random
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from mwzeval.cli import main
from mwzeval.multiwoz.goals import estimated_model
from tests.command_lines import Run
from tests.samples import LIVE_NAMES, live_sample

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


LIVE = ("live", "--corpus", "sample", "--goals")


def live(words: str, goals: str = "corpus:4") -> int:
    return main([*LIVE, goals, "-q", *words.split()])


def read(name: str) -> tuple[dict[str, Any], list[dict[str, Any]]]:
    header, *dialogues = map(json.loads, Path(name).read_text(encoding="utf-8").splitlines())
    return header, dialogues


@pytest.mark.integration
def test_custom_agents_call_functions_on_the_database() -> None:
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
def test_agents_exchange_utterances_and_dialogue_acts_with_users(
    words: str, completed: int
) -> None:
    assert live(f"{words} -o run.jsonl") == 0
    _, dialogues = read("run.jsonl")
    assert [dialogue["end"] for dialogue in dialogues] == ["user_stop"] * 4
    if "user mine" not in words:
        complete = sum(dialogue["user"]["complete"] for dialogue in dialogues)
        assert complete >= completed
        assert bool(complete) == bool(completed)


def test_sampled_goals_are_drawn_from_the_given_goal_model() -> None:
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
def test_a_run_is_resumed_only_with_the_same_settings(run: Run) -> None:
    assert live("--agent rule -o run.jsonl") == 0
    whole = Path("run.jsonl").read_bytes()
    code, _, err = run(*LIVE, "corpus:4", "--agent=rule", "--strict-user", "-o", "run.jsonl")
    assert code == 2
    assert 'user.spec: "agenda"' in err
    assert Path("run.jsonl").read_bytes() == whole


def test_without_an_output_scores_are_printed_and_no_file_is_written(run: Run) -> None:
    before = sorted(Path().iterdir())
    command = (*LIVE, "corpus:2", "--agent", "rule")
    kept = run(*command, "-o", "run.jsonl")
    Path("run.jsonl").unlink()
    printed = run(*command)
    assert printed == kept
    assert printed.code == 0
    assert "Success" in printed.out
    assert "2 user_stop" in printed.err
    quiet = run(*command, "-q", "-f", "json")
    assert json.loads(quiet.out)["meta"]["fold"] == "live"
    assert "user_stop" not in quiet.err
    assert sorted(Path().iterdir()) == before


@pytest.mark.integration
def test_each_agent_problem_is_printed_on_a_separate_line(run: Run) -> None:
    Path("broken.py").write_text("def respond(messages):\n    raise KeyError('state')\n")
    for lines in (2, 3):  # the second run only reads the complete file
        command = (*LIVE, "corpus:2", "--agent", "broken.py:respond", "-o", "run.jsonl")
        code, _, err = run(*command)
        first, *_, last = printed = err.splitlines()
        assert (code, len(printed)) == (0, lines)
        assert "2 agent_error" in first
        assert "KeyError: 'state' (2 of 2, first smp0021)" in last


@pytest.mark.integration
@pytest.mark.parametrize("name", ["unreachable", "mostly_unreachable"])
def test_too_many_failed_dialogues_make_the_command_fail(name: str, run: Run) -> None:
    words = f"--agent mine:{name} --user mine:User -q -o run.jsonl"
    for _ in range(2):  # the second run repeats the failed dialogues
        code, out, err = run(*LIVE, "corpus:4", *words.split())
        assert code == 1
        assert "of 4 dialogues" in err
        assert ("Success" in out) == (name == "mostly_unreachable")


PLAY = ("play", "multiwoz", "--corpus", "sample", "-o", "run.jsonl")


def test_play_lets_a_person_act_as_the_user(run: Run) -> None:
    typed = b"a cheap hotel, please\n/bye thanks\n"
    code, out, err = run(*PLAY, "--goals", "corpus:smp0036", stdin=typed)
    assert code == 0
    assert "Your goal:" in err
    assert out.splitlines()[1].startswith("smp0036")
    assert [dialogue["end"] for dialogue in read("run.jsonl")[1]] == ["user_stop"]


@pytest.mark.parametrize(
    ("options", "result"), [("", '"trainid"'), ("--stress errors=1", '"status": "unavailable"')]
)
def test_play_lets_a_person_act_as_the_agent_until_they_quit(
    options: str, result: str, run: Run
) -> None:
    typed = b"/find_train day=monday\n/quit\n"
    code, out, err = run(*PLAY, "--as", "agent", *options.split(), stdin=typed)
    assert (code, out) == (130, "")
    assert result in err
    assert not Path("run.jsonl").exists()


def test_play_accepts_the_benchmark_name_after_options(run: Run) -> None:
    code, _, err = run("play", "--as", "agent", "crosswoz")
    assert code == 2
    assert "CrossWOZ" in err


def test_each_played_dialogue_uses_another_goal(run: Run) -> None:
    codes = [run(*PLAY, "--goals", "corpus:2", stdin=b"/bye\n").code for _ in range(3)]
    assert codes == [0, 0, 2]
    assert len({str(dialogue["dialogue"]) for dialogue in read("run.jsonl")[1]}) == 2


OWN = """
import time
import zlib

class Fine(Base):
    def answer(self, said):
        if zlib.crc32(repr(said).encode()) % 29 == 0:
            self.fail()
        return super().answer(said)

    def fail(self):
        pass

class Raising(Fine):
    def fail(self):
        raise ValueError("no idea")

class Hanging(Fine):
    def fail(self):
        while True:
            time.sleep(1000)
"""
RUN = Path("run.jsonl")


RunLive = Callable[..., bytes]


@pytest.fixture(params=LIVE_NAMES)
def run_live(request: pytest.FixtureRequest) -> RunLive:
    """Run or resume the live sample of a benchmark; return the content of the file."""
    sample = live_sample(request.param)
    Path("own_agents.py").write_text(sample.base + OWN, encoding="utf-8")

    def run_sample(agent: str = sample.agent, more: str = "") -> bytes:
        command = f"live --benchmark {request.param} --agent {agent} {sample.options} {more}"
        assert main([*command.split(), "-q", "-o", str(RUN)]) == 0
        return RUN.read_bytes()

    return run_sample


def dialogues_in(raw: bytes) -> dict[str, dict[str, Any]]:
    lines = map(json.loads, raw.splitlines()[1:])
    return {line["dialogue"]: line for line in lines}


@pytest.mark.integration
def test_output_bytes_do_not_depend_on_job_count_or_interruption(run_live: RunLive) -> None:
    whole = run_live()
    assert len(dialogues_in(whole)) > 2
    rng = random.Random(7)
    for jobs in (1, 1, 2, 2):
        RUN.write_bytes(whole[: rng.randrange(len(whole))])
        assert run_live(more=f"--jobs {jobs}") == whole


@pytest.mark.integration
def test_an_agent_failure_ends_only_the_dialogue_in_which_it_occurs(run_live: RunLive) -> None:
    fine = dialogues_in(run_live("own_agents.py:Fine"))
    assert {line["end"] for line in fine.values()} <= {"user_stop", "limit"}
    failed: dict[str, set[str]] = {}
    for agent, problem in (("Raising", "ValueError: no idea"), ("Hanging", "no answer within 2 s")):
        RUN.unlink()
        found = dialogues_in(run_live(f"own_agents.py:{agent}", "--jobs 2 --turn-seconds 2"))
        failed[agent] = {key for key, line in found.items() if line != fine[key]}
        assert 0 < len(failed[agent]) < len(fine) == len(found)
        for key in failed[agent]:
            assert found[key]["end"] == "agent_error"
            assert problem in found[key]["problem"]
        assert main(["evaluate", str(RUN)]) == 0
    assert failed["Raising"] == failed["Hanging"]


def test_evaluate_validate_and_explain_accept_the_run_file_of_live(
    run_live: RunLive, run: Run, capsys: pytest.CaptureFixture[str]
) -> None:
    first, *others = dialogues_in(run_live())
    printed = capsys.readouterr().out
    assert run("validate", str(RUN)).code == 0
    scored = run("evaluate", str(RUN))
    assert (scored.code, scored.out) == (0, printed)
    assert f"{1 + len(others)} of {1 + len(others)} dialogues" in printed
    explained = run("explain", str(RUN), first)
    assert explained.code == 0
    assert first in explained.out


@pytest.mark.parametrize("end", ["agent_error", "infrastructure"])
def test_empty_dialogues_are_excluded_or_scored_as_failures_by_cause(
    end: str, run_live: RunLive, run: Run, capsys: pytest.CaptureFixture[str]
) -> None:
    header, first, *others = run_live().splitlines()
    line = json.loads(first)
    kept = {key: line[key] for key in line if key not in ("acts", "messages")}
    failed = {**kept, "messages": [], "end": end, "problem": "none", "turns": 0}
    RUN.write_bytes(b"\n".join([header, json.dumps(failed).encode(), *others, b""]))
    capsys.readouterr()
    code, out, err = run("evaluate", str(RUN))
    assert code == 0
    scored = len(others) + (end == "agent_error")
    assert re.search(rf"\bn:{scored}\b|\b{scored} of \d+ dialogues", out)
    assert ("infrastructure error" in err) == (end == "infrastructure")
