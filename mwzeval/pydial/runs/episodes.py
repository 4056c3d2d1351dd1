"""Played dialogues as rows of a table: success, exchanges and reward of each.

Source: Casanueva et al. (2017), section 4: success rate and mean reward over test dialogues.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np

from mwzeval.metrics.measure import Measure
from mwzeval.pydial.dialogue.acts import Act
from mwzeval.pydial.dialogue.belief import Belief
from mwzeval.pydial.dialogue.rng import Draws, draws_from
from mwzeval.pydial.dialogue.simulation import Simulation
from mwzeval.scores.score import WHOLE, Signature
from mwzeval.scores.table import Table
from mwzeval.statistics import Sums

COLUMNS = ("dialogues", "successes", "exchanges", "reward")


@dataclass(frozen=True, slots=True)
class Episode:
    """A dialogue that was played: the `index`-th of a task with a seed."""

    task: str
    seed: int
    index: int
    success: bool
    exchanges: int
    reward: float

    @property
    def unit(self) -> str:
        """The name of its row."""
        return f"{self.task}/{self.seed}/{self.index:06d}"


class ActPolicy(Protocol):
    """A policy that says acts of its own making."""

    def act(self, belief: Belief, draws: Draws) -> Act:
        """Return the system act for a belief."""
        ...


def draws_of(seed: int, index: int) -> Draws:
    """Return the source of chance of one dialogue, from a generator of its own."""
    return draws_from(np.random.default_rng((seed, index)))


def play(
    simulation: Simulation, policy: ActPolicy, dialogues: int, seed: int, *, first: int = 0
) -> Iterator[Episode]:
    """Play the dialogues numbered from `first` on; each depends on nothing but seed and number."""
    for index in range(first, first + dialogues):
        draws = draws_of(seed, index)
        belief = simulation.begin(draws)
        reward = 0.0
        while True:
            result = simulation.answer(policy.act(belief, draws))
            reward += result.reward
            if result.ended:
                break
        yield Episode(
            simulation.task.name, seed, index, result.success, simulation.exchange, reward
        )


def column_of(column: str, scope: str = WHOLE) -> str:
    """Return the name of a column of all episodes, or of those of a task alone."""
    return column if scope == WHOLE else f"{column}@{scope}"


def table_of(episodes: Iterable[Episode], tasks: Sequence[str] = ()) -> Table:
    """Return a table with a row for each episode, in their order, and the columns `COLUMNS`.

    Each of `tasks` has these columns once more, for its own episodes.
    """
    played = list(episodes)
    rows = [(1.0, float(e.success), float(e.exchanges), e.reward) for e in played]
    values = np.array(rows, dtype=np.float64).reshape(len(rows), len(COLUMNS))
    parts = [values]
    for task in tasks:
        is_of_task = np.array([e.task == task for e in played], dtype=np.float64)
        parts.append(values * is_of_task[:, np.newaxis])
    columns = [column_of(column, scope) for scope in (WHOLE, *tasks) for column in COLUMNS]
    return Table(tuple(e.unit for e in played), tuple(columns), np.hstack(parts))


def measures(signature: Signature, *, block: int = 1, scope: str = WHOLE) -> tuple[Measure, ...]:
    """Return success rate (percent), mean reward and mean number of exchanges.

    `block` is how many neighbouring episodes belong together when resampling: those of one seed,
    which share what sounds alike (and with learned policies, what was learned). The success rate
    then gets an interval of resampled seeds too, instead of one that takes episodes for
    independent. `scope` is a task that has columns of its own in the table.
    """
    dialogues, successes = column_of("dialogues", scope), column_of("successes", scope)
    return (
        Measure(
            name="success",
            label="Success",
            signature=signature,
            of=_mean("successes", scope, 100.0),
            cases=dialogues,
            outcome=successes if block == 1 else None,
            places=1,
            scope=scope,
            block=block,
        ),
        Measure(
            name="reward",
            label="Reward",
            signature=signature,
            of=_mean("reward", scope),
            cases=dialogues,
            scope=scope,
            block=block,
        ),
        Measure(
            name="exchanges",
            label="Exchanges",
            signature=signature,
            of=_mean("exchanges", scope),
            cases=dialogues,
            scope=scope,
            block=block,
            lower_is_better=True,
        ),
    )


class _Mean:
    """The mean of a column, which can be sent to other processes."""

    def __init__(self, column: str, cases: str, scale: float) -> None:
        self._column, self._cases, self._scale = column, cases, scale

    def __call__(self, sums: Sums) -> np.ndarray[tuple[int, ...], np.dtype[np.float64]]:
        with np.errstate(invalid="ignore", divide="ignore"):
            return np.asarray(self._scale * sums[self._column] / sums[self._cases])


def _mean(column: str, scope: str, scale: float = 1.0) -> _Mean:
    return _Mean(column_of(column, scope), column_of("dialogues", scope), scale)
