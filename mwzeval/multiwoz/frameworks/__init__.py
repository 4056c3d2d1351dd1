"""Live dialogues in the frameworks where people evaluate and train: one module each.

A module imports its framework; nothing else imports it. What a framework keeps of a dialogue is the
line of a run's file, under `KEY`; next to each goal are the options of its `Episodes`.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from functools import lru_cache
from pathlib import Path
from typing import Any

from mwzeval.conversation.loop import Episode
from mwzeval.conversation.protocols import INFRASTRUCTURE, InfrastructureError
from mwzeval.conversation.trajectory import Trajectory
from mwzeval.errors import UsageError, shorten
from mwzeval.multiwoz.live.episodes import Episodes

KEY = "mwzeval"


def load(options: Mapping[str, Any]) -> Episodes:
    """Return the episodes with these options, which a process loads once. Raises as `Episodes`."""
    return _loaded(json.dumps(options, sort_keys=True))


@lru_cache(maxsize=16)
def _loaded(options: str) -> Episodes:
    return Episodes(**json.loads(options))


def keep_dialogue(episode: Episode, keep: Callable[[str, Any], object]) -> None:
    """Keep a dialogue that is over.

    Raises `InfrastructureError` if the user cannot be reached: that says nothing about the agent.
    """
    if episode.is_over:
        dialogue = episode.trajectory()
        keep(KEY, dialogue.to_json())
        if dialogue.end == INFRASTRUCTURE:
            raise InfrastructureError(dialogue.problem or "the user cannot be reached")


def write_dialogues(
    found: Sequence[tuple[Mapping[str, Any], Trajectory]],
    output: str | Path,
    *,
    agent: str,
    source: object,
) -> int:
    """Write dialogues, each with its options, to a file of a run; return how many there are."""
    if not found:
        raise UsageError(f"{shorten(str(source), 300)} contains no dialogue of mwzeval")
    dialogues = [dialogue for _, dialogue in found]
    load(found[0][0]).write(output, dialogues, agent=agent)
    return len(dialogues)
