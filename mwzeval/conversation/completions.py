"""Chat completions: endpoint and key, requests with retries, and the cache.

No text that this module returns, raises or writes contains the API key.
"""

from __future__ import annotations

import json
import math
import os
import re
import threading
import time
from base64 import b64encode
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from email.utils import parsedate_to_datetime
from functools import partial
from hashlib import sha256
from html import unescape
from pathlib import Path
from random import Random
from typing import Any
from urllib.parse import quote, urlsplit

from mwzeval.conversation.connections import (
    Answer,
    Connections,
    NoAnswerError,
    UnreachableError,
)
from mwzeval.conversation.messages import ASSISTANT_ROLE, Message
from mwzeval.conversation.protocols import AnswerError, InfrastructureError, LimitError
from mwzeval.conversation.trajectory import Planned
from mwzeval.errors import InputError, MwzevalError, UsageError, shorten
from mwzeval.files.reading import read_bytes
from mwzeval.files.writing import named_where_unwritable, write_atomically
from mwzeval.text import json_value
from mwzeval.version import __version__

PREFIX = "openai:"
"""The prefix of agent and user names that refer to a model behind an endpoint."""
PUBLIC_URL = "https://api.openai.com/v1"
PATH = "/chat/completions"
OURS = ("messages", "model", "n", "stream", "stream_options", "tools")
"""Keys of a request that the conversation sets; custom arguments cannot change them."""
DEFAULTS: Mapping[str, Any] = {"temperature": 0}
CUT_OFF = "length"
"""The finish reason of a message that reached the length limit."""
REQUEST_SECONDS = 60.0
RETRIES = 5
FIRST_RETRIES = 1
"""The number of retries before a server has answered for the first time; it is small because a
wrong URL is likelier than a server restart."""
SHORTEST, LONGEST = 1.0, 30.0
"""The shortest and the longest delay before a retry, in seconds."""
MOST_ASKED_FOR = 60.0
"""The longest delay that a server may request, in seconds."""
CACHE_FORMAT = 1
"""The version of the cache, which must increase if equal requests would get different
completions."""
SHORTEST_SECRET = 8
"""Keys shorter than this are not hidden, because local servers use keys such as EMPTY."""
LONG_SECRET = 16
"""The minimum length of keys that are also hidden if letter case or white space differs; shorter
keys could occur in such text by chance."""
HIDDEN = "[key]"
_SECRETS = re.compile(r"\bsk-[\w-]{8,}|(?i:\bbearer\s+)[\w.~+/=-]{8,}")
_ESCAPE = re.compile(
    r"(?<!\\)\\+(?:u([0-9a-f]{4})|x([0-9a-f]{2})|[nrt])|%(?:25)*([0-9a-f]{2})", re.IGNORECASE
)
_BETWEEN = re.compile(r"[\\\s\u00ad\u200b-\u200f\u2060\ufeff]+")
"""Matches backslashes, white space and invisible characters."""
_PASSING = frozenset((408, 409, 425, 429))
_ACCESS = frozenset((401, 402, 403, 404, 405, 407))
"""Status codes that mean a wrong key, model or URL, or missing credit; these are not errors of the
agent."""
_FULL = re.compile(
    r"context[_ ]?(length|window|size)|maximum context|max_model_len|n_ctx|"
    r"(prompt|input|messages?|request)\b.{0,40}\btoo (long|large)|too many (input )?tokens|"
    r"reduce the length|max_new_tokens",
    re.IGNORECASE | re.DOTALL,
)
_SENT_KEYS = ("role", "content", "tool_calls", "tool_call_id")
_SHOWN = 300
_json = json.JSONEncoder(sort_keys=True, separators=(",", ":")).encode


class Secrets:
    """Secrets that no text may contain in any encoding; very short secrets are ignored."""

    def __init__(self, words: Iterable[str]) -> None:
        long = [word for word in words if len(word) >= SHORTEST_SECRET]
        self._forms = tuple(form for word in long for form in _forms(word))
        self._plain = tuple(_plain(form) for form in self._forms if len(form) >= LONG_SECRET)

    def hide(self, text: str) -> str:
        """Return a text without secrets; hide the whole text if a secret is escaped or split."""
        for form in self._forms:
            text = text.replace(form, HIDDEN)
        if self._plain:
            plain = _plain(text)
            if any(form in plain for form in self._plain):
                return HIDDEN
        return text

    def shown(self, text: str) -> str:
        """Return a text as one line, without the secrets and other strings that look like keys."""
        return _SECRETS.sub(HIDDEN, " ".join(self.hide(text).split()))

    def hide_in(self, value: Any) -> Any:
        """Return a JSON value without the secrets, which are also removed from keys."""
        if isinstance(value, dict):
            return {self.hide_in(key): self.hide_in(inside) for key, inside in value.items()}
        if isinstance(value, list):
            return [self.hide_in(inside) for inside in value]
        return self.hide(value) if isinstance(value, str) else value


