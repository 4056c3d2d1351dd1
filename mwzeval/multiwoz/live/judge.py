"""The judge of live dialogues, which decides for each domain whether the user's goal was met.

The judgment of a dialogue depends only on the goal and the messages of the dialogue. The judge
determines the following for each domain, in this order:

* the chosen venue: the venue that the user picked from a list or asked about, or that the agent
  named last. If the user picked no venue from a list, the first venue of the list is assumed,
  because users often only say "yes". A taxi is judged by the arguments of its call. Without calls,
  a taxi is judged by the places and times that are mentioned where the dialogue is about the taxi
  (`inform`);
* the answers to requests, which must be values of the chosen venue, service or booking. If the
  agent gives right and wrong values for a slot, the last value counts, because the user relies on
  this value (`success`);
* the last booking of the domain and the reference of this booking (`booking`).

The definitions of the judgments are in `docs/live_reference.md`, and the definitions of the
grounded scores are in `docs/metrics.md`.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass
from functools import cached_property
from itertools import chain
from typing import Any, NamedTuple

from mwzeval.conversation.messages import ChatMessage
from mwzeval.conversation.trajectory import Trajectory
from mwzeval.multiwoz import RULES, Rules
from mwzeval.multiwoz.annotations import Goal, goals_of
from mwzeval.multiwoz.database import Database, Row, comparable
from mwzeval.multiwoz.functions import OUR_TOOLS, Tools
from mwzeval.multiwoz.grounding.bookings import (
    Booked,
    booked_by_call,
    booking_errors,
)
from mwzeval.multiwoz.grounding.claims import (
    CHECKED,
    OF_ONE_VENUE,
    CheckedMention,
    Claim,
    Grounded,
    claims_of,
    compare_with_database,
    with_named_venues,
)
from mwzeval.multiwoz.grounding.log import compare_with_log
from mwzeval.multiwoz.grounding.scores import booking_row, grounded_row
from mwzeval.multiwoz.grounding.statements import SENTENCE
from mwzeval.multiwoz.live.tools import DatabaseTools
from mwzeval.multiwoz.live.transcript import (
    TAXI,
    Exchange,
    Transcript,
    TurnBooking,
    domains_in,
    read_transcript,
)
from mwzeval.multiwoz.normalization import normalize_slot, normalize_value
from mwzeval.multiwoz.reasons import listed, reason, unmet
from mwzeval.multiwoz.schema import (
    BOOKED_BY,
    DATABASE_DOMAINS,
    LONG_SLOTS,
    NAMED_BY,
    OTHER_END,
    SERVICES,
)
from mwzeval.multiwoz.scoring.goal_success import (
    CORRECTED_SUPERFLUOUS,
    DomainGoal,
    inform_row,
    prepare_goal,
)
from mwzeval.multiwoz.words.delexicalize import Delexicalizer
from mwzeval.multiwoz.words.text import Mention, fold
from mwzeval.multiwoz.words.vocabulary import LISTS, PATTERNS, has
from mwzeval.scores.explanation import Reason
from mwzeval.scores.score import WHOLE

INFORM, SUCCESS, BOOKING = "inform", "success", "booking"
TRAIN_DESCRIBED_BY = frozenset({"leaveat", "arriveby", "duration", "price"})
"""The slots that describe a train whose id is not mentioned."""
ENDED = {"agent_error": "agent-error", "user_error": "user-error", "limit": "limit"}
"""Maps each ending that occurs before the user is done to a kind of failure reason."""
REFERENCE = "reference"
_REFERENCE_KEYS = (REFERENCE, "ref", "confirmation")
RIDE_SLOTS = ("departure", "destination", *LONG_SLOTS)
"""The constraints of a goal that a taxi ride has to meet."""
_STILL_ABOUT_TAXI = 2
"""The number of turns that may still be about a taxi, after a turn about this taxi."""
_ARTICLES = frozenset({"the", "a"})
_TIME = re.compile(r"\b0?([0-9]{1,2})[:.]?([0-9]{2})\b")
_NO_SIGN = re.compile(r"[^0-9a-z]+")
_BEFORE_NAME = 90
"""The number of characters before a name that are searched for a denial."""
_PLACES = {
    word: place for key in ("ordinals", "short ordinals") for place, word in enumerate(LISTS[key])
} | {"last": -1}


@dataclass(frozen=True, slots=True)
class DomainJudgement:
    """The judgment of one domain in a goal. An outcome that does not apply to the domain is None.

    `inform`: the chosen venue or ride satisfies the goal. `success`: `inform`, and all requested
    slots have right answers. `booking`: the last booking of the domain is right. `reference`: the
    agent gave the reference of the last booking. `venue` is the name of the chosen venue, `answers`
    has the agent's answers for the requested slots, and `reasons` has the failure reasons.
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
        """Whether all applicable outcomes of the domain were reached."""
        return self.inform and False not in (self.success, self.booking, self.reference)


