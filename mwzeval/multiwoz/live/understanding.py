"""The parser for user messages, which finds constraints, requests and bookings by cues and values.

The parser has no grammar and no trained model. Values are found in the trie of the gazetteer, as in
system responses. If an area, a day or a number of people is ambiguous, its slot and domain are
determined by the nearest word that names a domain, the last question, and the previous topic.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from mwzeval.multiwoz.schema import DONTCARE, FLAG_SLOTS, JOURNEYS, SERVICES, STATE_BOOKING_SLOTS
from mwzeval.multiwoz.template_system import (
    ANSWERS,
    EVERYTHING,
    MEANT_BY_PRICE,
    requested_slots,
)
from mwzeval.multiwoz.words.gazetteer import Gazetteer
from mwzeval.multiwoz.words.numbers import clock, number_at, train_at
from mwzeval.multiwoz.words.text import WORD, Tokens, fold
from mwzeval.multiwoz.words.vocabulary import (
    PATTERNS,
    SPELLINGS,
    WORDS,
    domain_words,
    has,
    has_any,
    patterns_of,
)

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
"""Maps the slot of a value to the domains in which the slot exists."""
_IMPLIED = {slot: domains[0] for slot, domains in SHARED.items() if len(domains) == 1}
"""Maps the slot of a value to the domain that it implies."""
del _IMPLIED["trainid"]
NUMBER = "number"
"""The slot of a number without an adjacent word that explains it."""
ENDS = ("departure", "destination")
DEPARTURE, DESTINATION = ENDS
_ANSWERS: Mapping[str, frozenset[str]] = {
    **{
        domain: frozenset((*slots, "price", *(("reference",) * (domain in STATE_BOOKING_SLOTS))))
        for domain, slots in ANSWERS.items()
    },
    **dict.fromkeys(SERVICES, frozenset(EVERYTHING)),
    "taxi": frozenset(("car", "phone")),
}
_FAR = 4
"""The number of words before a place that are searched for cues of departure or destination."""
_STATION = ["train", "station"]
_FOUND_SLOTS = frozenset(
    {"name", "area", "food", "pricerange", "type", "place", "day", "internet", "parking"}
)
_NUMBERS = frozenset({"people", "stay", "stars"})
_FEWEST_LETTERS = 5
_TIME = re.compile(r"[0-9]{1,2}:[0-9]{2}")


class Span(NamedTuple):
    """A value: its slot, its possible database spellings, and its position in the tokens."""

    slot: str
    values: tuple[str, ...]
    first: int
    after: int


class Constraint(NamedTuple):
    """A constraint stated by the user. Slots are named as in states (`bookday` for a booking)."""

    domain: str
    slot: str
    value: str


@dataclass(slots=True)
class UserTurn:
    """The meaning of a user turn. `domains` are the domains of the turn, in order of mention.

    `books` are the domains in which the user wants a booking, and `declines` are the domains in
    which the user wants no booking. `given_up` are the domains that the user abandons. In the
    domains listed in `any_type`, "hotel" means any place to stay.
    """

    constraints: list[Constraint] = field(default_factory=list)
    requests: list[tuple[str, str]] = field(default_factory=list)
    domains: list[str] = field(default_factory=list)
    books: list[str] = field(default_factory=list)
    declines: list[str] = field(default_factory=list)
    given_up: list[str] = field(default_factory=list)
    any_type: set[str] = field(default_factory=set)
    agrees: bool = False
    refuses: bool = False
    thanks: bool = False
    closes: bool = False
    wants_other: bool = False


@dataclass(slots=True)
class BeliefState:
    """The state of the agent before a user turn.

    `current` is the current domain, and `domains` are all domains so far, ordered by the last turn
    about each domain. `asked` are the slots that the agent asked for in its last question.
    `constraints` maps domain and slot to the user's constraint. `offered` maps each domain to the
    known values of its recommended venue.
    """

    current: str | None = None
    domains: list[str] = field(default_factory=list)
    asked: list[tuple[str, str]] = field(default_factory=list)
    constraints: dict[str, dict[str, str]] = field(default_factory=dict)
    offered: dict[str, Mapping[str, str]] = field(default_factory=dict)

    @property
    def names(self) -> frozenset[str]:
        """The names of the venues that the system has recommended."""
        return frozenset(str(row["name"]) for row in self.offered.values() if "name" in row)

    def turn_to(self, domains: Iterable[str]) -> None:
        """Record that a turn is about these domains."""
        for domain in domains:
            if domain in self.domains:
                self.domains.remove(domain)
            self.domains.append(domain)
            self.current = domain

    def value(self, domain: str, slot: str) -> str | None:
        """Return the user's constraint for a slot, else the value of the recommended venue."""
        constraint = self.constraints.get(domain, {}).get(slot, DONTCARE)
        if constraint != DONTCARE:
            return constraint
        known = self.offered.get(domain, {}).get(slot)
        return known if isinstance(known, str) else None


