"""Inform and Success of end-to-end systems.

The outcome of a dialogue is compared with its goal and the database. In a predictions file, the
user turns do not react to the system, so the outcome is computed from the predictions. The outcome
of a sub-goal is the last venue that the system named while the user talked about it, and the values
in the system's acts or words. In simulated dialogues, the user's last state is the outcome.

Inform and Success are not from the paper, whose finish rate only requires a value for every line of
the goal. docs/crosswoz.md defines the terms and the failure reasons. A reason may end with a colon
and a slot, or with a colon and an intent.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from mwzeval.crosswoz.corpus.acts import (
    GENERAL,
    INFORM,
    RECOMMEND,
    REQUEST,
    SERVICE_PREFIX,
    Act,
    Acts,
)
from mwzeval.crosswoz.corpus.database import Database, Entity
from mwzeval.crosswoz.corpus.dialogues import Dialogue, Goal, SemanticTuple, Value
from mwzeval.crosswoz.corpus.names import (
    DEPARTURE,
    DESTINATION,
    FREE,
    LIST_SLOTS,
    NAME,
    NEARBY,
    NO,
    NOTHING,
    NUMBER_SLOTS,
    SERVICES,
    TICKET,
    TRAFFIC_DOMAINS,
    VENUE_DOMAINS,
    YES,
)
from mwzeval.crosswoz.corpus.normalization import comparable_text
from mwzeval.crosswoz.reading import Predicted
from mwzeval.crosswoz.scoring.scores import (
    ALL_AND_TYPES,
    Sign,
    TrackExplanation,
    TrackScores,
    listed,
)
from mwzeval.crosswoz.scoring.scores import MEANINGS as MEANINGS_OF_TRACKS
from mwzeval.metrics.measure import Measure, Rate
from mwzeval.scores.explanation import Fact, Reason
from mwzeval.scores.score import WHOLE

NO_VENUE, UNKNOWN_VENUE, NOT_NEARBY = "no-venue", "venue-not-in-database", "not-nearby"
WRONG_CONSTRAINT, NO_END, OTHER_END = "wrong-constraint", "end-not-named", "other-end"
UNANSWERED, WRONG_VALUE = "unanswered", "wrong-value"
NOT_FINISHED, NOT_DONE = "not-finished", "not-done"

INFORM_CODES = frozenset({NO_VENUE, UNKNOWN_VENUE, NOT_NEARBY, WRONG_CONSTRAINT, NO_END, OTHER_END})
"""The faults with which Inform and Success fail; with any other fault, only Success fails."""
MEANINGS = {
    **MEANINGS_OF_TRACKS,
    NO_VENUE: "The system named no venue for one of the sub-goals.",
    UNKNOWN_VENUE: "The system named a venue that is not in the database.",
    WRONG_CONSTRAINT: "The venue does not satisfy the user's constraints.",
    NOT_NEARBY: "The venue is not near the venue that the sub-goal refers to.",
    NO_END: "The system did not name the departure or destination of a trip.",
    OTHER_END: "The departure or destination of a trip differs from the chosen venue.",
    UNANSWERED: "The system did not give the value of a requested slot.",
    WRONG_VALUE: "The system gave a value that differs from the value in the database.",
    NOT_FINISHED: "The simulated user did not end the dialogue.",
    NOT_DONE: "In a simulated dialogue, a line of the goal was not completed.",
}
"""The failure reasons and their meanings, which are the same as in docs/crosswoz.md."""


NUMBER = re.compile(r"[0-9]+(?:\.[0-9]+)?")
SEPARATORS = re.compile(r"[,;、/]")
"""Characters that separate phone numbers; the values of all other lists are separated by blanks."""


def is_nothing(held: object) -> bool:
    """Return whether a database value is missing: null, an empty text or an empty list."""
    return held is None or held in ("", [], ())


def is_fact(slot: str, value: Value, held: object) -> bool:
    """Return whether a reported value agrees with the database value `held`.

    Numbers may have a unit (`300元`, `4.5分`), and 免费 (free) is 0. A response is correct if it
    reports some items of a list, and every reported item is in the list. The value `无` reports
    that the database has no value. Texts are compared without regard to width, case, blanks and
    separators.
    """
    if slot.startswith(SERVICE_PREFIX):
        service = slot.removeprefix(SERVICE_PREFIX)
        items = held if isinstance(held, list | tuple) else ()
        has = any(service in str(item) for item in items)
        return value == (YES if has else NO)
    if value == NOTHING or value == (NOTHING,):
        return is_nothing(held)
    if slot in LIST_SLOTS:
        items = held if isinstance(held, list | tuple) else ()
        known = {comparable_text(str(item)) for item in items}
        given = (value,) if isinstance(value, str) else value
        return bool(given) and all(comparable_text(item) in known for item in given)
    if is_nothing(held):
        return False
    text = value if isinstance(value, str) else " ".join(value)
    if slot in NUMBER_SLOTS:
        return _number(slot, text) == float(str(held))
    return plain(text) == plain(str(held))


def _number(slot: str, text: str) -> float | None:
    if slot == TICKET and text.strip() == FREE:
        return 0.0
    match = NUMBER.match(text.strip())
    return float(match[0]) if match else None


def plain(text: str) -> str:
    """Return a text in NFKC form and lower case, without blanks and separators."""
    return SEPARATORS.sub("", comparable_text(text))


REFERENCE = re.compile(r"id=([0-9]{1,9})")


@dataclass(frozen=True, slots=True)
class Fault:
    """An error in a slot of a sub-goal at the end of a dialogue."""

    code: str
    subgoal: int
    domain: str
    slot: str
    text: str


@dataclass(frozen=True, slots=True)
class Judgement:
    """The faults of a dialogue, in the order of its goal."""

    faults: tuple[Fault, ...]

    @property
    def inform(self) -> bool:
        """Whether every venue and trip satisfies the goal."""
        return not any(fault.code in INFORM_CODES for fault in self.faults)

    @property
    def success(self) -> bool:
        """Whether `inform` is true and the system reported every requested value correctly."""
        return not self.faults

    def reasons(self) -> Iterator[Reason]:
        """Yield the reasons why Inform failed; if Inform passed, the reasons why Success failed."""
        for fault in self.faults:
            loses_inform = fault.code in INFORM_CODES
            if loses_inform != self.inform:
                outcome = "e2e.inform" if loses_inform else "e2e.success"
                code = f"{fault.code}:{fault.slot}"
                text = f"sub-goal {fault.subgoal}: {fault.text}"
                yield Reason(code, outcome, fault.domain, None, text)


Lines = Sequence[tuple[SemanticTuple, SemanticTuple]]
"""The lines of a sub-goal: each line in its form in the goal, and with its final value."""
Found = Iterator[tuple[str, str, str]]
"""The code, the slot and the description of each fault."""


def judge(goal: Goal, outcome: Goal, database: Database) -> Judgement:
    """Return the errors in the outcome of a dialogue.

    `outcome` has the lines of the goal with their final values. In `goal`, a line with a value is a
    constraint, a line with a reference (`id=1`) depends on another sub-goal, and a line without a
    value is a request. Raises `ValueError` if the lines of the outcome differ from the lines of the
    goal.
    """
    if [line[:3] for line in goal] != [line[:3] for line in outcome]:
        raise ValueError("an outcome must have the lines of its goal")
    subgoals: dict[int, list[tuple[SemanticTuple, SemanticTuple]]] = {}
    for goal_line, final in zip(goal, outcome, strict=True):
        subgoals.setdefault(goal_line.subgoal, []).append((goal_line, final))
    chosen = {
        number: database.named(lines[0][0].domain, name)
        for number, lines in subgoals.items()
        if (name := _name_of(lines)) is not None
    }
    faults = []
    for number, lines in subgoals.items():
        domain = lines[0][0].domain
        if domain not in VENUE_DOMAINS:
            found = _trip_faults(domain, lines, chosen, database)
        elif number not in chosen:
            found = iter([(NO_VENUE, NAME, "no venue was named")])
        elif (venue := chosen[number]) is None:
            text = f"the database has no “{_name_of(lines)}”"
            found = iter([(UNKNOWN_VENUE, NAME, text)])
        else:
            found = _venue_faults(venue, lines, chosen, database)
        faults += [Fault(code, number, domain, slot, text) for code, slot, text in found]
    return Judgement(tuple(faults))


def _venue_faults(
    venue: Entity, lines: Lines, chosen: Mapping[int, Entity | None], database: Database
) -> Found:
    for line, final in lines:
        if line.slot == NAME and line.refers:
            source = _referred(line, chosen)
            # The lists of nearby venues are symmetric, except that hotels list no hotels.
            near = source.record.get(NEARBY[line.domain]) if source is not None else None
            if venue.name not in (near or ()):
                place = "an unknown venue" if source is None else f"“{source.name}”"
                yield NOT_NEARBY, NAME, f"“{venue.name}” is not near {place}"
        elif line.value:
            if not _satisfies(venue, final, database):
                held = spelled(venue.record.get(_record_slot(final.slot)))
                text = f"“{venue.name}” has {held}, but the goal has {spelled(final.value)}"
                yield WRONG_CONSTRAINT, final.slot, text
        elif line.slot != NAME:
            yield from _answer_faults(final, venue.record)


def _satisfies(venue: Entity, final: SemanticTuple, database: Database) -> bool:
    slot, value = final.slot, final.value
    if slot.startswith(SERVICE_PREFIX):
        if value != YES:
            return True
        slot, value = SERVICES, slot.removeprefix(SERVICE_PREFIX)
    text = value if isinstance(value, str) else " ".join(value)
    return venue in database.query(final.domain, {slot: text})


def _trip_faults(
    domain: str, lines: Lines, chosen: Mapping[int, Entity | None], database: Database
) -> Found:
    ends = {}
    for line, final in lines:
        if line.slot not in (DEPARTURE, DESTINATION):
            continue
        if not final.value or final.refers or not isinstance(final.value, str):
            yield NO_END, line.slot, "the departure or destination of the trip was not named"
            continue
        ends[line.slot] = final.value
        venue = _referred(line, chosen)
        if venue is not None and comparable_text(final.value) != comparable_text(venue.name):
            text = f"the trip has “{final.value}”, but the venue is “{venue.name}”"
            yield OTHER_END, line.slot, text
    facts = database.trip_facts(domain, ends)
    for line, final in lines:
        if not line.value and line.slot in facts:
            yield from _answer_faults(final, facts)


def _referred(line: SemanticTuple, chosen: Mapping[int, Entity | None]) -> Entity | None:
    match = REFERENCE.search(str(line.value))
    return chosen.get(int(match[1])) if match else None


def _answer_faults(final: SemanticTuple, record: Mapping[str, object]) -> Found:
    slot, value = final.slot, final.value
    held = record.get(_record_slot(slot))
    if not value:
        # An empty list is correct for a list slot if the database has no value.
        if not (slot in LIST_SLOTS and is_nothing(held)):
            yield UNANSWERED, slot, f"{slot} was requested but not given"
    elif not is_fact(slot, value, held):
        text = f"the system gave {spelled(value)}, but the database has {spelled(held)}"
        yield WRONG_VALUE, slot, text


def _name_of(lines: Lines) -> str | None:
    for line, final in lines:
        if line.slot == NAME:
            is_name = bool(final.value) and isinstance(final.value, str)
            unresolved = line.refers and final.value == line.value
            return str(final.value) if is_name and not unresolved else None
    return None


def _record_slot(slot: str) -> str:
    return SERVICES if slot.startswith(SERVICE_PREFIX) else slot


def spelled(value: object) -> str:
    """Return a value as text: the first items of a list, or `nothing`."""
    if is_nothing(value):
        return "nothing"
    if isinstance(value, str):
        return f"“{value}”"
    if isinstance(value, list | tuple):
        shown = "、".join(map(str, value[:5]))
        return f"“{shown}{'…' if len(value) > 5 else ''}”"
    return str(value)


def goal_facts(goal_type: str, goal: Goal, final_goal: Goal | None = None) -> Iterator[Fact]:
    """Yield the lines of a goal; a value in `final_goal` replaces a different value in the goal."""
    yield Fact("goal type", goal_type)
    for line, final in zip(goal, final_goal or goal, strict=True):
        label = "wants" if line.value else "asks for"
        value = f"{line.slot} = {spelled(line.value)}" if line.value else line.slot
        last = f" → {spelled(final.value)}" if final.value != line.value else ""
        yield Fact(f"{line.subgoal} {label}", f"{value}{last}", line.domain)


DENIALS = re.compile("没有|没|无|不提供|不含|不包|不支持|暂未|不具备|不是")
"""Words that deny that something exists."""
AFFIRMATIONS = re.compile("有|提供|是的|可以|支持|能")
SENTENCES = re.compile(r"[。！？!?;；，,\n]")


def answer_in(response: str, slot: str, held: object, *, asked: bool = False) -> Value:
    """Return the value of a slot in a response, or "" if the response lacks the value `held`.

    A part of a sentence that names a service states whether the service exists. If the user has
    just `asked` for the service, yes or no alone is also an answer.
    """
    if slot.startswith(SERVICE_PREFIX):
        answer = _service(response, slot.removeprefix(SERVICE_PREFIX))
        return answer or (_bare_answer(response) if asked else "")
    if is_nothing(held):
        return NOTHING if DENIALS.search(response) else ""
    if slot in LIST_SLOTS:
        items = held if isinstance(held, list | tuple) else ()
        text = comparable_text(response)
        return tuple(str(item) for item in items if comparable_text(str(item)) in text)
    if slot in NUMBER_SLOTS:
        return _number_in(response, slot, float(str(held)))
    return str(held) if plain(str(held)) in plain(response) else ""


def _service(response: str, service: str) -> str:
    name = comparable_text(service)
    for part in SENTENCES.split(response):
        if name in comparable_text(part):
            return NO if DENIALS.search(part.replace(service, "")) else YES
    return ""


def _bare_answer(response: str) -> str:
    if DENIALS.search(response):
        return NO
    return YES if AFFIRMATIONS.search(response) else ""


def _number_in(response: str, slot: str, held: float) -> str:
    if slot == TICKET and held == 0 and FREE in response:
        return FREE
    for match in re.finditer(r"[0-9]+(?:\.[0-9]+)?", comparable_text(response)):
        if float(match[0]) == held:
            return match[0]
    return ""


OUTCOMES = {"inform": "Inform", "success": "Success"}


class EndToEndScores(TrackScores):
    """The shares of dialogues with correct venues (Inform) and also with correct answers (Success).

    `by_acts` is true if the system's acts are predicted, and false if only its texts are predicted.
    """

    main = ("e2e.inform", "e2e.success")

    def __init__(self, database: Database, *, by_acts: bool = False) -> None:
        self._database, self._by_acts = database, by_acts
        self.columns = outcome_columns(ALL_AND_TYPES, *OUTCOMES)

    def row(self, gold: Dialogue, predicted: Sequence[Predicted]) -> dict[str, float]:
        """Return the outcomes of one dialogue."""
        judged = self.judgement(gold, predicted)
        scopes = (WHOLE, gold.goal_type)
        return outcome_row(scopes, inform=judged.inform, success=judged.success)

    def judgement(self, gold: Dialogue, predicted: Sequence[Predicted]) -> Judgement:
        """Return the errors in the outcome of a dialogue."""
        outcome = outcome_of(gold, predicted, self._database, by_acts=self._by_acts)
        return judge(gold.goal, outcome, self._database)

    def measures(self, sign: Sign, sums: Mapping[str, float]) -> Iterator[Measure]:
        """Yield Inform and Success, overall and by goal type."""
        signature = sign("e2e", {"told": "acts" if self._by_acts else "text", "user": "corpus"})
        for kind, label in OUTCOMES.items():
            yield from outcome_rate(kind, label).measures(sums, signature, ALL_AND_TYPES, "@")

    def explain(self, gold: Dialogue, predicted: Sequence[Predicted]) -> TrackExplanation:
        """Return the errors in the venues, trips and answers of a dialogue."""
        judged = self.judgement(gold, predicted)
        success = judged.success if judged.inform else None
        return TrackExplanation(
            {"e2e.inform": judged.inform, "e2e.success": success},
            [list(_system_facts(turn)) for turn in predicted],
            judged.reasons(),
        )


def _system_facts(turn: Predicted) -> Iterator[Fact]:
    if turn.system_acts is not None:
        yield Fact("system acts", listed(turn.system_acts))
    for domain, names in (turn.selected or {}).items():
        if names:
            yield Fact("selected", ", ".join(names), domain)


def outcome_columns(scopes: Iterable[str], *kinds: str) -> tuple[str, ...]:
    """Return the names of the outcome columns (each value is 0 or 1) of all scopes."""
    return tuple(f"e2e.{kind}@{scope}" for scope in scopes for kind in ("dialogues", *kinds))


def outcome_row(scopes: Iterable[str], **outcomes: bool) -> dict[str, float]:
    """Return the counts for the outcomes of a dialogue, by outcome and scope."""
    values = {"dialogues": True, **outcomes}
    return {f"e2e.{kind}@{scope}": float(v) for kind, v in values.items() for scope in scopes}


def outcome_rate(kind: str, label: str) -> Rate:
    """Return the share of dialogues with an outcome, in percent."""
    name = f"e2e.{kind}"
    return Rate(name, label, name, "e2e.dialogues", is_outcome=True, places=2)


ENDS = (DEPARTURE, DESTINATION)


@dataclass(slots=True)
class _Answers:
    """The system's reports about one sub-goal."""

    name: str = ""
    values: dict[str, list[str]] = field(default_factory=dict)
    ends: dict[str, str] = field(default_factory=dict)
    responses: list[tuple[str, frozenset[str]]] = field(default_factory=list)
    """The response to each user turn, and the slots that the user had just requested."""