@dataclass(frozen=True, slots=True)
class Judgement:
    """The judgment of a live dialogue, which has one judgment per domain of the goal.

    `row` has the counts of the grounded scores and of Booking, as for predictions, and the counts
    of informed and requested slots, as for an act-level dialogue. `turns` is the number of user
    turns, and `calls` is the number of the agent's valid calls.
    """

    domains: Mapping[str, DomainJudgement]
    row: Mapping[str, float]
    turns: int
    calls: int

    @property
    def success(self) -> bool:
        """Whether the task succeeded: all outcomes of all domains of the goal were reached."""
        return all(domain.done for domain in self.domains.values())

    @property
    def inform(self) -> bool:
        """Whether the venue or ride is right in every domain."""
        return all(domain.inform for domain in self.domains.values())

    @property
    def reasons(self) -> tuple[Reason, ...]:
        """The failure reasons of the dialogue, in the order of its domains."""
        return tuple(chain.from_iterable(domain.reasons for domain in self.domains.values()))


def end_reasons(dialogue: Trajectory, turns: int) -> tuple[Reason, ...]:
    """Return the reason if a dialogue ended (after `turns` turns) before the user was done, else
    ().
    """
    kind = ENDED.get(dialogue.end)
    if kind is None:
        return ()
    turn = turns - 1 if turns else None
    words = {"said": dialogue.problem or "no reason given"}
    return (reason(kind, SUCCESS, WHOLE, turn, words, column="live"),)


class Judge:
    """Judges live dialogues on one database. The only state of a judge is a cache.

    `tables` maps domains to the contents of the corpus files `<domain>_db.json` (see
    `read_tables`). `tools` are the functions that agents call.
    """

    def __init__(
        self,
        tables: Mapping[str, Sequence[Row]],
        rules: Rules = RULES[0],
        *,
        tools: Tools = OUR_TOOLS,
    ) -> None:
        venues = {domain: tables[domain] for domain in DATABASE_DOMAINS}
        self.rules = rules
        self.database = Database(venues, rules)
        self._tables = tables
        self._delexicalizer = Delexicalizer(venues)
        self._tools = tools

    def judge(
        self, goal: Mapping[str, Any], messages: Iterable[ChatMessage], bookings: object = None
    ) -> Judgement:
        """Return the judgment of a dialogue with the given messages; malformed messages do not
        cause an error.

        `goal` is a `Goal` or the annotation of a corpus. An agent with its own tools reports
        `bookings` in the form `[{"domain": …, "slots": {…}}, …]`.
        """
        dialogue = self._read(goal, messages, bookings)
        domains = {d: DomainJudge(self, dialogue, d).judgement() for d in dialogue.goals}
        exchanges = dialogue.transcript.exchanges
        answers = {domain: judged.answers for domain, judged in domains.items()}
        booked = {d: judged.booking for d, judged in domains.items() if judged.booking is not None}
        row = {
            **inform_row(*inform_counts(goal, answers, dialogue.grounded.checked, exchanges)),
            **grounded_row(dialogue.grounded),
            **booking_row(booked, by_calls=True),
        }
        calls = sum(len(exchange.calls) for exchange in exchanges)
        return Judgement(domains, row, len(exchanges), calls)

    def claims(
        self, goal: Mapping[str, Any], messages: Iterable[ChatMessage], bookings: object = None
    ) -> tuple[Claim, ...]:
        """Return the agent's claims and whether they are true.

        The arguments are those of `judge`.
        """
        dialogue = self._read(goal, messages, bookings)
        log = compare_with_log(dialogue.grounded, self.database)
        return claims_of(dialogue.grounded, log, self.database.facts)

    @cached_property
    def services(self) -> DatabaseTools:
        """The database for police and hospitals, which is created when it is first used."""
        return DatabaseTools(self._tables, self.rules)

    def _read(
        self, goal: Mapping[str, Any], messages: Iterable[ChatMessage], bookings: object
    ) -> _Dialogue:
        """Compare venues, bookings and agent messages of a dialogue with the database."""
        goals = goals_of(goal)
        transcript = read_transcript(
            messages, self._delexicalizer, self.rules, bookings, tuple(goals), self._tools
        )
        prepared = prepare_goal(goals, self.database)
        domain_goals = with_named_venues(prepared, goals, self.database.facts)
        grounded = compare_with_database(domain_goals, transcript.exchanges, self.database)
        return _Dialogue(goal, goals, transcript, domain_goals, grounded)


