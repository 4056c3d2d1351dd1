"""What a policy sees and says as numbers: 328 zeros and ones in, one per kind of act out.

Source: Zhu et al., TACL 2020, section 4.3; the vector, the vocabularies and the way back to values
are those of the public code, with a database that does not leak.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mwzeval.crosswoz.corpus.acts import (
    GENERAL,
    INFORM,
    NO_OFFER,
    RECOMMEND,
    SEPARATOR,
    Act,
    Acts,
    parse_act,
)
from mwzeval.crosswoz.corpus.database import DEPARTURE_MARK, DESTINATION_MARK, Entity
from mwzeval.crosswoz.corpus.dialogues import Dialogue
from mwzeval.crosswoz.corpus.folds import read_vocabulary
from mwzeval.crosswoz.corpus.names import (
    DEPARTURE_STATION,
    DESTINATION_STATION,
    DISHES,
    LIST_SLOTS,
    METRO,
    NO,
    NOTHING,
    PRICE_SLOTS,
    RATING,
    SERVICES,
    STATE_SLOTS,
    TAXI,
    YES,
)
from mwzeval.files.downloads import DataRoot

Vector = NDArray[np.float32]
NUMBERED = (INFORM, RECOMMEND)
"""Intents whose values are replaced by numbers: the first name, the second, and so on."""
NUMBER = re.compile("[0-9]{1,9}")
RESULT_COUNTS = (0, 1, 4)
"""The largest number of results of each bucket but the last."""
USER_FILES = ("usr_da_voc.json", "crosswoz/usr_da_voc.json", "extra/usr_da_voc.json")
SYSTEM_FILES = ("sys_da_voc.json", "crosswoz/sys_da_voc.json", "extra/sys_da_voc.json")
DISH_TAGS = frozenset(
    {"当地口味", "老字号", "其他", "美食林风味", "特色小吃", "美食林臻选"}
    | {"深夜营业", "名人光顾", "四合院"}
)
"""Entries among a restaurant's dishes that are no dishes (local taste, old brand, others, …)."""
MARKS = {DEPARTURE_STATION: DEPARTURE_MARK, DESTINATION_STATION: DESTINATION_MARK}
UNITS = {**dict.fromkeys(PRICE_SLOTS, "元"), RATING: "分"}
_FLAGS = tuple((domain, slot) for domain, slots in STATE_SLOTS.items() for slot in slots)


@dataclass(frozen=True, eq=False)
class Vocabulary:
    """The de-lexicalised acts of users and systems that a policy knows, each sorted."""

    user: tuple[str, ...]
    system: tuple[str, ...]

    @cached_property
    def _user_numbers(self) -> dict[str, int]:
        return {act: number for number, act in enumerate(self.user)}

    @cached_property
    def _system_numbers(self) -> dict[str, int]:
        return {act: number for number, act in enumerate(self.system)}

    @property
    def size(self) -> int:
        """The length of the vector of a situation (328 with the public vocabularies)."""
        return len(self.user) + len(self.system) + len(_FLAGS) + len(RESULT_COUNTS) + 2

    def situation(
        self,
        user_acts: Iterable[Act],
        system_acts: Iterable[Act],
        state: Mapping[str, Mapping[str, str]],
        results: int,
        *,
        ends: bool,
    ) -> list[int]:
        """Return the places of the ones in the vector of a situation, ascending.

        These are the `user_acts`, the `system_acts` before them, which slots of the `state` are
        filled, how many `results` the query of the current domain has, and whether the dialogue
        `ends` with this turn.
        """
        user, system = self._user_numbers, self._system_numbers
        ones = {user[act] for act in delexicalized(user_acts) if act in user}
        offset = len(user)
        ones |= {offset + system[act] for act in delexicalized(system_acts) if act in system}
        offset += len(system)
        ones |= {offset + i for i, (domain, slot) in enumerate(_FLAGS) if state[domain][slot]}
        offset += len(_FLAGS)
        ones.add(offset + sum(results > most for most in RESULT_COUNTS))
        if ends:
            ones.add(offset + len(RESULT_COUNTS) + 1)
        return sorted(ones)

    def actions(self, system_acts: Iterable[Act]) -> list[int]:
        """Return the numbers of the acts that a system says; those it does not know are left out"""
        numbers = self._system_numbers
        return sorted({numbers[act] for act in delexicalized(system_acts) if act in numbers})

    def vectors(self, situations: Sequence[Sequence[int]]) -> Vector:
        """Return one row of zeros and ones per situation."""
        return multi_hot(situations, self.size)

    @classmethod
    def mined(cls, dialogues: Iterable[Dialogue]) -> Vocabulary:
        """Return the vocabulary of all acts that dialogues hold."""
        user: set[str] = set()
        system: set[str] = set()
        for dialogue in dialogues:
            for exchange in dialogue.exchanges:
                user.update(delexicalized(exchange.user.acts))
                system.update(delexicalized(exchange.system.acts))
        return cls(tuple(sorted(user)), tuple(sorted(system)))


