"""The parameters of the error model, which creates N-best lists with confidences.

Source: Casanueva et al. (2017), section 3; PyDial 1.4 with the statistics of DSTC2. Wrong
hypotheses contain acts, slots and values whose spelling is similar to the true words (by
Levenshtein distance).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import accumulate
from math import sqrt

from mwzeval.errors import UsageError, unknown
from mwzeval.pydial.domain import NAME, Domain
from mwzeval.pydial.simulator.rng import Rng
from mwzeval.pydial.tasks import Task

USER_ACTS = (
    *("hello", "thankyou", "ack", "bye", "inform", "request", "reqalts"),
    *("reqmore", "confirm", "affirm", "negate", "deny", "repeat", "null"),
)
GIVES_A_VALUE = frozenset({"inform", "affirm", "negate", "confirm", "reqalts"})
NEIGHBOURS = 6
SOFTENING = 0.15


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
        nearest = sorted(distances, key=lambda pair: pair[0])[:NEIGHBOURS]
        inverse = [1 / far for far, _ in nearest]
        if nearest:
            weights = [weight / sum(inverse) + SOFTENING for weight in inverse]
            table[word] = Neighbours([other for _, other in nearest], weights)
    return table


class Confusion:
    """The confusion tables for acts, slots and values of a domain; `rng` resolves ties."""

    def __init__(self, domain: Domain, rng: Rng) -> None:
        ontology = domain.ontology
        self.acts = neighbours(USER_ACTS, rng)
        # No word is recognized as the slot "name", but "name" may be recognized as another slot.
        slots = neighbours(ontology.requestable, rng)
        named = {slot: near.without(NAME) for slot, near in slots.items()}
        self.slots = {slot: near for slot, near in named.items() if near.words}
        self.values_taken_for = {
            slot: neighbours(ontology.values_and_dontcare[slot], rng)
            for slot in dict.fromkeys((*ontology.constraint_slots, NAME))
        }


LEAST_DEVIATION, LEAST_DEVIATION_OF_REST = 1e-4, 1e-5


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


Confidences = tuple[tuple[float, float, float], ...]
"""By rank: mean confidence, standard deviation, and confidence beyond the end of the list."""


def _confidences(means: Sequence[float], variances: Sequence[float]) -> Confidences:
    return tuple(
        (mean, max(sqrt(v), LEAST_DEVIATION), max(sqrt(v), LEAST_DEVIATION_OF_REST))
        for mean, v in zip(means, variances, strict=True)
    )


class ErrorModel:
    """The channel of a task, whose confusion tables are drawn once with `confusion_rng`.

    The list lengths and the positions are stored as cumulative sums of weights.
    """

    def __init__(self, domain: Domain, task: Task, confusion_rng: Rng) -> None:
        """Prepare the channel of a task. Raises `UsageError` for an unknown set of parameters."""
        error_set = task.error_set
        self.rate = task.error_rate
        self.perfect = error_set is None
        if error_set is None:
            return
        if error_set not in ERROR_SETS:
            raise UsageError(unknown("error set", error_set, ERROR_SETS))
        figures = ERROR_SETS[error_set]
        self.confusion = Confusion(domain, confusion_rng)
        self.correct_lengths = tuple(accumulate(figures.correct_lengths[: task.max_hypotheses]))
        self.incorrect_lengths = tuple(accumulate(figures.incorrect_lengths[: task.max_hypotheses]))
        self.positions = tuple(accumulate(figures.incorrect_positions))
        self.correct = _confidences(figures.correct_means, figures.correct_variances)
        self.incorrect = _confidences(figures.incorrect_means, figures.incorrect_variances)
