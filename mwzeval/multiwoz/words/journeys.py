"""Assign times and places to the departure or the arrival of a journey.

The decision depends on the table header, or on the nearest word for leaving or arriving. If only an
arrow, a dash or `to` separates two times, the first time is the departure. Without any evidence, a
time is read as a departure time and marked as uncertain.
"""

from __future__ import annotations

from collections.abc import Collection, Container, Iterator, Sequence

from mwzeval.multiwoz.words.gazetteer import Gazetteer
from mwzeval.multiwoz.words.text import Shown, Tokens, fold
from mwzeval.multiwoz.words.vocabulary import LISTS, PATTERNS, WORDS, has_any

# Beginnings of words, as arguments of `str.startswith`
OF_STATIONS, BEGINNING = tuple(LISTS["of stations"]), tuple(LISTS["beginning"])
ARRIVING = tuple(LISTS["arriving"])
LEAVING_AT, ARRIVING_AT = ("leav", "depart"), ("arriv", "reach", "terminat", "pull")
NOUNS = {
    **dict.fromkeys(("departure", "departures", "dep", "etd"), "leaveat"),
    **dict.fromkeys(("arrival", "arr", "eta"), "arriveby"),
}
"""Words after a time that determine its meaning: `a 05:51 arrival`."""


def is_about_taxi(words: Collection[str], active: Sequence[str]) -> bool:
    """Return whether a response is about a taxi ride between venues."""
    return "taxi" in active or has_any("taxi words", words)


def way_to_name(tokens: Tokens, first: int) -> str | None:
    """Return `departure` or `destination` if a venue is a place of the journey, else None."""
    position = first - 2 if tokens.word(first - 1) == "the" else first - 1
    before = tokens.word(position)
    if before in WORDS["away"]:
        return "departure"
    if before in ("to", "towards", "toward"):
        return "destination"
    if before in ("at", "in"):
        earlier = tokens.words[max(0, position - 3) : position]
        if "up" in earlier:
            return "departure"
        if any(word.startswith(ARRIVING) for word in earlier):
            return "destination"
    return None


def is_station(gazetteer: Gazetteer, tokens: Tokens, first: int, after: int) -> bool:
    """Return whether a place is the start or end of a journey. "Cambridge" may be neither."""
    words = tokens.words
    before, following = tokens.word(first - 1), tokens.word(after)
    if before in WORDS["enjoyed"]:
        return False
    if words[first] != "cambridge" or after > first + 1:
        return True
    earlier = words[max(0, first - 5) : max(0, first - 1)]
    if before == "to" and has_any("visits", earlier[-1:]) and following != "from":
        return False
    return (
        before in WORDS["before stations"]
        or following in ("at", "by", "to")
        or has_any("arrows", (before, following))
        or before == ">"
        or before == following == "|"
        or ":" in following[1:]
        or (before == "and" and "between" in earlier)
        or words[after : after + 2] == ["-", ">"]
        or (before == "of" and earlier[-1:] == ["out"])
        or (
            before in (":", "|", "in", "at")
            and any(w.startswith(OF_STATIONS) for w in earlier[-3:])
        )
        or _is_beside_place(gazetteer, tokens, first, after)
    )


def _is_beside_place(gazetteer: Gazetteer, tokens: Tokens, first: int, after: int) -> bool:
    """Return whether only a dash separates a place from another place: `Ely-Cambridge`."""

    def end(index: int) -> int | None:
        other = gazetteer.longest(tokens, index)
        return other.after if other and other.meanings[0][0] == "place" else None

    if tokens.word(first - 1) == "-":
        return any(end(index) == first - 1 for index in range(max(0, first - 4), first - 1))
    return (
        tokens.word(after) == "-" and after + 1 < len(tokens.words) and end(after + 1) is not None
    )


def unknown_stations(
    text: str, tokens: Tokens, known: Container[str], places: Sequence[tuple[int, int]]
) -> Iterator[tuple[int, int]]:
    """Yield the first and the last token of each station name that is not in the database.

    Station names are capitalized. An unknown station name follows words about a journey, or is
    connected with a station of the database (at one of the positions `places`). At least one word
    of the name is not in `known`.
    """
    found = list(PATTERNS["station behind words"].finditer(text))
    for start, end in places:
        behind = PATTERNS["station behind another"].match(text, end)
        before = PATTERNS["station before another"].search(text, max(0, start - 50), start)
        found += [match for match in (behind, before) if match]
    done = 0
    for start, end in sorted({match.span(match.lastgroup or 0) for match in found}):
        first, after = tokens.after(start, 0), tokens.after(end, 0)
        words = tokens.words[first:after]
        is_new = any(word not in known for word in words) and not any(
            word in WORDS[key] for key in ("labels", "no stations") for word in words
        )
        if first >= done and is_new:
            yield first, after
            done = after


