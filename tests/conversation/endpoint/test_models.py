"""Endpoints, keys, the cache, options and prompts of models, and models as users."""

from __future__ import annotations

import base64
import json
import signal
import subprocess
import sys
from argparse import ArgumentParser
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mwzeval.conversation.completions import (
    PUBLIC_URL,
    Completion,
    Endpoint,
    FolderCache,
    Secrets,
    request_of,
    tools_text,
)
from mwzeval.conversation.loop import ToolSession, converse
from mwzeval.conversation.models import (
    DONE,
    GIVES_UP,
    ModelUser,
    add_model_options,
    add_request_options,
    model_options,
    read_prompt,
    written_turn,
)
from mwzeval.conversation.trajectory import Planned, Record, Trajectory
from mwzeval.errors import InputError, MwzevalError, UsageError
from tests.conversation.toy import call_of

KEY = "local-key-0123456789abcdef"
OURS, THEIRS = "http://ours/v1", "http://theirs/v1"


@pytest.mark.parametrize(
    ("given", "environment", "url", "key"),
    [
        (None, {}, PUBLIC_URL, None),
        (None, {"OPENAI_API_KEY": "k"}, PUBLIC_URL, "k"),
        (None, {"OPENAI_BASE_URL": THEIRS + "/", "OPENAI_API_KEY": "k"}, THEIRS, "k"),
        (None, {"MWZEVAL_AGENT_BASE_URL": OURS, "OPENAI_API_KEY": "k"}, OURS, None),
        (OURS, {"OPENAI_BASE_URL": THEIRS, "OPENAI_API_KEY": "k"}, OURS, None),
        (OURS, {"MWZEVAL_AGENT_API_KEY": " k\n", "OPENAI_API_KEY": "l"}, OURS, "k"),
        (OURS, {"MWZEVAL_USER_API_KEY": "k"}, OURS, None),
        (None, {"MWZEVAL_AGENT_API_KEY": "k", "OPENAI_API_KEY": "l"}, PUBLIC_URL, "k"),
    ],
)
def test_a_key_is_sent_only_to_its_own_server(
    given: str | None, environment: Mapping[str, str], url: str, key: str | None
) -> None:
    found = Endpoint.of_side("agent", "m", given, environment=environment)
    assert (found.base_url, found.key) == (url, key)


@pytest.mark.parametrize(
    "options",
    [
        {"model": ""},
        {"base_url": "localhost:8000"},
        {"base_url": "ftp://localhost"},
        {"base_url": "http://"},
        {"base_url": "http://host:port"},
        {"base_url": "http://me:secret-word@host/v1"},
        {"base_url": "http://host/v1 HTTP/1.1"},
        {"base_url": "http://hóst/v1"},
        {"key": "a\r\nb"},
        {"key": "schlüssel"},
        {"arguments": {"messages": []}},
        {"arguments": {"stream": True}},
    ],
    ids=str,
)
def test_invalid_endpoints_are_refused_without_secrets(options: Mapping[str, Any]) -> None:
    with pytest.raises(UsageError) as raised:
        Endpoint(**{"model": "m", **options})
    assert "secret-word" not in str(raised.value)


FORMS = {
    "plain": KEY,
    "reversed": KEY[::-1],
    "upper case": KEY.upper(),
    "hex": KEY.encode().hex().upper(),
    "hex with blanks": KEY.encode().hex(" "),
    "base64 of the reversed key": base64.b64encode(KEY[::-1].encode()).decode(),
    "reversed base64": base64.b64encode(KEY.encode()).decode()[::-1],
    "base64 in lines": base64.encodebytes(
        b"authorization: a long line before, Bearer " + KEY.encode()
    ).decode(),
    "percent": "".join(f"%{ord(c):02x}" for c in KEY),
    "html": "".join(f"&#{ord(c)};" for c in KEY),
    "JSON escapes": "".join(f"\\u{ord(c):04x}" for c in KEY),
    "Python escapes": "".join(f"\\x{ord(c):02x}" for c in KEY),
    "with spaces": " ".join(KEY),
    "with invisible characters": "\u200b".join(KEY),
}


