"""The fields of an exchange of a predictions file, each checked and typed."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from mwzeval.crosswoz.corpus.acts import SEPARATOR, Act, Acts
from mwzeval.crosswoz.corpus.dialogues import (
    LINE,
    SELECTED,
    Goal,
    Selected,
    State,
    empty_state,
    goal_line,
)
from mwzeval.crosswoz.corpus.names import DISHES, SERVICES
from mwzeval.crosswoz.corpus.ontology import wrong_in, wrong_slot
from mwzeval.errors import shorten
from mwzeval.scores.findings import Place, found

SEVERAL_ITEMS = frozenset({DISHES, SERVICES})
"""Slots of a state whose value may come as a list."""
PARTS = 4
COUNTS_AS_WRONG = "it counts as wrong"
"""What becomes of an intent, domain or slot that does not exist, where it is scored."""


def checked_acts(raw: Any, side: str, place: Place) -> Acts:
    """Return acts without repetition, in their order."""
    if not isinstance(raw, list | tuple):
        place.error("shape", f"expected a list of acts, {found(raw)}")
        return ()
    acts = []
    for item in raw:
        act = _act(item, place)
        if act is None:
            continue
        mistake = wrong_in(side, act.intent, act.domain, act.slot)
        if mistake is not None:
            place.doubt(*mistake, then=COUNTS_AS_WRONG)
        acts.append(act)
    distinct = tuple(dict.fromkeys(acts))
    if len(distinct) < len(acts):
        message = "an act that a turn has more than once counts once"
        place.warning("repeated-act", message, count=len(acts) - len(distinct))
    return distinct


def _act(raw: Any, place: Place) -> Act | None:
    parts = raw.split(SEPARATOR, PARTS - 1) if isinstance(raw, str) else raw
    if isinstance(parts, list | tuple):
        if len(parts) == PARTS and all(isinstance(part, str) for part in parts):
            return Act(*parts)
        what = (
            f"found {len(parts)} parts"
            if len(parts) != PARTS
            else next(found(part) for part in parts if not isinstance(part, str))
        )
    else:
        what = found(raw)
    joined = isinstance(raw, str) and len(parts) != PARTS and "-" in raw
    hint = f"; parts of a text are joined by {SEPARATOR}, not by -" if joined else ""
    expected = "an act is intent, domain, slot and value, four texts"
    place.error("not-an-act", f"{expected}; {what} in {shorten(str(raw))}{hint}")
    return None


def checked_delexicalized(raw: Any, place: Place) -> tuple[str, ...]:
    """Return de-lexicalised acts, `intent+domain+slot+number`, as the policy writes them."""
    if not isinstance(raw, list | tuple):
        place.error("shape", f"expected a list of acts, {found(raw)}")
        return ()
    spelled = []
    for item in raw:
        act = _act(item, place)
        if act is None:
            continue
        mistake = wrong_in("system", act.intent, act.domain, act.slot)
        if mistake is not None:
            place.doubt(*mistake, then=COUNTS_AS_WRONG)
        spelled.append(str(act))
    return tuple(dict.fromkeys(spelled))


def checked_state(raw: Any, place: Place) -> State:
    """Return a whole state; slots that a sparse one leaves out are empty.

    Slots that do not exist stay in it, unless they are empty: no gold state has them.
    """
    state = empty_state()
    if not isinstance(raw, Mapping):
        place.error("shape", f"expected an object of domains, {found(raw)}")
        return state
    for domain, slots in raw.items():
        if not isinstance(domain, str) or not isinstance(slots, Mapping):
            what = f'of domain "{shorten(str(domain))}" '
            place.error("shape", f"expected an object of slots {what}, {found(slots)}")
            continue
        if domain not in state and (mistake := wrong_slot(domain)) is not None:
            place.doubt(*mistake, then=COUNTS_AS_WRONG)
        for slot, value in slots.items():
            if slot == SELECTED:
                continue
            if not isinstance(slot, str):
                place.error("shape", f"a slot must be text, {found(slot)}")
                continue
            text = _state_value(slot, value, place)
            if domain not in state or slot not in state[domain]:
                if domain in state and (mistake := wrong_slot(domain, slot)) is not None:
                    place.doubt(*mistake, then=COUNTS_AS_WRONG)
                if not text:
                    continue
            state.setdefault(domain, {})[slot] = text
    return state


def _state_value(slot: str, value: Any, place: Place) -> str:
    if value is None:
        return ""
    if isinstance(value, str):
        return value
    if slot in SEVERAL_ITEMS and isinstance(value, list | tuple):
        if all(isinstance(item, str) for item in value):
            return " ".join(value)
        place.error("shape", f'the items of "{slot}" must be texts')
        return ""
    lists = f" (lists are for {' and '.join(sorted(SEVERAL_ITEMS))})"
    hint = lists if isinstance(value, list | tuple) else ""
    place.error("shape", f'the value of "{shorten(slot)}" must be text, {found(value)}{hint}')
    return ""


def checked_selected(raw: Any, place: Place) -> Selected:
    """Return the names selected in each domain."""
    if not isinstance(raw, Mapping):
        place.error("shape", f"expected an object of domains, {found(raw)}")
        return {}
    selected = {}
    for domain, names in raw.items():
        problem = None if isinstance(names, list | tuple) else found(names)
        if problem is None and (others := [n for n in names if not isinstance(n, str)]):
            problem = f"{found(others[0])} among them"
        if problem is not None:
            message = f'expected a list of names for "{shorten(str(domain))}", {problem}'
            place.error("shape", message)
            continue
        if (mistake := wrong_slot(str(domain))) is not None:
            place.doubt(*mistake, then=COUNTS_AS_WRONG)
        selected[str(domain)] = tuple(names)
    return selected


def checked_user_state(raw: Any, place: Place) -> Goal:
    """Return a user's state, `[sub-goal, domain, slot, value, expressed]` a line."""
    if not isinstance(raw, list | tuple):
        place.error("shape", f"expected a list of five-part lists, {found(raw)}")
        return ()
    lines = []
    for item in raw:
        line = goal_line(item)
        if line is None:
            place.error(
                "not-a-line",
                f"expected {LINE}; found {shorten(str(item))}",
            )
        else:
            lines.append(line)
    return tuple(lines)


LONGEST_TEXT = 10_000
"""Characters of an utterance; cutting Chinese into words takes time with the square of a text."""


def checked_text(raw: Any, place: Place) -> str | None:
    """Return an utterance, None when there is none."""
    if isinstance(raw, str) and len(raw) > LONGEST_TEXT:
        message = f"{len(raw):,} characters, where a text has at most {LONGEST_TEXT:,}"
        place.error("too-long", message)
    if raw is None or isinstance(raw, str):
        return raw
    place.error("shape", f"expected text, {found(raw)}")
    return None
