"""What became of a live dialogue: did the user get what the goal wants, domain by domain?

A judgement needs the messages of a dialogue and its goal, and never the agent: right venue named or
booked (`inform`), everything asked for told truly (`success`), the right thing booked (`booking`).
Definitions are in `docs/live.md`; next to them are the grounded scores of `docs/metrics.md`.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import chain
from typing import Any

from mwzeval.conversation.trajectory import Trajectory
from mwzeval.multiwoz.annotations import Goal, goals_of
from mwzeval.multiwoz.choices import RULES, Rules
from mwzeval.multiwoz.convlab.evaluator import inform_row
from mwzeval.multiwoz.database import Database, Row, VenueFacts
from mwzeval.multiwoz.formats.functions import OUR_TOOLS, Tools
from mwzeval.multiwoz.grounding.bookings import (
    Booked,
    BookingOutcome,
    bookable,
    booked_by_calls,
    judge_booking,
)
from mwzeval.multiwoz.grounding.claims import (
    Claim,
    Grounded,
    Grounding,
    Judged,
    LogClaim,
    claims_of,
    with_named_venues,
)
from mwzeval.multiwoz.grounding.log import Said, compare_with_log
from mwzeval.multiwoz.grounding.scores import booking_row, grounded_row
from mwzeval.multiwoz.live.outcomes import (
    REFERENCE,
    Answer,
    Choice,
    Option,
    VenueChoices,
    inform_counts,
    is_value_of,
    reference_answer,
    requested_slots,
    ride_faults,
    service_answer,
    taxi_answer,
    venue_answer,
)
from mwzeval.multiwoz.live.tools import DatabaseTools
from mwzeval.multiwoz.live.transcript import TAXI, Transcript, read_transcript
from mwzeval.multiwoz.reasons import listed, reason, unmet
from mwzeval.multiwoz.schema import BOOKED_BY, DATABASE_DOMAINS, NAMED_BY, SERVICES
from mwzeval.multiwoz.scoring.goal_success import DomainGoal, prepare_goal
from mwzeval.multiwoz.words.delexicalize import Delexicalizer
from mwzeval.scores.explanation import Reason
from mwzeval.scores.score import WHOLE

INFORM, SUCCESS, BOOKING = "inform", "success", "booking"
TRAIN_DESCRIBED_BY = frozenset({"leaveat", "arriveby", "duration", "price"})
"""What is said of a train whose id is not."""
ENDED = {"agent_error": "agent-error", "user_error": "user-error", "limit": "limit"}
"""How a dialogue may end before the user is done → the kind of reason."""


@dataclass(frozen=True, slots=True)
class DomainJudgement:
    """What became of one domain of a goal; None where something does not apply.

    `inform`: the venue chosen, or the ride, is one that the user wants. `success`: that, and all
    that the goal asks for was told truly. `booking`: the last booking is right. `reference`: the
    reference of that booking was told. `venue` is what the chosen venue is called, `answers` are
    what was told of the slots that the goal asks for, and `reasons` why any of it failed.
    """

    inform: bool
    success: bool | None
    booking: bool | None
    reference: bool | None = None
    venue: str | None = None
    answers: tuple[Answer, ...] = ()
    reasons: tuple[Reason, ...] = ()

    @property
    def done(self) -> bool:
        """Whether all that applies was reached."""
        return self.inform and False not in (self.success, self.booking, self.reference)


@dataclass(frozen=True, slots=True)
class Judgement:
    """What became of a dialogue, domain by domain.

    `row` has the counts of the grounded scores and of Booking, as a dialogue of predictions has
    them, and of slots told and asked for, as one of acts has them; `turns` counts the user's,
    `calls` the agent's that are understood.
    """

    domains: Mapping[str, DomainJudgement]
    row: Mapping[str, float]
    turns: int
    calls: int

    @property
    def success(self) -> bool:
        """Whether the task succeeded: every domain of the goal, in all that applies to it."""
        return all(domain.done for domain in self.domains.values())

    @property
    def inform(self) -> bool:
        """Whether the venue, or the ride, of every domain is right."""
        return all(domain.inform for domain in self.domains.values())

    @property
    def reasons(self) -> tuple[Reason, ...]:
        """Why anything failed, domain by domain."""
        return tuple(chain.from_iterable(domain.reasons for domain in self.domains.values()))


def _reason(
    kind: str, outcome: str, domain: str, turn: int | None, slot: str | None = None, **words: object
) -> Reason:
    return reason(kind, outcome, domain, turn, words, slot, "live")


def end_reasons(dialogue: Trajectory, turns: int) -> tuple[Reason, ...]:
    """Return why a dialogue of so many turns ended before the user was done; nothing if not."""
    kind = ENDED.get(dialogue.end)
    if kind is None:
        return ()
    turn = turns - 1 if turns else None
    problem = dialogue.problem or "nobody says why"
    return (_reason(kind, SUCCESS, WHOLE, turn, said=problem),)


class Judge:
    """Judges live dialogues on one database; what it remembers only saves time.

    `tables` are the contents of the corpus' files `<domain>_db.json`, by domain (those of
    `read_tables`). With `with_log`, rows also have the counts of what is said compared with what
    the tools returned, which takes nearly half as long again. `tools` are those that agents call.
    """

    def __init__(
        self,
        tables: Mapping[str, Sequence[Row]],
        rules: Rules = RULES[0],
        *,
        with_log: bool = False,
        tools: Tools = OUR_TOOLS,
    ) -> None:
        venues = {domain: tables[domain] for domain in DATABASE_DOMAINS}
        self.rules = rules
        self.database = Database(venues, rules)
        self.facts = VenueFacts(venues, rules)
        self._tables = tables
        self._grounding = Grounding(self.database, self.facts)
        self._delexicalizer = Delexicalizer(venues)
        self._with_log = with_log
        self._tools = tools

    def judge(
        self, goal: Mapping[str, Any], messages: Iterable[Any], bookings: object = None
    ) -> Judgement:
        """Return what became of a dialogue with these messages, whatever is in them.

        `goal` is a `Goal` or the annotation of a corpus; `bookings` are those of an agent
        that keeps its own tools, `[{"domain": …, "slots": {…}}, …]`.
        """
        case = self._case(goal, messages, bookings)
        bookings_judged = {
            domain: judge_booking(
                domain,
                case.goals[domain],
                case.wanted[domain].satisfying,
                case.booked.get(domain),
                self.rules,
            )
            for domain in bookable(case.goals)
        }
        domains = {
            domain: _judge_domain(case, domain, bookings_judged.get(domain))
            for domain in case.goals
        }
        exchanges = case.transcript.exchanges
        answers = {domain: judged.answers for domain, judged in domains.items()}
        log_claims = case.log_claims() if self._with_log else ()
        row = {
            **inform_row(*inform_counts(goal, answers, case.grounded.judged, exchanges)),
            **grounded_row(case.grounded, log_claims),
            **booking_row(bookings_judged, by_calls=True),
        }
        calls = sum(len(exchange.calls) for exchange in exchanges)
        return Judgement(domains, row, len(exchanges), calls)

    def claims(
        self, goal: Mapping[str, Any], messages: Iterable[Any], bookings: object = None
    ) -> tuple[Claim, ...]:
        """Return what the agent of a dialogue says, and whether it is so; arguments as `judge`."""
        case = self._case(goal, messages, bookings)
        exchanges = case.transcript.exchanges
        return claims_of(
            [exchange.agent for exchange in exchanges],
            [exchange.agent_mentions for exchange in exchanges],
            case.grounded,
            case.log_claims(),
            self.facts,
        )

    @cached_property
    def services(self) -> DatabaseTools:
        """What answers questions about the police and hospitals; made when first needed."""
        return DatabaseTools(self._tables, self.rules)

    def _case(self, goal: Mapping[str, Any], messages: Iterable[Any], bookings: object) -> _Case:
        """Return a dialogue compared with the database: transcript → venues → bookings → words."""
        goals = goals_of(goal)
        transcript = read_transcript(
            messages, self._delexicalizer, self.rules, bookings, tuple(goals), self._tools
        )
        wanted = with_named_venues(prepare_goal(goals, self.database), goals, self.facts)
        made = (made.booking for made in transcript.bookings)
        booked = booked_by_calls(made, self.database, self.facts)
        # What is booked in an exchange that nobody knows is taken to be booked in all of them.
        domains_booked = [
            frozenset(b.booking.domain for b in transcript.bookings if (b.turn or 0) <= turn)
            for turn in range(len(transcript.exchanges))
        ]
        grounded = self._grounding.judge(
            wanted,
            domains_booked,
            [exchange.state for exchange in transcript.exchanges],
            [exchange.agent for exchange in transcript.exchanges],
            [exchange.agent_mentions for exchange in transcript.exchanges],
        )
        judged = {(j.turn, j.mention.start, j.mention.end): j for j in grounded.judged}
        return _Case(self, goal, goals, transcript, wanted, booked, grounded, judged)


@dataclass(frozen=True, slots=True, eq=False)
class _Case:
    """A dialogue and its goal, compared with the database.

    `goal` is as it was given; `wanted` are the venues that satisfy it, `booked` the last booking of
    each domain, and `grounded` is what the database says of the agent's words; `judged` the same by
    exchange, start and end of a mention.
    """

    judge: Judge
    goal: Mapping[str, Any]
    goals: Mapping[str, Goal]
    transcript: Transcript
    wanted: Mapping[str, DomainGoal]
    booked: Mapping[str, Booked]
    grounded: Grounded
    judged: Mapping[tuple[int, int, int], Judged]

    def log_claims(self) -> tuple[LogClaim, ...]:
        """Return what the tools' results say of the agent's words."""
        if not self.transcript.has_calls:
            return ()
        turns = [
            Said(exchange.agent, exchange.state, exchange.agent_mentions, exchange.calls)
            for exchange in self.transcript.exchanges
        ]
        return compare_with_log(turns, self.grounded.judged, self.judge.database, self.judge.facts)

    def venue_booked(self, domain: str) -> Booked | None:
        """Return the booking of a domain if the goal has one and it names its venue."""
        booked = self.booked.get(domain)
        return booked if booked and booked.venue and self.goals[domain].booking else None


def _judge_domain(case: _Case, domain: str, booking: BookingOutcome | None) -> DomainJudgement:
    choice = _venue_choice(case, domain) if domain in NAMED_BY else None
    reasons = [*_inform_reasons(case, domain, choice)]
    inform = not reasons
    requested = requested_slots(case.goal[domain])
    answers: tuple[Answer, ...] = ()
    if inform:
        venues = _venues_meant(case, domain, choice)
        answers = tuple(_answers(case, domain, requested, venues))
        reasons += chain(*(_answer_reasons(case, domain, a, venues, SUCCESS) for a in answers))
    success = None
    if requested:
        success = inform and all(answer.given is not False for answer in answers)
    reference = None
    if booking is not None:
        reasons += _booking_reasons(case, domain, booking)
        reference = booking.made
        if booking.made:
            answer = reference_answer(domain, case.transcript)
            reference = answer.given is True
            reasons += _answer_reasons(case, domain, answer, (), REFERENCE)
    return DomainJudgement(
        inform,
        success,
        booking.right if booking else None,
        reference,
        choice.option.text if choice else None,
        answers,
        tuple(reasons),
    )


def _venue_choice(case: _Case, domain: str) -> Choice | None:
    """Return the venue that a dialogue settles on; bookings of unknown exchanges come last."""
    database, facts = case.judge.database, case.judge.facts
    exchanges = case.transcript.exchanges
    booked: dict[int, Option] = {}
    if domain in BOOKED_BY and exchanges:
        for made in case.transcript.bookings_of(domain):
            found = booked_by_calls([made.booking], database, facts)[domain]
            if found.venue:
                turn = len(exchanges) - 1 if made.turn is None else made.turn
                booked[turn] = Option(found.venue, found.venues)
    return VenueChoices(domain, facts, database).final(exchanges, booked)


def _inform_reasons(case: _Case, domain: str, choice: Choice | None) -> Iterator[Reason]:
    """Yield why the venue or ride is not what the user wants; nothing where it is."""
    if domain == TAXI:
        goal = case.goals[domain].informable
        for slot, value, wanted, turn in ride_faults(goal, case.transcript, case.judge.rules):
            kind = "ride-untold" if value is None else "ride-wrong"
            words = {"said": str(value), "wanted": wanted}
            yield _reason(kind, INFORM, domain, turn, slot, **words)
    if domain not in NAMED_BY:
        return
    satisfying = case.wanted[domain].satisfying
    if booked := case.venue_booked(domain):
        if satisfying.isdisjoint(booked.venues):
            yield _wrong_venue(case, "booked-wrong", INFORM, domain, None, _option(booked))
    elif choice is None:
        if not (domain == "train" and _is_described(case, satisfying)):
            yield _reason("named-nothing", INFORM, domain, None)
    elif not choice.option.venues:
        said = choice.option.text
        yield _reason("named-unknown", INFORM, domain, choice.turn, said=said)
    elif satisfying.isdisjoint(choice.option.venues):
        yield _wrong_venue(case, "named-wrong", INFORM, domain, choice.turn, choice.option)


def _is_described(case: _Case, satisfying: Iterable[str]) -> bool:
    """Tell whether what is told of a train last is all true of one that is wanted."""
    of_trains = (
        [m for m in e.agent_mentions if m.slot in TRAIN_DESCRIBED_BY and m.domain == "train"]
        for e in reversed(case.transcript.exchanges)
    )
    last = next(filter(None, of_trains), [])
    return bool(last) and any(
        all(is_value_of("train", mention, (train,), case.judge.facts) for mention in last)
        for train in satisfying
    )


def _venues_meant(case: _Case, domain: str, choice: Choice | None) -> tuple[str, ...]:
    """Return the venues that values may be of: those chosen that the user wants."""
    if domain not in NAMED_BY:
        return ()
    satisfying = case.wanted[domain].satisfying
    if booked := case.venue_booked(domain):
        venues = booked.venues
    else:
        venues = choice.option.venues if choice else tuple(sorted(satisfying))
    return tuple(venue for venue in venues if venue in satisfying)


def _answers(
    case: _Case, domain: str, requested: Sequence[str], venues: Sequence[str]
) -> Iterator[Answer]:
    """Yield what was told of the slots that are asked for; `venues` are those that may be meant."""
    exchanges = case.transcript.exchanges
    if domain in NAMED_BY:
        for slot in requested:
            yield venue_answer(domain, slot, venues, exchanges, case.judged, case.judge.facts)
    elif domain == TAXI:
        for slot in requested:
            yield taxi_answer(slot, case.transcript)
    else:
        rows: Sequence[Mapping[str, Any]] = ()
        if domain in SERVICES:
            info = case.goal[domain].get("info", {})
            rows = case.judge.services.query(domain, info.items())
        for slot in requested:
            yield service_answer(slot, rows, exchanges)


def _answer_reasons(
    case: _Case, domain: str, answer: Answer, venues: Sequence[str], outcome: str
) -> Iterator[Reason]:
    """Yield why an answer is not given; nothing where it is, or nobody could give it."""
    slot, given, turn, text, right = answer
    if given is not False:
        return
    if text is None:
        yield _reason("never-said", outcome, domain, None, slot)
    elif domain == TAXI or slot == REFERENCE:
        instead = f" (but {right[0]})" if right else ""
        yield _reason("invented", outcome, domain, turn, slot, said=text, right=instead)
    else:
        venue = f"the {domain}"
        if domain in NAMED_BY:
            venue = listed([case.judge.facts.name(domain, each) for each in venues])
        words = {"said": text, "venue": venue, "right": listed(right)}
        yield _reason("said-wrong", outcome, domain, turn, slot, **words)


def _booking_reasons(case: _Case, domain: str, booking: BookingOutcome) -> Iterator[Reason]:
    turns = [made.turn for made in case.transcript.bookings_of(domain) if made.turn is not None]
    turn = max(turns, default=None)
    if not booking.made:
        yield _reason("not-booked", BOOKING, domain, None)
    for slot, value, wanted in booking.misses:
        if slot == BOOKED_BY[domain]:
            booked = _option(case.booked[domain])
            yield _wrong_venue(case, "booked-wrong", BOOKING, domain, turn, booked)
        else:
            words = {"said": str(value), "wanted": " or ".join(wanted)}
            yield _reason("booked-otherwise", BOOKING, domain, turn, slot, **words)


def _option(booked: Booked) -> Option:
    return Option(str(booked.venue), booked.venues)


def _wrong_venue(
    case: _Case, kind: str, outcome: str, domain: str, turn: int | None, option: Option
) -> Reason:
    constraints = case.goals[domain].informable
    without = unmet(domain, constraints, case.judge.database, set(option.venues).isdisjoint)
    return _reason(kind, outcome, domain, turn, said=option.text, unmet=without)
