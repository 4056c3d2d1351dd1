"""The scores of NLU, state tracking, policy and user simulator, and the code that all tracks share.

Columns are named `PREFIX.KIND@SCOPE`. Sources: Zhu et al., TACL 2020, Tables 8 (state tracking), 9
(NLU) and 10 (user simulators) and section 5. Unlike in the paper, a repeated act counts once. A
predicted state is correct if all 26 slots have exactly the values of the system's first query. The
variants `normalised` and `name_lenient` are not from the paper.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Generic, NamedTuple, TypeVar

import numpy as np
from numpy.typing import NDArray

from mwzeval.crosswoz.corpus.acts import INTENTS, SELECT, SEPARATOR, Act
from mwzeval.crosswoz.corpus.database import Database
from mwzeval.crosswoz.corpus.dialogues import Dialogue, Exchange, Goal, Selected, State
from mwzeval.crosswoz.corpus.names import DOMAINS, GOAL_TYPES, NAME
from mwzeval.crosswoz.corpus.normalization import comparable, normal_value
from mwzeval.crosswoz.corpus.ontology import parts_of
from mwzeval.crosswoz.protocols import SYSTEM, USER
from mwzeval.crosswoz.reading import Predicted
from mwzeval.crosswoz.systems.rules import RuleTracker
from mwzeval.crosswoz.systems.sl_policy import delexicalized, lexicalized
from mwzeval.crosswoz.tracks import JOINT_NAMES
from mwzeval.metrics.measure import Measure, Rate, f_score, ratio
from mwzeval.scores.explanation import MISSING, SPURIOUS, WRONG, Fact, Reason
from mwzeval.scores.score import WHOLE, Signature
from mwzeval.statistics.bootstrap import Sums

MISSING_ACT, SPURIOUS_ACT, WRONG_ACT_VALUE = "missing-act", "spurious-act", "wrong-act-value"
MISSING_SLOT, SPURIOUS_SLOT, WRONG_SLOT = "missing-slot", "spurious-slot", "wrong-slot"
SPELLING, CHOSEN_NAME = "other-spelling", "name-not-annotated"
WRONG_LINE, MISSING_FLAG, SPURIOUS_FLAG = "wrong-line", "not-expressed", "expressed-too-early"
MEANINGS = {
    MISSING_ACT: "A gold act was not predicted.",
    SPURIOUS_ACT: "A predicted act is not among the gold acts.",
    WRONG_ACT_VALUE: "Intent, domain and slot match gold, but the value differs.",
    MISSING_SLOT: "The state lacks a slot of the gold state.",
    SPURIOUS_SLOT: "The state has a slot that the gold state lacks.",
    WRONG_SLOT: "The state and the gold state have different values for the slot.",
    SPELLING: "The value differs from the gold value only in blanks, order or the suffix of a "
    "hotel type.",
    CHOSEN_NAME: "The state has the name of a venue that the system chose, but the gold state "
    "has no name.",
    WRONG_LINE: "A line of the user's state differs in value from the same line of the gold state.",
    MISSING_FLAG: "A line of the user's state is marked as not expressed, but gold marks it as "
    "expressed.",
    SPURIOUS_FLAG: "A line of the user's state is marked as expressed, but gold marks it as not "
    "expressed.",
}
"""The failure reasons of these tracks and their meanings."""

SELECT_TURNS = "Select turns"
"""The scope of exchanges in which the user refers to an earlier choice ("near the hotel …")."""
TYPE_SCOPES = tuple(GOAL_TYPES)
ALL_AND_TYPES = (WHOLE, *TYPE_SCOPES)
Sign = Callable[[str, Mapping[str, object]], Signature]
"""A function that returns the signature of a metric, given the metric's own options."""
RIGHT, PREDICTED, GOLD = "right", "predicted", "gold"


