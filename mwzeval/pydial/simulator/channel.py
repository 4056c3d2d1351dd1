"""The error model, which converts a user act to an N-best list of hypotheses with confidences.

Source: Casanueva et al. (2017), section 3; PyDial 1.4 with the statistics of DSTC2. Wrong
hypotheses contain acts, slots and values whose spelling is similar to the true words (by
Levenshtein distance).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import accumulate

from mwzeval.errors import UsageError, unknown
from mwzeval.pydial.domain import NAME, Domain
from mwzeval.pydial.simulator import codes as c
from mwzeval.pydial.simulator.codes import coded, is_negated, slot_of, value_of
from mwzeval.pydial.simulator.layout import Dialogue, Shared
from mwzeval.pydial.simulator.native import choose, gauss, random, rounded, summed, weighted, which
from mwzeval.pydial.simulator.rng import Rng
from mwzeval.pydial.simulator.user import says_the_same
from mwzeval.pydial.tasks import Task

SOFTENING = 0.15
LEAST_DEVIATION, LEAST_DEVIATION_OF_REST = 1e-4, 1e-5
"""The minimum standard deviations of confidences, in the list and beyond its end."""

ACT, SLOT, VALUE = range(3)
PROBABILITY_OF_ACT, PROBABILITY_OF_SLOT = 0.2, 0.3
TRIES = 25
LOWEST, HIGHEST = 0.01, 0.99
REDRAWS = 1000
"""Maximum number of attempts to draw a hypothesis that is not yet in the list."""


class Neighbours:
    """The words with which the channel may confuse a word, and their probabilities."""

    __slots__ = ("sums", "words")

    def __init__(self, words: Sequence[str], weights: Sequence[float]) -> None:
        self.words = tuple(words)
        self.sums = tuple(accumulate(weights))

    @property
    def probabilities(self) -> tuple[float, ...]:
        """The probability of each word in the confusion table."""
        total = self.sums[-1]
        return tuple((b - a) / total for a, b in zip((0.0, *self.sums), self.sums, strict=False))

    def without(self, word: str) -> Neighbours:
        """Return a copy of the confusion probabilities from which `word` is removed."""
        kept = [(w, p) for w, p in zip(self.words, self.probabilities, strict=True) if w != word]
        return Neighbours([w for w, _ in kept], [p for _, p in kept])


def neighbours(words: Sequence[str], rng: Rng) -> dict[str, Neighbours]:
    """Return the nearest words of each word by Levenshtein distance; ties are resolved at random.

    The weight of a neighbor is the inverse of its distance, divided by the sum of the inverse
    distances of all neighbors, plus a constant. Words that have no neighbor are omitted.
    """
    from Levenshtein import distance

    shuffled = list(words)
    rng.shuffle(shuffled)
    table = {}
    for word in words:
        distances = [(distance(word, other), other) for other in shuffled if other != word]
        nearest = sorted(distances, key=lambda pair: pair[0])[: c.NEIGHBOURS]
        inverse = [1 / far for far, _ in nearest]
        if nearest:
            weights = [weight / sum(inverse) + SOFTENING for weight in inverse]
            table[word] = Neighbours([other for _, other in nearest], weights)
    return table


class Confusion:
    """The confusion tables for acts, slots and values of a domain; `rng` resolves ties."""

    def __init__(self, domain: Domain, rng: Rng) -> None:
        ontology = domain.ontology
        self.acts = neighbours(c.USER_ACTS, rng)
        # No word is recognized as the slot "name", but "name" may be recognized as another slot.
        slots = neighbours(ontology.requestable, rng)
        named = {slot: near.without(NAME) for slot, near in slots.items()}
        self.slots = {slot: near for slot, near in named.items() if near.words}
        self.values_taken_for = {
            slot: neighbours(ontology.values_and_dontcare[slot], rng)
            for slot in dict.fromkeys((*ontology.constraint_slots, NAME))
        }


@dataclass(frozen=True, slots=True)
class ErrorParameters:
    """Parameters of a channel; N-best lists that begin with the true act have separate parameters.

    `lengths` are the weights of the list lengths 1, 2, … `positions` are the weights of the ranks
    0, 1, … of the true act in a list that does not begin with it; a rank beyond the end of the list
    means that the true act is absent. `means` and `variances` describe the confidence at each rank
    and of the null hypothesis.
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
"""Error parameters estimated from DSTC2. No task uses the published sets 2 and 4."""


