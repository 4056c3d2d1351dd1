"""The two modalities of live dialogues, with their table rows, scores and explanations.

Text-level dialogues are judged by utterances and bookings; act-level dialogues are judged by their
acts. Each dialogue has one row of counts. The definitions are in `docs/live_reference.md`.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import Any, NamedTuple

from mwzeval.conversation.messages import NOWHERE, Turn, read_messages, turns_of
from mwzeval.conversation.protocols import USER_STOP
from mwzeval.conversation.trajectory import ACTS, Trajectory
from mwzeval.errors import did_you_mean, shorten
from mwzeval.metrics.measure import Measure, Rate, Sign
from mwzeval.multiwoz import CONVLAB2
from mwzeval.multiwoz.convlab import evaluator as act_scores
from mwzeval.multiwoz.convlab.evaluator import (
    CorrectedEvaluator,
    Outcome,
    PublicEvaluator,
    judged,
)
from mwzeval.multiwoz.convlab.resources import ActDatabase
from mwzeval.multiwoz.database import Row
from mwzeval.multiwoz.formats import decoded_arguments
from mwzeval.multiwoz.functions import Tools
from mwzeval.multiwoz.goals import ORDERING, Goal
from mwzeval.multiwoz.grounding.claims import Claim
from mwzeval.multiwoz.grounding.scores import grounded_columns, grounded_measures, grounded_view
from mwzeval.multiwoz.live.judge import (
    BOOKING,
    INFORM,
    REFERENCE,
    SUCCESS,
    Judge,
    Judgement,
    end_reasons,
    mention_slot,
)
from mwzeval.multiwoz.live.reading import AgentReader
from mwzeval.multiwoz.live.text_user import faults_of
from mwzeval.multiwoz.reasons import reason
from mwzeval.multiwoz.schema import ALL_DOMAINS, UNANSWERED_VALUES
from mwzeval.multiwoz.scoring.explanation import spelled
from mwzeval.multiwoz.scoring.goal_success import INFORM_COLUMNS, INFORM_RATES, Rates
from mwzeval.scores.explanation import (
    CANNOT_BE,
    NOT_JUDGED,
    SYSTEM,
    Explanation,
    Fact,
    Reason,
    ToolUse,
    TurnView,
    Utterance,
)
from mwzeval.scores.findings import LIST, OBJECT, Findings
from mwzeval.scores.score import WHOLE
from mwzeval.text import json_value

COMPLETE = "complete"
SIZES = tuple(f"{count}-domain" for count in range(1, len(ALL_DOMAINS) + 1))
"""Scopes by the number of domains in the goal."""
TASK = Rates(
    (
        Rate(SUCCESS, "Task success", SUCCESS, "dialogues"),
        Rate(INFORM, "Inform", INFORM, "dialogues"),
    ),
    (*ALL_DOMAINS, *SIZES),
    of_dialogues=True,
)
ALL = f"dialogues.{WHOLE}"
"""The column that is 1 for every dialogue."""
SCORED_ENDS = {
    "user_stop": "Ended by the user",
    "limit": "Ended by a limit",
    "agent_error": "Failed by the agent",
    "user_error": "Failed by the user",
}
_DESCRIPTION = partial(Rate, cases=ALL, is_description=True, lower_is_better=True)
MEANS = tuple(
    _DESCRIPTION(name, label, name, ALL, unit=unit, places=2)
    for name, label, unit in (
        ("user_turns", "User turns", "turns"),
        ("tool_calls", "Tool calls", "calls"),
        ("tool_errors", "Tool errors", "errors"),
    )
)
"""The counts whose mean per dialogue is shown."""
RATES = (
    *INFORM_RATES,
    Rate(COMPLETE, "Complete (as the user believes)", COMPLETE, "telling", is_outcome=True),
    *MEANS,
    *(
        _DESCRIPTION(
            f"end.{end}", label, end, ALL, is_outcome=True, lower_is_better=end != USER_STOP
        )
        for end, label in SCORED_ENDS.items()
    ),
    _DESCRIPTION("user_faults", "Faults of the user, % of turns", "faults", "watched_turns"),
)
"""The scores that follow task success and the grounded scores."""
TEXT_COLUMNS = (
    *TASK.columns,
    *grounded_columns(lexicalized=True),
    *INFORM_COLUMNS,
    *(rate.name for rate in MEANS),
    *SCORED_ENDS,
    *(COMPLETE, "telling", "faults", "watched_turns"),
)
WANTS, BOOKS, ASKS = "wants", "books", "asks for"
END_TEXTS = {
    "user_stop": "by the user",
    "limit": "by a limit",
    "agent_error": "by an error of the agent",
    "user_error": "by an error of the user",
    "infrastructure": "by a failure of a server",
}


class Modality(NamedTuple):
    """The functions that judge the dialogues of a run.

    `check` is called before the other functions, and reports dialogues that cannot be judged. `row`
    returns the counts of a dialogue, which can be summed over dialogues. `explain` returns the
    explanation of a dialogue, with outcomes only if the dialogue is scored. `has_faults` returns
    whether the user made a mistake in the dialogue, or None if this is unknown. `measures` yields
    the scores for column sums in the order of a report. `plain` converts score values, by name and
    scope, to parts of a JSON report.
    """

    name: str
    rules: str
    columns: Sequence[str]
    check: Callable[[Mapping[str, Trajectory], Mapping[str, Goal], Findings], None]
    row: Callable[[Trajectory, Goal], Mapping[str, float]]
    explain: Callable[[Trajectory, Goal, bool], Explanation]
    has_faults: Callable[[Trajectory, Goal], bool | None]
    measures: Callable[[Mapping[str, float], Sign], Iterator[Measure]]
    plain: Callable[[Mapping[str, float], Mapping[str, Mapping[str, float]]], dict[str, Any]]


def reported_faults(dialogue: Trajectory) -> Sequence[Any]:
    """Return the mistakes that are listed in the user's own report."""
    faults = dialogue.report.get("faults")
    return faults if isinstance(faults, LIST) else ()