def plain(slot: str) -> str:
    """Return the name of a slot without the prefix of booking slots."""
    return slot.removeprefix("book")


class Vocabulary:
    """The database values, venue names and hospital departments of a corpus. Apart from a cache,
    the object has no state.

    `tables` maps domains to the rows of the database.
    """

    def __init__(self, tables: Mapping[str, Sequence[Mapping[str, Any]]]) -> None:
        self.gazetteer = Gazetteer(tables)
        departments = [str(row["department"]) for row in tables.get("hospital", ())]
        self._departments = {fold(department): department for department in departments}

    def department(self, words: Sequence[str]) -> str | None:
        """Return the hospital department in `words` with the longest name, or None."""
        text = " ".join(word for word in words if word.isalnum())
        named = [name for name in self._departments if f" {' '.join(name)} " in f" {text} "]
        return self._departments[max(named, key=len)] if named else None

    def domains(self, name: str) -> tuple[str, ...]:
        """Return the domains that have a venue with this name."""
        return tuple(self.gazetteer.venues("name", name))

    def spans(self, tokens: Tokens, known_names: Collection[str]) -> Iterator[Span]:
        """Yield the values of a text, in text order.

        `known_names` are venue names in earlier turns, which the text may abbreviate.
        """
        done = 0
        begins, spelled_out = self.gazetteer.begins, WORDS["user words spelled out"]
        for index, word in enumerate(tokens.words):
            if index < done:
                continue
            span = self._known(tokens, index, known_names) if word in begins else None
            if span is None and (word[0].isdigit() or word in spelled_out):
                span = _number(tokens, index)
            if span is None and len(word) >= _FEWEST_LETTERS and word.isalpha():
                span = self._misspelt(tokens, index, done)
            if span is not None:
                done = span.after
                yield span

    def _known(self, tokens: Tokens, index: int, known_names: Collection[str]) -> Span | None:
        longest = self.gazetteer.longest(tokens, index)
        if longest is None:
            return None
        for slot in dict.fromkeys(slot for slot, _ in longest.meanings):
            values = tuple(value for its_slot, value in longest.meanings if its_slot == slot)
            if slot in ("stars", "nostars"):
                return Span("stars", ("0",), index, longest.after)
            if slot == "short":
                named = tuple(value for value in values if value in known_names)
                key = "user words calling" if longest.after - index > 1 else "user words naming"
                before = tokens.words[max(0, index - 2) : index]
                values = named or (values[:1] if has_any(key, before) else ())
                slot = "name"
            if slot in _FOUND_SLOTS and values:
                return Span(slot, values, index, longest.after)
        return None

    def _misspelt(self, tokens: Tokens, index: int, done: int) -> Span | None:
        near = self.gazetteer.near_miss(tokens, index)
        if near is None or near[0] < done:
            return None
        first, (after, meanings, _) = near
        words = [word for word in tokens.words[first:after] if word != "the"]
        if len(words) < 2 and (
            words[0] in WORDS["ordinary words"] or words[0] in SPELLINGS["food"]
        ):
            return None
        names = tuple(value for slot, value in meanings if slot == "name")
        return Span("name", names, first, after)


