"""Natural spacing: Moses tokenisation and detokenisation, one after the other.

Whatever spaces a system puts around punctuation, all systems come out alike. Source: the Moses
scripts in their Python port, `sacremoses`, with library defaults for English.
"""

from __future__ import annotations

from functools import lru_cache

from sacremoses import MosesDetokenizer, MosesTokenizer


class _Tokenizer(MosesTokenizer):  # type: ignore[misc]
    """The library's tokeniser, asking ready sets of characters.

    The library builds a set of all lower-case letters of Unicode for every full stop it meets,
    which takes as long as everything else together.
    """

    _LOWER = frozenset(MosesTokenizer.IsLower)
    _ALPHA = frozenset(MosesTokenizer.IsAlpha)

    def islower(self, text: str) -> bool:
        return self._LOWER.issuperset(text)

    def isanyalpha(self, text: str) -> bool:
        return not self._ALPHA.isdisjoint(text)


_TOKENIZER = _Tokenizer(lang="en")
_DETOKENIZER = MosesDetokenizer(lang="en")


@lru_cache(maxsize=2**14)
def natural_spacing(text: str) -> str:
    """Return the text as Moses tokenises and then detokenises it."""
    return str(_DETOKENIZER.detokenize(_TOKENIZER.tokenize(text)))
