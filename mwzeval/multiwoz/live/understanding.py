"""What a user means in a turn: constraints, questions and bookings, by cues and values.

No grammar and no learning: values are found by the trie of the gazetteer, as in responses of
systems, and what a shared one constrains (an area, a day, a number of people) follows from the
nearest word that names a domain, from what was asked, and from what was spoken of before.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from types import MappingProxyType
from typing import Any, NamedTuple

from mwzeval.multiwoz.live.cues import JOURNEYS, cue, cues, has, meaning, requested_slots, word_list
from mwzeval.multiwoz.schema import DONTCARE, FLAG_SLOTS, SERVICES, STATE_BOOKING_SLOTS
from mwzeval.multiwoz.template_system import ANSWERS, MEANT_BY_PRICE
from mwzeval.multiwoz.words.gazetteer import Gazetteer
from mwzeval.multiwoz.words.numbers import clock, number_at, train_at
from mwzeval.multiwoz.words.recognition import NearMisses
from mwzeval.multiwoz.words.text import WORD, Tokens, fold, lowered
from mwzeval.multiwoz.words.vocabulary import HOTEL_TYPES, ORDINARY_WORDS, SPELLINGS

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
"""Slot of a value → the domains in which it means something."""
_IMPLIED = {
    "food": "restaurant",
    **dict.fromkeys(("stars", "internet", "parking", "stay"), "hotel"),
}
"""Slot of a value → the domain that it implies."""
NUMBER = "number"
"""The slot of a number that nothing beside it explains."""
ENDS = ("departure", "destination")
DEPARTURE, DESTINATION = ENDS
_TAXI_ANSWERS = ("car", "phone")
_FAR = 4
"""So many words before a place may tell which end it is."""
_STATION = ["train", "station"]
_KINDS = (["type"], ["category"], ["kind"])
_CLAUSES = re.compile(
    r",| but | and (?=with |i |it |has |have |free |there |that |offers |includes )"
)
_FOUND_SLOTS = frozenset(
    {"name", "area", "food", "pricerange", "type", "place", "day", "internet", "parking"}
)
_NUMBERS = frozenset({"people", "stay", "stars"})
_NAMED = frozenset({"called", "named", "want"})
_CALLED = frozenset({"called", "named", "name", "at", "is"})
_ALONE = frozenset({"myself", "alone"})
_PARTY_BEFORE = (["party", "of"], ["group", "of"], ["table", "of"])
_PARTY_BEHIND = (["of", "us"], ["in", "my"], ["in", "our"], ["in", "the"])
_FEWEST_LETTERS = 5
_TIME = re.compile(r"[0-9]{1,2}:[0-9]{2}")


class Span(NamedTuple):
    """A value: its slot, what it may mean in the database's spelling, its place in the tokens."""

    slot: str
    values: tuple[str, ...]
    first: int
    after: int


class Wish(NamedTuple):
    """A value that the user wants, with the slots of states (`bookday` of a booking)."""

    domain: str
    slot: str
    value: str


