"""The displayed text of a response, its normalized tokens, and its mentions.

Language models write Markdown: emphasis, links, headings, lists, tables, and sometimes HTML. The
displayed text has no markup, its entities are decoded, and each line break is a separate token.
Lines of text become blocks, so that a value can be assigned to the list item or table row that
contains it.
"""

from __future__ import annotations

import html
import re
import unicodedata
from bisect import bisect_left, bisect_right
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache
from itertools import pairwise
from typing import NamedTuple, TypeVar

from mwzeval.multiwoz.placeholders import KNOWN_PLACEHOLDER
from mwzeval.multiwoz.words.vocabulary import NUMBER_WORDS, PATTERNS, WORD_SPELLINGS, Words

LANDMARK = "landmark"
"""Slot of a place that only describes another place's location. Its values get no placeholder."""


class Mention(NamedTuple):
    """A part of a response that names a venue or states a value.

    `start` and `end` are character positions in the response. `slot` is the name of the placeholder
    without its domain (`name`, `phone`, `postcode`, …); `domain` is the domain of the slot, or None
    if the domain is unknown. `value` is the value in the database's spelling, or None if the
    database does not have it. `venues` are the ids of all rows of the domain with this value, in
    table order. `sure` is False if another interpretation of the text was equally likely. `written`
    is False for claims that are never replaced by a placeholder.
    """

    start: int
    end: int
    text: str
    slot: str
    domain: str | None
    value: str | None = None
    venues: tuple[str, ...] = ()
    sure: bool = True
    written: bool = True


@dataclass(frozen=True, slots=True)
class Delexicalized:
    """A response with placeholders for its mentions, in the order of the text."""

    response: str
    mentions: tuple[Mention, ...]


_FIGURES = r"[^\W\d_]*[0-9][^\W_]*(?:[.:][0-9][^\W_]*|,[0-9]{3}(?![0-9]))*"
_OWNER = r"\s?['’`´]\s?s\b"
# The alternatives: letters before a space or the end of a clause, which match nearly all tokens; a
# known placeholder (other text in brackets is split); text with a digit (13:15, 5pm, cb2.1ab,
# tr1234); a word with a possessive s, also if tokenized (king 's); any other sign.
_TOKEN = re.compile(
    r"[a-z]+(?=[.,!?]|\s(?!['’`´])|$)"
    rf"|{KNOWN_PLACEHOLDER}|{_FIGURES}|[^\W_]+(?:{_OWNER})?|[^\w\s]"
)
_KIND = re.compile(rf"({KNOWN_PLACEHOLDER})|({_FIGURES})|([^\W_]+)({_OWNER})?")
SIGN, PLACEHOLDER, NUMERIC, WORD, POSSESSIVE = range(5)
"""Kinds of tokens. The kind of a token is the number of the last group of `_KIND` that matches."""


def _plain_signs() -> dict[int, str]:
    """Return the ASCII equivalents of accented letters, dashes and full-width characters.

    Language models write `Café` and `01223‑302330`, but the database has neither accents nor such
    dashes. Each character is replaced by one character, so positions do not change.
    """
    plain = dict.fromkeys((*range(0x2010, 0x2016), 0x2212), "-")
    for code in (*range(0xC0, 0x250), *range(0x1E00, 0x1F00), *range(0xFF01, 0xFF5F)):
        letters = unicodedata.normalize("NFKD", chr(code)).lower()
        sign, marks = letters[0], letters[1:]
        # Other brackets must not become the brackets of placeholders.
        if sign.isascii() and sign not in "[]" and all(map(unicodedata.combining, marks)):
            plain[code] = sign
    return plain


_PLAIN = _plain_signs()
_Value = TypeVar("_Value")


class Cache(dict[str, _Value]):
    """A cache for the results of a function of words, which is faster than `lru_cache`."""

    def __init__(self, function: Callable[[str], _Value]) -> None:
        super().__init__()
        self._function = function

    def __missing__(self, token: str) -> _Value:
        value = self._function(token)
        if len(token) <= 32:  # longer words do not occur in normal text
            if len(self) >= 2**14:
                self.clear()
            self[token] = value
        return value


_SPELLED = {**NUMBER_WORDS, **WORD_SPELLINGS, "&": "and"}


def _kind(token: str) -> int:
    if token == "&":
        return WORD
    match = _KIND.match(token)
    return (match and match.lastindex) or SIGN


def _folded(token: str) -> str:
    match = _KIND.match(token)
    word = f"{match[WORD]}s" if match and match.lastindex == POSSESSIVE else token
    return _SPELLED.get(word, word)


_kinds, _words = Cache(_kind), Cache(_folded)


