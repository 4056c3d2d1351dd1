"""A parser for messages of agents, which an act-level user needs to understand the agent.

Only the text of a message counts: the user does not know values that only a tool returned, such as
a reference that the agent does not mention. The calls in a turn show the domain of the text, the
booking to which a reference belongs, and whether an apology means that nothing was found. Values
are found as for the grounded scores. Values are spelled as in the database, or as in the user's
goal if the two spellings have the same meaning.

If the text names several venues or trains of one domain, the parser creates a Select act. The user
can choose among the venues or trains that satisfy the user's constraints according to the text. If
the text names a single venue, the parser creates an offer of this venue (Recommend). A statement
about some but not all of several venues is ignored. A booking is regarded as made if the text
confirms the booking or contains a reference. The day, people, time and nights of the booking are
parsed, so that the user can correct them.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cached_property
from itertools import islice
from typing import Any, NamedTuple

from mwzeval.conversation.messages import TOOL_ROLE, ChatMessage
from mwzeval.multiwoz import RULES, Rules
from mwzeval.multiwoz.acts import ACT_SLOTS, GENERAL, NONE, SYSTEM_SLOTS, USER_SLOTS, Act
from mwzeval.multiwoz.goals import ORDERING, Goal, correction
from mwzeval.multiwoz.grounding.log import Returned, returned_by
from mwzeval.multiwoz.grounding.statements import GENERIC, SENTENCE, Statements
from mwzeval.multiwoz.normalization import normalize_slot, normalize_value
from mwzeval.multiwoz.predictions import FunctionCall
from mwzeval.multiwoz.schema import (
    ACT_BOOKING_SLOTS,
    ADDED_FIELDS,
    BOOKING_SLOTS,
    DAYS,
    FLAG_SLOTS,
    JOURNEYS,
    NAMED_BY,
    SERVICES,
    VENUE_DOMAINS,
)
from mwzeval.multiwoz.words.delexicalize import Context, Delexicalizer, with_numbers_of_taxis
from mwzeval.multiwoz.words.gazetteer import Gazetteer
from mwzeval.multiwoz.words.numbers import SPELLED, number
from mwzeval.multiwoz.words.text import LANDMARK, Mention, fold, lowered, shown
from mwzeval.multiwoz.words.vocabulary import PATTERNS, has, patterns_of

BOOKED_SLOTS: Mapping[str, str] = {
    "day": "Day",
    "bookday": "Day",
    "bookpeople": "People",
    "bookstay": "Stay",
    "booktime": "Time",
    "leaveat": "Time",
    "arriveby": "Time",
}
"""Maps mention slots to booking slots. For `leaveat` and `arriveby`: the time of a table may be
parsed as the time of a train."""
BOOKING = "Booking"
"""The domain of acts about the booking of any venue."""
TABLES = frozenset({"restaurant", "hotel"})
TIMES = frozenset({"Leave", "Arrive"})
UNKNOWN = "unknown"
"""The value for a requested slot if the agent replies that it does not know the value."""
_OTHER_END = {"Leave": "Arrive", "Arrive": "Leave"}
_LETTER = re.compile(r"\w")
_ENDS_AND_TIMES = frozenset({"departure", "destination", "leaveat", "arriveby"})
_NAME_SLOTS = frozenset({"name", "address", "departure", "destination"})
_KIND_SLOTS = frozenset({"type", "food", "stars", "internet", "parking"})
_SHARED_SLOTS = frozenset({"area", "pricerange", "phone", "postcode", "address", "choice"})
"""Slots that several domains have. The words of the sentence determine which domain."""
LONGEST_LINE = 60
"""The maximum number of characters in a line that belongs to a list of questions."""

MENTION_SLOTS: Mapping[str, Mapping[str, str]] = {
    **ACT_SLOTS,
    "taxi": {**ACT_SLOTS["taxi"], "type": "Car"},
}
"""Maps a domain and a mention slot to an act slot."""
GOAL_SLOTS: Mapping[str, Mapping[str, str]] = {
    domain: {act.lower(): slot for slot, act in slots.items()}
    for domain, slots in USER_SLOTS.items()
}
"""Maps a domain and the lower-case slot of a user act to a goal slot."""
STATION = " train station"
"""The suffix that a goal may add to the name of a town."""
_REFERRING = ("same ", "the same", "in the same")
"""Prefixes of values that refer to an earlier value."""


class ReadingContext:
    """The context of an agent's turn, for a single dialogue.

    `goal` is the goal of the dialogue, or the copy that the user modifies. `domain` is the last
    mentioned domain, `state` has the constraints stated by the user, and `words` are the mentioned
    names.
    """

    def __init__(self, goal: Goal, gazetteer: Gazetteer, rules: Rules) -> None:
        self.goal = goal
        self.domains: tuple[str, ...] = tuple(goal[ORDERING])
        self.domain: str | None = None
        self.state: dict[str, dict[str, str]] = {}
        self.words = Context(gazetteer)
        self.asked: set[tuple[str, str]] = set()
        """The domain and slot of each of the user's last requests, spelled as in acts."""
        self._rules = rules

    def add_user_acts(self, acts: Iterable[Act]) -> None:
        """Update the context with the acts of a user turn."""
        self.asked.clear()
        for intent, raw_domain, act_slot, value in acts:
            domain = raw_domain.lower()
            if domain not in GOAL_SLOTS:
                continue
            self.domain = domain
            if intent == "Request":
                self.asked.add((domain, act_slot))
            slot = GOAL_SLOTS[domain].get(act_slot.lower())
            if slot is not None and value != "?" and not value.startswith(_REFERRING):
                normal = normalize_slot(slot)
                slots = self.state.setdefault(domain, {})
                slots[normal] = normalize_value(normal, value.lower(), self._rules)

    def spelled(self, domain: str, slot: str, value: str) -> str:
        """Return a value in the spelling of the goal if the goal has an equivalent value."""
        part = self.goal.get(domain)
        if part is None:
            return value
        normal = normalize_slot(slot)
        informed = normalize_value(normal, value.lower(), self._rules)
        for name in ("info", "fail_info", "book", "fail_book"):
            own = part.get(name, {}).get(slot)
            if own is None:
                continue
            constraint = normalize_value(normal, own.lower(), self._rules)
            if informed in (constraint, constraint.removesuffix(STATION)):
                return str(own)
        return value


