"""Runs with models: the built-in agent and user behind a server have the same dialogues."""

from __future__ import annotations

import io
import json
import signal
import subprocess
import sys
import threading
from base64 import b64encode
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pytest

from mwzeval.cli import main
from mwzeval.conversation.messages import as_meant
from mwzeval.conversation.models import OPENING
from mwzeval.conversation.trajectory import Planned
from tests.conversation.endpoint.server import Server, completion, serving, shorten_waits
from tests.places import read_json

pytestmark = pytest.mark.integration

KEYS = {"agent": "the-key-of-the-agent-987654321", "user": "the-key-of-the-user-0123456789"}
GOALS = ("--goals", "corpus:test:12", "--corpus", "sample")
SINGLE = ("--goals", "corpus:test:1", "--corpus", "sample", "-q", "-o", "single.jsonl")
Body = Mapping[str, Any]


@pytest.fixture(autouse=True)
def environment(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    for side, key in KEYS.items():
        monkeypatch.setenv(f"MWZEVAL_{side.upper()}_API_KEY", key)
    shorten_waits(monkeypatch)


class Replay:
    """Answers as the agent and the users of a run, whose dialogues have known seeds.

    A request must have the same texts as the run; for users, with exchanged roles.
    """

    def __init__(self, lines: list[dict[str, Any]]) -> None:
        plan = [Planned(ln["dialogue"].partition("#")[0], None, ln["trial"]) for ln in lines]
        agents = [planned.number for planned in plan]
        users = [planned.number_of("user") for planned in plan]
        self._lines = {
            "agent": dict(zip(agents, lines, strict=True)),
            "user": dict(zip(users, lines, strict=True)),
        }
        self.wrong_requests: list[Any] = []

    def __call__(self, body: Body) -> Mapping[str, Any]:
        line = self._lines["agent" if "tools" in body else "user"][body["seed"]]
        talk = line["messages"]
        _, *said = body["messages"]
        expected = said[:0]
        roles = {"user": "user", "assistant": "assistant", "tool": "tool"}
        if "tools" not in body:
            talk = [m for m in as_meant(talk) if m["role"] != "tool" and "tool_calls" not in m]
            roles = {"user": "assistant", "assistant": "user"}
            expected = [{"role": "user", "content": OPENING}]
        number = len(said) - len(expected)
        expected += [{"role": roles[m["role"]], "content": m["content"]} for m in talk[:number]]
        texts = [{"role": m["role"], "content": m["content"] or ""} for m in said]
        if texts != expected:
            self.wrong_requests.append(body)
        answer = talk[number]
        if answer["role"] == "user":
            is_last = all(message["role"] != "user" for message in talk[number + 1 :])
            token = f"\n{line['user']['token']}" if is_last else ""
            return {"role": "assistant", "content": answer["content"] + token}
        return {**answer, "content": answer["content"] or None}


class Faults:
    """Of three requests, the first has no fault, the second has a fault, and the third has two."""

    KINDS = (429, 500, "reset", "half", b"{", 408)

    def __init__(self) -> None:
        self.count = 0
        self._left: dict[str, list[Any]] = {}

    def __call__(self, body: Body) -> Any:
        key = json.dumps([body["seed"], len(body["messages"])])
        number = len(self._left)
        kinds = [self.KINDS[(number + more) % len(self.KINDS)] for more in range(number % 3)]
        left = self._left.setdefault(key, kinds)
        self.count += bool(left)
        return left.pop() if left else None


def live(agent: str, output: str, *options: str) -> list[dict[str, Any]]:
    """Run dialogues; return the lines of the file."""
    assert main(["live", "--agent", agent, *GOALS, "-q", "-o", output, *options]) == 0
    return lines_of(output)


def lines_of(file: str) -> list[dict[str, Any]]:
    return [json.loads(line) for line in Path(file).read_text("utf-8").splitlines()]


def model(side: str, url: str) -> tuple[str, ...]:
    return (f"--{side}", "openai:m", f"--{side}-base-url", url)


def models(*options: str, url: str) -> tuple[str, ...]:
    """Return options with models of one server as the agent and the user."""
    return ("--agent-base-url", url, *model("user", url), "--send-seed", *options)


def talk_of(line: Mapping[str, Any]) -> Any:
    """Return a dialogue without the keys that depend on the kind of the agent and user."""
    messages = [
        {key: value for key, value in message.items() if key not in ("usage", "acts")}
        for message in line["messages"]
    ]
    report = {key: line["user"][key] for key in ("complete", "token", "faults")}
    return {**line, "messages": messages, "user": report}


def report_of(run: str) -> dict[str, Any]:
    assert main(["evaluate", run, "--corpus", "sample", "-q", "-o", "report.json"]) == 0
    report: dict[str, Any] = read_json(Path("report.json"))
    return report


def test_model_runs_with_server_faults_equal_built_in_runs(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    _, *here = live("rule", "here.jsonl", "--trials", "2")
    replay, faults = Replay(here), Faults()
    with serving(Server(replay, faults)) as server:
        options = models("--trials", "2", "--cache", "cache", url=server.url)
        header, *there = live("openai:rule", "there.jsonl", *options, "--concurrency", "16")
        requests = len(server.bodies)
        keys = {
            ("agent" if "tools" in body else "user", headers["authorization"])
            for body, headers in zip(server.bodies, server.headers, strict=True)
        }
        # A resumed run and a run with another key find all completions in the cache.
        lines = Path("there.jsonl").read_bytes().splitlines(keepends=True)
        Path("cut.jsonl").write_bytes(b"".join(lines[:5]))
        monkeypatch.setenv("MWZEVAL_AGENT_API_KEY", "another-key-0123")
        live("openai:rule", "cut.jsonl", *options, "--concurrency", "3")
        assert len(server.bodies) == requests
    assert Path("cut.jsonl").read_bytes() == Path("there.jsonl").read_bytes()
    assert replay.wrong_requests == []
    assert list(map(talk_of, there)) == list(map(talk_of, here))
    assert keys == {(side, f"Bearer {key}") for side, key in KEYS.items()}
    expected, found = report_of("here.jsonl"), report_of("there.jsonl")
    usage = found["live"].pop("usage")
    for key in ("success", "grounded", "live"):
        assert found[key] == expected[key]
    # The server counts 7 input tokens and 3 output tokens for each completion.
    asked = sum(usage[side]["requests"] for side in KEYS)
    assert asked + faults.count == requests
    assert sum(usage[side]["retries"] for side in KEYS) == faults.count > 50
    assert sum(usage[side]["tokens_in"] for side in KEYS) == 7 * asked
    assert sum(usage[side]["tokens_out"] for side in KEYS) == 3 * asked
    assert [header[side]["prompt"]["name"] for side in KEYS] == ["agent-1", "user-1"]
    assert header["user"]["spec"] == "openai:m"
    files = [path.read_bytes() for path in Path().rglob("*") if path.is_file()]
    assert len(files) > asked
    assert not any(key.encode() in file for file in files for key in KEYS.values())


def test_agent_model_reads_noisy_and_user_model_reads_original_text() -> None:
    stress = ("--stress", "words,errors=.2,stale=.3")
    _, *here = live("rule", "here.jsonl", *stress)
    replay = Replay(here)
    with serving(Server(replay)) as server:
        options = models(*stress, "--concurrency", "4", url=server.url)
        _, *there = live("openai:rule", "there.jsonl", *options)
    assert replay.wrong_requests == []
    assert list(map(talk_of, there)) == list(map(talk_of, here))
    requests = [body["messages"] for body in server.bodies if "tools" in body]
    said = [m for line in there for m in line["messages"] if m["role"] == "user"]
    read = [m for messages in requests for m in messages if m["role"] == "user"]
    assert any("meant" in message for message in said)
    assert not any("meant" in message for message in read)
    assert {message["content"] for message in read} == {message["content"] for message in said}


@pytest.mark.parametrize("ending", [signal.SIGKILL, signal.SIGINT])
def test_a_killed_run_is_resumed_with_its_cache(ending: signal.Signals) -> None:
    """The process ends while four requests hang after 60 answers."""
    _, *here = live("rule", "here.jsonl")
    is_hanging = threading.Event()
    is_hanging.set()
    hung = threading.Semaphore(0)

    def hang(body: Body) -> str | None:
        if not is_hanging.is_set() or len(server.bodies) <= 60:
            return None
        hung.release()
        return "hang"

    with serving(Server(Replay(here), hang)) as server:
        url = ("--agent-base-url", server.url, "--send-seed")
        options = (*url, "--cache", "cache", "--concurrency", "4")
        command = ["live", "--agent", "openai:rule", *GOALS, "-q", "-o", "run.jsonl", *options]
        process = subprocess.Popen([sys.executable, "-m", "mwzeval", *command])
        for _ in range(4):
            assert hung.acquire(timeout=60)
        process.send_signal(ending)
        code = process.wait(timeout=60)
        assert code == (-ending if ending == signal.SIGKILL else 130)
        assert 1 < len(lines_of("run.jsonl")) < len(here)
        is_hanging.clear()
        _, *there = live("openai:rule", "run.jsonl", *options)
        requests = len(server.bodies)
        live("openai:rule", "again.jsonl", *options)
        assert len(server.bodies) == requests
    assert Path("again.jsonl").read_bytes() == Path("run.jsonl").read_bytes()
    assert list(map(talk_of, there)) == list(map(talk_of, here))


KEY = 'ab/cd"01+2345=key'


def echo(number: int) -> Any:
    """Return an answer or a fault with the key in some place."""
    told = f"Authorization: Bearer {KEY}"
    error = {"error": {"message": told, "code": KEY, "type": told}}
    match number % 12:
        case 1:
            return 503, {"x-echo": KEY}, error
        case 2:
            return 429, {"retry-after": KEY}, told.encode()
        case 3:
            return 400, {}, error
        case 4:
            return 401, {}, error
        case 5:
            call = {"id": KEY, "function": {"name": KEY, "arguments": {KEY: [KEY]}}}
            return completion({"content": told, "tool_calls": [call], "reasoning": KEY})
        case 6:
            said = json.dumps(completion({"content": told})).replace("/", r"\/")
            return said.replace("cd", r"\u0063d").encode()
    whole = completion({"content": f"{told} {json.dumps(KEY)}"}, model=KEY)
    whole["choices"][0]["finish_reason"] = KEY
    return whole


def test_keys_are_absent_from_all_output_and_files(
    capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("MWZEVAL_AGENT_API_KEY", KEY)
    files = [f"{number}.jsonl" for number in range(4)]
    command = ["live", "--agent", "openai:toy", "--goals", "corpus:test:8", "--corpus", "sample"]
    with serving(Server(faults=lambda body: echo(len(server.bodies)))) as server:
        for seed, file in enumerate(files):
            options = ("--agent-base-url", server.url, "--cache", "cache", "--user-turns", "4")
            more = ("-o", file, "--concurrency", "2", "--seed", str(seed), "-f", "json")
            assert main([*command, *options, *more]) in (0, 1)
        assert server.headers[0]["authorization"] == f"Bearer {KEY}"
    for refused in (f"http://me:{KEY}@127.0.0.1/v1", KEY):
        assert main([*command, "--agent-base-url", refused]) == 2
    lines = [line for file in files for line in lines_of(file)[1:]]
    assert {"agent_error", "infrastructure"} <= {line["end"] for line in lines}
    assert any("[key]" in str(line.get("problem")) for line in lines)
    assert any("[key]" in json.dumps(line["messages"]) for line in lines)
    printed = capfd.readouterr()
    written = [path for path in Path().rglob("*") if path.is_file()]
    assert len(written) > 20
    texts = [printed.out, printed.err, *map(str, written)]
    texts += [path.read_bytes().decode("latin-1") for path in written]
    for secret in (KEY, json.dumps(KEY)[1:-1], b64encode(KEY.encode()).decode(), "cd%2201"):
        assert not [text[:200] for text in texts if secret in text]


def says(*contents: str) -> Callable[[Body], Any]:
    """Return the reply of a user with these turns."""

    def reply(body: Body) -> Any:
        own = sum(message["role"] == "assistant" for message in body["messages"])
        return {"role": "assistant", "content": contents[min(own, len(contents) - 1)]}

    return reply


def test_user_models_get_the_goal_but_do_not_determine_success(
    capsys: pytest.CaptureFixture[str],
) -> None:
    Path("mine.txt").write_text("Be a user. Want {goal}.", "utf-8")
    Path("bad.txt").write_text("Be a user.", "utf-8")
    systems = []
    for options in ((), ("--user-prompt", "mine.txt")):
        with serving(Server(says("Hello.", "Thank you!\n[DONE]"))) as server:
            user = (*model("user", server.url), *options)
            assert main(["live", "--agent", "rule", *SINGLE, *user]) == 0
        assert server.bodies[0].keys() == {"model", "messages", "temperature"}
        systems.append(server.bodies[0]["messages"][0]["content"])
        header, _ = lines_of("single.jsonl")
        report = report_of("single.jsonl")
        assert (report["success"]["success"]["total"], report["live"]["complete"]) == (0, 100)
        Path("single.jsonl").unlink()
        capsys.readouterr()
    assert "What you want:\n- " in systems[0]
    assert "{goal}" not in systems[0]
    assert systems[1].startswith("Be a user. Want - ")
    about = header["user"]["prompt"]
    assert about["name"] == "mine"
    assert f"|user:openai:m,prompt=mine@{about['sha']}|" in report["meta"]["scores"][0]["signature"]
    bad = ("--user", "openai:m", "--user-prompt", "bad.txt")
    assert main(["live", "--agent", "rule", *SINGLE, *bad]) == 2
    assert "bad.txt" in capsys.readouterr().err


def test_turn_time_limit_does_not_apply_to_user_models() -> None:
    Path("own.py").write_text("def respond(messages):\n    return 'Hm.'\n", "utf-8")
    with serving(Server(says("Hello.", "Bye.\n[GIVE UP]"), delay=0.5)) as server:
        user = (*model("user", server.url), "--turn-seconds", "0.25")
        assert main(["live", "--agent", "own.py:respond", *SINGLE, *user]) == 0
    _, line = lines_of("single.jsonl")
    assert (line["end"], line["turns"]) == ("user_stop", 2)


@pytest.mark.parametrize(
    ("side", "other", "last"), [("user", "agent", "/bye"), ("agent", "user", "Goodbye.")]
)
def test_human_and_model_can_hold_a_dialogue(
    side: str, other: str, last: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    play = ["play", "multiwoz", "--corpus", "sample", "--goals", "corpus:smp0036", "--as", side]
    monkeypatch.setattr("sys.stdin", io.StringIO(f"Good morning.\n{last}\n"))
    with serving(Server(says("Hello.", "Bye.\n[GIVE UP]"))) as server:
        assert main([*play, *model(other, server.url), "-o", "run.jsonl"]) == 0
    header, line = lines_of("run.jsonl")
    assert line["end"] == "user_stop"
    assert header[side] == {"spec": "human"}
    assert (header[other]["spec"], header[other]["dialogue_seconds"]) == ("openai:m", None)