class Tokens:
    """The tokens of a text. Item i of each list describes token i.

    `low` is the text in lower case. `words` are the normalized words (lower case, no apostrophes,
    numbers as digits, one spelling), and `kinds` are constants of this module. Run time is linear
    in the text's length.
    """

    def __init__(self, text: str) -> None:
        self.text = text
        self.low = low = lowered(text)
        self._tokens: list[str] = _TOKEN.findall(low)
        self.words = list(map(_words.__getitem__, self._tokens))
        self.kinds = list(map(_kinds.__getitem__, self._tokens))
        self._starts: list[int] = []

    def _places(self) -> list[int]:
        """Return the start positions of tokens, which are computed only if a text has values."""
        starts = self._starts = []
        position, find = 0, self.low.find
        for token in self._tokens:
            # Tokens are separated only by spaces and `_`, which do not begin a token.
            position = find(token, position)
            starts.append(position)
            position += len(token)
        return starts

    @cached_property
    def without_capitals(self) -> bool:
        """Whether the text has no capitals, so that capitals carry no information."""
        return self.text.islower()

    @cached_property
    def only_capitals(self) -> bool:
        """Whether the text has only capitals, so that capitals carry no information."""
        return self.text.isupper()

    def is_capital(self, index: int) -> bool:
        """Return whether a token begins with a capital letter."""
        return self.text[self.start(index)].isupper()

    def word(self, index: int) -> str:
        """Return the word at an index, or "" if the index is outside the text."""
        try:
            return self.words[index] if index >= 0 else ""
        except IndexError:
            return ""

    def start(self, index: int) -> int:
        """Return the start position of a token in the text."""
        return (self._starts or self._places())[index]

    def end(self, index: int) -> int:
        """Return the end position of a token in the text."""
        return (self._starts or self._places())[index] + len(self._tokens[index])

    def after(self, place: int, index: int) -> int:
        """Return the first token from `index` on that begins at or after a position."""
        starts = self._starts or self._places()
        while index < len(starts) and starts[index] < place:
            index += 1
        return index


def lowered(text: str) -> str:
    """Return the text in lower case and without accents, with unchanged length."""
    low = text.lower()
    if len(low) != len(text):
        # In lower case, a few letters become two characters: İ → i̇.
        low = "".join(char if len(char.lower()) != 1 else char.lower() for char in text)
    return low if low.isascii() else low.translate(_PLAIN)


def fold(text: str) -> Words:
    """Return the normalized words of a text without punctuation, the form used for matching."""
    tokens = Tokens(text)
    return tuple(word for word, kind in zip(tokens.words, tokens.kinds, strict=True) if kind)


BREAK = "¶"
"""The sign for the end of a line in a displayed text. No value extends across this sign."""

_REPLACED = str.maketrans(
    {
        **dict.fromkeys("\u00a0\u2002\u2003\u2007\u2008\u2009\u200a\u202f\u3000\t", " "),
        **dict.fromkeys("‘’‚‛ʼ", "'"),
        **dict.fromkeys("“”„‟«»", '"'),
    }
)


class Block(NamedTuple):
    """A line of the displayed text, from `start` to `end`.

    `depth` is smallest for headings, larger for text, and largest for list items. `parent` is the
    index of the line to which this line belongs, or None at the top level. `cells` are the start
    and end positions of the cells of a table row, and `head` is the index of the table's first row.
    """

    start: int
    end: int
    depth: int
    parent: int | None
    cells: tuple[tuple[int, int], ...] = ()
    head: int = 0


@dataclass(eq=False, slots=True)
class Shown:
    """The displayed text of a response, without markup.

    `text` is the response without markup. `places` has the position of each character in the
    original response, or is None if the text is unchanged. `emphasized` are the parts of the text
    with emphasis, links or code. `blocks` are the lines of the text.
    """

    text: str
    blocks: tuple[Block, ...]
    places: Sequence[int] | None = None
    emphasized: tuple[tuple[int, int], ...] = ()

    def place(self, start: int, end: int) -> tuple[int, int]:
        """Return the position in the response of a part of the text."""
        if self.places is None:
            return start, end
        return self.places[start], self.places[end - 1] + 1

    def shown_at(self, start: int, end: int) -> tuple[int, int]:
        """Return the position in the displayed text of a part of the original response."""
        if self.places is None:
            return start, end
        return bisect_left(self.places, start), bisect_left(self.places, end)

    def block_at(self, position: int) -> int:
        """Return the index of the line that contains a position."""
        return max(0, bisect_right(self.blocks, position, key=lambda block: block.start) - 1)

    def heading(self, position: int) -> str:
        """Return the header of the table column at a position, or "" if there is no header."""
        number = self.block_at(position)
        block = self.blocks[number]
        if block.head == number:
            return ""
        column, cells = cell_at(block.cells, position), self.blocks[block.head].cells
        return self.text[slice(*cells[column])] if column < len(cells) else ""


def cell_at(cells: Sequence[tuple[int, int]], position: int) -> int:
    """Return the index of the cell that contains a position."""
    return sum(end <= position for _, end in cells)


