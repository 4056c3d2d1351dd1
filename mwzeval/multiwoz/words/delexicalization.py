"""Delexicalisation grounded in the database: responses in words become responses in placeholders.

A response is read once. At each word the longest value of the database that begins there is taken,
in any of its usual spellings; phone numbers, postcodes, references, train ids, times and prices are
told by their form, counts by the words beside them. What a value is read as, where there is a
choice, depends on the domains the turn is about, the state and what was named before; slots that
share their values (times, places, prices, days) are told apart by the same.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import lru_cache
from typing import Any

from mwzeval.multiwoz.normalization.normalize import State
from mwzeval.multiwoz.normalization.placeholders import PLACEHOLDERS
from mwzeval.multiwoz.words.addresses import follows_landmark_words
from mwzeval.multiwoz.words.gazetteer import NOWHERE, Found, Gazetteer
from mwzeval.multiwoz.words.journeys import (
    Journeys,
    is_about_taxi,
    unknown_stations,
    way_to_name,
)
from mwzeval.multiwoz.words.markup import Shown, shown
from mwzeval.multiwoz.words.name_cues import TAILS
from mwzeval.multiwoz.words.recognition import Candidate, Recognizer
from mwzeval.multiwoz.words.surface_tables import (
    BY_FORM,
    CLAIMS_ONLY,
    DOMAINS_OF,
    GENERIC_WORDS,
    LABEL_WORDS,
    ORDINARY_WORDS,
    SAYING,
)
from mwzeval.multiwoz.words.text import (
    LANDMARK,
    Delexicalized,
    Mention,
    Tokens,
    fold,
    lowered,
)
from mwzeval.multiwoz.words.value_spellings import SPELLED
from mwzeval.multiwoz.words.word_meanings import choose_slot, is_claim

WRITTEN_AS = {"roomprice": "price"}
"""Slot that words tell → the slot whose name it has in mentions."""
BY_NAME = frozenset({"area", "pricerange", "type", "phone", "postcode", "address", "reference"})
"""Slots that, after a name in the same response, are of that venue's domain."""
LANDMARK_SLOTS = frozenset({"name", "address"})
LINKS = [["and"], ["and", "the"], ["or"], [","], [",", "and"]]
SHORTEST_NAME = 3
NOBODY: frozenset[str] = frozenset()


class Context:
    """What is known of a dialogue so far: the turn's state and domains, and what was named.

    Names of states count as named by the user.
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
        """Go on to the next turn."""
        self.state = state
        self.active = active
        self.named_here = None
        for slots in state.values():
            if "name" in slots:
                self.names.add(slots["name"])

    def name(self, names: Iterable[str], mention: Mention) -> None:
        """Remember what is named."""
        self.names.update(names)
        self.named_here = self._named_last = mention.domain
        if mention.domain is not None:
            self._venues[mention.domain] = frozenset(mention.venues)

    def is_about(self, name: str) -> bool:
        """Tell whether a turn may be about a venue of this name, by its active domains."""
        venues = self.gazetteer.venues("name", name)
        return not self.active or any(domain in venues for domain in self.active)

    def narrowed(self, slot: str, values: Sequence[str]) -> Sequence[str]:
        """Return those of several values that what was named has; all of them if none has."""
        if slot == "name":
            return [value for value in values if value in self.names] or values
        kept = [
            value
            for value in values
            if any(
                not self._venues.get(domain, NOBODY).isdisjoint(ids)
                for domain, ids in self.gazetteer.venues(slot, value).items()
            )
        ]
        return kept or values

    def domain(self, slot: str, found: Found) -> tuple[str | None, bool]:
        """Return the domain that a slot is read as, and whether that is sure.

        `found` are the venues that have its value: only their domains are possible, if there are
        any. Then count, in this order, what was named before in the same response, the active
        domains, what was named last, and the state.
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
        """Tell whether the dialogue is about something, and about none of these domains."""
        about = {*self.active, *self.state, self._named_last} - {None}
        return bool(about) and about.isdisjoint(domains)