def _forms(secret: str) -> tuple[str, ...]:
    """Return a secret in plain, quoted, hex and base64 form, and the reverse of each form."""
    forms = [quote(secret, safe="")]
    for text in (secret, secret[::-1]):
        raw = text.encode()
        forms += [text, raw.hex(), raw.hex().upper()]
        for before in range(3):
            # Within a longer text, a byte can have three positions in a group of four base64
            # letters; the first and last letters also encode bits of adjacent bytes.
            letters = b64encode(bytes(before) + raw).decode().rstrip("=")
            is_shared = (before + len(raw)) % 3 > 0
            inner = letters[(0, 2, 3)[before] : len(letters) - is_shared]
            forms += [inner, inner.translate(str.maketrans("+/", "-_"))]
    return tuple(dict.fromkeys([*forms, *(form[::-1] for form in forms)]))


def _plain(text: str) -> str:
    """Return a text in lower case without white space, with JSON, URL and HTML escapes resolved."""
    text = _ESCAPE.sub(
        lambda found: chr(int(found[found.lastindex] if found.lastindex else "20", 16)),
        unescape(text),
    )
    return _BETWEEN.sub("", text).lower()


@dataclass(frozen=True, slots=True)
class Endpoint:
    """A model behind a server; every request to the model has these `arguments`.

    An argument with the value None is omitted, even if it has a default (`temperature`, 0). `repr`
    and comparisons ignore the key. Raises `UsageError` for invalid values.
    """

    model: str
    base_url: str = PUBLIC_URL
    key: str | None = field(default=None, repr=False, compare=False)
    arguments: Mapping[str, Any] = field(default_factory=dict)

    def __post_init__(self) -> None:
        url, key = self.base_url, self.key or ""
        try:
            parts = urlsplit(url)
            _ = parts.port  # the port is validated on access
            is_url = parts.scheme in ("http", "https") and bool(parts.hostname)
            has_password = parts.username is not None or parts.password is not None
        except ValueError:
            is_url = has_password = False
        taken = sorted(set(OURS).intersection(self.arguments))
        for is_wrong, problem in (
            (not self.model, f"the name of a model behind an endpoint must be {PREFIX}MODEL"),
            # No part of the URL is shown, because it may contain a password.
            (
                not is_url or not (url.isascii() and url.isprintable()) or " " in url,
                "a base URL must begin with http:// or https:// and a host, must contain only "
                "ASCII characters and no spaces, and usually ends in /v1",
            ),
            (
                has_password,
                "the base URL contains a password: set the key in the environment instead",
            ),
            (taken, f"{''.join(taken[:1])} cannot be set, because the conversation determines it"),
            (
                not (key.isascii() and key.isprintable()),
                "the key in the environment contains invalid characters",
            ),
        ):
            if is_wrong:
                raise UsageError(problem)

    @property
    def host(self) -> str:
        """The host and port of the server."""
        parts = urlsplit(self.base_url)
        return f"{parts.hostname}:{parts.port}" if parts.port else str(parts.hostname)

    @property
    def about(self) -> dict[str, Any]:
        """The entry in the header of a run: model, host and arguments."""
        return {"model": self.model, "host": self.host, "arguments": dict(self.arguments)}

    @classmethod
    def of_side(
        cls,
        side: str,
        model: str,
        base_url: str | None = None,
        arguments: Mapping[str, Any] | None = None,
        environment: Mapping[str, str] = os.environ,
    ) -> Endpoint:
        """Return the endpoint of the `agent` or `user`, with its key from the environment.

        `MWZEVAL_AGENT_BASE_URL` and `MWZEVAL_AGENT_API_KEY` (or `MWZEVAL_USER_…`) take precedence
        over `OPENAI_BASE_URL` and `OPENAI_API_KEY`. `OPENAI_API_KEY` is never sent to a URL that
        comes from an option or variable of this package. Raises `UsageError`.
        """
        ours = f"MWZEVAL_{side.upper()}_"
        url = base_url or environment.get(f"{ours}BASE_URL")
        key = environment.get(f"{ours}API_KEY")
        if not url:
            url = environment.get("OPENAI_BASE_URL") or PUBLIC_URL
            key = key or environment.get("OPENAI_API_KEY")
        return cls(model, url.rstrip("/"), (key or "").strip() or None, dict(arguments or {}))


