"""How live dialogues are judged: those in words, and those in acts by ConvLab-2's evaluator."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from copy import copy
from dataclasses import replace
from functools import cache, partial
from typing import Any

from mwzeval.conversation.messages import read_message, turns_of
from mwzeval.conversation.trajectory import ACTS, Trajectory
from mwzeval.errors import did_you_mean, shorten
from mwzeval.metrics.measure import Measure, Sign
from mwzeval.multiwoz.choices import CONVLAB2, Rules
from mwzeval.multiwoz.convlab import scores as act_scores
from mwzeval.multiwoz.convlab.evaluator import CorrectedEvaluator, PublicEvaluator, judged
from mwzeval.multiwoz.convlab.resources import ActDatabase
from mwzeval.multiwoz.convlab.scores import Outcome
from mwzeval.multiwoz.database.venues import Row
from mwzeval.multiwoz.formats.functions import Tools
from mwzeval.multiwoz.goals.goal import ORDERING, Goal
from mwzeval.multiwoz.live.judgement import Judge, Judgement
from mwzeval.multiwoz.live.reading import AgentReader
from mwzeval.multiwoz.live.scored import scores
from mwzeval.multiwoz.live.scored.explanation import explanation, goal_facts, with_reports
from mwzeval.multiwoz.live.scored.reading import LiveRun
from mwzeval.multiwoz.live.scored.scores import faults_in, reported
from mwzeval.multiwoz.live.user_faults import faults_of
from mwzeval.multiwoz.schema import UNANSWERED_VALUES
from mwzeval.scores.explanation import SYSTEM, Explanation, Reason, TurnView, Utterance
from mwzeval.scores.findings import Findings
from mwzeval.scores.score import WHOLE


class InWords:
    """Judges what is said and booked; what was judged is kept.

    Faults that a user does not report of itself, as other programs' users do not, are told by code:
    values of its own making, and messages that it repeats.
    """

    name = "words"
    has_words: bool = True
    columns: Sequence[str] = scores.COLUMNS

    def __init__(self, tables: Mapping[str, Sequence[Row]], rules: Rules, tools: Tools) -> None:
        self.rules: str = rules
        self._tools = tools
        self._judge = Judge(tables, rules, tools=tools)
        self._reader = cache(partial(AgentReader, tables, rules))
        self._judged: dict[str, Judgement] = {}
        self._faults: dict[str, list[Mapping[str, Any]]] = {}

    def anew(self) -> InWords:
        """Return what judges another run on the same database."""
        other = copy(self)
        other._judged, other._faults = {}, {}
        return other

    def check(self, run: LiveRun, findings: Findings) -> None:
        """Note functions that nobody knows: what they do, and book, is not seen."""
        for name, dialogue in run.dialogues.items():
            for message in filter(None, map(read_message, dialogue.messages)):
                for call in message.calls:
                    called = str(call.name)
                    if called not in self._tools.by_name:
                        what = f'the function "{shorten(called)}" is not known and its calls are'
                        hint = did_you_mean(called, self._tools.by_name)
                        more = "not used: --tools says what functions of your own do"
                        message_ = f"{what} {more}{hint}"
                        findings.warning("unknown-function", message_, dialogue=name)

    def row(self, dialogue: Trajectory, goal: Goal) -> Mapping[str, float]:
        """Return the additive numbers of a dialogue."""
        exchanges = turns_of(dialogue.messages)
        judgement = self._judgement(dialogue, goal)
        return scores.row_of(self._with_faults(dialogue, goal), judgement, exchanges)

    def has_faults(self, dialogue: Trajectory, goal: Goal) -> bool | None:
        """Tell whether the user of a dialogue has made a fault."""
        return bool(faults_in(self._with_faults(dialogue, goal)))

    def explain(self, dialogue: Trajectory, goal: Goal, *, is_scored: bool) -> Explanation:
        """Return what became of a dialogue; one that is not scored has no outcomes."""
        judgement = self._judgement(dialogue, goal) if is_scored else None
        claims = self._judge.claims(goal, dialogue.messages, _bookings(dialogue))
        return explanation(
            self._with_faults(dialogue, goal),
            goal,
            turns_of(dialogue.messages),
            judgement,
            claims,
        )

    def measures(self, sums: Mapping[str, float], sign: Sign) -> Iterator[Measure]:
        """Yield the scores of the sums of columns."""
        return scores.measures(sums, sign)

    def plain(
        self, sums: Mapping[str, float], values: Mapping[str, Mapping[str, float]]
    ) -> dict[str, Any]:
        """Return the parts of a report, of name → scope → value."""
        return scores.plain_scores(sums, values)

    def _with_faults(self, dialogue: Trajectory, goal: Goal) -> Trajectory:
        """Return a dialogue whose user reports its faults."""
        report = reported(dialogue)
        if "faults" in report:
            return dialogue
        if dialogue.name not in self._faults:
            plain = {"goal": goal, "messages": dialogue.messages, "user": report}
            faults = faults_of(plain, self._reader())
            self._faults[dialogue.name] = [fault.to_json() for fault in faults]
        told = {**report, "faults": self._faults[dialogue.name]}
        return replace(dialogue, more={**dialogue.more, "user": told})

    def _judgement(self, dialogue: Trajectory, goal: Goal) -> Judgement:
        known = self._judged.get(dialogue.name)
        if known is None:
            known = self._judge.judge(goal, dialogue.messages, _bookings(dialogue))
            self._judged[dialogue.name] = known
        return known


def _bookings(dialogue: Trajectory) -> Any:
    """Return the bookings that an agent with tools of its own reports; None where it does not."""
    return dialogue.more.get("bookings")


COMPLETE, SUCCESS = "complete", "success"
ACT_SENTENCES = {
    "not-told": "The user has no answer to what it asked of the {domain}: {slot}.",
    "not-booked": "The user was told of no booking of the {domain}.",
    "not-satisfied": "What was told or booked of the {domain} is not what the user wants.",
}
"""Kinds of loss in dialogues of acts, and the sentence that tells a particular one."""


class InActs:
    """Judges acts by corrected rules, or as the public evaluator of ConvLab-2 does."""

    name = "acts"
    has_words: bool = False
    columns: Sequence[str] = act_scores.COLUMNS

    def __init__(self, tables: Mapping[str, Sequence[Row]], *, as_published: bool) -> None:
        self.rules = CONVLAB2 if as_published else "corrected"
        self._evaluator = PublicEvaluator if as_published else CorrectedEvaluator
        self._database = ActDatabase(tables)
        self._judged: dict[str, Outcome] = {}

    def check(self, run: LiveRun, findings: Findings) -> None:
        """Note dialogues whose acts are none."""
        for name, goal in run.goals.items():
            dialogue = run.dialogues[name]
            try:
                about = replace(dialogue, goal=goal, more=_with_ordering(dialogue, goal))
                self._judged[name] = judged(about, self._database, self._evaluator)
            except ValueError as error:
                findings.error("acts", str(error), dialogue=name, key=ACTS)

    def row(self, dialogue: Trajectory, goal: Goal) -> Mapping[str, float]:
        """Return the additive numbers of a dialogue."""
        return act_scores.row(self._judged[dialogue.name])

    def has_faults(self, dialogue: Trajectory, goal: Goal) -> bool | None:
        """Tell whether the user reports a fault; None where it reports nothing of that kind."""
        return bool(faults_in(dialogue)) if "faults" in reported(dialogue) else None

    def explain(self, dialogue: Trajectory, goal: Goal, *, is_scored: bool) -> Explanation:
        """Return what became of a dialogue; one that is not scored has no outcomes."""
        outcome = self._judged[dialogue.name]
        kept: dict[str, dict[str, bool | None]] = {WHOLE: {SUCCESS: None, COMPLETE: None}}
        if is_scored:
            kept = {WHOLE: {SUCCESS: outcome.success, COMPLETE: outcome.complete}}
            kept |= {name: {SUCCESS: each} for name, each in outcome.domain_success.items()}
        return Explanation(
            unit=dialogue.name,
            outcomes=kept,
            goal=tuple(goal_facts(goal)),
            turns=with_reports(list(_turns(dialogue)), dialogue),
            reasons=tuple(_reasons(dialogue, goal, outcome)) if is_scored else (),
        )

    def measures(self, sums: Mapping[str, float], sign: Sign) -> Iterator[Measure]:
        """Yield the scores of the sums of columns."""
        return act_scores.measures(sums, sign)

    def plain(
        self, sums: Mapping[str, float], values: Mapping[str, Mapping[str, float]]
    ) -> dict[str, Any]:
        """Return the parts of a report, of name → scope → value."""
        names = (*act_scores.SHARES, *act_scores.MEANS)
        told = {name: values[name][WHOLE] for name, *_ in names if name in values}
        told |= {name: scopes[WHOLE] for name, scopes in values.items() if "^" in name}
        return {"live": told}


def _with_ordering(dialogue: Trajectory, goal: Goal) -> Mapping[str, Any]:
    """Return what else is told of a dialogue, with an order of domains in the user's goal."""
    report = reported(dialogue)
    held = report.get("goal")
    if not isinstance(held, Mapping) or ORDERING in held:
        return dialogue.more
    in_order = {ORDERING: goal[ORDERING], **held}
    return {**dialogue.more, "user": {**report, "goal": in_order}}


