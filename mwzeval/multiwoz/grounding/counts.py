"""How many venues a response says that there are: `I found 12 restaurants in the centre`.

Of several in one sentence (`7 guesthouses and 2 hotels`) none is read. Definitions are in
`docs/metrics.md`.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import combinations
from typing import NamedTuple

from mwzeval.multiwoz.database.venues import Database
from mwzeval.multiwoz.normalization.normalize import State
from mwzeval.multiwoz.words.markup import BREAK, shown
from mwzeval.multiwoz.words.text import Mention, lowered
from mwzeval.multiwoz.words.vocabulary import NUMBER_WORDS

CHOICE = "choice"
SENTENCE = re.compile(rf"[^{BREAK}]+?(?:[.!?]+(?=\s|$|[{BREAK}])|(?=[{BREAK}])|$)")
_NOUNS = {
    "restaurant": "restaurants?|eateries",
    "hotel": "hotels?|guest ?houses?|lodging options|lodgings",
    "attraction": (
        "attractions?|museums?|colleges?|parks?|theatres?|theaters?|nightclubs?|cinemas?|churches"
    ),
    "train": "trains?|departures?",
}
_ANY_NOUN = "options?|choices?|results?|match(?:es)?|places?|venues?|possibilities|listings?"
_FOUND = re.compile(
    # For lower case: texts are searched for the first letters alone, which is fast.
    r"[iwtrc](?<=\b[iwtrc])(?:"
    r"(?:(?<=i)|(?<=w)e)(?:(?:\s*['’]ve|\s+have)?\s+(?:found|counted)"
    r"|(?:\s+can)?\s+(?:see|count|find)|(?P<have>(?:\s*['’]ve|\s+have)?\s+(?:got|have)))"
    r"|(?<=t)here(?:\s+are|\s+is|['’]re)"
    r"|(?:(?<=r)eturn(?:ed|s)|(?<=c)[ao]me\s+(?:up|back)\s+with))"
    r"\s+(?:you\s+)?(?:a\s+total\s+of\s+|exactly\s+)?"
    r"(?P<number>[0-9]{1,3}|[a-z]+)\s+(?:(?!and\b|or\b|of\b|more\b|other\b|free\b)[\w£-]+\s+){0,4}?"
    rf"(?P<noun>{'|'.join((*_NOUNS.values(), _ANY_NOUN))})\b"
)
_ANOTHER = re.compile(r"(?:\band\b|\bplus\b|,|\bor\b)\s(?:an?|one|the|[0-9]+|[a-z]+)\s", re.I)
SELECTION = 5
"""So many of more may be a selection."""
MOST_CONSTRAINTS = 7
"""Of more constraints, not all parts are tried."""


class Count(NamedTuple):
    """A number of venues and its place in a shown text.

    `noun` is what is counted; `of_own` tells that it is what the speaker has, which may be some of
    more; `rest` is how the sentence goes on.
    """

    start: int
    end: int
    number: int
    noun: str
    of_own: bool
    rest: str


def counts_in(text: str) -> Iterator[Count]:
    """Yield the counts of a text, at most one a sentence."""
    low = lowered(text)
    first = _FOUND.search(low)
    if first is None:
        return
    for sentence in SENTENCE.finditer(text):
        if sentence.end() <= first.start():
            continue
        matches = list(_FOUND.finditer(low, sentence.start(), sentence.end()))
        if len(matches) != 1:
            continue
        match = matches[0]
        number = NUMBER_WORDS.get(match["number"], match["number"])
        if number.isdigit():
            start, end = match.span("number")
            rest = text[match.end() : sentence.end()]
            yield Count(start, end, int(number), match["noun"], bool(match["have"]), rest)


def domains_of(noun: str, among: Iterable[str]) -> list[str]:
    """Return the domains that a noun is of; those of `among` for `options`, none for others."""
    named = [domain for domain in among if domain in _NOUNS]
    if re.fullmatch(_ANY_NOUN, noun, re.I):
        return named
    return [domain for domain in named if re.fullmatch(_NOUNS[domain], noun, re.I)]


def held_against_database(
    response: str, said: Sequence[Mention], state: State, database: Database
) -> Iterator[tuple[Mention, bool, tuple[int, ...]]]:
    """Yield the counts of a response, whether the database finds so many, and how many it finds.

    It is asked for the turn's state, also with the values that the response says, and for parts of
    both, as people count before they have told everything; how many it finds is told for the state
    and for both. `said` are the response's mentions.
    """
    if not state:
        return
    text = shown(response)
    for count in counts_in(text.text):
        domains = domains_of(count.noun, state)
        if len(domains) != 1 or (count.rest and _ANOTHER.search(count.rest)):
            continue
        (domain,) = domains
        of_domain = [mention for mention in said if mention.domain == domain]
        values = {m.slot: m.value for m in of_domain if m.value and m.slot in COUNTED_BY}
        whole = tuple(
            dict.fromkeys(
                len(database.find(domain, asked))
                for asked in (state[domain], {**state[domain], **values})
            )
        )
        known = _numbers(domain, state[domain], values, count.number, database)
        agrees = count.number in known
        if not agrees and count.number <= min(SELECTION, max(known)):
            continue
        first, last = text.place(count.start, count.end)
        number = Mention(first, last, response[first:last], CHOICE, domain)
        yield number, agrees, whole


COUNTED_BY = frozenset({"area", "food", "pricerange", "stars", "type", "day"})


def _numbers(
    domain: str,
    constraints: Mapping[str, str],
    values: Mapping[str, str],
    number: int,
    database: Database,
) -> set[int]:
    """Return how many there are of what may be counted, up to where the number is among them."""
    found: set[int] = set()
    for asked in (constraints, {**constraints, **values}, values):
        found.add(len(database.find(domain, asked)))
    if number in found:
        return found
    both = [*{**constraints, **values}.items()][:MOST_CONSTRAINTS]
    for size in range(len(both)):
        for part in combinations(both, size):
            found.add(len(database.find(domain, dict(part))))
    return found