def _number(tokens: Tokens, index: int) -> Span | None:
    words = tokens.words
    word = words[index]
    train = train_at(tokens, index)
    if train is not None:
        digits = "".join(filter(str.isdigit, tokens.text[train.start : train.end]))
        return Span("trainid", (f"TR{digits}",), index, index + 1)
    if word == "noon":
        return Span("time", ("12:00",), index, index + 1)
    if word in WORDS["user words spelled out"]:
        return Span("people", ("1",), index, index + 1)
    number = number_at(tokens, index)
    if number is not None and number.slot == "time":
        written = tokens.low[number.start : number.end]
        time = written.zfill(5) if _TIME.fullmatch(written) else clock(written)
        return Span("time", (time,), index, number.after)
    if not (word.isascii() and word.isdigit()):
        return None
    value = (str(int(word)) if len(word) < 4 else word,)
    if number is not None and number.slot in _NUMBERS:
        return Span(number.slot, value, index, number.after)
    before, following = words[max(0, index - 2) : index], words[index + 1 : index + 3]
    are_people = (
        has_any("user words traveller", following)
        or has("user party of", " ".join(before))
        or has("user of party", " ".join(following))
    )
    return Span("people" if are_people else NUMBER, value, index, index + 1)


def understand(text: str, vocabulary: Vocabulary, state: BeliefState) -> UserTurn:
    """Return the meaning of a user turn in the given belief state."""
    reader = _Reader(text, vocabulary, state)
    tokens = reader.tokens
    first = 0
    for index, word in enumerate(tokens.words):
        if word in (".", "?", "!", ";") and tokens.kinds[index] < WORD:
            reader.read(first, index + 1)
            first = index + 1
    if first < len(tokens.words):
        reader.read(first, len(tokens.words))
    turn = reader.turn
    asked = [domain for domain, _ in turn.requests]
    turn.domains = list(dict.fromkeys((*turn.domains, *asked, *turn.books)))
    return turn


