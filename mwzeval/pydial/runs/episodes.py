"""Played dialogues as rows of a table: success, exchanges and reward of each.

Source: Casanueva et al. (2017), section 4: success rate and mean reward over test dialogues.

Why an episode failed, as far as its file tells: the goal and what was told, and how it ended.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np

from mwzeval.errors import shorten
from mwzeval.pydial.dialogue.acts import Act
from mwzeval.pydial.dialogue.belief import Belief
from mwzeval.pydial.dialogue.ontology import NAME
from mwzeval.pydial.dialogue.rng import Draws, draws_from
from mwzeval.pydial.dialogue.simulation import Simulation
from mwzeval.pydial.runs.episode_files import Record
from mwzeval.scores.explanation import Explanation, Fact, Reason, TurnView, Utterance
from mwzeval.scores.measure import Measure
from mwzeval.scores.score import WHOLE, Signature
from mwzeval.scores.table import Table
from mwzeval.statistics import Sums

SUCCESS = "success"
OUT_OF_TIME, ENDED = "out-of-time", "ended-without-success"
NO_OFFER, UNANSWERED, WRONG_OFFER = "no-offer", "unanswered", "wrong-offer"
REASON_CODES = frozenset({OUT_OF_TIME, ENDED, NO_OFFER, UNANSWERED, WRONG_OFFER})


def explain(record: Record) -> Explanation:
    """Return what became of an episode, and why it failed if it did."""
    episode = record.episode
    return Explanation(
        unit=episode.unit,
        outcomes={WHOLE: {SUCCESS: episode.success}},
        goal=tuple(_goal(record)),
        turns=tuple(_turn(turn) for turn in record.turns),
        reasons=() if episode.success else tuple(_reasons(record)),
    )


def _goal(record: Record) -> Iterator[Fact]:
    for slot, sign, value in record.constraints or ():
        yield Fact("wants", f"{slot} {sign} {value}")
    for slot, told in (record.requests or {}).items():
        yield Fact("asks for", f"{slot} → {'not told' if told is None else told}")
    yield Fact("exchanges", str(record.episode.exchanges))
    yield Fact("reward", f"{record.episode.reward:g}")


def _turn(raw: Mapping[str, Any]) -> TurnView:
    said = (Utterance(who, str(raw[who])) for who in ("system", "user") if raw.get(who) is not None)
    heard = raw.get("heard") or []
    facts = (Fact("heard", shorten(_hypotheses(heard), 300)),) if heard else ()
    return TurnView(tuple(said), facts)


def _hypotheses(heard: Any) -> str:
    if not isinstance(heard, list):
        return str(heard)
    return "; ".join(
        f"{each[0]} {_confidence(each[1])}"
        if isinstance(each, list) and len(each) == 2
        else str(each)
        for each in heard
    )


def _confidence(value: Any) -> str:
    return f"{value:.2f}" if isinstance(value, float) else str(value)


def _reasons(record: Record) -> Iterator[Reason]:
    def reason(code: str, text: str) -> Reason:
        return Reason(code, SUCCESS, WHOLE, None, text)

    exchanges = record.episode.exchanges
    requests = record.requests
    late = record.out_of_time or exchanges >= record.task.max_exchanges
    if late:
        yield reason(OUT_OF_TIME, f"it was not reached within {exchanges} exchanges")
    if requests is None:
        if not late:
            yield reason(ENDED, f"somebody said goodbye after {exchanges} exchanges")
    elif requests.get(NAME) is None:
        yield reason(NO_OFFER, "nothing was offered, or the last offer was taken back")
    else:
        missing = [slot for slot, told in requests.items() if told is None]
        for slot in missing:
            yield reason(f"{UNANSWERED}:{slot}", f"{slot} was never told")
        if not missing:
            name = requests[NAME]
            yield reason(WRONG_OFFER, f"{name} does not satisfy what was wanted in the end")


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
