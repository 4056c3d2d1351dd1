"""Scores of acts: those that an NLU finds, and those that a policy or user simulator says.

Sources: Zhu et al., TACL 2020, Tables 9 (NLU) and 10 (user simulators) and section 5; a repeated
act counts once here.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace

from mwzeval.crosswoz.corpus.acts import INTENTS, SEPARATOR, Act
from mwzeval.crosswoz.corpus.database import Database
from mwzeval.crosswoz.corpus.dialogues import Dialogue, Goal
from mwzeval.crosswoz.corpus.names import DOMAINS
from mwzeval.crosswoz.corpus.normalization import comparable
from mwzeval.crosswoz.corpus.ontology import parts_of
from mwzeval.crosswoz.predictions.reading import Predicted
from mwzeval.crosswoz.scoring.scopes import (
    SELECT_TURNS,
    TYPE_SCOPES,
    Sign,
    turn_scopes,
)
from mwzeval.crosswoz.systems.policy_vector import delexicalized, lexicalized
from mwzeval.crosswoz.systems.rule_tracker import RuleTracker
from mwzeval.metrics.dialogue_acts import ActScores, ActTurn
from mwzeval.metrics.measure import Measure, percentage
from mwzeval.scores.score import WHOLE

USER, SYSTEM = "user", "system"
PART_SCOPES = (*INTENTS, *DOMAINS)
"""Scopes of single acts: their intent and their domain. General acts are one of each."""
Turns = Iterator[ActTurn[Act]]


@dataclass(frozen=True, slots=True)
class NluScores:
    """Act F1 of understanding the user, and the system where it is predicted as well."""

    sides: tuple[str, ...] = (USER, SYSTEM)
    main: tuple[str, ...] = ("nlu.f1",)
    _scores: ActScores[Act] = field(init=False)

    def __post_init__(self) -> None:
        scopes = (*TYPE_SCOPES, *PART_SCOPES, USER, SYSTEM)
        object.__setattr__(self, "_scores", ActScores("nlu", scopes, parts_of))

    @property
    def columns(self) -> tuple[str, ...]:
        """The additive numbers of a row."""
        return self._scores.columns

    def row(self, gold: Dialogue, predicted: Sequence[Predicted]) -> dict[str, float]:
        """Return the counts of one dialogue."""
        return self._scores.row(self._turns(gold, predicted))

    def _turns(self, gold: Dialogue, predicted: Sequence[Predicted]) -> Turns:
        for exchange, said in zip(gold.exchanges, predicted, strict=True):
            for side, acts, of_gold in (
                (USER, said.user_acts, exchange.user.acts),
                (SYSTEM, said.system_acts_nlu, exchange.system.acts),
            ):
                if side in self.sides:
                    yield ActTurn(
                        _comparable(acts or ()), _comparable(of_gold), (gold.goal_type, side)
                    )

    def measures(self, sign: Sign, sums: Mapping[str, float]) -> Iterator[Measure]:
        """Yield F1 of all, and by goal type, intent, domain and side."""
        signature = sign("nlu", {"sides": "+".join(self.sides), "acts": "nfkc-lower-noblank"})
        return self._scores.measures("NLU act", signature, sums)


def _comparable(acts: Iterable[Act]) -> frozenset[Act]:
    return frozenset([comparable(act) for act in acts])


@dataclass(frozen=True, slots=True)
class PolicyScores:
    """Act F1 of the system's side, with values and without.

    Acts without values are compared as the paper does it: after they have gone through values, so
    that what a value could not be found for stays lost. Where only acts without values are
    predicted, the query of the gold state gives them values.
    """

    database: Database
    main: tuple[str, ...] = ("policy.f1", "policy.f1_delex")
    _acts: ActScores[Act] = field(init=False)
    _delexicalized: ActScores[str] = field(init=False)

    def __post_init__(self) -> None:
        scopes = (*TYPE_SCOPES, SELECT_TURNS, *PART_SCOPES)
        object.__setattr__(self, "_acts", ActScores("policy", scopes, parts_of))
        object.__setattr__(
            self, "_delexicalized", ActScores("policy_delex", scopes, _parts_of_spelling)
        )

    @property
    def columns(self) -> tuple[str, ...]:
        """The additive numbers of a row."""
        return self._acts.columns + self._delexicalized.columns

    def row(self, gold: Dialogue, predicted: Sequence[Predicted]) -> dict[str, float]:
        """Return the counts of one dialogue."""
        said = list(self.acts(gold, predicted))
        scopes = [turn_scopes(gold, exchange) for exchange in gold.exchanges]
        golds = [exchange.system.acts for exchange in gold.exchanges]
        turns = list(zip(said, golds, scopes, strict=True))
        row = self._acts.row(ActTurn(frozenset(a), frozenset(g), s) for a, g, s in turns)
        row |= self._delexicalized.row(
            ActTurn(frozenset(delexicalized(a)), frozenset(delexicalized(g)), s)
            for a, g, s in turns
        )
        return row

    def acts(self, gold: Dialogue, predicted: Sequence[Predicted]) -> Iterator[Sequence[Act]]:
        """Yield the system's acts with values, exchange by exchange."""
        tracker = RuleTracker()
        before: Sequence[Act] = ()
        for exchange, said in zip(gold.exchanges, predicted, strict=True):
            if said.system_acts is not None:
                yield said.system_acts
                continue
            tracker.update(exchange.user.acts, before)
            domain, state = tracker.domain, exchange.system.last_query
            tracker.state = {name: dict(slots) for name, slots in state.items()}
            before = exchange.system.acts
            found = self.database.query(domain, state[domain]) if domain in state else ()
            yield lexicalized(said.system_acts_delex or (), domain, found)

    def measures(self, sign: Sign, sums: Mapping[str, float]) -> Iterator[Measure]:
        """Yield F1 with and without values, by goal type, Select turns, intent and domain."""
        signature = sign("policy", {"acts": "exact"})
        yield from self._acts.measures("Policy act", signature, sums)
        without = sign("policy", {"acts": "delexicalized", "order": "round-trip"})
        for measure in self._delexicalized.measures("Policy delex act", without, sums):
            yield _renamed(measure)