@pytest.mark.parametrize("form", FORMS)
def test_a_key_is_hidden_in_all_forms_also_in_nested_json(form: str) -> None:
    secret, secrets = FORMS[form], Secrets([KEY])
    assert KEY not in repr(Endpoint("m", key=KEY))
    for _ in range(4):
        message = {"content": [f"x{secret}y"], f"x{secret}": 1}
        hidden = json.dumps(secrets.hide_in(message))
        assert hidden.count("[key]") == 2
        assert FORMS[form] not in hidden
        assert json.dumps(FORMS[form])[1:-1] not in hidden
        secret = json.dumps({"a": secret})


@given(st.binary(max_size=9), st.binary(max_size=9))
def test_a_key_within_base64_is_hidden(before: bytes, behind: bytes) -> None:
    text = base64.b64encode(before + KEY.encode() + behind).decode()
    assert "[key]" in Secrets([KEY]).hide(text)


@pytest.mark.parametrize("text", ["\\" * 10**5, "local-key-" * 10**4, " " * 10**5, "%25" * 10**5])
def test_texts_with_a_part_of_the_key_are_not_changed(text: str) -> None:
    assert Secrets([KEY]).hide(text) == text


def test_short_keys_are_not_hidden_but_strings_in_key_format_are() -> None:
    assert Secrets(["EMPTY"]).shown("it is EMPTY") == "it is EMPTY"
    assert Secrets(["x" * 8]).shown("it is\n" + "x" * 8) == "it is [key]"
    assert Secrets(["lm-studio"]).shown("LM-studio") == "LM-studio"
    assert Secrets([]).shown("Bearer abcdefghij, sk-abcdefghij") == "[key], [key]"


FOUND = Completion({"role": "assistant", "content": "ä\ud800"}, "stop", {"in": 1, "ms": 2})


def test_the_cache_depends_on_server_request_and_trial(tmp_path: Path) -> None:
    folder = tmp_path / "new" / "folder"
    cache = FolderCache(folder, OURS)
    cache.put("{}", 1, FOUND)
    assert cache.get("{}", 1) == FolderCache(folder, OURS).get("{}", 1) == FOUND
    assert cache.get("{}", 2) is None
    assert cache.get("{} ", 1) is None
    assert FolderCache(folder, THEIRS).get("{}", 1) is None


def test_equal_requests_have_equal_serializations() -> None:
    said = {"role": "user", "content": "hi"}
    reordered = {"content": "hi", "role": "user", "usage": {"ms": 1}}
    tools = tools_text([{"a": 1, "b": 2}])
    assert tools_text([{"b": 2, "a": 1}]) == tools
    first = request_of("m", [said], tools, {"x": 1, "y": 2, "z": None})
    assert first == request_of("m", [reordered], tools, {"y": 2, "x": 1})
    others = [
        request_of("n", [said], tools, {"x": 1, "y": 2}),
        request_of("m", [said, said], tools, {"x": 1, "y": 2}),
        request_of("m", [said], "", {"x": 1, "y": 2}),
        request_of("m", [said], tools, {"x": 1, "y": 3}),
    ]
    assert len({first, *others}) == 5


@pytest.mark.parametrize(
    "damaged", ["", "{", "[]", "{}", '{"message": 1, "finish_reason": null, "usage": {}}']
)
def test_a_damaged_file_of_the_cache_is_replaced(damaged: str, tmp_path: Path) -> None:
    cache = FolderCache(tmp_path, OURS)
    cache.put("{}", 1, FOUND)
    (file,) = tmp_path.rglob("*.json")
    file.write_text(damaged)
    assert cache.get("{}", 1) is None
    cache.put("{}", 1, FOUND)
    assert cache.get("{}", 1) == FOUND


def test_threads_share_a_cache(tmp_path: Path) -> None:
    cache = FolderCache(tmp_path, OURS)

    def put_and_get(number: int) -> Completion | None:
        request = str(number % 7)
        cache.put(request, 1, Completion({"content": request * 5000}, None, {"ms": 1}))
        return cache.get(request, 1)

    with ThreadPoolExecutor(16) as pool:
        found = [
            completion and completion.message for completion in pool.map(put_and_get, range(200))
        ]
    assert found == [{"content": str(number % 7) * 5000} for number in range(200)]
    assert sum(path.is_file() for path in tmp_path.rglob("*")) == 7