class ContextError(AnswerError):
    """The conversation exceeds the context length of the model."""


@dataclass(frozen=True, slots=True)
class Completion:
    """The message of a model, and its token usage.

    `usage` has `in` and `out` (tokens, if the server counts them), `cached` (input tokens from the
    server's cache), `ms`, and `retries` if there were any. `finish_reason` is None if the server
    does not send it.
    """

    message: Mapping[str, Any]
    finish_reason: str | None
    usage: Mapping[str, int]

    def charge(self, message: Message) -> Message:
        """Return the message with its token usage, and with a mark if the message was cut off."""
        cut = {"finish_reason": CUT_OFF} if self.finish_reason == CUT_OFF else {}
        return {**message, "usage": dict(self.usage), **cut}


class FolderCache:
    """A cache for completions of one server, with one file for each request and trial.

    The file name depends on the server, the request and the trial, so several runs and processes
    can share a folder. Files are written atomically; damaged files are ignored and replaced. Raises
    `MwzevalError` if the folder cannot be created.
    """

    def __init__(self, folder: str | Path, base_url: str) -> None:
        self._folder = Path(folder)
        self._base_url = base_url
        with named_where_unwritable(folder):
            self._folder.mkdir(parents=True, exist_ok=True)

    def get(self, request: str, trial: int) -> Completion | None:
        """Return the cached completion of a request, None if it is missing or damaged."""
        try:
            raw = json.loads(read_bytes(self._place(request, trial)))
            found = Completion(raw["message"], raw["finish_reason"], raw["usage"])
        except (InputError, ValueError, RecursionError, TypeError, KeyError):
            return None
        shapes = isinstance(found.message, dict), isinstance(found.usage, dict)
        return found if all(shapes) else None

    def put(self, request: str, trial: int, completion: Completion) -> None:
        """Store a completion. Raises `MwzevalError` if the completion cannot be written."""
        place = self._place(request, trial)
        with named_where_unwritable(place):
            place.parent.mkdir(exist_ok=True)
        write_atomically(place, json.dumps(asdict(completion)))

    def _place(self, request: str, trial: int) -> Path:
        key = json.dumps([CACHE_FORMAT, self._base_url, trial, request])
        name = sha256(key.encode()).hexdigest()
        return self._folder / name[:2] / f"{name}.json"


class Clock:
    """A clock that can also wait; `stop` ends all waiting."""

    def __init__(self) -> None:
        self._stopped = threading.Event()

    def now(self) -> float:
        """Return the time in seconds since an arbitrary moment."""
        return time.monotonic()

    def wait(self, seconds: float) -> bool:
        """Wait for `seconds` or until the clock is stopped; return whether it was stopped."""
        return self._stopped.wait(seconds)

    def stop(self) -> None:
        """End all waiting."""
        self._stopped.set()


