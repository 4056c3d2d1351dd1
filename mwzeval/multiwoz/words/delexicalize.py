"""Delexicalize responses, that is, replace values of the database by placeholders.

The words of a response are read once. At each word, the longest database value that begins at this
word is used, in any of its usual spellings. Phone numbers, postcodes, references, train ids, times
and prices are recognized by their form; counts are recognized by adjacent words. The domain of an
ambiguous value is determined by the active domains, the state and earlier mentions. The same
evidence determines the slot of a value that could belong to several slots (times, places, prices,
days).

Whether a time or place is the departure or the arrival of a journey depends on the table header, or
on the nearest word for leaving or arriving. If only an arrow, a dash or `to` separates two times,
the first time is the departure. Without any evidence, a time is read as a departure time and marked
as uncertain.
"""

from __future__ import annotations

from collections.abc import Container, Iterator, Mapping, Sequence
from functools import lru_cache
from itertools import dropwhile, takewhile
from typing import Any

from mwzeval.multiwoz.normalization import State
from mwzeval.multiwoz.placeholders import PLACEHOLDERS
from mwzeval.multiwoz.schema import VENUE_DOMAINS
from mwzeval.multiwoz.words.gazetteer import NOWHERE, Found, Gazetteer
from mwzeval.multiwoz.words.numbers import SPELLED, Candidate
from mwzeval.multiwoz.words.recognition import Recognizer, in_landmark_phrase
from mwzeval.multiwoz.words.text import (
    LANDMARK,
    Delexicalized,
    Mention,
    Shown,
    Tokens,
    fold,
    lowered,
    shown,
)
from mwzeval.multiwoz.words.vocabulary import LISTS, PATTERNS, TAILS, WORDS, has_any

DOMAINS_OF = {
    **dict.fromkeys(("name", "address", "postcode", "area", "pricerange"), VENUE_DOMAINS),
    "phone": (*VENUE_DOMAINS, "taxi", "police", "hospital"),
    "food": ("restaurant",),
    "type": ("hotel", "attraction"),
    "stars": ("hotel",),
    "entrancefee": ("attraction",),
    **dict.fromkeys(("reference", "choice"), ("restaurant", "hotel", "train", "attraction")),
    **dict.fromkeys(("departure", "destination", "leaveat", "arriveby"), ("train", "taxi")),
    **dict.fromkeys(("trainid", "duration", "price", "day"), ("train",)),
    **dict.fromkeys(("roomprice", "internet", "parking"), ("hotel",)),
    "openhours": ("attraction",),
}
"""The possible domains of each slot."""
BY_FORM = frozenset(
    {
        *("day", "departure", "destination", "leaveat", "arriveby", "duration", "price"),
        *("entrancefee", "roomprice", "internet", "parking", "openhours"),
    }
)
"""Slots whose values are common words. A common word is a claim only if its domain is discussed."""
CLAIMS_ONLY = frozenset(
    {"station", "nofee", "nostars", "internet", "parking", "thetype", "oddfood"}
)
"""Slots whose values are compared with the database but not replaced by placeholders."""
BY_NAME = frozenset({"area", "pricerange", "type", "phone", "postcode", "address", "reference"})
"""The domain of these slots is the domain of the venue whose name precedes the value in the same
response."""
LINKS = [["and"], ["and", "the"], ["or"], [","], [",", "and"]]


SLOT_OF = {
    "free": "entrancefee",
    "nofee": "entrancefee",
    "nostars": "stars",
    "thetype": "type",
    "oddfood": "food",
    "people": "bookpeople",
    "stay": "bookstay",
}
"""Maps slots of the recognizer that have no placeholder to the slots of their values."""
CLAIMS_BY_WORDS = frozenset({"leaveat", "arriveby", "pricerange", "food"})
"""Slots for which adjacent words determine whether a value is claimed."""