class TrackExplanation(NamedTuple):
    """The outcome of a dialogue in one track, with the facts about each exchange."""

    outcomes: dict[str, bool | None]
    facts: Sequence[Iterable[Fact]]
    reasons: Iterable[Reason]


class TrackScores(ABC):
    """The scores of one track."""

    main: tuple[str, ...]
    """The names of the measures that are shown for baselines."""
    columns: tuple[str, ...]
    """The names of the columns, whose numbers are additive."""

    def rows(
        self, gold: Mapping[str, Dialogue], predicted: Mapping[str, Sequence[Predicted]]
    ) -> dict[str, dict[str, float]]:
        """Return the counts for each dialogue's scores, by column; zero counts may be missing."""
        return {name: self.row(gold[name], turns) for name, turns in predicted.items()}

    @abstractmethod
    def row(self, gold: Dialogue, predicted: Sequence[Predicted]) -> dict[str, float]:
        """Return the counts from which a dialogue's scores are computed, by column."""

    @abstractmethod
    def measures(self, sign: Sign, sums: Mapping[str, float]) -> Iterator[Measure]:
        """Yield the measures in report order, given the sums of the columns over all dialogues."""

    def explain(self, gold: Dialogue, predicted: Sequence[Predicted]) -> TrackExplanation | None:
        """Return the outcome of a dialogue, or None if this track has no outcomes (text scores)."""
        return None


def selects(exchange: Exchange) -> bool:
    """Return whether the user refers to an earlier choice in this exchange."""
    return any(act.intent == SELECT for act in exchange.user.acts)


def turn_scopes(gold: Dialogue, exchange: Exchange) -> tuple[str, ...]:
    """Return the scopes of an exchange: goal type and, if it has a Select act, `SELECT_TURNS`."""
    return (gold.goal_type, SELECT_TURNS) if selects(exchange) else (gold.goal_type,)


Item = TypeVar("Item", bound=Hashable)
ItemTurn = tuple[frozenset[Item], frozenset[Item], tuple[str, ...]]
"""The predicted items and the gold items of a turn, and the scopes of the turn."""


@dataclass(frozen=True, slots=True)
class ItemScores(Generic[Item]):
    """Micro-averaged precision, recall and F1 of items, over all items and in each scope.

    Items are acts, or slots with their values. An item counts in the scopes that `scopes_of`
    returns (such as its intent) and in the scopes of its turn. Scopes that `scopes` does not list
    are ignored. A turn without predicted and gold items does not change the scores. Column names
    begin with `prefix`; the column `cases` counts the dialogues with at least one gold item.
    """

    prefix: str
    scopes: tuple[str, ...]
    scopes_of: Callable[[Item], Iterable[str]]
    cases: str = "units"

    @property
    def columns(self) -> tuple[str, ...]:
        """The names of the columns."""
        kinds = (RIGHT, PREDICTED, GOLD, self.cases)
        return tuple(f"{self.prefix}{kind}@{s}" for s in (WHOLE, *self.scopes) for kind in kinds)

    def row(self, turns: Iterable[ItemTurn[Item]]) -> dict[str, float]:
        """Return the counts for the turns of a dialogue; counts that are 0 are left out."""
        counts: dict[tuple[str, str], int] = {}
        for predicted, gold, scopes in turns:
            for kind, items in ((RIGHT, predicted & gold), (PREDICTED, predicted), (GOLD, gold)):
                if not items:
                    continue
                for scope in (WHOLE, *scopes):
                    counts[kind, scope] = counts.get((kind, scope), 0) + len(items)
                for item in items:
                    for scope in self.scopes_of(item):
                        counts[kind, scope] = counts.get((kind, scope), 0) + 1
        known, prefix = {WHOLE, *self.scopes}, self.prefix
        row = {f"{prefix}{k}@{s}": float(n) for (k, s), n in counts.items() if s in known}
        row |= {f"{prefix}{self.cases}@{s}": 1.0 for k, s in counts if k == GOLD and s in known}
        return row

    def measures(
        self, name: str, label: str, signature: Signature, sums: Mapping[str, float]
    ) -> Iterator[Measure]:
        """Yield F1, precision and recall (in percent) of all items, and F1 of each gold scope.

        `sums` are the sums of the columns. In `name`, `{}` is replaced by `f1`, `precision` or
        `recall`.
        """
        for scope in (WHOLE, *self.scopes):
            columns = (f"{self.prefix}{kind}@{scope}" for kind in (RIGHT, PREDICTED, GOLD))
            right, predicted, gold = columns
            if scope != WHOLE and not sums[gold]:
                continue
            parts: list[tuple[str, str, Callable[[Sums], NDArray[np.float64]]]] = [
                ("f1", "F1", partial(f_score, right, predicted, gold))
            ]
            if scope == WHOLE:
                parts.append(("precision", "precision", partial(ratio, right, predicted)))
                parts.append(("recall", "recall", partial(ratio, right, gold)))
            for part, text, function in parts:
                yield Measure(
                    name.format(part),
                    f"{label} {text}",
                    signature,
                    partial(_percent, function),
                    scope=scope,
                    cases=f"{self.prefix}{self.cases}@{scope}",
                )


