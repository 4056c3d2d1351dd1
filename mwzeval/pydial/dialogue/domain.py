"""A domain of dialogues: its ontology (slots and values) and its table of entities.

Sets of entities are bit sets: bit i stands for the i-th row of the table.
"""

from __future__ import annotations

import unicodedata
from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from mwzeval.errors import InputError, Problem, shorten
from mwzeval.files.reading import RepeatedKeys
from mwzeval.pydial.dialogue.acts import DONTCARE, NONE

NAME = "name"
METHODS = ("none", "byconstraints", "byname", "finished", "byalternatives", "restart")
DISCOURSE_ACTS = ("ack", "hello", "none", "repeat", "silence", "thankyou")
RESERVED = frozenset({DONTCARE, NONE, "**NONE**"})
BINARY = frozenset({"0", "1"})
PSEUDO_SLOTS = frozenset({"type", "this", "count", "option", "more"})
"""Slots of acts that are not of a domain: what is talked about, and how."""
NEVER_IN_SLOTS = frozenset('=!,"()')
"""What would make another act of the text of an act."""


@dataclass(frozen=True)
class Ontology:
    """A domain's slots.

    `constraint_slots` are those that the system may request ("system-requestable"), in alphabetical
    order; `informable` maps each slot that has values to them, in the order of the file;
    `entity_type` is the word for an entity ("restaurant").
    """

    domain: str
    entity_type: str
    requestable: tuple[str, ...]
    constraint_slots: tuple[str, ...]
    informable: Mapping[str, tuple[str, ...]]
    methods: tuple[str, ...] = METHODS
    discourse_acts: tuple[str, ...] = DISCOURSE_ACTS

    @cached_property
    def only_requestable(self) -> tuple[str, ...]:
        """The slots that only the user asks for: all requestable ones but the constraints."""
        return tuple(slot for slot in self.requestable if slot not in self.constraint_slots)

    @cached_property
    def asked_by_user(self) -> frozenset[str]:
        """`only_requestable`, to look slots up in."""
        return frozenset(self.only_requestable)

    @cached_property
    def answer_slots(self) -> frozenset[str]:
        """Requestable slots that have no list of values: phone numbers and the like."""
        return frozenset(self.requestable) - set(self.informable)

    @cached_property
    def binary_slots(self) -> frozenset[str]:
        """The constraint slots whose values are "0" and "1"."""
        return frozenset(
            slot for slot in self.constraint_slots if set(self.informable[slot]) == BINARY
        )

    @cached_property
    def values_and_dontcare(self) -> Mapping[str, tuple[str, ...]]:
        """Slot → its values and "dontcare"."""
        return {slot: (*values, DONTCARE) for slot, values in self.informable.items()}


LONGEST_TEXT = 1000
"""Of a slot or value, in characters: each is said in acts, and what is longer floods files."""


def has_controls(text: str) -> bool:
    """Tell whether a text has what cannot stand in an act, be shown or be written as UTF-8."""
    return any(unicodedata.category(character) in ("Cc", "Cs") for character in text)


