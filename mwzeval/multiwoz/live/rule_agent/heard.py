"""What is understood of a turn of the user, and what it is understood against."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from mwzeval.multiwoz.live.rule_agent.spoken_values import Spoken
from mwzeval.multiwoz.schema import DONTCARE

SHARED: Mapping[str, tuple[str, ...]] = {
    "area": ("restaurant", "hotel", "attraction"),
    "name": ("restaurant", "hotel", "attraction"),
    "pricerange": ("restaurant", "hotel"),
    "day": ("hotel", "restaurant", "train"),
    "people": ("hotel", "restaurant", "train"),
    "time": ("restaurant", "train", "taxi"),
    "food": ("restaurant",),
    "stars": ("hotel",),
    "internet": ("hotel",),
    "parking": ("hotel",),
    "stay": ("hotel",),
    "trainid": ("train",),
    "type": ("hotel", "attraction"),
    "place": ("train", "taxi"),
    "department": ("hospital",),
}
"""What is said → the domains in which it means something."""


class Wish(NamedTuple):
    """A value that the user wants, with the slots of states (`bookday` of a booking)."""

    domain: str
    slot: str
    value: str


class Sentence(NamedTuple):
    """A sentence of the user: its text in lower case, and the tokens `first` to before `after`.

    `topics` are tokens that name a domain, with it; `ride` is the kind of ride that its places and
    times are of, None for none.
    """

    low: str
    first: int
    after: int
    spoken: Sequence[Spoken]
    topics: Sequence[tuple[int, str]]
    ride: str | None


@dataclass(slots=True)
class Heard:
    """A turn of the user. `domains` are those that it is about, in the order of mention.

    `books` are those in which a booking is wanted, `declines` those in which none is; `given_up`
    are domains of which the user wants nothing more. In those that are `loose`, "a hotel" may be
    any place to stay.
    """

    wishes: list[Wish] = field(default_factory=list)
    requests: list[tuple[str, str]] = field(default_factory=list)
    domains: list[str] = field(default_factory=list)
    books: list[str] = field(default_factory=list)
    declines: list[str] = field(default_factory=list)
    given_up: list[str] = field(default_factory=list)
    loose: set[str] = field(default_factory=set)
    agrees: bool = False
    refuses: bool = False
    thanks: bool = False
    closes: bool = False
    wants_other: bool = False


@dataclass(slots=True)
class Situation:
    """What a turn is understood against.

    `current` is the domain spoken of, `domains` all so far, the latest last; `asked` what the agent
    has asked for; `wanted` what the user wants so far; `offered` what is known of the venue that
    was recommended, by domain.
    """

    current: str | None = None
    domains: list[str] = field(default_factory=list)
    asked: list[tuple[str, str]] = field(default_factory=list)
    wanted: dict[str, dict[str, str]] = field(default_factory=dict)
    offered: dict[str, Mapping[str, str]] = field(default_factory=dict)

    @property
    def names(self) -> frozenset[str]:
        """The venues that were recommended."""
        return frozenset(str(row["name"]) for row in self.offered.values() if "name" in row)

    def hear(self, domains: Iterable[str]) -> None:
        """Go on to what a turn is about."""
        for domain in domains:
            if domain in self.domains:
                self.domains.remove(domain)
            self.domains.append(domain)
            self.current = domain

    def value(self, domain: str, slot: str) -> str | None:
        """Return what the user wants, or what was recommended has, in a slot."""
        wanted = self.wanted.get(domain, {}).get(slot)
        if wanted is None or wanted == DONTCARE:
            found = self.offered.get(domain, {}).get(slot)
            return found if isinstance(found, str) else None
        return wanted


def plain(slot: str) -> str:
    """Return a slot without what marks it as one of a booking."""
    return slot.removeprefix("book")
