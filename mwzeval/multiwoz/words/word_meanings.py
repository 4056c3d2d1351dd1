"""Whether a word that may be a value of the database is one, and of which slot, by those beside it.

`a hotel` is one, `the hotel` is not; so are `free entry` and `free parking`, `in central Cambridge`
and `the central station`.
"""

from __future__ import annotations

from collections.abc import Sequence

from mwzeval.multiwoz.words import amenities
from mwzeval.multiwoz.words.gazetteer import Gazetteer, Meaning
from mwzeval.multiwoz.words.journeys import Journeys, is_station
from mwzeval.multiwoz.words.surface_tables import (
    AMENITIES,
    DAY_SPELLINGS,
    words_of,
)
from mwzeval.multiwoz.words.text import Tokens

FREE_OF_OTHERS = frozenset(
    words_of(
        """
    parking wifi internet wireless wi fi school lane feel time night breakfast
    """
    )
)
Accepted = tuple[int, tuple[Meaning, ...]]

PRICED = frozenset(
    words_of(
        """
    price priced prices pricing option options choice hotel hotels restaurant restaurants place
    places guesthouse guesthouses range venue eatery lodging accommodation dining one side friendly
    """
    )
)
"""Words beside `budget`, `reasonable`, `premium` that say that a price is meant."""
LOOSE_PRICES = frozenset({"budget", "reasonable", "premium", "luxurious"})
OTHER_PRICED = frozenset(
    words_of(
        """
    taxi taxis cab cabs ride rides fare fares ticket tickets train trains parking walk stroll
    drive distance drinks breakfast travel
    """
    )
)
"""What is cheap or moderate, but no venue."""
NOT_BEFORE_TYPES = frozenset(
    words_of(
        """
    the this that your their its which each either what my our type guesthouse another these
    those house lodge
    """
    )
)
LODGINGS = frozenset({"hotel", "guesthouse"})
NOT_AFTER_TYPES = frozenset({"name", "type", "room", "rooms", "booking", "reservation"})


def accepted(
    gazetteer: Gazetteer, tokens: Tokens, index: int, after: int, meanings: tuple[Meaning, ...]
) -> Accepted | None:
    """Return the end and meanings of a value as they are here; None if it is no value here."""
    words = tokens.words
    slot = meanings[0][0]
    if slot in ("name", "short", "address"):
        return after, meanings
    before = words[index - 1] if index else ""
    following = words[after] if after < len(words) else ""
    if slot == "area":
        return _area(words, index, after, before, following, meanings)
    if slot == "free":
        if following in FREE_OF_OTHERS or before in ("feel", "has", "have", "offers", "offer"):
            return (after, meanings) if following in ("admission", "entrance", "entry") else None
        return after, meanings
    if slot == "type":
        if following in NOT_AFTER_TYPES:
            return None
        if before in NOT_BEFORE_TYPES:
            # No placeholder stands for `the museum`, but `the museum X` says what X is.
            generic = meanings[0][1] in LODGINGS
            return None if generic else (after, (("thetype", meanings[0][1]),))
        return after, meanings
    if slot == "pricerange":
        vain = before == "how" or following in OTHER_PRICED
        loose = after == index + 1 and words[index] in LOOSE_PRICES
        if vain or (loose and following not in PRICED and before != "price"):
            return None
        return after, meanings
    if slot == "day" and words[index] in DAY_SPELLINGS:
        return (after, meanings) if before in DAY_BEFORE else None
    if slot in AMENITIES:
        told = amenities.said_of(words, index, after)
        return None if told is None else (told[0], ((slot, told[1]),))
    if slot == "place":
        return (after, meanings) if is_station(gazetteer, tokens, index, after) else None
    return after, meanings


def _area(
    words: list[str],
    index: int,
    after: int,
    before: str,
    following: str,
    meanings: tuple[Meaning, ...],
) -> Accepted | None:
    if before == "towninfo" or following in ELSEWHERE:
        return None
    rest = words[after : after + 4]
    word = words[index]
    if word == "central" and before not in ("in", "very") and following not in CENTRAL_AFTER:
        return None
    if word in ("eastern", "western", "southern") and following not in SIDES:
        return None
    if following == "end" and rest[1:2] != ["of"] and before != "the":
        return None
    for phrase in AREA_PHRASES:
        if rest[: len(phrase)] == phrase:
            return after + len(phrase), meanings
    return after, meanings


ELSEWHERE = frozenset(
    words_of(
        """
    road street american indian african korean asian african london kensington anglia midlands
    station america africa korea asia carolina terrace avenue lane parade gate pole coast sea
    italian chinese european cuisine food
    """
    )
)
"""Words behind a direction that make it another place, or a cuisine."""
SIDES = frozenset({"part", "side", "area", "end", "edge", "cambridge", "district", "suburbs"})
CENTRAL_AFTER = frozenset({"cambridge", "area", "location", "part", "and", "in", "one"})
DAY_BEFORE = frozenset({"on", "every", "this", "next", "for", "from", "day", *":|(,/-¶"})


