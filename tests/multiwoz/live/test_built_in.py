"""The built-in agents and user: whole runs on the sample town, also in a harness of one's own."""

from __future__ import annotations

import json
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest

from mwzeval.cli import main
from mwzeval.conversation.trajectory import Planned, Record
from mwzeval.errors import UsageError
from mwzeval.multiwoz.choices import RULES
from mwzeval.multiwoz.corpus import corpus_root, read_tables
from mwzeval.multiwoz.live.episodes import Episodes, load_agent
from mwzeval.multiwoz.live.options import LiveOptions
from mwzeval.multiwoz.live.rule_agent import RuleAgent
from mwzeval.multiwoz.live.tools import DatabaseTools
from mwzeval.multiwoz.live.understanding import Vocabulary
from tests.places import read_json

HARNESS_GOALS = "corpus:test:10"
pytestmark = pytest.mark.usefixtures("elsewhere")


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
    options = LiveOptions("rule-convlab", corpus="sample", offline=True)
    make_agent = load_agent(options, tables)(ExitStack())
    tools = DatabaseTools(tables, RULES[0]).of_dialogue(0, "x", {})
    agent = make_agent(Planned("x", {}), tools, Record())
    table, room = "a table for 4 people on monday at 18:00", "a hotel for 2 nights from tuesday"
    turn = agent.answer(f"I want to book a restaurant, {table}, and also {room} for 3 people.")
    (call,) = [call["function"] for each in turn.messages for call in each.get("tool_calls", ())]
    assert call["name"] == "book_restaurant"
    wanted = {"people": "4", "day": "monday", "time": "18:00"}
    assert wanted.items() <= json.loads(call["arguments"]).items()


@pytest.mark.integration
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


@pytest.mark.parametrize("stress", ["clean", "hard"])
def test_the_rule_agent_in_a_harness_is_the_one_of_a_run(stress: str) -> None:
    options = ["--goals", HARNESS_GOALS, "--corpus", "sample", "--trials", "2", "--seed", "3", "-q"]
    options += ["--stress", stress]
    assert main(["live", "--agent", "rule", *options, "-o", "here.jsonl"]) == 0
    episodes = Episodes(HARNESS_GOALS, corpus="sample", seed=3, stress=stress)
    vocabulary = Vocabulary(read_tables(corpus_root("sample", None, offline=True)))
    dialogues = []
    for item in episodes.goals:
        for trial in (1, 2):
            episode = episodes.episode(item, trial, trials=2)
            agent = RuleAgent(vocabulary, 3, f"{item}#{trial}")
            messages = episode.begin()
            while not episode.is_over:
                answer = agent(messages)
                messages += [answer, *episode.answer(answer)]
            dialogues.append(episode.trajectory())
    found = [episodes.outcome(dialogue) for dialogue in dialogues]
    if stress == "clean":
        assert all(each.success and each.inform and each.complete for each in found)
        assert {each.booking for each in found} == {True, None}
    episodes.write("there.jsonl", dialogues, agent="rule", trials=2)
    here, there = Path("here.jsonl").read_bytes(), Path("there.jsonl").read_bytes()
    assert there == here
    assert main(["evaluate", "there.jsonl", "--corpus", "sample", "-q", "-o", "report.json"]) == 0


def test_none_means_no_conditions() -> None:
    goals = "corpus:test:1"
    episode, other = (
        Episodes(goals, corpus="sample", stress=stress).episode(item)
        for stress in (None, "")
        for item in Episodes(goals, corpus="sample").goals
    )
    assert episode.begin() == other.begin()
    assert episode.tools == other.tools


def test_losses_say_why_and_goals_are_known() -> None:
    episodes = Episodes(HARNESS_GOALS, corpus="sample", user_turns=2)
    item = next(iter(episodes.goals))
    episode = episodes.episode(item)
    episode.begin()
    while not episode.is_over:
        episode.answer("Hm.")
    dialogue = episode.trajectory()
    outcome = episodes.outcome(dialogue)
    assert (outcome.success, outcome.inform, outcome.complete) == (False, False, False)
    assert set(outcome.domains.values()) == {False}
    assert len(outcome.losses) > 1
    with pytest.raises(UsageError, match=f'"{item}x".*"{item}"'):
        episodes.episode(f"{item}x")
    with pytest.raises(UsageError, match="user-turns"):
        Episodes(HARNESS_GOALS, corpus="sample", user_turns=0)
    with pytest.raises(UsageError, match="tool-rounds"):
        Episodes(HARNESS_GOALS, corpus="sample", tool_rounds=-1)
