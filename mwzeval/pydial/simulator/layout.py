"""The records that contain the state of dialogues and their shared data.

In plain Python, records consist of lists; in compiled code, they are structured arrays with the
same fields. The `STANDARD` sizes of the records are sufficient for all published domains, so the
code is compiled only once. A larger domain needs larger records and another compilation.
"""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import TYPE_CHECKING, Any

import numpy as np

from mwzeval.pydial.simulator import codes as c
from mwzeval.pydial.user_parameters import STANDARD as PROBABILITIES

Shared = Any
"""The shared data of a task's dialogues: a record with the fields of `shared_fields`."""
Dialogue = Any
"""The state of a dialogue: a record with the fields of `dialogue_fields`."""
Items = Any
"""The items of an act, as codes."""
Rows = Any
"""A set of entities."""
Field = tuple[str, str, int | tuple[int, ...]]
"""Name, number type and shape of a field."""
MATCHES = 5
"""The vector includes match counts for the best 1, 2, … accepted slots, up to this number."""
ABOUT_MATCHES = 5 * MATCHES
_PARAMETERS = len(PROBABILITIES)


@dataclass(frozen=True, slots=True)
class Sizes:
    """The maximum numbers of slots, of values of all slots together, of entities, of words in a set
    of entities, of turns, of orders of constraints in a goal, and of values of the slot `near`.
    """

    slots: int = 32
    values: int = 2048
    entities: int = 512
    words: int = 8
    exchanges: int = 32
    orders: int = 1024
    near: int = 16

    def at_least(self, **needed: int) -> Sizes:
        """Return a copy in which sizes are doubled until they reach the given minimums."""
        sizes = {field.name: int(getattr(self, field.name)) for field in fields(self)}
        for name, number in needed.items():
            while sizes[name] < number:
                sizes[name] *= 2
        return Sizes(**sizes)

    @property
    def constraints(self) -> int:
        """Maximum number of constraints: one per slot, and one excluded name per turn."""
        return self.slots + self.exchanges

    @property
    def user_items(self) -> int:
        """Maximum number of items in a user act, which may combine constraints and other items."""
        return self.constraints + 8

    @property
    def system_items(self) -> int:
        """Maximum number of items in a system act: matching names and requested slots."""
        return self.entities + self.slots + 2

    @property
    def agenda(self) -> int:
        """The maximum number of acts on the user's agenda."""
        return self.slots + self.exchanges + 8

    @property
    def agenda_items(self) -> int:
        """Maximum number of items on the agenda: one per act, and more in the top act."""
        return self.agenda + self.user_items


STANDARD = Sizes()


def kind_of(sizes: Sizes) -> str:
    """Return the integer type for values and entities; smaller types are faster."""
    return "i2" if max(sizes.values, sizes.entities) < 2**15 else "i4"


def shared_fields(sizes: Sizes) -> list[Field]:
    """Return the fields of the data that the dialogues of a task share.

    The last fields are temporary memory that is only used within a turn.
    """
    slots, values, entities, words = sizes.slots, sizes.values, sizes.entities, sizes.words
    acts, kind = len(c.ACTS) + c.FOREIGN_ACTS, kind_of(sizes)
    return [
        # switches
        *_each("u1", "legacy", "perfect", "keep_alternatives", "looks_again"),
        *_each("u1", "masked", "bye_any_time"),
        # slots
        *_each("i8", "slots", "requestables", "constraints", "informables"),
        *_each("i8", "name", "this", "type", "near", "entity_type"),
        ("requestable", "i8", slots),
        ("constraint", "i8", slots),
        ("informable", "i8", slots),
        *((f"is_{kind}", "u1", slots) for kind in ("constraint", "informable", "answer")),
        *((f"is_{kind}", "u1", slots) for kind in ("asked_by_user", "binary", "untouched")),
        ("is_unchecked", "u1", slots),
        ("rank", "i8", slots),  # alphabetical
        ("hash", "u8", slots),  # hash in Python 2
        ("threshold", "f8", slots),
        # values; the values of slot s begin at first[s]
        ("first", "i8", slots),
        ("numbers", "i8", slots),  # number of values in the ontology
        ("type_word", "i8", slots),
        ("yes", "i8", slots),
        ("no", "i8", slots),
        ("near_value", "i8", (slots, sizes.near)),
        ("available", "u1", values),  # whether an entity can have the value
        # entities
        ("entities", "i8", ()),
        ("everything", "u8", words),
        ("having", "u8", (values, words)),
        ("value", kind, (entities, slots)),
        ("alike", kind, (entities, slots)),  # values that differ only in case have equal numbers
        ("telling", "i8", slots),
        ("tellings", "i8", ()),
        ("named", "i8", values),  # the first entity with this name
        # goals and users
        ("orders", "i8", ()),
        ("picked", "i8", ()),
        ("order", "i8", (sizes.orders, 3)),
        ("low", "f8", _PARAMETERS),
        ("width", "f8", _PARAMETERS),
        ("patience", "i8", 3),
        ("patiences", "i8", ()),
        # channel
        ("rate", "f8", ()),
        *_taken("act", acts),
        *_taken("slot", slots),
        *_taken("value", values),
        ("lengths", "f8", (2, c.HYPOTHESES)),  # for incorrect and correct lists
        ("length_number", "i8", 2),
        ("positions", "f8", c.HYPOTHESES),
        ("position_number", "i8", ()),
        ("means", "f8", (2, c.HYPOTHESES)),
        ("deviations", "f8", (2, c.HYPOTHESES)),
        ("rest_deviations", "f8", (2, c.HYPOTHESES)),
        # task, actions and vectors
        *_each("i8", "max_exchanges", "enough", "most", "pool"),
        ("exchange_reward", "f8", ()),
        ("success_reward", "f8", ()),
        *_each("i8", "method_place", "flag_place"),
        ("value_place", "i8", slots),
        ("discourse_place", "i8", len(c.DISCOURSE_ACTS)),
        ("requested_place", "i8", slots),
        # temporary memory: acts and the evidence of this turn (-1: no evidence that a slot is
        # requested)
        ("evidence", "i8", slots),
        ("evidence_value", "i8", (slots, 2 * c.HYPOTHESES)),
        ("evidence_score", "f8", (slots, 2 * c.HYPOTHESES)),
        ("evidence_methods", "f8", c.NUMBER_OF_METHODS),
        ("evidence_requested", "f8", slots),
        ("table", "i8", 16 * slots),  # hash table of a Python 2 dictionary
        ("some", "u8", words),
        *((name, "i8", slots) for name in ("sampled", "asked", "swapped", "is_kept")),
    ]


