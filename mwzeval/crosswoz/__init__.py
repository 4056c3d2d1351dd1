"""CrossWOZ: Chinese cross-domain dialogues (Zhu et al., TACL 2020)."""

import re
from collections.abc import Mapping
from typing import Any

NAME = "crosswoz"
TITLE = "CrossWOZ"

SCORING_REVISION = 3
"""Raised whenever the same input gets another number; part of every signature of the benchmark."""

VERBS = {
    "crosswoz": (
        "statistics, simulation, templates, policy and NLU of CrossWOZ",
        "mwzeval.crosswoz.command",
        "benchmarks",
    ),
}
"""Verbs that only this benchmark has: what each is for, its module, and its group."""

META = "_meta"
"""The key of what a file says of itself."""
LEARNED_FROM = "learned_from"
"""The key, in it, of the folds that a model has seen in training."""
_SIMULATED = frozenset({"dialogue_id", "finished", "goal"})
_FIELDS = frozenset(
    {
        "user_acts",
        "user_response",
        "user_state",
        "selected",
        "system_acts",
        "system_acts_delex",
        "system_acts_nlu",
    }
)
"""Fields of an exchange that other benchmarks do not have."""
_CHINESE = re.compile("[\u4e00-\u9fff]")


def recognises(raw: Any) -> bool:
    """Tell whether a JSON value, or a line of JSON Lines, is a predictions file or a simulation."""
    if not isinstance(raw, Mapping):
        return False
    header = raw.get(META)
    if isinstance(header, Mapping) and "dataset" in header:
        return bool(header["dataset"] == NAME)
    if raw.keys() >= _SIMULATED:
        return True
    if isinstance(raw.get("dialogue_id"), str):
        return _is_exchange(raw["dialogue_id"], raw.get("turns"))
    dialogue = next((name for name in raw if name != META), None)
    return _is_exchange(dialogue, raw.get(dialogue))


def _is_exchange(dialogue: Any, exchanges: Any) -> bool:
    """Tell by the first exchange: its fields, or Chinese in a dialogue that has a number."""
    if not isinstance(exchanges, list) or not exchanges:
        return False
    first = exchanges[0]
    if not isinstance(first, Mapping):
        return False
    if not _FIELDS.isdisjoint(first):
        return True
    if not (isinstance(dialogue, str) and dialogue.isdecimal()):
        return False
    said, state = first.get("response"), first.get("state")
    texts = [said] if isinstance(said, str) else []
    texts += [key for key in state if isinstance(key, str)] if isinstance(state, Mapping) else []
    return any(_CHINESE.search(text) for text in texts)