def error_parameters(task: Task) -> ErrorParameters:
    """Return the parameters of a task's channel. Raises `UsageError` for an unknown set."""
    name = str(task.error_set)
    if name not in ERROR_SETS:
        raise UsageError(unknown("error set", name, ERROR_SETS))
    return ERROR_SETS[name]


def transmit(t: Shared, d: Dialogue) -> None:
    """Create the N-best list for the user act, with confidences that sum to 1."""
    if t.perfect:
        _copy_true_act(d, 0)
        d.score[0] = 1.0
        d.hypotheses = 1
        return
    position = _make_list(t, d)
    number = d.hypotheses
    looks_correct = position == 0 or (t.legacy and position < 0)
    kind = c.CORRECT if looks_correct else c.INCORRECT
    for rank in range(number):
        d.score[rank] = _clipped(gauss(d, t.means[kind][rank], t.deviations[kind][rank]))
    rest = 0.0
    for rank in range(number, c.HYPOTHESES):
        rest += _clipped(gauss(d, t.means[kind][rank], t.rest_deviations[kind][rank]))
    total = summed(d.score, number) + rest
    null = -1
    for rank in range(number):
        if d.hypothesis_act[rank] == c.NULL and d.hypothesis_items[rank] == 0:
            null = rank
            break
    if null < 0:
        d.hypothesis_act[number], d.hypothesis_items[number] = c.NULL, 0
        d.score[number] = rest
        d.hypotheses = number + 1
    else:
        d.score[null] += rest
    for rank in range(d.hypotheses):
        d.score[rank] /= total


def _clipped(score: float) -> float:
    if score <= LOWEST:
        return LOWEST
    return HIGHEST if score >= HIGHEST else rounded(score)


def _copy_true_act(d: Dialogue, rank: int) -> None:
    d.hypothesis_act[rank], d.hypothesis_items[rank] = d.user_act, d.user_items
    for at in range(d.user_items):
        d.hypothesis_item[rank][at] = d.user_item[at]


def _make_list(t: Shared, d: Dialogue) -> int:
    """Create the hypotheses. Return the rank of the true act, or -1 if it is absent."""
    position = 0
    if random(d) >= t.rate:
        length = weighted(d, t.lengths[c.CORRECT], t.length_number[c.CORRECT]) + 1
    else:
        length = weighted(d, t.lengths[c.INCORRECT], t.length_number[c.INCORRECT]) + 1
        position = weighted(d, t.positions, t.position_number)
        if position >= length:
            position = -1
    d.hypotheses = 0
    for rank in range(length):
        at = d.hypotheses
        if rank == position:
            _copy_true_act(d, at)
            d.hypotheses = at + 1
            continue
        for _ in range(REDRAWS):
            if _mishear(t, d, at) and not _is_listed(d, at):
                d.hypotheses = at + 1
                break
    return position


def _is_listed(d: Dialogue, last: int) -> bool:
    for rank in range(last):
        if d.hypothesis_act[rank] == d.hypothesis_act[last] and says_the_same(
            d.hypothesis_item[rank],
            d.hypothesis_items[rank],
            d.hypothesis_item[last],
            d.hypothesis_items[last],
        ):
            return True
    return False


