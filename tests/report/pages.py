"""Parse a page: its data block, its elements and its table cells."""

from __future__ import annotations

import gzip
import json
import re
from base64 import b64decode
from html.parser import HTMLParser
from typing import Any

BLOCK = re.compile(r'(?<=id="page-data">)[^<]*')


def data_of(page: str) -> Any:
    block = BLOCK.search(page)
    assert block is not None
    return json.loads(gzip.decompress(b64decode(block[0])))


def readable(page: str) -> str:
    """Replace the compressed data of a page with JSON; return other texts unchanged."""
    if not BLOCK.search(page):
        return page
    text = json.dumps(data_of(page), ensure_ascii=False, separators=(",", ":"))
    return BLOCK.sub(lambda _: text, page)


class Reader(HTMLParser):
    """Collects tags with attributes, table cells, text, scripts and styles."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.rows: list[list[str]] = []
        self.raw: dict[str, list[str]] = {"script": [], "style": []}
        self.texts: list[str] = []
        self._inside = ""
        self._in_cell = False
        self.feed(page)
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attrs)))
        self._inside = tag
        if tag in self.raw:
            self.raw[tag].append("")
        if tag == "tr":
            self.rows.append([])
        if tag in ("td", "th"):
            self.rows[-1].append("")
            self._in_cell = True

    def handle_endtag(self, tag: str) -> None:
        self._inside = ""
        self._in_cell = self._in_cell and tag not in ("td", "th")

    def handle_data(self, data: str) -> None:
        if self._in_cell:
            self.rows[-1][-1] += data
        if self._inside in self.raw:
            self.raw[self._inside][-1] += data
        else:
            self.texts.append(data)
