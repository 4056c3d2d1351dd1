"""Scores of acts: those that an NLU finds, and those that a policy or user simulator says.

Sources: Zhu et al., TACL 2020, Tables 9 (NLU) and 10 (user simulators) and section 5; a repeated
act counts once here.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Generic, TypeVar

import numpy as np
from numpy.typing import NDArray

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
from mwzeval.metrics.measure import Measure, f_score, percentage, ratio
from mwzeval.scores.score import WHOLE, Signature
from mwzeval.statistics.bootstrap import Sums

USER, SYSTEM = "user", "system"
PART_SCOPES = (*INTENTS, *DOMAINS)
"""Scopes of single acts: their intent and their domain. General acts are one of each."""
RIGHT, PREDICTED, GOLD, UNITS = "right", "predicted", "gold", "units"
AnyAct = TypeVar("AnyAct", bound=Hashable)
ActTurn = tuple[frozenset[AnyAct], frozenset[AnyAct], tuple[str, ...]]
"""The predicted and the gold acts of a turn, and the scopes that the turn belongs to."""


@dataclass(frozen=True, slots=True)
class ActScores(Generic[AnyAct]):
    """Micro-averaged precision, recall and F1 of acts, over all and over each of `scopes`.

    `scopes_of` returns the scopes of an act (its intent, say), in addition to those of its turn.
    Other scopes than `scopes` are not counted. Turns without acts change nothing.
    """

    prefix: str
    scopes: tuple[str, ...]
    scopes_of: Callable[[AnyAct], Iterable[str]]

    @property
    def columns(self) -> tuple[str, ...]:
        """The columns of a row."""
        kinds = (RIGHT, PREDICTED, GOLD, UNITS)
        return tuple(self._column(kind, s) for s in (WHOLE, *self.scopes) for kind in kinds)

    def row(self, turns: Iterable[ActTurn[AnyAct]]) -> dict[str, float]:
        """Return the counts over the turns of a dialogue; what is 0 is left out."""
        counts: dict[tuple[str, str], int] = {}
        for predicted, gold, scopes in turns:
            for kind, acts in ((RIGHT, predicted & gold), (PREDICTED, predicted), (GOLD, gold)):
                if not acts:
                    continue
                for scope in (WHOLE, *scopes):
                    counts[kind, scope] = counts.get((kind, scope), 0) + len(acts)
                for act in acts:
                    for scope in self.scopes_of(act):
                        counts[kind, scope] = counts.get((kind, scope), 0) + 1
        known = {WHOLE, *self.scopes}
        row = {self._column(k, s): float(n) for (k, s), n in counts.items() if s in known}
        # A dialogue counts for a score when it has gold acts.
        row |= {self._column(UNITS, s): 1.0 for k, s in counts if k == GOLD and s in known}
        return row

    def measures(
        self, label: str, signature: Signature, sums: Mapping[str, float]
    ) -> Iterator[Measure]:
        """Yield F1, precision and recall of all acts in percent, and F1 of each scope in gold.

        `sums` are the column sums of all rows.
        """

        def measure(name: str, of: Callable[[Sums], NDArray[np.float64]], scope: str) -> Measure:
            return Measure(
                f"{self.prefix}.{name}",
                f"{label} {name}",
                signature,
                partial(_percent, of),
                scope=scope,
                cases=self._column(UNITS, scope),
            )

        for scope in (WHOLE, *self.scopes):
            right, predicted, gold = (self._column(k, scope) for k in (RIGHT, PREDICTED, GOLD))
            if scope == WHOLE or sums[gold]:
                f1 = measure("f1", partial(f_score, right, predicted, gold), scope)
                yield replace(f1, label=f"{label} F1")
            if scope == WHOLE:
                yield measure("precision", partial(ratio, right, predicted), scope)
                yield measure("recall", partial(ratio, right, gold), scope)

    def _column(self, kind: str, scope: str) -> str:
        return f"{self.prefix}.{kind}@{scope}"


def _percent(of: Callable[[Sums], NDArray[np.float64]], sums: Sums) -> NDArray[np.float64]:
    return 100 * of(sums)


NLU_ACTS = ActScores("nlu", (*TYPE_SCOPES, *PART_SCOPES, USER, SYSTEM), parts_of)


@dataclass(frozen=True, slots=True)
class NluScores:
    """Act F1 of understanding the user, and the system where it is predicted as well."""

    sides: tuple[str, ...] = (USER, SYSTEM)
    main: tuple[str, ...] = ("nlu.f1",)

    @property
    def columns(self) -> tuple[str, ...]:
        """The additive numbers of a row."""
        return NLU_ACTS.columns

    def row(self, gold: Dialogue, predicted: Sequence[Predicted]) -> dict[str, float]:
        """Return the counts of one dialogue."""
        return NLU_ACTS.row(
            (_comparable(acts or ()), _comparable(of_gold), (gold.goal_type, side))
            for exchange, said in zip(gold.exchanges, predicted, strict=True)
            for side, acts, of_gold in (
                (USER, said.user_acts, exchange.user.acts),
                (SYSTEM, said.system_acts_nlu, exchange.system.acts),
            )
            if side in self.sides
        )

    def measures(self, sign: Sign, sums: Mapping[str, float]) -> Iterator[Measure]:
        """Yield F1 of all, and by goal type, intent, domain and side."""
        signature = sign("nlu", {"sides": "+".join(self.sides), "acts": "nfkc-lower-noblank"})
        return NLU_ACTS.measures("NLU act", signature, sums)


def _comparable(acts: Iterable[Act]) -> frozenset[Act]:
    return frozenset([comparable(act) for act in acts])


def _parts_of_spelling(spelling: str) -> tuple[str, ...]:
    intent, domain, _ = spelling.split(SEPARATOR, 2)
    return parts_of(Act(intent, domain, "", ""))


POLICY_SCOPES = (*TYPE_SCOPES, SELECT_TURNS, *PART_SCOPES)
POLICY_ACTS = ActScores("policy", POLICY_SCOPES, parts_of)
DELEXICALIZED_ACTS = ActScores("policy_delex", POLICY_SCOPES, _parts_of_spelling)


@dataclass(frozen=True, slots=True)
class PolicyScores:
    """Act F1 of the system's side, with values and without.

    Acts without values are compared as the paper does it: after they have gone through values, so
    that what a value could not be found for stays lost. Where only acts without values are
    predicted, the query of the gold state gives them values.
    """

    database: Database
    main: tuple[str, ...] = ("policy.f1", "policy.f1_delex")

    @property
    def columns(self) -> tuple[str, ...]:
        """The additive numbers of a row."""
        return POLICY_ACTS.columns + DELEXICALIZED_ACTS.columns

    def row(self, gold: Dialogue, predicted: Sequence[Predicted]) -> dict[str, float]:
        """Return the counts of one dialogue."""
        said = list(self.acts(gold, predicted))
        scopes = [turn_scopes(gold, exchange) for exchange in gold.exchanges]
        golds = [exchange.system.acts for exchange in gold.exchanges]
        turns = list(zip(said, golds, scopes, strict=True))
        row = POLICY_ACTS.row((frozenset(a), frozenset(g), s) for a, g, s in turns)
        row |= DELEXICALIZED_ACTS.row(
            (frozenset(delexicalized(a)), frozenset(delexicalized(g)), s) for a, g, s in turns
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
        yield from POLICY_ACTS.measures("Policy act", signature, sums)
        without = sign("policy", {"acts": "delexicalized", "order": "round-trip"})
        for measure in DELEXICALIZED_ACTS.measures("Policy delex act", without, sums):
            _, _, name = measure.name.partition(".")
            yield replace(measure, name=f"policy.{name}_delex")


SCOPES = (WHOLE, *TYPE_SCOPES)
JOINT = {
    "joint": ("Joint user state", "values+flags"),
    "joint_values": ("Joint user state, values only", "values"),
}
"""Variant → its label, and what of a line it compares."""
USER_ACTS = ActScores("sim", (*TYPE_SCOPES, *PART_SCOPES), parts_of)


@dataclass(frozen=True, slots=True)
class SimulatorScores:
    """Joint accuracy of the user's state, with and without flags, and F1 of the user's acts.

    (odd) The first turn is left out of the joint accuracy of states, and counts for the F1 of acts;
    a line's flag ("expressed") belongs to the state.
    """

    main: tuple[str, ...] = ("sim.joint", "sim.joint_values", "sim.f1")

    @property
    def columns(self) -> tuple[str, ...]:
        """The additive numbers of a row."""
        kinds = ("turns", "dialogues", *JOINT)
        return (*(_column(k, s) for s in SCOPES for k in kinds), *USER_ACTS.columns)

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
            (frozenset(said.user_acts or ()), frozenset(e.user.acts), (gold.goal_type,))
            for e, said in zip(gold.exchanges, predicted, strict=True)
        )
        return row | USER_ACTS.row(turns)

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
        yield from USER_ACTS.measures(
            "User act", sign("sim", {"acts": "exact", "first_turn": "in"}), sums
        )


def _values(state: Goal) -> list[str | tuple[str, ...]]:
    return [line.value for line in state]


def _column(kind: str, scope: str) -> str:
    return f"sim.{kind}@{scope}"
