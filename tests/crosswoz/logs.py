"""Write and read logs of simulations."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from mwzeval.crosswoz.corpus.dialogues import goal_to_json
from tests.crosswoz.small_world import small_gold

GOLD = small_gold()


def read_log(path: Path) -> tuple[dict[str, Any], list[dict[str, Any]]]:
    """Return the header and the dialogues of a log as JSON values."""
    header, *dialogues = map(json.loads, path.read_text(encoding="utf-8").splitlines())
    return header, dialogues


def dialogue(name: str, source: str, **more: Any) -> dict[str, Any]:
    """Return the log line of a dialogue with the goal and final goal of a small-world dialogue."""
    gold = GOLD.fold.dialogues[source]
    plain: dict[str, Any] = {"dialogue_id": name, "finished": True, "n_turns": 2}
    plain |= {"goal_type": gold.goal_type, "goal": goal_to_json(gold.goal)}
    plain |= {"final_goal": goal_to_json(gold.final_goal), "turns": []}
    return plain | more


def log(folder: Path, lines: Sequence[Any]) -> Path:
    path = folder / "log.jsonl"
    text = "".join(json.dumps(line, ensure_ascii=False) + "\n" for line in lines)
    path.write_text(text, "utf-8")
    return path
