"""No key is in anything that is written, whatever servers answer."""

from __future__ import annotations

import json
from base64 import b64encode
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from mwzeval.cli import main
from tests.conversation.endpoint.server import Server, completion, serving
from tests.report.pages import readable

pytestmark = [pytest.mark.integration, pytest.mark.usefixtures("elsewhere")]

KEY = 'ab/cd"01+2345=key'
GOALS = ("--goals", "corpus:test:8", "--corpus", "sample")
AGENT = ("live", "--agent", "openai:toy", *GOALS)


class Echo:
    """Answers and fails with the key in every place that a server can put it."""

    def __init__(self) -> None:
        self.count = 0

    def __call__(self, body: Mapping[str, Any]) -> Any:
        self.count += 1
        told = f"Authorization: Bearer {KEY}"
        error = {"error": {"message": told, "code": KEY, "type": told}}
        match self.count % 12:
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


def test_no_text_and_no_file_has_the_key(capfd: pytest.CaptureFixture[str]) -> None:
    echo = Echo()
    with serving(Server(faults=echo)) as server:
        url = ("--agent-base-url", server.url)
        cache = ("--cache", "cache", "--user-turns", "4")
        for number in range(4):
            options = ("-o", f"{number}.jsonl", "--concurrency", "2", "--seed", str(number))
            assert main([*AGENT, *url, *cache, *options, "-f", "json"]) in (0, 1)
        assert server.headers[0]["authorization"] == f"Bearer {KEY}"
        for refused in (f"http://me:{KEY}@127.0.0.1/v1", f"{KEY}"):
            assert main([*AGENT, "--agent-base-url", refused]) == 2
    lines = [
        json.loads(line)
        for number in range(4)
        for line in Path(f"{number}.jsonl").read_text("utf-8").splitlines()[1:]
    ]
    ends = {line["end"] for line in lines}
    assert {"agent_error", "infrastructure"} <= ends
    assert any("[key]" in str(line.get("problem")) for line in lines)
    assert any("[key]" in json.dumps(line["messages"]) for line in lines)
    files = [f"{number}.jsonl" for number in range(4)]
    for verb in (
        ["evaluate", files[0], "--corpus", "sample", "-o", "report.json"],
        ["report", *files[:2], "--corpus", "sample", "-o", "page.html"],
        ["explain", files[0], "--corpus", "sample"],
        ["compare", *files[:2], "--corpus", "sample"],
    ):
        assert main(verb) in (0, 1), verb
    told = capfd.readouterr()
    written = [path for path in Path().rglob("*") if path.is_file()]
    assert len(written) > 20
    texts = [told.out, told.err, *map(str, written)]
    texts += [readable(path.read_bytes().decode("latin-1")) for path in written]
    secrets = (KEY, json.dumps(KEY)[1:-1], b64encode(KEY.encode()).decode(), "cd%2201")
    for secret in secrets:
        assert not [text[:200] for text in texts if secret in text]


def test_another_key_finds_what_was_asked_for(monkeypatch: pytest.MonkeyPatch) -> None:
    with serving(Server()) as server:
        options = ("--agent-base-url", server.url, "--cache", "cache", "--user-turns", "2", "-q")
        assert main([*AGENT, *options, "-o", "one.jsonl"]) == 0
        count = len(server.bodies)
        monkeypatch.setenv("MWZEVAL_AGENT_API_KEY", "another-key-0123")
        assert main([*AGENT, *options, "-o", "two.jsonl"]) == 0
        assert len(server.bodies) == count > 0
    assert Path("one.jsonl").read_bytes() == Path("two.jsonl").read_bytes()