def tool_results(messages: Iterable[ChatMessage]) -> list[Returned]:
    """Return the results of the calls of known tools in the messages of a turn."""
    messages = tuple(messages)
    results = {
        str(result.call_id): result.value
        for message in messages
        if message.role == TOOL_ROLE
        for result in message.results
    }
    called = (
        FunctionCall(str(call.name), {}, results.get(str(call.id)))
        for message in messages
        for call in message.calls
    )
    return [*filter(None, map(returned_by, called))]


def _spelled(mention: Mention) -> str:
    """Return the value of a mention in the spelling of acts."""
    slot, text = mention.slot, lowered(mention.text)
    if slot in ("day", "bookday"):
        return next((day for day in DAYS if day[:3] == text[:3]), text)
    if slot == "choice":
        return number(text)
    if slot == "address":
        # The text may be shorter than the database value, or match several venues.
        return " ".join(mention.text.split())
    value = mention.value
    if value is None:
        value = SPELLED[slot](text) if slot in SPELLED else text
    return f"{value} pounds" if slot == "price" and value[-1:].isdigit() else value


def _service_values(
    tables: Mapping[str, Sequence[Mapping[str, Any]]],
) -> dict[str, list[tuple[str, str, str]]]:
    """Return the values of police and hospital by domain, which the mention finder does not cover.

    Each value is a tuple of its folded words between spaces, its slot, and the original value.
    """
    found: dict[str, list[tuple[str, str, str]]] = {}
    for domain in SERVICES:
        known = {
            (slot, str(row[slot]))
            for row in (*tables.get(domain, ()), ADDED_FIELDS[domain])
            for slot in ("address", "department")
            if row.get(slot)
        }
        # People omit the town in an address.
        found[domain] = [
            (f" {' '.join(words)} ", slot, value)
            for slot, value in sorted(known)
            if (words := fold(value.split(",")[0] if slot == "address" else value))
        ]
    return found


