"""A goal in sentences, for people and language models that play the user.

Everything that a user may be judged by is said, and values are said as the goal has them: "the same
day" would leave to the reader which day a booking must be for.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from mwzeval.multiwoz.goals.goal import ORDERING, Goal, places_before_taxi
from mwzeval.multiwoz.schema import DONTCARE_SPELLINGS, FLAG_SLOTS

TOGETHER = 3
"""Constraints in a sentence at most."""

_NEEDED: Mapping[str, str] = {
    "restaurant": "You are {}looking for a restaurant",
    "hotel": "You {}need a place to stay",
    "attraction": "You {}want to visit an attraction",
    "train": "You {}want to take a train",
    "taxi": "You {}need a taxi",
    "police": "You {}need help from the police",
    "hospital": "You {}have to go to the hospital",
}
_SHOULD: Mapping[str, str] = {
    "area": "be in the {}",
    "food": "serve {} food",
    "name": "be called {}",
    "pricerange": "be in the {} price range",
    "type": "be of the type {}",
    "department": "have the department {}",
    "departure": "leave from {}",
    "destination": "go to {}",
    "day": "run on {}",
    "leaveAt": "leave at {} or later",
    "arriveBy": "arrive by {}",
}
"""Slot of `info` → what comes after "it should"."""
_ASKED: Mapping[str, str] = {
    "phone": "phone number",
    "pricerange": "price range",
    "food": "kind of food",
    "stars": "number of stars",
    "trainID": "train id",
    "duration": "travel time",
    "leaveAt": "departure time",
    "arriveBy": "arrival time",
}
"""Slot of `reqt` → what it is called; the others by their names."""
_BOOKED: Mapping[str, str] = {
    "people": "for {}",
    "stay": "for {}",
    "time": "at {}",
    "day": "on {}",
}
"""Slot of `book` → how a booking says it, in this order."""
_COUNTED: Mapping[str, tuple[str, str]] = {
    "people": ("person", "people"),
    "stay": ("night", "nights"),
    "stars": ("star", "stars"),
}
_BOOK: Mapping[str, str] = {
    "restaurant": "Book a table",
    "hotel": "Book a room",
    "train": "Book seats",
}


def goal_sentences(goal: Goal) -> list[str]:
    """Return the goal as sentences that speak to the user, in the order of its domains."""
    sentences: list[str] = []
    for domain in goal[ORDERING]:
        part = goal[domain]
        needed = _NEEDED[domain].format("also " if sentences else "")
        sentences.append(f"{needed}{_way(goal) if domain == 'taxi' else ''}.")
        info = part.get("info", {})
        sentences += _constraints(part.get("fail_info", info))
        sentences += _second_choice(part.get("fail_info", info), info)
        if part.get("book"):
            sentences += _booking(domain, part["book"], part.get("fail_book"))
        if part.get("reqt"):
            sentences.append(f"Ask for {_listed([_asked(slot) for slot in part['reqt']])}.")
    return sentences


def _way(goal: Goal) -> str:
    """Return where a taxi goes as far as the goal leaves that to its other domains."""
    places = places_before_taxi(goal)
    info = goal["taxi"].get("info", {})
    way = ""
    if "departure" not in info and len(places) > 1:
        way += f" from the {places[-2]}"
    if "destination" not in info and places:
        way += f" to the {places[-1]}"
    return way


def _constraints(info: Mapping[str, str]) -> Iterator[str]:
    """Yield sentences about what is looked for."""
    wanted = [
        _phrase(slot, value) for slot, value in info.items() if value not in DONTCARE_SPELLINGS
    ]
    # As many sentences as are needed, of much the same length.
    number = -(-len(wanted) // TOGETHER)
    for place in range(number):
        yield f"It should {_listed(wanted[place::number])}."
    for slot, value in info.items():
        if value in DONTCARE_SPELLINGS:
            yield f"Any {_ASKED.get(slot, slot)} will do."


def _second_choice(failed: Mapping[str, str], info: Mapping[str, str]) -> Iterator[str]:
    """Yield what to ask for where there is nothing of what is tried first."""
    other = [_phrase(slot, value) for slot, value in info.items() if failed.get(slot) != value]
    if other:
        yield f"If there is none, look for one that should {_listed(other)} instead."
    dropped = [_ASKED.get(slot, slot) for slot in failed if slot not in info]
    if dropped:
        yield f"If there is none, you do not mind the {_listed(dropped)}."


def _asked(slot: str) -> str:
    return f"whether there is {slot}" if slot in FLAG_SLOTS else f"the {_ASKED.get(slot, slot)}"


def _phrase(slot: str, value: str) -> str:
    if slot in _COUNTED:
        return f"have {_counted(slot, value)}"
    if slot in FLAG_SLOTS:
        return f"have {'no ' if value == 'no' else ''}{slot}"
    if slot in _SHOULD:
        return _SHOULD[slot].format(value)
    return f"have the {slot} {value}"


def _booking(
    domain: str, book: Mapping[str, str], failed: Mapping[str, str] | None
) -> Iterator[str]:
    how = f"{_BOOK.get(domain, 'Book it')} {_details(failed or book)}"
    yield f"{how}, and get the reference number."
    if failed:
        other = {slot: value for slot, value in book.items() if failed.get(slot) != value}
        if other:
            yield f"If that cannot be booked, book {_details(other)} instead."


def _details(book: Mapping[str, str]) -> str:
    slots = [*(slot for slot in _BOOKED if slot in book), *sorted(book.keys() - _BOOKED.keys())]
    how = {**_BOOKED, "day": "from {}"} if "stay" in book else _BOOKED
    return " ".join(
        how.get(slot, f"with the {slot} {{}}").format(_counted(slot, book[slot])) for slot in slots
    )


def _counted(slot: str, value: str) -> str:
    if slot not in _COUNTED:
        return value
    one, many = _COUNTED[slot]
    return f"{value} {one if value == '1' else many}"


def _listed(parts: Sequence[str]) -> str:
    """Return `a, b and c`."""
    *most, last = parts
    return f"{', '.join(most)} and {last}" if most else last
