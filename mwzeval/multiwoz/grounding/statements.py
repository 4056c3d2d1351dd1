"""Decide to which venue a value in a response belongs, and whether the response claims the value.

The assignment of a value to a venue depends on the layout (list item, row or column of a table) and
on the sentence. A value is assigned to the preceding names in the same sentence or, without such
names, to the names in an earlier sentence or in the line above. The venue of a value is unknown if
there is a question between the name and the value, or if a list has ended.

A value is not a claim if the response denies it (`not in the centre`), requests it (`something
cheap?`), describes a wish with it (`you want a hotel`), or states it about other or several venues
(`there is also one in the east`, `12 museums`).

A count states the number of venues: `I found 12 restaurants in the centre`. Sentences with several
counts (`7 guesthouses and 2 hotels`) are ignored. Definitions are in `docs/metrics.md`.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import chain, combinations
from typing import NamedTuple

from mwzeval.multiwoz.database import Database
from mwzeval.multiwoz.normalization import State
from mwzeval.multiwoz.schema import NAMED_BY
from mwzeval.multiwoz.words.text import BREAK, Mention, cell_at, lowered, shown
from mwzeval.multiwoz.words.vocabulary import NUMBER_WORDS, PATTERNS

CLOSE = 30
"""Maximum number of characters from a value to a later name: `the cheap Blue Lantern`."""

GENERIC = "hotel"
"""A type that is also used for guesthouses: `a 4-star hotel`."""

MOST = 16
"""Maximum number of names before a value, and of names after the value, that are considered."""
LONGEST = 300
"""Maximum number of characters in a sentence. Longer sentences are split, to bound run time."""

Names = tuple[Mention, ...]


class _Placed(NamedTuple):
    """A mention and its position in the displayed text. `sentence` is the index of its sentence."""

    mention: Mention
    start: int
    end: int
    block: int
    sentence: int


class Statements:
    """The sentences and lines of a response, which determine the venue that a value describes."""

    def __init__(self, response: str) -> None:
        self._shown = shown(response)
        text = self._shown.text
        self._sentences: list[int] = []
        for end in (
            *(match.end() for match in PATTERNS["end of a sentence"].finditer(text)),
            len(text),
        ):
            last = self._sentences[-1] if self._sentences else 0
            self._sentences += range(last + LONGEST, end, LONGEST)
            self._sentences.append(end)
        self._sentences.pop()

    def spoken_of(self, value: Mention, names: Sequence[Mention]) -> Names:
        """Return the names to which a value is assigned, or no names if the assignment is unclear.

        `names` are in the order of the text, and only the names nearest to the value are
        considered.
        """
        named = [self._placed(name) for name in _near(value, names)]
        return tuple(placed.mention for placed in self._names(self._placed(value), named))

    def is_claim(self, value: Mention, names: Sequence[Mention], *, choice: bool) -> bool:
        """Return whether a response claims a value.

        `choice` is true if users choose venues by the slot.
        """
        names = _near(value, names)
        start, after = self._shown.shown_at(value.start, value.end)
        text = self._shown.text
        number, begin = self._sentence(start)
        before = text[begin:start]
        if not choice:
            if PATTERNS["bound"].search(before):
                return any(
                    begin <= self._shown.shown_at(name.start, name.end)[0] < start for name in names
                )
            return not (PATTERNS["limit"].search(before) or PATTERNS["denied"].search(before))
        if value.slot == "day" and (
            PATTERNS["days from"].search(before)
            or PATTERNS["days until"].match(text, start + len(value.text))
        ):
            return False
        if PATTERNS["denied"].search(before):
            return False
        if value.text.lower() == GENERIC and PATTERNS["generic hotel"].search(before):
            return False
        places = [self._shown.shown_at(name.start, name.end) for name in names]
        named = max((end for _, end in places if begin < end <= start), default=None)
        follows = min((first for first, _ in places if first >= after), default=None)
        between = text[after:follows] if follows is not None else None
        is_beside = (
            between is not None and len(between) <= CLOSE and not PATTERNS["apart"].search(between)
        )
        is_beside = is_beside and not any(end in f".!?;{BREAK}" for end in between or "")
        if value.slot == "type" and not value.written:
            return is_beside or (
                named is not None and PATTERNS["apposed"].fullmatch(text, named, start) is not None
            )
        if named is not None:
            return not (
                PATTERNS["of others"].search(text, named, start) or self._is_aside(value, named)
            )
        if is_beside:
            return True
        if follows is not None and PATTERNS["one venue"].search(before):
            introduced = PATTERNS["introduced"].fullmatch(text, after, follows)
            if introduced or self._is_called(after, follows):
                return True
        until = self._sentences[number] if number < len(self._sentences) else len(text)
        is_asked = text[begin:until].rstrip(f"{BREAK} ").endswith("?")
        return not (
            is_asked
            or (value.slot == "type" and value.text.lower().endswith("s"))
            or PATTERNS["wished"].search(before)
            or PATTERNS["of others"].search(before)
            # `There is no entrance fee` is about one venue, `there is a cheap one` about several.
            or (value.written and PATTERNS["of many"].search(before))
        )

    def _sentence(self, place: int) -> tuple[int, int]:
        """Return the index of the sentence at a position, and its start."""
        number = bisect_right(self._sentences, place)
        return number, self._sentences[number - 1] if number else 0

    def is_denied(self, value: Mention) -> bool:
        """Return whether a value is denied: `nothing in the north`."""
        start, _ = self._shown.shown_at(value.start, value.end)
        _, begin = self._sentence(start)
        before = PATTERNS["next clause"].split(self._shown.text[begin:start])[-1]
        return PATTERNS["denied"].search(before) is not None

    def _is_called(self, end: int, name: int) -> bool:
        """Return whether the next sentence only introduces a name."""
        number = bisect_right(self._sentences, end)
        if number >= len(self._sentences):
            return False
        return (
            PATTERNS["called"].fullmatch(self._shown.text, self._sentences[number], name)
            is not None
        )

    def _is_aside(self, value: Mention, named: int) -> bool:
        """Return whether a value after a name is not part of the statement about it."""
        start, after = self._shown.shown_at(value.start, value.end)
        text = self._shown.text
        if value.slot == "pricerange":
            return PATTERNS["range of prices"].search(text, named, start) is not None
        return value.slot == "type" and bool(
            PATTERNS["beside a venue"].search(text[named:start])
            or PATTERNS["part of a kind"].match(text, after)
        )

    def tickets(self, price: Mention) -> tuple[int, ...]:
        """Return the numbers of tickets to which a price may refer, or () if they are unknown.

        For rooms, only prices of one night are recognized.
        """
        start, end = self._shown.shown_at(price.start, price.end)
        text = self._shown.text
        if PATTERNS["each ticket"].match(text, end):
            return (1,)
        if price.domain != "train":
            return ()
        behind = PATTERNS["for all"].match(text, end)
        _, begin = self._sentence(start)
        counted = behind or next(PATTERNS["travellers"].finditer(text, begin, start), None)
        if counted is None:
            return ()
        word = counted["number"].lower()
        travellers = 2 if word == "both" else int(NUMBER_WORDS.get(word, word))
        is_total = behind or PATTERNS["total"].search(text, begin, start)
        return (travellers,) if is_total else (1, travellers)

    def _placed(self, mention: Mention) -> _Placed:
        start, end = self._shown.shown_at(mention.start, mention.end)
        block = self._shown.block_at(start)
        return _Placed(mention, start, end, block, bisect_right(self._sentences, start))

    def _names(self, value: _Placed, named: Sequence[_Placed]) -> Sequence[_Placed]:
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

    def _in_line_before(self, value: _Placed, named: Sequence[_Placed]) -> Sequence[_Placed]:
        """Return the names of the last line with names, unless a list or question ends after it."""
        blocks = self._shown.blocks
        before = [name for name in named if name.start < value.start]
        last = [name for name in before if name.block == before[-1].block]
        if not last:
            return ()
        ends = blocks[last[0].block].depth > blocks[value.block].depth
        if ends or self._is_asked_between(last[-1], value):
            return self._named_next(value, named)
        return last

    def _named_next(self, value: _Placed, named: Sequence[_Placed]) -> Sequence[_Placed]:
        """Return the next name in the line, as in `Which one? It is dear. The phone of X is …`."""
        behind = [n for n in named if n.block == value.block and n.start > value.start]
        names = [name for name in behind if name.sentence == behind[0].sentence]
        if not names or "?" in self._shown.text[value.end : names[0].start]:
            return ()
        return names

    def _is_asked_between(self, name: _Placed, value: _Placed) -> bool:
        """Return whether there is a question about something else between a name and a value."""
        begin = name.end
        if name.sentence < len(self._sentences):
            begin = max(begin, self._sentences[name.sentence])
        return "?" in self._shown.text[begin : value.start]

    def _in_sentence(self, value: _Placed, here: Sequence[_Placed]) -> Sequence[_Placed]:
        groups = self._groups(here)
        before = [group for group in groups if group[0].start < value.start]
        behind = [group for group in groups if group[0].start >= value.start]
        if not before:
            return behind[0]
        if behind:
            between = self._shown.text[value.end : behind[0][0].start]
            if len(between) <= CLOSE and not PATTERNS["apart"].search(between):
                return [*before[-1], *behind[0]]
        return before[-1]

    def _groups(self, named: Sequence[_Placed]) -> list[list[_Placed]]:
        """Return groups of names that are separated only by commas and conjunctions."""
        groups: list[list[_Placed]] = []
        for name in named:
            last = groups[-1][-1] if groups else None
            if last and PATTERNS["joined names"].fullmatch(
                self._shown.text, last.end, max(last.end, name.start)
            ):
                groups[-1].append(name)
            else:
                groups.append([name])
        return groups

    def _in_column(self, value: _Placed, named: Sequence[_Placed]) -> Sequence[_Placed]:
        """Return the names in the header of a value's column, or none if the rows are venues."""
        blocks = self._shown.blocks
        block = blocks[value.block]
        if not block.cells:
            return ()
        head = block.head
        of_head = [name for name in named if name.block == head]
        if head == value.block or len(of_head) < 2:
            return ()
        column = cell_at(block.cells, value.start)
        return [name for name in of_head if cell_at(blocks[head].cells, name.start) == column]


