"""The agenda user of live dialogues, in acts: the public simulator's, with its faults mended.

The rules, each of which has a test:

* It says what it came for in messages of one to three constraints, then asks, then books; all
  constraints, a train's day among them, are said before anything is asked.
* An answer is remembered whenever it is given, until another venue is named.
* Values are compared in one spelling; names, types and times as the scores compare them.
* A value against the goal, or a booking with a wrong or missing detail, is corrected once. After
  that the value is put up with, and what was to be booked is given up.
* "The same day as the hotel" stands only for what was said before, and is said in full when the
  system asks or finds nothing.
* When nothing is found or the booking fails, the user turns to the goal's second wish. Without
  one it insists once, saying everything again, and then gives up this domain and no other: what
  else it wants can be had all the same, and success is counted by domain, too.
* It gives up a domain in which it or the system has said the same thing three times, and nothing
  has come of it.
* It thanks when it says goodbye.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence
from typing import Any

from mwzeval.multiwoz.convlab.acts import NONE, Act, spoken
from mwzeval.multiwoz.convlab.agenda import BYE, INFORM, REQUEST
from mwzeval.multiwoz.convlab.draws import UserDraws
from mwzeval.multiwoz.convlab.wishes import place_for
from mwzeval.multiwoz.goals.goals import Goal, begun
from mwzeval.multiwoz.live.agenda_user.acts import CHANGE, CORRECT, REPEAT, SAME, THANK, giving_up
from mwzeval.multiwoz.live.agenda_user.hearing import NO_OFFER, heard_acts
from mwzeval.multiwoz.live.agenda_user.pursuit import Pursuit, Said
from mwzeval.multiwoz.live.agenda_user.replies import answer_to, choice_among
from mwzeval.multiwoz.schema import UNANSWERED

MOST_MESSAGES = 20
"""Messages of the user; with the next it says goodbye, whatever is left."""
PATIENCE = 3
"""How often the same is said before the user gives up."""
MOST_IN_A_MESSAGE = 3
"""Constraints and questions that a message has of the user's own accord."""
TELLING = frozenset({INFORM, "recommend", "offerbook", "offerbooked", "book"})
BOOKED = frozenset({"book", "offerbooked"})


