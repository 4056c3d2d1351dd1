"""What is open when a user says that it has everything, told from the words of the dialogue.

Wishes count as expressed when either side has said them, because an agent may guess what is wanted
and be right; for a first wish that cannot be had the second one counts as well. Answers and
bookings count when the agent has told them, as the agenda user would have heard, or in whatever way
the values can be found in its words. What an agent does after the user's last message is too late.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from mwzeval.conversation.messages import ASSISTANT_ROLE, USER_ROLE, AgentTurn
from mwzeval.multiwoz.acts import BOOKING, NONE, SYSTEM_SLOTS, USER_SLOTS, Act
from mwzeval.multiwoz.goals.goal import NAMED_AS, ORDERING, Goal
from mwzeval.multiwoz.live.reading.calls import calls_of
from mwzeval.multiwoz.live.reading.reader import AgentReader
from mwzeval.multiwoz.live.reading.values import ACT_SLOTS
from mwzeval.multiwoz.live.user import TELLING, fits, heard_acts
from mwzeval.multiwoz.live.verdicts.answers import slot_of
from mwzeval.multiwoz.live.verdicts.telling import requested_slots
from mwzeval.multiwoz.normalization.normalize import normalize_slot
from mwzeval.multiwoz.schema import DONTCARE_SPELLINGS
from mwzeval.multiwoz.words.text import Mention, fold

_ASKED_WITH: Mapping[str, tuple[str, ...]] = {
    "phone": ("phone", "number", "contact"),
    "postcode": ("postcode", "post", "zip"),
    "pricerange": ("price", "expensive"),
    "entrance fee": ("fee", "cost", "price"),
    "trainID": ("id",),
    "duration": ("duration", "long", "travel"),
    "price": ("price", "cost", "fare"),
    "leaveAt": ("leave", "depart", "departure"),
    "arriveBy": ("arrive", "arrival"),
    "car type": ("car", "type"),
    "internet": ("internet", "wifi"),
    "parking": ("parking", "park"),
}
"""Slot → words with which it may be asked for, beside its name."""
_FACILITIES = frozenset({"internet", "parking"})


class _Dialogue:
    """What was said in a dialogue, and what of it the user could hear."""

    def __init__(self, goal: Goal, reader: AgentReader) -> None:
        self._goal = goal
        self._reader = reader
        self._context = reader.context(goal)
        self._values: list[Mention] = []
        self._words = " "
        self.told: set[tuple[str, str]] = set()
        """Domain and slot of answers, as verdicts call it."""
        self.booked: set[str] = set()

    def say(self, text: str) -> None:
        """Go on with a message of the user."""
        mentions = self._note(text)
        words = frozenset(fold(text))
        self._context.said(self._acts(mentions, words))

    def hear(self, messages: Sequence[Mapping[str, Any]], text: str) -> None:
        """Go on with a turn of the agent."""
        mentions = self._note(text)
        turn = AgentTurn(tuple(map(dict, messages)), text)
        acts = self._reader.acts_of(turn, self._context)
        for act in heard_acts(acts, self._goal[ORDERING], self._context.domain):
            if act.intent in TELLING and act.value:
                self.told.add((act.domain, slot_of(act.slot)))
            if act.intent in BOOKING:
                self.booked.add(act.domain)
        self.booked.update(call.domain for call in calls_of(messages) if call.booked and text)
        for mention in mentions:
            self.told.update(self._slots_of(mention))

    def has_said(self, domain: str, slot: str, value: str) -> bool:
        """Tell whether anybody has said a value of a goal."""
        if value in DONTCARE_SPELLINGS:
            return True
        if slot in _FACILITIES:
            return any(f" {word} " in self._words for word in _ASKED_WITH[slot])
        if f" {' '.join(fold(value))} " in self._words:
            return True
        normal = normalize_slot(slot)
        return any(
            normal in (mention.slot, mention.slot.removeprefix("book"))
            and fits(domain, slot, mention.value or mention.text, value)
            for mention in self._values
        )

    def _note(self, text: str) -> list[Mention]:
        self._words += "".join(f"{word} " for word in fold(text))
        mentions = self._reader.mentions_of(text)
        self._values += mentions
        return mentions

    def _acts(self, mentions: Sequence[Mention], words: frozenset[str]) -> Iterator[Act]:
        """Yield what a message of the user speaks of, as far as that helps to read the answer."""
        domains = [
            domain
            for domain in self._goal[ORDERING]
            if domain in words
            or any(words.issuperset(fold(name)) for name in NAMED_AS.get(domain, ()))
            or any(mention.domain == domain for mention in mentions)
        ]
        for domain in domains:
            yield Act("Inform", domain.capitalize(), NONE, NONE)
        for domain in domains or [self._context.domain or ""]:
            for slot in self._goal.get(domain, {}).get("reqt", ()):
                spoken = USER_SLOTS[domain].get(slot)
                if spoken and not words.isdisjoint((slot, *_ASKED_WITH.get(slot, ()))):
                    yield Act("Request", domain.capitalize(), spoken, "?")

    def _slots_of(self, mention: Mention) -> Iterator[tuple[str, str]]:
        for domain in self._goal[ORDERING]:
            if mention.domain in (None, domain):
                spoken = ACT_SLOTS.get(domain, {}).get(mention.slot)
                slot = SYSTEM_SLOTS[domain].get(spoken.lower()) if spoken else None
                if slot is not None:
                    yield domain, slot_of(slot)


def left_open(
    goal: Goal, messages: Sequence[Mapping[str, Any]], reader: AgentReader
) -> Iterator[str]:
    """Yield what of a goal was never said, not told or not booked before the user's last message.

    `goal` is as the dialogue began.
    """
    dialogue = _Dialogue(goal, reader)
    last = max((i for i, one in enumerate(messages) if one.get("role") == USER_ROLE), default=0)
    of_agent: list[Mapping[str, Any]] = []
    for message in messages[: last + 1]:
        text = message.get("content")
        if message.get("role") != USER_ROLE:
            of_agent.append(message)
            continue
        heard = [
            one["content"]
            for one in of_agent
            if one.get("role") == ASSISTANT_ROLE and isinstance(one.get("content"), str)
        ]
        if of_agent:
            dialogue.hear(of_agent, "\n".join(filter(None, heard)))
            of_agent = []
        if isinstance(text, str):
            dialogue.say(text)
    for domain in goal[ORDERING]:
        yield from _open_in(domain, goal[domain], dialogue)


def _open_in(domain: str, part: Mapping[str, Any], dialogue: _Dialogue) -> Iterator[str]:
    for wanted, first in (("info", "fail_info"), ("book", "fail_book")):
        for slot, value in part.get(wanted, {}).items():
            other = part.get(first, {}).get(slot, value)
            if not any(dialogue.has_said(domain, slot, each) for each in (value, other)):
                yield f"{domain} {slot} {value} is never said"
    can_be_told = set(map(slot_of, SYSTEM_SLOTS[domain].values()))
    for slot in requested_slots(part):
        if slot in can_be_told and (domain, slot) not in dialogue.told:
            yield f"{domain} {slot} is not told"
    if "book" in part and domain not in dialogue.booked:
        yield f"{domain} is not booked"