class Context:
    """Reads the responses of a dialogue, using the turn's state and active domains, and earlier
    names.

    Names in belief states are treated as names that the user mentioned.
    """

    def __init__(self, gazetteer: Gazetteer) -> None:
        self.gazetteer = gazetteer
        self.names: set[str] = set()
        self.state: State = {}
        self.active: tuple[str, ...] = ()
        self._venues: dict[str, frozenset[str]] = {}
        self._named_here: str | None = None
        self._named_last: str | None = None
        self._tokens: Tokens
        self._journeys: _Journeys

    def turn(self, state: State, active: tuple[str, ...]) -> None:
        """Start the next turn of the dialogue."""
        self.state = state
        self.active = active
        self._named_here = None
        for slots in state.values():
            if "name" in slots:
                self.names.add(slots["name"])

    def _narrowed(self, slot: str, values: Sequence[str]) -> Sequence[str]:
        """Return the values that the named venues have or, if there are none, all values."""
        if slot == "name":
            return [value for value in values if value in self.names] or values
        kept = [
            value
            for value in values
            if any(
                not self._venues.get(domain, frozenset()).isdisjoint(ids)
                for domain, ids in self.gazetteer.venues(slot, value).items()
            )
        ]
        return kept or values

    def _domain(self, slot: str, found: Found) -> tuple[str | None, bool]:
        """Return the domain of a slot, and whether the domain is certain.

        `found` are the venues that have the value. If any venues have the value, only the domains
        of these venues are possible. The domain is chosen, in this order, by earlier names in the
        same response, the active domains, the last name, and the state.
        """
        possible: Sequence[str] = DOMAINS_OF.get(slot, ())
        if found:
            possible = [domain for domain in possible if domain in found]
        # A common word belongs to a domain only if the domain is discussed.
        discussed = {*self.active, *self.state, self._named_last} - {None}
        if slot in BY_FORM and discussed and discussed.isdisjoint(possible):
            return None, True
        if len(possible) == 1:
            return possible[0], True
        named_here = self._named_here if slot in BY_NAME else None
        for domain in (named_here, *self.active, self._named_last, *self.state):
            if domain in possible:
                return domain, True
        return (possible[0], False) if found and possible else (None, True)

    def mentions(
        self, response: Shown, tokens: Tokens, candidates: Sequence[Candidate]
    ) -> Iterator[Mention]:
        """Yield candidates as mentions, except candidates that are not values in this context."""
        self._tokens, self._journeys = tokens, _Journeys(response, tokens)
        landmark = -1
        for candidate in candidates:
            start, end, first, after, _, _ = candidate
            text, slot = response.text[start:end], candidate.slot
            if slot == "short":
                named = self._named(candidate, text)
                if named is None:
                    continue
                candidate, slot = named, "name"
            values = [value for other, value in candidate.meanings if value and other == slot]
            if slot == "car":
                yield Mention(start, end, text, "type", "taxi", values[0])
                continue
            written = slot not in CLAIMS_ONLY
            slot = self._slot(slot, first, after, text)
            if slot in SPELLED:
                values = [_spelled(slot, text)]
            if slot in ("name", "address") and self._is_landmark(candidate, landmark):
                landmark = after
                yield Mention(start, end, text, LANDMARK, None)
                continue
            mention = self._mention(candidate, text, slot, values, written)
            if slot in ("leaveat", "arriveby") and not self._journeys.is_sure:
                mention = mention._replace(sure=False)
            if mention.domain is not None and not _is_claim(slot, tokens.words, first):
                mention = mention._replace(domain=None)
            if slot == "name":
                self.names.update(values)
                self._named_here = self._named_last = mention.domain
                if mention.domain is not None:
                    self._venues[mention.domain] = frozenset(mention.venues)
                about_taxi = "taxi" in self.active or has_any("taxi words", tokens.words)
                if about_taxi and (way := _way_to_name(tokens, first)):
                    mention = mention._replace(slot=way, domain="taxi", venues=())
            elif slot == "trainid":
                self._journeys.with_train = True
                self._named_here = mention.domain
            yield mention

    def _is_landmark(self, candidate: Candidate, before: int) -> bool:
        """Return whether a place is a landmark; `before` is the end of the previous landmark."""
        tokens, first = self._tokens, candidate.first
        if in_landmark_phrase(tokens, first, street=candidate.slot == "address"):
            return True
        # as in "close to King's College and the Corn Exchange"
        following = tokens.word(candidate.after)
        return tokens.words[before:first] in LINKS and following not in WORDS["predicates"]

    def _named(self, candidate: Candidate, text: str) -> Candidate | None:
        """Return the full name for a short name, or None if this is not a name in this context.

        A short name is a name if the venue was named before, or if it is written like a name and
        unambiguous.
        """
        options = [value for _, value in candidate.meanings]
        named = [value for value in options if value in self.names]
        words = text.lower().removeprefix("the ")
        is_capital = text.rpartition(" ")[2][0].isupper()
        is_complete = any(value.removeprefix("the ") == words for value in options)
        fitting = self.gazetteer.venues("name", options[0]).keys() & self.active
        is_telling = is_complete or (len(words) > 3 and words not in WORDS["ordinary words"])
        by_itself = (
            (is_capital and is_telling and len(options) == 1)
            and tuple(words.split()) not in self.gazetteer.town_parts
            and (not self.active or fitting)
        )
        is_common = words in WORDS["generic words"] or words in WORDS["labels"]
        again = (is_capital or self._tokens.without_capitals) and named
        if not (by_itself or (again and (is_complete or not is_common))):
            return None
        return candidate._replace(meanings=tuple(("name", value) for value in named or options))

    def _mention(
        self, candidate: Candidate, text: str, slot: str, values: Sequence[str], written: bool
    ) -> Mention:
        gazetteer = self.gazetteer
        if len(values) > 1:
            values = self._narrowed(slot, values)
        found = gazetteer.venues(slot, values[0]) if values else NOWHERE
        for value in values[1:]:
            found = dict(found)
            for other, ids in gazetteer.venues(slot, value).items():
                known = found.get(other, ())
                found[other] = known + tuple(venue for venue in ids if venue not in known)
        domain, sure = self._domain(slot, found)
        if domain is None and slot == "name":
            domain = TAILS.get(text.rpartition(" ")[2].lower())
        venues = found.get(domain, ()) if domain else ()
        spelling = None
        if venues:
            if len(values) > 1:
                values = [value for value in values if domain in gazetteer.venues(slot, value)]
            # If several addresses have all these parts, the shortest address has the fewest other
            # parts.
            chosen = min(values, key=len) if slot == "address" else values[0]
            spelling = gazetteer.spelling(slot, chosen)
        # `King's Parade` and `kings parade` are treated as equal.
        sure = sure and candidate.sure and (len(values) < 2 or len(set(map(fold, values))) == 1)
        slot = "price" if slot == "roomprice" else slot
        start, end = candidate[:2]
        return Mention(start, end, text, slot, domain, spelling, venues, sure, written)

    def _slot(self, slot: str, first: int, after: int, text: str) -> str:
        """Return the slot of a candidate, which may depend on the context of its tokens."""
        active, words = self.active, self._tokens.words
        if slot in ("place", "station"):
            return self._journeys.way(first, after)
        if slot == "time":
            way = self._journeys.time(first, after)
            if "attraction" in active and _is_opening(words[max(0, first - 8) : first]):
                return "openhours"
            return way or ("booktime" if "restaurant" in active else "leaveat")
        if slot == "price":
            return self._price(first, after, text)
        if (
            slot == "day"
            and "train" not in active
            and ("restaurant" in active or "hotel" in active)
        ):
            return "bookday"
        return SLOT_OF.get(slot, slot)

    def _price(self, first: int, after: int, text: str) -> str:
        """Return `roomprice`, `entrancefee` or `price` for a price, based on adjacent words.

        Without such words, a ticket price is not read as a fee in a dialogue about a train.
        """
        words = self._tokens.words
        earlier = dropwhile(
            WORDS["price signs"].__contains__, words[max(0, first - 8) : first][::-1]
        )
        later = words[after : after + 5]
        if later[:1] == ["("]:
            later = later[1:]
        beside = [
            word
            for side in (earlier, later)
            for word in takewhile(lambda word: word not in ".!?¶,;|-", side)
        ]
        if has_any("whole stays", beside):
            return "price"
        named, active = self._named_here, self.active
        of_room = named == "hotel" or (named is None and "hotel" in active)
        for word in beside:
            if word in ("night", "nightly", "room", "rooms", "overnight") or (
                word in WORDS["kinds of room"] and of_room
            ):
                return "roomprice"
            if word in ("entrance", "admission", "entry", "enter"):
                return "entrancefee"
            if word in ("train", "fare", "journey", "ride"):
                return "price"
        of_visit = named == "attraction" or ("attraction" in active and "train" not in active)
        has_train = named == "train" or "train" in self.state
        price, venues = _spelled("price", text), self.gazetteer.venues
        if has_train and venues("price", price) and not venues("entrancefee", price):
            # A train, but no attraction, has this price.
            return "price"
        return "entrancefee" if of_visit else "price"


