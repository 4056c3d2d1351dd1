"""The codes of acts, slots, values and methods.

The code of a slot is its index among all slots. The code of a value is its index among the values
of the slot. An item of an act has a single number as its code (see `coded`).
"""

from __future__ import annotations

from collections.abc import Mapping

from mwzeval.pydial import acts
from mwzeval.pydial.domain import METHODS, Domain

USER_ACTS = (
    *("hello", "thankyou", "ack", "bye", "inform", "request", "reqalts"),
    *("reqmore", "confirm", "affirm", "negate", "deny", "repeat", "null"),
)
ACTS = (*USER_ACTS, "select", "restart", "silence", "help", "badact")
HELLO, THANKYOU, ACK, BYE, INFORM, REQUEST, REQALTS = range(7)
REQMORE, CONFIRM, AFFIRM, NEGATE, DENY, REPEAT, NULL, SELECT = range(7, 15)
RESTART, SILENCE, HELP, BADACT = range(15, 19)
FOREIGN_ACTS, FOREIGN_SLOTS, FOREIGN_VALUES = 32, 32, 128
"""Maximum numbers of acts, slots, and values per slot that are outside the domain in a dialogue."""
OF_EACH_SLOT = ("", acts.DONTCARE, acts.NONE)
_CODES_OF_EACH_SLOT = {acts.DONTCARE: 1, acts.NONE: 2}
NO_VALUE, DONTCARE, NONE, FIRST_VALUE = range(4)
"""Codes of the values that every slot has. The codes of the ontology's values follow, in the order
of the ontology."""
SLOT_BIT, NEGATED, VALUE_BITS = 32, 1 << 31, (1 << 31) - 1
THIS, TYPE, NEAR = "", "type", "near"
"""The slot of values that are given without a slot, the slot for the type of entity, and `near`."""
UNCHECKED = ("count", "option")
UNTOUCHED = (THIS, TYPE, "more")
"""Users do not check `UNCHECKED` slots, and `UNTOUCHED` slots have no recognition errors."""
DISCOURSE_ACTS = ("silence", "repeat", "thankyou", "ack", "hello", "bye", "none")
SILENT, REPEATED, THANKED, ACKNOWLEDGED, GREETED, SAID_BYE, NO_DISCOURSE_ACT = range(7)
NUMBER_OF_METHODS = len(METHODS)
NO_METHOD, BY_CONSTRAINTS, BY_NAME, FINISHED, BY_ALTERNATIVES, RESTARTED = range(6)
FIRST, SECOND, NEITHER = range(3)
"""Results of the function `which`, which draws one of two events or neither."""
INCORRECT, CORRECT = 0, 1
"""First index of the parameters of N-best lists: whether the true act is at the top."""
HYPOTHESES = 6
"""The maximum length of an N-best list, including the null hypothesis."""
NEIGHBOURS = 6
"""The maximum number of words with which the channel may confuse a word."""
(
    INFORM_COMBINATION, AFFIRM_COMBINATION, GREETING, CONSTRAINT_RELAX, TELL_ABOUT_CHANGE,
    ADD_SLOT_TO_REQUEST, NO_AFTER_REQMORE, YES_AFTER_REQMORE, BYE_OR_START_OVER,
    DEAL_WITH_PENDING, ADD_VENUE_NAME_TO_REQUEST, INFORM_TO_CONFIRM, COMB_AFFIRM_WITH_AGENDA_ITEM,
    OVERRULE_CORRECTION, THANK_ACK_1, THANK_ACK_2, NO_SLOT_WITH_DONTCARE,
    CONFIRM_RANDOM_CONSTRAINT, REQUEST_ALTERNATIVES_1, REQUEST_ALTERNATIVES_2,
    NEW_REQUEST_RESPONSE_1, NEW_REQUEST_RESPONSE_2, CORRECTING_ACT_1, CORRECTING_ACT_2,
    SAYS_REPEAT, NULL_RESPONSE,
) = range(26)  # fmt: skip
"""The user's probabilities, in the order of `user_parameters.STANDARD`."""


def coded(slot: int, value: int, negated: bool) -> int:
    """Return the integer code of an item, which is a slot with a (possibly negated) value."""
    return slot << SLOT_BIT | (NEGATED if negated else 0) | value


def slot_of(item: int) -> int:
    """Return the slot of an item."""
    return item >> SLOT_BIT


def value_of(item: int) -> int:
    """Return the code of an item's value, or `NO_VALUE` if the item has no value."""
    return item & VALUE_BITS


def is_negated(item: int) -> bool:
    """Return whether an item has the form `slot!=value`."""
    return item & NEGATED != 0


class Codes:
    """The integer codes for the slots and values of a domain. `slots` has, in this order,
    constraint slots, other informable slots, other requestable slots, and slots outside the domain;
    `values` are the values of each slot, in the order of their codes.
    """

    def __init__(self, domain: Domain) -> None:
        ontology, table = domain.ontology, domain.table
        self.domain = domain
        self.of_domain = tuple(
            dict.fromkeys((*ontology.constraint_slots, *ontology.informable, *ontology.requestable))
        )
        self.slots = (*self.of_domain, *UNTOUCHED, *UNCHECKED)
        self.slot = {slot: code for code, slot in enumerate(self.slots)}
        # A user who requests a slot with a value of `near` may confirm any slot with this value.
        near = ontology.informable.get(NEAR, ())
        self.values: list[tuple[str, ...]] = []
        for slot in self.slots:
            texts = dict.fromkeys(ontology.informable.get(slot, ()))
            if slot in self.of_domain:
                texts |= dict.fromkeys(row[slot] for row in table.rows if slot in row)
                texts |= dict.fromkeys(near)
            elif slot == TYPE:
                texts[ontology.entity_type] = None
            known = [text for text in texts if text not in OF_EACH_SLOT[1:]]
            self.values.append((*OF_EACH_SLOT, *known))
        self._value = [
            {text: code for code, text in enumerate(of_slot) if code != NO_VALUE}
            for of_slot in self.values
        ]

    def value_codes(self, slot: int) -> Mapping[str, int]:
        """Return the codes of a slot's values; the slot may be outside the domain."""
        return self._value[slot] if slot < len(self._value) else _CODES_OF_EACH_SLOT

    def known(self, slot: str, text: str) -> int:
        """Return the code of a slot's value, or -1 if the slot does not have this value."""
        return self._value[self.slot[slot]].get(text, -1)
