"""What a response says in words: venues it names and values it gives, found in its text."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Mention:
    """A stretch of a response that names a venue or gives a value.

    `start` and `end` count characters of the response. `slot` is the placeholder's plain name
    (`name`, `phone`, `postcode`, …); `domain` the domain it was read as, None where no domain
    could be told. `value` is the database's own spelling of what is said, None when the database
    does not have it. `venues` are the ids of all rows of the domain that have this value, in table
    order; empty when there are none. `sure` is False where another reading was as good.
    """

    start: int
    end: int
    text: str
    slot: str
    domain: str | None
    value: str | None = None
    venues: tuple[str, ...] = ()
    sure: bool = True


@dataclass(frozen=True, slots=True)
class Delexicalized:
    """A response with placeholders for what it mentions, in the order of the text."""

    response: str
    mentions: tuple[Mention, ...]