def read(
    response: Shown, tokens: Tokens, candidates: Sequence[Candidate], context: Context
) -> list[Mention]:
    """Return the candidates as mentions; what is no value in this dialogue is left out."""
    mentions = []
    text = response.text
    journeys = Journeys(response, tokens)
    taxi = is_about_taxi(tokens.words, context.active)
    landmark = -1
    for candidate in candidates:
        said = text[candidate.start : candidate.end]
        slot = candidate.slot
        if slot == "short":
            known = _called(tokens, said, candidate, context)
            if known is None:
                continue
            candidate = known
            slot = "name"
        values = [value for of_slot, value in candidate.meanings if value and of_slot == slot]
        if slot == "car":
            mentions.append(
                Mention(candidate.start, candidate.end, said, "type", "taxi", values[0])
            )
            continue
        written = slot not in CLAIMS_ONLY
        slot = choose_slot(
            slot,
            *(tokens.words, candidate.first, candidate.after),
            *(context.active, context.named_here),
            journeys,
        )
        if slot in SPELLED:
            values = [SPELLED[slot](said if said.isascii() else lowered(said))]
        if slot in LANDMARK_SLOTS and _is_landmark(tokens, candidate, landmark):
            landmark = candidate.after
            mentions.append(Mention(candidate.start, candidate.end, said, LANDMARK, None))
            continue
        mention = _mention(candidate, said, slot, values, context, written)
        if slot in ("leaveat", "arriveby") and not journeys.is_sure:
            mention = replace(mention, sure=False)
        elif slot == "trainid":
            journeys.train()
        if mention.domain is not None and not is_claim(slot, tokens.words, candidate.first):
            mention = replace(mention, domain=None)
        if slot == "name":
            context.name(values, mention)
            way = way_to_name(tokens.words, candidate.first) if taxi else None
            if way is not None:
                mention = Mention(
                    *(mention.start, mention.end, said, way, "taxi"),
                    value=mention.value,
                    sure=mention.sure,
                )
        elif slot == "trainid":
            context.named_here = mention.domain
        mentions.append(mention)
    return mentions


def _is_landmark(tokens: Tokens, candidate: Candidate, before: int) -> bool:
    """Tell whether a place is a landmark; `before` is the token after the last one."""
    street, first = candidate.slot == "address", candidate.first
    if follows_landmark_words(tokens, first, street=street):
        return True
    # Close to King's College and the Corn Exchange.
    following = tokens.words[candidate.after : candidate.after + 1]
    return tokens.words[before:first] in LINKS and SAYING.isdisjoint(following)


def _called(tokens: Tokens, said: str, candidate: Candidate, context: Context) -> Candidate | None:
    """Return a short name as the name it stands for; None if it is no name here.

    Either its venue was named before, or it is written like a name and can be nothing else.
    """
    options = [value for _, value in candidate.meanings]
    named = [value for value in options if value in context.names]
    words = said.lower().removeprefix("the ")
    capital = said.rpartition(" ")[2][0].isupper()
    complete = any(value.removeprefix("the ") == words for value in options)
    telling = complete or (len(words) > SHORTEST_NAME and words not in ORDINARY_WORDS)
    is_town_part = tuple(words.split()) in context.gazetteer.town_parts
    alone = capital and telling and len(options) == 1
    by_itself = alone and not is_town_part and context.is_about(options[0])
    is_common = words in GENERIC_WORDS or words in LABEL_WORDS
    called = (capital or tokens.without_capitals) and named and (complete or not is_common)
    if not (by_itself or called):
        return None
    return candidate._replace(meanings=tuple(("name", value) for value in named or options))


def _mention(
    candidate: Candidate,
    said: str,
    slot: str,
    values: Sequence[str],
    context: Context,
    written: bool,
) -> Mention:
    gazetteer = context.gazetteer
    if len(values) > 1:
        values = context.narrowed(slot, values)
    if len(values) == 1:
        found = gazetteer.venues(slot, values[0])
    else:
        found = _united(gazetteer.venues(slot, value) for value in values)
    domain, sure = context.domain(slot, found)
    if domain is None and slot == "name":
        domain = TAILS.get(said.rpartition(" ")[2].lower())
    venues = found.get(domain, ()) if domain else ()
    value = None
    if venues:
        values = [value for value in values if domain in gazetteer.venues(slot, value)]
        # Of several addresses with all that is said the shortest has the least besides.
        chosen = min(values, key=len) if slot == "address" else values[0]
        value = gazetteer.spelling(slot, chosen)
    return Mention(
        start=candidate.start,
        end=candidate.end,
        text=said,
        slot=WRITTEN_AS.get(slot, slot),
        domain=domain,
        value=value,
        venues=venues,
        # `King's Parade` and `kings parade` are one.
        sure=sure and candidate.sure and (len(values) < 2 or len(set(map(fold, values))) == 1),
        written=written,
    )


