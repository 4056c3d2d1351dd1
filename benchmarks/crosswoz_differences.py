"""Why figures of CrossWOZ's SL policy differ from the paper: one thing changed at a time.

`python -m benchmarks.crosswoz_differences [DATA]` trains policies of eight seeds on 450 dialogues
of the validation fold for each way of training, and lets each talk about 300 goals a type; a
quarter of an hour of one core. Changes of the public code that are defects live here alone.
"""

from __future__ import annotations

import statistics
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any
from unittest.mock import patch

from mwzeval.crosswoz.corpus.acts import Act
from mwzeval.crosswoz.corpus.database import (
    EVERYTHING,
    Bounds,
    Database,
    Entity,
    price_bounds,
    rating_bounds,
)
from mwzeval.crosswoz.corpus.dialogues import Dialogue
from mwzeval.crosswoz.corpus.folds import Fold, load_fold
from mwzeval.crosswoz.corpus.names import (
    DEPARTURE,
    DESTINATION,
    DISHES,
    GOAL_TYPES,
    NAME,
    PRICE_SLOTS,
    RATING,
    TRAFFIC_DOMAINS,
)
from mwzeval.crosswoz.simulation.dialogue import Setting
from mwzeval.crosswoz.simulation.protocols import MakeUser
from mwzeval.crosswoz.simulation.run import simulate
from mwzeval.crosswoz.simulation.user import RuleSimulator
from mwzeval.crosswoz.systems import policy_vector, sl_training
from mwzeval.crosswoz.systems.policy_vector import Vocabulary, delexicalized, load_vocabulary
from mwzeval.crosswoz.systems.sl_policy import (
    MakeSlSystem,
    SlPolicy,
    predicted_acts,
    shapes,
)
from mwzeval.crosswoz.systems.sl_training import Settings, train_policy
from mwzeval.files.downloads import DataRoot
from mwzeval.neural.state import Arrays

DEFAULT_DATA = "../shared/data/crosswoz"
SEEDS = (2019, 1, 2, 3, 4, 5, 6, 7)
PER_TYPE, GOALS_SEED = 300, 1
TRAINING, HELD_OUT = 450, 50


class WithoutUserActs(Vocabulary):
    """Sees nothing of what the user says, as training with the public code of 2020 and 2021 did."""

    def situation(self, user_acts: Iterable[Act], *others: Any, **named: Any) -> list[int]:
        """Return the places of the ones, none of the user's acts."""
        return super().situation((), *others, **named)


def pytorch_weights(vocabulary: Vocabulary, settings: Settings) -> Arrays:
    """Return the first weights that PyTorch gives linear layers."""
    import torch

    torch.manual_seed(settings.seed)
    weights: Arrays = {}
    for name, shape in shapes(vocabulary, settings.hidden).items():
        if name.endswith(".weight"):
            layer = torch.nn.Linear(shape[1], shape[0])
            weights[name] = layer.weight.detach().numpy().copy()
            weights[name.replace(".weight", ".bias")] = layer.bias.detach().numpy().copy()
    return weights