def text_level(judge: Judge, tools: Tools, reader: Callable[[], AgentReader]) -> Modality:
    """Return the modality that judges utterances and bookings.

    If a user program does not report its mistakes, only invented values and repeated messages are
    detected. The function `reader` is called when a parser is first needed.
    """
    judged: dict[str, Judgement] = {}
    found_faults: dict[str, Sequence[Any]] = {}

    def judgement(dialogue: Trajectory, goal: Goal) -> Judgement:
        if dialogue.name not in judged:
            bookings = dialogue.more.get("bookings")
            judged[dialogue.name] = judge.judge(goal, dialogue.talk, bookings)
        return judged[dialogue.name]

    def faults(dialogue: Trajectory, goal: Goal) -> Sequence[Any]:
        if "faults" in dialogue.report:
            return reported_faults(dialogue)
        if dialogue.name not in found_faults:
            found = faults_of(goal, dialogue.talk, dialogue.report, reader())
            found_faults[dialogue.name] = found
        return found_faults[dialogue.name]

    def check(
        dialogues: Mapping[str, Trajectory], goals: Mapping[str, Goal], findings: Findings
    ) -> None:
        """Report calls that the judge ignores, and ignored results and bookings."""
        for name, dialogue in dialogues.items():
            for entries in (message.raw.get("tool_calls") for message in dialogue.talk):
                for entry in entries if isinstance(entries, LIST) else ():
                    function = entry.get("function") if isinstance(entry, OBJECT) else None
                    if not isinstance(function, OBJECT):
                        text = "an entry of tool_calls has no function and is ignored"
                        findings.warning("call-without-function", text, dialogue=name)
            for call in (call for message in dialogue.talk for call in message.calls):
                called = str(call.name)
                if called not in tools.by_name:
                    text = (
                        f'the function "{shorten(called)}" is unknown and its calls are ignored: '
                        "use --tools to describe your own "
                        f"functions{did_you_mean(called, tools.by_name)}"
                    )
                    findings.warning("unknown-function", text, dialogue=name)
                elif decoded_arguments(call, NOWHERE) is None:
                    text = (
                        f'calls of the function "{shorten(called)}" whose arguments are not a '
                        "JSON object are ignored"
                    )
                    findings.warning("arguments-not-json", text, dialogue=name)

    def row(dialogue: Trajectory, goal: Goal) -> Mapping[str, float]:
        found = judgement(dialogue, goal)
        domains = found.domains
        whole = (1, found.success, found.inform)
        counted = {WHOLE: whole, SIZES[len(domains) - 1]: whole}
        counted |= {name: (1, domain.done, domain.inform) for name, domain in domains.items()}
        calls = [call for turn in turns_of(dialogue.talk) for call in turn.calls]
        numbers = {
            **TASK.row(counted),
            **found.row,
            "user_turns": dialogue.turns,
            "tool_calls": sum(call.name is not None for call in calls),
            "tool_errors": sum(call.is_error for call in calls),
            dialogue.end: 1,
            "faults": len(faults(dialogue, goal)),
            "watched_turns": dialogue.turns,
        }
        if isinstance(complete := dialogue.report.get(COMPLETE), bool):
            numbers |= {COMPLETE: complete, "telling": 1}
        return numbers

    def explain(dialogue: Trajectory, goal: Goal, is_scored: bool) -> Explanation:
        turns = turns_of(dialogue.talk)
        claims = judge.claims(goal, dialogue.talk, dialogue.more.get("bookings"))
        read = [turn.user for turn in turns_of(read_messages(dialogue.messages))]
        views = [
            _text_view(number, turn, text, claims)
            for number, (turn, text) in enumerate(zip(turns, read, strict=True))
        ]
        goal_facts = tuple(_goal_facts(goal))
        explained = Explanation(
            unit=dialogue.name,
            outcomes={WHOLE: {SUCCESS: None, INFORM: None}},
            goal=goal_facts,
            turns=_with_reports(views, dialogue, faults(dialogue, goal)),
            reasons=(),
        )
        if not is_scored:
            return explained
        found = judgement(dialogue, goal)
        # If anything else failed, this is usually the reason why the dialogue ended.
        ended = () if found.success else end_reasons(dialogue, len(turns))
        return replace(
            explained,
            outcomes=_outcomes(found),
            reasons=(*ended, *found.reasons),
            reached=tuple(_turn_reached(fact, turns, found) for fact in goal_facts),
        )

    def has_faults(dialogue: Trajectory, goal: Goal) -> bool:
        return bool(faults(dialogue, goal))

    functions = check, row, explain, has_faults, _text_measures, _text_plain
    return Modality("words", judge.rules, TEXT_COLUMNS, *functions)


