"""The agenda user of live dialogues at act level, which is the public simulator without its errors.

The user follows these rules, each of which has a test:

* The user states its constraints in messages of one to three constraints, then asks questions, and
  then makes bookings. The user states all constraints, including the day of a train, before any
  question.
* The user remembers every answer until the system names another venue.
* The user compares values after normalization; names, types and times are compared as in the
  scores.
* The user corrects a value that contradicts the goal, or a booking with a wrong or missing detail,
  only once. After the correction, the user accepts the value or gives up the booking.
* The user says "the same day as the hotel" only for a value stated earlier. The user states the
  value itself if the system asks for the slot or finds nothing.
* If nothing is found or the booking fails, the user states the second wish in its goal. If the goal
  has no second wish, the user repeats all constraints once, and then gives up the domain. The user
  then continues with the other domains, because success is also counted by domain.
* The user gives up a domain if one side has said the same thing three times without progress.
* The user thanks the system when it says goodbye.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass
from typing import Any

from mwzeval.multiwoz.acts import (
    BOOKING,
    BYE,
    CHANGE,
    CORRECT,
    INFORM,
    INFORMING,
    NONE,
    REPEAT,
    REQUEST,
    SAME,
    SYSTEM_SLOTS,
    THANK,
    USER_SLOTS,
    Act,
    Draws,
    giving_up,
    goal_slot,
    returning_to,
    user_act,
)
from mwzeval.multiwoz.database import FUZZY_COLUMNS, FUZZY_THRESHOLD, partial_ratio
from mwzeval.multiwoz.goals import (
    ORDERING,
    DomainGoal,
    Goal,
    begun,
    give_up_first_wish,
    is_complete,
    missing_part,
    place_for,
    tried,
)
from mwzeval.multiwoz.normalization import normalize_slot, normalize_value
from mwzeval.multiwoz.schema import (
    ALL_BOOKING_SLOTS,
    FLAG_SLOTS,
    UNANSWERED,
    UNANSWERED_VALUES,
    UNINFORMATIVE,
    VENUE_DOMAINS,
    time_fits,
)
from mwzeval.multiwoz.words.gazetteer import name_forms
from mwzeval.multiwoz.words.text import fold

MOST_MESSAGES = 20
"""The maximum number of user messages, after which the user says goodbye."""
PATIENCE = 3
"""The number of repetitions without progress after which the user gives up."""
MOST_IN_A_MESSAGE = 3
"""The maximum number of constraints and questions in a message, apart from replies."""
TELLING = INFORMING | BOOKING
"""The intents with which a system informs about values."""
SAME_VALUE = {
    "people": "the same group of people as the {}",
    "day": "the same day as the {}",
    "area": "same area as the {}",
    "pricerange": "in the same price range as the {}",
}
"""Maps a slot to a phrase for an earlier value; the braces are replaced by the earlier domain."""
NO_OFFER, CHOICE = "nooffer", "choice"
_NO_VENUE, _ONE_VENUE = frozenset({"0", "zero", "no", "none"}), frozenset({"1", "one"})
_OTHER_TIME = {"leaveAt": "arriveBy", "arriveBy": "leaveAt"}

SlotValues = Mapping[str, Sequence[str]]
"""Maps a slot to the values that the system has informed about in one turn."""
Reply = tuple[str, str]
"""Slot and value."""


@dataclass(frozen=True, slots=True)
class Manner:
    """How a user distributes constraints, questions and bookings over messages.

    `most` is the maximum number of constraints and questions in a message; if it is 0, the number
    is drawn for each message. If `waits` is true, the user opens with the domain alone and answers
    questions. A user that waits states a constraint on its own initiative only if it was not asked
    anything. If `hurries` is true, the user also makes bookings and asks questions in the message
    with its constraints. In the `joined` domains, the message with the constraints opens the next
    domain instead. The user gives up a domain after `patience` consecutive turns without anything
    new, unless `patience` is 0. If `returns` is true, the user names the domain when it returns to
    an earlier domain. `same` is the probability that the user says "the same day" instead of an
    earlier value.
    """

    most: int = 0
    waits: bool = False
    hurries: bool = False
    joined: AbstractSet[str] = frozenset()
    patience: int = 0
    returns: bool = False
    same: float = SAME


COOPERATIVE = Manner()


class LiveUser:
    """An act-level user with a goal, for a single dialogue.

    `goal` is copied, and the system's answers are written to the copy. `draws` makes all random
    choices.
    """

    def __init__(self, goal: Goal, draws: Draws, manner: Manner = COOPERATIVE) -> None:
        self._manner = manner
        self.goal = begun(goal)
        self.current_domain: str | None = None
        self.gave_up: list[str] = []
        """The domains that the user has given up, in the order of giving up."""
        domains: list[str] = self.goal[ORDERING]
        self._domains = {domain: _ActiveDomain(domain, self.goal[domain]) for domain in domains}
        self._draws = draws
        self._messages = 0
        self._messages_without_news = 0
        self.is_done = False
        """Whether the user has said goodbye."""
        self._corrected: set[Act] = set()
        self._insisted: set[tuple[str, str]] = set()
        # Since the last progress of the dialogue:
        self._acts: Counter[Act] = Counter()
        self._system_turns: Counter[frozenset[Act]] = Counter()
        # In the previous message, and in the current one:
        self._spoken_of: set[str] = set()
        self._replies: list[Act] = []
        self._markers: list[Act] = []
        self._in_full: set[str] = set()

    @property
    def complete(self) -> bool:
        """Whether the user believes that all questions are answered and all bookings are made."""
        return is_complete(self.goal)

    def report(self) -> dict[str, Any]:
        """Return the user's final state as plain JSON values.

        The keys are `complete`, `goal` (with the answers), `gave_up` (domains) and `ended`. The
        value of `ended` is `complete`, `gave_up`, `limit` (no messages were left) or `unfinished`
        (the user has not said goodbye).
        """
        ended = "complete" if self.complete else "gave_up"
        if not self.is_done:
            ended = "unfinished"
        elif self._subject() is not None:
            ended = "limit"
        return {
            "complete": self.complete,
            "goal": self.goal,
            "gave_up": list(self.gave_up),
            "ended": ended,
        }

    def begin(self) -> list[Act]:
        """Return the user's first dialogue acts."""
        return self.answer(())

    def answer(self, heard: Sequence[Act], /) -> list[Act]:
        """Return the user's acts in reply to the acts of the system.

        Raises `ValueError` if the user has already said goodbye.
        """
        if self.is_done:
            raise ValueError("the user has said goodbye: the dialogue is over")
        self._messages += 1
        self._replies, self._markers, self._in_full = [], [], set()
        self._hear(heard)
        if self._messages <= MOST_MESSAGES:
            self._reconsider()
        subject = self._subject()
        if heard and subject is not None:
            turn = frozenset(heard)
            self._system_turns[turn] += 1
            if self._system_turns[turn] > PATIENCE:
                self._give_up(subject)
        while self._messages <= MOST_MESSAGES and (active := self._subject() or self._reopened()):
            acts = self._message(active)
            if acts and self._has_patience(acts):
                return self._speak(acts)
            self._give_up(active)
        self.is_done = True
        return [*dict.fromkeys(self._markers), THANK, BYE]

    # Changes of the user's wishes

    def wish_otherwise(self, domain: str, part: str, marker: Act) -> None:
        """Start the second wish for a part (`info` or `book`); the act `marker` announces the new
        wish.

        When the user states the second wish, it forgets the booking. If the user wants another
        venue, it also forgets the answers about the present venue.
        """
        active = self._domains[domain]
        give_up_first_wish(active.goal, part)
        if "booked" in active.goal:
            active.goal["booked"] = UNANSWERED
        if part == "info":
            active.forget_venue()
        wishes = active.wishes
        self._replies = [
            act
            for act in self._replies
            if act.domain == domain and wishes.get(act.slot, act.value) == act.value
        ]
        for slot in active.unstated(tried(active.goal, part)):
            self._reply(active, slot, wishes[slot])
        self._markers = [act for act in self._markers if act not in (REPEAT, CORRECT)]
        self._markers.append(marker)
        self._progress()

    def _reconsider(self) -> None:
        """Change wishes before speaking. This user does not change wishes."""

    def _reopened(self) -> _ActiveDomain | None:
        """Return a domain to continue with before saying goodbye. This user has no such domain."""
        return None

    # Effects of the system's acts

    def _hear(self, system: Iterable[Act]) -> None:
        of_domain: dict[str, list[Act]] = defaultdict(list)
        for act in heard_acts(system, self._domains, self.current_domain):
            self.current_domain = act.domain
            of_domain[act.domain].append(act)
        for domain, acts in of_domain.items():
            active = self._domains[domain]
            # A domain finished by the last message may become unfinished by the answer.
            if not active.is_finished or (domain in self._spoken_of and not active.given_up):
                self._open(active)
                self._follow(active, acts)

    def _follow(self, active: _ActiveDomain, acts: Sequence[Act]) -> None:
        intents = {act.intent for act in acts}
        if NO_OFFER in intents:
            self._refused(active, "info")
        if "nobook" in intents and "booked" in active.goal:
            self._refused(active, "book")
        informing = [act for act in acts if act.intent in TELLING]
        self._learn(active, informing)
        replies = [
            answer_to(active, slot)
            for slot in dict.fromkeys(act.slot for act in acts if act.intent == REQUEST)
        ]
        if NO_OFFER not in intents:
            offers = [act for act in acts if act.intent in (*TELLING, "select")]
            replies.append(choice_among(active, offers, self._draws))
        for reply in replies:
            if reply is not None:
                self._reply(active, *reply)

    def _refused(self, active: _ActiveDomain, part: str) -> None:
        key = (active.domain, part)
        if give_up_first_wish(active.goal, part) is not None:
            self._markers.append(CHANGE)
            self._progress()
        elif key not in self._insisted:
            self._insisted.add(key)
            self._markers.append(REPEAT)
            for slot in active.constraints if part == "info" else active.booking:
                active.stated.pop(slot, None)
        else:
            self._give_up(active)
        self._in_full.add(active.domain)

    def _learn(self, active: _ActiveDomain, acts: Sequence[Act]) -> None:
        """Store values, correct values that contradict the goal, and check for a booking."""
        informed: dict[str, list[str]] = defaultdict(list)
        for act in acts:
            informed[act.slot].append(act.value)
        active.notice_venue(informed)
        wrong = active.against(informed)
        corrected = self._object(active, wrong)
        if not corrected and active.take_answers(informed):
            self._progress()
        if "booked" not in active.goal or not any(act.intent in BOOKING for act in acts):
            return
        if corrected:
            active.goal["booked"] = UNANSWERED
        elif wrong:
            self._give_up(active)
        else:
            booking = active.booking
            # The user does not need to state details that the booking already has.
            active.stated.update({slot: wish for slot, wish in booking.items() if slot in informed})
            missing = active.unstated(booking)
            for slot in missing:
                self._reply(active, slot, booking[slot])
            if not missing and not active.pending():
                active.goal["booked"] = "yes"
                self._progress()

    def _object(self, active: _ActiveDomain, wrong: Sequence[str]) -> bool:
        """Correct slots, and return whether any slot is corrected for the first time.

        If a first wish is still not met after the correction, the user turns to its second wish.
        """
        corrected = False
        for slot in wrong:
            wish = active.wishes[slot]
            correction = Act(INFORM, active.domain, slot, wish)
            if correction not in self._corrected:
                corrected = True
                if active.stated.get(slot) == wish:
                    self._corrected.add(correction)
                    self._markers.append(CORRECT)
                self._reply(active, slot, wish)
        if wrong and not corrected and "fail_info" in active.goal:
            self._refused(active, "info")
            return True
        return corrected

    def _reply(self, active: _ActiveDomain, slot: str, value: str) -> None:
        act = Act(INFORM, active.domain, slot, value)
        if act not in self._replies and user_act(act) is not None:
            self._replies.append(act)

    # Patience

    def _progress(self) -> None:
        self._acts.clear()
        self._system_turns.clear()

    def _has_patience(self, acts: Sequence[Act]) -> bool:
        """Return whether the user says these acts, or gives the domain up instead."""
        has_news = any(not self._acts[act] for act in acts)
        self._messages_without_news = 0 if has_news else self._messages_without_news + 1
        is_impatient = 0 < self._manner.patience <= self._messages_without_news
        return not is_impatient and all(self._acts[act] < PATIENCE for act in acts)

    def _give_up(self, active: _ActiveDomain) -> None:
        if active.given_up:
            return
        active.given_up = True
        self.gave_up.append(active.domain)
        self._replies = [act for act in self._replies if act.domain != active.domain]
        # The acts that these markers announce are no longer sent.
        self._markers = [act for act in self._markers if act not in (REPEAT, CORRECT, CHANGE)]
        self._markers.append(giving_up(active.domain))
        self._progress()

    # The user's acts

    def _subject(self) -> _ActiveDomain | None:
        """Return the next message's domain, from a reply or else the first unfinished domain."""
        answered = (self._domains[act.domain] for act in self._replies)
        for active in (*answered, *self._domains.values()):
            if not active.is_finished:
                return active
        return None

    def _open(self, active: _ActiveDomain) -> None:
        """Draw the order of a domain's constraints, and determine the route of a taxi."""
        if active.order is not None:
            return
        if active.domain == "taxi":
            for slot in ("departure", "destination"):
                place = place_for(self.goal, slot)
                if place is not None:
                    # The venue may have been named since the goal was written.
                    at = self._domains.get(place.removeprefix("the "))
                    active.places[slot] = (at and at.venue) or place
        slots = dict.fromkeys([*active.constraints, *active.goal.get("info", ())])
        active.order = self._draws.shuffle(list(slots))

    def _message(self, active: _ActiveDomain) -> list[Act]:
        """Return the next acts: replies, then constraints, then questions or a booking."""
        domain = active.domain
        self._open(active)
        if not self._replies and not active.pending():
            # Correct the venue before asking about it or booking it.
            self._object(active, active.against(active.known))
        acts = list(self._replies)
        of_own_accord = len(acts)
        manner = self._manner
        opens = not active.spoken_of and all(act.domain != domain for act in acts)
        room = manner.most or 1 + self._draws.pick(MOST_IN_A_MESSAGE)
        pending = [slot for slot in active.pending() if slot not in {act.slot for act in acts}]
        # A user that waits opens with the domain alone.
        is_alone = manner.waits and opens and bool(pending)
        if domain not in self._in_full:
            waits = manner.waits and (opens or acts)
            pending = [] if waits else pending[: max(0, room - len(acts))]
        constraints = active.constraints
        acts += [Act(INFORM, domain, slot, constraints[slot]) for slot in pending]
        if manner.hurries and pending:
            acts += self._opening(self._joined(active)) or self._booking_and_questions(active)
        missing = active.missing()
        if not acts and missing is not None and not is_alone:
            # Next come questions, or the booking, if the user has words for the slots.
            intent, slots = missing
            chosen = list(slots)[:room]
            if intent != REQUEST:
                chosen = active.unstated(slots) or list(slots)
                chosen = chosen[:1] if manner.waits else chosen
            needed = (Act(intent, domain, slot, slots[slot]) for slot in chosen)
            acts = [act for act in needed if user_act(act) is not None]
        # This follows the replies, which may be about the previous domain.
        if opens and (is_alone or acts[of_own_accord:]):
            acts.insert(of_own_accord, Act(INFORM, domain, NONE, NONE))
        return acts

    def _joined(self, active: _ActiveDomain) -> _ActiveDomain | None:
        """Return the domain that is opened in the same message as this domain, or None."""
        if active.spoken_of or active.domain not in self._manner.joined:
            return None
        others = (other for other in self._domains.values() if other is not active)
        following = next((other for other in others if not other.is_finished), None)
        if following is None or following.spoken_of or following.domain == "taxi":
            return None
        return following

    def _opening(self, active: _ActiveDomain | None) -> list[Act]:
        """Return the acts that open a domain and state all its constraints."""
        if active is None:
            return []
        self._open(active)
        domain, constraints = active.domain, active.constraints
        stated = [Act(INFORM, domain, slot, constraints[slot]) for slot in active.pending()]
        return [Act(INFORM, domain, NONE, NONE), *stated]

    def _booking_and_questions(self, active: _ActiveDomain) -> list[Act]:
        domain, booking = active.domain, active.booking
        return [
            *(Act(INFORM, domain, slot, booking[slot]) for slot in active.unstated(booking)),
            *(
                Act(REQUEST, domain, slot, value)
                for slot, value in active.requests.items()
                if value in UNANSWERED_VALUES and slot not in active.held_back
            ),
        ]

    def _speak(self, acts: Sequence[Act]) -> list[Act]:
        """Return the acts in their final form, and record the constraints that the acts state."""
        # Replies do not count as repetitions.
        if any(self._acts[act] for act in acts if act not in self._replies):
            self._markers.append(REPEAT)
        first = acts[0]
        is_other = bool(self._spoken_of - {first.domain})
        if self._manner.returns and is_other and first.slot != NONE and first not in self._replies:
            self._markers.insert(0, returning_to(first.domain))
        utterance = list(dict.fromkeys(self._markers))
        for act in acts:
            active = self._domains[act.domain]
            self._acts[act] += 1
            shorter = act
            if act.intent == INFORM and active.wishes.get(act.slot) == act.value:
                if act not in self._replies and act.domain not in self._in_full:
                    shorter = self._shortened(act)
                active.stated[act.slot] = act.value
            active.spoken_of = True
            word = user_act(shorter)
            if word is not None:
                utterance.append(word)
        self.current_domain = acts[-1].domain
        self._spoken_of = {act.domain for act in acts}
        return utterance

    def _shortened(self, act: Act) -> Act:
        """Randomly replace a value by a reference to the same value in another domain."""
        same = SAME_VALUE.get(act.slot)
        if same is None or act.slot in self._domains[act.domain].stated:
            return act
        earlier = [
            active.domain
            for active in self._domains.values()
            if active.domain != act.domain
            and not active.given_up
            and active.stated.get(act.slot) == act.value
        ]
        if not earlier or self._draws.random() >= self._manner.same:
            return act
        return act._replace(value=same.format(earlier[-1]))