class AgentReader:
    """Parses messages of agents into dialogue acts. All dialogues of a process share one reader.

    `tables` maps domains to the unmodified rows of the database.
    """

    def __init__(
        self, tables: Mapping[str, Sequence[Mapping[str, Any]]], rules: Rules = RULES[-1]
    ) -> None:
        venues = {domain: rows for domain, rows in tables.items() if domain in NAMED_BY}
        self._delexicalizer = Delexicalizer(venues)
        self._services = _service_values(tables)
        self._rules = rules
        # Names that are common words (`the place`) need capitals or words of an offer nearby.
        self._word_names: dict[str, str] = {}
        for domain in VENUE_DOMAINS:
            for row in tables.get(domain, ()):
                name = str(row["name"]).lower()
                context = Context(self._delexicalizer.gazetteer)
                context.turn({}, (domain,))
                found = self._delexicalizer.read(f"I would recommend {name}.", context)
                if not any(mention.slot == "name" for mention in found):
                    self._word_names[name] = domain
        names = "|".join(map(re.escape, sorted(self._word_names, key=len, reverse=True)))
        self._offered = re.compile(
            r"\b(?:recommend|suggest(?:ion is)?|how about|try|have|visit|called|named|there is)"
            rf" ({names})(?=\s*(?:[.,;!?]|$|which))",
            re.IGNORECASE,
        )

    def context(self, goal: Goal) -> ReadingContext:
        """Return the context of a new dialogue for a user with this `goal`."""
        return ReadingContext(goal, self._delexicalizer.gazetteer, self._rules)

    def mentions_of(self, text: str) -> list[Mention]:
        """Return the venues and values in a text, without the context of earlier turns."""
        return self._delexicalizer.read(text, Context(self._delexicalizer.gazetteer))

    def acts_of(
        self, text: str, context: ReadingContext, calls: Sequence[Returned] = ()
    ) -> list[Act]:
        """Return the dialogue acts of an agent turn, or no acts if no meaning is recognized in the
        text.

        `calls` are the results of the agent's calls in the turn. The names in the turn are added to
        the context.
        """
        called = [call.domain for call in reversed(calls) if call.domain in context.domains]
        before = (context.domain,) if context.domain else ()
        focus = tuple(dict.fromkeys((*called, *before, *context.domains)))
        context.words.turn(context.state, tuple(dict.fromkeys((*called[:1], *before))))
        for call in calls:
            # If a tool returned a name that is also a common word, the word is that name.
            if not call.is_booking:
                names = (record["name"] for record in call.records if "name" in record)
                context.words.names.update(map(str.lower, names))
        mentions = self._delexicalizer.read(text, context.words)
        if self._word_names:
            mentions += [
                Mention(*match.span(1), match[1], "name", domain, match[1])
                for match in self._offered.finditer(text)
                if (domain := self._word_names[match[1].lower()])
                and not any(m.start < match.end(1) and match.start(1) < m.end for m in mentions)
            ]
            mentions.sort(key=lambda mention: mention.start)
        return _TurnReader(text, mentions, calls, focus, context).acts(self._services)


class Sentence:
    """A sentence or line of an agent's message, in lower case, with its start position and its
    meaning.

    `topics` are the domains of the goal that the words name. The flags state that no result was
    found (`nothing`), that a booking was made (`booked`) or failed (`unbooked`), or that a venue or
    booking is `unavailable`. `domains` are the domains to which the values in the sentence belong.
    `given` maps the slots of acts to all values in the sentence, asserted or not. `details` are the
    slots and values of bookings in the sentence.
    """

    def __init__(self, start: int, low: str, domains: Sequence[str]) -> None:
        self.start = start
        self.low = low
        self.topics = tuple(domain for domain in _named_domains(low) if domain in domains)
        self.asks = low.rstrip().endswith("?")
        self.denies = has("agent negation", low)
        self.unbooked = (
            self.denies and has("agent not booked", low) and not has("agent booking depends", low)
        )
        self.nothing = self.denies and not self.unbooked and _finds_nothing(low)
        self.unavailable = (
            self.denies and has("agent unavailable", low) and not has("agent detail", low)
        )
        self.booked = (
            not (self.asks or self.unbooked)
            and has("agent booked", low)
            and not has("agent not booked yet", low)
        )
        self.domains: list[str] = []
        self.given: dict[str, set[str]] = {}
        self.details: list[tuple[str, str]] = []


