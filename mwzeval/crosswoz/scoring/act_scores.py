"""Scores of acts: those that an NLU finds, and those that a policy or user simulator says.

Sources: Zhu et al., TACL 2020, Tables 9 (NLU) and 10 (user simulators) and section 5; a repeated
act counts once here.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Generic, TypeVar

from mwzeval.crosswoz.corpus.acts import INTENTS, SEPARATOR, Act
from mwzeval.crosswoz.corpus.database import Database
from mwzeval.crosswoz.corpus.dialogues import Dialogue
from mwzeval.crosswoz.corpus.names import DOMAINS
from mwzeval.crosswoz.corpus.normalization import comparable
from mwzeval.crosswoz.corpus.ontology import parts_of
from mwzeval.crosswoz.protocols import SYSTEM, USER
from mwzeval.crosswoz.reading import Predicted
from mwzeval.crosswoz.scoring.scopes import (
    ALL_AND_TYPES,
    GOLD,
    PREDICTED,
    RIGHT,
    SELECT_TURNS,
    TYPE_SCOPES,
    Sign,
    TrackScores,
    f_scores,
    rates,
    turn_scopes,
)
from mwzeval.crosswoz.systems.rule_tracker import RuleTracker
from mwzeval.crosswoz.systems.sl_policy import delexicalized, lexicalized
from mwzeval.metrics.measure import Measure
from mwzeval.scores.score import WHOLE, Signature

PART_SCOPES = (*INTENTS, *DOMAINS)
"""Scopes of single acts: their intent and their domain. General acts are one of each."""
UNITS = "units"
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
        return tuple(f"{self.prefix}.{kind}@{s}" for s in (WHOLE, *self.scopes) for kind in kinds)

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
        known, prefix = {WHOLE, *self.scopes}, self.prefix
        row = {f"{prefix}.{k}@{s}": float(n) for (k, s), n in counts.items() if s in known}
        # A dialogue counts for a score when it has gold acts.
        row |= {f"{prefix}.{UNITS}@{s}": 1.0 for k, s in counts if k == GOLD and s in known}
        return row

    def measures(
        self, label: str, signature: Signature, sums: Mapping[str, float], name: str | None = None
    ) -> Iterator[Measure]:
        """Yield F1, precision and recall of all acts in percent, and F1 of each scope in gold.

        `sums` are the column sums of all rows; in `name`, `{}` stands for the three.
        """
        prefix, scopes = self.prefix, (WHOLE, *self.scopes)
        return f_scores(
            name or f"{prefix}.{{}}",
            f"{label} {{}}",
            signature,
            sums,
            scopes,
            f"{prefix}.",
            f"{prefix}.{UNITS}",
        )


NLU_ACTS = ActScores("nlu", (*TYPE_SCOPES, *PART_SCOPES, USER, SYSTEM), parts_of)


class NluScores(TrackScores):
    """Act F1 of understanding the user, and the system where it is predicted as well."""

    main = ("nlu.f1",)
    columns = NLU_ACTS.columns

    def __init__(self, sides: tuple[str, ...] = (USER, SYSTEM)) -> None:
        self.sides = sides

    def acts(
        self, gold: Dialogue, predicted: Sequence[Predicted]
    ) -> Iterator[dict[str, tuple[frozenset[Act], frozenset[Act]]]]:
        """Yield the predicted and the gold acts of each side in comparable form, by exchange."""
        for exchange, turn in zip(gold.exchanges, predicted, strict=True):
            yield {
                side: (_comparable(mine or ()), _comparable(theirs))
                for side, mine, theirs in (
                    (USER, turn.user_acts, exchange.user.acts),
                    (SYSTEM, turn.system_acts_nlu, exchange.system.acts),
                )
                if side in self.sides
            }

    def row(self, gold: Dialogue, predicted: Sequence[Predicted]) -> dict[str, float]:
        """Return the counts of one dialogue."""
        return NLU_ACTS.row(
            (*acts, (gold.goal_type, side))
            for sides in self.acts(gold, predicted)
            for side, acts in sides.items()
        )

    def measures(self, sign: Sign, sums: Mapping[str, float]) -> Iterator[Measure]:
        """Yield F1 of all, and by goal type, intent, domain and side."""
        signature = sign("nlu", {"sides": "+".join(self.sides), "acts": "nfkc-lower-noblank"})
        return NLU_ACTS.measures("NLU act", signature, sums)


def _comparable(acts: Iterable[Act]) -> frozenset[Act]:
    return frozenset(map(comparable, acts))


def _parts_of_spelling(spelling: str) -> tuple[str, ...]:
    intent, domain, _ = spelling.split(SEPARATOR, 2)
    return parts_of(Act(intent, domain, "", ""))


POLICY_SCOPES = (*TYPE_SCOPES, SELECT_TURNS, *PART_SCOPES)
POLICY_ACTS = ActScores("policy", POLICY_SCOPES, parts_of)
DELEXICALIZED_ACTS = ActScores("policy_delex", POLICY_SCOPES, _parts_of_spelling)


class PolicyScores(TrackScores):
    """Act F1 of the system's side, with values and without.

    Acts without values are compared as the paper does it: after they have gone through values, so
    that what a value could not be found for stays lost. Where only acts without values are
    predicted, the query of the gold state gives them values.
    """

    main = ("policy.f1", "policy.f1_delex")
    columns = POLICY_ACTS.columns + DELEXICALIZED_ACTS.columns

    def __init__(self, database: Database) -> None:
        self._database = database

    def row(self, gold: Dialogue, predicted: Sequence[Predicted]) -> dict[str, float]:
        """Return the counts of one dialogue."""
        turns = [
            (acts, exchange.system.acts, turn_scopes(gold, exchange))
            for acts, exchange in zip(self.acts(gold, predicted), gold.exchanges, strict=True)
        ]
        row = POLICY_ACTS.row((frozenset(a), frozenset(g), s) for a, g, s in turns)
        return row | DELEXICALIZED_ACTS.row(
            (frozenset(delexicalized(a)), frozenset(delexicalized(g)), s) for a, g, s in turns
        )

    def acts(self, gold: Dialogue, predicted: Sequence[Predicted]) -> Iterator[Sequence[Act]]:
        """Yield the system's acts with values, exchange by exchange."""
        tracker = RuleTracker()
        before: Sequence[Act] = ()
        for exchange, turn in zip(gold.exchanges, predicted, strict=True):
            if turn.system_acts is not None:
                yield turn.system_acts
                continue
            tracker.update(exchange.user.acts, before)
            domain, state = tracker.domain, exchange.system.last_query
            tracker.state = {name: dict(slots) for name, slots in state.items()}
            before = exchange.system.acts
            found = self._database.query(domain, state[domain]) if domain in state else ()
            yield lexicalized(turn.system_acts_delex or (), domain, found)

    def measures(self, sign: Sign, sums: Mapping[str, float]) -> Iterator[Measure]:
        """Yield F1 with and without values, by goal type, Select turns, intent and domain."""
        yield from POLICY_ACTS.measures("Policy act", sign("policy", {"acts": "exact"}), sums)
        without = sign("policy", {"acts": "delexicalized", "order": "round-trip"})
        yield from DELEXICALIZED_ACTS.measures("Policy delex act", without, sums, "policy.{}_delex")


