"""A scored dialogue as people look at it: what was said, what was predicted, and what was lost."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from mwzeval.crosswoz.corpus.acts import Act
from mwzeval.crosswoz.corpus.dialogues import Dialogue, Exchange, Goal
from mwzeval.crosswoz.corpus.normalization import comparable
from mwzeval.crosswoz.predictions.checking import CheckedPredictions
from mwzeval.crosswoz.predictions.reading import Predicted
from mwzeval.crosswoz.predictions.tracks import NLU
from mwzeval.crosswoz.scoring.act_scores import PolicyScores, SimulatorScores
from mwzeval.crosswoz.scoring.end_to_end_scores import EndToEndScores
from mwzeval.crosswoz.scoring.scopes import selects
from mwzeval.crosswoz.scoring.state_scores import (
    Difference,
    StateScores,
    differences,
    is_chosen_name,
    is_spelling,
)
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
)
from mwzeval.crosswoz.scoring.track_scores import AnyScores
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


def explain(checked: CheckedPredictions, name: str) -> Explanation:
    """Return what became of a dialogue, exchange by exchange, and why what was lost was lost."""
    gold = checked.gold.fold.dialogues[name]
    predicted = checked.predictions.dialogues[name]
    tracks = zip(checked.tracks, checked.scores, strict=True)
    cases = [_case(track.name, scores, gold, predicted) for track, scores in tracks]
    return Explanation(
        unit=name,
        outcomes={WHOLE: {key: value for case in cases for key, value in case.outcomes().items()}},
        goal=tuple(_goal_facts(gold)),
        turns=tuple(
            TurnView(
                _said(exchange, predicted[turn]),
                tuple(fact for case in cases for fact in case.facts(turn)),
            )
            for turn, exchange in enumerate(gold.exchanges)
        ),
        reasons=tuple(reason for case in cases for reason in case.reasons()),
    )


class _Case:
    """A dialogue in one track; this one has nothing to say (a track of texts)."""

    def __init__(self, gold: Dialogue, predicted: Sequence[Predicted]) -> None:
        self.pairs = list(zip(gold.exchanges, predicted, strict=True))
        self.gold, self.predicted = gold, predicted

    def outcomes(self) -> dict[str, bool | None]:
        return {}

    def facts(self, turn: int) -> Iterator[Fact]:
        yield from ()

    def reasons(self) -> Iterator[Reason]:
        yield from ()


def _case(track: str, scores: AnyScores, gold: Dialogue, predicted: Sequence[Predicted]) -> _Case:
    if isinstance(scores, StateScores):
        return _StateCase(gold, predicted, f"dst.{scores.joint}")
    if isinstance(scores, PolicyScores):
        acts = [frozenset(acts) for acts in scores.acts(gold, predicted)]
        sides = [
            (said, frozenset(e.system.acts)) for said, e in zip(acts, gold.exchanges, strict=True)
        ]
        return _ActCase(gold, predicted, "policy.f1", {"system acts": sides})
    if isinstance(scores, SimulatorScores):
        return _UserCase(gold, predicted)
    if isinstance(scores, EndToEndScores):
        return _EndToEndCase(gold, predicted, scores)
    if track == NLU.name:
        return _ActCase(gold, predicted, "nlu.f1", _nlu_sides(gold, predicted))
    return _Case(gold, predicted)


Sides = dict[str, list[tuple[frozenset[Act], frozenset[Act]]]]
"""What acts are of → predicted and gold acts of each exchange."""


def _nlu_sides(gold: Dialogue, predicted: Sequence[Predicted]) -> Sides:
    def acts(of: Iterable[Act] | None) -> frozenset[Act]:
        return frozenset(map(comparable, of or ()))

    pairs = list(zip(gold.exchanges, predicted, strict=True))
    sides: Sides = {"user acts": [(acts(p.user_acts), acts(e.user.acts)) for e, p in pairs]}
    if any(said.system_acts_nlu is not None for said in predicted):
        sides["system acts"] = [(acts(p.system_acts_nlu), acts(e.system.acts)) for e, p in pairs]
    return sides


class _ActCase(_Case):
    """Acts that were missed, or found where there are none."""

    def __init__(
        self, gold: Dialogue, predicted: Sequence[Predicted], outcome: str, sides: Sides
    ) -> None:
        super().__init__(gold, predicted)
        self._outcome, self._sides = outcome, sides

    def outcomes(self) -> dict[str, bool | None]:
        right = all(p == g for turns in self._sides.values() for p, g in turns)
        return {self._outcome: right}

    def facts(self, turn: int) -> Iterator[Fact]:
        for side, turns in self._sides.items():
            predicted, gold = turns[turn]
            if predicted & gold:
                yield Fact(f"{side}, right", _listed(predicted & gold))
            if gold - predicted:
                yield Fact(f"{side}, {MISSING}", _listed(gold - predicted))
            if predicted - gold:
                yield Fact(f"{side}, {SPURIOUS}", _listed(predicted - gold))

    def reasons(self) -> Iterator[Reason]:
        for turns in self._sides.values():
            for turn, (predicted, gold) in enumerate(turns):
                yield from _act_reasons(self._outcome, turn, predicted - gold, gold - predicted)


def _act_reasons(
    outcome: str, turn: int, spurious: frozenset[Act], missing: frozenset[Act]
) -> Iterator[Reason]:
    rest = sorted(spurious)
    for act in sorted(missing):
        # Of the same kind with another value: one mistake, not two.
        other = next((o for o in rest if o[:3] == act[:3]), None)
        scope = act.domain
        if other is None:
            yield Reason(f"{MISSING_ACT}:{act.intent}", outcome, scope, turn, f"{act} is missing")
        else:
            rest.remove(other)
            text = f"{act[0]} {act[1]} {act[2]} is “{other.value}” instead of “{act.value}”"
            yield Reason(f"{WRONG_ACT_VALUE}:{act.slot}", outcome, scope, turn, text)
    for act in rest:
        code = f"{SPURIOUS_ACT}:{act.intent}"
        yield Reason(code, outcome, act.domain, turn, f"{act} was not said")


class _StateCase(_Case):
    """Slots in which the predicted state is not the gold one."""

    def __init__(self, gold: Dialogue, predicted: Sequence[Predicted], outcome: str) -> None:
        super().__init__(gold, predicted)
        self._outcome = outcome
        self._differences = [
            list(differences(said.state or {}, exchange.system.first_query))
            for exchange, said in self.pairs
        ]

    def outcomes(self) -> dict[str, bool | None]:
        return {self._outcome: not any(self._differences)}

    def facts(self, turn: int) -> Iterator[Fact]:
        exchange, _ = self.pairs[turn]
        if selects(exchange):
            yield Fact("the user refers", "to what was chosen before (a Select turn)")
        wrong = {(of.domain, of.slot) for of in self._differences[turn]}
        for domain, slots in exchange.system.first_query.items():
            right = [f"{s}={v}" for s, v in slots.items() if v and (domain, s) not in wrong]
            if right:
                yield Fact("state, right", "; ".join(right), domain)
        for of in self._differences[turn]:
            if not of.predicted:
                yield Fact(MISSING, f"{of.slot}={of.gold}", of.domain)
            elif not of.gold:
                yield Fact(SPURIOUS, f"{of.slot}={of.predicted}", of.domain)
            else:
                yield Fact(WRONG, f"{of.slot}={of.predicted} instead of {of.gold}", of.domain)

    def reasons(self) -> Iterator[Reason]:
        for turn, of_turn in enumerate(self._differences):
            for of in of_turn:
                yield self._reason(turn, of)

    def _reason(self, turn: int, of: Difference) -> Reason:
        exchange, _ = self.pairs[turn]
        where = f"{of.domain} {of.slot}"
        if is_spelling(of):
            code, text = SPELLING, f"{where} is “{of.predicted}”, gold has “{of.gold}”"
        elif is_chosen_name(of, exchange.system.first_selected):
            code = CHOSEN_NAME
            text = f"{where} is “{of.predicted}”, which the system has chosen; gold has nothing"
        elif not of.predicted:
            code, text = MISSING_SLOT, f"{where} lacks “{of.gold}”"
        elif not of.gold:
            code, text = SPURIOUS_SLOT, f"{where} is “{of.predicted}”, gold has nothing"
        else:
            code, text = WRONG_SLOT, f"{where} is “{of.predicted}” instead of “{of.gold}”"
        return Reason(f"{code}:{of.slot}", self._outcome, of.domain, turn, text)


class _UserCase(_ActCase):
    """Lines of the user's state that differ, and acts."""

    def __init__(self, gold: Dialogue, predicted: Sequence[Predicted]) -> None:
        sides: Sides = {
            "user acts": [
                (frozenset(p.user_acts or ()), frozenset(e.user.acts))
                for e, p in zip(gold.exchanges, predicted, strict=True)
            ]
        }
        super().__init__(gold, predicted, "sim.f1", sides)

    def outcomes(self) -> dict[str, bool | None]:
        later = self.pairs[1:]
        joint = all(said.user_state == exchange.user.state for exchange, said in later)
        return {"sim.joint": joint if later else None, **super().outcomes()}

    def reasons(self) -> Iterator[Reason]:
        for turn, (exchange, said) in enumerate(self.pairs):
            if turn:
                yield from _line_reasons(turn, said.user_state or (), exchange.user.state)
        yield from super().reasons()


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


