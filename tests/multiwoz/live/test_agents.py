"""Built-in agents: understanding of user utterances, and runs, also in other harnesses."""

from __future__ import annotations

import ast
import json
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mwzeval.conversation.loop import ToolSession
from mwzeval.conversation.trajectory import Planned
from mwzeval.errors import UsageError
from mwzeval.multiwoz.convlab.resources import load_resources
from mwzeval.multiwoz.corpus import corpus_root, read_tables
from mwzeval.multiwoz.live.convlab_agent import ConvlabPolicy
from mwzeval.multiwoz.live.episodes import Episodes
from mwzeval.multiwoz.live.rule_agent import CallingAgent, RuleAgent
from mwzeval.multiwoz.live.tools import Tools
from mwzeval.multiwoz.live.understanding import BeliefState, Vocabulary, understand
from mwzeval.multiwoz.normalization import normalize_slots
from tests.cases import tabled
from tests.multiwoz.live.written_runs import ROOT, live, report, town, vocabulary
from tests.places import read_json, shared

TRIP = BeliefState(
    current="taxi",
    domains=["hotel", "restaurant", "taxi"],
    constraints={"hotel": {"bookday": "friday", "bookpeople": "3", "area": "north"}},
    offered={
        "hotel": {"name": "the brass otter", "pricerange": "expensive", "type": "hotel"},
        "restaurant": {"name": "jade pavilion", "area": "centre"},
    },
)
TRIP.constraints["restaurant"] = {"booktime": "18:30", "bookday": "sunday"}


def situation_of(name: str) -> BeliefState:
    """Return a belief state with a current domain, a trip, or a requested slot."""
    if name == "nothing":
        return BeliefState()
    if name == "trip":
        return TRIP
    *asked, last = name.removeprefix("asked for the ").split()
    if asked:
        return BeliefState(current=asked[0], asked=[(asked[0], last)])
    return BeliefState(current=name, domains=[name])


@tabled
def test_rule_agent_recognizes_constraints(situation: str, said: str, wishes: list[str]) -> None:
    heard = understand(said, vocabulary(), situation_of(situation))
    assert {" ".join(constraint) for constraint in heard.constraints} == set(wishes)


@tabled
def test_rule_agent_recognizes_requested_slots(said: str, requests: list[str]) -> None:
    situation = BeliefState(
        current="restaurant",
        domains=["restaurant"],
        offered={"restaurant": {"name": "jade pavilion"}, "hotel": {"name": "the brass otter"}},
    )
    heard = understand(said, vocabulary(), situation)
    assert {" ".join(request) for request in heard.requests} == set(requests)


def convlab_agent() -> CallingAgent:
    policy = ConvlabPolicy(vocabulary(), load_resources("sample", ROOT), 1, "mul0001", 1)
    return CallingAgent(policy.answer, 1, "mul0001")


SCRIPTS = dict(
    paragraph.split("\n", 1)
    for paragraph in Path(__file__).with_name("agents.txt").read_text("utf-8").split("\n\n")
)
"""Dialogues by title. Lines after a user utterance have all calls of the agent, and texts and acts
that its answer contains; slots in braces have the values of the last result."""


@pytest.mark.parametrize("title", SCRIPTS)
def test_rule_agent_produces_the_scripted_calls_and_answers(title: str) -> None:
    agent: CallingAgent = RuleAgent(vocabulary(), 1, "a")
    goal: dict[str, Any] = {}
    session = None
    calls: list[tuple[str, dict[str, str]]] = []
    answer: dict[str, Any] = {}
    result: dict[str, str] = {}
    for line in SCRIPTS[title].strip().split("\n"):
        kind, _, text = line.partition(" ")
        if kind == "agent":
            agent = convlab_agent()
        elif kind == "refused":
            goal = ast.literal_eval(text)
        elif kind == "user":
            assert not calls
            tools = Tools(town(), Planned("a", goal, seed=1))
            session = session or ToolSession(agent, tools, lambda message: None)
            *messages, answer = session.answer(text).messages
            for call, returned in zip(messages[::2], messages[1::2], strict=True):
                function = call["tool_calls"][0]["function"]
                calls.append((function["name"], json.loads(function["arguments"])))
                found = json.loads(returned["content"])
                result = {**dict(*found.get("results", ())[:1]), **found}
        elif kind == "call":
            name, arguments = text.split(" ", 1)
            assert calls.pop(0) == (name, ast.literal_eval(arguments))
        elif kind == "says":
            assert text.format_map(result) in answer["content"]
        elif kind == "acts":
            acts = [" ".join(act) for act in answer["acts"]]
            assert set(text.format_map(result).split("; ")) <= set(acts)
    assert not calls


