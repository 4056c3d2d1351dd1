"""How an act is misheard: as one whose act, slots or values sound like it.

Source: PyDial 1.4, Levenshtein confusion. The tables are built once; which of several words at the
same distance are in them is left to chance, once.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Mapping, Sequence
from itertools import accumulate

from mwzeval.pydial.agenda import TYPE
from mwzeval.pydial.dialogue.acts import Act, Item
from mwzeval.pydial.dialogue.ontology import NAME
from mwzeval.pydial.dialogue.rng import Chance, Draws
from mwzeval.pydial.domain import Domain

USER_ACTS = (
    *("hello", "thankyou", "ack", "bye", "inform", "request", "reqalts"),
    *("reqmore", "confirm", "affirm", "negate", "deny", "repeat", "null"),
)
ASKS_FOR_A_SLOT = frozenset({"request"})
GIVES_A_VALUE = frozenset({"inform", "affirm", "negate", "confirm", "reqalts"})
NEVER_MISHEARD = "bye"
ACT, SLOT, VALUE = 0, 1, 2
PROBABILITY_OF_ACT, PROBABILITY_OF_SLOT = 0.2, 0.3
NEIGHBOURS = 6
SOFTENING = 0.15
TRIES = 25
UNTOUCHED_SLOTS = frozenset({"", TYPE, "more"})


class Neighbours:
    """The words that one word is taken for, and how probably."""

    __slots__ = ("_sums", "words")

    def __init__(self, words: Sequence[str], weights: Sequence[float]) -> None:
        self.words = tuple(words)
        self._sums = tuple(accumulate(weights))

    @property
    def probabilities(self) -> tuple[float, ...]:
        """The probability of each word."""
        total = self._sums[-1]
        return tuple((b - a) / total for a, b in zip((0.0, *self._sums), self._sums, strict=False))

    def draw(self, chance: Chance) -> str:
        """Return one of the words."""
        return self.words[bisect_right(self._sums, chance.random() * self._sums[-1])]

    def without(self, word: str) -> Neighbours:
        """Return the same but for one word, which nothing is taken for."""
        kept = [(w, p) for w, p in zip(self.words, self.probabilities, strict=True) if w != word]
        return Neighbours([w for w, _ in kept], [p for _, p in kept])


def neighbours(words: Sequence[str], draws: Draws) -> dict[str, Neighbours]:
    """Return for each word those nearest by Levenshtein distance, ties broken by chance, once.

    Weights are the inverse distances, scaled to sum 1, plus a constant. A word that has no other
    beside it has no neighbours and is left out.
    """
    from Levenshtein import distance

    shuffled = list(words)
    draws.shuffle(shuffled)
    table = {}
    for word in words:
        distances = [(distance(word, other), other) for other in shuffled if other != word]
        nearest = sorted(distances, key=lambda pair: pair[0])[:NEIGHBOURS]
        inverse = [1 / far for far, _ in nearest]
        if nearest:
            weights = [weight / sum(inverse) + SOFTENING for weight in inverse]
            table[word] = Neighbours([other for _, other in nearest], weights)
    return table


class Confusion:
    """Mishears acts of a domain."""

    def __init__(self, domain: Domain, draws: Draws, *, legacy: bool = False) -> None:
        """Build the tables; `draws` decides ties. `legacy`: acts that ask count as giving."""
        ontology = domain.ontology
        self._legacy = legacy
        self._requestable = ontology.requestable
        self._values: Mapping[str, tuple[str, ...]] = ontology.values_and_dontcare
        self._acts = neighbours(USER_ACTS, draws)
        # Nothing is taken for the name of an entity, but the name is taken for something else.
        slots = neighbours(ontology.requestable, draws)
        named = {slot: near.without(NAME) for slot, near in slots.items()}
        self._slots = {slot: near for slot, near in named.items() if near.words}
        self._values_taken_for = {
            slot: neighbours(self._values[slot], draws)
            for slot in dict.fromkeys((*ontology.constraint_slots, NAME))
        }

    def mishear(self, act: Act, chance: Chance) -> Act:
        """Return another act than this; the same if none is found (nobody mishears a goodbye)."""
        deepest = self._deepest(act)
        for _ in range(TRIES):
            # What an act has too little for becomes a confusion of what it has.
            what = min(chance.which(PROBABILITY_OF_ACT, PROBABILITY_OF_SLOT), deepest)
            if what == ACT:
                other = self._other_act(act, chance)
            elif what == SLOT:
                other = self._other_slots(act, chance)
            else:
                other = self._other_value(act, chance)
            if other.name != NEVER_MISHEARD and not other.says_the_same(act):
                return other
        return act

    def _deepest(self, act: Act) -> int:
        if not act.items or not act.items[0].slot:
            return ACT
        return VALUE if self._legacy or act.items[0].value is not None else SLOT

    def _other_act(self, act: Act, chance: Chance) -> Act:
        near = self._acts.get(act.name)
        name = near.draw(chance) if near is not None else act.name
        if name in GIVES_A_VALUE:
            slot = chance.choose(self._requestable)
            return Act(name, (self._any_value(slot, chance),))
        if name in ASKS_FOR_A_SLOT:
            return Act(name, (Item(chance.choose(self._requestable)),))
        return Act(name)

    def _other_slots(self, act: Act, chance: Chance) -> Act:
        items = list(act.items)
        for index, item in enumerate(items):
            if item.slot in UNTOUCHED_SLOTS:
                break
            near = self._slots.get(item.slot)
            if near is not None:
                slot = near.draw(chance)
                items[index] = Item(slot) if item.value is None else self._any_value(slot, chance)
        return Act(act.name, tuple(items))

    def _other_value(self, act: Act, chance: Chance) -> Act:
        index = int(chance.random() * len(act.items))
        item = act.items[index]
        if not item.slot or item.slot == TYPE or item.value is None:
            return act
        near = self._values_taken_for.get(item.slot, {}).get(item.value)
        if near is not None:
            value = near.draw(chance)
        else:
            others = [v for v in self._values.get(item.slot, ()) if v != item.value]
            if not others:
                return act
            value = chance.choose(others)
        items = list(act.items)
        items[index] = Item(item.slot, value, item.negated)
        return Act(act.name, tuple(items))

    def _any_value(self, slot: str, chance: Chance) -> Item:
        """Return the slot with any value, without one if its values are not listed."""
        values = self._values.get(slot)
        return Item(slot, chance.choose(values) if values else None)
