"""One chat completion: the request, whoever has to ask again, and what came of it."""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from random import Random
from typing import Any, Protocol
from urllib.parse import urlsplit

from mwzeval.conversation.endpoint.address import (
    DEFAULTS,
    PATH,
    Endpoint,
    Secrets,
)
from mwzeval.conversation.endpoint.connections import (
    Answer,
    Connections,
    NoAnswerError,
    UnreachableError,
)
from mwzeval.conversation.endpoint.faults import (
    ACCESS,
    CONTEXT,
    PASSING,
    RETRIES,
    error_text,
    fault_of,
    seconds_to_wait,
)
from mwzeval.conversation.messages import ASSISTANT_ROLE, Message
from mwzeval.conversation.protocols import AnswerError, InfrastructureError, LimitError
from mwzeval.errors import MwzevalError, shorten
from mwzeval.version import __version__

REQUEST_SECONDS = 60.0
FIRST_RETRIES = 1
"""Where no request was answered yet, it is more likely the URL than a server that starts anew."""
_KEPT_OF_MESSAGES = ("role", "content", "tool_calls", "tool_call_id")
_SHOWN = 300


class ContextError(AnswerError):
    """The conversation is longer than the model reads."""


class Cache(Protocol):
    """Completions of requests that were made before."""

    def get(self, request: str, trial: int) -> Completion | None:
        """Return what came of a request, None if it was not made."""

    def put(self, request: str, trial: int, completion: Completion) -> None:
        """Keep what came of a request."""


@dataclass(frozen=True, slots=True)
class Completion:
    """The message of a model, and what it has cost.

    `usage` has `in` and `out` (tokens, where the server counts them; `cached` of those in came from
    its cache), `ms`, and `retries` where
    there were some. `finish_reason` is None where the server does not say.
    """

    message: Mapping[str, Any]
    finish_reason: str | None
    usage: Mapping[str, int]


class Clock:
    """The time, and how it is waited for. `stop` ends all waiting."""

    def __init__(self) -> None:
        self._stopped = threading.Event()

    def now(self) -> float:
        """Return seconds from any moment on."""
        return time.monotonic()

    def wait(self, seconds: float) -> bool:
        """Wait; return whether it was stopped meanwhile."""
        return self._stopped.wait(seconds)

    def stop(self) -> None:
        """End all waiting."""
        self._stopped.set()


