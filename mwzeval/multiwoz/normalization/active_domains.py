"""Which domain a turn is about, guessed from how the predicted state changes.

Active domains out of placeholders that name them, such as `[restaurant_name]`.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from typing import Any

from mwzeval.multiwoz.normalization.normalize import State
from mwzeval.multiwoz.predictions.reading import Findings, check_dialogues
from mwzeval.multiwoz.schema import ALL_DOMAINS

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


def estimate_active_domains(states: Iterable[State]) -> list[tuple[str, ...]]:
    """Return the active domains of each turn of a dialogue: one domain, or none so far.

    The dialogue stays in its domain until another one's slots change. Source: the public
    MultiWOZ evaluator, whose treatment of several domains changing at once is kept as it is.
    """
    current: str | None = None
    previous: State = {}
    previously_changed: list[str] = []
    estimates: list[tuple[str, ...]] = []
    for state in states:
        changed = [
            domain
            for domain, slots in (state.items() if state is not previous else ())
            if slots is not previous.get(domain) and slots.items() - _pairs(previous, domain)
        ]
        if not changed:
            if current is None:
                estimates.append(())
                # (odd) Nothing is updated, not even the previous state.
                continue
            if len(previously_changed) > 1:
                # Two domains changed at once and one was taken: now the other's turn has come.
                waiting = [
                    domain for domain in previously_changed if domain in state and domain != current
                ]
                current = waiting[0] if waiting else current
        elif current not in changed:
            current = max(changed, key=lambda domain: len(state[domain]))
        previous, previously_changed = state, changed
        assert current is not None
        estimates.append((current,))
    return estimates


def _pairs(state: State, domain: str) -> set[tuple[str, str]]:
    return set(state.get(domain, {}).items())