def _text_measures(sums: Mapping[str, float], sign: Sign) -> Iterator[Measure]:
    if not sums[ALL]:
        return
    yield from TASK.measures(sums, sign)
    yield from grounded_measures(sums, sign, bookings="calls")
    for rate in RATES:
        yield from rate.measures(sums, sign(rate.name))


def _text_plain(
    sums: Mapping[str, float], values: Mapping[str, Mapping[str, float]]
) -> dict[str, Any]:
    alone = {name: scopes[WHOLE] for name, scopes in values.items() if list(scopes) == [WHOLE]}
    own = [rate.name for rate in RATES if not rate.name.startswith("end.")]
    return {
        "success": {name: values.get(name, {}) for name in (INFORM, SUCCESS)},
        "grounded": grounded_view(sums, values, bookings="calls"),
        "live": {name: alone.get(name) for name in own}
        | {name: value for name, value in alone.items() if "^" in name},
    }


def _outcomes(judgement: Judgement) -> dict[str, dict[str, bool | None]]:
    domains = judgement.domains
    outcomes: dict[str, dict[str, bool | None]] = {
        WHOLE: {SUCCESS: judgement.success, INFORM: judgement.inform}
    }
    outcomes |= {name: {SUCCESS: d.done, INFORM: d.inform} for name, d in domains.items()}
    for outcome in (BOOKING, REFERENCE):
        found = {name: getattr(domain, outcome) for name, domain in domains.items()}
        found = {name: value for name, value in found.items() if value is not None}
        for name, value in found.items():
            outcomes[name][outcome] = value
        if found:
            outcomes[WHOLE][outcome] = all(found.values())
    return outcomes


def _goal_facts(goal: Goal) -> Iterator[Fact]:
    """Yield a line for each part of a goal: the venue or ride, the booking, and each request."""
    for domain in goal[ORDERING]:
        part = goal[domain]
        for label, slots, first in (
            (WANTS, part.get("info"), part.get("fail_info")),
            (BOOKS, part.get("book"), part.get("fail_book")),
        ):
            if slots is not None:
                before = f" (first {spelled(first)})" if first else ""
                yield Fact(label, f"{spelled(slots)}{before}", domain)
        for slot in part.get("reqt", ()):
            yield Fact(ASKS, slot, domain)


