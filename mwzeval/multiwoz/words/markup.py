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
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache
from itertools import pairwise

from mwzeval.multiwoz.words.vocabulary import PATTERNS

BREAK = "¶"
"""What stands for the end of a line in a shown text; a sign, which no value goes across."""

_REPLACED = str.maketrans(
    {
        **dict.fromkeys("\u00a0\u2002\u2003\u2007\u2008\u2009\u200a\u202f\u3000\t", " "),
        **dict.fromkeys("‘’‚‛ʼ", "'"),
        **dict.fromkeys("“”„‟«»", '"'),
    }
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
        blocks: list[Block] = []
        above: list[int] = []
        begins = self.lines or ((0, 0, False),)
        ends = (*(start for start, _, _ in begins[1:]), len(self.text))
        for (start, depth, is_row), end in zip(begins, ends, strict=True):
            while above and blocks[above[-1]].depth >= depth:
                above.pop()
            parent = above[-1] if above else None
            above.append(len(blocks))
            cells = self._cells(start, end) if is_row else ()
            blocks.append(Block(start, end, depth, parent, cells))
        return tuple(blocks)

    def block_at(self, position: int) -> int:
        """Return the number of the line that a place of the text is in."""
        return max(0, bisect_right(self.blocks, position, key=lambda block: block.start) - 1)

    def heading(self, position: int) -> str:
        """Return the head of the column that a place of the text is in; "" where there is none."""
        if not self.heads:
            return ""
        number = self.block_at(position)
        head = self.heads.get(number, number)
        if head == number:
            return ""
        column = cell_at(self.blocks[number].cells, position)
        cells = self.blocks[head].cells
        return self.text[slice(*cells[column])] if column < len(cells) else ""

    @cached_property
    def heads(self) -> dict[int, int]:
        """The number of each row of a table, and that of the first row."""
        heads: dict[int, int] = {}
        if any(is_row for _, _, is_row in self.lines):
            for number, block in enumerate(self.blocks):
                if block.cells:
                    heads[number] = heads.get(number - 1, number)
        return heads

    def _cells(self, start: int, end: int) -> tuple[tuple[int, int], ...]:
        edges = [at for at in range(start, end) if self.text[at] == "|"]
        row = self.text[start:end].rstrip(f"{BREAK} ")
        if not row.lstrip().startswith("|"):
            edges.insert(0, start - 1)
        if edges[-1] != start + len(row) - 1:
            edges.append(start + len(row))
        return tuple((first + 1, last) for first, last in pairwise(edges))


def cell_at(cells: Sequence[tuple[int, int]], position: int) -> int:
    """Return the number of the cell of a row that a place of the text is in."""
    return sum(end <= position for _, end in cells)


@lru_cache(maxsize=2**8)
def shown(response: str) -> Shown:
    """Return a response as it is shown, in time linear in its length; a turn is read repeatedly."""
    if response.isascii() and not PATTERNS["needs to be stripped"].search(response):
        return Shown(response)
    plain = response.translate(_REPLACED)
    if PATTERNS["needs to be stripped"].search(plain) or PATTERNS["invisible"].search(plain):
        return _stripped(plain)
    return Shown(plain)


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
        for match in PATTERNS["emphasis"].finditer(text, start, end):
            if match.start() not in edits and match.end("inside") not in edits:
                mark(match)
                # Emphasis in emphasis, `***a** b*`.
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
