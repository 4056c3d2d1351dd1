"""What is wrong with predicted states, turn by turn, for explanations."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from mwzeval.multiwoz.reasons import reason
from mwzeval.multiwoz.tracking.joint_goals import Agree, JudgedDomain, States
from mwzeval.multiwoz.tracking.states import ABSENT
from mwzeval.scores.explanation import MISSING, SPURIOUS, WRONG, Explanation, Fact, TurnView
from mwzeval.scores.score import WHOLE


def with_state_errors(
    explanation: Explanation, outcome: str, agree: Agree, states: States, *, alone: bool
) -> Explanation:
    """Return an explanation whose turns have annotated states, and errors of predicted ones.

    `outcome` is the joint accuracy that counts turns without errors. With `alone`, outcomes and
    reasons are those of the states and no others.
    """
    turns = [
        [
            JudgedDomain(domain, predicted.get(domain), gold.get(domain), agree)
            for domain in dict.fromkeys((*predicted, *gold))
        ]
        for predicted, gold in states
    ]
    views = zip(explanation.turns, turns, strict=True)
    explanation = replace(
        explanation, turns=tuple(_with_facts(view, domains) for view, domains in views)
    )
    if not alone:
        return explanation
    right = {WHOLE: True}
    reasons = []
    for turn, domains in enumerate(turns):
        for judged in domains:
            right[WHOLE] &= judged.right
            right[judged.domain] = right.get(judged.domain, True) and judged.right
            for kind, slot, state in _errors(judged):
                words = {"state": state}
                reasons.append(reason(f"{kind}-slot", outcome, judged.domain, turn, words, slot))
    outcomes = {scope: {outcome: is_right} for scope, is_right in right.items()}
    return replace(explanation, outcomes=outcomes, reasons=tuple(reasons))


def _with_facts(view: TurnView, domains: list[JudgedDomain]) -> TurnView:
    """Return a turn with the facts of errors behind its state."""
    places = [place for place, fact in enumerate(view.facts) if fact.label in ("active", "state")]
    behind = places[-1] + 1 if places else 0
    facts = []
    for judged in domains:
        if judged.gold:
            stated = ", ".join(f"{slot}={_right(judged, slot)}" for slot in judged.gold)
            facts.append(Fact("gold state", stated, judged.domain))
        errors: dict[str, list[str]] = {}
        for kind, _, state in _errors(judged):
            errors.setdefault(kind, []).append(state)
        facts += [Fact(kind, ", ".join(slots), judged.domain) for kind, slots in errors.items()]
    return view._replace(facts=(*view.facts[:behind], *facts, *view.facts[behind:]))


def _errors(judged: JudgedDomain) -> Iterator[tuple[str, str, str]]:
    """Yield kind, slot and a text of what is predicted or should be."""
    predicted = judged.predicted or {}
    for slot in judged.missing:
        yield MISSING, slot, f"{slot}={_right(judged, slot)}"
    for slot in judged.spurious:
        yield SPURIOUS, slot, f"{slot}={predicted[slot]}"
    for slot in judged.wrong:
        yield WRONG, slot, f"{slot}={predicted[slot]} instead of {_right(judged, slot)}"


def _right(judged: JudgedDomain, slot: str) -> str:
    """Return the values that are right for a slot of the annotated state."""
    return " or ".join(value for value in (judged.gold or {})[slot] if value != ABSENT)