class _ActiveDomain:
    """The state of one domain. `goal` is the domain's part of the user's copy, and is modified."""

    def __init__(self, domain: str, goal: DomainGoal) -> None:
        self.domain = domain
        self.goal = goal
        for part in ("fail_info", "fail_book"):
            # An empty first wish counts as no first wish.
            if not goal.get(part, True):
                del goal[part]
        self.given_up = False
        self.spoken_of = False
        """Whether the user has mentioned this domain."""
        self.order: list[str] | None = None
        """The order in which constraints are stated, or None before the order is drawn."""
        self.places: dict[str, str] = {}
        """The departure and destination of a taxi that depend on other domains of the goal."""
        self.stated: dict[str, str] = {}
        self.venue: str | None = None
        """The venue or train that the system named last."""
        self.known: dict[str, Sequence[str]] = {}
        """The values of the current venue that the system has stated since the venue was named."""
        self.held_back: frozenset[str] = frozenset()
        """The requested slots that the user does not ask for yet."""

    @property
    def identity(self) -> str:
        return "trainID" if self.domain == "train" else "name"

    @property
    def constraints(self) -> Mapping[str, str]:
        return {**self.places, **tried(self.goal, "info")}

    @property
    def booking(self) -> Mapping[str, str]:
        return tried(self.goal, "book")

    @property
    def wishes(self) -> Mapping[str, str]:
        return {**self.booking, **self.constraints}

    @property
    def requests(self) -> dict[str, str]:
        requests: dict[str, str] = self.goal.get("reqt", {})
        return requests

    @property
    def is_finished(self) -> bool:
        return self.given_up or (self.missing() is None and not self.pending())

    def missing(self) -> tuple[str, Mapping[str, str]] | None:
        """Return the next open part of the goal, without the slots that are held back."""
        if not self.held_back:
            return missing_part(self.goal)
        asked = {slot: v for slot, v in self.requests.items() if slot not in self.held_back}
        return missing_part({**self.goal, "reqt": asked})

    def pending(self) -> list[str]:
        """Return the slots of constraints that are not stated yet, in order."""
        unstated = self.unstated(self.constraints)
        return unstated if self.order is None else [slot for slot in self.order if slot in unstated]

    def unstated(self, wishes: Mapping[str, str]) -> list[str]:
        words = USER_SLOTS[self.domain]
        return [
            slot for slot, wish in wishes.items() if slot in words and self.stated.get(slot) != wish
        ]

    def notice_venue(self, informed: SlotValues) -> None:
        """Store values of a venue. For a new venue, forget the answers about the previous venue."""
        slot, before = self.identity, self.venue
        named = [name for name in informed.get(slot, ()) if name.lower() not in UNINFORMATIVE]
        if named and not (before and any(fits(self.domain, slot, name, before) for name in named)):
            if before is not None:
                self.forget_venue()
            self.venue = named[-1]
        if self.venue is not None:
            self.known.update(informed)

    def forget_venue(self) -> None:
        self.venue = None
        self.known = {}
        self.requests.update(dict.fromkeys(self.requests, UNANSWERED))

    def against(self, informed: SlotValues) -> list[str]:
        wishes = self.wishes
        return [
            slot
            for slot, values in informed.items()
            if slot in wishes
            and not any(fits(self.domain, slot, value, wishes[slot]) for value in values)
        ]

    def take_answers(self, informed: SlotValues) -> bool:
        """Store answers, and return whether a question was answered for the first time.

        A different phone number for the same taxi in each turn is not progress.
        """
        requests = self.requests
        new = False
        for slot in requests:
            value = informed.get(slot, ("",))[-1]
            # In quotes, a value such as "none" counts as an answer.
            answer = f'"{value}"' if value in UNANSWERED_VALUES else value
            if value and requests[slot] != answer:
                new = new or requests[slot] in UNANSWERED_VALUES
                requests[slot] = answer
        return new


