"""Natural spacing: Moses tokenisation and detokenisation, one after the other.

All systems come out alike, whatever spaces they put around punctuation. Source: the Moses scripts
in their Python port, `sacremoses`, with library defaults for English.

The library takes 0.4 seconds to import and a millisecond for a few texts, and on nearly all texts
its hundred rules come to four: punctuation stands apart, commas and full stops within words do
not, what closes joins the word before, what opens joins the word after. Those are applied here to
texts on which they are all there is; the library gets the others.
"""

from __future__ import annotations

import re
from functools import cache, lru_cache
from typing import Any

from mwzeval.libraries import required

# Apostrophes only within words (both steps leave "don't" as it is), or one before a word, behind
# what does not end in "s": others count as quotation marks, and so do double ones and backquotes.
_PLAIN = re.compile(r"(?:[ !#-&(-_a-~]|(?<=[A-Za-z])'(?=[A-Za-z])|(?<=[^ s] )'(?=[A-Za-z]))*")
_APART = re.compile(r"[^A-Za-z0-9 .,'-]|\.{2,}|(?<![0-9]),|,(?![0-9])")
_CLOSING = re.compile(r" (?=(?:[,.?!:;\\%}\])]|\.{2,})(?: |$))")
_OPENING = re.compile(r"(?<![^ ])([(\[{$]) ")


@lru_cache(maxsize=2**14)
def natural_spacing(text: str) -> str:
    """Return the text as Moses tokenises and then detokenises it."""
    if not _is_plain(text):
        tokenizer, detokenizer = _moses()
        return str(detokenizer.detokenize(tokenizer.tokenize(text)))
    apart = " ".join(_APART.sub(r" \g<0> ", text).split())
    return _OPENING.sub(r"\1", _CLOSING.sub("", apart))


def _is_plain(text: str) -> bool:
    """Tell whether the rules of this module are all there is to a text.

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
    """Return the library's tokeniser, asking ready sets of characters, and its detokeniser.

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