def ontology_from_json(domain: str, plain: Any, *, file: str | None = None) -> Ontology:
    """Return the ontology of a public `…-rules.json`. Raises `InputError` with every problem."""
    problems: list[Problem] = []

    def wrong(message: str, key: str | None = None) -> None:
        problems.append(Problem("ontology", message, file=file, key=key))

    def tell_repeated(texts: Iterable[str], key: str | None) -> None:
        if repeated := ", ".join(shorten(text) for text in sorted(texts)):
            wrong(f"given more than once: {repeated}", key)

    def tell_unfit(texts: Collection[str], key: str | None) -> None:
        for text in filter(has_controls, texts):
            wrong(f'"{shorten(text)}" has control characters or half a character', key)
        for text in texts:
            if len(text) > LONGEST_TEXT:
                wrong(f'"{shorten(text)}" has more than {LONGEST_TEXT:,} characters', key)

    def texts(value: Any, key: str) -> tuple[str, ...]:
        if not isinstance(value, list) or not all(isinstance(text, str) for text in value):
            wrong("expected a list of texts", key)
            return ()
        if not value:
            wrong("the list is empty", key)
        tell_repeated((text for text, number in Counter(value).items() if number > 1), key)
        if any(not text.strip() for text in value):
            wrong("one of the texts is empty", key)
        tell_unfit(value, key)
        return tuple(value)

    if not isinstance(plain, Mapping):
        raise InputError([Problem("ontology", "expected an object", file=file)])
    for key in ("type", "requestable", "system_requestable", "informable"):
        if key not in plain:
            wrong("the key is missing", key)
    requestable = texts(plain.get("requestable", []), "requestable")
    constraints = texts(plain.get("system_requestable", []), "system_requestable")
    slots = plain.get("informable", {})
    if not isinstance(slots, Mapping):
        wrong("expected an object of slots", "informable")
        slots = {}
    for each, key_of_it in ((plain, None), (slots, "informable")):
        if isinstance(each, RepeatedKeys):
            tell_repeated(each.repeated, key_of_it)
    tell_unfit(slots, "informable")
    informable = {slot: texts(values, f"informable.{slot}") for slot, values in slots.items()}
    for slot, values in informable.items():
        for value in values:
            if value in RESERVED:
                wrong(
                    f'"{value}" has a meaning of its own and cannot be a value',
                    f"informable.{slot}",
                )
            elif value != value.lower():
                wrong(f'"{value}" must be in lower case, as acts are', f"informable.{slot}")
            elif '"' in value:
                wrong(f"{value} has a quotation mark, which ends a value", f"informable.{slot}")
    for slot in dict.fromkeys((*requestable, *informable)):
        if slot in PSEUDO_SLOTS:
            wrong(f'"{slot}" has a meaning of its own and cannot be a slot')
        elif not slot.strip() or NEVER_IN_SLOTS & set(slot):
            wrong(f'"{slot}" cannot be written in acts, and so cannot be a slot')
    for slot in constraints:
        if slot not in informable:
            wrong("a slot that the system may request has no values", f"informable.{slot}")
        elif len(informable[slot]) == 1:
            wrong("with one value there is nothing to request", f"informable.{slot}")
        if slot not in requestable:
            wrong(f'"{slot}" is not among the requestable slots', "requestable")
    if NAME not in informable or NAME not in requestable:
        wrong('entities are found by "name": it must be informable and requestable')
    entity_type = plain.get("type", "")
    if not isinstance(entity_type, str) or not entity_type or '"' in entity_type:
        wrong("expected the word for an entity, without quotation marks", "type")
    elif entity_type in RESERVED:
        wrong(
            f'"{entity_type}" has a meaning of its own and cannot be the word for an entity', "type"
        )
    else:
        tell_unfit([entity_type], "type")
    methods = texts(plain.get("method", list(METHODS)), "method")
    discourse_acts = texts(plain.get("discourseAct", list(DISCOURSE_ACTS)), "discourseAct")
    for key, known, given in (
        ("method", METHODS, methods),
        ("discourseAct", DISCOURSE_ACTS, discourse_acts),
    ):
        lacking = [name for name in known if name not in given]
        if given and lacking:
            wrong(f"{', '.join(lacking)} is missing; left out, the key has all that users do", key)
    if problems:
        raise InputError(problems)
    return Ontology(
        domain=domain,
        entity_type=entity_type,
        requestable=requestable,
        constraint_slots=tuple(sorted(constraints)),
        informable=informable,
        methods=methods,
        discourse_acts=discourse_acts,
    )


Entity = Mapping[str, str]
UNAVAILABLE = frozenset({"not available", ""})


class EntityTable:
    """The rows of a domain, in their order, which decides what is offered first."""

    def __init__(self, ontology: Ontology, rows: Sequence[Entity]) -> None:
        self.ontology = ontology
        self.rows = tuple(rows)
        self.everything = (1 << len(rows)) - 1
        self._with: dict[str, dict[str, int]] = {}
        for index, row in enumerate(self.rows):
            for slot, value in row.items():
                of_slot = self._with.setdefault(slot, {})
                of_slot[value.lower()] = of_slot.get(value.lower(), 0) | 1 << index
        self.told_apart_by = tuple(s for s in ontology.informable if s != NAME and s != "price")
        self._first_named: dict[str, int] = {}
        for index, row in enumerate(self.rows):
            self._first_named.setdefault(row[NAME].lower(), index)

    def __reduce__(self) -> tuple[type[EntityTable], tuple[Ontology, tuple[Entity, ...]]]:
        return EntityTable, (self.ontology, self.rows)

    def __deepcopy__(self, memo: object) -> EntityTable:
        return self  # nothing in it changes

    def having(self, slot: str, value: str) -> int:
        """Return the bit set of rows with this value, in whatever case."""
        return self._with.get(slot, {}).get(value.lower(), 0)

    def number_of(self, name: str) -> int:
        """Return the number of the first row of this name, -1 when there is none."""
        return self._first_named.get(name.lower(), -1)


@dataclass(frozen=True)
class Domain:
    """What all dialogues of a domain share; nothing in it changes."""

    ontology: Ontology
    table: EntityTable

    @property
    def name(self) -> str:
        """The name of the domain, as in its files ("CamRestaurants")."""
        return self.ontology.domain