def _turn_reached(fact: Fact, turns: Sequence[Turn], judgement: Judgement) -> int | None:
    """Return the turn in which a line of the goal was met, or a marker.

    None means that the line was not met, `CANNOT_BE` that it cannot be met, and `NOT_JUDGED` that
    the agent did nothing that can be judged.
    """
    domain = str(fact.scope)
    judged = judgement.domains[domain]
    last = len(turns) - 1
    if fact.label == ASKS:
        slot = mention_slot(fact.value)
        answer = next((answer for answer in judged.answers if answer.slot == slot), None)
        if answer is not None and answer.given is None:
            return CANNOT_BE
        return answer.turn if answer is not None and answer.given else None
    function = f"book_{domain}"
    booked = None
    for number, turn in enumerate(turns):
        if any(call.name == function and not call.is_error for call in turn.calls):
            booked = number
    if fact.label == BOOKS:
        is_met = judged.booking and judged.reference is not False
        return (last if booked is None else booked) if is_met else None
    if not judged.inform:
        return None
    if judged.venue:
        called = " ".join(judged.venue.lower().split())
        texts = (" ".join((turn.agent or "").lower().split()) for turn in turns)
        return next((number for number, text in enumerate(texts) if called in text), last)
    # Without a venue or a booking, only an answer can show that the line is met.
    if booked is not None:
        return booked
    answered = [a.turn for a in judged.answers if a.given and a.turn is not None]
    return last if judged.booking else min(answered, default=NOT_JUDGED)


def _with_reports(
    views: Sequence[TurnView], dialogue: Trajectory, faults: Sequence[Any]
) -> tuple[TurnView, ...]:
    """Add the user's mistakes to their turns, and the ending to the last turn."""
    turns = list(views) or [TurnView((), ())]
    facts: list[list[Fact]] = [[] for _ in turns]
    for fault in faults:
        turn, text = None, fault
        if isinstance(fault, Mapping):
            turn, text = fault.get("turn"), f"{fault.get('kind')}: {fault.get('detail')}"
        place = turn if isinstance(turn, int) and 0 <= turn < len(turns) else -1
        facts[place].append(Fact("fault of the user", str(text)))
    problem = f": {dialogue.problem}" if dialogue.problem else ""
    facts[-1].append(Fact("end", f"{END_TEXTS.get(dialogue.end, dialogue.end)}{problem}"))
    if isinstance(complete := dialogue.report.get(COMPLETE), bool):
        facts[-1].append(
            Fact(COMPLETE, "the user believes so" if complete else ("the user does not believe so"))
        )
    return tuple(
        view._replace(facts=(*view.facts, *more)) for view, more in zip(turns, facts, strict=True)
    )


def _text_view(number: int, turn: Turn, read: str, claims: Sequence[Claim]) -> TurnView:
    """Return the view of a turn. `read` is the user's message as the agent read it."""
    utterances = [Utterance("user", read)] if read else []
    if turn.agent is not None:
        utterances.append(Utterance(SYSTEM, turn.agent))
    of_turn = tuple(claim for claim in claims if claim.turn == number)
    facts = (
        *((Fact("meant", turn.user),) if turn.user != read else ()),
        *(Fact("said before", text) for text in turn.remarks),
        *(Fact(c.verdict, c.line(), c.domain) for c in of_turn if c.is_flagged),
    )
    uses = tuple(
        ToolUse(call.name or "?", _arguments(call.arguments), _result(call.result), call.is_error)
        for call in turn.calls
    )
    return TurnView(tuple(utterances), facts, calls=uses, claims=of_turn)


def _arguments(text: str) -> str:
    value = json_value(text)
    if isinstance(value, Mapping):
        return ", ".join(f"{name}={_plain(argument)}" for name, argument in value.items())
    return text


def _result(text: str | None) -> str:
    """Return a result as one line. A list of venues is preceded by its length and names."""
    value = json_value(text or "")
    shown = " ".join((text or "").split())
    if isinstance(value, Mapping) and isinstance(rows := value.get("results"), list):
        count = value.get("count", len(rows))
        return f"{count}: {', '.join(map(_row_name, rows))} — {shown}" if rows else f"{count}"
    return shown


def _row_name(row: Any) -> str:
    keys = ("name", "trainid", "trainID", "department")
    known = [row[key] for key in keys if key in row] if isinstance(row, Mapping) else []
    return str((*known, _plain(row))[0])