class Client:
    """Requests completions from a model; thread-safe, with one connection for each thread.

    Each calling thread has one request at a time. `seconds` limits the time of a request, and
    `dialogue_seconds` limits the time of a dialogue (None: no limit). With `sends_seed`, each
    request has a seed that depends on the seed of the run. `close` ends all requests.
    """

    def __init__(
        self,
        endpoint: Endpoint,
        *,
        seconds: float = REQUEST_SECONDS,
        dialogue_seconds: float | None = None,
        sends_seed: bool = False,
        cache: FolderCache | None = None,
        clock: Clock | None = None,
    ) -> None:
        self.endpoint = endpoint
        self._seconds = seconds
        self._dialogue_seconds = dialogue_seconds
        self._sends_seed = sends_seed
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
        self._server = f"the server {endpoint.host}"

    def of_dialogue(
        self, planned: Planned, side: str, tools: Sequence[Mapping[str, Any]] = ()
    ) -> Callable[[Sequence[Message]], Completion]:
        """Begin a dialogue, and return the function that requests the completions of a side."""
        seconds = self._dialogue_seconds
        seed = planned.number if side == "agent" else planned.number_of(side)
        return partial(
            self.complete,
            tools=tools_text(tools),
            rng=Random(f"{planned.key}/{side}"),
            trial=planned.trial,
            deadline=math.inf if seconds is None else self.clock.now() + seconds,
            more={"seed": seed} if self._sends_seed else {},
        )

    def complete(
        self,
        messages: Sequence[Message],
        tools: str = "",
        *,
        rng: Random,
        trial: int = 1,
        deadline: float = math.inf,
        more: Mapping[str, Any] | None = None,
    ) -> Completion:
        """Return the completion of `messages`, from the cache if it has one for this trial.

        `tools` is the schema as text (see `tools_text`). `rng` draws the delays before retries,
        `deadline` is a time of the clock, and `more` has arguments for this request only.

        Raises `ContextError` or `AnswerError` if the agent caused the error. Raises
        `InfrastructureError` for other errors, and if the deadline passes because the server fails
        or does not answer. Raises `LimitError` if the deadline has already passed. No error text
        contains the key.
        """
        arguments = {**DEFAULTS, **self.endpoint.arguments, **(more or {})}
        request = request_of(self.endpoint.model, messages, tools, arguments)
        if self._cache is not None:
            known = self._cache.get(request, trial)
            if known is not None:
                return known
        has_spoken = any(message["role"] == ASSISTANT_ROLE for message in messages)
        completion = self._asked(request.encode(), rng, deadline, has_spoken)
        if self._cache is not None:
            try:
                self._cache.put(request, trial, completion)
            except MwzevalError as error:  # such as a full disk: not an error of the agent
                raise InfrastructureError(str(error)) from None
        return completion

    def close(self) -> None:
        """End all requests, and refuse new requests."""
        self.clock.stop()
        self._connections.close()

    def _asked(self, body: bytes, rng: Random, deadline: float, has_spoken: bool) -> Completion:
        server = self._server
        for retry in range(RETRIES + 1):
            begin = self.clock.now()
            seconds = min(self._seconds, deadline - begin)
            if seconds <= 0:
                if retry:
                    break
                raise LimitError("the time limit of the dialogue is used up")
            answer = None
            try:
                answer = self._connections.post(body, self._headers, seconds)
                self._has_answered = True
                ms = round(1000 * (self.clock.now() - begin))
                found = self._read(answer, {"ms": ms, "retries": retry}, has_spoken)
                if isinstance(found, Completion):
                    return found
                problem = f"answers {found}"
            except UnreachableError as error:
                problem = f"cannot be reached: {self._shown(str(error))}"
                if retry >= FIRST_RETRIES and not self._has_answered:
                    break
            except NoAnswerError as error:
                problem = f"does not answer: {self._shown(str(error))}"
            if retry == RETRIES:
                break
            wait = _seconds_to_wait(retry + 1, answer, rng)
            if self.clock.now() + wait >= deadline:
                # The server used up the time limit, so the agent cannot be judged.
                raise InfrastructureError(
                    f"{server} {problem}, and the time limit of the dialogue is used up"
                )
            if self.clock.wait(wait):
                raise InfrastructureError("the run has ended")
        raise InfrastructureError(f"{server} {problem} (asked {retry + 1} times)")

    def _read(self, answer: Answer, taken: Mapping[str, int], has_spoken: bool) -> Completion | str:
        """Return the completion in an answer, or a description of the problem if a retry may help.

        Before the model `has_spoken`, a rejected request is not an error of the agent: the server
        may lack support for tools, the model or an argument.
        """
        text = answer.body.decode(errors="replace")
        value = json_value(text)
        is_error = isinstance(value, dict) and not value.get("choices")
        error = value.get("error") if is_error else None
        if isinstance(error, dict):
            parts = [error.get(key) for key in ("message", "code", "type")]
            text = " ".join(str(part) for part in parts if part is not None)
        elif error is not None:
            text = str(error)
        status = answer.status
        is_fine = 200 <= status < 300
        if is_fine and error is None and (completion := self._completion(value, taken)):
            return completion
        shown = f"{answer.status}: {self._shown(text)}".removesuffix(": ")
        if is_fine and error is None:
            return shown
        if is_fine:  # some proxy servers report errors with status 200
            code = str(error.get("code") if isinstance(error, dict) else None)
            status = int(code) if re.fullmatch(r"[345]\d\d", code) else 500
        if (status in (400, 413, 422) or status >= 500) and _FULL.search(text):
            raise ContextError(
                f"the conversation exceeds the context length of the model ({shown})"
            )
        if status in _PASSING or status >= 500:
            return shown
        if status in _ACCESS or status < 400 or not has_spoken:
            noticed = ""
            if answer.status in (401, 403) and self.endpoint.key is None:
                noticed = " (no key was sent)"
            # The path is not shown, because the URLs of some gateways contain keys.
            is_usual = urlsplit(self.endpoint.base_url).path.endswith("/v1")
            if answer.status in (404, 405) and not is_usual:
                noticed = " (the URL does not end in /v1, as most URLs do)"
            raise InfrastructureError(
                f"{self._server} answers {shown}; check the URL, model, key, arguments and "
                f"server settings{noticed}"
            )
        raise AnswerError(f"{self._server} answers {shown}")

    def _completion(self, value: Any, taken: Mapping[str, int]) -> Completion | None:
        """Return the completion in a JSON answer, without the key; None if there is no completion.

        The caller checks the content of the message.
        """
        try:
            choice = self._secrets.hide_in(value["choices"][0])
            message = choice["message"]
        except (TypeError, KeyError, IndexError):
            return None
        if not isinstance(message, dict):
            return None
        found: Message = {"role": ASSISTANT_ROLE, "content": message.get("content")}
        if found["content"] is None and isinstance(message.get("refusal"), str):
            found["content"] = message["refusal"]
        if message.get("tool_calls"):
            found["tool_calls"] = message["tool_calls"]
        reason = choice.get("finish_reason")
        used = {key: count for key, count in taken.items() if count or key == "ms"}
        usage = {**_tokens(value.get("usage")), **used}
        return Completion(found, reason if isinstance(reason, str) else None, usage)

    def _shown(self, text: str) -> str:
        return shorten(self._secrets.shown(text), _SHOWN)


