"""The error model: an n-best list of hypotheses of what a user act was, with confidences.

Source: Casanueva et al. (2017), section 3; PyDial 1.4 with the statistics of DSTC2. Hypotheses that
are wrong come from Levenshtein confusion: acts, slots and values of similar spelling.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import accumulate
from math import sqrt

from mwzeval.errors import UsageError, unknown
from mwzeval.pydial.dialogue.acts import NULL, Act, Item
from mwzeval.pydial.dialogue.domain import NAME, Domain
from mwzeval.pydial.dialogue.goals import TYPE
from mwzeval.pydial.dialogue.rng import RandomSource, Rng
from mwzeval.pydial.tasks import Task

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

    __slots__ = ("sums", "words")

    def __init__(self, words: Sequence[str], weights: Sequence[float]) -> None:
        self.words = tuple(words)
        self.sums = tuple(accumulate(weights))

    @property
    def probabilities(self) -> tuple[float, ...]:
        """The probability of each word."""
        total = self.sums[-1]
        return tuple((b - a) / total for a, b in zip((0.0, *self.sums), self.sums, strict=False))

    def draw(self, rng: RandomSource) -> str:
        """Return one of the words."""
        return self.words[bisect_right(self.sums, rng.random() * self.sums[-1])]

    def without(self, word: str) -> Neighbours:
        """Return the same but for one word, which nothing is taken for."""
        kept = [(w, p) for w, p in zip(self.words, self.probabilities, strict=True) if w != word]
        return Neighbours([w for w, _ in kept], [p for _, p in kept])


def neighbours(words: Sequence[str], rng: Rng) -> dict[str, Neighbours]:
    """Return for each word those nearest by Levenshtein distance, ties broken by chance, once.

    Weights are the inverse distances, scaled to sum 1, plus a constant. A word that has no other
    beside it has no neighbours and is left out.
    """
    from Levenshtein import distance

    shuffled = list(words)
    rng.shuffle(shuffled)
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

    def __init__(self, domain: Domain, rng: Rng, *, legacy: bool = False) -> None:
        """Build the tables; `rng` decides ties. `legacy`: acts that ask count as giving."""
        ontology = domain.ontology
        self._legacy = legacy
        self._requestable = ontology.requestable
        self._values: Mapping[str, tuple[str, ...]] = ontology.values_and_dontcare
        self.acts = neighbours(USER_ACTS, rng)
        # Nothing is taken for the name of an entity, but the name is taken for something else.
        slots = neighbours(ontology.requestable, rng)
        named = {slot: near.without(NAME) for slot, near in slots.items()}
        self.slots = {slot: near for slot, near in named.items() if near.words}
        self.values_taken_for = {
            slot: neighbours(self._values[slot], rng)
            for slot in dict.fromkeys((*ontology.constraint_slots, NAME))
        }

    def mishear(self, act: Act, rng: RandomSource) -> Act:
        """Return another act than this; the same if none is found (nobody mishears a goodbye)."""
        deepest = self._deepest(act)
        for _ in range(TRIES):
            # What an act has too little for becomes a confusion of what it has.
            what = min(rng.which(PROBABILITY_OF_ACT, PROBABILITY_OF_SLOT), deepest)
            if what == ACT:
                other = self._other_act(act, rng)
            elif what == SLOT:
                other = self._other_slots(act, rng)
            else:
                other = self._other_value(act, rng)
            if other.name != NEVER_MISHEARD and not other.says_the_same(act):
                return other
        return act

    def _deepest(self, act: Act) -> int:
        if not act.items or not act.items[0].slot:
            return ACT
        return VALUE if self._legacy or act.items[0].value is not None else SLOT

    def _other_act(self, act: Act, rng: RandomSource) -> Act:
        near = self.acts.get(act.name)
        name = near.draw(rng) if near is not None else act.name
        if name in GIVES_A_VALUE:
            slot = rng.choose(self._requestable)
            return Act(name, (self._any_value(slot, rng),))
        if name in ASKS_FOR_A_SLOT:
            return Act(name, (Item(rng.choose(self._requestable)),))
        return Act(name)

    def _other_slots(self, act: Act, rng: RandomSource) -> Act:
        items = list(act.items)
        for index, item in enumerate(items):
            if item.slot in UNTOUCHED_SLOTS:
                break
            near = self.slots.get(item.slot)
            if near is not None:
                slot = near.draw(rng)
                items[index] = Item(slot) if item.value is None else self._any_value(slot, rng)
        return Act(act.name, tuple(items))

    def _other_value(self, act: Act, rng: RandomSource) -> Act:
        index = int(rng.random() * len(act.items))
        item = act.items[index]
        if not item.slot or item.slot == TYPE or item.value is None:
            return act
        near = self.values_taken_for.get(item.slot, {}).get(item.value)
        if near is not None:
            value = near.draw(rng)
        else:
            others = [v for v in self._values.get(item.slot, ()) if v != item.value]
            if not others:
                return act
            value = rng.choose(others)
        items = list(act.items)
        items[index] = Item(item.slot, value, item.negated)
        return Act(act.name, tuple(items))

    def _any_value(self, slot: str, rng: RandomSource) -> Item:
        """Return the slot with any value, without one if its values are not listed."""
        values = self._values.get(slot)
        return Item(slot, rng.choose(values) if values else None)


Hypotheses = list[tuple[Act, float]]
LOWEST, HIGHEST = 0.01, 0.99
DIGITS = 4
LEAST_DEVIATION, LEAST_DEVIATION_OF_REST = 1e-4, 1e-5
REDRAWS = 1000
"""So many confusions that are in the list already mean that there are no others."""


@dataclass(frozen=True, slots=True)
class ErrorParameters:
    """Figures of a channel, for lists that begin with the true act and for those that do not.

    `lengths` are weights of the list lengths from 1, `positions` those of the true act's place from
    0 in an incorrect list (beyond the end of the list it is absent). `means` and `variances` of the
    confidences are by rank; the last is that of what remains for the null hypothesis.
    """

    correct_lengths: tuple[float, ...]
    incorrect_lengths: tuple[float, ...]
    incorrect_positions: tuple[float, ...]
    correct_means: tuple[float, ...]
    correct_variances: tuple[float, ...]
    incorrect_means: tuple[float, ...]
    incorrect_variances: tuple[float, ...]


ERROR_SETS: Mapping[str, ErrorParameters] = {
    "set1": ErrorParameters(
        correct_lengths=(0.264, 0.215, 0.138, 0.099, 0.08),
        incorrect_lengths=(0.3, 0.068, 0.085, 0.072, 0.079),
        incorrect_positions=(0.0, 0.179, 0.063, 0.027, 0.017),
        correct_means=(0.871, 0.103, 0.045, 0.032, 0.027, 0.049),
        correct_variances=(0.029, 0.01, 0.002, 0.001, 0.0, 0.001),
        incorrect_means=(0.757, 0.179, 0.077, 0.048, 0.037, 0.065),
        incorrect_variances=(0.052, 0.014, 0.003, 0.001, 0.0, 0.002),
    ),
    "set3": ErrorParameters(
        correct_lengths=(0.147, 0.43, 0.212, 0.147, 0.048),
        incorrect_lengths=(0.351, 0.388, 0.158, 0.071, 0.02),
        incorrect_positions=(0.0, 0.116, 0.027, 0.007, 0.002),
        correct_means=(0.905, 0.101, 0.017, 0.008, 0.005, 0.01),
        correct_variances=(0.016, 0.013, 0.002, 0.001, 0.0, 0.001),
        incorrect_means=(0.871, 0.164, 0.065, 0.043, 0.03, 0.054),
        incorrect_variances=(0.029, 0.02, 0.005, 0.002, 0.001, 0.003),
    ),
}
"""Parameters estimated from DSTC2; set2 and set4 of the original are used by no task."""


class _Weighted:
    """Numbers from 0, drawn by weight."""

    __slots__ = ("sums",)

    def __init__(self, weights: Sequence[float]) -> None:
        self.sums = tuple(accumulate(weights))

    def draw(self, rng: Rng) -> int:
        return bisect_right(self.sums, rng.random() * self.sums[-1])


class _Confidences:
    """Confidences of the ranks of a list, and of what remains."""

    __slots__ = ("rest", "scores")

    def __init__(self, means: Sequence[float], variances: Sequence[float]) -> None:
        deviations = [sqrt(variance) for variance in variances]
        self.scores = tuple(
            (m, max(d, LEAST_DEVIATION)) for m, d in zip(means, deviations, strict=True)
        )
        self.rest = tuple(
            (m, max(d, LEAST_DEVIATION_OF_REST)) for m, d in zip(means, deviations, strict=True)
        )

    def draw(self, ranks: int, rng: Rng) -> tuple[list[float], float]:
        """Return a confidence for each rank, and the sum of those beyond."""
        normal = rng.gauss
        scores = [_clipped(normal(mean, sd)) for mean, sd in self.scores[:ranks]]
        rest = 0.0
        for mean, deviation in self.rest[ranks:]:
            rest += _clipped(normal(mean, deviation))
        return scores, rest


def _clipped(score: float) -> float:
    if score <= LOWEST:
        return LOWEST
    return HIGHEST if score >= HIGHEST else round(score, DIGITS)


class ErrorModel:
    """The channel of a task; what sounds alike is decided once, by `confusion_rng`.

    `legacy` reproduces two quirks of the original: a list without the true act gets the confidences
    of a correct one, and acts that ask are confused like acts that give values.
    """

    def __init__(
        self, domain: Domain, task: Task, confusion_rng: Rng, *, legacy: bool = False
    ) -> None:
        """Prepare the channel of a task. Raises `UsageError` for an unknown set of parameters."""
        error_set = task.error_set
        self.rate = task.error_rate
        self._legacy = legacy
        self.perfect = error_set is None
        if error_set is None:
            return
        if error_set not in ERROR_SETS:
            raise UsageError(unknown("error set", error_set, ERROR_SETS))
        figures = ERROR_SETS[error_set]
        self.confusion = Confusion(domain, confusion_rng, legacy=legacy)
        self.correct_lengths = _Weighted(figures.correct_lengths[: task.max_hypotheses])
        self.incorrect_lengths = _Weighted(figures.incorrect_lengths[: task.max_hypotheses])
        self.positions = _Weighted(figures.incorrect_positions)
        self.correct = _Confidences(figures.correct_means, figures.correct_variances)
        self.incorrect = _Confidences(figures.incorrect_means, figures.incorrect_variances)

    def nbest(self, true_act: Act, rng: Rng) -> Hypotheses:
        """Return acts and confidences, which sum to 1, by rank (confidences need not descend).

        `null()` stands for everything that is not in the list.
        """
        if self.perfect:
            return [(true_act, 1.0)]
        acts, position = self._acts(true_act, rng)
        looks_correct = position == 0 or (self._legacy and position is None)
        confidences = self.correct if looks_correct else self.incorrect
        scores, rest = confidences.draw(len(acts), rng)
        total = sum(scores) + rest
        if NULL in acts:
            scores[acts.index(NULL)] += rest
        else:
            acts.append(NULL)
            scores.append(rest)
        return [(act, score / total) for act, score in zip(acts, scores, strict=True)]

    def _acts(self, true_act: Act, rng: Rng) -> tuple[list[Act], int | None]:
        """Return the list of acts and where the true one is in it, None if it is absent."""
        position: int | None = 0
        if rng.random() >= self.rate:
            length = self.correct_lengths.draw(rng) + 1
        else:
            length = self.incorrect_lengths.draw(rng) + 1
            drawn = self.positions.draw(rng)
            position = drawn if drawn < length else None
        acts: list[Act] = []
        for rank in range(length):
            if rank == position:
                acts.append(true_act)
                continue
            for _ in range(REDRAWS):
                other = self.confusion.mishear(true_act, rng)
                if other == true_act or any(other.says_the_same(act) for act in acts):
                    continue
                acts.append(other)
                break
        return acts, position