def clause(words: list[str], ends: frozenset[str] = frozenset(".!?;¶|")) -> list[str]:
    """Return words up to the first sign that ends a clause."""
    return next((words[:at] for at, word in enumerate(words) if word in ends), words)


AREA_PHRASES = [
    phrase.split()
    for phrase in (
        "of the city",
        "of the town",
        "of cambridge",
        "of town",
        "side of town",
        "side of the city",
        "side of cambridge",
        "side",
        "part of town",
        "part of the city",
        "part of cambridge",
        "end of town",
        "end",
    )
]
"""What belongs to an area that it follows, the longer before the shorter."""

BOOKED_DOMAINS = frozenset({"restaurant", "hotel"})


SAID_OTHERWISE = {"nostars": "stars", "thetype": "type", "oddfood": "food"}
"""Slots of the recogniser that no placeholder stands for, and what they are of."""


def choose_slot(
    slot: str,
    words: list[str],
    first: int,
    after: int,
    active: Sequence[str],
    named: str | None,
    journeys: Journeys,
) -> str:
    """Return the slot of the words from `first` to `after`, whose form alone does not tell it.

    `active` are the domains of the turn, `named` that of the venue named last in the response.
    """
    if slot in ("place", "station"):
        return journeys.way(first, after)
    if slot == "time":
        return _time(words, first, active, journeys.time(first, after))
    if slot == "price":
        return _price(words, first, after, active, named)
    if slot in ("free", "nofee"):
        return "entrancefee"
    if slot in SAID_OTHERWISE:
        return SAID_OTHERWISE[slot]
    if slot == "day" and "train" not in active and BOOKED_DOMAINS.intersection(active):
        return "bookday"
    return {"people": "bookpeople", "stay": "bookstay"}.get(slot, slot)


def _time(words: list[str], first: int, active: Sequence[str], read: str | None) -> str:
    if "attraction" in active:
        for word in reversed(words[max(0, first - 8) : first]):
            if word.startswith(("open", "clos")):
                return "openhours"
            if word.startswith(("arriv", "leav", "depart")):
                break
    return read or ("booktime" if "restaurant" in active else "leaveat")


PRICED_NIGHTS = frozenset({"night", "nightly", "room", "rooms", "overnight"})
ROOM_KINDS = frozenset(words_of("single singles double doubles twin family sgl dbl"))
PRICED_STAYS = frozenset(words_of("nights total totals altogether deposit stay"))
"""Words beside the price of a whole stay, which no table has."""
PRICE_SIGNS = frozenset({"£", "gbp", "-", ":", "("})
PRICED_ENTRY = frozenset({"entrance", "admission", "entry", "enter"})
PRICED_RIDES = frozenset({"train", "fare", "journey", "ride"})


def _price(
    words: list[str], first: int, after: int, active: Sequence[str], named: str | None
) -> str:
    """Return whether a price is that of a room, of a visit or of a ticket, by the words beside."""
    earlier = words[max(0, first - 8) : first][::-1]
    while earlier and earlier[0] in PRICE_SIGNS:
        earlier = earlier[1:]
    later = words[after : after + 5]
    if later[:1] == ["("]:
        later = later[1:]
    beside = (*clause(earlier, CLAUSE_ENDS), *clause(later, CLAUSE_ENDS))
    if not PRICED_STAYS.isdisjoint(beside):
        return "price"
    of_room = named == "hotel" or (named is None and "hotel" in active)
    for word in beside:
        if word in PRICED_NIGHTS or (word in ROOM_KINDS and of_room):
            return "roomprice"
        if word in PRICED_ENTRY:
            return "entrancefee"
        if word in PRICED_RIDES:
            return "price"
    of_visit = named == "attraction" or ("attraction" in active and "train" not in active)
    return "entrancefee" if of_visit else "price"


CLAUSE_ENDS = frozenset(".!?¶,;|-")
LIMITS = frozenset({"before", "after", "between", "than", "closest", "past", "until"})
COMPARED = frozenset({"more", "less", "too", "ranging", "ranges"})
DENIED = frozenset({"no", "not", "any"})


DIETS = frozenset({"vegetarian", "vegan", "halal", "kosher", "traditional", "unusual"})
MEALS = frozenset(words_of("dish dishes option options meal meals choice choices menu menus items"))


def is_claim(slot: str, words: list[str], first: int) -> bool:
    """Tell whether a value is said to be so: neither `after 18:00` nor `a more expensive one`."""
    before = words[max(0, first - 3) : first]
    if slot in ("leaveat", "arriveby"):
        return LIMITS.isdisjoint(before[-2:])
    if slot == "pricerange":
        comparative = words[first] in ("cheaper", "cheapest")
        return not comparative and COMPARED.isdisjoint(before)
    if slot != "food":
        return True
    is_diet = words[first] in DIETS and not MEALS.isdisjoint(words[first + 1 : first + 2])
    return not is_diet and DENIED.isdisjoint(before[-1:])