def _percent(function: Callable[[Sums], NDArray[np.float64]], sums: Sums) -> NDArray[np.float64]:
    return 100 * function(sums)


STRICT, NORMALISED, NAME_LENIENT = "strict", "normalised", "name_lenient"
VARIANTS = {
    STRICT: ("", "", "exact"),
    NORMALISED: ("_normalised", ", normalized", "sorted-noblank-type"),
    NAME_LENIENT: ("_name_lenient", ", name-lenient", "sorted-noblank-type+selected-name"),
}
"""For each variant of joint accuracy, a name suffix, a label suffix, and the rule that signatures
state.

`normalised` ignores blanks, the order of items and the ending of hotel types. `name_lenient` also
accepts a predicted name that the gold state lacks if the system has chosen this name.
"""
JOINT_SCOPES = (WHOLE, *TYPE_SCOPES, SELECT_TURNS)
LABELS = {"joint_single_turn": "Single-turn joint", "joint_full": "Full joint"}
NO_SLOTS: dict[str, str] = {}


@dataclass(frozen=True, slots=True)
class Difference:
    """A slot in which two states differ; the value is "" in a state that does not have the slot."""

    domain: str
    slot: str
    predicted: str
    gold: str

    @property
    def is_spelling(self) -> bool:
        """Whether the predicted value and the gold value differ only in spelling."""
        return normal_value(self.slot, self.predicted) == normal_value(self.slot, self.gold)

    def is_chosen_name(self, selected: Selected) -> bool:
        """Return whether the system chose the predicted name and the gold state has no name."""
        is_name = self.slot == NAME and not self.gold.strip()
        return is_name and self.predicted in selected.get(self.domain, ())


def differences(predicted: State, gold: State) -> Iterator[Difference]:
    """Yield the slots in which the states differ, in order, including slots that do not exist."""
    if predicted == gold:
        return
    for domain, slots in {**gold, **predicted}.items():
        theirs, mine = gold.get(domain, NO_SLOTS), predicted.get(domain, NO_SLOTS)
        if theirs == mine:
            continue
        for slot in {**theirs, **slots}:
            if theirs.get(slot, "") != mine.get(slot, ""):
                yield Difference(domain, slot, mine.get(slot, ""), theirs.get(slot, ""))


FilledSlot = tuple[str, str, str]
"""Domain, slot and value."""


def _domain_of(slot: FilledSlot) -> tuple[str]:
    return slot[:1]


SLOTS = ItemScores("dst.slots_", (*TYPE_SCOPES, *DOMAINS), _domain_of, "dialogues")


