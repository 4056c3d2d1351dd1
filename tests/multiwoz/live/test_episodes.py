"""Dialogues for a harness of one's own: with the rule agent they are those of `mwzeval live`."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from mwzeval.cli import main
from mwzeval.errors import UsageError
from mwzeval.multiwoz.corpus.corpora import corpus_root, read_tables
from mwzeval.multiwoz.live.episodes import Episodes
from mwzeval.multiwoz.live.rule_agent import RuleAgent, Vocabulary

GOALS = "corpus:test:10"


@pytest.fixture(autouse=True)
def elsewhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("MWZEVAL_DATA", raising=False)
    monkeypatch.setenv("MWZEVAL_OFFLINE", "1")


def lines(file: str) -> list[Any]:
    return [json.loads(line) for line in Path(file).read_text("utf-8").splitlines()]


def test_the_rule_agent_in_a_harness_is_the_one_of_a_run() -> None:
    options = ("--goals", GOALS, "--corpus", "sample", "--trials", "2", "--seed", "3", "-q")
    assert main(["live", "--agent", "rule", *options, "-o", "here.jsonl"]) == 0
    episodes = Episodes(GOALS, corpus="sample", seed=3)
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
    assert all(each.success and each.inform and each.complete for each in found)
    assert all(each.booking is not False for each in found)
    assert {each.booking for each in found} == {True, None}
    episodes.write("there.jsonl", dialogues, agent="rule", trials=2)
    here, there = Path("here.jsonl").read_bytes(), Path("there.jsonl").read_bytes()
    assert there == here
    assert main(["evaluate", "there.jsonl", "--corpus", "sample", "-q", "-o", "report.json"]) == 0


def test_losses_say_why_and_goals_are_known() -> None:
    episodes = Episodes(GOALS, corpus="sample", user_turns=2)
    item = next(iter(episodes.goals))
    episode = episodes.episode(item)
    episode.begin()
    while not episode.is_over:
        episode.answer("Hm.")
    dialogue = episode.trajectory()
    outcome = episodes.outcome(dialogue)
    assert (outcome.success, outcome.inform, outcome.complete) == (False, False, False)
    assert set(outcome.domains.values()) == {False}
    first, *others = outcome.losses
    assert first == "The dialogue met its limit: 2 turns of the user"
    assert others
    with pytest.raises(UsageError, match=f'"{item}x" — did you mean "{item}"'):
        episodes.episode(f"{item}x")
    with pytest.raises(UsageError, match="user_turns"):
        Episodes(GOALS, corpus="sample", user_turns=0)
    with pytest.raises(UsageError, match="tool_rounds"):
        Episodes(GOALS, corpus="sample", tool_rounds=-1)
