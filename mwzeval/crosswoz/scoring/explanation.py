"""A scored dialogue as people look at it: what was said, what was predicted, and why it failed."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple

from mwzeval.crosswoz.corpus.acts import Act
from mwzeval.crosswoz.corpus.dialogues import Dialogue, Exchange, Goal
from mwzeval.crosswoz.reading import Predicted
from mwzeval.crosswoz.scoring.act_scores import NluScores, PolicyScores, SimulatorScores
from mwzeval.crosswoz.scoring.end_to_end_scores import EndToEndScores
from mwzeval.crosswoz.scoring.scopes import TrackScores, selects
from mwzeval.crosswoz.scoring.state_scores import Difference, StateScores, differences
from mwzeval.crosswoz.scoring.success import (
    CHOSEN_NAME,
    MISSING_ACT,
    MISSING_FLAG,
    MISSING_SLOT,
    SPELLING,
    SPURIOUS_ACT,
    SPURIOUS_FLAG,
    SPURIOUS_SLOT,
    WRONG_ACT_VALUE,
    WRONG_LINE,
    WRONG_SLOT,
    spelled,
)
from mwzeval.scores.explanation import (
    MISSING,
    SPURIOUS,
    WRONG,
    Explanation,
    Fact,
    Reason,
    TurnView,
    Utterance,
)
from mwzeval.scores.score import WHOLE


class _Case(NamedTuple):
    """What is said of a dialogue in one track; the facts are those of each exchange."""

    outcomes: dict[str, bool | None]
    facts: Sequence[Iterable[Fact]]
    reasons: Iterable[Reason]


Turns = Sequence[tuple[Exchange, Predicted]]


def explain(
    gold: Dialogue, predicted: Sequence[Predicted], scores: Iterable[TrackScores]
) -> Explanation:
    """Return what became of a dialogue, exchange by exchange, and why it failed."""
    turns = list(zip(gold.exchanges, predicted, strict=True))
    cases = [case for of in scores if (case := _case(of, gold, predicted, turns)) is not None]
    return Explanation(
        unit=gold.name,
        outcomes={WHOLE: {key: value for case in cases for key, value in case.outcomes.items()}},
        goal=tuple(goal_facts(gold.goal_type, gold.goal)),
        turns=tuple(
            TurnView(
                _utterances(*turn), tuple(fact for case in cases for fact in case.facts[number])
            )
            for number, turn in enumerate(turns)
        ),
        reasons=tuple(reason for case in cases for reason in case.reasons),
    )


def _case(
    scores: TrackScores, gold: Dialogue, predicted: Sequence[Predicted], turns: Turns
) -> _Case | None:
    """Return what is said of a dialogue in a track, None for texts, of which there is nothing."""
    if isinstance(scores, StateScores):
        return _state_case(turns, f"dst.{scores.joint}")
    if isinstance(scores, NluScores):
        return _act_case("nlu.f1", list(scores.acts(gold, predicted)))
    if isinstance(scores, PolicyScores):
        pairs = zip(scores.acts(gold, predicted), gold.exchanges, strict=True)
        return _act_case(
            "policy.f1", [{"system": (frozenset(a), frozenset(e.system.acts))} for a, e in pairs]
        )
    if isinstance(scores, SimulatorScores):
        return _user_case(turns)
    if isinstance(scores, EndToEndScores):
        return _end_to_end_case(gold, predicted, scores)
    return None


ActPair = tuple[frozenset[Act], frozenset[Act]]
"""Predicted and gold acts of a turn."""


def _act_case(outcome: str, turns: Sequence[dict[str, ActPair]]) -> _Case:
    """Return acts that were missed, or found where there are none; `turns` have them by side."""
    sides = list(dict.fromkeys(side for turn in turns for side in turn))
    return _Case(
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
            yield Fact(f"{side} acts, {label}", _listed(acts))


def _act_reasons(
    outcome: str, turn: int, predicted: frozenset[Act], gold: frozenset[Act]
) -> Iterator[Reason]:
    rest = sorted(predicted - gold)
    for act in sorted(gold - predicted):
        # Of the same kind with another value: one mistake, not two.
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
        yield Reason(code, outcome, act.domain, turn, f"{act} was not said")


def _state_case(turns: Turns, outcome: str) -> _Case:
    """Return the slots in which the predicted state is not the gold one."""
    wrong = [
        list(differences(turn.state or {}, exchange.system.first_query)) for exchange, turn in turns
    ]
    pairs = [(exchange, of) for (exchange, _), of in zip(turns, wrong, strict=True)]
    return _Case(
        {outcome: not any(wrong)},
        [list(_state_facts(exchange, of)) for exchange, of in pairs],
        [
            _state_reason(outcome, number, exchange, difference)
            for number, (exchange, of) in enumerate(pairs)
            for difference in of
        ],
    )


def _state_facts(exchange: Exchange, wrong: Sequence[Difference]) -> Iterator[Fact]:
    if selects(exchange):
        yield Fact("the user refers", "to what was chosen before (a Select turn)")
    places = {(of.domain, of.slot) for of in wrong}
    for domain, slots in exchange.system.first_query.items():
        right = [f"{s}={v}" for s, v in slots.items() if v and (domain, s) not in places]
        if right:
            yield Fact("state, right", "; ".join(right), domain)
    for of in wrong:
        if not of.predicted:
            yield Fact(MISSING, f"{of.slot}={of.gold}", of.domain)
        elif not of.gold:
            yield Fact(SPURIOUS, f"{of.slot}={of.predicted}", of.domain)
        else:
            yield Fact(WRONG, f"{of.slot}={of.predicted} instead of {of.gold}", of.domain)


def _state_reason(outcome: str, turn: int, exchange: Exchange, of: Difference) -> Reason:
    where = f"{of.domain} {of.slot}"
    if of.is_spelling:
        code, text = SPELLING, f"{where} is “{of.predicted}”, gold has “{of.gold}”"
    elif of.is_chosen_name(exchange.system.first_selected):
        code = CHOSEN_NAME
        text = f"{where} is “{of.predicted}”, which the system has chosen; gold has nothing"
    elif not of.predicted:
        code, text = MISSING_SLOT, f"{where} lacks “{of.gold}”"
    elif not of.gold:
        code, text = SPURIOUS_SLOT, f"{where} is “{of.predicted}”, gold has nothing"
    else:
        code, text = WRONG_SLOT, f"{where} is “{of.predicted}” instead of “{of.gold}”"
    return Reason(f"{code}:{of.slot}", outcome, of.domain, turn, text)


def _user_case(turns: Turns) -> _Case:
    """Return lines of the user's state that differ, and acts."""
    acts = _act_case(
        "sim.f1",
        [
            {"user": (frozenset(turn.user_acts or ()), frozenset(exchange.user.acts))}
            for exchange, turn in turns
        ],
    )
    later = list(enumerate(turns))[1:]
    joint = all(turn.user_state == exchange.user.state for _, (exchange, turn) in later)
    reasons = [
        reason
        for number, (exchange, turn) in later
        for reason in _line_reasons(number, turn.user_state or (), exchange.user.state)
    ]
    outcomes = {"sim.joint": joint if later else None, **acts.outcomes}
    return _Case(outcomes, acts.facts, [*reasons, *acts.reasons])