class _Dialogue(NamedTuple):
    """A dialogue and its goal, compared with the database.

    `goal` is the original goal; `domain_goals` also have the venues that satisfy it. `grounded`
    compares the agent's messages with the database.
    """

    goal: Mapping[str, Any]
    goals: Mapping[str, Goal]
    transcript: Transcript
    domain_goals: Mapping[str, DomainGoal]
    grounded: Grounded


class DomainJudge:
    """Judges one domain of a live dialogue."""

    def __init__(self, judge: Judge, dialogue: _Dialogue, domain: str) -> None:
        self._database, self._rules = judge.database, judge.rules
        self._facts = judge.database.facts
        self._judge = judge
        self._dialogue = dialogue
        self._exchanges = dialogue.transcript.exchanges
        self._domain = domain
        bookings = dialogue.transcript.bookings
        self._bookings = [made for made in bookings if made.booking.domain == domain]
        last = self._bookings[-1] if self._bookings else None
        self._booked = booked_by_call(last.booking, judge.database) if last else None
        self._goal = dialogue.goals[domain]
        self._satisfying = dialogue.domain_goals[domain].satisfying

    def judgement(self) -> DomainJudgement:
        """Return the judgment of the domain: venue, answers, booking, and reference."""
        domain = self._domain
        choice = self._chosen() if domain in NAMED_BY else None
        reasons = [*self._inform_reasons(choice)]
        inform = not reasons

        requested = requested_slots(self._dialogue.goal[domain])
        answers: tuple[Answer, ...] = ()
        if inform:
            venues = self._venues_meant(choice)
            answers = tuple(self._answers(requested, venues))
            for answer in answers:
                reasons += self._answer_reasons(answer, SUCCESS, venues)
        success = inform and all(answer.given is not False for answer in answers)

        booking = reference = None
        if domain in BOOKED_BY and self._goal.booking:
            booking_reasons = [*self._booking_reasons()]
            reasons += booking_reasons
            booking, reference = not booking_reasons, self._booked is not None
            if reference:
                code = _returned(self._bookings[-1], *_REFERENCE_KEYS)
                right, domains = (code,) if code else (), {domain, None}
                answer = spoken_answer(REFERENCE, right, self._exchanges, domains)
                reference = answer.given is True
                reasons += self._answer_reasons(answer, REFERENCE)
        return DomainJudgement(
            inform,
            success if requested else None,
            booking,
            reference,
            choice.text if choice else None,
            answers,
            tuple(reasons),
        )

    def _chosen(self) -> Option | None:
        """Return the chosen venue. Bookings without a known turn are applied last."""
        last = len(self._exchanges) - 1
        booked = {
            last if made.turn is None else made.turn: Option(found.venue, found.venues)
            for made in self._bookings
            if (found := booked_by_call(made.booking, self._database)).venue
        }
        return VenueChoice(self._domain, self._database).final(self._exchanges, booked)

    def _venue_booked(self) -> Booked | None:
        booked = self._booked
        return booked if booked and booked.venue and self._goal.booking else None

    def _inform_reasons(self, choice: Option | None) -> Iterator[Reason]:
        if self._domain == TAXI:
            yield from self._ride_reasons()
        elif self._domain not in NAMED_BY:
            return
        elif booked := self._venue_booked():
            if self._satisfying.isdisjoint(booked.venues):
                yield self._wrong_venue("booked-wrong", INFORM, None, booked.venue, booked.venues)
        elif choice is None:
            if not (self._domain == "train" and self._is_train_described()):
                yield self._reason("named-nothing", INFORM, None)
        elif not choice.venues:
            yield self._reason("named-unknown", INFORM, choice.turn, said=choice.text)
        elif self._satisfying.isdisjoint(choice.venues):
            yield self._wrong_venue("named-wrong", INFORM, choice.turn, choice.text, choice.venues)

    def _ride_reasons(self) -> Iterator[Reason]:
        """Yield the constraints that the last ordered or discussed taxi ride does not meet."""
        goal = self._goal.informable
        constraints = {slot: goal[slot] for slot in RIDE_SLOTS if goal.get(slot)}
        turn: int | None = None
        slots: Mapping[str, str] = {}
        for number, exchange in enumerate(self._exchanges):
            for call in exchange.calls:
                if call.function == "book_taxi":
                    turn, slots = number, call.arguments
        if reported := [made.booking.slots for made in self._bookings if made.turn is None]:
            turn, slots = len(self._exchanges), reported[-1]
        ride = {normalize_slot(slot): value for slot, value in slots.items()}
        is_ordered = not ride.keys().isdisjoint(constraints)
        texts = [] if is_ordered else list(_texts_about_taxi(self._exchanges))
        for slot, value in constraints.items():
            if not is_ordered:
                if not any(_says(slot, value, text) for text in texts):
                    yield self._reason("ride-untold", INFORM, None, slot, said="None", wanted=value)
            elif not _is_same(slot, value, ride.get(slot, ""), self._rules):
                kind = "ride-wrong" if slot in ride else "ride-untold"
                given = str(ride.get(slot))
                yield self._reason(kind, INFORM, turn, slot, said=given, wanted=value)

    def _is_train_described(self) -> bool:
        """Return whether the last description of a train fits a train that satisfies the goal."""
        for exchange in reversed(self._exchanges):
            last = [
                mention
                for mention in exchange.mentions
                if mention.slot in TRAIN_DESCRIBED_BY and mention.domain == "train"
            ]
            if last:
                return any(
                    all(self._is_value_of(mention, (train,)) for mention in last)
                    for train in self._satisfying
                )
        return False

    def _venues_meant(self, choice: Option | None) -> tuple[str, ...]:
        """Return the venues to which answers may refer: the chosen venues that satisfy the goal."""
        if self._domain not in NAMED_BY:
            return ()
        meant = self._venue_booked() or choice
        venues = meant.venues if meant else sorted(self._satisfying)
        return tuple(venue for venue in venues if venue in self._satisfying)

    def _answers(self, requested: Sequence[str], venues: Sequence[str]) -> Iterator[Answer]:
        """Yield the answers for the requested slots. `venues` are the chosen venues."""
        domain = self._domain
        if domain in NAMED_BY:
            checked = self._dialogue.grounded.checked
            known = {(c.turn, c.mention.start, c.mention.end): c for c in checked}
            for slot in requested:
                yield self._venue_answer(slot, venues, known)
        elif domain == TAXI:
            # Only a booking has the true values. Without calls, any value for a taxi is accepted.
            is_open = bool(self._bookings) or not any(e.calls for e in self._exchanges)
            for slot in requested:
                values = [value for made in self._bookings if (value := _returned(made, slot))]
                right = tuple(values[-1:])
                yield spoken_answer(slot, right, self._exchanges, {TAXI}, is_open=is_open)
        else:
            rows: Sequence[Mapping[str, Any]] = ()
            if requested and domain in SERVICES:
                info = self._dialogue.goal[domain].get("info", {})
                rows = self._judge.services.query(domain, info.items())
            for slot in requested:
                # If the database has no value, any answer is accepted.
                right = tuple(dict.fromkeys(str(row[slot]) for row in rows if row.get(slot)))
                yield spoken_answer(slot, right, self._exchanges)

    def _venue_answer(
        self,
        slot: str,
        venues: Sequence[str],
        checked: Mapping[tuple[int, int, int], CheckedMention],
    ) -> Answer:
        """Return the answer for a slot of a venue. The values of all `venues` are right.

        `checked` maps (turn, start, end) of mentions to their comparison with the database.
        """
        domain, facts = self._domain, self._facts
        known = [venue for venue in venues if facts.knows(domain, venue, slot)]
        if not known:
            return Answer(slot, None)
        values = (value for venue in known for value in facts.values(domain, venue, slot))
        right = tuple(dict.fromkeys(values))
        answer = Answer(slot, False, right=right)
        for turn, exchange in enumerate(self._exchanges):
            for mention in exchange.mentions:
                if mention.slot != slot:
                    continue
                if self._is_value_of(mention, known):
                    answer = Answer(slot, True, turn, right=right)
                # A different value in the same turn usually belongs to another venue.
                elif not (answer.given and answer.turn == turn) and mention.domain in (
                    domain,
                    None,
                ):
                    found = checked.get((turn, mention.start, mention.end))
                    offered = found.offered if found and found.agrees is False else ()
                    if offered and set(offered).issubset(venues):
                        answer = Answer(slot, False, turn, mention.text, right)
        return answer

    def _is_value_of(self, mention: Mention, venues: Iterable[str]) -> bool:
        """Return whether a mention is a value of one of the venues.

        If it is unclear whether the time of a train is its departure or arrival, either is
        accepted.
        """
        domain, slot = self._domain, mention.slot
        if mention.domain not in (domain, None) and slot not in OF_ONE_VENUE:
            return False
        if mention.domain == domain and not set(venues).isdisjoint(mention.venues):
            return True
        value = comparable(slot, mention.value or mention.text)
        slots = (slot,) if mention.sure or slot not in OTHER_END else (slot, OTHER_END[slot])
        return value is not None and any(
            self._facts.has(domain, venue, slot, value) for venue in venues for slot in slots
        )

    def _answer_reasons(
        self, answer: Answer, outcome: str, venues: Sequence[str] = ()
    ) -> Iterator[Reason]:
        slot, given, turn, text, right = answer
        if given is not False:
            return
        if text is None:
            yield self._reason("never-said", outcome, None, slot)
        elif self._domain == TAXI or slot == REFERENCE:
            instead = f" (correct: {right[0]})" if right else ""
            yield self._reason("invented", outcome, turn, slot, said=text, right=instead)
        else:
            venue = f"the {self._domain}"
            if self._domain in NAMED_BY:
                venue = listed([self._facts.name(self._domain, v) for v in venues])
            words = {"said": text, "venue": venue, "right": listed(right)}
            yield self._reason("said-wrong", outcome, turn, slot, **words)

    def _booking_reasons(self) -> Iterator[Reason]:
        domain, booked = self._domain, self._booked
        if booked is None:
            yield self._reason("not-booked", BOOKING, None)
            return
        turns = [made.turn for made in self._bookings if made.turn is not None]
        turn = max(turns, default=None)
        errors = booking_errors(domain, self._goal, self._satisfying, booked, self._rules)
        for slot, value, accepted in errors:
            if slot == BOOKED_BY[domain]:
                venues = booked.venue, booked.venues
                yield self._wrong_venue("booked-wrong", BOOKING, turn, *venues)
            else:
                words = {"said": str(value), "wanted": " or ".join(accepted)}
                yield self._reason("booked-otherwise", BOOKING, turn, slot, **words)

    def _wrong_venue(
        self, kind: str, outcome: str, turn: int | None, called: str | None, venues: Sequence[str]
    ) -> Reason:
        constraints = self._goal.informable
        without = unmet(self._domain, constraints, self._database, set(venues).isdisjoint)
        return self._reason(kind, outcome, turn, said=str(called), unmet=without)

    def _reason(
        self, kind: str, outcome: str, turn: int | None, slot: str | None = None, **words: object
    ) -> Reason:
        return reason(kind, outcome, self._domain, turn, words, slot, "live")