def _spelled(slot: str, text: str) -> str:
    return SPELLED[slot](text if text.isascii() else lowered(text))


def _is_opening(earlier: Sequence[str]) -> bool:
    for word in reversed(earlier):
        if word.startswith(("open", "clos")):
            return True
        if word.startswith(("arriv", "leav", "depart")):
            return False
    return False


def _is_claim(slot: str, words: list[str], first: int) -> bool:
    """Return whether a value is claimed, unlike `after 18:00` and `a more expensive one`."""
    if slot not in CLAIMS_BY_WORDS:
        return True
    before = words[max(0, first - 3) : first]
    if slot in ("leaveat", "arriveby"):
        return not has_any("limits", before[-2:])
    if slot == "pricerange":
        return words[first] not in ("cheaper", "cheapest") and not has_any("compared", before)
    is_diet = words[first] in WORDS["diets"] and has_any("meals", words[first + 1 : first + 2])
    return not is_diet and not has_any("denied before food", before[-1:])


# Times and places of journeys. The tuples are beginnings of words, for `str.startswith`.
BEGINNING, ARRIVING = tuple(LISTS["beginning"]), tuple(LISTS["arriving"])
LEAVING_AT, ARRIVING_AT = ("leav", "depart"), ("arriv", "reach", "terminat", "pull")
NOUNS = {
    **dict.fromkeys(("departure", "departures", "dep", "etd"), "leaveat"),
    **dict.fromkeys(("arrival", "arr", "eta"), "arriveby"),
}
"""Words after a time that determine its meaning: `a 05:51 arrival`."""