def _line_reasons(turn: int, predicted: Goal, gold: Goal) -> Iterator[Reason]:
    for mine, theirs in zip(predicted, gold, strict=True):
        if mine == theirs:
            continue
        where = f"sub-goal {theirs.subgoal}, {theirs.domain} {theirs.slot}"
        if mine.value != theirs.value:
            code = WRONG_LINE
            text = f"{where} is {_value(mine.value)} instead of {_value(theirs.value)}"
        elif theirs.expressed:
            code, text = MISSING_FLAG, f"{where} is not expressed yet, in gold it is"
        else:
            code, text = SPURIOUS_FLAG, f"{where} is expressed, in gold it is not yet"
        yield Reason(f"{code}:{theirs.slot}", "sim.joint", theirs.domain, turn, text)


def _end_to_end_case(
    gold: Dialogue, predicted: Sequence[Predicted], scores: EndToEndScores
) -> _Case:
    """Return what is wrong with the venues, trips and answers that a dialogue comes to."""
    judged = scores.judgement(gold, predicted)
    success = judged.success if judged.inform else None
    return _Case(
        {"e2e.inform": judged.inform, "e2e.success": success},
        [list(_system_facts(turn)) for turn in predicted],
        judged.reasons(),
    )


def _system_facts(turn: Predicted) -> Iterator[Fact]:
    if turn.system_acts is not None:
        yield Fact("system acts", _listed(turn.system_acts))
    for domain, names in (turn.selected or {}).items():
        if names:
            yield Fact("selected", ", ".join(names), domain)


def goal_facts(goal_type: str, goal: Goal, final_goal: Goal | None = None) -> Iterator[Fact]:
    """Yield a goal line by line, with the last values of a final goal where they are others."""
    yield Fact("goal type", goal_type)
    for line, final in zip(goal, final_goal or goal, strict=True):
        label = "wants" if line.value else "asks for"
        value = f"{line.slot} = {spelled(line.value)}" if line.value else line.slot
        last = f" → {spelled(final.value)}" if final.value != line.value else ""
        yield Fact(f"{line.subgoal} {label}", f"{value}{last}", line.domain)


def _utterances(exchange: Exchange, predicted: Predicted) -> tuple[Utterance, ...]:
    response = predicted.response
    return (
        Utterance("user", exchange.user.utterance),
        *(() if response is None else (Utterance("system", response),)),
        Utterance("reference", exchange.system.utterance),
    )


def _listed(acts: Iterable[Act]) -> str:
    return ", ".join(map(str, sorted(acts)))


def _value(value: str | Sequence[str]) -> str:
    text = value if isinstance(value, str) else "、".join(value)
    return f"“{text}”" if text else "nothing"