class StateScores(TrackScores):
    """Joint accuracy, and precision, recall and F1 of slots.

    `joint` is the name of joint accuracy: `joint_single_turn` or `joint_full`.
    """

    columns = (
        *(f"dst.{k}@{s}" for s in JOINT_SCOPES for k in ("turns", "dialogues", *VARIANTS)),
        *SLOTS.columns,
    )

    def __init__(self, conditioning: str) -> None:
        self._conditioning = conditioning
        self.joint = JOINT_NAMES[conditioning]
        names = [f"dst.{self.joint}{suffix}" for suffix, _, _ in VARIANTS.values()]
        self.main = (*names, "dst.slot_f1")

    def row(self, gold: Dialogue, predicted: Sequence[Predicted]) -> dict[str, float]:
        """Return the counts from which a dialogue's scores are computed, by column."""
        row: dict[str, float] = {}
        slots: list[ItemTurn[FilledSlot]] = []
        for exchange, turn in zip(gold.exchanges, predicted, strict=True):
            state, target = turn.state or {}, exchange.system.first_query
            wrong = list(differences(state, target))
            right = [] if wrong else [STRICT]
            wrong = [difference for difference in wrong if not difference.is_spelling]
            if not wrong:
                right.append(NORMALISED)
            if all(error.is_chosen_name(exchange.system.first_selected) for error in wrong):
                right.append(NAME_LENIENT)
            for scope in (WHOLE, *turn_scopes(gold, exchange)):
                row[f"dst.dialogues@{scope}"] = 1
                for kind in ("turns", *right):
                    key = f"dst.{kind}@{scope}"
                    row[key] = row.get(key, 0) + 1
            gold_slots = _filled(target)
            found = gold_slots if state == target else _filled(state)
            slots.append((found, gold_slots, (gold.goal_type,)))
        return row | SLOTS.row(slots)

    def measures(self, sign: Sign, sums: Mapping[str, float]) -> Iterator[Measure]:
        """Yield the variants of joint accuracy, by goal type and for Select turns, and slot F1."""
        choices = {"conditioning": self._conditioning}
        for variant, (suffix, text, rule) in VARIANTS.items():
            name, label = f"dst.{self.joint}{suffix}", f"{LABELS[self.joint]}{text}"
            signature = sign("dst", {**choices, "values": rule})
            columns = f"dst.{variant}", "dst.turns"
            rate = Rate(name, label, *columns, cases="dst.dialogues", places=2)
            yield from rate.measures(sums, signature, JOINT_SCOPES, "@")
        if sums[f"dst.slots_{GOLD}@{WHOLE}"]:
            exact = sign("dst", {**choices, "values": VARIANTS[STRICT][2]})
            yield from SLOTS.measures("dst.slot_{}", "Slot", exact, sums)

    def explain(self, gold: Dialogue, predicted: Sequence[Predicted]) -> TrackExplanation:
        """Return the slots in which a predicted state differs from the gold state."""
        outcome = f"dst.{self.joint}"
        wrong = [
            (exchange, list(differences(turn.state or {}, exchange.system.first_query)))
            for exchange, turn in zip(gold.exchanges, predicted, strict=True)
        ]
        return TrackExplanation(
            {outcome: not any(errors for _, errors in wrong)},
            [list(_state_facts(exchange, errors)) for exchange, errors in wrong],
            [
                _state_reason(outcome, number, exchange, error)
                for number, (exchange, errors) in enumerate(wrong)
                for error in errors
            ],
        )


def _filled(state: State) -> frozenset[FilledSlot]:
    return frozenset(
        (d, s, value) for d, slots in state.items() for s, value in slots.items() if value
    )