class _Reader:
    """Parses the sentences of a turn in order, and adds their meaning to `turn`.

    `carried` is the domain of the previous sentence. `first` and `after` delimit the tokens of the
    current sentence (`after` is excluded), and `topics` maps tokens that name a domain to that
    domain. If the sentence gives places and times of a journey, `ride` is the kind of journey.
    """

    def __init__(self, text: str, vocabulary: Vocabulary, state: BeliefState) -> None:
        self.vocabulary = vocabulary
        self.state = state
        self.tokens = Tokens(text)
        low = self.tokens.low
        self.words = self.tokens.words
        self.all_spans = list(vocabulary.spans(self.tokens, state.names))
        self.carried: str | None = None
        self.turn = UserTurn(
            agrees=has("user agrees", low),
            refuses=has("user refuses", low),
            thanks=has("user thanks", low),
            closes=has("user closes", low),
            wants_other=has("user other", low),
        )

    def read(self, first: int, after: int) -> None:
        """Parse the sentence from token `first` to before token `after`."""
        self.first, self.after = first, after
        self.starts = [self.tokens.start(index) for index in range(first, after)]
        self.low = low = self.tokens.low[self.starts[0] : self.tokens.end(after - 1)]
        self.spans = [span for span in self.all_spans if first <= span.first < after]
        self.slots = {span.slot for span in self.spans}
        self.same = list(PATTERNS["user same"].finditer(low))
        names = [range(span.first, span.after) for span in self.spans if span.slot == "name"]
        self.topics: list[tuple[int, str]] = []
        for match in domain_words("user topic").finditer(low):
            index = self._index(match.start())
            in_name = any(index in name for name in names)
            is_other = any(same.start() <= match.start() < same.end() for same in self.same)
            if not (in_name or is_other):
                self.topics.append((index, str(match.lastgroup)))
        topics = [domain for _, domain in self.topics]
        self.ride = self._ride(topics)
        turn, state = self.turn, self.state
        if topics and has("user gives up", low):
            turn.given_up += topics
            return
        if self.ride == "taxi":
            self.topics = [topic for topic in self.topics if topic[1] in JOURNEYS]
            topics = [domain for _, domain in self.topics]
        found = [*self._constraints(), *self._same_as_elsewhere()]
        found += self._without_preference({constraint.slot for constraint in found})
        turn.constraints += found
        domains = topics + [constraint.domain for constraint in found]
        turn.domains += domains
        if domains:
            self.carried = (topics or domains)[-1]
        implied = [domain for _, domain in self._implied()]
        earlier = reversed(state.domains)
        likely = (*topics, *implied, self.ride, self.carried, state.current, *earlier)
        about = [domain for domain in dict.fromkeys(likely) if domain is not None]
        turn.requests += self._requests({plain(constraint.slot) for constraint in found}, about)
        if has("user booking", low) and not has("user has booked", low):
            if has("user declines", low):
                turn.declines += [domain for domain in about[:1] if domain in STATE_BOOKING_SLOTS]
            elif not has("user no booking", low):
                booked = [c.domain for c in found if c.slot.startswith("book")]
                bookable = (d for d in (*booked, *about) if d in STATE_BOOKING_SLOTS or d == "taxi")
                turn.books += [*bookable][:1]

    def _index(self, place: int) -> int:
        """Return the token at a character position of the sentence."""
        return self.first + max(0, bisect_right(self.starts, self.starts[0] + place) - 1)

    def _around(self, span: Span) -> tuple[str, str]:
        """Return the text of the sentence before and after a value."""
        start = self.starts[0]
        end = self.tokens.end(span.after - 1)
        return self.low[: self.tokens.start(span.first) - start], self.low[end - start :]

    def _ride(self, topics: Sequence[str]) -> str | None:
        named = [domain for domain in topics if domain in JOURNEYS]
        if named:
            return "taxi" if "taxi" in named else "train"
        asked = [domain for domain, _ in self.state.asked if domain in JOURNEYS]
        if topics and not asked and self.carried not in JOURNEYS:
            return None
        likely = next(filter(None, (self.carried, *asked, self.state.current)), None)
        return likely if likely in JOURNEYS else None

    # Requests

    def _requests(self, given: Collection[str], about: Sequence[str]) -> Iterator[tuple[str, str]]:
        """Yield (domain, slot) of requests. Slots in `given` are not requested."""
        if not has("user asks", self.low):
            return
        slots = requested_slots(self.low)
        for slot in slots:
            if slot in given or not self._is_request(slot, slots, given):
                continue
            domain = next((domain for domain in about if slot in _ANSWERS[domain]), None)
            if domain is not None:
                yield domain, MEANT_BY_PRICE.get(domain, "pricerange") if slot == "price" else slot

    def _is_request(self, slot: str, slots: Collection[str], given: Collection[str]) -> bool:
        """Return whether a word for a slot is a request, based on the rest of the sentence."""
        if self.ride == "taxi" and slot not in _ANSWERS["taxi"]:
            return False
        if slot == "price":
            return "pricerange" not in given and has("user asks price", self.low)
        if slot == "phone" and not {"reference", "trainid"}.isdisjoint(slots):
            return has("user asks phone", self.low)
        if slot == "address" and "area" in given:
            return "address" in self.low
        return slot != "duration" or "stay" not in given

    # Constraints

    def _constraints(self) -> Iterator[Constraint]:
        if self.ride is not None:
            yield from self._ends(self.ride)
        department = self.vocabulary.department(self.words[self.first : self.after])
        about = [*(domain for _, domain in self.topics), self.carried, self.state.current]
        if department is not None and "hospital" in about:
            yield Constraint("hospital", "department", department)
        if self.slots.isdisjoint(("food", "name")):
            for match in PATTERNS["user unknown food"].finditer(self.low):
                known = WORDS["user words no food"].union(self.vocabulary.gazetteer.words)
                if known.isdisjoint(match["food"].split()):
                    yield Constraint("restaurant", "food", match["food"])
        if self.ride is None and "name" not in self.slots:
            # A venue whose name is not in the database.
            called = PATTERNS["user called"].search(self.low)
            domain = self._domain("name", self.first)
            if called is not None and domain is not None:
                yield Constraint(domain, "name", called["name"])
        for span in self.spans:
            constraint = self._constraint(span)
            if constraint is not None:
                yield constraint

    def _constraint(self, span: Span) -> Constraint | None:
        slot, value = span.slot, span.values[0]
        if slot == "place":
            return None  # departure or destination of a ride
        if slot in _READERS:
            return _READERS[slot](self, span)
        if self.ride == "taxi" and slot in ("area", "pricerange"):
            return None
        domain = self._domain(slot, span.first)
        return None if domain is None else Constraint(domain, slot, value)

    def _name(self, span: Span) -> Constraint | None:
        domains = self.vocabulary.domains(span.values[0])
        if self.ride == "taxi" or not domains:
            return None
        about = (*(topic for _, topic in self.topics), self.state.current, domains[0])
        domain = next(domain for domain in about if domain in domains)
        return Constraint(str(domain), "name", span.values[0])

    def _number(self, span: Span) -> Constraint | None:
        asked = [pair for pair in self.state.asked if pair[1] in ("bookpeople", "bookstay")]
        asked += [pair for pair in self.state.asked if pair[1] == "stars"]
        if asked and len(span.values[0]) < 3:
            return Constraint(*asked[0], span.values[0])
        following = self.words[span.after] if span.after < len(self.words) else "."
        is_party = following in WORDS["user words behind people"]
        if is_party and span.first and self.words[span.first - 1] == "for":
            return self._booking(span._replace(slot="people"))
        return None

    def _type(self, span: Span) -> Constraint | None:
        kind = next(
            (value for value in span.values if value not in WORDS["hotel types"]), span.values[0]
        )
        before = self.words[span.first - 1] if span.first else ""
        following = self.words[span.after : span.after + 2]
        if kind not in WORDS["hotel types"]:
            is_kind = following[:1] in (["type"], ["category"], ["kind"])
            is_new = before not in ("the", "that", "this", "my") or is_kind
            return Constraint("attraction", "type", kind) if self.ride is None and is_new else None
        words = self.words[max(self.first, span.first - 3) : span.first]
        is_meant = not (
            self.ride == "taxi"
            or before in ("that", "this", "my")
            or "name" in self.slots
            or "or" in (*words[-2:], *following)
            or has_any("user words negation", words)
        )
        if is_meant and (self._is_hotel(before) if kind == "hotel" else before != "the"):
            return Constraint("hotel", "type", kind)
        return None

    def _is_hotel(self, before: str) -> bool:
        """Return whether "hotel" is a type, not any place to stay. `before` precedes the word."""
        named = [span.values[0] for span in self.spans if span.slot == "type"]
        if ("guesthouse" in named and "not" not in self.low) or has("user asks type", self.low):
            return False
        if ("hotel", "type") in self.state.asked or has("user hotel meant", self.low):
            return True
        known = self.state.offered.get("hotel", {}).get("type")
        known = known or self.state.constraints.get("hotel", {}).get("type")
        if before in ("the", "") or known == "hotel":
            return False
        if known is None:
            self.turn.any_type.add("hotel")
        return True

    def _amenity(self, span: Span) -> Constraint | None:
        asks = "?" in self.low or has("user asks whether", self.low)
        is_sure = has("user requires", self.low) and not has("user knows whether", self.low)
        if asks and "hotel" in self.state.offered and not is_sure:
            return None
        clause = PATTERNS["user next clause"].split(self._around(span)[0])[-1]
        value = "no" if has("user negation", clause) and " pay" not in clause else "yes"
        value = DONTCARE if has("user does not care", clause) else value
        return Constraint("hotel", span.slot, value)

    def _booking(self, span: Span) -> Constraint | None:
        domain = self._domain(span.slot, span.first)
        is_stay = span.slot == "stay" and "day" in self.words[span.first : span.after + 1]
        if domain is None or is_stay:
            return None
        return Constraint(domain, _state_slot(domain, span.slot), span.values[0])

    def _time(self, span: Span) -> Constraint | None:
        domain = self._domain("time", span.first)
        slot = _time_slot(*self._around(span))
        if domain == "restaurant" and (self.ride is None or slot is None):
            return Constraint("restaurant", "booktime", span.values[0])
        if domain not in JOURNEYS:
            return None
        asked = {slot for asked_domain, slot in self.state.asked if asked_domain in JOURNEYS}
        by_question = "arriveby" if asked == {"arriveby"} else "leaveat"
        return Constraint(domain, slot or by_question, span.values[0])

    def _domain(self, slot: str, index: int) -> str | None:
        """Return the domain of a value: the domain of the nearest topic, else of the dialogue."""
        allowed = SHARED.get(slot, ())
        if len(allowed) == 1:
            return allowed[0]
        if slot in ("time", "day") and self.ride in allowed:
            near = any(domain in allowed for _, domain in self.topics)
            if not near or (self.ride == "taxi" and slot == "time"):
                return self.ride
        topics = [topic for topic in (*self.topics, *self._implied()) if topic[1] in allowed]
        if topics:
            return min(topics, key=lambda topic: (abs(topic[0] - index), topic[0] > index))[1]
        asked = [domain for domain, its_slot in self.state.asked if plain(its_slot) == slot]
        likely = (self.carried, *asked, self.state.current, *reversed(self.state.domains))
        return next((domain for domain in likely if domain in allowed), None)

    def _implied(self) -> Iterator[tuple[int, str]]:
        """Yield the domains that values of the sentence imply."""
        for span in self.spans:
            if span.slot in _IMPLIED:
                yield span.first, _IMPLIED[span.slot]
            elif span.slot == "type":
                yield (
                    span.first,
                    "hotel" if span.values[0] in WORDS["hotel types"] else "attraction",
                )
            elif span.slot == "name":
                for domain in self.vocabulary.domains(span.values[0])[:1]:
                    yield span.first, domain

    def _same_as_elsewhere(self) -> Iterator[Constraint]:
        """Yield constraints that repeat a value of another domain (by default, the latest)."""
        for match in self.same:
            other = _meaning("user place", match["domain"]) if match["domain"] else None
            for phrase in filter(None, (match["what"], match["more"])):
                alike = (
                    slot for slot, cued in patterns_of("user same as").items() if cued.match(phrase)
                )
                slot = next(alike, "area")
                domain = self._domain(slot, self.first)
                if domain == other or domain is None:
                    allowed = [domain for domain in SHARED[slot] if domain != other]
                    before = (self.carried, self.state.current)
                    domain = next((domain for domain in before if domain in allowed), None)
                yield from self._as_before(slot, domain, other)
        if not self.same and has("user same people", self.low):
            yield from self._as_before("people", self._domain("people", self.first), None)

    def _as_before(self, slot: str, domain: str | None, other: str | None) -> Iterator[Constraint]:
        now = {c.domain: c.value for c in self.turn.constraints if plain(c.slot) == slot}
        for source in [other] if other else [*reversed(self.state.domains)]:
            if domain is None or source == domain:
                continue
            known = (now.get(source), *(self.state.value(source, s) for s in (slot, f"book{slot}")))
            value = next((value for value in known if value is not None), None)
            if value is not None:
                yield Constraint(domain, _state_slot(domain, slot), value)
                return

    def _without_preference(self, given: Collection[str]) -> Iterator[Constraint]:
        """Yield the slots for which the user has no preference."""
        if not has("user does not care", self.low):
            return
        named = [slot for slot, cued in patterns_of("user slot").items() if cued.search(self.low)]
        asked = self.state.asked
        meant: list[tuple[str | None, str]] = [
            pair for pair in asked if not named or plain(pair[1]) in named
        ]
        for domain, slot in meant or [(self._domain(slot, self.first), slot) for slot in named]:
            if domain is not None and slot not in given:
                yield Constraint(domain, slot, DONTCARE)

    # Rides: train stations, and any places for taxis

    def _ends(self, ride: str) -> Iterator[Constraint]:
        """Yield departure and destination."""
        ends: dict[str, str] = {}
        asked = [slot for domain, slot in self.state.asked if domain == ride and slot in ENDS]
        if ride == "taxi" and has("user between", self.low):
            venues = [domain for domain in self.state.domains if domain in SHARED["name"]]
            visited = [name for domain in venues if (name := self.state.value(domain, "name"))]
            if len(visited) < 2:
                visited = [value for _, value in sorted(self._places("taxi"))]
            if len(visited) > 1:
                ends = dict(zip(ENDS, visited[-2:], strict=True))
        else:
            for first, value in sorted(self._places(ride)):
                end = self._end(first, ends, asked)
                if end is not None:
                    ends.setdefault(end, value)
            if ride == "taxi":
                self._add_unknown(ends, asked)
        if ride == "taxi" and "time" not in self.slots and has("user by booking", self.low):
            booked = self.state.constraints.get("restaurant", {}).get("booktime")
            if booked is not None:
                yield Constraint("taxi", "arriveby", booked)
        for end, value in ends.items():
            yield Constraint(ride, end, value)

    def _places(self, ride: str) -> Iterator[tuple[int, str]]:
        taken: set[int] = set()
        for span in self.spans:
            if span.slot == "place" or (ride == "taxi" and span.slot == "name"):
                words = self.words[span.first : span.after]
                value = span.values[0] if len(span.values) == 1 else " ".join(words)
                taken.update(range(span.first, span.after))
                if ride == "taxi" and self.words[span.after : span.after + 2] == _STATION:
                    value = f"{value} {' '.join(_STATION)}"
                yield span.first, value
        if ride == "taxi":
            for match in PATTERNS["user the place"].finditer(self.low):
                if match["place"] != "place":
                    domain = _meaning("user ride to", match["place"]) or "attraction"
                    name = self.state.value(domain, "name")
                    index = self._index(match.start())
                    if name is not None and taken.isdisjoint((index, index + 1)):
                        yield index, name

    def _end(self, first: int, known: Mapping[str, str], asked: Sequence[str]) -> str | None:
        """Return `departure` or `destination` for a place, based on nearby words, or None."""
        words = self.words[max(self.first, first - _FAR) : first]
        for number, word in enumerate(reversed(words)):
            if word in WORDS["user words from"]:
                return DEPARTURE
            # "between Ely and Norwich", "a train for Ely"
            if word in WORDS["user words to"] or (number == 0 and word == "for"):
                return DESTINATION
            if number == 0 and word == "and" and DEPARTURE in known:
                return DESTINATION
        if self.ride == "taxi" and "at" in words:
            return DEPARTURE
        if "in" in words and self.ride == "train":
            return None
        following = self.words[first + 1 : first + 4]
        if "to" in following and DEPARTURE not in known and "going" not in words:
            return DEPARTURE
        return next((end for end in asked if end not in known), None)

    def _add_unknown(self, ends: dict[str, str], asked: Sequence[str]) -> None:
        """Add a departure or destination that is not in the database."""
        for end in ENDS:
            match = PATTERNS[f"user free {end}"].search(self.low) if end not in ends else None
            if match and _is_place(match["place"]):
                ends[end] = match["place"].removeprefix("the ").strip()
        if len(asked) == 1 and not ends:
            text = PATTERNS["user before place"].sub("", self.low).strip(" .,!?")
            if _is_place(text) and len(text.split()) < 7:
                ends[asked[0]] = text


