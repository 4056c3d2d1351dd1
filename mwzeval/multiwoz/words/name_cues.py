"""What shows that a name of a venue is due, and which words in capitals are no names.

Patterns of the words before and behind a name, of names by themselves, vocabularies, names that
their last word gives away, and cuisines that nobody has.
"""

from __future__ import annotations

import re
from collections.abc import Container, Iterable

from mwzeval.multiwoz.schema import DAYS
from mwzeval.multiwoz.words.markup import BREAK
from mwzeval.multiwoz.words.surface_tables import (
    AREAS,
    CUISINES,
    FIELD_WORDS,
    FOOD_SPELLINGS,
    HEADING_WORDS,
    KIND_WORDS,
    LABEL_WORDS,
    LANDMARK_PHRASES,
    LONG_CUISINES,
    OPENING_WORDS,
    PRICE_RANGES,
    STREETS,
)
from mwzeval.multiwoz.words.text import WORD as WORD_TOKEN
from mwzeval.multiwoz.words.text import Tokens

DOMAIN_OF = {
    word: domain
    for domain, words in KIND_WORDS.items()
    for kind in words
    for word in (kind, f"{kind}s")
}
"""Words that say which domain a venue is of."""

NO_NAMES = frozenset(
    {
        *LABEL_WORDS,
        *FIELD_WORDS,
        *(word for day in DAYS for word in (day, f"{day}s", day[:3])),
        *(word for area in AREAS for word in (area, f"{area}ern")),
        *(word for food in (*CUISINES, *LONG_CUISINES, *FOOD_SPELLINGS) for word in food.split()),
        *(word for said in PRICE_RANGES.values() for text in said for word in text.split()),
    }
)
"""Words in capitals that are no names by themselves, and that no name begins with."""
NEUTRAL = frozenset({"the", "cambridge", "city", "centre", "in", "at", "of", "and", "a"})
"""Words that make no other venue of a name."""

_ADVERB = re.compile(r"[a-z]{3,}ly")


def is_ordinary(word: str) -> bool:
    """Tell whether a word in lower case is no name by itself and begins none."""
    return word in NO_NAMES or word in OPENING_WORDS or _ADVERB.fullmatch(word) is not None


_HEADING = re.compile(
    r"[a-z-]{2,}(?:ings?|[ts]ions?|ments?|ness|ity|ities|[ae]nces?|[ai]ble|ous|ful|ive|wards?|ed"
    r"|-friendly|-free)"
    r"|[a-z]{3,}(?:type|time|number|prices?|fee|size|level|style|code|hours|date|rating|model)"
)
"""Nouns and adjectives by their ending, and two words of a field in one: `Phonenumber`."""


def is_heading(words: Iterable[str]) -> bool:
    """Tell whether words in lower case that a layout sets apart are a label: `Dress code`."""
    return all(
        is_ordinary(word) or word in HEADING_WORDS or _HEADING.fullmatch(word) for word in words
    )


STREET_ENDINGS = STREETS | {"way", "close", "row", "square"}
WORD = r"[A-ZÀ-ÖØ-Þ](?:[\w&'+-]|\.(?=\w)){0,60}(?: 's\b)?"
FOREIGN = r"(?:(?:de|la|le|del|di|da|du|des|el|van|von|n'?)\s+)"
LINKS = rf"(?:(?:and|of|at|the|&|on|by|in|to)\s+|{FOREIGN})"
NAME = rf"{WORD}(?:\s+{LINKS}{{0,2}}(?:{WORD}|[0-9]{{1,3}}\b))*"
PHRASE = re.compile(rf"\s*(?P<name>(?:the\s+)?{NAME})\s*(?P<end>[:,.]?)\s*")
CAPITALS = re.compile(rf"{WORD}(?:\s+(?:(?:and|of|the|&)\s+|{FOREIGN}){{0,2}}{WORD})+")
ALONE = re.compile(r"(?<=[a-z,;:] )[A-ZÀ-ÖØ-Þ][a-zà-ÿ]{3,}(?:'s)?(?![\w'-])(?! [A-Z&])")
"""A word in capitals within a sentence."""
WITHIN = re.compile(r"[\w,;:)–—-]\s+[\"(]?(?:the\s+)?$", re.IGNORECASE)
AND = re.compile(r"\s+(?:and|&)\s+(?:the\s+)?")
QUOTED = re.compile(rf'"([^"{BREAK}]{{2,60}})"')
HEAD = re.compile(
    rf"[\s\"]*(?P<name>{NAME})\"?(?=\s*(?:[–—―:(|,{BREAK}]|-\s|$)|\s(?:is|has|serves|offers)\s)"
)
CUE = re.compile(
    r"(?:\b(?:recommend|suggest|called|named|name is|how about|what about|like|try|visit|love"
    r"|choose|check out|consider|match:|option:|find:|go for|prefer|interested in"
    r"|(?:name|address|number|phone|postcode|fee|price|area|rating|location|details)"
    r" (?:of|for|at)"
    r"|(?:have|'ve|successfully|has been) booked|booked you|book(?:ing)? (?:at|for)"
    r"|found|(?:book|table|room|rooms|reservation|stay|staying|eat|eating|dine|dining|booked)"
    r"(?: you| it| a table| a room| for you)* (?:at|in|into)|there is|there's|offer|options are"
    r"|go with|book)"
    rf"|\b(?:{'|'.join(DOMAIN_OF)}),?)(?: the)?[\s\"]+$",
    re.IGNORECASE,
)
BY_THE_WAY = re.compile(rf"(?<!\w)(?:{'|'.join(LANDMARK_PHRASES)})(?: the)?[\s\"]+$", re.IGNORECASE)
LINKED = re.compile(r"(?:,|,? (?:and|or))(?: the)? $")
SAYING = re.compile(
    r"\"?(?:\s?'s\b|,? (?:both )?(?:is|was|has|serves?|offers?|are|would|might|looks|sounds|fits?"
    r"|meets?|match(?:es)?|which|located|for you)\b|\s?[–—(]|\s-\s)"
)
PLACED = re.compile(r"\"? (?:in|at|on|near) ")
ENDING = re.compile(rf"\"?\s*(?:[,(|{BREAK}]|in |at |on |near |$)")
BEGINNING = re.compile(rf"(?:^|[.!?,;:{BREAK}|]|\b(?:and|or))[\s\"]*(?:the\s+)?$", re.IGNORECASE)
KIND = re.compile(rf"\b(?:{'|'.join(DOMAIN_OF)})\b", re.IGNORECASE)
SINGLE = re.compile(r"[\w&'.+-]+(?: 's\b)?")
POSSESSIVE = re.compile(r" ?'s$")
FOLLOWED = re.compile(r"\"?\s*:")
CONTINUED = re.compile(r" [A-ZÀ-ÖØ-Þ][a-zà-ÿ]")
"""What is behind a part of a name that is set apart: **Huntingdon** Marriott Hotel."""
OF_FOOD = re.compile(
    r"\s(?:food|dish(?:es)?|cuisines?|cooking|meals?|fare|menus?|drinks?|specialit(?:y|ies))\b",
    re.IGNORECASE,
)
"""What is behind words that tell of food, not of venues: `Signature dishes`."""
STREET = re.compile(rf"(?: ?'s)? (?:{'|'.join(sorted(STREET_ENDINGS))})\b", re.IGNORECASE)