class LeakyDatabase(Database):
    """Remembers bounds and ends of trips from one query to the next, as that of the public code.

    A bound that a query does not set is that of the query before; so is an end of a trip.
    """

    def __init__(self, tables: Mapping[str, Sequence[Sequence[Any]]]) -> None:
        super().__init__(tables)
        self._bounds: dict[tuple[str, str], Bounds] = {}
        self._ends: dict[tuple[str, str], str] = {}

    def query(self, domain: str | None, constraints: Mapping[str, str]) -> tuple[Entity, ...]:
        """Return what satisfies these constraints and what is left of those before."""
        if domain is None:
            return ()
        if domain in TRAFFIC_DOMAINS:
            for end in (DEPARTURE, DESTINATION):
                if constraints.get(end):
                    self._ends[domain, end] = constraints[end]
            return super().query(
                domain, {end: self._ends.get((domain, end), "") for end in (DEPARTURE, DESTINATION)}
            )
        if constraints.get(NAME):
            return super().query(domain, constraints)
        numbers = {s for s, v in constraints.items() if v and (s == RATING or s in PRICE_SLOTS)}
        within = {slot: self._remembered(domain, slot, constraints[slot]) for slot in numbers}
        others = {slot: value for slot, value in constraints.items() if slot not in numbers}
        return tuple(
            entity
            for entity in super().query(domain, others)
            if all(_is_within(entity.record.get(slot), of) for slot, of in within.items())
        )

    def _remembered(self, domain: str, slot: str, value: str) -> Bounds:
        asked = rating_bounds(value) if slot == RATING else price_bounds(slot, value)
        before = self._bounds.get((domain, slot), Bounds(-EVERYTHING, EVERYTHING))
        low, high = asked or before
        kept = Bounds(
            before.low if low == -EVERYTHING else low, before.high if high == EVERYTHING else high
        )
        self._bounds[domain, slot] = kept
        return kept


def _is_within(number: float | None, bounds: Bounds) -> bool:
    if number is None:
        return bounds == (-EVERYTHING, EVERYTHING)
    return bounds.low <= number <= bounds.high


class NotTakingNull(RuleSimulator):
    """Takes null for no answer, as the user of the public code; here null is the text `None`."""

    def update(self, system_acts: Iterable[Act]) -> None:
        """Take in what the system says, but null."""
        super().update(act for act in system_acts if act.value != "None")


def with_numbers_of_dishes(act: Act, number: int, results: Sequence[Entity]) -> str | None:
    """Return the value of an act; where a restaurant lacks dishes, the number that lexicalises."""
    value = _value(act, number, results)
    if value is None and act.slot == DISHES and number <= len(results):
        return str(number - 1)
    return value


_value = policy_vector._value


@dataclass(frozen=True, slots=True)
class Training:
    """How policies are trained."""

    what: str
    dialogues: int = TRAINING
    vocabulary: type[Vocabulary] = Vocabulary
    first_weights: Callable[[Vocabulary, Settings], Arrays] = sl_training._first_weights


@dataclass(frozen=True, slots=True)
class Talk:
    """Who takes part in dialogues."""

    what: str
    database: type[Database] = Database
    user: MakeUser = RuleSimulator
    value: Callable[..., str | None] = _value
    of: str = "here"
    """The training of the policies."""


HERE = Training("here")
PYTORCH = Training("first weights of PyTorch", first_weights=pytorch_weights)
UNHEARD = Training("user's acts not stored in training", vocabulary=WithoutUserActs)
TRAININGS = (
    HERE,
    PYTORCH,
    UNHEARD,
    *(Training(f"{number} dialogues", number) for number in (225, 112, 56)),
)
TALKS = (
    *(Talk(training.what, of=training.what) for training in TRAININGS),
    Talk("null is no answer", user=NotTakingNull),
    Talk("numbers instead of dishes", value=with_numbers_of_dishes),
    Talk("database that leaks", database=LeakyDatabase),
    Talk(
        "all three, first weights of PyTorch",
        LeakyDatabase,
        NotTakingNull,
        with_numbers_of_dishes,
        PYTORCH.what,
    ),
)


