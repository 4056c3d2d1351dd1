"""What is wrong with the states of a dialogue: slots that are missing, spurious or wrong."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from mwzeval.metrics.judged_states import ABSENT, Gold, JudgedDomain, Predicted
from mwzeval.multiwoz.normalization.normalize import normalize_states
from mwzeval.scores.explanation import MISSING, SPURIOUS, WRONG, Explanation, Fact, Reason, TurnView
from mwzeval.scores.score import WHOLE

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
            pairs = rule.states(name, scorer.gold.dialogues[name], turns)
            return cls(f"{rule.accuracy.prefix}.joint_goal_accuracy", _judged(pairs, rule.agree))
        gold = (
            {domain: {slot: (value,) for slot, value in of.items()} for domain, of in state.items()}
            for state in scorer.gold_states(name)
        )
        predicted = normalize_states((turn.state or {} for turn in turns), scorer.rules)
        return cls("dst.joint_accuracy", _judged(zip(predicted, gold, strict=False), _any_agrees))

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


def _any_agrees(value: str, accepted: Sequence[str]) -> bool:
    from mwzeval.multiwoz.scoring.scorer import values_agree

    return any(values_agree(value, other) for other in accepted)


def _judged(
    states: Iterator[tuple[Predicted, Gold]], agree: Callable[[str, Sequence[str]], bool]
) -> tuple[tuple[JudgedDomain, ...], ...]:
    return tuple(
        tuple(
            JudgedDomain.of(domain, predicted.get(domain), gold.get(domain), agree)
            for domain in dict.fromkeys((*predicted, *gold))
        )
        for predicted, gold in states
    )


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
