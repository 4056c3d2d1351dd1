"""Readable views of dialogues, which translate between integer codes and acts, beliefs and goals.

Each word outside the domain gets a temporary code that is valid in one dialogue only.
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
"""The minimum probability for values that are displayed."""


class Ranked(NamedTuple):
    """A value and its probability."""

    value: str
    probability: float


class SlotBelief(NamedTuple):
    """The probability distribution of one slot over its values and "dontcare"; `none` is the
    remaining probability.

    Only values with a positive probability are included. `best` and `second` are the two most
    probable values ("" if there are fewer). `accepted` is the best value if its probability exceeds
    `none` and 1 / (number of values - 0.1), otherwise None.
    """

    values: Mapping[str, float]
    none: float
    best: Ranked
    second: Ranked
    accepted: str | None


class View:
    """A readable view of a dialogue; `t` and `d` are the records of the dialogue."""

    def __init__(self, codes: Codes, t: Shared, d: Dialogue) -> None:
        self.codes, self.t, self.d = codes, t, d
        self._begin()

    def forget(self) -> None:
        """Remove the codes of words outside the domain."""
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
        """Raise `UsageError` if an act would add too many words outside the domain."""
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
        """Replace the next system act, whose items without a slot refer to the entity type."""
        d, after = self.d, 1 - self.d.now
        _grow(len(act.items), *d.system_item)
        d.system_act[after], d.system_items[after] = self._act_code(act.name), len(act.items)
        for at, item in enumerate(act.items):
            item = item if item.slot else item._replace(slot=c.TYPE)
            d.system_item[after][at] = self._item_code(item)

    def put_user(self, act: Act) -> None:
        """Replace the last user act of the dialogue."""
        d = self.d
        _grow(len(act.items), d.user_item, *d.hypothesis_item)
        d.user_act, d.user_items = self._act_code(act.name), len(act.items)
        for at, item in enumerate(act.items):
            d.user_item[at] = self._item_code(user_item(item))

    def put_goal(self, goal: Goal) -> None:
        """Replace the goal of the user."""
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
        """Return the value of a slot that has this code."""
        if value == c.NO_VALUE:
            return None
        known = self.codes.values[slot] if slot < len(self.codes.values) else c.OF_EACH_SLOT
        return known[value] if value < len(known) else self._texts[slot][value - len(known)]

    def item(self, code: int) -> Item:
        """Return the item (slot and value) that has this code."""
        item = self._items.get(code)
        if item is None:
            slot = c.slot_of(code)
            value = self.value(slot, c.value_of(code))
            item = self._items[code] = Item(self._slots[slot], value, c.is_negated(code))
        return item

    def act(self, name: int, items: list[int], number: int) -> Act:
        """Return the dialogue act that has these codes."""
        return Act(self._acts[name], tuple(map(self.item, items[:number])))

    def _system(self, at: int) -> Act:
        d = self.d
        return self.act(d.system_act[at], d.system_item[at], d.system_items[at])

    @property
    def next_act(self) -> Act:
        """The next system act."""
        return self._system(1 - self.d.now)

    @property
    def system_act(self) -> Act:
        """The last system act, which the user does not answer if it ended the dialogue."""
        d = self.d
        return self._system(d.now if not d.ended or d.out_of_time else 1 - d.now)

    @property
    def user_act(self) -> Act:
        """The last dialogue act of the user."""
        d = self.d
        return self.act(d.user_act, d.user_item, d.user_items)

    @property
    def hypotheses(self) -> list[tuple[Act, float]]:
        """The N-best list: hypotheses with confidences."""
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
        """The current goal of the simulated user."""
        d = self.d
        requests = {
            self._slots[slot]: self.value(slot, value)
            for slot, value in zip(d.request_slot[: d.requests], d.request_value, strict=False)
        }
        return Goal(list(map(self.item, d.constraint[: d.constraints])), requests)

    def text(self) -> str:
        """Return a short description of the current turn, or "" before the first dialogue."""
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
        for title, probabilities in (("act", belief.discourse_acts), ("asked", belief.requested)):
            if shown := _ranked(probabilities):
                yield f"  {title:8} {shown}"

    def kernel_vector(self, *, choosing: bool) -> NDArray[np.float64]:
        """Return the vector for GP-SARSA, shape (size,); the kernel depends only on inner products
        of such vectors.

        For each informable slot, the vector contains the probability of no value and the other
        probabilities in sorted order. The next components are the probabilities of discourse acts
        (including "bye") and of methods. The last components are pairs of p and 1 - p for each
        requested slot, each number of matching entities, an offer, and an offer since nothing was
        found. In `legacy`, the method "none" has different probabilities in vectors for choosing
        actions (`choosing`) and in vectors for learning, as in the published program.
        """
        t, d, ontology = self.t, self.d, self.codes.domain.ontology
        numbers: list[float] = []
        for slot in t.informable[: t.informables]:
            first, most = t.first[slot], t.numbers[slot] + 1
            ranked = sorted(d.mass[first : first + d.believed[slot]], reverse=True)[:most]
            numbers += (d.none[slot], *ranked)
            numbers += [0.0] * (most - len(ranked))
        discourse = dict(zip(c.DISCOURSE_ACTS, d.discourse, strict=True))
        numbers += [discourse.get(act, 0.0) for act in (*ontology.discourse_acts, "bye")]
        methods = d.methods[:]
        if t.legacy and choosing:
            methods[0] = 1.0 - sum(methods)
        numbers += methods
        probabilities = [d.requested[slot] for slot in t.requestable[: t.requestables]]
        probabilities += [*d.matches, d.offered, d.offers > 0]
        for p in probabilities:
            numbers += (p, 1.0 - p)
        return np.fromiter(numbers, dtype=np.float64, count=len(numbers))


def _check_room(number: int, most: int, what: str) -> None:
    if number == most:
        raise UsageError(f"a dialogue may have at most {most} {what} that are not in its domain")


def _grow(number: int, *lists: list[int]) -> None:
    """Extend lists, because acts of custom code may have more items than the simulator's acts."""
    for items in lists:
        items += [0] * (number - len(items))


