"""Comparable forms of texts, independent of spelling, and the words of texts.

The text is segmented with jieba's default mode.
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
"""The maximum number of cached texts, which limits the memory for malicious input."""
TYPE_ENDING = "型"
"""The ending of hotel types in the database (`经济型`), which some states omit."""


@lru_cache(REMEMBERED)
def comparable_text(text: str) -> str:
    """Return a text in NFKC form (one width), in lower case and without blanks.

    In this form, `（Ａ店）` and `(a 店)` are equal.
    """
    if text.isascii():
        return "".join(text.lower().split())
    return "".join(unicodedata.normalize("NFKC", text).lower().split())


@lru_cache(REMEMBERED)
def comparable(act: Act) -> Act:
    """Return an act with slot and value in comparable form.

    Predicted and gold acts are compared in comparable form, because the acts of NLU models consist
    of word pieces, which have neither case nor blanks (section 9 of the paper's code).
    """
    return Act(act.intent, act.domain, comparable_text(act.slot), comparable_text(act.value))


@lru_cache(REMEMBERED)
def normal_value(slot: str, value: str) -> str:
    """Return a state's value in normal form: sorted items, no meaningless blanks.

    Blanks separate dishes and services, and are meaningless in other slots. The ending of hotel
    types (`经济型`) is removed, because not all annotators wrote it. The normal form keeps the
    width and case of characters.
    """
    items = value.split()
    if slot in SEVERAL_ITEMS:
        return " ".join(sorted(items))
    text = "".join(items)
    return text.removesuffix(TYPE_ENDING) if slot == HOTEL_TYPE else text


REMEMBERED_BLOCKS = 2**18
BLOCKS = re.compile(r"([\u4E00-\u9FD5a-zA-Z0-9+#&\._%\-]+)")
"""The blocks into which jieba divides a text; no word crosses the boundary of a block."""


def words_of(text: str) -> tuple[str, ...]:
    """Return the words of a text without blanks. Raises `DependencyError` without jieba.

    Each block of text is segmented separately, which gives the same words as segmenting the whole
    text. The words of blocks are cached, because many sentences differ only in a few values.
    """
    words: list[str] = []
    for block in BLOCKS.split(text):
        if block:
            words += _words_of_block(block)
    return tuple(words)


def pieces_of(text: str) -> list[str]:
    """Return the words and the blanks of a text, which the corpus statistics count as tokens."""
    return list(_cut()(text))


@lru_cache(REMEMBERED_BLOCKS)
def _words_of_block(block: str) -> tuple[str, ...]:
    return tuple(word for word in _cut()(block) if word.strip())


@cache
def _cut() -> Callable[[str], Iterable[str]]:
    """Return the function of a separate tokenizer, so that words added elsewhere have no effect."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # about jieba's regular expressions
        with suppress(ImportError):  # the next statement reports a missing jieba
            import_without_setuptools("jieba._compat")
        jieba: Any = required("jieba", "crosswoz")
    jieba.setLogLevel(logging.WARNING)
    tokenizer = jieba.Tokenizer()
    # By default, jieba reads the words from a temporary folder, to which anybody can write.
    tokenizer.FREQ, tokenizer.total = derive(
        "jieba-words",
        [Path(jieba.__file__).with_name(jieba.DEFAULT_DICT_NAME)],
        jieba.__version__,
        lambda: tokenizer.gen_pfdict(tokenizer.get_dict_file()),
    )
    tokenizer.initialized = True
    cut: Callable[[str], Iterable[str]] = tokenizer.cut
    return cut
