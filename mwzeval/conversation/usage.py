"""What the models of a dialogue have used, read from the `usage` of its messages, and its price.

Messages of the role assistant are of the agent's model, those of the user of the user's model. A
message with `usage` is a request that was answered: `{"in", "out", "ms", "cached"?, "retries"?}`,
or with the names that servers use, `prompt_tokens` and `completion_tokens`, or `input_tokens` and
`output_tokens`. What a server does not count is not known, and never 0.

Prices are US dollars per million tokens: `{"MODEL": {"in": 0.15, "out": 0.6, "cached_in": 0.075}}`;
without `cached_in`, tokens that the server had in its cache cost as much as others.
"""

from __future__ import annotations

import json
import math
from argparse import _ActionsContainer
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from hashlib import sha256
from pathlib import Path
from typing import Any

from mwzeval.arguments import InputFile
from mwzeval.conversation.messages import ASSISTANT_ROLE, Message, is_user_message
from mwzeval.conversation.trajectory import Trajectory
from mwzeval.errors import did_you_mean, shorten
from mwzeval.files.reading import RepeatedKeys, read_json
from mwzeval.scores.findings import Findings, found, repeated

AGENT, USER = "agent", "user"
SIDES = (AGENT, USER)
USAGE = "usage"
CUT_OFF = "length"
"""The `finish_reason` of a message that was longer than it may be."""
_TOKENS_IN = ("in", "prompt_tokens", "input_tokens")
_TOKENS_OUT = ("out", "completion_tokens", "output_tokens")
_REQUESTS = ("requests", "calls")
_MOST = 1e12
"""More of anything in a dialogue is no number that was counted."""


@dataclass(frozen=True, slots=True)
class Usage:
    """What a model has used; of several dialogues it is the sum.

    `tokens_in`, `tokens_out` and those `cached` (they are among `tokens_in`) are of the requests
    that are not `uncounted`. `retries` are requests that were made again, beside `requests`;
    `cut_off` are messages that were longer than they may be. `turns` has the milliseconds that
    each turn took, of those of which it is known.
    """

    requests: int = 0
    uncounted: int = 0
    tokens_in: int = 0
    tokens_out: int = 0
    cached: int = 0
    retries: int = 0
    cut_off: int = 0
    turns: tuple[float, ...] = ()

    @property
    def is_counted(self) -> bool:
        """Whether the tokens of all requests are known."""
        return not self.uncounted

    @property
    def is_known(self) -> bool:
        """Whether the tokens of any request are known, or there was none."""
        return self.uncounted < self.requests or not self.requests

    @staticmethod
    def total(parts: Iterable[Usage]) -> Usage:
        """Return the sum of all parts."""
        kept = list(parts)
        return Usage(
            sum(part.requests for part in kept),
            sum(part.uncounted for part in kept),
            sum(part.tokens_in for part in kept),
            sum(part.tokens_out for part in kept),
            sum(part.cached for part in kept),
            sum(part.retries for part in kept),
            sum(part.cut_off for part in kept),
            tuple(ms for part in kept for ms in part.turns),
        )


def usages_of(dialogues: Mapping[str, Trajectory]) -> dict[str, dict[str, Usage]]:
    """Return side → name of the dialogue → usage, of the sides that have used anything.

    Where a side has usage in some dialogues, its messages in others are requests not counted.
    """
    used = {name: usage_of(dialogue) for name, dialogue in dialogues.items()}
    usages: dict[str, dict[str, Usage]] = {}
    for side in SIDES:
        if any(side in sides for sides in used.values()):
            usages[side] = {}
            for name, sides in used.items():
                count = 0 if side in sides else len(_messages_of(dialogues[name].messages, side))
                usages[side][name] = sides.get(side, Usage(count, uncounted=count))
    return usages


def usage_of(dialogue: Trajectory) -> dict[str, Usage]:
    """Return the usage of each side of a dialogue that has any.

    That is of its messages, or of the line (`usage`, of the agent where it names no side).
    """
    usages: dict[str, Usage] = {}
    for side in SIDES:
        messages = _messages_of(dialogue.messages, side)
        cut_off = sum(message.get("finish_reason") == CUT_OFF for message in messages)
        requests = [message for message in messages if isinstance(message.get(USAGE), Mapping)]
        if requests:
            turns = _milliseconds(dialogue.messages, requests)
            parts = (_of_tokens(message[USAGE], 1) for message in requests)
            usages[side] = Usage.total((*parts, Usage(cut_off=cut_off, turns=turns)))
        elif (raw := _of_line(dialogue.more.get(USAGE), side)) is not None:
            count = _first(raw, _REQUESTS)
            used = _of_tokens(raw, len(messages) if count is None else count)
            if used.is_counted:
                usages[side] = Usage.total((used, Usage(cut_off=cut_off)))
    return usages


def _messages_of(messages: Iterable[Message], side: str) -> list[Message]:
    if side == USER:
        return [message for message in messages if is_user_message(message)]
    return [message for message in messages if message.get("role") == ASSISTANT_ROLE]


