"""The two modalities of live dialogues: rows, scores and explanations of each.

Dialogues at the text level are judged by what is said and booked, those at the act level by their
acts. A dialogue is a row of counts. Definitions are in `docs/live.md`.
"""

from __future__ import annotations

import json
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mwzeval.conversation.messages import (
    CALLED,
    RETURNED,
    SAID,
    Step,
    Turn,
    read_message,
    turns_of,
)
from mwzeval.conversation.protocols import USER_STOP
from mwzeval.conversation.trajectory import ACTS, Trajectory
from mwzeval.errors import did_you_mean, shorten
from mwzeval.metrics.measure import Measure, Sign, percentage
from mwzeval.multiwoz.choices import CONVLAB2
from mwzeval.multiwoz.convlab import evaluator as act_scores
from mwzeval.multiwoz.convlab.evaluator import (
    CorrectedEvaluator,
    Outcome,
    PublicEvaluator,
    judged,
)
from mwzeval.multiwoz.convlab.resources import ActDatabase
from mwzeval.multiwoz.database import Row
from mwzeval.multiwoz.formats.functions import Tools
from mwzeval.multiwoz.goals.goal import ORDERING, Goal
from mwzeval.multiwoz.grounding.claims import Claim
from mwzeval.multiwoz.grounding.scores import (
    Computed,
    grounded_columns,
    grounded_measures,
    grounded_view,
)
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
from mwzeval.multiwoz.live.user_faults import faults_of
from mwzeval.multiwoz.reasons import reason
from mwzeval.multiwoz.schema import ALL_DOMAINS, UNANSWERED_VALUES
from mwzeval.multiwoz.scoring.explanation import spelled
from mwzeval.multiwoz.scoring.goal_success import Rate, Rates
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
from mwzeval.scores.findings import Findings
from mwzeval.scores.score import WHOLE
from mwzeval.statistics.bootstrap import Sums

