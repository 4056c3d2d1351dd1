"""Agents that hang, raise, die or flood end their own dialogue, and nothing else."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from mwzeval.conversation.pool import TimeLimits
from mwzeval.errors import MwzevalError, UsageError
from tests.conversation.toy import broken, held, toy

pytestmark = pytest.mark.integration

SHORT = TimeLimits(turn=0.3, dialogue=600)
ENDS = {
    "raise": ("agent_error", "ValueError: no"),
    "exit": ("agent_error", "SystemExit: 3"),
    "die": ("agent_error", "the process ended with exit code 3"),
    "killed": ("agent_error", "the process was ended by SIGKILL"),
    "garbage": ("agent_error", "the content of a message must be a string, found object"),
    "flood": ("agent_error", "a message must be an object, found str"),
    "long": ("agent_error", "a message of 1,000,000 characters: the limit is 100,000"),
    "own end": ("agent_error", "a sentence"),
    "panic": ("agent_error", "BaseException: in another language"),
    "untold": ("agent_error", "UntoldError"),
    "page": ("agent_error", r"ValueError: <p>\n<p>\n"),
    "long name": ("agent_error", "a message of 1,000,000 characters"),
    "closed": ("agent_error", "the process ended with exit code 1"),
    "unreachable": ("infrastructure", "the server cannot be reached"),
}


def lines(file: bytes) -> dict[str, Any]:
    dialogues = [json.loads(line) for line in file.splitlines()[1:]]
    return {dialogue["dialogue"]: dialogue for dialogue in dialogues}


def goals_of(words: Any) -> dict[str, str]:
    """Return goals whose user says `fine`, one of the words, and then `more`."""
    return {word: f"fine {word.replace(' ', '_')} more" for word in words}


def spoken(messages: list[dict[str, Any]]) -> Any:
    messages[-1]["content"] = messages[-1]["content"].replace("_", " ")
    return broken(messages)


@pytest.mark.parametrize("jobs", [1, 3])
def test_a_dialogue_ends_with_what_its_agent_does(jobs: int, tmp_path: Path) -> None:
    setting = toy(spoken, goals=goals_of(ENDS) | {"good": "one two"})
    found = lines(held(setting, tmp_path / "run.jsonl", jobs=jobs))
    assert list(found) == [*ENDS, "good"]
    for word, (end, problem) in ENDS.items():
        assert found[word]["end"] == end
        assert found[word]["problem"].startswith(problem)
        assert len(found[word]["problem"]) < 1000
        assert found[word]["turns"] == 2
        # What was said before is kept, and what the user reported.
        contents = [message["content"] for message in found[word]["messages"]]
        assert contents == ["fine", "yes", word.replace(" ", "_")]
        assert found[word]["user"] == {"heard": ["yes"]}
    assert found["good"]["end"] == "user_stop"
    assert "problem" not in found["good"]


def test_an_agent_that_hangs_is_killed_and_the_others_go_on(tmp_path: Path) -> None:
    setting = toy(spoken, goals={**goals_of(["hang"]), "good": "one", "late": "one hang"})
    found = lines(held(setting, tmp_path / "run.jsonl", limits=SHORT))
    assert found["hang"]["end"] == "agent_error"
    assert found["hang"]["problem"] == "no answer within 0.3 seconds"
    assert [message["content"] for message in found["hang"]["messages"]] == ["fine", "yes", "hang"]
    assert found["good"]["end"] == "user_stop"
    # Nothing is lost when it hangs after the last message of the user.
    assert found["late"]["end"] == "user_stop"
    assert "problem" not in found["late"]


def test_a_dialogue_that_takes_too_long_is_at_its_limit(tmp_path: Path) -> None:
    setting = toy(spoken, goals=goals_of(["hang"]))
    found = lines(held(setting, tmp_path / "run.jsonl", limits=TimeLimits(600, 0.3)))
    assert found["hang"]["end"] == "limit"
    assert found["hang"]["problem"] == "0.3 seconds"
    assert found["hang"]["turns"] == 2


def test_an_agent_that_floods_the_dialogue_fails(tmp_path: Path) -> None:
    setting = toy(spoken, goals=goals_of(["flood calls"]))
    found = lines(held(setting, tmp_path / "run.jsonl"))
    assert found["flood calls"]["end"] == "agent_error"
    assert "invalid" in found["flood calls"]["problem"]


def test_agents_cannot_change_the_record_and_text_of_a_class_of_its_own_is_text(
    tmp_path: Path,
) -> None:
    goals = {"change": "change change", **goals_of(["own_text"])}
    found = lines(held(toy(spoken, goals=goals), tmp_path / "run.jsonl"))
    assert [m["content"] for m in found["change"]["messages"]] == ["change", "yes"] * 2
    called = found["own_text"]["messages"][3]
    assert called["content"] == "find?"
    assert called["tool_calls"][0]["function"] == {"name": "find?", "arguments": "{}"}


def test_a_copy_that_an_agent_makes_of_its_process_does_not_take_part(tmp_path: Path) -> None:
    goals = {"copied": "copied one two three", "good": "one two three four"}
    found = lines(held(toy(spoken, goals=goals), tmp_path / "run.jsonl", jobs=2))
    for word in ("copied", "good"):
        assert found[word]["end"] == "user_stop"
        assert len(found[word]["messages"]) == 8


def test_what_agents_print_is_not_the_result(
    tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    held(toy(broken, goals={"a": "print"}), tmp_path / "run.jsonl")
    printed = capfd.readouterr()
    assert printed.out == ""
    assert "printed by the agent" in printed.err


def test_what_cannot_begin_is_told_before_anything_is_written(tmp_path: Path) -> None:
    setting = toy()

    def refuse() -> Any:
        raise UsageError("no such agent")

    setting.make_agent = refuse
    with pytest.raises(UsageError, match="no such agent"):
        held(setting, tmp_path / "run.jsonl")
    assert not (tmp_path / "run.jsonl").exists()


def test_a_process_that_dies_at_its_start_is_told(tmp_path: Path) -> None:
    setting = toy()
    setting.make_agent = lambda: broken([{"content": "die"}])
    with pytest.raises(MwzevalError, match="exit code 3"):
        held(setting, tmp_path / "run.jsonl")


def test_a_mistake_of_the_setting_is_nobodys_failure(tmp_path: Path) -> None:
    setting = toy(goals={"a": "one"})
    setting.hold = lambda planned, record: 1 / 0  # type: ignore[assignment, method-assign, return-value]
    with pytest.raises(RuntimeError, match="ZeroDivisionError"):
        held(setting, tmp_path / "run.jsonl")