def _named_domains(sentence: str) -> list[str]:
    """Return the domains that a sentence names, in order of mention."""
    if "same" in sentence:
        sentence = PATTERNS["agent same as"].sub(" ", sentence)
    places = {
        domain: match.start()
        for domain, pattern in patterns_of("agent domain").items()
        if (match := pattern.search(sentence))
    }
    if "police" in places:
        places.pop("train", None)
    return sorted(places, key=places.__getitem__)


def _finds_nothing(sentence: str) -> bool:
    """Return whether a negative sentence states that no venue was found."""
    if has("agent no problem", sentence):
        return False
    if has("agent nothing of name", sentence):
        return True
    for match in PATTERNS["agent nothing found"].finditer(sentence):
        denied = match[0]
        if denied.endswith("available") and has("agent detail", sentence):
            continue
        if denied.endswith("any"):
            denied = " ".join((denied, *sentence[match.end() :].split(maxsplit=2)[:2]))
        if not has("agent detail or other", denied):
            return True
    return False


def _requests(sentence: str, domains: Sequence[str]) -> Iterator[tuple[str, str]]:
    """Yield (domain, slot), in the form of acts, for the questions in a sentence.

    Only questions about constraints count. Offers (`would you like the phone number?`) and
    proposals to drop a constraint (`another area?`) do not count. `domains` are the candidate
    domains, the most likely first.
    """
    if not has("agent asks", sentence):
        return
    if has("agent offers", sentence) or has("agent gives up", sentence):
        return
    slots = [slot for slot, cued in patterns_of("agent question").items() if cued.search(sentence)]
    asks_time = has("agent asks time", sentence)
    timed = TABLES.union(JOURNEYS) if asks_time else frozenset()
    domain = next((d for d in domains if d in timed or any(_asked_slot(d, s) for s in slots)), None)
    if domain is None:
        return
    if asks_time and domain in JOURNEYS:
        # A question about a time asks for departure and arrival, unless a word excludes one of
        # them.
        rest = PATTERNS["agent place"].sub(" ", sentence)
        leaves, arrives = has("agent sets out", rest), has("agent arrives", rest)
        if leaves or not arrives:
            yield domain.capitalize(), "Leave"
        if arrives or not leaves:
            yield domain.capitalize(), "Arrive"
    if asks_time and domain in TABLES:
        if domain == "restaurant":
            yield BOOKING, "Time"
        if has("agent asks when", sentence) and {"people", "stay", "day"}.isdisjoint(slots):
            yield BOOKING, "Day"
    yield from filter(None, (_asked_slot(domain, slot) for slot in slots))


def _asked_slot(domain: str, slot: str) -> tuple[str, str] | None:
    if domain in TABLES and slot in BOOKING_SLOTS[domain]:
        return BOOKING, slot.capitalize()
    act = ACT_SLOTS[domain].get(slot.removeprefix("venue "))
    return None if act is None else (domain.capitalize(), act)


class Value(NamedTuple):
    """A value that a sentence asserts, with its mention; slots are named as in acts."""

    sentence: Sentence
    domain: str
    slot: str
    value: str
    mention: Mention


