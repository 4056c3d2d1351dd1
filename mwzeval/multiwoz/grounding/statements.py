"""Of which of several venues a response says a value, and whether it says so at all.

The former is told by the layout (the list item, the row or the column of a table that it stands in)
and by the sentence: a value is of what its sentence names before it, else of what an earlier
sentence or the line above names. A question in between, or the end of a list, leaves it open.

A value is no claim where it is denied (`not in the centre`), asked for (`something cheap?`), wished
(`you want a hotel`), said of others (`there is also one in the east`) or of many (`12 museums`).

Counts are how many venues a response says that there are: `I found 12 restaurants in the centre`.
Of several in one sentence (`7 guesthouses and 2 hotels`) none is read. Definitions are in
`docs/metrics.md`.
"""

from __future__ import annotations

import re
from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cached_property
from itertools import chain, combinations
from typing import NamedTuple

from mwzeval.multiwoz.database import Database
from mwzeval.multiwoz.normalization import State
from mwzeval.multiwoz.words.markup import BREAK, cell_at, shown
from mwzeval.multiwoz.words.text import Mention, lowered
from mwzeval.multiwoz.words.vocabulary import NUMBER_WORDS

_SENTENCE = re.compile(rf"[.!?](?=\s+[^a-z\s])|{BREAK}|;")
_JOINED = re.compile(r"[\s\"'()*]*(?:(?:,|and|or|&|the|both|either|as well as|a|an)[\s\"'()*]*)*")
_APART = re.compile(r"[,;:–—|]|\b(?:and|or|but|while|whereas|than|not)\b")
CLOSE = 30
"""A name so few characters behind a value may be what it is said of: `the cheap Blue Lantern`."""

_DENIED = re.compile(
    r"(?:\b(?:not|never|neither|nor|nothing|none|without|rather than|instead of|other than"
    r"|except)|n ?'t)\b"
    rf"[^,.;:!?{BREAK}]{{0,25}}$"
    r"|\b(?:no|cannot find|(?:not|n ?'t) (?:any|have|find|see))\b"
    rf"[^,.;:!?{BREAK}]{{0,60}}$",
    re.IGNORECASE,
)
_NEXT_CLAUSE = re.compile(r"\b(?:but|and (?:it|its|the|they|their|there))\b", re.IGNORECASE)
"""What begins a clause that a denial before it does not reach."""
_WISHED = re.compile(
    r"\b(?:you(?:'d| 'd| would| may| might)? (?:like|want|prefer|need|ask|asked|said|mentioned)"
    r"|you(?:'re| are| 're) (?:looking|after)|look(?:ed|ing) for|search(?:ed|ing)? for|if|would you"
    r"|do you"
    r"|shall i|should i|ranging|ranges?|between|either|never found|willing)\b",
    re.IGNORECASE,
)
_OF_OTHERS = re.compile(
    r"\b(?:others?|another|else|the rest|remaining)\b"
    r"|(?<!\bis )(?<!\bthe )(?<!\bgood )(?<!'s )\bone (?:is|in|at|on|of|located)\b"
    r"|\b(?:there(?: is| are|'s| 's)|(?:i|we) (?:do )?(?:also )?(?:have|found|see))"
    r" (?:also|an?|one|some|several|two|three|[0-9]+)\b",
    re.IGNORECASE,
)
_OF_MANY = re.compile(
    r"\b(?:there(?: are|'re| is|'s| 's)|(?:i|we)(?: do| 've|'ve| also)? (?:have|found|see|got|show)"
    r"|(?:i|we)(?:'ve| 've))\b",
    re.IGNORECASE,
)
_INTRODUCED = re.compile(
    rf"[^.!?;{BREAK}]{{0,60}}?(?:\b(?:called|named|known as|such as|is|would be)|[:,(–—-])"
    r"[\s\"'(]*(?:the\s)?",
    re.IGNORECASE,
)
"""What stands between what a venue is and its name: `a museum in the west called X`."""
_ONE = re.compile(
    r"\b(?:there(?: is|'s| 's)|have|'ve|found|find|see|got|recommend|suggest|offer|be|about)"
    r" (?:also |just |only |got |found )*(?:an?|one|1)\b",
    re.IGNORECASE,
)
_APPOSED = re.compile(
    r"\s*[,(–—-]?\s*(?:(?:which |it )?(?:is|'s)\s)?(?:one of )?(?:the|our|this|these|your)\s"
    r"(?:\w+\s){0,2}",
    re.IGNORECASE,
)
"""What stands between a name and a kind that is said with an article: `X, the museum`."""
_BESIDE = re.compile(
    r"\b(?:near|nearby|next to|close to|opposite|beside|behind|by|from|around|surrounded by"
    r"|has|have|with|contains|houses|hosts|holds|for)(?: (?!(?:is|are|its?)\b)[\w,]+){0,4} $",
    re.IGNORECASE,
)
"""What stands before kinds of what a venue is near, has or is for."""
_RANGE = re.compile(r"\bfrom (?:the )?[\w-]+ (?:up )?to (?:the )?(?:\w+ )?$", re.IGNORECASE)
_PART = re.compile(
    r"[\s-](?:style|like|type of|museum|theatre|chapel|town|lovers?|grounds|garden)\b", re.I
)
"""What stands behind a kind that is only a part of what is said: `a college museum`."""
_CALLED = re.compile(
    rf"[\s{BREAK}]*(?:(?:it|this|that)(?: is|'s| 's)(?: called| named)?|(?:its|the) name is"
    r"|name\s?:)[\s\"'(]*(?:the\s)?",
    re.IGNORECASE,
)
"""What begins a sentence that names what the one before it was about."""
_GENERIC = re.compile(
    r"(?:\bstar\w*|\brated|\bpriced?|\bcheap|\bmoderate(?:ly)?|\bexpensive|\bstyle)[\s-]*$",
    re.IGNORECASE,
)
_ENDS = frozenset(f".!?;{BREAK}")
GENERIC = "hotel"
"""What guesthouses are called as well: `a 4-star hotel`."""
_CLOCK = r"[0-9][0-9:.]{0,4}(?:\s?[ap]\.?m\.?)?"
_LIMIT = re.compile(
    r"\b(?:after|before|past|between|around|than|earliest|latest|close(?:r|st)? to(?: your)?|near"
    rf"|between\s+{_CLOCK}\s*(?:and|to|-|–))\s*$",
    re.IGNORECASE,
)
_BOUND = re.compile(rf"\b(?:until|till|by|from|from\s+{_CLOCK}\s*(?:to|-|–))\s*$", re.IGNORECASE)
"""Limits, unless they are said of a train: `TR1234 will get you there by 05:51`."""
_DAY = r"(?:mon|tue|wed|thu|fri|sat|sun)[a-z]*"
_TO = r"\s*(?:to|-|–|through|until|till)\s*"
_DAYS_UNTIL = re.compile(rf"{_TO}{_DAY}\b", re.IGNORECASE)
_DAYS_FROM = re.compile(rf"\b{_DAY}{_TO}$", re.IGNORECASE)

