"""What is wrong with the states of a dialogue: slots that are missing, spurious or wrong."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from mwzeval.multiwoz.normalization.normalize import normalize_states
from mwzeval.multiwoz.tracking.joint_goals import KINDS, JudgedDomain
from mwzeval.multiwoz.tracking.states import (
    ABSENT,
    GoldState,
    PredictedState,
    any_similar,
)
from mwzeval.scores.explanation import MISSING, SPURIOUS, WRONG, Explanation, Fact, Reason, TurnView
from mwzeval.scores.report import Report
from mwzeval.scores.score import WHOLE
from mwzeval.scores.sheets import Document, Sheet, sheet

if TYPE_CHECKING:
    from mwzeval.multiwoz.predictions.reading import Turn
    from mwzeval.multiwoz.scoring.scorer import Scorer

ERRORS = {MISSING: "missing-slot", SPURIOUS: "spurious-slot", WRONG: "wrong-slot"}
"""What is wrong with a slot, and the kind of reason that it is."""
STATE, ACTIVE = "state", "active"
"""Labels of the facts behind which those of errors stand."""
GOLD_STATE = "gold state"


@dataclass(frozen=True, slots=True)
class StateErrors:
    """The predicted states of a dialogue held against the annotated ones, turn by turn.

    `outcome` is the name of the joint accuracy that counts turns without errors.
    """

    outcome: str
    turns: tuple[tuple[JudgedDomain, ...], ...]

    @classmethod
    def of(cls, scorer: Scorer, name: str, turns: Sequence[Turn]) -> StateErrors:
        """Return the errors under the first rule that is chosen, without one under that of --dst.

        `name` is that of the dialogue in the corpus.
        """
        if scorer.joint_goals:
            rule = scorer.joint_goals[0]
            outcome, agree = f"{rule.prefix}.joint_goal_accuracy", rule.agree
            states: Iterator[tuple[PredictedState, GoldState]] = rule.states(
                name, scorer.gold.dialogues[name], turns
            )
        else:
            outcome, agree = "dst.joint_accuracy", any_similar
            gold = (
                {d: {slot: (value,) for slot, value in of.items()} for d, of in state.items()}
                for state in scorer.gold_states(name)
            )
            predicted = normalize_states((turn.state or {} for turn in turns), scorer.rules)
            states = zip(predicted, gold, strict=False)
        judged = tuple(
            tuple(
                JudgedDomain(domain, predicted.get(domain), gold.get(domain), agree)
                for domain in dict.fromkeys((*predicted, *gold))
            )
            for predicted, gold in states
        )
        return cls(outcome, judged)

    def shown_in(self, explanation: Explanation) -> Explanation:
        """Return an explanation whose turns tell annotated states and what is wrong."""
        views = zip(explanation.turns, self.turns, strict=True)
        return replace(
            explanation, turns=tuple(_with_errors(view, judged) for view, judged in views)
        )

    def explained(self, explanation: Explanation) -> Explanation:
        """Return an explanation of state tracking alone."""
        domains = dict.fromkeys(judged.domain for turn in self.turns for judged in turn)
        lost = dict.fromkeys(j.domain for turn in self.turns for j in turn if not j.right)
        return replace(
            self.shown_in(explanation),
            outcomes={
                WHOLE: {self.outcome: not lost},
                **{domain: {self.outcome: domain not in lost} for domain in domains},
            },
            reasons=tuple(self._reasons()),
        )

    def _reasons(self) -> Iterator[Reason]:
        for turn, of_turn in enumerate(self.turns):
            for judged in of_turn:
                for kind, slots in _errors(judged):
                    for slot, text in slots.items():
                        code = f"{ERRORS[kind]}:{slot}"
                        said = f"The state {_SENTENCES[kind].format(text)}."
                        yield Reason(code, self.outcome, judged.domain, turn, said)


_SENTENCES = {
    MISSING: "lacks {}, which is annotated",
    SPURIOUS: "has {}, which is not annotated",
    WRONG: "has {}",
}


def _with_errors(view: TurnView, judged: Sequence[JudgedDomain]) -> TurnView:
    """Return a turn with the facts of errors behind its state."""
    places = [at for at, fact in enumerate(view.facts) if fact.label in (ACTIVE, STATE)]
    behind = places[-1] + 1 if places else 0
    facts = [fact for of in judged for fact in _facts(of)]
    return view._replace(facts=(*view.facts[:behind], *facts, *view.facts[behind:]))


def _facts(judged: JudgedDomain) -> Iterator[Fact]:
    if judged.gold:
        stated = ", ".join(f"{slot}={_right(judged, slot)}" for slot in judged.gold)
        yield Fact(GOLD_STATE, stated, judged.domain)
    for kind, slots in _errors(judged):
        if slots:
            yield Fact(kind, ", ".join(slots.values()), judged.domain)


def _errors(judged: JudgedDomain) -> Iterator[tuple[str, Mapping[str, str]]]:
    """Yield each kind of error, with the slots that have it and what is to be told of each."""
    predicted = judged.predicted or {}
    yield MISSING, {slot: f"{slot}={_right(judged, slot)}" for slot in judged.missing}
    yield SPURIOUS, {slot: f"{slot}={predicted[slot]}" for slot in judged.spurious}
    yield (
        WRONG,
        {
            slot: f"{slot}={predicted[slot]} instead of {_right(judged, slot)}"
            for slot in judged.wrong
        },
    )


def _right(judged: JudgedDomain, slot: str) -> str:
    """Return the values that are right for a slot of the annotated state."""
    return " or ".join(value for value in (judged.gold or {})[slot] if value != ABSENT)


NOTE = (
    "turns in which a slot was correct, missing (only annotated), spurious (only predicted), wrong "
    "(another value); gold → predicted are its most frequent wrong values"
)
SHOWN = 2
"""How many confusions a row of a table has room for; records and JSON have more."""


def state_errors(report: Report) -> Document:
    """Return a table for each rule of state tracking, and a record for each slot.

    It has no tables when no turn was scored for lack of predicted states.
    """
    rules: Mapping[str, Any] = report.metrics.get("dst_rules") or {}
    records = tuple(_records(rules))
    return Document(
        heading=(f"{report.meta['corpus']}, {report.meta['fold']} fold",),
        sheets=tuple(_sheet(rule, of_rule["errors"]) for rule, of_rule in rules.items()),
        notes=(NOTE,),
        records=records,
        plain={"dst_errors": {rule: of_rule["errors"] for rule, of_rule in rules.items()}},
    )


def _sheet(rule: str, errors: Mapping[str, Any]) -> Sheet:
    rows = [
        [slot, *(str(of_slot[kind]) for kind in KINDS), "; ".join(_confusions(of_slot)[:SHOWN])]
        for slot, of_slot in errors.items()
    ]
    return sheet(rule, ["slot", *KINDS, "gold → predicted"], rows)


def _records(rules: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
    for rule, of_rule in rules.items():
        for slot, of_slot in of_rule["errors"].items():
            counts = {kind: of_slot[kind] for kind in KINDS}
            confusions = "; ".join(_confusions(of_slot))
            yield {"rule": rule, "slot": slot, **counts, "confusions": confusions}


def _confusions(of_slot: Mapping[str, Any]) -> list[str]:
    return [f"{c['gold']} → {c['predicted']} ({c['turns']})" for c in of_slot["confusions"]]
