"""Active domains out of placeholders that name them, such as `[restaurant_name]`."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from mwzeval.multiwoz.corpus.gold import ALL_DOMAINS
from mwzeval.multiwoz.predictions.reading import Findings, check_dialogues

_PLACEHOLDER = re.compile(r"\[([^\[\]]*)\]")


def domains_of(response: str) -> list[str]:
    """Return the domains that placeholders of a response name, in the order of `ALL_DOMAINS`."""
    named = {name.partition("_")[0] for name in _PLACEHOLDER.findall(response.lower())}
    return [domain for domain in ALL_DOMAINS if domain in named]


def has_active_domains(predictions: Mapping[str, Any]) -> bool:
    """Tell whether every turn has active domains already."""
    return all("active_domains" in turn for turns in predictions.values() for turn in turns)


def add_slot_domains(
    predictions: Mapping[str, Any], findings: Findings
) -> dict[str, list[dict[str, Any]]]:
    """Return a copy of the predictions in which every turn has the domains of its placeholders.

    Raises `InputError` when the predictions are not well formed; problems go to `findings`.
    """
    check_dialogues(predictions, findings, need_responses=True)
    findings.check()
    return {
        name: [{**turn, "active_domains": domains_of(turn["response"])} for turn in turns]
        for name, turns in predictions.items()
    }
