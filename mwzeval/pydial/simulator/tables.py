"""The data that all dialogues of a task share, as numbers: domain, user model and channel."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from itertools import accumulate, permutations
from math import ceil, log, sqrt
from typing import Any, NamedTuple

from mwzeval.pydial.domain import METHODS, NAME, UNAVAILABLE
from mwzeval.pydial.simulator import codes as c
from mwzeval.pydial.simulator.channel import (
    LEAST_DEVIATION,
    LEAST_DEVIATION_OF_REST,
    Confusion,
    Neighbours,
    error_parameters,
)
from mwzeval.pydial.simulator.codes import Codes
from mwzeval.pydial.simulator.layout import (
    STANDARD,
    Shared,
    SharedRecord,
    Sizes,
    shared_fields,
)
from mwzeval.pydial.tasks import Goodbye, Task
from mwzeval.pydial.user_parameters import LEGACY_PATIENCE, PATIENCE, UserModel
from mwzeval.pydial.user_parameters import STANDARD as STANDARD_USER

CONSTRAINTS = 3
_ALL_BITS = 2**64 - 1


class Switches(NamedTuple):
    """The options of the simulation, which are explained in `DecisionProcess`."""

    legacy: bool = False
    keep_alternatives: bool = False
    looks_again: bool = False
    goodbye: Goodbye = "policy"


def sizes_for(codes: Codes, task: Task, *, compiled: bool) -> Sizes:
    """Return the sizes of records, which in plain Python include words outside the domain."""
    entities = len(codes.domain.table.rows)
    needed = {
        "slots": len(codes.slots),
        "values": sum(map(len, codes.values)),
        "entities": entities,
        "exchanges": task.max_exchanges + 2,
        "orders": len(orders_of(codes)),
        "near": len(codes.domain.ontology.informable.get(c.NEAR, ())),
    }
    if compiled:
        return STANDARD.at_least(**needed, words=-(-entities // 64))
    needed["slots"] += c.FOREIGN_SLOTS
    needed["values"] += c.FIRST_VALUE * c.FOREIGN_SLOTS + c.FOREIGN_VALUES * needed["slots"]
    return Sizes(**needed, words=1)


def orders_of(codes: Codes) -> list[tuple[int, ...]]:
    """Return all orders in which the constraints of a goal can be drawn."""
    slots = [codes.slot[slot] for slot in codes.domain.ontology.constraint_slots]
    return list(permutations(slots, min(CONSTRAINTS, len(slots))))


def shared_record(
    codes: Codes,
    task: Task,
    confusion: Confusion | None,
    switches: Switches,
    *,
    compiled: bool = False,
) -> tuple[Shared, Sizes]:
    """Return the data shared by all dialogues of a task, and the sizes of the records.

    The record is for plain Python or, if `compiled` is true, is converted to an array.
    """
    sizes = sizes_for(codes, task, compiled=compiled)
    t: Any = SharedRecord(shared_fields(sizes))
    t.matching = {}
    t.legacy, t.keep_alternatives, t.looks_again, goodbye = switches
    t.bye_any_time = goodbye == "policy"
    t.masked = task.masked
    t.max_exchanges, t.enough = task.max_exchanges, task.inform_count_accepted
    t.most, t.pool = task.max_informed_slots, sample_pool(task.max_informed_slots)
    t.exchange_reward, t.success_reward = task.exchange_reward, task.success_reward
    _put_slots(t, codes, 0 if compiled else c.FOREIGN_VALUES)
    _put_entities(t, codes, sizes.words)
    orders = orders_of(codes)
    t.orders, t.picked = len(orders), len(orders[0])
    _put(t.order, ([*order, 0, 0][:CONSTRAINTS] for order in orders))
    put_channel(t, task, confusion, codes)
    _put_vector(t, codes)
    return t, sizes


def sample_pool(number: int) -> int:
    """Return the largest population from which `Random.sample` draws `number` items by swapping."""
    return 21 if number <= 5 else 21 + int(4 ** ceil(log(number * 3, 4)))


def _put(numbers: list[Any], values: Iterable[Any]) -> int:
    """Write values to the beginning of a list; return their number."""
    known = list(values)
    numbers[: len(known)] = known
    return len(known)


def _put_slots(t: Shared, codes: Codes, foreign: int) -> None:
    ontology = codes.domain.ontology
    t.slots, t.entity_type = len(codes.slots), c.FIRST_VALUE
    t.name, t.this, t.type = (codes.slot[slot] for slot in (NAME, c.THIS, c.TYPE))
    t.near = codes.slot[c.NEAR] if c.NEAR in codes.of_domain else -1
    code = codes.slot.__getitem__
    t.requestables = _put(t.requestable, map(code, ontology.requestable))
    t.constraints = _put(t.constraint, map(code, ontology.constraint_slots))
    t.informables = _put(t.informable, map(code, ontology.informable))
    kinds: Mapping[str, Iterable[str]] = {
        "is_constraint": ontology.constraint_slots,
        "is_informable": ontology.informable,
        "is_answer": set(ontology.requestable) - set(ontology.informable),
        "is_asked_by_user": ontology.only_requestable,
        "is_binary": ontology.binary_slots,
        "is_untouched": c.UNTOUCHED,
        "is_unchecked": c.UNCHECKED,
    }
    for kind, slots in kinds.items():
        for slot in slots:
            getattr(t, kind)[codes.slot[slot]] = 1
    ranks = {slot: rank for rank, slot in enumerate(sorted(codes.of_domain))}
    first = 0
    for at in range(len(t.first)):
        # Slots outside the domain have only the values that every slot has.
        t.first[at] = first
        first += foreign
        if at < t.slots:
            first += len(codes.values[at])
        elif foreign:
            first += c.FIRST_VALUE
        t.type_word[at] = t.yes[at] = t.no[at] = -1
    for at, slot in enumerate(codes.slots):
        t.rank[at] = ranks.get(slot, len(ranks))
        t.hash[at] = python2_hash(slot) if slot else 0
        values = ontology.informable.get(slot, ())
        t.numbers[at] = len(values)
        if values:
            t.threshold[at] = 1 / (len(values) - 0.1)
        t.type_word[at] = codes.known(slot, ontology.entity_type)
        t.yes[at], t.no[at] = codes.known(slot, "1"), codes.known(slot, "0")
        for index, place in enumerate(ontology.informable.get(c.NEAR, ())):
            t.near_value[at][index] = codes.known(slot, place)
        for value, text in enumerate(codes.values[at]):
            t.available[t.first[at] + value] = int(text not in UNAVAILABLE)


def python2_hash(text: str) -> int:
    """Return the hash that 64-bit Python 2 computes for a nonempty text."""
    hashed = ord(text[0]) << 7
    for character in text:
        hashed = ((1000003 * hashed) & _ALL_BITS) ^ ord(character)
    return hashed ^ len(text)


def in_words(rows: int, words: int) -> list[int]:
    """Return a bit set as a list of words of 64 bits; a single word may have any length."""
    if words == 1:
        return [rows]
    return [rows >> 64 * word & _ALL_BITS for word in range(words)]


def _put_entities(t: Shared, codes: Codes, words: int) -> None:
    table = codes.domain.table
    t.entities = len(table.rows)
    t.everything = in_words(table.everything, words)
    for at, slot in enumerate(codes.of_domain):
        alike = dict[str, int]()
        for value, text in enumerate(codes.values[at]):
            if value != c.NO_VALUE:
                t.having[t.first[at] + value] = in_words(table.having(slot, text), words)
        for index, row in enumerate(table.rows):
            if slot in row:
                t.value[index][at] = codes.known(slot, row[slot])
                t.alike[index][at] = alike.setdefault(row[slot].lower(), len(alike) + 1)
    t.tellings = _put(t.telling, (codes.slot[slot] for slot in table.told_apart_by))
    for value, text in enumerate(codes.values[t.name]):
        t.named[value] = table.number_of(text)


def put_user_model(t: Shared, model: UserModel, legacy: bool) -> None:
    """Write the parameter ranges and the patience of the user model into the shared record."""
    for index, name in enumerate(STANDARD_USER):
        low, high = model.ranges[name]
        t.low[index], t.width[index] = low, high - low
    patience = model.patience or (LEGACY_PATIENCE if legacy else PATIENCE)
    t.patiences = _put(t.patience, patience)


def put_channel(t: Shared, task: Task, confusion: Confusion | None, codes: Codes) -> None:
    """Write the confusion tables and the parameters of N-best lists.

    Raises `UsageError` for an unknown set of parameters.
    """
    t.perfect = confusion is None
    if confusion is None:
        return
    figures = error_parameters(task)
    t.rate = task.error_rate
    acts = {act: code for code, act in enumerate(c.ACTS)}
    _put_near(t, "act", confusion.acts, acts, 0)
    _put_near(t, "slot", confusion.slots, codes.slot, 0)
    for slot, near in confusion.values_taken_for.items():
        values = {value: codes.known(slot, value) for value in near}
        _put_near(t, "value", near, values, t.first[codes.slot[slot]])
    # List lengths and positions are stored as cumulative sums of weights.
    t.position_number = _put(t.positions, accumulate(figures.incorrect_positions))
    for kind, lengths, means, variances in (
        (
            c.INCORRECT,
            figures.incorrect_lengths,
            figures.incorrect_means,
            figures.incorrect_variances,
        ),
        (c.CORRECT, figures.correct_lengths, figures.correct_means, figures.correct_variances),
    ):
        t.length_number[kind] = _put(t.lengths[kind], accumulate(lengths))
        t.means[kind] = list(means)
        t.deviations[kind] = [max(sqrt(v), LEAST_DEVIATION) for v in variances]
        t.rest_deviations[kind] = [max(sqrt(v), LEAST_DEVIATION_OF_REST) for v in variances]


def _put_near(
    t: Shared, what: str, near: Mapping[str, Neighbours], code: Mapping[str, int], first: int
) -> None:
    for word, words in near.items():
        at = first + code[word]
        getattr(t, f"{what}_number")[at] = len(words.words)
        _put(getattr(t, f"{what}_words")[at], (code[other] for other in words.words))
        _put(getattr(t, f"{what}_sums")[at], words.sums)


def vector_names(codes: Codes) -> tuple[str, ...]:
    """Return the names of the components of the vectors for neural policies."""
    ontology = codes.domain.ontology
    names: list[str] = []
    for slot, values in ontology.informable.items():
        names += [f"{slot}={value}" for value in (*values, "**NONE**", "dontcare")]
    names += [f"method={method}" for method in METHODS]
    names += [f"discourse_act={act}" for act in ontology.discourse_acts]
    names += [f"requested={slot}" for slot in ontology.requestable]
    names += ["nothing_found", "offered"]
    return (*names, *(f"matches_{index}" for index in range(25)))


def _put_vector(t: Shared, codes: Codes) -> None:
    """Write the positions of beliefs in the vectors of neural policies."""
    ontology = codes.domain.ontology
    at = 0
    for slot, values in ontology.informable.items():
        t.value_place[codes.slot[slot]] = at
        at += len(values) + 2
    t.method_place = at
    at += len(METHODS)
    for index, act in enumerate(c.DISCOURSE_ACTS):
        listed = ontology.discourse_acts
        t.discourse_place[index] = at + listed.index(act) if act in listed else -1
    at += len(ontology.discourse_acts)
    for slot in ontology.requestable:
        t.requested_place[codes.slot[slot]] = at
        at += 1
    t.flag_place = at
