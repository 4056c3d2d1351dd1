"""Agents and users that are models behind an endpoint with OpenAI's chat completions API.

The system message of a model that plays a user contains the goal. After the system message, the
model sees only the utterances, with exchanged roles: the role `assistant` for its own utterances,
and the role `user` for the agent's utterances. The model does not see the agent's tool calls and
their results.
"""

from __future__ import annotations

import json
import re
from argparse import Namespace, _ActionsContainer
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from hashlib import sha256
from pathlib import Path
from typing import Any, NamedTuple

from mwzeval.arguments import InputFile
from mwzeval.conversation.agents import MakeAgent, NotAUserError
from mwzeval.conversation.completions import (
    CUT_OFF,
    PREFIX,
    REQUEST_SECONDS,
    Client,
    Completion,
    Endpoint,
    FolderCache,
)
from mwzeval.conversation.loop import TOOL_ROUNDS, ToolSession
from mwzeval.conversation.messages import (
    ASSISTANT_ROLE,
    USER_ROLE,
    AgentTurn,
    Message,
    answer_messages,
    user_message,
)
from mwzeval.conversation.pool import DIALOGUE_SECONDS
from mwzeval.conversation.protocols import ConversationError, Tools
from mwzeval.conversation.trajectory import Planned, Record
from mwzeval.errors import UsageError, shorten
from mwzeval.files.reading import read_text

GOAL = "goal"
"""The placeholder in a user's prompt that is replaced by the text of the goal."""
OPENING = "The assistant is listening. Write your first message."
"""Replaces the agent's message before the user's first turn, because the templates of many models
require that roles alternate and start with a user."""
DONE, GIVES_UP = "[DONE]", "[GIVE UP]"
"""The tokens with which a simulated user ends a dialogue: the goal is met, or the user gives up."""
_LINE = r"^[ \t*_`>#]*{}[ \t*_`]*$\n?"
_TOKEN = re.compile(_LINE.format(r"(\[DONE\]|\[GIVE UP\])"), re.MULTILINE)
_OTHER_SIDE = re.compile(
    r"^[ \t*_`>#]*(?:the |ai |ai-|virtual )?(?:assistant|agent|system|chatbot|bot)[ \t*_`]*:",
    re.MULTILINE | re.IGNORECASE,
)
_THOUGHT = re.compile(r"\A(?:.*</think(?:ing)?>|\s*<think(?:ing)?>.*)", re.DOTALL)
"""Matches the reasoning of a model, even if its opening tag is in the template or its closing tag
is cut off."""
_OWN_LABEL = re.compile(
    r"\A[\s*_`>#]*(?:user|visitor|customer|human)[ \t*_`]*:[ \t*_`]*", re.IGNORECASE
)

Complete = Callable[[Sequence[Message]], Completion]
Faults = Callable[[Sequence[Message], str | None], Sequence[Any]]
"""A function that returns a simulated user's errors as JSON, given the user's messages and the
token that ended the dialogue."""


def is_endpoint(name: str) -> bool:
    """Return whether a name refers to a model behind an endpoint."""
    return name.startswith(PREFIX)


@dataclass(frozen=True, slots=True)
class Prompt:
    """The system message of a model; `name` is the name of its file without the extension."""

    name: str
    text: str

    @property
    def about(self) -> Mapping[str, str]:
        """Return the entry for the header of a run: the name and a checksum of the prompt."""
        return {"name": self.name, "sha": sha256(self.text.encode()).hexdigest()[:8]}

    def filled(self, **values: str) -> str:
        """Return the text with each `{name}` replaced by its value; other braces are unchanged."""
        text = self.text
        for name, value in values.items():
            text = text.replace(f"{{{name}}}", value)
        return text


def read_prompt(path: str | Path, *filled: str) -> Prompt:
    """Read a prompt from a file, which must contain a placeholder for each name in `filled`.

    Raises `InputError` if the file cannot be read, and `UsageError` if a placeholder is missing.
    """
    prompt = Prompt(Path(path).stem, read_text(path).strip())
    for name in filled:
        if f"{{{name}}}" not in prompt.text:
            raise UsageError(f"{path} has no {{{name}}}, the placeholder for the {name}")
    return prompt