def _state_facts(exchange: Exchange, wrong: Sequence[Difference]) -> Iterator[Fact]:
    if selects(exchange):
        yield Fact("the user refers", "to what was chosen before (a Select turn)")
    places = {(error.domain, error.slot) for error in wrong}
    for domain, slots in exchange.system.first_query.items():
        right = [f"{s}={v}" for s, v in slots.items() if v and (domain, s) not in places]
        if right:
            yield Fact("state, right", "; ".join(right), domain)
    for error in wrong:
        if not error.predicted:
            yield Fact(MISSING, f"{error.slot}={error.gold}", error.domain)
        elif not error.gold:
            yield Fact(SPURIOUS, f"{error.slot}={error.predicted}", error.domain)
        else:
            yield Fact(
                WRONG, f"{error.slot}={error.predicted} instead of {error.gold}", error.domain
            )


def _state_reason(outcome: str, turn: int, exchange: Exchange, error: Difference) -> Reason:
    where = f"{error.domain} {error.slot}"
    if error.is_spelling:
        code, text = SPELLING, f"{where} is “{error.predicted}”, gold has “{error.gold}”"
    elif error.is_chosen_name(exchange.system.first_selected):
        code = CHOSEN_NAME
        text = f"{where} is “{error.predicted}”, a name that the system chose; gold has no value"
    elif not error.predicted:
        code, text = MISSING_SLOT, f"{where} lacks “{error.gold}”"
    elif not error.gold:
        code, text = SPURIOUS_SLOT, f"{where} is “{error.predicted}”, gold has no value"
    else:
        code, text = WRONG_SLOT, f"{where} is “{error.predicted}” instead of “{error.gold}”"
    return Reason(f"{code}:{error.slot}", outcome, error.domain, turn, text)


PART_SCOPES = (*INTENTS, *DOMAINS)
"""The scopes of acts: intents and domains. A General act is only in the scope of its intent."""
ActPair = tuple[frozenset[Act], frozenset[Act]]
"""The predicted acts and the gold acts of a turn."""


def _explained_acts(outcome: str, turns: Sequence[dict[str, ActPair]]) -> TrackExplanation:
    """Return the missing and the spurious acts; `turns` have the acts of each side."""
    sides = list(dict.fromkeys(side for turn in turns for side in turn))
    return TrackExplanation(
        {outcome: all(mine == gold for turn in turns for mine, gold in turn.values())},
        [
            [fact for side, acts in turn.items() for fact in _act_facts(side, *acts)]
            for turn in turns
        ],
        [
            reason
            for side in sides
            for number, turn in enumerate(turns)
            for reason in _act_reasons(outcome, number, *turn[side])
        ],
    )


def _act_facts(side: str, predicted: frozenset[Act], gold: frozenset[Act]) -> Iterator[Fact]:
    for label, acts in (
        ("right", predicted & gold),
        (MISSING, gold - predicted),
        (SPURIOUS, predicted - gold),
    ):
        if acts:
            yield Fact(f"{side} acts, {label}", listed(acts))


def _act_reasons(
    outcome: str, turn: int, predicted: frozenset[Act], gold: frozenset[Act]
) -> Iterator[Reason]:
    rest = sorted(predicted - gold)
    for act in sorted(gold - predicted):
        # A wrong value is one mistake, not a missing act and a spurious act.
        other = next((o for o in rest if o[:3] == act[:3]), None)
        if other is None:
            code, text = f"{MISSING_ACT}:{act.intent}", f"{act} is missing"
        else:
            rest.remove(other)
            code = f"{WRONG_ACT_VALUE}:{act.slot}"
            text = f"{act[0]} {act[1]} {act[2]} is “{other.value}” instead of “{act.value}”"
        yield Reason(code, outcome, act.domain, turn, text)
    for act in rest:
        code = f"{SPURIOUS_ACT}:{act.intent}"
        yield Reason(code, outcome, act.domain, turn, f"{act} is not in gold")


NLU_ACTS = ItemScores("nlu.", (*TYPE_SCOPES, *PART_SCOPES, USER, SYSTEM), parts_of)