MOST = 16
"""So many names before a value, and behind it, are looked at."""
LONGEST = 300
"""Characters after which a sentence is taken to end, so that none takes long to look through."""
_PEOPLE = rf"(?P<number>[1-8]|{'|'.join(list(NUMBER_WORDS)[1:9])}|both)"
_EACH = re.compile(
    r"\s*(?:each|apiece|a head|pp|p/p|nightly"
    r"|(?:per|an?|/) ?(?:person|ticket|head|passenger|seat|night|room))\b",
    re.IGNORECASE,
)
_TRAVELLERS = re.compile(
    rf"\b{_PEOPLE} (?:(?:train )?tickets?|people|persons?|passengers?|adults?|seats?"
    r"|travell?ers?|of (?:you|them))\b",
    re.IGNORECASE,
)
_TOTAL = re.compile(r"\b(?:total|altogether|all in|sum|comes? to|in all)\b", re.IGNORECASE)
_FOR_ALL = re.compile(
    r"\s*(?:\(?(?:in total|total|altogether|all in|all together),? )?for (?:all |the |your )*"
    rf"{_PEOPLE}(?: of (?:you|them))?"
    r"(?= (?:people|tickets?|persons?|passengers?|adults?|seats?|travell?ers?)| ?[.,;!?)]|$)",
    re.IGNORECASE,
)

Names = tuple[Mention, ...]


class _Said(NamedTuple):
    """A mention and its place in the shown text; `sentence` counts through the response."""

    mention: Mention
    start: int
    end: int
    block: int
    sentence: int


