"""What became of a live dialogue, exchange by exchange, for terminal and page."""

from __future__ import annotations

import json
from collections import deque
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

from mwzeval.conversation.messages import CALLED, RETURNED, SAID, Step, Turn
from mwzeval.conversation.trajectory import Trajectory
from mwzeval.multiwoz.goals.goal import ORDERING, Goal
from mwzeval.multiwoz.live.judgement import DomainJudgement, Judgement
from mwzeval.multiwoz.live.losses import of_end
from mwzeval.multiwoz.live.scored.scores import INFORM, SUCCESS, faults_in, reported
from mwzeval.multiwoz.live.verdicts.answers import slot_of
from mwzeval.multiwoz.scoring.reasons import spelled
from mwzeval.scores.explanation import (
    CANNOT_BE,
    NOT_JUDGED,
    SYSTEM,
    Claim,
    Explanation,
    Fact,
    Reason,
    ToolUse,
    TurnView,
    Utterance,
)
from mwzeval.scores.score import WHOLE

BOOKING, REFERENCE = "booking", "reference"
WANTS, BOOKS, ASKS = "wants", "books", "asks for"
END_TEXTS = {
    "user_stop": "by the user",
    "limit": "by a limit",
    "agent_error": "by an error of the agent",
    "user_error": "by an error of the user",
    "infrastructure": "by a failure of a server",
}


def explanation(
    trajectory: Trajectory,
    goal: Goal,
    exchanges: Sequence[Turn],
    judgement: Judgement | None,
    claims: Sequence[Claim] = (),
) -> Explanation:
    """Return what became of a dialogue; without a judgement it was not scored.

    `claims` are what the agent says in it.
    """
    wanted = tuple(goal_facts(goal))
    return Explanation(
        unit=trajectory.name,
        outcomes=_outcomes(judgement),
        goal=wanted,
        turns=with_reports(list(_turn_views(exchanges, claims)), trajectory),
        reasons=_reasons(trajectory, len(exchanges), judgement),
        reached=tuple(map(_Ticks(exchanges, judgement).of, wanted)) if judgement else None,
    )


def _reasons(trajectory: Trajectory, turns: int, judgement: Judgement | None) -> tuple[Reason, ...]:
    if judgement is None:
        return ()
    # Of what else was lost, that the dialogue ended is mostly why.
    return (*(() if judgement.success else of_end(trajectory, turns)), *judgement.reasons)


def _outcomes(judgement: Judgement | None) -> dict[str, dict[str, bool | None]]:
    if judgement is None:
        return {WHOLE: {SUCCESS: None, INFORM: None}}
    domains = judgement.domains
    informs = all(domain.inform for domain in domains.values())
    whole: dict[str, bool | None] = {SUCCESS: judgement.success, INFORM: informs}
    for name in (BOOKING, REFERENCE):
        kept = [getattr(domain, name) for domain in domains.values()]
        if any(each is not None for each in kept):
            whole[name] = False not in kept
    return {WHOLE: whole} | {name: _outcomes_of(domain) for name, domain in domains.items()}


def _outcomes_of(domain: DomainJudgement) -> dict[str, bool | None]:
    kept: dict[str, bool | None] = {SUCCESS: domain.done, INFORM: domain.inform}
    told = {BOOKING: domain.booking, REFERENCE: domain.reference}
    return kept | {name: each for name, each in told.items() if each is not None}


def goal_facts(goal: Goal) -> Iterator[Fact]:
    """Yield what a goal wants, a line for what can be met: venue or ride, booking, each answer."""
    for domain in goal[ORDERING]:
        part = goal[domain]
        for label, wanted, first in (
            (WANTS, part.get("info"), part.get("fail_info")),
            (BOOKS, part.get("book"), part.get("fail_book")),
        ):
            if wanted is not None:
                before = f" (first {spelled(first)})" if first else ""
                yield Fact(label, f"{spelled(wanted)}{before}", domain)
        for slot in part.get("reqt", ()):
            yield Fact(ASKS, slot, domain)


