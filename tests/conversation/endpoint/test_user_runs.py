"""A model as the user: one that says the words of the agenda user has its dialogues."""

from __future__ import annotations

import io
import json
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest

from mwzeval.cli import main
from mwzeval.conversation.messages import as_meant
from mwzeval.conversation.models import OPENING
from mwzeval.conversation.trajectory import Planned
from tests.conversation.endpoint.server import CONTEXT, Server, completion, serving
from tests.conversation.endpoint.test_endpoint_runs import Faults, RuleServer, live, scores, talk

pytestmark = [pytest.mark.integration, pytest.mark.usefixtures("elsewhere")]

SIDES = ("agent", "user")
KEY = "the-key-of-the-user-0123456789"


class WordsServer:
    """Says what the users of a file have said, whose dialogues it knows by the seed.

    What it is asked has to have the texts of the dialogue, with the roles changed, and no more.
    """

    def __init__(self, lines: list[dict[str, Any]]) -> None:
        self._lines = {
            Planned(line["dialogue"].partition("#")[0], None, line["trial"]).number_of("user"): {
                **line,
                "messages": as_meant(line["messages"]),
            }
            for line in lines
        }
        self.asked_wrongly: list[Any] = []

    def __call__(self, body: Mapping[str, Any]) -> Mapping[str, Any]:
        line = self._lines[body["seed"]]
        heard = [m for m in line["messages"] if m["role"] != "tool" and not m.get("tool_calls")]
        _, opening, *said = body["messages"]
        flipped = {"user": "assistant", "assistant": "user"}
        texts = [{"role": flipped[m["role"]], "content": m["content"]} for m in heard[: len(said)]]
        if "tools" in body or said != texts or opening != {"role": "user", "content": OPENING}:
            self.asked_wrongly.append(body)
        content = heard[len(said)]["content"]
        if heard[len(said)] is [m for m in heard if m["role"] == "user"][-1]:
            content += f"\n{line['user']['token']}"
        return {"role": "assistant", "content": content}


def asked(url: str, *options: str, side: str = "user") -> tuple[str, ...]:
    return (f"--{side}", "openai:words", f"--{side}-base-url", url, "--send-seed", *options)


def without_report(line: Mapping[str, Any]) -> Any:
    return {key: value for key, value in talk(line).items() if key != "user"}


def test_who_says_the_words_of_the_agenda_user_is_the_agenda_user() -> None:
    _, *here = live("rule", "here.jsonl", "--trials", "2")
    words, faults = WordsServer(here), Faults()
    with serving(Server(words, faults)) as server:
        options = asked(server.url, "--trials", "2", "--cache", "cache")
        header, *there = live("rule", "there.jsonl", *options, "--concurrency", "8")
        requests = len(server.bodies)
        live("rule", "again.jsonl", *options)
        assert len(server.bodies) == requests
    assert words.asked_wrongly == []
    assert list(map(without_report, there)) == list(map(without_report, here))
    for mine, other in zip(there, here, strict=True):
        assert mine["user"] == {key: other["user"][key] for key in ("complete", "token", "faults")}
    assert scores("there.jsonl") == scores("here.jsonl")
    usage = [m["usage"] for line in there for m in line["messages"] if m["role"] == "user"]
    assert all(each["in"] == 7 and each["out"] == 3 and each["ms"] >= 0 for each in usage)
    assert sum(each.get("retries", 0) for each in usage) == faults.count > 20
    assert len(usage) + faults.count == requests
    assert Path("again.jsonl").read_bytes() == Path("there.jsonl").read_bytes()
    assert header["user"]["spec"] == "openai:words"
    assert header["user"]["prompt"]["name"] == "user-1"
    assert all(bearer == f"Bearer {KEY}" for bearer in _authorizations(server))
    files = [path for path in Path().rglob("*") if path.is_file()]
    assert not [path for path in files if KEY.encode() in path.read_bytes()]


def test_a_model_as_the_user_reads_its_own_words_without_noise() -> None:
    stress = ("--stress", "words,errors=.2")
    _, *here = live("rule", "here.jsonl", *stress)
    words = WordsServer(here)
    with serving(Server(words)) as server:
        _, *there = live("rule", "there.jsonl", *stress, *asked(server.url))
    assert words.asked_wrongly == []
    assert list(map(without_report, there)) == list(map(without_report, here))
    assert any("meant" in message for line in there for message in line["messages"])


def _authorizations(server: Server) -> list[str | None]:
    return [headers.get("authorization") for headers in server.headers]