JOINT = {
    "joint": ("Joint user state", "values+flags"),
    "joint_values": ("Joint user state, values only", "values"),
}
"""Variant → its label, and what of a line it compares."""
USER_ACTS = ActScores("sim", (*TYPE_SCOPES, *PART_SCOPES), parts_of)


class SimulatorScores(TrackScores):
    """Joint accuracy of the user's state, with and without flags, and F1 of the user's acts.

    (odd) The first turn is left out of the joint accuracy of states, and counts for the F1 of acts;
    a line's flag ("expressed") belongs to the state.
    """

    main = ("sim.joint", "sim.joint_values", "sim.f1")
    columns = (
        *(f"sim.{kind}@{s}" for s in ALL_AND_TYPES for kind in ("turns", "dialogues", *JOINT)),
        *USER_ACTS.columns,
    )

    def row(self, gold: Dialogue, predicted: Sequence[Predicted]) -> dict[str, float]:
        """Return the counts of one dialogue."""
        pairs = list(zip(gold.exchanges, predicted, strict=True))
        later = [(exchange.user.state, turn.user_state or ()) for exchange, turn in pairs[1:]]
        counts = {
            "turns": len(later),
            "dialogues": 1,
            "joint": sum(theirs == mine for theirs, mine in later),
            "joint_values": sum(
                [line.value for line in theirs] == [line.value for line in mine]
                for theirs, mine in later
            ),
        }
        scopes = (WHOLE, gold.goal_type) if later else ()
        row: dict[str, float] = {f"sim.{k}@{s}": n for s in scopes for k, n in counts.items()}
        return row | USER_ACTS.row(
            (frozenset(turn.user_acts or ()), frozenset(exchange.user.acts), (gold.goal_type,))
            for exchange, turn in pairs
        )

    def measures(self, sign: Sign, sums: Mapping[str, float]) -> Iterator[Measure]:
        """Yield both scores, by goal type, and F1 by intent and domain as well."""
        for variant, (label, compared) in JOINT.items():
            signature = sign("sim", {"lines": compared, "first_turn": "out"})
            name = f"sim.{variant}"
            yield from rates(name, label, signature, sums, ALL_AND_TYPES, name, "sim.turns")
        signature = sign("sim", {"acts": "exact", "first_turn": "in"})
        yield from USER_ACTS.measures("User act", signature, sums)
