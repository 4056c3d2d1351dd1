"""What is in the data block of a page."""

from __future__ import annotations

import gzip
import json
import re
from base64 import b64decode
from typing import Any

BLOCK = re.compile(r'(?<=id="page-data">)[^<]*')


def data_of(page: str) -> Any:
    block = BLOCK.search(page)
    assert block is not None
    return json.loads(gzip.decompress(b64decode(block[0])))


def readable(page: str) -> str:
    """Return a page with JSON in place of the compressed data; any other text as it is."""
    if not BLOCK.search(page):
        return page
    text = json.dumps(data_of(page), ensure_ascii=False, separators=(",", ":"))
    return BLOCK.sub(lambda _: text, page)