def outcome_of(
    gold: Dialogue, predicted: Sequence[Predicted], database: Database, *, by_acts: bool
) -> Goal:
    """Return the lines of a dialogue's goal, with the values that the predictions lead to.

    Constraints other than names and the ends of trips have the values of the corpus at the end of
    the dialogue. The values of requests are the values in the system's acts or, unless `by_acts`,
    the database values in the system's texts.
    """
    answers = {line.subgoal: _Answers() for line in gold.goal}
    for number, subgoals in enumerate(subgoals_by_exchange(gold)):
        turn = predicted[number]
        following = gold.exchanges[number + 1 :]
        for domain, subgoal in subgoals.items():
            requests = frozenset(
                act.slot
                for act in gold.exchanges[number].user.acts
                if act.intent == REQUEST and act.domain == domain
            )
            next_acts = following[0].user.acts if following else ()
            _add_answers(answers[subgoal], domain, turn, requests, next_acts, by_acts=by_acts)
    pairs = zip(gold.goal, gold.final_goal, strict=True)
    names = {line.subgoal: line.value for line in gold.final_goal if line.slot == NAME}
    for subgoal, reports in answers.items():
        # If the user has named the venue, the system need not name it.
        name_line = next((w for w in gold.goal if (w.subgoal, w.slot) == (subgoal, NAME)), None)
        if name_line is not None and name_line.value and not name_line.refers and not reports.name:
            reports.name = str(names[subgoal])
    return tuple(
        _final(line, final, answers[line.subgoal], database, by_acts=by_acts)
        for line, final in pairs
    )


