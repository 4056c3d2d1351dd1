"""The dialogues of AutoTOD as trajectories, with that project's verdicts on each domain."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any, NamedTuple

from tests.places import shared

VERDICTS = {"inform": "inform", "success": "success", "book": "booking"}
"""What they call a verdict → what we call it."""


class Judged(NamedTuple):
    """A dialogue; `theirs` is domain → our name of a verdict → 1, 0, or None for neither."""

    name: str
    goal: dict[str, Any]
    messages: list[dict[str, Any]]
    bookings: list[dict[str, Any]]
    theirs: dict[str, dict[str, int | None]]


def dialogues() -> Iterator[Judged]:
    path = shared("data", "agents", "autotod_dialogues.jsonl")
    for line in path.read_text("utf-8").splitlines():
        raw = json.loads(line)
        messages = []
        for turn in raw["run_result"]["dialog_pred"]:
            messages.append({"role": "user", "content": turn["user"]})
            messages.append({"role": "assistant", "content": turn["agent"]})
        bookings = []
        theirs = {}
        for domain, result in raw["eval_results"].items():
            record = result["book"].get("book_record")
            if isinstance(record, dict):  # else what was not found
                bookings.append({"domain": domain, "slots": record})
            theirs[domain] = {ours: result[name]["complete"] for name, ours in VERDICTS.items()}
        name = raw["dialog_id"].removesuffix(".json")
        yield Judged(name, raw["run_result"]["goals"], messages, bookings, theirs)
