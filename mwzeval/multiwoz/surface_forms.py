"""The spellings that people use for names and addresses, as folded words."""

from __future__ import annotations

from collections.abc import Iterator

from mwzeval.multiwoz.words.surface_tables import (
    ADDED_TAILS,
    ADDRESS_TAILS,
    DROPPED_TAILS,
    GENERIC_WORDS,
    HOTEL_TAILS,
    LINKING_WORDS,
    ORDINARY_WORDS,
    STREET_WORDS,
)
from mwzeval.multiwoz.words.text import fold

Words = tuple[str, ...]


def name_forms(name: str, domain: str) -> set[Words]:
    """Return the ways to say a venue's name, each a tuple of folded words."""
    words = fold(name)
    forms = {words}
    stem = _stem(words, domain)
    tails: tuple[Words, ...] = ADDED_TAILS[domain]
    forms |= {stem + tail for tail in tails}
    if words[0] == "restaurant":
        forms |= {words[1:], words[1:] + words[:1]}
        if all(word.isdigit() for word in words[1:]):
            forms.add((words[0], "".join(words[1:])))
            forms.discard(words[1:])
    if domain == "hotel" and stem[-1] == "house" and len(stem) > 1:
        # Archway House is the Archway guesthouse.
        forms |= {stem[:-1] + tail for tail in HOTEL_TAILS if tail[0].startswith("guest")}
    if is_telling(stem):
        forms.add(stem)
    for form in list(forms):
        if form[0] == "the":
            if is_telling(form[1:]):
                forms.add(form[1:])
        else:
            forms.add(("the", *form))
    return {form for form in forms if form}


def short_forms(name: str, domain: str) -> Iterator[Words]:
    """Yield beginnings of a name, by which people call a venue that was named before."""
    words = _stem(fold(name), domain)
    words = words[1:] if words[0] == "the" else words
    for end in range(1, len(words)):
        if words[end - 1] in LINKING_WORDS or words[end - 1].isdigit():
            continue
        if end > 1 or words[0] not in GENERIC_WORDS:
            yield words[:end]


def _stem(words: Words, domain: str) -> Words:
    tails = [*DROPPED_TAILS[domain], *(HOTEL_TAILS if domain == "hotel" else ())]
    again = True
    while again:
        again = False
        for tail in tails:
            if words[-len(tail) :] == tail and len(words) > len(tail):
                words = words[: -len(tail)]
                again = True
    return words


def is_telling(words: Words) -> bool:
    """Tell whether words cannot but be a name: `avalon` and `river bar`, but not `the place`."""
    words = words[1:] if words[:1] == ("the",) else words
    return len(words) > 1 or (bool(words) and len(words[0]) > 2 and words[0] not in ORDINARY_WORDS)


def address_forms(address: str) -> Iterator[tuple[str, Words]]:
    """Yield the parts of an address as the database spells them, each with ways to say it."""
    parts = [part.strip() for part in address.split(",")]
    for part in parts:
        for form in _part_forms(fold(part)):
            yield part, form


def _part_forms(words: Words) -> set[Words]:
    if not words or words in ADDRESS_TAILS:
        return set()
    stretches = _stretches(words)
    forms: set[Words] = set()
    for start in range(len(stretches)):
        for end in range(start + 1, len(stretches) + 1):
            form = tuple(word for stretch in stretches[start:end] for word in stretch)
            if form not in ADDRESS_TAILS:
                forms.add(form)
    for form in list(forms):
        without = form
        while len(without) > 1 and any(char.isdigit() for char in without[0]):
            without = without[1:]
        if len(without) > 1 and without not in ADDRESS_TAILS:
            forms.add(without)
        if form[0][:-1].isdigit() and form[0][-1].isalpha():
            forms.add((form[0][:-1], form[0][-1], *form[1:]))
    # In texts `St` is read as Saint, wherever it stands.
    return forms | {tuple(SHORT.get(word, word) for word in form) for form in forms}


SHORT = {"street": "saint"}


def _stretches(words: Words) -> list[Words]:
    """Return an address cut after each word that ends the name of a street."""
    stretches: list[Words] = []
    begun: list[str] = []
    for index, word in enumerate(words):
        begun.append(word)
        ends = word in STREET_WORDS and len(begun) > 1
        if ends and words[index + 1 : index + 2] and words[index + 1] in STREET_WORDS:
            ends = False
        if ends:
            stretches.append(tuple(begun))
            begun = []
    if begun:
        stretches.append(tuple(begun))
    return stretches