def _mishear(t: Shared, d: Dialogue, rank: int) -> bool:
    """Write a wrong act at a rank of the list; return whether a wrong act was found."""
    deepest = VALUE
    if d.user_items == 0 or slot_of(d.user_item[0]) == t.this:
        deepest = ACT
    elif not t.legacy and value_of(d.user_item[0]) == c.NO_VALUE:
        deepest = SLOT
    for _ in range(TRIES):
        what = min(which(d, PROBABILITY_OF_ACT, PROBABILITY_OF_SLOT), deepest)
        if what == ACT:
            _mishear_act(t, d, rank)
        elif what == SLOT:
            _mishear_slots(t, d, rank)
        else:
            _mishear_value(t, d, rank)
        if d.hypothesis_act[rank] != c.BYE and not (
            d.hypothesis_act[rank] == d.user_act
            and says_the_same(
                d.hypothesis_item[rank], d.hypothesis_items[rank], d.user_item, d.user_items
            )
        ):
            return True
    return False


def _mishear_act(t: Shared, d: Dialogue, rank: int) -> None:
    act = d.user_act
    if t.act_number[act] > 0:
        act = t.act_words[act][weighted(d, t.act_sums[act], t.act_number[act])]
    d.hypothesis_act[rank], d.hypothesis_items[rank] = act, 0
    gives = (
        act == c.INFORM
        or act == c.AFFIRM
        or act == c.NEGATE
        or act == c.CONFIRM
        or act == c.REQALTS
    )
    if gives:
        slot = t.requestable[choose(d, t.requestables)]
        d.hypothesis_item[rank][0] = _any_value(t, d, slot)
        d.hypothesis_items[rank] = 1
    elif act == c.REQUEST:
        slot = t.requestable[choose(d, t.requestables)]
        d.hypothesis_item[rank][0] = coded(slot, c.NO_VALUE, False)
        d.hypothesis_items[rank] = 1


def _mishear_slots(t: Shared, d: Dialogue, rank: int) -> None:
    _copy_true_act(d, rank)
    for at in range(d.user_items):
        slot = slot_of(d.user_item[at])
        if t.is_untouched[slot]:
            break
        number = t.slot_number[slot]
        if number > 0:
            other = t.slot_words[slot][weighted(d, t.slot_sums[slot], number)]
            if value_of(d.user_item[at]) == c.NO_VALUE:
                d.hypothesis_item[rank][at] = coded(other, c.NO_VALUE, False)
            else:
                d.hypothesis_item[rank][at] = _any_value(t, d, other)


def _mishear_value(t: Shared, d: Dialogue, rank: int) -> None:
    _copy_true_act(d, rank)
    at = choose(d, d.user_items)
    item = d.user_item[at]
    slot, value = slot_of(item), value_of(item)
    if slot == t.this or slot == t.type or value == c.NO_VALUE:
        return
    near = t.first[slot] + value
    if t.value_number[near] > 0:
        drawn = weighted(d, t.value_sums[near], t.value_number[near])
        d.hypothesis_item[rank][at] = coded(slot, t.value_words[near][drawn], is_negated(item))
        return
    values = t.numbers[slot] + 1 if t.is_informable[slot] else 0
    is_among = values > 0 and (
        value == c.DONTCARE or c.FIRST_VALUE <= value < c.FIRST_VALUE + t.numbers[slot]
    )
    others = values - 1 if is_among else values
    if others == 0:
        return
    drawn = choose(d, others)
    own = t.numbers[slot] if value == c.DONTCARE else value - c.FIRST_VALUE
    if is_among and drawn >= own:
        drawn += 1
    d.hypothesis_item[rank][at] = coded(slot, _value(t, slot, drawn), is_negated(item))


def _value(t: Shared, slot: int, index: int) -> int:
    """Return the value of a slot at an index; the last value is "dontcare"."""
    return c.DONTCARE if index == t.numbers[slot] else c.FIRST_VALUE + index


def _any_value(t: Shared, d: Dialogue, slot: int) -> int:
    """Return a slot with a random value, or without a value if the ontology lists none."""
    if not t.is_informable[slot]:
        return coded(slot, c.NO_VALUE, False)
    return coded(slot, _value(t, slot, choose(d, t.numbers[slot] + 1)), False)