class NluScores(TrackScores):
    """F1 of the acts of user utterances and, if predicted, of the acts of system utterances."""

    main = ("nlu.f1",)
    columns = NLU_ACTS.columns

    def __init__(self, sides: tuple[str, ...] = (USER, SYSTEM)) -> None:
        self.sides = sides

    def acts(
        self, gold: Dialogue, predicted: Sequence[Predicted]
    ) -> Iterator[dict[str, tuple[frozenset[Act], frozenset[Act]]]]:
        """Yield the predicted and the gold acts of each exchange by side, in comparable form."""
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
        """Return the counts from which a dialogue's scores are computed, by column."""
        return NLU_ACTS.row(
            (*acts, (gold.goal_type, side))
            for sides in self.acts(gold, predicted)
            for side, acts in sides.items()
        )

    def measures(self, sign: Sign, sums: Mapping[str, float]) -> Iterator[Measure]:
        """Yield F1 of all acts, and F1 by goal type, intent, domain and side."""
        signature = sign("nlu", {"sides": "+".join(self.sides), "acts": "nfkc-lower-noblank"})
        return NLU_ACTS.measures("nlu.{}", "NLU act", signature, sums)

    def explain(self, gold: Dialogue, predicted: Sequence[Predicted]) -> TrackExplanation:
        """Return the missing and the spurious acts."""
        return _explained_acts("nlu.f1", list(self.acts(gold, predicted)))


def _comparable(acts: Iterable[Act]) -> frozenset[Act]:
    return frozenset(map(comparable, acts))


def _parts_of_spelling(spelling: str) -> tuple[str, ...]:
    intent, domain, _ = spelling.split(SEPARATOR, 2)
    return parts_of(Act(intent, domain, "", ""))


POLICY_SCOPES = (*TYPE_SCOPES, SELECT_TURNS, *PART_SCOPES)
POLICY_ACTS = ItemScores("policy.", POLICY_SCOPES, parts_of)
DELEXICALIZED_ACTS = ItemScores("policy_delex.", POLICY_SCOPES, _parts_of_spelling)


class PolicyScores(TrackScores):
    """F1 of the system's acts with values, and F1 of the acts without values.

    As in the paper, values are inserted into acts without values before they are compared, so an
    act whose value is not found counts as missing. If the predicted acts have no values, the values
    are taken from a database query with the gold state.
    """

    main = ("policy.f1", "policy.f1_delex")
    columns = POLICY_ACTS.columns + DELEXICALIZED_ACTS.columns

    def __init__(self, database: Database) -> None:
        self._database = database

    def row(self, gold: Dialogue, predicted: Sequence[Predicted]) -> dict[str, float]:
        """Return the counts from which a dialogue's scores are computed, by column."""
        turns = [
            (acts, exchange.system.acts, turn_scopes(gold, exchange))
            for acts, exchange in zip(self.acts(gold, predicted), gold.exchanges, strict=True)
        ]
        row = POLICY_ACTS.row((frozenset(a), frozenset(g), s) for a, g, s in turns)
        return row | DELEXICALIZED_ACTS.row(
            (frozenset(delexicalized(a)), frozenset(delexicalized(g)), s) for a, g, s in turns
        )

    def acts(self, gold: Dialogue, predicted: Sequence[Predicted]) -> Iterator[Sequence[Act]]:
        """Yield the system's acts with values for each exchange."""
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
        """Yield F1 with and without values: overall, by goal type, Select, intent and domain."""
        exact = sign("policy", {"acts": "exact"})
        yield from POLICY_ACTS.measures("policy.{}", "Policy act", exact, sums)
        without = sign("policy", {"acts": "delexicalized", "order": "round-trip"})
        yield from DELEXICALIZED_ACTS.measures("policy.{}_delex", "Policy delex act", without, sums)

    def explain(self, gold: Dialogue, predicted: Sequence[Predicted]) -> TrackExplanation:
        """Return the missing and the spurious acts, with their values."""
        pairs = zip(self.acts(gold, predicted), gold.exchanges, strict=True)
        turns = [{"system": (frozenset(a), frozenset(e.system.acts))} for a, e in pairs]
        return _explained_acts("policy.f1", turns)


