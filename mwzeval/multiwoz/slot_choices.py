"""Which of the slots that share their values is meant: times, places, prices, days."""

from __future__ import annotations

from collections.abc import Collection, Sequence

from mwzeval.multiwoz.words.recognition import Candidate
from mwzeval.multiwoz.words.text import Tokens

TAXI_WORDS = frozenset({"taxi", "taxis", "cab", "car", "driver", "pick", "picked"})
AWAY = frozenset({"from", "leaves", "leaving", "leave", "departs", "departing", "depart"})
TOWARDS = frozenset({"to", "towards", "toward"})
ARRIVING = ("arriv", "off", "destination")
BOOKED_DOMAINS = frozenset({"restaurant", "hotel"})


def is_about_taxi(words: Collection[str], active: Sequence[str]) -> bool:
    """Tell whether a response is about a ride from venue to venue."""
    return "taxi" in active or not TAXI_WORDS.isdisjoint(words)


def choose_slot(slot: str, tokens: Tokens, candidate: Candidate, active: Sequence[str]) -> str:
    """Return the slot of a candidate whose form alone does not tell it."""
    if slot == "place":
        return _way(tokens, candidate)
    if slot == "time":
        return _time(tokens, candidate, active)
    if slot == "free" or (slot == "price" and "attraction" in active):
        return "entrancefee"
    if slot == "day" and "train" not in active and BOOKED_DOMAINS.intersection(active):
        return "bookday"
    return {"people": "bookpeople", "stay": "bookstay"}.get(slot, slot)


def way_to_name(tokens: Tokens, candidate: Candidate) -> str | None:
    """Return whether a ride begins or ends at a named venue; None if it is named otherwise."""
    words = tokens.words
    position = candidate.first - 1
    if position >= 0 and words[position] == "the":
        position -= 1
    if position < 0:
        return None
    before, earlier = words[position], words[max(0, position - 3) : position]
    if before in AWAY:
        return "departure"
    if before in TOWARDS:
        return "destination"
    if before in ("at", "in"):
        if "up" in earlier:
            return "departure"
        if any(word.startswith(ARRIVING) for word in earlier):
            return "destination"
    return None


def _way(tokens: Tokens, candidate: Candidate) -> str:
    for word in reversed(tokens.words[max(0, candidate.first - 3) : candidate.first]):
        if word in AWAY:
            return "departure"
        if word in ("to", "in", "arrives", "arriving", "destination"):
            return "destination"
    return "destination"


def _time(tokens: Tokens, candidate: Candidate, active: Sequence[str]) -> str:
    for word in reversed(tokens.words[max(0, candidate.first - 8) : candidate.first]):
        if word.startswith(("arriv", "get")):
            return "arriveby"
        if word.startswith(("leav", "depart")):
            return "leaveat"
    return "booktime" if "restaurant" in active else "leaveat"