class _EndToEndCase(_Case):
    """What is wrong with the venues, trips and answers that a dialogue comes to."""

    def __init__(
        self, gold: Dialogue, predicted: Sequence[Predicted], scores: EndToEndScores
    ) -> None:
        super().__init__(gold, predicted)
        self._judged = scores.judgement(gold, predicted)

    def outcomes(self) -> dict[str, bool | None]:
        judged = self._judged
        return {
            "e2e.inform": judged.inform,
            "e2e.success": judged.success if judged.inform else None,
        }

    def facts(self, turn: int) -> Iterator[Fact]:
        said = self.predicted[turn]
        if said.system_acts is not None:
            yield Fact("system acts", _listed(said.system_acts))
        for domain, names in (said.selected or {}).items():
            if names:
                yield Fact("selected", ", ".join(names), domain)

    def reasons(self) -> Iterator[Reason]:
        yield from self._judged.reasons()


def _goal_facts(gold: Dialogue) -> Iterator[Fact]:
    yield Fact("goal type", gold.goal_type)
    for line in gold.goal:
        what = "wants" if line.value else "asks for"
        value = f"{line.slot} = {_value(line.value)}" if line.value else line.slot
        yield Fact(f"{line.subgoal} {what}", value, line.domain)


def _said(exchange: Exchange, predicted: Predicted) -> tuple[Utterance, ...]:
    user, system = exchange.user.utterance, exchange.system.utterance
    said = [Utterance("user", user)]
    if predicted.response is not None:
        said.append(Utterance("system", predicted.response))
    said.append(Utterance("reference", system))
    return tuple(said)


def _listed(acts: Iterable[Act]) -> str:
    return ", ".join(map(str, sorted(acts)))


def _value(value: str | Sequence[str]) -> str:
    text = value if isinstance(value, str) else "、".join(value)
    return f"“{text}”" if text else "nothing"