class Journeys:
    """Reads the times and places of a response in order."""

    def __init__(self, text: Shown, tokens: Tokens) -> None:
        self._text = text
        self._tokens = tokens
        self._place = (0, 0)
        self._time: tuple[int, str | None] = (0, None)
        self.with_train = False
        """Whether a train id was read before."""
        self.is_sure = True
        """Whether the meaning of the last time was determined by words."""

    def way(self, first: int, after: int) -> str:
        """Return whether the place between two tokens is the `departure` or the `destination`."""
        way = self._way(first, after)
        self._place = first, after
        return way

    def time(self, first: int, after: int) -> str | None:
        """Return `leaveat` or `arriveby` for a time in a text, or None if there is no evidence."""
        self.is_sure = True
        slot = self._ending(first) or self._noun(after) or self._cue(first)
        self.is_sure &= slot is not None
        self._time = after, slot
        return slot

    def _way(self, first: int, after: int) -> str:
        words = self._tokens.words
        for word in self._heading(first):
            if way := _way_of(word):
                return way
        before = words[max(0, first - 4) : first]
        if before[-1:] == ["and"] and "between" in before:
            return "destination"
        if before[-1:] == [">"] or (before[-1:] == ["-"] and self._place[1] == first - 1):
            return "destination"
        for word in reversed(before):
            if word in WORDS["arrows"]:
                return "destination"
            if way := _way_of(word):
                return way
            if word in ".!?¶":
                break
        following = self._tokens.word(after)
        if following[:1].isdigit():
            following = self._tokens.word(after + 1)
        goes_on = following in WORDS["arrows"] or following in ("to", "-", ">")
        return "departure" if goes_on and "in" not in before else "destination"

    def _ending(self, first: int) -> str | None:
        """Return `arriveby` for the second time of a pair."""
        words = self._tokens.words
        slots = {_time_of(word) for word in self._heading(first)} - {None}
        if len(slots) == 1:
            return slots.pop()
        before, slot = self._time
        between = words[before:first]
        begin, end = self._place
        if end == first and before < begin:
            between = words[before:begin]
        if not before or not between or len(between) > 3 or slot == "arriveby":
            return None
        links = WORDS["between times" if slot else "loosely between times"]
        if not links.issuperset(between):
            return None
        if not self.with_train and has_any(
            "before listed times", words[max(0, before - 5) : before]
        ):
            # `Trains leave from 05:00 to 23:00`.
            return None
        return "arriveby"

    def _noun(self, after: int) -> str | None:
        following = self._tokens.words[after : after + 5]
        while following and following[0] in ("(", "-"):
            following = following[1:]
        slot = NOUNS.get(following[0]) if following else None
        rest = [word for word in following[1:] if word != "time"]
        if rest and rest[0] in (":", "at", "by", "is", "-", "|"):
            # `Leaves 05:00, arrival at 05:51`: the word `arrival` refers to the next time.
            rest = rest[1:]
        return None if rest and rest[0][0].isdigit() else slot

    def _cue(self, first: int) -> str | None:
        words = self._tokens.words
        begin, end = self._place
        at = self._tokens.word(first - 1) in ("at", "by", "around", "for", "@")
        for index in range(first - 1, max(-1, first - 1 - 8), -1):
            word = words[index]
            if at and index == begin - 1 and end == first - 1 and word in ("in", "into", "from"):
                earlier = range(index - 1, max(-1, index - 4), -1)
                told = next(filter(None, map(self._time_at, earlier)), None)
                return told or ("leaveat" if word == "from" else "arriveby")
            if word == "." and words[index - 1] in ("arr", "dep", "lv", "dpt"):
                continue
            if word in ".?!¶" and index < first - 1:
                return None
            slot = self._time_at(index)
            if slot is not None:
                # A word that refers to another time may also apply to this time.
                self.is_sure = not index < self._time[0] <= first
                return slot
            if index == first - 2 and at and word in ("there", "in", "home"):
                return "arriveby"
            if index == first - 2 and at and word in ("off", "out"):
                return "arriveby" if self._tokens.word(index - 1) in WORDS["getting"] else "leaveat"
        return None

    def _time_at(self, index: int) -> str | None:
        """Return the slot of a time according to a token."""
        word = self._tokens.words[index]
        if word in WORDS["getting"]:
            following = self._tokens.word(index + 1)
            if following in ("you", "back", "everyone", "them", "us"):
                following = self._tokens.word(index + 2)
            return (
                "arriveby"
                if following in ("in", "into", "there", "to", "off", "home", "at")
                else None
            )
        return _time_of(word)

    def _heading(self, first: int) -> Sequence[str]:
        heading = self._text.heading(self._tokens.start(first))
        return fold(heading) if heading else ()


def _way_of(word: str) -> str | None:
    if word in WORDS["away"] or word.startswith(BEGINNING):
        return "departure"
    return "destination" if word in WORDS["into"] or word.startswith(ARRIVING) else None


def _time_of(word: str) -> str | None:
    if word in WORDS["leaving words"] or word.startswith(LEAVING_AT):
        return "leaveat"
    if word in WORDS["arriving words"] or word.startswith(ARRIVING_AT):
        return "arriveby"
    return None