WORDS = (
    *("a", "taxi", "train", "hotel", "from", "to", "the", "same", "area", "as", "not", "museum"),
    *("3", "people", "18:30", "at", "book", "for", "and", "or", "sunday", "pellingford", "ashmere"),
    *("jade", "pavilion", "between", "two", "?", ".", ",", "yes", "no", "dontcare", "any", "phone"),
    *("price", "number", "leave", "forget", "guesthouse", "star", "food", "in", "by", "after"),
    *("TR4291", "what", "is", "it", "there"),
)
TEXTS = st.text(max_size=40) | st.lists(st.sampled_from(WORDS), max_size=14).map(" ".join)
RESULTS = st.sampled_from(
    [
        *("null", "", "not json", "[]", "{}", '{"error": "no"}', '{"results": 3}', "1" * 20),
        *('{"count": 2, "results": [{}, 1, null]}', '{"count": "x", "results": [{"name": 3}]}'),
        *('{"status": "booked"}', '{"status": "failed"}', '{"results": [{"name": "x"}]}'),
        '{"count": 1, "results": [{"name": "x", "trainid": "TR1", "area": null, "food": ["a"]}]}',
    ]
)


@pytest.mark.parametrize("make", [lambda: RuleAgent(vocabulary()), convlab_agent])
@given(texts=st.lists(TEXTS, max_size=6), data=st.data())
def test_agents_accept_any_texts_and_tool_results(
    make: Callable[[], CallingAgent], texts: list[str], data: st.DataObject
) -> None:
    agent = make()
    messages: list[dict[str, Any]] = []
    for text in texts:
        messages.append({"role": "user", "content": text})
        for _ in range(20):
            message = agent(messages)
            json.dumps(message)
            messages.append(message)
            if not message.get("tool_calls"):
                break
            content = data.draw(RESULTS)
            messages.append({"role": "tool", "tool_call_id": "call_1", "content": content})
        assert isinstance(messages[-1]["content"], str)
        assert messages[-1]["content"]


def slots_of(state: Mapping[str, Mapping[str, str]]) -> set[tuple[str, str, str]]:
    """Return all slots except names, because users take the name from the system."""
    return {
        (domain, slot, value)
        for domain, slots in state.items()
        for slot, value in normalize_slots(slots, "2021").items()
        if slot != "name"
    }


@pytest.mark.integration
def test_rule_agent_understands_user_utterances_of_the_corpus() -> None:
    """The agent gets no system utterances, so it cannot interpret "yes"."""
    root = corpus_root("multiwoz-2.2", shared("data", "multiwoz"), offline=True)
    known = Vocabulary(read_tables(root))
    right: list[bool] = []
    path = root.require("data/MultiWOZ_2.2/test/dialogues_001.json")
    for dialogue in read_json(path)[:200]:
        situation = BeliefState()
        for turn in (turn for turn in dialogue["turns"] if turn["speaker"] == "USER"):
            heard = understand(turn["utterance"], known, situation)
            for domain, slot, value in heard.constraints:
                situation.constraints.setdefault(domain, {})[slot] = value
            for domain in heard.domains:
                situation.domains = [d for d in situation.domains if d != domain] + [domain]
                situation.current = domain
            annotated: dict[str, dict[str, str]] = {}
            for frame in turn["frames"]:
                for name, values in frame["state"]["slot_values"].items():
                    domain, _, slot = name.partition("-")
                    annotated.setdefault(domain, {})[slot] = values[0]
            right.append(slots_of(situation.constraints) == slots_of(annotated))
    assert sum(right) > 0.4 * len(right) > 400


@pytest.mark.usefixtures("elsewhere")
@pytest.mark.parametrize(
    ("agent", "least", "most"), [("rule", 97, 100), ("rule-convlab", 40, 97), ("silent", 0, 0)]
)
def test_success_rates_of_built_in_agents_are_in_expected_ranges(
    agent: str, least: float, most: float
) -> None:
    """Like in acts, ConvLab's policy recommends one venue and answers for another."""
    live(agent, "run.jsonl")
    plain = report("run.jsonl")
    assert least <= plain["success"]["success"]["total"] <= most
    if agent == "rule":
        assert plain["grounded"]["hallucination"]["total"] < 1
        assert plain["live"]["tool_errors"] == 0


GOALS = "corpus:test:10"


