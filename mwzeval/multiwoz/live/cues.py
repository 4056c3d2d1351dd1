"""Cues: what the words of a sentence mean beside its values, by the expressions of `cues.tsv`.

Keys that begin with `agent` are for what agents say, as a user reads it; those that begin with
`user` for what users say, as the rule agent and the template system read it. All texts are in lower
case. A sentence is about a domain, denies, books, asks.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from functools import lru_cache

from mwzeval.files.downloads import embedded
from mwzeval.files.reading import table_rows
from mwzeval.multiwoz.acts import ACT_SLOTS
from mwzeval.multiwoz.normalization import State
from mwzeval.multiwoz.schema import BOOKING_SLOTS

BOOKING = "Booking"
"""The domain of acts about the booking of a venue, whichever it is of."""
TABLES = frozenset({"restaurant", "hotel"})
JOURNEYS = ("train", "taxi")
EVERYTHING = ("phone", "address", "postcode")
"""What a user gets who asks for "information"."""
_PART = re.compile("%([a-z]+)%")


REMEMBERED = 2**10
"""More than there are keys in the tables."""


@lru_cache(REMEMBERED)
def keyed_lines(name: str) -> Mapping[str, tuple[str, ...]]:
    """Return the lines of a table of live dialogues by key. Raises `DataError` if it is damaged."""
    lines: dict[str, list[str]] = {}
    for key, text in table_rows(embedded("live", name), 2):
        lines.setdefault(key, []).append(text)
    return {key: tuple(texts) for key, texts in lines.items()}


def _expression(key: str) -> str:
    joined = "|".join(keyed_lines("cues.tsv")[key])
    return _PART.sub(lambda part: f"(?:{_expression(f'part {part[1]}')})", joined)


@lru_cache(REMEMBERED)
def cue(key: str) -> re.Pattern[str]:
    """Return the expression of a key."""
    return re.compile(_expression(key))


@lru_cache(REMEMBERED)
def cues(kind: str, *, words: bool = False) -> Mapping[str, re.Pattern[str]]:
    """Return the expressions of all keys of a kind by what follows it, maybe for whole words."""
    keys = [key for key in keyed_lines("cues.tsv") if key.startswith(f"{kind} ")]
    around = r"\b(?:{})\b" if words else "{}"
    return {
        key.removeprefix(f"{kind} "): re.compile(around.format(_expression(key))) for key in keys
    }


@lru_cache(REMEMBERED)
def word_list(key: str) -> frozenset[str]:
    """Return the words of a list."""
    return frozenset(keyed_lines("cues.tsv")[key][0].split())


def has(key: str, text: str) -> bool:
    """Tell whether a text has a cue."""
    return cue(key).search(text) is not None


def meaning(kind: str, word: str) -> str | None:
    """Return what follows the kind in the key that has a word."""
    return next((name for name, cued in cues(kind).items() if cued.fullmatch(word)), None)


# What agents say


def agent_domains(sentence: str) -> list[str]:
    """Return the domains that words of a sentence tell, in their order."""
    if "same" in sentence:
        sentence = cue("agent same as").sub(" ", sentence)
    places = {}
    for domain, pattern in cues("agent domain", words=True).items():
        match = pattern.search(sentence)
        if match:
            places[domain] = match.start()
    if "police" in places:
        places.pop("train", None)
    return sorted(places, key=places.__getitem__)


def denies(sentence: str) -> bool:
    """Tell whether a sentence has any word that denies or regrets."""
    return has("agent negation", sentence)


def finds_nothing(sentence: str) -> bool:
    """Tell whether a sentence says that there is nothing of what is wanted."""
    if not denies(sentence) or has("agent no problem", sentence):
        return False
    if has("agent nothing of name", sentence):
        return True
    for match in cue("agent nothing found").finditer(sentence):
        denied = match[0]
        if denied.endswith("available") and has("agent detail", sentence):
            continue
        if denied.endswith("any"):
            denied = " ".join((denied, *sentence[match.end() :].split(maxsplit=2)[:2]))
        if not has("agent detail or other", denied):
            return True
    return False


def fails_to_book(sentence: str) -> bool:
    """Tell whether a sentence says that a booking was not or cannot be made."""
    return (
        denies(sentence)
        and has("agent not booked", sentence)
        and not has("agent booking depends", sentence)
    )


def is_unavailable(sentence: str) -> bool:
    """Tell whether a sentence says that a venue, or else a booking, is not available."""
    return (
        denies(sentence)
        and has("agent unavailable", sentence)
        and not has("agent detail", sentence)
    )


def has_booked(sentence: str) -> bool:
    """Tell whether a sentence says that a booking was made."""
    return (
        not sentence.rstrip().endswith("?")
        and has("agent booked", sentence)
        and not has("agent not booked yet", sentence)
        and not fails_to_book(sentence)
    )


def is_unknown(sentence: str, slot: str) -> bool:
    """Tell whether a sentence says that the value of an act's slot is not known."""
    lacking = cues("agent lacks", words=True).get(slot)
    return (
        lacking is not None
        and lacking.search(sentence) is not None
        and has("agent unknown", sentence)
    )


def general_acts(text: str) -> list[str]:
    """Return the general acts of a text: reqmore, bye, welcome, greet."""
    if not has("agent any act", text):
        return []
    return [intent for intent, pattern in cues("agent act").items() if pattern.search(text)]


# What agents ask. A question counts when it asks the user for a wish: one that offers something
# (`would you like the phone number?`) or proposes to give a wish up (`another area?`) does not.


@lru_cache(REMEMBERED)
def _any_question() -> re.Pattern[str]:
    patterns = [*cues("agent question").values(), cue("agent asks time")]
    return re.compile("|".join(f"(?:{pattern.pattern})" for pattern in patterns))


def agent_requests(sentence: str, domains: Sequence[str]) -> Iterator[tuple[str, str]]:
    """Yield domain and slot, as acts have them, of what a sentence asks its user for.

    `domains` are those that it may be about, the likeliest first.
    """
    if not (has("agent asks", sentence) and _any_question().search(sentence)):
        return
    if has("agent offers", sentence) or has("agent gives up", sentence):
        return
    slots = [slot for slot, cued in cues("agent question").items() if cued.search(sentence)]
    asks_time = has("agent asks time", sentence)
    timed = TABLES.union(JOURNEYS) if asks_time else frozenset()
    domain = next((d for d in domains if d in timed or any(_asked_slot(d, s) for s in slots)), None)
    if domain is None:
        return
    if asks_time and domain in JOURNEYS:
        # The time of both ends is asked for, unless a word tells.
        rest = cue("agent place").sub(" ", sentence)
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


# What users say


def requested_slots(utterance: str) -> tuple[str, ...]:
    """Return the slots that an utterance seems to ask for."""
    slots = [slot for slot, cued in cues("user request").items() if cued.search(utterance)]
    if not slots and has("user information", utterance) and not has("user last words", utterance):
        return EVERYTHING
    return tuple(slots)


def user_domains(utterance: str, state: State) -> tuple[str, ...]:
    """Return the domains that an utterance names, by a word of theirs or a venue's name."""
    return tuple(
        domain
        for domain, cued in cues("user domain").items()
        if cued.search(utterance) or (state.get(domain, {}).get("name") or "\n") in utterance
    )
