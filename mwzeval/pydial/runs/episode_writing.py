"""Episodes into files: those of a test all at once, those of a person who plays one by one."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from mwzeval.conversation.trajectory import Trajectory
from mwzeval.errors import UsageError, shorten
from mwzeval.files.reading import COMPRESSED, read_text
from mwzeval.files.writing import write_atomically
from mwzeval.pydial.runs.episode_files import (
    FORMAT,
    META,
    check_records,
    holds_trajectories,
    read_texts,
)
from mwzeval.pydial.runs.episodes import Episode
from mwzeval.pydial.runs.run_folder import Selection
from mwzeval.scores.findings import Findings


def write_episodes(path: Path, episodes: Iterable[Episode], about: Mapping[str, Any]) -> None:
    """Write the file of `episodes_text`. Raises `MwzevalError` if that is impossible."""
    write_atomically(path, episodes_text(episodes, about))


def episodes_text(episodes: Iterable[Episode], about: Mapping[str, Any]) -> str:
    """Return the content of an episode file: a header, and a line for each dialogue.

    A line has the utterances of the dialogue if they were recorded. The header has the number of
    dialogues and `about`, what they have in common, such as task and seed.
    """
    lines = [
        json.dumps(
            {
                "dialogue": episode.index,
                "success": episode.success,
                "exchanges": episode.exchanges,
                "reward": episode.reward,
                **episode.talk,
            }
        )
        for episode in episodes
    ]
    header = json.dumps({META: {"format": FORMAT, "episodes": len(lines), **about}})
    return "".join(f"{line}\n" for line in [header, *lines])


def episodes_in(path: str | Path) -> tuple[Episode, ...]:
    """Return the episodes of a file to which others are to be added; perhaps it is not there yet.

    Raises `InputError` for a file of something else, `UsageError` where none can be.
    """
    file = Path(path)
    if str(path) == "-" or file.suffix in COMPRESSED or file.is_dir() or not file.parent.is_dir():
        raise UsageError(
            f"episodes cannot be added to {shorten(str(path), 300)}: name a file that is not "
            "compressed, in a folder that there is"
        )
    if not file.exists() or not file.stat().st_size:
        return ()
    findings = Findings()
    texts = read_texts(str(path), Selection())
    records, _ = check_records(texts, str(path), Selection(), findings)
    findings.check()
    if not all(map(holds_trajectories, texts.values())):
        raise UsageError(
            f"{shorten(str(path), 300)} holds episodes without what was said in them: they can be "
            "scored, and not added to; name another file"
        )
    return tuple(record.episode for record in records)


def added_to(path: str | Path, trajectory: Trajectory) -> None:
    """Add a dialogue to a file of trajectories, which is as before if that fails.

    Raises `InputError` where the file cannot be read, `MwzevalError` where it cannot be written.
    """
    file = Path(path)
    before = read_text(path) if file.exists() and file.stat().st_size else ""
    end = "" if not before or before.endswith("\n") else "\n"
    write_atomically(path, f"{before}{end}{trajectory.line()}")
