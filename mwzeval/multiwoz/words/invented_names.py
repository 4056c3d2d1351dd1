"""Names of venues that no database has, where a response makes it plain that they are names.

Only names of two words or more, in capitals, are told, and only where the words beside them say
that a venue is named: what is found is meant to be right rather than complete.
"""

from __future__ import annotations

import re
from collections.abc import Container, Iterator, Sequence

from mwzeval.multiwoz.words.text import WORD, Mention, Tokens

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
        if tokens.kinds[before] < WORD or not text[tokens.start(before)].isupper():
            break
        if tokens.words[before] not in known and before and tokens.words[before - 1] not in ".!?":
            telling = True
        first = before
    while first < index and (tokens.words[first] in known or _begins(tokens, first)):
        first += 1
    return first if telling and first < index else None


def _begins(tokens: Tokens, index: int) -> bool:
    return index == 0 or tokens.words[index - 1] in ".!?"


KIND_WORDS = {
    "restaurant": "restaurant brasserie bistro eatery diner pizzeria grill",
    "hotel": "hotel guesthouse lodge inn lodging",
    "attraction": "attraction museum college gallery theatre cinema park nightclub pool church",
}
DOMAIN_OF = {
    word: domain
    for domain, words in KIND_WORDS.items()
    for kind in words.split()
    for word in (kind, f"{kind}s")
}
"""Words that say which domain a venue is of."""

_NO_NAMES = """
i it its i'm i'd i'll i've we we're you your they there this that these those here he she my
what which who when where how would could can do does did is are was have has had will shall may
should yes no not ok okay sure great alright absolutely sorry thank thanks please hello hi goodbye
bye enjoy but if so also well let unfortunately any anything all both each another other a an
monday tuesday wednesday thursday friday saturday sunday january february march april june july
august september october november december cambridge cambridgeshire town city center centre north
south east west road street lane avenue drive close way square rd st ave free wifi internet parking
gbp pm am train taxi police hospital station reference number phone address postcode post code id
booking reservation table room ticket ref area price total fee time day night people stars star
"""
ARTICLE = "the"
NO_NAMES = frozenset(_NO_NAMES.split())
"""Words in capitals that are no names by themselves, and that no name begins with."""

_WORD = r"[A-Z][\w&'’-]+"
_CAPITALS = re.compile(rf"{_WORD}(?:\s+(?:(?:and|of|at|the|&|on|by)\s+){{0,2}}{_WORD})+")
_CUE = re.compile(
    r"(?:\b(?:recommend|suggest|called|named|name is|how about|what about|like|try|visit|love"
    r"|choose|(?:name|address|number|phone|postcode) (?:of|for)|(?:have|'ve|successfully) booked"
    r"|booked you|found|(?:table|room|rooms|reservation|stay|staying|eating|booked)"
    r"(?: you| it| a table| a room)* (?:at|in|into)|there is|there's|offer|options are|go with)"
    rf"|\b(?:{'|'.join(DOMAIN_OF)}),?)(?: the)?\s+$",
    re.IGNORECASE,
)
_SAYING = re.compile(
    r"(?:\s?'s\b|,? (?:both )?(?:is|was|has|serves?|offers?|are|would|might|looks|sounds|fits?"
    r"|meets?|match(?:es)?|which|located)\b)"
)
_BEGINNING = re.compile(r"(?:^|[.!?,;:]|\b(?:and|or))\s*(?:the\s+)?$", re.IGNORECASE)
_KIND = re.compile(rf"\b(?:{'|'.join(DOMAIN_OF)})\b", re.IGNORECASE)
BEFORE, BEHIND = 40, 60
"""So many characters before and behind a name are looked at."""

LONGEST = 2**12
"""Of longer responses only the beginning is read: nobody says so much in a turn."""


def with_invented(
    response: str, mentions: Sequence[Mention], active: Sequence[str]
) -> tuple[Mention, ...]:
    """Return the mentions of a response, with names among them that the database does not have.

    `active` are the domains that the turn is about, which tell what is named where nothing else
    does.
    """
    invented = tuple(_invented(response, mentions, active))
    if not invented:
        return tuple(mentions)
    return tuple(sorted((*mentions, *invented), key=lambda mention: mention.start))


def _invented(
    response: str, mentions: Sequence[Mention], active: Sequence[str]
) -> Iterator[Mention]:
    text = response[:LONGEST]
    for said in mentions:
        if said.start >= LONGEST:
            break
        known = "_" * (said.end - said.start)
        text = f"{text[: said.start]}{known}{text[said.end :]}"[:LONGEST]
    for match in _CAPITALS.finditer(text):
        start, end = _own_words(match)
        if start == end:
            continue
        before, behind = response[max(0, start - BEFORE) : start], response[end : end + BEHIND]
        inside = _KIND.search(response, start, end)
        kind = inside or _KIND.search(behind)
        is_named = _CUE.search(before) or (_BEGINNING.search(before) and _SAYING.match(behind))
        if not (is_named or (inside and inside.end() == end)):
            continue
        domain = DOMAIN_OF[kind[0].lower()] if kind else _only_venues(active)
        if domain is not None:
            yield Mention(start, end, response[start:end], "name", domain)


def _own_words(match: re.Match[str]) -> tuple[int, int]:
    """Return where the name in a run of capitals stands; nowhere when too little of it is own."""
    words = list(re.finditer(r"[\w&'’-]+", match[0]))
    first = 0
    while first < len(words) and words[first][0].lower() in NO_NAMES:
        first += 1
    own = [word[0].lower() for word in words[first:] if word[0][0].isupper()]
    telling = [word for word in own if word not in DOMAIN_OF and word != ARTICLE]
    if len(own) < 2 or not telling or set(telling) <= NO_NAMES:
        return 0, 0
    # A possessive ending is of the sentence: "Purple Frog's number is …".
    ending = 2 if match[0].endswith(("'s", "’s")) else 0
    return match.start() + words[first].start(), match.end() - ending


def _only_venues(active: Sequence[str]) -> str | None:
    """Return the one domain with named venues that a turn is about."""
    venues = [domain for domain in active if domain in KIND_WORDS]
    return venues[0] if len(venues) == 1 else None