def _way_to_name(tokens: Tokens, first: int) -> str | None:
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


class _Journeys:
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


def _unknown_stations(
    text: str, tokens: Tokens, known: Container[str], candidates: Sequence[Candidate]
) -> Iterator[Candidate]:
    """Yield the station names that are not in the database, except parts of other candidates.

    Station names are capitalized. An unknown station name follows words about a journey, or is
    connected with a station of the database. At least one word of the name is not in `known`.
    """
    found = list(PATTERNS["station behind words"].finditer(text))
    for place in candidates:
        if place.slot == "place":
            nearby = max(0, place.start - 50)
            behind = PATTERNS["station behind another"].match(text, place.end)
            before = PATTERNS["station before another"].search(text, nearby, place.start)
            found += [match for match in (behind, before) if match]
    taken = {token for other in candidates for token in range(other.first, other.after)}
    done = 0
    for start, end in sorted({match.span(match.lastgroup or 0) for match in found}):
        first, after = tokens.after(start, 0), tokens.after(end, 0)
        words = tokens.words[first:after]
        is_new = any(word not in known for word in words) and not any(
            word in WORDS[key] for key in ("labels", "no stations") for word in words
        )
        if first >= done and is_new:
            done = after
            if taken.isdisjoint(range(first, after)):
                yield Candidate.of_tokens(tokens, first, after, "station")