def subgoals_by_exchange(gold: Dialogue) -> Iterator[Mapping[str, int]]:
    """Yield, for each exchange, the sub-goal of each domain that the user talks about.

    The sub-goal of a domain is the last sub-goal that the user has begun to express. If no act
    names a domain, the user is assumed to talk about the previous sub-goals.
    """
    before: dict[str, int] = {}
    for exchange in gold.exchanges:
        begun: dict[str, int] = {}
        for line in exchange.user.state:
            if line.expressed:
                begun[line.domain] = max(line.subgoal, begun.get(line.domain, 0))
        domains = dict.fromkeys(a.domain for a in exchange.user.acts if a.intent != GENERAL)
        now = {domain: begun[domain] for domain in domains if domain in begun}
        before = now or before
        yield before


def _add_answers(
    answers: _Answers,
    domain: str,
    turn: Predicted,
    requests: frozenset[str],
    next_acts: Acts,
    *,
    by_acts: bool,
) -> None:
    if turn.response:
        answers.responses.append((turn.response, requests))
    state = (turn.state or {}).get(domain, {})
    if domain in TRAFFIC_DOMAINS:
        answers.ends |= {end: state[end] for end in ENDS if state.get(end)}
    if by_acts:
        acts = turn.system_acts or ()
        names = [act.value for act in acts if _names(act, domain)]
        for act in acts:
            if act.intent == INFORM and act.domain == domain and act.slot != NAME:
                answers.values.setdefault(act.slot, []).append(act.value)
    else:
        names = mentioned_names(turn.response or "", (turn.selected or {}).get(domain, ()))
    if names:
        # If several venues are named, the venue that the user chooses next counts.
        chosen = [act.value for act in next_acts if _names(act, domain) and act.value in names]
        answers.name = (chosen or names)[0]


