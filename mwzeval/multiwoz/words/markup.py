"""The words of a response without its markup, and how it is laid out.

Chat models write Markdown: emphasis, links, headings, lists, tables, and HTML now and then. What is
read is the text as it is shown: signs of markup are left out, entities are what they stand for, a
line break is a sign of its own. Lines are kept as blocks, so that a value can be told to be of the
list item or the table row that it stands in.
"""

from __future__ import annotations

import html
import re
from bisect import bisect_left, bisect_right
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache
from itertools import pairwise

BREAK = "¶"
"""What stands for the end of a line in a shown text; a sign, which no value goes across."""

_NEEDED = re.compile(r"[*_`~#\n\r\t<>|\\\[]|&[#\w]|://")

_REPLACED = str.maketrans(
    {
        **dict.fromkeys("\u00a0\u2002\u2003\u2007\u2008\u2009\u200a\u202f\u3000\t", " "),
        **dict.fromkeys("‘’‚‛ʼ", "'"),
        **dict.fromkeys("“”„‟«»", '"'),
    }
)
_INVISIBLE = "\u00ad\u200b\u200c\u200d\u2060\ufe0e\ufe0f\ufeff"

_DELETED = re.compile(
    r"(?P<break>(?<![ \t])[ \t]*(?:\r\n?|\n|<br\s*/?>\n?|</(?:p|li|tr|div|h[1-6])>\n?))"
    r"|(?P<entity>&(?:\#[0-9]{1,6}|\#x[0-9a-f]{1,5}|[a-z]{2,8}[0-9]{0,2});)"
    r"|(?P<tag></?[a-z][a-z0-9]*(?:\s[^<>\n]{0,200})?/?>)"
    r"|(?P<link>\]\((?:[^()\s]|\([^()\s]*\))*(?:\s+\"[^\"\n]*\")?\))"
    r"|(?P<address><?(?:https?://|www\.)[^\s<>|]+>?)"
    r"|(?P<escape>\\(?=[!-/:-@\[-`{-~]))"
    rf"|(?P<invisible>[{_INVISIBLE}]+)",
    re.IGNORECASE,
)
_EMPHASIS = re.compile(
    r"(?<!\\)(?P<sign>\*{1,3}|(?<!\w)_{1,3}|~~|`{1,3}(?!`))(?=[^\s*])(?P<inside>[^\n]{1,300}?)(?<=[^\s*\\])"
    r"(?P=sign)(?![*`])"
)
_LINK = re.compile(
    r"!?\[(?P<inside>[^\[\]\n]{1,300})\]\((?:[^()\s]|\([^()\s]*\))*(?:\s+\"[^\"\n]*\")?\)"
)
_FENCE = re.compile(r"(?m)^[ \t]*(?:```|~~~)[^\n]*$")
_RULE = re.compile(
    r"(?m)^[ \t]*(?:(?:\|[ \t]*)?:?-{2,}:?[ \t]*(?:\|[ \t]*:?-+:?[ \t]*)*\|?|(?:[*_-][ \t]*){3,})$"
)
_STARS = "⭐★☆✩✭🌟"
_LINE = re.compile(
    r"(?P<quote>(?:[ ]{0,3}>[ ]?)*)(?P<indent>[ ]*)"
    r"(?:(?P<heading>\#{1,6})[ ]+|(?P<number>\(?[0-9]{1,2}[.)]|[0-9]\ufe0f?\u20e3|\(?[a-h]\))[ ]+"
    rf"|(?P<bullet>[-*+•‣◦▪●○–—·])[ ]+)?"
    rf"(?P<emoji>(?:(?![{_STARS}✗✘❌✖])[\u2190-\u21ff\u2600-\u27bf\u2b00-\u2bff"
    r"\U0001f000-\U0001faff][\ufe0f\u200d]*)+[ ]+)?"
    r"(?P<task>\[[ xX]\][ ]+)?"
)


@dataclass(frozen=True, slots=True)
class Block:
    """A line of the shown text, from `start` to `end`.

    `depth` is the smaller the more stands below the line: headings, text, list items. `parent` is
    the number of the line that this one stands below, None for the outermost. `cells` are where the
    cells of a table row begin and end.
    """

    start: int
    end: int
    depth: int
    parent: int | None
    cells: tuple[tuple[int, int], ...] = ()