COMPLETE = "complete"
SIZES = tuple(f"{count}-domain" for count in range(1, len(ALL_DOMAINS) + 1))
"""The scopes of goals with so many domains."""
TASK = Rates(
    (
        Rate(SUCCESS, "Task success", SUCCESS, "dialogues"),
        Rate(INFORM, "Inform", INFORM, "dialogues"),
    ),
    (*ALL_DOMAINS, *SIZES),
    of_dialogues=True,
)
GROUNDED = Computed(words=True, bookings="calls")
ALL = f"dialogues.{WHOLE}"
"""The column that is 1 for every dialogue."""
SCORED_ENDS = {
    "user_stop": "Ended by the user",
    "limit": "Ended by a limit",
    "agent_error": "Failed by the agent",
    "user_error": "Failed by the user",
}
MEANS = (
    ("user_turns", "User turns", "turns"),
    ("tool_calls", "Tool calls", "calls"),
    ("tool_errors", "Tool errors", "errors"),
)
"""Name, label and unit of what is counted and shown as a mean over dialogues."""
TEXT_COLUMNS = (
    *TASK.columns,
    *grounded_columns(lexicalized=True),
    *act_scores.INFORM_COLUMNS,
    *(name for name, _, _ in MEANS),
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


def user_report(dialogue: Trajectory) -> Mapping[str, Any]:
    """Return what the user reports; empty where it does not."""
    report = dialogue.more.get("user")
    return report if isinstance(report, Mapping) else {}


def user_faults(dialogue: Trajectory) -> Sequence[Any]:
    """Return the faults that the user reports of itself."""
    faults = user_report(dialogue).get("faults")
    return faults if isinstance(faults, list | tuple) else ()


class TextLevel:
    """Judges what is said and booked in the dialogues of a run.

    Faults that a user does not report of itself, as other programs' users do not, are found by
    code: values of its own making, and messages that it repeats. `reader` is made when it is
    needed for that.
    """

    name = "words"
    has_words = True
    columns: Sequence[str] = TEXT_COLUMNS

    def __init__(self, judge: Judge, tools: Tools, reader: Callable[[], AgentReader]) -> None:
        self.rules: str = judge.rules
        self._judge = judge
        self._tools = tools
        self._reader = reader
        self._judged: dict[str, Judgement] = {}
        self._faults: dict[str, list[Mapping[str, Any]]] = {}

    def check(
        self, dialogues: Mapping[str, Trajectory], goals: Mapping[str, Goal], findings: Findings
    ) -> None:
        """Note functions that nobody knows: what they do, and book, is not seen."""
        for name, dialogue in dialogues.items():
            for message in filter(None, map(read_message, dialogue.messages)):
                for call in message.calls:
                    called = str(call.name)
                    if called not in self._tools.by_name:
                        text = (
                            f'the function "{shorten(called)}" is not known and its calls are not '
                            "used: --tools says what functions of your own do"
                            f"{did_you_mean(called, self._tools.by_name)}"
                        )
                        findings.warning("unknown-function", text, dialogue=name)

    def row(self, dialogue: Trajectory, goal: Goal) -> Mapping[str, float]:
        """Return the additive numbers of a dialogue."""
        judgement = self._judgement(dialogue, goal)
        domains = judgement.domains
        whole = (1, judgement.success, judgement.inform)
        counted = {WHOLE: whole, SIZES[len(domains) - 1]: whole}
        counted |= {name: (1, domain.done, domain.inform) for name, domain in domains.items()}
        exchanges = turns_of(dialogue.messages)
        steps = [step for exchange in exchanges for step in exchange.steps]
        row = {
            **TASK.row(counted),
            **judgement.row,
            "user_turns": dialogue.turns,
            "tool_calls": sum(step.kind == CALLED for step in steps),
            "tool_errors": sum(step.kind == RETURNED and step.is_error for step in steps),
            dialogue.end: 1,
            "faults": len(user_faults(self._with_faults(dialogue, goal))),
            "watched_turns": dialogue.turns,
        }
        if isinstance(complete := user_report(dialogue).get(COMPLETE), bool):
            row |= {COMPLETE: complete, "telling": 1}
        return row

    def has_faults(self, dialogue: Trajectory, goal: Goal) -> bool | None:
        """Tell whether the user of a dialogue has made a fault."""
        return bool(user_faults(self._with_faults(dialogue, goal)))

    def explain(self, dialogue: Trajectory, goal: Goal, *, is_scored: bool) -> Explanation:
        """Return what became of a dialogue; one that is not scored has no outcomes."""
        exchanges = turns_of(dialogue.messages)
        claims = self._judge.claims(goal, dialogue.messages, dialogue.more.get("bookings"))
        wanted = tuple(_goal_facts(goal))
        explained = Explanation(
            unit=dialogue.name,
            outcomes={WHOLE: {SUCCESS: None, INFORM: None}},
            goal=wanted,
            turns=_with_reports(
                [_text_view(turn, exchange, claims) for turn, exchange in enumerate(exchanges)],
                self._with_faults(dialogue, goal),
            ),
            reasons=(),
        )
        if not is_scored:
            return explained
        judgement = self._judgement(dialogue, goal)
        # Of what else failed, that the dialogue ended is mostly why.
        ended = () if judgement.success else end_reasons(dialogue, len(exchanges))
        return replace(
            explained,
            outcomes=_outcomes(judgement),
            reasons=(*ended, *judgement.reasons),
            reached=tuple(_turn_reached(fact, exchanges, judgement) for fact in wanted),
        )

    def _with_faults(self, dialogue: Trajectory, goal: Goal) -> Trajectory:
        """Return a dialogue whose user reports its faults."""
        report = user_report(dialogue)
        if "faults" in report:
            return dialogue
        if dialogue.name not in self._faults:
            plain = {"goal": goal, "messages": dialogue.messages, "user": report}
            faults = faults_of(plain, self._reader())
            self._faults[dialogue.name] = [fault._asdict() for fault in faults]
        report = {**report, "faults": self._faults[dialogue.name]}
        return replace(dialogue, more={**dialogue.more, "user": report})

    def _judgement(self, dialogue: Trajectory, goal: Goal) -> Judgement:
        if dialogue.name not in self._judged:
            bookings = dialogue.more.get("bookings")
            self._judged[dialogue.name] = self._judge.judge(goal, dialogue.messages, bookings)
        return self._judged[dialogue.name]

    @staticmethod
    def measures(sums: Mapping[str, float], sign: Sign) -> Iterator[Measure]:
        """Yield the scores that these sums of columns have, in the order of a report."""
        if not sums[ALL]:
            return

        described = partial(Measure, cases=ALL, is_description=True)
        yield from TASK.measures(sums, sign)
        yield from grounded_measures(GROUNDED, sums, sign)
        yield from act_scores.shares(act_scores.INFORM_SHARES, sums, sign, places=1)
        if sums["telling"]:
            yield Measure(
                COMPLETE,
                "Complete (as the user believes)",
                sign(COMPLETE),
                percentage(COMPLETE, of="telling"),
                places=1,
                cases="telling",
                outcome=COMPLETE,
            )
        for name, label, unit in MEANS:
            mean = partial(_mean, name)
            yield described(name, label, sign(name), mean, unit=unit, lower_is_better=True)
        for name, label in SCORED_ENDS.items():
            yield described(
                f"end.{name}",
                label,
                sign(f"end.{name}"),
                percentage(name, of=ALL),
                places=1,
                outcome=name,
                lower_is_better=name != USER_STOP,
            )
        if sums["watched_turns"]:
            yield described(
                "user_faults",
                "Faults of the user, % of turns",
                sign("user_faults"),
                percentage("faults", of="watched_turns"),
                places=1,
                lower_is_better=True,
            )

    @staticmethod
    def plain(
        sums: Mapping[str, float], values: Mapping[str, Mapping[str, float]]
    ) -> dict[str, Any]:
        """Return the parts of a report: `success`, `grounded`, `live`, of name → scope → value."""
        alone = {name: scopes[WHOLE] for name, scopes in values.items() if list(scopes) == [WHOLE]}
        shares = (name for name, *_ in act_scores.INFORM_SHARES)
        own = (*shares, COMPLETE, *(name for name, _, _ in MEANS), "user_faults")
        return {
            "success": {name: values.get(name, {}) for name in (INFORM, SUCCESS)},
            "grounded": grounded_view(GROUNDED, sums, values),
            "live": {name: alone.get(name) for name in own}
            | {name: value for name, value in alone.items() if "^" in name},
        }


def _mean(counted: str, sums: Sums) -> NDArray[np.float64]:
    return np.asarray(sums[counted] / sums[ALL])


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


def _turn_reached(fact: Fact, exchanges: Sequence[Turn], judgement: Judgement) -> int | None:
    """Return the exchange from which on a line of the goal is met, or the reason of none.

    None: the line is not met; `CANNOT_BE`: nobody could meet it; `NOT_JUDGED`: the agent did
    nothing for it that can be judged.
    """
    domain = str(fact.scope)
    judged = judgement.domains[domain]
    last = len(exchanges) - 1
    if fact.label == ASKS:
        slot = mention_slot(fact.value)
        answer = next((answer for answer in judged.answers if answer.slot == slot), None)
        if answer is not None and answer.given is None:
            return CANNOT_BE
        return answer.turn if answer is not None and answer.given else None
    booked = max(
        (
            turn
            for turn, exchange in enumerate(exchanges)
            for use in _tool_uses(exchange.steps)
            if use.name == f"book_{domain}" and not use.has_failed
        ),
        default=None,
    )
    if fact.label == BOOKS:
        is_met = judged.booking and judged.reference is not False
        return (last if booked is None else booked) if is_met else None
    if not judged.inform:
        return None
    if judged.venue:
        called = " ".join(judged.venue.lower().split())
        texts = (" ".join((exchange.agent or "").lower().split()) for exchange in exchanges)
        return next((turn for turn, text in enumerate(texts) if called in text), last)
    # Neither a venue nor a booking: the line is met only as far as an answer shows it.
    if booked is not None:
        return booked
    turns = [a.turn for a in judged.answers if a.given and a.turn is not None]
    return last if judged.booking else min(turns, default=NOT_JUDGED)


def _with_reports(views: Sequence[TurnView], dialogue: Trajectory) -> tuple[TurnView, ...]:
    """Return turns with the faults of the user where they were made, and how all has ended."""
    turns = list(views) or [TurnView((), ())]
    facts: list[list[Fact]] = [[] for _ in turns]
    for fault in user_faults(dialogue):
        turn, text = None, fault
        if isinstance(fault, Mapping):
            turn, text = fault.get("turn"), f"{fault.get('kind')}: {fault.get('detail')}"
        place = turn if isinstance(turn, int) and 0 <= turn < len(turns) else -1
        facts[place].append(Fact("fault of the user", str(text)))
    problem = f": {dialogue.problem}" if dialogue.problem else ""
    facts[-1].append(Fact("end", f"{END_TEXTS.get(dialogue.end, dialogue.end)}{problem}"))
    if isinstance(complete := user_report(dialogue).get(COMPLETE), bool):
        facts[-1].append(Fact(COMPLETE, "the user believes so" if complete else "not for the user"))
    return tuple(
        view._replace(facts=(*view.facts, *more)) for view, more in zip(turns, facts, strict=True)
    )


def _text_view(turn: int, exchange: Turn, claims: Sequence[Claim]) -> TurnView:
    utterances = [Utterance("user", exchange.user)] if exchange.user else []
    if exchange.agent is not None:
        utterances.append(Utterance(SYSTEM, exchange.agent))
    of_turn = tuple(claim for claim in claims if claim.turn == turn)
    facts = (
        *(Fact("said before", step.text) for step in exchange.steps if step.kind == SAID),
        *(Fact(c.verdict, c.line(), c.domain) for c in of_turn if c.is_flagged),
    )
    uses = tuple(_tool_uses(exchange.steps))
    return TurnView(tuple(utterances), facts, calls=uses, claims=of_turn)


def _tool_uses(steps: Iterable[Step]) -> Iterator[ToolUse]:
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
        return ", ".join(f"{name}={_plain(argument)}" for name, argument in value.items())
    return text


def _result(text: str) -> str:
    """Return a result on one line; before a list of venues stands how many, and their names."""
    value = _value(text)
    shown = " ".join(text.split())
    if isinstance(value, Mapping) and isinstance(rows := value.get("results"), list):
        count = value.get("count", len(rows))
        return f"{count}: {', '.join(map(_row_name, rows))} — {shown}" if rows else f"{count}"
    return shown


def _row_name(row: Any) -> str:
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


class ActLevel:
    """Judges acts by corrected rules, or as the public evaluator of ConvLab-2 does."""

    name = "acts"
    has_words = False
    columns: Sequence[str] = act_scores.COLUMNS
    measures = staticmethod(act_scores.measures)

    def __init__(self, tables: Mapping[str, Sequence[Row]], *, as_published: bool) -> None:
        self.rules: str = CONVLAB2 if as_published else "corrected"
        self._evaluator = PublicEvaluator if as_published else CorrectedEvaluator
        self._database = ActDatabase(tables)
        self._judged: dict[str, Outcome] = {}

    def check(
        self, dialogues: Mapping[str, Trajectory], goals: Mapping[str, Goal], findings: Findings
    ) -> None:
        """Note dialogues whose acts are none."""
        for name, goal in goals.items():
            dialogue, more = dialogues[name], dialogues[name].more
            held = user_report(dialogue).get("goal")
            if isinstance(held, Mapping) and ORDERING not in held:
                in_order = {ORDERING: goal[ORDERING], **held}
                more = {**more, "user": {**user_report(dialogue), "goal": in_order}}
            about = replace(dialogue, goal=goal, more=more)
            try:
                self._judged[name] = judged(about, self._database, self._evaluator)
            except ValueError as error:
                findings.error("acts", str(error), dialogue=name, key=ACTS)

    def row(self, dialogue: Trajectory, goal: Goal) -> Mapping[str, float]:
        """Return the additive numbers of a dialogue."""
        return act_scores.row(self._judged[dialogue.name])

    def has_faults(self, dialogue: Trajectory, goal: Goal) -> bool | None:
        """Tell whether the user reports a fault; None where it reports nothing of that kind."""
        return bool(user_faults(dialogue)) if "faults" in user_report(dialogue) else None

    def explain(self, dialogue: Trajectory, goal: Goal, *, is_scored: bool) -> Explanation:
        """Return what became of a dialogue; one that is not scored has no outcomes."""
        outcome = self._judged[dialogue.name]
        outcomes: dict[str, dict[str, bool | None]] = {WHOLE: {SUCCESS: None, COMPLETE: None}}
        if is_scored:
            outcomes = {WHOLE: {SUCCESS: outcome.success, COMPLETE: outcome.complete}}
            outcomes |= {name: {SUCCESS: met} for name, met in outcome.domain_success.items()}
        return Explanation(
            unit=dialogue.name,
            outcomes=outcomes,
            goal=tuple(_goal_facts(goal)),
            turns=_with_reports([_act_view(*turn) for turn in dialogue.acts], dialogue),
            reasons=tuple(_act_reasons(dialogue, goal, outcome)) if is_scored else (),
        )

    @staticmethod
    def plain(
        sums: Mapping[str, float], values: Mapping[str, Mapping[str, float]]
    ) -> dict[str, Any]:
        """Return the parts of a report, of name → scope → value."""
        names = (*act_scores.SHARES, *act_scores.MEANS)
        live = {name: values[name][WHOLE] for name, *_ in names if name in values}
        live |= {name: scopes[WHOLE] for name, scopes in values.items() if "^" in name}
        return {"live": live}


Modality = TextLevel | ActLevel
Acts = Sequence[Sequence[str]]


def _act_view(user: Acts | None, agent: Acts | None) -> TurnView:
    texts = (("user", acts_line(user)), (SYSTEM, acts_line(agent)))
    return TurnView(tuple(Utterance(speaker, text) for speaker, text in texts if text), ())


def acts_line(acts: Acts | None) -> str:
    """Return acts on one line: `Inform Hotel (Area=north), Request Hotel (Phone=?)`."""
    return ", ".join(
        f"{intent} {domain}" + ("" if slot == "none" else f" ({slot}={value})")
        for intent, domain, slot, value in acts or ()
    )


def _act_reasons(dialogue: Trajectory, goal: Goal, outcome: Outcome) -> Iterator[Reason]:
    known = user_report(dialogue).get("goal")
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
