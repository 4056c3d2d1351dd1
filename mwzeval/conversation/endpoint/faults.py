"""Whose fault it is that a request was not answered, and when to ask again."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from datetime import datetime
from email.utils import parsedate_to_datetime
from random import Random
from typing import Any, Literal

from mwzeval.conversation.endpoint.connections import Answer

Fault = Literal["context", "agent", "access", "passing"]
CONTEXT: Fault = "context"
"""The messages are longer than the model reads; it would be so again."""
AGENT: Fault = "agent"
"""The server refuses what the agent has made of the conversation."""
ACCESS: Fault = "access"
"""A wrong key, model or URL, no money left: nothing that the agent has done, and no use to ask."""
PASSING: Fault = "passing"
"""Another time the same request may be answered."""

RETRIES = 5
SHORTEST, LONGEST = 1.0, 30.0
"""Seconds before a request is made again."""
MOST_ASKED_FOR = 60.0
"""Seconds that a server may ask to wait for."""
_PASSING = frozenset((408, 409, 425, 429))
_ACCESS = frozenset((401, 402, 403, 404, 405, 407))
_FULL = re.compile(
    r"context[_ ]?(length|window|size)|maximum context|max_model_len|n_ctx|"
    r"(prompt|input|messages?|request)\b.{0,40}\btoo (long|large)|too many (input )?tokens|"
    r"reduce the length|max_new_tokens",
    re.IGNORECASE | re.DOTALL,
)


def fault_of(answer: Answer) -> Fault | None:
    """Return whose fault an answer tells of; None where it has what was asked for."""
    error = error_in(answer)
    status = answer.status
    if 200 <= status < 300:
        if error is None:
            return None
        status = _code(error)  # some servers that pass requests on answer so
    if (status in (400, 413, 422) or status >= 500) and _FULL.search(error_text(answer)):
        return CONTEXT
    if status in _PASSING or status >= 500:
        return PASSING
    if status in _ACCESS or status < 400:
        return ACCESS
    return AGENT


def error_in(answer: Answer) -> Any:
    """Return the `error` that an answer tells of, None where it tells of none."""
    if 200 <= answer.status < 300 and b'"error"' not in answer.body:
        return None
    try:
        value = json.loads(answer.body)
    except (ValueError, RecursionError):
        return None
    if not isinstance(value, Mapping) or value.get("choices"):
        return None
    return value.get("error")


def error_text(answer: Answer) -> str:
    """Return what a server says of an error, all of it if it has another form than most."""
    error = error_in(answer)
    if isinstance(error, Mapping):
        told = [error.get(key) for key in ("message", "code", "type")]
        return " ".join(str(each) for each in told if each is not None)
    return str(error) if error is not None else answer.body.decode(errors="replace").strip()


def seconds_to_wait(retry: int, answer: Answer | None, rng: Random) -> float:
    """Return how long to wait before a request is made for the `retry`-th time again, from 1.

    Twice as long each time, up to twice that by chance, so that many that were refused at once do
    not come back at once; or as long as the server asks for, and up to a second more.
    """
    asked = None if answer is None else _asked_for(answer)
    if asked is not None:
        return min(asked, MOST_ASKED_FOR - 1) + rng.random()
    return min(LONGEST, SHORTEST * 2.0 ** (retry - 1) * (1 + rng.random()))


def _asked_for(answer: Answer) -> float | None:
    text = answer.headers.get("retry-after", "").strip()
    if re.fullmatch(r"\d{1,9}(\.\d*)?", text):
        return float(text)
    try:  # a date, of which only the distance to the server's own clock says something
        then: datetime = parsedate_to_datetime(text)
        distance = (then - parsedate_to_datetime(answer.headers["date"])).total_seconds()
    except (ValueError, TypeError, KeyError):
        return None
    return max(0.0, distance)


def _code(error: Any) -> int:
    code = error.get("code") if isinstance(error, Mapping) else None
    text = str(code)
    return int(text) if re.fullmatch(r"[345]\d\d", text) else 500