class LiveUser:
    """A user with a goal, one dialogue long, which talks in acts.

    `goal` is copied; the copy has what the user has learnt. All choices are those of `draws`.
    """

    def __init__(self, goal: Goal, draws: UserDraws) -> None:
        self.goal = begun(goal)
        self.current_domain: str | None = None
        self.gave_up: list[str] = []
        """The domains that were given up, in that order."""
        domains: list[str] = self.goal["domain_ordering"]
        self._pursuits = {domain: Pursuit(domain, self.goal[domain]) for domain in domains}
        self._draws = draws
        self._messages = 0
        self._done = False
        self._corrected: set[Act] = set()
        self._insisted: set[tuple[str, str]] = set()
        # Since something last came of the dialogue:
        self._said: Counter[Act] = Counter()
        self._heard: Counter[frozenset[Act]] = Counter()
        # Of the last message, and of this one:
        self._spoken_of: set[str] = set()
        self._replies: list[Act] = []
        self._markers: list[Act] = []
        self._in_full: set[str] = set()

    @property
    def is_done(self) -> bool:
        """Whether the user has said goodbye."""
        return self._done

    @property
    def complete(self) -> bool:
        """Whether the user believes that everything is answered and booked."""
        return all(pursuit.missing() is None for pursuit in self._pursuits.values())

    def report(self) -> dict[str, Any]:
        """Return what the user holds at the end, as JSON.

        `complete`, `goal` with the answers, `gave_up` (domains), and `ended`: `complete`,
        `gave_up`, `limit` (it ran out of messages) or `unfinished` (it was not yet done).
        """
        if not self._done:
            ended = "unfinished"
        elif self._subject() is not None:
            ended = "limit"
        else:
            ended = "complete" if self.complete else "gave_up"
        return {
            "complete": self.complete,
            "goal": self.goal,
            "gave_up": list(self.gave_up),
            "ended": ended,
        }

    def begin(self) -> list[Act]:
        """Return what the user says first."""
        return self.answer(())

    def answer(self, heard: Sequence[Act], /) -> list[Act]:
        """Return what the user says to the acts of the system.

        Raises `ValueError` when the user has said goodbye.
        """
        if self._done:
            raise ValueError("the user has said goodbye: the dialogue is over")
        self._messages += 1
        self._replies, self._markers, self._in_full = [], [], set()
        self._hear(heard)
        self._mind_repetition(heard)
        while self._messages <= MOST_MESSAGES and (pursuit := self._subject()) is not None:
            acts = self._message(pursuit)
            if acts and all(self._said[act] < PATIENCE for act in acts):
                return self._speak(acts)
            self._give_up(pursuit)
        self._done = True
        return [*dict.fromkeys(self._markers), THANK, BYE]

    # What the system's acts do

    def _hear(self, system: Iterable[Act]) -> None:
        of_domain: dict[str, list[Act]] = defaultdict(list)
        for act in heard_acts(system, self._pursuits, self.current_domain):
            self.current_domain = act.domain
            of_domain[act.domain].append(act)
        for domain, acts in of_domain.items():
            pursuit = self._pursuits[domain]
            # What was finished by the last message may turn out not to be.
            if not pursuit.is_finished or (domain in self._spoken_of and not pursuit.given_up):
                self._open(pursuit)
                self._follow(pursuit, acts)

    def _follow(self, pursuit: Pursuit, acts: Sequence[Act]) -> None:
        intents = {act.intent for act in acts}
        if NO_OFFER in intents:
            self._refused(pursuit, "info")
        if "nobook" in intents and "booked" in pursuit.wanted:
            self._refused(pursuit, "book")
        told = [act for act in acts if act.intent in TELLING]
        self._learn(pursuit, told)
        replies = [
            answer_to(pursuit, slot)
            for slot in dict.fromkeys(act.slot for act in acts if act.intent == REQUEST)
        ]
        if NO_OFFER not in intents:
            offers = [act for act in acts if act.intent in (*TELLING, "select")]
            replies.append(choice_among(pursuit, offers, self._draws))
        for reply in replies:
            if reply is not None:
                self._reply(pursuit, *reply)

    def _refused(self, pursuit: Pursuit, part: str) -> None:
        key = (pursuit.domain, part)
        if pursuit.turn_to_second_wish(part):
            self._markers.append(CHANGE)
            self._progress()
        elif key not in self._insisted:
            self._insisted.add(key)
            self._markers.append(REPEAT)
            pursuit.forget_told(pursuit.constraints if part == "info" else pursuit.booking)
        else:
            self._give_up(pursuit)
        self._in_full.add(pursuit.domain)

    def _learn(self, pursuit: Pursuit, acts: Sequence[Act]) -> None:
        """Take in values, put right what is against the goal, and see whether it is booked."""
        said: dict[str, list[str]] = defaultdict(list)
        for act in acts:
            said[act.slot].append(act.value)
        pursuit.notice_venue(said)
        wrong = pursuit.against(said)
        corrected = self._object(pursuit, wrong)
        if not corrected and pursuit.take_answers(said):
            self._progress()
        if "booked" in pursuit.wanted and any(act.intent in BOOKED for act in acts):
            if not wrong:
                self._check_booking(pursuit, said)
            elif corrected:
                pursuit.wanted["booked"] = UNANSWERED
            else:
                self._give_up(pursuit)

    def _object(self, pursuit: Pursuit, wrong: Sequence[str]) -> bool:
        """Put slots right; return whether any was not put right before.

        A first wish that is still not met then is dropped for the second.
        """
        corrected = [slot for slot in wrong if self._correct(pursuit, slot)]
        if wrong and not corrected and "fail_info" in pursuit.wanted:
            self._refused(pursuit, "info")
            return True
        return bool(corrected)

    def _correct(self, pursuit: Pursuit, slot: str) -> bool:
        """Put a value right; return False when that was done before."""
        wish = pursuit.wishes[slot]
        correction = Act(INFORM, pursuit.domain, slot, wish)
        if correction in self._corrected:
            return False
        if pursuit.told.get(slot) == wish:
            self._corrected.add(correction)
            self._markers.append(CORRECT)
        self._reply(pursuit, slot, wish)
        return True

    def _check_booking(self, pursuit: Pursuit, said: Said) -> None:
        """Tell what a booking cannot have right yet; when there is nothing, it is booked."""
        booking = pursuit.booking
        # What the booking says of itself need not be told any more.
        pursuit.told.update({slot: wish for slot, wish in booking.items() if slot in said})
        missing = pursuit.untold(booking)
        for slot in missing:
            self._reply(pursuit, slot, booking[slot])
        if not missing and not pursuit.pending():
            pursuit.wanted["booked"] = "yes"
            self._progress()

    def _reply(self, pursuit: Pursuit, slot: str, value: str) -> None:
        act = Act(INFORM, pursuit.domain, slot, value)
        if act not in self._replies and spoken(act) is not None:
            self._replies.append(act)

    # Patience

    def _progress(self) -> None:
        self._said.clear()
        self._heard.clear()

    def _mind_repetition(self, system: Sequence[Act]) -> None:
        """Give up what is spoken of when the system has said the same too often."""
        pursuit = self._subject()
        if not system or pursuit is None:
            return
        turn = frozenset(system)
        self._heard[turn] += 1
        if self._heard[turn] > PATIENCE:
            self._give_up(pursuit)

    def _give_up(self, pursuit: Pursuit) -> None:
        if pursuit.given_up:
            return
        pursuit.given_up = True
        self.gave_up.append(pursuit.domain)
        self._replies = [act for act in self._replies if act.domain != pursuit.domain]
        # Nothing of what was to follow is said any more.
        self._markers = [act for act in self._markers if act not in (REPEAT, CORRECT, CHANGE)]
        self._markers.append(giving_up(pursuit.domain))
        self._progress()

    # What the user says

    def _subject(self) -> Pursuit | None:
        """Return what the next message is about: an answer, or the first that is unfinished."""
        answered = (self._pursuits[act.domain] for act in self._replies)
        for pursuit in (*answered, *self._pursuits.values()):
            if not pursuit.is_finished:
                return pursuit
        return None

    def _open(self, pursuit: Pursuit) -> None:
        """Draw the order in which a domain is told, and see where a taxi goes."""
        if pursuit.order is not None:
            return
        if pursuit.domain == "taxi":
            for slot in ("departure", "destination"):
                place = place_for(self.goal, slot)
                if place is not None:
                    # It may have got a name in the meantime.
                    at = self._pursuits.get(place.removeprefix("the "))
                    pursuit.places[slot] = (at and at.venue) or place
        pursuit.order = self._draws.order(pursuit.all_slots())

    def _message(self, pursuit: Pursuit) -> list[Act]:
        """Return what is said next: answers, then constraints, otherwise what is needed."""
        domain = pursuit.domain
        self._open(pursuit)
        if not self._replies and not pursuit.pending():
            # Nothing is asked or booked of a venue that is known to be another than is wanted.
            self._object(pursuit, pursuit.against(pursuit.known))
        acts = list(self._replies)
        replied = {act.domain for act in acts}
        room = 1 + self._draws.pick(MOST_IN_A_MESSAGE)
        pending = [slot for slot in pursuit.pending() if slot not in {act.slot for act in acts}]
        if domain not in self._in_full:
            pending = pending[: max(0, room - len(acts))]
        constraints = pursuit.constraints
        acts += [Act(INFORM, domain, slot, constraints[slot]) for slot in pending]
        if not acts:
            acts = self._need(pursuit, room)
        # Behind the replies: they may be about what was spoken of before.
        of_own_accord = len(self._replies)
        if acts[of_own_accord:] and not pursuit.spoken_of and domain not in replied:
            acts.insert(of_own_accord, Act(INFORM, domain, NONE, NONE))
        return acts

    def _need(self, pursuit: Pursuit, room: int) -> list[Act]:
        """Return the questions or the booking that come next, as far as there are words."""
        missing = pursuit.missing()
        if missing is None:
            return []
        intent, slots = missing
        chosen = list(slots)[:room] if intent == REQUEST else pursuit.untold(slots) or list(slots)
        acts = [Act(intent, pursuit.domain, slot, slots[slot]) for slot in chosen]
        return [act for act in acts if spoken(act) is not None]

    def _speak(self, acts: Sequence[Act]) -> list[Act]:
        """Say acts: note what is told by them, and put some of it shorter."""
        # Who is asked answers, however often.
        if any(self._said[act] for act in acts if act not in self._replies):
            self._markers.append(REPEAT)
        said = list(dict.fromkeys(self._markers))
        for act in acts:
            pursuit = self._pursuits[act.domain]
            self._said[act] += 1
            shorter = act
            if act.intent == INFORM and pursuit.wishes.get(act.slot) == act.value:
                if act not in self._replies and act.domain not in self._in_full:
                    shorter = self._shortened(act)
                pursuit.told[act.slot] = act.value
            pursuit.spoken_of = True
            word = spoken(shorter)
            if word is not None:
                said.append(word)
        self.current_domain = acts[-1].domain
        self._spoken_of = {act.domain for act in acts}
        return said

    def _shortened(self, act: Act) -> Act:
        """Refer to an equal value that was told of another domain, now and then."""
        same = SAME.get(act.slot)
        if same is None or act.slot in self._pursuits[act.domain].told:
            return act
        earlier = [
            pursuit.domain
            for pursuit in self._pursuits.values()
            if pursuit.domain != act.domain
            and not pursuit.given_up
            and pursuit.told.get(act.slot) == act.value
        ]
        if not earlier or not self._draws.same():
            return act
        return act._replace(value=same.format(earlier[-1]))
