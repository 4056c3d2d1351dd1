"""The agenda user of ConvLab-2: it says its goal, answers questions and gives up without an offer.

What it does follows the public simulator to the letter, where that is surprising, too: figures of
systems that were measured with it are only comparable so.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from mwzeval.multiwoz.convlab.acts import GENERAL, NONE, SYSTEM_SLOTS, Act, spoken
from mwzeval.multiwoz.convlab.agenda import INFORM, REQUEST, Agenda
from mwzeval.multiwoz.convlab.draws import UserDraws
from mwzeval.multiwoz.convlab.said_values import SaidValues
from mwzeval.multiwoz.convlab.wishes import correction, missing_part, place_for, wish_for
from mwzeval.multiwoz.goals.goals import Goal, begun
from mwzeval.multiwoz.schema import UNANSWERED, UNANSWERED_VALUES

TURN_LIMIT = 40
"""Turns of both sides, after which the user says goodbye."""
_FOLLOWED = frozenset({"attraction", "hotel", "restaurant", "taxi", "train"})
_NOTHING = frozenset({"0", "zero"})
_NO_CHOICE = frozenset({"0", "zero", "1", "one"})
_NO_SLOTS: Mapping[str, str] = {}

Pairs = list[tuple[str, str]]


class _GivesUpError(Exception):
    """The user gives up."""


class AgendaUser:
    """A user with a goal, one dialogue long.

    `goal` is copied; the copy has what the user has learnt. `values` may serve many users.
    """

    def __init__(self, goal: Goal, values: SaidValues, draws: UserDraws) -> None:
        self.goal = begun(goal)
        self.current_domain: str | None = None
        self._turns = 0
        self._understand = values.understand
        self._draws = draws
        self._domains: list[str] = self.goal["domain_ordering"]
        self.agenda = Agenda(draws)
        for domain in reversed(self._domains):
            wanted = self.goal[domain]
            info = wanted["fail_info"] if "fail_info" in wanted else wanted.get("info", {})
            for slot in draws.order(list(info)):
                self.agenda.add(Act(INFORM, domain, slot, info[slot]))
            self.agenda.add(Act(INFORM, domain, NONE, NONE))

    @property
    def over(self) -> bool:
        """Whether the user has said goodbye."""
        return not len(self.agenda)

    @property
    def complete(self) -> bool:
        """Whether the user believes that everything is answered and booked."""
        return all(missing_part(self.goal[domain]) is None for domain in self._domains)

    def predict(self, system: Sequence[Act]) -> list[Act]:
        """Return what the user says to the acts of the system; to nothing, what it says first.

        Raises `ValueError` when the user has said goodbye.
        """
        if self.over:
            raise ValueError("the user has said goodbye: the dialogue is over")
        self._turns += 2
        if self._turns > TURN_LIMIT:
            self.agenda.close()
        else:
            try:
                self._update(self._heard(system))
            except _GivesUpError:
                self.agenda.close()
            if self.complete:
                self.agenda.close()
        said: list[Act] = []
        while not said:
            popped = self.agenda.pop()
            if popped[-1].domain in _FOLLOWED:
                self.current_domain = popped[-1].domain
            said = [act for act in map(spoken, popped) if act is not None]
        return said

    def _heard(self, system: Sequence[Act]) -> dict[tuple[str, str], Pairs]:
        """Return (domain, intent) → pairs of slot and value, as far as they are understood."""
        heard: dict[tuple[str, str], Pairs] = {}
        for intent, domain, slot, value in system:
            if slot == "Choice" and value in _NOTHING:
                intent, slot, value = "NoOffer", NONE, NONE
            domain, intent = domain.lower(), intent.lower()
            # The place of a group is that of its first act, whether or not that is understood.
            pairs = heard.setdefault((domain, intent), [])
            if domain == GENERAL:
                pairs.append((slot, value))
                continue
            name = SYSTEM_SLOTS.get(domain, _NO_SLOTS).get(slot.lower())
            if name is not None:
                asked = intent == REQUEST
                pairs.append((name, UNANSWERED if asked else self._understand(domain, name, value)))
        return {key: pairs for key, pairs in heard.items() if pairs}

    # What the system's acts do to the agenda

    def _update(self, heard: Mapping[tuple[str, str], Pairs]) -> None:
        self.agenda.pushed = 0
        for domain, _ in heard:
            if domain in self._domains:
                self.current_domain = domain
        later = []
        for key, pairs in heard.items():
            domain, intent = key
            if "nooffer" in intent:
                self._follow(domain, intent, pairs)
            elif "nobook" in intent:
                self._follow_booking(intent, pairs)
            else:
                later.append((domain, intent, pairs))
        for domain, intent, pairs in later:
            if domain == "booking" or "booking" in intent:
                self._follow_booking(intent, pairs)
            elif domain != GENERAL and GENERAL not in intent:
                self._follow(domain, intent, pairs)
        for (domain, intent), pairs in heard.items():
            self._settle(domain, intent, pairs)
        self._go_on()

    def _follow(self, domain: str, intent: str, pairs: Pairs) -> None:
        if domain not in self._domains:
            return
        if intent in ("inform", "recommend", "offerbook", "offerbooked"):
            self._on_inform(domain, intent, pairs)
        elif intent == "request":
            self._on_request(domain, pairs)
        elif intent == "nooffer":
            self._fall_back(domain, "info", "reqt")
        elif intent == "select":
            self._on_select(domain, pairs)

    def _follow_booking(self, intent: str, pairs: Pairs) -> None:
        domain = self.current_domain
        if domain is None:
            return
        if intent in ("book", "inform"):
            self._on_inform(domain, intent, pairs)
        elif intent == "nobook":
            self._fall_back(domain, "book", "booked")
        elif intent == "request":
            self._on_request(domain, pairs)

    def _on_inform(self, domain: str, intent: str, pairs: Pairs) -> None:
        wanted = self.goal[domain]
        agenda = self.agenda
        requests = wanted.get("reqt", {})
        right = True
        for slot, value in _timed(domain, pairs):
            self._choose(domain, slot, value)
            if slot in requests:
                # An answer is lost on a user who has more to say.
                if not agenda.informs(domain):
                    agenda.remove(REQUEST, domain, slot)
                    requests[slot] = f'"{value}"' if value in UNANSWERED_VALUES else value
                continue
            wish = correction(wanted, slot, value)
            if wish is not None:
                agenda.push(Act(INFORM, domain, slot, wish))
                right = False
        if right and intent in ("book", "offerbooked") and "booked" in wanted:
            wanted["booked"] = "yes"

    def _on_request(self, domain: str, pairs: Pairs) -> None:
        wanted = self.goal[domain]
        for slot, _ in _timed(domain, pairs):
            if slot not in wanted.get("reqt", {}):
                wish = wish_for(wanted, slot)
                if wish is None and domain == "taxi":
                    wish = place_for(self.goal, slot)
                value = "dontcare" if wish is None else wish
                self.agenda.push(Act(INFORM, domain, slot, value))

    def _fall_back(self, domain: str, part: str, hope: str) -> None:
        """Ask for what is wanted next; give up when there is no such thing but still a hope."""
        wanted = self.goal[domain]
        failed = wanted.get(f"fail_{part}")
        if failed is not None:
            for slot, value in wanted.get(part, {}).items():
                if failed.get(slot) != value:
                    self.agenda.push(Act(INFORM, domain, slot, value))
            wanted[f"fail_{part}_fail"] = wanted.pop(f"fail_{part}")
        elif hope in wanted:
            raise _GivesUpError

    def _on_select(self, domain: str, pairs: Pairs) -> None:
        wanted = self.goal[domain]
        for slot, value in pairs:
            self._choose(domain, slot, value)
        pairs = [pair for pair in pairs if pair[0] != "choice"]
        if not pairs:
            return
        slot = pairs[0][0]
        wish = wish_for(wanted, slot)
        if wish is not None:
            self.agenda.push(Act(INFORM, domain, slot, wish))
        elif not self.agenda.informs(domain):
            slot, value = pairs[self._draws.pick(len(pairs))]
            self.agenda.push(Act(INFORM, domain, slot, value))
            if slot in wanted.get("reqt", {}):
                self.agenda.remove(REQUEST, domain, slot)
                wanted["reqt"][slot] = value

    def _choose(self, domain: str, slot: str, value: str) -> None:
        if slot == "choice" and value.strip().lower() not in _NO_CHOICE:
            self.agenda.push(Act(INFORM, domain, "choice", "any"))

    def _settle(self, domain: str, intent: str, pairs: Pairs) -> None:
        """Drop choices that a name has made, and refuse bookings that are not wanted."""
        if "inform" in intent or "recommend" in intent:
            for slot, _ in pairs:
                if slot == "name":
                    self.agenda.remove(INFORM, domain, "choice")
        current = self.current_domain
        if (
            (domain == "booking" or "booking" in intent)
            and current is not None
            and not self.goal[current].get("book")
        ):
            self.agenda.push(Act(INFORM, current, "NotBook", NONE))

    # What the user does of its own accord

    def _go_on(self) -> None:
        """Push the first thing of the goal that is not answered or not booked."""
        agenda = self.agenda
        for domain in self._domains:
            missing = missing_part(self.goal[domain])
            if missing is None:
                continue
            intent, slots = missing
            if not agenda.informs(domain) and not (
                agenda.asks(domain) if intent == REQUEST else agenda.informs(domain, booking=True)
            ):
                for slot, value in slots.items():
                    agenda.push(Act(intent, domain, slot, value))
            return


def _timed(domain: str, pairs: Iterable[tuple[str, str]]) -> Iterable[tuple[str, str]]:
    """Yield the pairs with `time` as the domain means it; where it means nothing, not at all."""
    for slot, value in pairs:
        if slot != "time" or domain == "restaurant":
            yield slot, value
        elif domain == "train":
            yield "duration", value
