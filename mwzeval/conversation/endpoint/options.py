"""What is said of a model behind an endpoint when a run is called, and what comes of it."""

from __future__ import annotations

import json
from argparse import Namespace, _ActionsContainer
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from mwzeval.arguments import InputFile
from mwzeval.conversation.endpoint.address import PREFIX, Endpoint
from mwzeval.conversation.endpoint.cache import FolderCache
from mwzeval.conversation.endpoint.client import REQUEST_SECONDS, Client
from mwzeval.conversation.endpoint.prompts import Prompt, read_prompt
from mwzeval.conversation.pool import DIALOGUE_SECONDS
from mwzeval.errors import UsageError, shorten


def is_endpoint(name: str) -> bool:
    """Tell whether a name means a model behind an endpoint."""
    return name.startswith(PREFIX)


@dataclass(frozen=True, slots=True)
class ModelOptions:
    """How the model of one side is asked; `side` is `agent` or `user`.

    `prompt` is a file, None for the one that comes along. `cache` is a folder.
    """

    side: str = "agent"
    base_url: str | None = None
    arguments: Mapping[str, Any] = field(default_factory=dict)
    prompt: str | None = None
    cache: str | None = None
    sends_seed: bool = False
    request_seconds: float = REQUEST_SECONDS
    dialogue_seconds: float | None = DIALOGUE_SECONDS

    def endpoint(self, name: str) -> Endpoint:
        """Return the endpoint that a name means. Raises `UsageError`."""
        model = name[len(PREFIX) :]
        return Endpoint.of_side(self.side, model, self.base_url, self.arguments)

    def client(self, name: str) -> Client:
        """Return a client. Raises `UsageError`, `MwzevalError` for a cache that cannot be."""
        endpoint = self.endpoint(name)
        cache = None if self.cache is None else FolderCache(self.cache, endpoint.base_url)
        return Client(endpoint, seconds=self.request_seconds, cache=cache)

    def prompt_or(self, own: Path, *filled: str) -> Prompt:
        """Return the prompt that was chosen, or the one that comes along.

        Raises `UsageError` where it has no place for what is `filled` into it.
        """
        return read_prompt(own if self.prompt is None else self.prompt, *filled)

    def about(self, name: str, prompt: Prompt) -> dict[str, Any]:
        """Return what the header of a run says of this side."""
        return {
            "spec": name,
            **self.endpoint(name).about,
            "prompt": dict(prompt.about),
            "sends_seed": self.sends_seed,
            "dialogue_seconds": self.dialogue_seconds,
        }


def add_model_options(
    parser: _ActionsContainer, side: str = "agent", *, named_by: str | None = None
) -> None:
    """Add the options of the model of a side, which the option `named_by` names (`--SIDE`)."""
    option = named_by or f"--{side}"
    group = parser.add_argument_group(
        f"{side} behind an endpoint",
        f"{option} {PREFIX}MODEL asks a server that speaks OpenAI's chat completions; its key is "
        f"MWZEVAL_{side.upper()}_API_KEY in the environment, or OPENAI_API_KEY where the URL is "
        "that of OPENAI_BASE_URL or the public one",
    )
    group.add_argument(
        f"--{side}-base-url",
        metavar="URL",
        help=f"such as http://localhost:8000/v1 (default: MWZEVAL_{side.upper()}_BASE_URL, "
        "OPENAI_BASE_URL, the public one)",
    )
    group.add_argument(
        f"--{side}-args",
        metavar="JSON",
        help='arguments of all requests, such as {"max_tokens": 512}; null leaves one out '
        "(default: temperature 0)",
    )
    group.add_argument(
        f"--{side}-prompt",
        type=InputFile,
        metavar="FILE",
        help="the system message (default: one comes along)",
    )


def add_request_options(parser: _ActionsContainer) -> None:
    """Add the options of requests to whatever model."""
    parser.add_argument(
        "--cache",
        metavar="FOLDER",
        help="keep what models answer: the same request of the same trial is not made again",
    )
    parser.add_argument(
        "--send-seed",
        action="store_true",
        help="requests have a seed, which follows from that of the dialogue",
    )
    parser.add_argument(
        "--request-seconds",
        type=float,
        default=REQUEST_SECONDS,
        metavar="S",
        help="a request that takes longer is made again (default: %(default)g)",
    )


def model_options(arguments: Namespace, side: str = "agent") -> ModelOptions:
    """Return what the options say of a side. Raises `UsageError`."""
    for name in ("request_seconds", "dialogue_seconds"):
        seconds = getattr(arguments, name)
        if seconds is not None and not seconds > 0:
            option = name.replace("_", "-")
            raise UsageError(f"--{option} is above 0, not {seconds:g}")
    return ModelOptions(
        side,
        getattr(arguments, f"{side}_base_url"),
        _json_object(getattr(arguments, f"{side}_args"), f"--{side}-args"),
        getattr(arguments, f"{side}_prompt"),
        arguments.cache,
        arguments.send_seed,
        arguments.request_seconds,
        arguments.dialogue_seconds,
    )


def refuse_without_model(arguments: Namespace, side: str) -> None:
    """Raise `UsageError` where there are options of a model, and this side is none."""
    if is_endpoint(getattr(arguments, side)):
        return
    for name in ("base_url", "args", "prompt"):
        if getattr(arguments, f"{side}_{name}") is not None:
            option = f"--{side}-{name.replace('_', '-')}"
            raise UsageError(f"{option} is about --{side} {PREFIX}MODEL: leave it out")


def _json_object(text: str | None, option: str) -> Mapping[str, Any]:
    if text is None:
        return {}
    try:
        value = json.loads(text)
        json.dumps(value, ensure_ascii=False).encode()  # half of a surrogate pair is no text
    except (ValueError, RecursionError):
        value = None
    if not isinstance(value, dict):
        raise UsageError(
            f'{option} is a JSON object, such as {{"max_tokens": 512}}, not {shorten(text)}'
        )
    return value
