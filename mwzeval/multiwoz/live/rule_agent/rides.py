"""Where a ride begins and ends, and when: stations of trains, and whatever a taxi may go to."""

from __future__ import annotations

import re
from collections.abc import Iterator

from mwzeval.multiwoz.live.rule_agent import cues
from mwzeval.multiwoz.live.rule_agent.heard import Sentence, Situation, Wish
from mwzeval.multiwoz.words.text import Tokens

DEPARTURE, DESTINATION = "departure", "destination"
_ENDS = (DEPARTURE, DESTINATION)
_FAR = 4
"""So many words before a place may tell which end it is."""
_KIND = {
    **dict.fromkeys(("hotel", "guesthouse", "guest house", "guest-house", "lodging"), "hotel"),
    **dict.fromkeys(("b&b", "place to stay"), "hotel"),
    "restaurant": "restaurant",
}
_STATION = ["train", "station"]
_VENUES = ("hotel", "restaurant", "attraction")


def time_slot(before: str, behind: str) -> str | None:
    """Return what a time is of, by the words of its sentence; None where none tells."""
    arrives = _last(cues.ARRIVES, before)
    leaves = _last(cues.LEAVES, before)
    if arrives != leaves:
        return "arriveby" if arrives > leaves else "leaveat"
    if _last(cues.BY, before) >= 0:
        return "arriveby"
    if re.match(r"\s*(?:or (?:later|after)|onwards)", behind):
        return "leaveat"
    if re.match(r"\s*(?:or (?:earlier|before)|arrival)", behind):
        return "arriveby"
    if _last(cues.AFTER, before) >= 0:
        return "leaveat"
    behind = behind[:30]
    if cues.ARRIVES.search(behind):
        return "arriveby"
    return "leaveat" if cues.LEAVES.search(behind) else None


def _last(pattern: re.Pattern[str], text: str) -> int:
    found = -1
    for match in pattern.finditer(text):
        found = match.start()
    return found


class Ends:
    """The ends of a ride, as far as a sentence tells them."""

    def __init__(self, tokens: Tokens, low: str, said: Sentence, situation: Situation) -> None:
        self._tokens = tokens
        self._low = low
        self._said = said
        self._situation = situation

    def wishes(self) -> Iterator[Wish]:
        """Yield departure and destination."""
        ride = str(self._said.ride)
        ends: dict[str, str] = {}
        if ride == "taxi" and cues.BETWEEN.search(self._said.low):
            ends = self._between()
        else:
            for first, value in sorted(self._places(ride)):
                end = self._end(first, ends)
                if end is not None:
                    ends.setdefault(end, value)
            if ride == "taxi":
                self._add_free(ends)
        is_timed = any(one.slot == "time" for one in self._said.spoken)
        if ride == "taxi" and not is_timed and cues.BY_BOOKING.search(self._said.low):
            booked = self._situation.wanted.get("restaurant", {}).get("booktime")
            if booked is not None:
                yield Wish("taxi", "arriveby", booked)
        for end, value in ends.items():
            yield Wish(ride, end, value)

    def _places(self, ride: str) -> Iterator[tuple[int, str]]:
        taken: set[int] = set()
        for one in self._said.spoken:
            if one.slot == "place" or (ride == "taxi" and one.slot == "name"):
                words = self._tokens.words[one.first : one.after]
                value = one.values[0] if len(one.values) == 1 else " ".join(words)
                taken.update(range(one.first, one.after))
                if ride == "taxi" and self._tokens.words[one.after : one.after + 2] == _STATION:
                    value = f"{value} {' '.join(_STATION)}"
                yield one.first, value
        if ride == "taxi":
            start = self._tokens.start(self._said.first)
            for match in cues.PLACE_WORDS.finditer(self._said.low):
                domain = _KIND.get(match["place"], "attraction")
                if match["place"] == "place":
                    continue
                name = self._situation.value(domain, "name")
                index = self._at(start + match.start())
                if name is not None and not taken.intersection((index, index + 1)):
                    yield index, name

    def _at(self, place: int) -> int:
        index = self._said.first
        while index + 1 < self._said.after and self._tokens.start(index + 1) <= place:
            index += 1
        return index

    def _end(self, first: int, known: dict[str, str]) -> str | None:
        words = self._tokens.words[max(self._said.first, first - _FAR) : first]
        for number, word in enumerate(reversed(words)):
            if word in cues.FROM:
                return DEPARTURE
            # Between Ely and Norwich; a train for Ely.
            if word in cues.TO or (number == 0 and word == "for"):
                return DESTINATION
            if number == 0 and word == "and" and DEPARTURE in known:
                return DESTINATION
        if self._said.ride == "taxi" and "at" in words:
            return DEPARTURE
        if "in" in words and self._said.ride == "train":
            return None
        following = self._tokens.words[first + 1 : first + 4]
        if "to" in following[:3] and DEPARTURE not in known and "going" not in words:
            return DEPARTURE
        asked = [
            slot
            for domain, slot in self._situation.asked
            if domain == self._said.ride and slot in _ENDS and slot not in known
        ]
        if asked:
            return asked[0]
        return None

    def _between(self) -> dict[str, str]:
        visited = [
            str(name)
            for domain in self._situation.domains
            if domain in _VENUES and (name := self._situation.value(domain, "name"))
        ]
        if len(visited) < 2:
            named = [value for _, value in sorted(self._places("taxi"))]
            visited = named if len(named) > 1 else visited
        if len(visited) < 2:
            return {}
        return {DEPARTURE: visited[-2], DESTINATION: visited[-1]}

    def _add_free(self, ends: dict[str, str]) -> None:
        """Add ends that are in no database."""
        for end, pattern in ((DEPARTURE, cues.FREE_FROM), (DESTINATION, cues.FREE_TO)):
            if end in ends:
                continue
            match = pattern.search(self._said.low)
            if match and _is_place(match["place"]):
                ends[end] = match["place"].removeprefix("the ").strip()
        asked = [
            slot for domain, slot in self._situation.asked if domain == "taxi" and slot in _ENDS
        ]
        if asked and not ends and len(asked) == 1:
            text = re.sub(
                r"^\W*(?:yes|please|the|it is|i am at|i will be at)?\s*", "", self._said.low
            )
            text = text.strip(" .,!?")
            if text and _is_place(text) and len(text.split()) < 7:
                ends[asked[0]] = text


_NO_PLACE = re.compile(
    r"[0-9]{1,2}:[0-9]{2}|^[0-9]+$|\b(?:people|nights?|tickets?|o'?clock|am|pm|taxi|cab|need|want|like|please|my|it|that|there|me|you|is|one"
    r"|booked|booking|reservation|day|time|both|two|thank|thanks|help|now|all|no|yes|what|which|this|them)\b"
)


def _is_place(text: str) -> bool:
    return not _NO_PLACE.search(text) and bool(text.strip())