def user_item(item: Item) -> Item:
    """Return an item as in user acts, where an item without a slot refers to the entity type."""
    if item.slot:
        return item
    slot = c.THIS if item.value == "dontcare" else c.TYPE
    return Item(slot, item.value)


def kernel_size(codes: Codes) -> int:
    """Return the length of the observation vectors for GP-SARSA."""
    ontology = codes.domain.ontology
    values = sum(len(values) + 2 for values in ontology.informable.values())
    pairs = len(ontology.requestable) + 25 + 2
    return values + len(ontology.discourse_acts) + 1 + len(METHODS) + 2 * pairs


def _ranked(probabilities: Mapping[str, float]) -> str:
    ranked = sorted(probabilities.items(), key=lambda pair: (-pair[1], pair[0]))
    return ", ".join(f"{value} {p:.2f}" for value, p in ranked if p >= VISIBLE)


class Belief:
    """The current belief, which is decoded on demand and changes with the next turn.

    `methods` are the probabilities of `METHODS`; `discourse_acts` and `requested` contain only
    positive probabilities. `last_offered` is the last offered name, or "" if there is none.
    `offered_since_none` has the names offered since the system last found nothing, in order and
    with repetitions.
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
        """The probability distributions of the informable slots."""
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
        """The probabilities that slots are requested."""
        codes, requested = self.view.codes, self.view.d.requested
        asked = ((slot, requested[codes.slot[slot]]) for slot in codes.domain.ontology.requestable)
        return {slot: p for slot, p in asked if p}

    @property
    def last_offered(self) -> str:
        """The name of the last offer, or ""."""
        return self.view.value(self.view.t.name, self.view.d.last_offered) or ""

    @property
    def offered_since_none(self) -> list[str]:
        """The names offered since the system last found nothing."""
        d, name = self.view.d, self.view.t.name
        return [self.view.value(name, offer) or "" for offer in d.offer[: d.offers]]

    @property
    def nothing_found(self) -> bool:
        """Whether the last system act reported that nothing matches."""
        return bool(self.view.d.nothing_found)

    @property
    def offered(self) -> bool:
        """Whether the last system act offered an entity."""
        return bool(self.view.d.offered)

    def probability(self, slot: str, value: str) -> float:
        """Return the probability of a value of a slot."""
        return self[slot].values.get(value, 0.0)