_READERS: Mapping[str, Callable[[_Reader, Span], Constraint | None]] = {
    "name": _Reader._name,
    "type": _Reader._type,
    NUMBER: _Reader._number,
    "time": _Reader._time,
    **dict.fromkeys(FLAG_SLOTS, _Reader._amenity),
    **dict.fromkeys(("day", "people", "stay"), _Reader._booking),
}
"""Maps the slot of a value to its parser. Without a parser, a value is a constraint on its slot."""


def _meaning(kind: str, word: str) -> str | None:
    """Return the name, without the kind, of the expression that matches the whole word."""
    return next((name for name, cued in patterns_of(kind).items() if cued.fullmatch(word)), None)


def _state_slot(domain: str, slot: str) -> str:
    """Return the name of a slot in states, where slots of bookings have a prefix."""
    is_search = slot in ("area", "pricerange") or (domain, slot) == ("train", "day")
    return slot if is_search else f"book{slot}"


def _time_slot(before: str, behind: str) -> str | None:
    """Return `arriveby` or `leaveat` for a time, based on the words around it, or None."""
    last = {
        slot: max((match.start() for match in PATTERNS[key].finditer(before)), default=-1)
        for slot, key in (("arriveby", "user arrives"), ("leaveat", "user leaves"))
    }
    if last["arriveby"] != last["leaveat"]:
        return max(last, key=last.__getitem__)
    for key, text, slot in (
        ("user by", before, "arriveby"),
        ("user or later", behind, "leaveat"),
        ("user or earlier", behind, "arriveby"),
        ("user after", before, "leaveat"),
        ("user arrives", behind[:30], "arriveby"),
        ("user leaves", behind[:30], "leaveat"),
    ):
        if has(key, text):
            return slot
    return None


def _is_place(text: str) -> bool:
    return not has("user no place", text) and bool(text.strip())