def _united(several: Iterable[Found]) -> Found:
    united: dict[str, tuple[str, ...]] = {}
    for found in several:
        for domain, ids in found.items():
            known = united.get(domain, ())
            united[domain] = known + tuple(venue for venue in ids if venue not in known)
    return united or NOWHERE


class Delexicalizer:
    """Writes placeholders for what responses mention; one for each database.

    `tables` are the database's rows by domain, as they stand in its files. What it remembers only
    saves time, so threads may share it and copies may be pickled.
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
        """Return the delexicalised responses of a dialogue's system turns; see `mentions`."""
        found = self.mentions(responses, states, active_domains)
        return [_replaced(text, said) for text, said in zip(responses, found, strict=True)]

    def mentions(
        self,
        responses: Sequence[str],
        states: Sequence[State],
        active_domains: Sequence[tuple[str, ...]],
    ) -> list[list[Mention]]:
        """Return what the responses of a dialogue's system turns mention, in order.

        `states` are the (normalised) states after the user turns before, `active_domains` what
        the turns are about; all three have one item a turn.
        """
        return list(self.each_turn(responses, states, active_domains))

    def each_turn(
        self,
        responses: Sequence[str],
        states: Sequence[State],
        active_domains: Sequence[tuple[str, ...]],
    ) -> Iterator[list[Mention]]:
        """Yield the same turn by turn, for those who need not know all of them."""
        context = Context(self.gazetteer)
        for response, state, active in zip(responses, states, active_domains, strict=True):
            context.turn(state, active)
            yield self.read(response, context)

    def read(self, response: str, context: Context) -> list[Mention]:
        """Return what a response mentions, in its order; the context goes on to what it names."""
        text = shown(response)
        low = lowered(text.text)
        tokens = Tokens(text.text, low)
        candidates = self._recognizer.candidates(text.text, low, tokens)
        if not candidates:
            return []
        if any(candidate.slot == "trainid" for candidate in candidates):
            candidates = self._with_stations(text.text, tokens, candidates)
        mentions = read(text, tokens, candidates, context)
        if text.text is not response:
            mentions = [_in_response(mention, text, response) for mention in mentions]
        return mentions

    def _with_stations(
        self, text: str, tokens: Tokens, candidates: list[Candidate]
    ) -> list[Candidate]:
        """Return the candidates and the stations that the database does not have."""
        places = [(one.start, one.end) for one in candidates if one.slot == "place"]
        stations = [
            Candidate(tokens.start(first), tokens.end(after - 1), first, after, (("station", ""),))
            for first, after in unknown_stations(text, tokens, self.gazetteer.words, places)
        ]
        if not stations:
            return candidates
        taken = {token for one in candidates for token in range(one.first, one.after)}
        free = [one for one in stations if taken.isdisjoint(range(one.first, one.after))]
        return sorted([*candidates, *free])


def _in_response(mention: Mention, text: Shown, response: str) -> Mention:
    """Return a mention in a text as it is shown as one in the response as it is written."""
    start, end = text.place(mention.start, mention.end)
    return replace(mention, start=start, end=end, text=response[start:end])


def placeholder(mention: Mention) -> str:
    """Return what is written for a mention: `hotel_name` where the domain is known, or `name`."""
    return _placeholder(mention.domain, mention.slot)


@lru_cache(maxsize=2**10)
def _placeholder(domain: str | None, slot: str) -> str:
    name = f"{domain}_{slot}"
    return name if name in PLACEHOLDERS else slot


_PART = re.compile(r"[^,\s](?:[^,]*[^,\s])?")


def placeholder_spans(mention: Mention) -> list[tuple[int, int]]:
    """Return start and end of each stretch of a mention that a placeholder stands for.

    Each part of an address has one, as in the published references; a landmark has none.
    """
    if mention.slot == LANDMARK:
        return []
    if mention.slot == "address" and "," in mention.text:
        places = (part.span() for part in _PART.finditer(mention.text))
        return [(mention.start + start, mention.start + end) for start, end in places]
    return [(mention.start, mention.end)]


def _replaced(response: str, mentions: Sequence[Mention]) -> Delexicalized:
    pieces = []
    position = 0
    for mention in mentions:
        if not mention.written:
            continue
        written = f"[{_placeholder(mention.domain, mention.slot)}]"
        for start, end in placeholder_spans(mention):
            pieces += [response[position:start], written]
            position = end
    pieces.append(response[position:])
    return Delexicalized("".join(pieces), tuple(mentions))