KILLED = """
import resource, signal, sys
from mwzeval.conversation.completions import Completion, FolderCache
folder, url, request = sys.argv[1:]
signal.signal(signal.SIGXFSZ, signal.SIG_DFL)
resource.setrlimit(resource.RLIMIT_FSIZE, (100_000, resource.RLIM_INFINITY))
FolderCache(folder, url).put(request, 1, Completion({"content": "x" * 1_000_000}, None, {}))
"""
"""The system kills this program when it has written a tenth of the completion."""


@pytest.mark.integration
@pytest.mark.parametrize("request_", ["{}", "new"])
def test_a_killed_process_does_not_change_the_cache(request_: str, tmp_path: Path) -> None:
    cache = FolderCache(tmp_path, OURS)
    cache.put("{}", 1, FOUND)
    command = [sys.executable, "-c", KILLED, str(tmp_path), OURS, request_]
    assert subprocess.run(command, check=False).returncode == -signal.SIGXFSZ
    assert cache.get("{}", 1) == FOUND
    assert cache.get("new", 1) is None
    cache.put(request_, 1, FOUND)
    assert cache.get(request_, 1) == FOUND


def test_a_folder_that_cannot_be_created_is_an_error(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(MwzevalError, match="file"):
        FolderCache(tmp_path / "file", OURS)


def options(*given: str) -> Any:
    parser = ArgumentParser()
    add_model_options(parser)
    add_request_options(parser)
    parser.set_defaults(dialogue_seconds=600)
    return model_options(parser.parse_args(given))


def test_options_determine_the_endpoint() -> None:
    chosen = options("--agent-args", '{"max_tokens": 5}', "--agent-base-url", OURS, "--send-seed")
    about = {"model": "org/m:7b", "host": "ours", "arguments": {"max_tokens": 5}}
    assert chosen.endpoint("openai:org/m:7b").about == about
    assert chosen.sends_seed


@pytest.mark.parametrize(
    "given",
    [
        ("--agent-args", "{"),
        ("--agent-args", "[]"),
        ("--agent-args", '{"a": "\\ud800"}'),
        ("--request-seconds", "0"),
    ],
)
def test_invalid_options_are_refused(given: tuple[str, str]) -> None:
    with pytest.raises(UsageError, match=given[0]):
        options(*given)


def test_prompts_are_read_from_files_with_placeholders(tmp_path: Path) -> None:
    file = tmp_path / "mine-2.txt"
    file.write_text("You want {goal}, not {this}.\n")
    prompt = read_prompt(file, "goal")
    assert prompt.filled(goal="a {this}") == "You want a {this}, not {this}."
    assert prompt.about["name"] == "mine-2"
    with pytest.raises(UsageError, match="other"):
        read_prompt(file, "other")
    file.write_text("You want {goal}!")
    assert prompt.about != read_prompt(file).about
    file.write_text(" \n")
    with pytest.raises(InputError, match="mine-2"):
        read_prompt(file)


@pytest.mark.parametrize(
    ("content", "expected"),
    [
        ("I need a hotel.", ("I need a hotel.", None)),
        ("Thanks, bye!\n[DONE]", ("Thanks, bye!", DONE)),
        ("Thanks, bye!\r\n\r\n  **[DONE]**  \r\n", ("Thanks, bye!", DONE)),
        ("[GIVE UP]\nGoodbye then.", ("Goodbye then.", GIVES_UP)),
        ("[DONE]", ("", DONE)),
        ("Is it [DONE] yet?", ("Is it [DONE] yet?", None)),
        ("Thanks! [DONE]", ("Thanks! [DONE]", None)),
        ("[done]", ("[done]", None)),
        ("[DONE]\n[GIVE UP]", ("", DONE)),
        ("  \n ", ("", None)),
        ("A hotel.\nAssistant: Which area?\nUser: North.\n[DONE]", ("A hotel.", None)),
        ("A hotel.\n\n**AI Assistant:** Which area?", ("A hotel.", None)),
        ("Bye.\n[DONE]\nAgent: Goodbye!", ("Bye.", DONE)),
        ("Assistant: How can I help?", ("", None)),
        ("User: I need a hotel.", ("I need a hotel.", None)),
        ("I told the assistant: a hotel.", ("I told the assistant: a hotel.", None)),
        ("One thing: a hotel.", ("One thing: a hotel.", None)),
        ("<think>\nA hotel.\n[DONE]\n</think>\n\nA hotel, please.", ("A hotel, please.", None)),
        ("I should be brief.</think>Bye.\n[DONE]", ("Bye.", DONE)),
        ("<think>What do I", ("", None)),
        ("I think so.", ("I think so.", None)),
        ("First line.\nSecond line.", ("First line.\nSecond line.", None)),
    ],
)
def test_tokens_on_a_separate_line_end_the_dialogue(
    content: str, expected: tuple[str, str | None]
) -> None:
    assert written_turn(content) == expected


def talk(*messages: Mapping[str, Any], reason: str = "stop") -> tuple[Trajectory, list[Any]]:
    """Return the dialogue of a user with these completions, and the requests of the user."""
    left = iter(messages)
    requests: list[Any] = []
    record = Record()

    def complete(request: Sequence[Mapping[str, Any]]) -> Completion:
        requests.append(list(request))
        return Completion(next(left), reason, {"in": 7, "ms": 1})

    ending = converse(
        lambda: ModelUser(complete, "You want a hotel.", lambda *_: ["rude"], record.message),
        lambda: ToolSession(lambda messages: "Hm.", None, record.message),
        record=record,
    )
    return record.trajectory(Planned("a", None), ending), requests


@pytest.mark.parametrize(
    ("message", "reason", "problem"),
    [
        ({"content": ""}, "stop", "empty"),
        ({"content": None}, "stop", "empty"),
        ({"content": "  \n"}, "length", "length"),
        ({"content": None, "tool_calls": [call_of("find_hotel", "{}")]}, "stop", "find_hotel"),
        ({"content": "Assistant: How can I help?"}, "stop", "agent"),
        ({"content": "[DONE]"}, "stop", "[DONE]"),
        ({"content": 7}, "stop", "string"),
    ],
)
def test_a_message_without_a_turn_is_an_error_of_the_user_and_has_a_cost(
    message: dict[str, Any], reason: str, problem: str
) -> None:
    dialogue, requests = talk(message, reason=reason)
    assert (dialogue.end, dialogue.turns, len(requests)) == ("user_error", 0, 1)
    assert problem in str(dialogue.problem)
    assert [message["usage"]["in"] for message in dialogue.messages] == [7]


@pytest.mark.parametrize(
    ("contents", "reason", "said", "token"),
    [
        (["A hotel.", "Thanks!\n[DONE]"], "stop", ["A hotel.", "Thanks!"], DONE),
        # A message with only a token is no turn, but it has a cost.
        (["A hotel.", "[GIVE UP]"], "stop", ["A hotel.", ""], GIVES_UP),
        (["A hotel.\nAssistant: Which?", "Bye.\n[DONE]"], "stop", ["A hotel.", "Bye."], DONE),
        (["I want a", "Bye.\n[DONE]"], "length", ["I want a", "Bye."], DONE),
    ],
)
def test_the_agent_receives_the_text_of_a_model_before_its_token(
    contents: list[str], reason: str, said: list[str], token: str
) -> None:
    dialogue, requests = talk(*({"content": content} for content in contents), reason=reason)
    messages = dialogue.messages
    user = [message for message in messages if message["role"] == "user"]
    assert [message["content"] for message in user] == said
    assert all(message["usage"]["in"] == 7 for message in user)
    assert user[0].get("finish_reason", "stop") == reason
    assert (dialogue.end, dialogue.turns) == ("user_stop", sum(map(bool, said)))
    assert (messages[-1]["role"] == "assistant") == bool(said[-1])
    assert dialogue.report == {"complete": token == DONE, "token": token, "faults": ["rude"]}
    system, opening, *exchanged = requests[1]
    assert (system["role"], opening["role"]) == ("system", "user")
    assert exchanged == [
        {"role": "assistant", "content": said[0]},
        {"role": "user", "content": "Hm."},
    ]
