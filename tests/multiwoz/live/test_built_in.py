"""Agents and user that come along: whole runs on the sample town, held and scored."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from mwzeval.cli import main
from mwzeval.conversation.record import Planned, Record
from mwzeval.conversation.tool_session import TOOL_ROUNDS
from mwzeval.multiwoz.choices import RULES
from mwzeval.multiwoz.convlab.resources import load_resources
from mwzeval.multiwoz.corpus.corpora import corpus_root, read_tables
from mwzeval.multiwoz.live.settings.built_in import BuiltInAgent
from mwzeval.multiwoz.live.tools import DatabaseTools
from tests.places import read_json


@pytest.fixture(autouse=True)
def elsewhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("MWZEVAL_DATA", raising=False)
    monkeypatch.setenv("MWZEVAL_OFFLINE", "1")


def held(agent: str, *options: str) -> str:
    output = f"{agent}{len(options)}.jsonl"
    command = ["live", "--agent", agent, "--corpus", "sample", "-q", "-o", output, *options]
    assert main(command) == 0
    return output


def scores(run: str) -> dict[str, Any]:
    assert main(["evaluate", run, "--corpus", "sample", "-q", "-o", "report.json"]) == 0
    plain: dict[str, Any] = read_json(Path("report.json"))
    return plain


def test_the_rule_agent_gets_nearly_all_that_users_want() -> None:
    run = held("rule")
    plain = scores(run)
    assert plain["success"]["success"]["total"] >= 97
    assert plain["grounded"]["hallucination"]["total"] < 1
    assert plain["live"]["tool_errors"] == 0


def test_a_silent_agent_gets_nothing() -> None:
    assert scores(held("silent", "--goals", "corpus:test:12"))["success"]["success"]["total"] == 0


def test_the_policy_of_convlab_in_words_is_in_between() -> None:
    """It recommends one venue and answers of another, as it does in acts."""
    assert 40 < scores(held("rule-convlab"))["success"]["success"]["total"] < 97


def test_the_policy_of_convlab_books_what_was_said_first() -> None:
    """So it does in acts: the reference of its act is a row of that domain's table."""
    root = corpus_root("sample", None, offline=True)
    tables = read_tables(root)
    agents = BuiltInAgent("rule-convlab", tables, load_resources("sample", root), TOOL_ROUNDS)
    tools = DatabaseTools(tables, RULES[0]).of_dialogue(0, "x", {})
    agent = agents.partner(Planned("x", {}), tools, Record())
    table, room = "a table for 4 people on monday at 18:00", "a hotel for 2 nights from tuesday"
    turn = agent.answer(f"I want to book a restaurant, {table}, and also {room} for 3 people.")
    (call,) = [call["function"] for each in turn.messages for call in each.get("tool_calls", ())]
    assert call["name"] == "book_restaurant"
    wanted = {"people": "4", "day": "monday", "time": "18:00"}
    assert wanted.items() <= json.loads(call["arguments"]).items()


def test_a_run_is_the_same_for_any_number_of_processes() -> None:
    goals = ("--goals", "corpus:test:8")
    alone, together = held("rule", *goals), held("rule", *goals, "-j", "2")
    assert Path(alone).read_bytes() == Path(together).read_bytes()


def test_messages_have_the_acts_that_their_words_stand_for() -> None:
    run = held("rule", "--goals", "corpus:test:2")
    _, *lines = Path(run).read_text(encoding="utf-8").splitlines()
    spoken = [
        message
        for line in lines
        for message in json.loads(line)["messages"]
        if message["role"] == "assistant" and not message.get("tool_calls")
    ]
    assert spoken
    assert all(message["acts"] for message in spoken)


def test_the_public_user_talks_in_words_too() -> None:
    assert held("rule", "--goals", "corpus:test:4", "--strict-user")


def test_an_agent_of_acts_is_told_from_one_of_words(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["live", "--agent", "rulle", "--corpus", "sample"]) == 2
    assert 'did you mean "rule"? (known: rule, silent, rule-convlab' in capsys.readouterr().err
    assert main(["live", "--agent", "rule", "--level", "acts", "--corpus", "sample"]) == 2
    assert "say --level words" in capsys.readouterr().err
    assert main(["live", "--agent", "rule", "--user", "agendaa", "--corpus", "sample"]) == 2
    assert 'did you mean "agenda"?' in capsys.readouterr().err
