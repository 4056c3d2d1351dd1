"""Dialogues in words: acts, beliefs and goals, decoded when they are asked for, and back.

Words that are not of the domain have codes of their own for the time of a dialogue.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from mwzeval.errors import UsageError, printable
from mwzeval.pydial.acts import Act, Item
from mwzeval.pydial.domain import METHODS, NAME, UNAVAILABLE
from mwzeval.pydial.goals import Goal
from mwzeval.pydial.simulator import codes as c
from mwzeval.pydial.simulator.codes import Codes, coded
from mwzeval.pydial.simulator.layout import Dialogue, Shared

VISIBLE = 0.005
"""Less probable than this is not shown."""


class Ranked(NamedTuple):
    """A value and its probability."""

    value: str
    probability: float


class SlotBelief(NamedTuple):
    """The distribution of one slot over its values and "dontcare"; `none` is what is left over.

    Only values with some probability are there. `best` and `second` are the two likeliest values
    ("" where there are fewer). `accepted` is the best value if it beats `none` and exceeds
    1 / (number of values - 0.1), else None.
    """

    values: Mapping[str, float]
    none: float
    best: Ranked
    second: Ranked
    accepted: str | None


class View:
    """A dialogue in words; `t` and `d` are its records."""

    def __init__(self, codes: Codes, t: Shared, d: Dialogue) -> None:
        self.codes, self.t, self.d = codes, t, d
        self._begin()

    def forget(self) -> None:
        """Forget the words that are not of the domain."""
        if self._slot or self._value or len(self._acts) > len(c.ACTS):
            self.t.matching = {}
            self._begin()

    def _begin(self) -> None:
        self._acts = list(c.ACTS)
        self._slots = list(self.codes.slots)
        self._slot: dict[str, int] = {}
        self._texts: dict[int, list[str]] = {}
        self._value: dict[tuple[int, str], int] = {}
        self._items: dict[int, Item] = {}

    def check(self, act: Act) -> None:
        """Raise `UsageError` for an act with more words than there is room for in a dialogue."""
        self._act_code(act.name)
        for item in act.items:
            self._item_code(item if item.slot else item._replace(slot=c.TYPE))

    def _act_code(self, name: str) -> int:
        if name not in self._acts:
            _check_room(len(self._acts) - len(c.ACTS), c.FOREIGN_ACTS, "acts")
            self._acts.append(name)
        return self._acts.index(name)

    def slot_code(self, slot: str) -> int:
        """Return the code of a slot."""
        known = self.codes.slot.get(slot, self._slot.get(slot))
        if known is not None:
            return known
        _check_room(len(self._slot), c.FOREIGN_SLOTS, "slots")
        self._slots.append(slot)
        code = self._slot[slot] = len(self._slots) - 1
        for index, value in enumerate(self.codes.domain.ontology.informable.get(c.NEAR, ())):
            self.t.near_value[code][index] = self.value_code(code, value)
        return code

    def value_code(self, slot: int, text: str | None) -> int:
        """Return the code of a value of a slot."""
        if text is None:
            return c.NO_VALUE
        known = self.codes.value_codes(slot)
        code = known.get(text, self._value.get((slot, text)))
        if code is not None:
            return code
        texts = self._texts.setdefault(slot, [])
        _check_room(len(texts), c.FOREIGN_VALUES, "values of a slot")
        texts.append(text)
        code = self._value[slot, text] = len(known) + len(texts)
        t, table = self.t, self.codes.domain.table
        place = t.first[slot] + code
        t.matching = {}
        t.having[place] = [table.having(self._slots[slot], text)]
        t.available[place] = text not in UNAVAILABLE
        if slot == t.name:
            t.named[code] = table.number_of(text)
        if text == self.codes.domain.ontology.entity_type:
            t.type_word[slot] = code
        return code

    def _item_code(self, item: Item) -> int:
        slot = self.slot_code(item.slot)
        return coded(slot, self.value_code(slot, item.value), item.negated)

    def put_system(self, act: Act) -> None:
        """Make an act what the system says next; items without a slot are of the kind of entity."""
        d, after = self.d, 1 - self.d.now
        _grow(len(act.items), *d.system_item)
        d.system_act[after], d.system_items[after] = self._act_code(act.name), len(act.items)
        for at, item in enumerate(act.items):
            item = item if item.slot else item._replace(slot=c.TYPE)
            d.system_item[after][at] = self._item_code(item)

    def put_user(self, act: Act) -> None:
        """Make an act what the user has said."""
        d = self.d
        _grow(len(act.items), d.user_item, *d.hypothesis_item)
        d.user_act, d.user_items = self._act_code(act.name), len(act.items)
        for at, item in enumerate(act.items):
            d.user_item[at] = self._item_code(user_item(item))

    def put_goal(self, goal: Goal) -> None:
        """Make a goal that of the user."""
        d = self.d
        _grow(len(goal.constraints), d.constraint)
        _grow(len(goal.requests), d.request_slot, d.request_value)
        d.constraints, d.requests = len(goal.constraints), len(goal.requests)
        for at, item in enumerate(goal.constraints):
            d.constraint[at] = self._item_code(item)
        for at, (slot, value) in enumerate(goal.requests.items()):
            code = d.request_slot[at] = self.slot_code(slot)
            d.request_value[at] = self.value_code(code, value)
        d.name_at = list(goal.requests).index(NAME)

    def value(self, slot: int, value: int) -> str | None:
        """Return the value that a code stands for."""
        if value == c.NO_VALUE:
            return None
        known = self.codes.values[slot] if slot < len(self.codes.values) else c.OF_EACH_SLOT
        return known[value] if value < len(known) else self._texts[slot][value - len(known)]

    def item(self, code: int) -> Item:
        """Return the item that a code stands for."""
        item = self._items.get(code)
        if item is None:
            slot = c.slot_of(code)
            value = self.value(slot, c.value_of(code))
            item = self._items[code] = Item(self._slots[slot], value, c.is_negated(code))
        return item

    def act(self, name: int, items: list[int], number: int) -> Act:
        """Return the act that codes stand for."""
        return Act(self._acts[name], tuple(map(self.item, items[:number])))

    def _system(self, at: int) -> Act:
        d = self.d
        return self.act(d.system_act[at], d.system_item[at], d.system_items[at])

    @property
    def next_act(self) -> Act:
        """What the system says next."""
        return self._system(1 - self.d.now)

    @property
    def system_act(self) -> Act:
        """What the system has said; an act that ended the dialogue was said, but not heard."""
        d = self.d
        return self._system(d.now if not d.ended or d.out_of_time else 1 - d.now)

    @property
    def user_act(self) -> Act:
        """What the user has said."""
        d = self.d
        return self.act(d.user_act, d.user_item, d.user_items)

    @property
    def hypotheses(self) -> list[tuple[Act, float]]:
        """What the system has heard: hypotheses with confidences."""
        d = self.d
        return [
            (
                self.act(d.hypothesis_act[rank], d.hypothesis_item[rank], d.hypothesis_items[rank]),
                d.score[rank],
            )
            for rank in range(d.hypotheses)
        ]

    @property
    def goal(self) -> Goal:
        """The goal of the simulated user as it is now."""
        d = self.d
        requests = {
            self._slots[slot]: self.value(slot, value)
            for slot, value in zip(d.request_slot[: d.requests], d.request_value, strict=False)
        }
        return Goal(list(map(self.item, d.constraint[: d.constraints])), requests)

    def text(self) -> str:
        """Return a few lines about the current exchange, "" before the first dialogue."""
        if self.d.max_patience == 0:
            return ""
        return "\n".join(map(printable, self._lines())) + "\n"

    def _lines(self) -> Iterator[str]:
        d, belief = self.d, Belief(self)
        yield f"turn {d.exchange}{' (the last)' if d.ended else ''}"
        yield f"  system   {self.system_act}"
        if d.ended:
            return
        yield f"  user     {self.user_act}"
        for act, score in self.hypotheses:
            yield f"  heard    {score:.2f} {act}"
        for slot, believed in belief.slots.items():
            if shown := _ranked(believed.values):
                yield f"  {slot:8} {shown}"
        yield f"  method   {_ranked(dict(zip(METHODS, belief.methods, strict=True)))}"
        for title, of in (("act", belief.discourse_acts), ("asked", belief.requested)):
            if shown := _ranked(of):
                yield f"  {title:8} {shown}"

    def kernel_vector(self, *, choosing: bool) -> NDArray[np.float64]:
        """Return what GP-SARSA sees, shape (size,): what matters are inner products.

        For each informable slot the mass of no value and the other probabilities, sorted; discourse
        acts (with "bye"); methods; and a pair of p and 1 - p for each requested slot, each of what
        matches, whether an offer was made, and whether one was made since nothing was found.

        In `legacy` the method "none" has the mass with which the published program chooses an
        action (what it keeps for learning is the vector without).
        """
        t, d, ontology = self.t, self.d, self.codes.domain.ontology
        numbers: list[float] = []
        for slot in t.informable[: t.informables]:
            first, most = t.first[slot], t.numbers[slot] + 1
            ranked = sorted(d.mass[first : first + d.believed[slot]], reverse=True)[:most]
            numbers += (d.none[slot], *ranked)
            numbers += [0.0] * (most - len(ranked))
        said = dict(zip(c.DISCOURSE_ACTS, d.discourse, strict=True))
        numbers += [said.get(act, 0.0) for act in (*ontology.discourse_acts, "bye")]
        methods = d.methods[:]
        if t.legacy and choosing:
            methods[0] = 1.0 - sum(methods)
        numbers += methods
        ones = [d.requested[slot] for slot in t.requestable[: t.requestables]]
        ones += [*d.matches, d.offered, d.offers > 0]
        for one in ones:
            numbers += (one, 1.0 - one)
        return np.fromiter(numbers, dtype=np.float64, count=len(numbers))


def _check_room(number: int, most: int, what: str) -> None:
    if number == most:
        raise UsageError(f"a dialogue has at most {most} {what} that are not of its domain")


def _grow(number: int, *lists: list[int]) -> None:
    """Make room for so many items, where somebody's own code says more than the simulator."""
    for items in lists:
        items += [0] * (number - len(items))