JOINT = {
    "joint": ("Joint user state", "values+flags"),
    "joint_values": ("Joint user state, values only", "values"),
}
"""A mapping from a variant of joint accuracy to its label and to the parts of a line that are
compared."""
USER_ACTS = ItemScores("sim.", (*TYPE_SCOPES, *PART_SCOPES), parts_of)


class SimulatorScores(TrackScores):
    """Joint accuracy of the user's state, with and without flags, and F1 of user acts.

    As in the public code, the joint accuracy excludes the first turn, but the F1 of acts does not.
    In the user's state, each line has a flag `expressed`.
    """

    main = ("sim.joint", "sim.joint_values", "sim.f1")
    columns = (
        *(f"sim.{kind}@{s}" for s in ALL_AND_TYPES for kind in ("turns", "dialogues", *JOINT)),
        *USER_ACTS.columns,
    )

    def row(self, gold: Dialogue, predicted: Sequence[Predicted]) -> dict[str, float]:
        """Return the counts from which a dialogue's scores are computed, by column."""
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
        """Yield joint accuracy and F1 by goal type, and F1 also by intent and domain."""
        for variant, (label, compared) in JOINT.items():
            signature = sign("sim", {"lines": compared, "first_turn": "out"})
            name = f"sim.{variant}"
            rate = Rate(name, label, name, "sim.turns", cases="sim.dialogues", places=2)
            yield from rate.measures(sums, signature, ALL_AND_TYPES, "@")
        signature = sign("sim", {"acts": "exact", "first_turn": "in"})
        yield from USER_ACTS.measures("sim.{}", "User act", signature, sums)

    def explain(self, gold: Dialogue, predicted: Sequence[Predicted]) -> TrackExplanation:
        """Explain a dialogue by the wrong lines of the user's state and the wrong acts."""
        pairs = list(zip(gold.exchanges, predicted, strict=True))
        acts = _explained_acts(
            "sim.f1",
            [
                {"user": (frozenset(turn.user_acts or ()), frozenset(exchange.user.acts))}
                for exchange, turn in pairs
            ],
        )
        later = list(enumerate(pairs))[1:]
        joint = all(turn.user_state == exchange.user.state for _, (exchange, turn) in later)
        reasons = [
            reason
            for number, (exchange, turn) in later
            for reason in _line_reasons(number, turn.user_state or (), exchange.user.state)
        ]
        outcomes = {"sim.joint": joint if later else None, **acts.outcomes}
        return TrackExplanation(outcomes, acts.facts, [*reasons, *acts.reasons])


def _line_reasons(turn: int, predicted: Goal, gold: Goal) -> Iterator[Reason]:
    for mine, theirs in zip(predicted, gold, strict=True):
        if mine == theirs:
            continue
        where = f"sub-goal {theirs.subgoal}, {theirs.domain} {theirs.slot}"
        if mine.value != theirs.value:
            code = WRONG_LINE
            text = f"{where} is {_quoted(mine.value)} instead of {_quoted(theirs.value)}"
        elif theirs.expressed:
            code, text = (
                MISSING_FLAG,
                f"{where} is marked as not expressed, but gold marks it as expressed",
            )
        else:
            code, text = (
                SPURIOUS_FLAG,
                f"{where} is marked as expressed, but gold marks it as not expressed",
            )
        yield Reason(f"{code}:{theirs.slot}", "sim.joint", theirs.domain, turn, text)


def listed(acts: Iterable[Act]) -> str:
    """Return acts as text for an explanation."""
    return ", ".join(map(str, sorted(acts)))


def _quoted(value: str | Sequence[str]) -> str:
    text = value if isinstance(value, str) else "、".join(value)
    return f"“{text}”" if text else "nothing"