def _near(value: Mention, names: Sequence[Mention]) -> Sequence[Mention]:
    """Return the names near a value, so that run time does not depend on their number."""
    if len(names) <= MOST:
        return names
    middle = bisect_left(names, value.start, key=lambda name: name.start)
    return names[max(0, middle - MOST) : middle + MOST]


CHOICE = "choice"
SENTENCE = PATTERNS["sentence"]
SELECTION = 5
"""Maximum count that may be a selection from a larger number of venues."""
MOST_CONSTRAINTS = 7
"""Maximum number of constraints for which all subsets are queried."""


class Count(NamedTuple):
    """A number of venues and its position in a displayed text.

    `noun` is the noun that is counted. `of_own` is true if the speaker "has" these venues, which
    may then be only a selection. `rest` is the remaining text of the sentence.
    """

    start: int
    end: int
    number: int
    noun: str
    of_own: bool
    rest: str


def counts_in(text: str) -> Iterator[Count]:
    """Yield the counts of a text, at most one per sentence."""
    low = lowered(text)
    for sentence in SENTENCE.finditer(text):
        matches = list(PATTERNS["found so many"].finditer(low, sentence.start(), sentence.end()))
        if len(matches) != 1:
            continue
        match = matches[0]
        number = NUMBER_WORDS.get(match["number"], match["number"])
        if number.isdigit():
            start, end = match.span("number")
            rest = text[match.end() : sentence.end()]
            yield Count(start, end, int(number), match["noun"], bool(match["have"]), rest)