def test_both_sides_may_be_models_of_one_server(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MWZEVAL_AGENT_API_KEY", "the-key-of-the-agent-987654321")
    _, *here = live("rule", "here.jsonl")
    rule, words = RuleServer([line["dialogue"] for line in here]), WordsServer(here)

    def reply(body: Mapping[str, Any]) -> Mapping[str, Any]:
        return rule(body) if body.get("tools") else words(body)

    with serving(Server(reply)) as server:
        options = (*asked(server.url), "--agent-base-url", server.url, "--cache", "cache")
        _, *there = live("openai:rule", "there.jsonl", *options, "--concurrency", "6")
        keys = {
            (bool(body.get("tools")), bearer)
            for body, bearer in zip(server.bodies, _authorizations(server), strict=True)
        }
        requests = len(server.bodies)
        Path("cut.jsonl").write_bytes(
            b"".join(Path("there.jsonl").read_bytes().splitlines(True)[:5])
        )
        live("openai:rule", "cut.jsonl", *options, "--concurrency", "2")
        assert len(server.bodies) == requests
    assert list(map(without_report, there)) == list(map(without_report, here))
    assert words.asked_wrongly == []
    assert keys == {(True, "Bearer the-key-of-the-agent-987654321"), (False, f"Bearer {KEY}")}
    assert Path("cut.jsonl").read_bytes() == Path("there.jsonl").read_bytes()


ONE = ("--goals", "corpus:test:1", "--corpus", "sample", "-q", "-o", "one.jsonl")


def one(reply: Callable[[Mapping[str, Any]], Any], *options: str, code: int = 0) -> Any:
    """Hold a dialogue with a user that is answered for so; return its line, and the requests.

    What is replied is a whole answer, or a fault of the server.
    """
    with serving(Server(faults=reply)) as server:
        model = ("--user", "openai:m", "--user-base-url", server.url)
        assert main(["live", "--agent", "rule", *ONE, *model, *options]) == code
    _, line = Path("one.jsonl").read_text("utf-8").splitlines()
    return json.loads(line), server.bodies


def says(*contents: Any, reason: str = "stop", **more: Any) -> Callable[[Mapping[str, Any]], Any]:
    """Return what answers requests so, in this order by how many messages they have."""

    def reply(body: Mapping[str, Any]) -> Any:
        own = sum(message["role"] == "assistant" for message in body["messages"])
        content = contents[min(own, len(contents) - 1)]
        whole = completion({"role": "assistant", "content": content, **more})
        whole["choices"][0]["finish_reason"] = reason
        return whole

    return reply


CALL = [{"id": "1", "type": "function", "function": {"name": "find_hotel", "arguments": "{}"}}]
NOTHING = [
    (says(""), "empty"),
    (says(None), "empty"),
    (says("  \n", reason="length"), "length"),
    (says(None, tool_calls=CALL), "find_hotel"),
    (says("Assistant: How can I help?"), "agent"),
    (says("[DONE]"), "[DONE]"),
    (says(7), "string"),
    (lambda body: (400, {}, {"error": {"message": CONTEXT}}), "exceeds"),
]


@pytest.mark.parametrize(("reply", "problem"), NOTHING)
def test_what_is_no_turn_is_the_fault_of_the_user(
    reply: Callable[[Mapping[str, Any]], Any], problem: str
) -> None:
    line, bodies = one(reply)
    assert len(bodies) == 1  # it would be the same again
    assert line["end"] == "user_error"
    assert problem in line["problem"]
    assert line["turns"] == 0
    # What nobody heard was paid for, too.
    assert [message["usage"]["in"] for message in line["messages"]] == [7] * (problem != "exceeds")


@pytest.mark.parametrize(
    ("contents", "reason", "said", "token"),
    [
        (("A hotel.", "Thanks!\n[DONE]"), "stop", ["A hotel.", "Thanks!"], "[DONE]"),
        # A message of nothing but a token is no turn, and not answered; but it was paid for.
        (("A hotel.", "[GIVE UP]"), "stop", ["A hotel.", ""], "[GIVE UP]"),
        (
            ("A hotel.\nAssistant: Which?", "Bye.\n[GIVE UP]"),
            "stop",
            ["A hotel.", "Bye."],
            "[GIVE UP]",
        ),
        (
            ("I am looking for a", "Bye.\n[DONE]"),
            "length",
            ["I am looking for a", "Bye."],
            "[DONE]",
        ),
    ],
)
def test_what_a_model_writes_is_heard_up_to_its_token(
    contents: Sequence[str], reason: str, said: list[str], token: str
) -> None:
    line, bodies = one(says(*contents, reason=reason))
    messages = line["messages"]
    assert [m["content"] for m in messages if m["role"] == "user"] == said
    assert (line["end"], line["turns"]) == ("user_stop", sum(map(bool, said)))
    assert (messages[-1]["role"] == "assistant") == bool(said[-1])
    assert line["user"]["token"] == token
    assert line["user"]["complete"] is (line["user"]["token"] == "[DONE]")
    assert bodies[1]["messages"][2] == {"role": "assistant", "content": said[0]}
    assert messages[0].get("finish_reason", "stop") == reason
    assert messages[-1].get("usage", {"out": 3})["out"] == 3
    assert scores("one.jsonl")["live"]["user_turns"] == line["turns"]


def test_a_token_does_not_decide_success() -> None:
    one(says("Hello.", "Thank you!\n[DONE]"))
    plain = scores("one.jsonl")
    assert plain["success"]["success"]["total"] == 0
    assert plain["live"]["complete"] == 100


def test_the_goal_is_in_the_system_message() -> None:
    _, bodies = one(says("Bye.\n[GIVE UP]"))
    system, _ = bodies[0]["messages"]
    assert system["role"] == "system"
    assert "{goal}" not in system["content"]
    assert "What you want:\n- " in system["content"]
    assert bodies[0]["temperature"] == 0
    assert "tools" not in bodies[0]
    assert "tool_choice" not in bodies[0]


def test_a_prompt_of_ones_own_has_a_place_for_the_goal(
    capsys: pytest.CaptureFixture[str],
) -> None:
    Path("mine.txt").write_text("Be a user. Want {goal}.", "utf-8")
    _, bodies = one(says("Bye.\n[GIVE UP]"), "--user-prompt", "mine.txt")
    assert bodies[0]["messages"][0]["content"].startswith("Be a user. Want - ")
    header = json.loads(Path("one.jsonl").read_text("utf-8").splitlines()[0])
    about = header["user"]["prompt"]
    assert about["name"] == "mine"
    assert main(["evaluate", "one.jsonl", "--corpus", "sample", "-q"]) == 0
    assert f"|user:openai:m,prompt=mine@{about['sha']}|" in capsys.readouterr().out
    Path("bad.txt").write_text("Be a user.", "utf-8")
    model = ("--user", "openai:m", "--user-prompt", "bad.txt")
    assert main(["live", "--agent", "rule", *ONE, *model]) == 2
    assert "bad.txt" in capsys.readouterr().err


def test_the_time_of_a_dialogue_is_that_of_both_sides() -> None:
    """Of ten requests that each take a fifth of a second, half are in time."""

    def reply(body: Mapping[str, Any]) -> Mapping[str, Any]:
        return {"role": "assistant", "content": f"I say {len(body['messages'])}."}

    with serving(Server(reply, delay=0.2)) as server:
        sides = [(f"--{side}", "openai:m", f"--{side}-base-url", server.url) for side in SIDES]
        limits = ("--dialogue-seconds", "1", "--user-turns", "5")
        assert main(["live", *ONE, *sides[0], *sides[1], *limits]) in (0, 1)
    line = json.loads(Path("one.jsonl").read_text("utf-8").splitlines()[1])
    # The time ends while a server is waited for, or before the next request.
    assert line["end"] in ("infrastructure", "limit")
    assert len(server.bodies) <= 5


OWN_AGENT = """
def respond(messages):
    return "Hm."
"""


def test_the_time_of_a_turn_is_for_code_of_ones_own() -> None:
    """A model has limits of its own, and its server is not taken for a user that hangs."""
    Path("own.py").write_text(OWN_AGENT, "utf-8")
    with serving(Server(faults=says("Hello.", "Bye.\n[GIVE UP]"), delay=0.5)) as server:
        model = ("--user", "openai:m", "--user-base-url", server.url, "--turn-seconds", "0.25")
        assert main(["live", "--agent", "own.py:respond", *ONE, *model]) == 0
    line = json.loads(Path("one.jsonl").read_text("utf-8").splitlines()[1])
    assert (line["end"], line["turns"]) == ("user_stop", 2)


def test_people_play_with_models(monkeypatch: pytest.MonkeyPatch) -> None:
    played = ["play", "multiwoz", "--corpus", "sample", "--goals", "corpus:smp0036"]
    with serving(Server(faults=says("Hello.", "Bye.\n[GIVE UP]"))) as server:
        for side, other, last in (("user", "agent", "/bye"), ("agent", "user", "Goodbye.")):
            monkeypatch.setattr("sys.stdin", io.StringIO(f"Good morning.\n{last}\n"))
            model = (f"--{other}", "openai:m", f"--{other}-base-url", server.url)
            assert main([*played, "--as", side, *model, "-o", f"{side}.jsonl"]) == 0
    for side in SIDES:
        header, line = map(json.loads, Path(f"{side}.jsonl").read_text("utf-8").splitlines())
        assert line["end"] == "user_stop"
        assert header[side] == {"spec": "human"}
        other = header["agent" if side == "user" else "user"]
        assert (other["spec"], other["dialogue_seconds"]) == ("openai:m", None)