class Option(NamedTuple):
    """A venue that may be chosen: its text, and the database venues with this name, if any.

    `turn` is the turn of the choice, or None if the venue is not chosen.
    """

    text: str
    venues: tuple[str, ...]
    turn: int | None = None


class VenueChoice:
    """Tracks, turn by turn, which venue of a domain the user and the agent choose.

    `options` are the venues that remain candidates after `turn`, and the first of them is assumed
    to be chosen. Before a venue is named, `options` is empty. `is_picked` is true if the user has
    named the venue, and `is_confirmed` is true if the agent has mentioned the venue.
    """

    def __init__(self, domain: str, database: Database) -> None:
        self._domain = domain
        self._database, self._facts = database, database.facts
        self._set(0, ())

    def final(self, exchanges: Sequence[Exchange], booked: Mapping[int, Option]) -> Option | None:
        """Return the final choice of a venue, or None. `booked` maps turns to booked venues."""
        for turn, exchange in enumerate(exchanges):
            if exchange.user_mentions or len(self.options) > 1:
                self._after_user(turn, exchange)
            self._after_agent(turn, exchange)
            if turn in booked:
                self._set(turn, (booked[turn],), is_picked=True)
        chosen = self.options and self.is_confirmed
        return self.options[0]._replace(turn=self.turn) if chosen else None

    def _set(
        self,
        turn: int,
        options: tuple[Option, ...],
        *,
        is_picked: bool = False,
        is_confirmed: bool = True,
    ) -> None:
        self.turn, self.options = turn, options
        self.is_picked, self.is_confirmed = is_picked, is_confirmed

    def _after_user(self, turn: int, exchange: Exchange) -> None:
        options = self.options
        named = _options(m for m in exchange.user_mentions if self._is_name(m) and m.venues)
        if not named and not self.is_picked:
            low = exchange.user.lower()
            named = tuple(o for o in options if not o.venues and o.text.lower() in low)
        if named:
            before = {venue for option in options for venue in option.venues}
            known = tuple(o for o in named if not o.venues or not before.isdisjoint(o.venues))
            is_confirmed = bool(known and options) and self.is_confirmed
            self._set(turn, known or named, is_picked=True, is_confirmed=is_confirmed)
            return
        if len(options) < 2:
            return
        chosen = PATTERNS["user chooses"].search(exchange.user)
        if chosen and (place := _PLACES[chosen["number"].lower()]) < len(options):
            self.turn, self.options, self.is_picked = turn, (options[place],), True
            return
        # Keep only the options with the values in the user's message, unless there are none.
        domain, has = self._domain, self._facts.has
        for mention in exchange.user_mentions:
            slot = mention.slot
            if slot in CHECKED[domain] and mention.domain in (domain, None):
                value = comparable(slot, mention.value or mention.text)
                if value is not None:
                    left = (
                        o for o in options if any(has(domain, v, slot, value) for v in o.venues)
                    )
                    options = tuple(left) or options
        self.options = options

    def _after_agent(self, turn: int, exchange: Exchange) -> None:
        text, domain = exchange.words, self._domain
        mentions = [mention for mention in exchange.mentions if self._is_name(mention)]
        named = _options(
            mention
            for mention in mentions
            # Some venues are named only in a denial.
            if not has(
                "agent denies name", text[max(0, mention.start - _BEFORE_NAME) : mention.start]
            )
        )
        if named:
            self._after_names(turn, named, exchange.state.get(domain))
        elif self.options and mentions:  # all candidates are denied
            if _share(self.options, _venues(mentions)):
                self._set(turn, ())
        elif self.is_picked:
            is_booked = domain in exchange.domains[:1] and any(
                mention.slot == REFERENCE for mention in exchange.mentions
            )
            is_about = _share(self.options, _venues(exchange.mentions))
            self.is_confirmed = self.is_confirmed or is_booked or is_about
        elif self.options and self._finds_nothing(exchange):
            self._set(turn, ())

    def _after_names(
        self, turn: int, named: tuple[Option, ...], constraints: Mapping[str, str] | None
    ) -> None:
        options = self.options
        if self.is_picked or (len(options) == 1 and len(named) > 1):
            texts = {option.text.lower() for option in named}
            if _share(options, _venues(named)) or any(o.text.lower() in texts for o in options):
                self.turn, self.is_confirmed = turn, True
                return
        if options and len(named) > 1 and self.is_confirmed and constraints:
            # Ignore a list in which no venue meets the constraints.
            found = set(self._database.find(self._domain, constraints))
            if _share(options[:1], found) and not _share(named, found):
                return
        self._set(turn, named)

    def _finds_nothing(self, exchange: Exchange) -> bool:
        for match in PATTERNS["agent finds none"].finditer(exchange.words):
            rest = SENTENCE.match(exchange.words, match.end())
            about = domains_in(rest[0] if rest else "") or exchange.domains
            if about[:1] == (self._domain,):
                return True
        return False

    def _is_name(self, mention: Mention) -> bool:
        return mention.domain == self._domain and mention.slot == NAMED_BY[self._domain]


