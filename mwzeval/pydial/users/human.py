"""A human in the place of the simulated user: the goal to pursue, and the acts that are typed.

What is typed is read leniently; what is not an act is refused with what was probably meant.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator

from mwzeval.errors import UsageError, did_you_mean, shorten
from mwzeval.pydial.dialogue.acts import (
    AFFIRM,
    BYE,
    DONTCARE,
    NEGATE,
    NONE,
    NULL,
    REPEAT,
    REQALTS,
    THANKYOU,
    Act,
    Item,
    parse_act,
)
from mwzeval.pydial.dialogue.domain import NAME, Ontology
from mwzeval.pydial.dialogue.error_model import GIVES_A_VALUE, USER_ACTS
from mwzeval.pydial.dialogue.goals import Goal
from mwzeval.pydial.simulator.codes import TYPE
from mwzeval.pydial.users.stand_in import User, UserState, update_goal

Ask = Callable[[Goal, Act], Act]
"""Asks a person, given the goal and what the system said, for the next act."""


class HumanUser(User):
    """One person in one dialogue, who is asked for `limit` acts at most."""

    __slots__ = ("_ask", "_left")

    def __init__(self, state: UserState, ask: Ask, limit: int) -> None:
        super().__init__(state)
        self._ask = ask
        self._left = limit

    def answer(self, system: Act) -> Act:
        """Return what the person says. What comes after the last exchange is not asked for."""
        update_goal(self.goal, system)
        if not self._left:
            return NULL
        self._left -= 1
        return self._ask(self.goal, system)


def menu(goal: Goal, system: Act, said: Collection[str]) -> tuple[Act, ...]:
    """Return what can be said now, the most sensible first; `said` are slots talked about before.

    That is to answer what was asked, to say what was not said yet, to ask what was not told yet.
    """
    return tuple(dict.fromkeys(_options(goal, system, said)))


def _options(goal: Goal, system: Act, said: Collection[str]) -> Iterator[Act]:
    wanted = {item.slot: item.value or DONTCARE for item in goal.constraints}
    yield from _answers(wanted, system)
    yield from (_inform(slot, value) for slot, value in wanted.items() if slot not in said)
    unfilled = goal.unfilled()
    if goal.recommended is not None:
        if not unfilled:
            yield BYE
        yield from (Act("request", (Item(slot),)) for slot in unfilled)
    yield from (_inform(slot, value) for slot, value in wanted.items())
    if len(wanted) > 1:
        yield Act("inform", tuple(Item(slot, value) for slot, value in wanted.items()))
    yield from (AFFIRM, NEGATE, REQALTS, THANKYOU, REPEAT, BYE)


def _answers(wanted: dict[str, str], system: Act) -> Iterator[Act]:
    """Yield what the system act asks for, or what has to be corrected in it."""
    if system.name in ("request", "select") and system.items:
        slot = system.items[0].slot
        yield _inform(slot, wanted.get(slot, DONTCARE))
    elif system.name == "confirm" and system.items:
        slot, value, _ = system.items[0]
        right = wanted.get(slot, DONTCARE)
        yield AFFIRM if value == right else Act("negate", (Item(slot, right),))
    elif system.name == "inform":
        # With the news that nothing matches the system says all that it took to be wanted.
        took = any(item.slot == NAME and item.value == NONE for item in system.items)
        for slot, value, negated in system.items:
            right = wanted.get(slot, DONTCARE)
            if slot != NAME and value != right and not negated and (took or right != DONTCARE):
                yield _inform(slot, right)


def _inform(slot: str, value: str) -> Act:
    return Act("inform", (Item(slot, value),))


WORDS = {"yes": AFFIRM, "no": NEGATE}
SPOKEN = (*USER_ACTS, "restart")
WITH_VALUES = GIVES_A_VALUE | {"deny", "hello"}
NEEDS_ITEMS = frozenset({"inform", "request", "confirm", "deny"})


def typed_act(text: str, ontology: Ontology) -> Act:
    """Return the act that a person has typed; "yes", "no" and acts without brackets will do.

    `inform(dontcare)` is about whatever was just talked about. Raises `UsageError`, which says what
    would be allowed, for anything that users of this domain do not say.
    """
    word = text.strip().lower()
    if word in WORDS:
        return WORDS[word]
    if word in SPOKEN:
        word += "()"
    act = parse_act(text if "(" in text else word)
    if act == NULL and not word.startswith(NULL.name):
        if "(" in word or word.isalpha():
            _check_name(word.partition("(")[0].strip())
        raise UsageError(f'"{shorten(text.strip())}" is not an act: {_examples(ontology)}')
    return spoken_act(act, ontology)


def spoken_act(act: Act, ontology: Ontology) -> Act:
    """Return an act as users of this domain say it: `inform(dontcare)` is `inform(="dontcare")`.

    Raises `UsageError`, which says what would be allowed, for anything that they do not say.
    """
    _check_name(act.name)
    items = tuple(Item("", DONTCARE) if item == Item(DONTCARE) else item for item in act.items)
    if act.name in NEEDS_ITEMS and not items:
        raise UsageError(f"{act.name}() says nothing without a slot: {_examples(ontology)}")
    if items and act.name not in WITH_VALUES | {"request"}:
        raise UsageError(f"{act.name}() has nothing in its brackets")
    for item in items:
        _check_item(act.name, item, ontology)
    return Act(act.name, items)


def _examples(ontology: Ontology) -> str:
    slot, value = _constraint(ontology)
    return f'acts look like inform({slot}="{value}"), request({_fact(ontology)}) or bye()'


def _constraint(ontology: Ontology) -> tuple[str, str]:
    """Return some slot that users have wishes about, and one of its values."""
    slot = (ontology.constraint_slots or tuple(ontology.informable))[0]
    return slot, ontology.informable[slot][0]


def _fact(ontology: Ontology) -> str:
    """Return some slot that users ask for."""
    return (ontology.only_requestable or ontology.requestable)[-1]


def _check_name(name: str) -> None:
    if name not in SPOKEN:
        hint = did_you_mean(name, (*SPOKEN, *WORDS))
        raise UsageError(f'unknown act "{shorten(name)}"{hint} ({", ".join(SPOKEN)})')


def _check_item(name: str, item: Item, ontology: Ontology) -> None:
    slot, value = item.slot, item.value
    if slot == "" and value == DONTCARE and name in WITH_VALUES:
        return
    known = tuple(dict.fromkeys((*ontology.requestable, *ontology.informable)))
    if slot not in (*known, TYPE):
        raise UsageError(
            f'unknown slot "{shorten(slot)}"{did_you_mean(slot, known)} ({_row(known)})'
        )
    if value is None:
        if name not in ("request", "hello"):
            raise UsageError(
                f'{name}({slot}) lacks a value: {name}({slot}="…"); `? {slot}` lists them'
            )
        return
    values = (ontology.entity_type,) if slot == TYPE else ontology.informable.get(slot)
    if values is None:
        raise UsageError(f"{slot} has no values to say; ask for it: request({slot})")
    if value not in (*values, DONTCARE):
        hint = did_you_mean(value, values)
        raise UsageError(f'{slot} is never "{shorten(value)}"{hint}; `? {slot}` lists its values')


def values_text(slot: str, ontology: Ontology) -> str:
    """Return the values of a slot in one line. Raises `UsageError` for an unknown slot."""
    known = tuple(dict.fromkeys((*ontology.requestable, *ontology.informable)))
    if slot not in known:
        raise UsageError(
            f'unknown slot "{shorten(slot)}"{did_you_mean(slot, known)} ({_row(known)})'
        )
    if slot not in ontology.informable:
        return f"{slot} has no list of values; ask for it: request({slot})"
    return f"{slot}: {_row((*ontology.informable[slot], DONTCARE))}"


def help_text(ontology: Ontology) -> str:
    """Return in a few lines what can be said, with examples from the domain."""
    slot, value = _constraint(ontology)
    return "\n".join(
        (
            f"say a number of the menu, or an act: {_row(SPOKEN)} (or yes, no)",
            f"constraints: {_row(ontology.constraint_slots)}; `? SLOT` lists the values",
            f"to ask for: {_row(ontology.only_requestable)}",
            f'inform({slot}="{value}"): this is wanted; inform({slot}!="{value}"): anything else',
            "inform(dontcare): no preference about what was just asked",
            f"request({_fact(ontology)}): ask; bye: end it; Ctrl-D: leave, and it does not count",
        )
    )


def _row(words: tuple[str, ...]) -> str:
    return ", ".join(words)