@dataclass(frozen=True, slots=True)
class ModelOptions:
    """The settings of the model for one side; `side` is `agent` or `user`.

    `prompt` is the file of the prompt, or None for the built-in prompt. `cache` is a folder.
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
        """Return the endpoint with this name. Raises `UsageError` if the name is invalid."""
        model = name[len(PREFIX) :]
        return Endpoint.of_side(self.side, model, self.base_url, self.arguments)

    def client(self, name: str) -> Client:
        """Return a client.

        Raises `UsageError` if an option is invalid, and `MwzevalError` if the cache cannot be
        created.
        """
        endpoint = self.endpoint(name)
        cache = None if self.cache is None else FolderCache(self.cache, endpoint.base_url)
        return Client(
            endpoint,
            seconds=self.request_seconds,
            dialogue_seconds=self.dialogue_seconds,
            sends_seed=self.sends_seed,
            cache=cache,
        )

    def prompt_or(self, own: Path, *filled: str) -> Prompt:
        """Return the chosen prompt, or the built-in prompt `own`.

        Raises `UsageError` if the prompt lacks a placeholder for one of the names in `filled`.
        """
        return read_prompt(own if self.prompt is None else self.prompt, *filled)

    def about(self, name: str, prompt: Prompt) -> dict[str, Any]:
        """Return the entries for this side in the header of a run."""
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
    """Add the options for the model of a side (agent or user), which `named_by` selects."""
    option = named_by or f"--{side}"
    add = parser.add_argument_group(
        f"{side}: model behind an endpoint",
        f"{option} {PREFIX}MODEL uses a server with OpenAI's chat completions API. The key is "
        f"MWZEVAL_{side.upper()}_API_KEY in the environment, or OPENAI_API_KEY if the URL is "
        "OPENAI_BASE_URL or the public one",
    ).add_argument
    url = (
        "URL of the server, such as http://localhost:8000/v1 (default: "
        f"MWZEVAL_{side.upper()}_BASE_URL, else OPENAI_BASE_URL, else the public one)"
    )
    more = (
        'arguments of all requests, such as {"max_tokens": 512}; null removes an argument '
        "(default: temperature 0)"
    )
    prompt = "file with the system message (default: a built-in one)"
    add(f"--{side}-base-url", metavar="URL", help=url)
    add(f"--{side}-args", metavar="JSON", help=more)
    add(f"--{side}-prompt", type=InputFile, metavar="FILE", help=prompt)


def add_request_options(parser: _ActionsContainer) -> None:
    """Add the options for requests, which are the same for all models."""
    add = parser.add_argument
    cache = (
        "cache folder for the answers of models: an identical request of the same trial is "
        "answered from it"
    )
    seed = "send a seed with each request; it is derived from the seed of the dialogue"
    seconds = (
        "time limit of a request, in seconds; after that, the request is repeated (default: "
        "%(default)g)"
    )
    add("--cache", metavar="FOLDER", help=cache)
    add("--send-seed", action="store_true", help=seed)
    add("--request-seconds", type=float, default=REQUEST_SECONDS, metavar="S", help=seconds)


def model_options(arguments: Namespace, side: str = "agent") -> ModelOptions:
    """Return the settings for one side from the command line. Raises `UsageError`."""
    if not arguments.request_seconds > 0:
        raise UsageError(f"--request-seconds must be above 0, not {arguments.request_seconds:g}")
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
    """Raise `UsageError` if model options are given for a side that is not a model."""
    if is_endpoint(getattr(arguments, side)):
        return
    for name in ("base_url", "args", "prompt"):
        if getattr(arguments, f"{side}_{name}") is not None:
            option = f"--{side}-{name.replace('_', '-')}"
            raise UsageError(f"{option} only applies to --{side} {PREFIX}MODEL: leave it out")


def _json_object(text: str | None, option: str) -> Mapping[str, Any]:
    if text is None:
        return {}
    try:
        value = json.loads(text)
        json.dumps(value, ensure_ascii=False).encode()  # fails for lone surrogates
    except (ValueError, RecursionError):
        value = None
    if not isinstance(value, dict):
        raise UsageError(
            f'{option} must be a JSON object, such as {{"max_tokens": 512}}, not {shorten(text)}'
        )
    return value


def endpoint_agent(client: Client, prompt: str, tool_rounds: int = TOOL_ROUNDS) -> MakeAgent:
    """Return a factory for agents that call a model; `prompt` is the system message."""
    system: list[Message] = [{"role": "system", "content": prompt}] if prompt else []

    def partner(planned: Planned, tools: Tools | None, record: Record) -> ToolSession:
        complete = client.of_dialogue(planned, "agent", () if tools is None else tools.schema)

        def respond(messages: list[Message]) -> Message:
            completion = complete(system + messages)
            return completion.charge(dict(completion.message))

        return ToolSession(respond, tools, record.message, tool_rounds=tool_rounds)

    return partner


class ModelUser:
    """A simulated user for one dialogue; the function `complete` writes its turns.

    Exceptions of `complete` are not caught; a turn without text raises `NotAUserError`. User
    messages that the agent does not receive are passed to `unheard`, because their cost is also
    counted.
    """

    def __init__(
        self,
        complete: Complete,
        system: str,
        faults: Faults,
        unheard: Callable[[Message], object],
    ) -> None:
        self._complete = complete
        self._faults = faults
        self._unheard = unheard
        self._request = [{"role": "system", "content": system}, user_message(OPENING)]
        self._messages: list[Message] = []
        self._token: str | None = None

    @property
    def is_done(self) -> bool:
        """Whether the user has finished."""
        return self._token is not None

    def begin(self) -> Message:
        """Return the user's first message. Raises `NotAUserError` if the message is empty."""
        message = self._turn()
        if message is None:
            raise NotAUserError(f"the user's message only contains {self._token}")
        return message

    def answer(self, heard: AgentTurn, /) -> Message | None:
        """Return the user's reply to an agent turn; None if the user leaves without a reply."""
        self._messages += heard.messages
        self._request.append(user_message(heard.text))
        return self._turn()

    def report(self) -> dict[str, Any]:
        """Return the user's `faults`, and the `token` with which the user ended the dialogue.

        `complete` is true if the user considers the goal met, which does not affect scores.
        `faults` are errors of the user that rules have found.
        """
        return {
            "complete": self._token == DONE,
            "token": self._token,
            "faults": list(self._faults(self._messages, self._token)),
        }

    def _turn(self) -> Message | None:
        completion = self._complete(self._request)
        message = completion.charge({"role": USER_ROLE, "content": ""})
        try:
            text, self._token = self._written(completion)
        except ConversationError:
            self._unheard(message)
            raise
        if not text:
            self._unheard(message)
            return None
        message["content"] = text
        self._messages.append(message)
        self._request.append({"role": ASSISTANT_ROLE, "content": text})
        return message

    def _written(self, completion: Completion) -> Written:
        (message,) = answer_messages(completion.message, 0)
        if "tool_calls" in message:
            called = message["tool_calls"][0]["function"]["name"]
            raise NotAUserError(
                f"the user called a function ({called}), but users have no functions"
            )
        written = written_turn(message["content"])
        if not (written.text or written.token):
            why = "its message is empty"
            if completion.finish_reason == CUT_OFF:
                why = "its message was cut off at the maximum length"
            elif message["content"]:
                why = "it contains only reasoning, or speaks as the agent"
            raise NotAUserError(f"the user says nothing: {why}")
        return written


class Written(NamedTuple):
    """A user turn: the text for the agent, and the token that ends the dialogue (or None)."""

    text: str
    token: str | None


def written_turn(content: str) -> Written:
    """Return the user turn in a message of the user's model; the text of the turn may be empty.

    A token that is alone on a line ends the dialogue; elsewhere, the token is ordinary text. Some
    models continue with a reply of the agent; this reply and all text after it are removed.
    Reasoning that a server leaves in the content of a message is also removed.
    """
    content = content.replace("\r\n", "\n").replace("\r", "\n")
    content = _THOUGHT.sub("", content)
    other = _OTHER_SIDE.search(content)
    own = _OWN_LABEL.sub("", content[: other.start()] if other else content)
    tokens = _TOKEN.findall(own)
    return Written(_TOKEN.sub("", own).strip(), tokens[0] if tokens else None)
