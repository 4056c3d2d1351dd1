"""Chinese text files: what is not UTF-8 is recognised, and said."""

from __future__ import annotations

import re
from pathlib import Path

from mwzeval.errors import InputError, Problem
from mwzeval.files import decoded

CHINESE = re.compile("[\u4e00-\u9fff]")


def is_gbk(raw: bytes) -> bool:
    """Tell whether bytes that are not UTF-8 are Chinese text in GBK (or all of GB 18030)."""
    try:
        raw.decode("utf-8")
    except UnicodeDecodeError:
        pass
    else:
        return False
    try:
        return CHINESE.search(raw.decode("gb18030")) is not None
    except UnicodeDecodeError:
        return False


def gbk_message(name: str) -> str:
    """Return what to say of a file in GBK."""
    return (
        "the file is in GBK (GB 18030), and must be UTF-8: convert it, for example with "
        f"`iconv -f GB18030 -t UTF-8 {name} > utf8-{Path(name).name}`"
    )


def chinese_text(raw: bytes, name: str) -> str:
    """Return the text of a file. Raises `InputError` when it is empty or not UTF-8."""
    if is_gbk(raw):
        raise InputError([Problem("not-utf8", gbk_message(name), file=name)])
    return decoded(raw, name)