@pytest.mark.usefixtures("elsewhere")
@pytest.mark.parametrize("stress", ["", "hard"])
def test_rule_agent_dialogues_are_equal_in_a_harness_and_in_a_live_run(stress: str) -> None:
    conditions = ("--stress", stress)
    live("rule", "here.jsonl", "--goals", GOALS, "--trials", "2", "--seed", "3", *conditions)
    episodes = Episodes(GOALS, corpus="sample", seed=3, stress=stress or None)
    dialogues = []
    for item in episodes.goals:
        for trial in (1, 2):
            episode = episodes.episode(item, trial, trials=2)
            agent = RuleAgent(vocabulary(), 3, f"{item}#{trial}")
            messages = episode.begin()
            while not episode.is_over:
                answer = agent(messages)
                messages += [answer, *episode.answer(answer)]
            dialogues.append(episode.trajectory())
            # Agents get only the noisy text, without acts and the intended text.
            assert [message for message in messages if message["role"] == "user"] == [
                {"role": "user", "content": message["content"]}
                for message in dialogues[-1].messages
                if message["role"] == "user"
            ]
    found = [episodes.outcome(dialogue) for dialogue in dialogues]
    if not stress:
        assert all(outcome.success and outcome.inform and outcome.complete for outcome in found)
        assert {outcome.booking for outcome in found} == {True, None}
    episodes.write("there.jsonl", dialogues, agent="rule", trials=2)
    assert Path("there.jsonl").read_bytes() == Path("here.jsonl").read_bytes()


def test_episodes_report_reasons_for_failure_and_available_goals() -> None:
    episodes = Episodes(GOALS, corpus="sample", user_turns=2)
    item = next(iter(episodes.goals))
    episode = episodes.episode(item)
    episode.begin()
    while not episode.is_over:
        episode.answer("Hm.")
    outcome = episodes.outcome(episode.trajectory())
    assert (outcome.success, outcome.inform, outcome.complete) == (False, False, False)
    assert set(outcome.domains.values()) == {False}
    assert len(outcome.losses) > 1
    with pytest.raises(UsageError, match=f'"{item}x".*"{item}"'):
        episodes.episode(f"{item}x")
    with pytest.raises(UsageError, match="user-turns"):
        Episodes(GOALS, corpus="sample", user_turns=0)
    with pytest.raises(UsageError, match="tool-rounds"):
        Episodes(GOALS, corpus="sample", tool_rounds=-1)
    with pytest.raises(UsageError, match="expected text, such as"):
        Episodes(GOALS, corpus="sample", stress={"typos": 0.1})


OWN = """
import json
from mcp import Client
from mwzeval.multiwoz.live.rule_agent import RuleAgent
from tests.multiwoz.live.written_runs import vocabulary

class Rule:
    def __init__(self, dialogue, tools_url):
        self.agent = RuleAgent(vocabulary(), 0, f"{dialogue}#1")
        self.url = tools_url

    async def __call__(self, messages):
        async with Client(self.url) as client:
            while (answer := self.agent(messages)).get("tool_calls"):
                messages.append(answer)
                for call in answer["tool_calls"]:
                    function = call["function"]
                    arguments = json.loads(function["arguments"])
                    result = await client.call_tool(function["name"], arguments)
                    said = {"tool_call_id": call["id"], "content": result.content[0].text}
                    messages.append({"role": "tool", **said})
        return answer

class Text:
    def __init__(self, tools_url):
        self.url = tools_url

    async def respond(self, utterance):
        said = []
        for url in (self.url, self.url.replace("session=", "session=other-")):
            async with Client(url, mode="legacy") as client:
                result = await client.call_tool("find_hotel", {"area": "centre"})
                said.append(result.content[0].text)
        return said[1] + str(json.loads(said[0])["count"])
"""
SERVED = ("--goals", "corpus:test:4", "--serve-tools")


@pytest.mark.integration
@pytest.mark.parametrize("stress", ["clean", "errors=.3,stale=1"])
def test_rule_agent_dialogues_are_equal_over_mcp(stress: str, elsewhere: Path) -> None:
    """This includes a resumed run."""
    Path("own.py").write_text(OWN)
    expected = live("rule", "rule.jsonl", *SERVED[:2], "--stress", stress)
    options = ("own.py:Rule", "served.jsonl", *SERVED, "--stress", stress)
    assert live(*options, "-j", "2") == expected
    whole = Path("served.jsonl").read_bytes()
    assert b'"tools":"mcp"' in whole.splitlines()[0]
    assert b'\\"reference\\"' in whole
    Path("served.jsonl").write_bytes(whole[: whole.index(b"\n", len(whole) // 2) - 100])
    live(*options)
    assert Path("served.jsonl").read_bytes() == whole
    scores = [
        [plain["success"], plain["grounded"], plain["live"]]
        for plain in (report("rule.jsonl"), report("served.jsonl"))
    ]
    assert scores[0] == scores[1]
    assert (scores[0][0]["success"]["total"] > 90) == (stress == "clean")


@pytest.mark.integration
def test_mcp_agents_can_only_call_functions_in_their_own_dialogue(elsewhere: Path) -> None:
    Path("own.py").write_text(OWN)
    for line in live("own.py:Text", "text.jsonl", *SERVED, "--user-turns", "1"):
        _, call, result, answer, *_ = line["messages"]
        assert call["tool_calls"][0]["function"]["name"] == "find_hotel"
        count = json.loads(result["content"])["count"]
        other = {"error": f'the dialogue "other-{line["dialogue"]}" is not running'}
        assert answer["content"] == json.dumps(other) + str(count)
