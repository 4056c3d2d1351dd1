"""Texts in a form in which spelling does not matter, and the words of texts.

Words are those of jieba's default mode.
"""

from __future__ import annotations

import logging
import re
import unicodedata
import warnings
from collections.abc import Callable, Iterable
from contextlib import suppress
from functools import cache, lru_cache
from pathlib import Path
from typing import Any

from mwzeval.crosswoz.corpus.acts import Act
from mwzeval.crosswoz.corpus.names import HOTEL_TYPE, SEVERAL_ITEMS
from mwzeval.files.cache import derive
from mwzeval.libraries import import_without_setuptools, required

REMEMBERED = 2**16
"""Texts kept before the oldest is forgotten: bounds memory on hostile input."""
TYPE_ENDING = "型"
"""What the hotel types of the database end in (`经济型`), and some states leave out."""


@lru_cache(REMEMBERED)
def comparable_text(text: str) -> str:
    """Return a text in one width (NFKC), in lower case and without blanks.

    `（Ａ店）` and `(a 店)` become the same.
    """
    if text.isascii():
        return "".join(text.lower().split())
    return "".join(unicodedata.normalize("NFKC", text).lower().split())


@lru_cache(REMEMBERED)
def comparable(act: Act) -> Act:
    """Return an act with slot and value in comparable form.

    NLU models give back word pieces, which have neither case nor blanks (section 9 of the paper's
    code); so both sides are compared without.
    """
    return Act(act.intent, act.domain, comparable_text(act.slot), comparable_text(act.value))


@lru_cache(REMEMBERED)
def normal_value(slot: str, value: str) -> str:
    """Return a state's value in normal form: items in one order, no blanks that mean nothing.

    Blanks separate dishes and services, and mean nothing elsewhere. Hotel types come without the
    ending that only some annotators wrote (`经济` for `经济型`). Width and case stay as they are.
    """
    items = value.split()
    if slot in SEVERAL_ITEMS:
        return " ".join(sorted(items))
    text = "".join(items)
    return text.removesuffix(TYPE_ENDING) if slot == HOTEL_TYPE else text


REMEMBERED_BLOCKS = 2**18
BLOCKS = re.compile(r"([\u4E00-\u9FD5a-zA-Z0-9+#&\._%\-]+)")
"""Where jieba divides a text before it looks for words: no word goes beyond such a block."""


def words_of(text: str) -> tuple[str, ...]:
    """Return the words of a text without blanks. Raises `DependencyError` without jieba.

    Blocks are cut one by one, to the same words, because sentences that were filled with other
    values share most of them.
    """
    words: list[str] = []
    for block in BLOCKS.split(text):
        if block:
            words += _words_of_block(block)
    return tuple(words)


def pieces_of(text: str) -> list[str]:
    """Return the words of a text and its blanks, as corpus statistics count them."""
    return list(_cut()(text))


@lru_cache(REMEMBERED_BLOCKS)
def _words_of_block(block: str) -> tuple[str, ...]:
    return tuple(word for word in _cut()(block) if word.strip())


@cache
def _cut() -> Callable[[str], Iterable[str]]:
    """Return the function of a tokenizer of our own: words that others add do not change it."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of its regular expressions
        with suppress(ImportError):  # of jieba: told by the next statement
            import_without_setuptools("jieba._compat")
        jieba: Any = required("jieba", "crosswoz")
    jieba.setLogLevel(logging.WARNING)
    tokenizer = jieba.Tokenizer()
    # jieba would read them from a file in the folder for temporary files, whoever wrote it.
    tokenizer.FREQ, tokenizer.total = derive(
        "jieba-words",
        [Path(jieba.__file__).with_name(jieba.DEFAULT_DICT_NAME)],
        jieba.__version__,
        lambda: tokenizer.gen_pfdict(tokenizer.get_dict_file()),
    )
    tokenizer.initialized = True
    cut: Callable[[str], Iterable[str]] = tokenizer.cut
    return cut