def user_item(item: Item) -> Item:
    """Return what a user says as it is understood: without a slot it is of the kind of entity."""
    if item.slot:
        return item
    slot = c.THIS if item.value == "dontcare" else c.TYPE
    return Item(slot, item.value)


def kernel_size(codes: Codes) -> int:
    """Return the length of the vectors that GP-SARSA sees."""
    ontology = codes.domain.ontology
    values = sum(len(values) + 2 for values in ontology.informable.values())
    pairs = len(ontology.requestable) + 25 + 2
    return values + len(ontology.discourse_acts) + 1 + len(METHODS) + 2 * pairs


def _ranked(of: Mapping[str, float]) -> str:
    ranked = sorted(of.items(), key=lambda pair: (-pair[1], pair[0]))
    return ", ".join(f"{value} {p:.2f}" for value, p in ranked if p >= VISIBLE)


class Belief:
    """What is believed now, read when it is asked for: the next exchange changes it.

    `methods` are the probabilities of `METHODS`; `discourse_acts` and `requested` hold only what
    has some probability. `last_offered` is a name or "", `offered_since_none` the names that were
    offered since nothing was found the last time, in order and with repetitions.
    """

    __slots__ = ("view",)

    def __init__(self, view: View) -> None:
        self.view = view

    def __getitem__(self, slot: str) -> SlotBelief:
        view = self.view
        t, d, code = view.t, view.d, view.codes.slot[slot]
        first, number = t.first[code], d.believed[code]
        values = [view.value(code, value) or "" for value in d.value[first : first + number]]
        best = Ranked(view.value(code, d.best[code]) or "", d.best_mass[code])
        return SlotBelief(
            dict(zip(values, d.mass[first : first + number], strict=True)),
            d.none[code],
            best,
            Ranked(view.value(code, d.second[code]) or "", d.second_mass[code]),
            best.value if d.accepted[code] else None,
        )

    @property
    def slots(self) -> dict[str, SlotBelief]:
        """The distributions of the informable slots."""
        return {slot: self[slot] for slot in self.view.codes.domain.ontology.informable}

    @property
    def methods(self) -> list[float]:
        """The probabilities of `METHODS`."""
        return list(self.view.d.methods)

    @property
    def discourse_acts(self) -> dict[str, float]:
        """The probabilities of discourse acts."""
        said = zip(c.DISCOURSE_ACTS, self.view.d.discourse, strict=True)
        return {act: p for act, p in said if p}

    @property
    def requested(self) -> dict[str, float]:
        """The probabilities that slots are asked for."""
        codes, requested = self.view.codes, self.view.d.requested
        asked = ((slot, requested[codes.slot[slot]]) for slot in codes.domain.ontology.requestable)
        return {slot: p for slot, p in asked if p}

    @property
    def last_offered(self) -> str:
        """The name that was offered last, or ""."""
        return self.view.value(self.view.t.name, self.view.d.last_offered) or ""

    @property
    def offered_since_none(self) -> list[str]:
        """The names that were offered since nothing was found the last time."""
        d, name = self.view.d, self.view.t.name
        return [self.view.value(name, offer) or "" for offer in d.offer[: d.offers]]

    @property
    def nothing_found(self) -> bool:
        """Whether the system has just said that nothing matches."""
        return bool(self.view.d.nothing_found)

    @property
    def offered(self) -> bool:
        """Whether the system has just made an offer."""
        return bool(self.view.d.offered)

    def probability(self, slot: str, value: str) -> float:
        """Return the probability of a value."""
        return self[slot].values.get(value, 0.0)

    def top_name(self) -> str | None:
        """Return the likeliest name, None where no name is likelier than each."""
        named = self[NAME]
        return named.best.value if named.best.probability > named.none else None
