"""What a user means: wishes, questions and bookings in a turn, told by keywords and values.

No grammar and no learning: values are found by the gazetteer, and what a shared one constrains
(an area, a day, a number of people) is told by the nearest word that names a domain, by what was
asked, and by what was spoken of before.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Iterator, Sequence

from mwzeval.multiwoz.live.rule_agent import cues
from mwzeval.multiwoz.live.rule_agent.heard import SHARED, Heard, Sentence, Situation, Wish, plain
from mwzeval.multiwoz.live.rule_agent.questions import asked_in, hear_booking
from mwzeval.multiwoz.live.rule_agent.rides import Ends, time_slot
from mwzeval.multiwoz.live.rule_agent.spoken_values import (
    NUMBER,
    Spoken,
    Vocabulary,
    sentences,
    within,
)
from mwzeval.multiwoz.schema import DONTCARE
from mwzeval.multiwoz.words.text import Tokens, lowered
from mwzeval.multiwoz.words.vocabulary import HOTEL_TYPES

_JOURNEYS = ("train", "taxi")


def understand(text: str, vocabulary: Vocabulary, situation: Situation) -> Heard:
    """Return what a turn of the user says."""
    return _Reading(text, vocabulary, situation).heard


class _Reading:
    """One turn while it is read."""

    def __init__(self, text: str, vocabulary: Vocabulary, situation: Situation) -> None:
        self._vocabulary = vocabulary
        self._situation = situation
        self.low = lowered(text)
        self.tokens = Tokens(text, self.low)
        self.spoken = vocabulary.values(text, self.tokens, situation.names)
        self._starts = [self.tokens.start(index) for index in range(len(self.tokens.words))]
        self.heard = Heard(
            agrees=cues.AGREES.search(self.low) is not None,
            refuses=cues.REFUSES.search(self.low) is not None,
            thanks=cues.THANKS.search(self.low) is not None,
            closes=cues.CLOSES.search(self.low) is not None,
            wants_other=cues.OTHER.search(self.low) is not None,
        )
        self._carried: str | None = None
        for first, after in sentences(self.tokens):
            self._read(first, after)
        asked = [domain for domain, _ in self.heard.requests]
        self.heard.domains = list(dict.fromkeys((*self.heard.domains, *asked, *self.heard.books)))

    def _index(self, place: int) -> int:
        return max(0, bisect_right(self._starts, place) - 1)

    def _read(self, first: int, after: int) -> None:
        low = self.low[self._starts[first] : self.tokens.end(after - 1)]
        offset = self._starts[first]
        same = list(cues.SAME.finditer(low))
        spans = [match.span() for match in same]
        topics = [
            (self._index(offset + match.start()), str(match.lastgroup))
            for match in cues.TOPIC.finditer(low)
            if match.lastgroup and not any(start <= match.start() < end for start, end in spans)
        ]
        spoken = within(self.spoken, first, after)
        names = [one for one in spoken if one.slot == "name"]
        topics = [
            topic for topic in topics if not any(n.first <= topic[0] < n.after for n in names)
        ]
        if topics and cues.GIVES_UP.search(low):
            self.heard.given_up += [domain for _, domain in topics]
            return
        ride = self._ride(topics)
        if ride == "taxi":
            topics = [topic for topic in topics if topic[1] in _JOURNEYS]
        said = Sentence(low, first, after, spoken, topics, ride)
        wishes = [*self._wishes(said), *self._same(said, same)]
        wishes += self._careless(said, wishes)
        self.heard.wishes += wishes
        domains = [domain for _, domain in topics] or [wish.domain for wish in wishes]
        if domains:
            self._carried = domains[-1]
        self.heard.domains += [*(domain for _, domain in topics), *(wish.domain for wish in wishes)]
        spoken_of = self._spoken_of(said, self._carried)
        self.heard.requests += asked_in(said, wishes, spoken_of)
        hear_booking(said, wishes, spoken_of, self.heard)

    def _ride(self, topics: Sequence[tuple[int, str]]) -> str | None:
        """Return whether the places and times of a sentence are of a train or a taxi."""
        spoken_of = [domain for _, domain in topics if domain in _JOURNEYS]
        if spoken_of:
            return "taxi" if "taxi" in spoken_of else "train"
        asked = [domain for domain, _ in self._situation.asked if domain in _JOURNEYS]
        if topics and not asked and (self._carried not in _JOURNEYS):
            return None
        for domain in (self._carried, *asked, self._situation.current):
            if domain in _JOURNEYS:
                return domain
            if domain is not None:
                return None
        return None

    def _spoken_of(self, said: Sentence, before: str | None) -> list[str]:
        """Return the domains that a question may be about, the likeliest first."""
        topics = [domain for _, domain in (*said.topics, *self._implied(said))]
        earlier = reversed(self._situation.domains)
        likely = (*topics, said.ride, before, self._situation.current, *earlier)
        return [domain for domain in dict.fromkeys(likely) if domain is not None]

    # Wishes

    def _wishes(self, said: Sentence) -> Iterator[Wish]:
        if said.ride is not None:
            ends = Ends(self.tokens, self.low, said, self._situation)
            yield from ends.wishes()
        department = self._vocabulary.department(self.tokens.words[said.first : said.after])
        if department is not None and self._is_about_hospital(said):
            yield Wish("hospital", "department", department)
        if not any(one.slot in ("food", "name") for one in said.spoken):
            for match in cues.UNKNOWN_FOOD.finditer(said.low):
                words = match["food"].split()
                if cues.NO_FOOD.union(self._vocabulary.gazetteer.words).isdisjoint(words):
                    yield Wish("restaurant", "food", match["food"])
        yield from self._unknown_name(said)
        for one in said.spoken:
            yield from self._wish(one, said)

    def _unknown_name(self, said: Sentence) -> Iterator[Wish]:
        """Yield a venue that is called otherwise than any name of the database."""
        match = cues.NAMED.search(said.low) if said.ride is None else None
        if match is None or any(one.slot == "name" for one in said.spoken):
            return
        domain = self._domain("name", said.first, said)
        if domain is not None:
            yield Wish(domain, "name", match["name"])

    def _is_about_hospital(self, said: Sentence) -> bool:
        domains = [domain for _, domain in said.topics]
        return "hospital" in domains or "hospital" in (self._carried, self._situation.current)

    def _wish(self, one: Spoken, said: Sentence) -> Iterator[Wish]:
        slot, value = one.slot, one.values[0]
        if slot == "place":
            return
        if slot == "name":
            if said.ride != "taxi":
                domain = self._domain_of_name(value, said)
                if domain is not None:
                    yield Wish(domain, "name", value)
            return
        if slot == "type":
            yield from self._type(one, said)
            return
        if slot == NUMBER:
            asked = [pair for pair in self._situation.asked if pair[1][4:] in ("people", "stay")]
            asked += [pair for pair in self._situation.asked if pair[1] == "stars"]
            if asked and len(value) < 3:
                yield Wish(*asked[0], value)
            elif self._is_for(one):
                yield from self._booking("people", value, one, said)
            return
        if slot == "time":
            yield from self._time(one, said)
            return
        if slot in ("internet", "parking"):
            yield from self._amenity(one, said)
            return
        if slot in ("day", "people", "stay"):
            yield from self._booking(slot, value, one, said)
            return
        if said.ride == "taxi" and slot in ("area", "pricerange"):
            return
        domain = self._domain(slot, one.first, said)
        if domain is not None:
            yield Wish(domain, slot, value)

    def _is_for(self, one: Spoken) -> bool:
        words = self.tokens.words
        following = words[one.after] if one.after < len(words) else "."
        return bool(one.first) and words[one.first - 1] == "for" and following in _AFTER_PEOPLE

    def _domain_of_name(self, name: str, said: Sentence) -> str | None:
        domains = self._vocabulary.domains(name)
        for _, topic in said.topics:
            if topic in domains:
                return topic
        if self._situation.current in domains:
            return self._situation.current
        return domains[0] if domains else None

    def _type(self, one: Spoken, said: Sentence) -> Iterator[Wish]:
        kind = next((value for value in one.values if value not in HOTEL_TYPES), one.values[0])
        before = self.tokens.words[one.first - 1] if one.first else ""
        if kind not in HOTEL_TYPES:
            following = self.tokens.words[one.after : one.after + 1]
            is_new = before not in ("the", "that", "this", "my") or following in _KINDS
            if said.ride is None and is_new:
                yield Wish("attraction", "type", kind)
            return
        is_named = any(other.slot == "name" for other in said.spoken)
        if said.ride == "taxi" or before in ("that", "this", "my") or is_named:
            return
        words = self.tokens.words[max(said.first, one.first - 3) : one.first]
        if "or" in words[-2:] or "or" in self.tokens.words[one.after : one.after + 2]:
            return
        if not cues.NEGATED.isdisjoint(words):
            return
        if kind == "hotel":
            if (
                any(
                    other.slot == "type" and other.values[0] == "guesthouse"
                    for other in said.spoken
                )
                and "not" not in said.low
            ):
                return
            offered = self._situation.offered.get("hotel", {}).get("type")
            offered = offered or self._situation.wanted.get("hotel", {}).get("type")
            asked = ("hotel", "type") in self._situation.asked
            if cues.ASKS_TYPE.search(said.low):
                return
            is_sure = asked or cues.HOTEL_MEANT.search(said.low) is not None
            if not is_sure and (before in ("the", "") or offered == "hotel"):
                return
            if not is_sure and offered is None:
                self.heard.loose.add("hotel")
        elif before == "the":
            return
        yield Wish("hotel", "type", kind)

    def _amenity(self, one: Spoken, said: Sentence) -> Iterator[Wish]:
        if (
            ("?" in said.low or cues.ASKS_WHETHER.search(said.low))
            and "hotel" in self._situation.offered
            and (cues.KNOWS_WHETHER.search(said.low) or not cues.REQUIRES.search(said.low))
        ):
            return
        before = said.low[: self.tokens.start(one.first) - self.tokens.start(said.first)]
        clause = _CLAUSES.split(before)[-1]
        is_denied = cues.NEGATION.search(clause) and " pay" not in clause
        value = "no" if is_denied else "yes"
        yield Wish("hotel", one.slot, DONTCARE if cues.DONTCARE.search(clause) else value)

    def _booking(self, slot: str, value: str, one: Spoken, said: Sentence) -> Iterator[Wish]:
        domain = self._domain(slot, one.first, said)
        if slot == "stay" and "day" in self.tokens.words[one.first : one.after + 1]:
            return
        if domain == "train" and slot == "day":
            yield Wish("train", "day", value)
        elif domain is not None:
            yield Wish(domain, f"book{slot}", value)

    def _time(self, one: Spoken, said: Sentence) -> Iterator[Wish]:
        domain = self._domain("time", one.first, said)
        start = self.tokens.start(said.first)
        before = said.low[: self.tokens.start(one.first) - start]
        behind = said.low[self.tokens.end(one.after - 1) - start :]
        asked = [slot for of, slot in self._situation.asked if of in _JOURNEYS]
        cued = time_slot(before, behind)
        if domain == "restaurant" and (said.ride is None or cued is None):
            yield Wish("restaurant", "booktime", one.values[0])
        elif domain in _JOURNEYS:
            slot = cued or (asked[0] if len(set(asked)) == 1 else "leaveat")
            if slot not in ("leaveat", "arriveby"):
                slot = "leaveat"
            yield Wish(domain, slot, one.values[0])

    def _domain(self, slot: str, index: int, said: Sentence) -> str | None:
        """Return the domain of a value: of the nearest topic, or what was spoken of before."""
        allowed = SHARED.get(slot, ())
        if len(allowed) == 1:
            return allowed[0]
        if slot in ("time", "day") and said.ride is not None:
            near = [topic for topic in said.topics if topic[1] in allowed]
            is_its = not near or (said.ride == "taxi" and slot == "time")
            if is_its and said.ride in allowed:
                return said.ride
        topics = [topic for topic in (*said.topics, *self._implied(said)) if topic[1] in allowed]
        if topics:
            return min(topics, key=lambda topic: (abs(topic[0] - index), topic[0] > index))[1]
        asked = [domain for domain, of in self._situation.asked if of.removeprefix("book") == slot]
        earlier = [*reversed(self._situation.domains)]
        for domain in (self._carried, *asked, self._situation.current, *earlier):
            if domain in allowed:
                return domain
        return None

    def _implied(self, said: Sentence) -> Iterator[tuple[int, str]]:
        """Yield domains that values of the sentence tell."""
        for one in said.spoken:
            if one.slot == "food":
                yield one.first, "restaurant"
            elif one.slot in ("stars", "internet", "parking", "stay"):
                yield one.first, "hotel"
            elif one.slot == "type":
                yield one.first, "hotel" if one.values[0] in HOTEL_TYPES else "attraction"
            elif one.slot == "name":
                for domain in self._vocabulary.domains(one.values[0])[:1]:
                    yield one.first, domain

    def _same(self, said: Sentence, matches: Sequence[re.Match[str]]) -> Iterator[Wish]:
        for match in matches:
            word = match["domain"]
            other = cues.DOMAIN_OF_WORD.get(word) if word else None
            index = said.first
            for what in (match["what"], match["more"]):
                slot = _same_slot(what) if what else None
                if slot is None:
                    continue
                allowed = [d for d in SHARED[slot] if d != other]
                domain = self._domain(slot, index, said)
                if domain == other or domain is None:
                    domain = next(
                        (d for d in (self._carried, self._situation.current) if d in allowed), None
                    )
                yield from self._as_before(slot, domain, other)
        if not matches and cues.SAME_PEOPLE.search(said.low):
            domain = self._domain("people", said.first, said)
            yield from self._as_before("people", domain, None)

    def _as_before(self, slot: str, domain: str | None, other: str | None) -> Iterator[Wish]:
        """Yield a slot with the value that it has in another domain, the latest if none is told."""
        if domain is None:
            return
        others = [other] if other else [*reversed(self._situation.domains)]
        said = {wish.domain: wish for wish in self.heard.wishes if plain(wish.slot) == slot}
        for source in others:
            if source == domain:
                continue
            known = [self._situation.value(source, name) for name in (slot, f"book{slot}")]
            if source in said:
                known.insert(0, said[source].value)
            value = next((one for one in known if one is not None), None)
            if value is not None:
                yield Wish(domain, _slot(domain, slot), value)
                return

    def _careless(self, said: Sentence, wishes: Sequence[Wish]) -> Iterator[Wish]:
        """Yield the slots of which the user says that it does not mind."""
        if not cues.DONTCARE.search(said.low):
            return
        given = {wish.slot for wish in wishes}
        named = [slot for slot, word in cues.SLOT_WORDS.items() if word.search(said.low)]
        asked = self._situation.asked
        meant = [pair for pair in asked if plain(pair[1]) in named] or ([] if named else asked)
        for domain, slot in meant:
            if slot not in given:
                yield Wish(domain, slot, DONTCARE)
        if meant:
            return
        for slot in named:
            of = self._domain(slot, said.first, said) if slot in SHARED else None
            if of is not None and slot not in given:
                yield Wish(of, slot, DONTCARE)


_KINDS = (["type"], ["category"], ["kind"])
_CLAUSES = re.compile(
    r",| but | and (?=with |i |it |has |have |free |there |that |offers |includes )"
)
_AFTER_PEOPLE = frozenset(str.split(". , ? ! at on from please and starting in with to this for"))


def _slot(domain: str, slot: str) -> str:
    is_found_by = slot in ("area", "pricerange") or (domain, slot) == ("train", "day")
    return slot if is_found_by else f"book{slot}"


def _same_slot(what: str) -> str:
    if what.startswith("price"):
        return "pricerange"
    if what.startswith(("day", "date")):
        return "day"
    people = ("number", "group", "amount", "party", "people", "guests")
    return "people" if what.startswith(people) else "area"