def request_of(
    model: str, messages: Sequence[Message], tools: str, arguments: Mapping[str, Any]
) -> str:
    """Return the body of a request; equal requests have equal text."""
    if tools:
        arguments = {"tool_choice": "auto", **arguments}
    body = {key: value for key, value in arguments.items() if value is not None}
    begin = _json({**body, "model": model})[:-1]
    end = f',"tools":{tools}}}' if tools else "}"
    return f'{begin},"messages":{_json([_sent(message) for message in messages])}{end}'


def tools_text(tools: Sequence[Mapping[str, Any]]) -> str:
    """Return the function schema as text for requests; empty without functions."""
    return _json(tools) if tools else ""


def _sent(message: Message) -> Message:
    """Return a message as servers receive it, without internal keys and without empty content."""
    sent = {key: message[key] for key in _SENT_KEYS if key in message}
    if sent.get("tool_calls") and not sent.get("content"):
        sent["content"] = None
    return sent


def _tokens(counted: Any) -> dict[str, int]:
    if not isinstance(counted, dict):
        return {}
    details = counted.get("prompt_tokens_details")
    cached = details.get("cached_tokens") if isinstance(details, dict) else None
    tokens = {"in": counted.get("prompt_tokens"), "out": counted.get("completion_tokens")}
    if type(cached) is int and cached > 0:
        tokens["cached"] = cached
    return {key: count for key, count in tokens.items() if type(count) is int}


def _seconds_to_wait(retry: int, answer: Answer | None, rng: Random) -> float:
    """Return the delay in seconds before the `retry`-th retry, counted from 1.

    The delay doubles with each retry; a random factor of 1 to 2 lets parallel clients retry at
    different times. If the server requests a delay, the result is this delay plus at most one
    second.
    """
    headers: Mapping[str, str] = {} if answer is None else answer.headers
    text = headers.get("retry-after", "").strip()
    try:
        if re.fullmatch(r"\d{1,9}(\.\d*)?", text):
            asked = float(text)
        else:  # a date, which is compared with the server's own clock
            then = parsedate_to_datetime(text) - parsedate_to_datetime(headers["date"])
            asked = max(0.0, then.total_seconds())
    except (ValueError, TypeError, KeyError):
        return min(LONGEST, SHORTEST * 2.0 ** (retry - 1) * (1 + rng.random()))
    return min(asked, MOST_ASKED_FOR - 1) + rng.random()
