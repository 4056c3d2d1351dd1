"""Chinese words, as jieba's default mode cuts them."""

from __future__ import annotations

import logging
import re
import warnings
from collections.abc import Callable, Iterable
from contextlib import suppress
from functools import cache, lru_cache
from pathlib import Path
from typing import Any

from mwzeval.files.derived import derive
from mwzeval.version import import_without_setuptools, required

REMEMBERED = 2**18
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


@lru_cache(REMEMBERED)
def _words_of_block(block: str) -> tuple[str, ...]:
    return tuple(word for word in _cut()(block) if word.strip())


@cache
def _cut() -> Callable[[str], Iterable[str]]:
    """Return the function of a tokeniser of our own: words that others add do not change it."""
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