class Delexicalizer:
    """Replaces values in responses by placeholders, using the values of one database.

    `tables` are the unmodified rows of the database files, by domain. Caches do not affect results,
    so a delexicalizer can be shared by threads and pickled.
    """

    def __init__(self, tables: Mapping[str, Sequence[Mapping[str, Any]]]) -> None:
        self.gazetteer = Gazetteer(tables)
        self._recognizer = Recognizer(self.gazetteer)

    def dialogue(
        self,
        responses: Sequence[str],
        states: Sequence[State],
        active_domains: Sequence[tuple[str, ...]],
    ) -> list[Delexicalized]:
        """Return the delexicalized responses of a dialogue's system turns; see `mentions`."""
        found = self.mentions(responses, states, active_domains)
        return [_replaced(text, said) for text, said in zip(responses, found, strict=True)]

    def mentions(
        self,
        responses: Sequence[str],
        states: Sequence[State],
        active_domains: Sequence[tuple[str, ...]],
    ) -> Iterator[list[Mention]]:
        """Yield the mentions in each response of a dialogue's system turns, in order.

        `states` are the normalized states after the preceding user turns, and `active_domains` are
        the active domains of the system turns. Each argument has one item per system turn.
        """
        context = Context(self.gazetteer)
        for response, state, active in zip(responses, states, active_domains, strict=True):
            context.turn(state, active)
            yield self.read(response, context)

    def read(self, response: str, context: Context) -> list[Mention]:
        """Return the mentions of a response in order, and add mentioned names to the context."""
        text = shown(response)
        tokens = Tokens(text.text)
        candidates = self._recognizer.candidates(tokens)
        if not candidates:
            return []
        if any(candidate.slot == "trainid" for candidate in candidates):
            known = self.gazetteer.words
            stations = _unknown_stations(text.text, tokens, known, candidates)
            candidates = sorted([*candidates, *stations])
        mentions = list(context.mentions(text, tokens, candidates))
        if text.text is response:
            return mentions
        places = [text.place(mention.start, mention.end) for mention in mentions]
        return [
            mention._replace(start=start, end=end, text=response[start:end])
            for mention, (start, end) in zip(mentions, places, strict=True)
        ]


def placeholder(mention: Mention) -> str:
    """Return the placeholder of a mention: `hotel_name` if the domain is known, else `name`."""
    return _placeholder(mention.domain, mention.slot)


@lru_cache(maxsize=2**10)
def _placeholder(domain: str | None, slot: str) -> str:
    name = f"{domain}_{slot}"
    return name if name in PLACEHOLDERS else slot


def placeholder_spans(mention: Mention) -> list[tuple[int, int]]:
    """Return the start and end of each text part that a placeholder replaces in a mention.

    As in the published references, each part of an address gets a placeholder, and a landmark gets
    none.
    """
    if mention.slot == LANDMARK:
        return []
    if mention.slot == "address" and "," in mention.text:
        places = (part.span() for part in PATTERNS["part of an address"].finditer(mention.text))
        return [(mention.start + start, mention.start + end) for start, end in places]
    return [(mention.start, mention.end)]


def _replaced(response: str, mentions: Sequence[Mention]) -> Delexicalized:
    pieces: list[str] = []
    position = 0
    for mention in mentions:
        if not mention.written:
            continue
        written = _placeholder(mention.domain, mention.slot)
        for start, end in placeholder_spans(mention):
            pieces += (response[position:start], "[", written, "]")
            position = end
    pieces.append(response[position:])
    return Delexicalized("".join(pieces), tuple(mentions))


def with_numbers_of_taxis(said: Sequence[Mention], response: str) -> Iterator[Mention]:
    """Yield the mentions, and assign each phone number that belongs to no venue to the taxi.

    A number after the name of a venue belongs to that venue, unless the response is about a taxi.
    """
    speaks_of_taxi = PATTERNS["taxi"].search(response) or any(
        mention.domain == "taxi" for mention in said
    )
    is_of_venue = False
    for mention in said:
        is_of_venue = is_of_venue or (mention.slot == "name" and not speaks_of_taxi)
        is_unknown = mention.slot == "phone" and mention.value is None
        yield mention._replace(domain="taxi") if is_unknown and not is_of_venue else mention