@dataclass(eq=False)
class Shown:
    """A response as it is shown.

    `text` is without markup; `places` are where in the response each of its characters stands, None
    where nothing was changed. `emphasized` are the stretches of the text that are emphasised,
    linked or set as code.
    """

    text: str
    places: Sequence[int] | None = None
    emphasized: tuple[tuple[int, int], ...] = ()
    lines: tuple[tuple[int, int, bool], ...] = ()
    """Where each line begins, how deep it is, and whether it is of a table."""

    def place(self, start: int, end: int) -> tuple[int, int]:
        """Return where in the response a stretch of the text stands."""
        if self.places is None:
            return start, end
        return self.places[start], self.places[end - 1] + 1

    def shown_at(self, start: int, end: int) -> tuple[int, int]:
        """Return where in the text a stretch of the response stands."""
        if self.places is None:
            return start, end
        return bisect_left(self.places, start), bisect_left(self.places, end)

    @cached_property
    def blocks(self) -> tuple[Block, ...]:
        """The lines of the text."""
        return tuple(self._blocks())

    def block_at(self, position: int) -> int:
        """Return the number of the line that a place of the text is in."""
        return max(0, bisect_right(self.blocks, position, key=lambda block: block.start) - 1)

    def heading(self, position: int) -> str:
        """Return the head of the column that a place of the text is in; "" where there is none."""
        if not self._heads:
            return ""
        blocks = self.blocks
        number = self.block_at(position)
        head = self._heads.get(number, number)
        if head == number:
            return ""
        column = cell_at(blocks[number].cells, position)
        cells = blocks[head].cells
        return self.text[slice(*cells[column])] if column < len(cells) else ""

    @cached_property
    def _heads(self) -> dict[int, int]:
        """The number of each row of a table, and that of the first row."""
        heads: dict[int, int] = {}
        if any(is_row for _, _, is_row in self.lines):
            for number, block in enumerate(self.blocks):
                if block.cells:
                    heads[number] = heads.get(number - 1, number)
        return heads

    def _blocks(self) -> Iterator[Block]:
        above: list[tuple[int, int]] = []  # depth, number
        begins = self.lines or ((0, 0, False),)
        for number, (start, depth, is_row) in enumerate(begins):
            end = begins[number + 1][0] if number + 1 < len(begins) else len(self.text)
            while above and above[-1][0] >= depth:
                above.pop()
            parent = above[-1][1] if above else None
            above.append((depth, number))
            yield Block(start, end, depth, parent, self._cells(start, end) if is_row else ())

    def _cells(self, start: int, end: int) -> tuple[tuple[int, int], ...]:
        bars = [at for at in range(start, end) if self.text[at] == "|"]
        end = start + len(self.text[start:end].rstrip(f"{BREAK} "))
        has_border = self.text[start:end].lstrip().startswith("|")
        edges = bars if has_border else [start - 1, *bars]
        if not edges or edges[-1] != end - 1:
            edges.append(end)
        return tuple((first + 1, last) for first, last in pairwise(edges))


def cell_at(cells: Sequence[tuple[int, int]], position: int) -> int:
    """Return the number of the cell of a row that a place of the text is in."""
    return sum(end <= position for _, end in cells)


@lru_cache(maxsize=2**8)
def shown(response: str) -> Shown:
    """Return a response as it is shown, in time linear in its length; a turn is read repeatedly."""
    if response.isascii() and _NEEDED.search(response) is None:
        return Shown(response)
    plain = response.translate(_REPLACED)
    if _NEEDED.search(plain) is None and not any(sign in plain for sign in _INVISIBLE):
        return Shown(plain)
    return _stripped(plain)


def _stripped(text: str) -> Shown:
    """Return a text without its markup."""
    edits: dict[int, tuple[int, str]] = {}  # start → end, what stands there instead
    spans: list[tuple[int, int]] = []

    def mark(match: re.Match[str]) -> None:
        start, end = match.span("inside")
        edits[match.start()] = start, ""
        edits[end] = match.end(), ""
        spans.append((start, end))

    def emphasize(start: int, end: int) -> None:
        for match in _EMPHASIS.finditer(text, start, end):
            if match.start() not in edits and match.end("inside") not in edits:
                mark(match)
                # Emphasis in emphasis, `***a** b*`.
                emphasize(*match.span("inside"))

    for fence in (*_FENCE.finditer(text), *_RULE.finditer(text)):
        edits[fence.start()] = fence.end(), ""
    for link in _LINK.finditer(text):
        mark(link)
    emphasize(0, len(text))
    for match in _DELETED.finditer(text):
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
        beginning = _LINE.match(text, start, line.end())
        assert beginning is not None  # it matches nothing, too
        depth = 3 * len(beginning["indent"]) + bool(beginning["number"])
        if beginning["heading"]:
            depth = len(beginning["heading"]) - 8
        elif beginning["bullet"]:
            depth += 2
        lines.append((start, depth, text.count("|", start, line.end()) > 1))
        if beginning.end() > start:
            # What emphasis begins here ends behind the mark of the item.
            edits[start] = max(beginning.end(), edits.get(start, (0, ""))[0]), ""
    return _edited(text, edits, spans, lines)


def _edited(
    response: str,
    edits: Mapping[int, tuple[int, str]],
    spans: Sequence[tuple[int, int]],
    lines: Sequence[tuple[int, int, bool]],
) -> Shown:
    """Return a response with its edits, and where its emphasis and lines are then."""
    pieces: list[str] = []
    places: list[int] = []
    position = 0
    for start in sorted(edits):
        end, instead = edits[start]
        if start < position:
            # Something that has been taken out begins before this.
            if end > position and not instead:
                position = end
            continue
        pieces += (response[position:start], instead)
        places += (*range(position, start), *[start] * len(instead))
        position = end
    text = "".join([*pieces, response[position:]])
    places += range(position, len(response))

    def at(place: int) -> int:
        return bisect_left(places, place)

    emphasized = {(at(start), at(end)) for start, end in spans if at(start) < at(end)}
    shown_lines: list[tuple[int, int, bool]] = []
    for start, depth, is_row in lines:
        begin = at(start)
        is_new = begin < len(text) and (not shown_lines or shown_lines[-1][0] < begin)
        if is_new and text[begin] != BREAK:
            shown_lines.append((begin, depth, is_row))
    if shown_lines:
        # The first line begins where the text does.
        shown_lines[0] = (0, *shown_lines[0][1:])
    return Shown(text, [*places, len(response)], tuple(sorted(emphasized)), tuple(shown_lines))
