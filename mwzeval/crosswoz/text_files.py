"""Chinese text files: what is not UTF-8 is recognised, and said."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

from mwzeval.errors import DataError, InputError, Problem, shorten
from mwzeval.files.json_files import decoded, parse_data

CHINESE = re.compile("[\u4e00-\u9fff]")
ESCAPED_HALF = re.compile(rb"\\u[dD][89a-fA-F]")
"""How half of a surrogate pair is written, and each half of a whole one."""


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


def chinese_data(raw: bytes, path: Path) -> Any:
    """Return the value of a JSON file of a corpus, whose texts can all be written again.

    Raises `DataError` when it is not JSON in UTF-8, or has half of a surrogate pair in it.
    """
    if is_gbk(raw):
        raise DataError(f"{path}: {gbk_message(path.name)}")
    plain = parse_data(raw, path)
    if ESCAPED_HALF.search(raw):
        check_texts(plain, str(path))
    return plain


def check_texts(plain: Any, place: str) -> None:
    """Raise `DataError` with its place when a text in plain values has half of a surrogate pair."""
    if isinstance(plain, str):
        try:
            plain.encode()
        except UnicodeEncodeError:
            message = f'found "{shorten(plain)}", which has half of a surrogate pair'
            raise DataError(f"{place}: expected text, {message}") from None
    elif isinstance(plain, dict):
        for key, value in plain.items():
            check_texts(key, place)
            check_texts(value, f"{place}, {shorten(key)}")
    elif isinstance(plain, list):
        for number, value in enumerate(plain):
            check_texts(value, f"{place}, {number}")