def _venues(named: Iterable[Mention | Option]) -> set[str]:
    return {venue for option in named for venue in option.venues}


def _share(options: Iterable[Option], venues: AbstractSet[str]) -> bool:
    return any(not venues.isdisjoint(option.venues) for option in options)


def _options(mentions: Iterable[Mention]) -> tuple[Option, ...]:
    """Return each venue once, in text order."""
    return tuple({m.venues or m.text.lower(): Option(m.text, m.venues) for m in mentions}.values())


def _texts_about_taxi(exchanges: Iterable[Exchange]) -> Iterator[str]:
    """Yield the texts about the taxi, including replies to questions about the ride."""
    since = _STILL_ABOUT_TAXI + 1
    for exchange in exchanges:
        since = 0 if TAXI in exchange.domains else since + 1
        if since <= _STILL_ABOUT_TAXI:
            yield from (exchange.user, exchange.words)
        if TAXI in domains_in(exchange.words):
            since = 0


def _is_same(slot: str, constraint: str, given: str, rules: Rules) -> bool:
    if slot in LONG_SLOTS:
        return comparable(LONG_SLOTS[slot], constraint) == comparable(LONG_SLOTS[slot], given)
    if normalize_value("name", constraint, rules) == normalize_value("name", given, rules):
        return True
    first, second = _words(constraint), _words(given)
    return bool(second) and (first <= second or second <= first)


