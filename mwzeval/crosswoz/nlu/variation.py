"""Training examples with other values than their own, so that names are not learned by heart.

A sentence is as natural with the name of another venue. What may stand in a slot are the values of
the training dialogues and, for open slots such as names and addresses, those of the database.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from hashlib import blake2b

from mwzeval.crosswoz.corpus.acts import SEPARATOR
from mwzeval.crosswoz.corpus.database import Database
from mwzeval.crosswoz.corpus.names import (
    ADDRESS,
    DEPARTURE,
    DEPARTURE_STATION,
    DESTINATION,
    DESTINATION_STATION,
    DISHES,
    NAME,
    NEARBY,
    PHONE,
    STATION,
    TRAFFIC_DOMAINS,
    VENUE_DOMAINS,
)
from mwzeval.crosswoz.nlu.examples import BEGIN, INSIDE, Example, spans

Values = Mapping[tuple[str, str], Sequence[str]]
"""(domain, slot) → what may stand there; what comes more often is more likely."""


def values_of(examples: Iterable[Example], database: Database | None = None) -> Values:
    """Return the values of tagged characters, and those of a database for open slots."""
    values: dict[tuple[str, str], list[str]] = {}
    for example in examples:
        for start, end, kind in spans(example.tags):
            _, domain, slot = kind.split(SEPARATOR, 2)
            values.setdefault((domain, slot), []).append(example.utterance.text[start:end])
    for place, value in _open_values(database) if database is not None else ():
        values.setdefault(place, []).append(value)
    return values


def _open_values(database: Database) -> Iterator[tuple[tuple[str, str], str]]:
    for domain in VENUE_DOMAINS:
        for entity in database.entities(domain):
            record = entity.record
            for slot in (NAME, ADDRESS, PHONE):
                if isinstance(text := record.get(slot), str) and text:
                    yield (domain, slot), text
            for dish in record.get(DISHES) or ():
                yield (domain, DISHES), dish
            for near in VENUE_DOMAINS:
                yield (near, NEARBY[domain]), entity.name
            for trip in TRAFFIC_DOMAINS:
                yield (trip, DEPARTURE), entity.name
                yield (trip, DESTINATION), entity.name
            if isinstance(station := record.get(STATION), str) and station:
                yield (TRAFFIC_DOMAINS[0], DEPARTURE_STATION), station
                yield (TRAFFIC_DOMAINS[0], DESTINATION_STATION), station


def varied(example: Example, values: Values, share: float, draw: Iterator[float]) -> Example:
    """Return an example with a share of its values replaced by others of their slot.

    `draw` are random numbers in [0, 1). The context stays.
    """
    text, tags = example.utterance.text, example.tags
    said, marks = [], []
    before = 0
    for start, end, kind in spans(tags):
        if next(draw) >= share:
            continue
        _, domain, slot = kind.split(SEPARATOR, 2)
        choice = values[domain, slot]
        value = choice[int(next(draw) * len(choice))]
        said += [text[before:start], value]
        marks += [*tags[before:start], BEGIN + kind, *[INSIDE + kind] * (len(value) - 1)]
        before = end
    if not before:
        return example
    said.append(text[before:])
    return replace(
        example,
        utterance=replace(example.utterance, text="".join(said)),
        tags=(*marks, *tags[before:]),
    )


def checksum(values: Values) -> str:
    """Return a checksum of values."""
    digest = blake2b(digest_size=16)
    for place in sorted(values):
        digest.update(repr((place, values[place])).encode("utf-8", "backslashreplace"))
    return digest.hexdigest()