def _of_tokens(raw: Mapping[str, Any], requests: int) -> Usage:
    tokens_in, tokens_out = _first(raw, _TOKENS_IN), _first(raw, _TOKENS_OUT)
    retries = _count(raw.get("retries")) or 0
    if tokens_in is None or tokens_out is None:
        return Usage(requests, uncounted=requests, retries=retries)
    details = raw.get("prompt_tokens_details")
    cached = _count(raw.get("cached"))
    if cached is None and isinstance(details, Mapping):
        cached = _count(details.get("cached_tokens"))
    return Usage(requests, 0, tokens_in, tokens_out, min(cached or 0, tokens_in), retries)


def _of_line(raw: Any, side: str) -> Mapping[str, Any] | None:
    """Return what a line says that a side has used; None where it does not count tokens."""
    if not isinstance(raw, Mapping):
        return None
    if any(isinstance(raw.get(name), Mapping) for name in SIDES):
        raw = raw.get(side)
    elif side != AGENT:
        return None
    names = (_TOKENS_IN, _TOKENS_OUT)
    is_counted = isinstance(raw, Mapping) and all(_first(raw, each) is not None for each in names)
    return raw if is_counted else None


def _milliseconds(messages: Sequence[Message], requests: Sequence[Message]) -> tuple[float, ...]:
    """Return how long each turn took in which all requests say it."""
    asked = {id(message) for message in requests}
    turns: list[list[float | None]] = [[]]
    for message in messages:
        if is_user_message(message):
            turns.append([])
        if id(message) in asked:
            ms = message[USAGE].get("ms", message.get("ms"))
            is_known = type(ms) in (int, float) and 0 <= ms <= _MOST
            turns[-1].append(float(ms) if is_known else None)
    return tuple(
        math.fsum(ms for ms in turn if ms is not None)
        for turn in turns
        if turn and None not in turn
    )


def _first(raw: Mapping[str, Any], names: Iterable[str]) -> int | None:
    return next((count for name in names if (count := _count(raw.get(name))) is not None), None)


def _count(value: Any) -> int | None:
    return value if type(value) is int and 0 <= value <= _MOST else None


IN, OUT, CACHED = "in", "out", "cached_in"
KEYS = (IN, OUT, CACHED)
EXPECTED = '{"MODEL": {"in": USD per million tokens, "out": …, "cached_in": …}}'
_MILLION = 1e6


@dataclass(frozen=True, slots=True)
class Price:
    """US dollars per million tokens; `cached` is of tokens read from the server's cache."""

    tokens_in: float
    tokens_out: float
    cached: float

    def of(self, usage: Usage) -> float:
        """Return US dollars for the tokens that are counted."""
        fresh = usage.tokens_in - usage.cached
        dollars = fresh * self.tokens_in + usage.cached * self.cached
        return (dollars + usage.tokens_out * self.tokens_out) / _MILLION


@dataclass(frozen=True, slots=True)
class Prices:
    """The prices of models by name, and the checksum of all of them, of eight digits."""

    models: Mapping[str, Price] = field(default_factory=dict)
    sha: str = ""


def add_prices(parser: _ActionsContainer) -> None:
    """Add the option that names a file of prices."""
    parser.add_argument(
        "--prices",
        type=InputFile,
        metavar="FILE",
        help='JSON: what the models of live dialogues cost, {"MODEL": {"in": USD per million '
        'tokens, "out": …, "cached_in": …}}',
    )


def read_prices(path: str | Path) -> Prices:
    """Return the prices of a JSON file. Raises `InputError` with every problem."""
    raw = read_json(path)
    findings = Findings(str(path))
    if not isinstance(raw, dict):
        findings.error("shape", f"expected {EXPECTED}, {found(raw)}")
        findings.check()
    if isinstance(raw, RepeatedKeys):
        findings.error("repeated-key", repeated(raw))
    if not raw:
        findings.error("empty", f"there is no model in it: expected {EXPECTED}")
    for model, price in raw.items():
        _check_price(model, price, findings)
    findings.check()
    models = {
        model: Price(price[IN], price[OUT], price.get(CACHED, price[IN]))
        for model, price in raw.items()
    }
    text = json.dumps(raw, sort_keys=True).encode()
    return Prices(models, sha256(text).hexdigest()[:8])


def _check_price(model: str, raw: Any, findings: Findings) -> None:
    if not isinstance(raw, dict):
        message = 'expected {"in": USD per million tokens, "out": …}'
        findings.error("shape", f"{message}, {found(raw)}", key=model)
        return
    if isinstance(raw, RepeatedKeys):
        findings.error("repeated-key", repeated(raw), key=model)
    for key in raw:
        if key not in KEYS:
            known = did_you_mean(key, KEYS) or f" (known: {', '.join(KEYS)})"
            findings.error("unknown-key", f'unknown key "{shorten(key)}"{known}', key=model)
    for key in (IN, OUT):
        if key not in raw:
            findings.error("no-price", f'"{key}" is missing', key=model)
    for key in KEYS:
        if key in raw and not (type(raw[key]) in (int, float) and 0 <= raw[key] <= _MILLION):
            message = f"a price is a number from 0 to {_MILLION:,.0f} US dollars per million tokens"
            shown = shorten(json.dumps(raw[key]))
            findings.error("price", f"{message}, not {shown}", key=f"{model}.{key}")
