"""What the models of a dialogue have used, read from the `usage` of its messages.

Messages of the role assistant are of the agent's model, those of the user of the user's model. A
message with `usage` is a request that was answered: `{"in", "out", "ms", "cached"?, "retries"?}`,
or with the names that servers use, `prompt_tokens` and `completion_tokens`, or `input_tokens` and
`output_tokens`. What a server does not count is not known, and never 0.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from mwzeval.conversation.exchanges import begins_exchange
from mwzeval.conversation.messages import ASSISTANT_ROLE, Message
from mwzeval.conversation.trajectory import Trajectory

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
    each exchange took, of those of which it is known.
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
    found = {name: usage_of(dialogue) for name, dialogue in dialogues.items()}
    sides = [side for side in SIDES if any(side in of for of in found.values())]
    return {
        side: {
            name: of[side] if side in of else _unknown(_messages_of(dialogues[name], side))
            for name, of in found.items()
        }
        for side in sides
    }


def usage_of(dialogue: Trajectory) -> dict[str, Usage]:
    """Return the usage of each side of a dialogue that says it.

    That is of its messages, or of the line (`usage`, of the agent where it does not say of whom).
    """
    of_line = dialogue.more.get(USAGE)
    usages: dict[str, Usage] = {}
    for side in SIDES:
        messages = _messages_of(dialogue, side)
        if any(isinstance(message.get(USAGE), Mapping) for message in messages):
            parts = [_of_message(message) for message in messages]
            total = Usage.total(part for part in parts if part is not None)
            usages[side] = _with_turns(total, dialogue.messages, side)
        elif (known := _of_line(of_line, side, messages)) is not None:
            usages[side] = known
    return usages


def _messages_of(dialogue: Trajectory, side: str) -> list[Message]:
    return [message for message in dialogue.messages if _side_of(message) == side]


def _side_of(message: Message) -> str | None:
    if begins_exchange(message):
        return USER
    return AGENT if message.get("role") == ASSISTANT_ROLE else None


def _of_message(message: Message) -> Usage | None:
    """Return the usage of a message; None for one that is no request."""
    raw = message.get(USAGE)
    cut_off = int(message.get("finish_reason") == CUT_OFF)
    if not isinstance(raw, Mapping):
        return Usage(cut_off=cut_off) if cut_off else None
    return _of_tokens(raw, 1, cut_off)


def _of_tokens(raw: Mapping[str, Any], requests: int, cut_off: int = 0) -> Usage:
    tokens_in, tokens_out = _first(raw, _TOKENS_IN), _first(raw, _TOKENS_OUT)
    retries = _count(raw.get("retries")) or 0
    if tokens_in is None or tokens_out is None:
        return Usage(requests, uncounted=requests, retries=retries, cut_off=cut_off)
    details = raw.get("prompt_tokens_details")
    cached = _count(raw.get("cached"))
    if cached is None and isinstance(details, Mapping):
        cached = _count(details.get("cached_tokens"))
    cached = min(cached or 0, tokens_in)
    return Usage(requests, 0, tokens_in, tokens_out, cached, retries, cut_off)


def _of_line(raw: Any, side: str, messages: Sequence[Message]) -> Usage | None:
    """Return what a line says that a side has used; None where it does not count tokens."""
    if not isinstance(raw, Mapping):
        return None
    of_sides = any(isinstance(raw.get(each), Mapping) for each in SIDES)
    of_side = raw.get(side) if of_sides else raw if side == AGENT else None
    if not isinstance(of_side, Mapping):
        return None
    if _first(of_side, _TOKENS_IN) is None or _first(of_side, _TOKENS_OUT) is None:
        return None
    requests = _first(of_side, _REQUESTS)
    cut_off = sum(message.get("finish_reason") == CUT_OFF for message in messages)
    return _of_tokens(of_side, len(messages) if requests is None else requests, cut_off)


def _unknown(messages: Sequence[Message]) -> Usage:
    return Usage(len(messages), uncounted=len(messages))


def _with_turns(usage: Usage, messages: Iterable[Message], side: str) -> Usage:
    turns = []
    for of_exchange in _by_exchange(messages, side):
        asked = [message for message in of_exchange if isinstance(message.get(USAGE), Mapping)]
        times = [_milliseconds(message) for message in asked]
        known = [ms for ms in times if ms is not None]
        if known and len(known) == len(times):
            turns.append(math.fsum(known))
    return Usage.total((usage, Usage(turns=tuple(turns))))


def _by_exchange(messages: Iterable[Message], side: str) -> Iterator[list[Message]]:
    """Yield the messages of a side, exchange by exchange."""
    of_exchange: list[Message] = []
    for message in messages:
        if begins_exchange(message):
            yield of_exchange
            of_exchange = []
        if _side_of(message) == side:
            of_exchange.append(message)
    yield of_exchange


def _milliseconds(message: Message) -> float | None:
    raw = message[USAGE].get("ms", message.get("ms"))
    if type(raw) not in (int, float) or not 0 <= raw <= _MOST:
        return None
    return float(raw)


def _first(raw: Mapping[str, Any], names: Iterable[str]) -> int | None:
    return next((found for name in names if (found := _count(raw.get(name))) is not None), None)


def _count(value: Any) -> int | None:
    return value if type(value) is int and 0 <= value <= _MOST else None