def dialogue_fields(sizes: Sizes) -> list[Field]:
    """Return the fields of a dialogue record; frequently used fields are adjacent."""
    slots, values, said = sizes.slots, sizes.values, sizes.user_items
    return [
        # the course of a dialogue
        *_each("u1", "ended", "success", "out_of_time"),
        *_each("u1", "first_offer_pending", "nothing_matches"),
        *_each("u1", "nothing_found", "offered", "offered_before"),
        *_each("u1", "alternative_awaited", "asked", "discriminable", "has_normal"),
        *_each("i8", "exchange", "twister_at", "now"),
        ("normal", "f8", ()),
        # belief
        *_each("i8", "last_offered", "offers"),
        ("methods", "f8", c.NUMBER_OF_METHODS),
        ("discourse", "f8", len(c.DISCOURSE_ACTS)),
        ("accepted", "u1", slots),
        ("best_mass", "f8", slots),
        ("none", "f8", slots),
        ("believed", "i4", slots),
        ("best", "i8", slots),
        ("second_mass", "f8", slots),
        ("second", "i8", slots),
        ("requested", "f8", slots),
        # summary
        *_each("i8", "count", "number"),
        ("rows", "u8", sizes.words),
        ("accepted_slot", "i8", slots),  # by decreasing probability
        ("listed_slot", "i8", slots),
        ("matches", "u1", ABOUT_MATCHES),
        # the user
        *_each("i8", "patience", "max_patience", "constraints", "requests", "agenda"),
        ("name_at", "i8", ()),  # the index of the request for the name
        ("parameter", "f8", _PARAMETERS),
        ("constraint", "i8", sizes.constraints),
        ("request_slot", "i8", slots),
        ("request_value", "i8", slots),
        ("agenda_act", "i8", sizes.agenda),
        ("agenda_end", "i8", sizes.agenda),  # end of each act's items
        ("agenda_item", "i8", sizes.agenda_items),
        # acts: last user act, user act to repeat, hypotheses, and system acts
        *_each("i8", "user_act", "user_items", "again_act", "again_items"),
        ("user_item", "i8", said),
        ("again_item", "i8", said),
        ("hypotheses", "i8", ()),
        ("hypothesis_act", "i8", c.HYPOTHESES),
        ("hypothesis_items", "i8", c.HYPOTHESES),
        ("score", "f8", c.HYPOTHESES),
        ("hypothesis_item", "i8", (c.HYPOTHESES + 1, said)),  # the last row: interpreted items
        ("system_act", "i8", 2),
        ("system_items", "i8", 2),
        ("system_item", "i8", (2, sizes.system_items)),
        # the observed values of a slot, in order of observation, begin at first[slot]
        ("value", kind_of(sizes), values),
        ("mass", "f8", values),
        ("offer", "i8", sizes.exchanges),
        ("used", "u1", values),
        ("used_slot", "u1", slots),
        # random numbers: Python's generator, and the NumPy generator that seeds it
        ("twister", "u4", 624),
        ("seeder", "u8", 4),
    ]


def _each(kind: str, *names: str) -> list[Field]:
    return [(name, kind, ()) for name in names]


def _taken(what: str, number: int) -> list[Field]:
    """Return the fields of a confusion table."""
    return [
        (f"{what}_words", "i8", (number, c.NEIGHBOURS)),
        (f"{what}_sums", "f8", (number, c.NEIGHBOURS)),
        (f"{what}_number", "i8", number),
    ]


class _Record:
    __slots__ = ()

    if TYPE_CHECKING:

        def __getattr__(self, name: str) -> Any: ...

        def __setattr__(self, name: str, value: Any) -> None: ...

    def __init__(self, layout: list[Field]) -> None:
        for name, kind, shape in layout:
            setattr(self, name, _zeros(0.0 if kind == "f8" else 0, shape))


class SharedRecord(_Record):
    """Shared data of dialogues in plain Python. `matching` caches entities by accepted values."""

    __slots__ = (*(name for name, *_ in shared_fields(STANDARD)), "matching")


class DialogueRecord(_Record):
    """A dialogue in plain Python, with the generator `rng` and the user's function `answer`."""

    __slots__ = (*(name for name, *_ in dialogue_fields(STANDARD)), "rng", "answer")


def _zeros(zero: float, shape: int | tuple[int, ...]) -> Any:
    if shape == ():
        return zero
    first, *rest = (shape,) if isinstance(shape, int) else shape
    return [_zeros(zero, tuple(rest)) for _ in range(first)]


def as_array(record: Any, layout: list[Field]) -> Any:
    """Convert a record to a structured array of length 1."""
    array = np.zeros(1, dtype=np.dtype(layout, align=True))
    for name, *_ in layout:
        array[name][0] = getattr(record, name)
    return array
