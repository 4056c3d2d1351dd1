"""Natural spacing: Moses tokenisation and detokenisation, one after the other.

Whatever spaces a system puts around punctuation, all systems come out alike. Source: the Moses
scripts in their Python port, `sacremoses`, with library defaults for English.
"""

from __future__ import annotations

from functools import lru_cache

from sacremoses import MosesDetokenizer, MosesTokenizer

_TOKENIZER = MosesTokenizer(lang="en")
_DETOKENIZER = MosesDetokenizer(lang="en")


@lru_cache(maxsize=2**14)
def natural_spacing(text: str) -> str:
    """Return the text as Moses tokenises and then detokenises it."""
    return str(_DETOKENIZER.detokenize(_TOKENIZER.tokenize(text)))