def _turns(dialogue: Trajectory) -> Iterator[TurnView]:
    for said, answer in dialogue.acts:
        spoken = ((speaker, told(acts)) for speaker, acts in (("user", said), (SYSTEM, answer)))
        yield TurnView(tuple(Utterance(speaker, text) for speaker, text in spoken if text), ())


def told(acts: Sequence[Sequence[str]] | None) -> str:
    """Return acts on one line: `Inform Hotel (Area=north), Request Hotel (Phone=?)`."""
    return ", ".join(
        f"{intent} {domain}" + ("" if slot == "none" else f" ({slot}={value})")
        for intent, domain, slot, value in acts or ()
    )


def _reasons(dialogue: Trajectory, goal: Goal, outcome: Outcome) -> Iterator[Reason]:
    known = reported(dialogue).get("goal")
    for domain in goal[ORDERING]:
        part = known.get(domain, {}) if isinstance(known, Mapping) else {}
        asked = part.get("reqt", dict.fromkeys(goal[domain].get("reqt", ()), "?"))
        for slot, answer in asked.items():
            if answer in UNANSWERED_VALUES:
                yield _reason(f"not-told:{slot}", COMPLETE, domain, slot)
        if goal[domain].get("book") and part.get("booked", "?") in UNANSWERED_VALUES:
            yield _reason("not-booked", COMPLETE, domain)
        if outcome.domain_success.get(domain) is False:
            yield _reason("not-satisfied", SUCCESS, domain)


def _reason(code: str, outcome: str, domain: str, slot: str = "") -> Reason:
    text = ACT_SENTENCES[code.partition(":")[0]].format(domain=domain, slot=slot)
    return Reason(code, outcome, domain, None, text)