@dataclass(slots=True)
class Experiment:
    """The data, and the policies that were trained, by training and seed."""

    validation: Fold
    test: Fold
    vocabulary: Vocabulary
    folder: Path
    policies: dict[tuple[str, int], SlPolicy] = field(default_factory=dict)

    def policy(self, training: Training, seed: int) -> SlPolicy:
        """Return a trained policy, whose vocabulary is that of its training."""
        if (training.what, seed) not in self.policies:
            self.policies[training.what, seed] = self._trained(training, seed)
        return self.policies[training.what, seed]

    def _trained(self, training: Training, seed: int) -> SlPolicy:
        dialogues = list(self.validation.dialogues.values())
        vocabulary = training.vocabulary(self.vocabulary.user, self.vocabulary.system)
        with patch.object(sl_training, "_first_weights", training.first_weights):
            policy, _ = train_policy(
                dialogues[: training.dialogues],
                dialogues[TRAINING : TRAINING + HELD_OUT],
                Database(self.validation.tables),
                vocabulary,
                self.folder / training.what / str(seed),
                Settings(seed=seed),
            )
        return policy

    def f1(self, training: Training, seed: int, *, paper_compatible: bool) -> tuple[float, float]:
        """Return act F1 on the test fold with values and without, in percent."""
        trained = self.policy(training, seed)
        vocabulary = training.vocabulary(self.vocabulary.user, self.vocabulary.system)
        policy = SlPolicy(vocabulary, trained.weights)
        database = Database(self.test.tables)
        counts = [0, 0, 0]
        for dialogue in self.test.dialogues.values():
            more = _counts(policy, dialogue, database, paper_compatible)
            counts = [*map(sum, zip(counts, more, strict=True))]
        common, delexicalized_common, told = counts
        return 200 * common / told, 200 * delexicalized_common / told

    def finished(self, talk: Talk, seed: int) -> dict[str, float]:
        """Return the finish rates of a talk's dialogues by goal type, in percent."""
        (training,) = (each for each in TRAININGS if each.what == talk.of)
        setting = Setting(
            talk.database(self.test.tables),
            MakeSlSystem(self.policy(training, seed)),
            make_user=talk.user,
        )
        with patch.object(policy_vector, "_value", talk.value):
            summary = simulate(setting, per_type=PER_TYPE, seed=GOALS_SEED, progress=False)
        return {code: 100 * (summary.by_type[code].finish_rate or 0) for code in GOAL_TYPES}


def _counts(
    policy: SlPolicy, dialogue: Dialogue, database: Database, paper_compatible: bool
) -> tuple[int, int, int]:
    said = predicted_acts(policy, dialogue, database, paper_compatible=paper_compatible)
    common = delexicalized_common = told = 0
    for acts, exchange in zip(said, dialogue.exchanges, strict=True):
        gold = exchange.system.acts
        common += len(set(acts) & set(gold))
        delexicalized_common += len(set(delexicalized(acts)) & set(delexicalized(gold)))
        told += len(acts) + len(gold)
    return common, delexicalized_common, told


def lines(experiment: Experiment, seeds: Sequence[int]) -> Iterator[str]:
    """Yield the lines of both tables as they are measured."""
    yield "| training | F1, corrected flag | F1, flag of the paper |"
    yield "|---|---:|---:|"
    for training in TRAININGS:
        pairs = [
            " / ".join(_spread([each[column] for each in scores], digits=2) for column in range(2))
            for scores in (
                [experiment.f1(training, seed, paper_compatible=flag) for seed in seeds]
                for flag in (False, True)
            )
        ]
        yield f"| {training.what} | {' | '.join(pairs)} |"
    yield ""
    yield f"| dialogues | {' | '.join(GOAL_TYPES)} |"
    yield f"|---|{'---:|' * len(GOAL_TYPES)}"
    for talk in TALKS:
        rates = [experiment.finished(talk, seed) for seed in seeds]
        cells = [_spread([rate[code] for rate in rates], digits=1) for code in GOAL_TYPES]
        yield f"| {talk.what} | {' | '.join(cells)} |"


def _spread(values: Sequence[float], *, digits: int) -> str:
    return f"{statistics.mean(values):.{digits}f} ± {statistics.stdev(values):.{digits}f}"


def main() -> int:
    """Print the tables."""
    root = DataRoot(Path(sys.argv[1] if len(sys.argv) > 1 else DEFAULT_DATA), "--data")
    with TemporaryDirectory() as folder:
        experiment = Experiment(
            load_fold(root, "val"), load_fold(root), load_vocabulary(root), Path(folder)
        )
        for line in lines(experiment, SEEDS):
            print(line, flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