@dataclass(slots=True)
class UserTurn:
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
class BeliefState:
    """What an agent knows, against which a turn is understood.

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

    def turn_to(self, domains: Iterable[str]) -> None:
        """Note what a turn is about."""
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


class Vocabulary:
    """What there is to speak of in a town; what it remembers only saves time.

    `tables` are the rows of the database by domain.
    """

    def __init__(self, tables: Mapping[str, Sequence[Mapping[str, Any]]]) -> None:
        self.gazetteer = Gazetteer(tables)
        self._near_misses = NearMisses(self.gazetteer)
        departments = [str(row["department"]) for row in tables.get("hospital", ())]
        self._departments = {fold(department): department for department in departments}

    def department(self, words: Sequence[str]) -> str | None:
        """Return the department of the hospital that words name; the longest of several."""
        text = " ".join(word for word in words if word.isalnum())
        named = [name for name in self._departments if f" {' '.join(name)} " in f" {text} "]
        return self._departments[max(named, key=len)] if named else None

    def domains(self, name: str) -> tuple[str, ...]:
        """Return the domains that have a venue of a name."""
        return tuple(self.gazetteer.venues("name", name))

    def spans(self, text: str, tokens: Tokens, known_names: Collection[str]) -> Iterator[Span]:
        """Yield the values of a text, in its order.

        `known_names` are venues that were named before, so that a short name of one will do.
        """
        low = lowered(text)
        done = 0
        begins = self.gazetteer.begins
        for index, word in enumerate(tokens.words):
            if index < done:
                continue
            span = self._known(tokens, index, known_names) if word in begins else None
            if span is None and (word[0].isdigit() or word in _ALONE or word == "noon"):
                span = _number(text, low, tokens, index)
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
                before = tokens.words[max(0, index - 2) : index]
                is_long = longest.after - index > 1
                is_called = not (_CALLED if is_long else _NAMED).isdisjoint(before)
                values = named or (values[:1] if is_called else ())
                slot = "name"
            if slot in _FOUND_SLOTS and values:
                return Span(slot, values, index, longest.after)
        return None

    def _misspelt(self, tokens: Tokens, index: int, done: int) -> Span | None:
        near = self._near_misses.name_at(tokens, index)
        if near is None or near[0] < done:
            return None
        first, (after, meanings, _) = near
        words = [word for word in tokens.words[first:after] if word != "the"]
        if len(words) < 2 and (words[0] in ORDINARY_WORDS or words[0] in SPELLINGS["food"]):
            return None
        names = tuple(value for slot, value in meanings if slot == "name")
        return Span("name", names, first, after)


def _number(text: str, low: str, tokens: Tokens, index: int) -> Span | None:
    words = tokens.words
    word = words[index]
    train = train_at(tokens, index)
    if train is not None:
        digits = "".join(char for char in text[slice(*train)] if char.isdigit())
        return Span("trainid", (f"TR{digits}",), index, index + 1)
    if word in _ALONE:
        return Span("people", ("1",), index, index + 1)
    if word == "noon":
        return Span("time", ("12:00",), index, index + 1)
    number = number_at(low, tokens, index)
    if number is not None and number.slot == "time":
        written = low[tokens.start(index) : number.end]
        time = written.zfill(5) if _TIME.fullmatch(written) else clock(written)
        return Span("time", (time,), index, number.token_end)
    if not (word.isascii() and word.isdigit()):
        return None
    value = (str(int(word)) if len(word) < 4 else word,)
    if number is not None and number.slot in _NUMBERS:
        return Span(number.slot, value, index, number.token_end)
    following = words[index + 1 : index + 4]
    are_people = (
        not word_list("user words traveller").isdisjoint(following[:2])
        or following[:2] in _PARTY_BEHIND
        or words[max(0, index - 2) : index] in _PARTY_BEFORE
    )
    return Span("people" if are_people else NUMBER, value, index, index + 1)


def understand(text: str, vocabulary: Vocabulary, state: BeliefState) -> UserTurn:
    """Return what a turn of the user says."""
    low = lowered(text)
    tokens = Tokens(text, low)
    spans = list(vocabulary.spans(text, tokens, state.names))
    turn = UserTurn(
        agrees=has("user agrees", low),
        refuses=has("user refuses", low),
        thanks=has("user thanks", low),
        closes=has("user closes", low),
        wants_other=has("user other", low),
    )
    carried: str | None = None
    for first, after in _sentences(tokens):
        sentence = _Sentence(low, tokens, first, after, spans, turn, vocabulary, state, carried)
        sentence.read()
        carried = sentence.carried
    asked = [domain for domain, _ in turn.requests]
    turn.domains = list(dict.fromkeys((*turn.domains, *asked, *turn.books)))
    return turn


def _sentences(tokens: Tokens) -> list[tuple[int, int]]:
    """Return the first token of each sentence, and the one after it."""
    ends = [
        index + 1
        for index, word in enumerate(tokens.words)
        if word in (".", "?", "!", ";") and tokens.kinds[index] < WORD
    ]
    bounds = zip([0, *ends], [*ends, len(tokens.words)], strict=True)
    return [(start, end) for start, end in bounds if start < end]


@cache
def _domain_words() -> re.Pattern[str]:
    """Return what finds words of domains; the group that matches has the name of the domain."""
    more = cues("user domain+")
    groups = (
        f"(?P<{domain}>{'|'.join(p.pattern for p in (cued, more.get(domain)) if p)})"
        for domain, cued in cues("user domain").items()
    )
    return re.compile("|".join([r"\btrain stations?\b", *groups]))


class _Sentence:
    """A sentence of the user; what it says is added to `turn`.

    `first` to before `after` are its tokens, `carried` is the domain of the sentence before, later
    its own. `topics` are tokens that name a domain, with it; `ride` is the kind of ride that its
    places and times are of, None for none.
    """

    def __init__(
        self,
        text: str,
        tokens: Tokens,
        first: int,
        after: int,
        spans: Iterable[Span],
        turn: UserTurn,
        vocabulary: Vocabulary,
        state: BeliefState,
        carried: str | None,
    ) -> None:
        self.tokens = tokens
        self.words = tokens.words
        self.first = first
        self.after = after
        self.start = tokens.start(first)
        self.low = text[self.start : tokens.end(after - 1)]
        self.spans = [span for span in spans if first <= span.first < after]
        self.turn = turn
        self.vocabulary = vocabulary
        self.state = state
        self.carried = carried
        self.same = list(cue("user same").finditer(self.low))
        self.topics = [
            (index, str(match.lastgroup))
            for match in _domain_words().finditer(self.low)
            if match.lastgroup
            and not any(same.start() <= match.start() < same.end() for same in self.same)
            and not self._is_in_name(index := self._index(match.start()))
        ]
        self.ride = self._ride()

    def _index(self, place: int) -> int:
        """Return the token at a place of the sentence."""
        starts = [self.tokens.start(index) for index in range(self.first, self.after)]
        return self.first + max(0, bisect_right(starts, self.start + place) - 1)

    def _is_in_name(self, index: int) -> bool:
        return any(span.slot == "name" and span.first <= index < span.after for span in self.spans)

    def _has(self, slot: str) -> bool:
        return any(span.slot == slot for span in self.spans)

    def _ride(self) -> str | None:
        """Return whether the places and times of the sentence are of a train or a taxi."""
        named = [domain for _, domain in self.topics if domain in JOURNEYS]
        if named:
            return "taxi" if "taxi" in named else "train"
        asked = [domain for domain, _ in self.state.asked if domain in JOURNEYS]
        if self.topics and not asked and self.carried not in JOURNEYS:
            return None
        for domain in (self.carried, *asked, self.state.current):
            if domain is not None:
                return domain if domain in JOURNEYS else None
        return None

    def read(self) -> None:
        """Add what the sentence says to the turn."""
        turn = self.turn
        topics = [domain for _, domain in self.topics]
        if topics and has("user gives up", self.low):
            turn.given_up += topics
            return
        if self.ride == "taxi":
            self.topics = [topic for topic in self.topics if topic[1] in JOURNEYS]
            topics = [domain for _, domain in self.topics]
        wishes = [*self._wishes(), *self._as_elsewhere()]
        wishes += self._careless(wishes)
        turn.wishes += wishes
        domains = topics + [wish.domain for wish in wishes]
        turn.domains += domains
        if domains:
            self.carried = (topics or domains)[-1]
        implied = [domain for _, domain in self._implied()]
        earlier = reversed(self.state.domains)
        likely = (*topics, *implied, self.ride, self.carried, self.state.current, *earlier)
        about = [domain for domain in dict.fromkeys(likely) if domain is not None]
        turn.requests += self._requests(wishes, about)
        self._hear_booking(wishes, about)

    # Questions and bookings

    def _requests(self, wishes: Iterable[Wish], about: Sequence[str]) -> Iterator[tuple[str, str]]:
        """Yield domain and slot of what is asked; what the sentence itself gives is not asked."""
        if not has("user asks", self.low):
            return
        given = {plain(wish.slot) for wish in wishes}
        slots = requested_slots(self.low)
        for slot in slots:
            if slot in given or not self._is_meant(slot, slots, given):
                continue
            domain = next((domain for domain in about if _answers(domain, slot)), None)
            if domain is not None:
                yield domain, MEANT_BY_PRICE.get(domain, "pricerange") if slot == "price" else slot

    def _is_meant(self, slot: str, slots: Collection[str], given: Collection[str]) -> bool:
        """Tell whether a word that may ask for a slot does so beside the others of its sentence."""
        if self.ride == "taxi" and slot not in _TAXI_ANSWERS:
            return False
        if slot == "price":
            return "pricerange" not in given and has("user asks price", self.low)
        if slot == "phone" and not {"reference", "trainid"}.isdisjoint(slots):
            return has("user asks phone", self.low)
        if slot == "address" and "area" in given:
            return "address" in self.low
        return slot != "duration" or "stay" not in given

    def _hear_booking(self, wishes: Iterable[Wish], about: Sequence[str]) -> None:
        """Add the domain in which the sentence wants a booking, or wants none."""
        if not has("user booking", self.low) or has("user has booked", self.low):
            return
        if has("user declines", self.low):
            self.turn.declines += [domain for domain in about[:1] if domain in STATE_BOOKING_SLOTS]
        elif not has("user no booking", self.low):
            booked = [wish.domain for wish in wishes if wish.slot.startswith("book")]
            bookable = (d for d in (*booked, *about) if d in STATE_BOOKING_SLOTS or d == "taxi")
            self.turn.books += [*bookable][:1]

    # Constraints

    def _wishes(self) -> Iterator[Wish]:
        if self.ride is not None:
            yield from self._ends(self.ride)
        department = self.vocabulary.department(self.words[self.first : self.after])
        about = [*(domain for _, domain in self.topics), self.carried, self.state.current]
        if department is not None and "hospital" in about:
            yield Wish("hospital", "department", department)
        if not self._has("food") and not self._has("name"):
            for match in cue("user unknown food").finditer(self.low):
                known = word_list("user words no food").union(self.vocabulary.gazetteer.words)
                if known.isdisjoint(match["food"].split()):
                    yield Wish("restaurant", "food", match["food"])
        if self.ride is None and not self._has("name"):
            # A venue that is called otherwise than any name of the database.
            called = cue("user called").search(self.low)
            domain = self._domain("name", self.first)
            if called is not None and domain is not None:
                yield Wish(domain, "name", called["name"])
        for span in self.spans:
            yield from self._readers.get(span.slot, _Sentence._other)(self, span)

    def _other(self, span: Span) -> Iterator[Wish]:
        if self.ride != "taxi" or span.slot not in ("area", "pricerange"):
            domain = self._domain(span.slot, span.first)
            if domain is not None:
                yield Wish(domain, span.slot, span.values[0])

    def _place(self, _: Span) -> Iterator[Wish]:
        """Yield nothing: places are ends of rides."""
        yield from ()

    def _name(self, span: Span) -> Iterator[Wish]:
        domains = self.vocabulary.domains(span.values[0])
        if self.ride == "taxi" or not domains:
            return
        about = (*(topic for _, topic in self.topics), self.state.current)
        domain = next((domain for domain in about if domain in domains), domains[0])
        yield Wish(str(domain), "name", span.values[0])

    def _number(self, span: Span) -> Iterator[Wish]:
        value = span.values[0]
        asked = [pair for pair in self.state.asked if pair[1][4:] in ("people", "stay")]
        asked += [pair for pair in self.state.asked if pair[1] == "stars"]
        following = self.words[span.after] if span.after < len(self.words) else "."
        if asked and len(value) < 3:
            yield Wish(*asked[0], value)
        elif (
            span.first
            and self.words[span.first - 1] == "for"
            and following in word_list("user words behind people")
        ):
            yield from self._booking(span._replace(slot="people"))

    def _type(self, span: Span) -> Iterator[Wish]:
        kind = next((value for value in span.values if value not in HOTEL_TYPES), span.values[0])
        before = self.words[span.first - 1] if span.first else ""
        following = self.words[span.after : span.after + 2]
        if kind not in HOTEL_TYPES:
            is_new = before not in ("the", "that", "this", "my") or following[:1] in _KINDS
            if self.ride is None and is_new:
                yield Wish("attraction", "type", kind)
            return
        words = self.words[max(self.first, span.first - 3) : span.first]
        is_meant = not (
            self.ride == "taxi"
            or before in ("that", "this", "my")
            or self._has("name")
            or "or" in (*words[-2:], *following)
            or not word_list("user words negation").isdisjoint(words)
        )
        if is_meant and (self._is_hotel(before) if kind == "hotel" else before != "the"):
            yield Wish("hotel", "type", kind)

    def _is_hotel(self, before: str) -> bool:
        """Tell whether "hotel" is a type, behind the word before it; any place to stay is loose."""
        named = [span.values[0] for span in self.spans if span.slot == "type"]
        if ("guesthouse" in named and "not" not in self.low) or has("user asks type", self.low):
            return False
        if ("hotel", "type") in self.state.asked or has("user hotel meant", self.low):
            return True
        offered = self.state.offered.get("hotel", {}).get("type")
        offered = offered or self.state.wanted.get("hotel", {}).get("type")
        if before in ("the", "") or offered == "hotel":
            return False
        if offered is None:
            self.turn.loose.add("hotel")
        return True

    def _amenity(self, span: Span) -> Iterator[Wish]:
        asks = "?" in self.low or has("user asks whether", self.low)
        is_sure = has("user requires", self.low) and not has("user knows whether", self.low)
        if asks and "hotel" in self.state.offered and not is_sure:
            return
        clause = _CLAUSES.split(self.low[: self.tokens.start(span.first) - self.start])[-1]
        value = "no" if has("user negation", clause) and " pay" not in clause else "yes"
        yield Wish("hotel", span.slot, DONTCARE if has("user does not care", clause) else value)

    def _booking(self, span: Span) -> Iterator[Wish]:
        slot, value = span.slot, span.values[0]
        domain = self._domain(slot, span.first)
        if slot == "stay" and "day" in self.words[span.first : span.after + 1]:
            return
        if domain is not None:
            is_found_by = domain == "train" and slot == "day"
            yield Wish(domain, slot if is_found_by else f"book{slot}", value)

    def _time(self, span: Span) -> Iterator[Wish]:
        domain = self._domain("time", span.first)
        before = self.low[: self.tokens.start(span.first) - self.start]
        behind = self.low[self.tokens.end(span.after - 1) - self.start :]
        slot = _time_slot(before, behind)
        if domain == "restaurant" and (self.ride is None or slot is None):
            yield Wish("restaurant", "booktime", span.values[0])
        elif domain in JOURNEYS:
            asked = {slot for asked_domain, slot in self.state.asked if asked_domain in JOURNEYS}
            by_question = "arriveby" if asked == {"arriveby"} else "leaveat"
            yield Wish(domain, slot or by_question, span.values[0])

    def _domain(self, slot: str, index: int) -> str | None:
        """Return the domain of a value: of the nearest topic, or what was spoken of before."""
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
        for domain in (self.carried, *asked, self.state.current, *reversed(self.state.domains)):
            if domain in allowed:
                return domain
        return None

    def _implied(self) -> Iterator[tuple[int, str]]:
        """Yield domains that values of the sentence imply."""
        for span in self.spans:
            if span.slot in _IMPLIED:
                yield span.first, _IMPLIED[span.slot]
            elif span.slot == "type":
                yield span.first, "hotel" if span.values[0] in HOTEL_TYPES else "attraction"
            elif span.slot == "name":
                for domain in self.vocabulary.domains(span.values[0])[:1]:
                    yield span.first, domain

    def _as_elsewhere(self) -> Iterator[Wish]:
        """Yield what is to be the same as in another domain."""
        for match in self.same:
            other = meaning("user place", match["domain"]) if match["domain"] else None
            for phrase in filter(None, (match["what"], match["more"])):
                slot = _same_slot(phrase)
                domain = self._domain(slot, self.first)
                if domain == other or domain is None:
                    allowed = [domain for domain in SHARED[slot] if domain != other]
                    before = (self.carried, self.state.current)
                    domain = next((domain for domain in before if domain in allowed), None)
                yield from self._as_before(slot, domain, other)
        if not self.same and has("user same people", self.low):
            yield from self._as_before("people", self._domain("people", self.first), None)

    def _as_before(self, slot: str, domain: str | None, other: str | None) -> Iterator[Wish]:
        """Yield a slot with the value that it has in another domain, the latest if none is told."""
        if domain is None:
            return
        is_found_by = slot in ("area", "pricerange") or (domain, slot) == ("train", "day")
        now = {wish.domain: wish.value for wish in self.turn.wishes if plain(wish.slot) == slot}
        for source in [other] if other else [*reversed(self.state.domains)]:
            if source == domain:
                continue
            known = (now.get(source), *(self.state.value(source, s) for s in (slot, f"book{slot}")))
            value = next((value for value in known if value is not None), None)
            if value is not None:
                yield Wish(domain, slot if is_found_by else f"book{slot}", value)
                return

    def _careless(self, wishes: Iterable[Wish]) -> Iterator[Wish]:
        """Yield the slots of which the user says that it does not mind."""
        if not has("user does not care", self.low):
            return
        given = {wish.slot for wish in wishes}
        named = [slot for slot, cued in cues("user slot").items() if cued.search(self.low)]
        asked = self.state.asked
        meant: list[tuple[str | None, str]] = [pair for pair in asked if plain(pair[1]) in named]
        if not named:
            meant += asked
        elif not meant:
            meant += [(self._domain(slot, self.first), slot) for slot in named]
        for domain, slot in meant:
            if domain is not None and slot not in given:
                yield Wish(domain, slot, DONTCARE)

    # Rides: stations of trains, and whatever a taxi may go to

    def _ends(self, ride: str) -> Iterator[Wish]:
        """Yield departure and destination."""
        ends: dict[str, str] = {}
        if ride == "taxi" and has("user between", self.low):
            ends = self._between()
        else:
            for first, value in sorted(self._places(ride)):
                end = self._end(first, ends)
                if end is not None:
                    ends.setdefault(end, value)
            if ride == "taxi":
                self._add_unknown(ends)
        if ride == "taxi" and not self._has("time") and has("user by booking", self.low):
            booked = self.state.wanted.get("restaurant", {}).get("booktime")
            if booked is not None:
                yield Wish("taxi", "arriveby", booked)
        for end, value in ends.items():
            yield Wish(ride, end, value)

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
            for match in cue("user the place").finditer(self.low):
                if match["place"] != "place":
                    domain = meaning("user ride to", match["place"]) or "attraction"
                    name = self.state.value(domain, "name")
                    index = self._index(match.start())
                    if name is not None and not taken.intersection((index, index + 1)):
                        yield index, name

    def _end(self, first: int, known: Mapping[str, str]) -> str | None:
        """Return which end a place is, by the words before it."""
        words = self.words[max(self.first, first - _FAR) : first]
        for number, word in enumerate(reversed(words)):
            if word in word_list("user words from"):
                return DEPARTURE
            # Between Ely and Norwich; a train for Ely.
            if word in word_list("user words to") or (number == 0 and word == "for"):
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
        return next((end for end in self._asked_ends() if end not in known), None)

    def _asked_ends(self) -> list[str]:
        return [slot for domain, slot in self.state.asked if domain == self.ride and slot in ENDS]

    def _between(self) -> dict[str, str]:
        venues = [domain for domain in self.state.domains if domain in SHARED["name"]]
        visited = [name for domain in venues if (name := self.state.value(domain, "name"))]
        if len(visited) < 2:
            visited = [value for _, value in sorted(self._places("taxi"))]
        return dict(zip(ENDS, visited[-2:], strict=True)) if len(visited) > 1 else {}

    def _add_unknown(self, ends: dict[str, str]) -> None:
        """Add ends that are in no database."""
        for end in ENDS:
            match = cue(f"user free {end}").search(self.low) if end not in ends else None
            if match and _is_place(match["place"]):
                ends[end] = match["place"].removeprefix("the ").strip()
        asked = self._asked_ends()
        if len(asked) == 1 and not ends:
            text = cue("user before place").sub("", self.low).strip(" .,!?")
            if _is_place(text) and len(text.split()) < 7:
                ends[asked[0]] = text

    _readers = MappingProxyType(
        {
            "place": _place,
            "name": _name,
            "type": _type,
            NUMBER: _number,
            "time": _time,
            **dict.fromkeys(FLAG_SLOTS, _amenity),
            **dict.fromkeys(("day", "people", "stay"), _booking),
        }
    )
    """Slot of a value → what reads it; a value of another slot constrains that slot."""


def _answers(domain: str, slot: str) -> bool:
    if slot == "reference":
        return domain in STATE_BOOKING_SLOTS
    if domain in SERVICES:
        return slot in ("phone", "address", "postcode")
    if domain == "taxi":
        return slot in _TAXI_ANSWERS
    return slot in ANSWERS[domain] or slot == "price"


def _same_slot(phrase: str) -> str:
    if phrase.startswith("price"):
        return "pricerange"
    if phrase.startswith(("day", "date")):
        return "day"
    people = ("number", "group", "amount", "party", "people", "guests")
    return "people" if phrase.startswith(people) else "area"


def _time_slot(before: str, behind: str) -> str | None:
    """Return what a time is of, by the words of its sentence; None where none tells."""
    last = {
        slot: max((match.start() for match in cue(key).finditer(before)), default=-1)
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
