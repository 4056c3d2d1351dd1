"""Delexicalize responses, that is, replace values of the database by placeholders.

The words of a response are read once. At each word, the longest database value that begins at this
word is used, in any of its usual spellings. Phone numbers, postcodes, references, train ids, times
and prices are recognized by their form; counts are recognized by adjacent words. The domain of an
ambiguous value is determined by the active domains, the state and earlier mentions. The same
evidence determines the slot of a value that could belong to several slots (times, places, prices,
days).
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from functools import lru_cache
from itertools import dropwhile, takewhile
from typing import Any

from mwzeval.multiwoz.normalization import State
from mwzeval.multiwoz.placeholders import PLACEHOLDERS
from mwzeval.multiwoz.schema import VENUE_DOMAINS
from mwzeval.multiwoz.words.gazetteer import NOWHERE, Found, Gazetteer
from mwzeval.multiwoz.words.journeys import (
    Journeys,
    is_about_taxi,
    unknown_stations,
    way_to_name,
)
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
from mwzeval.multiwoz.words.vocabulary import PATTERNS, TAILS, WORDS, has_any

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


class Context:
    """The context of a response: the turn's state and active domains, and earlier names.

    Names in belief states are treated as names that the user mentioned.
    """

    def __init__(self, gazetteer: Gazetteer) -> None:
        self.gazetteer = gazetteer
        self.names: set[str] = set()
        self.state: State = {}
        self.active: tuple[str, ...] = ()
        self._venues: dict[str, frozenset[str]] = {}
        self.named_here: str | None = None
        self._named_last: str | None = None

    def turn(self, state: State, active: tuple[str, ...]) -> None:
        """Start the next turn of the dialogue."""
        self.state = state
        self.active = active
        self.named_here = None
        for slots in state.values():
            if "name" in slots:
                self.names.add(slots["name"])

    def name(self, names: Iterable[str], mention: Mention) -> None:
        """Add the names in a mention to the context."""
        self.names.update(names)
        self.named_here = self._named_last = mention.domain
        if mention.domain is not None:
            self._venues[mention.domain] = frozenset(mention.venues)

    def is_about(self, name: str) -> bool:
        """Return whether a venue with this name fits the active domains of the turn."""
        venues = self.gazetteer.venues("name", name)
        return not self.active or any(domain in venues for domain in self.active)

    def narrowed(self, slot: str, values: Sequence[str]) -> Sequence[str]:
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

    def domain(self, slot: str, found: Found) -> tuple[str | None, bool]:
        """Return the domain of a slot, and whether the domain is certain.

        `found` are the venues that have the value. If any venues have the value, only the domains
        of these venues are possible. The domain is chosen, in this order, by earlier names in the
        same response, the active domains, the last name, and the state.
        """
        possible: Sequence[str] = DOMAINS_OF.get(slot, ())
        if found:
            possible = [domain for domain in possible if domain in found]
        if slot in BY_FORM and self._is_about_others(possible):
            return None, True
        if len(possible) == 1:
            return possible[0], True
        named_here = self.named_here if slot in BY_NAME else None
        for domain in (named_here, *self.active, self._named_last, *self.state):
            if domain in possible:
                return domain, True
        return (possible[0], False) if found and possible else (None, True)

    def _is_about_others(self, domains: Collection[str]) -> bool:
        """Return whether the dialogue has active domains but none of the given domains."""
        about = {*self.active, *self.state, self._named_last} - {None}
        return bool(about) and about.isdisjoint(domains)


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


class _TurnReader:
    """Converts the candidates of a response to mentions."""

    def __init__(self, response: Shown, tokens: Tokens, context: Context) -> None:
        self._text = response.text
        self._tokens = tokens
        self._context = context
        self._journeys = Journeys(response, tokens)

    def mentions(self, candidates: Sequence[Candidate]) -> Iterator[Mention]:
        """Yield candidates as mentions, except candidates that are not values in this context."""
        tokens, context, journeys = self._tokens, self._context, self._journeys
        landmark = -1
        for candidate in candidates:
            start, end, first, after, _, _ = candidate
            text, slot = self._text[start:end], candidate.slot
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
                values = [SPELLED[slot](text if text.isascii() else lowered(text))]
            if slot in ("name", "address") and self._is_landmark(candidate, landmark):
                landmark = after
                yield Mention(start, end, text, LANDMARK, None)
                continue
            mention = self._mention(candidate, text, slot, values, written)
            if slot in ("leaveat", "arriveby") and not journeys.is_sure:
                mention = mention._replace(sure=False)
            if mention.domain is not None and not _is_claim(slot, tokens.words, first):
                mention = mention._replace(domain=None)
            if slot == "name":
                context.name(values, mention)
                about_taxi = is_about_taxi(tokens.words, context.active)
                if about_taxi and (way := way_to_name(tokens, first)):
                    mention = mention._replace(slot=way, domain="taxi", venues=())
            elif slot == "trainid":
                journeys.with_train = True
                context.named_here = mention.domain
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
        context = self._context
        options = [value for _, value in candidate.meanings]
        named = [value for value in options if value in context.names]
        words = text.lower().removeprefix("the ")
        is_capital = text.rpartition(" ")[2][0].isupper()
        is_complete = any(value.removeprefix("the ") == words for value in options)
        is_telling = is_complete or (len(words) > 3 and words not in WORDS["ordinary words"])
        by_itself = (
            (is_capital and is_telling and len(options) == 1)
            and tuple(words.split()) not in context.gazetteer.town_parts
            and context.is_about(options[0])
        )
        is_common = words in WORDS["generic words"] or words in WORDS["labels"]
        again = (is_capital or self._tokens.without_capitals) and named
        if not (by_itself or (again and (is_complete or not is_common))):
            return None
        return candidate._replace(meanings=tuple(("name", value) for value in named or options))

    def _mention(
        self, candidate: Candidate, text: str, slot: str, values: Sequence[str], written: bool
    ) -> Mention:
        gazetteer = self._context.gazetteer
        if len(values) > 1:
            values = self._context.narrowed(slot, values)
        found = gazetteer.venues(slot, values[0]) if values else NOWHERE
        for value in values[1:]:
            found = dict(found)
            for other, ids in gazetteer.venues(slot, value).items():
                known = found.get(other, ())
                found[other] = known + tuple(venue for venue in ids if venue not in known)
        domain, sure = self._context.domain(slot, found)
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
        active, words = self._context.active, self._tokens.words
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
        named, active = self._context.named_here, self._context.active
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
        has_train = named == "train" or "train" in self._context.state
        is_visit = of_visit and not (has_train and self._is_ticket_price(text))
        return "entrancefee" if is_visit else "price"

    def _is_ticket_price(self, text: str) -> bool:
        """Return whether a train, but no attraction, has this price."""
        venues = self._context.gazetteer.venues
        price = SPELLED["price"](text if text.isascii() else lowered(text))
        return bool(venues("price", price)) and not venues("entrancefee", price)


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
            candidates = self._with_stations(text.text, tokens, candidates)
        mentions = list(_TurnReader(text, tokens, context).mentions(candidates))
        if text.text is response:
            return mentions
        places = [text.place(mention.start, mention.end) for mention in mentions]
        return [
            mention._replace(start=start, end=end, text=response[start:end])
            for mention, (start, end) in zip(mentions, places, strict=True)
        ]

    def _with_stations(
        self, text: str, tokens: Tokens, candidates: list[Candidate]
    ) -> list[Candidate]:
        """Return the candidates and the stations that are not in the database."""
        places = [(place.start, place.end) for place in candidates if place.slot == "place"]
        taken = {token for known in candidates for token in range(known.first, known.after)}
        stations = [
            Candidate.of_tokens(tokens, first, after, "station")
            for first, after in unknown_stations(text, tokens, self.gazetteer.words, places)
            if taken.isdisjoint(range(first, after))
        ]
        return sorted([*candidates, *stations])


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
