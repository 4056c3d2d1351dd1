"""A model behind an endpoint as the user: a scripted server repeats the agenda user."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pytest

from mwzeval.conversation.trajectory import Planned
from mwzeval.pydial.acts import parse_act
from mwzeval.pydial.domain import load_domain
from mwzeval.pydial.users import act_in
from tests.command_lines import Run
from tests.conversation.endpoint.server import Server, serving, shorten_waits
from tests.pydial.runs import PYDIAL, read_lines

pytestmark = pytest.mark.integration
ONTOLOGY = load_domain("Demo-CR").ontology
Live = Callable[..., list[dict[str, Any]]]


@pytest.fixture
def live(run: Run, monkeypatch: pytest.MonkeyPatch, elsewhere: Path) -> Live:
    shorten_waits(monkeypatch)

    def hold(*more: str, output: str = "run.jsonl", code: int = 0) -> list[dict[str, Any]]:
        command = ["live", *PYDIAL, "-q", "--agent", "handcrafted", "--goals", "Demo-CR-3:12"]
        shown = run(*command, "-o", output, *more)
        assert shown.code == code, shown.err
        return read_lines(output)

    return hold


class Scripted:
    """Repeats the user acts of a file; the seed of a request identifies the dialogue."""

    def __init__(self, lines: list[dict[str, Any]]) -> None:
        self._lines = {
            Planned(line["dialogue"], None, seed=5).number_of("user"): line for line in lines
        }
        self.systems: list[str] = []

    def __call__(self, body: Mapping[str, Any]) -> Mapping[str, Any]:
        system, *said = body["messages"]
        self.systems.append(system["content"])
        assert said[0] == {"role": "user", "content": "hello()"}
        acts = [user["said"] for user, _ in self._lines[body["seed"]]["acts"]]
        act = (acts + ["bye()"] * 25)[len(said) // 2]
        return {"role": "assistant", "content": f"<think>so\n</think>\n{act} please"}


def test_model_user_acts_pass_through_the_error_model_of_the_task(live: Live) -> None:
    due = live("--seed", "5", output="agenda.jsonl")
    script = Scripted(due)
    with serving(Server(script)) as server:
        model = ("--user", "openai:m", "--user-base-url", server.url, "--send-seed")
        found = live("--seed", "5", *model, "--concurrency", "4", output="model.jsonl")
        again = live("--seed", "5", *model, "--jobs", "2", output="again.jsonl")
    for line, other, agenda in zip(found, again, due, strict=True):
        assert line["goal"] == agenda["goal"]
        assert line["acts"] == other["acts"]
        assert line["acts"][0][0]["said"] == agenda["acts"][0][0]["said"]
        assert [m["role"] for m in line["messages"]] == ["user"] * len(line["acts"])
        assert line["messages"][0]["usage"]["in"] == 7
    assert any(
        exchange[0]["said"] != exchange[0]["heard"][0][0]
        for line in found
        for exchange in line["acts"]
    )
    assert all("{" not in system for system in script.systems)
    wants = due[0]["goal"]["constraints"][0]
    assert any(f"- {wants[0]}: {wants[2]}" in system for system in script.systems)


def test_model_replies_without_an_act_become_null_acts(live: Live, run: Run) -> None:
    reply = {"role": "assistant", "content": "I would like a garden in the north."}
    with serving(Server(lambda body: reply)) as server:
        found = live("--user", "openai:m", "--user-base-url", server.url)
    assert {said["said"] for line in found for said, _ in line["acts"]} == {"null()"}
    assert {line["end"] for line in found} == {"limit"}
    assert "|user:openai:m|" in run("evaluate", *PYDIAL, "run.jsonl").out


def test_server_refusals_are_infrastructure_failures(live: Live) -> None:
    with serving(Server(faults=[401] * 100)) as server:
        model = ("--user", "openai:m", "--user-base-url", server.url)
        found = live(*model, "--concurrency", "1", code=1)
    assert {line["end"] for line in found} == {"infrastructure"}


@pytest.mark.parametrize(
    ("text", "act"),
    [
        ("inform(area=north)", "inform(area=north)"),
        ('Sure: inform(area="north", area!="south") bye()', "inform(area=north,area!=south)"),
        ("inform(area=dontcare)", "inform(area=dontcare)"),
        ("INFORM(dontcare)", "inform(=dontcare)"),
        ("request(phone", "null()"),
        ("inform(area=nowhere) inform(area=north)", "null()"),
        ("offer(area=north)", "null()"),
        ("", "null()"),
    ],
)
def test_first_act_in_a_model_reply_is_used(text: str, act: str) -> None:
    assert act_in(text, ONTOLOGY) == parse_act(act)


def test_model_options_require_a_model_user(run: Run) -> None:
    command = ["live", *PYDIAL, "-q", "--agent", "handcrafted", "-o", "run.jsonl"]
    refused = run(*command, "--goals", "Demo-CR-1:2", "--user-prompt", "x.txt")
    assert refused.code == 2
    assert "--user-prompt" in refused.err