def _plain(value: Any) -> str:
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)


def act_level(tables: Mapping[str, Sequence[Row]], *, as_published: bool) -> Modality:
    """Return the modality of act-level dialogues, with corrected rules or ConvLab-2's rules."""
    database = ActDatabase(tables)
    evaluator = PublicEvaluator if as_published else CorrectedEvaluator
    outcomes: dict[str, Outcome] = {}

    def check(
        dialogues: Mapping[str, Trajectory], goals: Mapping[str, Goal], findings: Findings
    ) -> None:
        """Judge all dialogues, and report the dialogues that contain invalid acts."""
        for name, goal in goals.items():
            dialogue, more = dialogues[name], dialogues[name].more
            held = dialogue.report.get("goal")
            if isinstance(held, Mapping) and ORDERING not in held:
                in_order = {ORDERING: goal[ORDERING], **held}
                more = {**more, "user": {**dialogue.report, "goal": in_order}}
            about = replace(dialogue, goal=goal, more=more)
            try:
                outcomes[name] = judged(about, database, evaluator)
            except ValueError as error:
                findings.error("acts", str(error), dialogue=name, key=ACTS)

    def row(dialogue: Trajectory, goal: Goal) -> Mapping[str, float]:
        return act_scores.row(outcomes[dialogue.name])

    def explain(dialogue: Trajectory, goal: Goal, is_scored: bool) -> Explanation:
        outcome = outcomes[dialogue.name]
        found: dict[str, dict[str, bool | None]] = {WHOLE: {SUCCESS: None, COMPLETE: None}}
        if is_scored:
            found = {WHOLE: {SUCCESS: outcome.success, COMPLETE: outcome.complete}}
            found |= {name: {SUCCESS: met} for name, met in outcome.domain_success.items()}
        views = [_act_view(*turn) for turn in dialogue.acts]
        return Explanation(
            unit=dialogue.name,
            outcomes=found,
            goal=tuple(_goal_facts(goal)),
            turns=_with_reports(views, dialogue, reported_faults(dialogue)),
            reasons=tuple(_act_reasons(dialogue, goal, outcome)) if is_scored else (),
        )

    def has_faults(dialogue: Trajectory, goal: Goal) -> bool | None:
        return bool(reported_faults(dialogue)) if "faults" in dialogue.report else None

    def plain(
        sums: Mapping[str, float], values: Mapping[str, Mapping[str, float]]
    ) -> dict[str, Any]:
        names = (rate.name for rate in act_scores.RATES)
        live = {name: values[name][WHOLE] for name in names if name in values}
        live |= {name: scopes[WHOLE] for name, scopes in values.items() if "^" in name}
        return {"live": live}

    functions = check, row, explain, has_faults, act_scores.measures, plain
    rules = CONVLAB2 if as_published else "corrected"
    return Modality("acts", rules, act_scores.COLUMNS, *functions)


Acts = Sequence[Sequence[str]]


def _act_view(user: Acts | None, agent: Acts | None) -> TurnView:
    texts = (("user", acts_line(user)), (SYSTEM, acts_line(agent)))
    return TurnView(tuple(Utterance(speaker, text) for speaker, text in texts if text), ())


def acts_line(acts: Acts | None) -> str:
    """Return acts as one line: `Inform Hotel (Area=north), Request Hotel (Phone=?)`."""
    return ", ".join(
        f"{intent} {domain}" + ("" if slot == "none" else f" ({slot}={value})")
        for intent, domain, slot, value in acts or ()
    )


def _act_reasons(dialogue: Trajectory, goal: Goal, outcome: Outcome) -> Iterator[Reason]:
    known = dialogue.report.get("goal")
    for domain in goal[ORDERING]:
        part = known.get(domain, {}) if isinstance(known, Mapping) else {}
        asked = part.get("reqt", dict.fromkeys(goal[domain].get("reqt", ()), "?"))
        for slot, answer in asked.items():
            if answer in UNANSWERED_VALUES:
                yield reason("not-told", COMPLETE, domain, None, {}, slot, "acts")
        if goal[domain].get("book") and part.get("booked", "?") in UNANSWERED_VALUES:
            yield reason("not-booked", COMPLETE, domain, None, {}, None, "acts")
        if outcome.domain_success.get(domain) is False:
            yield reason("not-satisfied", SUCCESS, domain, None, {}, None, "acts")