def _renamed(measure: Measure) -> Measure:
    _, _, name = measure.name.partition(".")
    return replace(measure, name=f"policy.{name}_delex")


def _parts_of_spelling(spelling: str) -> tuple[str, ...]:
    intent, domain, _ = spelling.split(SEPARATOR, 2)
    return parts_of(Act(intent, domain, "", ""))


SCOPES = (WHOLE, *TYPE_SCOPES)
JOINT = {
    "joint": ("Joint user state", "values+flags"),
    "joint_values": ("Joint user state, values only", "values"),
}
"""Variant → its label, and what of a line it compares."""


@dataclass(frozen=True, slots=True)
class SimulatorScores:
    """Joint accuracy of the user's state, with and without flags, and F1 of the user's acts.

    (odd) The first turn is left out of the joint accuracy of states, and counts for the F1 of acts;
    a line's flag ("expressed") belongs to the state.
    """

    main: tuple[str, ...] = ("sim.joint", "sim.joint_values", "sim.f1")
    _acts: ActScores[Act] = field(init=False)

    def __post_init__(self) -> None:
        scores = ActScores("sim", (*TYPE_SCOPES, *PART_SCOPES), parts_of)
        object.__setattr__(self, "_acts", scores)

    @property
    def columns(self) -> tuple[str, ...]:
        """The additive numbers of a row."""
        kinds = ("turns", "dialogues", *JOINT)
        return (*(_column(k, s) for s in SCOPES for k in kinds), *self._acts.columns)

    def row(self, gold: Dialogue, predicted: Sequence[Predicted]) -> dict[str, float]:
        """Return the counts of one dialogue."""
        later = list(zip(gold.exchanges, predicted, strict=True))[1:]
        right = {
            "joint": sum(e.user.state == said.user_state for e, said in later),
            "joint_values": sum(
                _values(e.user.state) == _values(said.user_state or ()) for e, said in later
            ),
        }
        row: dict[str, float] = {}
        for scope in (WHOLE, gold.goal_type) if later else ():
            row |= {_column("turns", scope): len(later), _column("dialogues", scope): 1}
            row |= {_column(variant, scope): number for variant, number in right.items()}
        turns = (
            ActTurn(frozenset(said.user_acts or ()), frozenset(e.user.acts), (gold.goal_type,))
            for e, said in zip(gold.exchanges, predicted, strict=True)
        )
        return row | self._acts.row(turns)

    def measures(self, sign: Sign, sums: Mapping[str, float]) -> Iterator[Measure]:
        """Yield both scores, by goal type, and F1 by intent and domain as well."""
        for variant, (label, compared) in JOINT.items():
            signature = sign("sim", {"lines": compared, "first_turn": "out"})
            for scope in SCOPES:
                turns = _column("turns", scope)
                if sums[turns]:
                    yield Measure(
                        f"sim.{variant}",
                        label,
                        signature,
                        percentage(_column(variant, scope), of=turns),
                        scope=scope,
                        cases=_column("dialogues", scope),
                    )
        yield from self._acts.measures(
            "User act", sign("sim", {"acts": "exact", "first_turn": "in"}), sums
        )


def _values(state: Goal) -> list[str | tuple[str, ...]]:
    return [line.value for line in state]


def _column(kind: str, scope: str) -> str:
    return f"sim.{kind}@{scope}"
