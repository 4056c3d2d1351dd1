"""The handcrafted policy in the record of a dialogue (`policies/handcrafted.py`)."""

from __future__ import annotations

from typing import Any

from mwzeval.pydial.batched.compiled import compiled
from mwzeval.pydial.batched.kernel.actions import (
    add,
    is_asked,
    offer_another,
    offer_first,
    say,
    say_answer,
)
from mwzeval.pydial.batched.kernel.summary import (
    BY_ALTERNATIVES,
    BY_CONSTRAINTS,
    BY_NAME,
    FINISHED,
    REPEATED,
    has_thanked,
    method_of,
)
from mwzeval.pydial.batched.layout import (
    BYE,
    CONFIRM,
    DONTCARE,
    NO_VALUE,
    NULL,
    REQMORE,
    REQUEST,
    SELECT,
    ZERO,
)
from mwzeval.pydial.environments.features import CERTAIN
from mwzeval.pydial.policies.handcrafted import Thresholds

_LIMITS = Thresholds()
_KNOWN, _UNSURE, _HEARD = _LIMITS.known, _LIMITS.unsure, _LIMITS.heard
_CLOSE, _ENOUGH = _LIMITS.close, _LIMITS.enough


@compiled
def say_handcrafted(t: Any, d: Any) -> None:
    """Make the act that the policy chooses."""
    if _say_what_the_method_asks(t, d) or _make_sure(t, d) or _offer_or_answer(t, d):
        return
    for index in range(t.constraints):
        slot = t.constraint[index]
        if d.best_mass[slot] < _KNOWN:
            say(d, REQUEST)
            add(d, slot, NO_VALUE, False)
            return
    say(d, REQMORE)


@compiled
def _say_what_the_method_asks(t: Any, d: Any) -> bool:
    method = method_of(t, d)
    if method == BY_CONSTRAINTS and d.count > _ENOUGH:
        offer_another(t, d, ZERO)
        return True
    if method == BY_ALTERNATIVES:
        offer_another(t, d, d.offers)
        return True
    if method == BY_NAME:
        return _answer(t, d)
    if method == FINISHED:
        say(d, BYE)
        return True
    if d.discourse[REPEATED] > CERTAIN or not has_thanked(d) or d.last_offered == NO_VALUE:
        return False
    say(d, REQMORE)
    return True


@compiled
def _answer(t: Any, d: Any) -> bool:
    """Answer about the entity that was named, or else about the last one offered."""
    name = d.best[t.name]
    if d.best_mass[t.name] < _KNOWN or name == DONTCARE:
        name = d.last_offered
    entity = t.named[name]
    if entity < 0:
        return False
    say_answer(t, d, entity)
    return True


@compiled
def _make_sure(t: Any, d: Any) -> bool:
    for index in range(t.constraints):
        slot = t.constraint[index]
        best, second = d.best_mass[slot], d.second_mass[slot]
        if not _HEARD < best < _KNOWN:
            continue
        close = best <= _UNSURE and best - second < _CLOSE
        say(d, SELECT if close else CONFIRM)
        add(d, slot, d.best[slot], False)
        if close:
            add(d, slot, d.second[slot], False)
        return True
    return False


@compiled
def _offer_or_answer(t: Any, d: Any) -> bool:
    settled = d.number <= 1 or not d.discriminable or d.count >= t.constraints
    if not settled:
        return False
    if d.offered and is_asked(t, d):
        if not _answer(t, d):
            say(d, NULL)
        return True
    offer_first(t, d, ZERO)  # rather than none
    return True