def mentioned_names(response: str, selected: Sequence[str]) -> list[str]:
    """Return the selected names that occur in a response, in the order of their occurrence.

    If a name contains another name (a branch of a restaurant), only the longest name counts.
    """
    text = comparable_text(response)
    forms = {name: comparable_text(name) for name in selected}
    found = [name for name, form in forms.items() if form and form in text]
    return [
        name
        for name in found
        if not any(forms[name] != forms[o] and forms[name] in forms[o] for o in found)
    ]


def _names(act: Act, domain: str) -> bool:
    return act.intent in (INFORM, RECOMMEND) and act.slot == NAME and act.domain == domain


def _final(
    line: SemanticTuple,
    final: SemanticTuple,
    answers: _Answers,
    database: Database,
    *,
    by_acts: bool,
) -> SemanticTuple:
    if line.domain in TRAFFIC_DOMAINS and line.slot in ENDS:
        return line.with_value(answers.ends.get(line.slot, ""))
    if line.slot == NAME:
        return line.with_value(answers.name)
    if line.value:
        return line.with_value(final.value)
    if by_acts:
        return line.with_value(_listed(line.slot, answers.values.get(line.slot, [])))
    return line.with_value(_mentioned(line, answers, database))


def _listed(slot: str, values: Sequence[str]) -> Value:
    if not values:
        return ""
    if slot not in LIST_SLOTS:
        return values[-1]
    return NOTHING if values[-1] == NOTHING else tuple(v for v in values if v != NOTHING)


def _mentioned(line: SemanticTuple, answers: _Answers, database: Database) -> Value:
    domain, slot = line.domain, line.slot
    if domain in TRAFFIC_DOMAINS:
        held: object = database.trip_facts(domain, answers.ends).get(slot)
    else:
        venue = database.named(domain, answers.name)
        held = None if venue is None else venue.record.get(_record_slot(slot))
    for response, requests in reversed(answers.responses):
        value = answer_in(response, slot, held, asked=slot in requests)
        if value:
            return value
    return ""
