"""User acts as a person types them: read with an eye to slips, and refused with what is meant."""

from __future__ import annotations

from mwzeval.errors import UsageError, did_you_mean, shorten
from mwzeval.pydial.agenda import TYPE
from mwzeval.pydial.confusion import GIVES_A_VALUE, USER_ACTS
from mwzeval.pydial.dialogue.acts import AFFIRM, DONTCARE, NEGATE, NULL, Act, Item, parse_act
from mwzeval.pydial.dialogue.ontology import Ontology

WORDS = {"yes": AFFIRM, "no": NEGATE}
SPOKEN = (*USER_ACTS, "restart")
WITH_VALUES = GIVES_A_VALUE | {"deny"}
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
        if name != "request":
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