class Statements:
    """The sentences and lines of a response, with what they say of its names."""

    def __init__(self, response: str) -> None:
        self._shown = shown(response)
        text = self._shown.text
        self._sentences: list[int] = []
        for end in (*(match.end() for match in _SENTENCE.finditer(text)), len(text)):
            last = self._sentences[-1] if self._sentences else 0
            self._sentences += range(last + LONGEST, end, LONGEST)
            self._sentences.append(end)
        self._sentences.pop()

    @cached_property
    def _heads(self) -> list[int]:
        """The first row of the table that each line is of; its own number for other lines."""
        heads: list[int] = []
        for number, block in enumerate(self._shown.blocks):
            goes_on = number > 0 and block.cells and self._shown.blocks[number - 1].cells
            heads.append(heads[-1] if goes_on else number)
        return heads

    def spoken_of(self, value: Mention, names: Sequence[Mention]) -> Names:
        """Return the names that a value is said of, none where that is open.

        `names` are in the order of the text; of many those count that are near.
        """
        named = [self._said(name) for name in _near(value, names)]
        return tuple(said.mention for said in self._names(self._said(value), named))

    def is_claim(self, value: Mention, names: Sequence[Mention], *, choice: bool) -> bool:
        """Tell whether a value is said to be so; `choice` if it is one that users choose by."""
        names = _near(value, names)
        start, after = self._shown.shown_at(value.start, value.end)
        text = self._shown.text
        number, begin = self._sentence(start)
        before = text[begin:start]
        if not choice:
            if _BOUND.search(before):
                return any(
                    begin <= self._shown.shown_at(name.start, name.end)[0] < start for name in names
                )
            return not (_LIMIT.search(before) or _DENIED.search(before))
        if value.slot == "day" and (
            _DAYS_FROM.search(before) or _DAYS_UNTIL.match(text, start + len(value.text))
        ):
            return False
        if _DENIED.search(before):
            return False
        if value.text.lower() == GENERIC and _GENERIC.search(before):
            return False
        places = [self._shown.shown_at(name.start, name.end) for name in names]
        named = max((end for _, end in places if begin < end <= start), default=None)
        follows = min((first for first, _ in places if first >= after), default=None)
        between = text[after:follows] if follows is not None else None
        is_beside = between is not None and len(between) <= CLOSE and not _APART.search(between)
        is_beside = is_beside and not any(end in _ENDS for end in between or "")
        if value.slot == "type" and not value.written:
            return is_beside or (
                named is not None and _APPOSED.fullmatch(text, named, start) is not None
            )
        if named is not None:
            return not (_OF_OTHERS.search(text, named, start) or self._is_aside(value, named))
        if is_beside:
            return True
        if follows is not None and _ONE.search(before):
            introduced = _INTRODUCED.fullmatch(text, after, follows)
            if introduced or self._is_called(after, follows):
                return True
        until = self._sentences[number] if number < len(self._sentences) else len(text)
        is_asked = text[begin:until].rstrip(f"{BREAK} ").endswith("?")
        return not (
            is_asked
            or (value.slot == "type" and value.text.lower().endswith("s"))
            or _WISHED.search(before)
            or _OF_OTHERS.search(before)
            # `There is no entrance fee` is said of a venue, `there is a cheap one` of some.
            or (value.written and _OF_MANY.search(before))
        )

    def _sentence(self, place: int) -> tuple[int, int]:
        """Return the number of the sentence at a place, and where it begins."""
        number = bisect_right(self._sentences, place)
        return number, self._sentences[number - 1] if number else 0

    def is_denied(self, value: Mention) -> bool:
        """Tell whether a value is said not to be so: `nothing in the north`."""
        start, _ = self._shown.shown_at(value.start, value.end)
        _, begin = self._sentence(start)
        before = _NEXT_CLAUSE.split(self._shown.text[begin:start])[-1]
        return _DENIED.search(before) is not None

    def _is_called(self, end: int, name: int) -> bool:
        """Tell whether the next sentence does nothing before a name but introduce it."""
        number = bisect_right(self._sentences, end)
        if number >= len(self._sentences):
            return False
        return _CALLED.fullmatch(self._shown.text, self._sentences[number], name) is not None

    def _is_aside(self, value: Mention, named: int) -> bool:
        """Tell whether a value behind a name is only beside what is said of it."""
        start, after = self._shown.shown_at(value.start, value.end)
        text = self._shown.text
        if value.slot == "pricerange":
            return _RANGE.search(text, named, start) is not None
        return value.slot == "type" and bool(
            _BESIDE.search(text[named:start]) or _PART.match(text, after)
        )

    def tickets(self, price: Mention) -> tuple[int, ...]:
        """Return of how many tickets a price may be said to be, none where that is open.

        Of rooms only that it is that of one night is told.
        """
        start, end = self._shown.shown_at(price.start, price.end)
        text = self._shown.text
        if _EACH.match(text, end):
            return (1,)
        if price.domain != "train":
            return ()
        behind = _FOR_ALL.match(text, end)
        _, begin = self._sentence(start)
        said = behind or next(_TRAVELLERS.finditer(text, begin, start), None)
        if said is None:
            return ()
        word = said["number"].lower()
        travellers = 2 if word == "both" else int(NUMBER_WORDS.get(word, word))
        is_total = behind or _TOTAL.search(text, begin, start)
        return (travellers,) if is_total else (1, travellers)

    def _said(self, mention: Mention) -> _Said:
        start, end = self._shown.shown_at(mention.start, mention.end)
        block = self._shown.block_at(start)
        return _Said(mention, start, end, block, bisect_right(self._sentences, start))

    def _names(self, value: _Said, named: Sequence[_Said]) -> Sequence[_Said]:
        column = self._in_column(value, named)
        if column:
            return column
        here = [name for name in named if name.sentence == value.sentence]
        if here:
            return self._in_sentence(value, here)
        earlier = [n for n in named if n.block == value.block and n.start < value.start]
        if earlier:
            last = [name for name in earlier if name.sentence == earlier[-1].sentence]
            return (
                self._named_next(value, named) if self._is_asked_between(last[-1], value) else last
            )
        behind = next((name for name in named if name.start > value.start), None)
        if behind and self._is_called(value.end, behind.start):
            return [behind]
        above = self._shown.blocks[value.block].parent
        while above is not None:
            of_block = [name for name in named if name.block == above]
            if of_block:
                return of_block
            above = self._shown.blocks[above].parent
        return self._in_line_before(value, named)

    def _in_line_before(self, value: _Said, named: Sequence[_Said]) -> Sequence[_Said]:
        """Return the names of the last line that has any, unless a list or question ends there."""
        blocks = self._shown.blocks
        before = [name for name in named if name.start < value.start]
        last = [name for name in before if name.block == before[-1].block]
        if not last:
            return ()
        ends = blocks[last[0].block].depth > blocks[value.block].depth
        if ends or self._is_asked_between(last[-1], value):
            return self._named_next(value, named)
        return last

    def _named_next(self, value: _Said, named: Sequence[_Said]) -> Sequence[_Said]:
        """Return what the line goes on to name: `Which one? It is dear. The phone of X is …`."""
        behind = [n for n in named if n.block == value.block and n.start > value.start]
        names = [name for name in behind if name.sentence == behind[0].sentence]
        if not names or "?" in self._shown.text[value.end : names[0].start]:
            return ()
        return names

    def _is_asked_between(self, name: _Said, value: _Said) -> bool:
        """Tell whether another question than that about a name stands between it and a value."""
        begin = name.end
        if name.sentence < len(self._sentences):
            begin = max(begin, self._sentences[name.sentence])
        return "?" in self._shown.text[begin : value.start]

    def _in_sentence(self, value: _Said, here: Sequence[_Said]) -> Sequence[_Said]:
        groups = self._groups(here)
        before = [group for group in groups if group[0].start < value.start]
        behind = [group for group in groups if group[0].start >= value.start]
        if not before:
            return behind[0]
        if behind:
            between = self._shown.text[value.end : behind[0][0].start]
            if len(between) <= CLOSE and not _APART.search(between):
                return [*before[-1], *behind[0]]
        return before[-1]

    def _groups(self, named: Sequence[_Said]) -> list[list[_Said]]:
        """Return names with nothing but commas and conjunctions between them together."""
        groups: list[list[_Said]] = []
        for name in named:
            last = groups[-1][-1] if groups else None
            if last and _JOINED.fullmatch(self._shown.text, last.end, max(last.end, name.start)):
                groups[-1].append(name)
            else:
                groups.append([name])
        return groups

    def _in_column(self, value: _Said, named: Sequence[_Said]) -> Sequence[_Said]:
        """Return the names that head the column of a value; none where rows are venues."""
        blocks = self._shown.blocks
        block = blocks[value.block]
        if not block.cells:
            return ()
        head = self._heads[value.block]
        of_head = [name for name in named if name.block == head]
        if head == value.block or len(of_head) < 2:
            return ()
        column = cell_at(block.cells, value.start)
        return [name for name in of_head if cell_at(blocks[head].cells, name.start) == column]


def _near(value: Mention, names: Sequence[Mention]) -> Sequence[Mention]:
    """Return the names that a value may be said of, so that many take no longer than few."""
    if len(names) <= MOST:
        return names
    middle = bisect_left(names, value.start, key=lambda name: name.start)
    return names[max(0, middle - MOST) : middle + MOST]


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


def compare_counts(
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
    both = {**constraints, **values}
    found = {len(database.find(domain, asked)) for asked in (constraints, both, values)}
    if number not in found:
        slots = [*both.items()][:MOST_CONSTRAINTS]
        parts = chain.from_iterable(combinations(slots, size) for size in range(len(slots)))
        found |= {len(database.find(domain, dict(part))) for part in parts}
    return found
