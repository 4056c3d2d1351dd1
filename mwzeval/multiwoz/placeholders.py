"""Delexicalized responses in one spelling: canonical placeholders, and natural spacing.

`data/words/placeholders.tsv` has the names of placeholders.

Natural spacing is Moses tokenization and detokenization, one after the other: all systems come out
alike, whatever spaces they put around punctuation. Source: the Moses scripts in their Python port,
`sacremoses`, with library defaults for English. The library takes 0.4 seconds to import and a
millisecond for a few texts, and on nearly all texts its hundred rules come to four: punctuation
stands apart, commas and full stops within words do not, what closes joins the word before, what
opens joins the word after. Those are applied here to texts on which they are all there is; the
library gets the others.
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
"""Matches a known placeholder in lower case, and nothing else in brackets."""

# The plural ending goes with the placeholder; of the alternatives the first that fits counts.
_PLACEHOLDER = re.compile(r"\[([\w\s]+)\](?:es|s|-s|-es)?")
_OTHER_SPELLING = re.compile(r"\[(\w+(?:[-.:]\w+)+)\]")


class Placeholders(NamedTuple):
    """A response by its placeholders.

    `text` is the response in lower case with canonical placeholders, without the endings of old
    delexicalizers, and `names` are those that are in it. `known` are the same without texts of
    Markdown links, `unknown` the names that nobody knows, without these too. `unknown` includes
    known names with other separators (`[hotel-name]`), which stay in the text.
    """

    text: str
    names: frozenset[str]
    known: frozenset[str]
    unknown: tuple[str, ...]


@lru_cache(maxsize=2**14)
def placeholders_of(response: str) -> Placeholders:
    """Return the one reading of a response that all scores and warnings share.

    An unknown placeholder becomes nothing at all. So does the text of a Markdown link.
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
    # (odd) Plural and adverb endings of old delexicalizers (`hotel -s`, `[pricerange] -ly`) go,
    # wherever else these letters stand too.
    if "-" in text:
        text = text.replace("-s", "").replace("-ly", "")
    known = frozenset(names)
    return Placeholders(text, known.union(links) if links else known, known, tuple(unknown))


def known_placeholders(response: str) -> frozenset[str]:
    """Return the canonical names of the placeholders of a response that the scorer knows."""
    return placeholders_of(response).known if "[" in response else NO_NAMES


NO_NAMES: frozenset[str] = frozenset()


# Apostrophes only within words (both steps leave "don't" as it is), or one before a word, behind
# what does not end in "s": others count as quotation marks, and so do double ones and backquotes.
_PLAIN = re.compile(r"(?:[ !#-&(-_a-~]|(?<=[A-Za-z])'(?=[A-Za-z])|(?<=[^ s] )'(?=[A-Za-z]))*")
_APART = re.compile(r"[^A-Za-z0-9 .,'-]|\.{2,}|(?<![0-9]),|,(?![0-9])")
_CLOSING = re.compile(r" (?=(?:[,.?!:;\\%}\])]|\.{2,})(?: |$))")
_OPENING = re.compile(r"(?<![^ ])([(\[{$]) ")


@lru_cache(maxsize=2**14)
def natural_spacing(text: str) -> str:
    """Return the text as Moses tokenizes and then detokenizes it."""
    if not _is_plain(text):
        tokenizer, detokenizer = _moses()
        return str(detokenizer.detokenize(tokenizer.tokenize(text)))
    apart = " ".join(_APART.sub(r" \g<0> ", text).split())
    return _OPENING.sub(r"\1", _CLOSING.sub("", apart))


def _is_plain(text: str) -> bool:
    """Return whether the rules of this module are all there is to a text.

    Not where a comma follows another, which is then looked at once only, or begins the text; where
    letters look like the library's sign for several full stops; or where several words begin with
    an apostrophe, of which every second one would close a quotation.
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
    """Return the library's tokenizer, asking ready sets of characters, and its detokenizer.

    The library builds a set of all lower-case letters of Unicode for every full stop it meets,
    which takes as long as everything else together. Raises `DependencyError` without the library.
    """
    library = required("sacremoses", None)
    lower = frozenset(library.MosesTokenizer.IsLower)
    alpha = frozenset(library.MosesTokenizer.IsAlpha)
    tokenizer = library.MosesTokenizer(lang="en")
    tokenizer.islower = lower.issuperset
    tokenizer.isanyalpha = lambda text: not alpha.isdisjoint(text)
    return tokenizer, library.MosesDetokenizer(lang="en")


def canonical_response(response: str) -> str:
    """Return a delexicalized response with canonical placeholders, spaced as it came."""
    return placeholders_of(response).text


def normalize_response(response: str) -> str:
    """Return a delexicalized response with canonical placeholders and natural spacing."""
    return natural_spacing(canonical_response(response))