def _says(slot: str, constraint: str, text: str) -> bool:
    if slot in LONG_SLOTS:
        time = _TIME.search(constraint)
        return time is not None and time.groups() in (m.groups() for m in _TIME.finditer(text))
    return _words(constraint) <= _words(text)


def _words(text: str) -> frozenset[str]:
    return frozenset(fold(text)) - _ARTICLES


class Answer(NamedTuple):
    """The agent's answer for a requested slot: right, wrong, or None if there is no true value.

    `text` is the wrong value that the agent gave in `turn`, or None if the agent gave no answer.
    `right` has the correct values of the slot.
    """

    slot: str
    given: bool | None
    turn: int | None = None
    text: str | None = None
    right: tuple[str, ...] = ()


def mention_slot(requested: str) -> str:
    """Return the mention slot for a requested slot of a goal, such as `entrance fee`."""
    slot = normalize_slot(requested)
    return "type" if slot == "cartype" else LONG_SLOTS.get(slot, slot)


def spoken_answer(
    slot: str,
    right: tuple[str, ...],
    exchanges: Iterable[Exchange],
    domains: AbstractSet[str | None] | None = None,
    *,
    is_open: bool = True,
) -> Answer:
    """Return the first right answer in the turns or, if there is none, the last wrong answer.

    If `right` is empty and `is_open` is true, any mention counts as a right answer. `domains` are
    the domains whose mentions count; None selects all domains.
    """
    answer = Answer(slot, False, right=right)
    for turn, exchange in enumerate(exchanges):
        text = exchange.words
        for value in right:
            # The words of a car ("a Toyota, it is red") may come in any order.
            words = value.split() if slot == "type" else ()
            if _signs(value) in _signs(text) or (
                len(words) > 1
                and all(re.search(rf"\b{re.escape(word)}\b", text, re.I) for word in words)
            ):
                return Answer(slot, True, turn, right=right)
        for mention in exchange.mentions:
            if mention.slot == slot and (domains is None or mention.domain in domains):
                if not right and is_open:
                    return Answer(slot, True, turn)
                answer = Answer(slot, False, turn, mention.text, right)
    return answer


