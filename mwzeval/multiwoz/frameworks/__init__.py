"""Live dialogues in the frameworks where people evaluate and train: one module each.

A module imports its framework; nothing else imports it.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from functools import lru_cache
from typing import Any

from mwzeval.multiwoz.live.episodes import Episodes


def load(options: Mapping[str, Any]) -> Episodes:
    """Return the episodes of these arguments of `Episodes`; a process loads them once.

    Raises `UsageError` for unknown names, `DataError` for missing files.
    """
    return _loaded(json.dumps(options, sort_keys=True))


@lru_cache(maxsize=16)
def _loaded(options: str) -> Episodes:
    return Episodes(**json.loads(options))