def answer_to(active: _ActiveDomain, slot: str) -> Reply | None:
    """Return the reply to a question about a slot: the value in the goal or, if there is none,
    `dontcare`.

    If the user itself requests the value of this slot, the result is None.
    """
    if slot in active.requests or slot in ("ref", NONE):
        return None
    if slot == CHOICE:
        return CHOICE, "any"
    wishes = active.wishes
    if slot in wishes:
        return slot, wishes[slot]
    other = _OTHER_TIME.get(slot, "")
    if other in active.pending():
        return other, wishes[other]
    if slot in ALL_BOOKING_SLOTS and "book" not in active.goal:
        return "NotBook", NONE
    return slot, "dontcare"


def choice_among(active: _ActiveDomain, acts: Sequence[Act], draws: Draws) -> Reply | None:
    """Return the user's choice among offers: the value in the goal or, if all constraints are
    stated, any value.

    If a venue is chosen, it becomes the current venue. The result is None if the acts offer no
    choice.
    """
    offers = [act for act in acts if act.intent == "select" and act.slot not in (CHOICE, NONE)]
    if offers and offers[0].slot in active.wishes:
        return offers[0].slot, active.wishes[offers[0].slot]
    if active.pending():
        return None
    if not offers:
        several = any(act.slot == CHOICE and act.value.lower() not in _ONE_VENUE for act in acts)
        return (CHOICE, "any") if several and active.venue is None else None
    slot = offers[0].slot
    values = [act.value for act in offers if act.slot == slot]
    value = values[draws.pick(len(values))]
    if slot == active.identity:
        if active.venue in values:
            return slot, active.venue  # The user does not change an earlier choice.
        active.venue = value
    return slot, value


