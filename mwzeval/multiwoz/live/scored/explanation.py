"""What became of a live dialogue, exchange by exchange, for terminal and page."""

from __future__ import annotations

import json
from collections import deque
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from mwzeval.conversation.exchanges import CALLED, RETURNED, SAID, Exchange, Step
from mwzeval.conversation.trajectory import Trajectory
from mwzeval.multiwoz.goals.goals import ORDERING, Goal
from mwzeval.multiwoz.live.judgement import DomainJudgement, Judgement
from mwzeval.multiwoz.live.scored.scores import INFORM, SUCCESS, reported
from mwzeval.multiwoz.scoring.losses import spelled
from mwzeval.scores.explanation import SYSTEM, Explanation, Fact, ToolUse, TurnView, Utterance
from mwzeval.scores.score import WHOLE

BOOKING, REFERENCE = "booking", "reference"


def explanation(
    trajectory: Trajectory,
    goal: Goal,
    exchanges: Sequence[Exchange],
    judgement: Judgement | None,
) -> Explanation:
    """Return what became of a dialogue; without a judgement it was not scored."""
    return Explanation(
        unit=trajectory.name,
        outcomes=_outcomes(judgement),
        goal=(*goal_facts(goal), *_told(judgement), *end_facts(trajectory)),
        turns=tuple(map(_turn_view, exchanges)),
        reasons=judgement.reasons if judgement else (),
    )


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
    """Yield what a goal wants of each domain."""
    for domain in goal[ORDERING]:
        part = goal[domain]
        yield Fact("wants", spelled(part.get("info", {})), domain)
        for name, label in (("fail_info", "wants first"), ("book", "books")):
            if part.get(name):
                yield Fact(label, spelled(part[name]), domain)
        if part.get("fail_book"):
            yield Fact("books first", spelled(part["fail_book"]), domain)
        if part.get("reqt"):
            yield Fact("asks for", ", ".join(part["reqt"]), domain)


def _told(judgement: Judgement | None) -> Iterator[Fact]:
    """Yield what was settled on, and what was told of it."""
    for name, domain in judgement.domains.items() if judgement else ():
        if domain.venue is not None:
            yield Fact("settled on", domain.venue, name)
        if given := [answer.slot for answer in domain.answers if answer.given]:
            yield Fact("was told", ", ".join(given), name)
        if unknown := [answer.slot for answer in domain.answers if answer.given is None]:
            yield Fact("nobody can tell", ", ".join(unknown), name)


def end_facts(trajectory: Trajectory) -> Iterator[Fact]:
    """Yield how a dialogue has ended, and what the user says of it."""
    problem = f": {trajectory.problem}" if trajectory.problem else ""
    yield Fact("end", f"{trajectory.end}{problem}")
    report = reported(trajectory)
    if isinstance(complete := report.get("complete"), bool):
        yield Fact("complete", "the user believes so" if complete else "not for the user")
    for fault in report.get("faults") or ():
        yield Fact("fault of the user", fault if isinstance(fault, str) else _plain(fault))


def _turn_view(exchange: Exchange) -> TurnView:
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
