"""Live dialogues in other evaluation and training frameworks.

Each framework has a module, and only that module imports the framework. The framework stores each
dialogue as a line of a trajectory file under `KEY`, and stores the options of `Episodes` with each
goal.
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
    """Return the cached episodes for these options. Raises the errors of `Episodes`."""
    return _loaded(json.dumps(options, sort_keys=True))


@lru_cache(maxsize=16)
def _loaded(options: str) -> Episodes:
    return Episodes(**json.loads(options))


def keep_dialogue(episode: Episode, keep: Callable[[str, Any], object]) -> None:
    """Store a finished dialogue.

    Raises `InfrastructureError` if the user could not be reached, so that the agent is not scored.
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
    """Write dialogues with their options to a trajectory file; return their number."""
    if not found:
        raise UsageError(f"{shorten(str(source), 300)} contains no dialogue of mwzeval")
    dialogues = [dialogue for _, dialogue in found]
    load(found[0][0]).write(output, dialogues, agent=agent)
    return len(dialogues)