@lru_cache(maxsize=2**8)
def shown(response: str) -> Shown:
    """Return the displayed text of a response, in linear time. Displayed texts are cached."""
    if response.isascii() and not PATTERNS["needs to be stripped"].search(response):
        return _unmarked(response)
    plain = response.translate(_REPLACED)
    if PATTERNS["needs to be stripped"].search(plain) or PATTERNS["invisible"].search(plain):
        return _stripped(plain)
    return _unmarked(plain)


def _unmarked(text: str) -> Shown:
    return Shown(text, (Block(0, len(text), 0, None),))


def _stripped(text: str) -> Shown:
    """Return the displayed text without markup."""
    edits: dict[int, tuple[int, str]] = {}  # the end and the replacement of each part, by start
    spans: list[tuple[int, int]] = []

    def mark(match: re.Match[str]) -> None:
        start, end = match.span("inside")
        edits[match.start()] = start, ""
        edits[end] = match.end(), ""
        spans.append((start, end))

    def emphasize(start: int, end: int) -> None:
        for match in PATTERNS["emphasis"].finditer(text, start, end):
            if match.start() not in edits and match.end("inside") not in edits:
                mark(match)
                # Nested emphasis, `***a** b*`
                emphasize(*match.span("inside"))

    for fence in PATTERNS["whole line"].finditer(text):
        edits[fence.start()] = fence.end(), ""
    for link in PATTERNS["link"].finditer(text):
        mark(link)
    emphasize(0, len(text))
    for match in PATTERNS["deleted"].finditer(text):
        kind = match.lastgroup
        if kind == "link" and match.start() not in edits:
            continue
        instead = {"break": BREAK, "address": " "}.get(kind or "", "")
        if kind == "entity":
            instead = html.unescape(match[0]).translate(_REPLACED)
        edits.setdefault(match.start(), (match.end(), instead))
    lines: list[tuple[int, int, bool]] = []
    for line in re.finditer(r"[^\r\n]+", text):
        start = line.start()
        beginning = PATTERNS["line beginning"].match(text, start, line.end())
        assert beginning is not None  # the pattern also matches an empty text
        depth = 3 * len(beginning["indent"]) + bool(beginning["number"])
        if beginning["heading"]:
            depth = len(beginning["heading"]) - 8
        elif beginning["bullet"]:
            depth += 2
        lines.append((start, depth, text.count("|", start, line.end()) > 1))
        if beginning.end() > start:
            # Emphasis that begins here ends after the marker of the list item.
            edits[start] = max(beginning.end(), edits.get(start, (0, ""))[0]), ""
    pieces: list[str] = []
    places: list[int] = []
    position = 0
    for start, (end, instead) in sorted(edits.items()):
        if start < position:
            # A part that has been removed begins before this part.
            if end > position and not instead:
                position = end
            continue
        pieces += (text[position:start], instead)
        places += (*range(position, start), *[start] * len(instead))
        position = end
    plain = "".join([*pieces, text[position:]])
    places += range(position, len(text))

    def at(place: int) -> int:
        return bisect_left(places, place)

    emphasized = {(at(start), at(end)) for start, end in spans if at(start) < at(end)}
    begun: dict[int, tuple[int, bool]] = {}
    for start, depth, is_row in lines:
        begin = at(start)
        if begin < len(plain) and plain[begin] != BREAK:
            begun.setdefault(begin, (depth, is_row))
    blocks = _blocks(plain, begun or {0: (0, False)})
    return Shown(plain, blocks, [*places, len(text)], tuple(sorted(emphasized)))


def _blocks(text: str, lines: Mapping[int, tuple[int, bool]]) -> tuple[Block, ...]:
    """Return the blocks of a text. `lines` maps the start of each line to its depth and to whether
    it is a table row.
    """
    blocks: list[Block] = []
    edges = [0, *list(lines)[1:], len(text)]  # The first line begins at the start of the text.
    for (start, end), (depth, is_row) in zip(pairwise(edges), lines.values(), strict=True):
        parent = len(blocks) - 1 if blocks else None
        while parent is not None and blocks[parent].depth >= depth:
            parent = blocks[parent].parent
        cells = _cells(text, start, end) if is_row else ()
        is_continued = cells and blocks and blocks[-1].cells
        head = blocks[-1].head if is_continued else len(blocks)
        blocks.append(Block(start, end, depth, parent, cells, head))
    return tuple(blocks)


def _cells(text: str, start: int, end: int) -> tuple[tuple[int, int], ...]:
    edges = [at for at in range(start, end) if text[at] == "|"]
    row = text[start:end].rstrip(f"{BREAK} ")
    if not row.lstrip().startswith("|"):
        edges.insert(0, start - 1)
    if edges[-1] != start + len(row) - 1:
        edges.append(start + len(row))
    return tuple((first + 1, last) for first, last in pairwise(edges))
