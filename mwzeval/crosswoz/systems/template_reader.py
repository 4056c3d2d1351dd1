"""An NLU of rules: understands what was said with templates, by matching the same templates.

For simulations in words that need no trained NLU: it understands whoever speaks with its templates
(one sentence per kind of act, with commas and marks between) and hardly anybody else.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from functools import lru_cache
from typing import NamedTuple

from mwzeval.crosswoz.corpus.acts import (
    GENERAL,
    INFORM,
    NO_OFFER,
    NONE,
    REQUEST,
    SELECT,
    SEPARATOR,
    SERVICE_PREFIX,
    Act,
    Acts,
)
from mwzeval.crosswoz.corpus.database import TAXI_RECORD, Database
from mwzeval.crosswoz.corpus.names import DOMAINS, HOTEL, NOTHING, SERVICES, VENUE_DOMAINS
from mwzeval.crosswoz.protocols import USER, Side
from mwzeval.crosswoz.systems.templates import ATTRIBUTE, SUBJECT, Sentences

REMEMBERED = 2**14
PART = re.compile("[^，。？！?!~～…]+[，。？！?!~～…]*")
MARK = re.compile("[，。？！]")
ENDINGS = "。，,.？?！!；;~～… "
LONGEST = 4
"""The most parts between marks that one template is looked for in."""
PLACEHOLDER = re.compile(r"\[([^\[\]]*)\]")
Reading = tuple[Act, ...]
Readings = tuple[Reading, ...]


class _Pattern(NamedTuple):
    """A template turned round: what it says, and where its values are."""

    regex: re.Pattern[str]
    literal: int
    key: tuple[str, ...]
    places: tuple[str, ...]


class TemplateReader:
    """Understands the sentences of manual templates of both sides.

    Templates say values in small letters; the names of the `database` get their own back.
    """

    def __init__(self, user: Sentences, system: Sentences, database: Database) -> None:
        self._patterns = {USER: _indexed(user), "system": _indexed(system)}
        self._spellings = spellings(database)
        self._readings = lru_cache(REMEMBERED)(self._read)

    def understand(self, utterance: str, context: Sequence[str], side: Side) -> Acts:
        """Return the acts of an utterance.

        Where a sentence fits several domains, the one that the rest of the utterance or the context
        speaks of is meant. What is not understood is passed over.
        """
        readings = list(self._parts(utterance, side))
        sure = [act.domain for reading in readings if len(reading) == 1 for act in reading[0]]
        counts = Counter(domain for domain in sure if domain in DOMAINS)
        domain = counts.most_common(1)[0][0] if counts else None
        if domain is None and any(len(reading) > 1 for reading in readings):
            domain = self._spoken_of(context)
        acts = [act for reading in readings for act in _chosen(reading, domain)]
        return tuple(dict.fromkeys(acts))

    def _spoken_of(self, context: Sequence[str]) -> str | None:
        """Return the domain that the utterances before speak of, the last one first."""
        for utterance in reversed(context):
            for side in self._patterns:
                for reading in self._parts(utterance, side):
                    if len(reading) == 1 and reading[0] and reading[0][0].domain in DOMAINS:
                        return reading[0][0].domain
        return None

    def _parts(self, utterance: str, side: Side) -> Sequence[Readings]:
        """Return the possible readings of each part of an utterance that is understood.

        Commas and marks stand between sentences and inside them: of all ways to divide the
        utterance, the one counts in which templates spell out most of it.
        """
        parts = PART.findall(utterance.rstrip(ENDINGS))
        best: list[tuple[int, tuple[Readings, ...]]] = [(0, ())]
        for end in range(1, len(parts) + 1):
            chosen = best[end - 1]
            for start in range(max(0, end - LONGEST), end):
                spelled, readings = self._readings("".join(parts[start:end]), side)
                score, before = best[start]
                if readings and score + spelled > chosen[0]:
                    chosen = (score + spelled, (*before, readings))
            best.append(chosen)
        return best[-1][1]

    def _read(self, part: str, side: Side) -> tuple[int, Readings]:
        """Return how much of a part templates spell out, and the readings by those that do most."""
        text = part.strip(ENDINGS)
        if not text:
            return 0, ()
        index = self._patterns[side]
        most = 0
        found: list[Reading] = []
        for ends in ((text[0], text[-1]), (text[0], ""), ("", text[-1]), ("", "")):
            for pattern in index.get(ends, ()):
                if pattern.literal < most:
                    continue
                match = pattern.regex.fullmatch(text)
                # Hardly any value has a mark: it is a sentence that was not understood.
                if match is None or any(MARK.search(value) for value in match.groups()):
                    continue
                if pattern.literal > most:
                    most, found = pattern.literal, []
                values = [self._spellings.get(value, value) for value in match.groups()]
                found.append(_acts(pattern, values))
        return most, tuple(dict.fromkeys(found))


def _chosen(readings: Sequence[Reading], domain: str | None) -> Reading:
    for reading in readings:
        if any(act.domain == domain for act in reading):
            return reading
    if len(readings[0]) == 1 and readings[0][0].domain == SUBJECT:
        return tuple(act._replace(domain=domain) for act in readings[0]) if domain else ()
    return readings[0]


def _indexed(sentences: Sentences) -> dict[tuple[str, str], list[_Pattern]]:
    """Return patterns by the characters that they begin and end with, "" for a value."""
    index: dict[tuple[str, str], list[_Pattern]] = {}
    for key, of_key in sentences.items():
        for sentence in dict.fromkeys(of_key):
            text = sentence.strip(ENDINGS)
            if not text:
                continue
            pieces = PLACEHOLDER.split(text)
            literals, places = pieces[::2], tuple(pieces[1::2])
            if not any(literals):
                continue  # it would match anything
            regex = re.compile("(.+?)".join(map(re.escape, literals)), re.DOTALL)
            pattern = _Pattern(regex, sum(map(len, literals)), tuple(key.split(SEPARATOR)), places)
            index.setdefault((literals[0][:1], literals[-1][-1:]), []).append(pattern)
    return index


def _acts(pattern: _Pattern, values: Sequence[str]) -> Reading:
    """Return what a template with these values says."""
    intent, domain, slot, *more = pattern.key
    if intent == GENERAL:
        return (Act(GENERAL, domain, NONE, NONE),)
    if intent == NO_OFFER:
        return (Act(NO_OFFER, domain, NONE, NONE),)
    if intent == SELECT:
        return (Act(SELECT, domain, slot, more[0]),)
    if domain == SUBJECT:
        named = dict(zip(pattern.places, values, strict=True))
        return (Act(INFORM, named.get(SUBJECT, SUBJECT), named.get(ATTRIBUTE, ""), NOTHING),)
    if intent == REQUEST:
        services = [Act(REQUEST, HOTEL, SERVICE_PREFIX + value, "") for value in values]
        return tuple(services) if slot == SERVICES else (Act(REQUEST, domain, slot, ""),)
    if slot.startswith(SERVICES) and more:
        answer = more[-1]
        return tuple(Act(INFORM, HOTEL, SERVICE_PREFIX + value, answer) for value in values)
    told = values or more
    # `名称1+名称2`: the same slot several times.
    return tuple(Act(intent, domain, slot.rstrip("0123456789"), value) for value in told)


def spellings(database: Database) -> dict[str, str]:
    """Return how the texts of a database are spelled, by their small letters, where it differs."""
    records = [e.record for domain in VENUE_DOMAINS for e in database.entities(domain)]
    return {
        text.lower(): text
        for record in (*records, TAXI_RECORD)
        for text in _texts(record.values())
        if text.lower() != text
    }


def _texts(values: Iterable[object]) -> Iterator[str]:
    for value in values:
        if isinstance(value, str):
            yield value
        elif isinstance(value, list | tuple):
            yield from (item for item in value if isinstance(item, str))
