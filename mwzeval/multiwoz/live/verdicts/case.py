"""The verdicts on one live dialogue, domain by domain, and why something was lost."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

from mwzeval.multiwoz.choices import Rules
from mwzeval.multiwoz.convlab.scores import inform_row
from mwzeval.multiwoz.corpus.gold import Goal
from mwzeval.multiwoz.database.facts import VenueFacts
from mwzeval.multiwoz.database.venues import Database, Row
from mwzeval.multiwoz.grounding.bookings import (
    Booked,
    BookingOutcome,
    bookable,
    booked_by_calls,
    judge_booking,
)
from mwzeval.multiwoz.grounding.claims import claims_of
from mwzeval.multiwoz.grounding.evidence import LogClaim, Said, held_against_log
from mwzeval.multiwoz.grounding.responses import Grounded, Grounding
from mwzeval.multiwoz.grounding.scores import booking_row, grounded_row
from mwzeval.multiwoz.live.losses import BOOKING, INFORM, SUCCESS, TOLD, listed, loss
from mwzeval.multiwoz.live.tools import DatabaseTools
from mwzeval.multiwoz.live.verdicts import answers, rides, telling
from mwzeval.multiwoz.live.verdicts.answers import REFERENCE, Answer
from mwzeval.multiwoz.live.verdicts.choices import Choices, Settled
from mwzeval.multiwoz.live.verdicts.spoken import Spoken
from mwzeval.multiwoz.live.verdicts.transcript import TAXI, Made, Transcript
from mwzeval.multiwoz.normalization.normalize import State
from mwzeval.multiwoz.schema import BOOKED_BY, DATABASE_DOMAINS, NAMED_BY
from mwzeval.multiwoz.scoring.goal_success import DomainGoal, prepare_goal
from mwzeval.multiwoz.words.delexicalize import Delexicalizer
from mwzeval.scores.explanation import Claim, Reason


@dataclass(frozen=True, slots=True)
class DomainJudgement:
    """What became of one domain of a goal; None where something does not apply.

    `inform`: the venue settled on, or the ride, is one that the user wants. `success`: that, and
    all that the goal asks for was told truly. `booking`: the last booking is right. `reference`:
    the reference of that booking was told. `venue` is what the venue settled on is called, and
    `answers` are what was told of the slots that the goal asks for.
    """

    inform: bool
    success: bool | None
    booking: bool | None
    reference: bool | None = None
    venue: str | None = None
    answers: tuple[Answer, ...] = ()

    @property
    def done(self) -> bool:
        """Whether all that applies was reached."""
        return self.inform and False not in (self.success, self.booking, self.reference)


@dataclass(frozen=True, slots=True)
class Judgement:
    """What became of a dialogue, domain by domain, and why something was lost.

    `row` has the counts of the grounded scores and of Booking, as a dialogue of predictions has
    them, and of slots told and asked for, as one of acts has them; `turns` counts the user's,
    `calls` the agent's that are understood.
    """

    domains: Mapping[str, DomainJudgement]
    reasons: tuple[Reason, ...]
    row: Mapping[str, float]
    turns: int
    calls: int

    @property
    def success(self) -> bool:
        """Whether the task succeeded: every domain of the goal, in all that applies to it."""
        return all(domain.done for domain in self.domains.values())


TRAIN_TOLD_BY = frozenset({"leaveat", "arriveby", "duration", "price"})
"""What is said of a train whose id is not."""


class Ground:
    """The database of a corpus, as live dialogues are held against it.

    `tables` are the contents of its files `<domain>_db.json`, by domain (those of `read_tables`).
    """

    def __init__(
        self, tables: Mapping[str, Sequence[Row]], rules: Rules, *, with_log: bool = False
    ) -> None:
        venues = {domain: tables[domain] for domain in DATABASE_DOMAINS}
        self.rules = rules
        self.database = Database(venues, rules)
        self.facts = VenueFacts(venues, rules)
        self.grounding = Grounding(self.database, self.facts)
        self.delexicalizer = Delexicalizer(venues)
        self.with_log = with_log
        self._tables = tables

    @cached_property
    def services(self) -> DatabaseTools:
        """What answers questions about the police and hospitals; made when first needed."""
        return DatabaseTools(self._tables, self.rules)


class Case:
    """One dialogue that is judged."""

    def __init__(
        self,
        ground: Ground,
        goal: Mapping[str, Any],
        wanted: Mapping[str, Goal],
        transcript: Transcript,
        spoken: Sequence[Spoken],
        states: Sequence[State],
    ) -> None:
        self._ground = ground
        self._facts, self._database = ground.facts, ground.database
        self._raw = goal
        self._wanted = wanted
        self._transcript = transcript
        self._spoken, self._states = spoken, states
        self._texts = [one.agent for one in spoken]
        self._said = [one.said for one in spoken]
        self._reasons: list[Reason] = []

    def judgement(self) -> Judgement:
        """Return what became of the dialogue."""
        made = self._transcript.made
        self._booked = booked_by_calls([[one.booking] for one in made], self._database, self._facts)
        self._goals = self._venues_wanted()
        grounded = self._grounded()
        self._judged = {
            (one.turn, one.mention.start, one.mention.end): one for one in grounded.judged
        }
        outcomes = {
            domain: judge_booking(
                domain,
                self._wanted[domain],
                self._goals[domain].satisfying,
                self._booked.get(domain),
                self._ground.rules,
            )
            for domain in bookable(self._wanted)
        }
        domains = {domain: self._domain(domain, outcomes.get(domain)) for domain in self._wanted}
        log_claims = self._log_claims(grounded) if self._ground.with_log else ()
        told = telling.told_in(grounded.judged, self._said)
        given = {domain: one.answers for domain, one in domains.items()}
        row = {
            **inform_row(*telling.inform_counts(self._raw, given, told)),
            **grounded_row(grounded, log_claims),
            **booking_row(outcomes, by_calls=True),
        }
        exchanges = self._transcript.exchanges
        calls = sum(len(one.calls) for one in exchanges)
        return Judgement(domains, tuple(self._reasons), row, len(exchanges), calls)

    def claims(self) -> tuple[Claim, ...]:
        """Return what the agent says, held against the database and what its tools returned."""
        self._goals = self._venues_wanted()
        grounded = self._grounded()
        log_claims = self._log_claims(grounded)
        return claims_of(self._texts, self._said, grounded, log_claims, self._facts)

    def _venues_wanted(self) -> dict[str, DomainGoal]:
        """Return the goal with the venues that satisfy it, and those of the name that it gives."""
        wanted = prepare_goal(self._wanted, self._database)
        for domain, goal in self._wanted.items():
            called = self._facts.called(domain, goal.informable.get("name", ""))
            if called:
                satisfying = wanted[domain].satisfying.union(called)
                wanted[domain] = replace(wanted[domain], satisfying=satisfying)
        return wanted

    def _grounded(self) -> Grounded:
        """Return the agent's words held against database and goal."""
        at_end = frozenset(one.booking.domain for one in self._transcript.made if one.turn is None)
        booked = []
        domains = at_end
        for turn in range(len(self._texts)):
            now = (one.booking.domain for one in self._transcript.made if one.turn == turn)
            domains = domains.union(now)
            booked.append(domains)
        return self._ground.grounding.judge(
            self._goals, booked, self._states, self._texts, self._said
        )

    def _log_claims(self, grounded: Grounded) -> tuple[LogClaim, ...]:
        if not self._transcript.has_calls:
            return ()
        said = [
            Said(one.agent, state, one.said, exchange.calls)
            for one, state, exchange in zip(
                self._spoken, self._states, self._transcript.exchanges, strict=True
            )
        ]
        return held_against_log(said, grounded.judged, self._database, self._facts)

    def _domain(self, domain: str, booking: BookingOutcome | None) -> DomainJudgement:
        requested = telling.requested_slots(self._raw[domain])
        settled = None
        if domain in NAMED_BY:
            settled = Choices(domain, self._facts, self._database).settled(
                self._spoken, self._states, self._bookings_of(domain)
            )
            inform = self._is_informed(domain, settled)
        elif domain == TAXI:
            inform = self._is_ride(domain)
        else:
            inform = True
        told = tuple(self._answers(domain, requested, settled)) if inform else ()
        success = None
        if requested:
            success = inform and all(answer.given is not False for answer in told)
        reference = None
        if booking is not None:
            self._tell_booking(domain, booking)
            reference = booking.made and self._is_reference_told(domain)
        return DomainJudgement(
            inform,
            success,
            booking.right if booking else None,
            reference,
            settled.option.text if settled else None,
            told,
        )

    def _bookings_of(self, domain: str) -> dict[int, tuple[str, tuple[str, ...]]]:
        """Return what is booked in a domain, by exchange; the last where that is not known."""
        turns = {}
        for one in self._transcript.made:
            if one.booking.domain == domain and domain in BOOKED_BY:
                booked = self._venue_of(one)
                if booked and booked.venue and self._spoken:
                    turn = len(self._spoken) - 1 if one.turn is None else one.turn
                    turns[turn] = (booked.venue, booked.venues)
        return turns

    def _venue_of(self, made: Made) -> Booked | None:
        booked = booked_by_calls([[made.booking]], self._database, self._facts)
        return booked.get(made.booking.domain)

    def _is_informed(self, domain: str, settled: Settled | None) -> bool:
        satisfying = self._goals[domain].satisfying
        booked = self._booked.get(domain)
        if booked and booked.venue and self._wanted[domain].booking:
            if satisfying.isdisjoint(booked.venues):
                self._tell_wrong("booked-wrong", domain, None, booked.venue, booked.venues)
                return False
            return True
        if settled is None:
            if domain == "train" and self._is_described(satisfying):
                return True
            self._lose(loss("named-nothing", INFORM, domain, None))
            return False
        option = settled.option
        if not satisfying.isdisjoint(option.venues):
            return True
        if not option.venues:
            self._lose(loss("named-unknown", INFORM, domain, settled.turn, said=option.text))
        else:
            self._tell_wrong("named-wrong", domain, settled.turn, option.text, option.venues)
        return False

    def _is_described(self, satisfying: Iterable[str]) -> bool:
        """Tell whether what is told of a train last is all true of one that is wanted."""
        of_trains = (
            [m for m in said if m.slot in TRAIN_TOLD_BY and m.domain == "train"]
            for said in reversed(self._said)
        )
        said = next(filter(None, of_trains), [])
        return bool(said) and any(
            all(answers.is_value("train", m, (train,), self._facts) for m in said)
            for train in satisfying
        )

    def _is_ride(self, domain: str) -> bool:
        wanted = rides.places_and_times(self._wanted[domain].informable)
        faults = rides.faults(wanted, self._transcript, self._ground.rules)
        for slot, said, value, turn in faults:
            kind = "ride-untold" if said is None else "ride-wrong"
            self._lose(loss(kind, INFORM, domain, turn, slot, said=str(said), wanted=value))
        return not faults

    def _answers(
        self, domain: str, requested: Sequence[str], settled: Settled | None
    ) -> Iterator[Answer]:
        """Yield what was told of the slots that are asked for."""
        made = [one for one in self._transcript.made if one.booking.domain == domain]
        venues: tuple[str, ...] = ()
        if domain in NAMED_BY:
            venues = self._venues_meant(domain, settled)
        rows: Sequence[Mapping[str, Any]] = ()
        if domain in ("police", "hospital"):
            rows = self._ground.services.query(domain, self._raw[domain].get("info", {}).items())
        for slot in requested:
            if domain in NAMED_BY:
                answer = answers.of_venue(
                    domain, slot, venues, self._said, self._judged, self._facts
                )
            elif domain == TAXI:
                has_calls = self._transcript.has_calls
                answer = answers.of_taxi(slot, made, self._texts, self._said, has_calls=has_calls)
            else:
                answer = answers.of_service(slot, rows, self._texts, self._said)
            self._tell_answer(domain, answer, venues)
            yield answer

    def _is_reference_told(self, domain: str) -> bool:
        made = [one for one in self._transcript.made if one.booking.domain == domain]
        answer = answers.of_reference(domain, made, self._texts, self._said)
        self._tell_answer(domain, answer, (), TOLD)
        return answer.given is True

    def _venues_meant(self, domain: str, settled: Settled | None) -> tuple[str, ...]:
        """Return the venues that values may be of: those settled on that the user wants."""
        satisfying = self._goals[domain].satisfying
        booked = self._booked.get(domain)
        if booked and booked.venues and self._wanted[domain].booking:
            venues = booked.venues
        elif settled:
            venues = settled.option.venues
        else:
            venues = tuple(sorted(satisfying))
        return tuple(venue for venue in venues if venue in satisfying)

    def _tell_answer(
        self, domain: str, answer: Answer, venues: Sequence[str], outcome: str = SUCCESS
    ) -> None:
        slot, given, turn, said, right = answer
        if given is not False:
            return
        if said is None:
            self._lose(loss("never-said", outcome, domain, None, slot))
        elif domain in NAMED_BY and slot != REFERENCE:
            venue = listed(tuple(self._facts.name(domain, one) for one in venues))
            words = {"said": said, "venue": venue, "right": listed(right)}
            self._lose(loss("said-wrong", outcome, domain, turn, slot, **words))
        elif domain == TAXI or slot == REFERENCE:
            words = {"said": said, "right": f" (but {right[0]})" if right else ""}
            self._lose(loss("invented", outcome, domain, turn, slot, **words))
        else:
            words = {"said": said, "venue": f"the {domain}", "right": listed(right)}
            self._lose(loss("said-wrong", outcome, domain, turn, slot, **words))

    def _tell_booking(self, domain: str, booking: BookingOutcome) -> None:
        turn = max(
            (
                one.turn
                for one in self._transcript.made
                if one.booking.domain == domain and one.turn is not None
            ),
            default=None,
        )
        if not booking.made:
            self._lose(loss("not-booked", BOOKING, domain, None))
        for slot, value, wanted in booking.misses:
            if slot == BOOKED_BY[domain]:
                venues = self._booked[domain].venues
                self._tell_wrong("booked-wrong", domain, turn, str(value), venues, BOOKING)
            else:
                words = {"said": str(value), "wanted": " or ".join(wanted)}
                self._lose(loss("booked-otherwise", BOOKING, domain, turn, slot, **words))

    def _tell_wrong(
        self,
        kind: str,
        domain: str,
        turn: int | None,
        said: str,
        venues: Sequence[str],
        outcome: str = INFORM,
    ) -> None:
        unmet = [
            f"{slot}={value}"
            for slot, value in self._wanted[domain].informable.items()
            if not set(venues) & set(self._database.find(domain, {slot: value}))
        ]
        words = {"said": said, "unmet": f" ({', '.join(unmet)})" if unmet else ""}
        self._lose(loss(kind, outcome, domain, turn, **words))

    def _lose(self, reason: Reason) -> None:
        self._reasons.append(reason)