def domains_of(noun: str, among: Iterable[str]) -> list[str]:
    """Return the domains of a noun: all domains in `among` for "options", or none if unknown."""
    named = [domain for domain in among if domain in NAMED_BY]
    if PATTERNS["any noun"].fullmatch(noun):
        return named
    return [domain for domain in named if PATTERNS[f"nouns of {domain}s"].fullmatch(noun)]


def compare_counts(
    response: str, mentions: Sequence[Mention], state: State, database: Database
) -> Iterator[tuple[Mention, bool, tuple[int, ...]]]:
    """Yield the numbers of venues that a response states, whether they are right, and the numbers
    in the database.

    A count is right if it equals the number of results for the constraints in the turn's state,
    with or without the values in the response. The number of results for a subset of the
    constraints is also right, because speakers may count before all constraints are known. The last
    item of each tuple has the numbers of database results for the state, and for the state with the
    values in the response.
    """
    if not state:
        return
    text = shown(response)
    for count in counts_in(text.text):
        domains = domains_of(count.noun, state)
        if len(domains) != 1 or (count.rest and PATTERNS["another kind"].search(count.rest)):
            continue
        (domain,) = domains
        of_domain = [mention for mention in mentions if mention.domain == domain]
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
    """Return the possible numbers of venues. Subsets are only queried if `number` is missing."""
    both = {**constraints, **values}
    found = {len(database.find(domain, asked)) for asked in (constraints, both, values)}
    if number not in found:
        slots = [*both.items()][:MOST_CONSTRAINTS]
        parts = chain.from_iterable(combinations(slots, size) for size in range(len(slots)))
        found |= {len(database.find(domain, dict(part))) for part in parts}
    return found
