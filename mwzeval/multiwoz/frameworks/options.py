"""What all frameworks need: episodes by their options, and files of runs."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import replace
from functools import lru_cache
from pathlib import Path
from typing import Any

from mwzeval.conversation.trajectory import Trajectory
from mwzeval.multiwoz.live.episodes import Episodes

LOADED = 16
"""So many choices of episodes are kept."""
Options = Mapping[str, Any]
"""The arguments of `Episodes`, as they are kept with each sample or task."""


def load(options: Options) -> Episodes:
    """Return the episodes of these options; a process loads them once.

    Raises `UsageError` for unknown names, `DataError` for missing files.
    """
    return _loaded(json.dumps(options, sort_keys=True))


@lru_cache(maxsize=LOADED)
def _loaded(options: str) -> Episodes:
    return Episodes(**json.loads(options))


def write_dialogues(
    options: Options, dialogues: Iterable[Trajectory], output: str | Path, agent: str
) -> int:
    """Write dialogues as the file of a run, in the order of `mwzeval live`; return their number.

    Raises `MwzevalError` when the file cannot be written.
    """
    episodes = load(options)
    places = {item: place for place, item in enumerate(episodes.goals)}
    found = sorted(dialogues, key=lambda dialogue: (places[dialogue.item], dialogue.trial))
    trials = max((dialogue.trial for dialogue in found), default=1)
    numbered = [replace(dialogue, is_numbered=trials > 1) for dialogue in found]
    episodes.write(output, numbered, agent=agent, trials=trials)
    return len(numbered)