def load_vocabulary(root: DataRoot) -> Vocabulary:
    """Return the public vocabulary, which was mined from the train fold. Raises `DataError`."""
    user, system = (root.require(*places) for places in (USER_FILES, SYSTEM_FILES))
    return Vocabulary(read_vocabulary(user), read_vocabulary(system))


def multi_hot(rows: Sequence[Sequence[int]], width: int) -> Vector:
    """Return an array with ones at the places that each row names."""
    array = np.zeros((len(rows), width), dtype=np.float32)
    for number, ones in enumerate(rows):
        array[number, ones] = 1
    return array


def delexicalized(acts: Iterable[Act]) -> list[str]:
    """Return acts without what they inform: the n-th value of a slot is the number n."""
    seen: Counter[tuple[str, str, str]] = Counter()
    found = []
    for act in acts:
        if act.intent in NUMBERED:
            kind = act[:3]
            seen[kind] += 1
            found.append(SEPARATOR.join((*kind, str(seen[kind]))))
        else:
            found.append(SEPARATOR.join(act))
    return found


def lexicalized(acts: Iterable[str], domain: str | None, results: Sequence[Entity]) -> Acts:
    """Return de-lexicalised system acts with the values of the current domain's query.

    (odd) A number larger than the number of results drops an Inform, although it counts values of
    the first result; so does a value that is not there. Acts of other domains are dropped. (odd)
    What the database has as unknown is spelled `None`, as in `None元`.
    """
    found = (_lexicalized(parse_act(act), domain, results) for act in acts)
    return tuple(act for act in found if act is not None)


def _lexicalized(act: Act, domain: str | None, results: Sequence[Entity]) -> Act | None:
    if act.intent in (GENERAL, NO_OFFER):
        return act
    if act.domain != domain or not NUMBER.fullmatch(act.value):
        return None
    value = _value(act, int(act.value), results)
    return None if value is None else act._replace(value=value)


def _value(act: Act, number: int, results: Sequence[Entity]) -> str | None:
    if act.domain == METRO:
        return _station(act.slot, results)
    if number > (1 if act.domain == TAXI and results else len(results)):
        return None
    if act.intent == RECOMMEND:
        return results[number - 1].name
    record = results[0].record
    if act.service is not None:
        return YES if act.service in (record.get(SERVICES) or ()) else NO
    value: Any = record.get(act.slot)
    if act.slot in LIST_SLOTS:
        items = [item for item in value or () if act.slot != DISHES or item not in DISH_TAGS]
        return items[number - 1] if number <= len(items) else None
    return f"{value}{UNITS.get(act.slot, '')}"


def _station(slot: str, results: Sequence[Entity]) -> str:
    mark = MARKS.get(slot, "")
    for entity in results:
        if entity.name.startswith(mark):
            return str(entity.record.get(METRO))
    return NOTHING
