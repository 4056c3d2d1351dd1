"""What all dialogues of a task share, as one record: the domain, the user model, the channel."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from math import ceil, log
from typing import Any

import numpy as np

from mwzeval.pydial.batched.codes import THIS, Codes
from mwzeval.pydial.batched.layout import FIRST_VALUE, NO_VALUE, STANDARD, Sizes, shared_type
from mwzeval.pydial.batched.shared_channel import Record, fill_channel, fill_vector
from mwzeval.pydial.dialogue.domain import NAME, UNAVAILABLE, Domain
from mwzeval.pydial.dialogue.error_model import UNTOUCHED_SLOTS
from mwzeval.pydial.dialogue.goals import TYPE
from mwzeval.pydial.dialogue.user import NEAR
from mwzeval.pydial.environments.decision_process import DecisionProcess
from mwzeval.pydial.environments.features import python2_hash


def sizes_for(domain: Domain, codes: Codes, max_exchanges: int, orders: int) -> Sizes:
    """Return sizes of records that have room for a domain."""
    return STANDARD.at_least(
        slots=len(codes.slots),
        values=sum(map(len, codes.values)),
        entities=len(domain.table.rows),
        exchanges=max_exchanges + 1,
        orders=orders,
        near=len(domain.ontology.informable.get(NEAR, ())),
    )


def shared_record(process: DecisionProcess, codes: Codes) -> tuple[Any, Sizes]:
    """Return the record of what the dialogues of a process share, an array of one, and its sizes.

    Raises `UsageError` for a domain that has more slots or values than there are codes.
    """
    simulation = process.simulation
    domain, task = simulation.domain, simulation.task
    orders = simulation.users.goals.orders
    sizes = sizes_for(domain, codes, task.max_exchanges, len(orders))
    array = np.zeros(1, dtype=shared_type(sizes))
    t = array[0]
    t["legacy"] = process.legacy
    t["keep_alternatives"], t["looks_again"] = process.keep_alternatives, process.looks_again
    for kind in ("inform", "request", "bye"):
        t[f"masks_{kind}"] = kind in task.masks
    t["bye_any_time"] = process.goodbye == "policy"
    _slots(t, domain, codes)
    _entities(t, domain, codes)
    picked = [[codes.slot[slot] for slot, _ in order] for order in orders]
    t["orders"], t["picked"] = len(orders), len(picked[0])
    t["order"][: len(orders), : len(picked[0])] = picked
    for index, (low, width) in enumerate(simulation.users.model.ranges):
        t["low"][index], t["width"][index] = low, width
    patience = simulation.users.patience
    t["patiences"], t["patience"][: len(patience)] = len(patience), patience
    fill_channel(t, simulation.channel, codes)
    t["max_exchanges"], t["enough"] = task.max_exchanges, task.inform_count_accepted
    t["most"], t["pool"] = task.max_informed_slots, sample_pool(task.max_informed_slots)
    t["exchange_reward"], t["success_reward"] = task.exchange_reward, task.success_reward
    fill_vector(t, process.neural, codes)
    return array, sizes


def sample_pool(number: int) -> int:
    """Return the largest population from which `Random.sample` draws so many by swapping."""
    return 21 if number <= 5 else 21 + int(4 ** ceil(log(number * 3, 4)))


def _slots(t: Record, domain: Domain, codes: Codes) -> None:
    ontology = domain.ontology
    t["slots"], t["requestables"] = len(codes.slots), len(ontology.requestable)
    t["constraints"], t["informables"] = len(ontology.constraint_slots), len(ontology.informable)
    t["name"], t["this"], t["type"] = (codes.slot[slot] for slot in (NAME, THIS, TYPE))
    t["near"] = codes.slot.get(NEAR, -1)
    t["entity_type"] = FIRST_VALUE
    for key, listed in (
        ("requestable", ontology.requestable),
        ("constraint", ontology.constraint_slots),
        ("informable", tuple(ontology.informable)),
    ):
        t[key][: len(listed)] = [codes.slot[slot] for slot in listed]
    kinds: Mapping[str, Iterable[str]] = {
        "is_constraint": ontology.constraint_slots,
        "is_informable": ontology.informable,
        "is_answer": ontology.answer_slots,
        "is_asked_by_user": ontology.asked_by_user,
        "is_binary": ontology.binary_slots,
        "is_untouched": UNTOUCHED_SLOTS & set(codes.slots),
    }
    for kind, slots in kinds.items():
        for slot in slots:
            t[kind][codes.slot[slot]] = True
    first = 0
    ranks = {slot: rank for rank, slot in enumerate(sorted(codes.of_domain))}
    for code, slot in enumerate(codes.slots):
        t["rank"][code] = ranks.get(slot, len(ranks))
        t["hash"][code] = python2_hash(slot) if slot else 0
        values = ontology.informable.get(slot, ())
        t["first"][code], t["numbers"][code] = first, len(values)
        if values:
            t["threshold"][code] = 1 / (len(values) - 0.1)
        t["type_word"][code] = codes.known(slot, ontology.entity_type)
        t["yes"][code], t["no"][code] = codes.known(slot, "1"), codes.known(slot, "0")
        if slot in ontology.requestable:
            for index, value in enumerate(ontology.informable.get(NEAR, ())):
                t["near_value"][code, index] = codes.value(slot, value)
        texts = codes.values[code]
        t["told"][first : first + len(texts)] = [text not in UNAVAILABLE for text in texts]
        first += len(texts)


def _entities(t: Record, domain: Domain, codes: Codes) -> None:
    table = domain.table
    rows = table.rows
    t["entities"], t["words"] = len(rows), max(1, -(-len(rows) // 64))
    words = t["everything"].size

    def bits(whole: int) -> list[int]:
        return [whole >> 64 * word & (2**64 - 1) for word in range(words)]

    t["everything"] = bits(table.everything)
    for code, slot in enumerate(codes.of_domain):
        first, alike = int(t["first"][code]), dict[str, int]()
        for value, text in enumerate(codes.values[code]):
            if value != NO_VALUE:
                t["having"][first + value] = bits(table.having(slot, text))
        for index, row in enumerate(rows):
            if slot in row:
                t["value"][index, code] = codes.value(slot, row[slot])
                t["alike"][index, code] = alike.setdefault(row[slot].lower(), len(alike) + 1)
    told_apart = table.told_apart_by
    t["tellings"] = len(told_apart)
    t["telling"][: len(told_apart)] = [codes.slot[slot] for slot in told_apart]
    positions = {id(row): index for index, row in enumerate(rows)}
    for value, text in enumerate(codes.values[codes.slot[NAME]]):
        entity = table.named(text) if text else None
        t["named"][value] = -1 if entity is None else positions[id(entity)]
