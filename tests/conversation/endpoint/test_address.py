"""Which server is asked with which key: one is never sent to a server that it is not for."""

from __future__ import annotations

from argparse import ArgumentParser
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from mwzeval.conversation.completions import PUBLIC_URL, Endpoint, Secrets
from mwzeval.conversation.models import (
    add_model_options,
    add_request_options,
    model_options,
    read_prompt,
)
from mwzeval.errors import InputError, UsageError

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
def test_keys_are_sent_to_the_server_that_they_are_for(
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
def test_what_cannot_be_asked_is_told_without_secrets(options: Mapping[str, Any]) -> None:
    with pytest.raises(UsageError) as raised:
        Endpoint(**{"model": "m", **options})
    assert "secret-word" not in str(raised.value)


def test_short_keys_are_words() -> None:
    assert Secrets(["EMPTY"]).shown("it is EMPTY") == "it is EMPTY"
    assert Secrets(["x" * 8]).shown("it is\n" + "x" * 8) == "it is [key]"
    assert Secrets(["lm-studio"]).shown("LM-studio") == "LM-studio"
    assert Secrets([]).shown("Bearer abcdefghij, sk-abcdefghij") == "[key], [key]"


def options(*given: str) -> Any:
    parser = ArgumentParser()
    add_model_options(parser)
    add_request_options(parser)
    parser.set_defaults(dialogue_seconds=600)
    return model_options(parser.parse_args(given))


def test_options_say_how_a_model_is_asked() -> None:
    chosen = options("--agent-args", '{"max_tokens": 5}', "--agent-base-url", OURS, "--send-seed")
    assert chosen.endpoint("openai:org/m:7b").about == {
        "model": "org/m:7b",
        "host": "ours",
        "arguments": {"max_tokens": 5},
    }
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
def test_options_that_make_no_sense(given: tuple[str, str]) -> None:
    with pytest.raises(UsageError, match=given[0]):
        options(*given)


def test_prompts_are_files(tmp_path: Path) -> None:
    file = tmp_path / "mine-2.txt"
    file.write_text("You want {goal}, not {this}.\n")
    prompt = read_prompt(file)
    assert prompt.filled(goal="a {this}") == "You want a {this}, not {this}."
    assert prompt.about["name"] == "mine-2"
    assert prompt.about != read_prompt(_other(file)).about
    file.write_text(" \n")
    with pytest.raises(InputError, match="mine-2"):
        read_prompt(file)


def _other(file: Path) -> Path:
    other = file.parent / "other" / file.name
    other.parent.mkdir()
    other.write_text("You want {goal}!")
    return other
