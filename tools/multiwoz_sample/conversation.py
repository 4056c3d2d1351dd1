"""A dialogue while it is being held: who said what, and what has been annotated."""

import copy
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from tools.dice import Deck, Dice
from tools.multiwoz_sample.goals import DomainGoal
from tools.multiwoz_sample.wording import Segment, Utterance, spoken, times_in_words, usable
from tools.multiwoz_sample.world import World

State = dict[str, dict[str, list[str]]]
Bookings = dict[str, dict[str, str]]


@dataclass(frozen=True)
class Exchange:
    """A user turn and the operator's answer, with the annotation after the user turn.

    `state` holds per domain and slot the value and then other ways in which it was said.
    `bookings` are those made up to and including the operator's turn.
    """

    domain: str
    user: Utterance
    operator: Utterance
    state: State
    bookings: Bookings
    requested: tuple[str, ...]


@dataclass(frozen=True)
class Dialogue:
    """A finished dialogue."""

    identity: str
    fold: str
    goals: tuple[DomainGoal, ...]
    exchanges: tuple[Exchange, ...]


class Conversation:
    """Collects the segments of both sides, turn by turn."""

    def __init__(self, world: World, dice: Dice, deck: Deck) -> None:
        """Begin, with nothing said."""
        self.world, self.dice, self.deck = world, dice, deck
        self.slip = ""
        """The mistake the operator is about to make, see `slips`."""
        # Some people never touch the shift key.
        self._casual = dice.chance(0.2)
        self.state: State = {}
        self.bookings: Bookings = {}
        self.settled: dict[str, str] = {}
        self.exchanges: list[Exchange] = []
        self._user: list[Segment] = []
        self._operator: list[Segment] = []

    def inform(self, domain: str, slot: str, value: str, *, said: str = "") -> None:
        """Annotate that the user wants `value`, possibly `said` in another way."""
        ways = [value, said] if said and slot in ("leaveat", "arriveby", "booktime") else [value]
        self.state.setdefault(domain, {})[slot] = list(dict.fromkeys(ways))

    def constraints(self, domain: str) -> dict[str, str]:
        """Return what the user wants so far, as first values."""
        return {slot: values[0] for slot, values in self.state.get(domain, {}).items()}

    def say_time(self, slot: str, value: str) -> str:
        """Return a value as this user says it: times often in words."""
        if slot in ("leaveat", "arriveby", "booktime") and self.dice.chance(0.5):
            return self.dice.pick(times_in_words(value))
        return spoken(slot, value)

    def user(
        self,
        domain: str,
        templates: Sequence[str],
        wishes: Mapping[str, str] | None = None,
        *,
        act: str = "",
        asked: tuple[str, ...] = (),
    ) -> None:
        """Let the user say one of the templates; `wishes` become part of the state."""
        wishes = wishes or {}
        values = {slot: self.say_time(slot, value) for slot, value in wishes.items()}
        template = self.deck.deal(usable(templates, values))
        if not template:
            return
        for slot, value in wishes.items():
            self.inform(domain, slot, value, said=values[slot])
        unspoken = tuple((s, v) for s, v in wishes.items() if "{" + s not in template)
        act = act or f"{domain.capitalize()}-Inform"
        if self._casual:
            template, values = template.lower(), {s: v.lower() for s, v in values.items()}
        self._user.append(Segment("user", domain, act, template, values, asked, unspoken))

    def operator(
        self,
        kind: str,
        domain: str,
        templates: Sequence[str],
        values: Mapping[str, str] | None = None,
        *,
        act: str,
        asked: tuple[str, ...] = (),
    ) -> None:
        """Let the operator say one of the templates that the values can fill."""
        shown = {s: spoken(s.rstrip("0123456789"), v) for s, v in (values or {}).items()}
        template = self.deck.deal(usable(templates, shown))
        if template:
            self._operator.append(Segment(kind, domain, act, template, shown, asked))

    def just_said(self, kind: str) -> bool:
        """Tell whether the operator has said something of a kind in this turn."""
        return any(segment.kind == kind for segment in self._operator)

    def close(self, domain: str) -> None:
        """End the exchange."""
        requested = [f"{s.domain}-{slot}" for s in self._user for slot in s.asked]
        self.exchanges.append(
            Exchange(
                domain,
                Utterance(tuple(self._user)),
                Utterance(tuple(self._operator)),
                copy.deepcopy(self.state),
                copy.deepcopy(self.bookings),
                tuple(requested),
            )
        )
        self._user, self._operator = [], []