class Client:
    """Asks a model for completions, from any thread: each has a connection of its own.

    How many requests there are at a time is how many threads ask. `close` ends all of them.
    """

    def __init__(
        self,
        endpoint: Endpoint,
        *,
        seconds: float = REQUEST_SECONDS,
        cache: Cache | None = None,
        clock: Clock | None = None,
    ) -> None:
        self.endpoint = endpoint
        self._seconds = seconds
        self._cache = cache
        self.clock = Clock() if clock is None else clock
        parts, mark, query = endpoint.base_url.partition("?")
        self._connections = Connections(f"{parts.rstrip('/')}{PATH}{mark}{query}")
        self._headers = {
            "Accept": "application/json",
            "Content-Type": "application/json",
            "User-Agent": f"mwzeval/{__version__}",
        }
        if endpoint.key is not None:
            self._headers["Authorization"] = f"Bearer {endpoint.key}"
        self._secrets = Secrets((endpoint.key or "", *self._connections.secrets))
        self._has_answered = False

    def complete(
        self,
        messages: Sequence[Message],
        tools: str = "",
        *,
        rng: Random,
        trial: int = 1,
        deadline: float | None = None,
        more: Mapping[str, Any] | None = None,
        texts: Texts | None = None,
    ) -> Completion:
        """Return the completion of `messages`, from the cache if it was made for this trial before.

        `tools` is the text of their schema (`tools_text`), which is the same for many requests;
        `texts` are those of the messages of a conversation that grows.
        `rng` draws how long is waited before a request is made again, `deadline` is a time of the
        clock, `more` are arguments of this request alone.

        Raises `ContextError` and `AnswerError` for what the agent has done, `InfrastructureError`
        for what it has not, which includes a deadline that is reached while a server errs or does
        not answer. Raises `LimitError` where no time is left to ask at all. No text has the key.
        """
        arguments = {**DEFAULTS, **self.endpoint.arguments, **(more or {})}
        request = request_of(self.endpoint.model, messages, tools, arguments, texts)
        if self._cache is not None:
            known = self._cache.get(request, trial)
            if known is not None:
                return known
        has_spoken = any(message["role"] == ASSISTANT_ROLE for message in messages)
        completion = self._asked(request.encode(), rng, deadline, has_spoken)
        if self._cache is not None:
            try:
                self._cache.put(request, trial, completion)
            except MwzevalError as error:  # a full disk is nothing that the agent has done
                raise InfrastructureError(str(error)) from None
        return completion

    def close(self) -> None:
        """End all requests, and allow no other."""
        self.clock.stop()
        self._connections.close()

    def _asked(
        self, body: bytes, rng: Random, deadline: float | None, has_spoken: bool
    ) -> Completion:
        for retry in range(RETRIES + 1):
            begin = self.clock.now()
            seconds = self._seconds if deadline is None else min(self._seconds, deadline - begin)
            if seconds <= 0 and retry:
                break
            if seconds <= 0:
                raise LimitError("no time is left for the dialogue")
            answer = None
            try:
                answer = self._connections.post(body, self._headers, seconds)
                self._has_answered = True
                completion = self._checked(answer, begin, retry, has_spoken)
                if completion is not None:
                    return completion
                told = self._shown(error_text(answer))
                problem = f"answers {answer.status}{told and ': '}{told}"
            except UnreachableError as error:
                problem = f"cannot be reached: {self._shown(str(error))}"
                if retry >= FIRST_RETRIES and not self._has_answered:
                    break
            except NoAnswerError as error:
                problem = f"does not answer: {self._shown(str(error))}"
            if retry == RETRIES:
                break
            wait = seconds_to_wait(retry + 1, answer, rng)
            if deadline is not None and self.clock.now() + wait >= deadline:
                # The server has used up the time, not what the agent says: nobody can judge it.
                raise InfrastructureError(
                    f"{self._place} {problem}, and no time is left for the dialogue"
                )
            if self.clock.wait(wait):
                raise InfrastructureError("the run has ended")
        raise InfrastructureError(f"{self._place} {problem} (asked {retry + 1} times)")

    def _checked(
        self, answer: Answer, begin: float, retries: int, has_spoken: bool
    ) -> Completion | None:
        """Return the completion in an answer, None where another time there may be one.

        What is refused before the model `has_spoken` is no fault of what it has said: the server
        was started without tools, say, or knows another model or no such argument.
        """
        fault = fault_of(answer)
        if fault is None:
            ms = round(1000 * (self.clock.now() - begin))
            text = answer.body.decode(errors="replace")
            return completion_of(text, ms, retries, self._secrets)
        if fault == PASSING:
            return None
        told = f"{answer.status}: {self._shown(error_text(answer))}".removesuffix(": ")
        if fault == CONTEXT:
            raise ContextError(f"the conversation is longer than the model reads ({told})")
        if fault == ACCESS or not has_spoken:
            raise InfrastructureError(
                f"{self._place} answers {told}; check URL, model, key and arguments, and how the "
                f"server was started{self._noticed(answer.status)}"
            )
        raise AnswerError(f"{self._place} answers {told}")

    def _noticed(self, status: int) -> str:
        """Return what is unusual about the URL or the key that a server has refused."""
        if status in (401, 403) and self.endpoint.key is None:
            return " (no key was sent)"
        # The path itself is not told: there are gateways whose paths have keys.
        if status in (404, 405) and not urlsplit(self.endpoint.base_url).path.endswith("/v1"):
            return " (the URL does not end in /v1, as most do)"
        return ""

    @property
    def _place(self) -> str:
        return f"the server {self.endpoint.host}"

    def _shown(self, text: str) -> str:
        text = self._secrets.hide(text)
        return shorten(self.endpoint.hide(" ".join(text.split())), _SHOWN)