class _Ticks:
    """Tells from which exchange on lines of a goal were met, as far as that can be told."""

    def __init__(self, exchanges: Sequence[Turn], judgement: Judgement) -> None:
        self._exchanges = exchanges
        self._judgement = judgement

    def of(self, fact: Fact) -> int | None:
        """Return the exchange from which on a line is met, or the reason why there is none.

        None: the line is not met; `CANNOT_BE`: nobody could meet it; `NOT_JUDGED`: the agent did
        nothing for it that can be judged.
        """
        domain = str(fact.scope)
        judged = self._judgement.domains[domain]
        if fact.label == ASKS:
            slot = slot_of(fact.value)
            answer = next((each for each in judged.answers if each.slot == slot), None)
            if answer is not None and answer.given is None:
                return CANNOT_BE
            return answer.turn if answer is not None and answer.given else None
        if fact.label == BOOKS:
            is_met = judged.booking and judged.reference is not False
            return self._booked(domain) if is_met else None
        if not judged.inform:
            return None
        if judged.venue:
            return self._named(judged.venue)
        # Neither a venue nor a booking: the line is met only as far as an answer shows it.
        given = [answer.turn for answer in judged.answers if answer.given]
        told = min((turn for turn in given if turn is not None), default=NOT_JUDGED)
        return self._booked(domain, self._last if judged.booking else told)

    def _named(self, venue: str) -> int:
        called = " ".join(venue.lower().split())
        for turn, exchange in enumerate(self._exchanges):
            if called in " ".join((exchange.agent or "").lower().split()):
                return turn
        return self._last

    def _booked(self, domain: str, otherwise: int | None = None) -> int:
        """Return the exchange of the last booking, else `otherwise` (default: the last one)."""
        turns = [
            turn
            for turn, exchange in enumerate(self._exchanges)
            for use in _uses(exchange.steps)
            if use.name == f"book_{domain}" and not use.has_failed
        ]
        return turns[-1] if turns else self._last if otherwise is None else otherwise

    @property
    def _last(self) -> int:
        return len(self._exchanges) - 1


def end_facts(trajectory: Trajectory) -> Iterator[Fact]:
    """Yield how a dialogue has ended, and what the user believes."""
    problem = f": {trajectory.problem}" if trajectory.problem else ""
    yield Fact("end", f"{END_TEXTS.get(trajectory.end, trajectory.end)}{problem}")
    if isinstance(complete := reported(trajectory).get("complete"), bool):
        yield Fact("complete", "the user believes so" if complete else "not for the user")


def with_reports(turns: Sequence[TurnView], trajectory: Trajectory) -> tuple[TurnView, ...]:
    """Return turns with the faults of the user where they were made, and how all has ended."""
    views = list(turns) or [TurnView((), ())]
    for fault in faults_in(trajectory):
        turn, told = None, fault
        if isinstance(fault, Mapping):
            turn, told = fault.get("turn"), f"{fault.get('kind')}: {fault.get('detail')}"
        place = turn if isinstance(turn, int) and 0 <= turn < len(views) else len(views) - 1
        views[place] = _with(views[place], Fact("fault of the user", str(told)))
    views[-1] = _with(views[-1], *end_facts(trajectory))
    return tuple(views)


def with_facts(explained: Explanation, *facts: Fact) -> Explanation:
    """Return an explanation with further facts where it says how the dialogue has ended."""
    if not facts:
        return explained
    *before, last = explained.turns
    return replace(explained, turns=(*before, _with(last, *facts)))


def _with(view: TurnView, *facts: Fact) -> TurnView:
    return view._replace(facts=(*view.facts, *facts))


def _turn_views(exchanges: Sequence[Turn], claims: Sequence[Claim]) -> Iterator[TurnView]:
    for turn, exchange in enumerate(exchanges):
        said = tuple(claim for claim in claims if claim.turn == turn)
        flagged = (Fact(each.verdict, each.told(), each.domain) for each in said if each.is_flagged)
        view = _turn_view(exchange)
        yield view._replace(facts=(*view.facts, *flagged), claims=said)


def _turn_view(exchange: Turn) -> TurnView:
    said = [Utterance("user", exchange.user)] if exchange.user else []
    if exchange.agent is not None:
        said.append(Utterance(SYSTEM, exchange.agent))
    before = (Fact("said before", step.text) for step in exchange.steps if step.kind == SAID)
    return TurnView(tuple(said), tuple(before), calls=tuple(_uses(exchange.steps)))


def _uses(steps: Iterable[Step]) -> Iterator[ToolUse]:
    """Yield the calls with what they returned, in the order in which results come."""
    waiting: deque[Step] = deque()
    for step in steps:
        if step.kind == CALLED:
            waiting.append(step)
        elif step.kind == RETURNED:
            call = waiting.popleft() if waiting else Step(CALLED, "?", "")
            yield ToolUse(call.name, _arguments(call.text), _result(step.text), step.is_error)
    for call in waiting:
        yield ToolUse(call.name, _arguments(call.text), "")


def _arguments(text: str) -> str:
    value = _value(text)
    if isinstance(value, Mapping):
        return ", ".join(f"{name}={_plain(each)}" for name, each in value.items())
    return text


def _result(text: str) -> str:
    """Return a result on one line; before a list of venues stands how many, and their names."""
    value = _value(text)
    shown = " ".join(text.split())
    if isinstance(value, Mapping) and isinstance(listed := value.get("results"), list):
        count = value.get("count", len(listed))
        return f"{count}: {', '.join(map(_called, listed))} — {shown}" if listed else f"{count}"
    return shown


def _called(row: Any) -> str:
    keys = ("name", "trainid", "trainID", "department")
    known = [row[key] for key in keys if key in row] if isinstance(row, Mapping) else []
    return str((*known, _plain(row))[0])


def _value(text: str) -> Any:
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        return None


def _plain(value: Any) -> str:
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