def _returned(made: TurnBooking, *slots: str) -> str | None:
    records = [*(made.returned.records if made.returned else ())]
    records.append({slot.lower(): value for slot, value in made.booking.slots.items()})
    return next((record[slot] for record in records for slot in slots if record.get(slot)), None)


def _signs(text: str) -> str:
    return _NO_SIGN.sub("", text.lower())


REQUESTABLE: Mapping[str, frozenset[str]] = {
    domain: frozenset(map(mention_slot, slots)) for domain, slots in CORRECTED_SUPERFLUOUS.items()
}
"""Maps domains to slots that count as informed, as in the corrected rules for acts."""


def requested_slots(part: Mapping[str, Any]) -> tuple[str, ...]:
    """Return the requested slots of a domain's goal, without the reference of its booking."""
    slots = dict.fromkeys(map(mention_slot, part.get("reqt") or ()))
    return tuple(slot for slot in slots if slot != REFERENCE)


def inform_counts(
    goal: Mapping[str, Any],
    answers: Mapping[str, Iterable[Answer]],
    checked: Iterable[CheckedMention],
    exchanges: Iterable[Exchange],
) -> tuple[int, int, int]:
    """Return the numbers of slots that were requested and informed, only informed, and only
    requested.

    `answers` has the agent's answers for each domain of the goal. A requested slot without an
    answer was not informed. Only right values count as answers to requests; a requested slot with a
    wrong value counts as only informed. A slot is informed if a claim about a venue, or any mention
    about a ride or a service, has this slot. Slots of the goal's constraints and requested slots
    without a known true value are not counted.
    """
    given: dict[tuple[str | None, str], bool | None] = {}
    for domain, of_domain in answers.items():
        given |= {(domain, mention_slot(slot)): None for slot in goal[domain].get("info") or ()}
        right = {answer.slot: answer.given for answer in of_domain}
        given |= {(domain, slot): right.get(slot, False) for slot in requested_slots(goal[domain])}
    informed = {(claim.mention.domain, claim.mention.slot) for claim in checked}
    informed |= {
        (mention.domain, mention.slot)
        for exchange in exchanges
        for mention in exchange.mentions
        if mention.domain not in NAMED_BY
    }
    superfluous = sum(
        slot in REQUESTABLE.get(domain or "", ()) and given.get((domain, slot), False) is False
        for domain, slot in informed
    )
    asked = [*given.values()]
    return asked.count(True), superfluous, asked.count(False)
