"""The paper's figures, to be shown beside one's own.

Source: Casanueva et al. (2017), Tables 4, 6, 7 and 8; data/pydial/published_results.json.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from typing import Any

from mwzeval.files.json_files import read_json
from mwzeval.files.resources import embedded


@dataclass(frozen=True, slots=True)
class PublishedResults:
    """`after` holds by training dialogues, task and policy the success rate (percent) and reward.

    `cross` holds rewards by policy, the task trained in and the task tested in.
    """

    after: Mapping[int, Mapping[str, Mapping[str, tuple[float, float]]]]
    cross: Mapping[str, Mapping[str, Mapping[str, float]]]

    def figure(self, task: str, policy: str | None, dialogues: int, of: str) -> float | None:
        """Return "success" or "reward", None where the paper has no such figure."""
        pair = self.after.get(dialogues, {}).get(task, {}).get(policy or "")
        return None if pair is None else pair[of == "reward"]


@cache
def published_results() -> PublishedResults:
    """Return the figures of the paper."""
    plain: Any = read_json(embedded("pydial", "published_results.json"))
    after = {
        int(dialogues): {
            task: {policy: (float(s), float(r)) for policy, (s, r) in row.items()}
            for task, row in tasks.items()
        }
        for dialogues, tasks in plain["after"].items()
    }
    return PublishedResults(after, plain["cross"])
