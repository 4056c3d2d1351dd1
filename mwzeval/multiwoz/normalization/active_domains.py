"""Which domain a turn is about, guessed from how the predicted state changes."""

from __future__ import annotations

from collections.abc import Iterable

from mwzeval.multiwoz.normalization.normalize import State


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