class Texts:
    """The JSON texts of messages, each made once: a conversation is sent as often as it grows."""

    def __init__(self) -> None:
        self._known: dict[int, tuple[Message, str]] = {}

    def of(self, message: Message) -> str:
        """Return the text of a message, which has not changed since it was asked for first."""
        known = self._known.get(id(message))
        if known is None:
            # The message is kept, so that no other has its id.
            known = self._known[id(message)] = message, _json(_sent(message))
        return known[1]


def request_of(
    model: str,
    messages: Sequence[Message],
    tools: str,
    arguments: Mapping[str, Any],
    texts: Texts | None = None,
) -> str:
    """Return the body of a request: the same text for the same request."""
    if tools:
        arguments = {"tool_choice": "auto", **arguments}
    body = {key: value for key, value in arguments.items() if value is not None}
    begin = _json({**body, "model": model})[:-1]
    text_of = (texts or Texts()).of
    parts = [begin, ',"messages":[', ",".join(map(text_of, messages)), "]"]
    if tools:
        parts += [',"tools":', tools]
    return "".join([*parts, "}"])


def tools_text(tools: Sequence[Mapping[str, Any]]) -> str:
    """Return the schema of functions as requests have it, empty where there are none."""
    return _json(tools) if tools else ""


def completion_of(
    text: str, ms: int, retries: int, secrets: Secrets | None = None
) -> Completion | None:
    """Return the completion in the text of an answer, None where there is none.

    What the message says and calls is looked at by those who ask; here it is only found, and
    `secrets` are hidden.
    """
    try:
        value = json.loads(text)
        choice = value["choices"][0]
        if secrets is not None:
            choice = _without(choice, secrets)
        message = choice["message"]
        if not isinstance(message, dict):
            return None
    except (ValueError, RecursionError, TypeError, KeyError, IndexError):
        return None
    found: dict[str, Any] = {"role": "assistant", "content": message.get("content")}
    if found["content"] is None and isinstance(message.get("refusal"), str):
        found["content"] = message["refusal"]
    if message.get("tool_calls"):
        found["tool_calls"] = message["tool_calls"]
    reason = choice.get("finish_reason")
    counted = value.get("usage")
    usage = {
        ours: counted[theirs]
        for ours, theirs in (("in", "prompt_tokens"), ("out", "completion_tokens"))
        if isinstance(counted, dict) and type(counted.get(theirs)) is int
    }
    details = counted.get("prompt_tokens_details") if isinstance(counted, dict) else None
    cached = details.get("cached_tokens") if isinstance(details, dict) else None
    if type(cached) is int and cached > 0:
        usage["cached"] = cached
    usage["ms"] = ms
    if retries:
        usage["retries"] = retries
    return Completion(found, reason if isinstance(reason, str) else None, usage)


def _without(value: Any, secrets: Secrets) -> Any:
    """Return a JSON value without these secrets, in keys, too."""
    if isinstance(value, dict):
        return {_without(key, secrets): _without(inside, secrets) for key, inside in value.items()}
    if isinstance(value, list):
        return [_without(inside, secrets) for inside in value]
    return secrets.hide(value) if isinstance(value, str) else value


_json = json.JSONEncoder(sort_keys=True, separators=(",", ":")).encode


def _sent(message: Message) -> Message:
    """Return a message as servers want it: nothing of what is only kept, and no empty content."""
    sent = {key: message[key] for key in _KEPT_OF_MESSAGES if key in message}
    if sent.get("tool_calls") and not sent.get("content"):
        sent["content"] = None
    return sent