class _TurnReader:
    """Parses one turn: its sentences, then values, references and booking details, then acts.

    `focus` are the domains of the goal, with the most likely domain of the turn first. `mentioned`
    are the domains that have been mentioned in the turn so far.
    """

    def __init__(
        self,
        response: str,
        mentions: Sequence[Mention],
        calls: Sequence[Returned],
        focus: Sequence[str],
        context: ReadingContext,
    ) -> None:
        self.response = response
        self.mentions = mentions
        self.calls = calls
        self.focus = focus
        self.context = context
        self.shown = shown(response)
        low = lowered(self.shown.text)
        for mention in mentions:
            # Hide the words of names and streets, which could be mistaken for cues.
            if mention.slot in _NAME_SLOTS:
                start, end = self.shown.shown_at(mention.start, mention.end)
                low = low[:start] + _LETTER.sub("_", low[start:end]) + low[end:]
        self.low = low
        self.sentences = [
            Sentence(part.start(), part[0], context.domains) for part in SENTENCE.finditer(low)
        ]
        self.values: list[Value] = []
        self.references: list[tuple[str, str]] = []
        """Pairs of a booking reference and the domain of the booking. An unknown domain is ""."""
        self.mentioned: list[str] = []

    @cached_property
    def statements(self) -> Statements:
        """The sentences of the turn, with methods that decide whether a mention is a claim."""
        return Statements(self.response)

    # Values

    def _read_values(self) -> None:
        is_of_taxi = self.focus[:1] == ("taxi",) or any("taxi" in s.topics for s in self.sentences)
        mentions: Iterable[Mention] = self.mentions
        if is_of_taxi:
            # A phone number that no venue has belongs to a taxi.
            mentions = with_numbers_of_taxis(self.mentions, self.response)
        starts = [sentence.start for sentence in self.sentences]
        for mention in mentions:
            if mention.slot == LANDMARK:
                continue
            value = _spelled(mention)
            start, _ = self.shown.shown_at(mention.start, mention.end)
            sentence = self.sentences[max(0, bisect_right(starts, start) - 1)]
            if mention.slot == "reference":
                domain = self._domain_of_reference(mention, value, sentence)
                self.references.append((value.upper(), domain))
            else:
                self._add(mention, value, sentence, start)

    def _add(self, mention: Mention, value: str, sentence: Sentence, start: int) -> None:
        slot = mention.slot
        if slot in BOOKED_SLOTS and self._is_of_booking(mention, sentence):
            sentence.details.append((BOOKED_SLOTS[slot], value))
            sentence.given.setdefault(BOOKED_SLOTS[slot], set()).add(value)
            return
        free = PATTERNS["agent free of charge"]
        if slot == "entrancefee" and free.search(self.low, max(0, start - 25), start):
            return
        if slot == "choice" and PATTERNS["agent no choice"].match(
            self.low, start + len(mention.text)
        ):
            return
        domain = self._domain(mention, sentence)
        if domain is None:
            return
        if slot == "name" and PATTERNS["agent count"].fullmatch(mention.text.lower()):
            slot, value = "choice", mention.text.split()[0]
        if domain not in self.mentioned:
            self.mentioned.append(domain)
        act_slot = MENTION_SLOTS[domain][slot]
        sentence.given.setdefault(act_slot, set()).add(value)
        if act_slot in TIMES:
            if PATTERNS["agent limit"].search(self.low, max(sentence.start, start - 12), start):
                return
            if not mention.sure:
                # If it is unclear whether a time is departure or arrival, use the slot with this
                # time in the goal.
                other = _OTHER_END[act_slot]
                constraints = self.context.goal[domain].get("info", {})
                if constraints.get(SYSTEM_SLOTS[domain][other.lower()]) == value:
                    act_slot = other
        elif slot in FLAG_SLOTS:
            if mention.value is None:
                value = "no" if self.statements.is_denied(mention) else "yes"
        elif not self._is_asserted(mention, domain):
            return
        if act_slot == "Choice" and not value.isdigit():
            value = "several"
        value = self.context.spelled(domain, SYSTEM_SLOTS[domain][act_slot.lower()], value)
        sentence.domains.append(domain)
        self.values.append(Value(sentence, domain, act_slot, value, mention))

    def _is_of_booking(self, mention: Mention, sentence: Sentence) -> bool:
        """Return whether a day, time or number belongs to a table or room, not to a train."""
        slot = mention.slot
        if slot in ("bookpeople", "bookstay"):
            return True
        if mention.domain in self.context.domains and mention.value is not None:
            return False  # belongs to a train
        domain = self._likeliest(sentence)
        is_day = slot in ("day", "bookday")
        if domain == "restaurant":
            # The time at which a taxi arrives at a restaurant is not the time of a table.
            is_ride = self.focus[0] in JOURNEYS and domain not in sentence.topics
            return is_day or not is_ride
        return domain == "hotel" and is_day

    def _likeliest(self, sentence: Sentence) -> str | None:
        return next(iter((*sentence.topics, *self.mentioned[-1:], *self.focus)), None)

    def _domain(self, mention: Mention, sentence: Sentence) -> str | None:
        """Return the domain of the goal to which a value belongs, or None."""
        slot, goal, domain = mention.slot, self.context.domains, mention.domain
        elsewhere = slot in _SHARED_SLOTS and sentence.topics and domain not in sentence.topics
        if domain in goal and slot in MENTION_SLOTS[str(domain)] and not elsewhere:
            return domain
        if slot in ("name", "trainid") or (slot in _KIND_SLOTS and domain not in (None, *goal)):
            return None
        # Towns and times also occur in contexts other than journeys.
        focus = self.focus[:1] if slot in _ENDS_AND_TIMES else self.focus
        likely = (*sentence.topics, *self.mentioned[-1:], *focus)
        return next((domain for domain in likely if slot in MENTION_SLOTS[domain]), None)

    def _is_asserted(self, mention: Mention, domain: str) -> bool:
        """Return whether a user would take a value as asserted."""
        if mention.slot == "type" and domain == "hotel":
            slot = NAMED_BY.get(domain)
            named = [m for m in self.mentions if m.slot == slot and m.domain == domain]
            if any(not set(name.venues).isdisjoint(mention.venues) for name in named):
                return True
            start, _ = self.shown.shown_at(mention.start, mention.end)
            is_asked = ("hotel", "Type") in self.context.asked
            if is_asked or PATTERNS["agent type is"].search(self.low, 0, start):
                return True
            # Agents may call a guesthouse, or any place that is searched for, a hotel.
            return mention.text.lower() != GENERIC and self.statements.is_claim(
                mention, named, choice=True
            )
        if mention.slot in ("choice", "trainid", "phone", "postcode", "address"):
            return True
        return not self.statements.is_denied(mention)

    def _domain_of_reference(self, mention: Mention, code: str, sentence: Sentence) -> str:
        for call in self.calls:
            if call.is_booking and call.has_code(code):
                return call.domain
        about = sentence.topics or self.mentioned[-1:]
        is_booking = sentence.booked or not about or not ACT_BOOKING_SLOTS.keys().isdisjoint(about)
        if has("agent listed reference", sentence.low) or not is_booking:
            return ""
        bookable = [d for d in self.context.domains if d in ACT_BOOKING_SLOTS]
        mentioned = (*sentence.topics, *self.mentioned[::-1])
        likely = (*mentioned, self.context.domain, mention.domain, *bookable)
        return str(next((domain for domain in likely if domain in bookable), ""))

    # Acts

    def acts(self, services: Mapping[str, Sequence[tuple[str, str, str]]]) -> list[Act]:
        """Return the acts of the turn: unavailable items, values, questions, bookings."""
        if self.sentences:
            self._read_values()
        values = [v for v in self.values if not (v.sentence.nothing or v.sentence.unavailable)]
        acts = [
            Act("NoOffer", domain.capitalize(), NONE, NONE)
            for domain in dict.fromkeys(self._without_venue())
        ]
        for domain in dict.fromkeys(value.domain for value in values):
            acts += self._of_domain(domain, [value for value in values if value.domain == domain])
        acts += (
            Act("Inform", domain.capitalize(), MENTION_SLOTS[domain][slot], value)
            for domain in SERVICES
            if domain in self.context.domains
            for slot, value in self._of_service(services[domain])
        )
        acts += self._unknown(acts)
        acts += self._requests()
        acts += self._of_bookings(acts)
        acts += (
            Act(intent, GENERAL, NONE, NONE)
            for intent, pattern in patterns_of("agent act").items()
            if pattern.search(self.low)
        )
        return list(dict.fromkeys(acts))

    def _of_service(self, known: Iterable[tuple[str, str, str]]) -> Iterator[tuple[str, str]]:
        """Yield (slot, value) for a service in the turn, without parts of longer values."""
        text = f" {' '.join(fold(self.low))} "
        found = [(words, slot, value) for words, slot, value in known if words in text]
        for words, slot, value in found:
            if not any(words != longer and words.strip() in longer for longer, _, _ in found):
                yield slot, value

    def _without_venue(self) -> Iterator[str]:
        """Yield the domains in which nothing was found."""
        for sentence in self.sentences:
            if sentence.unbooked or not (sentence.nothing or sentence.unavailable):
                continue
            domain = self._searched(sentence)
            if domain and not (sentence.unavailable and self._is_about_booking(sentence)):
                yield domain
        # The text need not mention the domain in which nothing was found.
        if any(sentence.denies for sentence in self.sentences):
            last = {call.domain: call for call in self.calls if not call.is_booking}
            named = {value.domain for value in self.values if value.slot in ("Name", "Id")}
            for domain, call in last.items():
                if call.count == 0 and domain in self.context.domains and domain not in named:
                    yield domain

    def _searched(self, sentence: Sentence) -> str:
        likely = (*sentence.topics, *sentence.domains, *self.focus)
        return next((d for d in likely if d in NAMED_BY or d == "hospital"), "")

    def _of_domain(self, domain: str, values: Sequence[Value]) -> Iterator[Act]:
        """Yield the acts about a domain: about one venue, or several venues to choose from."""
        name = domain.capitalize()
        naming = "Id" if domain == "train" else "Name"
        venues = list(dict.fromkeys(value.value for value in values if value.slot == naming))
        rest = [value for value in values if value.slot not in (naming, "Choice")]
        choices = (value.value for value in values if value.slot == "Choice")
        for choice in islice(choices, 1):
            yield Act("Inform", name, "Choice", choice)
        if len(venues) > 1:
            by_venue: dict[str, list[Value]] = {venue: [] for venue in venues}
            named = {value.mention.start: value for value in values if value.slot == naming}
            mentions = [value.mention for value in named.values()]
            for value in rest:
                for mention in self.statements.spoken_of(value.mention, mentions):
                    by_venue[named[mention.start].value].append(value)
            chosen = self._chosen(domain, by_venue)
            if len(chosen) == 1:
                venues, rest = chosen, by_venue[chosen[0]]
            else:
                yield from (Act("Select", name, naming, venue) for venue in chosen)
                venues = []
                of_some = {id(value) for of_venue in by_venue.values() for value in of_venue}
                rest = [value for value in rest if id(value) not in of_some]
        intent = "Recommend" if venues and domain != "train" else "Inform"
        yield from (Act(intent, name, naming, venue) for venue in venues)
        by_slot: dict[str, list[Value]] = {}
        for value in rest:
            by_slot.setdefault(value.slot, []).append(value)
        for slot, found in by_slot.items():
            different = list(dict.fromkeys(value.value for value in found))
            if len(different) == 1:
                yield Act(intent, name, slot, different[0])
            elif any(v.sentence.asks and has("agent chooses", v.sentence.low) for v in found):
                yield from (Act("Select", name, slot, value) for value in different)
            elif len(venues) == 1 or domain not in NAMED_BY:
                # Of several values for one slot, the last counts: `not 10 but 12 pounds`.
                yield Act(intent, name, slot, different[-1])

    def _chosen(self, domain: str, by_venue: Mapping[str, Sequence[Value]]) -> list[str]:
        """Return the candidates: the venue that the user named, or the venues that fit the goal.

        If no venue fits, the result is the first venue, so that the user objects to it.
        """
        context = self.context
        goal = context.goal[domain]
        fitting = [
            venue
            for venue, values in by_venue.items()
            if all(
                correction(goal, SYSTEM_SLOTS[domain][value.slot.lower()], value.value) is None
                for value in values
            )
        ]
        own = context.state.get(domain, {}).get(NAMED_BY.get(domain, "name"), "").lower()
        return [v for v in fitting if v.lower() == own] or fitting or list(by_venue)[:1]

    def _unknown(self, acts: Sequence[Act]) -> Iterator[Act]:
        """Yield acts for present or future requests whose value the agent says it does not know."""
        informed = {(act.domain.lower(), act.slot) for act in acts}
        context = self.context
        for sentence in self.sentences:
            if sentence.asks or not sentence.denies:
                continue
            about = str(self._likeliest(sentence))
            slots = USER_SLOTS.get(about, {})
            requested = context.asked | {
                (about, slots[slot])
                for slot in context.goal.get(about, {}).get("reqt", ())
                if slot in slots
            }
            lacking = context.asked if has("agent no information", sentence.low) else ()
            for domain, slot in sorted(requested - informed):
                cued = patterns_of("agent lacks").get(slot)
                is_unknown = cued is not None and cued.search(sentence.low) is not None
                is_unknown = is_unknown and has("agent unknown", sentence.low)
                if is_unknown or (domain, slot) in lacking:
                    informed.add((domain, slot))
                    yield Act("Inform", domain.capitalize(), slot, UNKNOWN)

    def _requests(self) -> Iterator[Act]:
        last: list[str] = []
        lists = asked = False
        for sentence in self.sentences:
            last = sentence.domains[-1:] or last
            domains = tuple(dict.fromkeys((*sentence.topics, *last, *self.focus)))
            given: set[str] = set()
            if not has("agent chooses", sentence.low):
                given = {slot for slot, values in sentence.given.items() if len(values) == 1}
            if given & TIMES:
                given |= TIMES
            question = sentence.low
            is_line = lists and not given and ": " not in question
            if is_line or (asked and PATTERNS["agent example"].match(question)):
                # `Please tell me: - the day - the time`; `For example, the area or the price.`
                question += "?"
            asked = has("agent asks", question)
            if question.rstrip().endswith(":"):
                lists = asked
            elif given or len(question) > LONGEST_LINE:
                lists = False
            for domain, slot in _requests(question, domains):
                # `Would you like Chinese food?` proposes the value that it contains.
                if slot not in given:
                    yield Act("Request", domain, slot, "?")

    # Bookings

    def _booked(self) -> dict[str, str]:
        """Return the reference of each booking made, by domain, or "" without a reference."""
        booked = {domain: code for code, domain in self.references if domain}
        made = [call.domain for call in self.calls if call.is_booking and not call.has_failed]
        for sentence in self.sentences:
            if sentence.booked and not self.references and "taxi" not in sentence.topics:
                likely = (*made, *sentence.topics, *sentence.domains, *self.focus)
                if likely and likely[0] in ACT_BOOKING_SLOTS:
                    booked.setdefault(likely[0], "")
        return booked

    def _of_bookings(self, before: Sequence[Act]) -> Iterator[Act]:
        """Yield acts for successful or failed bookings, with their details."""
        booked = self._booked()
        details = [(s, slot, value) for s in self.sentences for slot, value in s.details]
        if not booked:
            if self._fails_to_book():
                yield Act("NoBook", BOOKING, NONE, NONE)
            for sentence, slot, value in details:
                domain = str(self._likeliest(sentence))
                if slot in ACT_BOOKING_SLOTS.get(domain, ()) and not sentence.nothing:
                    yield Act("Inform", BOOKING, slot, value)
            return
        *others, last = booked
        for domain in others:
            # Booking acts apply only to the domain that was mentioned last.
            yield Act("OfferBooked", domain.capitalize(), "Ref", booked[domain])
        goal = self.context.domains
        acts = dict.fromkeys(act.domain.lower() for act in before if act.domain.lower() in goal)
        if last != next(reversed(acts), self.context.domain):
            yield Act("Inform", last.capitalize(), NONE, NONE)
        code = booked[last]
        yield Act("Book", BOOKING, "Ref" if code else NONE, code or NONE)
        for sentence, slot, value in details:
            is_made = sentence.booked or not sentence.asks
            if is_made and slot in ACT_BOOKING_SLOTS.get(last, ()) and len(booked) == 1:
                yield Act("Book", BOOKING, slot, self.context.spelled(last, slot.lower(), value))

    def _fails_to_book(self) -> bool:
        failed = any(call.is_booking and call.has_failed for call in self.calls)
        return any(
            sentence.unbooked
            or (sentence.unavailable and self._is_about_booking(sentence))
            or (failed and sentence.denies)
            for sentence in self.sentences
        )

    def _is_about_booking(self, sentence: Sentence) -> bool:
        """Return whether the unavailable item is a table or a room, not a venue.

        This is true if the user or the agent has begun to book, or if the sentence has a booking
        detail.
        """
        domain = self._searched(sentence)
        slots = {slot.lower() for slot in ACT_BOOKING_SLOTS.get(domain, ())}
        return (
            bool(sentence.details)
            or any(call.is_booking and call.domain == domain for call in self.calls)
            or not slots.isdisjoint(self.context.state.get(domain, {}))
        )