VALUES = {
    "food": "restaurant",
    "stars": "hotel",
    "entrancefee": "attraction",
    "area": None,
    "pricerange": None,
    "type": None,
    "phone": None,
    "postcode": None,
    "address": None,
}
"""Slots whose values, in the line of a name, say that a venue is named; and of which domain."""
NEVER_IN_NAMES = frozenset(
    {"trainid", "phone", "postcode", "reference", "price", "leaveat", "arriveby", "booktime"}
)
LABELS_BEHIND = frozenset({"ref", "reference", "phone", "address", "postcode", "number", "booking"})
"""Words in capitals that begin what is said of a name before them."""

TAILS = {
    **dict.fromkeys(
        ("restaurant", "brasserie", "bistro", "cafe", "pizzeria", "takeaway"), "restaurant"
    ),
    **dict.fromkeys(("hotel", "guesthouse", "lodge", "inn"), "hotel"),
    **dict.fromkeys(
        ("museum", "college", "theatre", "gallery", "cinema", "nightclub"), "attraction"
    ),
}
"""Last words of names, and the domain that they tell."""

LONGEST_UNKNOWN = 4
"""Words before the last one that are looked at."""


def name_before(text: str, tokens: Tokens, index: int, known: Container[str]) -> int | None:
    """Return the first token of a name that ends with this one; None if it does not look like one.

    All of its words have capitals, and one that is not the first of a sentence is no word of the
    database: neither `Indian Restaurant` nor `Restaurants` is a name.
    """
    if not text[tokens.start(index)].isupper():
        return None
    first, telling = index, False
    while first and index - first < LONGEST_UNKNOWN:
        before = first - 1
        if tokens.kinds[before] < WORD_TOKEN or not text[tokens.start(before)].isupper():
            break
        if tokens.words[before] not in known and before and tokens.words[before - 1] not in ".!?":
            telling = True
        first = before
    while first < index and (tokens.words[first] in known or _begins(tokens, first)):
        first += 1
    return first if telling and first < index else None


def _begins(tokens: Tokens, index: int) -> bool:
    return index == 0 or tokens.words[index - 1] in ".!?"


DISHES = frozenset({"cuisine", "food", "dishes", "fare", "cooking"})
"""What stands behind a cuisine."""
_OF_A_PEOPLE = re.compile(r"[a-z]+(?:an|ese|ish|ic|i|ar|on|ite|ch|ii)")
_NO_PEOPLE = frozenset(
    {"michelin", "season", "vegan", "station", "canteen", "delicatessen", "basic"}
)


def cuisine_before(text: str, tokens: Tokens, index: int, known: Container[str]) -> int | None:
    """Return the token of a cuisine that nobody has, said before this one or as a label's value.

    It is the adjective of a people by its form, has a capital, and does not begin a sentence:
    `serves Martian food`, `Cuisine: Martian`, but neither `Great food` nor `Sunday dishes`.
    """
    words, kinds = tokens.words, tokens.kinds
    if words[index + 1 : index + 2] == [":"] and kinds[index + 2 : index + 3] == [WORD_TOKEN]:
        place = index + 2
        alone = words[place + 1 : place + 2] in ([], *([sign] for sign in "¶.,;|)-"))
    else:
        place = index - 1
        alone = place > 0 and kinds[place] == WORD_TOKEN and kinds[place - 1] >= WORD_TOKEN
    if not alone or (text[tokens.start(index)].isupper() and place < index):
        return None
    word = words[place]
    looks = _OF_A_PEOPLE.fullmatch(word) and len(word) > SHORTEST_PEOPLE
    is_new = word not in known and word not in _NO_PEOPLE
    return place if looks and is_new and text[tokens.start(place)].isupper() else None


SHORTEST_PEOPLE = 4
