"""Normalize delexicalized responses: canonical placeholders and natural spacing.

`data/words/placeholders.tsv` has the names of placeholders.

Natural spacing is the result of Moses tokenization followed by detokenization, which removes
differences in spaces around punctuation. Source: the Python port of the Moses scripts,
`sacremoses`, with default options for English. The library `sacremoses` takes 0.4 seconds to
import, and a millisecond for a few texts. On nearly all texts, only four of the hundred rules of
`sacremoses` have an effect. Punctuation is separated from words, except commas and full stops
within words. Then closing punctuation is attached to the preceding word, and opening punctuation is
attached to the following word. This module applies these four rules where they suffice, and calls
`sacremoses` for all other texts.
"""

from __future__ import annotations

import re
from functools import cache, lru_cache
from typing import Any, NamedTuple

from mwzeval.files.downloads import embedded
from mwzeval.files.reading import table_rows
from mwzeval.libraries import required

CANONICAL: dict[str, list[str]] = {
    canonical: names.split(", ")
    for canonical, names in table_rows(embedded("words", "placeholders.tsv"), 2)
}
PLACEHOLDERS = {name: canonical for canonical, names in CANONICAL.items() for name in names}

KNOWN_PLACEHOLDER = rf"\[(?:{'|'.join(sorted(PLACEHOLDERS, key=len, reverse=True))})\]"
"""Matches a known placeholder in lower case; other texts in brackets do not match."""

# A plural ending is part of the placeholder. The first alternative that matches is used.
_PLACEHOLDER = re.compile(r"\[([\w\s]+)\](?:es|s|-s|-es)?")
_OTHER_SPELLING = re.compile(r"\[(\w+(?:[-.:]\w+)+)\]")


class Placeholders(NamedTuple):
    """The placeholders of a response.

    `text` is the response in lower case with canonical placeholders and without the suffixes of old
    delexicalizers; `names` are the placeholder names in `text`. `known` and `unknown` are the known
    and unknown names outside Markdown links. If a known name has another separator
    (`[hotel-name]`), it counts as `unknown` and is unchanged in `text`.
    """

    text: str
    names: frozenset[str]
    known: frozenset[str]
    unknown: tuple[str, ...]


@lru_cache(maxsize=2**14)
def placeholders_of(response: str) -> Placeholders:
    """Return the placeholders of a response. All scores and warnings find placeholders with this
    function.

    Unknown placeholders and the texts of Markdown links are removed from the text.
    """
    names: list[str] = []
    links: list[str] = []
    unknown: list[str] = []

    def canonical(match: re.Match[str]) -> str:
        name = match[1]
        if name in PLACEHOLDERS:
            found = PLACEHOLDERS[name]
            is_link = match.string.startswith("(", match.end(1) + 1)
            (links if is_link else names).append(found)
            return found
        if not match.string.startswith("(", match.end()):
            unknown.append(name)
        return ""

    text = response.lower()
    if "[" in text:
        text = _PLACEHOLDER.sub(canonical, text)
        if "[" in text:
            odd = _OTHER_SPELLING.findall(text)
            unknown += (name for name in odd if re.sub("\\W", "_", name) in PLACEHOLDERS)
    # (odd) Plural and adverb endings of old delexicalizers (`hotel -s`, `[pricerange] -ly`) are
    # removed. The same letters are removed everywhere else, too.
    if "-" in text:
        text = text.replace("-s", "").replace("-ly", "")
    known = frozenset(names)
    return Placeholders(text, known.union(links) if links else known, known, tuple(unknown))


def known_placeholders(response: str) -> frozenset[str]:
    """Return the canonical names of the known placeholders of a response."""
    return placeholders_of(response).known if "[" in response else NO_NAMES


NO_NAMES: frozenset[str] = frozenset()


# Apostrophes within words ("don't" is unchanged by the two steps), or one apostrophe before a word
# if the preceding word does not end in "s". Other apostrophes, double quotes and backquotes are
# quotation marks.
_PLAIN = re.compile(r"(?:[ !#-&(-_a-~]|(?<=[A-Za-z])'(?=[A-Za-z])|(?<=[^ s] )'(?=[A-Za-z]))*")
_APART = re.compile(r"[^A-Za-z0-9 .,'-]|\.{2,}|(?<![0-9]),|,(?![0-9])")
_CLOSING = re.compile(r" (?=(?:[,.?!:;\\%}\])]|\.{2,})(?: |$))")
_OPENING = re.compile(r"(?<![^ ])([(\[{$]) ")


@lru_cache(maxsize=2**14)
def natural_spacing(text: str) -> str:
    """Return the text after Moses tokenization and detokenization."""
    if not _is_plain(text):
        tokenizer, detokenizer = _moses()
        return str(detokenizer.detokenize(tokenizer.tokenize(text)))
    apart = " ".join(_APART.sub(r" \g<0> ", text).split())
    return _OPENING.sub(r"\1", _CLOSING.sub("", apart))


def _is_plain(text: str) -> bool:
    """Return whether the rules of this module suffice for a text.

    They do not suffice if a comma begins the text or follows another comma, if letters look like
    the library's mark for several full stops, or if several words begin with an apostrophe (the
    library reads every second apostrophe as a closing quotation mark).
    """
    return (
        _PLAIN.fullmatch(text) is not None
        and ",," not in text
        and not text.lstrip(" ").startswith(",")
        and "MULTI" not in text
        and text.count(" '") < 2
    )


@cache
def _moses() -> tuple[Any, Any]:
    """Return the library's tokenizer, with precomputed character sets, and its detokenizer.

    For every full stop, the library builds a set of all lower-case letters of Unicode, which takes
    half of the run time. Raises `DependencyError` if the library is not installed.
    """
    library = required("sacremoses", None)
    lower = frozenset(library.MosesTokenizer.IsLower)
    alpha = frozenset(library.MosesTokenizer.IsAlpha)
    tokenizer = library.MosesTokenizer(lang="en")
    tokenizer.islower = lower.issuperset
    tokenizer.isanyalpha = lambda text: not alpha.isdisjoint(text)
    return tokenizer, library.MosesDetokenizer(lang="en")


def canonical_response(response: str) -> str:
    """Return a delexicalized response with canonical placeholders and unchanged spacing."""
    return placeholders_of(response).text


def normalize_response(response: str) -> str:
    """Return a delexicalized response with canonical placeholders and natural spacing."""
    return natural_spacing(canonical_response(response))