def heard_acts(system: Iterable[Act], domains: Collection[str], current: str | None) -> list[Act]:
    """Return the acts about a goal's domains, with intents in lower case and slots as in goals.

    Acts about a booking belong to the last mentioned domain, initially `current`. An act that
    reports an empty search result has the intent `nooffer`. Acts whose slot is unknown in their
    domain are left out.
    """
    acts = []
    for raw_intent, raw_domain, raw_slot, value in system:
        intent, domain = raw_intent.lower(), raw_domain.lower()
        # Systems may use the slots of a booking in the domain itself.
        slot = goal_slot(domain, raw_slot) or goal_slot("booking", raw_slot)
        if domain not in SYSTEM_SLOTS or slot is None:
            continue
        value = value.strip()
        if slot == CHOICE and value.lower() in _NO_VENUE:
            intent, slot, value = NO_OFFER, NONE, NONE
        if domain in domains:
            current = domain
        if domain == "booking" and current is not None:
            domain = current
        if domain in domains:
            if slot in FLAG_SLOTS and value.lower() == "none":
                value = "yes"  # Parking without a fee.
            acts.append(Act(intent, domain, slot, value))
    return acts


def fits(domain: str, slot: str, value: str, constraint: str) -> bool:
    """Return whether a value satisfies a constraint, or does not contradict it.

    For a train, the time in a constraint is a limit. Names, types and times are compared after
    normalization. Foods and stations are compared as in the database, where modern european food is
    european.
    """
    value, constraint = value.strip().lower(), constraint.strip().lower()
    if value == constraint or value in UNINFORMATIVE or constraint in UNINFORMATIVE:
        return True
    column = normalize_slot(slot)
    value, constraint = (normalize_value(column, text, "2023") for text in (value, constraint))
    if value == constraint:
        return True
    if slot == "name" and domain in VENUE_DOMAINS and fold(value) and fold(constraint):
        return not name_forms(value, domain).isdisjoint(name_forms(constraint, domain))
    if domain == "train" and slot in ("arriveBy", "leaveAt"):
        return time_fits(slot, value, constraint) is not False
    if slot != "name" and column in FUZZY_COLUMNS.get(domain, ()):
        return partial_ratio(value, constraint) >= FUZZY_THRESHOLD
    return False
